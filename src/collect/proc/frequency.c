// SPDX-License-Identifier: Apache-2.0
/* How fast the CPUs run, and how often heat made them slower. */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "collect/proc/proc_internal.h"

/* Asking a CPU for its clock may wake it. */
#define EVERY_NS SECOND_NS
#define LOOKED   16u

void proc_frequency_open(struct proc_frequency *frequency, const struct proc_roots *roots)
{
    char path[256], text[64];
    uint64_t last = 0;
    const char *dash;

    snprintf(path, sizeof path, "%s/devices/system/cpu/present", roots->sys);
    if (ifg_read_small(path, text, sizeof text)) {
        dash = strrchr(text, '-'); /* "0-127", or "0" */
        if (!ifg_parse_number(dash ? dash + 1 : text, NULL, &last) || last >= CPUS_MAX)
            last = 0;
    }
    /* Always the same ones, spread over the machine, so that two looks can be compared. */
    for (uint64_t i = 0; i < LOOKED && i <= last; i++)
        frequency->cpus[frequency->cpu_count++] =
            (unsigned)(last < LOOKED ? i : i * last / (LOOKED - 1));
    snprintf(path, sizeof path, "%s/devices/system/cpu/cpu%u/cpufreq/scaling_cur_freq", roots->sys,
             frequency->cpus[0]);
    frequency->has_frequency = access(path, R_OK) == 0;
    snprintf(path, sizeof path, "%s/devices/system/cpu/cpu%u/thermal_throttle", roots->sys,
             frequency->cpus[0]);
    frequency->has_throttle = access(path, F_OK) == 0;
}

static void look_at_clocks(const struct proc_frequency *frequency, const struct proc_roots *roots,
                           const struct proc_sink *sink)
{
    double least = 0, most = 0, sum = 0;
    unsigned count = 0;

    for (size_t i = 0; i < frequency->cpu_count; i++) {
        char path[256];
        uint64_t khz;
        double mhz;

        snprintf(path, sizeof path, "%s/devices/system/cpu/cpu%u/cpufreq/scaling_cur_freq",
                 roots->sys, frequency->cpus[i]);
        khz = ifg_read_number(path);
        if (khz == MISSING || !khz)
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

static void look_at_throttling(const struct proc_frequency *frequency,
                               const struct proc_roots *roots, const struct proc_sink *sink)
{
    static const char *const counters[] = { "core", "package" };
    uint64_t sum = 0;

    for (size_t i = 0; i < frequency->cpu_count; i++) {
        for (size_t j = 0; j < 2; j++) {
            char path[256];
            uint64_t count;

            snprintf(path, sizeof path,
                     "%s/devices/system/cpu/cpu%u/thermal_throttle/%s_throttle_count", roots->sys,
                     frequency->cpus[i], counters[j]);
            count = ifg_read_number(path);
            if (count != MISSING && __builtin_add_overflow(sum, count, &sum))
                return;
        }
    }
    proc_put(sink, 0, "cpu thermal throttles", (double)sum);
}

void proc_frequency_look(struct proc_frequency *frequency, const struct proc_roots *roots,
                         uint64_t now_ns, bool last, const struct proc_sink *sink)
{
    if (!proc_is_due(&frequency->next_ns, now_ns, EVERY_NS, last))
        return;
    if (frequency->has_frequency)
        look_at_clocks(frequency, roots, sink);
    if (frequency->has_throttle)
        look_at_throttling(frequency, roots, sink);
}
