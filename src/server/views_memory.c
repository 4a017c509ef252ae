// SPDX-License-Identifier: Apache-2.0
/* Memory: what the report says of it, and how much there was over time. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/convert.h"
#include "export/documents.h"
#include "timeline/allocations.h"
#include "server/routes.h"
#include "server/views_internal.h"

#define SERIES_MOST 64u
#define PARTS       500u /* of the time; of each the least and the most are told */

struct point {
    uint64_t ns;
    double value;
};

/* Points on their way into the answer. */
struct thinning {
    struct ifg_json *json;
    const struct timeline *timeline;
    bool all; /* there are so few that none is left out */
    uint64_t part;
    bool any;
    struct point least, most;
};

static void put_point(struct thinning *thinning, const struct point *point)
{
    ifg_json_open(thinning->json, '[');
    ifg_json_double(thinning->json, answer_ns(thinning->timeline, point->ns));
    ifg_json_double(thinning->json, point->value);
    ifg_json_close(thinning->json, ']');
}

static void flush_part(struct thinning *thinning)
{
    const struct point *least = &thinning->least;
    const struct point *most = &thinning->most;

    if (!thinning->any)
        return;
    if (least->ns != most->ns)
        put_point(thinning, least->ns < most->ns ? least : most);
    put_point(thinning, least->ns < most->ns ? most : least);
    thinning->any = false;
}

static void add_point(struct thinning *thinning, uint64_t ns, double value)
{
    const struct timeline *timeline = thinning->timeline;
    struct point point = { ns, value };
    double length = (double)(timeline->end_ns - timeline->begin_ns) + 1;
    uint64_t part = ifg_u64_of(answer_ns(timeline, ns) / length * PARTS);

    if (!isfinite(value))
        return;
    if (thinning->all) {
        put_point(thinning, &point);
        return;
    }
    if (thinning->any && part != thinning->part)
        flush_part(thinning);
    if (!thinning->any) {
        thinning->any = true;
        thinning->part = part;
        thinning->least = thinning->most = point;
    }
    if (value < thinning->least.value)
        thinning->least = point;
    if (value > thinning->most.value)
        thinning->most = point;
}

/* ---- counters ---- */

static bool is_memory(const char *name)
{
    static const char *const words[] = { "resident", "rss", "pss", "swap", "arena", "memory" };

    if (!strstr(name, "bytes"))
        return false;
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
        if (strstr(name, words[i]))
            return true;
    return false;
}

static void open_series(struct ifg_json *json, const char *track, uint32_t pid, const char *name)
{
    ifg_json_open(json, '{');
    ifg_json_put_string(json, "track", track);
    ifg_json_put_uint(json, "pid", pid);
    ifg_json_put_string(json, "name", name);
    ifg_json_put_open(json, "points", '[');
}

static void put_counter(struct ifg_json *json, const struct server_trace *trace,
                        const struct track *track)
{
    const struct timeline *timeline = trace->timeline;
    const struct timeline_location *location = &timeline->locations[track->location];
    struct thinning thinning = { .json = json,
                                 .timeline = timeline,
                                 .all = track->count <= 2 * PARTS };

    open_series(json, track->id,
                location->process < timeline->process_count
                    ? timeline->processes[location->process].pid
                    : 0,
                location->name);
    for (size_t i = 0; i < track->count; i++) {
        const struct timeline_counter *counter =
            &timeline->counters[trace->counter_order[track->first + i]];

        add_point(&thinning, counter->ns, counter->value);
    }
    flush_part(&thinning);
    ifg_json_close(json, ']');
    ifg_json_close(json, '}');
}

/* ---- the heap ---- */

static int by_time(const void *a, const void *b)
{
    const struct point *left = a;
    const struct point *right = b;

    return left->ns < right->ns ? -1 : left->ns > right->ns;
}

/* What picked allocations stand for, of all processes together. */
static void put_heap(struct ifg_json *json, const struct timeline *timeline)
{
    const struct timeline_allocations *heap = NULL;
    struct thinning thinning = { .json = json, .timeline = timeline };
    struct point *frees = NULL;
    size_t count = 0;
    size_t at = 0;
    double now = 0;

    if (!timeline_has_allocations(timeline) || timeline_allocations_get(timeline, &heap, NULL) ||
        !heap)
        return;
    frees = ifg_alloc(heap->count + 1, sizeof *frees);
    if (!frees)
        return;
    for (size_t i = 0; i < heap->count; i++)
        if (heap->items[i].freed_ns != UINT64_MAX)
            frees[count++] =
                (struct point){ heap->items[i].freed_ns, (double)heap->items[i].weight };
    if (count)
        qsort(frees, count, sizeof *frees, by_time);
    thinning.all = heap->count + count <= 2 * PARTS;
    open_series(json, "", 0, "heap bytes, estimated");
    for (size_t i = 0; i < heap->count; i++) {
        for (; at < count && frees[at].ns <= heap->items[i].ns; at++) {
            now -= frees[at].value;
            add_point(&thinning, frees[at].ns, now);
        }
        now += (double)heap->items[i].weight;
        add_point(&thinning, heap->items[i].ns, now);
    }
    for (; at < count; at++) {
        now -= frees[at].value;
        add_point(&thinning, frees[at].ns, now);
    }
    flush_part(&thinning);
    ifg_json_close(json, ']');
    ifg_json_close(json, '}');
    ifg_free(frees);
}

void serve_memory(const struct server_request *request, struct server_answer *answer)
{
    const struct server_trace *trace = request->trace;
    const struct report *report;
    struct ifg_error err = { 0 };
    struct ifg_json json;
    size_t shown = 0;
    enum ifg_status status = trace_report(request->trace, &report, &err);

    if (!answer_begin(answer, status, &err, &json))
        return;
    document_memory(&json, report);
    ifg_json_put_open(&json, "series", '[');
    for (size_t i = 0; i < trace->track_count && shown < SERIES_MOST; i++) {
        const struct track *track = &trace->tracks[i];

        if (track->kind != TRACK_COUNTER ||
            !is_memory(trace->timeline->locations[track->location].name))
            continue;
        put_counter(&json, trace, track);
        shown++;
    }
    put_heap(&json, trace->timeline);
    ifg_json_close(&json, ']');
    ifg_json_close(&json, '}');
}
