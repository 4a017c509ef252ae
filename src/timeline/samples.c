// SPDX-License-Identifier: Apache-2.0
/*
 * Samples on the timeline's clock: see samples.h.
 *
 * The join goes through the slices of each thread once, beside its samples. Workers' samples of a
 * process stand together by time, and every thread of the process that runs models goes past them.
 */
#include "timeline/samples.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/array.h"
#include "timeline/allocations.h"
#include "timeline/timeline_internal.h"
#include "trace/keys.h"

#define KEYS_RECENT 1024u

/* Workers' samples are compared with every thread that runs models: no more often than this. */
#define LENDING_MAX ((uint64_t)1 << 32)

struct open_slice {
    uint64_t end_ns;
    size_t slice;
    uint32_t ml;
    uint32_t op;
};

/* The slices of a thread around a moment that moves forward. */
struct sweep {
    const struct timeline *timeline;
    size_t next;
    size_t end;
    struct open_slice *open;
    size_t count;
    size_t capacity;
    bool no_memory;
};

struct join {
    const struct timeline *timeline;
    struct timeline_profile *profile;
    struct timeline_sample *samples;
    struct timeline_sampled_thread *threads;
    uint32_t *by_thread;
    struct sweep sweep;
    uint64_t lent;
};

static bool has_block(const struct timeline *timeline, enum trace_block_type type)
{
    for (size_t i = 0; i < trace_reader_block_count(timeline->reader); i++)
        if (trace_reader_block(timeline->reader, i)->type == type)
            return true;
    return false;
}

bool timeline_has_samples(const struct timeline *timeline)
{
    return has_block(timeline, TRACE_BLOCK_SAMPLES);
}

bool timeline_has_profile(const struct timeline *timeline)
{
    return timeline_has_samples(timeline) || has_block(timeline, TRACE_BLOCK_SWITCHES);
}

bool timeline_has_allocations(const struct timeline *timeline)
{
    return has_block(timeline, TRACE_BLOCK_ALLOCATIONS);
}

/* ---- threads ---- */

static int by_value(const void *a, const void *b)
{
    uint64_t left = *(const uint64_t *)a;
    uint64_t right = *(const uint64_t *)b;

    return left < right ? -1 : left > right;
}

static uint64_t thread_key(uint32_t pid, uint32_t tid)
{
    return (uint64_t)pid << 32 | tid;
}

/* The first one that is not before this. */
static size_t first_thread(const struct timeline_profile *profile, uint64_t key)
{
    size_t low = 0;
    size_t high = profile->thread_count;

    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (thread_key(profile->threads[middle].pid, profile->threads[middle].tid) < key)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static uint32_t find_thread(const struct timeline_profile *profile, uint64_t key)
{
    size_t at = first_thread(profile, key);

    if (at < profile->thread_count &&
        thread_key(profile->threads[at].pid, profile->threads[at].tid) == key)
        return (uint32_t)at;
    return TIMELINE_NONE;
}

/* Threads as they come, most of them once: the few that are busy alternate. */
struct key_list {
    uint64_t *keys;
    size_t count;
    size_t capacity;
    uint64_t recent[KEYS_RECENT];
};

static bool note_key(struct key_list *list, uint64_t key)
{
    uint64_t *recent = &list->recent[(key ^ key >> 32) % KEYS_RECENT];

    if (list->count && *recent == key + 1)
        return true;
    if (!IFG_ARRAY_ROOM(list->keys, list->capacity, list->count + 1, IFG_ARRAY_ANY))
        return false;
    list->keys[list->count++] = key;
    *recent = key + 1; /* 0 is none */
    return true;
}

/* Every (pid, tid) that was sampled or switched, once. */
static bool list_threads(struct timeline_profile *profile, const struct trace_sample *samples,
                         const struct trace_switch *switches)
{
    struct key_list list = { 0 };
    struct timeline_sampled_thread *threads;
    bool good = true;
    uint64_t *keys;
    size_t count = 0;
    size_t all;

    for (size_t i = 0; good && i < profile->sample_count; i++)
        good = note_key(&list, thread_key(samples[i].pid, samples[i].tid));
    for (size_t i = 0; good && i < profile->switch_count; i++)
        good = note_key(&list, thread_key(switches[i].pid, switches[i].tid));
    keys = list.keys;
    if (!good) {
        ifg_free(keys);
        return false;
    }
    if (list.count)
        qsort(keys, list.count, sizeof *keys, by_value);
    all = list.count;
    for (size_t i = 0; i < all; i++)
        if (!i || keys[i] != keys[i - 1])
            keys[count++] = keys[i];
    threads = ifg_alloc(count, sizeof *threads);
    for (size_t i = 0; threads && i < count; i++)
        threads[i] = (struct timeline_sampled_thread){
            .pid = (uint32_t)(keys[i] >> 32),
            .tid = (uint32_t)keys[i],
            .process = TIMELINE_NONE,
            .thread = TIMELINE_NONE,
            .name = "",
        };
    profile->threads = threads;
    profile->thread_count = threads ? count : 0;
    ifg_free(keys);
    return threads != NULL;
}

const char *timeline_kernel_name(const struct timeline_profile *profile, uint32_t tid)
{
    const struct trace_profile *trace = profile->trace;
    size_t low = 0;
    size_t high = trace ? trace->thread_name_count : 0;

    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (trace->thread_names[middle].tid < tid)
            low = middle + 1;
        else
            high = middle;
    }
    return trace && low < trace->thread_name_count && trace->thread_names[low].tid == tid
               ? trace->thread_names[low].name
               : "";
}

/* Which of them the timeline knows; of several (a number that was used again) the last one. */
static void recognise_threads(const struct timeline *timeline,
                              const struct timeline_profile *profile)
{
    struct timeline_sampled_thread *threads =
        (struct timeline_sampled_thread *)(uintptr_t)profile->threads;

    for (uint32_t p = 0; p < timeline->process_count; p++) {
        uint32_t pid = timeline->processes[p].pid;

        for (size_t i = first_thread(profile, thread_key(pid, 0));
             i < profile->thread_count && threads[i].pid == pid; i++)
            threads[i].process = p;
    }
    for (size_t i = 0; i < profile->thread_count; i++)
        threads[i].name = timeline_kernel_name(profile, threads[i].tid);
    for (uint32_t t = 0; t < timeline->thread_count; t++) {
        const struct timeline_thread *thread = &timeline->threads[t];
        uint32_t found =
            find_thread(profile, thread_key(timeline->processes[thread->process].pid, thread->tid));

        if (found == TIMELINE_NONE)
            continue;
        threads[found].thread = t;
        if (*thread->name)
            threads[found].name = thread->name;
    }
}

/* ---- samples ---- */

static bool take_samples(struct timeline_profile *profile, const struct trace_sample *from)
{
    struct timeline_sample *samples = ifg_alloc(profile->sample_count, sizeof *samples);
    struct timeline_sampled_thread *threads =
        (struct timeline_sampled_thread *)(uintptr_t)profile->threads;
    uint32_t *order = ifg_alloc(profile->sample_count, sizeof *order);
    size_t first = 0;

    profile->samples = samples;
    profile->by_thread = order;
    if (!samples || !order)
        return false;
    for (size_t i = 0; i < profile->sample_count; i++) {
        samples[i] = (struct timeline_sample){
            .ns = from[i].time_ns,
            .slice = SIZE_MAX,
            .thread = find_thread(profile, thread_key(from[i].pid, from[i].tid)),
            .cpu = from[i].cpu,
            .stack = from[i].stack,
            .ml = TIMELINE_NONE,
            .op = TIMELINE_NONE,
            .end = from[i].end,
            .in_kernel = from[i].in_kernel,
        };
        threads[samples[i].thread].sample_count++;
    }
    for (size_t t = 0; t < profile->thread_count; t++) {
        threads[t].first_sample = first;
        first += threads[t].sample_count;
        threads[t].sample_count = 0;
    }
    for (size_t i = 0; i < profile->sample_count; i++) {
        struct timeline_sampled_thread *thread = &threads[samples[i].thread];

        order[thread->first_sample + thread->sample_count++] = (uint32_t)i;
    }
    return true;
}

/* ---- states ---- */

static bool take_states(struct timeline_profile *profile, const struct trace_switch *switches)
{
    size_t count = profile->switch_count;
    struct timeline_sampled_thread *threads =
        (struct timeline_sampled_thread *)(uintptr_t)profile->threads;
    struct timeline_thread_state *states = ifg_alloc(count, sizeof *states);
    uint32_t *order = ifg_alloc(count, sizeof *order);
    size_t *first = ifg_alloc(profile->thread_count + 1, sizeof *first);
    bool good = states && order && first;

    profile->states = states;
    for (size_t i = 0; good && i < count; i++) {
        first[find_thread(profile, thread_key(switches[i].pid, switches[i].tid)) + 1]++;
        profile->has_wakers |= switches[i].kind == TRACE_SWITCH_WOKEN;
    }
    for (size_t t = 0; good && t < profile->thread_count; t++)
        first[t + 1] += first[t];
    for (size_t i = 0; good && i < count; i++)
        order[first[find_thread(profile, thread_key(switches[i].pid, switches[i].tid))]++] =
            (uint32_t)i;
    for (size_t t = 0; good && t < profile->thread_count; t++) {
        size_t from = t ? first[t - 1] : 0; /* by now each has moved to its end */

        threads[t].first_state = profile->state_count;
        threads[t].state_count = timeline_profile_walk_states(
            switches, order + from, first[t] - from, (uint32_t)t, states + profile->state_count);
        profile->state_count += threads[t].state_count;
    }
    ifg_free(order);
    ifg_free(first);
    return good;
}

/* ---- the join ---- */

static void sweep_begin(struct sweep *sweep, const struct timeline *timeline, uint32_t thread)
{
    sweep->timeline = timeline;
    sweep->next = timeline->threads[thread].first_slice;
    sweep->end = sweep->next + timeline->threads[thread].slice_count;
    sweep->count = 0;
}

static void sweep_push(struct sweep *sweep, size_t slice)
{
    const struct timeline_location *location =
        &sweep->timeline->locations[sweep->timeline->location[slice]];
    struct open_slice open = { timeline_end_ns(sweep->timeline, slice), slice, TIMELINE_NONE,
                               TIMELINE_NONE };

    if (!IFG_ARRAY_ROOM(sweep->open, sweep->capacity, sweep->count + 1, IFG_ARRAY_ANY)) {
        sweep->no_memory = true;
        return;
    }
    if (sweep->count) {
        open.ml = sweep->open[sweep->count - 1].ml;
        open.op = sweep->open[sweep->count - 1].op;
    }
    if (location->kind == TRACE_LOCATION_ML)
        open.ml = sweep->timeline->location[slice];
    else if (location->kind == TRACE_LOCATION_OP)
        open.op = sweep->timeline->location[slice];
    sweep->open[sweep->count++] = open;
}

/* The innermost slice at a moment, or NULL; moments must not go back. */
static const struct open_slice *sweep_to(struct sweep *sweep, uint64_t ns)
{
    const uint64_t *starts = sweep->timeline->start_ns;

    while (sweep->next < sweep->end && starts[sweep->next] <= ns && !sweep->no_memory) {
        while (sweep->count && sweep->open[sweep->count - 1].end_ns <= starts[sweep->next])
            sweep->count--;
        sweep_push(sweep, sweep->next++);
    }
    while (sweep->count && sweep->open[sweep->count - 1].end_ns <= ns)
        sweep->count--;
    return sweep->count ? &sweep->open[sweep->count - 1] : NULL;
}

static void join_own(struct join *join, uint32_t t)
{
    const struct timeline_thread *thread = &join->timeline->threads[t];
    uint32_t found = find_thread(
        join->profile, thread_key(join->timeline->processes[thread->process].pid, thread->tid));

    if (found == TIMELINE_NONE || !thread->slice_count)
        return;
    sweep_begin(&join->sweep, join->timeline, t);
    for (size_t i = 0; i < join->threads[found].sample_count; i++) {
        struct timeline_sample *sample =
            &join->samples[join->by_thread[join->threads[found].first_sample + i]];
        const struct open_slice *top = sweep_to(&join->sweep, sample->ns);

        if (!top)
            continue;
        sample->slice = top->slice;
        sample->ml = top->ml;
        sample->op = top->op;
        sample->join = TIMELINE_JOIN_OWN;
    }
}

static bool runs_models(const struct timeline *timeline, uint32_t t)
{
    const struct timeline_thread *thread = &timeline->threads[t];

    for (size_t i = thread->first_slice; i < thread->first_slice + thread->slice_count; i++) {
        enum trace_location_kind kind = timeline->locations[timeline->location[i]].kind;

        if (kind == TRACE_LOCATION_ML || kind == TRACE_LOCATION_OP)
            return true;
    }
    return false;
}

static void lend(const struct timeline *timeline, struct timeline_sample *sample,
                 const struct open_slice *top)
{
    uint32_t model = top->ml != TIMELINE_NONE ? timeline->locations[top->ml].model : TIMELINE_NONE;

    if (sample->join == TIMELINE_JOIN_NONE) {
        sample->slice = top->slice;
        sample->ml = top->ml;
        sample->op = top->op;
        sample->join = TIMELINE_JOIN_LENT;
        return;
    }
    sample->slice = SIZE_MAX; /* two at a time */
    if (sample->op != top->op)
        sample->op = TIMELINE_NONE;
    if (sample->ml == TIMELINE_NONE || timeline->locations[sample->ml].model != model) {
        sample->ml = TIMELINE_NONE;
        sample->op = TIMELINE_NONE;
        sample->join = TIMELINE_JOIN_SEVERAL;
    }
}

static void lend_from(struct join *join, uint32_t t, const uint32_t *pool, size_t count)
{
    uint64_t start = join->timeline->start_ns[join->timeline->threads[t].first_slice];
    size_t low = 0;
    size_t high = count;

    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (join->samples[pool[middle]].ns < start)
            low = middle + 1;
        else
            high = middle;
    }
    sweep_begin(&join->sweep, join->timeline, t);
    for (size_t i = low; i < count && join->lent < LENDING_MAX; i++, join->lent++) {
        const struct open_slice *top = sweep_to(&join->sweep, join->samples[pool[i]].ns);

        if (top && (top->ml != TIMELINE_NONE || top->op != TIMELINE_NONE))
            lend(join->timeline, &join->samples[pool[i]], top);
        else if (!top && join->sweep.next == join->sweep.end)
            break;
    }
}

/* The samples of threads without slices, by time: threads from `first` to `end` are one process. */
static size_t gather_pool(const struct join *join, size_t first, size_t end, bool *is_worker,
                          uint32_t *pool)
{
    size_t count = 0;

    for (size_t t = first; t < end; t++) {
        const struct timeline_sampled_thread *thread = &join->threads[t];

        is_worker[t] = thread->thread == TIMELINE_NONE ||
                       join->timeline->threads[thread->thread].slice_count == 0;
        for (size_t i = 0; is_worker[t] && i < thread->sample_count; i++)
            pool[count++] = join->by_thread[thread->first_sample + i];
    }
    return count;
}

static int by_number(const void *a, const void *b)
{
    uint32_t left = *(const uint32_t *)a;
    uint32_t right = *(const uint32_t *)b;

    return left < right ? -1 : left > right;
}

static bool join_workers(struct join *join)
{
    const struct timeline_profile *profile = join->profile;
    uint32_t *pool = ifg_alloc(profile->sample_count, sizeof *pool);
    bool *is_worker = ifg_alloc(profile->thread_count, sizeof *is_worker);
    size_t end;

    for (size_t first = 0; pool && is_worker && first < profile->thread_count; first = end) {
        size_t count;

        end = first + 1;
        while (end < profile->thread_count && join->threads[end].pid == join->threads[first].pid)
            end++;
        count = gather_pool(join, first, end, is_worker, pool);
        if (!count)
            continue;
        qsort(pool, count, sizeof *pool, by_number); /* samples are numbered by time */
        for (uint32_t t = 0; t < join->timeline->thread_count; t++)
            if (join->timeline->processes[join->timeline->threads[t].process].pid ==
                    join->threads[first].pid &&
                runs_models(join->timeline, t))
                lend_from(join, t, pool, count);
    }
    ifg_free(is_worker);
    ifg_free(pool);
    return pool && is_worker;
}

static bool join_all(const struct timeline *timeline, struct timeline_profile *profile)
{
    struct join join = {
        .timeline = timeline,
        .profile = profile,
        .samples = (struct timeline_sample *)(uintptr_t)profile->samples,
        .threads = (struct timeline_sampled_thread *)(uintptr_t)profile->threads,
        .by_thread = (uint32_t *)(uintptr_t)profile->by_thread,
    };
    bool good;

    for (uint32_t t = 0; t < timeline->thread_count; t++)
        join_own(&join, t);
    good = join_workers(&join) && !join.sweep.no_memory;
    ifg_free(join.sweep.open);
    return good;
}

bool timeline_profile_join(const struct timeline *timeline, const struct trace_sample *samples,
                           struct timeline_profile *profile)
{
    if (!list_threads(profile, samples, NULL) || !take_samples(profile, samples))
        return false;
    recognise_threads(timeline, profile);
    return join_all(timeline, profile);
}

/* ---- put together ---- */

static void note_times(struct timeline_profile *profile, const struct trace_sample *samples,
                       const struct trace_switch *switches)
{
    profile->begin_ns = UINT64_MAX;
    if (profile->sample_count) {
        profile->begin_ns = samples[0].time_ns;
        profile->end_ns = samples[profile->sample_count - 1].time_ns;
    }
    if (profile->switch_count) {
        if (switches[0].time_ns < profile->begin_ns)
            profile->begin_ns = switches[0].time_ns;
        if (switches[profile->switch_count - 1].time_ns > profile->end_ns)
            profile->end_ns = switches[profile->switch_count - 1].time_ns;
    }
    if (profile->begin_ns == UINT64_MAX)
        profile->begin_ns = profile->end_ns;
}

static void note_facts(const struct timeline *timeline, struct timeline_profile *profile)
{
    const struct trace_tables *tables = trace_reader_tables(timeline->reader);
    const char *hz = trace_find_fact(tables, TRACE_FACT_SAMPLES_HZ);
    const char *on = trace_find_fact(tables, TRACE_FACT_SAMPLES_ON_SHARE);
    const char *clock = trace_find_fact(tables, TRACE_FACT_SAMPLES_CLOCK);

    profile->on_share = on ? strtod(on, NULL) : 1;
    if (!(profile->on_share > 0 && profile->on_share <= 1))
        profile->on_share = 1;
    profile->hz = hz ? strtod(hz, NULL) : 0;
    if (!(profile->hz > 0 && profile->hz < 1e9))
        profile->hz = 0;
    profile->by_timer = clock && strcmp(clock, "cpu-clock") == 0;
    for (size_t i = 0; i < tables->instrument_count; i++) {
        const struct trace_instrument_entry *instrument = &tables->instruments[i];

        /* Older traces say it in a sentence only. */
        if (!clock && strcmp(instrument->name, "samples") == 0 &&
            strstr(instrument->reason, " by cpu-clock"))
            profile->by_timer = true;
        if (strcmp(instrument->name, "wakers") == 0 && instrument->state == TRACE_INSTRUMENT_ON)
            profile->has_wakers = true;
    }
}

void timeline_profile_destroy(struct timeline_profile *profile)
{
    if (!profile)
        return;
    ifg_free((void *)(uintptr_t)profile->samples);
    ifg_free((void *)(uintptr_t)profile->by_thread);
    ifg_free((void *)(uintptr_t)profile->threads);
    ifg_free((void *)(uintptr_t)profile->states);
    ifg_free((void *)(uintptr_t)profile->first_symbol);
    ifg_free((void *)(uintptr_t)profile->functions);
    ifg_free((void *)(uintptr_t)profile->function_of);
    if (profile->trace)
        trace_profile_fini((struct trace_profile *)(uintptr_t)profile->trace);
    ifg_free((void *)(uintptr_t)profile->trace);
    ifg_free(profile);
}

static enum ifg_status profile_create(const struct timeline *timeline,
                                      struct timeline_profile **out_profile, struct ifg_error *err)
{
    struct timeline_profile *profile = ifg_alloc(1, sizeof *profile);
    struct trace_profile *trace = ifg_alloc(1, sizeof *trace);
    struct trace_sample *samples = NULL;
    struct trace_switch *switches = NULL;
    enum ifg_status status = profile && trace ? IFG_OK : IFG_NO_MEMORY;

    if (!status)
        status = trace_profile_read(timeline->reader, trace, err);
    if (profile)
        profile->trace = trace;
    else
        ifg_free(trace);
    if (!status)
        status = trace_samples_read(timeline->reader, trace, &samples, &profile->sample_count,
                                    &profile->lost, err);
    if (!status)
        status = trace_switches_read(timeline->reader, &switches, &profile->switch_count, err);
    if (!status && (!list_threads(profile, samples, switches) || !take_samples(profile, samples) ||
                    !take_states(profile, switches) || !timeline_profile_functions(profile)))
        status = IFG_NO_MEMORY;
    if (!status) {
        recognise_threads(timeline, profile);
        note_times(profile, samples, switches);
        note_facts(timeline, profile);
        if (!join_all(timeline, profile))
            status = IFG_NO_MEMORY;
    }
    ifg_free(samples);
    ifg_free(switches);
    if (status) {
        timeline_profile_destroy(profile);
        return ifg_fail_no_memory(err, "for the samples of the trace");
    }
    *out_profile = profile;
    return IFG_OK;
}

enum ifg_status timeline_profile_get(const struct timeline *timeline,
                                     const struct timeline_profile **out_profile,
                                     struct ifg_error *err)
{
    struct timeline_builder *builder = (struct timeline_builder *)(uintptr_t)timeline;
    enum ifg_status status = IFG_OK;

    *out_profile = NULL;
    if (!timeline_has_profile(timeline) && !timeline_has_allocations(timeline))
        return IFG_OK;
    pthread_mutex_lock(&builder->profile_lock);
    if (!builder->profile)
        status = profile_create(timeline, &builder->profile, err);
    *out_profile = builder->profile;
    pthread_mutex_unlock(&builder->profile_lock);
    return status;
}

const struct timeline_model *timeline_sample_of(const struct timeline *timeline,
                                                const struct timeline_sample *sample)
{
    uint32_t model = TIMELINE_NONE;

    if (sample->ml != TIMELINE_NONE)
        model = timeline->locations[sample->ml].model;
    else if (sample->op != TIMELINE_NONE)
        model = timeline->locations[sample->op].model;
    return model < timeline->model_count ? &timeline->models[model] : NULL;
}

const char *timeline_sample_model(const struct timeline *timeline,
                                  const struct timeline_sample *sample)
{
    const struct timeline_model *model = timeline_sample_of(timeline, sample);

    return model ? model->name : NULL;
}

const char *timeline_state_name(enum timeline_state state)
{
    static const char *const names[TIMELINE_STATES] = { "running", "runnable", "blocked" };

    return (unsigned)state < TIMELINE_STATES ? names[state] : "";
}
