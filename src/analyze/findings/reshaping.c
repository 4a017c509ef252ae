// SPDX-License-Identifier: Apache-2.0
/* reshaping: inputs of ever new shapes, and the model pays for each new one. */
#include "analyze/findings/findings_internal.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/quantile.h"

/* Specializations inside inferences are certain: from the second on they cost again. Otherwise a
 * shape's first inference is compared with the median of at least three later ones of the same
 * shape: it must be half as long again for the median shape, for at least four shapes, and the sum
 * must be at least 1 % of the time spent in inferences. */
#define SPECIALIZATIONS_LEAST 2u
#define SHAPES_LEAST          4u
#define LATER_LEAST           3u
#define TIMES_SLOWER          1.5
#define LOST_SHARE            0.01

struct shapes {
    size_t distinct;
    size_t compared;
    double lost_ns;
    uint64_t *ratios; /* in thousandths */
};

static int by_shape(const void *a, const void *b)
{
    const struct ml_event *left = *(const struct ml_event *const *)a;
    const struct ml_event *right = *(const struct ml_event *const *)b;

    if (left->detail != right->detail)
        return (uintptr_t)left->detail < (uintptr_t)right->detail ? -1 : 1;
    return left < right ? -1 : left > right;
}

/* runs[0 .. count) have one shape. The first inference of all is not held against its shape. */
static void judge(const struct ml_event *const *runs, size_t count,
                  const struct ml_event *very_first, uint64_t *values, struct shapes *shapes)
{
    double median, ratio;

    shapes->distinct++;
    if (runs[0] == very_first || count < LATER_LEAST + 1)
        return;
    for (size_t i = 1; i < count; i++)
        values[i - 1] = runs[i]->duration_ns;
    median = ifg_median_u64(values, count - 1);
    if (!(median > 0))
        return;
    ratio = (double)runs[0]->duration_ns / median;
    shapes->ratios[shapes->compared++] = (uint64_t)(ratio < 1e9 ? ratio * 1000 : 1e12);
    if ((double)runs[0]->duration_ns > median)
        shapes->lost_ns += (double)runs[0]->duration_ns - median;
}

static void report(const struct ml_input *input, const struct ml_function *function,
                   const struct shapes *shapes, double ratio, struct findings *out)
{
    const struct ml_timing *timing = &function->events[TRACE_CATEGORY_INFERENCE].timing;
    struct finding *finding = finding_add(out, FINDING_MEDIUM, function->model);

    if (!finding)
        return;
    finding->weight_ns = shapes->lost_ns;
    finding_title(finding, "%zu input shapes; the first inference of each takes %.1f times as long",
                  shapes->distinct, ratio);
    finding_sentence(finding, "%s%zu different input shapes: each new one costs extra, %s in all.",
                     finding_words_about(input, function->model).text, shapes->distinct,
                     finding_words_time(shapes->lost_ns).text);
    finding_evidence(finding,
                     "%zu shapes in %llu inferences; %zu of them could be compared with later "
                     "inferences of the same shape: %.2f times as long (median), %s more in all",
                     shapes->distinct, (unsigned long long)timing->count, shapes->compared, ratio,
                     finding_words_time(shapes->lost_ns).text);
    finding_fix(finding, "pad inputs to a few fixed sizes, and run each size once after loading");
    finding_number(finding, "shapes", (double)shapes->distinct);
    finding_number(finding, "ratio", ratio);
    finding_number(finding, "lost_ms", shapes->lost_ns / MS);
}

static void report_specializations(const struct ml_input *input, const struct ml_function *function,
                                   size_t count, struct findings *out)
{
    const struct ml_events *runs = &function->events[TRACE_CATEGORY_INFERENCE];
    struct finding *finding = finding_add(out, FINDING_HIGH, function->model);
    double time = 0;

    for (size_t i = 0; i < runs->count; i++) {
        if (!(runs->items[i].flags & ML_SPECIALIZES))
            continue;
        finding_event(finding, &runs->items[i]);
        time += (double)runs->items[i].duration_ns;
    }
    finding_title(finding, "the model is specialized again inside %zu inferences, %s in all", count,
                  finding_words_time(time).text);
    finding_sentence(finding, "%sThe model is specialized again inside %zu inferences: %s.",
                     finding_words_about(input, function->model).text, count,
                     finding_words_time(time).text);
    finding_evidence(finding, "%zu inferences of %s have a specialization inside", count,
                     finding_words_model(input, function->model).text);
    finding_fix(finding, "give the provider the range of shapes beforehand (TensorRT: "
                         "trt_profile_min_shapes, _opt_shapes, _max_shapes) and keep its engines "
                         "(trt_engine_cache_enable=1), or pad inputs to fixed sizes");
    finding_number(finding, "count", (double)count);
    finding_number(finding, "total_ms", time / MS);
    if (finding)
        finding->weight_ns = time;
}

/* True if there was memory. */
static bool compare_shapes(const struct ml_events *events, struct shapes *shapes)
{
    const struct ml_event **runs = ifg_alloc(events->count, sizeof *runs);
    uint64_t *values = ifg_alloc(events->count, sizeof *values);
    size_t count = 0;

    shapes->ratios = ifg_alloc(events->count, sizeof *shapes->ratios);
    if (runs && values && shapes->ratios) {
        for (size_t i = 0; i < events->count; i++)
            if (findings_event_counts(events, &events->items[i]) && *events->items[i].detail)
                runs[count++] = &events->items[i];
        qsort(runs, count, sizeof *runs, by_shape);
        for (size_t first = 0, end; first < count; first = end) {
            for (end = first + 1; end < count && runs[end]->detail == runs[first]->detail;)
                end++;
            judge(runs + first, end - first, events->items, values, shapes);
        }
    }
    ifg_free((void *)runs);
    ifg_free(values);
    return runs && values && shapes->ratios;
}

static bool has_several(const struct ml_events *events)
{
    for (size_t i = 1; i < events->count; i++)
        if (events->items[i].detail != events->items[0].detail)
            return true;
    return false;
}

void rule_reshaping(const struct ml_input *input, struct findings *out)
{
    for (size_t f = 0; f < input->function_count; f++) {
        const struct ml_function *function = &input->functions[f];
        const struct ml_events *events = &function->events[TRACE_CATEGORY_INFERENCE];
        struct shapes shapes = { 0 };
        size_t specializations = 0;

        for (size_t i = 0; i < events->count; i++)
            specializations += (events->items[i].flags & ML_SPECIALIZES) != 0;
        if (specializations >= SPECIALIZATIONS_LEAST) {
            report_specializations(input, function, specializations, out);
            continue;
        }
        if (!has_several(events))
            continue;
        if (!compare_shapes(events, &shapes))
            out->status = IFG_NO_MEMORY;
        if (!out->status && shapes.compared >= SHAPES_LEAST) {
            double ratio = ifg_median_u64(shapes.ratios, shapes.compared) / 1000;

            if (ratio >= TIMES_SLOWER &&
                shapes.lost_ns >= LOST_SHARE * (double)events->timing.total_ns)
                report(input, function, &shapes, ratio, out);
        }
        ifg_free(shapes.ratios);
    }
}
