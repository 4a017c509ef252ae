// SPDX-License-Identifier: Apache-2.0
/*
 * The threads that are recorded, and what they are called: the workers of a runtime have no zones
 * of their own, and a bare number says nothing. Also the names of others that woke one of them.
 */
#ifndef IFG_COLLECT_PERF_THREADS_H
#define IFG_COLLECT_PERF_THREADS_H

#include <stdbool.h>
#include <stdint.h>

#include "trace/writer.h"

struct threads;

struct threads *threads_create(void);          /* NULL: no memory */
void threads_destroy(struct threads *threads); /* accepts NULL */

/* One that is recorded from now on. It has the name of the thread that made it, until it gets
 * another; parent 0, or one without a name: it is read later. Known ones are left as they are. */
void threads_add(struct threads *threads, uint32_t pid, uint32_t tid, uint32_t parent);
void threads_add_all(struct threads *threads, uint32_t pid); /* what a process has now */
void threads_end(struct threads *threads, uint32_t tid);

/* What the kernel says that it is called from now on. */
void threads_name(struct threads *threads, uint32_t pid, uint32_t tid, const char *name);

/* Somebody who is not recorded, but whose name is wanted. */
void threads_meet(struct threads *threads, uint32_t pid, uint32_t tid);

/* The process of a recorded thread, or of one that ended since names were written; 0: none. */
uint32_t threads_process(const struct threads *threads, uint32_t tid);

/* Writes the names that are new. */
void threads_write(struct threads *threads, struct trace_writer *writer);

#endif
