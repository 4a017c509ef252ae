// SPDX-License-Identifier: Apache-2.0
/* Random traces: see sample_trace.h. */
#include "sample_trace.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/bytes.h"
#include "trace/writer.h"

#define THREADS   5u
#define LOCATIONS 18u
#define DEEPEST   6u

struct maker {
    struct trace_stream *stream;
    uint64_t state;
    uint64_t now;
    size_t left;
};

uint64_t sample_random(uint64_t *state)
{
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return *state * 0x2545f4914f6cdd1du;
}

static uint64_t below(struct maker *maker, uint64_t limit)
{
    return sample_random(&maker->state) % limit;
}

static void define_process(struct trace_writer *writer, uint32_t index)
{
    static const char *const names[] = { "alpha", "Alpha", "beta", "5",  "05",
                                         "émile", "",      "beta", "a%b" };

    trace_writer_process(writer, &(struct trace_process){
                                     .index = index,
                                     .pid = 700 - index,
                                     .parent_pid = index,
                                     .program = index ? "/usr/bin/second" : "/usr/bin/first",
                                     .arguments = "first\0--fast",
                                     .arguments_bytes = 12,
                                     .start_ticks = 900,
                                 });
    trace_writer_model(writer, &(struct trace_model){ .process = index,
                                                      .id = 1,
                                                      .name = index ? "beta" : "ocr",
                                                      .path = "/models/x.onnx",
                                                      .actual_devices = index ? "" : "CUDA,CPU" });
    trace_writer_model_property(writer, index, 1, "nodes.CUDA", "12");
    for (uint32_t id = 1; id <= LOCATIONS; id++) {
        enum trace_location_kind kind = TRACE_LOCATION_ZONE;

        if (id > 9)
            kind = id < 14    ? TRACE_LOCATION_ML
                   : id == 14 ? TRACE_LOCATION_COUNTER
                   : id == 15 ? TRACE_LOCATION_POOL
                   : id == 16 ? TRACE_LOCATION_FRAME
                   : id == 17 ? TRACE_LOCATION_ASYNC
                              : TRACE_LOCATION_OP;
        else if (id > 7)
            kind = TRACE_LOCATION_STAGE;
        trace_writer_location(
            writer, &(struct trace_location){
                        .process = index,
                        .id = id,
                        .kind = kind,
                        .category = kind == TRACE_LOCATION_ML ? 1 + id % 5 : TRACE_CATEGORY_NONE,
                        .line = id % 3 * 10,
                        .model = kind == TRACE_LOCATION_ML ? 1 : 0,
                        .name = kind == TRACE_LOCATION_ML ? "" : names[(id + index) % 9],
                        .function = kind == TRACE_LOCATION_ML ? "main"
                                    : id % 2                  ? "run"
                                                              : "",
                        .file = id % 3 ? "a.c" : "",
                    });
    }
}

/* Attributes are said while the slice is open. */
static void describe(struct maker *maker, uint64_t start, uint32_t location)
{
    int64_t number = -(int64_t)below(maker, 100);
    uint64_t size = below(maker, 1000);
    double ratio = 0.5 * (double)below(maker, 9);

    switch (below(maker, 12)) {
    case 0:
        trace_stream_attribute(maker->stream, start, location, TRACE_VALUE_STRING, "name", 4,
                               "own \"name\"", 10);
        trace_stream_attribute(maker->stream, start, location, TRACE_VALUE_STRING, "device", 6,
                               "NPU", 3);
        break;
    case 1:
        trace_stream_attribute(maker->stream, start, location, TRACE_VALUE_SIGNED, "class", 5,
                               &number, sizeof number);
        break;
    case 2:
        trace_stream_attribute(maker->stream, start, location, TRACE_VALUE_UNSIGNED, "value", 5,
                               &size, sizeof size);
        trace_stream_attribute(maker->stream, start, location, TRACE_VALUE_F64, "ratio", 5, &ratio,
                               sizeof ratio);
        break;
    case 3:
        trace_stream_attribute(maker->stream, start, location, TRACE_VALUE_STRING, "specialization",
                               14, "cached", 6);
        break;
    }
}

static void make_event(struct maker *maker)
{
    uint8_t payload[32];
    uint64_t id = below(maker, 40);
    double value = (double)below(maker, 50) / 4;
    uint8_t *end = ifg_varint_write(payload, id);

    switch (below(maker, 20)) {
    case 0:
        trace_stream_event(maker->stream, TRACE_EVENT_MESSAGE, maker->now, (uint32_t)(id % 5),
                           "hello", 5);
        break;
    case 1:
        trace_stream_event(maker->stream, TRACE_EVENT_COUNTER, maker->now, 14, &value,
                           sizeof value);
        break;
    case 2:
    case 3:
        trace_stream_event(maker->stream, id % 2 ? TRACE_EVENT_ASYNC_BEGIN : TRACE_EVENT_ASYNC_END,
                           maker->now, 17, (ifg_varint_write(payload, id / 2), payload), 1);
        break;
    case 4:
        end = ifg_varint_write(end, 64 * (id + 1));
        trace_stream_event(maker->stream, TRACE_EVENT_ALLOC, maker->now, 15, payload,
                           (size_t)(end - payload));
        break;
    case 5:
        trace_stream_event(maker->stream, TRACE_EVENT_FREE, maker->now, 15, payload,
                           (size_t)(end - payload));
        break;
    case 6:
        trace_stream_event(maker->stream, TRACE_EVENT_FRAME, maker->now, 16, NULL, 0);
        break;
    case 7: /* ids below 128 are one byte */
        payload[0] = (uint8_t)(id / 8);
        payload[1] = TRACE_FLOW_WORLD | (id % 2 ? TRACE_FLOW_NEXT : 0);
        trace_stream_event(maker->stream, (enum trace_event_kind)(TRACE_EVENT_FLOW_BEGIN + id % 3),
                           maker->now, 17, payload, 2);
        break;
    }
}

static uint32_t any_location(struct maker *maker)
{
    uint32_t location = 1 + (uint32_t)below(maker, 14);

    return location == 14 ? LOCATIONS : location;
}

/* One slice and what is inside; zones are written in the order of their ends. */
static void make_slice(struct maker *maker, unsigned depth)
{
    uint32_t location = any_location(maker);
    uint64_t start = maker->now;

    maker->left--;
    describe(maker, start, location);
    maker->now += below(maker, 4) * 100;
    while (depth < DEEPEST && maker->left && below(maker, 3) == 0)
        make_slice(maker, depth + 1);
    maker->now += below(maker, 300) ? below(maker, 500) : 5000000000u;
    make_event(maker);
    trace_stream_zone(maker->stream, start, maker->now - start, location);
}

static void make_thread(struct trace_writer *writer, uint32_t thread, uint64_t seed, size_t slices)
{
    struct maker maker = {
        .stream = trace_stream_create(writer, thread),
        .state = seed * 0x9e3779b97f4a7c15u + thread + 1,
        .now = 1000 + 50 * thread,
        .left = slices,
    };
    struct trace_open_zone open[2];

    if (!maker.stream)
        return;
    while (maker.left) {
        make_slice(&maker, 0);
        maker.now += below(&maker, 3) * 70;
    }
    open[0] = (struct trace_open_zone){ maker.now + 10, 3 };
    open[1] = (struct trace_open_zone){ maker.now + 30, 12 };
    trace_stream_flush(maker.stream, open, thread % 3, maker.now + 1000);
}

bool sample_trace_init(struct sample_trace *sample, uint64_t seed, size_t slices_per_thread)
{
    const char *directory = getenv("TMPDIR");
    struct trace_writer *writer = NULL;

    memset(sample, 0, sizeof *sample);
    snprintf(sample->path, sizeof sample->path, "%s/ifg-sample-%ld-%llu.ifg",
             directory && *directory ? directory : "/tmp", (long)getpid(),
             (unsigned long long)seed);
    if (trace_writer_create(sample->path, true, &writer, NULL))
        return false;
    trace_writer_clock(writer, 0, TRACE_CLOCK_MONOTONIC, 1000000000, "monotonic");
    trace_writer_clock_pairs(
        writer, 0, (struct trace_clock_pair[]){ { 1000, 1000, 1700000000000001000u } }, 1);
    define_process(writer, 0);
    define_process(writer, 1);
    trace_writer_fact(writer, "record.program", "first");
    trace_writer_instrument(writer, "zones", TRACE_INSTRUMENT_ON, "");
    trace_writer_instrument(writer, "gpu", TRACE_INSTRUMENT_UNAVAILABLE, "no GPU here");
    trace_writer_loss(writer, 0, "definitions that found the log full", 3);
    for (uint32_t t = 0; t < THREADS; t++) {
        trace_writer_thread(writer, t, t % 2, 800 - t % 4, t == 2 ? "" : t == 3 ? "io" : "worker");
        if (t != 1)
            make_thread(writer, t, seed, slices_per_thread);
    }
    if (trace_writer_close(writer, NULL) ||
        trace_reader_open(sample->path, &sample->reader, NULL) ||
        timeline_create(sample->reader, &(struct timeline_options){ 1 }, &sample->timeline, NULL)) {
        sample_trace_fini(sample);
        return false;
    }
    return true;
}

void sample_trace_fini(struct sample_trace *sample)
{
    timeline_destroy(sample->timeline);
    trace_reader_close(sample->reader);
    unlink(sample->path);
    memset(sample, 0, sizeof *sample);
}
