// SPDX-License-Identifier: Apache-2.0
/* The small tables of a timeline: processes, threads, models, functions, locations. */
#include "timeline/timeline_internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "trace/keys.h"

#define MAP_SLOTS_FREE (1u << 20)
#define MACHINES_MAX   4096u /* traces in a merged one */

static const char *file_name(const char *path)
{
    const char *slash = strrchr(path, '/');

    return slash && slash[1] ? slash + 1 : path;
}

/* ---- machines: of a merged trace, each of its traces has one ---- */

struct merged_trace {
    const char *host;
    const char *boot_id;
    const char *file;
    const char *first_process;
};

/* The facts about each trace, numbered from 1: "merge.2.host.name". */
static void read_merged(const struct trace_tables *tables, struct merged_trace *traces,
                        size_t count)
{
    const size_t prefix = strlen(TRACE_FACT_MERGE);

    for (size_t i = 0; i < tables->fact_count; i++) {
        const char *key = tables->facts[i].key;
        char *rest;
        unsigned long number;

        if (strncmp(key, TRACE_FACT_MERGE, prefix) != 0)
            continue;
        number = strtoul(key + prefix, &rest, 10);
        if (rest == key + prefix || *rest != '.' || number < 1 || number > count)
            continue;
        if (strcmp(rest + 1, TRACE_FACT_HOST_NAME) == 0)
            traces[number - 1].host = tables->facts[i].value;
        else if (strcmp(rest + 1, TRACE_FACT_HOST_BOOT_ID) == 0)
            traces[number - 1].boot_id = tables->facts[i].value;
        else if (strcmp(rest + 1, TRACE_MERGED_FILE) == 0)
            traces[number - 1].file = tables->facts[i].value;
        else if (strcmp(rest + 1, TRACE_MERGED_FIRST_PROCESS) == 0)
            traces[number - 1].first_process = tables->facts[i].value;
    }
}

/* What one of the traces calls its machine. Where another one has the same name (raspberrypi), the
 * file tells them apart. NULL: no memory. */
static const char *machine_name(struct timeline_builder *builder, const struct merged_trace *traces,
                                size_t count, size_t index)
{
    const struct merged_trace *trace = &traces[index];
    bool taken = false;
    char name[400];

    for (size_t i = 0; trace->host && i < count && !taken; i++)
        taken = traces[i].host && strcmp(traces[i].host, trace->host) == 0 &&
                strcmp(traces[i].boot_id ? traces[i].boot_id : "",
                       trace->boot_id ? trace->boot_id : "") != 0;
    if (!taken || !trace->file)
        return trace->host ? trace->host : "";
    snprintf(name, sizeof name, "%.100s, %.255s", trace->host, trace->file);
    return ifg_strings_keep(&builder->strings, name, strlen(name));
}

/* Processes come trace by trace. False: no memory. */
static bool find_machines(struct timeline_builder *builder, struct timeline_process *processes,
                          size_t count)
{
    const char *text = trace_find_fact(builder->tables, TRACE_FACT_MERGE_COUNT);
    size_t trace_count = text ? strtoul(text, NULL, 10) : 0;
    struct merged_trace *traces;
    const char *host = "";
    size_t next = 0;

    if (!trace_count || trace_count > MACHINES_MAX)
        return true;
    traces = ifg_alloc(trace_count, sizeof *traces);
    if (!traces)
        return false;
    read_merged(builder->tables, traces, trace_count);
    for (size_t i = 0; i < trace_count && next < count && host; i++) {
        const char *end = i + 1 < trace_count ? traces[i + 1].first_process : NULL;
        size_t first_of_next = end ? strtoul(end, NULL, 10) : count;

        host = machine_name(builder, traces, trace_count, i);
        for (; host && next < count && next < first_of_next; next++)
            processes[next].host = host;
    }
    ifg_free(traces);
    return host != NULL;
}

static bool name_machines(struct timeline_builder *builder, struct timeline_process *processes,
                          size_t count)
{
    const char *host = trace_find_fact(builder->tables, TRACE_FACT_HOST_NAME);
    char name[800];

    for (size_t i = 0; i < count; i++)
        processes[i].host = host ? host : "";
    if (!find_machines(builder, processes, count))
        return false;
    for (size_t i = 0; i < count; i++) {
        builder->timeline.machine_count +=
            !processes[i].pid && strcmp(processes[i].program, "system") == 0;
        if (strcmp(processes[i].host, processes[0].host) != 0)
            builder->timeline.several_machines = true;
    }
    for (size_t i = 0; i < count && builder->timeline.several_machines; i++) {
        if (!*processes[i].host)
            continue;
        snprintf(name, sizeof name, "%.255s (%.400s)", processes[i].name, processes[i].host);
        processes[i].name = ifg_strings_keep(&builder->strings, name, strlen(name));
        if (!processes[i].name)
            return false;
    }
    return true;
}

static enum ifg_status build_processes(struct timeline_builder *builder)
{
    const struct trace_tables *tables = builder->tables;
    struct timeline_process *processes = ifg_alloc(tables->process_count, sizeof *processes);

    if (!processes)
        return IFG_NO_MEMORY;
    builder->timeline.processes = processes;
    builder->timeline.process_count = tables->process_count;
    for (size_t i = 0; i < tables->process_count; i++) {
        const struct trace_process_entry *from = &tables->processes[i];

        processes[i] = (struct timeline_process){
            .pid = from->pid,
            .parent_pid = from->parent_pid,
            .name = file_name(from->program),
            .program = from->program,
            .arguments = from->arguments,
            .start_ns = trace_clock_to_ns(builder->timeline.reader, from->clock, from->start_ticks),
            .fate = from->fate,
            .fate_code = from->fate_code,
        };
        if (from->ended)
            processes[i].end_ns =
                trace_clock_to_ns(builder->timeline.reader, from->clock, from->end_ticks);
    }
    return name_machines(builder, processes, tables->process_count) ? IFG_OK : IFG_NO_MEMORY;
}

static enum ifg_status build_threads(struct timeline_builder *builder)
{
    const struct trace_tables *tables = builder->tables;

    builder->threads = ifg_alloc(tables->thread_count, sizeof *builder->threads);
    if (!builder->threads)
        return IFG_NO_MEMORY;
    for (size_t i = 0; i < tables->thread_count; i++) {
        builder->threads[i].process = tables->threads[i].process;
        if (builder->threads[i].process >= tables->process_count)
            builder->threads[i].process = 0; /* a damaged file: its process is not known */
        builder->threads[i].tid = tables->threads[i].tid;
        builder->threads[i].name = tables->threads[i].name;
    }
    builder->timeline.threads = builder->threads;
    builder->timeline.thread_count = tables->process_count ? tables->thread_count : 0;
    return IFG_OK;
}

static const char *late_property(const struct trace_tables *tables, const struct trace_model *model,
                                 const char *key, const char *otherwise)
{
    for (size_t i = tables->property_count; i-- > 0;)
        if (tables->properties[i].process == model->process &&
            tables->properties[i].model == model->id && strcmp(tables->properties[i].key, key) == 0)
            return tables->properties[i].value;
    return otherwise;
}

static enum ifg_status build_models(struct timeline_builder *builder)
{
    const struct trace_tables *tables = builder->tables;
    struct timeline_model *models = ifg_alloc(tables->model_count, sizeof *models);

    if (!models)
        return IFG_NO_MEMORY;
    builder->timeline.models = models;
    builder->timeline.model_count = tables->model_count;
    for (size_t i = 0; i < tables->model_count; i++) {
        const struct trace_model *from = &tables->models[i];

        models[i] = (struct timeline_model){
            .process = from->process,
            .id = from->id,
            .name = from->name,
            .given_name = from->name,
            .path = from->path,
            .content_id = from->content_id,
            .runtime = from->runtime,
            .requested_devices = late_property(tables, from, TRACE_PROPERTY_REQUESTED_DEVICES,
                                               from->requested_devices),
            .actual_devices =
                late_property(tables, from, TRACE_PROPERTY_ACTUAL_DEVICES, from->actual_devices),
        };
    }
    return timeline_name_models(builder, models, tables->model_count);
}

/* The function (model, name), added if it is new. */
static uint32_t function_index(struct timeline_builder *builder, uint32_t model, const char *name)
{
    for (size_t i = 0; i < builder->timeline.function_count; i++)
        if (builder->functions[i].model == model && strcmp(builder->functions[i].name, name) == 0)
            return (uint32_t)i;
    builder->functions[builder->timeline.function_count] =
        (struct timeline_model_function){ .model = model, .name = name };
    return (uint32_t)builder->timeline.function_count++;
}

static enum ifg_status build_locations(struct timeline_builder *builder)
{
    const struct trace_tables *tables = builder->tables;
    size_t count = tables->location_count + 1;
    struct timeline_location *locations = ifg_alloc(count, sizeof *locations);

    builder->functions = ifg_alloc(count, sizeof *builder->functions);
    builder->timeline.functions = builder->functions;
    builder->timeline.locations = locations;
    builder->timeline.location_count = count;
    if (!locations || !builder->functions)
        return IFG_NO_MEMORY;
    for (size_t i = 0; i < tables->location_count; i++) {
        const struct trace_location *from = &tables->locations[i];
        const struct trace_model *model = trace_find_model(tables, from->process, from->model);
        struct timeline_location *location = &locations[i];

        *location = (struct timeline_location){
            .process = from->process < tables->process_count ? from->process : 0,
            .kind = from->kind,
            .category = from->category,
            .color = from->color,
            .line = from->line,
            .model = model ? (uint32_t)(model - tables->models) : TIMELINE_NONE,
            .function_index = TIMELINE_NONE,
            .name = from->name,
            .function = from->function,
            .file = from->file,
        };
        if ((unsigned)location->category >= TRACE_CATEGORIES)
            location->category = TRACE_CATEGORY_NONE;
        if (location->kind == TRACE_LOCATION_ML && !*location->name)
            location->name = timeline_category_name(location->category);
        if (location->kind == TRACE_LOCATION_ML && location->model != TIMELINE_NONE)
            location->function_index = function_index(builder, location->model, location->function);
    }
    /* The last location stands for locations that the trace does not define. */
    locations[tables->location_count] = (struct timeline_location){
        .kind = TRACE_LOCATION_ZONE,
        .model = TIMELINE_NONE,
        .function_index = TIMELINE_NONE,
        .name = "(not defined in this trace)",
        .function = "",
        .file = "",
    };
    return IFG_OK;
}

/* Ids are handed out one after the other, so a plain array finds them; a hostile file gets a
 * search. */
static enum ifg_status build_maps(struct timeline_builder *builder)
{
    const struct trace_tables *tables = builder->tables;

    uint64_t allowance = 4 * (uint64_t)tables->location_count + MAP_SLOTS_FREE; /* of all maps */

    builder->maps = ifg_alloc(tables->process_count, sizeof *builder->maps);
    if (!builder->maps)
        return IFG_NO_MEMORY;
    for (size_t i = 0; i < tables->location_count;) {
        uint32_t process = tables->locations[i].process;
        size_t first = i;
        uint64_t largest;
        struct location_map *map;

        while (i < tables->location_count && tables->locations[i].process == process)
            i++;
        largest = tables->locations[i - 1].id;
        if (process >= tables->process_count || largest > 4 * (uint64_t)(i - first) + 4096 ||
            largest >= allowance)
            continue;
        allowance -= largest + 1;
        map = &builder->maps[process];
        map->by_id = ifg_alloc(largest + 1, sizeof *map->by_id);
        if (!map->by_id)
            return IFG_NO_MEMORY;
        map->limit = (uint32_t)largest + 1;
        for (uint32_t id = 0; id < map->limit; id++)
            map->by_id[id] = (uint32_t)tables->location_count;
        for (size_t k = first; k < i; k++)
            map->by_id[tables->locations[k].id] = (uint32_t)k;
    }
    return IFG_OK;
}

uint32_t timeline_builder_location(const struct timeline_builder *builder, uint32_t process,
                                   uint32_t location)
{
    const struct trace_tables *tables = builder->tables;
    const struct trace_location *found;

    if (process < tables->process_count && builder->maps[process].by_id)
        return location < builder->maps[process].limit ? builder->maps[process].by_id[location]
                                                       : (uint32_t)tables->location_count;
    found = trace_find_location(tables, process, location);
    return found ? (uint32_t)(found - tables->locations) : (uint32_t)tables->location_count;
}

uint32_t timeline_builder_clock(const struct timeline_builder *builder, uint32_t thread)
{
    return trace_thread_clock(builder->tables, thread);
}

enum ifg_status timeline_build_tables(struct timeline_builder *builder)
{
    enum ifg_status status = build_processes(builder);

    if (!status)
        status = build_threads(builder);
    if (!status)
        status = build_models(builder);
    if (!status)
        status = build_locations(builder);
    if (!status)
        status = build_maps(builder);
    return status;
}
