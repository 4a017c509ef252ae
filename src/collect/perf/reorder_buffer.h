// SPDX-License-Identifier: Apache-2.0
/*
 * Samples that wait to be told, of all CPUs in one place: however many CPUs there are and wherever
 * threads move, they need as much memory as waits at one time.
 */
#ifndef IFG_COLLECT_PERF_REORDER_BUFFER_H
#define IFG_COLLECT_PERF_REORDER_BUFFER_H

#include <linux/perf_event.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/bytes.h"

struct reorder_buffer_entry;

struct reorder_buffer {
    struct ifg_bytes records; /* whole ones, as the kernel wrote them */
    struct reorder_buffer_entry *entries;
    size_t count, room;
    size_t told; /* the first ones of them */
    bool sorted;
};

void reorder_buffer_init(struct reorder_buffer *buffer);
void reorder_buffer_fini(struct reorder_buffer *buffer);

/* Before records are added: makes room by forgetting those that were told. */
void reorder_buffer_forget_told(struct reorder_buffer *buffer);

/* Takes note of the records that were added behind so many bytes. False: there was no memory, and
 * some were thrown away. */
bool reorder_buffer_note(struct reorder_buffer *buffer, size_t from);

size_t reorder_buffer_waiting(const struct reorder_buffer *buffer);

/* The oldest that was not told yet, which it is by this; NULL: none is older than `before`. It is
 * good until records are added. */
const struct perf_event_header *reorder_buffer_next(struct reorder_buffer *buffer, uint64_t before);

#endif
