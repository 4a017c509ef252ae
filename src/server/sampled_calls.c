// SPDX-License-Identifier: Apache-2.0
/*
 * Sampled calls: what samples tell of the calls of a thread. The same function at the same depth in
 * neighbouring samples is taken as one call that lasted; between them nobody knows.
 */
#include <string.h>

#include "base/alloc.h"
#include "base/array.h"
#include "base/convert.h"
#include "server/handler.h"
#include "server/lod.h"
#include "server/routes.h"

#define DEPTH_MOST      512u
#define PERIODS_BETWEEN 2.0 /* samples further apart are of different calls */

struct sampled_calls {
    struct lod_span *spans;
    size_t count;
    size_t capacity;
    struct lod_span open[DEPTH_MOST];
    size_t depth;
    bool no_memory;
};

static void close_from(struct sampled_calls *calls, size_t depth)
{
    while (calls->depth > depth) {
        struct lod_span *span = &calls->open[--calls->depth];

        if (!IFG_ARRAY_ROOM(calls->spans, calls->capacity, calls->count + 1, IFG_ARRAY_ANY)) {
            calls->no_memory = true;
            return;
        }
        span->row = (uint32_t)calls->depth;
        calls->spans[calls->count++] = *span;
    }
}

/* The functions of a sample from the root on, and which of them are not certain. */
static size_t unfold(const struct timeline_profile *profile, uint32_t stack, uint32_t *functions,
                     uint8_t *inferred)
{
    const struct trace_profile *trace = profile->trace;
    size_t count = 0;

    for (uint32_t node = stack; node != 0 && count < DEPTH_MOST; count++) {
        const struct trace_stack_node *at = &trace->nodes[node - 1];

        functions[count] = profile->function_of[at->frame];
        inferred[count] = at->inferred;
        node = at->parent;
    }
    for (size_t i = 0; i < count / 2; i++) {
        uint32_t function = functions[i];
        uint8_t flag = inferred[i];

        functions[i] = functions[count - 1 - i];
        inferred[i] = inferred[count - 1 - i];
        functions[count - 1 - i] = function;
        inferred[count - 1 - i] = flag;
    }
    return count;
}

static void add_sample(struct sampled_calls *calls, const struct timeline_profile *profile,
                       const struct timeline_sample *sample, uint64_t period_ns)
{
    uint32_t functions[DEPTH_MOST];
    uint8_t inferred[DEPTH_MOST];
    size_t count = unfold(profile, sample->stack, functions, inferred);
    size_t same = 0;

    if (calls->depth > 0 && sample->ns <= calls->open[0].start_ns + calls->open[0].duration_ns +
                                              ifg_u64_of(PERIODS_BETWEEN * (double)period_ns))
        while (same < count && same < calls->depth && calls->open[same].location == functions[same])
            same++;
    close_from(calls, same);
    for (size_t i = 0; i < same; i++) {
        calls->open[i].duration_ns = sample->ns + period_ns - calls->open[i].start_ns;
        calls->open[i].count++;
    }
    /* A sample stands for the time until the next; what was seen only now began now. */
    for (size_t i = same; i < count; i++)
        calls->open[i] = (struct lod_span){
            .start_ns = sample->ns,
            .duration_ns = period_ns,
            .location = functions[i],
            .count = 1,
            .flags = inferred[i] ? LOD_INFERRED : 0,
        };
    calls->depth = count;
}

/* Spans do not overlap in a row: one that would end after the next begins ends there. */
static void cut_overlaps(struct lod_span *spans, const uint32_t *ids, const uint16_t *rows,
                         size_t count, uint64_t *last_start)
{
    memset(last_start, 0xff, DEPTH_MOST * sizeof *last_start);
    for (size_t i = count; i-- > 0;) {
        struct lod_span *span = &spans[ids[i]];

        if (span->start_ns + span->duration_ns > last_start[rows[i]])
            span->duration_ns = last_start[rows[i]] - span->start_ns;
        last_start[rows[i]] = span->start_ns;
    }
}

static enum ifg_status make_rows(const struct timeline *timeline, struct sampled_calls *calls,
                                 struct lod **out_lod)
{
    uint32_t *ids = ifg_alloc(calls->count + 1, sizeof *ids);
    uint16_t *rows = ifg_alloc(calls->count + 1, sizeof *rows);
    uint64_t *last = ifg_alloc(DEPTH_MOST, sizeof *last);
    enum ifg_status status = IFG_NO_MEMORY;

    if (ids && rows && last) {
        /* They were closed in the order of their ends, which in a row is that of their starts. */
        for (size_t i = 0; i < calls->count; i++) {
            ids[i] = (uint32_t)i;
            rows[i] = (uint16_t)calls->spans[i].row;
        }
        cut_overlaps(calls->spans, ids, rows, calls->count, last);
        status = lod_create_rows(timeline, 0, calls->spans, ids, rows, calls->count, out_lod);
    }
    ifg_free(last);
    ifg_free(rows);
    ifg_free(ids);
    return status;
}

static enum ifg_status make_sampled_calls(const struct server_trace *trace, struct track *track)
{
    const struct timeline_profile *profile = trace->profile;
    const struct timeline_sampled_thread *thread = &profile->threads[track->sampled];
    double hz = profile->hz > 1 ? profile->hz : 100;
    struct sampled_calls *calls = ifg_alloc(1, sizeof *calls);
    enum ifg_status status = IFG_NO_MEMORY;

    if (!calls)
        return IFG_NO_MEMORY;
    for (size_t i = 0; i < thread->sample_count && !calls->no_memory; i++)
        add_sample(calls, profile, &profile->samples[profile->by_thread[thread->first_sample + i]],
                   ifg_u64_of(1e9 / hz));
    close_from(calls, 0);
    if (!calls->no_memory)
        status = make_rows(trace->timeline, calls, &track->sampled_calls);
    if (status)
        ifg_free(calls->spans);
    else
        track->sampled_call_spans = calls->spans;
    ifg_free(calls);
    return status;
}

enum ifg_status track_sampled_calls(struct server_trace *trace, struct track *track,
                                    const struct lod **out_lod, struct ifg_error *err)
{
    enum ifg_status status = IFG_OK;

    *out_lod = NULL;
    if (track->kind != TRACK_THREAD)
        return ifg_fail(err, IFG_INVALID, "track %s is no thread", track->id);
    if (track->sampled == TIMELINE_NONE)
        return IFG_OK;
    pthread_mutex_lock(&track->lock);
    if (!track->sampled_calls)
        status = make_sampled_calls(trace, track);
    *out_lod = track->sampled_calls;
    pthread_mutex_unlock(&track->lock);
    return status ? ifg_fail_no_memory(err, NULL) : IFG_OK;
}

void serve_sampled_calls(const struct server_request *request, struct server_answer *answer)
{
    track_view_answer(request, track_sampled_calls, answer);
}
