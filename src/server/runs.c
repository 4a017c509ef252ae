// SPDX-License-Identifier: Apache-2.0
/* The inferences of a model as points: when, and how long. */
#include "server/runs.h"

#include "base/alloc.h"
#include "server/columns.h"
#include "server/handler.h"
#include "server/routes.h"

#define POINTS_MOST 4000u

static bool is_run(const struct timeline *timeline, uint32_t location, uint32_t model)
{
    return timeline->locations[location].kind == TRACE_LOCATION_ML &&
           timeline->locations[location].model == model &&
           timeline->locations[location].category == TRACE_CATEGORY_INFERENCE;
}

static enum ifg_status find_runs(const struct server_trace *trace, uint32_t model,
                                 struct lod_items *out)
{
    const struct timeline *timeline = trace->timeline;
    enum ifg_status status = IFG_OK;

    for (size_t i = 0; !status && i < trace->ml.count; i++) {
        uint32_t id = trace->ml.ids[i];

        if (is_run(timeline, timeline->location[id], model) &&
            !timeline_is_unfinished(timeline, id))
            status = lod_items_add(
                out, &(struct lod_item){ .start_ns = timeline->start_ns[id],
                                         .duration_ns = timeline_duration_ns(timeline, id),
                                         .count = 1,
                                         .id = id });
    }
    for (size_t i = 0; !status && i < timeline->async_count; i++)
        if (is_run(timeline, timeline->asyncs[i].location, model) &&
            timeline->asyncs[i].end_thread != TIMELINE_NONE)
            status = lod_items_add(
                out, &(struct lod_item){ .start_ns = trace->extras[i].start_ns,
                                         .duration_ns = trace->extras[i].duration_ns,
                                         .count = 1,
                                         .id = (uint32_t)(timeline->slice_count + i) });
    return status;
}

/* Of many that stand side by side the shortest and the longest stay, in their order. */
static void thin(struct lod_items *runs)
{
    size_t groups = POINTS_MOST / 2;
    size_t kept = 0;

    if (runs->count <= POINTS_MOST)
        return;
    for (size_t g = 0; g < groups; g++) {
        size_t from = runs->count * g / groups;
        size_t to = runs->count * (g + 1) / groups;
        size_t least = from;
        size_t most = from;

        for (size_t i = from; i < to; i++) {
            if (runs->items[i].duration_ns < runs->items[least].duration_ns)
                least = i;
            if (runs->items[i].duration_ns > runs->items[most].duration_ns)
                most = i;
        }
        runs->items[kept++] = runs->items[least < most ? least : most];
        if (least != most)
            runs->items[kept++] = runs->items[least < most ? most : least];
    }
    runs->count = kept;
}

enum ifg_status runs_of_model(const struct server_trace *trace, uint32_t model,
                              struct lod_items *out)
{
    enum ifg_status status = find_runs(trace, model, out);

    thin(out);
    return status;
}

void serve_runs(const struct server_request *request, struct server_answer *answer)
{
    const struct timeline *timeline = request->timeline;
    struct lod_items runs;
    struct ifg_bytes *out;
    double *starts = NULL;
    float *durations = NULL;
    uint32_t *ids = NULL;
    uint32_t model;

    if (!request_index(request, "model", false, timeline->model_count, &model, answer))
        return;
    lod_items_init(&runs, SIZE_MAX);
    if (runs_of_model(request->trace, model, &runs) == IFG_OK) {
        starts = ifg_alloc(runs.count + 1, sizeof *starts);
        durations = ifg_alloc(runs.count + 1, sizeof *durations);
        ids = ifg_alloc(runs.count + 1, sizeof *ids);
    }
    if (starts && durations && ids) {
        for (size_t i = 0; i < runs.count; i++) {
            starts[i] = answer_ns(timeline, runs.items[i].start_ns);
            durations[i] = (float)runs.items[i].duration_ns;
            ids[i] = runs.items[i].id;
        }
        out = answer_binary(answer);
        columns_header(out, COLUMNS_POINTS, (uint32_t)runs.count, 0, 0,
                       (double)(timeline->end_ns - timeline->begin_ns));
        columns_put(out, starts, runs.count, sizeof *starts);
        columns_put(out, durations, runs.count, sizeof *durations);
        columns_put(out, ids, runs.count, sizeof *ids);
    } else {
        answer_error(answer, 500, "not enough memory");
    }
    ifg_free(ids);
    ifg_free(durations);
    ifg_free(starts);
    lod_items_fini(&runs);
}
