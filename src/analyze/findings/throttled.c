// SPDX-License-Identifier: Apache-2.0
/* throttled: a quota, heat or a power limit kept the program from going as fast as it could. */
#include "analyze/findings/findings_internal.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* A quota that is met in one period of twenty, or that stops threads for a hundredth of the time,
 * is seen in latencies; in a quarter of the periods it decides them. Heat counts events, and one of
 * them in a recording is already more than none. A GPU that is capped for moments is ordinary: a
 * tenth of the time is not, and for power, which is how large ones run at full load, half. */
#define PERIODS_SHARE 0.05
#define TIME_SHARE    0.01
#define HIGH_SHARE    0.25
#define HEAT_SHARE    0.1
#define POWER_SHARE   0.5

static void by_quota(const struct ml_input *input, uint32_t pid, struct findings *out)
{
    const struct resources *resources = input->resources;
    double periods = resource_growth(resources_find(resources, pid, "cgroup periods"));
    double stopped = resource_growth(resources_find(resources, pid, "cgroup throttled periods"));
    double stopped_s = resource_growth(resources_find(resources, pid, "cgroup throttled us")) / 1e6;
    double limit = resource_max(resources_find(resources, pid, "cgroup cpu limit"));
    double share = periods > 0 ? stopped / periods : 0;
    char quota[80] = "";
    struct finding *finding;

    if (!(stopped > 0) ||
        (share < PERIODS_SHARE && stopped_s * 1e9 < TIME_SHARE * (double)input->duration_ns))
        return;
    if (limit > 0)
        snprintf(quota, sizeof quota, "; it may use %.2f of %u CPUs", limit, input->cpus);
    finding = finding_add(out, share >= HIGH_SHARE ? FINDING_HIGH : FINDING_MEDIUM, TIMELINE_NONE);
    if (finding)
        finding->weight_ns = fmin(stopped_s * 1e9, (double)input->duration_ns);
    finding_title(finding, "the CPU quota stopped the program in %s of all periods",
                  finding_words_share(share).text);
    finding_sentence(finding, "The CPU quota stopped the program in %s of all periods.",
                     finding_words_share(share).text);
    finding_evidence(finding,
                     "%.0f of %.0f periods of its control group; its threads waited %s in all%s",
                     stopped, periods, finding_words_time(stopped_s * 1e9).text, quota);
    finding_fix(finding,
                "raise the quota (docker run --cpus, resources.limits.cpu in Kubernetes, CPUQuota "
                "in systemd), or compute with no more threads than it allows%s",
                limit > 0 ? finding_option(input, TIMELINE_NONE, RUNTIME_FEWER_THREADS).text : "");
    finding_number(finding, "share", share);
    finding_number(finding, "stopped_ms", stopped_s * 1e3);
    finding_number(finding, "cpu_limit", limit);
}

static void by_heat(const struct ml_input *input, struct findings *out)
{
    double events = resource_growth(resources_find(input->resources, 0, "cpu thermal throttles"));
    double mhz = input->resources->frequency_mhz;
    char clock[64] = "";
    struct finding *finding;

    if (!(events > 0))
        return;
    if (mhz > 0)
        snprintf(clock, sizeof clock, "; the CPUs ran at %.0f MHz on average", mhz);
    finding = finding_add(out, FINDING_MEDIUM, TIMELINE_NONE);
    finding_title(finding, "heat throttled the CPUs %.0f time%s", events, events > 1 ? "s" : "");
    finding_sentence(finding, "Heat throttled the CPUs %.0f time%s.", events,
                     events > 1 ? "s" : "");
    finding_evidence(finding, "thermal_throttle counters grew by %.0f%s", events, clock);
    finding_fix(finding, "cool the machine, or measure at a clock that it can hold: sudo cpupower "
                         "frequency-set --max");
    finding_number(finding, "events", events);
}

static void by_device(const struct ml_input *input, size_t number, struct findings *out)
{
    static const struct {
        const char *what, *word, *fix;
        double least;
    } causes[] = {
        { "slowed by heat", "heat", "cool the device, or lock its clock: nvidia-smi -lgc",
          HEAT_SHARE },
        { "power capped", "its power limit",
          "raise the limit (nvidia-smi -pl) if the device allows more, or accept the clock",
          POWER_SHARE },
    };

    for (size_t i = 0; i < 2; i++) {
        struct finding *finding;
        char name[48];
        double share;

        snprintf(name, sizeof name, "gpu %zu %s", number, causes[i].what);
        share = resource_mean(resources_find(input->resources, 0, name));
        if (!(share >= causes[i].least))
            continue;
        finding = finding_add(out, i ? FINDING_LOW : FINDING_MEDIUM, TIMELINE_NONE);
        finding_title(finding, "GPU %zu was slowed by %s for %s of the time", number,
                      causes[i].word, finding_words_share(share).text);
        finding_sentence(finding, "GPU %zu was slowed by %s for %s of the time.", number,
                         causes[i].word, finding_words_share(share).text);
        finding_evidence(finding,
                         "its driver reports %s as the reason for its clock in %s of the samples",
                         causes[i].word, finding_words_share(share).text);
        finding_fix(finding, "%s", causes[i].fix);
        finding_number(finding, "share", share);
    }
}

void rule_throttled(const struct ml_input *input, struct findings *out)
{
    if (!input->resources)
        return;
    for (size_t i = 0; i < input->resources->series_count; i++) {
        const struct resource_series *series = &input->resources->series[i];

        if (series->pid && strcmp(series->name, "cgroup throttled periods") == 0 &&
            resources_find(input->resources, series->pid, series->name) == series)
            by_quota(input, series->pid, out);
    }
    by_heat(input, out);
    for (size_t i = 0; i < input->resources->gpu_count; i++)
        by_device(input, i, out);
}
