// SPDX-License-Identifier: Apache-2.0
/* `inferogram info --json`: documented in docs/json.md, stable within a schema number. */
#include "cli/info.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "cli/advice.h"
#include "trace/keys.h"

static void write_events(struct ifg_json *json, const struct info_request *request)
{
    const struct timeline *timeline = request->timeline;
    struct info_counts counts = info_count(request);
    uint64_t frees = 0;
    uint64_t samples = 0;

    for (size_t i = 0; i < trace_reader_block_count(request->reader); i++) {
        const struct trace_block *block = trace_reader_block(request->reader, i);

        samples += block->type == TRACE_BLOCK_SAMPLES ? block->count : 0;
    }
    for (size_t i = 0; i < timeline->allocation_count; i++)
        frees += timeline->allocations[i].is_free;
    ifg_json_put_open(json, "events", '{');
    ifg_json_put_uint(json, "zones", counts.zones);
    ifg_json_put_uint(json, "ml", counts.ml);
    ifg_json_put_uint(json, "ops", counts.ops);
    ifg_json_put_uint(json, "device", counts.device);
    ifg_json_put_uint(json, "device_waits", counts.waits);
    ifg_json_put_uint(json, "device_memory", counts.memory);
    ifg_json_put_uint(json, "driver", counts.driver);
    ifg_json_put_uint(json, "samples", samples);
    ifg_json_put_uint(json, "messages", timeline->message_count);
    ifg_json_put_uint(json, "counters", timeline->counter_count);
    ifg_json_put_uint(json, "async", timeline->async_count);
    ifg_json_put_uint(json, "flows", timeline->flow_count);
    ifg_json_put_uint(json, "allocations", timeline->allocation_count - frees);
    ifg_json_put_uint(json, "frees", frees);
    ifg_json_put_uint(json, "frames", timeline->frame_count);
    ifg_json_put_uint(json, "details",
                      timeline->attribute_count + timeline->attributes_without_slice);
    ifg_json_close(json, '}');
}

static void write_sampling(struct ifg_json *json, const struct info_request *request)
{
    struct info_sampling sampling;

    if (!info_sampling(request, &sampling))
        return;
    ifg_json_put_open(json, "sampling", '{');
    ifg_json_put_double(json, "hz", sampling.hz);
    ifg_json_put_double(json, "samples", sampling.samples);
    ifg_json_put_double(json, "lost", sampling.lost);
    ifg_json_put_double(json, "rooted_share", sampling.rooted_share);
    ifg_json_put_double(json, "inferred_share", sampling.inferred_share);
    ifg_json_put_double(json, "unwind_us", sampling.unwind_us);
    ifg_json_put_double(json, "on_share", sampling.on_share);
    ifg_json_put_double(json, "measured_overhead_pct", sampling.overhead_pct);
    ifg_json_put_double(json, "overhead_error_pct", sampling.overhead_error_pct);
    ifg_json_put_double(json, "estimated_overhead_pct", sampling.estimate_pct);
    ifg_json_close(json, '}');
}

static void write_file(struct ifg_json *json, const struct trace_file_info *file)
{
    char id[33];

    for (int i = 0; i < 16; i++)
        snprintf(id + 2 * i, 3, "%02x", file->trace_id[i]);
    ifg_json_put_open(json, "file", '{');
    ifg_json_put_uint(json, "bytes", file->file_bytes);
    ifg_json_put_uint(json, "format_major", file->major);
    ifg_json_put_uint(json, "format_minor", file->minor);
    ifg_json_put_string(json, "trace_id", id);
    ifg_json_put_bool(json, "finished", file->finished);
    ifg_json_put_uint(json, "skipped_bytes", file->skipped_bytes);
    ifg_json_put_uint(json, "damaged_blocks", file->damaged_blocks);
    ifg_json_close(json, '}');
}

static void write_processes(struct ifg_json *json, const struct info_request *request)
{
    const struct trace_tables *tables = trace_reader_tables(request->reader);

    ifg_json_put_open(json, "processes", '[');
    for (size_t i = 0; i < tables->process_count; i++) {
        const struct trace_process_entry *process = &tables->processes[i];
        const struct merge_part *part = info_part_of(request, i);
        char fate[48];

        if (info_is_machine(process) || info_is_known_later(tables, i))
            continue;
        ifg_json_open(json, '{');
        ifg_json_put_uint(json, "pid", process->pid);
        ifg_json_put_uint(json, "parent", process->parent_pid);
        if (part) {
            ifg_json_put_string(json, "host", part->host);
            ifg_json_put_string(json, "file", part->file);
            ifg_json_put_uint(json, "host_pid", process->pid - part->numbers_from);
        }
        ifg_json_put_string(json, "program", process->program);
        ifg_json_put_string(json, "arguments", process->arguments);
        ifg_json_put_string(json, "directory", process->directory);
        ifg_json_put_string(json, "end", info_fate(process, fate, sizeof fate));
        ifg_json_put_open(json, "threads", '[');
        for (size_t t = 0; t < tables->thread_count; t++) {
            if (tables->threads[t].process != i || info_is_resources(&tables->threads[t]))
                continue;
            ifg_json_open(json, '{');
            ifg_json_put_uint(json, "tid", tables->threads[t].tid);
            ifg_json_put_string(json, "name", tables->threads[t].name);
            ifg_json_close(json, '}');
        }
        ifg_json_close(json, ']');
        ifg_json_close(json, '}');
    }
    ifg_json_close(json, ']');
}

static void write_models(struct ifg_json *json, const struct trace_tables *tables)
{
    ifg_json_put_open(json, "models", '[');
    for (size_t i = 0; i < tables->model_count; i++) {
        const struct trace_model *model = &tables->models[i];

        ifg_json_open(json, '{');
        ifg_json_put_string(json, "name", model->name);
        ifg_json_put_string(json, "path", model->path);
        ifg_json_put_string(json, "content_id", model->content_id);
        ifg_json_put_string(json, "runtime", model->runtime);
        ifg_json_put_string(json, "requested_devices", model->requested_devices);
        ifg_json_put_string(json, "actual_devices", model->actual_devices);
        ifg_json_put_open(json, "properties", '{');
        for (size_t p = 0; p < tables->property_count; p++)
            if (tables->properties[p].process == model->process &&
                tables->properties[p].model == model->id)
                ifg_json_put_string(json, tables->properties[p].key, tables->properties[p].value);
        ifg_json_close(json, '}');
        ifg_json_close(json, '}');
    }
    ifg_json_close(json, ']');
}

static void write_instruments(struct ifg_json *json, const struct trace_tables *tables)
{
    static const char *const states[] = { "off", "on", "unavailable" };

    ifg_json_put_open(json, "instruments", '[');
    for (size_t i = 0; i < tables->instrument_count; i++) {
        struct advice advice;

        ifg_json_open(json, '{');
        ifg_json_put_string(json, "name", tables->instruments[i].name);
        ifg_json_put_string(json, "state",
                            (unsigned)tables->instruments[i].state < 3
                                ? states[tables->instruments[i].state]
                                : "unknown");
        ifg_json_put_string(json, "reason", tables->instruments[i].reason);
        advice_split(tables->instruments[i].reason, &advice);
        ifg_json_put_string(json, "fix", advice.command);
        ifg_json_close(json, '}');
    }
    ifg_json_close(json, ']');
}

static void write_clocks(struct ifg_json *json, const struct info_request *request)
{
    const struct trace_tables *tables = trace_reader_tables(request->reader);

    ifg_json_put_open(json, "clocks", '[');
    for (uint32_t i = 0; i < tables->clock_count; i++) {
        const struct trace_clock_entry *clock = &tables->clocks[i];
        struct trace_clock_rate rate = trace_clock_rate(request->reader, i);
        const char *kind = trace_clock_kind_name(clock->kind);

        ifg_json_open(json, '{');
        ifg_json_put_string(json, "name", clock->name);
        ifg_json_put_string(json, "kind", kind ? kind : "unknown");
        ifg_json_put_uint(json, "nominal_hz", clock->nominal_hz);
        ifg_json_put_double(json, "hz", rate.hz > 0 ? rate.hz : (double)NAN);
        ifg_json_put_uint(json, "pairs", rate.pairs);
        ifg_json_put_uint(json, "contradictions", rate.contradictions);
        ifg_json_put_uint(json, "threads", info_clock_threads(tables, i));
        ifg_json_close(json, '}');
    }
    ifg_json_close(json, ']');
}

static void write_losses(struct ifg_json *json, const struct trace_tables *tables)
{
    ifg_json_put_open(json, "losses", '[');
    for (size_t i = 0; i < tables->loss_count; i++) {
        ifg_json_open(json, '{');
        ifg_json_put_string(json, "what", tables->losses[i].what);
        ifg_json_put_uint(json, "count", tables->losses[i].count);
        ifg_json_close(json, '}');
    }
    ifg_json_close(json, ']');
}

static void write_locations(struct ifg_json *json, const struct stats *stats)
{
    ifg_json_put_open(json, "locations", '[');
    for (size_t i = 0; i < stats->row_count; i++) {
        const struct stats_row *row = &stats->rows[i];

        if (!row->count)
            continue;
        ifg_json_open(json, '{');
        ifg_json_put_string(json, "kind", timeline_kind_name(row->kind));
        ifg_json_put_string(json, "name",
                            row->kind == TRACE_LOCATION_ML ? row->function : row->location);
        if (row->kind == TRACE_LOCATION_ML) {
            ifg_json_put_string(json, "model", row->model);
            ifg_json_put_string(json, "category", timeline_category_name(row->category));
        }
        ifg_json_put_uint(json, "count", row->count);
        ifg_json_put_uint(json, "total_ns", row->total_ns);
        ifg_json_put_uint(json, "min_ns", row->min_ns);
        ifg_json_put_uint(json, "max_ns", row->max_ns);
        ifg_json_close(json, '}');
    }
    ifg_json_close(json, ']');
}

static void write_unfinished(struct ifg_json *json, const struct timeline *timeline)
{
    ifg_json_put_open(json, "unfinished", '[');
    for (size_t i = 0; i < timeline->unfinished_count; i++) {
        size_t slice = timeline->unfinished[i];
        const struct timeline_location *location = &timeline->locations[timeline->location[slice]];
        bool ml = location->kind == TRACE_LOCATION_ML;

        ifg_json_open(json, '{');
        ifg_json_put_string(json, "kind", timeline_kind_name(location->kind));
        ifg_json_put_string(json, "name", ml ? location->function : location->name);
        if (ml) {
            ifg_json_put_string(
                json, "model",
                location->model == TIMELINE_NONE ? "" : timeline->models[location->model].name);
            ifg_json_put_string(json, "category", timeline_category_name(location->category));
        }
        ifg_json_put_uint(json, "tid", timeline->threads[timeline_thread_of(timeline, slice)].tid);
        ifg_json_put_uint(json, "start_ns", timeline->start_ns[slice]);
        ifg_json_put_uint(json, "seen_ns", timeline_end_ns(timeline, slice));
        ifg_json_close(json, '}');
    }
    ifg_json_close(json, ']');
}

/* Only of what a flight recorder wrote. */
static void write_flight(struct ifg_json *json, const struct trace_tables *tables)
{
    const char *keeps = trace_find_fact(tables, TRACE_FACT_FLIGHT_KEEPS);
    const char *trigger = trace_find_fact(tables, TRACE_FACT_FLIGHT_TRIGGER);
    const char *when = trace_find_fact(tables, TRACE_FACT_FLIGHT_TRIGGER_TIME);
    const char *ns = trace_find_fact(tables, TRACE_FACT_FLIGHT_TRIGGER_NS);
    const char *not_kept = trace_find_fact(tables, TRACE_FACT_FLIGHT_NOT_KEPT_S);

    if (!keeps)
        return;
    ifg_json_put_open(json, "flight", '{');
    ifg_json_put_string(json, "keeps", keeps);
    ifg_json_put_string(json, "trigger", trigger ? trigger : "");
    ifg_json_put_string(json, "trigger_time", when ? when : "");
    ifg_json_put_uint(json, "trigger_ns", ns ? strtoull(ns, NULL, 10) : 0);
    ifg_json_put_double(json, "not_kept_s", not_kept ? strtod(not_kept, NULL) : 0);
    ifg_json_close(json, '}');
}

void info_write_json(const struct info_request *request, struct ifg_bytes *out)
{
    const struct trace_tables *tables = trace_reader_tables(request->reader);
    const char *program = trace_find_fact(tables, TRACE_FACT_RECORD_PROGRAM);
    struct ifg_json json = { out, false };
    char when[32];

    info_start_time(request, when, sizeof when);
    ifg_json_open(&json, '{');
    ifg_json_put_uint(&json, "schema", 1);
    ifg_json_put_string(&json, "program",
                        program ? program
                                : (tables->process_count ? tables->processes[0].program : ""));
    ifg_json_put_open(&json, "pids", '[');
    for (size_t i = 0; i < tables->process_count; i++)
        if (tables->processes[i].pid)
            ifg_json_uint(&json, tables->processes[i].pid);
    ifg_json_close(&json, ']');
    ifg_json_put_string(&json, "start", when);
    ifg_json_put_double(&json, "duration_s", info_seconds(request));
    ifg_json_put_uint(&json, "begin_ns", request->timeline->begin_ns);
    ifg_json_put_uint(&json, "end_ns", request->timeline->end_ns);
    write_events(&json, request);
    ifg_json_put_uint(&json, "dropped", request->timeline->dropped);
    write_losses(&json, tables);
    write_flight(&json, tables);
    info_write_merged_json(&json, request);
    write_instruments(&json, tables);
    write_sampling(&json, request);
    write_clocks(&json, request);
    write_file(&json, trace_reader_file(request->reader));
    write_processes(&json, request);
    write_models(&json, tables);
    write_locations(&json, request->stats);
    write_unfinished(&json, request->timeline);
    ifg_json_put_open(&json, "facts", '{');
    for (size_t i = 0; i < tables->fact_count; i++)
        ifg_json_put_string(&json, tables->facts[i].key, tables->facts[i].value);
    ifg_json_close(&json, '}');
    ifg_json_close(&json, '}');
    ifg_bytes_put(out, "\n", 1);
}
