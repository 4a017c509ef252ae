// SPDX-License-Identifier: Apache-2.0
/* Small traces of models: see ml_trace.h. */
#include "ml_trace.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/bytes.h"

#define CATEGORY_LOCATIONS 8u /* model m, category c is location 8 m + c */
#define FIRST_RESOURCE     100000u
#define FIRST_LOCATION     (CATEGORY_LOCATIONS * (ML_TRACE_MODELS + 1))

static uint32_t process_of(uint32_t thread)
{
    return thread < 4 ? 0 : 1;
}

void ml_trace_begin(struct ml_trace *trace, const char *path)
{
    const char *directory = getenv("TMPDIR");

    memset(trace, 0, sizeof *trace);
    if (path)
        snprintf(trace->path, sizeof trace->path, "%s", path);
    else
        snprintf(trace->path, sizeof trace->path, "%s/ifg-ml-trace-%ld.ifg",
                 directory && *directory ? directory : "/tmp", (long)getpid());
    if (trace_writer_create(trace->path, true, &trace->writer, NULL))
        abort();
    trace_writer_clock(trace->writer, 0, TRACE_CLOCK_MONOTONIC, 1000000000, "monotonic");
    for (uint32_t p = 0; p < ML_TRACE_PROCESSES; p++)
        trace_writer_process(trace->writer, &(struct trace_process){
                                                .index = p,
                                                .pid = 4711 + p,
                                                .program = "/usr/bin/app",
                                                .start_ticks = ML_TRACE_START,
                                            });
    for (uint32_t t = 0; t < ML_TRACE_THREADS; t++) {
        trace_writer_thread(trace->writer, t, process_of(t), 5000 + t, "worker");
        trace->streams[t] = trace_stream_create(trace->writer, t);
        trace->now[t] = ML_TRACE_START;
        if (!trace->streams[t])
            abort();
    }
    trace_writer_fact(trace->writer, "record.program", "app");
    trace_writer_fact(trace->writer, "host.cpus", "4");
    trace_writer_fact(trace->writer, "host.cpu", "Test CPU");
    trace_writer_fact(trace->writer, "host.load", "0.10 0.10 0.10 1/99 100");
    trace->locations = FIRST_LOCATION;
}

bool ml_trace_load(struct ml_trace *trace)
{
    bool good = trace_writer_close(trace->writer, NULL) == IFG_OK &&
                trace_reader_open(trace->path, &trace->reader, NULL) == IFG_OK &&
                timeline_create(trace->reader, &(struct timeline_options){ 1 }, &trace->timeline,
                                NULL) == IFG_OK;

    trace->writer = NULL;
    return good;
}

void ml_trace_end(struct ml_trace *trace)
{
    if (trace->writer)
        trace_writer_close(trace->writer, NULL);
    timeline_destroy(trace->timeline);
    trace_reader_close(trace->reader);
    unlink(trace->path);
    memset(trace, 0, sizeof *trace);
}

uint32_t ml_trace_model(struct ml_trace *trace, const struct ml_trace_model *model)
{
    const char *requested = model->requested ? model->requested : "CPUExecutionProvider";
    uint32_t id = ++trace->models;

    if (id >= ML_TRACE_MODELS)
        abort();
    trace->process_of[id] = model->process;
    trace_writer_model(trace->writer,
                       &(struct trace_model){
                           .process = model->process,
                           .id = id,
                           .name = model->name,
                           .path = model->path ? model->path : "/models/x.onnx",
                           .content_id = "0123456789abcdef-00000000",
                           .runtime = model->runtime ? model->runtime : "ONNX Runtime 1.30.0",
                           .requested_devices = requested,
                           .actual_devices = model->actual ? model->actual : requested,
                       });
    for (uint32_t c = TRACE_CATEGORY_PREPARE_EP; c < TRACE_CATEGORIES; c++)
        trace_writer_location(trace->writer, &(struct trace_location){
                                                 .process = model->process,
                                                 .id = CATEGORY_LOCATIONS * id + c,
                                                 .kind = TRACE_LOCATION_ML,
                                                 .category = (enum trace_category)c,
                                                 .model = id,
                                                 .function = "main",
                                             });
    return id;
}

void ml_trace_property(struct ml_trace *trace, uint32_t model, const char *key, const char *value)
{
    trace_writer_model_property(trace->writer, trace->process_of[model], model, key, value);
}

uint32_t ml_trace_category(const struct ml_trace *trace, uint32_t model,
                           enum trace_category category)
{
    (void)trace;
    return CATEGORY_LOCATIONS * model + (uint32_t)category;
}

uint32_t ml_trace_location(struct ml_trace *trace, enum trace_location_kind kind, uint32_t model,
                           const char *name, const char *function)
{
    uint32_t id = trace->locations++;

    for (uint32_t p = 0; p < ML_TRACE_PROCESSES; p++)
        trace_writer_location(trace->writer, &(struct trace_location){ .process = p,
                                                                       .id = id,
                                                                       .kind = kind,
                                                                       .model = model,
                                                                       .name = name,
                                                                       .function = function });
    return id;
}

struct ml_trace_open ml_trace_enter(struct ml_trace *trace, uint32_t thread, uint32_t location)
{
    return (struct ml_trace_open){ trace->now[thread], location };
}

void ml_trace_text(struct ml_trace *trace, uint32_t thread, struct ml_trace_open open,
                   const char *key, const char *text)
{
    trace_stream_attribute(trace->streams[thread], open.start, open.location, TRACE_VALUE_STRING,
                           key, strlen(key), text, strlen(text));
}

void ml_trace_number(struct ml_trace *trace, uint32_t thread, struct ml_trace_open open,
                     const char *key, uint64_t value)
{
    trace_stream_attribute(trace->streams[thread], open.start, open.location, TRACE_VALUE_UNSIGNED,
                           key, strlen(key), &value, sizeof value);
}

void ml_trace_leave(struct ml_trace *trace, uint32_t thread, struct ml_trace_open open)
{
    trace_stream_zone(trace->streams[thread], open.start, trace->now[thread] - open.start,
                      open.location);
}

void ml_trace_slice(struct ml_trace *trace, uint32_t thread, uint32_t location, uint64_t ns)
{
    struct ml_trace_open open = ml_trace_enter(trace, thread, location);

    ml_trace_wait(trace, thread, ns);
    ml_trace_leave(trace, thread, open);
}

void ml_trace_wait(struct ml_trace *trace, uint32_t thread, uint64_t ns)
{
    trace->now[thread] += ns;
}

void ml_trace_event(struct ml_trace *trace, uint32_t thread, uint32_t model,
                    enum trace_category category, uint64_t ns)
{
    ml_trace_slice(trace, thread, ml_trace_category(trace, model, category), ns);
}

void ml_trace_event_with(struct ml_trace *trace, uint32_t thread, uint32_t model,
                         enum trace_category category, uint64_t ns,
                         const struct ml_trace_details *details)
{
    struct ml_trace_open open =
        ml_trace_enter(trace, thread, ml_trace_category(trace, model, category));

    if (details->session)
        ml_trace_number(trace, thread, open, "session", details->session);
    if (details->batch)
        ml_trace_number(trace, thread, open, "batch", details->batch);
    if (details->ops)
        ml_trace_number(trace, thread, open, "ops", 1);
    if (details->key)
        ml_trace_text(trace, thread, open, details->key, details->text);
    ml_trace_wait(trace, thread, ns);
    ml_trace_leave(trace, thread, open);
}

void ml_trace_async(struct ml_trace *trace, uint32_t thread, uint32_t model, uint64_t id,
                    uint64_t ns)
{
    uint32_t location = ml_trace_category(trace, model, TRACE_CATEGORY_INFERENCE);
    uint8_t payload[IFG_VARINT_MAX];
    size_t bytes = (size_t)(ifg_varint_write(payload, id) - payload);

    trace_stream_event(trace->streams[thread], TRACE_EVENT_ASYNC_BEGIN, trace->now[thread],
                       location, payload, bytes);
    trace_stream_event(trace->streams[thread], TRACE_EVENT_ASYNC_END, trace->now[thread] + ns,
                       location, payload, bytes);
}

/* One request of the detector: loaded again each time, with stages. */
void ml_trace_resource(struct ml_trace *trace, uint32_t process, const char *name, uint64_t ns,
                       double value)
{
    uint32_t id = 0;

    if (!trace->resources[process]) {
        if (process == ML_TRACE_MACHINE)
            trace_writer_process(trace->writer,
                                 &(struct trace_process){ .index = process,
                                                          .program = "system",
                                                          .start_ticks = ML_TRACE_START });
        trace_writer_thread(trace->writer, ML_TRACE_THREADS + process, process, 0, "resources");
        trace->resources[process] = trace_stream_create(trace->writer, ML_TRACE_THREADS + process);
    }
    while (id < trace->resource_count && strcmp(trace->resource_names[id], name) != 0)
        id++;
    if (id == ML_TRACE_RESOURCES || !trace->resources[process])
        abort();
    if (id == trace->resource_count) {
        snprintf(trace->resource_names[trace->resource_count++], 48, "%s", name);
        for (uint32_t p = 0; p <= ML_TRACE_MACHINE; p++)
            trace_writer_location(trace->writer,
                                  &(struct trace_location){ .process = p,
                                                            .id = FIRST_RESOURCE + id,
                                                            .kind = TRACE_LOCATION_COUNTER,
                                                            .name = name });
    }
    trace_stream_event(trace->resources[process], TRACE_EVENT_COUNTER, ML_TRACE_START + ns,
                       FIRST_RESOURCE + id, &value, sizeof value);
}

static void show_request(struct ml_trace *trace, uint32_t model, const uint32_t stages[3],
                         uint32_t number)
{
    struct ml_trace_open open;

    if (number % 50 == 0) {
        open = ml_trace_enter(trace, 0, ml_trace_category(trace, model, TRACE_CATEGORY_LOAD));
        ml_trace_number(trace, 0, open, "session", number / 50 + 1);
        ml_trace_text(trace, 0, open, "specialization", "cold");
        ml_trace_wait(trace, 0, 20 * ML_MS);
        ml_trace_event(trace, 0, model, TRACE_CATEGORY_SPECIALIZATION, 60 * ML_MS);
        ml_trace_wait(trace, 0, 9 * ML_MS);
        ml_trace_leave(trace, 0, open);
    }
    for (int s = 0; s < 3; s++) {
        open = ml_trace_enter(trace, 0, stages[s]);
        ml_trace_number(trace, 0, open, "request", number + 1);
        if (s == 1) {
            ml_trace_event(trace, 0, model, TRACE_CATEGORY_SETUP, 4 * ML_US);
            ml_trace_event_with(trace, 0, model, TRACE_CATEGORY_INFERENCE,
                                number % 50 ? 15 * ML_MS + number * 100 : 31 * ML_MS,
                                &(struct ml_trace_details){ .session = number / 50 + 1,
                                                            .batch = 1,
                                                            .key = "shapes",
                                                            .text = "x:1x3x320x320" });
        } else {
            ml_trace_wait(trace, 0, 2 * ML_MS);
        }
        ml_trace_leave(trace, 0, open);
    }
}

/* An inference with operators inside. */
static void show_operators(struct ml_trace *trace, uint32_t model, const uint32_t operators[3])
{
    struct ml_trace_open open =
        ml_trace_enter(trace, 0, ml_trace_category(trace, model, TRACE_CATEGORY_INFERENCE));

    ml_trace_number(trace, 0, open, "ops", 1);
    for (int i = 0; i < 30; i++)
        ml_trace_slice(trace, 0, operators[i % 3], (uint64_t)(i % 3 == 0 ? 400 : 90) * ML_US);
    ml_trace_leave(trace, 0, open);
}

void ml_trace_showcase(struct ml_trace *trace)
{
    uint32_t det = ml_trace_model(
        trace, &(struct ml_trace_model){ .name = "det",
                                         .requested = "CUDAExecutionProvider,CPUExecutionProvider",
                                         .actual = "CPUExecutionProvider" });
    uint32_t cls = ml_trace_model(trace, &(struct ml_trace_model){ .name = "cls" });
    uint32_t other = ml_trace_model(trace, &(struct ml_trace_model){ .name = "rec", .process = 1 });
    uint32_t stages[3] = { ml_trace_location(trace, TRACE_LOCATION_STAGE, 0, "pre", ""),
                           ml_trace_location(trace, TRACE_LOCATION_STAGE, 0, "inference", ""),
                           ml_trace_location(trace, TRACE_LOCATION_STAGE, 0, "post", "") };
    uint32_t operators[3] = { ml_trace_location(trace, TRACE_LOCATION_OP, cls, "conv1", "Conv"),
                              ml_trace_location(trace, TRACE_LOCATION_OP, cls, "add1", "Add"),
                              ml_trace_location(trace, TRACE_LOCATION_OP, cls, "relu1", "Relu") };

    ml_trace_property(trace, det, "nodes.CUDAExecutionProvider", "0");
    ml_trace_property(trace, det, "nodes.CPUExecutionProvider", "400");
    ml_trace_property(trace, det, "placement.source", "assignment info");
    ml_trace_property(trace, det, "requested_failed.CUDAExecutionProvider",
                      "CUDA execution provider is not enabled in this build.");
    ml_trace_property(trace, det, "file_bytes", "4745517");
    ml_trace_property(trace, cls, "nodes.CPUExecutionProvider", "57");
    ml_trace_wait(trace, 0, 5 * ML_MS);
    for (uint32_t i = 0; i < 200; i++)
        show_request(trace, det, stages, i);
    ml_trace_event(trace, 0, cls, TRACE_CATEGORY_LOAD, 24 * ML_MS);
    for (uint32_t i = 0; i < 64; i++) {
        if (i % 16 == 15)
            show_operators(trace, cls, operators);
        else
            ml_trace_event(trace, 0, cls, TRACE_CATEGORY_INFERENCE, 5 * ML_MS);
    }
    ml_trace_event(trace, 4, other, TRACE_CATEGORY_LOAD, 30 * ML_MS);
    ml_trace_event(trace, 4, other, TRACE_CATEGORY_INFERENCE, 9 * ML_MS);
    ml_trace_event_with(
        trace, 4, other, TRACE_CATEGORY_INFERENCE, 1 * ML_MS,
        &(struct ml_trace_details){ .key = "status", .text = "error: bad \033[31m input" });
    for (uint32_t i = 0; i < 6; i++)
        ml_trace_async(trace, 4, other, i, 8 * ML_MS);
    trace_writer_fact(trace->writer, "record.cpu_seconds", "0.03");
    trace_writer_fact(trace->writer, "host.virtual", "yes");
    trace_writer_instrument(trace->writer, "ONNX Runtime 1.30.0", TRACE_INSTRUMENT_ON,
                            "launch hooks");
    trace_writer_instrument(trace->writer, "GPU", TRACE_INSTRUMENT_UNAVAILABLE, "no driver");
    trace_writer_loss(trace->writer, 0, "definitions that found the log full", 3);
}
