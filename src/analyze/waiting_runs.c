// SPDX-License-Identifier: Apache-2.0
/* Inferences by their wait: see waiting_runs.h. Only the longest ones are kept, in a heap. */
#include "analyze/waiting_runs.h"

#include <stdlib.h>

#include "base/alloc.h"

/* Whether a is to be dropped before b. */
static bool is_less(const struct waiting_run *a, const struct waiting_run *b)
{
    if (a->ns[TIMELINE_RUNNABLE] != b->ns[TIMELINE_RUNNABLE])
        return a->ns[TIMELINE_RUNNABLE] < b->ns[TIMELINE_RUNNABLE];
    return a->slice > b->slice;
}

static int longest_first(const void *a, const void *b)
{
    return is_less(a, b) ? 1 : is_less(b, a) ? -1 : 0;
}

static void swap(struct waiting_run *a, struct waiting_run *b)
{
    struct waiting_run kept = *a;

    *a = *b;
    *b = kept;
}

/* The least of those that are kept is item 0. */
static void keep(struct waiting_runs *runs, size_t most, const struct waiting_run *run)
{
    size_t at;

    if (runs->count < most) {
        at = runs->count++;
        runs->items[at] = *run;
        for (; at && is_less(&runs->items[at], &runs->items[(at - 1) / 2]); at = (at - 1) / 2)
            swap(&runs->items[at], &runs->items[(at - 1) / 2]);
        return;
    }
    if (!most || !is_less(&runs->items[0], run))
        return;
    runs->items[0] = *run;
    for (at = 0;;) {
        size_t least = at;

        for (size_t child = 2 * at + 1; child <= 2 * at + 2 && child < runs->count; child++)
            if (is_less(&runs->items[child], &runs->items[least]))
                least = child;
        if (least == at)
            return;
        swap(&runs->items[at], &runs->items[least]);
        at = least;
    }
}

static void add_states(struct waiting_run *run, uint64_t start, uint64_t end,
                       const struct timeline_thread_state *states, size_t first, size_t count)
{
    for (size_t i = first; i < count && states[i].start_ns < end; i++) {
        uint64_t from = states[i].start_ns > start ? states[i].start_ns : start;
        uint64_t to = states[i].end_ns < end ? states[i].end_ns : end;

        if (to > from)
            run->ns[states[i].state] += to - from;
    }
}

/* Outermost inferences, as waiting.c counts them. */
static void add_thread(struct waiting_runs *runs, const struct timeline *timeline,
                       const struct timeline_profile *profile,
                       const struct timeline_sampled_thread *from, uint32_t model, size_t most)
{
    const struct timeline_thread *thread = &timeline->threads[from->thread];
    const struct timeline_thread_state *states = profile->states + from->first_state;
    uint64_t covered = 0;
    size_t at = 0;

    for (size_t i = thread->first_slice; i < thread->first_slice + thread->slice_count; i++) {
        const struct timeline_location *location = &timeline->locations[timeline->location[i]];
        uint64_t start = timeline->start_ns[i];
        uint64_t end;
        struct waiting_run run = { .slice = i };

        if (location->kind != TRACE_LOCATION_ML || location->category != TRACE_CATEGORY_INFERENCE ||
            location->model >= timeline->model_count || start < covered)
            continue;
        end = timeline_end_ns(timeline, i);
        if (start < states[0].start_ns || end > states[from->state_count - 1].end_ns || end < start)
            continue;
        covered = end;
        while (at < from->state_count && states[at].end_ns <= start)
            at++;
        if (location->model != model)
            continue;
        run.duration_ns = end - start;
        add_states(&run, start, end, states, at, from->state_count);
        runs->inferences++;
        keep(runs, most, &run);
    }
}

enum ifg_status waiting_runs_create(const struct timeline *timeline, uint32_t model, size_t most,
                                    struct waiting_runs **out_runs, struct ifg_error *err)
{
    const struct timeline_profile *profile;
    struct waiting_runs *runs;
    enum ifg_status status = timeline_profile_get(timeline, &profile, err);

    *out_runs = NULL;
    if (status)
        return status;
    runs = ifg_alloc(1, sizeof *runs);
    if (runs)
        runs->items = ifg_alloc(most + 1, sizeof *runs->items);
    if (!runs || !runs->items) {
        waiting_runs_destroy(runs);
        return ifg_fail_no_memory(err, "for waits of inferences");
    }
    for (size_t t = 0; profile && t < profile->thread_count; t++)
        if (profile->threads[t].thread != TIMELINE_NONE && profile->threads[t].state_count)
            add_thread(runs, timeline, profile, &profile->threads[t], model, most);
    if (runs->count)
        qsort(runs->items, runs->count, sizeof *runs->items, longest_first);
    *out_runs = runs;
    return IFG_OK;
}

void waiting_runs_destroy(struct waiting_runs *runs)
{
    if (!runs)
        return;
    ifg_free(runs->items);
    ifg_free(runs);
}
