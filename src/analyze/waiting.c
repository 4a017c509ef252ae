// SPDX-License-Identifier: Apache-2.0
/* Run-queue wait: see waiting.h. Slices and states of a thread are both in order of time. */
#include "analyze/waiting.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"

static int most_runnable(const void *a, const void *b)
{
    const struct waiting_thread *left = a;
    const struct waiting_thread *right = b;

    if (left->ns[TIMELINE_RUNNABLE] != right->ns[TIMELINE_RUNNABLE])
        return left->ns[TIMELINE_RUNNABLE] > right->ns[TIMELINE_RUNNABLE] ? -1 : 1;
    return left->thread < right->thread ? -1 : left->thread > right->thread;
}

static int by_number(const void *a, const void *b)
{
    uint32_t left = *(const uint32_t *)a;
    uint32_t right = *(const uint32_t *)b;

    return left < right ? -1 : left > right;
}

/* Who woke the thread most often; wakers has room for all its states. */
static void find_waker(struct waiting_thread *out, const struct timeline_thread_state *states,
                       size_t count, uint32_t *wakers)
{
    size_t run = 0;

    for (size_t i = 0; i < count; i++) {
        if (!states[i].woken)
            continue;
        wakers[out->wakes++] = states[i].waker;
        out->wake_ns += states[i].end_ns - states[i].start_ns;
    }
    if (out->wakes)
        qsort(wakers, out->wakes, sizeof *wakers, by_number);
    for (size_t i = 0; i < out->wakes; i++) {
        run = i && wakers[i] == wakers[i - 1] ? run + 1 : 1;
        if (run > out->waker_times) {
            out->waker_times = run;
            out->waker = wakers[i];
        }
    }
}

static void add_thread(struct waiting *waiting, const struct timeline_profile *profile, uint32_t t,
                       uint32_t *wakers)
{
    const struct timeline_sampled_thread *thread = &profile->threads[t];
    struct waiting_thread *out = &waiting->threads[waiting->thread_count];

    if (!thread->state_count)
        return;
    out->thread = t;
    find_waker(out, profile->states + thread->first_state, thread->state_count, wakers);
    for (size_t i = 0; i < thread->state_count; i++) {
        const struct timeline_thread_state *state = &profile->states[thread->first_state + i];

        out->ns[state->state] += state->end_ns - state->start_ns;
        waiting->ns[state->state] += state->end_ns - state->start_ns;
        out->times += state->state == TIMELINE_RUNNABLE;
        out->disk_ns += state->disk ? state->end_ns - state->start_ns : 0;
        out->untold += state->untold && profile->has_wakers;
    }
    waiting->wakes += out->wakes;
    waiting->untold += out->untold;
    waiting->thread_count++;
}

/* One inference: `first` is the first state that may reach into it. */
static void add_inference(struct waiting_model *model, const struct timeline *timeline,
                          size_t slice, const struct timeline_thread_state *states, size_t first,
                          size_t count)
{
    uint64_t start = timeline->start_ns[slice];
    uint64_t end = timeline_end_ns(timeline, slice);
    uint64_t waited = 0;

    for (size_t i = first; i < count && states[i].start_ns < end; i++) {
        uint64_t from = states[i].start_ns > start ? states[i].start_ns : start;
        uint64_t to = states[i].end_ns < end ? states[i].end_ns : end;

        if (to <= from)
            continue;
        model->ns[states[i].state] += to - from;
        if (states[i].state == TIMELINE_RUNNABLE)
            waited += to - from;
    }
    model->inferences++;
    model->total_ns += end - start;
    if (waited > model->longest_wait_ns) {
        model->longest_wait_ns = waited;
        model->longest = slice;
    }
}

static void add_inferences(struct waiting *waiting, const struct timeline *timeline,
                           const struct timeline_profile *profile, uint32_t t)
{
    const struct timeline_sampled_thread *from = &profile->threads[t];
    const struct timeline_thread *thread = &timeline->threads[from->thread];
    const struct timeline_thread_state *states = profile->states + from->first_state;
    uint64_t known_from = from->state_count ? states[0].start_ns : UINT64_MAX;
    uint64_t known_to = from->state_count ? states[from->state_count - 1].end_ns : 0;
    uint64_t covered = 0; /* inside an inference until then */
    size_t at = 0;

    for (size_t i = thread->first_slice; i < thread->first_slice + thread->slice_count; i++) {
        const struct timeline_location *location = &timeline->locations[timeline->location[i]];
        uint64_t start = timeline->start_ns[i];
        uint64_t end;

        if (location->kind != TRACE_LOCATION_ML || location->category != TRACE_CATEGORY_INFERENCE ||
            location->model >= timeline->model_count || start < covered)
            continue;
        end = timeline_end_ns(timeline, i);
        if (start < known_from || end > known_to || end < start)
            continue;
        covered = end;
        while (at < from->state_count && states[at].end_ns <= start)
            at++;
        add_inference(&waiting->models[location->model], timeline, i, states, at,
                      from->state_count);
    }
}

enum ifg_status waiting_create(const struct timeline *timeline, struct waiting **out_waiting,
                               struct ifg_error *err)
{
    const struct timeline_profile *profile;
    struct waiting *waiting;
    uint32_t *wakers;
    enum ifg_status status = timeline_profile_get(timeline, &profile, err);

    *out_waiting = NULL;
    if (status || !profile || !profile->state_count)
        return status;
    waiting = ifg_alloc(1, sizeof *waiting);
    wakers = ifg_alloc(profile->state_count, sizeof *wakers);
    if (waiting) {
        waiting->threads = ifg_alloc(profile->thread_count, sizeof *waiting->threads);
        waiting->models = ifg_alloc(timeline->model_count, sizeof *waiting->models);
    }
    if (!waiting || !waiting->threads || !waiting->models || !wakers) {
        ifg_free(wakers);
        waiting_destroy(waiting);
        return ifg_fail_no_memory(err, "for context switches");
    }
    waiting->has_wakers = profile->has_wakers;
    for (size_t i = 0; i < timeline->model_count; i++)
        waiting->models[i].longest = SIZE_MAX;
    for (uint32_t t = 0; t < profile->thread_count; t++) {
        add_thread(waiting, profile, t, wakers);
        if (profile->threads[t].thread != TIMELINE_NONE)
            add_inferences(waiting, timeline, profile, t);
    }
    ifg_free(wakers);
    if (waiting->thread_count)
        qsort(waiting->threads, waiting->thread_count, sizeof *waiting->threads, most_runnable);
    *out_waiting = waiting;
    return IFG_OK;
}

void waiting_destroy(struct waiting *waiting)
{
    if (!waiting)
        return;
    ifg_free(waiting->threads);
    ifg_free(waiting->models);
    ifg_free(waiting);
}

double waiting_share(const struct waiting_model *model)
{
    return model->total_ns ? (double)model->ns[TIMELINE_RUNNABLE] / (double)model->total_ns : 0;
}
