// SPDX-License-Identifier: Apache-2.0
/* Work of devices, the calls that asked for it, and what they are part of. */
#include "timeline/device.h"

#include <string.h>

#include "device_trace.h"
#include "tap.h"
#include "timeline/flows.h"

static uint64_t at(uint64_t us)
{
    return ML_TRACE_START + us * ML_US;
}

static const struct timeline_devices *load(struct device_trace *trace)
{
    const struct timeline_devices *devices = NULL;

    REQUIRE(ml_trace_load(&trace->ml));
    REQUIRE(timeline_devices_get(trace->ml.timeline, &devices, NULL) == IFG_OK);
    return devices;
}

static const char *name_of(const struct timeline *timeline, uint32_t location)
{
    return timeline->locations[location].name;
}

static void streams_and_times(void)
{
    struct device_trace trace;
    const struct timeline_devices *devices;
    const struct timeline_device_stream *stream;
    static const struct {
        uint64_t start_us, end_us;
        const char *name;
        enum timeline_work kind;
        const char *copy;
        uint64_t bytes;
    } first[] = {
        { 4, 14, "memcpy HtoD", TIMELINE_WORK_MEMCPY, "HtoD", 602112 },
        { 14, 114, "conv", TIMELINE_WORK_KERNEL, "", UINT64_MAX },
        { 114, 154, "gemm", TIMELINE_WORK_KERNEL, "", UINT64_MAX },
        { 154, 159, "bias", TIMELINE_WORK_KERNEL, "", UINT64_MAX },
        { 159, 164, "memcpy DtoH", TIMELINE_WORK_MEMCPY, "DtoH", 4000 },
    };

    device_trace_begin(&trace, NULL);
    device_trace_showcase(&trace);
    devices = load(&trace);
    REQUIRE_UINT(devices->stream_count, 2);
    stream = &devices->streams[0];
    CHECK_UINT(stream->device, 0);
    CHECK_UINT(stream->context, 1);
    CHECK_UINT(stream->stream, 7);
    CHECK_STR(stream->api, "CUDA");
    CHECK_STR(stream->name, "Test GPU");
    CHECK_STR(stream->device_id, "GPU-0123");
    CHECK_STR(trace.ml.timeline->threads[stream->thread].name, "GPU 0 stream 7");
    CHECK_UINT(stream->work_count, DEVICE_TRACE_WORKS - 1);
    CHECK_UINT(devices->streams[1].stream, 13);
    CHECK_UINT(devices->streams[1].work_count, 1);
    CHECK_UINT(devices->works[devices->by_stream[devices->streams[1].first_work]].kind,
               TIMELINE_WORK_MEMSET);
    REQUIRE_UINT(devices->work_count, DEVICE_TRACE_WORKS);
    for (size_t i = 0; i < 5; i++) {
        const struct timeline_device_work *work = &devices->works[i];

        CHECK_UINT(work->start_ns, at(first[i].start_us));
        CHECK_UINT(work->end_ns, at(first[i].end_us));
        CHECK_STR(name_of(trace.ml.timeline, work->location), first[i].name);
        CHECK_INT(work->kind, first[i].kind);
        CHECK_STR(timeline_copy_kind(trace.ml.timeline, work), first[i].copy);
        CHECK_UINT(work->bytes, first[i].bytes);
        CHECK_UINT(work->stream, 0);
    }
    CHECK_STR(devices->works[1].shape, "grid 98x1x1");
    CHECK(!devices->works[2].shape);
    device_trace_end(&trace);
}

static void calls_and_what_is_around_them(void)
{
    struct device_trace trace;
    const struct timeline_devices *devices;
    const struct timeline *timeline;
    static const char *const ops[] = { NULL, "conv1", "fc", "fc", NULL };

    device_trace_begin(&trace, NULL);
    device_trace_showcase(&trace);
    devices = load(&trace);
    timeline = trace.ml.timeline;
    REQUIRE_UINT(devices->call_count, DEVICE_TRACE_CALLS);
    CHECK_UINT(devices->without_call, 1);
    CHECK_UINT(devices->in_inferences, DEVICE_TRACE_INFERENCES * 5);
    CHECK_UINT(devices->in_ops, DEVICE_TRACE_INFERENCES * 3);
    for (size_t i = 0; i < DEVICE_TRACE_INFERENCES * 5; i++) {
        const struct timeline_device_work *work = &devices->works[i];
        const struct timeline_device_call *call = timeline_call_of(devices, work);
        const char *op = ops[i % 5];

        REQUIRE(call != NULL);
        CHECK(call->end_ns <= work->start_ns);
        CHECK_UINT(call->correlation, work->correlation);
        CHECK_UINT(call->work_count, 1);
        CHECK_UINT(call->busy_ns, work->end_ns - work->start_ns);
        CHECK_INT(call->kind, work->kind);
        CHECK_UINT(timeline->threads[call->thread].tid, 5000);
        REQUIRE(call->inference != SIZE_MAX);
        CHECK_UINT(call->ml, call->inference);
        CHECK_UINT(timeline->start_ns[call->inference], at(i / 5 * 200));
        CHECK_STR(timeline->models[call->model].name, "net");
        CHECK((call->op != SIZE_MAX) == (op != NULL));
        if (op && call->op != SIZE_MAX)
            CHECK_STR(name_of(timeline, timeline->location[call->op]), op);
        CHECK(call->zone == SIZE_MAX);
    }
    device_trace_end(&trace);
}

static void graphs_and_orphans(void)
{
    struct device_trace trace;
    const struct timeline_devices *devices;
    const struct timeline *timeline;
    const struct timeline_device_work *works;
    const struct timeline_device_call *call;
    uint64_t graph;
    uint64_t node;

    device_trace_begin(&trace, NULL);
    device_trace_showcase(&trace);
    devices = load(&trace);
    timeline = trace.ml.timeline;
    works = devices->works + DEVICE_TRACE_INFERENCES * 5;
    call = timeline_call_of(devices, &works[0]);
    REQUIRE(call != NULL);
    CHECK_STR(name_of(timeline, call->location), "cuGraphLaunch");
    CHECK_INT(call->kind, TIMELINE_WORK_GRAPH);
    CHECK_UINT(call->work_count, 3);
    CHECK_UINT(call->busy_ns, 30 * ML_US);
    CHECK(call->inference == SIZE_MAX && call->op == SIZE_MAX && call->ml == SIZE_MAX);
    REQUIRE(call->zone != SIZE_MAX);
    CHECK_STR(name_of(timeline, timeline->location[call->zone]), "warm");
    CHECK_UINT(call->model, TIMELINE_NONE);
    CHECK(timeline_work_graph(timeline, &works[0], &graph, &node));
    CHECK_UINT(graph, 77);
    CHECK_UINT(node, 0);
    CHECK(!timeline_work_queued(timeline, &works[0], &graph, &node));
    CHECK_UINT(works[4].start_ns, at(700));
    CHECK(timeline_call_of(devices, &works[4]) == NULL);
    CHECK(!timeline_work_graph(timeline, &works[4], &graph, &node));
    device_trace_end(&trace);
}

static void work_of_one(void)
{
    struct device_trace trace;
    const struct timeline_devices *devices;
    const struct timeline *timeline;

    device_trace_begin(&trace, NULL);
    device_trace_showcase(&trace);
    devices = load(&trace);
    timeline = trace.ml.timeline;
    for (size_t i = 0; i < DEVICE_TRACE_INFERENCES; i++) {
        const struct timeline_device_call *call =
            timeline_call_of(devices, &devices->works[i * 5 + 2]);
        uint64_t busy = 0;
        size_t first;

        REQUIRE(call != NULL);
        REQUIRE_UINT(timeline_work_of_inference(devices, call->inference, &first), 5);
        for (size_t k = 0; k < 5; k++) {
            const struct timeline_device_work *work =
                &devices->works[devices->by_inference[first + k]];

            CHECK_UINT(devices->by_inference[first + k], i * 5 + k);
            busy += work->end_ns - work->start_ns;
        }
        CHECK_UINT(busy, DEVICE_TRACE_BUSY_NS);
        REQUIRE_UINT(timeline_work_of_op(devices, call->op, &first), 2);
        CHECK_UINT(devices->by_op[first], i * 5 + 2);
        CHECK_UINT(devices->by_op[first + 1], i * 5 + 3);
        REQUIRE_UINT(timeline_calls_in(timeline, devices, call->inference, &first), 6);
        CHECK_INT(devices->calls[first + 5].kind, TIMELINE_WORK_SYNC);
        CHECK_UINT(devices->calls[first + 5].end_ns, at(i * 200 + 164));
        CHECK_UINT(devices->calls[first + 5].work_count, 0);
        CHECK_UINT(timeline_calls_in(timeline, devices, call->op, &first), 2);
    }
    CHECK_UINT(timeline_work_of_inference(devices, SIZE_MAX, &(size_t){ 0 }), 0);
    device_trace_end(&trace);
}

static void arrows_from_calls_to_work(void)
{
    struct device_trace trace;
    const struct timeline_devices *devices;
    const struct timeline *timeline;
    size_t arrows = 0;

    device_trace_begin(&trace, NULL);
    device_trace_showcase(&trace);
    devices = load(&trace);
    timeline = trace.ml.timeline;
    for (size_t i = 0; i < devices->call_count; i++) {
        const struct timeline_device_call *call = &devices->calls[i];
        size_t first;
        size_t count = timeline_flow_points_of(timeline, call->slice, &first);
        const struct timeline_flow_point *point;

        CHECK_UINT(count, call->work_count != 0);
        if (!count)
            continue;
        point = &timeline->flow_points[timeline->flow_by_slice[first]];
        CHECK_UINT(point->id, call->correlation);
        CHECK_INT(timeline->locations[timeline->location[point[1].slice]].kind,
                  TRACE_LOCATION_DEVICE);
        arrows++;
    }
    CHECK_UINT(arrows, timeline->arrow_count);
    CHECK_UINT(timeline->flow_points_without_begin, 0);
    device_trace_end(&trace);
}

/* The number of a call comes again when 2^32 of them were made; and operators that a runtime times
 * by a coarse clock may seem to end inside their last call. */
static void numbers_again_and_coarse_operators(void)
{
    struct device_trace trace;
    const struct timeline_devices *devices;
    const struct timeline *timeline;
    uint32_t op;
    uint32_t stream;

    device_trace_begin(&trace, NULL);
    stream = device_trace_stream(&trace, 1, 2, 3);
    op = ml_trace_location(&trace.ml, TRACE_LOCATION_OP, 0, "op", "Op");
    device_trace_launch(&trace, 0, stream, 5 * ML_US,
                        &(struct device_trace_work){ .name = "early", .ns = ML_US });
    trace.correlation = 0;
    ml_trace_wait(&trace.ml, 0, 50 * ML_US);
    device_trace_launch(&trace, 0, stream, 5 * ML_US,
                        &(struct device_trace_work){ .name = "late", .ns = ML_US });
    trace_stream_zone(trace.ml.streams[0], at(54), 3 * ML_US, op);
    devices = load(&trace);
    timeline = trace.ml.timeline;
    REQUIRE_UINT(devices->work_count, 2);
    CHECK_UINT(devices->works[0].correlation, devices->works[1].correlation);
    for (size_t i = 0; i < 2; i++) {
        const struct timeline_device_call *call = timeline_call_of(devices, &devices->works[i]);

        REQUIRE(call != NULL);
        CHECK_UINT(call->start_ns, at(i ? 55 : 0));
        CHECK((call->op != SIZE_MAX) == (i == 1));
        if (call->op != SIZE_MAX)
            CHECK_STR(name_of(timeline, timeline->location[call->op]), "op");
    }
    device_trace_end(&trace);
}

static void a_trace_without_devices(void)
{
    struct device_trace trace;
    const struct timeline_devices *devices;
    size_t first;

    device_trace_begin(&trace, NULL);
    ml_trace_slice(&trace.ml, 0, ml_trace_location(&trace.ml, TRACE_LOCATION_ZONE, 0, "z", ""),
                   ML_US);
    devices = load(&trace);
    CHECK_UINT(devices->work_count, 0);
    CHECK_UINT(devices->call_count, 0);
    CHECK_UINT(devices->stream_count, 0);
    CHECK_UINT(timeline_work_of_inference(devices, 0, &first), 0);
    CHECK_UINT(timeline_calls_in(trace.ml.timeline, devices, 0, &first), 0);
    device_trace_end(&trace);
}

int main(int argc, char **argv)
{
    static const struct tap_case cases[] = {
        TAP_CASE(streams_and_times),         TAP_CASE(calls_and_what_is_around_them),
        TAP_CASE(graphs_and_orphans),        TAP_CASE(work_of_one),
        TAP_CASE(arrows_from_calls_to_work), TAP_CASE(numbers_again_and_coarse_operators),
        TAP_CASE(a_trace_without_devices),
    };

    return tap_run(argc, argv, cases, sizeof cases / sizeof cases[0]);
}
