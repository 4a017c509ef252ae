// SPDX-License-Identifier: Apache-2.0
/* Spans that end elsewhere: on another thread, after recording, or never. */
#include "hooks/annotations/annotations.h"

#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

#include "hooks/annotations/watched.h"
#include "tap.h"

static struct watched watched;
static char space;

static struct annotations_key key(uint64_t number)
{
    return (struct annotations_key){ { number }, &space };
}

static ifg_location *location(void)
{
    return annotations_location(annotations_domain(ANNOTATIONS_NVTX, "A"), IFG_LOCATION_ASYNC,
                                "span", SIZE_MAX, 0);
}

static bool begin(uint64_t number)
{
    struct annotations_key k = key(number);

    annotations_span_begin(&k, location());
    return true;
}

static bool end(uint64_t number)
{
    struct annotations_key k = key(number);

    return annotations_span_end(&k) != NULL;
}

static void *end_here(void *number)
{
    return (void *)(uintptr_t)end((uintptr_t)number);
}

static void a_span_ends_on_another_thread(void)
{
    pthread_t thread;
    void *ended = NULL;

    fake_recorder_start();
    begin(5);
    REQUIRE(pthread_create(&thread, NULL, end_here, (void *)5) == 0);
    pthread_join(thread, &ended);
    CHECK(ended != NULL);
    CHECK(!end(5));
    watched_read(&watched);
    CHECK_UINT(watched_count(&watched, IFG_WIRE_ASYNC_BEGIN), 1);
    CHECK_UINT(watched_count(&watched, IFG_WIRE_ASYNC_END), 0); /* in the ring of the other one */
}

static void there_is_a_limit(void)
{
    fake_recorder_start();
    for (uint64_t i = 1; i <= 20000; i++)
        begin(i);
    watched_read(&watched);
    CHECK(watched_count(&watched, IFG_WIRE_ASYNC_BEGIN) > 0);
    for (uint64_t i = 1; i <= 20000; i++)
        end(i);
    begin(7); /* there is room again */
    CHECK(end(7));
}

static void the_end_after_recording_makes_room(void)
{
    fake_recorder_start();
    begin(1);
    client_control->recording = 0;
    CHECK(!end(1));
    client_control->recording = 1;
    CHECK(!end(1));
}

static void one_that_is_over_already(void)
{
    fake_recorder_start();
    annotations_span(location(), 100, 200);
    watched_read(&watched);
    REQUIRE_UINT(watched.count, 2);
    CHECK_UINT(watched.records[0].ticks, 100);
    CHECK_UINT(watched.records[1].ticks, 200);
    CHECK_STR(watched_name(watched.records[0].reference), "span");
}

static void a_child_has_none(void)
{
    int status = -1;
    pid_t child;

    annotations_start();
    fake_recorder_start();
    begin(1);
    child = fork();
    if (child == 0) {
        client_control->recording = 1;
        _exit(!end(1) && begin(2) && end(2) ? 0 : 1);
    }
    REQUIRE(child > 0);
    CHECK(waitpid(child, &status, 0) == child);
    CHECK_INT(status, 0);
    CHECK(end(1));
}

static void *begin_and_end(void *first)
{
    for (uint64_t i = 0; i < 500; i++) {
        begin((uintptr_t)first + i);
        end((uintptr_t)first + i);
    }
    return NULL;
}

static void threads_share_the_table(void)
{
    pthread_t threads[4];

    fake_recorder_start();
    for (uintptr_t t = 0; t < 4; t++)
        REQUIRE(pthread_create(&threads[t], NULL, begin_and_end, (void *)(t * 10000 + 1)) == 0);
    for (int t = 0; t < 4; t++)
        pthread_join(threads[t], NULL);
    CHECK(!end(1));
}

TAP_MAIN(TAP_CASE(a_span_ends_on_another_thread), TAP_CASE(there_is_a_limit),
         TAP_CASE(the_end_after_recording_makes_room), TAP_CASE(one_that_is_over_already),
         TAP_CASE(a_child_has_none), TAP_CASE(threads_share_the_table))
