// SPDX-License-Identifier: Apache-2.0
/*
 * A ring that the kernel fills with records of one CPU, and copies of them that wait for their
 * turn; samples, which are large and may wait longer, wait elsewhere if the caller likes.
 */
#ifndef IFG_COLLECT_PERF_RING_H
#define IFG_COLLECT_PERF_RING_H

#include <linux/perf_event.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/bytes.h"
#include "base/status.h"

struct ring {
    int fd; /* the event whose ring it is; -1: closed */
    struct perf_event_mmap_page *page;
    const uint8_t *data;
    size_t size; /* of data, a power of two */
    struct ifg_bytes waiting;
    size_t taken;     /* of waiting */
    uint64_t next_ns; /* the time of the record behind that; UINT64_MAX: there is none */
    bool is_timed;    /* that is known */
};

typedef uint64_t ring_time_of(const struct perf_event_header *record);

/* Maps the ring of fd, of so many bytes, or less if the limit on locked memory says so. More than
 * EVENT_RING_BYTES are had as a whole or not at all: IFG_PERMISSION. */
enum ifg_status ring_map(struct ring *ring, int fd, size_t bytes,
                         struct ifg_error *err) IFG_MUST_CHECK;
void ring_unmap(struct ring *ring);

/* Copies what is there. False: no memory; the records were thrown away. */
bool ring_copy(struct ring *ring);

/* The same, but samples (PERF_RECORD_SAMPLE) are put there. */
bool ring_copy_apart(struct ring *ring, struct ifg_bytes *samples);

/* The oldest record that waits, whole and valid until the next copy; NULL: none. */
const struct perf_event_header *ring_peek(const struct ring *ring);
void ring_next(struct ring *ring);

/* The ring whose next record is the oldest; NULL if none is older than before_ns. Each record is
 * asked for its time once: with many CPUs that is most of the work. */
struct ring *ring_oldest(struct ring *rings, size_t count, uint64_t before_ns,
                         ring_time_of *time_of);

#endif
