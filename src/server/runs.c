// SPDX-License-Identifier: Apache-2.0
/* The inferences of a model as points: when, and how long. */
#include "base/alloc.h"
#include "server/columns.h"
#include "server/handler.h"
#include "server/routes.h"

#define POINTS_MOST 4000u

struct points {
    uint32_t *ids;
    size_t count;
};

static uint64_t id_start(const struct server_trace *trace, uint32_t id)
{
    return id < trace->timeline->slice_count
               ? trace->timeline->start_ns[id]
               : trace->extras[id - trace->timeline->slice_count].start_ns;
}

static uint64_t id_duration(const struct server_trace *trace, uint32_t id)
{
    return id < trace->timeline->slice_count
               ? timeline_duration_ns(trace->timeline, id)
               : trace->extras[id - trace->timeline->slice_count].duration_ns;
}

static bool is_run(const struct timeline *timeline, uint32_t place, uint32_t net)
{
    return timeline->places[place].kind == TRACE_LOCATION_ML &&
           timeline->places[place].net == net &&
           timeline->places[place].category == TRACE_CATEGORY_INFERENCE;
}

static enum ifg_status find_runs(const struct server_trace *trace, uint32_t net, struct points *out)
{
    const struct timeline *timeline = trace->timeline;

    out->ids = ifg_alloc(trace->ml.count + timeline->async_count + 1, sizeof *out->ids);
    if (!out->ids)
        return IFG_NO_MEMORY;
    for (size_t i = 0; i < trace->ml.count; i++)
        if (is_run(timeline, timeline->place[trace->ml.ids[i]], net) &&
            !timeline_is_unfinished(timeline, trace->ml.ids[i]))
            out->ids[out->count++] = trace->ml.ids[i];
    for (size_t i = 0; i < timeline->async_count; i++)
        if (is_run(timeline, timeline->asyncs[i].place, net) &&
            timeline->asyncs[i].end_thread != TIMELINE_NONE)
            out->ids[out->count++] = (uint32_t)(timeline->slice_count + i);
    return IFG_OK;
}

/* Of many that stand side by side the shortest and the longest stay, in their order. */
static void thin(const struct server_trace *trace, struct points *points)
{
    size_t groups = POINTS_MOST / 2;
    size_t kept = 0;

    if (points->count <= POINTS_MOST)
        return;
    for (size_t g = 0; g < groups; g++) {
        size_t from = points->count * g / groups;
        size_t to = points->count * (g + 1) / groups;
        size_t least = from;
        size_t most = from;
        size_t first;
        size_t second;

        for (size_t i = from; i < to; i++) {
            if (id_duration(trace, points->ids[i]) < id_duration(trace, points->ids[least]))
                least = i;
            if (id_duration(trace, points->ids[i]) > id_duration(trace, points->ids[most]))
                most = i;
        }
        first = least < most ? least : most;
        second = least < most ? most : least;
        points->ids[kept++] = points->ids[first];
        if (second != first)
            points->ids[kept++] = points->ids[second];
    }
    points->count = kept;
}

void serve_runs(const struct server_request *request, struct server_answer *answer)
{
    const struct timeline *timeline = request->timeline;
    struct points points = { 0 };
    struct ifg_bytes *out;
    double *starts = NULL;
    float *durations = NULL;
    uint32_t net;

    if (!request_index(request, "model", false, timeline->net_count, &net, answer))
        return;
    if (find_runs(request->trace, net, &points) == IFG_OK) {
        thin(request->trace, &points);
        starts = ifg_alloc(points.count + 1, sizeof *starts);
        durations = ifg_alloc(points.count + 1, sizeof *durations);
    }
    if (starts && durations) {
        for (size_t i = 0; i < points.count; i++) {
            starts[i] = answer_ns(timeline, id_start(request->trace, points.ids[i]));
            durations[i] = (float)id_duration(request->trace, points.ids[i]);
        }
        out = answer_binary(answer);
        columns_header(out, COLUMNS_POINTS, (uint32_t)points.count, 0, 0,
                       (double)(timeline->end_ns - timeline->begin_ns));
        columns_put(out, starts, points.count, sizeof *starts);
        columns_put(out, durations, points.count, sizeof *durations);
        columns_put(out, points.ids, points.count, sizeof *points.ids);
    } else {
        answer_error(answer, 500, "not enough memory");
    }
    ifg_free(durations);
    ifg_free(starts);
    ifg_free(points.ids);
}
