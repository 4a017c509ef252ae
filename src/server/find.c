// SPDX-License-Identifier: Apache-2.0
/* Searching by name, going from hit to hit, and where the hits are. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "server/handler.h"
#include "server/routes.h"
#include "server/slices_internal.h"

#define HITS_MOST      500u
#define LOCATIONS_MOST 1024u

static bool contains(const char *text, const char *part)
{
    return strcasestr(text, part) != NULL;
}

static int by_count(const void *a, const void *b)
{
    const uint64_t *left = a;
    const uint64_t *right = b;

    return left[0] > right[0] ? -1 : left[0] < right[0];
}

static void put_hits(struct ifg_json *json, const struct timeline *timeline,
                     const struct location_index *index, const char *text, size_t limit)
{
    uint64_t(*hits)[2] = ifg_alloc(timeline->location_count + 1, sizeof *hits);
    size_t count = 0;

    ifg_json_put_open(json, "hits", '[');
    for (size_t p = 0; hits && p < timeline->location_count; p++)
        if (index->sums[p].count && contains(timeline->locations[p].name, text)) {
            hits[count][0] = index->sums[p].total_ns;
            hits[count++][1] = p;
        }
    if (count)
        qsort(hits, count, sizeof *hits, by_count);
    for (size_t i = 0; i < count && i < limit; i++) {
        size_t p = (size_t)hits[i][1];
        const struct timeline_location *location = &timeline->locations[p];

        ifg_json_open(json, '{');
        ifg_json_put_uint(json, "location", p);
        ifg_json_put_string(json, "name", location->name);
        ifg_json_put_string(json, "kind", timeline_kind_name(location->kind));
        ifg_json_put_int(json, "model",
                         location->model < timeline->model_count ? (int64_t)location->model : -1);
        ifg_json_put_uint(json, "count", index->sums[p].count);
        ifg_json_put_uint(json, "total_ns", index->sums[p].total_ns);
        ifg_json_put_uint(json, "first", index->sums[p].first);
        ifg_json_close(json, '}');
    }
    ifg_json_close(json, ']');
    ifg_json_put_uint(json, "hit_count", count);
    ifg_free(hits);
}

static void put_models(struct ifg_json *json, const struct timeline *timeline, const char *text,
                       size_t limit)
{
    size_t count = 0;

    ifg_json_put_open(json, "models", '[');
    for (size_t n = 0; n < timeline->model_count && count < limit; n++) {
        if (!contains(timeline->models[n].name, text))
            continue;
        count++;
        ifg_json_open(json, '{');
        ifg_json_put_uint(json, "id", n);
        ifg_json_put_string(json, "name", timeline->models[n].name);
        ifg_json_close(json, '}');
    }
    ifg_json_close(json, ']');
}

static void put_functions(struct ifg_json *json, const struct timeline_profile *profile,
                          const char *text, size_t limit)
{
    uint64_t(*hits)[2] = NULL;
    uint64_t *self = NULL;
    size_t count = 0;
    char name[512];

    ifg_json_put_open(json, "functions", '[');
    if (profile && profile->function_count) {
        hits = ifg_alloc(profile->function_count, sizeof *hits);
        self = ifg_alloc(profile->function_count, sizeof *self);
    }
    for (size_t i = 0; hits && self && i < profile->sample_count; i++) {
        uint32_t node = profile->samples[i].stack;

        if (node)
            self[profile->function_of[profile->trace->nodes[node - 1].frame]]++;
    }
    for (size_t r = 0; hits && self && r < profile->function_count; r++)
        if (contains(timeline_function_name(profile, (uint32_t)r, name, sizeof name), text)) {
            hits[count][0] = self[r];
            hits[count++][1] = r;
        }
    if (count)
        qsort(hits, count, sizeof *hits, by_count);
    for (size_t i = 0; i < count && i < limit; i++) {
        uint32_t function = (uint32_t)hits[i][1];

        ifg_json_open(json, '{');
        ifg_json_put_uint(json, "function", function);
        ifg_json_put_string(json, "name",
                            timeline_function_name(profile, function, name, sizeof name));
        ifg_json_put_uint(json, "self", hits[i][0]);
        ifg_json_close(json, '}');
    }
    ifg_json_close(json, ']');
    ifg_free(self);
    ifg_free(hits);
}

void serve_find(const struct server_request *request, struct server_answer *answer)
{
    const char *text = request_text(request, "q");
    const struct location_index *index = NULL;
    struct ifg_error err = { 0 };
    struct ifg_json json;
    uint32_t limit;
    enum ifg_status status;

    if (!*text) {
        answer_error(answer, 400, "what is looked for? Add q=TEXT");
        return;
    }
    if (!request_index(request, "limit", true, HITS_MOST + 1, &limit, answer))
        return;
    limit = limit == UINT32_MAX ? 50 : limit;
    status = trace_locations(request->trace, &index, &err);
    if (!answer_begin(answer, status, &err, &json))
        return;
    put_hits(&json, request->timeline, index, text, limit);
    put_models(&json, request->timeline, text, limit);
    put_functions(&json, request->trace->profile, text, limit);
    ifg_json_close(&json, '}');
}

/* ---- from hit to hit ---- */

/* "locations" and the index of them; the count, or SIZE_MAX when the answer says what is wrong. */
static size_t read_locations(const struct server_request *request, uint32_t *locations,
                             const struct location_index **out_index, struct server_answer *answer)
{
    size_t count =
        request_parse_list(request_find(request->query, "locations"), locations, LOCATIONS_MOST);
    struct ifg_error err = { 0 };
    enum ifg_status status;

    for (size_t i = 0; count != SIZE_MAX && i < count; i++)
        if (locations[i] >= request->timeline->location_count)
            count = SIZE_MAX;
    if (count == SIZE_MAX) {
        answer_error(answer, 400,
                     "locations must be numbers of locations as in meta: 1,2,3 (at most %u)",
                     LOCATIONS_MOST);
        return SIZE_MAX;
    }
    status = trace_locations(request->trace, out_index, &err);
    if (status) {
        answer_status(answer, status, &err);
        return SIZE_MAX;
    }
    return count;
}

/* Of slices and async spans, as they are numbered. */
static uint64_t start_of(const struct timeline *timeline, size_t number)
{
    return number < timeline->slice_count
               ? timeline->start_ns[number]
               : timeline->asyncs[number - timeline->slice_count].start_ns;
}

static size_t nearer(const struct timeline *timeline, size_t best, size_t found, bool after)
{
    if (found == SIZE_MAX || best == SIZE_MAX)
        return best == SIZE_MAX ? found : best;
    if (after)
        return start_of(timeline, found) < start_of(timeline, best) ? found : best;
    return start_of(timeline, found) > start_of(timeline, best) ? found : best;
}

static void put_next(struct ifg_json *json, const struct timeline *timeline, size_t best)
{
    ifg_json_open(json, '{');
    ifg_json_key(json, "id");
    if (best == SIZE_MAX) {
        ifg_json_double(json, NAN);
    } else {
        const struct timeline_async *async =
            best < timeline->slice_count ? NULL : &timeline->asyncs[best - timeline->slice_count];

        ifg_json_uint(json, best);
        ifg_json_put_double(json, "start", answer_ns(timeline, start_of(timeline, best)));
        ifg_json_put_uint(json, "duration",
                          async ? async->end_ns - async->start_ns
                                : timeline_duration_ns(timeline, best));
        ifg_json_put_uint(json, "thread",
                          async ? async->begin_thread : timeline_thread_of(timeline, best));
    }
    ifg_json_close(json, '}');
}

void serve_next(const struct server_request *request, struct server_answer *answer)
{
    const struct timeline *timeline = request->timeline;
    const char *direction = request_text(request, "dir");
    const struct location_index *index = NULL;
    uint32_t locations[LOCATIONS_MOST];
    size_t count = read_locations(request, locations, &index, answer);
    bool after = strcmp(direction, "-1") != 0;
    size_t best = SIZE_MAX;
    struct ifg_json json;
    double from = 0;
    uint64_t from_ns;

    if (count == SIZE_MAX)
        return;
    if (!request_parse_double(request_find(request->query, "from"), &from)) {
        answer_error(answer, 400, "from must be a number of nanoseconds");
        return;
    }
    if (*direction && strcmp(direction, "1") != 0 && strcmp(direction, "-1") != 0) {
        answer_error(answer, 400, "dir must be 1 or -1");
        return;
    }
    from_ns = request_ns(timeline, from);
    if (after && from >= 0)
        from_ns++; /* after it; what begins with the trace is after a time before it */
    for (size_t i = 0; i < count; i++) {
        size_t found = slices_neighbour(timeline, index, locations[i], from_ns, after);
        size_t span = asyncs_neighbour(timeline, locations[i], from_ns, after);

        best = nearer(timeline, best, found, after);
        best =
            nearer(timeline, best, span == SIZE_MAX ? span : timeline->slice_count + span, after);
    }
    json = answer_json(answer);
    put_next(&json, timeline, best);
}

static void mark(uint8_t *marked, unsigned px, double part)
{
    double at = part * px;

    marked[at > 0 ? (at < px ? (size_t)at : px - 1) : 0] = 1;
}

void serve_marks(const struct server_request *request, struct server_answer *answer)
{
    const struct timeline *timeline = request->timeline;
    const struct location_index *index = NULL;
    uint32_t locations[LOCATIONS_MOST];
    size_t count = read_locations(request, locations, &index, answer);
    double length = (double)(timeline->end_ns - timeline->begin_ns) + 1;
    struct ifg_json json;
    uint8_t *marked;
    unsigned px;

    if (count == SIZE_MAX || !request_px(request, &px, answer))
        return;
    marked = ifg_alloc(px, 1);
    if (!marked) {
        answer_error(answer, 500, "not enough memory");
        return;
    }
    for (size_t i = 0; i < count; i++) {
        for (size_t k = index->first[locations[i]]; k < index->first[locations[i] + 1]; k++)
            mark(marked, px,
                 answer_ns(timeline, timeline->start_ns[index->by_location[k]]) / length);
        for (size_t k = 0; k < timeline->async_count; k++)
            if (timeline->asyncs[k].location == locations[i])
                mark(marked, px, answer_ns(timeline, timeline->asyncs[k].start_ns) / length);
    }
    json = answer_json(answer);
    ifg_json_open(&json, '{');
    ifg_json_put_open(&json, "marks", '[');
    for (size_t i = 0; i < px; i++)
        if (marked[i])
            ifg_json_uint(&json, i);
    ifg_json_close(&json, ']');
    ifg_json_close(&json, '}');
    ifg_free(marked);
}
