// SPDX-License-Identifier: Apache-2.0
/*
 * The heap of a trace (record --memory) on the model's clock: allocations, each with its end and
 * with what ran on its thread when it was made. (model_allocation of model.h is another matter:
 * what a program told of its own pools.) They were picked by their bytes: sums of weights are
 * estimates of all bytes, the better the more there are.
 *
 * Made when first asked for; a trace without allocations costs nothing. Read-only, the model's own.
 */
#ifndef IFG_MODEL_ALLOCATIONS_H
#define IFG_MODEL_ALLOCATIONS_H

#include "model/samples.h"

struct model_heap_allocation {
    uint64_t ns;
    uint64_t freed_ns; /* UINT64_MAX: it was not, as long as the recording went */
    uint64_t bytes;    /* as asked for */
    uint64_t weight;   /* bytes that it stands for */
    uint64_t address;
    size_t slice; /* innermost one of its thread; SIZE_MAX: none, or not known which */
    uint32_t pid, tid;
    uint32_t process; /* index into model->processes, or MODEL_NONE */
    uint32_t thread;  /* index into model->threads, or MODEL_NONE */
    uint32_t stack;   /* node of the innermost frame, 0: nothing is known */
    uint32_t ml;      /* place of the ML event around, or MODEL_NONE */
    uint32_t op;      /* place of the operator around, or MODEL_NONE */
    uint8_t join;     /* enum model_join, as for samples */
};

struct model_allocations {
    const struct model_heap_allocation *items; /* by time */
    size_t count;
    uint64_t lost; /* picked ones that there was no room for */
};

bool model_has_allocations(const struct model *model);

/* NULL if the trace has none. Frames, names and code are those of model_profile_get, which then is
 * not NULL. */
enum ifg_status model_allocations_get(const struct model *model,
                                      const struct model_allocations **out_allocations,
                                      struct ifg_error *err) IFG_MUST_CHECK;

/* The name of the model whose work an allocation was, or NULL. */
const char *model_allocation_net(const struct model *model,
                                 const struct model_heap_allocation *allocation);

#endif
