// SPDX-License-Identifier: Apache-2.0
/*
 * Samples that wait to be told, of all CPUs in one place: however many CPUs there are and wherever
 * threads move, they need as much memory as waits at one time.
 */
#ifndef IFG_COLLECT_PERF_HELD_H
#define IFG_COLLECT_PERF_HELD_H

#include <linux/perf_event.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/bytes.h"

struct held_location;

struct held {
    struct ifg_bytes records; /* whole ones, as the kernel wrote them */
    struct held_location *locations;
    size_t count, room;
    size_t told; /* the first ones of them */
    bool sorted;
};

void held_init(struct held *held);
void held_fini(struct held *held);

/* Before records are added: makes room by forgetting those that were told. */
void held_forget_told(struct held *held);

/* Takes note of the records that were added behind so many bytes. False: there was no memory, and
 * some were thrown away. */
bool held_note(struct held *held, size_t from);

size_t held_waiting(const struct held *held);

/* The oldest that was not told yet, which it is by this; NULL: none is older than `before`. It is
 * good until records are added. */
const struct perf_event_header *held_next(struct held *held, uint64_t before);

#endif
