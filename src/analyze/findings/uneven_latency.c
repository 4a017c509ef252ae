// SPDX-License-Identifier: Apache-2.0
/* uneven-latency: a few inferences take several times as long as most, with the same shapes. */
#include "analyze/findings/findings_internal.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "analyze/stats.h"
#include "base/alloc.h"
#include "base/quantile.h"

/* p99 of fewer than 200 is one or two values. A shared machine easily gives twice the median; three
 * times is what users feel. Below 100 us apart it is the scheduler's business. The first inference
 * of a function is another rule's. */
#define COUNT_LEAST  200u
#define TIMES_SLOWER 3.0
#define MEDIUM_TIMES 5.0
#define LEAST_NS     100000.0

/* The shapes that most inferences have. */
static const char *commonest(const struct ml_events *events, uint64_t *details)
{
    size_t best = 0;
    const char *found = "";
    size_t count = 0;

    for (size_t i = 0; i < events->count; i++)
        details[count++] = (uintptr_t)events->items[i].detail;
    findings_sort(details, count);
    for (size_t first = 0, end; first < count; first = end) {
        for (end = first + 1; end < count && details[end] == details[first];)
            end++;
        if (end - first > best) {
            best = end - first;
            found = (const char *)(uintptr_t)details[first];
        }
    }
    return found;
}

static void report(const struct ml_input *input, const struct ml_function *function,
                   const char *shapes, size_t count, const double percentiles[2],
                   struct findings *out)
{
    const struct ml_events *events = &function->events[TRACE_CATEGORY_INFERENCE];
    double times = percentiles[1] / percentiles[0];
    struct finding *finding =
        finding_add(out, times >= MEDIUM_TIMES ? FINDING_MEDIUM : FINDING_LOW, function->model);
    double lost = 0;

    if (!finding)
        return;
    for (size_t i = 1; i < events->count; i++) {
        const struct ml_event *event = &events->items[i];

        if (event->detail != shapes || !findings_event_counts(events, event) ||
            (double)event->duration_ns < percentiles[1])
            continue;
        lost += (double)event->duration_ns - percentiles[0];
        finding_event(finding, event);
    }
    finding->weight_ns = lost;
    /* These are not the model's figures, in which all inferences are: so not beside them. */
    finding_title(finding, "p99 is %.1f times the median", times);
    finding_sentence(finding, "%sOne inference in a hundred takes %.1f times the median or more.",
                     finding_words_about(input, function->model).text, times);
    finding_evidence(finding, "p99 %s, median %s of %zu inferences%s%.120s, without the first",
                     finding_words_time(percentiles[1]).text,
                     finding_words_time(percentiles[0]).text, count, *shapes ? " with shapes " : "",
                     shapes);
    finding_fix(finding, "look at what else happens then (the events named here, other threads at "
                         "that time); latency is most even with fewer intra-op threads than CPUs "
                         "and nothing else on the machine");
    finding_number(finding, "p50_ms", percentiles[0] / MS);
    finding_number(finding, "p99_ms", percentiles[1] / MS);
    finding_number(finding, "ratio", times);
    finding_number(finding, "count", (double)count);
}

static void look_at(const struct ml_input *input, const struct ml_function *function,
                    struct findings *out)
{
    const struct ml_events *events = &function->events[TRACE_CATEGORY_INFERENCE];
    uint64_t *values = ifg_alloc(events->count, sizeof *values);
    uint64_t *details = ifg_alloc(events->count, sizeof *details);
    size_t count = 0;

    if (values && details) {
        const char *shapes = commonest(events, details);
        double percentiles[2];

        for (size_t i = 1; i < events->count; i++)
            if (events->items[i].detail == shapes &&
                findings_event_counts(events, &events->items[i]))
                values[count++] = events->items[i].duration_ns;
        percentiles[0] = ifg_median_u64(values, count);
        percentiles[1] = ifg_quantile_u64(values, count, .99);
        if (count >= COUNT_LEAST && percentiles[0] > 0 &&
            percentiles[1] >= TIMES_SLOWER * percentiles[0] &&
            percentiles[1] - percentiles[0] >= LEAST_NS)
            report(input, function, shapes, count, percentiles, out);
    } else {
        out->status = IFG_NO_MEMORY;
    }
    ifg_free(values);
    ifg_free(details);
}

void rule_uneven_latency(const struct ml_input *input, struct findings *out)
{
    for (size_t f = 0; f < input->function_count; f++)
        if (input->functions[f].events[TRACE_CATEGORY_INFERENCE].count > COUNT_LEAST)
            look_at(input, &input->functions[f], out);
}
