// SPDX-License-Identifier: Apache-2.0
/*
 * The passes over slices: one counts events by function and category, one puts them in their
 * locations. The second goes through each thread with a stack of what is open, so that nesting
 * costs nothing extra: operators inside operators, specializations inside loads, inferences inside
 * zones.
 */
#include "analyze/findings/input_internal.h"

#include <stdlib.h>
#include <string.h>

#include "analyze/operator_use.h"
#include "base/alloc.h"
#include "base/quantile.h"
#include "base/array.h"
#include "trace/keys.h"

#define FRAMES_FIRST 64u
#define NONE         SIZE_MAX

/* One request as a zone shows it. */
struct seen_request {
    uint32_t function; /* NO_FUNCTION: none */
    uint64_t before_ns;
    uint64_t inference_ns;
    uint64_t after_ns;
};

/* A slice that is open. */
struct frame {
    uint64_t start_ns;
    uint64_t end_ns;
    size_t event; /* ML events: index into input->events, or NONE if unfinished */
    uint32_t category;
    uint32_t owner;           /* ML events: the function, or NO_FUNCTION */
    uint32_t operator_inside; /* the nearest operator around what comes next, or UINT32_MAX */
    uint32_t stage_inside;
    uint32_t inferences; /* inside, at most 2 */
    bool is_zone;        /* a finished zone of the program */
    bool is_ml;
    /* if there is one inference inside, or it is one */
    uint64_t inference_start_ns;
    uint64_t inference_end_ns;
    uint32_t function;           /* NO_FUNCTION: one that is not to be shown */
    struct seen_request request; /* of the outermost zone around it so far */
};

struct walking {
    struct building *building;
    struct frame *frames;
    size_t capacity;
    size_t open;
    uint32_t thread;
    uint32_t process;
    size_t inference; /* the outermost open inference's frame, or NONE */
    size_t load;      /* the same of loads */
    size_t ml_open;
    size_t next_attribute;
    size_t next_unfinished;
    /* between inferences */
    bool has_last;
    uint64_t last_end_ns;
    uint64_t setup_ns;
};

/* What attributes tell. */
struct told {
    const char *detail;
    const char *operator_type;
    uint64_t request;
    uint32_t session;
    uint32_t batch;
    uint32_t flags;
    bool has_request;
};

static size_t group_at(uint32_t function, uint32_t category)
{
    return (size_t)function * TRACE_CATEGORIES + category;
}

static uint32_t function_of(const struct building *building,
                            const struct timeline_location *location)
{
    return location->kind == TRACE_LOCATION_ML && location->function_index != TIMELINE_NONE
               ? building->function_of[location->function_index]
               : NO_FUNCTION;
}

/* ---- the first pass ---- */

static void count_slices(struct building *building, bool *out_wanted)
{
    const struct timeline *timeline = building->timeline;
    size_t unfinished = 0;

    for (size_t t = 0; t < timeline->thread_count; t++) {
        size_t end = timeline->threads[t].first_slice + timeline->threads[t].slice_count;

        for (size_t i = timeline->threads[t].first_slice; i < end; i++) {
            const struct timeline_location *location = &timeline->locations[timeline->location[i]];
            uint32_t function;

            if (location->kind == TRACE_LOCATION_ZONE)
                continue;
            out_wanted[t] = true;
            function = function_of(building, location);
            if (function == NO_FUNCTION)
                continue;
            while (unfinished < timeline->unfinished_count && timeline->unfinished[unfinished] < i)
                unfinished++;
            if (unfinished < timeline->unfinished_count && timeline->unfinished[unfinished] == i)
                building->input->functions[function].events[location->category].timing.unfinished++;
            else
                building->next_event[group_at(function, location->category)]++;
        }
    }
}

static void count_spans(struct building *building)
{
    const struct timeline *timeline = building->timeline;

    for (size_t i = 0; i < timeline->async_count; i++) {
        const struct timeline_location *location =
            &timeline->locations[timeline->asyncs[i].location];
        uint32_t function = function_of(building, location);

        if (function == NO_FUNCTION)
            continue;
        if (timeline->asyncs[i].end_thread == TIMELINE_NONE)
            building->input->functions[function].events[location->category].timing.unfinished++;
        else
            building->next_event[group_at(function, location->category)]++;
    }
}

/* From counts to first positions; the events' memory. */
static enum ifg_status reserve_events(struct building *building)
{
    struct ml_input *input = building->input;
    size_t groups = input->function_count * TRACE_CATEGORIES;
    size_t at = 0;

    for (size_t g = 0; g < groups; g++)
        at += building->next_event[g];
    input->event_count = at;
    input->events = ifg_alloc(at, sizeof *input->events);
    if (!input->events)
        return IFG_NO_MEMORY;
    at = 0;
    for (size_t g = 0; g < groups; g++) {
        struct ml_events *events =
            &input->functions[g / TRACE_CATEGORIES].events[g % TRACE_CATEGORIES];

        events->items = input->events + at;
        events->count = building->next_event[g];
        building->next_event[g] = at;
        at += events->count;
    }
    return IFG_OK;
}

/* ---- the second pass ---- */

static uint32_t small_number(const struct timeline_attribute *attribute)
{
    uint64_t value = attribute->unsigned_value;

    if (attribute->type == TRACE_VALUE_SIGNED && attribute->signed_value < 0)
        return 0;
    if (attribute->type != TRACE_VALUE_SIGNED && attribute->type != TRACE_VALUE_UNSIGNED)
        return 0;
    return value > UINT32_MAX ? UINT32_MAX : (uint32_t)value;
}

static void read_attribute(const struct timeline_attribute *attribute, struct told *told)
{
    const char *key = attribute->key;
    bool text = attribute->type == TRACE_VALUE_STRING;

    if (strcmp(key, TRACE_KEY_SESSION) == 0)
        told->session = small_number(attribute);
    else if (strcmp(key, TRACE_KEY_BATCH) == 0)
        told->batch = small_number(attribute);
    else if (strcmp(key, TRACE_KEY_OPS) == 0 && small_number(attribute))
        told->flags |= ML_WITH_OPS;
    else if (strcmp(key, TRACE_KEY_STATUS) == 0 && text &&
             strncmp(attribute->text, "error", 5) == 0)
        told->flags |= ML_FAILED;
    else if (text &&
             (strcmp(key, TRACE_KEY_SHAPES) == 0 || strcmp(key, TRACE_KEY_SPECIALIZATION) == 0 ||
              strcmp(key, TRACE_KEY_PROVIDER) == 0))
        told->detail = attribute->text;
    else if (text && strcmp(key, TRACE_KEY_OP_NAME) == 0)
        told->operator_type = attribute->text;
    else if (strcmp(key, TRACE_KEY_REQUEST) == 0 && attribute->type == TRACE_VALUE_UNSIGNED) {
        told->request = attribute->unsigned_value;
        told->has_request = true;
    }
}

static struct told read_attributes(struct walking *walking, size_t slice)
{
    static const char nothing[] = "";
    const struct timeline *timeline = walking->building->timeline;
    struct told told = { .detail = nothing, .operator_type = nothing };
    size_t at = walking->next_attribute;

    while (at < timeline->attribute_count && timeline->attributes[at].slice < slice)
        at++;
    for (; at < timeline->attribute_count && timeline->attributes[at].slice == slice; at++)
        read_attribute(&timeline->attributes[at], &told);
    walking->next_attribute = at;
    return told;
}

/* Keeps what one request looked like. */
static void keep_request(struct walking *walking, struct seen_request *request)
{
    struct ml_request *to;

    if (request->function == NO_FUNCTION)
        return;
    to = &walking->building->input->functions[request->function].request;
    to->count++;
    to->before_ns += request->before_ns;
    to->inference_ns += request->inference_ns;
    to->after_ns += request->after_ns;
    request->function = NO_FUNCTION;
}

/* A zone with one inference inside is a request, unless there is one around it that has still only
 * that one. */
static void close_frame(struct walking *walking)
{
    struct frame *frame = &walking->frames[--walking->open];
    struct frame *parent = walking->open ? &walking->frames[walking->open - 1] : NULL;

    if (frame->is_ml)
        walking->ml_open--;
    if (walking->open == walking->inference)
        walking->inference = NONE;
    if (walking->open == walking->load)
        walking->load = NONE;
    if (frame->category == TRACE_CATEGORY_INFERENCE) {
        frame->inferences = 1; /* whatever it calls */
        frame->request.function = NO_FUNCTION;
    }
    if (!frame->inferences)
        return;
    if (frame->inferences == 1 && frame->is_zone && frame->function != NO_FUNCTION &&
        frame->inference_start_ns >= frame->start_ns && frame->inference_end_ns <= frame->end_ns)
        frame->request = (struct seen_request){
            .function = frame->function,
            .before_ns = frame->inference_start_ns - frame->start_ns,
            .inference_ns = frame->inference_end_ns - frame->inference_start_ns,
            .after_ns = frame->end_ns - frame->inference_end_ns,
        };
    if (!parent) {
        keep_request(walking, &frame->request);
    } else if (!parent->inferences && frame->inferences == 1) {
        parent->inferences = 1;
        parent->inference_start_ns = frame->inference_start_ns;
        parent->inference_end_ns = frame->inference_end_ns;
        parent->function = frame->function;
        parent->request = frame->request;
    } else {
        keep_request(walking, &parent->request);
        keep_request(walking, &frame->request);
        parent->inferences = 2;
    }
}

/* NULL: no memory. */
static struct frame *open_frame(struct walking *walking, size_t slice, bool finished)
{
    const struct timeline *timeline = walking->building->timeline;
    size_t depth = timeline->depth[slice];
    struct frame *frame;
    const struct frame *parent;

    while (walking->open > depth)
        close_frame(walking);
    if (!IFG_ARRAY_ROOM(walking->frames, walking->capacity, walking->open + 1, IFG_ARRAY_ANY))
        return NULL;
    parent = walking->open ? &walking->frames[walking->open - 1] : NULL;
    frame = &walking->frames[walking->open++];
    frame->start_ns = timeline->start_ns[slice];
    frame->end_ns = timeline_end_ns(timeline, slice);
    frame->event = NONE;
    frame->category = TRACE_CATEGORY_NONE;
    frame->operator_inside = parent ? parent->operator_inside : UINT32_MAX;
    frame->stage_inside = parent ? parent->stage_inside : UINT32_MAX;
    frame->inferences = 0;
    frame->is_zone =
        finished && timeline->locations[timeline->location[slice]].kind == TRACE_LOCATION_ZONE;
    frame->is_ml = false;
    frame->request.function = NO_FUNCTION;
    return frame;
}

/* Time on this thread between one inference and the next that neither setup nor a load explains. */
static uint64_t take_gap(struct walking *walking, const struct frame *frame, uint32_t category,
                         bool finished)
{
    uint64_t duration = frame->end_ns - frame->start_ns;
    uint64_t gap = UINT64_MAX;

    if (walking->inference != NONE)
        return UINT64_MAX; /* inside one */
    if (category == TRACE_CATEGORY_SETUP) {
        walking->setup_ns += duration;
    } else if (category != TRACE_CATEGORY_INFERENCE) {
        walking->has_last = false;
    } else {
        if (walking->has_last && frame->start_ns >= walking->last_end_ns &&
            frame->start_ns - walking->last_end_ns >= walking->setup_ns)
            gap = frame->start_ns - walking->last_end_ns - walking->setup_ns;
        walking->has_last = finished;
        walking->last_end_ns = frame->end_ns;
        walking->setup_ns = 0;
    }
    return gap;
}

static void note_nesting(struct walking *walking, struct frame *frame, struct ml_event *event,
                         uint32_t category)
{
    struct ml_event *events = walking->building->input->events;
    size_t at = walking->open - 1;

    if (category == TRACE_CATEGORY_INFERENCE) {
        frame->inferences = 1;
        if (walking->inference == NONE)
            walking->inference = at;
        else if (event)
            event->flags |= ML_NESTED;
    } else if (category == TRACE_CATEGORY_LOAD) {
        if (walking->load == NONE)
            walking->load = at;
        else if (event)
            event->flags |= ML_NESTED;
    } else if (category == TRACE_CATEGORY_SPECIALIZATION) {
        const struct frame *around = walking->inference != NONE
                                         ? &walking->frames[walking->inference]
                                     : walking->load != NONE ? &walking->frames[walking->load]
                                                             : NULL;

        if (!around || around->event == NONE || !event)
            return;
        if (walking->inference != NONE)
            events[around->event].flags |= ML_SPECIALIZES;
        else
            events[around->event].specialization_ns += event->duration_ns;
    }
}

static void take_ml(struct walking *walking, struct frame *frame, size_t slice, bool finished)
{
    struct building *building = walking->building;
    struct ml_input *input = building->input;
    const struct timeline_location *location =
        &building->timeline->locations[building->timeline->location[slice]];
    uint32_t function = function_of(building, location);
    struct told told = read_attributes(walking, slice);
    uint64_t gap = take_gap(walking, frame, location->category, finished);
    struct ml_event *event = NULL;

    frame->is_ml = true;
    frame->category = location->category;
    frame->owner = function;
    frame->function = told.flags ? NO_FUNCTION : function; /* perturbed and failed ones */
    frame->inference_start_ns = frame->start_ns;
    frame->inference_end_ns = frame->end_ns;
    if (finished && function != NO_FUNCTION) {
        frame->event = building->next_event[group_at(function, location->category)]++;
        event = &input->events[frame->event];
        *event = (struct ml_event){
            .start_ns = frame->start_ns,
            .duration_ns = frame->end_ns - frame->start_ns,
            .slice = slice,
            .detail = told.detail,
            .thread = walking->thread,
            .session = told.session,
            .batch = told.batch,
            .flags = told.flags,
        };
        if (location->category == TRACE_CATEGORY_INFERENCE)
            event->gap_ns = gap;
        if (!walking->ml_open)
            input->models[input->functions[function].model].total_ns += event->duration_ns;
    }
    note_nesting(walking, frame, event, location->category);
    walking->ml_open++;
}

/* The model of an operator: its own, or that of the inference around it. */
static uint32_t model_of_operator(const struct walking *walking,
                                  const struct timeline_location *location)
{
    const struct ml_input *input = walking->building->input;
    const struct frame *inference;

    if (location->model != TIMELINE_NONE)
        return location->model;
    if (walking->inference == NONE)
        return TIMELINE_NONE;
    inference = &walking->frames[walking->inference];
    return inference->owner == NO_FUNCTION ? TIMELINE_NONE
                                           : input->functions[inference->owner].model;
}

static enum ifg_status group_operator(struct walking *walking, size_t slice, uint32_t model,
                                      uint32_t *out_index)
{
    struct building *building = walking->building;
    uint32_t location_index = building->timeline->location[slice];
    const struct timeline_location *location = &building->timeline->locations[location_index];
    const char *type = location->function;
    bool of_location = *type && location->model != TIMELINE_NONE;
    enum ifg_status status;

    if (of_location && building->operator_of_location[location_index]) {
        *out_index = building->operator_of_location[location_index] - 1;
        return IFG_OK;
    }
    if (!*type)
        type = read_attributes(walking, slice).operator_type;
    status = findings_operator_find(&building->operators, model, *type ? type : "(type not known)",
                                    out_index);
    building->input->models[model].host_time |= operator_is_host_time(building->timeline, slice);
    if (!status && of_location && *out_index != UINT32_MAX)
        building->operator_of_location[location_index] = *out_index + 1;
    return status;
}

static enum ifg_status take_operator(struct walking *walking, struct frame *frame, size_t slice)
{
    struct building *building = walking->building;
    const struct timeline_location *location =
        &building->timeline->locations[building->timeline->location[slice]];
    uint64_t duration = frame->end_ns - frame->start_ns;
    uint32_t model = model_of_operator(walking, location);
    struct operator_times *times;
    uint32_t group;
    enum ifg_status status;

    if (walking->inference != NONE && walking->frames[walking->inference].event != NONE)
        building->input->events[walking->frames[walking->inference].event].flags |=
            ML_WITH_OPS | ML_HAS_OPS;
    if (model == TIMELINE_NONE)
        return IFG_OK;
    status = group_operator(walking, slice, model, &group);
    if (status)
        return status;
    times = &building->operator_times[model];
    if (!times->cells)
        times->cells = ifg_alloc(CELLS, sizeof *times->cells);
    if (!times->cells)
        return IFG_NO_MEMORY;
    times->cells[ifg_cell_of(duration, CELL_BITS)]++;
    times->count++;
    times->whole_us +=
        (duration + 2) % 1000 <= 4; /* conversion of ticks may be off by one or two */
    if (group == UINT32_MAX)
        return IFG_OK;
    building->operators.items[group].count++;
    building->operators.items[group].total_ns += duration;
    if (building->device_times) {
        struct device_time time;

        device_time_of(building->device_times, slice, &time);
        building->operators.items[group].device_ns += time.busy_ns;
    }
    if (frame->operator_inside != UINT32_MAX) /* for now: what lies inside */
        building->operators.items[frame->operator_inside].self_ns += duration;
    frame->operator_inside = group;
    return IFG_OK;
}

static enum ifg_status take_request(struct building *building, uint64_t request)
{
    if (!IFG_ARRAY_ROOM(building->requests, building->request_capacity, building->request_count + 1,
                        IFG_ARRAY_ANY))
        return IFG_NO_MEMORY;
    building->requests[building->request_count++] = request;
    return IFG_OK;
}

static enum ifg_status take_stage(struct walking *walking, struct frame *frame, size_t slice)
{
    struct building *building = walking->building;
    uint32_t index = building->stage_of_location[building->timeline->location[slice]] - 1;
    struct ml_stage *stages = building->input->stages;
    struct told told = read_attributes(walking, slice);
    uint64_t duration = frame->end_ns - frame->start_ns;

    stages[index].count++;
    stages[index].self_ns += duration;
    if (frame->start_ns < stages[index].first_ns)
        stages[index].first_ns = frame->start_ns;
    if (frame->stage_inside != UINT32_MAX) {
        struct ml_stage *around = &stages[frame->stage_inside];

        around->self_ns -= duration < around->self_ns ? duration : around->self_ns;
    }
    frame->stage_inside = index;
    if (!told.has_request)
        return IFG_OK;
    return take_request(building, told.request + ((uint64_t)walking->process << 40));
}

static enum ifg_status walk_thread(struct walking *walking, const struct timeline_thread *thread)
{
    const struct timeline *timeline = walking->building->timeline;
    size_t end = thread->first_slice + thread->slice_count;
    enum ifg_status status = IFG_OK;

    walking->process = thread->process;
    walking->inference = walking->load = NONE;
    walking->has_last = false;
    walking->setup_ns = 0;
    for (size_t i = thread->first_slice; i < end && !status; i++) {
        enum trace_location_kind kind = timeline->locations[timeline->location[i]].kind;
        size_t unfinished = walking->next_unfinished;
        struct frame *frame;
        bool finished;

        while (unfinished < timeline->unfinished_count && timeline->unfinished[unfinished] < i)
            unfinished++;
        walking->next_unfinished = unfinished;
        finished =
            unfinished >= timeline->unfinished_count || timeline->unfinished[unfinished] != i;
        frame = open_frame(walking, i, finished);
        if (!frame)
            status = IFG_NO_MEMORY;
        else if (kind == TRACE_LOCATION_ML)
            take_ml(walking, frame, i, finished);
        else if (kind == TRACE_LOCATION_OP && finished)
            status = take_operator(walking, frame, i);
        else if (kind == TRACE_LOCATION_STAGE && finished)
            status = take_stage(walking, frame, i);
    }
    while (walking->open)
        close_frame(walking);
    return status;
}

static void take_spans(struct building *building)
{
    const struct timeline *timeline = building->timeline;
    struct ml_input *input = building->input;

    for (size_t i = 0; i < timeline->async_count; i++) {
        const struct timeline_async *span = &timeline->asyncs[i];
        uint32_t category = timeline->locations[span->location].category;
        uint32_t function = function_of(building, &timeline->locations[span->location]);
        struct ml_event *event;

        if (function == NO_FUNCTION || span->end_thread == TIMELINE_NONE)
            continue;
        event = &input->events[building->next_event[group_at(function, category)]++];
        *event = (struct ml_event){
            .start_ns = span->start_ns,
            .duration_ns = span->end_ns > span->start_ns ? span->end_ns - span->start_ns : 0,
            .slice = NONE,
            .detail = "",
            .thread = span->begin_thread,
            .flags = ML_ASYNC,
        };
        if (category == TRACE_CATEGORY_INFERENCE)
            event->gap_ns = UINT64_MAX;
        input->models[input->functions[function].model].total_ns += event->duration_ns;
    }
}

/* Whether a comes after b. */
static bool after(const struct ml_event *a, const struct ml_event *b)
{
    return a->start_ns != b->start_ns ? a->start_ns > b->start_ns : a->slice > b->slice;
}

/* The first event from `at` on that comes before the one in front of it, or count. */
static size_t end_of_run(const struct ml_event *events, size_t at, size_t count)
{
    while (++at < count && !after(&events[at - 1], &events[at])) {
    }
    return at < count ? at : count;
}

/* from[first .. middle) and from[middle .. end), each in order, become one in `to`. */
static void merge(const struct ml_event *from, size_t first, size_t middle, size_t end,
                  struct ml_event *to)
{
    size_t right = middle;

    for (size_t at = first; at < end; at++) {
        bool take_right = first == middle || (right < end && after(&from[first], &from[right]));

        to[at] = take_right ? from[right++] : from[first++];
    }
}

/* Events of one thread are in order already: what is to be done is to merge a few such runs. */
static enum ifg_status sort_group(struct ml_event *events, size_t count)
{
    struct ml_event *other;
    struct ml_event *from = events;
    struct ml_event *to;

    if (count < 2 || end_of_run(events, 0, count) == count)
        return IFG_OK;
    other = ifg_alloc(count, sizeof *other);
    if (!other)
        return IFG_NO_MEMORY;
    to = other;
    do {
        struct ml_event *swap = from;

        for (size_t first = 0, end; first < count; first = end) {
            size_t middle = end_of_run(from, first, count);

            end = middle < count ? end_of_run(from, middle, count) : count;
            merge(from, first, middle, end, to);
        }
        from = to;
        to = swap;
    } while (end_of_run(from, 0, count) < count);
    if (from != events)
        memcpy(events, from, count * sizeof *events);
    ifg_free(other);
    return IFG_OK;
}

static enum ifg_status sort_events(struct ml_input *input)
{
    enum ifg_status status = IFG_OK;

    for (size_t f = 0; f < input->function_count; f++)
        for (int c = 0; c < TRACE_CATEGORIES && !status; c++) {
            const struct ml_events *events = &input->functions[f].events[c];

            status = sort_group(input->events + (events->items - input->events), events->count);
        }
    return status;
}

enum ifg_status findings_walk(struct building *building)
{
    const struct timeline *timeline = building->timeline;
    struct walking walking = { .building = building };
    bool *wanted = ifg_alloc(timeline->thread_count, sizeof *wanted);
    enum ifg_status status = IFG_NO_MEMORY;

    if (wanted) {
        count_slices(building, wanted);
        count_spans(building);
        status = reserve_events(building);
    }
    for (uint32_t t = 0; !status && t < timeline->thread_count; t++) {
        walking.thread = t;
        if (wanted[t])
            status = walk_thread(&walking, &timeline->threads[t]);
    }
    if (!status) {
        take_spans(building);
        status = sort_events(building->input);
    }
    ifg_free(walking.frames);
    ifg_free(wanted);
    return status;
}
