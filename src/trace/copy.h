// SPDX-License-Identifier: Apache-2.0
/*
 * Copying traces into another one, one after the other, under other numbers.
 *
 * Zones and events are not decoded: their numbers belong to a process or a thread, so a block is
 * copied with its payload as it is and another stream. Times in them are ticks of a clock; to shift
 * a trace is to shift the readings of its clocks. Other blocks are rewritten column by column. The
 * memory this takes depends on the definitions, not on the events.
 */
#ifndef IFG_TRACE_COPY_H
#define IFG_TRACE_COPY_H

#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

struct trace_copier;
struct trace_reader;
struct trace_writer;

/* How one trace gets into the other. */
struct trace_copy_options {
    int64_t shift_ns; /* added to all of its times */
    /* Traces with the same text, not "", have the same kernel at the same addresses. */
    const char *boot_id;
    /* What a process or thread number of the system becomes; never asked for 0, which stays. */
    uint32_t (*number)(uint32_t number, void *user);
    void *user;
};

enum ifg_status trace_copier_create(struct trace_writer *writer, struct trace_copier **out_copier,
                                    struct ifg_error *err) IFG_MUST_CHECK;
void trace_copier_destroy(struct trace_copier *copier); /* accepts NULL */

/* Begins with the next trace: writes its definitions, except facts and instruments, which belong to
 * a trace as a whole. out_first_process is the index that its first process has from now on. What
 * options point to is used until the next one begins. IFG_INVALID: together they have more than a
 * trace can. */
enum ifg_status trace_copier_begin(struct trace_copier *copier, const struct trace_reader *reader,
                                   const struct trace_copy_options *options,
                                   uint32_t *out_first_process,
                                   struct ifg_error *err) IFG_MUST_CHECK;

/* One block of it, in order. IFG_CORRUPT: it is damaged and left out. Whether it could be written
 * is the writer's to say. */
enum ifg_status trace_copier_block(struct trace_copier *copier, size_t block,
                                   struct ifg_error *err) IFG_MUST_CHECK;

#endif
