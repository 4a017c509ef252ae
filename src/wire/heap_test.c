// SPDX-License-Identifier: Apache-2.0
/* The queues of the allocation hook: many producers, a full queue, a producer that dies. */
#include "wire/heap.h"

#include <pthread.h>
#include <stdlib.h>

#include "tap.h"

#define CELLS      64u
#define THREADS    4u
#define PER_THREAD 20000u

static struct ifg_heap_queue queue;
static struct ifg_heap_free cells[CELLS];

static void begin(void)
{
    queue = (struct ifg_heap_queue){ 0 };
    for (uint32_t i = 0; i < CELLS; i++)
        cells[i] = (struct ifg_heap_free){ .turn = i };
}

static bool claim(uint64_t *out_position)
{
    return ifg_heap_claim(&queue, cells, sizeof *cells, CELLS, out_position);
}

static void *produce(void *user)
{
    uint32_t who = (uint32_t)(uintptr_t)user;

    for (uint64_t i = 1; i <= PER_THREAD; i++) {
        uint64_t at;

        if (!claim(&at))
            continue;
        cells[at % CELLS].tid = who;
        cells[at % CELLS].address = i;
        cells[at % CELLS].time_ns = i * 3 + who;
        ifg_heap_publish(&cells[at % CELLS].turn, at);
    }
    return NULL;
}

/* What arrives is whole, in the order of its producer, and what does not is counted. */
static void many_producers(void)
{
    pthread_t threads[THREADS];
    uint64_t last[THREADS] = { 0 };
    uint64_t taken = 0, at = 0;

    begin();
    for (uintptr_t i = 0; i < THREADS; i++)
        REQUIRE(pthread_create(&threads[i], NULL, produce, (void *)i) == 0);
    while (taken + __atomic_load_n(&queue.lost, __ATOMIC_RELAXED) < THREADS * PER_THREAD) {
        struct ifg_heap_free *cell = &cells[at % CELLS];

        if (!ifg_heap_is_ready(&cell->turn, at))
            continue;
        if (cell->tid >= THREADS || cell->address <= last[cell->tid] ||
            cell->time_ns != cell->address * 3 + cell->tid) {
            CHECK_UINT(cell->address, 0); /* tells which */
            break;
        }
        last[cell->tid] = cell->address;
        ifg_heap_release(&cell->turn, at, CELLS);
        taken++;
        at++;
    }
    for (size_t i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    CHECK_UINT(taken + queue.lost, THREADS * PER_THREAD);
    CHECK(taken > 0);
}

static void full(void)
{
    uint64_t at;

    begin();
    for (uint32_t i = 0; i < CELLS; i++) {
        REQUIRE(claim(&at));
        CHECK_UINT(at, i);
        ifg_heap_publish(&cells[at % CELLS].turn, at);
    }
    CHECK(!claim(&at) && !claim(&at));
    CHECK_UINT(queue.lost, 2);
    CHECK(ifg_heap_is_ready(&cells[0].turn, 0));
    ifg_heap_release(&cells[0].turn, 0, CELLS);
    REQUIRE(claim(&at));
    CHECK_UINT(at, CELLS);
}

static void a_dead_producer(void)
{
    uint64_t dead, other;

    begin();
    CHECK(!ifg_heap_is_claimed(&queue, &cells[0].turn, 0));
    REQUIRE(claim(&dead) && claim(&other));
    ifg_heap_publish(&cells[other].turn, other);
    CHECK(!ifg_heap_is_ready(&cells[0].turn, 0));
    CHECK(ifg_heap_is_claimed(&queue, &cells[0].turn, 0));
    CHECK(ifg_heap_give_up(&cells[0].turn, 0, CELLS));
    CHECK(!ifg_heap_give_up(&cells[1].turn, 1, CELLS)); /* it was filled */
    CHECK(ifg_heap_is_ready(&cells[1].turn, 1));
    ifg_heap_publish(&cells[dead].turn, dead); /* it lived, but too late */
    CHECK(!ifg_heap_is_ready(&cells[0].turn, 0));
    CHECK(!ifg_heap_is_ready(&cells[0].turn, CELLS));
}

TAP_MAIN(TAP_CASE(many_producers), TAP_CASE(full), TAP_CASE(a_dead_producer))
