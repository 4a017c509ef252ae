// SPDX-License-Identifier: Apache-2.0
/* Arrows between slices: those of one slice and of the flows it is part of, or of a range. */
#include <math.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "timeline/flows.h"
#include "server/flows_internal.h"
#include "server/handler.h"
#include "server/routes.h"

#define OF_SLICE_MOST 200u
#define WAKES_MOST    20u
#define LAUNCHES_MOST 50u
#define IN_RANGE_MOST 500u

struct arrows {
    struct arrow items[IN_RANGE_MOST + 1];
    size_t count;
    uint64_t left_out;
};

static struct arrow_end point_end(const struct timeline_flow_point *point)
{
    return (struct arrow_end){ point->ns, point->slice, point->thread, TIMELINE_NONE };
}

static struct arrow flow_arrow(const struct timeline *timeline, size_t point)
{
    const struct timeline_flow_point *from = &timeline->flow_points[point];

    return (struct arrow){
        .kind = ARROW_FLOW,
        .id = from->id,
        .flow = from->flow,
        .name = timeline->locations[from->location].name,
        .from = point_end(&from[0]),
        .to = point_end(&from[1]),
    };
}

/* ---- of a slice ---- */

struct chosen {
    size_t points[OF_SLICE_MOST]; /* at which an arrow begins */
    size_t count;
};

/* Takes the arrow that begins at this point, if there is one. */
static bool choose(const struct timeline *timeline, struct chosen *chosen, uint32_t flow,
                   size_t point)
{
    if (point + 1 >= timeline->flow_point_count || timeline->flow_points[point].flow != flow ||
        timeline->flow_points[point + 1].flow != flow)
        return false;
    for (size_t i = 0; i < chosen->count; i++)
        if (chosen->points[i] == point)
            return true;
    if (chosen->count < OF_SLICE_MOST)
        chosen->points[chosen->count++] = point;
    return true;
}

static int by_point(const void *a, const void *b)
{
    size_t left = *(const size_t *)a;
    size_t right = *(const size_t *)b;

    return left < right ? -1 : left > right;
}

/* First what touches the slice, then what is one arrow away, then two ... */
static void add_flows(const struct timeline *timeline, size_t slice, struct arrows *out)
{
    struct chosen chosen = { .count = 0 };
    size_t first;
    size_t count = timeline_flow_points_of(timeline, slice, &first);
    uint32_t last = TIMELINE_NONE;
    uint64_t all = 0;
    bool more = true;

    for (size_t away = 0; more && chosen.count < OF_SLICE_MOST; away++) {
        more = false;
        for (size_t i = 0; i < count && chosen.count < OF_SLICE_MOST; i++) {
            size_t point = timeline->flow_by_slice[first + i];
            uint32_t flow = timeline->flow_points[point].flow;

            more |= choose(timeline, &chosen, flow, point + away);
            if (point > away)
                more |= choose(timeline, &chosen, flow, point - away - 1);
        }
    }
    for (size_t i = 0; i < count; i++) {
        uint32_t flow = timeline->flow_points[timeline->flow_by_slice[first + i]].flow;
        size_t start;

        if (flow != last)
            all += timeline_flow_extent(timeline, flow, &start) - 1;
        last = flow;
    }
    if (chosen.count)
        qsort(chosen.points, chosen.count, sizeof *chosen.points, by_point);
    for (size_t i = 0; i < chosen.count; i++)
        out->items[out->count++] = flow_arrow(timeline, chosen.points[i]);
    out->left_out += all - chosen.count;
}

static void add_crossings(const struct timeline *timeline, const struct crossing_index *index,
                          size_t slice, struct arrows *out)
{
    size_t shown = 0;

    for (size_t i = 0; i < index->count; i++) {
        if (index->items[i].from_slice != slice && index->items[i].to_slice != slice)
            continue;
        if (shown++ < OF_SLICE_MOST)
            out->items[out->count++] = flows_crossing_arrow(timeline, &index->items[i]);
        else
            out->left_out++;
    }
}

static bool add_wakes(const struct server_trace *trace, size_t slice, struct arrows *out)
{
    size_t wakes = flows_wakes(trace, slice, out->items + out->count, WAKES_MOST);

    if (wakes == SIZE_MAX)
        return false;
    out->count += wakes < WAKES_MOST ? wakes : WAKES_MOST;
    out->left_out += wakes < WAKES_MOST ? 0 : wakes - WAKES_MOST;
    return true;
}

static bool add_launches(const struct timeline *timeline, size_t slice, struct arrows *out)
{
    size_t launches = flows_launches(timeline, slice, out->items + out->count, LAUNCHES_MOST);

    if (launches == SIZE_MAX)
        return false;
    out->count += launches < LAUNCHES_MOST ? launches : LAUNCHES_MOST;
    out->left_out += launches < LAUNCHES_MOST ? 0 : launches - LAUNCHES_MOST;
    return true;
}

/* ---- of a range ---- */

/* Counts arrows that reach into the range, or takes `most` of `all` of them. */
struct ranging {
    uint64_t t0_ns;
    uint64_t t1_ns;
    uint64_t seen;
    uint64_t all; /* 0: only count */
    struct arrows *out;
};

/* Evenly: multiples of the golden ratio spread, whatever pattern the arrows have. */
static bool is_taken(const struct ranging *ranging)
{
    uint64_t spread = (ranging->seen * UINT64_C(0x9e3779b97f4a7c15)) >> 32;

    return ranging->out->count < IN_RANGE_MOST &&
           (ranging->all <= IN_RANGE_MOST ||
            (double)spread * (double)ranging->all < (double)IN_RANGE_MOST * 4294967296.0);
}

static void see(struct ranging *ranging, const struct arrow *arrow)
{
    if (arrow->to.ns < ranging->t0_ns)
        return;
    if (ranging->all && is_taken(ranging))
        ranging->out->items[ranging->out->count++] = *arrow;
    ranging->seen++;
}

static void see_all(struct ranging *ranging, const struct timeline *timeline,
                    const struct crossing_index *index)
{
    ranging->seen = 0;
    for (size_t i = 0; i < timeline->arrow_count; i++) {
        struct arrow arrow = flow_arrow(timeline, timeline->arrows[i]);

        if (arrow.from.ns >= ranging->t1_ns)
            break;
        see(ranging, &arrow);
    }
    for (size_t i = 0; i < index->count; i++) {
        struct arrow arrow = flows_crossing_arrow(timeline, &index->items[i]);

        if (arrow.from.ns >= ranging->t1_ns)
            break;
        see(ranging, &arrow);
    }
}

static void add_range(const struct timeline *timeline, const struct crossing_index *index,
                      uint64_t t0_ns, uint64_t t1_ns, struct arrows *out)
{
    struct ranging ranging = { t0_ns, t1_ns, .out = out };

    see_all(&ranging, timeline, index);
    ranging.all = ranging.seen;
    if (ranging.all)
        see_all(&ranging, timeline, index);
    out->left_out = ranging.seen - out->count;
}

/* ---- the answer ---- */

static void put_null(struct ifg_json *json, const char *key)
{
    ifg_json_put_double(json, key, NAN);
}

static const char *track_of(const struct server_trace *trace, const struct arrow_end *end)
{
    for (size_t i = 0; i < trace->track_count; i++) {
        const struct track *track = &trace->tracks[i];

        if (track->kind == TRACK_THREAD &&
            (end->thread != TIMELINE_NONE
                 ? track->thread == end->thread
                 : end->sampled != TIMELINE_NONE && track->sampled == end->sampled))
            return track->id;
    }
    return NULL;
}

static void put_end(struct ifg_json *json, const struct server_trace *trace, const char *key,
                    const struct arrow_end *end)
{
    const char *track = track_of(trace, end);

    ifg_json_put_open(json, key, '{');
    ifg_json_put_double(json, "ns", answer_ns(trace->timeline, end->ns));
    if (end->slice == SIZE_MAX)
        put_null(json, "slice");
    else
        ifg_json_put_uint(json, "slice", end->slice);
    if (track)
        ifg_json_put_string(json, "thread", track);
    else
        put_null(json, "thread");
    ifg_json_close(json, '}');
}

static void put_arrow(struct ifg_json *json, const struct server_trace *trace,
                      const struct arrow *arrow)
{
    static const char *const kinds[ARROW_KINDS] = { "flow", "wake", "async" };

    ifg_json_open(json, '{');
    ifg_json_put_string(json, "kind", kinds[arrow->kind]);
    ifg_json_put_uint(json, "id", arrow->id);
    if (arrow->flow == TIMELINE_NONE)
        put_null(json, "flow");
    else
        ifg_json_put_uint(json, "flow", arrow->flow);
    ifg_json_put_string(json, "name", arrow->name);
    put_end(json, trace, "from", &arrow->from);
    put_end(json, trace, "to", &arrow->to);
    ifg_json_close(json, '}');
}

static void put_answer(struct ifg_json *json, const struct server_trace *trace,
                       const struct crossing_index *index, const struct arrows *arrows)
{
    ifg_json_open(json, '{');
    ifg_json_put_int(json, "schema", 1);
    ifg_json_put_open(json, "arrows", '[');
    for (size_t i = 0; i < arrows->count; i++)
        put_arrow(json, trace, &arrows->items[i]);
    ifg_json_close(json, ']');
    ifg_json_put_uint(json, "left_out", arrows->left_out);
    ifg_json_put_open(json, "kinds", '[');
    if (trace->timeline->arrow_count)
        ifg_json_string(json, "flow");
    if (trace->profile && trace->profile->has_wakers)
        ifg_json_string(json, "wake");
    if (index->count)
        ifg_json_string(json, "async");
    ifg_json_close(json, ']');
    ifg_json_close(json, '}');
}

void serve_flows(const struct server_request *request, struct server_answer *answer)
{
    const struct timeline *timeline = request->timeline;
    const struct crossing_index *index = NULL;
    struct ifg_error err = { 0 };
    enum ifg_status status;
    struct arrows *arrows;
    struct ifg_json json;
    uint64_t t0_ns;
    uint64_t t1_ns;
    uint32_t slice;

    if (!request_index(request, "slice", true, timeline->slice_count + request->trace->extra_count,
                       &slice, answer) ||
        !request_range(request, &t0_ns, &t1_ns, answer))
        return;
    status = trace_crossings(request->trace, &index, &err);
    if (status) {
        answer_status(answer, status, &err);
        return;
    }
    arrows = ifg_alloc(1, sizeof *arrows);
    if (arrows && slice == UINT32_MAX) {
        add_range(timeline, index, t0_ns, t1_ns, arrows);
    } else if (arrows && slice < timeline->slice_count) {
        add_flows(timeline, slice, arrows);
        add_crossings(timeline, index, slice, arrows);
        if (!add_launches(timeline, slice, arrows) || !add_wakes(request->trace, slice, arrows)) {
            ifg_free(arrows);
            arrows = NULL;
        }
    }
    if (!arrows) {
        answer_error(answer, 500, "not enough memory for arrows");
        return;
    }
    json = answer_json(answer);
    put_answer(&json, request->trace, index, arrows);
    ifg_free(arrows);
}
