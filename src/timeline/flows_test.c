// SPDX-License-Identifier: Apache-2.0
/* Flows against what was written: which slices they join, and what bad input becomes. */
#include "timeline/flows.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/bytes.h"
#include "tap.h"
#include "trace/writer.h"

#define MANY 300000u

enum { ZONE = 2, FLOW = 3, OTHER_FLOW = 4 }; /* locations */

struct made {
    char path[64];
    struct trace_writer *writer;
    struct trace_stream *streams[3]; /* two of the first process, one of the second */
    struct trace_reader *reader;
    const struct timeline *timeline;
};

static void begin(struct made *made)
{
    struct trace_clock_pair pair = { 0 };
    int fd;

    snprintf(made->path, sizeof made->path, "/tmp/inferogram-flows-XXXXXX");
    fd = mkstemp(made->path);
    REQUIRE(fd >= 0);
    close(fd);
    REQUIRE(trace_writer_create(made->path, true, &made->writer, NULL) == IFG_OK);
    trace_writer_clock(made->writer, 0, TRACE_CLOCK_MONOTONIC, 1000000000u, "ns");
    trace_writer_clock_pairs(made->writer, 0, &pair, 1);
    for (uint32_t i = 0; i < 2; i++) {
        struct trace_process process = { .index = i, .pid = 42 + i, .program = "/bin/tested" };
        struct trace_location zone = { i, ZONE, .kind = TRACE_LOCATION_ZONE, .name = "work" };
        struct trace_location flow = { i, FLOW, .kind = TRACE_LOCATION_FLOW, .name = "job" };
        struct trace_location other = { i, OTHER_FLOW, .kind = TRACE_LOCATION_FLOW, .name = "b" };

        trace_writer_process(made->writer, &process);
        trace_writer_location(made->writer, &zone);
        trace_writer_location(made->writer, &flow);
        trace_writer_location(made->writer, &other);
    }
    for (uint32_t i = 0; i < 3; i++) {
        trace_writer_thread(made->writer, i, i == 2, 100 + i, "");
        made->streams[i] = trace_stream_create(made->writer, i);
        REQUIRE(made->streams[i] != NULL);
    }
}

static void point(struct made *made, unsigned thread, enum trace_event_kind kind, uint64_t ns,
                  uint32_t location, uint64_t id, unsigned flags)
{
    uint8_t payload[2 * IFG_VARINT_MAX];
    uint8_t *end = ifg_varint_write(payload, id);

    if (flags)
        end = ifg_varint_write(end, flags);
    trace_stream_event(made->streams[thread], kind, ns, location, payload, (size_t)(end - payload));
}

static void load(struct made *made)
{
    struct timeline_options options = { .threads = 1 };

    REQUIRE(trace_writer_close(made->writer, NULL) == IFG_OK);
    REQUIRE(trace_reader_open(made->path, &made->reader, NULL) == IFG_OK);
    REQUIRE(timeline_create(made->reader, &options, &made->timeline, NULL) == IFG_OK);
}

static void unload(struct made *made)
{
    timeline_destroy(made->timeline);
    trace_reader_close(made->reader);
    unlink(made->path);
}

static const struct timeline_flow_point *arrow_from(const struct made *made, size_t arrow)
{
    return &made->timeline->flow_points[made->timeline->arrows[arrow]];
}

static void chains_across_threads(void)
{
    struct made made;
    size_t first;

    begin(&made);
    point(&made, 0, TRACE_EVENT_FLOW_BEGIN, 15, FLOW, 7, 0);
    trace_stream_zone(made.streams[0], 12, 8, ZONE); /* slice 1, inside of slice 0 */
    trace_stream_zone(made.streams[0], 10, 30, ZONE);
    point(&made, 1, TRACE_EVENT_FLOW_STEP, 50, FLOW, 7, 0);
    trace_stream_zone(made.streams[1], 45, 10, ZONE);
    point(&made, 0, TRACE_EVENT_FLOW_END, 35, OTHER_FLOW, 7, 0); /* another name */
    point(&made, 0, TRACE_EVENT_FLOW_END, 60, FLOW, 7, 0);       /* outside of any slice */
    point(&made, 2, TRACE_EVENT_FLOW_END, 55, FLOW, 7, 0);       /* another process */
    load(&made);
    CHECK_UINT(made.timeline->flow_point_count, 5);
    CHECK_UINT(made.timeline->flow_count, 3);
    CHECK_UINT(made.timeline->flow_points_without_begin, 2);
    REQUIRE_UINT(made.timeline->arrow_count, 2);
    CHECK_UINT(arrow_from(&made, 0)[0].slice, 1);
    CHECK_UINT(arrow_from(&made, 0)[1].slice, 2);
    CHECK_UINT(arrow_from(&made, 0)[1].thread, 1);
    CHECK_UINT(arrow_from(&made, 1)[0].slice, 2);
    CHECK_UINT(arrow_from(&made, 1)[1].slice, SIZE_MAX);
    CHECK_UINT(arrow_from(&made, 1)[1].ns, 60);
    CHECK_UINT(arrow_from(&made, 0)[0].id, 7);
    CHECK_UINT(timeline_flow_extent(made.timeline, arrow_from(&made, 0)->flow, &first), 3);
    CHECK_UINT(first, made.timeline->arrows[0]);
    CHECK_UINT(timeline_flow_extent(made.timeline, 3, &first), 0);
    CHECK_UINT(timeline_flow_points_of(made.timeline, 2, &first), 1);
    CHECK_UINT(timeline_flow_points_of(made.timeline, 0, &first), 1); /* of the other name */
    CHECK_UINT(timeline_flow_points_of(made.timeline, 9, &first), 0);
    unload(&made);
}

/* An id that is used again, also in the moment of its end, and begins that follow one another. */
static void ids_used_again(void)
{
    struct made made;

    begin(&made);
    point(&made, 0, TRACE_EVENT_FLOW_BEGIN, 10, FLOW, 1, 0);
    point(&made, 1, TRACE_EVENT_FLOW_END, 20, FLOW, 1, 0);
    point(&made, 0, TRACE_EVENT_FLOW_BEGIN, 20, FLOW, 1, 0);
    point(&made, 1, TRACE_EVENT_FLOW_END, 30, FLOW, 1, 0);
    point(&made, 0, TRACE_EVENT_FLOW_BEGIN, 40, FLOW, 1, 0); /* never ends */
    point(&made, 0, TRACE_EVENT_FLOW_BEGIN, 50, FLOW, 1, 0);
    point(&made, 0, TRACE_EVENT_FLOW_STEP, 55, FLOW, 1, 0);
    load(&made);
    CHECK_UINT(made.timeline->flow_count, 4);
    CHECK_UINT(made.timeline->flow_points_without_begin, 0);
    REQUIRE_UINT(made.timeline->arrow_count, 3);
    CHECK_UINT(arrow_from(&made, 0)[1].ns, 20);
    CHECK_UINT(arrow_from(&made, 1)[0].ns, 20);
    CHECK_UINT(arrow_from(&made, 1)[1].ns, 30);
    CHECK_UINT(arrow_from(&made, 2)[0].ns, 50);
    unload(&made);
}

static void steps_and_ends_without_begin(void)
{
    struct made made;

    begin(&made);
    point(&made, 0, TRACE_EVENT_FLOW_STEP, 10, FLOW, 1, 0);
    point(&made, 1, TRACE_EVENT_FLOW_END, 20, FLOW, 1, 0);
    point(&made, 1, TRACE_EVENT_FLOW_END, 30, FLOW, 1, 0);
    load(&made);
    CHECK_UINT(made.timeline->flow_points_without_begin, 2);
    CHECK_UINT(made.timeline->flow_count, 2);
    CHECK_UINT(made.timeline->arrow_count, 1);
    unload(&made);
}

static void what_flags_mean(void)
{
    struct made made;

    begin(&made);
    trace_stream_zone(made.streams[0], 10, 5, ZONE); /* slice 0 */
    point(&made, 0, TRACE_EVENT_FLOW_BEGIN, 12, FLOW, 1, TRACE_FLOW_WORLD);
    trace_stream_zone(made.streams[2], 30, 5, ZONE); /* slice 1 */
    point(&made, 2, TRACE_EVENT_FLOW_END, 20, FLOW, 1, TRACE_FLOW_WORLD | TRACE_FLOW_NEXT);
    point(&made, 2, TRACE_EVENT_FLOW_END, 90, FLOW, 2, TRACE_FLOW_NEXT | 1u << 6);
    load(&made);
    REQUIRE_UINT(made.timeline->arrow_count, 1);
    CHECK_UINT(arrow_from(&made, 0)[0].slice, 0);
    CHECK_UINT(arrow_from(&made, 0)[1].slice, 1);
    CHECK_UINT(arrow_from(&made, 0)[1].ns, 20);
    CHECK_UINT(made.timeline->flow_by_slice_count, 2); /* nothing begins after 90 */
    unload(&made);
}

/* Where slices touch, the one that begins counts; one that has ended at this moment still does. */
static void moments_at_the_edges(void)
{
    struct made made;
    struct timeline_sweep sweep = { .thread = TIMELINE_NONE };

    begin(&made);
    trace_stream_zone(made.streams[0], 10, 10, ZONE);
    trace_stream_zone(made.streams[0], 20, 10, ZONE);
    trace_stream_zone(made.streams[1], 5, 0, ZONE);
    load(&made);
    sweep.timeline = made.timeline;
    CHECK_UINT(timeline_sweep_at(&sweep, 0, 9), SIZE_MAX);
    CHECK_UINT(timeline_sweep_at(&sweep, 0, 10), 0);
    CHECK_UINT(timeline_sweep_at(&sweep, 0, 20), 1);
    CHECK_UINT(timeline_sweep_at(&sweep, 0, 30), 1);
    CHECK_UINT(timeline_sweep_at(&sweep, 0, 31), SIZE_MAX);
    CHECK_UINT(timeline_sweep_at(&sweep, 1, 5), 2);
    CHECK_UINT(timeline_sweep_at(&sweep, 1, 6), SIZE_MAX);
    timeline_sweep_fini(&sweep);
    CHECK_UINT(made.timeline->flow_point_count, 0);
    CHECK(made.timeline->flow_points == NULL && made.timeline->arrows == NULL);
    unload(&made);
}

/* One id, all points in the gaps between the many children of one slice. */
static void many_points(void)
{
    struct made made;
    size_t first;

    begin(&made);
    for (uint32_t i = 0; i < MANY; i++) {
        trace_stream_zone(made.streams[0], 100 + 10 * i, 5, ZONE);
        point(&made, 0, i ? TRACE_EVENT_FLOW_STEP : TRACE_EVENT_FLOW_BEGIN, 107 + 10 * i, FLOW,
              UINT64_MAX, 0);
    }
    trace_stream_zone(made.streams[0], 50, 100 + 10 * MANY, ZONE);
    load(&made);
    CHECK_UINT(made.timeline->flow_count, 1);
    CHECK_UINT(made.timeline->arrow_count, MANY - 1);
    CHECK_UINT(timeline_flow_points_of(made.timeline, 0, &first), MANY);
    unload(&made);
}

/* Whatever allocation fails: an error or a timeline, never a crash. */
static void no_memory(void)
{
    struct timeline_options options = { .threads = 1 };
    struct made made;
    int whole = 0;

    begin(&made);
    point(&made, 0, TRACE_EVENT_FLOW_BEGIN, 15, FLOW, 7, 0);
    trace_stream_zone(made.streams[0], 12, 8, ZONE);
    point(&made, 1, TRACE_EVENT_FLOW_END, 50, FLOW, 7, 0);
    load(&made);
    for (long at = 0; at < 100; at++) {
        const struct timeline *timeline = NULL;
        enum ifg_status status;

        ifg_alloc_fail_after(at);
        status = timeline_create(made.reader, &options, &timeline, NULL);
        ifg_alloc_fail_after(-1);
        CHECK(status == IFG_OK || status == IFG_NO_MEMORY);
        CHECK_UINT(status ? 1 : timeline->arrow_count, 1);
        whole += status == IFG_OK;
        timeline_destroy(timeline);
    }
    tap_diag("%d allocations that matter", 100 - whole);
    CHECK(whole > 20 && whole < 95);
    unload(&made);
}

TAP_MAIN(TAP_CASE(chains_across_threads), TAP_CASE(ids_used_again),
         TAP_CASE(steps_and_ends_without_begin), TAP_CASE(what_flags_mean),
         TAP_CASE(moments_at_the_edges), TAP_CASE(many_points), TAP_CASE(no_memory))
