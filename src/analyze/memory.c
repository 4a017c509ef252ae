// SPDX-License-Identifier: Apache-2.0
/* Memory before, at most and after: see memory.h. */
#include "analyze/memory.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/memory_internal.h"
#include "base/alloc.h"
#include "base/array.h"
#include "trace/keys.h"

#define SCENES_MAX 16u /* processes whose peak is looked at more closely */

/* The looks around instances of a phase. */
struct range {
    uint32_t phase, first, last;
    bool is_short;
};

struct building {
    const struct ml_input *input;
    const struct timeline *timeline;
    struct memory *memory;
    struct memory_lines lines;
    size_t phase_capacity;
    struct range *ranges; /* of phases whose growth is not summed up yet */
    size_t range_count, range_capacity;
};

static uint32_t pid_of(const struct timeline *timeline, uint32_t process)
{
    return process < timeline->process_count ? timeline->processes[process].pid : 0;
}

/* ---- phases ---- */

static struct memory_phase *add_phase(struct building *building, const struct memory_phase *phase)
{
    struct memory *memory = building->memory;

    if (!IFG_ARRAY_ROOM(memory->phases, building->phase_capacity, memory->phase_count + 1,
                        IFG_ARRAY_ANY))
        return NULL;
    memory->phases[memory->phase_count] = *phase;
    return &memory->phases[memory->phase_count++];
}

/* Unknown ones come last. */
static int compare_sizes(double left, double right)
{
    if (isnan(left) || isnan(right))
        return isnan(left) - isnan(right);
    return left > right ? -1 : left < right;
}

/* Thousands of short instances stand between the same two looks: one range is enough for them. */
static bool add_range(struct building *building, uint32_t phase, const struct memory_span *span)
{
    const struct range range = { phase, span->first, span->last, span->is_short };
    const struct range *before =
        building->range_count ? &building->ranges[building->range_count - 1] : NULL;

    if (before && before->phase == phase && before->first == range.first &&
        before->last == range.last && before->is_short == range.is_short)
        return true;
    if (!IFG_ARRAY_ROOM(building->ranges, building->range_capacity, building->range_count + 1,
                        IFG_ARRAY_ANY))
        return false;
    building->ranges[building->range_count++] = range;
    return true;
}

static bool add_instance(struct building *building, uint32_t index, struct memory_phase *phase,
                         const struct ml_event *event)
{
    const struct memory_line *line = memory_line_of(&building->lines, phase->pid);
    struct memory_span span;
    uint64_t end_ns;

    if (__builtin_add_overflow(event->start_ns, event->duration_ns, &end_ns) ||
        !memory_ask(line, event->start_ns, end_ns, &span)) {
        phase->unpolled++;
        return true;
    }
    phase->coarse += span.coarse;
    if (!phase->count++ || compare_sizes(memory_delta(&span), memory_delta(&phase->most)) < 0) {
        phase->most = span;
        phase->most_start_ns = event->start_ns;
        phase->most_slice = event->slice;
    }
    return add_range(building, index, &span);
}

static int by_phase_and_look(const void *a, const void *b)
{
    const struct range *left = a;
    const struct range *right = b;

    if (left->phase != right->phase)
        return left->phase < right->phase ? -1 : 1;
    if (left->is_short != right->is_short)
        return left->is_short ? 1 : -1;
    return left->first < right->first ? -1 : left->first > right->first;
}

/* The ranges of one phase: long ones first, by their first look. A step of memory counts once,
 * however many instances ran meanwhile. */
static double sum_growth(const struct memory_look *looks, struct range *ranges, size_t count)
{
    size_t at = 0, merged = 0, next = 0;
    uint32_t to = 0;
    double growth = 0, uncertain = 0;

    for (; at < count && !ranges[at].is_short; at++) {
        if (!merged || ranges[at].first > ranges[merged - 1].last)
            ranges[merged++] = ranges[at];
        else if (ranges[at].last > ranges[merged - 1].last)
            ranges[merged - 1].last = ranges[at].last;
    }
    for (size_t i = 0; i < merged; i++)
        growth += looks[ranges[i].last].bytes - looks[ranges[i].first].bytes;
    for (; at < count; at++)
        for (uint32_t i = ranges[at].first > to ? ranges[at].first : to; i < ranges[at].last; i++) {
            double step = looks[i + 1].bytes - looks[i].bytes;

            to = i + 1;
            while (next < merged && ranges[next].last <= i)
                next++;
            if (next < merged && ranges[next].first <= i)
                continue;
            growth += step;
            uncertain += fabs(step);
        }
    return uncertain > MEMORY_OUTSIDE_SHARE * fabs(growth) ? (double)NAN : growth;
}

static void sum_growths(struct building *building)
{
    struct range *ranges = building->ranges;
    size_t end;

    if (building->range_count)
        qsort(ranges, building->range_count, sizeof *ranges, by_phase_and_look);
    for (size_t at = 0; at < building->range_count; at = end) {
        struct memory_phase *phase = &building->memory->phases[ranges[at].phase];
        const struct memory_line *line = memory_line_of(&building->lines, phase->pid);

        for (end = at + 1; end < building->range_count && ranges[end].phase == ranges[at].phase;)
            end++;
        phase->growth = sum_growth(line->looks, &ranges[at], end - at);
        phase->resolution_ns = line->resolution_ns;
    }
    building->range_count = 0;
}

static const struct ml_event *first_event(const struct ml_input *input,
                                          const struct ml_model *model,
                                          enum trace_category category)
{
    const struct ml_event *first = NULL;

    for (size_t f = 0; f < model->function_count; f++) {
        const struct ml_events *events =
            &input->functions[model->first_function + f].events[category];

        for (size_t i = 0; i < events->count; i++)
            if (!(events->items[i].flags & ML_NESTED) &&
                (!first || events->items[i].start_ns < first->start_ns))
                first = &events->items[i];
    }
    return first;
}

static bool add_category(struct building *building, uint32_t index, enum trace_category category,
                         enum memory_part part)
{
    const struct ml_input *input = building->input;
    const struct ml_model *model = &input->models[index];
    uint32_t pid = pid_of(building->timeline, model->model->process);
    uint32_t at = (uint32_t)building->memory->phase_count; /* where it will be */
    const struct ml_event *first = part == MEMORY_ALL ? NULL : first_event(input, model, category);
    struct memory_phase phase = {
        .pid = pid,
        .model = index,
        .category = category,
        .part = part,
        .name = timeline_category_name(category),
        .most_slice = SIZE_MAX,
    };

    if (!memory_line_of(&building->lines, pid))
        return true;
    for (size_t f = 0; f < model->function_count; f++) {
        const struct ml_events *events =
            &input->functions[model->first_function + f].events[category];

        for (size_t i = 0; i < events->count; i++) {
            const struct ml_event *event = &events->items[i];

            if (event->flags & ML_NESTED || (part == MEMORY_FIRST && event != first) ||
                (part == MEMORY_REST && event == first))
                continue;
            if (!add_instance(building, at, &phase, event))
                return false;
        }
    }
    return !phase.count || add_phase(building, &phase);
}

static bool add_models(struct building *building)
{
    for (uint32_t n = 0; n < building->input->model_count; n++) {
        for (int c = TRACE_CATEGORY_PREPARE_EP; c < TRACE_CATEGORIES; c++) {
            enum trace_category category = (enum trace_category)c;

            if (category == TRACE_CATEGORY_INFERENCE) {
                if (!add_category(building, n, category, MEMORY_FIRST) ||
                    !add_category(building, n, category, MEMORY_REST))
                    return false;
            } else if (!add_category(building, n, category, MEMORY_ALL)) {
                return false;
            }
        }
    }
    sum_growths(building);
    return true;
}

static int by_process_and_name(const void *a, const void *b, void *user)
{
    const struct timeline *timeline = user;
    const struct timeline_location *left = &timeline->locations[*(const uint32_t *)a];
    const struct timeline_location *right = &timeline->locations[*(const uint32_t *)b];
    uint32_t left_pid = pid_of(timeline, left->process),
             right_pid = pid_of(timeline, right->process);

    if (left_pid != right_pid)
        return left_pid < right_pid ? -1 : 1;
    return strcmp(left->name, right->name);
}

/* Zones of one name are one phase, wherever in the program they are. */
static bool make_zone_phases(struct building *building, uint32_t *phase_of, uint32_t *order)
{
    const struct timeline *timeline = building->timeline;
    size_t count = 0;

    for (size_t i = 0; i < timeline->location_count; i++) {
        phase_of[i] = TIMELINE_NONE;
        if (timeline->locations[i].kind == TRACE_LOCATION_ZONE ||
            timeline->locations[i].kind == TRACE_LOCATION_STAGE)
            order[count++] = (uint32_t)i;
    }
    qsort_r(order, count, sizeof *order, by_process_and_name, (void *)(uintptr_t)timeline);
    for (size_t i = 0; i < count; i++) {
        const struct timeline_location *location = &timeline->locations[order[i]];
        uint32_t pid = pid_of(timeline, location->process);

        if (!memory_line_of(&building->lines, pid))
            continue;
        if ((!i ||
             by_process_and_name(&order[i - 1], &order[i], (void *)(uintptr_t)timeline) != 0) &&
            !add_phase(building, &(struct memory_phase){ .pid = pid,
                                                         .model = TIMELINE_NONE,
                                                         .name = location->name,
                                                         .most_slice = SIZE_MAX }))
            return false;
        phase_of[order[i]] = (uint32_t)building->memory->phase_count - 1;
    }
    return true;
}

static bool add_zones(struct building *building)
{
    const struct timeline *timeline = building->timeline;
    uint32_t *phase_of = ifg_alloc(timeline->location_count + 1, sizeof *phase_of);
    uint32_t *order = ifg_alloc(timeline->location_count + 1, sizeof *order);
    struct memory *memory = building->memory;
    bool good = phase_of && order && make_zone_phases(building, phase_of, order);
    size_t unfinished = 0, kept = 0;

    for (size_t i = 0; good && i < timeline->slice_count; i++) {
        uint32_t at = phase_of[timeline->location[i]];

        while (unfinished < timeline->unfinished_count && timeline->unfinished[unfinished] < i)
            unfinished++;
        if (at == TIMELINE_NONE ||
            (unfinished < timeline->unfinished_count && timeline->unfinished[unfinished] == i))
            continue;
        good = add_instance(building, at, &memory->phases[at],
                            &(struct ml_event){ .start_ns = timeline->start_ns[i],
                                                .duration_ns = timeline_duration_ns(timeline, i),
                                                .slice = i });
    }
    if (good)
        sum_growths(building);
    for (size_t i = 0; good && i < memory->phase_count; i++) /* those that did not happen */
        if (memory->phases[i].count)
            memory->phases[kept++] = memory->phases[i];
    if (good)
        memory->phase_count = kept;
    ifg_free(phase_of);
    ifg_free(order);
    return good;
}

/* ---- what ran at the peak ---- */

struct window {
    uint64_t from_ns, to_ns;
};

/* How much of a window something covers; 0: nothing, one more than nothing for a moment. */
static uint64_t overlap(const struct window *window, uint64_t start_ns, uint64_t end_ns)
{
    uint64_t from = start_ns > window->from_ns ? start_ns : window->from_ns;
    uint64_t to = end_ns < window->to_ns ? end_ns : window->to_ns;

    return from <= to && start_ns < end_ns ? to - from + 1 : 0;
}

static void find_event(const struct building *building, uint32_t pid, const struct window *window,
                       struct memory_scene *out)
{
    const struct ml_input *input = building->input;
    const struct ml_event *found = NULL;
    uint64_t most = 0, number = 1;

    for (size_t f = 0; f < input->function_count; f++) {
        const struct ml_function *function = &input->functions[f];

        if (pid_of(building->timeline, input->models[function->model].model->process) != pid)
            continue;
        for (int c = TRACE_CATEGORY_PREPARE_EP; c < TRACE_CATEGORIES; c++)
            for (size_t i = 0; i < function->events[c].count; i++) {
                const struct ml_event *event = &function->events[c].items[i];
                uint64_t covered =
                    event->flags & ML_NESTED
                        ? 0
                        : overlap(window, event->start_ns, event->start_ns + event->duration_ns);

                if (covered <= most)
                    continue;
                most = covered;
                found = event;
                out->model = function->model;
                out->category = (enum trace_category)c;
            }
    }
    if (!found || out->category != TRACE_CATEGORY_INFERENCE)
        return;
    for (size_t f = 0; f < input->models[out->model].function_count; f++) {
        const struct ml_events *runs =
            &input->functions[input->models[out->model].first_function + f]
                 .events[TRACE_CATEGORY_INFERENCE];

        for (size_t i = 0; i < runs->count; i++)
            number +=
                !(runs->items[i].flags & ML_NESTED) && runs->items[i].start_ns < found->start_ns;
    }
    out->number = number;
}

static void find_slices(const struct building *building, uint32_t pid, const struct window *window,
                        struct memory_scene *out)
{
    const struct timeline *timeline = building->timeline;
    uint64_t most_op = 0, most_zone = 0;

    for (size_t t = 0; t < timeline->thread_count; t++) {
        const struct timeline_thread *thread = &timeline->threads[t];

        if (pid_of(timeline, thread->process) != pid)
            continue;
        for (size_t i = thread->first_slice; i < thread->first_slice + thread->slice_count; i++) {
            enum trace_location_kind kind = timeline->locations[timeline->location[i]].kind;
            uint64_t covered;

            if (timeline->start_ns[i] > window->to_ns)
                break;
            if (kind != TRACE_LOCATION_OP && kind != TRACE_LOCATION_ZONE &&
                kind != TRACE_LOCATION_STAGE)
                continue;
            covered = overlap(window, timeline->start_ns[i], timeline_end_ns(timeline, i));
            if (kind == TRACE_LOCATION_OP && covered > most_op) {
                most_op = covered;
                out->op = timeline_slice_name(timeline, i);
            } else if (kind != TRACE_LOCATION_OP && covered && covered >= most_zone) {
                most_zone = covered; /* the inner one of two */
                out->zone = timeline_slice_name(timeline, i);
            }
        }
    }
}

/* ---- processes ---- */

/* Loads that were over before the first inference. */
static double after_load(const struct building *building, const struct memory_line *line)
{
    const struct ml_input *input = building->input;
    uint64_t first_run = UINT64_MAX, last_load = 0;
    struct memory_span span;

    for (size_t n = 0; n < input->model_count; n++) {
        const struct ml_event *run = NULL;

        if (pid_of(building->timeline, input->models[n].model->process) == line->pid)
            run = first_event(input, &input->models[n], TRACE_CATEGORY_INFERENCE);
        if (run && run->start_ns < first_run)
            first_run = run->start_ns;
    }
    for (size_t f = 0; f < input->function_count; f++) {
        const struct ml_events *loads = &input->functions[f].events[TRACE_CATEGORY_LOAD];
        uint32_t process = input->models[input->functions[f].model].model->process;

        for (size_t i = 0; pid_of(building->timeline, process) == line->pid && i < loads->count;
             i++) {
            uint64_t end = loads->items[i].start_ns + loads->items[i].duration_ns;

            if (end <= first_run && end > last_load)
                last_load = end;
        }
    }
    if (!last_load || !memory_ask(line, last_load, last_load, &span))
        return (double)NAN;
    return span.after;
}

static const char *name_of(const struct timeline *timeline, uint32_t pid)
{
    const char *name = "";

    for (size_t i = 0; i < timeline->process_count; i++)
        if (timeline->processes[i].pid == pid && *timeline->processes[i].name)
            name = timeline->processes[i].name;
    return name;
}

static bool has_models(const struct building *building, uint32_t pid)
{
    const struct ml_input *input = building->input;

    for (size_t n = 0; n < input->model_count; n++)
        if (input->models[n].total_ns &&
            pid_of(building->timeline, input->models[n].model->process) == pid)
            return true;
    return false;
}

/* Each process is a phase, too. */
static bool add_wholes(struct building *building)
{
    const struct memory *memory = building->memory;

    for (size_t i = 0; i < memory->process_count; i++) {
        const struct memory_process *process = &memory->processes[i];

        if (!add_phase(
                building,
                &(struct memory_phase){
                    .pid = process->pid,
                    .whole = true,
                    .model = TIMELINE_NONE,
                    .name = process->name,
                    .count = 1,
                    .most = process->whole,
                    .most_slice = SIZE_MAX,
                    .growth = process->whole.after - process->whole.before,
                    .resolution_ns = memory_line_of(&building->lines, process->pid)->resolution_ns,
                }))
            return false;
    }
    return true;
}

static int by_importance(const void *a, const void *b)
{
    const struct memory_process *left = a;
    const struct memory_process *right = b;
    int order = compare_sizes(memory_delta(&left->whole), memory_delta(&right->whole));

    if (left->has_models != right->has_models)
        return left->has_models ? -1 : 1;
    if (order)
        return order;
    return left->pid < right->pid ? -1 : left->pid > right->pid;
}

static int by_delta(const void *a, const void *b)
{
    const struct memory_phase *left = a;
    const struct memory_phase *right = b;
    int order = compare_sizes(memory_delta(&left->most), memory_delta(&right->most));

    if (order)
        return order;
    if (left->most_start_ns != right->most_start_ns)
        return left->most_start_ns < right->most_start_ns ? -1 : 1;
    return strcmp(left->name, right->name);
}

static bool add_processes(struct building *building)
{
    struct memory *memory = building->memory;

    memory->processes = ifg_alloc(building->lines.count, sizeof *memory->processes);
    for (size_t i = 0; memory->processes && i < building->lines.count; i++) {
        const struct memory_line *line = &building->lines.items[i];
        struct memory_process *process = &memory->processes[memory->process_count++];

        *process = (struct memory_process){
            .pid = line->pid,
            .name = name_of(building->timeline, line->pid),
            .has_models = has_models(building, line->pid),
            .looks = line->count,
            .after_load = after_load(building, line),
            .anon_peak = resource_max(
                resources_find(building->input->resources, line->pid, "resident anon bytes")),
            .scene = { .model = TIMELINE_NONE, .op = "", .zone = "" },
        };
        (void)memory_ask(line, line->looks[0].ns, line->looks[line->count - 1].ns, &process->whole);
        process->whole.coarse = process->whole.is_short = false;
        memory->fine |= line->fine;
    }
    if (!memory->processes)
        return false;
    qsort(memory->processes, memory->process_count, sizeof *memory->processes, by_importance);
    for (size_t i = 0; i < memory->process_count && i < SCENES_MAX; i++) {
        struct memory_process *process = &memory->processes[i];
        struct window window;

        memory_first(memory_line_of(&building->lines, process->pid),
                     process->whole.peak - MEMORY_NEAR * memory_delta(&process->whole),
                     &window.from_ns, &window.to_ns);
        find_event(building, process->pid, &window, &process->scene);
        find_slices(building, process->pid, &window, &process->scene);
    }
    memory->resolution_ns =
        memory_line_of(&building->lines, memory->processes[0].pid)->resolution_ns;
    return true;
}

static double fact(const struct ml_input *input, const char *key)
{
    const char *text = trace_find_fact(input->tables, key);
    char *end;
    double value = text ? strtod(text, &end) : (double)NAN;

    return text && end != text && isfinite(value) && value >= 0 ? value : (double)NAN;
}

enum ifg_status memory_create(const struct ml_input *input, struct memory **out_memory)
{
    struct building building = { .input = input, .timeline = input->timeline };
    enum ifg_status status = IFG_OK;

    *out_memory = NULL;
    if (!input->resources)
        return IFG_OK;
    status = memory_lines_create(input->resources, &building.lines);
    if (!status && building.lines.count) {
        building.memory = ifg_alloc(1, sizeof *building.memory);
        if (!building.memory || !add_processes(&building) || !add_models(&building) ||
            !add_zones(&building) || !add_wholes(&building))
            status = IFG_NO_MEMORY;
    }
    memory_lines_destroy(&building.lines);
    ifg_free(building.ranges);
    if (status) {
        memory_destroy(building.memory);
        return status;
    }
    if (building.memory) {
        if (building.memory->phase_count)
            qsort(building.memory->phases, building.memory->phase_count,
                  sizeof *building.memory->phases, by_delta);
        building.memory->gaps = fact(input, TRACE_FACT_MEMORY_GAPS);
        building.memory->longest_gap_ms = fact(input, TRACE_FACT_MEMORY_LONGEST_GAP_MS);
        building.memory->cpu_seconds = fact(input, TRACE_FACT_MEMORY_CPU_SECONDS);
    }
    *out_memory = building.memory;
    return IFG_OK;
}

void memory_destroy(struct memory *memory)
{
    if (!memory)
        return;
    ifg_free(memory->processes);
    ifg_free(memory->phases);
    ifg_free(memory);
}
