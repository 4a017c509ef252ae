// SPDX-License-Identifier: Apache-2.0
/*
 * The heap of a trace (record --memory) on the timeline's clock: allocations, each with its end and
 * with what ran on its thread when it was made. (timeline_allocation of timeline.h is another
 * matter: what a program told of its own pools.) They were picked by their bytes: sums of weights
 * are estimates of all bytes, the better the more there are.
 *
 * Made when first asked for; a trace without allocations costs nothing. Read-only, the timeline's
 * own.
 */
#ifndef IFG_TIMELINE_ALLOCATIONS_H
#define IFG_TIMELINE_ALLOCATIONS_H

#include "timeline/samples.h"

struct timeline_heap_allocation {
    uint64_t ns;
    uint64_t freed_ns; /* UINT64_MAX: it was not, as long as the recording went */
    uint64_t bytes;    /* as asked for */
    uint64_t weight;   /* bytes that it stands for */
    uint64_t address;
    size_t slice; /* innermost one of its thread; SIZE_MAX: none, or not known which */
    uint32_t pid, tid;
    uint32_t process; /* index into model->processes, or TIMELINE_NONE */
    uint32_t thread;  /* index into model->threads, or TIMELINE_NONE */
    uint32_t stack;   /* node of the innermost frame, 0: nothing is known */
    uint32_t ml;      /* location of the ML event around, or TIMELINE_NONE */
    uint32_t op;      /* location of the operator around, or TIMELINE_NONE */
    uint8_t join;     /* enum timeline_join, as for samples */
};

struct timeline_allocations {
    const struct timeline_heap_allocation *items; /* by time */
    size_t count;
    uint64_t lost; /* picked ones that there was no room for */
};

bool timeline_has_allocations(const struct timeline *timeline);

/* NULL if the trace has none. Frames, names and code are those of timeline_profile_get, which then
 * is not NULL. */
enum ifg_status timeline_allocations_get(const struct timeline *timeline,
                                         const struct timeline_allocations **out_allocations,
                                         struct ifg_error *err) IFG_MUST_CHECK;

/* The name of the model whose work an allocation was, or NULL. */
const char *timeline_allocation_model(const struct timeline *timeline,
                                      const struct timeline_heap_allocation *allocation);

#endif
