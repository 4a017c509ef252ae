// SPDX-License-Identifier: Apache-2.0
/* Points of flows: the slices that they belong to, the flows that they make, and their arrows. */
#include "timeline/flows.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/array.h"
#include "timeline/timeline_internal.h"

/* ---- slices ---- */

static void sweep_start(struct timeline_sweep *sweep, uint32_t thread)
{
    const struct timeline_thread *range = &sweep->timeline->threads[thread];

    sweep->thread = thread;
    sweep->next = range->first_slice;
    sweep->end = range->first_slice + range->slice_count;
    sweep->count = 0;
}

static bool sweep_push(struct timeline_sweep *sweep, size_t slice)
{
    if (!IFG_ARRAY_ROOM(sweep->open, sweep->capacity, sweep->count + 1, IFG_ARRAY_ANY))
        return false;
    sweep->open[sweep->count++] = slice;
    return true;
}

size_t timeline_sweep_at(struct timeline_sweep *sweep, uint32_t thread, uint64_t ns)
{
    const struct timeline *timeline = sweep->timeline;

    if (thread != sweep->thread)
        sweep_start(sweep, thread);
    while (sweep->next < sweep->end && timeline->start_ns[sweep->next] <= ns) {
        uint16_t depth = timeline->depth[sweep->next];

        sweep->count = depth < sweep->count ? depth : sweep->count;
        if (!sweep_push(sweep, sweep->next)) {
            sweep->no_memory = true;
            return SIZE_MAX;
        }
        sweep->next++;
    }
    while (sweep->count && timeline_end_ns(timeline, sweep->open[sweep->count - 1]) < ns)
        sweep->count--;
    return sweep->count ? sweep->open[sweep->count - 1] : SIZE_MAX;
}

void timeline_sweep_fini(struct timeline_sweep *sweep)
{
    ifg_free(sweep->open);
    sweep->open = NULL;
}

/* The slice of a thread that begins next, at this moment or later. */
static size_t next_slice(const struct timeline *timeline, uint32_t thread, uint64_t ns)
{
    const struct timeline_thread *range = &timeline->threads[thread];
    size_t low = range->first_slice;
    size_t end = range->first_slice + range->slice_count;
    size_t high = end;

    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (timeline->start_ns[middle] < ns)
            low = middle + 1;
        else
            high = middle;
    }
    return low < end ? low : SIZE_MAX;
}

static int by_thread(const void *a, const void *b)
{
    const struct taken_flow_point *left = a;
    const struct taken_flow_point *right = b;

    if (left->point.thread != right->point.thread)
        return left->point.thread < right->point.thread ? -1 : 1;
    return left->point.ns < right->point.ns ? -1 : left->point.ns > right->point.ns;
}

static enum ifg_status bind_points(const struct timeline *timeline, struct taken_flow_point *points,
                                   size_t count)
{
    struct timeline_sweep sweep = { .timeline = timeline, .thread = TIMELINE_NONE };

    qsort(points, count, sizeof *points, by_thread);
    for (size_t i = 0; i < count; i++) {
        struct timeline_flow_point *point = &points[i].point;

        point->slice = point->flags & TRACE_FLOW_NEXT
                           ? next_slice(timeline, point->thread, point->ns)
                           : timeline_sweep_at(&sweep, point->thread, point->ns);
    }
    timeline_sweep_fini(&sweep);
    return sweep.no_memory ? IFG_NO_MEMORY : IFG_OK;
}

/* ---- flows ---- */

static bool is_same_id(const struct taken_flow_point *a, const struct taken_flow_point *b)
{
    return a->point.id == b->point.id && a->name == b->name && a->process == b->process;
}

/* Points that may belong together, by time; of one moment the begin first, the end last. Names are
 * compared as texts, so that a trace always gives the same numbers. */
static int by_flow(const void *a, const void *b)
{
    const struct taken_flow_point *left = a;
    const struct taken_flow_point *right = b;

    if (left->process != right->process)
        return left->process < right->process ? -1 : 1;
    if (left->name != right->name)
        return strcmp(left->name, right->name);
    if (left->point.id != right->point.id)
        return left->point.id < right->point.id ? -1 : 1;
    if (left->point.ns != right->point.ns)
        return left->point.ns < right->point.ns ? -1 : 1;
    return (int)left->point.kind - (int)right->point.kind;
}

/* An id may be used again in the very moment of its end: then the end comes first. */
static void put_end_first(struct taken_flow_point *points, size_t at, size_t count)
{
    struct taken_flow_point begin = points[at];

    if (begin.point.kind != TIMELINE_FLOW_BEGIN || at + 1 == count ||
        points[at + 1].point.kind != TIMELINE_FLOW_END ||
        points[at + 1].point.ns != begin.point.ns || !is_same_id(&points[at + 1], &begin))
        return;
    points[at] = points[at + 1];
    points[at + 1] = begin;
}

/* Gives every point its flow. */
static void number_flows(struct timeline *timeline, struct taken_flow_point *points, size_t count)
{
    bool open = false;

    for (size_t i = 0; i < count; i++) {
        struct timeline_flow_point *point = &points[i].point;

        open = open && is_same_id(&points[i - 1], &points[i]);
        if (open)
            put_end_first(points, i, count);
        if (!open || point->kind == TIMELINE_FLOW_BEGIN) {
            timeline->flow_points_without_begin += point->kind != TIMELINE_FLOW_BEGIN;
            timeline->flow_count++;
        }
        point->flow = (uint32_t)(timeline->flow_count - 1);
        open = point->kind != TIMELINE_FLOW_END;
    }
}

struct keyed {
    uint64_t key;
    size_t point;
};

static int by_key(const void *a, const void *b)
{
    const struct keyed *left = a;
    const struct keyed *right = b;

    if (left->key != right->key)
        return left->key < right->key ? -1 : 1;
    return left->point < right->point ? -1 : left->point > right->point;
}

/* Sorts, and leaves only the points. */
static size_t *into_order(struct keyed *items, size_t count)
{
    size_t *order = ifg_alloc(count, sizeof *order);

    if (!order)
        return NULL;
    if (count)
        qsort(items, count, sizeof *items, by_key);
    for (size_t i = 0; i < count; i++)
        order[i] = items[i].point;
    return order;
}

static enum ifg_status order_points(struct timeline *timeline)
{
    const struct timeline_flow_point *points = timeline->flow_points;
    struct keyed *items = ifg_alloc(timeline->flow_point_count, sizeof *items);
    size_t count = 0;

    if (!items)
        return IFG_NO_MEMORY;
    for (size_t i = 0; i + 1 < timeline->flow_point_count; i++)
        if (points[i].flow == points[i + 1].flow)
            items[count++] = (struct keyed){ points[i].ns, i };
    timeline->arrows = into_order(items, count);
    timeline->arrow_count = timeline->arrows ? count : 0;
    count = 0;
    for (size_t i = 0; i < timeline->flow_point_count; i++)
        if (points[i].slice != SIZE_MAX)
            items[count++] = (struct keyed){ points[i].slice, i };
    timeline->flow_by_slice = into_order(items, count);
    timeline->flow_by_slice_count = timeline->flow_by_slice ? count : 0;
    ifg_free(items);
    return timeline->arrows && timeline->flow_by_slice ? IFG_OK : IFG_NO_MEMORY;
}

enum ifg_status timeline_build_flows(struct timeline_builder *builder,
                                     struct taken_flow_point *points, size_t count)
{
    struct timeline *timeline = &builder->timeline;
    struct timeline_flow_point *kept = NULL;
    enum ifg_status status = IFG_NO_MEMORY;

    if (count < TIMELINE_NONE) /* flows are numbered by 32 bits */
        status = bind_points(timeline, points, count);
    if (!status)
        kept = ifg_alloc(count, sizeof *kept);
    if (!kept)
        return IFG_NO_MEMORY;
    qsort(points, count, sizeof *points, by_flow);
    number_flows(timeline, points, count);
    for (size_t i = 0; i < count; i++)
        kept[i] = points[i].point;
    timeline->flow_points = kept;
    timeline->flow_point_count = count;
    return order_points(timeline);
}

/* ---- questions ---- */

/* The first point from low on that belongs to this flow or a later one. */
static size_t first_of_flow(const struct timeline *timeline, uint32_t flow)
{
    size_t low = 0;
    size_t high = timeline->flow_point_count;

    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (timeline->flow_points[middle].flow < flow)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

size_t timeline_flow_extent(const struct timeline *timeline, uint32_t flow, size_t *out_first)
{
    *out_first = first_of_flow(timeline, flow);
    return first_of_flow(timeline, flow + 1) - *out_first;
}

static size_t first_of_slice(const struct timeline *timeline, size_t slice)
{
    size_t low = 0;
    size_t high = timeline->flow_by_slice_count;

    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (timeline->flow_points[timeline->flow_by_slice[middle]].slice < slice)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

size_t timeline_flow_points_of(const struct timeline *timeline, size_t slice, size_t *out_first)
{
    *out_first = first_of_slice(timeline, slice);
    return first_of_slice(timeline, slice + 1) - *out_first;
}
