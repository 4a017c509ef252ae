// SPDX-License-Identifier: Apache-2.0
/* How fast the CPUs run, and how often heat made them slower. */
#include "collect/proc/proc_internal.h"

/* Asking a CPU for its clock may wake it. */
#define EVERY_NS SECOND_NS
#define LOOKED   16u

void proc_frequency_open(struct proc_frequency *frequency, const struct host_roots *roots)
{
    frequency->cpu_count = host_spread_cpus(roots, frequency->cpus, LOOKED);
    frequency->has_frequency = host_clock_khz(roots, 0) != MISSING;
    frequency->has_throttle =
        host_throttles(roots, frequency->cpus, frequency->cpu_count) != MISSING;
}

static void look_at_clocks(const struct proc_frequency *frequency, const struct host_roots *roots,
                           const struct proc_sink *sink)
{
    double least = 0, most = 0, sum = 0;
    unsigned count = 0;

    for (size_t i = 0; i < frequency->cpu_count; i++) {
        uint64_t khz = host_clock_khz(roots, frequency->cpus[i]);
        double mhz;

        if (khz == MISSING)
            continue;
        mhz = (double)khz / 1e3;
        least = count && least < mhz ? least : mhz;
        most = most > mhz ? most : mhz;
        sum += mhz;
        count++;
    }
    if (!count)
        return;
    proc_put(sink, 0, "cpu frequency min MHz", least);
    proc_put(sink, 0, "cpu frequency avg MHz", sum / count);
    proc_put(sink, 0, "cpu frequency max MHz", most);
}

void proc_frequency_look(struct proc_frequency *frequency, const struct host_roots *roots,
                         uint64_t now_ns, bool last, const struct proc_sink *sink)
{
    if (!proc_is_due(&frequency->next_ns, now_ns, EVERY_NS, last))
        return;
    if (frequency->has_frequency)
        look_at_clocks(frequency, roots, sink);
    if (frequency->has_throttle)
        proc_put_count(sink, 0, "cpu thermal throttles",
                       host_throttles(roots, frequency->cpus, frequency->cpu_count));
}
