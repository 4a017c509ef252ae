// SPDX-License-Identifier: Apache-2.0
/* Who and what was recorded: processes, threads, models, functions, locations, ML events,
 * attributes. */
#include "query/query_internal.h"

#include <string.h>

#include "base/json.h"
#include "trace/keys.h"

#define DETAIL_MAX (4u << 20)

/* ---- process, thread --------------------------------------------------------------------- */

static const char *const fates[] = { NULL, "exited", "killed", "exec", "running" };

static const struct query_column process_columns[] = {
    { "id", "INTEGER", "row number", ROW_NUMBER },
    { "pid", "INTEGER", "process number; a process that replaced itself by exec has two rows",
      OF(GET_UINT, timeline_process, pid) },
    { "parent_pid", "INTEGER", "NULL if unknown",
      OF_OR_NULL(GET_UINT, timeline_process, parent_pid, NULL_ZERO) },
    { "name", "TEXT", "file name of the program", OF(GET_TEXT, timeline_process, name) },
    { "program", "TEXT", "path of the program", OF(GET_TEXT, timeline_process, program) },
    { "arguments", "TEXT", "command line", OF(GET_TEXT, timeline_process, arguments) },
    { "start_ns", "INTEGER", "when the library started in it",
      OF(GET_TIME, timeline_process, start_ns) },
    { "end_ns", "INTEGER", "NULL if unknown",
      OF_OR_NULL(GET_TIME, timeline_process, end_ns, NULL_ZERO) },
    { "fate", "TEXT", "exited, killed, exec, running, or NULL",
      OF_NAMES(fates, timeline_process, fate) },
    { "fate_code", "INTEGER", "exit status or signal", OF(GET_UINT, timeline_process, fate_code) },
    { "host", "TEXT", "machine that it ran on, or NULL", OF(GET_TEXT, timeline_process, host) },
};

const struct row_table process_table = {
    .table = { "process", "recorded processes", COLUMNS(process_columns) },
    ROWS_OF(timeline, processes, process_count),
};

static void thread_clock(struct query *query, const void *row, sqlite3_context *out)
{
    const struct timeline_thread *thread = row;

    query_result_uint(
        out, trace_thread_clock(query_trace(query), (uint32_t)(thread - query->timeline->threads)));
}

static const struct query_column thread_columns[] = {
    { "id", "INTEGER", "row number", ROW_NUMBER },
    { "process", "INTEGER", "process number", OF(GET_PROCESS, timeline_thread, process) },
    { "tid", "INTEGER", "thread number; column thread of other tables",
      OF(GET_UINT, timeline_thread, tid) },
    { "name", "TEXT", "name, or NULL", OF(GET_TEXT, timeline_thread, name) },
    { "slices", "INTEGER", "how many slices it has", OF(GET_UINT, timeline_thread, slice_count) },
    { "dropped", "INTEGER", "events lost because its ring was full",
      OF(GET_UINT, timeline_thread, dropped) },
    { "clock", "INTEGER", "clock that its times were taken from", BY(thread_clock) },
};

const struct row_table thread_table = {
    .table = { "thread", "recorded threads", COLUMNS(thread_columns) },
    ROWS_OF(timeline, threads, thread_count),
};

/* ---- model, model_property, function, location ------------------------------------------- */

static const struct query_column model_columns[] = {
    { "id", "INTEGER", "row number", ROW_NUMBER },
    { "process", "INTEGER", "process number", OF(GET_PROCESS, timeline_model, process) },
    { "name", "TEXT", "name; column model of other tables", OF(GET_TEXT, timeline_model, name) },
    { "path", "TEXT", "file it came from", OF(GET_TEXT, timeline_model, path) },
    { "content_id", "TEXT", "what identifies its bytes", OF(GET_TEXT, timeline_model, content_id) },
    { "runtime", "TEXT", "what runs it", OF(GET_TEXT, timeline_model, runtime) },
    { "requested_devices", "TEXT", "asked for, comma between",
      OF(GET_TEXT, timeline_model, requested_devices) },
    { "actual_devices", "TEXT", "what it got", OF(GET_TEXT, timeline_model, actual_devices) },
};

const struct row_table model_table = {
    .table = { "model", "machine-learning models", COLUMNS(model_columns) },
    ROWS_OF(timeline, models, model_count),
};

static void property_model(struct query *query, const void *row, sqlite3_context *out)
{
    const struct trace_property_entry *property = row;
    const struct trace_model *model =
        trace_find_model(query_trace(query), property->process, property->model);

    query_result_text(out, model ? model->name : NULL);
}

static const struct query_column property_columns[] = {
    { "process", "INTEGER", "process number", OF(GET_PROCESS, trace_property_entry, process) },
    { "model", "TEXT", "name of the model", BY(property_model) },
    { "key", "TEXT", "for example nodes.CUDA", OF(GET_TEXT, trace_property_entry, key) },
    { "value", "TEXT", "the latest value", OF(GET_TEXT, trace_property_entry, value) },
};

const struct row_table property_table = {
    .table = { "model_property", "what was learned of a model later", COLUMNS(property_columns) },
    .of_trace = true,
    ROWS_OF(trace_tables, properties, property_count),
};

static const struct timeline_model *model_of_function(const struct query *query, const void *row)
{
    uint32_t model = ((const struct timeline_model_function *)row)->model;

    return model < query->timeline->model_count ? &query->timeline->models[model] : NULL;
}

static void function_process(struct query *query, const void *row, sqlite3_context *out)
{
    const struct timeline_model *model = model_of_function(query, row);

    if (model)
        query_result_uint(out, query_pid(query, model->process));
}

static void function_model(struct query *query, const void *row, sqlite3_context *out)
{
    const struct timeline_model *model = model_of_function(query, row);

    query_result_text(out, model ? model->name : NULL);
}

#define EVENTS(category) OF(GET_UINT, timeline_model_function, events[TRACE_CATEGORY_##category])

static const struct query_column function_columns[] = {
    { "id", "INTEGER", "row number", ROW_NUMBER },
    { "process", "INTEGER", "process number", BY(function_process) },
    { "model", "TEXT", "name of the model", BY(function_model) },
    { "name", "TEXT", "name of the function; column function of other tables",
      OF(GET_TEXT, timeline_model_function, name) },
    { "prepare_ep", "INTEGER", "how many events of this category", EVENTS(PREPARE_EP) },
    { "specialization", "INTEGER", "same", EVENTS(SPECIALIZATION) },
    { "load", "INTEGER", "same", EVENTS(LOAD) },
    { "setup", "INTEGER", "same", EVENTS(SETUP) },
    { "inference", "INTEGER", "same", EVENTS(INFERENCE) },
};

const struct row_table function_table = {
    .table = { "function", "functions of models", COLUMNS(function_columns) },
    ROWS_OF(timeline, functions, function_count),
};

static uint32_t location_index(const struct query *query, const void *row)
{
    return (uint32_t)((const struct timeline_location *)row - query->timeline->locations);
}

static void location_kind(struct query *query, const void *row, sqlite3_context *out)
{
    (void)query;
    query_result_text(out, timeline_kind_name(((const struct timeline_location *)row)->kind));
}

static void location_category(struct query *query, const void *row, sqlite3_context *out)
{
    (void)query;
    query_result_text(out,
                      timeline_category_name(((const struct timeline_location *)row)->category));
}

static void location_model(struct query *query, const void *row, sqlite3_context *out)
{
    query_result_text(out, query_location_model(query, location_index(query, row)));
}

static void location_color(struct query *query, const void *row, sqlite3_context *out)
{
    uint32_t color = ((const struct timeline_location *)row)->color;

    (void)query;
    if (color)
        query_result_uint(out, color & 0xffffff);
}

static void location_slices(struct query *query, const void *row, sqlite3_context *out)
{
    uint32_t location = location_index(query, row);

    if (query_need_locations(query))
        query_result_uint(out,
                          query->location_first[location + 1] - query->location_first[location]);
    else
        sqlite3_result_error_nomem(out);
}

static const struct query_column location_columns[] = {
    { "id", "INTEGER", "row number; column location of other tables", ROW_NUMBER },
    { "process", "INTEGER", "process number", OF(GET_PROCESS, timeline_location, process) },
    { "kind", "TEXT", "zone, ml, op, stage, counter, pool, frame, async, flow, device, driver",
      BY(location_kind) },
    { "name", "TEXT", "name", OF(GET_STRING, timeline_location, name) },
    { "category", "TEXT", "of ML events: prepare-ep, specialization, load, setup, inference",
      BY(location_category) },
    { "model", "TEXT", "name of the model, or NULL", BY(location_model) },
    { "function", "TEXT", "function of the model, or of the program",
      OF(GET_TEXT, timeline_location, function) },
    { "file", "TEXT", "source file, or NULL", OF(GET_TEXT, timeline_location, file) },
    { "line", "INTEGER", "line in it, or NULL",
      OF_OR_NULL(GET_UINT, timeline_location, line, NULL_ZERO) },
    { "color", "INTEGER", "0xRRGGBB, or NULL", BY(location_color) },
    { "slices", "INTEGER", "how many slices it has", BY(location_slices) },
};

const struct row_table location_table = {
    .table = { "location", "what slices, counters and spans are instances of",
               COLUMNS(location_columns) },
    ROWS_OF(timeline, locations, location_count),
};

/* ---- ml_event, attribute ----------------------------------------------------------------- */

void query_result_attribute(sqlite3_context *out, const struct timeline_attribute *attribute)
{
    switch (attribute->type) {
    case TRACE_VALUE_STRING:
        sqlite3_result_text(out, attribute->text, -1, SQLITE_STATIC);
        break;
    case TRACE_VALUE_SIGNED:
        sqlite3_result_int64(out, attribute->signed_value);
        break;
    case TRACE_VALUE_UNSIGNED:
        query_result_uint(out, attribute->unsigned_value);
        break;
    default:
        sqlite3_result_double(out, attribute->f64_value);
        break;
    }
}

static void put_attribute(struct ifg_json *json, const struct timeline_attribute *attribute)
{
    ifg_json_key(json, attribute->key);
    switch (attribute->type) {
    case TRACE_VALUE_STRING:
        ifg_json_string(json, attribute->text);
        break;
    case TRACE_VALUE_SIGNED:
        ifg_json_int(json, attribute->signed_value);
        break;
    case TRACE_VALUE_UNSIGNED:
        ifg_json_uint(json, attribute->unsigned_value);
        break;
    default:
        ifg_json_double(json, attribute->f64_value);
        break;
    }
}

void query_result_detail(sqlite3_context *out, const struct query *query, size_t slice)
{
    const struct timeline_attribute *first;
    size_t count = timeline_attributes_of(query->timeline, slice, &first);
    struct ifg_bytes bytes;
    struct ifg_json json = { &bytes, false };

    if (!count) {
        sqlite3_result_text(out, "{}", 2, SQLITE_STATIC);
        return;
    }
    ifg_bytes_init(&bytes, DETAIL_MAX);
    ifg_json_open(&json, '{');
    for (size_t i = 0; i < count && !bytes.failed; i++) {
        size_t later = i + 1;

        /* What was said last of a key is what counts. */
        while (later < count && later < i + 64 && strcmp(first[later].key, first[i].key) != 0)
            later++;
        if (later == count || later == i + 64)
            put_attribute(&json, &first[i]);
    }
    ifg_json_close(&json, '}');
    if (bytes.failed)
        sqlite3_result_error_toobig(out);
    else
        sqlite3_result_text(out, (const char *)bytes.data, (int)bytes.size, SQLITE_TRANSIENT);
    ifg_bytes_fini(&bytes);
}

static size_t ml_count(struct query *query)
{
    return query_need_ml(query) ? query->ml_count : SIZE_MAX;
}

static const void *ml_row(struct query *query, size_t row)
{
    return &query->ml[row];
}

static size_t ml_slice(const void *row)
{
    return *(const uint32_t *)row;
}

static const struct timeline_location *ml_location(const struct query *query, const void *row)
{
    return &query->timeline->locations[query->timeline->location[ml_slice(row)]];
}

static int64_t ml_id(struct query *query, const void *row)
{
    (void)query;
    return (int64_t)ml_slice(row);
}

static const struct timeline_thread *ml_on(const struct query *query, const void *row)
{
    return query_thread(query, timeline_thread_of(query->timeline, ml_slice(row)));
}

static void ml_process(struct query *query, const void *row, sqlite3_context *out)
{
    query_result_uint(out, query_pid(query, ml_on(query, row)->process));
}

static void ml_thread(struct query *query, const void *row, sqlite3_context *out)
{
    query_result_uint(out, ml_on(query, row)->tid);
}

static void ml_model(struct query *query, const void *row, sqlite3_context *out)
{
    query_result_text(out, query_location_model(query, query->timeline->location[ml_slice(row)]));
}

static void ml_function(struct query *query, const void *row, sqlite3_context *out)
{
    query_result_text(out, ml_location(query, row)->function);
}

static void ml_category(struct query *query, const void *row, sqlite3_context *out)
{
    query_result_text(out, timeline_category_name(ml_location(query, row)->category));
}

static void ml_start(struct query *query, const void *row, sqlite3_context *out)
{
    query_result_time(out, query, query->timeline->start_ns[ml_slice(row)]);
}

static void ml_duration(struct query *query, const void *row, sqlite3_context *out)
{
    sqlite3_result_int64(out, query_clamp(timeline_duration_ns(query->timeline, ml_slice(row))));
}

static const char *text_attribute(const struct query *query, size_t slice, const char *key)
{
    const struct timeline_attribute *found = timeline_find_attribute(query->timeline, slice, key);

    return found && found->type == TRACE_VALUE_STRING ? found->text : NULL;
}

static void ml_specialization(struct query *query, const void *row, sqlite3_context *out)
{
    const char *text = text_attribute(query, ml_slice(row), TRACE_KEY_SPECIALIZATION);

    if (!text && ml_location(query, row)->category == TRACE_CATEGORY_LOAD)
        text = "unknown";
    query_result_text(out, text);
}

static void ml_device(struct query *query, const void *row, sqlite3_context *out)
{
    const char *text = text_attribute(query, ml_slice(row), TRACE_KEY_DEVICE);
    uint32_t model = ml_location(query, row)->model;

    if (!text && model < query->timeline->model_count)
        text = query->timeline->models[model].actual_devices;
    query_result_text(out, text);
}

static void ml_detail(struct query *query, const void *row, sqlite3_context *out)
{
    query_result_detail(out, query, ml_slice(row));
}

static const struct query_column ml_columns[] = {
    { "id", "INTEGER", "the same id as in slice",
      GETTER(.get = GET_NUMBER, .number = ml_id, .sorted = true, .unique = true) },
    { "process", "INTEGER", "process number", BY(ml_process) },
    { "thread", "INTEGER", "thread number", BY(ml_thread) },
    { "model", "TEXT", "name of the model", BY(ml_model) },
    { "function", "TEXT", "function of the model", BY(ml_function) },
    { "category", "TEXT", "prepare-ep, specialization, load, setup, inference", BY(ml_category) },
    { "start_ns", "INTEGER", "when it began", BY(ml_start) },
    { "dur_ns", "INTEGER", "how long it took; of an unfinished one, as long as it was seen",
      BY(ml_duration) },
    { "specialization", "TEXT", "of loads: cold, cached, precompiled, unknown; else NULL",
      BY(ml_specialization) },
    { "device", "TEXT", "where it ran: what the event says, else the model's actual devices",
      BY(ml_device) },
    { "detail", "TEXT", "all attributes as a JSON object; see json_extract()", BY(ml_detail) },
};

const struct row_table ml_table = {
    .table = { "ml_event", "what models did: loads, specializations, inferences ...",
               COLUMNS(ml_columns) },
    .count = ml_count,
    .row = ml_row,
};

static const char *const attribute_types[] = { NULL, "text", "int", "real", "uint" };

static void attribute_value(struct query *query, const void *row, sqlite3_context *out)
{
    (void)query;
    query_result_attribute(out, row);
}

static const struct query_column attribute_columns[] = {
    { "id", "INTEGER", "row number", ROW_NUMBER },
    { "slice", "INTEGER", "id of the slice it belongs to",
      OF_SORTED(GET_UINT, timeline_attribute, slice) },
    { "key", "TEXT", "for example text, value, request, class",
      OF(GET_STRING, timeline_attribute, key) },
    { "type", "TEXT", "text, int, uint, real",
      OF_NAMES(attribute_types, timeline_attribute, type) },
    { "value", "", "text or number; an uint above 2^63 - 1 is negative", BY(attribute_value) },
};

const struct row_table attribute_table = {
    .table = { "attribute", "facts about one slice", COLUMNS(attribute_columns) },
    ROWS_OF(timeline, attributes, attribute_count),
};
