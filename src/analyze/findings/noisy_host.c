// SPDX-License-Identifier: Apache-2.0
/* noisy-host: other programs, or other guests of the host, were busy while it was recorded. */
#include "analyze/findings/findings_internal.h"
#include "trace/keys.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Where resources were not recorded: the load average of the minute before. Half of the CPUs busy
 * disturbs, all of them busy makes figures useless for comparison. One busy thread on a large
 * machine does not matter. */
#define BUSY_SHARE      0.5
#define VERY_BUSY_SHARE 1.0
#define LEAST_LOAD      1.0

/* Where they were: what others used in the meantime. A tenth of the machine disturbs where little
 * is idle; 1 % of the time taken by the host (steal) is seen in tails, 5 % in medians. */
#define OTHERS_SHARE   0.1
#define OTHERS_CPUS    0.25
#define OTHERS_MUCH    0.3
#define FULL_PCT       90.0
#define STEAL_PCT      1.0
#define STEAL_MUCH_PCT 5.0

static void by_load(const struct ml_input *input, struct findings *out)
{
    const char *is_virtual = trace_find_fact(input->tables, TRACE_FACT_HOST_VIRTUAL);
    double share = input->cpus ? input->load_average / input->cpus : (double)NAN;
    struct finding *finding;

    if (!(share >= BUSY_SHARE) || !(input->load_average >= LEAST_LOAD))
        return;
    finding =
        finding_add(out, share >= VERY_BUSY_SHARE ? FINDING_MEDIUM : FINDING_LOW, TIMELINE_NONE);
    finding_title(finding, "load average %.1f on %u CPUs before the recording began",
                  input->load_average, input->cpus);
    finding_sentence(finding,
                     "Other programs were busy: load average %.1f on %u CPUs at the start.",
                     input->load_average, input->cpus);
    finding_evidence(finding,
                     "load average of the last minute at the start: %.2f%s; not recorded: which "
                     "programs, steal time, clock frequency",
                     input->load_average,
                     is_virtual && strcmp(is_virtual, "yes") == 0
                         ? ", in a virtual machine (other guests are not visible)"
                         : "");
    finding_fix(
        finding,
        "record again while nothing else runs; until then treat differences below 10 %% as noise");
    finding_number(finding, "load_average", input->load_average);
    finding_number(finding, "cpus", input->cpus);
}

/* CPUs that neither the program nor the recorder used. */
static double others_of(const struct ml_input *input, uint32_t cpus)
{
    const struct resources *resources = input->resources;
    const char *recorder = trace_find_fact(input->tables, TRACE_FACT_RECORD_CPU_SECONDS);
    double recorder_s = recorder ? strtod(recorder, NULL) : 0;

    return resources->cpu_pct / 100 * cpus - resources->program_cores -
           (recorder_s > 0 ? recorder_s * 1e9 / (double)input->recorder_ns : 0);
}

static void name_others(const struct resources *resources, char *out, size_t size)
{
    size_t used = 0;

    out[0] = '\0';
    for (size_t i = 0; i < resources->other_count && used < size; i++)
        used += (size_t)snprintf(out + used, size - used, "%s%s (pid %u) %.0f %% of a CPU",
                                 i ? ", " : "; among them ", resources->others[i].name,
                                 resources->others[i].pid, resources->others[i].cpu_pct);
}

void rule_noisy_host(const struct ml_input *input, struct findings *out)
{
    const struct resources *resources = input->resources;
    uint32_t cpus = input->cpus ? input->cpus : resources ? resources->cpus : 0;
    double others, steal;
    bool disturbed, stolen, much;
    struct finding *finding;
    char names[200];

    if (!resources || isnan(resources->cpu_pct) || isnan(resources->program_cores) || !cpus) {
        by_load(input, out);
        return;
    }
    others = others_of(input, cpus);
    steal = resources->steal_pct;
    disturbed = others >= OTHERS_CPUS && others >= OTHERS_SHARE * cpus;
    stolen = steal >= STEAL_PCT;
    if (!disturbed && !stolen)
        return;
    much = steal >= STEAL_MUCH_PCT ||
           (disturbed && (others >= OTHERS_MUCH * cpus || resources->cpu_pct >= FULL_PCT));
    name_others(resources, names, sizeof names);
    finding = finding_add(out, much ? FINDING_MEDIUM : FINDING_LOW, TIMELINE_NONE);
    if (disturbed) {
        finding_title(finding, "other programs used %.2f of %u CPUs", others, cpus);
        finding_sentence(finding, "Other programs used %.2f of %u CPUs at the same time.", others,
                         cpus);
    } else {
        finding_title(finding, "the host took %.1f %% of the CPU time (steal)", steal);
        finding_sentence(finding, "The host took %.1f %% of the CPU time (steal).", steal);
    }
    finding_evidence(finding,
                     "CPUs %.0f %% busy, of which the program %.2f CPUs, others %.2f; steal "
                     "%.1f %%; tasks waited for a CPU %.0f %% of the time%s",
                     resources->cpu_pct, resources->program_cores, fmax(others, 0), steal,
                     resources->pressure_cpu_pct > 0 ? resources->pressure_cpu_pct : 0, names);
    finding_fix(
        finding,
        "record again while nothing else runs%s; until then treat differences below 10 %% as noise",
        stolen ? ", on a host with less to do" : "");
    finding_number(finding, "others_cpus", others);
    finding_number(finding, "steal_pct", steal);
    finding_number(finding, "pressure_cpu_pct", resources->pressure_cpu_pct);
    finding_number(finding, "load_average", input->load_average);
    finding_number(finding, "cpus", cpus);
}
