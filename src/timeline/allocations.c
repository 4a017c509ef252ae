// SPDX-License-Identifier: Apache-2.0
/*
 * Allocations on the timeline's clock: see allocations.h.
 *
 * They are moments of threads like samples are, so the join is that of the samples. An end belongs
 * to the last beginning before it at the same address of the same process.
 */
#include "timeline/allocations.h"

#include <pthread.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "timeline/timeline_internal.h"

/* A beginning or an end, in the order in which they are paired. */
struct event {
    uint64_t address;
    uint32_t pid;
    uint32_t at; /* in the trace's list, which is by time */
};

static int by_block(const void *left, const void *right)
{
    const struct event *a = left;
    const struct event *b = right;

    if (a->pid != b->pid)
        return a->pid < b->pid ? -1 : 1;
    if (a->address != b->address)
        return a->address < b->address ? -1 : 1;
    return a->at < b->at ? -1 : a->at > b->at;
}

/* Gives beginnings their ends. A second beginning at an address ends the first: its own end was not
 * told. number_of: of an entry of the list, its place among the beginnings. */
static bool pair(const struct trace_allocation *list, size_t count, const uint32_t *number_of,
                 struct timeline_heap_allocation *items)
{
    struct event *events = ifg_alloc(count, sizeof *events);
    struct timeline_heap_allocation *open = NULL;

    if (!events)
        return false;
    for (size_t i = 0; i < count; i++)
        events[i] = (struct event){ list[i].address, list[i].pid, (uint32_t)i };
    qsort(events, count, sizeof *events, by_block);
    for (size_t i = 0; i < count; i++) {
        const struct trace_allocation *one = &list[events[i].at];

        if (i && (events[i - 1].pid != events[i].pid || events[i - 1].address != events[i].address))
            open = NULL;
        if (open)
            open->freed_ns = one->time_ns;
        open = one->freed ? NULL : &items[number_of[events[i].at]];
    }
    ifg_free(events);
    return true;
}

/* The beginnings of the list as items and as moments; returns how many there are. */
static size_t split(const struct trace_allocation *list, size_t count,
                    struct timeline_heap_allocation *items, struct trace_sample *moments,
                    uint32_t *number_of)
{
    size_t made = 0;

    for (size_t i = 0; i < count; i++) {
        const struct trace_allocation *one = &list[i];

        if (one->freed)
            continue;
        number_of[i] = (uint32_t)made;
        items[made] = (struct timeline_heap_allocation){
            .ns = one->time_ns,
            .freed_ns = UINT64_MAX,
            .bytes = one->bytes,
            .weight = one->weight,
            .address = one->address,
            .pid = one->pid,
            .tid = one->tid,
            .stack = one->stack,
        };
        moments[made++] = (struct trace_sample){
            .time_ns = one->time_ns, .pid = one->pid, .tid = one->tid, .stack = one->stack
        };
    }
    return made;
}

static bool join(const struct timeline *timeline, const struct trace_sample *moments, size_t count,
                 struct timeline_heap_allocation *items)
{
    struct timeline_profile *joined = ifg_alloc(1, sizeof *joined);
    bool good = false;

    if (joined) {
        joined->sample_count = count;
        good = timeline_profile_join(timeline, moments, joined);
    }
    for (size_t i = 0; good && i < count; i++) {
        const struct timeline_sample *sample = &joined->samples[i];

        items[i].slice = sample->slice;
        items[i].ml = sample->ml;
        items[i].op = sample->op;
        items[i].join = sample->join;
        items[i].process = joined->threads[sample->thread].process;
        items[i].thread = joined->threads[sample->thread].thread;
    }
    timeline_profile_destroy(joined);
    return good;
}

void timeline_heap_destroy(struct timeline_allocations *heap)
{
    if (!heap)
        return;
    ifg_free((void *)(uintptr_t)heap->items);
    ifg_free(heap);
}

static enum ifg_status heap_create(const struct timeline *timeline,
                                   const struct timeline_profile *profile,
                                   struct timeline_allocations **out_heap, struct ifg_error *err)
{
    struct timeline_allocations *heap = ifg_alloc(1, sizeof *heap);
    struct timeline_heap_allocation *items = NULL;
    struct trace_allocation *list = NULL;
    struct trace_sample *moments = NULL;
    uint32_t *number_of = NULL;
    size_t count = 0;
    enum ifg_status status = heap ? IFG_OK : IFG_NO_MEMORY;

    if (!status)
        status = trace_allocations_read(timeline->reader, profile->trace, &list, &count,
                                        &heap->lost, err);
    if (!status) {
        items = ifg_alloc(count + 1, sizeof *items);
        moments = ifg_alloc(count + 1, sizeof *moments);
        number_of = ifg_alloc(count + 1, sizeof *number_of);
        heap->items = items;
        if (items && moments && number_of)
            heap->count = split(list, count, items, moments, number_of);
        if (!items || !moments || !number_of ||
            (heap->count && (!pair(list, count, number_of, items) ||
                             !join(timeline, moments, heap->count, items))))
            status = IFG_NO_MEMORY;
    }
    ifg_free(list);
    ifg_free(moments);
    ifg_free(number_of);
    if (status) {
        timeline_heap_destroy(heap);
        return ifg_fail_no_memory(err, "for the allocations of the trace");
    }
    *out_heap = heap;
    return IFG_OK;
}

enum ifg_status timeline_allocations_get(const struct timeline *timeline,
                                         const struct timeline_allocations **out_allocations,
                                         struct ifg_error *err)
{
    struct timeline_builder *builder = (struct timeline_builder *)(uintptr_t)timeline;
    const struct timeline_profile *profile;
    enum ifg_status status;

    *out_allocations = NULL;
    if (!timeline_has_allocations(timeline))
        return IFG_OK;
    status = timeline_profile_get(timeline, &profile, err);
    if (status)
        return status;
    pthread_mutex_lock(&builder->profile_lock);
    if (!builder->heap)
        status = heap_create(timeline, profile, &builder->heap, err);
    *out_allocations = builder->heap;
    pthread_mutex_unlock(&builder->profile_lock);
    return status;
}

const char *timeline_allocation_model(const struct timeline *timeline,
                                      const struct timeline_heap_allocation *allocation)
{
    const struct timeline_sample like = { .ml = allocation->ml, .op = allocation->op };

    return timeline_sample_model(timeline, &like);
}
