// SPDX-License-Identifier: Apache-2.0
/*
 * The distinct stacks of a trace with the time spent at the top of each: what flame graphs are made
 * of. Its size depends on how many stacks there are, not on how many slices.
 */
#ifndef IFG_EXPORT_STACKS_H
#define IFG_EXPORT_STACKS_H

#include "base/index.h"
#include "export/export_internal.h"

#define STACK_ROOT UINT32_MAX

struct stack_node {
    uint32_t parent;   /* STACK_ROOT: none */
    uint32_t location; /* of a thread's node: the thread */
    uint32_t ml;       /* location of the ML event around it (or itself), or TIMELINE_NONE */
    bool is_thread;
    uint64_t count;
    uint64_t self_ns;
};

struct stacks {
    struct stack_node *nodes; /* parents before children */
    size_t count;
    size_t capacity;
    struct ifg_index index;
};

/* With by_thread the first node of each stack is the thread. */
enum ifg_status stacks_build(struct stacks *stacks, struct export_job *job, bool by_thread);
void stacks_fini(struct stacks *stacks);

#endif
