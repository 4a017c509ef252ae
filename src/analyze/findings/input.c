// SPDX-License-Identifier: Apache-2.0
/* Making what input.h describes: tables first, then the passes of walk.c, then statistics. */
#include "analyze/findings/input_internal.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/device_use.h"
#include "analyze/heap.h"
#include "analyze/memory.h"
#include "analyze/waiting.h"
#include "base/alloc.h"
#include "timeline/samples.h"
#include "trace/keys.h"

#define NANO         1e9
#define SECONDS_MAX  1e9
#define CPUS_MAX     65536u
#define LOAD_AVG_MAX 1e6

/* Shares of the program are of what is in the trace. The recorder runs longer, and its own CPU time
 * is a share of that. */
static void read_lengths(struct ml_input *input)
{
    const char *said = trace_find_fact(input->tables, TRACE_FACT_RECORD_SECONDS);
    double seconds = said ? strtod(said, NULL) : 0;

    input->duration_ns = timeline_length_ns(input->timeline);
    input->duration_ns += input->duration_ns == 0;
    input->recorder_ns =
        seconds > 0 && seconds < SECONDS_MAX ? (uint64_t)(seconds * NANO) + 1 : input->duration_ns;
}

static void read_host(struct ml_input *input)
{
    const char *cpus = trace_find_fact(input->tables, TRACE_FACT_HOST_CPUS);
    const char *load = trace_find_fact(input->tables, TRACE_FACT_HOST_LOAD);
    unsigned long count = cpus ? strtoul(cpus, NULL, 10) : 0;
    char *end;

    input->cpus = count <= CPUS_MAX ? (uint32_t)count : 0;
    input->load_average = NAN;
    if (load) {
        double value = strtod(load, &end);

        if (end != load && value >= 0 && value < LOAD_AVG_MAX)
            input->load_average = value;
    }
}

/* Functions in the order of their models. */
static enum ifg_status make_functions(struct building *building)
{
    const struct timeline *timeline = building->timeline;
    struct ml_input *input = building->input;
    size_t at = 0;

    input->functions = ifg_alloc(timeline->function_count, sizeof *input->functions);
    building->function_of = ifg_alloc(timeline->function_count, sizeof *building->function_of);
    building->next_event =
        ifg_alloc(timeline->function_count, TRACE_CATEGORIES * sizeof *building->next_event);
    if (!input->functions || !building->function_of || !building->next_event)
        return IFG_NO_MEMORY;
    for (size_t i = 0; i < timeline->function_count; i++)
        input->models[timeline->functions[i].model].function_count++;
    for (size_t i = 0; i < input->model_count; i++) {
        input->models[i].first_function = at;
        at += input->models[i].function_count;
        input->models[i].function_count = 0; /* counted again below */
    }
    for (size_t i = 0; i < timeline->function_count; i++) {
        const struct timeline_model_function *from = &timeline->functions[i];
        struct ml_model *model = &input->models[from->model];

        at = model->first_function + model->function_count++;
        input->functions[at].name = from->name;
        input->functions[at].model = from->model;
        building->function_of[i] = (uint32_t)at;
    }
    input->function_count = timeline->function_count;
    return IFG_OK;
}

static int by_name(const void *a, const void *b, void *user)
{
    const struct timeline *timeline = user;

    return strcmp(timeline->locations[*(const uint32_t *)a].name,
                  timeline->locations[*(const uint32_t *)b].name);
}

/* Stages of the same name are one, wherever they are written. */
static enum ifg_status make_stages(struct building *building)
{
    const struct timeline *timeline = building->timeline;
    struct ml_input *input = building->input;
    uint32_t *order = ifg_alloc(timeline->location_count, sizeof *order);
    size_t count = 0;

    building->stage_of_location = ifg_alloc(timeline->location_count, sizeof(uint32_t));
    for (uint32_t i = 0; order && i < timeline->location_count; i++)
        if (timeline->locations[i].kind == TRACE_LOCATION_STAGE)
            order[count++] = i;
    input->stages = ifg_alloc(count, sizeof *input->stages);
    if (!order || !building->stage_of_location || !input->stages) {
        ifg_free(order);
        return IFG_NO_MEMORY;
    }
    qsort_r(order, count, sizeof *order, by_name, (void *)(uintptr_t)timeline);
    for (size_t i = 0; i < count; i++) {
        const char *name = timeline->locations[order[i]].name;

        if (!i || strcmp(input->stages[input->stage_count - 1].name, name) != 0)
            input->stages[input->stage_count++] =
                (struct ml_stage){ .name = name, .first_ns = UINT64_MAX };
        building->stage_of_location[order[i]] = (uint32_t)input->stage_count;
    }
    ifg_free(order);
    return IFG_OK;
}

static enum ifg_status make_tables(struct building *building)
{
    const struct timeline *timeline = building->timeline;
    struct ml_input *input = building->input;
    enum ifg_status status;

    input->timeline = timeline;
    input->tables = trace_reader_tables(timeline->reader);
    read_lengths(input);
    read_host(input);
    input->models = ifg_alloc(timeline->model_count, sizeof *input->models);
    building->operator_of_location = ifg_alloc(timeline->location_count, sizeof(uint32_t));
    building->operator_times = ifg_alloc(timeline->model_count, sizeof *building->operator_times);
    if (!input->models || !building->operator_of_location || !building->operator_times)
        return IFG_NO_MEMORY;
    input->model_count = timeline->model_count;
    for (size_t i = 0; i < timeline->model_count; i++) {
        input->models[i].model = &timeline->models[i];
        input->models[i].operator_median_ns = NAN;
    }
    findings_read_properties(input);
    status = make_functions(building);
    return status ? status : make_stages(building);
}

static int by_first(const void *a, const void *b)
{
    const struct ml_stage *left = a;
    const struct ml_stage *right = b;

    return left->first_ns < right->first_ns ? -1 : left->first_ns > right->first_ns;
}

/* Stages that happened, in order, and how many requests they belong to. */
static void finish_stages(struct building *building)
{
    struct ml_input *input = building->input;
    size_t kept = 0;

    for (size_t i = 0; i < input->stage_count; i++)
        if (input->stages[i].count)
            input->stages[kept++] = input->stages[i];
    input->stage_count = kept;
    if (kept)
        qsort(input->stages, kept, sizeof *input->stages, by_first);
    if (building->request_count) {
        findings_sort(building->requests, building->request_count);
        for (size_t i = 0; i < building->request_count; i++)
            input->requests += !i || building->requests[i] != building->requests[i - 1];
        return;
    }
    for (size_t i = 0; i < kept; i++)
        if (input->stages[i].count > input->requests)
            input->requests = input->stages[i].count;
}

static enum ml_load_state state_named(const char *name)
{
    static const char *const names[ML_LOAD_STATES] = { "unknown", "cold", "cached", "precompiled" };

    for (int i = 0; i < ML_LOAD_STATES; i++)
        if (strcmp(name, names[i]) == 0)
            return (enum ml_load_state)i;
    return ML_UNKNOWN;
}

static void finish_models(struct ml_input *input)
{
    for (size_t f = 0; f < input->function_count; f++) {
        struct ml_model *model = &input->models[input->functions[f].model];
        const struct ml_events *loads = &input->functions[f].events[TRACE_CATEGORY_LOAD];
        const struct ml_events *runs = &input->functions[f].events[TRACE_CATEGORY_INFERENCE];

        for (size_t i = 0; i < loads->count; i++)
            if (!(loads->items[i].flags & ML_FAILED))
                model->loads[state_named(loads->items[i].detail)]++;
        for (size_t i = 0; i < runs->count; i++)
            model->profiled += (runs->items[i].flags & ML_HAS_OPS) != 0;
    }
    for (size_t i = 0; input->device && i < input->model_count; i++)
        input->models[i].device_recorded =
            device_is_recorded(input->timeline, input->models[i].model->process);
}

static void destroy_building(struct building *building)
{
    device_times_destroy(building->device_times);
    for (size_t i = 0; building->operator_times && i < building->timeline->model_count; i++)
        ifg_free(building->operator_times[i].cells);
    ifg_free(building->operator_times);
    ifg_free(building->operators.items);
    ifg_index_fini(&building->operators.index);
    ifg_free(building->operator_of_location);
    ifg_free(building->stage_of_location);
    ifg_free(building->requests);
    ifg_free(building->next_event);
    ifg_free(building->function_of);
}

enum ifg_status findings_input_create(const struct timeline *timeline, struct ml_input **out_input,
                                      struct ifg_error *err)
{
    struct building building = { .timeline = timeline };
    enum ifg_status status = IFG_NO_MEMORY;

    *out_input = NULL;
    building.input = ifg_alloc(1, sizeof *building.input);
    if (building.input)
        status = make_tables(&building);
    if (!status)
        status = device_times_create(timeline, &building.device_times, err);
    if (!status)
        status = findings_walk(&building);
    if (!status)
        status = findings_finish_operators(&building);
    if (!status)
        status = findings_time_events(building.input);
    if (!status)
        status =
            resources_create(timeline, building.input->duration_ns, &building.input->resources);
    if (!status)
        status = timeline_profile_get(timeline, &building.input->profile, err);
    if (!status)
        status = waiting_create(timeline, &building.input->waiting, err);
    if (!status)
        status = memory_create(building.input, &building.input->memory);
    if (!status)
        status = heap_use_create(building.input, &building.input->heap, err);
    if (!status)
        status =
            device_use_create(building.input, &building.device_times, &building.input->device, err);
    if (!status) {
        finish_stages(&building);
        finish_models(building.input);
        *out_input = building.input;
    } else {
        findings_input_destroy(building.input);
        ifg_fail_no_memory(err, "for the events of %zu models", timeline->model_count);
    }
    destroy_building(&building);
    return status;
}

void findings_input_destroy(struct ml_input *input)
{
    if (!input)
        return;
    resources_destroy(input->resources);
    ifg_free(input->models);
    ifg_free(input->functions);
    ifg_free(input->operators);
    ifg_free(input->stages);
    ifg_free(input->events);
    waiting_destroy(input->waiting);
    memory_destroy(input->memory);
    heap_use_destroy(input->heap);
    device_use_destroy(input->device);
    ifg_free(input);
}

const char *findings_event_text(const struct ml_input *input, const struct ml_event *event,
                                const char *key)
{
    const struct timeline_attribute *attribute =
        event->slice == SIZE_MAX ? NULL
                                 : timeline_find_attribute(input->timeline, event->slice, key);

    return attribute && attribute->type == TRACE_VALUE_STRING ? attribute->text : "";
}
