// SPDX-License-Identifier: Apache-2.0
/* See ring.h. */
#include "collect/perf/ring.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "collect/perf/refusal.h"

#define WAITING_MAX ((size_t)256 << 20)
#define LEAST_BYTES ((size_t)64 << 10)

enum ifg_status ring_map(struct ring *ring, int fd, size_t bytes, struct ifg_error *err)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    void *memory = MAP_FAILED;

    memset(ring, 0, sizeof *ring);
    ring->fd = -1;
    for (; bytes >= LEAST_BYTES; bytes /= 2) {
        memory = mmap(NULL, bytes + page, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
        if (memory != MAP_FAILED || errno != EPERM)
            break;
    }
    if (memory == MAP_FAILED) {
        int error = errno;
        char why[512];

        refusal_line(REFUSAL_RING, error, 0, why, sizeof why);
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

bool ring_copy(struct ring *ring)
{
    uint64_t head = __atomic_load_n(&ring->page->data_head, __ATOMIC_ACQUIRE);
    uint64_t tail = ring->page->data_tail;
    size_t left = (size_t)(head - tail);
    bool ok = true;

    compact(ring);
    if (left > ring->size) /* cannot be: the kernel never overtakes us */
        left = 0;
    if (left && !ifg_bytes_reserve(&ring->waiting, left)) {
        ring->waiting.failed = false;
        left = 0;
        ok = false;
    }
    while (left) {
        size_t at = (size_t)tail & (ring->size - 1);
        size_t part = left < ring->size - at ? left : ring->size - at;

        ifg_bytes_put(&ring->waiting, ring->data + at, part);
        tail += part;
        left -= part;
    }
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
}
