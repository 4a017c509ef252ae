// SPDX-License-Identifier: Apache-2.0
/* What the kernel had a thread do: running, runnable, blocked. */
#include <math.h>

#include "server/handler.h"
#include "server/lod.h"
#include "server/routes.h"

/* The first state from which on something is at or after ns. */
static size_t first_state(const struct timeline_thread_state *states, size_t count, uint64_t ns)
{
    size_t low = 0;
    size_t high = count;

    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (states[middle].end_ns <= ns)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* Short ones up to the next line of the grid become one, of the state with most time. */
static enum ifg_status merge_states(const struct timeline_thread_state *states, size_t count,
                                    uint64_t t0, uint64_t t1, double least_ns,
                                    struct lod_items *out)
{
    uint64_t grid_ns = lod_grid_ns(least_ns);
    size_t i = first_state(states, count, t0);
    enum ifg_status status = IFG_OK;

    while (!status && i < count && states[i].start_ns < t1) {
        uint64_t line = states[i].start_ns - states[i].start_ns % grid_ns + grid_ns;
        uint64_t time[TIMELINE_STATES] = { 0 };
        size_t from = i;
        size_t state = states[i].state;
        struct lod_item item = { .start_ns = states[i].start_ns, .id = states[i].cpu };

        do {
            time[states[i].state] += states[i].end_ns - states[i].start_ns;
            i++;
        } while ((double)(states[from].end_ns - states[from].start_ns) < least_ns && i < count &&
                 states[i].start_ns < line && states[i].start_ns < t1 &&
                 (double)(states[i].end_ns - states[i].start_ns) < least_ns);
        for (size_t k = 0; k < TIMELINE_STATES; k++)
            state = time[k] > time[state] ? k : state;
        item.duration_ns = states[i - 1].end_ns - item.start_ns;
        item.location = (uint32_t)state;
        item.count = (uint32_t)(i - from);
        item.flags = i - from > 1 ? LOD_MERGED : 0;
        for (size_t k = from; k < i; k++)
            if (states[k].state == state) {
                item.id = states[k].cpu;
                break;
            }
        status = lod_items_add(out, &item);
    }
    return status;
}

void serve_states(const struct server_request *request, struct server_answer *answer)
{
    struct track *track = request_track(request, answer);
    const struct timeline_profile *profile = request->trace->profile;
    const struct timeline *timeline = request->timeline;
    struct lod_items items;
    enum ifg_status status = IFG_OK;
    uint64_t t0;
    uint64_t t1;
    uint64_t width;
    unsigned px;

    if (!track || !request_range(request, &t0, &t1, answer) || !request_px(request, &px, answer))
        return;
    if (track->kind != TRACK_THREAD) {
        answer_error(answer, 400, "track %s is no thread", track->id);
        return;
    }
    width = t1 - t0;
    t0 = t0 - timeline->begin_ns > width ? t0 - width : timeline->begin_ns;
    t1 = timeline->end_ns + 1 - t1 > width ? t1 + width : timeline->end_ns + 1;
    lod_items_init(&items, LOD_ITEMS_MOST);
    if (track->sampled != TIMELINE_NONE) {
        const struct timeline_sampled_thread *thread = &profile->threads[track->sampled];

        status = merge_states(profile->states + thread->first_state, thread->state_count, t0, t1,
                              (double)width / px * LOD_MERGE_PX, &items);
    }
    if (status)
        answer_status(answer, status, NULL);
    else
        lod_write(timeline, &items, 1, t0, t1, answer_binary(answer));
    lod_items_fini(&items);
}
