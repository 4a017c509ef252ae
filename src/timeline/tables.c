// SPDX-License-Identifier: Apache-2.0
/* The small tables of a timeline: processes, threads, models, functions, places. */
#include "timeline/timeline_internal.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "trace/keys.h"

#define MAP_SLOTS_FREE (1u << 20)

static const char *file_name(const char *path)
{
    const char *slash = strrchr(path, '/');

    return slash && slash[1] ? slash + 1 : path;
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
    return IFG_OK;
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
    return name_models(builder, models, tables->model_count);
}

/* The function (net, name), added if it is new. */
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
    /* The last place stands for locations that the trace does not define. */
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

uint32_t builder_location(const struct timeline_builder *builder, uint32_t process,
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

uint32_t builder_clock(const struct timeline_builder *builder, uint32_t thread)
{
    return trace_thread_clock(builder->tables, thread);
}

enum ifg_status build_tables(struct timeline_builder *builder)
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
