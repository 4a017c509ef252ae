// SPDX-License-Identifier: Apache-2.0
/* noisy-neighbour: one other process of the machine took CPU time that the program could use. */
#include "analyze/findings/findings_internal.h"

#include <math.h>

/* A quarter of a CPU, and either a tenth of the machine or a machine that has nothing to spare. */
#define LEAST_PCT     25.0
#define MACHINE_SHARE 0.1
#define FULL_PCT      85.0

void rule_noisy_neighbour(const struct ml_input *input, struct findings *out)
{
    const struct resources *resources = input->resources;
    uint32_t cpus;

    if (!resources)
        return;
    cpus = input->cpus ? input->cpus : resources->cpus;
    for (size_t i = 0; i < resources->other_count; i++) {
        const struct resource_other *other = &resources->others[i];
        bool full = resources->cpu_pct >= FULL_PCT;
        struct finding *finding;

        if (other->cpu_pct < LEAST_PCT || !cpus ||
            (!full && other->cpu_pct < 100 * MACHINE_SHARE * cpus))
            continue;
        finding = finding_add(out, full ? FINDING_MEDIUM : FINDING_LOW, TIMELINE_NONE);
        finding_title(finding, "%s (pid %u) used %.0f %% of a CPU", other->name, other->pid,
                      other->cpu_pct);
        finding_sentence(finding, "%s (pid %u) used %.0f %% of a CPU at the same time.",
                         other->name, other->pid, other->cpu_pct);
        finding_evidence(finding,
                         "mean over the recording; the machine's %u CPUs were %.0f %% busy", cpus,
                         resources->cpu_pct);
        finding_fix(finding, "stop it while you measure, or keep the two apart: taskset -c, "
                             "cpusets, nice");
        finding_number(finding, "cpu_pct", other->cpu_pct);
        finding_number(finding, "pid", other->pid);
        finding_number(finding, "machine_pct", resources->cpu_pct);
    }
}
