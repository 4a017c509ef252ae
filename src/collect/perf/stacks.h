// SPDX-License-Identifier: Apache-2.0
/*
 * Frames and stacks, each once: equal frames and equal ways to a root get the same number. What is
 * new is written to the trace before the samples that need it.
 */
#ifndef IFG_COLLECT_PERF_STACKS_H
#define IFG_COLLECT_PERF_STACKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "trace/samples.h"

struct stacks;

struct stacks *stacks_create(void); /* NULL: no memory */
void stacks_destroy(struct stacks *stacks);

/* The number of a frame, of a node; 0 if there is no memory for it. */
uint32_t stacks_frame(struct stacks *stacks, uint32_t module, uint64_t address);
uint32_t stacks_node(struct stacks *stacks, uint32_t parent, uint32_t frame, bool inferred);

/* Both in one: the node of this frame behind the parent. Fast for those that were met lately. */
uint32_t stacks_child(struct stacks *stacks, uint32_t parent, uint32_t module, uint64_t address,
                      bool inferred);

/* All frames so far, number i + 1 at i. */
const struct trace_frame *stacks_frames(const struct stacks *stacks, size_t *out_count);

/* Writes what was not written yet. */
void stacks_write(struct stacks *stacks, struct trace_writer *writer);

#endif
