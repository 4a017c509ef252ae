// SPDX-License-Identifier: Apache-2.0
/*
 * The bounded queue of queue.h. Each cell has a number: its position when it is free, one more when
 * it is full. A writer owns the cell whose number is its ticket; the reader frees it for the next
 * lap. Numbers are kept less the cell's index, so that fresh memory is an empty queue: a program
 * that only might have models does not pay for it.
 */
#include "handles/queue.h"

#include <stddef.h>
#include <sys/mman.h>

struct cell {
    uint64_t number;
    struct ifg_tap_event event;
};

static struct cell *cells;
static _Alignas(64) uint64_t put;
static _Alignas(64) uint64_t taken;
static uint64_t lost;

bool queue_prepare(void)
{
    void *memory;

    if (cells)
        return true;
    memory = mmap(NULL, QUEUE_CELLS * sizeof *cells, PROT_READ | PROT_WRITE,
                  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED)
        return false;
    cells = memory;
    return true;
}

void queue_reset(void)
{
    if (cells)
        madvise(cells, QUEUE_CELLS * sizeof *cells, MADV_DONTNEED);
    put = taken = lost = 0;
}

uint64_t queue_put(const struct ifg_tap_event *event)
{
    uint64_t at = __atomic_load_n(&put, __ATOMIC_RELAXED);

    for (;;) {
        struct cell *cell = &cells[at % QUEUE_CELLS];
        uint64_t index = at % QUEUE_CELLS;
        uint64_t number = __atomic_load_n(&cell->number, __ATOMIC_ACQUIRE) + index;

        if (number == at) {
            if (!__atomic_compare_exchange_n(&put, &at, at + 1, true, __ATOMIC_RELAXED,
                                             __ATOMIC_RELAXED))
                continue;
            cell->event = *event;
            __atomic_store_n(&cell->number, at + 1 - index, __ATOMIC_RELEASE);
            return at + 1;
        }
        if (number < at) { /* a whole lap behind: full */
            __atomic_fetch_add(&lost, 1, __ATOMIC_RELAXED);
            return 0;
        }
        at = __atomic_load_n(&put, __ATOMIC_RELAXED);
    }
}

bool queue_take(struct ifg_tap_event *out)
{
    uint64_t at = __atomic_load_n(&taken, __ATOMIC_RELAXED);
    uint64_t index = at % QUEUE_CELLS;
    struct cell *cell = &cells[index];

    if (__atomic_load_n(&cell->number, __ATOMIC_ACQUIRE) + index != at + 1)
        return false;
    *out = cell->event;
    __atomic_store_n(&cell->number, at + QUEUE_CELLS - index, __ATOMIC_RELEASE);
    __atomic_store_n(&taken, at + 1, __ATOMIC_RELAXED);
    return true;
}

uint64_t queue_put_count(void)
{
    return __atomic_load_n(&put, __ATOMIC_ACQUIRE);
}

uint64_t queue_taken_count(void)
{
    return __atomic_load_n(&taken, __ATOMIC_RELAXED);
}

uint64_t queue_lost(void)
{
    return __atomic_load_n(&lost, __ATOMIC_RELAXED);
}
