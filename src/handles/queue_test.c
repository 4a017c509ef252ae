// SPDX-License-Identifier: Apache-2.0
/* The queue from the program's threads to the thread of the handles. */
#include "handles/queue.h"

#include <pthread.h>
#include <sched.h>

#include "tap.h"

#define WRITERS 4
#define EACH    50000u

static void a_full_queue_counts_what_it_loses(void)
{
    struct ifg_tap_event event = { .start = 0 };

    REQUIRE(queue_prepare());
    for (uint64_t i = 0; i < QUEUE_CELLS + 10; i++) {
        event.start = i;
        CHECK_UINT(queue_put(&event), i < QUEUE_CELLS ? i + 1 : 0);
    }
    CHECK_UINT(queue_lost(), 10);
    for (uint64_t i = 0; i < QUEUE_CELLS; i++) {
        REQUIRE(queue_take(&event));
        REQUIRE_UINT(event.start, i);
    }
    CHECK(!queue_take(&event));
    CHECK(queue_put(&event) != 0);
}

static void *write_many(void *argument)
{
    uint64_t writer = (uint64_t)(uintptr_t)argument;

    for (uint64_t i = 0; i < EACH; i++) {
        struct ifg_tap_event event = { .request = writer, .start = i, .end = i * 3 };

        while (!queue_put(&event))
            sched_yield();
    }
    return NULL;
}

/* Each writer's events come in its order, whole, and all of them. */
static void writers_do_not_disturb_each_other(void)
{
    uint64_t next[WRITERS] = { 0 };
    pthread_t threads[WRITERS];
    struct ifg_tap_event event;

    REQUIRE(queue_prepare());
    for (uintptr_t i = 0; i < WRITERS; i++)
        REQUIRE_INT(pthread_create(&threads[i], NULL, write_many, (void *)i), 0);
    for (uint64_t taken = 0; taken < WRITERS * EACH;) {
        if (!queue_take(&event)) {
            sched_yield();
            continue;
        }
        REQUIRE(event.request < WRITERS);
        REQUIRE_UINT(event.start, next[event.request]);
        REQUIRE_UINT(event.end, event.start * 3);
        next[event.request]++;
        taken++;
    }
    for (int i = 0; i < WRITERS; i++)
        pthread_join(threads[i], NULL);
}

TAP_MAIN(TAP_CASE(a_full_queue_counts_what_it_loses), TAP_CASE(writers_do_not_disturb_each_other))
