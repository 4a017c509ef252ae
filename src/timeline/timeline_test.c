// SPDX-License-Identifier: Apache-2.0
/* A model against what was written: order, depths, times, spans, attributes, and traces that are
 * damaged. */
#include "timeline/timeline.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "tap.h"
#include "trace/writer.h"

#define ZONES_MAX 60000u

/* What the test wrote, to compare with. */
struct written {
    uint64_t start;
    uint64_t end;
    uint32_t location;
    uint32_t depth;
    bool late; /* written when all others had been */
};

static struct written zones[ZONES_MAX];
static size_t zone_count;
static uint32_t late_one_in; /* 0: none is late */
static char path[64];

static uint32_t seed = 12345;

static uint32_t dice(uint32_t sides)
{
    seed = seed * 1664525u + 1013904223u;
    return (seed >> 8) % sides;
}

static struct trace_writer *begin_trace(void)
{
    struct trace_writer *writer = NULL;
    struct trace_process process = { .pid = 42, .program = "/bin/tested" };
    struct trace_clock_pair pair = { 0, 0, 5000 };
    int fd;

    snprintf(path, sizeof path, "/tmp/inferogram-model-XXXXXX");
    fd = mkstemp(path);
    REQUIRE(fd >= 0);
    close(fd);
    REQUIRE(trace_writer_create(path, true, &writer, NULL) == IFG_OK);
    trace_writer_clock(writer, 0, TRACE_CLOCK_MONOTONIC, 1000000000u, "ns");
    trace_writer_clock_pairs(writer, 0, &pair, 1);
    pair = (struct trace_clock_pair){ 1u << 30, 1u << 30, 5000 + (1u << 30) };
    trace_writer_clock_pairs(writer, 0, &pair, 1);
    trace_writer_process(writer, &process);
    trace_writer_thread(writer, 0, 0, 100, "main");
    for (uint32_t id = 2; id < 10; id++) {
        char name[16];
        struct trace_location location = { .id = id, .kind = TRACE_LOCATION_ZONE, .name = name };

        snprintf(name, sizeof name, "place %u", id);
        trace_writer_location(writer, &location);
    }
    return writer;
}

static const struct timeline *load(struct trace_reader **out_reader, unsigned threads)
{
    const struct timeline *timeline = NULL;
    struct ifg_error err = { 0 };
    struct timeline_options options = { .threads = threads };

    REQUIRE(trace_reader_open(path, out_reader, &err) == IFG_OK);
    REQUIRE(timeline_create(*out_reader, &options, &timeline, &err) == IFG_OK);
    return timeline;
}

static void unload(const struct timeline *timeline, struct trace_reader *reader)
{
    timeline_destroy(timeline);
    trace_reader_close(reader);
    unlink(path);
}

/* A random tree of zones; writes each when it ends, as a program does. */
static uint64_t grow_tree(struct trace_stream *stream, uint64_t at, uint32_t depth)
{
    uint32_t children = depth < 6 ? dice(5) : 0;
    uint64_t start = at;
    uint32_t location = 2 + dice(8);

    at += 1 + dice(20);
    for (uint32_t i = 0; i < children && zone_count < ZONES_MAX - 100; i++)
        at = grow_tree(stream, at + 1 + dice(10), depth + 1) + 1;
    at += 1 + dice(30);
    zones[zone_count] = (struct written){ start, at, location, depth, false };
    if (late_one_in && dice(late_one_in) == 0)
        zones[zone_count].late = true;
    else
        trace_stream_zone(stream, start, at - start, location);
    zone_count++;
    if (dice(200) == 0)
        trace_stream_flush(stream, NULL, 0, 0); /* cut the tree between blocks */
    return at;
}

/* In the order of their ends, as the others, in a stream of their own. */
static void write_late(struct trace_writer *writer, struct trace_stream *stream)
{
    uint64_t before;

    trace_stream_flush(stream, NULL, 0, 0);
    before = trace_stream_zones(stream);
    trace_stream_destroy(stream);
    stream = trace_stream_resume(writer, 0, before, 0);
    for (size_t i = 0; i < zone_count; i++) {
        int64_t number = (int64_t)i;

        if (!zones[i].late)
            continue;
        trace_stream_attribute(stream, zones[i].start, zones[i].location, TRACE_VALUE_SIGNED,
                               "number", 6, &number, sizeof number);
        trace_stream_zone(stream, zones[i].start, zones[i].end - zones[i].start, zones[i].location);
    }
    trace_stream_destroy(stream);
}

static int by_start(const void *a, const void *b)
{
    const struct written *left = a;
    const struct written *right = b;

    return left->start < right->start ? -1 : left->start > right->start;
}

static void check_tree(unsigned threads)
{
    struct trace_writer *writer = begin_trace();
    struct trace_stream *stream = trace_stream_create(writer, 0);
    struct trace_reader *reader;
    const struct timeline *timeline;
    uint64_t at = 1000;
    size_t wrong = 0;

    while (zone_count < ZONES_MAX - 1000)
        at = grow_tree(stream, at + 5, 0);
    if (late_one_in)
        write_late(writer, stream);
    REQUIRE(trace_writer_close(writer, NULL) == IFG_OK);
    qsort(zones, zone_count, sizeof zones[0], by_start);
    timeline = load(&reader, threads);
    REQUIRE(timeline->slice_count == zone_count);
    for (size_t i = 0; i < zone_count; i++) {
        const struct timeline_location *location = &timeline->locations[timeline->location[i]];
        char name[16];

        snprintf(name, sizeof name, "place %u", zones[i].location);
        wrong += timeline->start_ns[i] != zones[i].start ||
                 timeline_end_ns(timeline, i) != zones[i].end ||
                 timeline->depth[i] != zones[i].depth || strcmp(location->name, name) != 0 ||
                 (timeline_find_attribute(timeline, i, "number") != NULL) != zones[i].late;
    }
    CHECK_UINT(wrong, 0);
    CHECK_UINT(timeline->begin_ns, zones[0].start);
    CHECK_UINT(timeline->unfinished_count, 0);
    unload(timeline, reader);
}

static void random_trees_one_thread(void)
{
    check_tree(1);
}

static void random_trees_many_threads(void)
{
    check_tree(7);
}

static void random_trees_with_late_zones(void)
{
    late_one_in = 3;
    check_tree(3);
}

/* Twenty thousand operators, known when the thread had ended: 100 in each of 200 inferences, the
 * first beginning and the last ending with its inference. */
static void late_operators(void)
{
    struct trace_writer *writer = begin_trace();
    struct trace_stream *stream = trace_stream_create(writer, 0);
    struct trace_reader *reader;
    const struct timeline *timeline;
    size_t wrong = 0;

    for (uint64_t i = 0; i < 200; i++)
        trace_stream_zone(stream, 10000 * i, 10000 - i % 2, 2); /* the next begins at its end */
    trace_stream_zone(stream, 0, 200 * 10000, 3);
    trace_stream_flush(stream, NULL, 0, 0);
    for (uint64_t i = 0; i < 200; i++)
        for (uint64_t k = 0; k < 100; k++)
            trace_stream_zone(stream, 10000 * i + 100 * k, k < 99 ? 100 : 100 - i % 2, 4);
    REQUIRE(trace_writer_close(writer, NULL) == IFG_OK);
    timeline = load(&reader, 2);
    REQUIRE(timeline->slice_count == 1 + 200 + 20000);
    CHECK_UINT(timeline->depth[0], 0);
    for (size_t i = 1; i < timeline->slice_count; i++) {
        bool is_inference = (i - 1) % 101 == 0;

        wrong += timeline->depth[i] != (is_inference ? 1 : 2) ||
                 timeline_parent(timeline, i) != (is_inference ? 0 : i - 1 - (i - 2) % 101);
    }
    CHECK_UINT(wrong, 0);
    unload(timeline, reader);
}

static int by_end(const void *a, const void *b)
{
    const struct written *left = a;
    const struct written *right = b;

    if (left->end != right->end)
        return left->end < right->end ? -1 : 1;
    return left->start > right->start ? -1 : left->start < right->start;
}

/* Zones that overlap without nesting, as imported ones may: they are sorted by start all the same,
 * each has its attribute, and depths make a tree in which nothing sticks out of its parent. */
static void overlapping_zones(void)
{
    struct trace_writer *writer = begin_trace();
    struct trace_stream *stream = trace_stream_create(writer, 0);
    struct trace_reader *reader;
    const struct timeline *timeline;
    size_t wrong = 0;

    zone_count = 40000;
    for (size_t i = 0; i < zone_count; i++) {
        zones[i].start = 1000 + 7 * i + dice(5); /* each begins at another time */
        zones[i].end = zones[i].start + dice(dice(20) ? 40 : 4000);
        zones[i].location = 2 + dice(8);
    }
    qsort(zones, zone_count, sizeof zones[0], by_end);
    for (size_t i = 0; i < zone_count; i++) {
        int64_t number = (int64_t)zones[i].end;

        trace_stream_attribute(stream, zones[i].start, zones[i].location, TRACE_VALUE_SIGNED,
                               "number", 6, &number, sizeof number);
        trace_stream_zone(stream, zones[i].start, zones[i].end - zones[i].start, zones[i].location);
        if (dice(3000) == 0)
            trace_stream_flush(stream, NULL, 0, 0);
    }
    REQUIRE(trace_writer_close(writer, NULL) == IFG_OK);
    qsort(zones, zone_count, sizeof zones[0], by_start);
    timeline = load(&reader, 3);
    REQUIRE(timeline->slice_count == zone_count);
    CHECK_UINT(timeline->attributes_without_slice, 0);
    for (size_t i = 0; i < zone_count; i++) {
        const struct timeline_attribute *number = timeline_find_attribute(timeline, i, "number");
        size_t parent = timeline_parent(timeline, i);

        wrong += timeline->start_ns[i] != zones[i].start ||
                 timeline_end_ns(timeline, i) != zones[i].end || !number ||
                 number->signed_value != (int64_t)zones[i].end ||
                 (parent != SIZE_MAX &&
                  (zones[parent].end < zones[i].end || zones[parent].start > zones[i].start));
    }
    CHECK_UINT(wrong, 0);
    unload(timeline, reader);
}

/* A trace may begin at time 0, and hold nothing at all. */
static void time_zero_and_nothing(void)
{
    struct trace_writer *writer = begin_trace();
    struct trace_stream *stream = trace_stream_create(writer, 0);
    struct trace_reader *reader;
    const struct timeline *timeline;

    trace_stream_zone(stream, 0, 10, 2);
    trace_stream_event(stream, TRACE_EVENT_FRAME, 500, 2, NULL, 0);
    REQUIRE(trace_writer_close(writer, NULL) == IFG_OK);
    timeline = load(&reader, 1);
    CHECK_UINT(timeline->begin_ns, 0);
    CHECK_UINT(timeline->end_ns, 500);
    unload(timeline, reader);
    writer = begin_trace();
    REQUIRE(trace_writer_close(writer, NULL) == IFG_OK);
    timeline = load(&reader, 1);
    CHECK_UINT(timeline->begin_ns, timeline->end_ns);
    CHECK_UINT(timeline->slice_count, 0);
    unload(timeline, reader);
}

static void parents(void)
{
    struct trace_writer *writer = begin_trace();
    struct trace_stream *stream = trace_stream_create(writer, 0);
    struct trace_reader *reader;
    const struct timeline *timeline;

    trace_stream_zone(stream, 120, 10, 4);
    trace_stream_zone(stream, 110, 30, 3);
    trace_stream_zone(stream, 150, 0, 5); /* zero-length ones count */
    trace_stream_zone(stream, 100, 100, 2);
    trace_stream_zone(stream, 300, 10, 2);
    REQUIRE(trace_writer_close(writer, NULL) == IFG_OK);
    timeline = load(&reader, 1);
    REQUIRE(timeline->slice_count == 5);
    CHECK_UINT(timeline_parent(timeline, 0), SIZE_MAX);
    CHECK_UINT(timeline_parent(timeline, 1), 0);
    CHECK_UINT(timeline_parent(timeline, 2), 1);
    CHECK_UINT(timeline_parent(timeline, 3), 0);
    CHECK_UINT(timeline_parent(timeline, 4), SIZE_MAX);
    CHECK_UINT(timeline_duration_ns(timeline, 3), 0);
    CHECK_UINT(timeline_thread_of(timeline, 4), 0);
    unload(timeline, reader);
}

static void long_and_unfinished(void)
{
    const uint64_t hour = 3600000000000u;
    struct trace_writer *writer = begin_trace();
    struct trace_stream *stream = trace_stream_create(writer, 0);
    struct trace_open_zone open[2] = { { 500, 2 }, { 2 * hour, 3 } };
    struct trace_reader *reader;
    const struct timeline *timeline;

    trace_stream_zone(stream, 1000, hour, 4);
    trace_stream_zone(stream, 2 * hour + 10, UINT32_MAX, 5);
    trace_stream_flush(stream, open, 2, 3 * hour);
    REQUIRE(trace_writer_close(writer, NULL) == IFG_OK);
    timeline = load(&reader, 2);
    REQUIRE(timeline->slice_count == 4);
    CHECK_UINT(timeline->start_ns[0], 500);
    CHECK_UINT(timeline_duration_ns(timeline, 0), 3 * hour - 500);
    CHECK_UINT(timeline_duration_ns(timeline, 1), hour);
    CHECK_UINT(timeline_duration_ns(timeline, 2), hour);
    CHECK_UINT(timeline_duration_ns(timeline, 3), UINT32_MAX);
    CHECK(timeline_is_unfinished(timeline, 0));
    CHECK(!timeline_is_unfinished(timeline, 1));
    CHECK(timeline_is_unfinished(timeline, 2));
    CHECK_UINT(timeline->depth[3], 2);
    unload(timeline, reader);
}

static void everything_else(void)
{
    struct trace_writer *writer = begin_trace();
    struct trace_stream *stream = trace_stream_create(writer, 0);
    struct trace_model model = { .id = 2, .name = "ocr", .actual_devices = "?" };
    struct trace_location ml = {
        .id = 20, .kind = TRACE_LOCATION_ML, .category = 5, .model = 2, .function = "main"
    };
    struct trace_location span = { .id = 21, .kind = TRACE_LOCATION_ASYNC, .name = "request" };
    uint64_t number = 7;
    double value = 1.5;
    const uint8_t one = 1, two = 2;
    struct trace_reader *reader;
    const struct timeline *timeline;

    trace_writer_model(writer, &model);
    trace_writer_model_property(writer, 0, 2, "actual_devices", "CPU");
    trace_writer_location(writer, &ml);
    trace_writer_location(writer, &span);
    trace_stream_attribute(stream, 100, 20, TRACE_VALUE_UNSIGNED, "batch", 5, &number,
                           sizeof number);
    trace_stream_attribute(stream, 100, 20, TRACE_VALUE_STRING, "name", 4, "run 1", 5);
    trace_stream_attribute(stream, 999, 20, TRACE_VALUE_STRING, "lost", 4, "x", 1);
    trace_stream_zone(stream, 100, 50, 20);
    trace_stream_event(stream, TRACE_EVENT_MESSAGE, 160, 3, "late", 4);
    trace_stream_event(stream, TRACE_EVENT_COUNTER, 161, 2, &value, sizeof value);
    trace_stream_event(stream, TRACE_EVENT_ASYNC_END, 162, 21, &two, 1);
    trace_stream_event(stream, TRACE_EVENT_ASYNC_BEGIN, 163, 21, &one, 1);
    trace_stream_event(stream, TRACE_EVENT_ASYNC_END, 170, 21, &one, 1);
    trace_stream_event(stream, TRACE_EVENT_ASYNC_BEGIN, 171, 21, &one, 1);
    trace_stream_event(stream, TRACE_EVENT_ALLOC, 172, 2, "\x10\x20", 2);
    trace_stream_event(stream, TRACE_EVENT_FREE, 173, 2, "\x10", 1);
    trace_stream_event(stream, TRACE_EVENT_FRAME, 174, 2, NULL, 0);
    REQUIRE(trace_writer_close(writer, NULL) == IFG_OK);
    timeline = load(&reader, 1);
    REQUIRE(timeline->slice_count == 1 && timeline->function_count == 1);
    CHECK_STR(timeline->functions[0].name, "main");
    CHECK_UINT(timeline->functions[0].events[TRACE_CATEGORY_INFERENCE], 1);
    CHECK_STR(timeline->models[0].actual_devices, "CPU");
    CHECK_STR(timeline_slice_name(timeline, 0), "run 1");
    REQUIRE(timeline_find_attribute(timeline, 0, "batch") != NULL);
    CHECK_UINT(timeline_find_attribute(timeline, 0, "batch")->unsigned_value, 7);
    CHECK(timeline_find_attribute(timeline, 0, "none") == NULL);
    CHECK_UINT(timeline->attributes_without_slice, 1);
    REQUIRE(timeline->message_count == 1 && timeline->counter_count == 1 &&
            timeline->frame_count == 1);
    CHECK_STR(timeline->messages[0].text, "late");
    CHECK(timeline->counters[0].value == 1.5);
    REQUIRE(timeline->async_count == 2);
    CHECK_UINT(timeline->asyncs[0].end_ns, 170);
    CHECK_UINT(timeline->asyncs[1].end_thread, TIMELINE_NONE);
    CHECK_UINT(timeline->async_ends_without_begin, 1);
    REQUIRE(timeline->allocation_count == 2);
    CHECK_UINT(timeline->allocations[0].bytes, 0x20);
    CHECK(timeline->allocations[1].is_free);
    CHECK_INT(timeline->realtime_offset_ns, 5000);
    unload(timeline, reader);
}

/* A byte of a block's payload is flipped: its zones are missing, the others keep their order. */
static void damaged_block(void)
{
    struct trace_writer *writer = begin_trace();
    struct trace_stream *stream = trace_stream_create(writer, 0);
    struct trace_reader *reader;
    const struct timeline *timeline;
    FILE *file;

    for (uint64_t i = 0; i < 3000; i++) {
        trace_stream_zone(stream, 1000 + i * 100, 50, 2 + dice(8));
        if (i % 1000 == 999)
            trace_stream_flush(stream, NULL, 0, 0);
    }
    REQUIRE(trace_writer_close(writer, NULL) == IFG_OK);
    REQUIRE(trace_reader_open(path, &reader, NULL) == IFG_OK);
    for (size_t i = 0, found = 0; i < trace_reader_block_count(reader) && !found; i++) {
        const struct trace_block *block = trace_reader_block(reader, i);

        if (block->type == TRACE_BLOCK_ZONES) {
            file = fopen(path, "r+b");
            REQUIRE(file != NULL);
            fseek(file, (long)block->offset + 200, SEEK_SET);
            fputc(0xa5, file);
            fclose(file);
            found = 1;
        }
    }
    trace_reader_close(reader);
    timeline = load(&reader, 2);
    CHECK_UINT(timeline->slice_count, 2000);
    CHECK_UINT(timeline->undecoded_blocks, 1);
    CHECK_UINT(timeline->start_ns[0], 1000 + 1000 * 100);
    unload(timeline, reader);
}

/* Memory runs out at every point in turn: a status, never a crash. */
static void out_of_memory(void)
{
    struct trace_writer *writer = begin_trace();
    struct trace_stream *stream = trace_stream_create(writer, 0);
    struct trace_reader *reader;
    const struct timeline *timeline;
    struct ifg_error err;
    long failures = 0;

    for (uint64_t i = 0; i < 50; i++) {
        trace_stream_attribute(stream, i * 10, 2, TRACE_VALUE_STRING, "k", 1, "v", 1);
        trace_stream_zone(stream, i * 10, 5, 2);
    }
    REQUIRE(trace_writer_close(writer, NULL) == IFG_OK);
    REQUIRE(trace_reader_open(path, &reader, NULL) == IFG_OK);
    for (long n = 0; n < 1000; n++) {
        enum ifg_status status;

        ifg_alloc_fail_after(n);
        status = timeline_create(reader, NULL, &timeline, &err);
        ifg_alloc_fail_after(-1);
        if (status == IFG_OK) {
            CHECK_UINT(timeline->slice_count, 50);
            timeline_destroy(timeline);
            break;
        }
        CHECK_INT(status, IFG_NO_MEMORY);
        failures++;
    }
    CHECK(failures > 10 && failures < 1000);
    trace_reader_close(reader);
    unlink(path);
}

TAP_MAIN(TAP_CASE(random_trees_one_thread), TAP_CASE(random_trees_many_threads),
         TAP_CASE(random_trees_with_late_zones), TAP_CASE(late_operators),
         TAP_CASE(overlapping_zones), TAP_CASE(parents), TAP_CASE(time_zero_and_nothing),
         TAP_CASE(long_and_unfinished), TAP_CASE(everything_else), TAP_CASE(damaged_block),
         TAP_CASE(out_of_memory))
