// SPDX-License-Identifier: Apache-2.0
/* Small traces of devices: see device_trace.h. */
#include "device_trace.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "trace/keys.h"

#define FIRST_THREAD 32u /* behind those of ml_trace.h and of its resources */
#define DEVICE_CLOCK 1u

void device_trace_begin(struct device_trace *trace, const char *path)
{
    static const struct trace_clock_pair pairs[] = {
        { ML_TRACE_START - DEVICE_TRACE_BEHIND, ML_TRACE_START, 0 },
        { ML_TRACE_START - DEVICE_TRACE_BEHIND + ML_S, ML_TRACE_START + ML_S, 0 },
    };

    memset(trace, 0, sizeof *trace);
    ml_trace_begin(&trace->ml, path);
    trace_writer_clock(trace->ml.writer, DEVICE_CLOCK, TRACE_CLOCK_DEVICE, ML_S, "CUDA");
    trace_writer_clock_pairs(trace->ml.writer, DEVICE_CLOCK, pairs, 2);
}

void device_trace_end(struct device_trace *trace)
{
    ml_trace_end(&trace->ml);
    memset(trace, 0, sizeof *trace);
}

uint32_t device_trace_stream(struct device_trace *trace, uint32_t device, uint32_t context,
                             uint32_t stream)
{
    uint32_t number = trace->stream_count++;
    uint32_t thread = FIRST_THREAD + number;
    char name[64];

    if (number >= DEVICE_TRACE_STREAMS)
        abort();
    snprintf(name, sizeof name, "GPU %u stream %u", device, stream);
    trace_writer_thread(trace->ml.writer, thread, 0, 0, name);
    trace_writer_device_stream(trace->ml.writer,
                               &(struct trace_device_stream){ .thread = thread,
                                                              .device = device,
                                                              .context = context,
                                                              .stream = stream,
                                                              .api = "CUDA",
                                                              .name = "Test GPU",
                                                              .device_id = "GPU-0123" });
    trace->streams[number] = trace_stream_create(trace->ml.writer, thread);
    if (!trace->streams[number])
        abort();
    trace_stream_set_clock(trace->streams[number], DEVICE_CLOCK);
    return number;
}

static uint32_t location_of(struct device_trace *trace, enum trace_location_kind kind,
                            const char *name, const char *function)
{
    struct device_trace_location *location = trace->locations;

    for (uint32_t i = 0; i < trace->location_count; i++, location++)
        if (location->kind == kind && strcmp(location->name, name) == 0 &&
            strcmp(location->function, function) == 0)
            return location->id;
    if (trace->location_count++ == DEVICE_TRACE_LOCATIONS)
        abort();
    location->kind = kind;
    snprintf(location->name, sizeof location->name, "%s", name);
    snprintf(location->function, sizeof location->function, "%s", function);
    location->id = ml_trace_location(&trace->ml, kind, 0, name, function);
    return location->id;
}

static void put_flow(struct device_trace *trace, struct trace_stream *stream,
                     enum trace_event_kind kind, uint64_t ticks, uint64_t correlation)
{
    uint8_t payload[IFG_VARINT_MAX];
    uint8_t *end = ifg_varint_write(payload, correlation);

    trace_stream_event(stream, kind, ticks,
                       location_of(trace, TRACE_LOCATION_FLOW, TRACE_FLOW_LAUNCH, ""), payload,
                       (size_t)(end - payload));
}

static void put_number(struct trace_stream *stream, uint64_t start, uint32_t location,
                       const char *key, uint64_t value)
{
    trace_stream_attribute(stream, start, location, TRACE_VALUE_UNSIGNED, key, strlen(key), &value,
                           sizeof value);
}

static uint64_t put_work(struct device_trace *trace, uint32_t stream, uint64_t from_ns,
                         const struct device_trace_work *work, uint64_t correlation)
{
    const char *kind = work->kind ? work->kind : TRACE_WORK_KERNEL;
    uint32_t location =
        location_of(trace, TRACE_LOCATION_DEVICE, work->name ? work->name : kind, kind);
    struct trace_stream *out = trace->streams[stream];
    uint64_t start = from_ns > trace->free_ns[stream] ? from_ns : trace->free_ns[stream];
    uint64_t ticks = start - DEVICE_TRACE_BEHIND;

    if (correlation)
        put_number(out, ticks, location, TRACE_KEY_CORRELATION, correlation);
    if (work->bytes)
        put_number(out, ticks, location, TRACE_KEY_BYTES, work->bytes);
    if (work->graph)
        put_number(out, ticks, location, TRACE_KEY_GRAPH, work->graph);
    if (work->shape)
        trace_stream_attribute(out, ticks, location, TRACE_VALUE_STRING, TRACE_KEY_SHAPE,
                               strlen(TRACE_KEY_SHAPE), work->shape, strlen(work->shape));
    trace_stream_zone(out, ticks, work->ns, location);
    trace->free_ns[stream] = start + work->ns;
    return start;
}

/* A call of the driver; its number, which is never 0. */
static uint64_t put_call(struct device_trace *trace, uint32_t thread, const char *name,
                         const char *kind, uint64_t ns, bool has_work)
{
    uint64_t correlation = ++trace->correlation;
    struct ml_trace_open call =
        ml_trace_enter(&trace->ml, thread, location_of(trace, TRACE_LOCATION_DRIVER, name, kind));

    ml_trace_number(&trace->ml, thread, call, TRACE_KEY_CORRELATION, correlation);
    if (has_work)
        put_flow(trace, trace->ml.streams[thread], TRACE_EVENT_FLOW_BEGIN, call.start, correlation);
    ml_trace_wait(&trace->ml, thread, ns);
    ml_trace_leave(&trace->ml, thread, call);
    return correlation;
}

uint64_t device_trace_launch(struct device_trace *trace, uint32_t thread, uint32_t stream,
                             uint64_t call_ns, const struct device_trace_work *work)
{
    const char *kind = work->kind ? work->kind : TRACE_WORK_KERNEL;
    const char *name = strncmp(kind, TRACE_WORK_MEMCPY, 6) == 0   ? "cuMemcpyAsync"
                       : strncmp(kind, TRACE_WORK_MEMSET, 6) == 0 ? "cuMemsetD8Async"
                                                                  : "cuLaunchKernel";
    uint64_t correlation = put_call(trace, thread, name, kind, call_ns, true);
    uint64_t start =
        put_work(trace, stream, trace->ml.now[thread] + work->delay_ns, work, correlation);

    put_flow(trace, trace->streams[stream], TRACE_EVENT_FLOW_END, start - DEVICE_TRACE_BEHIND,
             correlation);
    return start;
}

void device_trace_graph(struct device_trace *trace, uint32_t thread, uint32_t stream,
                        uint64_t call_ns, const struct device_trace_work *works, size_t count)
{
    uint64_t correlation =
        put_call(trace, thread, "cuGraphLaunch", TRACE_WORK_GRAPH, call_ns, true);

    for (size_t i = 0; i < count; i++) {
        uint64_t start = put_work(trace, stream, trace->ml.now[thread] + works[i].delay_ns,
                                  &works[i], correlation);

        if (i == 0)
            put_flow(trace, trace->streams[stream], TRACE_EVENT_FLOW_END,
                     start - DEVICE_TRACE_BEHIND, correlation);
    }
}

void device_trace_sync(struct device_trace *trace, uint32_t thread, uint32_t stream,
                       uint64_t call_ns)
{
    uint64_t now = trace->ml.now[thread];
    uint64_t free_ns = trace->free_ns[stream];
    uint64_t ns = free_ns > now + call_ns ? free_ns - now : call_ns;

    put_call(trace, thread, "cuStreamSynchronize", TRACE_WORK_SYNC, ns, false);
}

void device_trace_sync_seen(struct device_trace *trace, uint32_t thread, uint32_t stream,
                            uint32_t track, uint64_t call_ns)
{
    uint64_t from = trace->ml.now[thread];
    struct device_trace_work wait = { .kind = TRACE_WORK_SYNC, .name = "stream synchronize" };

    device_trace_sync(trace, thread, stream, call_ns);
    wait.ns = trace->ml.now[thread] - from;
    put_work(trace, track, from, &wait, trace->correlation);
}

void device_trace_orphan(struct device_trace *trace, uint32_t stream, uint64_t at_ns,
                         const struct device_trace_work *work)
{
    put_work(trace, stream, at_ns, work, 0);
}

static void show_inference(struct device_trace *trace, uint32_t stream, uint32_t inference,
                           uint32_t conv, uint32_t fc)
{
    struct ml_trace_open run = ml_trace_enter(&trace->ml, 0, inference);
    uint64_t start = run.start;
    struct ml_trace_open op;

    device_trace_launch(
        trace, 0, stream, 4 * ML_US,
        &(struct device_trace_work){ .kind = "memcpy HtoD", .ns = 10 * ML_US, .bytes = 602112 });
    op = ml_trace_enter(&trace->ml, 0, conv);
    device_trace_launch(
        trace, 0, stream, 5 * ML_US,
        &(struct device_trace_work){ .name = "conv", .ns = 100 * ML_US, .shape = "grid 98x1x1" });
    ml_trace_leave(&trace->ml, 0, op);
    op = ml_trace_enter(&trace->ml, 0, fc);
    device_trace_launch(trace, 0, stream, 5 * ML_US,
                        &(struct device_trace_work){ .name = "gemm", .ns = 40 * ML_US });
    device_trace_launch(trace, 0, stream, 5 * ML_US,
                        &(struct device_trace_work){ .name = "bias", .ns = 5 * ML_US });
    ml_trace_leave(&trace->ml, 0, op);
    device_trace_launch(
        trace, 0, stream, 4 * ML_US,
        &(struct device_trace_work){ .kind = "memcpy DtoH", .ns = 5 * ML_US, .bytes = 4000 });
    device_trace_sync(trace, 0, stream, 0);
    trace->ml.now[0] = start + DEVICE_TRACE_LENGTH_NS;
    ml_trace_leave(&trace->ml, 0, run);
    trace->ml.now[0] = start + 200 * ML_US;
}

void device_trace_showcase(struct device_trace *trace)
{
    static const struct device_trace_work nodes[] = {
        { .name = "node a", .ns = 10 * ML_US, .graph = 77 },
        { .name = "node b", .ns = 10 * ML_US, .graph = 77 },
        { .name = "node a", .ns = 10 * ML_US, .graph = 77 },
    };
    uint32_t stream = device_trace_stream(trace, 0, 1, 7);
    uint32_t other = device_trace_stream(trace, 0, 1, 13);
    uint32_t net = ml_trace_model(
        &trace->ml,
        &(struct ml_trace_model){ .name = "net", .requested = "CUDAExecutionProvider" });
    uint32_t inference = ml_trace_category(&trace->ml, net, TRACE_CATEGORY_INFERENCE);
    uint32_t conv = ml_trace_location(&trace->ml, TRACE_LOCATION_OP, net, "conv1", "Conv");
    uint32_t fc = ml_trace_location(&trace->ml, TRACE_LOCATION_OP, net, "fc", "MatMul");
    struct ml_trace_open warm;

    for (uint32_t i = 0; i < DEVICE_TRACE_INFERENCES; i++)
        show_inference(trace, stream, inference, conv, fc);
    warm = ml_trace_enter(&trace->ml, 0,
                          ml_trace_location(&trace->ml, TRACE_LOCATION_ZONE, 0, "warm", ""));
    device_trace_graph(trace, 0, stream, 5 * ML_US, nodes, sizeof nodes / sizeof nodes[0]);
    ml_trace_wait(&trace->ml, 0, 15 * ML_US);
    ml_trace_leave(&trace->ml, 0, warm);
    device_trace_launch(
        trace, 0, other, 2 * ML_US,
        &(struct device_trace_work){ .kind = "memset", .ns = 3 * ML_US, .bytes = 4096 });
    device_trace_orphan(trace, stream, ML_TRACE_START + 700 * ML_US,
                        &(struct device_trace_work){ .name = "lost", .ns = 10 * ML_US });
}
