// SPDX-License-Identifier: Apache-2.0
/* `inferogram info --json`: documented in docs/json.md, stable within a schema number. */
#include "cli/info.h"

#include <stdio.h>
#include <string.h>

#include "base/json.h"

static void put_string(struct ifg_json *json, const char *key, const char *value)
{
    ifg_json_key(json, key);
    ifg_json_string(json, value);
}

static void put_uint(struct ifg_json *json, const char *key, uint64_t value)
{
    ifg_json_key(json, key);
    ifg_json_uint(json, value);
}

static void write_events(struct ifg_json *json, const struct summary *summary)
{
    ifg_json_key(json, "events");
    ifg_json_open(json, '{');
    put_uint(json, "zones", summary->zones);
    put_uint(json, "ml", summary->ml);
    put_uint(json, "ops", summary->ops);
    put_uint(json, "samples", 0);
    put_uint(json, "messages", summary->messages);
    put_uint(json, "counters", summary->counters);
    put_uint(json, "async", summary->async_spans);
    put_uint(json, "allocations", summary->allocations);
    put_uint(json, "frees", summary->frees);
    put_uint(json, "frames", summary->frames);
    put_uint(json, "details", summary->attributes);
    ifg_json_close(json, '}');
}

static void write_file(struct ifg_json *json, const struct trace_file_info *file)
{
    char id[33];

    for (int i = 0; i < 16; i++)
        snprintf(id + 2 * i, 3, "%02x", file->trace_id[i]);
    ifg_json_key(json, "file");
    ifg_json_open(json, '{');
    put_uint(json, "bytes", file->file_bytes);
    put_uint(json, "format_major", file->major);
    put_uint(json, "format_minor", file->minor);
    put_string(json, "trace_id", id);
    ifg_json_key(json, "finished");
    ifg_json_bool(json, file->finished);
    put_uint(json, "skipped_bytes", file->skipped_bytes);
    put_uint(json, "damaged_blocks", file->damaged_blocks);
    ifg_json_close(json, '}');
}

static void write_processes(struct ifg_json *json, const struct trace_tables *tables)
{
    ifg_json_key(json, "processes");
    ifg_json_open(json, '[');
    for (size_t i = 0; i < tables->process_count; i++) {
        const struct trace_process_entry *process = &tables->processes[i];
        char fate[48];

        ifg_json_open(json, '{');
        put_uint(json, "pid", process->pid);
        put_uint(json, "parent", process->parent_pid);
        put_string(json, "program", process->program);
        put_string(json, "arguments", process->arguments);
        put_string(json, "directory", process->directory);
        put_string(json, "end", info_fate(process, fate, sizeof fate));
        ifg_json_key(json, "threads");
        ifg_json_open(json, '[');
        for (size_t t = 0; t < tables->thread_count; t++) {
            if (tables->threads[t].process != i)
                continue;
            ifg_json_open(json, '{');
            put_uint(json, "tid", tables->threads[t].tid);
            put_string(json, "name", tables->threads[t].name);
            ifg_json_close(json, '}');
        }
        ifg_json_close(json, ']');
        ifg_json_close(json, '}');
    }
    ifg_json_close(json, ']');
}

static void write_models(struct ifg_json *json, const struct trace_tables *tables)
{
    ifg_json_key(json, "models");
    ifg_json_open(json, '[');
    for (size_t i = 0; i < tables->model_count; i++) {
        const struct trace_model_entry *model = &tables->models[i];

        ifg_json_open(json, '{');
        put_string(json, "name", model->name);
        put_string(json, "path", model->path);
        put_string(json, "content_id", model->content_id);
        put_string(json, "runtime", model->runtime);
        put_string(json, "requested_devices", model->requested_devices);
        put_string(json, "actual_devices", model->actual_devices);
        ifg_json_key(json, "properties");
        ifg_json_open(json, '{');
        for (size_t p = 0; p < tables->property_count; p++)
            if (tables->properties[p].process == model->process &&
                tables->properties[p].model == model->id)
                put_string(json, tables->properties[p].key, tables->properties[p].value);
        ifg_json_close(json, '}');
        ifg_json_close(json, '}');
    }
    ifg_json_close(json, ']');
}

static void write_instruments(struct ifg_json *json, const struct trace_tables *tables)
{
    static const char *const states[] = { "off", "on", "unavailable" };

    ifg_json_key(json, "instruments");
    ifg_json_open(json, '[');
    for (size_t i = 0; i < tables->instrument_count; i++) {
        ifg_json_open(json, '{');
        put_string(json, "name", tables->instruments[i].name);
        put_string(json, "state",
                   (unsigned)tables->instruments[i].state < 3 ? states[tables->instruments[i].state]
                                                              : "unknown");
        put_string(json, "reason", tables->instruments[i].reason);
        ifg_json_close(json, '}');
    }
    ifg_json_close(json, ']');
}

static void write_losses(struct ifg_json *json, const struct trace_tables *tables)
{
    ifg_json_key(json, "losses");
    ifg_json_open(json, '[');
    for (size_t i = 0; i < tables->loss_count; i++) {
        ifg_json_open(json, '{');
        put_string(json, "what", tables->losses[i].what);
        put_uint(json, "count", tables->losses[i].count);
        ifg_json_close(json, '}');
    }
    ifg_json_close(json, ']');
}

static void put_place(struct ifg_json *json, const struct summary_row *row)
{
    static const char *const kinds[] = { "",        "zone", "ml",    "op",   "stage",
                                         "counter", "pool", "frame", "async" };

    put_string(json, "kind", (unsigned)row->kind < 9 ? kinds[row->kind] : "");
    put_string(json, "name", row->name);
    if (row->kind == TRACE_LOCATION_ML) {
        put_string(json, "model", row->model);
        put_string(json, "category", summary_category_name(row->category));
    }
}

static void write_places(struct ifg_json *json, const struct info_request *request)
{
    const struct summary *summary = request->summary;

    ifg_json_key(json, "places");
    ifg_json_open(json, '[');
    for (size_t i = 0; i < summary->row_count; i++) {
        const struct summary_row *row = &summary->rows[i];

        if (!row->count)
            continue;
        ifg_json_open(json, '{');
        put_place(json, row);
        put_uint(json, "count", row->count);
        put_uint(json, "total_ns", row->total_ns);
        put_uint(json, "min_ns", row->min_ns);
        put_uint(json, "max_ns", row->max_ns);
        ifg_json_close(json, '}');
    }
    ifg_json_close(json, ']');
    ifg_json_key(json, "unfinished");
    ifg_json_open(json, '[');
    for (size_t i = 0; i < summary->open_count; i++) {
        const struct summary_open *open = &summary->open[i];

        ifg_json_open(json, '{');
        put_place(json, open->row);
        put_uint(json, "tid", trace_reader_tables(request->reader)->threads[open->thread].tid);
        put_uint(json, "start_ns", open->start_ns);
        put_uint(json, "seen_ns", open->seen_ns);
        ifg_json_close(json, '}');
    }
    ifg_json_close(json, ']');
}

void info_write_json(const struct info_request *request, struct ifg_bytes *out)
{
    const struct trace_tables *tables = trace_reader_tables(request->reader);
    const char *program = trace_find_fact(tables, "record.program");
    struct ifg_json json = { out, false };
    char when[32];

    info_start_time(request, when, sizeof when);
    ifg_json_open(&json, '{');
    put_uint(&json, "schema", 1);
    put_string(&json, "program",
               program ? program : (tables->process_count ? tables->processes[0].program : ""));
    ifg_json_key(&json, "pids");
    ifg_json_open(&json, '[');
    for (size_t i = 0; i < tables->process_count; i++)
        ifg_json_uint(&json, tables->processes[i].pid);
    ifg_json_close(&json, ']');
    put_string(&json, "start", when);
    ifg_json_key(&json, "duration_s");
    ifg_json_double(&json, info_seconds(request));
    put_uint(&json, "begin_ns", request->summary->begin_ns);
    put_uint(&json, "end_ns", request->summary->end_ns);
    write_events(&json, request->summary);
    put_uint(&json, "dropped", request->summary->dropped);
    write_losses(&json, tables);
    write_instruments(&json, tables);
    write_file(&json, trace_reader_file(request->reader));
    write_processes(&json, tables);
    write_models(&json, tables);
    write_places(&json, request);
    ifg_json_key(&json, "facts");
    ifg_json_open(&json, '{');
    for (size_t i = 0; i < tables->fact_count; i++)
        put_string(&json, tables->facts[i].key, tables->facts[i].value);
    ifg_json_close(&json, '}');
    ifg_json_close(&json, '}');
    ifg_bytes_put(out, "\n", 1);
}
