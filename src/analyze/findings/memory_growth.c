// SPDX-License-Identifier: Apache-2.0
/* memory-growth: the memory of a process grows and grows, after it has got going. */
#include "analyze/findings/findings_internal.h"

#include <math.h>

/* The first quarter is the start, when everything grows. The rest is cut into four parts: growth is
 * steady if each part has its share of it. 5 % and 8 MB are more than caches and pools that settle;
 * a third more is on its way to the end of memory. Caches fill up and level off: in the last third
 * it must grow half as fast as before, and at its very end still a quarter. */
#define START_SHARE  0.25
#define PARTS        4u
#define LEAST_VALUES 8u
#define LEAST_NS     5e9
#define LEAST_GROWTH 0.05
#define LEAST_BYTES  8e6
#define PART_SHARE   0.1
#define HIGH_GROWTH  0.33
#define TAIL_SHARE   0.333
#define TAIL_RATE    0.5
#define END_RATE     0.25
#define MB           1e6

struct growth {
    double parts[PARTS]; /* the least of each: what comes and goes is no growth */
    double bytes;
    double seconds; /* between the first part and the last */
    uint64_t from_ns, to_ns;
};

/* Bytes a second from a time on, by least squares; 0 for fewer than three values. */
static double rate_since(const struct resource_series *series, uint64_t from_ns)
{
    double n = 0, x_sum = 0, y_sum = 0, xx = 0, xy = 0;

    for (size_t i = 0; i < series->count; i++) {
        double x = ((double)series->points[i].ns - (double)from_ns) / 1e9;
        double y = series->points[i].value - series->points[0].value;

        if (series->points[i].ns < from_ns)
            continue;
        n++;
        x_sum += x;
        y_sum += y;
        xx += x * x;
        xy += x * y;
    }
    return n < 3 || !(n * xx > x_sum * x_sum) ? 0
                                              : (n * xy - x_sum * y_sum) / (n * xx - x_sum * x_sum);
}

/* What grew between two times, the last values before each. */
static double grown_between(const struct resource_series *series, uint64_t from_ns, uint64_t to_ns)
{
    double from = series->points[0].value, to = from;

    for (size_t i = 0; i < series->count; i++) {
        if (series->points[i].ns <= from_ns)
            from = series->points[i].value;
        if (series->points[i].ns <= to_ns)
            to = series->points[i].value;
    }
    return to - from;
}

static bool flattens(const struct resource_series *series, const struct growth *growth)
{
    double rate = growth->bytes / growth->seconds;
    uint64_t tail_ns = (uint64_t)(TAIL_SHARE * (double)(growth->to_ns - growth->from_ns));
    uint64_t end_ns = tail_ns / 3;

    return rate_since(series, growth->to_ns - tail_ns) < TAIL_RATE * rate ||
           grown_between(series, growth->to_ns - end_ns, growth->to_ns) <
               END_RATE * rate * (double)end_ns / 1e9;
}

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
    return !flattens(series, out);
}

/* Inferences of a process that began in this time. */
static double count_runs(const struct ml_input *input, uint32_t pid, const struct growth *growth)
{
    double count = 0;

    for (size_t f = 0; f < input->function_count; f++) {
        const struct ml_events *runs = &input->functions[f].events[TRACE_CATEGORY_INFERENCE];
        uint32_t process = input->models[input->functions[f].model].model->process;

        if (process >= input->timeline->process_count ||
            input->timeline->processes[process].pid != pid)
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
        TIMELINE_NONE);

    if (!finding)
        return;
    finding_title(finding, "memory grows by %.2f MB a second over %.0f s, to %.0f MB", rate / MB,
                  (double)(growth->to_ns - growth->from_ns) / 1e9, whole / MB);
    finding_sentence(finding,
                     "Memory of the program grows by %.2f MB a second, to %.0f MB, and has not "
                     "levelled off after %.0f s.",
                     rate / MB, whole / MB, (double)(growth->to_ns - series->points[0].ns) / 1e9);
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
    finding_number(finding, "seconds", (double)(growth->to_ns - growth->from_ns) / 1e9);
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
