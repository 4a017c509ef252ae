// SPDX-License-Identifier: Apache-2.0
/* The kernel's ring of records: mapping it, and copying out of it before it is overwritten. */
#include "collect/perf/ring.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "collect/perf/event_attr.h"
#include "collect/perf/perf_errors.h"
#include "system/rights.h"

#define WAITING_MAX ((size_t)256 << 20)
#define LEAST_BYTES ((size_t)64 << 10)

enum ifg_status ring_map(struct ring *ring, int fd, size_t bytes, struct ifg_error *err)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    void *memory = MAP_FAILED;

    memset(ring, 0, sizeof *ring);
    ring->fd = -1;
    for (; bytes >= LEAST_BYTES; bytes /= 2) {
        rights_raise(); /* more memory may be locked */
        memory = mmap(NULL, bytes + page, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
        rights_lower();
        if (memory != MAP_FAILED || errno != EPERM || bytes > EVENT_RING_BYTES)
            break;
    }
    if (memory == MAP_FAILED) {
        int error = errno;
        char why[512];

        perf_error_line(PERF_ERROR_RING, error, 0, why, sizeof why);
        errno = error;
        return ifg_fail(err, ifg_status_from_errno(error), "%s", why);
    }
    ring->fd = fd;
    ring->page = memory;
    ring->data = (const uint8_t *)memory + page;
    ring->size = bytes;
    ifg_bytes_init(&ring->waiting, WAITING_MAX);
    return IFG_OK;
}

void ring_unmap(struct ring *ring)
{
    if (ring->page)
        munmap(ring->page, ring->size + (size_t)sysconf(_SC_PAGESIZE));
    ring->page = NULL;
    ifg_bytes_fini(&ring->waiting);
}

/* What was taken goes; the rest moves to the front. */
static void compact(struct ring *ring)
{
    if (!ring->taken)
        return;
    memmove(ring->waiting.data, ring->waiting.data + ring->taken, ring->waiting.size - ring->taken);
    ring->waiting.size -= ring->taken;
    ring->taken = 0;
}

/* Bytes may begin at the end of the ring and go on at its begin. */
static bool copy_bytes(const struct ring *ring, uint64_t from, size_t size,
                       struct ifg_bytes *records)
{
    size_t at = (size_t)from & (ring->size - 1);
    size_t part = size < ring->size - at ? size : ring->size - at;

    if (!ifg_bytes_reserve(records, size)) {
        records->failed = false;
        return false;
    }
    ifg_bytes_put(records, ring->data + at, part);
    ifg_bytes_put(records, ring->data, size - part);
    return true;
}

/* What lies between the two is ours; the kernel gets it back with the tail. */
static uint64_t begin_copy(struct ring *ring, uint64_t *out_tail)
{
    uint64_t head = __atomic_load_n(&ring->page->data_head, __ATOMIC_ACQUIRE);

    *out_tail = ring->page->data_tail;
    if (head - *out_tail > ring->size) /* cannot be: the kernel never overtakes us */
        *out_tail = head;
    compact(ring);
    ring->is_timed = false;
    return head;
}

bool ring_copy(struct ring *ring)
{
    uint64_t tail;
    uint64_t head = begin_copy(ring, &tail);
    bool ok = copy_bytes(ring, tail, (size_t)(head - tail), &ring->waiting);

    __atomic_store_n(&ring->page->data_tail, head, __ATOMIC_RELEASE);
    return ok;
}

bool ring_copy_apart(struct ring *ring, struct ifg_bytes *samples)
{
    uint64_t tail;
    uint64_t head = begin_copy(ring, &tail);
    uint64_t from = tail; /* of small records behind each other, which are copied at once */
    struct ifg_bytes *to = NULL;
    bool ok = true;

    while (head - tail >= sizeof(struct perf_event_header)) {
        struct perf_event_header record; /* in one piece: all sizes are multiples of its own */
        struct ifg_bytes *wanted;

        memcpy(&record, ring->data + ((size_t)tail & (ring->size - 1)), sizeof record);
        if (record.size < sizeof record || record.size > head - tail)
            break; /* cannot be either */
        wanted = record.type == PERF_RECORD_SAMPLE ? samples : &ring->waiting;
        if (to != wanted || wanted == samples) {
            ok = (!to || copy_bytes(ring, from, (size_t)(tail - from), to)) && ok;
            from = tail;
            to = wanted;
        }
        tail += record.size;
    }
    ok = (!to || copy_bytes(ring, from, (size_t)(tail - from), to)) && ok;
    __atomic_store_n(&ring->page->data_tail, head, __ATOMIC_RELEASE);
    return ok;
}

const struct perf_event_header *ring_peek(const struct ring *ring)
{
    const struct perf_event_header *record;
    size_t left = ring->waiting.size - ring->taken;

    if (left < sizeof *record)
        return NULL;
    record = (const void *)(ring->waiting.data + ring->taken);
    if (record->size < sizeof *record || record->size > left)
        return NULL;
    return record;
}

void ring_next(struct ring *ring)
{
    const struct perf_event_header *record = ring_peek(ring);

    ring->taken = record ? ring->taken + record->size : ring->waiting.size;
    ring->is_timed = false;
}

struct ring *ring_oldest(struct ring *rings, size_t count, uint64_t before_ns,
                         ring_time_of *time_of)
{
    struct ring *found = NULL;

    for (size_t i = 0; i < count; i++) {
        struct ring *ring = &rings[i];

        if (!ring->is_timed) {
            const struct perf_event_header *record = ring->page ? ring_peek(ring) : NULL;

            ring->next_ns = record ? time_of(record) : UINT64_MAX;
            ring->is_timed = true;
        }
        if (ring->next_ns < before_ns) {
            before_ns = ring->next_ns;
            found = ring;
        }
    }
    return found;
}
