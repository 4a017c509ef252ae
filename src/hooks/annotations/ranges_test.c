// SPDX-License-Identifier: Apache-2.0
/* Ranges that cross, are not balanced, are too deep, or began before recording: zones always nest.
 */
#include "hooks/annotations/annotations.h"

#include <pthread.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "hooks/annotations/watched.h"
#include "tap.h"

static struct watched watched;
static struct annotations_domain *a_domain;
static struct annotations_domain *b_domain;

static void start(void)
{
    a_domain = annotations_domain(ANNOTATIONS_NVTX, "A");
    b_domain = annotations_domain(ANNOTATIONS_NVTX, "B");
    annotations_start();
}

static void begin(const struct annotations_domain *domain, const char *name)
{
    struct annotations_text text;
    ifg_location *location = NULL;

    if (!annotations_matter())
        return;
    annotations_text_narrow(&text, name);
    if (ifg_is_recording())
        location = annotations_location(domain, IFG_LOCATION_ZONE, name, SIZE_MAX, 0);
    annotations_range_begin(domain, location, &text, NULL);
}

static void end(const struct annotations_domain *domain)
{
    if (annotations_matter())
        annotations_range_end(domain);
}

static void check(const char *zones, size_t spans)
{
    watched_read(&watched);
    CHECK_STR(watched_zones(&watched), zones);
    CHECK_UINT(watched_count(&watched, IFG_WIRE_ASYNC_BEGIN), spans);
    CHECK_UINT(watched_count(&watched, IFG_WIRE_ASYNC_END), spans);
    CHECK(watched_nest(&watched));
    CHECK_UINT(client_ring->depth, 0);
    CHECK_UINT(annotations_open, 0);
}

static void ranges_that_nest_are_zones(void)
{
    start();
    fake_recorder_start();
    begin(a_domain, "a1");
    begin(b_domain, "b1");
    end(b_domain);
    begin(a_domain, "a2");
    end(a_domain);
    end(a_domain);
    check("b1 a2 a1", 0);
    CHECK_UINT(client_ring->unbalanced, 0);
}

static void of_two_that_cross_the_inner_one_is_a_span(void)
{
    start();
    fake_recorder_start();
    begin(a_domain, "a1");
    begin(b_domain, "b1");
    begin(a_domain, "a2");
    end(a_domain);
    end(a_domain); /* a1, with b1 open */
    begin(a_domain, "a3");
    end(b_domain); /* b1, with a3 open */
    end(a_domain);
    check("a2 a1 a3", 1);
    CHECK_UINT(client_ring->unbalanced, 0);
}

static void the_zone_of_somebody_else_stays_a_zone(void)
{
    static ifg_location inference = { "inference", "", "", 1, 0, IFG_LOCATION_ZONE, 0 };
    ifg_zone zone;

    start();
    fake_recorder_start();
    begin(a_domain, "a1");
    zone = ifg_zone_begin(&inference);
    end(a_domain); /* inside of the inference: it began outside */
    begin(a_domain, "a2");
    end(a_domain);
    ifg_zone_end(zone);
    begin(a_domain, "a3");
    end(a_domain);
    check("a2 inference a3", 1);
    CHECK_UINT(client_ring->unbalanced, 0);
}

static void one_that_ended_inside_of_another_is_not_open(void)
{
    static ifg_location outer = { "outer", "", "", 1, 0, IFG_LOCATION_ZONE, 0 };
    static ifg_location inference = { "inference", "", "", 2, 0, IFG_LOCATION_ZONE, 0 };
    ifg_zone around;
    ifg_zone zone;

    start();
    fake_recorder_start();
    around = ifg_zone_begin(&outer);
    begin(a_domain, "a1");
    zone = ifg_zone_begin(&inference);
    end(a_domain);
    CHECK_UINT(client_ring->depth, 3);
    CHECK_UINT(client_ring->open[1].location, 0); /* takes a place, and is not shown */
    ifg_zone_end(zone);
    ifg_zone_end(around);
    watched_read(&watched);
    CHECK_STR(watched_zones(&watched), "inference outer");
    CHECK_UINT(watched_count(&watched, IFG_WIRE_ASYNC_BEGIN), 1);
    CHECK_UINT(client_ring->depth, 0);
    CHECK_UINT(client_ring->unbalanced, 0);
}

static void an_end_after_the_zone_around_it_is_a_span(void)
{
    static ifg_location inference = { "inference", "", "", 1, 0, IFG_LOCATION_ZONE, 0 };
    ifg_zone zone;

    start();
    fake_recorder_start();
    zone = ifg_zone_begin(&inference);
    begin(a_domain, "a1");
    ifg_zone_end(zone);
    end(a_domain);
    check("inference", 1);
}

static void ends_without_a_begin_are_nothing(void)
{
    start();
    begin(a_domain, "before"); /* nobody records */
    fake_recorder_start();
    begin(a_domain, "a1");
    end(a_domain);
    end(a_domain); /* of "before" */
    end(b_domain);
    check("a1", 0);
}

static void a_begin_is_followed_when_recording_stops(void)
{
    start();
    fake_recorder_start();
    begin(a_domain, "a1");
    client_control->recording = 0;
    begin(a_domain, "unseen");
    end(a_domain);
    end(a_domain);
    CHECK_UINT(annotations_open, 0);
    client_control->recording = 1;
    begin(a_domain, "a2");
    end(a_domain);
    end(a_domain);
    check("a1 a2", 0);
}

static void deep_ones_are_followed_and_not_recorded(void)
{
    start();
    fake_recorder_start();
    for (int i = 0; i < 300; i++)
        begin(i % 2 ? b_domain : a_domain, "deep");
    for (int i = 300; i-- > 0;)
        end(i % 2 ? b_domain : a_domain);
    watched_read(&watched);
    CHECK_UINT(watched_count(&watched, 0), 128);
    CHECK(watched_nest(&watched));
    CHECK_UINT(client_ring->depth, 0);
    begin(a_domain, "after");
    end(a_domain);
    check("after", 0);
}

static void far_too_deep_ones_are_given_up(void)
{
    start();
    fake_recorder_start();
    for (int i = 0; i < 100000; i++)
        begin(a_domain, "leak");
    CHECK_UINT(client_ring->depth, 0);
    for (int i = 0; i < 100000; i++)
        end(a_domain);
    CHECK_UINT(annotations_open, 0);
    begin(a_domain, "after");
    end(a_domain);
    check("after", 0);
}

static void marks_move_up(void)
{
    start();
    fake_recorder_start();
    for (int i = 0; i < 128; i++)
        begin(a_domain, "a");
    begin(b_domain, "b"); /* not recorded: too deep */
    for (int i = 0; i < 128; i++)
        end(a_domain);
    CHECK_UINT(annotations_open, 1);
    end(b_domain);
    CHECK_UINT(annotations_open, 0);
    watched_read(&watched);
    CHECK_UINT(watched_count(&watched, 0), 128);
    CHECK(watched_nest(&watched));
}

static void what_is_open_at_a_fork_is_the_parents(void)
{
    int status = -1;
    pid_t child;

    start();
    fake_recorder_start();
    begin(a_domain, "around");
    child = fork();
    if (child == 0) {
        client_control->recording = 1; /* a region of its own, without a recorder */
        begin(a_domain, "inside");
        end(a_domain);
        end(a_domain); /* "around", in the child */
        watched_read(&watched);
        _exit(strcmp(watched_zones(&watched), "inside") == 0 && annotations_open == 0 &&
                      client_ring->unbalanced == 0
                  ? 0
                  : 1);
    }
    REQUIRE(child > 0);
    CHECK(waitpid(child, &status, 0) == child);
    CHECK_INT(status, 0);
    end(a_domain);
    check("around", 0);
}

#define THREADS 8
#define ROUNDS  200

static void *work(void *user)
{
    const struct annotations_domain *mine = user;

    for (int i = 0; i < ROUNDS; i++) {
        begin(mine, "outer");
        begin(b_domain, "inner");
        end(mine); /* crosses */
        end(b_domain);
    }
    return (void *)(uintptr_t)annotations_open;
}

static void threads_do_not_disturb_each_other(void)
{
    pthread_t threads[THREADS];
    uint64_t zones = 0;
    uint64_t nonsense = 0;

    start();
    fake_recorder_start();
    for (int round = 0; round < 3; round++) {
        for (int t = 0; t < THREADS; t++)
            REQUIRE(pthread_create(&threads[t], NULL, work, a_domain) == 0);
        for (int t = 0; t < THREADS; t++) {
            void *open = NULL;

            pthread_join(threads[t], &open);
            CHECK_UINT((uintptr_t)open, 0);
        }
    }
    for (uint32_t i = 0; i < client_control->rings_used; i++)
        zones += fake_drain(fake_ring(i), UINT64_MAX, NULL, NULL, &nonsense);
    CHECK_UINT(nonsense, 0);
    CHECK_UINT(zones, (uint64_t)3 * THREADS * ROUNDS * 3); /* a zone; begin and end of a span */
}

static void details_come_with_the_zone(void)
{
    struct annotations_detail detail = { .value = { .natural = UINT64_MAX },
                                         .value_kind = ANNOTATIONS_UNSIGNED,
                                         .category = 3,
                                         .rgb = 0x1ff0000 };
    struct annotations_text text;

    start();
    fake_recorder_start();
    annotations_text_narrow(&text, "stage three");
    annotations_category_name(a_domain, 3, &text);
    annotations_range_begin(
        a_domain, annotations_location(a_domain, IFG_LOCATION_ZONE, "with", SIZE_MAX, 0x100ff00),
        &text, &detail);
    end(a_domain);
    watched_read(&watched);
    REQUIRE_UINT(watched_count(&watched, IFG_WIRE_ATTRIBUTE), 3);
    CHECK(memmem(watched.records[0].payload, 64, "18446744073709551615", 20) != NULL);
    CHECK(memmem(watched.records[1].payload, 64, "categorystage three", 19) != NULL);
    CHECK_UINT(watched_count(&watched, 0), 1);
    /* The colour of its location needs no word. */
    detail = (struct annotations_detail){ .rgb = 0x100ff00 };
    annotations_range_begin(
        a_domain, annotations_location(a_domain, IFG_LOCATION_ZONE, "with", SIZE_MAX, 0x100ff00),
        &text, &detail);
    end(a_domain);
    check("with", 0);
    CHECK_UINT(watched_count(&watched, IFG_WIRE_ATTRIBUTE), 0);
}

TAP_MAIN(TAP_CASE(ranges_that_nest_are_zones), TAP_CASE(of_two_that_cross_the_inner_one_is_a_span),
         TAP_CASE(the_zone_of_somebody_else_stays_a_zone),
         TAP_CASE(one_that_ended_inside_of_another_is_not_open),
         TAP_CASE(an_end_after_the_zone_around_it_is_a_span),
         TAP_CASE(ends_without_a_begin_are_nothing),
         TAP_CASE(a_begin_is_followed_when_recording_stops),
         TAP_CASE(deep_ones_are_followed_and_not_recorded),
         TAP_CASE(far_too_deep_ones_are_given_up), TAP_CASE(marks_move_up),
         TAP_CASE(what_is_open_at_a_fork_is_the_parents),
         TAP_CASE(threads_do_not_disturb_each_other), TAP_CASE(details_come_with_the_zone))
