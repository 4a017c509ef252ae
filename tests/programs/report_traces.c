// SPDX-License-Identifier: Apache-2.0
/*
 * Traces for tests/cli/report.sh.
 *
 *     report_traces showcase FILE    some of everything that a report shows
 *     report_traces many FILE        thirty models
 *     report_traces plain FILE       zones, no model
 *     report_traces profile FILE     samples and context switches, see profile_trace.h
 *     report_traces gpu FILE         a model on a GPU; memory polled four times a second
 *     report_traces device FILE      a model on a GPU with the work of the device: 50 inferences;
 *                                    device-slow: one kernel takes longer
 *     report_traces empty FILE       nothing
 *     report_traces odd FILE         long and dirty texts wherever there is one
 *     report_traces markup FILE      the same with what would be code in a page
 *     report_traces large FILE N     N million slices of one model: inferences and operators
 *     report_traces runs FILE N      N million inferences on three threads
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "device_trace.h"
#include "ml_trace.h"
#include "profile_trace.h"

static void make_many(struct ml_trace *trace)
{
    for (uint64_t i = 1; i <= 30; i++) {
        char name[32];
        uint32_t model;

        snprintf(name, sizeof name, "model-%llu", (unsigned long long)i);
        model = ml_trace_model(trace, &(struct ml_trace_model){
                                          .name = name,
                                          .requested = "CUDAExecutionProvider,CPUExecutionProvider",
                                          .actual = "CPUExecutionProvider" });
        ml_trace_event(trace, 0, model, TRACE_CATEGORY_LOAD, 5 * ML_MS);
        ml_trace_event(trace, 0, model, TRACE_CATEGORY_INFERENCE, i * ML_MS);
    }
}

static void make_odd(struct ml_trace *trace, const char *pattern)
{
    static char text[6000];
    uint32_t model, op, stage;
    struct ml_trace_open open;

    for (size_t i = 0; i + 1 < sizeof text; i++)
        text[i] = pattern[i % strlen(pattern)];
    model = ml_trace_model(trace,
                           &(struct ml_trace_model){
                               .name = text, .runtime = text, .requested = text, .actual = text });
    ml_trace_model(trace, &(struct ml_trace_model){ .name = "" });
    ml_trace_property(trace, model, "placement.source", text);
    ml_trace_property(trace, model, "policy", text);
    ml_trace_property(trace, model, "options", text);
    ml_trace_property(trace, model, "requested_failed.\033[31m", text);
    ml_trace_property(trace, model, "nodes.\033[32m", "3");
    op = ml_trace_location(trace, TRACE_LOCATION_OP, model, text, text);
    stage = ml_trace_location(trace, TRACE_LOCATION_STAGE, 0, text, text);
    for (int i = 0; i < 20; i++) {
        open = ml_trace_enter(trace, 0, ml_trace_category(trace, model, TRACE_CATEGORY_INFERENCE));
        ml_trace_slice(trace, 0, op, ML_US);
        ml_trace_leave(trace, 0, open);
        ml_trace_slice(trace, 0, stage, ML_MS);
        ml_trace_event_with(trace, 0, model, TRACE_CATEGORY_LOAD, 900 * ML_MS,
                            &(struct ml_trace_details){ .key = i % 2 ? "status" : "specialization",
                                                        .text = i % 2 ? "error\033[31m" : "cold" });
    }
    trace_writer_instrument(trace->writer, text, TRACE_INSTRUMENT_UNAVAILABLE, text);
    trace_writer_loss(trace->writer, 0, text, UINT64_MAX);
    trace_writer_fact(trace->writer, "record.program", text);
    trace_writer_fact(trace->writer, "host.cpu", text);
    trace_writer_fact(trace->writer, "record.cpu_seconds", "1e300");
}

static void make_plain(struct ml_trace *trace)
{
    uint32_t zone = ml_trace_location(trace, TRACE_LOCATION_ZONE, 0, "decode", "main");

    for (int i = 0; i < 120; i++)
        ml_trace_slice(trace, 0, zone, ML_MS);
}

/* Inferences with nine operators each. */
static void make_large(struct ml_trace *trace, uint64_t slices)
{
    uint32_t model = ml_trace_model(trace, &(struct ml_trace_model){ .name = "large" });
    uint32_t conv = ml_trace_location(trace, TRACE_LOCATION_OP, model, "conv", "Conv");

    for (uint64_t i = 0; i < slices; i += 10) {
        struct ml_trace_open run =
            ml_trace_enter(trace, 0, ml_trace_category(trace, model, TRACE_CATEGORY_INFERENCE));

        for (int k = 0; k < 9; k++)
            ml_trace_slice(trace, 0, conv, 30 * ML_US + i % 997);
        ml_trace_leave(trace, 0, run);
    }
}

static void make_runs(struct ml_trace *trace, uint64_t runs)
{
    uint32_t model = ml_trace_model(trace, &(struct ml_trace_model){ .name = "runs" });

    ml_trace_event(trace, 0, model, TRACE_CATEGORY_LOAD, ML_MS);
    for (uint64_t i = 0; i < runs; i++) {
        uint32_t thread = (uint32_t)(i % 3);

        ml_trace_event(trace, thread, model, TRACE_CATEGORY_INFERENCE, 30 * ML_US + i * 7919 % 997);
        ml_trace_wait(trace, thread, i % 13);
    }
}

/* Inferences take 8 ms, of which the host gives work to the device for 1.2 ms. */
static void make_gpu(struct ml_trace *trace)
{
    uint32_t model = ml_trace_model(
        trace, &(struct ml_trace_model){
                   .name = "det", .requested = "CUDAExecutionProvider,CPUExecutionProvider" });
    uint32_t conv = ml_trace_location(trace, TRACE_LOCATION_OP, model, "conv", "Conv");
    uint32_t relu = ml_trace_location(trace, TRACE_LOCATION_OP, model, "relu", "Relu");
    uint32_t run = ml_trace_category(trace, model, TRACE_CATEGORY_INFERENCE);

    ml_trace_event(trace, 0, model, TRACE_CATEGORY_LOAD, 90 * ML_MS);
    for (uint64_t i = 0; i < 120; i++) {
        struct ml_trace_open open = ml_trace_enter(trace, 0, run);

        if (i % 16 == 0) {
            ml_trace_slice(trace, 0, conv, 800 * ML_US);
            ml_trace_slice(trace, 0, relu, 400 * ML_US);
            ml_trace_number(trace, 0, open, "ops", 1);
        }
        ml_trace_wait(trace, 0, 7 * ML_MS + i * 7919 % 997 * ML_US);
        ml_trace_leave(trace, 0, open);
        ml_trace_wait(trace, 0, 100 * ML_US);
    }
    for (uint64_t i = 0; i < 5; i++)
        ml_trace_resource(trace, 0, "rss bytes", i * 250 * ML_MS,
                          i ? 100e6 + 1e6 * (double)i : 20e6);
}

/* Inferences of some 300 us: a copy to the device beside its first kernel, an operator that runs on
 * the CPU in between, and a wait at the end. */
static void infer_on_device(struct device_trace *trace, const uint32_t streams[2],
                            const uint32_t locations[5], uint64_t conv_ns)
{
    struct ml_trace *ml = &trace->ml;
    struct ml_trace_open run = ml_trace_enter(ml, 0, locations[0]);
    struct ml_trace_open op;

    device_trace_launch(
        trace, 0, streams[1], 4 * ML_US,
        &(struct device_trace_work){ .kind = "memcpy HtoD", .ns = 30 * ML_US, .bytes = 602112 });
    op = ml_trace_enter(ml, 0, locations[1]);
    ml_trace_wait(ml, 0, 3 * ML_US);
    device_trace_launch(
        trace, 0, streams[0], 5 * ML_US,
        &(struct device_trace_work){ .name = "void cudnn::conv_kernel<float, 4>(Params)",
                                     .ns = conv_ns,
                                     .shape = "grid 98x1x1 block 256x1x1 registers 40" });
    device_trace_launch(trace, 0, streams[0], 5 * ML_US,
                        &(struct device_trace_work){ .name = "relu_kernel", .ns = 6 * ML_US });
    ml_trace_leave(ml, 0, op);
    op = ml_trace_enter(ml, 0, locations[2]);
    device_trace_launch(
        trace, 0, streams[0], 4 * ML_US,
        &(struct device_trace_work){ .kind = "memcpy DtoH", .ns = 8 * ML_US, .bytes = 40000 });
    device_trace_sync(trace, 0, streams[0], 1 * ML_US);
    ml_trace_leave(ml, 0, op);
    ml_trace_slice(ml, 0, locations[3], 50 * ML_US);
    op = ml_trace_enter(ml, 0, locations[4]);
    device_trace_launch(trace, 0, streams[0], 5 * ML_US,
                        &(struct device_trace_work){ .name = "gemm", .ns = 60 * ML_US });
    ml_trace_leave(ml, 0, op);
    device_trace_sync(trace, 0, streams[0], 1 * ML_US);
    ml_trace_leave(ml, 0, run);
    ml_trace_wait(ml, 0, 20 * ML_US);
}

static void make_device(struct device_trace *trace, uint64_t conv_ns)
{
    struct ml_trace *ml = &trace->ml;
    uint32_t model = ml_trace_model(
        ml, &(struct ml_trace_model){ .name = "det",
                                      .requested = "CUDAExecutionProvider,CPUExecutionProvider" });
    uint32_t streams[2] = { device_trace_stream(trace, 0, 1, 7),
                            device_trace_stream(trace, 0, 1, 13) };
    uint32_t locations[5] = {
        ml_trace_category(ml, model, TRACE_CATEGORY_INFERENCE),
        ml_trace_location(ml, TRACE_LOCATION_OP, model, "conv1", "Conv"),
        ml_trace_location(ml, TRACE_LOCATION_OP, model, "to_host", "MemcpyToHost"),
        ml_trace_location(ml, TRACE_LOCATION_OP, model, "unique_7", "Unique"),
        ml_trace_location(ml, TRACE_LOCATION_OP, model, "fc", "MatMul"),
    };

    ml_trace_event(ml, 0, model, TRACE_CATEGORY_LOAD, 2 * ML_MS);
    for (uint64_t i = 0; i < 50; i++)
        infer_on_device(trace, streams, locations, conv_ns + i * 7919 % 997);
}

int main(int argc, char **argv)
{
    struct ml_trace trace;

    if (argc < 3)
        return 2;
    if (strncmp(argv[1], "device", 6) == 0) {
        struct device_trace with_device;

        device_trace_begin(&with_device, argv[2]);
        make_device(&with_device, strcmp(argv[1], "device-slow") == 0 ? 140 * ML_US : 100 * ML_US);
        return trace_writer_close(with_device.ml.writer, NULL) == IFG_OK ? 0 : 1;
    }
    ml_trace_begin(&trace, argv[2]);
    if (strcmp(argv[1], "showcase") == 0)
        ml_trace_showcase(&trace);
    else if (strcmp(argv[1], "many") == 0)
        make_many(&trace);
    else if (strcmp(argv[1], "odd") == 0)
        make_odd(&trace, "\033[31m\n\t\302\245%s %d \342\202\254,");
    else if (strcmp(argv[1], "markup") == 0)
        make_odd(&trace, "</script></style><img src=x onerror=\"window.broken=1\">'`${1}&lt;<!--");
    else if (strcmp(argv[1], "plain") == 0)
        make_plain(&trace);
    else if (strcmp(argv[1], "profile") == 0)
        profile_trace_write(&trace);
    else if (strcmp(argv[1], "gpu") == 0)
        make_gpu(&trace);
    else if (strcmp(argv[1], "large") == 0 && argc > 3)
        make_large(&trace, strtoull(argv[3], NULL, 10) * 1000000);
    else if (strcmp(argv[1], "runs") == 0 && argc > 3)
        make_runs(&trace, strtoull(argv[3], NULL, 10) * 1000000);
    else if (strcmp(argv[1], "empty") != 0)
        return 2;
    return trace_writer_close(trace.writer, NULL) == IFG_OK ? 0 : 1;
}
