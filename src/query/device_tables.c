// SPDX-License-Identifier: Apache-2.0
/* The tables of devices: their streams, what they did, and the calls that asked for it. */
#include "query/query_internal.h"
#include "timeline/device.h"

static const struct timeline_devices *devices_of(struct query *query)
{
    const struct timeline_devices *devices;

    return timeline_devices_get(query->timeline, &devices, NULL) == IFG_OK ? devices : NULL;
}

static const char *const kinds[TIMELINE_WORK_KINDS] = {
    "other", "kernel", "memcpy", "memset", "sync", "graph", "memory",
};

/* ---- gpu_stream -------------------------------------------------------------------------- */

static size_t stream_count(struct query *query)
{
    const struct timeline_devices *devices = devices_of(query);

    return devices ? devices->stream_count : SIZE_MAX;
}

static const void *stream_row(struct query *query, size_t row)
{
    const struct timeline_devices *devices = devices_of(query);

    return devices ? &devices->streams[row] : NULL;
}

static void stream_name(struct query *query, const void *row, sqlite3_context *out)
{
    const struct timeline_device_stream *stream = row;

    query_result_text(out, query->timeline->threads[stream->thread].name);
}

static const struct query_column stream_columns[] = {
    { "id", "INTEGER", "row number", ROW_NUMBER },
    { "thread_id", "INTEGER", "row of thread that has its slices",
      OF(GET_UINT, timeline_device_stream, thread) },
    { "process", "INTEGER", "process number", OF(GET_PROCESS, timeline_device_stream, process) },
    { "device", "INTEGER", "number of the device in the process; NULL if unknown",
      OF_OR_NULL(GET_UINT, timeline_device_stream, device, NULL_NONE) },
    { "context", "INTEGER", "number of its context; NULL if unknown",
      OF_OR_NULL(GET_UINT, timeline_device_stream, context, NULL_NONE) },
    { "stream", "INTEGER", "its number in the context; NULL if unknown",
      OF_OR_NULL(GET_UINT, timeline_device_stream, stream, NULL_NONE) },
    { "name", "TEXT", "its name", BY(stream_name) },
    { "api", "TEXT", "what drives the device: CUDA, HIP",
      OF(GET_TEXT, timeline_device_stream, api) },
    { "device_name", "TEXT", "name of the device", OF(GET_TEXT, timeline_device_stream, name) },
    { "device_id", "TEXT", "what identifies the device in every process",
      OF(GET_TEXT, timeline_device_stream, device_id) },
    { "slices", "INTEGER", "how many rows of gpu_slice it has",
      OF(GET_UINT, timeline_device_stream, work_count) },
};

const struct row_table gpu_stream_table = {
    .table = { "gpu_stream", "streams of devices", COLUMNS(stream_columns) },
    .count = stream_count,
    .row = stream_row,
};

/* ---- gpu_call ---------------------------------------------------------------------------- */

static void put_call(struct query *query, const struct timeline_device_call *call,
                     sqlite3_context *out, size_t slice)
{
    (void)query;
    if (call && slice != SIZE_MAX)
        sqlite3_result_int64(out, query_clamp(slice));
}

static void put_slice_name(struct query *query, sqlite3_context *out, size_t slice)
{
    if (slice != SIZE_MAX)
        query_result_text(out, timeline_slice_name(query->timeline, slice));
}

static void put_model(struct query *query, sqlite3_context *out, uint32_t model)
{
    if (model != TIMELINE_NONE)
        query_result_text(out, query->timeline->models[model].name);
}

static size_t call_count(struct query *query)
{
    const struct timeline_devices *devices = devices_of(query);

    return devices ? devices->call_count : SIZE_MAX;
}

static const void *call_row(struct query *query, size_t row)
{
    const struct timeline_devices *devices = devices_of(query);

    return devices ? &devices->calls[row] : NULL;
}

static void call_duration(struct query *query, const void *row, sqlite3_context *out)
{
    const struct timeline_device_call *call = row;

    (void)query;
    query_result_uint(out, call->end_ns - call->start_ns);
}

static void call_operator(struct query *query, const void *row, sqlite3_context *out)
{
    put_slice_name(query, out, ((const struct timeline_device_call *)row)->op);
}

static void call_zone(struct query *query, const void *row, sqlite3_context *out)
{
    put_slice_name(query, out, ((const struct timeline_device_call *)row)->zone);
}

static void call_model(struct query *query, const void *row, sqlite3_context *out)
{
    put_model(query, out, ((const struct timeline_device_call *)row)->model);
}

static const struct query_column call_columns[] = {
    { "id", "INTEGER", "id of its slice", OF_SORTED(GET_UINT, timeline_device_call, slice) },
    { "process", "INTEGER", "process number",
      OF(GET_THREAD_PROCESS, timeline_device_call, thread) },
    { "thread", "INTEGER", "thread number", OF(GET_THREAD, timeline_device_call, thread) },
    { "kind", "TEXT", "what it asks for: as in gpu_slice",
      OF_NAMES(kinds, timeline_device_call, kind) },
    { "name", "TEXT", "function of the driver",
      OF(GET_LOCATION_NAME, timeline_device_call, location) },
    { "start_ns", "INTEGER", "start", OF(GET_TIME, timeline_device_call, start_ns) },
    { "dur_ns", "INTEGER", "duration", BY(call_duration) },
    { "correlation", "INTEGER", "number that its work has, too; NULL if none",
      OF_OR_NULL(GET_COUNT, timeline_device_call, correlation, NULL_ZERO) },
    { "slices", "INTEGER", "how many kernels, copies and the like it led to",
      OF(GET_UINT, timeline_device_call, work_count) },
    { "busy_ns", "INTEGER", "sum of their durations",
      OF(GET_COUNT, timeline_device_call, busy_ns) },
    { "inference", "INTEGER", "id of the inference around, or NULL",
      OF_OR_NULL(GET_UINT, timeline_device_call, inference, NULL_NONE) },
    { "operator_slice", "INTEGER", "id of the operator around, or NULL",
      OF_OR_NULL(GET_UINT, timeline_device_call, op, NULL_NONE) },
    { "operator", "TEXT", "its name", BY(call_operator) },
    { "zone_slice", "INTEGER", "id of the innermost zone or stage around, or NULL",
      OF_OR_NULL(GET_UINT, timeline_device_call, zone, NULL_NONE) },
    { "zone", "TEXT", "its name", BY(call_zone) },
    { "model", "TEXT", "model whose inference, load or operator it is in, or NULL",
      BY(call_model) },
};

const struct row_table gpu_call_table = {
    .table = { "gpu_call", "calls of a device's driver: launches, copies, waits",
               COLUMNS(call_columns) },
    .count = call_count,
    .row = call_row,
};

/* ---- gpu_slice --------------------------------------------------------------------------- */

static size_t work_count(struct query *query)
{
    const struct timeline_devices *devices = devices_of(query);

    return devices ? devices->work_count : SIZE_MAX;
}

static const void *work_row(struct query *query, size_t row)
{
    const struct timeline_devices *devices = devices_of(query);

    return devices ? &devices->works[row] : NULL;
}

static const struct timeline_device_call *call_of(struct query *query, const void *row)
{
    const struct timeline_devices *devices = devices_of(query);

    return devices ? timeline_call_of(devices, row) : NULL;
}

static const struct timeline_device_stream *stream_of(struct query *query, const void *row)
{
    return &devices_of(query)->streams[((const struct timeline_device_work *)row)->stream];
}

static void put_known(sqlite3_context *out, uint32_t number)
{
    if (number != TIMELINE_NONE)
        query_result_uint(out, number);
}

static void work_process(struct query *query, const void *row, sqlite3_context *out)
{
    query_result_uint(out, query_pid(query, stream_of(query, row)->process));
}

static void work_device(struct query *query, const void *row, sqlite3_context *out)
{
    put_known(out, stream_of(query, row)->device);
}

static void work_context(struct query *query, const void *row, sqlite3_context *out)
{
    put_known(out, stream_of(query, row)->context);
}

static void work_stream(struct query *query, const void *row, sqlite3_context *out)
{
    put_known(out, stream_of(query, row)->stream);
}

static void work_duration(struct query *query, const void *row, sqlite3_context *out)
{
    const struct timeline_device_work *work = row;

    (void)query;
    query_result_uint(out, work->end_ns - work->start_ns);
}

static void work_copy_kind(struct query *query, const void *row, sqlite3_context *out)
{
    query_result_text(out, timeline_copy_kind(query->timeline, row));
}

static void work_shape(struct query *query, const void *row, sqlite3_context *out)
{
    (void)query;
    query_result_text(out, ((const struct timeline_device_work *)row)->shape);
}

static void work_graph(struct query *query, const void *row, sqlite3_context *out)
{
    uint64_t graph;
    uint64_t node;

    if (timeline_work_graph(query->timeline, row, &graph, &node))
        query_result_uint(out, graph);
}

static void work_graph_node(struct query *query, const void *row, sqlite3_context *out)
{
    uint64_t graph;
    uint64_t node;

    if (timeline_work_graph(query->timeline, row, &graph, &node) && node)
        query_result_uint(out, node);
}

static void work_queued(struct query *query, const void *row, sqlite3_context *out)
{
    uint64_t queued;
    uint64_t submitted;

    if (timeline_work_queued(query->timeline, row, &queued, &submitted))
        query_result_time(out, query,
                          ((const struct timeline_device_work *)row)->start_ns - queued);
}

static void work_submitted(struct query *query, const void *row, sqlite3_context *out)
{
    uint64_t queued;
    uint64_t submitted;

    if (timeline_work_queued(query->timeline, row, &queued, &submitted))
        query_result_time(out, query,
                          ((const struct timeline_device_work *)row)->start_ns - submitted);
}

static void work_launch(struct query *query, const void *row, sqlite3_context *out)
{
    const struct timeline_device_call *call = call_of(query, row);

    put_call(query, call, out, call ? call->slice : SIZE_MAX);
}

static void work_launch_name(struct query *query, const void *row, sqlite3_context *out)
{
    const struct timeline_device_call *call = call_of(query, row);

    if (call)
        query_result_text(out, query_location_name(query, call->location));
}

static void work_launch_thread(struct query *query, const void *row, sqlite3_context *out)
{
    const struct timeline_device_call *call = call_of(query, row);

    if (call)
        query_result_uint(out, query_thread(query, call->thread)->tid);
}

static void work_launch_start(struct query *query, const void *row, sqlite3_context *out)
{
    const struct timeline_device_call *call = call_of(query, row);

    if (call)
        query_result_time(out, query, call->start_ns);
}

static void work_launch_duration(struct query *query, const void *row, sqlite3_context *out)
{
    const struct timeline_device_call *call = call_of(query, row);

    if (call)
        query_result_uint(out, call->end_ns - call->start_ns);
}

static void work_inference(struct query *query, const void *row, sqlite3_context *out)
{
    const struct timeline_device_call *call = call_of(query, row);

    put_call(query, call, out, call ? call->inference : SIZE_MAX);
}

static void work_operator_slice(struct query *query, const void *row, sqlite3_context *out)
{
    const struct timeline_device_call *call = call_of(query, row);

    put_call(query, call, out, call ? call->op : SIZE_MAX);
}

static void work_operator(struct query *query, const void *row, sqlite3_context *out)
{
    const struct timeline_device_call *call = call_of(query, row);

    if (call)
        put_slice_name(query, out, call->op);
}

static void work_zone_slice(struct query *query, const void *row, sqlite3_context *out)
{
    const struct timeline_device_call *call = call_of(query, row);

    put_call(query, call, out, call ? call->zone : SIZE_MAX);
}

static void work_zone(struct query *query, const void *row, sqlite3_context *out)
{
    const struct timeline_device_call *call = call_of(query, row);

    if (call)
        put_slice_name(query, out, call->zone);
}

static void work_model(struct query *query, const void *row, sqlite3_context *out)
{
    const struct timeline_device_call *call = call_of(query, row);

    if (call)
        put_model(query, out, call->model);
}

static const struct query_column work_columns[] = {
    { "id", "INTEGER", "id of its slice", OF(GET_UINT, timeline_device_work, slice) },
    { "process", "INTEGER", "process number", BY(work_process) },
    { "device", "INTEGER", "number of the device in the process; NULL if unknown",
      BY(work_device) },
    { "context", "INTEGER", "number of the context; NULL if unknown", BY(work_context) },
    { "stream", "INTEGER", "number of the stream; NULL if unknown", BY(work_stream) },
    { "kind", "TEXT", "kernel, memcpy, memset, sync, graph, memory, other",
      OF_NAMES(kinds, timeline_device_work, kind) },
    { "name", "TEXT", "name of the kernel, or what was done",
      OF(GET_LOCATION_NAME, timeline_device_work, location) },
    { "start_ns", "INTEGER", "when the device began with it",
      OF_SORTED(GET_TIME, timeline_device_work, start_ns) },
    { "dur_ns", "INTEGER", "how long the device worked at it", BY(work_duration) },
    { "bytes", "INTEGER", "copied, set or allocated; NULL if unknown",
      OF_OR_NULL(GET_COUNT, timeline_device_work, bytes, NULL_NONE) },
    { "copy_kind", "TEXT", "of a memcpy: HtoD, DtoH, DtoD ...", BY(work_copy_kind) },
    { "shape", "TEXT", "of a kernel: grid, block, registers, shared memory; NULL if unknown",
      BY(work_shape) },
    { "correlation", "INTEGER", "number that its call has, too; NULL if none",
      OF_OR_NULL(GET_COUNT, timeline_device_work, correlation, NULL_ZERO) },
    { "graph", "INTEGER", "number of the graph that it is part of, or NULL", BY(work_graph) },
    { "graph_node", "INTEGER", "number of its node there; NULL if unknown", BY(work_graph_node) },
    { "queued_ns", "INTEGER", "when it was queued; NULL if unknown", BY(work_queued) },
    { "submitted_ns", "INTEGER", "when the device had it; NULL if unknown", BY(work_submitted) },
    { "launch_slice", "INTEGER", "id of the call that launched it; NULL if that was not seen",
      BY(work_launch) },
    { "launch_name", "TEXT", "function of the driver", BY(work_launch_name) },
    { "launch_thread", "INTEGER", "number of the thread that called it", BY(work_launch_thread) },
    { "launch_start_ns", "INTEGER", "when the call began", BY(work_launch_start) },
    { "launch_dur_ns", "INTEGER", "how long the call took", BY(work_launch_duration) },
    { "inference", "INTEGER", "id of the inference that the call was made in, or NULL",
      BY(work_inference) },
    { "operator_slice", "INTEGER", "id of the operator that the call was made in, or NULL",
      BY(work_operator_slice) },
    { "operator", "TEXT", "its name", BY(work_operator) },
    { "zone_slice", "INTEGER", "id of the innermost zone or stage around the call, or NULL",
      BY(work_zone_slice) },
    { "zone", "TEXT", "its name", BY(work_zone) },
    { "model", "TEXT", "model whose inference, load or operator it belongs to, or NULL",
      BY(work_model) },
};

const struct row_table gpu_slice_table = {
    .table = { "gpu_slice", "what devices did: kernels, copies, sets", COLUMNS(work_columns) },
    .count = work_count,
    .row = work_row,
};
