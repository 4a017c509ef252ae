// SPDX-License-Identifier: Apache-2.0
/* memory-growth: the memory of a process grows and grows, after it has got going. */
#include "analyze/findings/findings_internal.h"

#include <math.h>

/* The first quarter is the start, when everything grows. The rest is cut into four parts: growth is
 * steady if each part has its share of it. 5 % and 8 MB are more than caches and pools that settle;
 * a third more is on its way to the end of memory. */
#define START_SHARE  0.25
#define PARTS        4u
#define LEAST_VALUES 8u
#define LEAST_NS     5e9
#define LEAST_GROWTH 0.05
#define LEAST_BYTES  8e6
#define PART_SHARE   0.1
#define HIGH_GROWTH  0.33
#define MB           1e6

struct growth {
    double parts[PARTS]; /* the least of each: what comes and goes is no growth */
    double bytes;
    double seconds; /* between the first part and the last */
    uint64_t from_ns, to_ns;
};

static bool measure(const struct resource_series *series, struct growth *out)
{
    uint64_t first = series->points[0].ns, last = series->points[series->count - 1].ns;
    uint64_t start = first + (uint64_t)(START_SHARE * (double)(last - first));
    size_t counts[PARTS] = { 0 };
    size_t used = 0;

    *out = (struct growth){ .from_ns = start, .to_ns = last };
    if ((double)(last - start) < LEAST_NS)
        return false;
    for (size_t i = 0; i < series->count; i++) {
        const struct resource_point *point = &series->points[i];
        size_t part;

        if (point->ns < start)
            continue;
        part = (size_t)((double)(point->ns - start) / (double)(last - start) * PARTS);
        part = part < PARTS ? part : PARTS - 1;
        if (!counts[part]++ || point->value < out->parts[part])
            out->parts[part] = point->value;
        used++;
    }
    for (size_t i = 0; i < PARTS; i++)
        if (!counts[i])
            return false;
    out->bytes = out->parts[PARTS - 1] - out->parts[0];
    out->seconds = (double)(last - start) / 1e9 * (PARTS - 1) / PARTS;
    if (used < LEAST_VALUES || out->bytes < LEAST_BYTES ||
        out->bytes < LEAST_GROWTH * out->parts[0])
        return false;
    for (size_t i = 1; i < PARTS; i++)
        if (out->parts[i] - out->parts[i - 1] < PART_SHARE * out->bytes)
            return false;
    return true;
}

/* Inferences of a process that began in this time. */
static double count_runs(const struct ml_input *input, uint32_t pid, const struct growth *growth)
{
    double count = 0;

    for (size_t f = 0; f < input->function_count; f++) {
        const struct ml_events *runs = &input->functions[f].events[TRACE_CATEGORY_INFERENCE];
        uint32_t process = input->nets[input->functions[f].net].net->process;

        if (process >= input->model->process_count || input->model->processes[process].pid != pid)
            continue;
        for (size_t i = 0; i < runs->count; i++)
            count += !(runs->items[i].flags & ML_NESTED) &&
                     runs->items[i].start_ns >= growth->from_ns &&
                     runs->items[i].start_ns < growth->to_ns;
    }
    return count * (PARTS - 1) / PARTS;
}

static void report(const struct ml_input *input, const struct resource_series *series,
                   const struct growth *growth, struct findings *out)
{
    double rate = growth->bytes / growth->seconds;
    double runs = count_runs(input, series->pid, growth);
    double whole = series->points[series->count - 1].value;
    struct finding *finding = finding_add(
        out, growth->bytes >= HIGH_GROWTH * growth->parts[0] ? FINDING_HIGH : FINDING_MEDIUM,
        MODEL_NONE);

    if (!finding)
        return;
    finding_title(finding, "memory grows by %.2f MB a second, to %.0f MB", rate / MB, whole / MB);
    finding_sentence(finding, "Memory of the program grows by %.2f MB a second, to %.0f MB.",
                     rate / MB, whole / MB);
    if (runs >= 1)
        finding_evidence(finding,
                         "rss of pid %u without its first quarter: %.0f, %.0f, %.0f, %.0f MB in "
                         "four equal parts, at least; that is %.1f kB for each inference",
                         series->pid, growth->parts[0] / MB, growth->parts[1] / MB,
                         growth->parts[2] / MB, growth->parts[3] / MB, growth->bytes / runs / 1e3);
    else
        finding_evidence(finding,
                         "rss of pid %u without its first quarter: %.0f, %.0f, %.0f, %.0f MB in "
                         "four equal parts, at least",
                         series->pid, growth->parts[0] / MB, growth->parts[1] / MB,
                         growth->parts[2] / MB, growth->parts[3] / MB);
    finding_fix(finding,
                "look for outputs or tensors that are kept and for sessions that are not released; "
                "an arena that grows with every new shape is bounded by "
                "memory.enable_memory_arena_shrinkage (run option) or arena_extend_strategy="
                "kSameAsRequested");
    finding_number(finding, "mb_per_s", rate / MB);
    finding_number(finding, "grown_mb", growth->bytes / MB);
    finding_number(finding, "rss_mb", whole / MB);
    if (runs >= 1)
        finding_number(finding, "kb_per_inference", growth->bytes / runs / 1e3);
}

void rule_memory_growth(const struct ml_input *input, struct findings *out)
{
    struct growth growth;

    for (size_t i = 0; input->resources && i < input->resources->series_count; i++) {
        const struct resource_series *series = &input->resources->series[i];

        if (series->pid && resources_find(input->resources, series->pid, "rss bytes") == series &&
            measure(series, &growth))
            report(input, series, &growth, out);
    }
}
