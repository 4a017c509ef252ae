// SPDX-License-Identifier: Apache-2.0
/* Statistics of events of one function and category: see ml_timing in input.h. */
#include "analyze/findings/input_internal.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/stats.h"
#include "base/alloc.h"
#include "base/quantile.h"

/* Sorting by digits pays from here on. */
#define DIGITS_LEAST 4096u
#define DIGIT_BITS   11u
#define DIGITS       ((size_t)1 << DIGIT_BITS)

static int by_value(const void *a, const void *b)
{
    uint64_t left = *(const uint64_t *)a;
    uint64_t right = *(const uint64_t *)b;

    return left < right ? -1 : left > right;
}

/* By digits, from the lowest; digits in which all agree are skipped. */
static void sort_by_digits(uint64_t *values, uint64_t *other, size_t count)
{
    uint64_t *from = values;
    uint64_t *to = other;
    uint64_t varies = 0;

    for (size_t i = 1; i < count; i++)
        varies |= values[i] ^ values[0];
    for (unsigned shift = 0; shift < 64; shift += DIGIT_BITS) {
        size_t locations[DIGITS] = { 0 };
        size_t at = 0;
        uint64_t *swap = from;

        if (!(varies >> shift & (DIGITS - 1)))
            continue;
        for (size_t i = 0; i < count; i++)
            locations[from[i] >> shift & (DIGITS - 1)]++;
        for (size_t d = 0; d < DIGITS; d++) {
            size_t here = locations[d];

            locations[d] = at;
            at += here;
        }
        for (size_t i = 0; i < count; i++)
            to[locations[from[i] >> shift & (DIGITS - 1)]++] = from[i];
        from = to;
        to = swap;
    }
    if (from != values)
        memcpy(values, from, count * sizeof *values);
}

void findings_sort(uint64_t *values, size_t count)
{
    uint64_t *other = count >= DIGITS_LEAST ? ifg_alloc(count, sizeof *other) : NULL;

    if (other)
        sort_by_digits(values, other, count);
    else if (count)
        qsort(values, count, sizeof *values, by_value);
    ifg_free(other);
}

bool findings_event_counts(const struct ml_events *events, const struct ml_event *event)
{
    return !(event->flags & ML_FAILED) &&
           (!(event->flags & ML_WITH_OPS) || events->timing.perturbed_included);
}

/* How many are perturbed, how many failed, and whether the perturbed ones count. */
static void take_stock(struct ml_events *events)
{
    struct ml_timing *timing = &events->timing;
    uint64_t others;

    for (size_t i = 0; i < events->count; i++) {
        const struct ml_event *event = &events->items[i];

        if (event->flags & ML_FAILED) {
            timing->failed++;
        } else if (event->flags & ML_WITH_OPS) {
            timing->perturbed++;
            timing->perturbed_total_ns += event->duration_ns;
        }
    }
    others = events->count - timing->failed - timing->perturbed;
    timing->perturbed_included = others < ML_UNPERTURBED_LEAST;
}

static void take_cost(struct ml_events *events, uint64_t *values)
{
    struct ml_timing *timing = &events->timing;
    size_t count = 0;

    if (!timing->perturbed || timing->perturbed_included)
        return;
    for (size_t i = 0; i < events->count; i++)
        if ((events->items[i].flags & (ML_WITH_OPS | ML_FAILED)) == ML_WITH_OPS)
            values[count++] = events->items[i].duration_ns;
    timing->perturbed_cost =
        timing->median_ns > 0 ? ifg_median_u64(values, count) / timing->median_ns - 1 : (double)NAN;
}

static void take_times(struct ml_events *events, uint64_t duration_ns, uint64_t *values)
{
    struct ml_timing *timing = &events->timing;
    size_t count = 0;

    for (size_t i = 0; i < events->count; i++) {
        const struct ml_event *event = &events->items[i];

        if (!findings_event_counts(events, event))
            continue;
        if (i == 0)
            timing->first_ns = (double)event->duration_ns;
        timing->total_ns += event->duration_ns;
        timing->async += (event->flags & ML_ASYNC) != 0;
        values[count++] = event->duration_ns;
    }
    timing->count = count;
    timing->share = (double)timing->total_ns / (double)duration_ns;
    if (!count)
        return;
    findings_sort(values, count);
    timing->median_ns = ifg_quantile_sorted_u64(values, count, .5, IFG_QUANTILE_LINEAR);
    timing->mean_ns = (double)timing->total_ns / (double)count;
    timing->min_ns = (double)values[0];
    timing->max_ns = (double)values[count - 1];
    if (count >= ML_P90_LEAST)
        timing->p90_ns = ifg_quantile_sorted_u64(values, count, .9, IFG_QUANTILE_LINEAR);
    if (count >= ML_P99_LEAST)
        timing->p99_ns = ifg_quantile_sorted_u64(values, count, .99, IFG_QUANTILE_LINEAR);
    take_cost(events, values);
}

enum ifg_status findings_time_events(struct ml_input *input)
{
    uint64_t *values;
    size_t most = 0;

    for (size_t f = 0; f < input->function_count; f++)
        for (int c = 0; c < TRACE_CATEGORIES; c++)
            if (input->functions[f].events[c].count > most)
                most = input->functions[f].events[c].count;
    values = ifg_alloc(most, sizeof *values);
    if (!values)
        return IFG_NO_MEMORY;
    for (size_t f = 0; f < input->function_count; f++) {
        for (int c = 0; c < TRACE_CATEGORIES; c++) {
            struct ml_events *events = &input->functions[f].events[c];
            struct ml_timing *timing = &events->timing;

            timing->first_ns = timing->min_ns = timing->median_ns = timing->mean_ns = NAN;
            timing->p90_ns = timing->p99_ns = timing->max_ns = timing->perturbed_cost = NAN;
            take_stock(events);
            take_times(events, input->duration_ns, values);
        }
    }
    ifg_free(values);
    return IFG_OK;
}
