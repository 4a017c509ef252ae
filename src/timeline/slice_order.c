// SPDX-License-Identifier: Apache-2.0
/*
 * Slices of one thread that do not nest.
 *
 * Everybody who reads slices relies on two things: the slices of a thread are sorted by start, and
 * depths make a tree of them, parents first. Zones of a program nest, and both follow from the
 * order in which they ended. Imported zones, and those that a device reports, may overlap; then
 * both have to be made.
 */
#include <stdlib.h>

#include "base/alloc.h"
#include "base/array.h"
#include "timeline/timeline_internal.h"

struct ordered {
    uint64_t start_ns;
    uint32_t duration_ns;
    uint32_t location;
    size_t before; /* where it was: parents come before what lies inside them */
};

static int by_start(const void *a, const void *b)
{
    const struct ordered *left = a;
    const struct ordered *right = b;

    if (left->start_ns != right->start_ns)
        return left->start_ns < right->start_ns ? -1 : 1;
    if (left->duration_ns != right->duration_ns)
        return left->duration_ns > right->duration_ns ? -1 : 1;
    return left->before < right->before ? -1 : 1;
}

bool timeline_order_slices(struct timeline_builder *builder, size_t first, size_t end)
{
    struct ordered *slices = ifg_alloc(end - first, sizeof *slices);

    if (!slices)
        return false;
    for (size_t i = first; i < end; i++)
        slices[i - first] = (struct ordered){ builder->start_ns[i], builder->duration_ns[i],
                                              builder->location[i], i };
    qsort(slices, end - first, sizeof *slices, by_start);
    for (size_t i = first; i < end; i++) {
        builder->start_ns[i] = slices[i - first].start_ns;
        builder->duration_ns[i] = slices[i - first].duration_ns;
        builder->location[i] = slices[i - first].location;
    }
    ifg_free(slices);
    return true;
}

enum ifg_status timeline_walk_depths(struct timeline_builder *builder,
                                     const struct timeline_thread *thread)
{
    uint64_t *ends = NULL; /* of the slices around */
    size_t depth = 0;
    size_t capacity = 0;

    for (size_t i = thread->first_slice; i < thread->first_slice + thread->slice_count; i++) {
        uint64_t start = builder->start_ns[i];
        uint64_t end = timeline_end_ns(&builder->timeline, i);

        while (depth && (ends[depth - 1] <= start || ends[depth - 1] < end))
            depth--;
        builder->depth[i] = (uint16_t)(depth < UINT16_MAX ? depth : UINT16_MAX);
        if (!IFG_ARRAY_ROOM(ends, capacity, depth + 1, IFG_ARRAY_ANY)) {
            ifg_free(ends);
            return IFG_NO_MEMORY;
        }
        ends[depth++] = end;
    }
    ifg_free(ends);
    return IFG_OK;
}
