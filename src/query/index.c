// SPDX-License-Identifier: Apache-2.0
/* Indices over slices, made when a query first needs them: by place, parents, self times, ML
 * events. */
#include "query/query_internal.h"

#include "base/alloc.h"

#define DEPTHS ((size_t)UINT16_MAX + 1)

bool query_can_index(const struct query *query)
{
    return query->model->slice_count < UINT32_MAX;
}

bool query_need_places(struct query *query)
{
    const struct model *model = query->model;
    size_t *next;
    size_t *first;
    uint32_t *order;

    if (query->by_place)
        return true;
    if (!query_can_index(query))
        return false;
    next = ifg_alloc(model->place_count + 1, sizeof *next);
    first = ifg_alloc(model->place_count + 1, sizeof *first);
    order = ifg_alloc(model->slice_count + 1, sizeof *order);
    if (!next || !first || !order) {
        ifg_free(next);
        ifg_free(first);
        ifg_free(order);
        return false;
    }
    for (size_t i = 0; i < model->slice_count; i++)
        first[model->place[i] + 1]++;
    for (size_t i = 0; i < model->place_count; i++) {
        first[i + 1] += first[i];
        next[i] = first[i];
    }
    for (size_t i = 0; i < model->slice_count; i++)
        order[next[model->place[i]]++] = (uint32_t)i;
    ifg_free(next);
    query->by_place = order;
    query->place_first = first;
    return true;
}

bool query_need_parents(struct query *query)
{
    const struct model *model = query->model;
    uint32_t *last; /* the last slice of each depth */
    uint32_t *parents;

    if (query->parents)
        return true;
    if (!query_can_index(query))
        return false;
    last = ifg_alloc(DEPTHS, sizeof *last);
    parents = ifg_alloc(model->slice_count + 1, sizeof *parents);
    if (!last || !parents) {
        ifg_free(last);
        ifg_free(parents);
        return false;
    }
    for (size_t i = 0; i < model->slice_count; i++) {
        uint16_t depth = model->depth[i];

        parents[i] = depth ? last[depth - 1] : MODEL_NONE;
        last[depth] = (uint32_t)i;
    }
    ifg_free(last);
    query->parents = parents;
    return true;
}

size_t query_subtree_end(const struct query *query, size_t slice)
{
    const struct model *model = query->model;
    uint16_t depth = model->depth[slice];
    size_t end = slice + 1;

    while (end < model->slice_count && model->depth[end] > depth)
        end++;
    return end;
}

bool query_need_self(struct query *query)
{
    const struct model *model = query->model;
    uint32_t *self;

    if (query->self_ns)
        return true;
    if (!query_need_parents(query))
        return false;
    self = ifg_alloc(model->slice_count + 1, sizeof *self);
    if (!self)
        return false;
    for (size_t i = 0; i < model->slice_count; i++) {
        uint32_t parent = query->parents[i];
        uint32_t inner = model->duration_ns[i];

        self[i] = inner;
        if (parent != MODEL_NONE && self[parent] != UINT32_MAX)
            self[parent] = inner <= self[parent] ? self[parent] - inner : UINT32_MAX;
    }
    query->self_ns = self;
    return true;
}

int64_t query_self_ns(const struct query *query, size_t slice)
{
    const struct model *model = query->model;
    size_t end;
    uint64_t self;

    if (query->self_ns[slice] != UINT32_MAX)
        return query->self_ns[slice];
    end = query_subtree_end(query, slice);
    self = model_duration_ns(model, slice);
    for (size_t i = slice + 1; i < end; i++)
        if (model->depth[i] == model->depth[slice] + 1)
            self -= model_duration_ns(model, i);
    return (int64_t)self;
}

bool query_need_ml(struct query *query)
{
    const struct model *model = query->model;
    size_t count = 0;

    if (query->ml)
        return true;
    if (!query_can_index(query))
        return false;
    for (size_t i = 0; i < model->slice_count; i++)
        count += model->places[model->place[i]].kind == TRACE_LOCATION_ML;
    query->ml = ifg_alloc(count + 1, sizeof *query->ml);
    if (!query->ml)
        return false;
    query->ml_count = count;
    count = 0;
    for (size_t i = 0; i < model->slice_count; i++)
        if (model->places[model->place[i]].kind == TRACE_LOCATION_ML)
            query->ml[count++] = (uint32_t)i;
    return true;
}

void query_index_fini(struct query *query)
{
    ifg_free(query->by_place);
    ifg_free(query->place_first);
    ifg_free(query->parents);
    ifg_free(query->self_ns);
    ifg_free(query->ml);
}
