// SPDX-License-Identifier: Apache-2.0
/* A trace that grows while it is read: nothing is told twice, nothing is missed, whatever happens
 * to the file. */
#include "trace/follow.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "tap.h"
#include "trace/fixture.h"

struct sum {
    size_t zones;
    size_t events;
    size_t open;
    size_t restarts;
    bool finished;
    enum ifg_status status;
};

/* Everything that is there now. */
static void take(struct trace_follow *follow, struct sum *sum)
{
    struct ifg_error err = { 0 };
    struct trace_news news;

    for (;;) {
        sum->status = trace_follow_next(follow, &news, &err);
        if (sum->status || news.kind == TRACE_NEWS_NONE)
            return;
        if (news.kind == TRACE_NEWS_ZONES) {
            sum->zones += news.zones->count;
            sum->open += news.zones->open_count;
            CHECK(news.thread < trace_follow_tables(follow)->thread_count);
        } else if (news.kind == TRACE_NEWS_EVENTS) {
            sum->events += news.events->count;
        } else if (news.kind == TRACE_NEWS_RESTARTED) {
            sum->restarts++;
        } else if (news.kind == TRACE_NEWS_FINISHED) {
            sum->finished = true;
        }
    }
}

static const char *name_file(char path[256])
{
    snprintf(path, 256, "%s", fixture_path());
    return path;
}

static struct trace_follow *must_follow(const char *path)
{
    struct trace_follow *follow = NULL;
    struct ifg_error err = { 0 };

    REQUIRE(trace_follow_open(path, &follow, &err) == IFG_OK);
    return follow;
}

static void put(const char *path, const uint8_t *data, size_t size, int flags)
{
    int fd = open(path, O_WRONLY | O_CREAT | flags, 0600);

    REQUIRE(fd >= 0);
    REQUIRE(write(fd, data, size) == (ssize_t)size);
    close(fd);
}

static struct sum whole(const uint8_t *data, size_t size)
{
    char path[256];
    struct trace_follow *follow = must_follow(name_file(path));
    struct sum sum = { 0 };

    put(path, data, size, O_TRUNC);
    take(follow, &sum);
    trace_follow_close(follow);
    unlink(path);
    return sum;
}

static void grows_byte_by_byte(void)
{
    size_t size;
    uint8_t *data = fixture_bytes(&size);
    char path[256];
    struct trace_follow *follow = must_follow(name_file(path));
    struct sum expected;
    struct sum sum = { 0 };

    REQUIRE(data != NULL);
    expected = whole(data, size);
    CHECK(expected.finished);
    CHECK(expected.zones >= FIXTURE_ZONES);
    CHECK(expected.events > 0);
    take(follow, &sum);
    CHECK_INT(sum.status, IFG_OK); /* there is no file yet */
    for (size_t i = 0; i < size; i++) {
        put(path, data + i, 1, O_APPEND);
        take(follow, &sum);
        CHECK_INT(sum.status, IFG_OK);
    }
    CHECK_UINT(sum.zones, expected.zones);
    CHECK_UINT(sum.events, expected.events);
    CHECK_UINT(sum.open, expected.open);
    CHECK(sum.finished);
    CHECK_UINT(trace_follow_info(follow)->damaged, 0);
    CHECK_UINT(sum.restarts, 0);
    trace_follow_close(follow);
    unlink(path);
    ifg_free(data);
}

static void same_as_the_reader(void)
{
    size_t size;
    uint8_t *data = fixture_bytes(&size);
    char path[256];
    struct trace_follow *follow = must_follow(name_file(path));
    struct trace_reader *reader = NULL;
    struct sum sum = { 0 };
    const struct trace_tables *left;
    const struct trace_tables *right;

    REQUIRE(data != NULL);
    put(path, data, size, O_TRUNC);
    REQUIRE(trace_reader_open(path, &reader, NULL) == IFG_OK);
    take(follow, &sum);
    left = trace_follow_tables(follow);
    right = trace_reader_tables(reader);
    CHECK_UINT(left->location_count, right->location_count);
    CHECK_UINT(left->model_count, right->model_count);
    CHECK_UINT(left->process_count, right->process_count);
    CHECK_UINT(left->thread_count, right->thread_count);
    CHECK_UINT(left->fact_count, right->fact_count);
    for (size_t i = 0; i < left->location_count; i++)
        CHECK_STR(left->locations[i].name, right->locations[i].name);
    CHECK_UINT(
        trace_follow_ns(follow, 0, FIXTURE_BASE),
        trace_clock_to_ns(reader, right->processes[right->threads[0].process].clock, FIXTURE_BASE));
    trace_reader_close(reader);
    trace_follow_close(follow);
    unlink(path);
    ifg_free(data);
}

static void cut_and_written_again(void)
{
    size_t size;
    uint8_t *data = fixture_bytes(&size);
    char path[256];
    struct trace_follow *follow = must_follow(name_file(path));
    struct sum expected;
    struct sum sum = { 0 };

    REQUIRE(data != NULL);
    expected = whole(data, size);
    put(path, data, size - 200, O_TRUNC);
    take(follow, &sum);
    REQUIRE(truncate(path, 0) == 0);
    take(follow, &sum);
    CHECK_UINT(sum.restarts, 1);
    sum = (struct sum){ 0 };
    put(path, data, size, O_TRUNC);
    take(follow, &sum);
    CHECK_UINT(sum.zones, expected.zones);
    CHECK(sum.finished);
    trace_follow_close(follow);
    unlink(path);
    ifg_free(data);
}

static void replaced(void)
{
    size_t size;
    uint8_t *data = fixture_bytes(&size);
    char path[256];
    struct trace_follow *follow = must_follow(name_file(path));
    struct sum sum = { 0 };
    size_t zones;
    char other[300];

    REQUIRE(data != NULL);
    put(path, data, size, O_TRUNC);
    take(follow, &sum);
    zones = sum.zones;
    snprintf(other, sizeof other, "%s.other", path);
    put(other, data, size, O_TRUNC);
    REQUIRE(rename(other, path) == 0);
    take(follow, &sum);
    CHECK_UINT(sum.restarts, 1);
    CHECK_UINT(sum.zones, 2 * zones);
    REQUIRE(unlink(path) == 0);
    take(follow, &sum); /* removed: what is open can still be read */
    CHECK_INT(sum.status, IFG_OK);
    CHECK_UINT(sum.restarts, 1);
    trace_follow_close(follow);
    ifg_free(data);
}

/* Every byte of the file is damaged once; the rest comes, and the damage is counted. */
static void damaged_anywhere(void)
{
    size_t size;
    uint8_t *data = fixture_bytes(&size);
    char path[256];

    REQUIRE(data != NULL);
    for (size_t at = TRACE_FILE_HEADER_BYTES; at + TRACE_TRAILER_BYTES < size; at += 7) {
        struct trace_follow *follow = must_follow(name_file(path));
        struct sum sum = { 0 };

        data[at] ^= 0x41;
        put(path, data, size, O_TRUNC);
        for (int i = 0; i < 20; i++)
            take(follow, &sum);
        CHECK_INT(sum.status, IFG_OK);
        data[at] ^= 0x41;
        trace_follow_close(follow);
        unlink(path);
    }
    ifg_free(data);
}

static void steps_over_garbage(void)
{
    size_t size;
    uint8_t *data = fixture_bytes(&size);
    char path[256];
    struct trace_follow *follow = must_follow(name_file(path));
    struct trace_block_head head;
    struct sum expected;
    struct sum sum = { 0 };
    uint8_t garbage[300];
    size_t first = TRACE_FILE_HEADER_BYTES;

    REQUIRE(data != NULL);
    expected = whole(data, size);
    REQUIRE(trace_block_head_get(data + first, &head));
    first += TRACE_BLOCK_HEADER_BYTES + head.payload_bytes;
    memset(garbage, 'I', sizeof garbage);
    put(path, data, first, O_TRUNC);
    take(follow, &sum);
    put(path, garbage, sizeof garbage, O_APPEND);
    take(follow, &sum);
    CHECK_UINT(trace_follow_info(follow)->damaged, 0); /* it may still become a block */
    put(path, data + first, size - first, O_APPEND);
    for (int i = 0; i < 20; i++)
        take(follow, &sum);
    CHECK_UINT(sum.zones, expected.zones);
    CHECK(trace_follow_info(follow)->damaged > 0);
    CHECK(sum.finished);
    trace_follow_close(follow);
    unlink(path);
    ifg_free(data);
}

static void refuses_what_is_no_trace(void)
{
    char path[256];
    struct trace_follow *follow = must_follow(name_file(path));
    struct sum sum = { 0 };
    size_t size;
    uint8_t *data = fixture_bytes(&size);

    put(path,
        (const uint8_t *)"SQLite format 3, they say, and then some more to fill a header. "
                         "That is enough.",
        80, O_TRUNC);
    take(follow, &sum);
    CHECK_INT(sum.status, IFG_CORRUPT);
    /* A trace may take its place. */
    unlink(path);
    put(path, data, size, O_TRUNC);
    take(follow, &sum);
    CHECK_INT(sum.status, IFG_OK);
    CHECK(sum.finished);
    trace_follow_close(follow);
    unlink(path);
    REQUIRE(mkdir(path, 0700) == 0);
    follow = must_follow(path);
    take(follow, &sum);
    CHECK_INT(sum.status, IFG_INVALID);
    trace_follow_close(follow);
    rmdir(path);
    ifg_free(data);
}

static void a_recorder_that_is_gone(void)
{
    char path[256];
    struct trace_follow *follow = must_follow(name_file(path));
    struct trace_writer *writer = NULL;
    struct sum sum = { 0 };

    CHECK(!trace_follow_is_abandoned(follow));
    REQUIRE(trace_writer_create(path, false, &writer, NULL) == IFG_OK);
    take(follow, &sum);
    CHECK(!trace_follow_is_abandoned(follow));
    REQUIRE(trace_writer_close(writer, NULL) == IFG_OK);
    if (!trace_follow_is_abandoned(follow))
        tap_diag("this file system does not tell who writes");
    trace_follow_close(follow);
    unlink(path);
}

static void memory_runs_out(void)
{
    size_t size;
    uint8_t *data = fixture_bytes(&size);
    char path[256];

    REQUIRE(data != NULL);
    put(name_file(path), data, size, O_TRUNC);
    for (long successes = 0; successes < 200; successes++) {
        struct trace_follow *follow = NULL;
        struct sum sum = { 0 };

        ifg_alloc_fail_after(successes);
        if (trace_follow_open(path, &follow, NULL) == IFG_OK)
            take(follow, &sum);
        ifg_alloc_fail_after(-1);
        trace_follow_close(follow);
    }
    unlink(path);
    ifg_free(data);
}

TAP_MAIN(TAP_CASE(grows_byte_by_byte), TAP_CASE(same_as_the_reader),
         TAP_CASE(cut_and_written_again), TAP_CASE(replaced), TAP_CASE(damaged_anywhere),
         TAP_CASE(steps_over_garbage), TAP_CASE(refuses_what_is_no_trace),
         TAP_CASE(a_recorder_that_is_gone), TAP_CASE(memory_runs_out))
