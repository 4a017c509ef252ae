// SPDX-License-Identifier: Apache-2.0
/* What happened in a range of time: locations by their time in it, inferences, CPUs, functions; all
 * of it, or of a model, or of what has a text in its name. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/hot.h"
#include "base/alloc.h"
#include "base/array.h"
#include "base/quantile.h"
#include "server/handler.h"
#include "server/routes.h"
#include "server/values.h"
#include "server/views_internal.h"

#define ROWS_SHOWN      40u
#define FUNCTIONS_SHOWN 10u
#define VALUES_MOST     65536u /* a median of so many is as good as of all */

struct location_row {
    uint32_t location;
    uint64_t count;
    uint64_t total_ns; /* inside the range */
    uint64_t max_ns;   /* of whole durations */
};

/* Durations of events: of many every second, every fourth, ... */
struct durations {
    uint64_t *values;
    size_t count;
    size_t capacity;
    uint64_t seen;
    uint64_t step; /* every so manyth is kept; 0 is 1 */
    uint64_t max_ns;
};

struct range {
    const struct timeline *timeline;
    uint64_t t0_ns;
    uint64_t t1_ns;
    const bool *passes;        /* by location: whether the filter lets it through */
    struct location_row *rows; /* by location */
    uint32_t *wanted;          /* by location: number of durations + 1, or 0 */
    struct durations *durations;
    struct durations inferences;
    struct durations events; /* all that pass */
    uint64_t inference_count;
    uint64_t event_count;
    uint64_t event_total_ns; /* inside the range */
    uint64_t open;           /* inferences that had not ended */
    bool no_memory;
};

static void add_duration(struct range *range, struct durations *to, uint64_t ns)
{
    to->max_ns = ns > to->max_ns ? ns : to->max_ns;
    if (to->step > 1 && to->seen++ % to->step != 0)
        return;
    if (to->count == VALUES_MOST) {
        for (size_t i = 0; i < VALUES_MOST / 2; i++)
            to->values[i] = to->values[2 * i];
        to->count = VALUES_MOST / 2;
        to->step = to->step ? to->step * 2 : 2;
        to->seen = 1;
    }
    if (!IFG_ARRAY_ROOM(to->values, to->capacity, to->count + 1, IFG_ARRAY_ANY)) {
        range->no_memory = true;
        return;
    }
    to->values[to->count++] = ns;
}

static bool is_inference(const struct timeline *timeline, uint32_t location)
{
    return timeline->locations[location].category == TRACE_CATEGORY_INFERENCE &&
           timeline->locations[location].kind == TRACE_LOCATION_ML;
}

/* A slice or an async span. */
static void see_event(struct range *range, uint32_t number, uint64_t start, uint64_t duration,
                      bool unfinished)
{
    const struct timeline *timeline = range->timeline;
    uint64_t end = start + duration;
    struct location_row *row = &range->rows[number];
    uint64_t from = start > range->t0_ns ? start : range->t0_ns;
    uint64_t to = end < range->t1_ns ? end : range->t1_ns;

    if (start >= range->t1_ns || (end <= range->t0_ns && start < range->t0_ns) ||
        !range->passes[number])
        return;
    if (range->wanted) {
        if (range->wanted[number])
            add_duration(range, &range->durations[range->wanted[number] - 1], duration);
        return;
    }
    row->location = number;
    row->count++;
    row->total_ns += to > from ? to - from : 0;
    row->max_ns = duration > row->max_ns ? duration : row->max_ns;
    range->event_count++;
    range->event_total_ns += to > from ? to - from : 0;
    add_duration(range, &range->events, duration);
    if (is_inference(timeline, number)) {
        if (unfinished) {
            range->open++;
            return;
        }
        range->inference_count++;
        add_duration(range, &range->inferences, duration);
    }
}

static void see_slice(struct range *range, size_t slice)
{
    const struct timeline *timeline = range->timeline;

    see_event(range, timeline->location[slice], timeline->start_ns[slice],
              timeline_duration_ns(timeline, slice),
              is_inference(timeline, timeline->location[slice]) &&
                  timeline_is_unfinished(timeline, slice));
}

static size_t first_slice_from(const struct timeline *timeline,
                               const struct timeline_thread *thread, uint64_t ns)
{
    size_t low = thread->first_slice;
    size_t high = low + thread->slice_count;

    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (timeline->start_ns[middle] < ns)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static void walk(struct range *range)
{
    const struct timeline *timeline = range->timeline;

    for (size_t t = 0; t < timeline->thread_count && !range->no_memory; t++) {
        const struct timeline_thread *thread = &timeline->threads[t];
        size_t first = first_slice_from(timeline, thread, range->t0_ns);
        size_t end = first_slice_from(timeline, thread, range->t1_ns);

        /* What was open at the start: the one before, and what is around it. */
        if (first > thread->first_slice)
            for (size_t at = first - 1; at != SIZE_MAX; at = timeline_parent(timeline, at))
                see_slice(range, at);
        for (size_t i = first; i < end && !range->no_memory; i++)
            see_slice(range, i);
    }
    for (size_t i = 0; i < timeline->async_count && !range->no_memory; i++) {
        const struct timeline_async *async = &timeline->asyncs[i];

        see_event(range, async->location, async->start_ns,
                  async->end_ns > async->start_ns ? async->end_ns - async->start_ns : 0,
                  async->end_thread == TIMELINE_NONE);
    }
}

static int by_total(const void *a, const void *b)
{
    const struct location_row *left = a;
    const struct location_row *right = b;

    return left->total_ns > right->total_ns ? -1 : left->total_ns < right->total_ns;
}

static void put_rows(struct ifg_json *json, const struct range *range, size_t count)
{
    const struct timeline *timeline = range->timeline;

    ifg_json_put_open(json, "rows", '[');
    for (size_t i = 0; i < count; i++) {
        const struct location_row *row = &range->rows[i];
        const struct timeline_location *location = &timeline->locations[row->location];

        ifg_json_open(json, '{');
        ifg_json_put_string(json, "name", location->name);
        ifg_json_put_uint(json, "location", row->location);
        ifg_json_put_string(json, "kind", timeline_kind_name(location->kind));
        ifg_json_put_string(json, "category", timeline_category_name(location->category));
        ifg_json_put_int(json, "model",
                         location->model < timeline->model_count ? (int64_t)location->model : -1);
        ifg_json_put_uint(json, "count", row->count);
        ifg_json_put_uint(json, "total_ns", row->total_ns);
        ifg_json_put_double(
            json, "median_ns",
            ifg_quantile_u64(range->durations[i].values, range->durations[i].count, 0.5));
        ifg_json_put_uint(json, "max_ns", row->max_ns);
        ifg_json_close(json, '}');
    }
    ifg_json_close(json, ']');
}

static void put_durations(struct ifg_json *json, const struct durations *durations)
{
    double median = ifg_quantile_u64(durations->values, durations->count, 0.5);
    double most = durations->count ? (double)durations->max_ns : NAN;

    ifg_json_put_double(json, "median_ns", median);
    ifg_json_put_double(json, "max_ns", most);
}

static void put_events(struct ifg_json *json, const struct range *range)
{
    ifg_json_put_open(json, "inferences", '{');
    ifg_json_put_uint(json, "n", range->inference_count);
    ifg_json_put_uint(json, "open", range->open);
    put_durations(json, &range->inferences);
    ifg_json_close(json, '}');
    ifg_json_put_open(json, "events", '{');
    ifg_json_put_uint(json, "n", range->event_count);
    ifg_json_put_uint(json, "total_ns", range->event_total_ns);
    put_durations(json, &range->events);
    ifg_json_close(json, '}');
}

/* Mean over the range of what the processes used, each value standing for the time before it. */
static void put_cpu(struct ifg_json *json, const struct server_trace *trace,
                    const struct range *range)
{
    double cores = NAN;

    for (size_t i = 0; i < trace->track_count; i++) {
        const struct track *track = &trace->tracks[i];
        uint64_t before = 0;
        double sum = 0;
        double time = 0;

        if (track->kind != TRACK_COUNTER ||
            strcmp(trace->timeline->locations[track->location].name, "cpu %") != 0)
            continue;
        for (size_t k = 0; k < track->count; k++) {
            const struct timeline_counter *counter =
                &trace->timeline->counters[trace->counter_order[track->first + k]];
            uint64_t from = before > range->t0_ns ? before : range->t0_ns;
            uint64_t to = counter->ns < range->t1_ns ? counter->ns : range->t1_ns;

            if (k > 0 && to > from && isfinite(counter->value)) {
                sum += counter->value * (double)(to - from);
                time += (double)(to - from);
            }
            before = counter->ns;
        }
        if (time > 0)
            cores = (isnan(cores) ? 0 : cores) + sum / time / 100;
    }
    ifg_json_put_open(json, "cpu", '{');
    ifg_json_put_double(json, "busy_cores", cores);
    ifg_json_close(json, '}');
}

/* Names of events say nothing of functions: only the model restricts these. */
static void put_functions(struct ifg_json *json, const struct server_trace *trace,
                          const struct views_filter *part)
{
    const struct hot_filter filter = views_hot_filter(part, false);
    struct hot *hot = NULL;

    ifg_json_put_open(json, "functions", '[');
    if (trace->profile && trace->profile->sample_count &&
        !hot_create(trace->timeline, &filter, &hot, NULL))
        for (size_t i = 0; hot && i < hot->row_count && i < FUNCTIONS_SHOWN; i++) {
            ifg_json_open(json, '{');
            ifg_json_put_uint(json, "function", hot->rows[i].function);
            ifg_json_put_string(json, "name", hot->rows[i].name);
            ifg_json_put_string(json, "module", hot->rows[i].module);
            ifg_json_put_uint(json, "self", hot->rows[i].self);
            ifg_json_put_uint(json, "total", hot->rows[i].total);
            ifg_json_put_uint(json, "samples", hot->samples);
            ifg_json_close(json, '}');
        }
    ifg_json_close(json, ']');
    hot_destroy(hot);
}

static void range_fini(struct range *range)
{
    for (size_t i = 0; range->durations && i < ROWS_SHOWN; i++)
        ifg_free(range->durations[i].values);
    ifg_free(range->durations);
    ifg_free(range->inferences.values);
    ifg_free(range->events.values);
    ifg_free(range->wanted);
    ifg_free(range->rows);
}

/* By location; NULL: no memory. */
static bool *choose_locations(const struct timeline *timeline, const struct views_filter *part)
{
    bool *passes = ifg_alloc(timeline->location_count + 1, sizeof *passes);

    for (size_t i = 0; passes && i < timeline->location_count; i++)
        passes[i] = (part->model == UINT32_MAX || timeline->locations[i].model == part->model) &&
                    (!part->text || strcasestr(timeline->locations[i].name, part->text));
    return passes;
}

static void put_range(struct ifg_json *json, const struct server_trace *trace,
                      const struct views_filter *part, const struct range *range, size_t count)
{
    ifg_json_open(json, '{');
    ifg_json_put_int(json, "schema", 1);
    ifg_json_put_uint(json, "length_ns", range->t1_ns - range->t0_ns);
    put_rows(json, range, count);
    put_events(json, range);
    put_cpu(json, trace, range);
    put_functions(json, trace, part);
    ifg_json_close(json, '}');
}

void serve_range(const struct server_request *request, struct server_answer *answer)
{
    const struct timeline *timeline = request->timeline;
    struct range range = { .timeline = timeline };
    struct views_filter part;
    struct ifg_json json;
    bool *passes;
    size_t count = 0;

    if (!views_filter(request, &part, answer))
        return;
    range.t0_ns = timeline->begin_ns + part.from_ns;
    range.t1_ns = timeline->begin_ns + part.to_ns;
    range.passes = passes = choose_locations(timeline, &part);
    range.rows = ifg_alloc(timeline->location_count + 1, sizeof *range.rows);
    range.durations = ifg_alloc(ROWS_SHOWN, sizeof *range.durations);
    range.no_memory = !range.rows || !range.durations || !passes;
    walk(&range);
    if (!range.no_memory) {
        for (size_t p = 0; p < timeline->location_count; p++)
            if (range.rows[p].count)
                range.rows[count++] = range.rows[p];
        if (count)
            qsort(range.rows, count, sizeof *range.rows, by_total);
        count = count > ROWS_SHOWN ? ROWS_SHOWN : count;
        range.wanted = ifg_alloc(timeline->location_count + 1, sizeof *range.wanted);
        range.no_memory = !range.wanted;
    }
    if (!range.no_memory) {
        for (size_t i = 0; i < count; i++)
            range.wanted[range.rows[i].location] = (uint32_t)i + 1;
        walk(&range); /* again, for the medians of those that are shown */
    }
    if (range.no_memory) {
        answer_error(answer, 500, "not enough memory");
    } else {
        json = answer_json(answer);
        put_range(&json, request->trace, &part, &range, count);
    }
    ifg_free(passes);
    range_fini(&range);
}
