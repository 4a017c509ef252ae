// SPDX-License-Identifier: Apache-2.0
/*
 * Streams of one process with clocks of their own: what happened at the same moment stands at the
 * same time, whichever clock it was timed by.
 *
 * The source here is a device beside a program on CLOCK_MONOTONIC. Everything is written twice, at
 * the same true moments: as the program sees it and as the device does.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "timeline/timeline.h"
#include "tap.h"
#include "trace/follow.h"
#include "trace/writer.h"

#define NS_PER_S  UINT64_C(1000000000)
#define SECONDS   60u
#define BEGIN_NS  (UINT64_C(86400) * NS_PER_S) /* the machine runs for a day */
#define WITHIN_NS 100000
#define STEP_NS   (NS_PER_S / 100)

enum { CLOCK_OF_PROCESS, PROGRAM = 0, DEVICE = 1 };

struct device {
    uint64_t hz;
    double ppm;        /* how much too fast it is on the average, */
    double wander_ppm; /* and how far it strays from that, */
    double period_s;   /* in this time */
    double offset;     /* ticks at BEGIN_NS */
    int64_t jitter_ns; /* a reading is so far beside the truth, one way and the other */
    uint64_t reset_ns; /* at this moment it begins anew at 0; 0: never */
    unsigned every_s;  /* between readings */
};

static char path[64];

/* What the device counts at a moment after BEGIN_NS: the integral of its rate. */
static uint64_t device_ticks(const struct device *device, uint64_t ns)
{
    bool anew = device->reset_ns && ns >= device->reset_ns;
    double t = (double)(anew ? ns - device->reset_ns : ns) * 1e-9;
    double angle = 2 * M_PI / device->period_s;
    double strayed = device->wander_ppm / angle * (1 - cos(angle * t));

    return (uint64_t)((anew ? 0 : device->offset) +
                      (double)device->hz * (t + (device->ppm * t + strayed) * 1e-6));
}

static void write_pair(struct trace_writer *writer, const struct device *device, uint32_t clock,
                       uint64_t ns, unsigned count)
{
    uint64_t at = BEGIN_NS + ns + (uint64_t)(count % 2 ? device->jitter_ns : -device->jitter_ns);

    trace_writer_clock_pairs(
        writer, clock, &(struct trace_clock_pair){ device_ticks(device, ns), at, at + NS_PER_S },
        1);
}

static struct trace_stream *begin_device(struct trace_writer *writer, const struct device *device,
                                         uint32_t number)
{
    struct trace_stream *stream;

    trace_writer_clock(writer, number, TRACE_CLOCK_DEVICE, device->hz, "device");
    trace_writer_thread(writer, number, 0, 0, "queue");
    stream = trace_stream_create(writer, number);
    REQUIRE(stream != NULL);
    trace_stream_set_clock(stream, number);
    return stream;
}

/* A minute of both, flushed every second. */
static void record(const struct device *device)
{
    struct trace_writer *writer = NULL;
    struct trace_stream *program;
    struct trace_stream *queue;
    uint32_t number = DEVICE;
    unsigned readings = 0;
    int fd;

    snprintf(path, sizeof path, "/tmp/inferogram-clocks-XXXXXX");
    fd = mkstemp(path);
    REQUIRE(fd >= 0);
    close(fd);
    REQUIRE(trace_writer_create(path, true, &writer, NULL) == IFG_OK);
    trace_writer_clock(writer, CLOCK_OF_PROCESS, TRACE_CLOCK_MONOTONIC, NS_PER_S, "ns");
    trace_writer_clock_pairs(writer, CLOCK_OF_PROCESS,
                             &(struct trace_clock_pair){ BEGIN_NS, BEGIN_NS, 0 }, 1);
    trace_writer_process(writer, &(struct trace_process){ .pid = 42, .start_ticks = BEGIN_NS });
    trace_writer_thread(writer, PROGRAM, 0, 42, "main");
    trace_writer_location(writer, &(struct trace_location){ .id = 1, .name = "work" });
    program = trace_stream_create(writer, PROGRAM);
    REQUIRE(program != NULL);
    queue = begin_device(writer, device, number);
    for (uint64_t ns = 0; ns < SECONDS * NS_PER_S; ns += STEP_NS) {
        uint64_t from;

        if (device->reset_ns && ns == device->reset_ns) { /* noticed, as a source should */
            trace_stream_destroy(queue);
            queue = begin_device(writer, device, ++number);
            write_pair(writer, device, number, ns, readings++);
        }
        if (ns % (device->every_s * NS_PER_S) == 0)
            write_pair(writer, device, number, ns, readings++);
        from = device_ticks(device, ns);
        trace_stream_zone(program, BEGIN_NS + ns, STEP_NS / 2, 1);
        trace_stream_zone(queue, from, device_ticks(device, ns + STEP_NS / 2) - from, 1);
        trace_stream_event(queue, TRACE_EVENT_FRAME, from, 1, NULL, 0);
        if (ns % NS_PER_S == 0) {
            trace_stream_flush(program, NULL, 0, 0);
            trace_stream_flush(queue, NULL, 0, 0);
        }
    }
    write_pair(writer, device, number, SECONDS * NS_PER_S, readings++);
    REQUIRE(trace_writer_close(writer, NULL) == IFG_OK);
}

static int64_t far_off(uint64_t ns, uint64_t true_ns)
{
    return llabs((int64_t)(ns - true_ns));
}

/* The largest error of any start or end of a slice. */
static int64_t worst_in_timeline(void)
{
    struct trace_reader *reader = NULL;
    const struct timeline *timeline = NULL;
    int64_t worst = 0;
    uint64_t at = BEGIN_NS;
    size_t slices = 0;

    REQUIRE(trace_reader_open(path, &reader, NULL) == IFG_OK);
    REQUIRE(timeline_create(reader, NULL, &timeline, NULL) == IFG_OK);
    for (size_t t = DEVICE; t < timeline->thread_count; t++) {
        const struct timeline_thread *thread = &timeline->threads[t];

        for (size_t i = 0; i < thread->slice_count; i++, slices++, at += STEP_NS) {
            size_t slice = thread->first_slice + i;
            int64_t start = far_off(timeline->start_ns[slice], at);
            int64_t end = far_off(timeline_end_ns(timeline, slice), at + STEP_NS / 2);

            worst = start > worst ? start : worst;
            worst = end > worst ? end : worst;
        }
    }
    CHECK_UINT(slices, SECONDS * 100);
    CHECK_UINT(timeline->frame_count, SECONDS * 100);
    for (size_t i = 0; i < timeline->frame_count; i++)
        CHECK(far_off(timeline->frames[i].ns, BEGIN_NS + i * STEP_NS) <= WITHIN_NS);
    CHECK(timeline_length_from_blocks_ns(reader) / NS_PER_S == SECONDS - 1);
    timeline_destroy(timeline);
    trace_reader_close(reader);
    return worst;
}

/* The same while it is followed, from the second reading on: the latest events are behind it. */
static int64_t worst_in_follow(unsigned every_s)
{
    struct trace_follow *follow = NULL;
    struct trace_news news;
    int64_t worst = 0;
    uint64_t at = BEGIN_NS;

    REQUIRE(trace_follow_open(path, &follow, NULL) == IFG_OK);
    for (;;) {
        REQUIRE(trace_follow_next(follow, &news, NULL) == IFG_OK);
        if (news.kind == TRACE_NEWS_FINISHED || news.kind == TRACE_NEWS_NONE)
            break;
        if (news.kind != TRACE_NEWS_ZONES || news.thread == PROGRAM)
            continue;
        for (size_t i = 0; i < news.zones->count; i++, at += STEP_NS) {
            int64_t error =
                far_off(trace_follow_ns(follow, news.thread, news.zones->starts[i]), at);

            if (at > BEGIN_NS + (every_s + 1) * NS_PER_S && error > worst)
                worst = error;
        }
    }
    CHECK_UINT(at, BEGIN_NS + SECONDS * NS_PER_S);
    trace_follow_close(follow);
    return worst;
}

static const struct device drifting = {
    .hz = 1000000000,
    .ppm = 50,
    .period_s = 1,
    .offset = 123456789,
    .every_s = 5,
};

static void a_clock_that_drifts_50_ppm(void)
{
    int64_t worst;

    record(&drifting);
    /* The pairs are needed: at the nominal rate it would be 3 ms off in the end. */
    CHECK(device_ticks(&drifting, SECONDS * NS_PER_S) - device_ticks(&drifting, 0) >
          SECONDS * NS_PER_S + 2900000);
    worst = worst_in_timeline();
    tap_diag("off by %lld ns at most", (long long)worst);
    CHECK(worst <= 2);
    CHECK(worst_in_follow(drifting.every_s) <= 2);
    unlink(path);
}

/* Its rate strays by 20 ppm around that within a quarter of a minute, it counts 19.2 million a
 * second, and readings are off by 15 us. */
static void a_clock_that_wanders_and_is_read_badly(void)
{
    const struct device device = { .hz = 19200000,
                                   .ppm = 50,
                                   .wander_ppm = 20,
                                   .period_s = 15,
                                   .offset = 5e15,
                                   .jitter_ns = 15000,
                                   .every_s = 2 };
    int64_t worst;
    int64_t live;

    record(&device);
    worst = worst_in_timeline();
    live = worst_in_follow(device.every_s);
    tap_diag("off by %lld ns at most, %lld ns while it is followed", (long long)worst,
             (long long)live);
    CHECK(worst <= WITHIN_NS);
    CHECK(live <= 5 * WITHIN_NS);
    unlink(path);
}

static void a_clock_that_begins_anew(void)
{
    struct device device = drifting;

    device.reset_ns = 31 * NS_PER_S;
    record(&device);
    CHECK(worst_in_timeline() <= WITHIN_NS);
    unlink(path);
}

/* One pair: nothing but the nominal rate is known, and the drift adds up: 50 us in each second. */
static void a_clock_that_is_read_once(void)
{
    struct device device = drifting;
    struct trace_reader *reader = NULL;
    struct trace_writer *writer = NULL;
    struct trace_stream *stream;

    record(&device); /* for its name */
    REQUIRE(trace_writer_create(path, true, &writer, NULL) == IFG_OK);
    stream = begin_device(writer, &device, DEVICE);
    write_pair(writer, &device, DEVICE, 0, 0);
    trace_stream_zone(stream, device_ticks(&device, 0), 1, 1);
    REQUIRE(trace_writer_close(writer, NULL) == IFG_OK);
    REQUIRE(trace_reader_open(path, &reader, NULL) == IFG_OK);
    for (uint64_t s = 0; s < SECONDS; s++)
        CHECK(far_off(trace_clock_to_ns(reader, DEVICE, device_ticks(&device, s * NS_PER_S)),
                      BEGIN_NS + s * NS_PER_S) <= (int64_t)(s * 50000 + 2));
    trace_reader_close(reader);
    unlink(path);
}

TAP_MAIN(TAP_CASE(a_clock_that_drifts_50_ppm), TAP_CASE(a_clock_that_wanders_and_is_read_badly),
         TAP_CASE(a_clock_that_begins_anew), TAP_CASE(a_clock_that_is_read_once))
