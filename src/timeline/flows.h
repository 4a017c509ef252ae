// SPDX-License-Identifier: Apache-2.0
/*
 * Flows: arrows between slices, mostly of different threads.
 *
 * A flow is a chain of points: a begin, any number of steps, an end. An arrow joins two successive
 * points. Bad input is expected: a point whose begin is missing opens a flow and is counted, a
 * begin while its flow is open begins another one.
 */
#ifndef IFG_TIMELINE_FLOWS_H
#define IFG_TIMELINE_FLOWS_H

#include "timeline/timeline.h"

/* The points of one flow: returns how many; they stand together from *out_first on. */
size_t timeline_flow_extent(const struct timeline *timeline, uint32_t flow, size_t *out_first);

/* Where the points of a slice stand in flow_by_slice: returns how many. */
size_t timeline_flow_points_of(const struct timeline *timeline, size_t slice, size_t *out_first);

/* Which slice was innermost, for many moments at the cost of one walk through their threads: ask
 * by thread, and by time in each. Begin with { .model = ..., .thread = TIMELINE_NONE }. */
struct timeline_sweep {
    const struct timeline *timeline;
    uint32_t thread;
    size_t next;
    size_t end;
    size_t *open;
    size_t count;
    size_t capacity;
    bool no_memory;
};

/* SIZE_MAX: none, or memory is short. A slice that begins at this moment counts, and so does one
 * that ends at it. */
size_t timeline_sweep_at(struct timeline_sweep *sweep, uint32_t thread, uint64_t ns);
void timeline_sweep_fini(struct timeline_sweep *sweep);

#endif
