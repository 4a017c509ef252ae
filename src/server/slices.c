// SPDX-License-Identifier: Apache-2.0
/* All about one slice: what it is, what is in it, and how it compares with others of its location.
 * */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/quantile.h"
#include "server/handler.h"
#include "server/routes.h"
#include "server/slices_internal.h"
#include "server/values.h"

#define CHILDREN_SHOWN 12u
#define VALUES_MOST    4000000u /* of more, every second, third, ... is looked at */

/* ---- who and where ---- */

static void put_thread(struct ifg_json *json, const struct server_trace *trace, uint32_t thread)
{
    const struct timeline *timeline = trace->timeline;
    const struct timeline_thread *of = &timeline->threads[thread];
    char id[24];

    snprintf(id, sizeof id, "t%u", thread);
    ifg_json_put_open(json, "thread", '{');
    ifg_json_put_string(json, "track", id);
    ifg_json_put_string(json, "name", of->name);
    ifg_json_put_uint(json, "tid", of->tid);
    ifg_json_close(json, '}');
    ifg_json_put_string(
        json, "process",
        of->process < timeline->process_count ? timeline->processes[of->process].name : "");
}

static void put_location(struct ifg_json *json, const struct timeline *timeline, uint32_t number)
{
    const struct timeline_location *location = &timeline->locations[number];

    ifg_json_put_uint(json, "location", number);
    ifg_json_put_string(json, "kind", timeline_kind_name(location->kind));
    ifg_json_put_string(json, "category", timeline_category_name(location->category));
    ifg_json_put_int(json, "model",
                     location->model < timeline->model_count ? (int64_t)location->model : -1);
    ifg_json_put_string(json, "function", location->function);
    ifg_json_put_string(json, "file", location->file);
    ifg_json_put_uint(json, "line", location->line);
}

static void put_arguments(struct ifg_json *json, struct server_trace *trace, size_t slice)
{
    const struct timeline *timeline = trace->timeline;
    const struct timeline_attribute *attributes = NULL;
    size_t count = timeline_attributes_of(timeline, slice, &attributes);

    ifg_json_put_open(json, "args", '[');
    for (size_t i = 0; i < count; i++) {
        ifg_json_open(json, '{');
        ifg_json_put_string(json, "key", attributes[i].key);
        ifg_json_key(json, "value");
        switch (attributes[i].type) {
        case TRACE_VALUE_SIGNED:
            ifg_json_int(json, attributes[i].signed_value);
            break;
        case TRACE_VALUE_UNSIGNED:
            ifg_json_uint(json, attributes[i].unsigned_value);
            break;
        case TRACE_VALUE_F64:
            ifg_json_double(json, attributes[i].f64_value);
            break;
        default:
            ifg_json_string(json, attributes[i].text);
            break;
        }
        ifg_json_close(json, '}');
    }
    slices_put_device(json, trace, slice);
    ifg_json_close(json, ']');
}

/* ---- what is in it ---- */

struct child {
    uint32_t location;
    uint64_t count;
    uint64_t total_ns;
};

static int by_total(const void *a, const void *b)
{
    const struct child *left = a;
    const struct child *right = b;

    return left->total_ns > right->total_ns ? -1 : left->total_ns < right->total_ns;
}

static void put_children(struct ifg_json *json, const struct timeline *timeline, size_t slice)
{
    const struct timeline_thread *thread = &timeline->threads[timeline_thread_of(timeline, slice)];
    size_t end = thread->first_slice + thread->slice_count;
    uint16_t depth = timeline->depth[slice];
    struct child *children = ifg_alloc(timeline->location_count + 1, sizeof *children);
    size_t kinds = 0;
    struct child other = { 0 };

    ifg_json_put_open(json, "children", '[');
    for (size_t i = slice + 1; children && i < end && timeline->depth[i] > depth; i++) {
        struct child *child = &children[timeline->location[i]];

        if (timeline->depth[i] != depth + 1)
            continue;
        child->location = timeline->location[i];
        child->count++;
        child->total_ns += timeline_duration_ns(timeline, i);
    }
    for (size_t p = 0; children && p < timeline->location_count; p++)
        if (children[p].count)
            children[kinds++] = children[p];
    if (kinds)
        qsort(children, kinds, sizeof *children, by_total);
    for (size_t i = 0; i < kinds; i++) {
        if (i >= CHILDREN_SHOWN) {
            other.count += children[i].count;
            other.total_ns += children[i].total_ns;
            continue;
        }
        ifg_json_open(json, '{');
        ifg_json_put_string(json, "name", timeline->locations[children[i].location].name);
        ifg_json_put_uint(json, "location", children[i].location);
        ifg_json_put_uint(json, "count", children[i].count);
        ifg_json_put_uint(json, "total_ns", children[i].total_ns);
        ifg_json_close(json, '}');
    }
    if (other.count) {
        ifg_json_open(json, '{');
        ifg_json_put_string(json, "name", "other");
        ifg_json_put_uint(json, "count", other.count);
        ifg_json_put_uint(json, "total_ns", other.total_ns);
        ifg_json_close(json, '}');
    }
    ifg_json_close(json, ']');
    ifg_free(children);
}

/* ---- others of its location ---- */

static void put_neighbour(struct ifg_json *json, const char *key, size_t slice)
{
    ifg_json_key(json, key);
    if (slice == SIZE_MAX)
        ifg_json_double(json, NAN);
    else
        ifg_json_uint(json, slice);
}

size_t slices_neighbour(const struct timeline *timeline, const struct location_index *index,
                        uint32_t location, uint64_t ns, bool after)
{
    const uint32_t *ids = index->by_location + index->first[location];
    size_t count = index->first[location + 1] - index->first[location];
    size_t best = SIZE_MAX;
    size_t from = 0;

    /* Slices of a thread stand together, by start: look into each such run. */
    while (from < count) {
        const struct timeline_thread *thread =
            &timeline->threads[timeline_thread_of(timeline, ids[from])];
        size_t run_end = thread->first_slice + thread->slice_count;
        size_t low = from;
        size_t high = count;
        size_t to;
        size_t at;

        while (low < high) {
            size_t middle = low + (high - low) / 2;

            if (ids[middle] < run_end)
                low = middle + 1;
            else
                high = middle;
        }
        to = low;
        low = from;
        high = to;
        while (low < high) { /* first that does not begin before ns */
            size_t middle = low + (high - low) / 2;

            if (timeline->start_ns[ids[middle]] < ns)
                low = middle + 1;
            else
                high = middle;
        }
        at = after ? low : low - 1;
        if (after ? at < to : low > from) {
            uint64_t start = timeline->start_ns[ids[at]];

            if (best == SIZE_MAX ||
                (after ? start < timeline->start_ns[best] : start > timeline->start_ns[best]))
                best = ids[at];
        }
        from = to;
    }
    return best;
}

static void put_histogram(struct ifg_json *json, const uint64_t *values, size_t count)
{
    struct values_bins bins;

    values_histogram(values, count, &bins);
    ifg_json_put_open(json, "histogram", '{');
    ifg_json_put_double(json, "from", bins.from);
    ifg_json_put_double(json, "to", bins.to);
    ifg_json_put_bool(json, "log", bins.log);
    ifg_json_put_open(json, "bins", '[');
    for (size_t i = 0; i < VALUES_BINS; i++)
        ifg_json_uint(json, bins.bins[i]);
    ifg_json_close(json, ']');
    ifg_json_close(json, '}');
}

void slices_put_same(struct ifg_json *json, const struct same_sums *sums)
{
    size_t count = sums->count;

    put_histogram(json, sums->values, sums->kept);
    ifg_json_put_open(json, "same", '{');
    ifg_json_put_uint(json, "n", count);
    ifg_json_put_double(json, "rank", count ? (double)sums->shorter / (double)count : NAN);
    ifg_json_put_double(json, "median", ifg_quantile_u64(sums->values, sums->kept, 0.5));
    ifg_json_put_double(json, "p90", ifg_quantile_u64(sums->values, sums->kept, 0.9));
    ifg_json_put_double(json, "p99", ifg_quantile_u64(sums->values, sums->kept, 0.99));
    ifg_json_put_double(json, "min", count ? (double)sums->least_ns : NAN);
    ifg_json_put_double(json, "max", count ? (double)sums->most_ns : NAN);
    put_neighbour(json, "previous", sums->previous);
    put_neighbour(json, "next", sums->next);
    put_neighbour(json, "slower", sums->slower);
    ifg_json_close(json, '}');
}

static void put_same(struct ifg_json *json, const struct timeline *timeline,
                     const struct location_index *index, size_t slice)
{
    uint32_t location = timeline->location[slice];
    const uint32_t *ids = index->by_location + index->first[location];
    size_t count = index->first[location + 1] - index->first[location];
    uint64_t own = timeline_duration_ns(timeline, slice);
    size_t step = count / VALUES_MOST + 1;
    uint64_t slower_ns = UINT64_MAX;
    struct same_sums sums = { .least_ns = UINT64_MAX, .slower = SIZE_MAX };

    sums.values = ifg_alloc(count / step + 2, sizeof *sums.values);
    for (size_t i = 0; sums.values && i < count; i++) {
        uint64_t ns = timeline_duration_ns(timeline, ids[i]);

        if (i % step == 0)
            sums.values[sums.kept++] = ns;
        sums.shorter += ns < own;
        sums.least_ns = ns < sums.least_ns ? ns : sums.least_ns;
        sums.most_ns = ns > sums.most_ns ? ns : sums.most_ns;
        if ((ns > own || (ns == own && ids[i] > slice)) && ns < slower_ns) {
            slower_ns = ns;
            sums.slower = ids[i];
        }
    }
    sums.count = sums.values ? count : 0;
    sums.previous = slices_neighbour(timeline, index, location, timeline->start_ns[slice], false);
    sums.next = slices_neighbour(timeline, index, location, timeline->start_ns[slice] + 1, true);
    slices_put_same(json, &sums);
    ifg_free(sums.values);
}

/* ---- the answer ---- */

static void put_slice(const struct server_request *request, size_t slice,
                      const struct location_index *index, struct ifg_json *json)
{
    const struct timeline *timeline = request->timeline;
    uint32_t thread = timeline_thread_of(timeline, slice);
    size_t parent = timeline_parent(timeline, slice);

    ifg_json_put_uint(json, "id", slice);
    ifg_json_put_string(json, "name", timeline_slice_name(timeline, slice));
    put_location(json, timeline, timeline->location[slice]);
    ifg_json_put_double(json, "start", answer_ns(timeline, timeline->start_ns[slice]));
    ifg_json_put_uint(json, "duration", timeline_duration_ns(timeline, slice));
    ifg_json_put_bool(json, "unfinished", timeline_is_unfinished(timeline, slice));
    put_thread(json, request->trace, thread);
    ifg_json_put_uint(json, "depth", timeline->depth[slice]);
    put_neighbour(json, "parent", parent);
    put_arguments(json, request->trace, slice);
    slices_put_inputs(json, timeline, slice);
    put_children(json, timeline, slice);
    put_same(json, timeline, index, slice);
    slices_put_states(json, request->trace, thread, timeline->start_ns[slice],
                      timeline_end_ns(timeline, slice));
    slices_put_samples(json, request->trace, thread, timeline->start_ns[slice],
                       timeline_end_ns(timeline, slice));
    slices_put_placement(json, request->trace,
                         timeline->locations[timeline->location[slice]].model);
}

/* A span that begins on one thread may end on another: that is where its result came. */
static void put_end_thread(struct ifg_json *json, const struct timeline *timeline,
                           const struct timeline_async *async)
{
    char text[128];

    if (async->end_thread >= timeline->thread_count || async->end_thread == async->begin_thread)
        return;
    snprintf(text, sizeof text, "%.80s, tid %u", timeline->threads[async->end_thread].name,
             timeline->threads[async->end_thread].tid);
    ifg_json_open(json, '{');
    ifg_json_put_string(json, "key", "ends_on");
    ifg_json_put_string(json, "value", text);
    ifg_json_close(json, '}');
}

/* Async spans, messages and frames have no children; of messages and frames nothing is indexed. */
static void put_extra(const struct server_request *request, size_t number, struct ifg_json *json)
{
    const struct timeline *timeline = request->timeline;
    const struct lod_span *span = &request->trace->extras[number];
    size_t message = number - timeline->async_count;
    size_t frame = message - timeline->message_count;
    uint32_t thread;

    ifg_json_put_uint(json, "id", timeline->slice_count + number);
    if (number < timeline->async_count) {
        thread = timeline->asyncs[number].begin_thread;
        ifg_json_put_string(json, "name", timeline->locations[span->location].name);
        put_location(json, timeline, span->location);
    } else if (message < timeline->message_count) {
        thread = timeline->messages[message].thread;
        ifg_json_put_string(json, "name", timeline->messages[message].text);
        ifg_json_put_uint(json, "location", span->location);
        ifg_json_put_string(json, "kind", "message");
        ifg_json_put_string(json, "category", "");
        ifg_json_put_int(json, "model", -1);
        ifg_json_put_string(json, "function", "");
    } else {
        thread = timeline->frames[frame].thread;
        ifg_json_put_string(json, "name", timeline->locations[span->location].name);
        put_location(json, timeline, span->location);
    }
    ifg_json_put_double(json, "start", answer_ns(timeline, span->start_ns));
    ifg_json_put_uint(json, "duration", span->duration_ns);
    ifg_json_put_bool(json, "unfinished", span->flags & LOD_UNFINISHED);
    if (thread < timeline->thread_count)
        put_thread(json, request->trace, thread);
    ifg_json_put_uint(json, "depth", 0);
    put_neighbour(json, "parent", SIZE_MAX);
    ifg_json_put_open(json, "args", '[');
    if (number < timeline->async_count) {
        ifg_json_open(json, '{');
        ifg_json_put_string(json, "key", "id");
        ifg_json_put_uint(json, "value", timeline->asyncs[number].id);
        ifg_json_close(json, '}');
        put_end_thread(json, timeline, &timeline->asyncs[number]);
    }
    ifg_json_close(json, ']');
    ifg_json_put_open(json, "children", '[');
    ifg_json_close(json, ']');
    if (number < timeline->async_count) {
        asyncs_put_same(json, timeline, number);
    } else {
        put_neighbour(json, "same", SIZE_MAX); /* null */
        put_neighbour(json, "histogram", SIZE_MAX);
    }
    put_neighbour(json, "states", SIZE_MAX);
    put_neighbour(json, "samples", SIZE_MAX);
    if (number < timeline->async_count)
        slices_put_placement(json, request->trace, timeline->locations[span->location].model);
    else
        put_neighbour(json, "placement", SIZE_MAX);
}

void serve_slice(const struct server_request *request, struct server_answer *answer)
{
    const struct location_index *index = NULL;
    struct ifg_error err = { 0 };
    struct ifg_json json;
    enum ifg_status status;
    uint32_t id;

    if (!request_index(request, "id", false,
                       request->timeline->slice_count + request->trace->extra_count, &id, answer))
        return;
    status = trace_locations(request->trace, &index, &err);
    if (!answer_begin(answer, status, &err, &json))
        return;
    if (id < request->timeline->slice_count)
        put_slice(request, id, index, &json);
    else
        put_extra(request, id - request->timeline->slice_count, &json);
    ifg_json_close(&json, '}');
}
