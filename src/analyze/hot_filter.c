// SPDX-License-Identifier: Apache-2.0
/* Which samples count: by time, thread, model, operator, category, zone. */
#include <stdlib.h>
#include <string.h>

#include "analyze/hot_internal.h"
#include "base/alloc.h"
#include "base/array.h"

static bool choose_threads(struct hot_wanted *wanted, const struct timeline_profile *profile,
                           const char *thread)
{
    char *end;
    unsigned long tid = strtoul(thread, &end, 10);
    bool by_number = *thread && !*end;

    wanted->threads = ifg_alloc(profile->thread_count + 1, sizeof *wanted->threads);
    for (size_t i = 0; wanted->threads && i < profile->thread_count; i++)
        wanted->threads[i] = strcmp(profile->threads[i].name, thread) == 0 ||
                             (by_number && profile->threads[i].tid == tid);
    return wanted->threads != NULL;
}

static bool choose_locations(struct hot_wanted *wanted, const struct hot_filter *filter)
{
    const struct timeline *timeline = wanted->timeline;

    wanted->ml = ifg_alloc(timeline->location_count + 1, sizeof *wanted->ml);
    wanted->op = ifg_alloc(timeline->location_count + 1, sizeof *wanted->op);
    if (!wanted->ml || !wanted->op)
        return false;
    for (size_t i = 0; i < timeline->location_count; i++) {
        const struct timeline_location *location = &timeline->locations[i];
        bool of_model =
            (!filter->model_number || location->model == filter->model_number - 1) &&
            (!filter->model ||
             (location->model < timeline->model_count &&
              timeline_model_is_called(&timeline->models[location->model], filter->model)));

        wanted->ml[i] = of_model && (!filter->category || location->category == filter->category);
        wanted->op[i] = filter->op ? strcmp(location->name, filter->op) == 0 : of_model;
    }
    return true;
}

static bool add_span(struct hot_wanted *wanted, uint64_t start, uint64_t end, size_t first)
{
    if (wanted->span_count > first && wanted->spans[wanted->span_count - 1].end_ns >= start) {
        if (wanted->spans[wanted->span_count - 1].end_ns < end)
            wanted->spans[wanted->span_count - 1].end_ns = end;
        return true;
    }
    if (!IFG_ARRAY_ROOM(wanted->spans, wanted->span_capacity, wanted->span_count + 1,
                        IFG_ARRAY_ANY))
        return false;
    wanted->spans[wanted->span_count++] = (struct hot_span){ start, end };
    return true;
}

/* When each thread was inside a slice of this name: spans that do not overlap. */
static bool choose_spans(struct hot_wanted *wanted, const char *zone)
{
    const struct timeline *timeline = wanted->timeline;
    bool *named = ifg_alloc(timeline->location_count + 1, sizeof *named);
    bool good;

    wanted->first_span = ifg_alloc(timeline->thread_count + 1, sizeof *wanted->first_span);
    good = named && wanted->first_span;
    for (size_t i = 0; good && i < timeline->location_count; i++)
        named[i] = strcmp(timeline->locations[i].name, zone) == 0;
    for (size_t t = 0; good && t < timeline->thread_count; t++) {
        const struct timeline_thread *thread = &timeline->threads[t];
        size_t end = thread->first_slice + thread->slice_count;

        wanted->first_span[t] = wanted->span_count;
        for (size_t i = thread->first_slice; good && i < end; i++)
            if (named[timeline->location[i]])
                good = add_span(wanted, timeline->start_ns[i], timeline_end_ns(timeline, i),
                                wanted->first_span[t]);
    }
    if (good)
        wanted->first_span[timeline->thread_count] = wanted->span_count;
    ifg_free(named);
    return good;
}

bool hot_wanted_init(struct hot_wanted *wanted, const struct timeline *timeline,
                     const struct timeline_profile *profile, const struct hot_filter *filter)
{
    *wanted = (struct hot_wanted){
        .timeline = timeline,
        .from_ns = timeline->begin_ns + filter->from_ns,
        .to_ns = filter->to_ns ? timeline->begin_ns + filter->to_ns : UINT64_MAX,
        .by_op = filter->op != NULL,
    };
    if (filter->thread && !choose_threads(wanted, profile, filter->thread))
        return false;
    if ((filter->model || filter->model_number || filter->op || filter->category) &&
        !choose_locations(wanted, filter))
        return false;
    return !filter->zone || choose_spans(wanted, filter->zone);
}

void hot_wanted_fini(struct hot_wanted *wanted)
{
    ifg_free(wanted->threads);
    ifg_free(wanted->ml);
    ifg_free(wanted->op);
    ifg_free(wanted->spans);
    ifg_free(wanted->first_span);
}

static bool in_span(const struct hot_wanted *wanted, const struct timeline_sample *sample)
{
    uint32_t thread;
    size_t low, high;

    if (sample->slice == SIZE_MAX)
        return false;
    thread = timeline_thread_of(wanted->timeline, sample->slice);
    low = wanted->first_span[thread];
    high = wanted->first_span[thread + 1];
    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (wanted->spans[middle].end_ns <= sample->ns)
            low = middle + 1;
        else
            high = middle;
    }
    return low < wanted->first_span[thread + 1] && wanted->spans[low].start_ns <= sample->ns;
}

bool hot_wants(const struct hot_wanted *wanted, const struct timeline_sample *sample)
{
    if (sample->ns < wanted->from_ns || sample->ns >= wanted->to_ns)
        return false;
    if (wanted->threads && !wanted->threads[sample->thread])
        return false;
    if (wanted->by_op && (sample->op == TIMELINE_NONE || !wanted->op[sample->op]))
        return false;
    /* An operator without an ML event around it may say its model itself. */
    if (wanted->ml && sample->ml != TIMELINE_NONE && !wanted->ml[sample->ml])
        return false;
    if (wanted->ml && sample->ml == TIMELINE_NONE &&
        (sample->op == TIMELINE_NONE || !wanted->op[sample->op]))
        return false;
    return !wanted->spans ? !wanted->first_span : in_span(wanted, sample);
}
