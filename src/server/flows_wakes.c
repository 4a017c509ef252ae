// SPDX-License-Identifier: Apache-2.0
/* Arrows that nobody recorded as such: wakeups of threads, and async spans that change threads. */
#include <stdlib.h>

#include "base/alloc.h"
#include "timeline/flows.h"
#include "server/flows_internal.h"

/* A slice that begins so soon after its thread was woken began because of it. */
#define JUST_BEFORE_NS 100000u

/* ---- wakeups ---- */

struct wake {
    uint64_t waited_ns;
    size_t state; /* the runnable one */
};

static int by_wait(const void *a, const void *b)
{
    const struct wake *left = a;
    const struct wake *right = b;

    if (left->waited_ns != right->waited_ns)
        return left->waited_ns > right->waited_ns ? -1 : 1;
    return left->state < right->state ? -1 : left->state > right->state;
}

static int by_state(const void *a, const void *b)
{
    const struct wake *left = a;
    const struct wake *right = b;

    return left->state < right->state ? -1 : left->state > right->state;
}

/* The end of a wakeup at which somebody woke. The slice is not known yet. */
static struct arrow_end waker_end(const struct server_trace *trace,
                                  const struct timeline_thread_state *state)
{
    const struct timeline *timeline = trace->timeline;
    const struct timeline_profile *profile = trace->profile;
    struct arrow_end end = { state->start_ns, SIZE_MAX, TIMELINE_NONE, TIMELINE_NONE };

    for (size_t i = 0; i < profile->thread_count && end.sampled == TIMELINE_NONE; i++)
        if (profile->threads[i].tid == state->waker)
            end.sampled = (uint32_t)i;
    if (end.sampled != TIMELINE_NONE)
        end.thread = profile->threads[end.sampled].thread;
    for (size_t i = 0; i < timeline->thread_count && end.sampled == TIMELINE_NONE; i++)
        if (timeline->threads[i].tid == state->waker)
            end.thread = (uint32_t)i;
    return end;
}

static const char *waker_name(const struct server_trace *trace, const struct arrow_end *end,
                              uint32_t tid)
{
    const struct timeline *timeline = trace->timeline;

    if (end->thread < timeline->thread_count && timeline->threads[end->thread].name[0])
        return timeline->threads[end->thread].name;
    if (end->sampled != TIMELINE_NONE && trace->profile->threads[end->sampled].name[0])
        return trace->profile->threads[end->sampled].name;
    return timeline_kernel_name(trace->profile, tid);
}

/* All wakeups of a thread that are ours to show; room for the number of its states. */
static size_t list_wakes(const struct timeline_thread_state *states, size_t count,
                         uint64_t start_ns, uint64_t end_ns, struct wake *out)
{
    size_t found = 0;

    for (size_t i = 0; i < count && states[i].start_ns < end_ns; i++) {
        const struct timeline_thread_state *state = &states[i];
        bool was_blocked =
            i && states[i - 1].state == TIMELINE_BLOCKED && states[i - 1].end_ns == state->start_ns;

        if (state->state == TIMELINE_RUNNABLE && state->woken && state->waker &&
            (state->end_ns >= start_ns || start_ns - state->end_ns <= JUST_BEFORE_NS))
            out[found++] = (struct wake){
                state->end_ns - (was_blocked ? states[i - 1].start_ns : state->start_ns), i
            };
    }
    return found;
}

/* The first state that matters. */
static size_t first_state(const struct timeline_thread_state *states, size_t count,
                          uint64_t start_ns)
{
    uint64_t from = start_ns > JUST_BEFORE_NS ? start_ns - JUST_BEFORE_NS : 0;
    size_t low = 0;
    size_t high = count;

    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (states[middle].end_ns < from)
            low = middle + 1;
        else
            high = middle;
    }
    return low ? low - 1 : 0; /* how long it was blocked before is told by the one before */
}

size_t flows_wakes(const struct server_trace *trace, size_t slice, struct arrow *out, size_t most)
{
    const struct timeline *timeline = trace->timeline;
    const struct timeline_profile *profile = trace->profile;
    uint32_t thread = timeline_thread_of(timeline, slice);
    const struct timeline_sampled_thread *of = NULL;
    const struct timeline_thread_state *states;
    struct wake *wakes;
    size_t first;
    size_t count;

    for (size_t i = 0; profile && i < profile->thread_count && !of; i++)
        if (profile->threads[i].thread == thread)
            of = &profile->threads[i];
    if (!of || !of->state_count)
        return 0;
    first =
        first_state(profile->states + of->first_state, of->state_count, timeline->start_ns[slice]);
    states = profile->states + of->first_state + first;
    wakes = ifg_alloc(of->state_count - first, sizeof *wakes);
    if (!wakes)
        return SIZE_MAX;
    count = list_wakes(states, of->state_count - first, timeline->start_ns[slice],
                       timeline_end_ns(timeline, slice), wakes);
    if (count > most) {
        qsort(wakes, count, sizeof *wakes, by_wait);
        qsort(wakes, most, sizeof *wakes, by_state);
    }
    for (size_t i = 0; i < count && i < most; i++) {
        const struct timeline_thread_state *state = &states[wakes[i].state];
        struct timeline_sweep sweep = { .timeline = timeline, .thread = TIMELINE_NONE };
        struct arrow_end from = waker_end(trace, state);

        if (from.thread < timeline->thread_count)
            from.slice = timeline_sweep_at(&sweep, from.thread, from.ns);
        timeline_sweep_fini(&sweep);
        out[i] = (struct arrow){
            .kind = ARROW_WAKE,
            .id = state->waker,
            .flow = TIMELINE_NONE,
            .name = waker_name(trace, &from, state->waker),
            .from = from,
            .to = { state->end_ns, slice, thread, TIMELINE_NONE },
        };
    }
    ifg_free(wakes);
    return count;
}

/* ---- async spans ---- */

struct moment {
    uint64_t ns;
    size_t *out_slice;
    uint32_t thread;
};

static int by_thread(const void *a, const void *b)
{
    const struct moment *left = a;
    const struct moment *right = b;

    if (left->thread != right->thread)
        return left->thread < right->thread ? -1 : 1;
    return left->ns < right->ns ? -1 : left->ns > right->ns;
}

static bool is_crossing(const struct timeline *timeline, const struct timeline_async *span)
{
    return span->end_thread < timeline->thread_count &&
           span->begin_thread < timeline->thread_count && span->end_thread != span->begin_thread;
}

static struct crossing_index *make_crossings(const struct timeline *timeline)
{
    struct crossing_index *index = ifg_alloc(1, sizeof *index);
    struct timeline_sweep sweep = { .timeline = timeline, .thread = TIMELINE_NONE };
    struct moment *moments = NULL;
    size_t count = 0;

    if (!index)
        return NULL;
    for (size_t i = 0; i < timeline->async_count; i++)
        count += is_crossing(timeline, &timeline->asyncs[i]);
    index->items = ifg_alloc(count, sizeof *index->items);
    moments = ifg_alloc(2 * count, sizeof *moments);
    for (size_t i = 0; index->items && moments && i < timeline->async_count; i++) {
        const struct timeline_async *span = &timeline->asyncs[i];
        struct crossing *crossing = &index->items[index->count];

        if (!is_crossing(timeline, span))
            continue;
        crossing->span = i;
        moments[2 * index->count] =
            (struct moment){ span->start_ns, &crossing->from_slice, span->begin_thread };
        moments[2 * index->count + 1] =
            (struct moment){ span->end_ns, &crossing->to_slice, span->end_thread };
        index->count++;
    }
    if (index->count)
        qsort(moments, 2 * index->count, sizeof *moments, by_thread);
    for (size_t i = 0; i < 2 * index->count; i++)
        *moments[i].out_slice = timeline_sweep_at(&sweep, moments[i].thread, moments[i].ns);
    timeline_sweep_fini(&sweep);
    if (!index->items || !moments || sweep.no_memory) {
        ifg_free(index->items);
        ifg_free(index);
        index = NULL;
    }
    ifg_free(moments);
    return index;
}

enum ifg_status trace_crossings(struct server_trace *trace, const struct crossing_index **out_index,
                                struct ifg_error *err)
{
    pthread_mutex_lock(&trace->index_lock);
    if (!trace->crossings)
        trace->crossings = make_crossings(trace->timeline);
    *out_index = trace->crossings;
    pthread_mutex_unlock(&trace->index_lock);
    return *out_index ? IFG_OK : ifg_fail_no_memory(err, "for async spans");
}

void trace_destroy_crossings(struct server_trace *trace)
{
    if (trace->crossings)
        ifg_free(trace->crossings->items);
    ifg_free(trace->crossings);
    trace->crossings = NULL;
}

struct arrow flows_crossing_arrow(const struct timeline *timeline, const struct crossing *crossing)
{
    const struct timeline_async *span = &timeline->asyncs[crossing->span];

    return (struct arrow){
        .kind = ARROW_ASYNC,
        .id = span->id,
        .flow = TIMELINE_NONE,
        .name = timeline->locations[span->location].name,
        .from = { span->start_ns, crossing->from_slice, span->begin_thread, TIMELINE_NONE },
        .to = { span->end_ns, crossing->to_slice, span->end_thread, TIMELINE_NONE },
    };
}
