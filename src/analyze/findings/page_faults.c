// SPDX-License-Identifier: Apache-2.0
/* page-faults: inferences get their memory anew from the system every time, or read it from disk.
 */
#include "analyze/findings/findings_internal.h"

#include <math.h>

/* A fault that only needs an empty page takes half a microsecond or more. 3 % of the time of
 * inferences is worth a setting; 15 % is much. Faults are counted for a process, not for an
 * inference: so it has to infer for half of the time. The first quarter is the start, when memory
 * is touched for the first time. A page that comes from disk takes 100 us: one in ten inferences.
 */
#define START_SHARE     0.25
#define MINOR_NS        500.0
#define COST_SHARE      0.03
#define HIGH_SHARE      0.15
#define LEAST_FAULTS    50.0 /* for each inference */
#define LEAST_RUNS      10.0
#define INFERRING_SHARE 0.5
#define MAJOR_PER_RUN   0.1
#define LEAST_MAJOR     10.0

struct window {
    uint64_t from_ns, to_ns;
    double runs;
    double run_ns;
    double covered_ns; /* with inferences at a time counted once, about */
};

static void count_runs(const struct ml_input *input, uint32_t pid, struct window *window)
{
    uint64_t until = window->from_ns;

    for (size_t f = 0; f < input->function_count; f++) {
        const struct ml_events *runs = &input->functions[f].events[TRACE_CATEGORY_INFERENCE];
        uint32_t process = input->models[input->functions[f].model].model->process;

        if (process >= input->timeline->process_count ||
            input->timeline->processes[process].pid != pid)
            continue;
        for (size_t i = 0; i < runs->count; i++) {
            const struct ml_event *run = &runs->items[i];
            uint64_t end;

            if (run->flags & ML_NESTED || run->start_ns < window->from_ns ||
                __builtin_add_overflow(run->start_ns, run->duration_ns, &end) ||
                end > window->to_ns)
                continue;
            window->runs++;
            window->run_ns += (double)run->duration_ns;
            if (end > until) {
                window->covered_ns +=
                    (double)(end - (run->start_ns > until ? run->start_ns : until));
                until = end;
            }
        }
        until = window->from_ns; /* models are mostly run one after the other */
    }
}

/* What was counted from the first value behind the start to the last one. */
static double counted(const struct resource_series *series, struct window *window)
{
    uint64_t first, last;
    size_t at = 0;

    if (!series || series->count < 3)
        return 0;
    first = series->points[0].ns;
    last = series->points[series->count - 1].ns;
    while (at + 2 < series->count &&
           series->points[at].ns < first + (uint64_t)(START_SHARE * (double)(last - first)))
        at++;
    window->from_ns = series->points[at].ns;
    window->to_ns = last;
    return series->points[series->count - 1].value - series->points[at].value;
}

static void report_minor(const struct ml_input *input, uint32_t pid, const struct window *window,
                         double faults, struct findings *out)
{
    double share = faults * MINOR_NS / window->run_ns;
    struct finding *finding;

    if (share < COST_SHARE || faults < LEAST_FAULTS * window->runs)
        return;
    finding = finding_add(out, share >= HIGH_SHARE ? FINDING_HIGH : FINDING_MEDIUM, TIMELINE_NONE);
    if (!finding)
        return;
    finding->weight_ns = fmin(faults * MINOR_NS, (double)input->duration_ns);
    finding_title(finding, "%.0f page faults per inference, about %s of its time",
                  faults / window->runs, finding_words_share(share).text);
    finding_sentence(finding, "Each inference has %.0f page faults, about %s of its time.",
                     faults / window->runs, finding_words_share(share).text);
    finding_evidence(finding,
                     "%.0f faults of pid %u in %s, after its start, with %.0f inferences; a fault "
                     "takes half a microsecond or more",
                     faults, pid,
                     finding_words_time((double)(window->to_ns - window->from_ns)).text,
                     window->runs);
    finding_fix(finding,
                "keep memory between inferences: leave the arena on (enable_cpu_mem_arena), bind "
                "outputs once (IoBinding), and keep malloc from returning memory to the kernel: "
                "MALLOC_TRIM_THRESHOLD_=1073741824 MALLOC_MMAP_THRESHOLD_=1073741824, or another "
                "allocator");
    finding_number(finding, "faults_per_inference", faults / window->runs);
    finding_number(finding, "share", share);
}

static void report_major(uint32_t pid, const struct window *window, double faults,
                         struct findings *out)
{
    struct finding *finding;

    if (faults < LEAST_MAJOR || faults < MAJOR_PER_RUN * window->runs)
        return;
    finding = finding_add(out, FINDING_MEDIUM, TIMELINE_NONE);
    finding_title(finding, "%.1f pages per inference are read from disk", faults / window->runs);
    finding_sentence(finding, "Inferences wait for %.1f pages from disk each.",
                     faults / window->runs);
    finding_evidence(finding, "%.0f major faults of pid %u with %.0f inferences, after its start",
                     faults, pid, window->runs);
    finding_fix(finding, "give the program more memory, or read a mapped model once at the start "
                         "(cat MODEL >/dev/null, mlock) before requests come");
    finding_number(finding, "major_faults_per_inference", faults / window->runs);
}

void rule_page_faults(const struct ml_input *input, struct findings *out)
{
    for (size_t i = 0; input->resources && i < input->resources->series_count; i++) {
        const struct resource_series *series = &input->resources->series[i];
        struct window window = { 0 };
        double minor, major;

        if (!series->pid ||
            resources_find(input->resources, series->pid, "page faults minor") != series)
            continue;
        minor = counted(series, &window);
        if (!window.to_ns)
            continue;
        count_runs(input, series->pid, &window);
        if (window.runs < LEAST_RUNS ||
            window.covered_ns < INFERRING_SHARE * (double)(window.to_ns - window.from_ns))
            continue;
        major = counted(resources_find(input->resources, series->pid, "page faults major"),
                        &(struct window){ 0 });
        report_minor(input, series->pid, &window, minor, out);
        report_major(series->pid, &window, major, out);
    }
}
