// SPDX-License-Identifier: Apache-2.0
/* Indices over slices, made when a query first needs them: by location, parents, self times, ML
 * events. */
#include "query/query_internal.h"

#include "base/alloc.h"

#define DEPTHS ((size_t)UINT16_MAX + 1)

bool query_can_index(const struct query *query)
{
    return query->timeline->slice_count < UINT32_MAX;
}

bool query_need_locations(struct query *query)
{
    const struct timeline *timeline = query->timeline;
    size_t *next;
    size_t *first;
    uint32_t *order;

    if (query->by_location)
        return true;
    if (!query_can_index(query))
        return false;
    next = ifg_alloc(timeline->location_count + 1, sizeof *next);
    first = ifg_alloc(timeline->location_count + 1, sizeof *first);
    order = ifg_alloc(timeline->slice_count + 1, sizeof *order);
    if (!next || !first || !order) {
        ifg_free(next);
        ifg_free(first);
        ifg_free(order);
        return false;
    }
    for (size_t i = 0; i < timeline->slice_count; i++)
        first[timeline->location[i] + 1]++;
    for (size_t i = 0; i < timeline->location_count; i++) {
        first[i + 1] += first[i];
        next[i] = first[i];
    }
    for (size_t i = 0; i < timeline->slice_count; i++)
        order[next[timeline->location[i]]++] = (uint32_t)i;
    ifg_free(next);
    query->by_location = order;
    query->location_first = first;
    return true;
}

bool query_need_parents(struct query *query)
{
    const struct timeline *timeline = query->timeline;
    uint32_t *last; /* the last slice of each depth */
    uint32_t *parents;

    if (query->parents)
        return true;
    if (!query_can_index(query))
        return false;
    last = ifg_alloc(DEPTHS, sizeof *last);
    parents = ifg_alloc(timeline->slice_count + 1, sizeof *parents);
    if (!last || !parents) {
        ifg_free(last);
        ifg_free(parents);
        return false;
    }
    for (size_t i = 0; i < timeline->slice_count; i++) {
        uint16_t depth = timeline->depth[i];

        parents[i] = depth ? last[depth - 1] : TIMELINE_NONE;
        last[depth] = (uint32_t)i;
    }
    ifg_free(last);
    query->parents = parents;
    return true;
}

size_t query_subtree_end(const struct query *query, size_t slice)
{
    const struct timeline *timeline = query->timeline;
    uint16_t depth = timeline->depth[slice];
    size_t end = slice + 1;

    while (end < timeline->slice_count && timeline->depth[end] > depth)
        end++;
    return end;
}

bool query_need_self(struct query *query)
{
    const struct timeline *timeline = query->timeline;
    uint32_t *self;

    if (query->self_ns)
        return true;
    if (!query_need_parents(query))
        return false;
    self = ifg_alloc(timeline->slice_count + 1, sizeof *self);
    if (!self)
        return false;
    for (size_t i = 0; i < timeline->slice_count; i++) {
        uint32_t parent = query->parents[i];
        uint32_t inner = timeline->duration_ns[i];

        self[i] = inner;
        if (parent != TIMELINE_NONE && self[parent] != UINT32_MAX)
            self[parent] = inner <= self[parent] ? self[parent] - inner : UINT32_MAX;
    }
    query->self_ns = self;
    return true;
}

int64_t query_self_ns(const struct query *query, size_t slice)
{
    const struct timeline *timeline = query->timeline;
    size_t end;
    uint64_t self;

    if (query->self_ns[slice] != UINT32_MAX)
        return query->self_ns[slice];
    end = query_subtree_end(query, slice);
    self = timeline_duration_ns(timeline, slice);
    for (size_t i = slice + 1; i < end; i++)
        if (timeline->depth[i] == timeline->depth[slice] + 1)
            self -= timeline_duration_ns(timeline, i);
    return (int64_t)self;
}

bool query_need_ml(struct query *query)
{
    const struct timeline *timeline = query->timeline;
    size_t count = 0;

    if (query->ml)
        return true;
    if (!query_can_index(query))
        return false;
    for (size_t i = 0; i < timeline->slice_count; i++)
        count += timeline->locations[timeline->location[i]].kind == TRACE_LOCATION_ML;
    query->ml = ifg_alloc(count + 1, sizeof *query->ml);
    if (!query->ml)
        return false;
    query->ml_count = count;
    count = 0;
    for (size_t i = 0; i < timeline->slice_count; i++)
        if (timeline->locations[timeline->location[i]].kind == TRACE_LOCATION_ML)
            query->ml[count++] = (uint32_t)i;
    return true;
}

void query_index_fini(struct query *query)
{
    ifg_free(query->by_location);
    ifg_free(query->location_first);
    ifg_free(query->parents);
    ifg_free(query->self_ns);
    ifg_free(query->ml);
}
