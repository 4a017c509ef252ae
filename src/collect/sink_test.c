// SPDX-License-Identifier: Apache-2.0
/* The numbers that sources share, and the streams of their threads. */
#include "collect/sink.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "collect/streams.h"
#include "tap.h"
#include "trace/reader.h"

static char path[64];
static struct sink sink;
static uint32_t defined[8];
static size_t defined_count;

static void define_process(void *user, const struct sink_process *process, uint32_t index)
{
    CHECK(user == &sink);
    defined[defined_count++ % 8] = index;
    trace_writer_process(sink.writer, &(struct trace_process){ .index = index,
                                                               .pid = (uint32_t)process->pid,
                                                               .clock = process->clock,
                                                               .start_ticks = process->start,
                                                               .program = process->program });
}

static const struct sink_calls calls = { .define_process = define_process };

static void begin(void)
{
    int fd;

    snprintf(path, sizeof path, "/tmp/inferogram-sink-XXXXXX");
    fd = mkstemp(path);
    REQUIRE(fd >= 0);
    close(fd);
    sink = (struct sink){ .calls = &calls, .user = &sink, .flush_after_ns = 100 };
    REQUIRE(trace_writer_create(path, true, &sink.writer, NULL) == IFG_OK);
    CHECK_UINT(sink_clock(&sink, TRACE_CLOCK_TSC, 0, "TSC"), SINK_CLOCK_COUNTER);
    CHECK_UINT(sink_clock(&sink, TRACE_CLOCK_MONOTONIC, 1000000000u, "ns"), SINK_CLOCK_MONOTONIC);
}

static struct trace_reader *finish(void)
{
    struct trace_reader *reader = NULL;

    REQUIRE(trace_writer_close(sink.writer, NULL) == IFG_OK);
    sink_fini(&sink);
    REQUIRE(trace_reader_open(path, &reader, NULL) == IFG_OK);
    unlink(path);
    return reader;
}

static void numbers_do_not_meet(void)
{
    struct trace_reader *reader;
    const struct trace_tables *tables;
    uint32_t first, library, second;

    begin();
    first = sink_process(&sink, &(struct sink_process){ .pid = 10, .clock = 1, .program = "a" });
    library = sink_library_process(&sink);
    second = sink_process(&sink, &(struct sink_process){ .pid = 10, .clock = 1, .program = "b" });
    CHECK_UINT(first, 0);
    CHECK_UINT(library, 1);
    CHECK_UINT(second, 2);
    CHECK_UINT(defined_count, 2);
    CHECK_UINT(defined[1], 2);
    CHECK_UINT(sink_location(&sink, (struct trace_location){ .process = first, .name = "x" }), 1);
    CHECK_UINT(sink_location(&sink, (struct trace_location){ .process = first, .name = "y" }), 2);
    CHECK_UINT(sink_location(&sink, (struct trace_location){ .process = second, .name = "z" }), 1);
    /* Where a library has numbers of its own, they do not meet. */
    CHECK_UINT(sink_location(&sink, (struct trace_location){ .process = library, .name = "c" }),
               SINK_LOCATIONS_ADDED);
    CHECK_UINT(sink_location(&sink, (struct trace_location){ .process = library, .name = "d" }),
               SINK_LOCATIONS_ADDED + 1);
    CHECK_UINT(sink_location(&sink, (struct trace_location){ .process = 99, .name = "e" }), 0);
    CHECK_UINT(sink_thread(&sink, first, 7, "seven"), 0);
    CHECK_UINT(sink_thread(&sink, second, 7, "other"), 1);
    reader = finish();
    tables = trace_reader_tables(reader);
    CHECK_UINT(tables->location_count, 5);
    CHECK_UINT(tables->thread_count, 2);
    trace_reader_close(reader);
}

static void many_processes(void)
{
    struct trace_reader *reader;

    begin();
    for (uint32_t i = 0; i < 1000; i++) {
        CHECK_UINT(sink_process(&sink, &(struct sink_process){ .pid = 10, .clock = 1 }), i);
        CHECK_UINT(sink_location(&sink, (struct trace_location){ .process = i, .name = "n" }), 1);
    }
    reader = finish();
    CHECK_UINT(trace_reader_tables(reader)->process_count, 1000);
    trace_reader_close(reader);
}

static void too_many_clocks(void)
{
    uint32_t clock = 0, count = 2;

    begin();
    while ((clock = sink_clock(&sink, TRACE_CLOCK_MONOTONIC, 0, "own")) != SINK_CLOCK_NONE)
        CHECK_UINT(clock, count++);
    CHECK(count >= 64);
    trace_reader_close(finish());
}

struct kept {
    struct thread_stream base;
    uint64_t start;
};

static int released;

static bool open_zone(void *user, struct thread_stream *thread, size_t number,
                      struct trace_open_zone *out_zone)
{
    CHECK(user == &sink);
    *out_zone = (struct trace_open_zone){ ((struct kept *)thread)->start + number, 1 };
    return number != 1; /* one of them is not shown */
}

static void release(struct thread_stream *thread)
{
    (void)thread;
    released++;
}

static void threads_come_and_go(void)
{
    static const struct streams_kind kind = { sizeof(struct kept), 16, open_zone, release };
    struct streams streams = { .kind = &kind, .sink = &sink, .user = &sink, .pid = getpid() };
    struct thread_stream *thread, *other;
    struct trace_reader *reader;
    uint64_t before;
    bool is_new;

    begin();
    streams.process =
        sink_process(&sink, &(struct sink_process){ .pid = getpid(), .clock = 1, .program = "a" });
    sink_location(&sink, (struct trace_location){ .name = "x" });
    thread = streams_take(&streams, getpid(), 0, 1000, &is_new);
    REQUIRE(thread);
    CHECK(is_new);
    other = streams_take(&streams, 0x7ffffff0, 0, 1000, &is_new); /* nobody has this number */
    REQUIRE(other);
    CHECK(streams_take(&streams, getpid(), 0, 1000, &is_new) == thread);
    CHECK(!is_new);
    trace_stream_zone(thread->stream, 1000, 10, 1);
    streams_thread_wait(thread, 1010);
    before = trace_writer_bytes(sink.writer);
    streams_flush(&streams, 1050, false); /* not old enough */
    CHECK_UINT(trace_writer_bytes(sink.writer), before);
    thread->open_count = 3;
    ((struct kept *)thread)->start = 1100;
    streams_flush(&streams, 1110, false);
    CHECK(trace_writer_bytes(sink.writer) > before);
    CHECK_UINT(streams.count, 2);
    streams_sweep(&streams, 1000 + 10000000000ull); /* who is gone, and nobody else */
    CHECK_UINT(streams.count, 1);
    CHECK_UINT(released, 1);
    for (pid_t tid = 1; streams_take(&streams, tid, 0, 1000, &is_new); tid++)
        REQUIRE(tid < 100);
    CHECK_UINT(streams.count, 16);
    streams_flush(&streams, 2000, true);
    streams_fini(&streams);
    reader = finish();
    CHECK_UINT(trace_reader_tables(reader)->thread_count, 17);
    trace_reader_close(reader);
}

TAP_MAIN(TAP_CASE(numbers_do_not_meet), TAP_CASE(many_processes), TAP_CASE(too_many_clocks),
         TAP_CASE(threads_come_and_go))
