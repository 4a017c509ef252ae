// SPDX-License-Identifier: Apache-2.0
/*
 * The watched processes: what each has mapped, and from that the stack of a sample. A forked child
 * has what its parent has, and is never asked: it may be gone by the time its fork is known.
 */
#ifndef IFG_COLLECT_PERF_PROCESSES_H
#define IFG_COLLECT_PERF_PROCESSES_H

#include "collect/perf/modules.h"
#include "collect/perf/sampler.h"
#include "collect/perf/stacks.h"
#include "symbol/unwind.h"

struct processes;

#define PROCESSES_MAX 4096u

struct python;

/* NULL: no memory. All of these stay the caller's. python NULL: no Python functions. */
struct processes *processes_create(struct modules *modules, struct stacks *stacks,
                                   struct python *python);
void processes_destroy(struct processes *processes);

/* False: no memory for it, or too many processes. */
bool processes_map(struct processes *processes, const struct sampler_mapping *mapping);
void processes_fork(struct processes *processes, uint32_t parent, uint32_t pid);
void processes_drop(struct processes *processes, uint32_t pid); /* it ended, or calls exec */

/* Fills in at most `room` numbers of processes; how many there are. */
size_t processes_list(const struct processes *processes, uint32_t *out_pids, size_t room);

/* What a process had mapped before we came. */
void processes_read_maps(struct processes *processes, uint32_t pid);

/* The stack of a sample: the node of its innermost frame, 0 if it has none. out_frames is that of
 * the program; NULL if nothing is known of the process. A stack that is longer than what was copied
 * goes on with the calls that a Python interpreter knows of: it has then reached its root. */
uint32_t processes_stack(struct processes *processes, const struct sampler_sample *sample,
                         const struct unwind_frames **out_frames);

/* The address of a Python function's line, in the module of those. */
#define PROCESSES_LINE_BITS 20u
static inline uint64_t processes_python_address(uint32_t code, uint32_t line)
{
    return (uint64_t)code << PROCESSES_LINE_BITS | (line < 1u << PROCESSES_LINE_BITS ? line : 0);
}

/* After that: keeps the code on it that was made at run time (modules_saw). True: some of it was
 * met for the first time. */
bool processes_keep_jit_code(struct processes *processes, uint64_t time_ns);

/* Whether this is a place in code that was made at run time, and is not kept yet. */
bool processes_await(struct processes *processes, uint32_t pid, uint64_t address);

#endif
