// SPDX-License-Identifier: Apache-2.0
/* The tracks of a trace in drawing order, and what is in them; see trace.h. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/array.h"
#include "server/rows.h"
#include "server/trace.h"
#include "server/tracks_internal.h"

/* More ML events than this are put into rows when somebody looks at them. */
#define EAGER_ML 2000000u

const char *track_kind_name(enum track_kind kind)
{
    static const char *const names[] = {
        [TRACK_COUNTER] = "counter",   [TRACK_ML] = "ml",       [TRACK_MODEL] = "model",
        [TRACK_FUNCTION] = "function", [TRACK_OPS] = "ops",     [TRACK_PROCESS] = "process",
        [TRACK_THREAD] = "thread",     [TRACK_ASYNC] = "async", [TRACK_MESSAGES] = "messages",
        [TRACK_FRAMES] = "frames",     [TRACK_LANE] = "lane",
    };

    return names[kind];
}

struct track *trace_track(struct server_trace *trace, const char *id)
{
    for (size_t i = 0; i < trace->track_count; i++)
        if (strcmp(trace->tracks[i].id, id) == 0)
            return &trace->tracks[i];
    return NULL;
}

struct track *tracks_add(struct tracks *out, enum track_kind kind, const char *prefix,
                         size_t number, uint32_t parent)
{
    struct track *track;

    if (!IFG_ARRAY_ROOM(out->items, out->capacity, out->count + 1, IFG_ARRAY_ANY))
        return NULL;
    track = &out->items[out->count++];
    memset(track, 0, sizeof *track);
    track->kind = kind;
    if (number == SIZE_MAX)
        snprintf(track->id, sizeof track->id, "%s", prefix);
    else
        snprintf(track->id, sizeof track->id, "%s%u", prefix, (unsigned)number);
    track->parent = parent;
    track->process = track->thread = track->sampled = TIMELINE_NONE;
    track->model = track->function = track->location = TIMELINE_NONE;
    track->unit = "";
    track->stack = "";
    track->min = track->max = track->scale = NAN;
    return track;
}

/* ---- what is no slice ---- */

static enum ifg_status make_extras(struct server_trace *trace)
{
    const struct timeline *timeline = trace->timeline;
    size_t total = timeline->async_count + timeline->message_count + timeline->frame_count;
    uint64_t *next = ifg_alloc(timeline->location_count + 1, sizeof *next);
    struct lod_span *span = ifg_alloc(total + 1, sizeof *span);

    trace->extras = span;
    trace->extra_count = total;
    if (!span || !next) {
        ifg_free(next);
        return IFG_NO_MEMORY;
    }
    for (size_t i = 0; i < timeline->async_count; i++, span++) {
        const struct timeline_async *async = &timeline->asyncs[i];

        *span = (struct lod_span){
            .start_ns = async->start_ns,
            .duration_ns = async->end_ns > async->start_ns ? async->end_ns - async->start_ns : 0,
            .location = async->location,
            .count = 1,
            .flags = async->end_thread == TIMELINE_NONE ? LOD_UNFINISHED : 0,
        };
    }
    for (size_t i = 0; i < timeline->message_count; i++, span++)
        *span = (struct lod_span){ .start_ns = timeline->messages[i].ns,
                                   .location = timeline->messages[i].level,
                                   .count = 1 };
    /* A frame lasts until the next one of its kind. */
    for (size_t i = timeline->frame_count; i-- > 0;) {
        const struct timeline_frame *frame = &timeline->frames[i];

        span[i] = (struct lod_span){
            .start_ns = frame->ns,
            .duration_ns =
                next[frame->location] > frame->ns ? next[frame->location] - frame->ns : 0,
            .location = frame->location,
            .count = 1,
        };
        next[frame->location] = frame->ns;
    }
    ifg_free(next);
    return IFG_OK;
}

/* ---- models ---- */

static enum ifg_status list_ids(const struct timeline *timeline, bool ops, struct id_list *out)
{
    uint8_t *wanted = ifg_alloc(timeline->location_count + 1, 1);
    size_t count = 0;

    if (!wanted)
        return IFG_NO_MEMORY;
    for (size_t p = 0; p < timeline->location_count; p++)
        wanted[p] = timeline->locations[p].kind == TRACE_LOCATION_ML ||
                    (ops && timeline->locations[p].kind == TRACE_LOCATION_OP);
    for (size_t i = 0; i < timeline->slice_count; i++)
        count += wanted[timeline->location[i]];
    out->ids = ifg_alloc(count + 1, sizeof *out->ids);
    if (!out->ids) {
        ifg_free(wanted);
        return IFG_NO_MEMORY;
    }
    for (size_t i = 0; i < timeline->slice_count; i++)
        if (wanted[timeline->location[i]])
            out->ids[out->count++] = (uint32_t)i;
    ifg_free(wanted);
    return IFG_OK;
}

/* Counts and depths of what each model has. */
struct model_sum {
    size_t ml;
    size_t ops;
    uint16_t op_min_depth;
    uint16_t op_max_depth;
};

static void sum_models(const struct server_trace *trace, struct model_sum *models,
                       size_t *functions)
{
    const struct timeline *timeline = trace->timeline;

    for (size_t i = 0; i < trace->models.count; i++) {
        uint32_t id = trace->models.ids[i];
        const struct timeline_location *location = &timeline->locations[timeline->location[id]];
        struct model_sum *model =
            &models[location->model < timeline->model_count ? location->model
                                                            : timeline->model_count];
        uint16_t depth = timeline->depth[id];

        if (location->kind == TRACE_LOCATION_ML) {
            model->ml++;
            if (location->function_index < timeline->function_count)
                functions[location->function_index]++;
            continue;
        }
        if (!model->ops || depth < model->op_min_depth)
            model->op_min_depth = depth;
        if (!model->ops || depth > model->op_max_depth)
            model->op_max_depth = depth;
        model->ops++;
    }
    for (size_t i = 0; i < timeline->async_count; i++) {
        const struct timeline_location *location =
            &timeline->locations[timeline->asyncs[i].location];

        if (location->kind != TRACE_LOCATION_ML)
            continue;
        models[location->model < timeline->model_count ? location->model : timeline->model_count]
            .ml++;
        if (location->function_index < timeline->function_count)
            functions[location->function_index]++;
    }
}

static bool add_lane(struct server_trace *trace, struct tracks *out, uint32_t model,
                     uint32_t function, uint32_t parent, const char *name, uint32_t categories)
{
    const struct timeline_model_function *of = &trace->timeline->functions[function];
    struct track *track;
    size_t count = 0;

    for (unsigned c = 0; c < TRACE_CATEGORIES; c++)
        count += categories >> c & 1 ? (size_t)of->events[c] : 0;
    if (!count)
        return true;
    track = tracks_add(out, TRACK_LANE, name, function, parent);
    if (!track)
        return false;
    track->model = model;
    track->process = trace->timeline->models[model].process;
    track->function = function;
    track->lane = categories;
    track->count = count;
    track->rows = 1;
    track->open = true; /* several runs at once are several rows */
    snprintf(track->label, sizeof track->label, "%s", name);
    snprintf(track->sub, sizeof track->sub, "%s",
             strcmp(name, "compute") == 0 ? trace->timeline->models[model].actual_devices : "");
    return true;
}

/* Below the calls of a function: moving its data, and computing, which is where the device is. */
static bool add_lanes(struct server_trace *trace, struct tracks *out, uint32_t model,
                      uint32_t function)
{
    uint32_t parent = (uint32_t)out->count - 1;

    return add_lane(trace, out, model, function, parent, "data", 1u << TRACE_CATEGORY_SETUP) &&
           add_lane(trace, out, model, function, parent, "compute",
                    1u << TRACE_CATEGORY_INFERENCE | 1u << TRACE_CATEGORY_SPECIALIZATION);
}

static bool add_model(struct server_trace *trace, struct tracks *out, uint32_t model,
                      const struct model_sum *sum, const size_t *functions)
{
    const struct timeline *timeline = trace->timeline;
    uint32_t parent = (uint32_t)out->count;
    struct track *track = tracks_add(out, TRACK_MODEL, "m", model, TRACK_NONE);

    if (!track)
        return false;
    track->model = model;
    track->process = timeline->models[model].process;
    track->count = sum->ml;
    track->open = true;
    track->rows = 1;
    snprintf(track->label, sizeof track->label, "%s", timeline->models[model].name);
    snprintf(track->sub, sizeof track->sub, "%s", timeline->models[model].actual_devices);
    for (size_t f = 0; f < timeline->function_count; f++) {
        if (timeline->functions[f].model != model || !functions[f])
            continue;
        track = tracks_add(out, TRACK_FUNCTION, "f", f, parent);
        if (!track)
            return false;
        track->model = model;
        track->process = timeline->models[model].process;
        track->function = (uint32_t)f;
        track->count = functions[f];
        track->rows = 1;
        track->open = true;
        snprintf(track->label, sizeof track->label, "%s", timeline->functions[f].name);
        if (!add_lanes(trace, out, model, (uint32_t)f))
            return false;
    }
    if (!sum->ops)
        return true;
    track = tracks_add(out, TRACK_OPS, "o", model, parent);
    if (!track)
        return false;
    track->model = model;
    track->process = timeline->models[model].process;
    track->count = sum->ops;
    track->rows = (size_t)(sum->op_max_depth - sum->op_min_depth) + 1;
    track->open = true;
    snprintf(track->label, sizeof track->label, "Operators");
    return true;
}

static enum ifg_status add_models(struct server_trace *trace, struct tracks *out)
{
    const struct timeline *timeline = trace->timeline;
    struct model_sum *models = ifg_alloc(timeline->model_count + 1, sizeof *models);
    size_t *functions = ifg_alloc(timeline->function_count + 1, sizeof *functions);
    enum ifg_status status = IFG_NO_MEMORY;
    size_t total = 0;

    if (!models || !functions)
        goto out;
    sum_models(trace, models, functions);
    for (size_t n = 0; n <= timeline->model_count; n++)
        total += models[n].ml;
    if (total) {
        struct track *track = tracks_add(out, TRACK_ML, "ml", SIZE_MAX, TRACK_NONE);

        if (!track)
            goto out;
        track->count = total;
        track->rows = 1;
        track->open = true;
        snprintf(track->label, sizeof track->label, "ML activity");
        snprintf(track->sub, sizeof track->sub, "all models");
    }
    for (size_t n = 0; n < timeline->model_count; n++)
        if ((models[n].ml || models[n].ops) &&
            !add_model(trace, out, (uint32_t)n, &models[n], functions))
            goto out;
    status = IFG_OK;
out:
    ifg_free(functions);
    ifg_free(models);
    return status;
}

static void pick_locations(const struct timeline *timeline, const struct track *track,
                           uint8_t *picks)
{
    for (size_t p = 0; p < timeline->location_count; p++) {
        const struct timeline_location *location = &timeline->locations[p];
        bool ml = location->kind == TRACE_LOCATION_ML;

        picks[p] = ROWS_NO;
        if (track->kind == TRACK_ML)
            picks[p] = ml ? ROWS_YES : ROWS_NO;
        else if (track->kind == TRACK_MODEL)
            picks[p] = ml && location->model == track->model ? ROWS_YES : ROWS_NO;
        else if (track->kind == TRACK_FUNCTION)
            picks[p] = ml && location->function_index == track->function ? ROWS_YES : ROWS_NO;
        else if (track->kind == TRACK_LANE)
            picks[p] = ml && location->function_index == track->function &&
                               track->lane >> location->category & 1
                           ? ROWS_YES
                           : ROWS_NO;
        else if (location->model == track->model && location->kind == TRACE_LOCATION_OP)
            picks[p] = ROWS_YES;
        else if (location->model == track->model && ml &&
                 location->category == TRACE_CATEGORY_INFERENCE)
            picks[p] = ROWS_OUTLINE;
    }
}

static enum ifg_status make_model_lod(struct server_trace *trace, struct track *track)
{
    uint8_t *picks = ifg_alloc(trace->timeline->location_count + 1, 1);
    enum ifg_status status;

    if (!picks)
        return IFG_NO_MEMORY;
    pick_locations(trace->timeline, track, picks);
    status = rows_create(trace, track->kind == TRACK_OPS ? &trace->models : &trace->ml, picks,
                         &track->lod);
    if (!status)
        track->lod->outlines = track->kind == TRACK_OPS;
    ifg_free(picks);
    return status;
}

/* ---- made on first use ---- */

static enum ifg_status make_extra_lod(struct server_trace *trace, struct track *track)
{
    uint16_t *rows;
    enum ifg_status status;

    if (track->kind == TRACK_ASYNC)
        return rows_pack(trace, trace->extra_order + track->first, track->count, &track->lod);
    rows = ifg_alloc(track->count + 1, sizeof *rows);
    if (!rows)
        return IFG_NO_MEMORY;
    status = lod_create_rows(trace->timeline, trace->timeline->slice_count, trace->extras,
                             trace->extra_order + track->first, rows, track->count, &track->lod);
    ifg_free(rows);
    return status;
}

enum ifg_status track_lod(struct server_trace *trace, struct track *track,
                          const struct lod **out_lod, struct ifg_error *err)
{
    enum ifg_status status = IFG_OK;

    *out_lod = NULL;
    pthread_mutex_lock(&track->lock);
    if (!track->lod) {
        switch (track->kind) {
        case TRACK_THREAD:
            status = track->thread == TIMELINE_NONE
                         ? lod_create_rows(trace->timeline, trace->timeline->slice_count, NULL,
                                           NULL, NULL, 0, &track->lod)
                         : lod_create_thread(trace->timeline, track->thread, &track->lod);
            break;
        case TRACK_ML:
        case TRACK_MODEL:
        case TRACK_FUNCTION:
        case TRACK_LANE:
        case TRACK_OPS:
            status = make_model_lod(trace, track);
            break;
        case TRACK_ASYNC:
        case TRACK_MESSAGES:
        case TRACK_FRAMES:
            status = make_extra_lod(trace, track);
            break;
        default:
            status = IFG_INVALID;
            break;
        }
    }
    *out_lod = track->lod;
    pthread_mutex_unlock(&track->lock);
    if (status == IFG_INVALID)
        return ifg_fail(err, status, "track %s (%s) has no slices", track->id,
                        track_kind_name(track->kind));
    if (status)
        return ifg_fail_no_memory(err, NULL);
    return IFG_OK;
}

/* ---- all ---- */

enum ifg_status trace_build_tracks(struct server_trace *trace, struct ifg_error *err)
{
    struct tracks tracks = { 0 };
    enum ifg_status status = make_extras(trace);

    if (!status)
        status = list_ids(trace->timeline, false, &trace->ml);
    if (!status)
        status = list_ids(trace->timeline, true, &trace->models);
    if (!status)
        status = tracks_add_counters(trace, &tracks);
    if (!status)
        status = add_models(trace, &tracks);
    if (!status)
        status = tracks_add_threads(trace, &tracks);
    if (!status)
        status = tracks_add_extras(trace, &tracks);
    trace->tracks = tracks.items;
    trace->track_count = tracks.count;
    for (size_t i = 0; i < tracks.count; i++)
        pthread_mutex_init(&tracks.items[i].lock, NULL);
    for (size_t i = 0; !status && i < tracks.count && trace->ml.count < EAGER_ML; i++) {
        struct track *track = &tracks.items[i];

        if (track->kind != TRACK_ML && track->kind != TRACK_MODEL &&
            track->kind != TRACK_FUNCTION && track->kind != TRACK_LANE)
            continue;
        status = make_model_lod(trace, track);
        if (!status)
            track->rows = track->lod->row_count;
    }
    return status ? ifg_fail_no_memory(err, "for the tracks of %s", trace->name) : IFG_OK;
}

void trace_destroy_tracks(struct server_trace *trace)
{
    for (size_t i = 0; i < trace->track_count; i++) {
        struct track *track = &trace->tracks[i];

        lod_destroy(track->lod);
        lod_destroy(track->sampled_calls);
        ifg_free(track->sampled_call_spans);
        pthread_mutex_destroy(&track->lock);
    }
    ifg_free(trace->tracks);
    ifg_free(trace->counter_order);
    ifg_free(trace->extra_order);
    ifg_free(trace->extras);
    ifg_free(trace->ml.ids);
    ifg_free(trace->models.ids);
    trace->tracks = NULL;
    trace->track_count = 0;
}
