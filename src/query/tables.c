// SPDX-License-Identifier: Apache-2.0
/* Who and what was recorded: processes, threads, models, functions, places, ML events, attributes.
 */
#include "query/query_internal.h"

#include <string.h>

#include "base/json.h"

#define DETAIL_MAX (4u << 20)

/* ---- process, thread --------------------------------------------------------------------- */

static const char *fate_name(enum trace_process_fate fate)
{
    static const char *const names[] = { NULL, "exited", "killed", "exec", "running" };

    return (unsigned)fate < sizeof names / sizeof names[0] ? names[fate] : NULL;
}

static size_t process_count(struct query *query)
{
    return query->timeline->process_count;
}

static void process_column(struct query *query, size_t row, int column, sqlite3_context *out)
{
    const struct timeline_process *process = &query->timeline->processes[row];

    switch (column) {
    case 0:
        result_uint(out, row);
        break;
    case 1:
        result_uint(out, process->pid);
        break;
    case 2:
        if (process->parent_pid)
            result_uint(out, process->parent_pid);
        break;
    case 3:
        result_text(out, process->name);
        break;
    case 4:
        result_text(out, process->program);
        break;
    case 5:
        result_text(out, process->arguments);
        break;
    case 6:
        result_time(out, query, process->start_ns);
        break;
    case 7:
        if (process->end_ns)
            result_time(out, query, process->end_ns);
        break;
    case 8:
        result_text(out, fate_name(process->fate));
        break;
    default:
        result_uint(out, process->fate_code);
        break;
    }
}

static const struct query_column process_columns[] = {
    { "id", "INTEGER", "row number" },
    { "pid", "INTEGER", "process number; a process that replaced itself by exec has two rows" },
    { "parent_pid", "INTEGER", "NULL if unknown" },
    { "name", "TEXT", "file name of the program" },
    { "program", "TEXT", "path of the program" },
    { "arguments", "TEXT", "command line" },
    { "start_ns", "INTEGER", "when the library started in it" },
    { "end_ns", "INTEGER", "NULL if unknown" },
    { "fate", "TEXT", "exited, killed, exec, running, or NULL" },
    { "fate_code", "INTEGER", "exit status or signal" },
};

const struct row_table process_table = {
    .table = { "process", "recorded processes", COLUMNS(process_columns) },
    .count = process_count,
    .column = process_column,
    .sorted = 1,
    .unique = 1,
};

static size_t thread_count(struct query *query)
{
    return query->timeline->thread_count;
}

static void thread_column(struct query *query, size_t row, int column, sqlite3_context *out)
{
    const struct timeline_thread *thread = &query->timeline->threads[row];

    switch (column) {
    case 0:
        result_uint(out, row);
        break;
    case 1:
        result_uint(out, query_pid(query, thread->process));
        break;
    case 2:
        result_uint(out, thread->tid);
        break;
    case 3:
        result_text(out, thread->name);
        break;
    case 4:
        result_uint(out, thread->slice_count);
        break;
    default:
        result_uint(out, thread->dropped);
        break;
    }
}

static const struct query_column thread_columns[] = {
    { "id", "INTEGER", "row number" },
    { "process", "INTEGER", "process number" },
    { "tid", "INTEGER", "thread number; column thread of other tables" },
    { "name", "TEXT", "name, or NULL" },
    { "slices", "INTEGER", "how many slices it has" },
    { "dropped", "INTEGER", "events lost because its ring was full" },
};

const struct row_table thread_table = {
    .table = { "thread", "recorded threads", COLUMNS(thread_columns) },
    .count = thread_count,
    .column = thread_column,
    .sorted = 1,
    .unique = 1,
};

/* ---- model, model_property, function, place ---------------------------------------------- */

static size_t net_count(struct query *query)
{
    return query->timeline->net_count;
}

static void net_column(struct query *query, size_t row, int column, sqlite3_context *out)
{
    const struct timeline_net *net = &query->timeline->nets[row];
    const char *const texts[] = {
        net->name,          net->path, net->content_id, net->runtime, net->requested_devices,
        net->actual_devices
    };

    if (column == 0)
        result_uint(out, row);
    else if (column == 1)
        result_uint(out, query_pid(query, net->process));
    else
        result_text(out, texts[column - 2]);
}

static const struct query_column net_columns[] = {
    { "id", "INTEGER", "row number" },
    { "process", "INTEGER", "process number" },
    { "name", "TEXT", "name; column model of other tables" },
    { "path", "TEXT", "file it came from" },
    { "content_id", "TEXT", "what identifies its bytes" },
    { "runtime", "TEXT", "what runs it" },
    { "requested_devices", "TEXT", "asked for, comma between" },
    { "actual_devices", "TEXT", "what it got" },
};

const struct row_table net_table = {
    .table = { "model", "machine-learning models", COLUMNS(net_columns) },
    .count = net_count,
    .column = net_column,
    .sorted = 1,
    .unique = 1,
};

static size_t property_count(struct query *query)
{
    return query_trace(query)->property_count;
}

static void property_column(struct query *query, size_t row, int column, sqlite3_context *out)
{
    const struct trace_tables *tables = query_trace(query);
    const struct trace_property_entry *property = &tables->properties[row];
    const struct trace_model_entry *net =
        trace_find_model(tables, property->process, property->model);

    switch (column) {
    case 0:
        result_uint(out, query_pid(query, property->process));
        break;
    case 1:
        result_text(out, net ? net->name : NULL);
        break;
    case 2:
        result_text(out, property->key);
        break;
    default:
        result_text(out, property->value);
        break;
    }
}

static const struct query_column property_columns[] = {
    { "process", "INTEGER", "process number" },
    { "model", "TEXT", "name of the model" },
    { "key", "TEXT", "for example nodes.CUDA" },
    { "value", "TEXT", "as it was said last" },
};

const struct row_table property_table = {
    .table = { "model_property", "what was learned of a model later", COLUMNS(property_columns) },
    .count = property_count,
    .column = property_column,
};

static size_t function_count(struct query *query)
{
    return query->timeline->function_count;
}

static void function_column(struct query *query, size_t row, int column, sqlite3_context *out)
{
    const struct timeline_function *function = &query->timeline->functions[row];
    const struct timeline_net *net =
        function->net < query->timeline->net_count ? &query->timeline->nets[function->net] : NULL;

    switch (column) {
    case 0:
        result_uint(out, row);
        break;
    case 1:
        if (net)
            result_uint(out, query_pid(query, net->process));
        break;
    case 2:
        result_text(out, net ? net->name : NULL);
        break;
    case 3:
        result_text(out, function->name);
        break;
    default:
        result_uint(out, function->events[column - 4 + TRACE_CATEGORY_PREPARE_EP]);
        break;
    }
}

static const struct query_column function_columns[] = {
    { "id", "INTEGER", "row number" },
    { "process", "INTEGER", "process number" },
    { "model", "TEXT", "name of the model" },
    { "name", "TEXT", "name of the function; column function of other tables" },
    { "prepare_ep", "INTEGER", "how many events of this category" },
    { "specialization", "INTEGER", "same" },
    { "load", "INTEGER", "same" },
    { "setup", "INTEGER", "same" },
    { "inference", "INTEGER", "same" },
};

const struct row_table function_table = {
    .table = { "function", "functions of models", COLUMNS(function_columns) },
    .count = function_count,
    .column = function_column,
    .sorted = 1,
    .unique = 1,
};

static size_t place_count(struct query *query)
{
    return query->timeline->place_count;
}

static void place_slices(struct query *query, size_t row, sqlite3_context *out)
{
    if (query_need_places(query))
        result_uint(out, query->place_first[row + 1] - query->place_first[row]);
    else
        sqlite3_result_error_nomem(out);
}

static void place_column(struct query *query, size_t row, int column, sqlite3_context *out)
{
    const struct timeline_place *place = &query->timeline->places[row];

    switch (column) {
    case 0:
        result_uint(out, row);
        break;
    case 1:
        result_uint(out, query_pid(query, place->process));
        break;
    case 2:
        result_text(out, timeline_kind_name(place->kind));
        break;
    case 3:
        sqlite3_result_text(out, place->name, -1, SQLITE_STATIC);
        break;
    case 4:
        result_text(out, timeline_category_name(place->category));
        break;
    case 5:
        result_text(out, query_place_model(query, (uint32_t)row));
        break;
    case 6:
        result_text(out, place->function);
        break;
    case 7:
        result_text(out, place->file);
        break;
    case 8:
        if (place->line)
            result_uint(out, place->line);
        break;
    case 9:
        if (place->color)
            result_uint(out, place->color & 0xffffff);
        break;
    default:
        place_slices(query, row, out);
        break;
    }
}

static const struct query_column place_columns[] = {
    { "id", "INTEGER", "row number; column place of other tables" },
    { "process", "INTEGER", "process number" },
    { "kind", "TEXT", "zone, ml, op, stage, counter, pool, frame, async, flow" },
    { "name", "TEXT", "name" },
    { "category", "TEXT", "of ML events: prepare-ep, specialization, load, setup, inference" },
    { "model", "TEXT", "name of the model, or NULL" },
    { "function", "TEXT", "function of the model, or of the program" },
    { "file", "TEXT", "source file, or NULL" },
    { "line", "INTEGER", "line in it, or NULL" },
    { "color", "INTEGER", "0xRRGGBB, or NULL" },
    { "slices", "INTEGER", "how many slices it has" },
};

const struct row_table place_table = {
    .table = { "place", "what slices, counters and spans are instances of",
               COLUMNS(place_columns) },
    .count = place_count,
    .column = place_column,
    .sorted = 1,
    .unique = 1,
};

/* ---- ml_event, attribute ----------------------------------------------------------------- */

void result_attribute(sqlite3_context *out, const struct timeline_attribute *attribute)
{
    switch (attribute->type) {
    case TRACE_VALUE_STRING:
        sqlite3_result_text(out, attribute->text, -1, SQLITE_STATIC);
        break;
    case TRACE_VALUE_SIGNED:
        sqlite3_result_int64(out, attribute->signed_value);
        break;
    case TRACE_VALUE_UNSIGNED:
        result_uint(out, attribute->unsigned_value);
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

void result_detail(sqlite3_context *out, const struct query *query, size_t slice)
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

static int64_t ml_key(struct query *query, size_t row, int column)
{
    (void)column;
    return query->ml[row];
}

static const char *text_attribute(const struct query *query, size_t slice, const char *key)
{
    const struct timeline_attribute *found = timeline_find_attribute(query->timeline, slice, key);

    return found && found->type == TRACE_VALUE_STRING ? found->text : NULL;
}

static const char *ml_specialization(const struct query *query, size_t slice,
                                     const struct timeline_place *place)
{
    const char *text = text_attribute(query, slice, "specialization");

    return text || place->category != TRACE_CATEGORY_LOAD ? text : "unknown";
}

static const char *ml_device(const struct query *query, size_t slice,
                             const struct timeline_place *place)
{
    const char *text = text_attribute(query, slice, "device");

    if (!text && place->net < query->timeline->net_count)
        text = query->timeline->nets[place->net].actual_devices;
    return text;
}

static void ml_column(struct query *query, size_t row, int column, sqlite3_context *out)
{
    const struct timeline *timeline = query->timeline;
    size_t slice = query->ml[row];
    const struct timeline_place *place = &timeline->places[timeline->place[slice]];
    const struct timeline_thread *thread;

    switch (column) {
    case 0:
        result_uint(out, slice);
        break;
    case 1:
    case 2:
        thread = query_thread(query, timeline_thread_of(timeline, slice));
        result_uint(out, column == 1 ? query_pid(query, thread->process) : thread->tid);
        break;
    case 3:
        result_text(out, query_place_model(query, timeline->place[slice]));
        break;
    case 4:
        result_text(out, place->function);
        break;
    case 5:
        result_text(out, timeline_category_name(place->category));
        break;
    case 6:
        result_time(out, query, timeline->start_ns[slice]);
        break;
    case 7:
        sqlite3_result_int64(out, query_clamp(timeline_duration_ns(timeline, slice)));
        break;
    case 8:
        result_text(out, ml_specialization(query, slice, place));
        break;
    case 9:
        result_text(out, ml_device(query, slice, place));
        break;
    default:
        result_detail(out, query, slice);
        break;
    }
}

static const struct query_column ml_columns[] = {
    { "id", "INTEGER", "the same id as in slice" },
    { "process", "INTEGER", "process number" },
    { "thread", "INTEGER", "thread number" },
    { "model", "TEXT", "name of the model" },
    { "function", "TEXT", "function of the model" },
    { "category", "TEXT", "prepare-ep, specialization, load, setup, inference" },
    { "start_ns", "INTEGER", "when it began" },
    { "dur_ns", "INTEGER", "how long it took; of an unfinished one, as long as it was seen" },
    { "specialization", "TEXT", "of loads: cold, cached, precompiled, unknown; else NULL" },
    { "device", "TEXT", "where it ran: what the event says, else the model's actual devices" },
    { "detail", "TEXT", "all attributes as a JSON object; see json_extract()" },
};

const struct row_table ml_table = {
    .table = { "ml_event", "what models did: loads, specializations, inferences ...",
               COLUMNS(ml_columns) },
    .count = ml_count,
    .column = ml_column,
    .key = ml_key,
    .sorted = 1,
    .unique = 1,
};

static size_t attribute_count(struct query *query)
{
    return query->timeline->attribute_count;
}

static int64_t attribute_key(struct query *query, size_t row, int column)
{
    return column ? (int64_t)query->timeline->attributes[row].slice : (int64_t)row;
}

static void attribute_column(struct query *query, size_t row, int column, sqlite3_context *out)
{
    static const char *const types[] = { "", "text", "int", "real", "uint" };
    const struct timeline_attribute *attribute = &query->timeline->attributes[row];

    switch (column) {
    case 0:
        result_uint(out, row);
        break;
    case 1:
        result_uint(out, attribute->slice);
        break;
    case 2:
        sqlite3_result_text(out, attribute->key, -1, SQLITE_STATIC);
        break;
    case 3:
        result_text(out, types[(unsigned)attribute->type < 5 ? attribute->type : 0]);
        break;
    default:
        result_attribute(out, attribute);
        break;
    }
}

static const struct query_column attribute_columns[] = {
    { "id", "INTEGER", "row number" },
    { "slice", "INTEGER", "id of the slice it belongs to" },
    { "key", "TEXT", "for example text, value, request, class" },
    { "type", "TEXT", "text, int, uint, real" },
    { "value", "", "text or number; an uint above 2^63 - 1 is negative" },
};

const struct row_table attribute_table = {
    .table = { "attribute", "facts about one slice", COLUMNS(attribute_columns) },
    .count = attribute_count,
    .column = attribute_column,
    .key = attribute_key,
    .sorted = 3,
    .unique = 1,
};
