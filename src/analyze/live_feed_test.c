// SPDX-License-Identifier: Apache-2.0
/* A gauge of a file that a real writer writes meanwhile. */
#include "analyze/live_feed.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/ticks.h"
#include "tap.h"
#include "trace/writer.h"

#define MS UINT64_C(1000000)

enum { LOAD = 1, RUN = 2, INNER = 3, CPU = 0x8000000 };

struct recording {
    char path[256];
    struct trace_writer *writer;
    struct trace_stream *stream;
    struct trace_stream *resources;
    uint64_t begin_ns;
    int64_t ahead_ns;       /* of the machine, if it is another one */
    const char *clock_fact; /* of its capture; NULL: it is this machine */
};

static uint64_t monotonic_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000 * MS + (uint64_t)now.tv_nsec;
}

static void begin(struct recording *recording)
{
    const char *directory = getenv("TMPDIR");
    struct trace_clock_pair pair;

    snprintf(recording->path, sizeof recording->path, "%s/live_feed.%d.ifg",
             directory ? directory : "/tmp", (int)getpid());
    unlink(recording->path);
    REQUIRE(trace_writer_create(recording->path, false, &recording->writer, NULL) == IFG_OK);
    recording->begin_ns = monotonic_ns() - 10000 * MS + (uint64_t)recording->ahead_ns;
    pair = (struct trace_clock_pair){ recording->begin_ns, recording->begin_ns,
                                      ifg_realtime_ns() - 10000 * MS + 3600000 * MS };
    if (recording->clock_fact)
        trace_writer_fact(recording->writer, "capture.clock_offset_ns", recording->clock_fact);
    trace_writer_clock(recording->writer, 0, TRACE_CLOCK_MONOTONIC, 1000000000, "monotonic");
    trace_writer_clock_pairs(recording->writer, 0, &pair, 1);
    trace_writer_fact(recording->writer, "record.program", "ocr-server");
    trace_writer_fact(recording->writer, "host.cpus", "8");
    trace_writer_process(recording->writer,
                         &(struct trace_process){ .index = 0, .pid = 4711, .program = "/bin/x" });
    trace_writer_process(recording->writer, &(struct trace_process){ .index = 1, .pid = 0 });
    trace_writer_thread(recording->writer, 0, 0, 4711, "main");
    trace_writer_thread(recording->writer, 1, 1, 0, "resources");
    trace_writer_model(recording->writer, &(struct trace_model){ .process = 0,
                                                                 .id = 1,
                                                                 .name = "det.onnx",
                                                                 .path = "/m/det.onnx",
                                                                 .runtime = "ONNX Runtime" });
    trace_writer_location(recording->writer,
                          &(struct trace_location){ .process = 0,
                                                    .id = LOAD,
                                                    .kind = TRACE_LOCATION_ML,
                                                    .category = TRACE_CATEGORY_LOAD,
                                                    .model = 1 });
    trace_writer_location(recording->writer,
                          &(struct trace_location){ .process = 0,
                                                    .id = RUN,
                                                    .kind = TRACE_LOCATION_ML,
                                                    .category = TRACE_CATEGORY_INFERENCE,
                                                    .model = 1,
                                                    .function = "main" });
    trace_writer_location(recording->writer, &(struct trace_location){ .process = 0,
                                                                       .id = INNER,
                                                                       .kind = TRACE_LOCATION_ZONE,
                                                                       .name = "Prepack" });
    trace_writer_location(
        recording->writer,
        &(struct trace_location){
            .process = 1, .id = CPU, .kind = TRACE_LOCATION_COUNTER, .name = "cpu total %" });
    recording->stream = trace_stream_create(recording->writer, 0);
    recording->resources = trace_stream_create(recording->writer, 1);
    REQUIRE(recording->stream != NULL && recording->resources != NULL);
}

static void step(struct live_feed *feed)
{
    struct ifg_error err = { 0 };
    bool more = true;

    while (more)
        REQUIRE_INT(live_feed_step(feed, &more, &err), IFG_OK);
}

static void a_program_from_load_to_end(void)
{
    struct recording recording = { 0 };
    struct live_feed *feed = NULL;
    double cpu = 76;
    uint64_t t;

    begin(&recording);
    t = recording.begin_ns + 300 * MS;
    REQUIRE(live_feed_open(recording.path, &feed, NULL) == IFG_OK);
    step(feed);
    CHECK_INT(feed->state, LIVE_RUNNING);
    CHECK_UINT(feed->live->first_ns, 0);

    trace_stream_flush(recording.stream,
                       (struct trace_open_zone[]){ { t, LOAD }, { t + 100 * MS, INNER } }, 2,
                       t + 200 * MS);
    step(feed);
    CHECK_STR(feed->info.program, "ocr-server");
    CHECK_UINT(feed->info.pid, 4711);
    CHECK_UINT(feed->info.cpus, 8);
    REQUIRE_UINT(feed->live->open_count, 1);
    CHECK_STR(feed->live->open[0].inside, "Prepack");
    CHECK_UINT(feed->live->open[0].category, LIVE_LOAD);
    CHECK_UINT(feed->live->first_ns, t);
    CHECK_STR(feed->live->models[0].name, "det.onnx");

    trace_stream_zone(recording.stream, t + 100 * MS, 200 * MS, INNER);
    trace_stream_zone(recording.stream, t, 302 * MS, LOAD);
    for (uint64_t i = 0; i < 50; i++)
        trace_stream_zone(recording.stream, t + (400 + i * 40) * MS, (20 + i % 3) * MS, RUN);
    trace_stream_set_dropped(recording.stream, 5);
    trace_stream_event(recording.resources, TRACE_EVENT_COUNTER, t, CPU, &cpu, sizeof cpu);
    trace_stream_flush(recording.resources, NULL, 0, 0);
    trace_stream_flush(recording.stream, (struct trace_open_zone[]){ { 0, 0 } }, 0, t + 9000 * MS);
    step(feed);
    CHECK_UINT(feed->live->open_count, 0);
    CHECK_UINT(feed->live->events, 51);
    CHECK_UINT(feed->live->row_count, 51);
    CHECK_UINT(feed->zones, 52);
    CHECK_UINT(feed->dropped, 5);
    CHECK(live_median(feed->live, LIVE_LOAD) == 302e6);
    CHECK(live_median(feed->live, LIVE_INFERENCE) == 21e6);
    CHECK_UINT(live_bucket(feed->live, LIVE_INFERENCE, 0)->count, 15);
    CHECK_UINT(feed->live->rows[0].event.zone, 1);
    REQUIRE_UINT(feed->live->series_count, 1);
    CHECK(live_latest(feed->live->series[0])->last == 76);

    /* An event of the far future, from a damaged block, moves nothing. */
    trace_stream_zone(recording.stream, t + 3600000 * MS, MS, RUN);
    trace_stream_flush(recording.stream, NULL, 0, 0);
    step(feed);
    CHECK_UINT(feed->live->events, 51);

    trace_writer_fact(recording.writer, "record.end", "the program ended");
    REQUIRE(trace_writer_close(recording.writer, NULL) == IFG_OK);
    step(feed);
    CHECK_INT(feed->state, LIVE_ENDED);
    CHECK_STR(feed->why, "the program ended");
    CHECK_UINT(live_feed_thinned(feed), 0);
    live_feed_close(feed);
    unlink(recording.path);
}

static void both_ends(struct trace_stream *stream, enum trace_event_kind kind, uint64_t ns,
                      uint8_t id)
{
    trace_stream_event(stream, kind, ns, RUN, &id, 1); /* a varint below 128 */
}

static void runs_that_end_elsewhere(void)
{
    struct recording recording = { 0 };
    struct live_feed *feed = NULL;
    struct trace_stream *other;
    uint64_t t;

    begin(&recording);
    t = recording.begin_ns + 300 * MS;
    trace_writer_thread(recording.writer, 2, 0, 4712, "worker");
    other = trace_stream_create(recording.writer, 2);
    REQUIRE(other != NULL);
    REQUIRE(live_feed_open(recording.path, &feed, NULL) == IFG_OK);

    both_ends(recording.stream, TRACE_EVENT_ASYNC_BEGIN, t, 1);
    both_ends(recording.stream, TRACE_EVENT_ASYNC_BEGIN, t + 10 * MS, 2);
    trace_stream_flush(recording.stream, NULL, 0, 0);
    step(feed);
    CHECK_UINT(feed->live->open_count, 2);
    trace_stream_flush(recording.stream, (struct trace_open_zone[]){ { t + 20 * MS, LOAD } }, 1,
                       t + 30 * MS);
    step(feed);
    CHECK_UINT(feed->live->first_ns, t);
    REQUIRE_UINT(feed->live->open_count, 3);
    CHECK(feed->live->open[0].async);
    CHECK_UINT(feed->live->open[0].start_ns, t);
    CHECK_UINT(feed->live->open[0].category, LIVE_INFERENCE);
    CHECK_STR(feed->live->open[0].function, "main");
    CHECK(!feed->live->open[2].async);

    /* Its thread's own zones come and go; the other two stay. One ends. */
    trace_stream_zone(recording.stream, t + 20 * MS, 30 * MS, LOAD);
    trace_stream_flush(recording.stream, (struct trace_open_zone[]){ { 0, 0 } }, 0, t + 90 * MS);
    both_ends(other, TRACE_EVENT_ASYNC_END, t + 50 * MS, 2);
    trace_stream_flush(other, NULL, 0, 0);
    step(feed);
    CHECK_UINT(feed->live->events, 2);
    REQUIRE_UINT(feed->live->open_count, 1);
    CHECK_UINT(feed->live->open[0].start_ns, t);
    CHECK(live_median(feed->live, LIVE_INFERENCE) == 40e6);
    CHECK_UINT(feed->live->rows[1].event.thread, 0);
    CHECK_UINT(feed->live->rows[1].event.zone, LIVE_NO_ZONE);
    CHECK_STR(feed->live->models[feed->live->rows[1].event.model].name, "det.onnx");

    /* An end that is read first. */
    both_ends(other, TRACE_EVENT_ASYNC_END, t + 95 * MS, 3);
    trace_stream_flush(other, NULL, 0, 0);
    step(feed);
    CHECK_UINT(feed->live->events, 2);
    both_ends(recording.stream, TRACE_EVENT_ASYNC_BEGIN, t + 60 * MS, 3);
    trace_stream_flush(recording.stream, (struct trace_open_zone[]){ { 0, 0 } }, 0, t + 99 * MS);
    step(feed);
    CHECK_UINT(feed->live->events, 3);
    CHECK_UINT(feed->live->open_count, 1);

    REQUIRE(trace_writer_close(recording.writer, NULL) == IFG_OK);
    step(feed);
    CHECK_UINT(feed->live->open_count, 0);
    live_feed_close(feed);
    unlink(recording.path);
}

static void another_recording_takes_the_place(void)
{
    struct recording recording = { 0 };
    struct live_feed *feed = NULL;

    begin(&recording);
    REQUIRE(live_feed_open(recording.path, &feed, NULL) == IFG_OK);
    trace_stream_zone(recording.stream, recording.begin_ns, MS, RUN);
    REQUIRE(trace_writer_close(recording.writer, NULL) == IFG_OK);
    step(feed);
    CHECK_INT(feed->state, LIVE_ENDED);
    CHECK_UINT(feed->live->events, 1);
    begin(&recording);
    step(feed);
    CHECK_UINT(feed->generation, 1);
    CHECK_UINT(feed->live->events, 0);
    CHECK_INT(feed->state, LIVE_RUNNING);
    REQUIRE(trace_writer_close(recording.writer, NULL) == IFG_OK);
    live_feed_close(feed);
    unlink(recording.path);
}

static void what_is_no_trace(void)
{
    struct live_feed *feed = NULL;
    struct ifg_error err = { 0 };
    bool more;

    REQUIRE(live_feed_open("/dev/null", &feed, NULL) == IFG_OK);
    CHECK(live_feed_step(feed, &more, &err) != IFG_OK);
    CHECK_CONTAINS(err.message, "/dev/null");
    CHECK_INT(feed->state, LIVE_WAITING);
    live_feed_close(feed);
}

/* Its time of day is an hour ahead, and it has run for longer or shorter than this one. */
static void a_recording_of_another_machine(void)
{
    static const int64_t ahead_ms[] = { 12000, -12000, 4000000, -1000000 };

    for (size_t i = 0; i < sizeof ahead_ms / sizeof ahead_ms[0]; i++) {
        struct recording recording = { .ahead_ns = ahead_ms[i] * (int64_t)MS,
                                       .clock_fact = "3600000000000" };
        struct live_feed *feed = NULL;
        uint64_t now_ns;

        if (monotonic_ns() < 1100000 * MS && ahead_ms[i] < -12000)
            continue; /* this one has just started */
        begin(&recording);
        REQUIRE(live_feed_open(recording.path, &feed, NULL) == IFG_OK);
        now_ns = monotonic_ns() + (uint64_t)recording.ahead_ns;
        trace_stream_zone(recording.stream, now_ns - 6000 * MS, 50 * MS, RUN);
        trace_stream_flush(recording.stream, NULL, 0, now_ns);
        step(feed);
        CHECK_UINT(feed->live->events, 1);
        CHECK(feed->live->now_ns > now_ns - 5000 * MS); /* whoever was held up meanwhile */
        CHECK(feed->live->now_ns < monotonic_ns() + (uint64_t)recording.ahead_ns + 5000 * MS);
        live_feed_close(feed);
        CHECK_INT(trace_writer_close(recording.writer, NULL), IFG_OK);
        unlink(recording.path);
    }
}

TAP_MAIN(TAP_CASE(a_program_from_load_to_end), TAP_CASE(runs_that_end_elsewhere),
         TAP_CASE(another_recording_takes_the_place), TAP_CASE(what_is_no_trace),
         TAP_CASE(a_recording_of_another_machine))
