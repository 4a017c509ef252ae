// SPDX-License-Identifier: Apache-2.0
/*
 * How to get from the arguments of ExecuteKernel to the name of the node, found by looking: the
 * context leads to the state of this very graph, that to the graph, that to its nodes.
 *
 *     state = *(argument + o1), graph = *(state + o2), nodes = *(graph + o3), node = nodes[index],
 *     characters = *(node + o4), of the type of the operator *(node + o5)
 *
 * Offsets differ between versions and builds. Kept are those that led to the right name for every
 * node that ran, in graphs inside of others too.
 */
#ifndef IFG_COLLECT_ORT_HELPER_NODE_NAMES_H
#define IFG_COLLECT_ORT_HELPER_NODE_NAMES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "collect/ort_helper/traps.h"

/* Reads memory of this process without harm if there is none. */
bool node_names_peek(uint64_t address, void *out, size_t size);

/* A function was entered; in a signal handler. */
void node_names_entered(uintptr_t function, const uint64_t arguments[TRAPS_ARGUMENTS]);

/* What was entered before does not count. */
void node_names_begin(void);

/* The operator of this node runs, called by what was entered since the last time. The nodes of its
 * graph are named PREFIX0, PREFIX1, ... up to `count`; this one is of that type. */
void node_names_computed(uint64_t index, const char *prefix, unsigned count, const char *type);

/* Tells "names ADDRESS ARGUMENT O1 O2 O3 O4 O5 TIMES", once for each way that was always right. */
void node_names_tell(uintptr_t base);

#endif
