// SPDX-License-Identifier: Apache-2.0
/* What goes into a trace comes out again, and a writer that fails leaves a file that can be read.
 */
#include "trace/writer.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "tap.h"
#include "trace/fixture.h"

#define LENGTH(array) (sizeof(array) / sizeof(array)[0])

static struct trace_writer *create(const char **out_path)
{
    struct trace_writer *writer = NULL;
    struct ifg_error err = { 0 };

    *out_path = fixture_path();
    REQUIRE_INT(trace_writer_create(*out_path, false, &writer, &err), IFG_OK);
    REQUIRE(writer != NULL);
    return writer;
}

static struct trace_reader *close_and_open(struct trace_writer *writer, const char *path)
{
    struct trace_reader *reader = NULL;
    struct ifg_error err = { 0 };

    CHECK_INT(trace_writer_close(writer, &err), IFG_OK);
    CHECK_STR(err.message, "");
    REQUIRE_INT(trace_reader_open(path, &reader, &err), IFG_OK);
    unlink(path);
    CHECK(trace_reader_file(reader)->finished);
    CHECK_UINT(trace_reader_file(reader)->skipped_bytes, 0);
    return reader;
}

/* Compares all zones of thread 0 with what was written, and returns how many blocks they are in. */
static size_t compare_zones(const struct trace_reader *reader, const struct fixture_zone *expected,
                            size_t count)
{
    struct trace_zones zones = { 0 };
    size_t seen = 0;
    size_t blocks = 0;

    for (size_t i = 0; i < trace_reader_block_count(reader); i++) {
        const struct trace_block *block = trace_reader_block(reader, i);
        uint64_t t0 = UINT64_MAX;
        uint64_t t1 = 0;

        if (block->type != TRACE_BLOCK_ZONES)
            continue;
        REQUIRE_INT(trace_decode_zones(reader, i, &zones, NULL), IFG_OK);
        CHECK_UINT(zones.count, block->count);
        CHECK_UINT(zones.first_zone, seen);
        REQUIRE(seen + zones.count <= count);
        for (size_t j = 0; j < zones.count; j++, seen++) {
            if (zones.starts[j] == expected[seen].start &&
                zones.durations[j] == expected[seen].duration &&
                zones.locations[j] == expected[seen].location) {
                t0 = zones.starts[j] < t0 ? zones.starts[j] : t0;
                t1 = zones.starts[j] + zones.durations[j] > t1
                         ? zones.starts[j] + zones.durations[j]
                         : t1;
                continue;
            }
            tap_diag("zone %zu", seen);
            REQUIRE_UINT(zones.starts[j], expected[seen].start);
            REQUIRE_UINT(zones.durations[j], expected[seen].duration);
            REQUIRE_UINT(zones.locations[j], expected[seen].location);
        }
        if (zones.count) {
            CHECK_UINT(block->t0, t0);
            CHECK_UINT(block->t1, t1);
        }
        blocks++;
    }
    CHECK_UINT(seen, count);
    trace_zones_fini(&zones);
    return blocks;
}

static void round_trip(const struct fixture_zone *zones, size_t count, size_t expected_blocks)
{
    const char *path;
    struct trace_writer *writer = create(&path);
    struct trace_stream *stream = trace_stream_create(writer, 0);
    struct trace_reader *reader;

    REQUIRE(stream != NULL);
    for (size_t i = 0; i < count; i++)
        trace_stream_zone(stream, zones[i].start, zones[i].duration, zones[i].location);
    reader = close_and_open(writer, path);
    CHECK_UINT(compare_zones(reader, zones, count), expected_blocks);
    trace_reader_close(reader);
}

static void nested_zones(void)
{
    static const struct fixture_zone zones[] = {
        { 120, 10, 3 },  { 140, 20, 4 }, { 110, 60, 2 }, { 180, 5, 3 },
        { 100, 100, 1 }, { 300, 10, 3 }, { 290, 30, 2 },
    };
    round_trip(zones, LENGTH(zones), 1);
}

static void recursion(void)
{
    struct fixture_zone zones[1000];

    for (size_t i = 0; i < LENGTH(zones); i++)
        zones[i] = (struct fixture_zone){ 5000 - i, 1 + 2 * i, 9 };
    round_trip(zones, LENGTH(zones), 1);
}

static void zero_length_zones(void)
{
    static const struct fixture_zone zones[] = {
        { 100, 0, 1 }, { 100, 0, 2 }, { 100, 0, 3 }, { 90, 10, 4 },
        { 90, 10, 5 }, { 0, 0, 6 },   { 100, 0, 7 },
    };
    round_trip(zones, LENGTH(zones), 1);
}

static void overlapping_zones(void)
{
    static const struct fixture_zone zones[] = {
        { 100, 100, 1 }, { 150, 100, 2 }, { 120, 10, 3 }, { 0, 5, 4 },    { 240, 20, 5 },
        { 110, 300, 6 }, { 5, 1, 7 },     { 1, 1000, 8 }, { 2000, 1, 9 },
    };
    round_trip(zones, LENGTH(zones), 1);
    round_trip(fixture_zones, FIXTURE_ZONES, 1);
}

static void long_zones(void)
{
    static const struct fixture_zone zones[] = {
        { UINT64_C(1) << 62, 1, 1 },           { 5, UINT64_MAX - 5, 2 },
        { 0, UINT64_MAX, UINT32_MAX },         { UINT64_MAX, 0, 3 },
        { UINT64_MAX / 2, UINT64_MAX / 2, 4 }, { 1, UINT64_C(1) << 28, 5 },
        { 1, (UINT64_C(1) << 28) - 1, 6 },     { 1, UINT64_C(1) << 56, (1u << 28) - 1 },
        { 1, UINT64_C(1) << 56, 1u << 12 },    { 1, UINT64_C(1) << 56, (1u << 12) - 1 },
    };
    round_trip(zones, LENGTH(zones), 1);
}

static void a_zone_that_would_wrap_ends_at_the_end_of_time(void)
{
    static const struct fixture_zone expected[] = { { 10, UINT64_MAX - 10, 1 } };
    const char *path;
    struct trace_writer *writer = create(&path);
    struct trace_stream *stream = trace_stream_create(writer, 0);
    struct trace_reader *reader;

    trace_stream_zone(stream, 10, UINT64_MAX, 1);
    reader = close_and_open(writer, path);
    compare_zones(reader, expected, 1);
    trace_reader_close(reader);
}

/* A parent that ends in a later block than its children, again and again. */
static void parents_across_blocks(void)
{
    size_t count = 2 * TRACE_BLOCK_LIMIT + 5;
    struct fixture_zone *zones = calloc(count, sizeof *zones);

    REQUIRE(zones != NULL);
    for (size_t i = 0; i < count; i++)
        zones[i] = (struct fixture_zone){ 1000 + i * 100, 30, (uint32_t)(i % 300) + 1 };
    /* Ends first in the second block and holds nearly all of the first. */
    zones[TRACE_BLOCK_LIMIT] =
        (struct fixture_zone){ 1500, (uint64_t)TRACE_BLOCK_LIMIT * 100 - 500, 77 };
    zones[TRACE_BLOCK_LIMIT + 1] =
        (struct fixture_zone){ 1200, (uint64_t)TRACE_BLOCK_LIMIT * 100, 78 };
    round_trip(zones, count, 3);
    free(zones);
}

static uint64_t next_random(uint64_t *state)
{
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return *state;
}

/* Anything at all comes back, also what no program can do. */
static void arbitrary_zones(void)
{
    size_t count = 3 * TRACE_BLOCK_LIMIT;
    struct fixture_zone *zones = calloc(count, sizeof *zones);
    uint64_t state = 99;

    REQUIRE(zones != NULL);
    for (size_t i = 0; i < count; i++) {
        unsigned bits = (unsigned)(next_random(&state) % 60) + 1;

        zones[i].start = next_random(&state) >> (i % 3 ? 64 - bits : 30);
        zones[i].duration = next_random(&state) >> (64 - bits);
        if (zones[i].duration > UINT64_MAX - zones[i].start)
            zones[i].duration = 0;
        zones[i].location = (uint32_t)(next_random(&state) >> (next_random(&state) % 32 + 32));
    }
    round_trip(zones, count, 3);
    free(zones);
}

static void check_open(const struct trace_zones *zones, const struct trace_open_zone *open,
                       size_t count, uint64_t as_of)
{
    CHECK(zones->has_open);
    CHECK_UINT(zones->open_as_of, as_of);
    REQUIRE_UINT(zones->open_count, count);
    for (size_t i = 0; i < count; i++) {
        CHECK_UINT(zones->open_starts[i], open[i].start);
        CHECK_UINT(zones->open_locations[i], open[i].location);
    }
}

static void open_zones(void)
{
    struct trace_open_zone open[TRACE_OPEN_MAX + 10];
    const char *path;
    struct trace_writer *writer = create(&path);
    struct trace_stream *stream = trace_stream_create(writer, 3);
    struct trace_reader *reader;
    struct trace_zones zones = { 0 };

    for (size_t i = 0; i < LENGTH(open); i++)
        open[i] = (struct trace_open_zone){ UINT64_MAX - 5000 + i, (uint32_t)i + 1 };
    trace_stream_flush(stream, NULL, 0, 0); /* nothing to say */
    trace_stream_flush(stream, open, 3, UINT64_MAX);
    trace_stream_zone(stream, 10, 5, 1);
    CHECK(trace_stream_pending(stream));
    trace_stream_flush(stream, open, LENGTH(open), 5);
    CHECK(!trace_stream_pending(stream));
    trace_stream_flush(stream, open, 0, 6);
    trace_stream_zone(stream, 20, 5, 1);
    trace_stream_flush(stream, NULL, 0, 0);
    reader = close_and_open(writer, path);
    REQUIRE_UINT(trace_reader_block_count(reader), 4);
    REQUIRE_INT(trace_decode_zones(reader, 0, &zones, NULL), IFG_OK);
    CHECK_UINT(zones.count, 0);
    check_open(&zones, open, 3, UINT64_MAX);
    REQUIRE_INT(trace_decode_zones(reader, 1, &zones, NULL), IFG_OK);
    CHECK_UINT(zones.count, 1);
    check_open(&zones, open, TRACE_OPEN_MAX, 5);
    REQUIRE_INT(trace_decode_zones(reader, 2, &zones, NULL), IFG_OK);
    CHECK_UINT(zones.first_zone, 1);
    check_open(&zones, open, 0, 6);
    REQUIRE_INT(trace_decode_zones(reader, 3, &zones, NULL), IFG_OK);
    CHECK(!zones.has_open);
    CHECK_UINT(zones.open_count, 0);
    trace_zones_fini(&zones);
    trace_reader_close(reader);
}

static void many_events(void)
{
    size_t count = 2 * TRACE_BLOCK_LIMIT + 100;
    const char *path;
    struct trace_writer *writer = create(&path);
    struct trace_stream *stream = trace_stream_create(writer, 1);
    struct trace_reader *reader;
    struct trace_events events = { 0 };
    size_t seen = 0;

    for (size_t i = 0; i < count; i++)
        trace_stream_event(stream, i % 2 ? TRACE_EVENT_FRAME : TRACE_EVENT_MESSAGE,
                           i % 5 ? 1000000 - i * 3 : i << 40, (uint32_t)(i * 2654435761u), "text",
                           i % 5);
    reader = close_and_open(writer, path);
    CHECK_UINT(trace_reader_block_count(reader), 3);
    for (size_t i = 0; i < trace_reader_block_count(reader); i++) {
        REQUIRE_INT(trace_decode_events(reader, i, &events, NULL), IFG_OK);
        for (size_t j = 0; j < events.count; j++, seen++) {
            const struct trace_event *event = &events.events[j];

            REQUIRE_UINT(event->kind, seen % 2 ? TRACE_EVENT_FRAME : TRACE_EVENT_MESSAGE);
            REQUIRE_UINT(event->ticks, seen % 5 ? 1000000 - seen * 3 : seen << 40);
            REQUIRE_UINT(event->reference, (uint32_t)(seen * 2654435761u));
            REQUIRE_UINT(event->payload_bytes, seen % 5);
            CHECK_BYTES(event->payload, "text", seen % 5);
        }
    }
    CHECK_UINT(seen, count);
    trace_events_fini(&events);
    trace_reader_close(reader);
}

/* More keys than a block holds, and values that repeat, jump and wrap. */
static void many_attributes(void)
{
    enum { COUNT = 2000 };
    const char *path;
    struct trace_writer *writer = create(&path);
    struct trace_stream *stream = trace_stream_create(writer, 1);
    struct trace_reader *reader;
    struct trace_events events = { 0 };
    size_t seen = 0;

    for (uint64_t i = 0; i < COUNT; i++) {
        uint64_t value = i % 7 ? i % 3 : UINT64_MAX - i;
        char key[16];
        int size = snprintf(key, sizeof key, "key %u", (unsigned)(i % 300));

        trace_stream_attribute(stream, i, (uint32_t)(i % 11),
                               i % 2 ? TRACE_VALUE_SIGNED : TRACE_VALUE_UNSIGNED, key, (size_t)size,
                               &value, sizeof value);
        if (i % 4 == 0)
            trace_stream_zone(stream, i, 1, 1);
    }
    reader = close_and_open(writer, path);
    for (size_t i = 0; i < trace_reader_block_count(reader); i++) {
        if (trace_reader_block(reader, i)->type != TRACE_BLOCK_EVENTS)
            continue;
        REQUIRE_INT(trace_decode_events(reader, i, &events, NULL), IFG_OK);
        for (size_t j = 0; j < events.count; j++, seen++) {
            struct trace_attribute attribute;
            uint64_t value = seen % 7 ? seen % 3 : UINT64_MAX - seen;
            char key[16];

            snprintf(key, sizeof key, "key %u", (unsigned)(seen % 300));
            REQUIRE_INT(trace_parse_attribute(&events.events[j], &attribute), IFG_OK);
            REQUIRE_UINT(attribute.zone_start, seen);
            REQUIRE_UINT(attribute.zone_location, seen % 11);
            REQUIRE_UINT(attribute.first_zone, (seen + 3) / 4);
            REQUIRE_UINT(attribute.key_bytes, strlen(key));
            CHECK_BYTES(attribute.key, key, strlen(key));
            if (seen % 2)
                REQUIRE_INT(attribute.signed_value, (int64_t)value);
            else
                REQUIRE_UINT(attribute.unsigned_value, value);
        }
    }
    CHECK_UINT(seen, COUNT);
    trace_events_fini(&events);
    trace_reader_close(reader);
}

/* Payloads that are too large are counted, large ones end a block early. */
static void large_payloads(void)
{
    size_t large = 1u << 20;
    const char *path;
    struct trace_writer *writer = create(&path);
    struct trace_stream *stream = trace_stream_create(writer, 1);
    struct trace_reader *reader;
    struct trace_events events = { 0 };
    char *text = malloc(large + 1);

    REQUIRE(text != NULL);
    for (size_t i = 0; i <= large; i++)
        text[i] = (char)(i * i >> 3);
    trace_stream_event(stream, TRACE_EVENT_MESSAGE, 1, 2, text, large - 1);
    trace_stream_event(stream, TRACE_EVENT_MESSAGE, 2, 2, text, large);
    trace_stream_event(stream, TRACE_EVENT_MESSAGE, 3, 2, text, large + 1);
    trace_stream_event(stream, TRACE_EVENT_MESSAGE, 4, 2, text, 1);
    trace_stream_event(stream, TRACE_EVENT_ATTRIBUTE, 5, 2, text, 1);
    trace_stream_attribute(stream, 5, 1, TRACE_VALUE_F64, "key", 3, text, 7);
    trace_stream_attribute(stream, 5, 1, TRACE_VALUE_STRING, text, 5000, text, 7);
    trace_stream_set_dropped(stream, 10);
    reader = close_and_open(writer, path);
    REQUIRE_UINT(trace_reader_block_count(reader), 2);
    REQUIRE_INT(trace_decode_events(reader, 0, &events, NULL), IFG_OK);
    REQUIRE_UINT(events.count, 2);
    CHECK_UINT(events.events[1].payload_bytes, large);
    CHECK_BYTES(events.events[1].payload, text, large);
    REQUIRE_INT(trace_decode_events(reader, 1, &events, NULL), IFG_OK);
    REQUIRE_UINT(events.count, 1);
    CHECK_UINT(trace_reader_block(reader, 1)->dropped, 14);
    trace_events_fini(&events);
    trace_reader_close(reader);
    free(text);
}

/* A loss after the last zone is not lost. */
static void late_losses(void)
{
    const char *path;
    struct trace_writer *writer = create(&path);
    struct trace_stream *stream = trace_stream_create(writer, 1);
    struct trace_zones zones = { 0 };
    struct trace_reader *reader;

    trace_stream_zone(stream, 1, 1, 1);
    trace_stream_flush(stream, NULL, 0, 0);
    CHECK(!trace_stream_pending(stream));
    trace_stream_set_dropped(stream, 42);
    CHECK(trace_stream_pending(stream));
    trace_stream_flush(stream, NULL, 0, 0);
    CHECK(!trace_stream_pending(stream));
    trace_stream_set_dropped(stream, 43);
    reader = close_and_open(writer, path);
    REQUIRE_UINT(trace_reader_block_count(reader), 3);
    CHECK_UINT(trace_reader_block(reader, 0)->dropped, 0);
    CHECK_UINT(trace_reader_block(reader, 1)->dropped, 42);
    CHECK_UINT(trace_reader_block(reader, 2)->dropped, 43);
    REQUIRE_INT(trace_decode_zones(reader, 2, &zones, NULL), IFG_OK);
    CHECK_UINT(zones.count, 0);
    CHECK(!zones.has_open);
    trace_zones_fini(&zones);
    trace_reader_close(reader);
}

static void definitions_precede_their_use(void)
{
    const char *path;
    struct trace_writer *writer = create(&path);
    struct trace_stream *stream = trace_stream_create(writer, 0);
    struct trace_reader *reader;

    trace_writer_thread(writer, 0, 0, 1, "a");
    trace_stream_zone(stream, 1, 1, 1);
    trace_stream_flush(stream, NULL, 0, 0);
    trace_writer_thread(writer, 0, 0, 1, "b");
    trace_writer_flush_definitions(writer);
    trace_writer_flush_definitions(writer);
    CHECK_STR(trace_writer_path(writer), path);
    CHECK(trace_writer_bytes(writer) > TRACE_FILE_HEADER_BYTES);
    reader = close_and_open(writer, path);
    REQUIRE_UINT(trace_reader_block_count(reader), 3);
    CHECK_UINT(trace_reader_block(reader, 0)->type, TRACE_BLOCK_DEFINITIONS);
    CHECK_UINT(trace_reader_block(reader, 1)->type, TRACE_BLOCK_ZONES);
    CHECK_UINT(trace_reader_block(reader, 2)->type, TRACE_BLOCK_DEFINITIONS);
    CHECK_STR(trace_reader_tables(reader)->threads[0].name, "b");
    trace_reader_close(reader);
}

/* A million definitions and strings of a megabyte are unusual, not wrong. */
static void large_definitions(void)
{
    size_t large = (1u << 20) + 100;
    const char *path;
    struct trace_writer *writer = create(&path);
    struct trace_reader *reader;
    char *text = malloc(large + 1);
    const struct trace_tables *tables;

    REQUIRE(text != NULL);
    memset(text, 'x', large);
    text[large] = '\0';
    for (uint32_t i = 0; i < 20; i++)
        trace_writer_fact(writer, text + i, text);
    for (uint32_t i = 0; i < 50000; i++)
        trace_writer_thread(writer, i, i % 10, i, "thread");
    reader = close_and_open(writer, path);
    tables = trace_reader_tables(reader);
    CHECK_UINT(tables->thread_count, 50000);
    CHECK_UINT(tables->process_count, 10);
    CHECK_UINT(tables->fact_count, 1); /* keys are equal once they are cut */
    CHECK_UINT(strlen(tables->facts[0].value), 1u << 20);
    trace_reader_close(reader);
    free(text);
}

static void many_idle_streams(void)
{
    enum { STREAMS = 1000 };
    const char *path;
    struct trace_writer *writer = create(&path);
    struct trace_stream *streams[STREAMS];
    struct trace_reader *reader;

    for (uint32_t i = 0; i < STREAMS; i++) {
        streams[i] = trace_stream_create(writer, i);
        REQUIRE(streams[i] != NULL);
    }
    for (uint64_t round = 0; round < 40; round++) {
        for (uint32_t i = 0; i < STREAMS; i++) {
            trace_stream_zone(streams[i], round * 100, 10, 1);
            if (i == 7 && round == 0)
                for (uint64_t j = 0; j < 20000; j++)
                    trace_stream_zone(streams[i], 20 + j, 1, 1);
            trace_stream_flush(streams[i], NULL, 0, 0);
        }
    }
    for (uint32_t i = 0; i < STREAMS; i += 2)
        trace_stream_destroy(streams[i]);
    reader = close_and_open(writer, path);
    CHECK_UINT(trace_reader_tables(reader)->thread_count, STREAMS);
    CHECK_UINT(trace_reader_block_count(reader), STREAMS * 40 + 1);
    trace_reader_close(reader);
}

static void existing_files(void)
{
    const char *path = fixture_path();
    struct trace_writer *writer;
    struct ifg_error err = { 0 };
    struct stat before, after;
    int fd = open(path, O_CREAT | O_WRONLY | O_CLOEXEC, 0600);

    REQUIRE(fd >= 0);
    REQUIRE(write(fd, "precious", 8) == 8);
    close(fd);
    REQUIRE(stat(path, &before) == 0);
    CHECK_INT(trace_writer_create(path, false, &writer, &err), IFG_INVALID);
    CHECK(writer == NULL);
    CHECK_CONTAINS(err.message, path);
    CHECK_CONTAINS(err.message, "exists; give another name with -o or replace it with -f");
    REQUIRE_INT(trace_writer_create(path, true, &writer, &err), IFG_OK);
    CHECK_INT(trace_writer_close(writer, &err), IFG_OK);
    REQUIRE(stat(path, &after) == 0);
    CHECK(after.st_size > 64);
    CHECK((after.st_mode & 0777) == 0644);
    unlink(path);
    CHECK_INT(trace_writer_close(NULL, &err), IFG_OK);
}

static void places_where_no_trace_can_be(void)
{
    char path[5000];
    struct trace_writer *writer;
    struct ifg_error err = { 0 };

    snprintf(path, sizeof path, "%s", fixture_path());
    REQUIRE(mkdir(path, 0700) == 0);
    CHECK_INT(trace_writer_create(path, false, &writer, &err), IFG_INVALID);
    CHECK_CONTAINS(err.message, "is a directory");
    CHECK_INT(trace_writer_create(path, true, &writer, &err), IFG_INVALID);
    CHECK_CONTAINS(err.message, "is a directory");
    rmdir(path);
    CHECK_INT(trace_writer_create("/dev/null", true, &writer, &err), IFG_INVALID);
    CHECK_CONTAINS(err.message, "not a regular file");
    CHECK(access("/dev/null", F_OK) == 0);
    strncat(path, "/trace.ifg", sizeof path - strlen(path) - 1);
    CHECK_INT(trace_writer_create(path, true, &writer, &err), IFG_NOT_FOUND);
    CHECK_CONTAINS(err.message, "does not exist");
    CHECK_INT(trace_writer_create("", true, &writer, &err), IFG_NOT_FOUND);
    CHECK_INT(trace_writer_create("/proc/trace.ifg", true, &writer, &err), IFG_NOT_FOUND);
    CHECK_CONTAINS(err.message, "in directory /proc");
}

/* The disk is full at every possible place: the file stays readable up to the last whole block. */
static void full_disk(void)
{
    struct sigaction ignore = { .sa_handler = SIG_IGN };
    const char *path = NULL;

    REQUIRE(sigaction(SIGXFSZ, &ignore, NULL) == 0);
    for (rlim_t limit = 0; limit < 2400; limit += limit < 200 ? 1 : 7) {
        struct rlimit small = { limit, RLIM_INFINITY };
        struct ifg_error err = { 0 };
        struct trace_reader *reader = NULL;
        struct stat info;
        enum ifg_status status;

        path = fixture_path();
        REQUIRE(setrlimit(RLIMIT_FSIZE, &small) == 0);
        status = fixture_write(path, &err);
        if (limit < TRACE_FILE_HEADER_BYTES) {
            CHECK_INT(status, IFG_IO);
            CHECK(stat(path, &info) < 0);
            continue;
        }
        REQUIRE(stat(path, &info) == 0);
        REQUIRE((rlim_t)info.st_size <= limit);
        REQUIRE_INT(trace_reader_open(path, &reader, NULL), IFG_OK);
        if (status) {
            REQUIRE_INT(status, IFG_IO);
            REQUIRE_INT(err.saved_errno, EFBIG);
            REQUIRE_CONTAINS(err.message, path);
            REQUIRE_CONTAINS(err.message, "what is there can be read");
            REQUIRE(!trace_reader_file(reader)->finished);
        }
        REQUIRE_UINT(trace_reader_file(reader)->skipped_bytes, 0);
        trace_reader_close(reader);
        unlink(path);
    }
}

static void nothing_happens_after_an_error(void)
{
    struct sigaction ignore = { .sa_handler = SIG_IGN };
    struct rlimit small = { 100, RLIM_INFINITY };
    const char *path;
    struct trace_writer *writer = create(&path);
    struct trace_stream *stream = trace_stream_create(writer, 0);
    struct ifg_error first = { 0 };
    struct ifg_error again = { 0 };

    REQUIRE(sigaction(SIGXFSZ, &ignore, NULL) == 0);
    REQUIRE(setrlimit(RLIMIT_FSIZE, &small) == 0);
    CHECK_INT(trace_writer_status(writer, &first), IFG_OK);
    trace_stream_zone(stream, 1, 1, 1);
    trace_stream_flush(stream, NULL, 0, 0);
    CHECK_INT(trace_writer_status(writer, &first), IFG_IO);
    CHECK_UINT(trace_writer_bytes(writer), TRACE_FILE_HEADER_BYTES);
    small.rlim_cur = RLIM_INFINITY;
    REQUIRE(setrlimit(RLIMIT_FSIZE, &small) == 0);
    for (uint64_t i = 0; i < 40000; i++)
        trace_stream_zone(stream, i, 1, 1);
    trace_stream_event(stream, TRACE_EVENT_FRAME, 1, 1, NULL, 0);
    trace_writer_fact(writer, "a", "b");
    trace_writer_flush_definitions(writer);
    trace_writer_clock_pairs(writer, 0, &(struct trace_clock_pair){ 1, 2, 3 }, 1);
    CHECK_UINT(trace_writer_bytes(writer), TRACE_FILE_HEADER_BYTES);
    CHECK_INT(trace_writer_close(writer, &again), IFG_IO);
    CHECK_STR(again.message, first.message);
    unlink(path);
}

/* Every allocation fails once: no crash, nothing leaks (the sanitizer looks). What is lost for want
 * of memory is either an error or counted as dropped. */
static void allocation_failures(void)
{
    enum { MORE_THAN_THERE_ARE = 400 };
    const char *path = fixture_path();
    unsigned failures = 0;

    for (long n = 0; n < MORE_THAN_THERE_ARE; n++) {
        struct ifg_error err = { 0 };
        struct trace_reader *reader = NULL;
        enum ifg_status status;

        tap_note("allocation %ld", n);
        ifg_alloc_fail_after(n);
        status = fixture_write(path, &err);
        ifg_alloc_fail_after(-1);
        if (status) {
            failures++;
            REQUIRE_INT(status, IFG_NO_MEMORY);
            REQUIRE_CONTAINS(err.message, "memory");
            REQUIRE_CONTAINS(err.message, path);
        }
        if (access(path, F_OK) < 0)
            continue;
        REQUIRE_INT(trace_reader_open(path, &reader, &err), IFG_OK);
        if (n == MORE_THAN_THERE_ARE - 1) {
            CHECK_INT(status, IFG_OK);
            CHECK(trace_reader_file(reader)->finished);
        }
        trace_reader_close(reader);
        unlink(path);
    }
    CHECK(failures > 5);
}

TAP_MAIN(TAP_CASE(nested_zones), TAP_CASE(recursion), TAP_CASE(zero_length_zones),
         TAP_CASE(overlapping_zones), TAP_CASE(long_zones),
         TAP_CASE(a_zone_that_would_wrap_ends_at_the_end_of_time), TAP_CASE(parents_across_blocks),
         TAP_CASE(arbitrary_zones), TAP_CASE(open_zones), TAP_CASE(many_events),
         TAP_CASE(many_attributes), TAP_CASE(large_payloads), TAP_CASE(late_losses),
         TAP_CASE(definitions_precede_their_use), TAP_CASE(large_definitions),
         TAP_CASE(many_idle_streams), TAP_CASE(existing_files),
         TAP_CASE(places_where_no_trace_can_be), TAP_CASE(full_disk),
         TAP_CASE(nothing_happens_after_an_error), TAP_CASE(allocation_failures))
