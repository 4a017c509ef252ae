// SPDX-License-Identifier: Apache-2.0
/*
 * Statistics by group: see stats.h.
 *
 * The first pass counts, sums, finds self times, and fills a logarithmic histogram for each group.
 * The second takes out only those values that lie in the histogram cells in which a wanted rank
 * falls; these are few, are sorted, and give exact percentiles. Where there are so many groups that
 * their histograms would be larger than their values, all values are taken instead.
 */
#include "analyze/stats.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/device_time.h"
#include "analyze/operator_use.h"
#include "base/alloc.h"
#include "base/quantile.h"

#define NO_GROUP  UINT32_MAX
#define LIKELY(x) __builtin_expect(!!(x), 1)

/* Cells: 64 for each power of two, so a cell is at most 1.6 % wide. */
#define CELL_BITS 6u
#define CELLS     IFG_CELLS(CELL_BITS, 64)

/* Histograms of more groups than this would take more than 64 MiB. */
#define HISTOGRAMS_MAX 4096u

static const double wanted[STATS_PERCENTILES] = { 0.50, 0.90, 0.95, 0.99, 0.999 };

/* What the first pass touches for every slice. It is little on purpose: the count and the extremes
 * can be read off the histogram and the values later. */
struct group {
    unsigned __int128 squares;
    uint64_t total;
    uint64_t inside; /* durations of what lies directly inside */
    uint64_t count;  /* only without a histogram, until it is summed up */
    uint32_t *cells; /* the histogram, or NULL */
};

/* The rest. */
struct group_rest {
    uint64_t min;
    uint64_t max;
    uint64_t *values; /* those of the wanted cells; all, without a histogram */
    size_t value_count;
    uint64_t *cell_bits; /* one bit per wanted cell, or NULL */
    uint64_t unfinished;
    uint32_t first_location;
    uint32_t thread;
    bool host_time;
    bool device_recorded; /* an operator of a process whose work on devices was recorded */
    uint64_t device_ns;
};

/* The ranks of a percentile and how far it lies between them. */
struct gathering {
    const struct timeline *timeline;
    const struct stats_options *options;
    uint64_t from_ns;
    uint64_t to_ns;
    uint32_t *group_of_location;
    bool *thread_wanted;
    struct group *groups;
    struct group_rest *rest;
    size_t group_count;
    bool by_thread;
};

static double between(uint64_t low, uint64_t high, double part)
{
    return (double)low + ((double)high - (double)low) * part;
}

/* ---- groups ---- */

static bool location_counts(const struct gathering *gathering,
                            const struct timeline_location *location)
{
    const struct stats_filter *filter = &gathering->options->filter;
    bool ml = location->kind == TRACE_LOCATION_ML;

    switch (gathering->options->by) {
    case STATS_BY_MODEL:
    case STATS_BY_CATEGORY:
    case STATS_BY_FUNCTION:
        if (!ml)
            return false;
        break;
    case STATS_BY_OP:
        if (location->kind != TRACE_LOCATION_OP)
            return false;
        break;
    case STATS_BY_ZONE:
    case STATS_BY_THREAD:
        break;
    }
    if (filter->model &&
        (location->model == TIMELINE_NONE ||
         !timeline_model_is_called(&gathering->timeline->models[location->model], filter->model)))
        return false;
    return !filter->name_matches || filter->name_matches(location->name, filter->user);
}

static const char *model_name(const struct timeline *timeline,
                              const struct timeline_location *location)
{
    return location->model == TIMELINE_NONE ? "" : timeline->models[location->model].name;
}

/* What makes two locations one group; the same in two processes is the same for people. */
static int compare_keys(const struct gathering *gathering, const struct timeline_location *a,
                        const struct timeline_location *b)
{
    const struct timeline *timeline = gathering->timeline;
    int order = 0;

    switch (gathering->options->by) {
    case STATS_BY_MODEL:
        return strcmp(model_name(timeline, a), model_name(timeline, b));
    case STATS_BY_CATEGORY:
        return (int)a->category - (int)b->category;
    case STATS_BY_FUNCTION:
        order = strcmp(model_name(timeline, a), model_name(timeline, b));
        return order ? order : strcmp(a->function, b->function);
    case STATS_BY_ZONE:
    case STATS_BY_OP:
    case STATS_BY_THREAD:
        order = (int)a->kind - (int)b->kind;
        if (!order)
            order = strcmp(model_name(timeline, a), model_name(timeline, b));
        if (!order)
            order = (int)a->category - (int)b->category;
        if (!order && a->kind == TRACE_LOCATION_ML)
            order = strcmp(a->function, b->function);
        return order ? order : strcmp(a->name, b->name);
    }
    return 0;
}

static int by_key(const void *a, const void *b, void *user)
{
    const struct gathering *gathering = user;
    const struct timeline_location *locations = gathering->timeline->locations;

    return compare_keys(gathering, &locations[*(const uint32_t *)a],
                        &locations[*(const uint32_t *)b]);
}

static enum ifg_status group_locations(struct gathering *gathering)
{
    const struct timeline *timeline = gathering->timeline;
    uint32_t *order = ifg_alloc(timeline->location_count, sizeof *order);
    size_t used = 0;

    gathering->group_of_location = ifg_alloc(timeline->location_count, sizeof(uint32_t));
    if (!order || !gathering->group_of_location) {
        ifg_free(order);
        return IFG_NO_MEMORY;
    }
    for (uint32_t i = 0; i < timeline->location_count; i++) {
        gathering->group_of_location[i] = NO_GROUP;
        if (location_counts(gathering, &timeline->locations[i]))
            order[used++] = i;
    }
    if (gathering->by_thread) {
        for (size_t i = 0; i < used; i++)
            gathering->group_of_location[order[i]] = 0; /* wanted; the thread decides which group */
        gathering->group_count = timeline->thread_count;
    } else {
        qsort_r(order, used, sizeof *order, by_key, gathering);
        for (size_t i = 0; i < used; i++) {
            if (!i || by_key(&order[i - 1], &order[i], gathering) != 0)
                gathering->group_count++;
            gathering->group_of_location[order[i]] = (uint32_t)gathering->group_count - 1;
        }
    }
    gathering->groups = ifg_alloc(gathering->group_count, sizeof *gathering->groups);
    gathering->rest = ifg_alloc(gathering->group_count, sizeof *gathering->rest);
    if (gathering->rest && !gathering->by_thread)
        for (size_t i = used; i-- > 0;)
            gathering->rest[gathering->group_of_location[order[i]]].first_location = order[i];
    ifg_free(order);
    return gathering->groups && gathering->rest ? IFG_OK : IFG_NO_MEMORY;
}

static enum ifg_status find_host_times(struct gathering *gathering)
{
    const struct timeline *timeline = gathering->timeline;
    bool *host = NULL;
    enum ifg_status status = IFG_OK;

    if (!gathering->by_thread)
        status = operator_host_times(timeline, &host);
    for (size_t i = 0; host && i < timeline->location_count; i++)
        if (gathering->group_of_location[i] != NO_GROUP)
            gathering->rest[gathering->group_of_location[i]].host_time |= host[i];
    ifg_free(host);
    return status;
}

static enum ifg_status choose_threads(struct gathering *gathering)
{
    const struct timeline *timeline = gathering->timeline;
    const char *thread = gathering->options->filter.thread;
    char *end = NULL;
    unsigned long tid = thread ? strtoul(thread, &end, 10) : 0;
    bool by_number = thread && *thread && !*end;

    gathering->thread_wanted = ifg_alloc(timeline->thread_count, sizeof(bool));
    if (!gathering->thread_wanted)
        return IFG_NO_MEMORY;
    for (size_t t = 0; t < timeline->thread_count; t++)
        gathering->thread_wanted[t] = !thread || strcmp(timeline->threads[t].name, thread) == 0 ||
                                      (by_number && timeline->threads[t].tid == tid);
    return IFG_OK;
}

/* ---- the passes ---- */

/* The part of a thread's slices that begins in the time range. */
static void range_of(const struct gathering *gathering, const struct timeline_thread *thread,
                     size_t *out_first, size_t *out_end)
{
    const uint64_t *starts = gathering->timeline->start_ns;
    size_t bounds[2];
    uint64_t limits[2] = { gathering->from_ns, gathering->to_ns };

    for (int i = 0; i < 2; i++) {
        size_t low = thread->first_slice;
        size_t high = thread->first_slice + thread->slice_count;

        while (low < high) {
            size_t middle = low + (high - low) / 2;

            if (starts[middle] < limits[i])
                low = middle + 1;
            else
                high = middle;
        }
        bounds[i] = low;
    }
    *out_first = bounds[0];
    *out_end = bounds[1];
}

/* What the loops over slices read, in variables of their own: the compiler cannot know that
 * counting does not change the pointers. */
struct columns {
    const uint32_t *group_of_location;
    const uint32_t *location;
    const uint32_t *duration_ns;
    const uint16_t *depth;
    uint32_t thread_group; /* by thread: the group of outermost slices; else NO_GROUP */
    const struct timeline *timeline;
};

static struct columns columns_of(const struct gathering *gathering, uint32_t thread)
{
    const struct timeline *timeline = gathering->timeline;

    return (struct columns){ gathering->group_of_location,
                             timeline->location,
                             timeline->duration_ns,
                             timeline->depth,
                             gathering->by_thread ? thread : NO_GROUP,
                             timeline };
}

/* The group of a slice, or NO_GROUP. By thread only outermost slices count: others lie inside them.
 */
static inline uint32_t group_of(const struct columns *columns, size_t slice)
{
    uint32_t group = columns->group_of_location[columns->location[slice]];

    if (LIKELY(columns->thread_group == NO_GROUP) || group == NO_GROUP)
        return group;
    return columns->depth[slice] == 0 ? columns->thread_group : NO_GROUP;
}

static inline uint64_t duration_of(const struct columns *columns, size_t slice)
{
    uint32_t duration = columns->duration_ns[slice];

    return LIKELY(duration != UINT32_MAX) ? duration
                                          : timeline_long_duration(columns->timeline, slice);
}

static inline void count_slice(struct group *group, uint64_t duration)
{
    group->total += duration;
    group->squares += (unsigned __int128)duration * duration;
    if (LIKELY(group->cells))
        group->cells[ifg_cell_of(duration, CELL_BITS)]++;
    else
        group->count++;
}

/* Slices first .. end - 1 of thread t, none of them unfinished. parents[d] is the group of the
 * slice around at depth d: what lies inside is taken off its self time. */
static void count_finished(struct gathering *gathering, uint32_t t, size_t first, size_t end,
                           uint32_t *parents)
{
    const struct columns columns = columns_of(gathering, t);
    struct group *const groups = gathering->groups;

    for (size_t i = first; i < end; i++) {
        uint32_t group = group_of(&columns, i);
        uint32_t depth = columns.depth[i];
        uint64_t duration = duration_of(&columns, i);

        if (depth && parents[depth - 1] != NO_GROUP)
            groups[parents[depth - 1]].inside += duration;
        parents[depth] = group;
        if (group != NO_GROUP)
            count_slice(&groups[group], duration);
    }
}

static void count_thread(struct gathering *gathering, uint32_t t, size_t first, size_t end,
                         uint32_t *parents)
{
    const struct timeline *timeline = gathering->timeline;
    const struct columns columns = columns_of(gathering, t);
    size_t next = 0;

    while (next < timeline->unfinished_count && timeline->unfinished[next] < first)
        next++;
    while (first < end) {
        size_t stop = next < timeline->unfinished_count && timeline->unfinished[next] < end
                          ? timeline->unfinished[next]
                          : end;

        count_finished(gathering, t, first, stop, parents);
        if (stop < end) { /* one that had not ended: counted apart, and nobody's parent */
            uint32_t group = group_of(&columns, stop);

            if (group != NO_GROUP)
                gathering->rest[group].unfinished++;
            parents[timeline->depth[stop]] = NO_GROUP;
            stop++;
            next++;
        }
        first = stop;
    }
}

static enum ifg_status count_all(struct gathering *gathering)
{
    const struct timeline *timeline = gathering->timeline;
    uint32_t *parents = ifg_alloc((size_t)UINT16_MAX + 1, sizeof *parents);

    if (!parents)
        return IFG_NO_MEMORY;
    for (uint32_t t = 0; t < timeline->thread_count; t++) {
        size_t first, end;

        if (!gathering->thread_wanted[t])
            continue;
        range_of(gathering, &timeline->threads[t], &first, &end);
        if (first == end)
            continue;
        /* What lies around the first slice began before the range and does not count. */
        memset(parents, 0xff, ((size_t)UINT16_MAX + 1) * sizeof *parents);
        count_thread(gathering, t, first, end, parents);
    }
    ifg_free(parents);
    return IFG_OK;
}

static enum ifg_status reserve_histograms(struct gathering *gathering)
{
    if (gathering->group_count > HISTOGRAMS_MAX)
        return IFG_OK;
    for (size_t g = 0; g < gathering->group_count; g++) {
        gathering->groups[g].cells = ifg_alloc(CELLS, sizeof(uint32_t));
        if (!gathering->groups[g].cells)
            return IFG_NO_MEMORY;
    }
    return IFG_OK;
}

static bool in_range(const struct gathering *gathering, size_t slice)
{
    const struct timeline *timeline = gathering->timeline;
    uint64_t start = timeline->start_ns[slice];

    return start >= gathering->from_ns && start < gathering->to_ns &&
           gathering->thread_wanted[timeline_thread_of(timeline, slice)] &&
           !timeline_is_unfinished(timeline, slice);
}

/* What devices did for the operators that count. */
static enum ifg_status add_device_times(struct gathering *gathering)
{
    const struct timeline *timeline = gathering->timeline;
    const struct timeline_devices *devices;
    struct device_times *times = NULL;
    enum ifg_status status =
        gathering->by_thread ? IFG_OK : device_times_create(timeline, &times, NULL);

    if (status || !times)
        return status;
    for (size_t i = 0; i < timeline->location_count; i++)
        if (gathering->group_of_location[i] != NO_GROUP &&
            timeline->locations[i].kind == TRACE_LOCATION_OP)
            gathering->rest[gathering->group_of_location[i]].device_recorded |=
                device_is_recorded(timeline, timeline->locations[i].process);
    status = timeline_devices_get(timeline, &devices, NULL);
    for (size_t i = 0; !status && i < devices->in_ops;) {
        size_t op = timeline_call_of(devices, &devices->works[devices->by_op[i]])->op;
        uint32_t group = gathering->group_of_location[timeline->location[op]];
        struct device_time time;
        size_t first;

        i += timeline_work_of_op(devices, op, &first);
        if (group == NO_GROUP || !in_range(gathering, op))
            continue;
        device_time_of(times, op, &time);
        gathering->rest[group].device_ns += time.busy_ns;
    }
    device_times_destroy(times);
    return status;
}

/* The second pass over one thread: the values that percentiles need. */
static void take_from(struct gathering *gathering, uint32_t t, size_t first, size_t end)
{
    const struct columns columns = columns_of(gathering, t);
    struct group_rest *const rests = gathering->rest;

    for (size_t i = first; i < end; i++) {
        uint32_t g = group_of(&columns, i);
        uint64_t duration = duration_of(&columns, i);
        struct group_rest *rest;

        if (g == NO_GROUP)
            continue;
        rest = &rests[g];
        if (LIKELY(rest->cell_bits)) {
            uint32_t cell = ifg_cell_of(duration, CELL_BITS);

            if (!(rest->cell_bits[cell / 64] >> (cell % 64) & 1))
                continue;
        }
        if (__builtin_expect(rest->unfinished != 0, 0) &&
            timeline_is_unfinished(columns.timeline, i))
            continue;
        rest->values[rest->value_count++] = duration;
    }
}

static void take_values(struct gathering *gathering)
{
    const struct timeline *timeline = gathering->timeline;

    for (uint32_t t = 0; t < timeline->thread_count; t++) {
        size_t first, end;

        if (!gathering->thread_wanted[t])
            continue;
        range_of(gathering, &timeline->threads[t], &first, &end);
        take_from(gathering, t, first, end);
    }
}

/* Whether a cell that holds the ranks from `before` to `after` has one that is wanted; so do the
 * first and the last, which have the extremes. */
static bool is_wanted(const struct gathering *gathering, uint64_t count, uint64_t before,
                      uint64_t after)
{
    bool hit = before == 0 || after == count;

    for (int p = 0; p < STATS_PERCENTILES && !hit; p++) {
        struct ifg_quantile_ranks ranks =
            ifg_quantile_ranks(count, wanted[p], gathering->options->percentile);

        hit = (ranks.low >= before && ranks.low < after) ||
              (ranks.high >= before && ranks.high < after);
    }
    return hit;
}

/* Marks the cells that hold the ranks wanted, and makes room for what is in them. */
static enum ifg_status choose_cells(struct gathering *gathering)
{
    for (size_t g = 0; g < gathering->group_count; g++) {
        struct group *group = &gathering->groups[g];
        struct group_rest *rest = &gathering->rest[g];
        uint64_t before = 0;
        uint64_t taken = 0;

        for (uint32_t c = 0; c < CELLS && group->cells; c++)
            group->count += group->cells[c];

        if (group->cells)
            rest->cell_bits = ifg_alloc(CELLS / 64, sizeof *rest->cell_bits);
        else
            taken = group->count;
        if (group->cells && !rest->cell_bits)
            return IFG_NO_MEMORY;
        for (uint32_t c = 0; c < CELLS && group->cells; c++) {
            uint64_t after = before + group->cells[c];

            if (group->cells[c] && is_wanted(gathering, group->count, before, after)) {
                rest->cell_bits[c / 64] |= (uint64_t)1 << (c % 64);
                taken += group->cells[c];
            }
            before = after;
        }
        rest->values = ifg_alloc(taken, sizeof *rest->values);
        if (!rest->values)
            return IFG_NO_MEMORY;
    }
    return IFG_OK;
}

static int by_value(const void *a, const void *b)
{
    uint64_t left = *(const uint64_t *)a;
    uint64_t right = *(const uint64_t *)b;

    return left < right ? -1 : left > right;
}

/* Least significant byte first, skipping bytes in which all values agree. */
static bool radix_sort(uint64_t *values, size_t count)
{
    uint64_t *from = values;
    uint64_t *to;
    uint64_t *spare;
    uint64_t any = 0;

    if (count < 256) {
        qsort(values, count, sizeof *values, by_value);
        return true;
    }
    spare = ifg_alloc(count, sizeof *spare);
    if (!spare)
        return false;
    to = spare;
    for (size_t i = 1; i < count; i++)
        any |= values[i] ^ values[0];
    for (unsigned shift = 0; shift < 64; shift += 8) {
        size_t locations[257] = { 0 };
        uint64_t *swap = from;

        if (!(any >> shift & 0xff))
            continue;
        for (size_t i = 0; i < count; i++)
            locations[(from[i] >> shift & 0xff) + 1]++;
        for (int i = 0; i < 256; i++)
            locations[i + 1] += locations[i];
        for (size_t i = 0; i < count; i++)
            to[locations[from[i] >> shift & 0xff]++] = from[i];
        from = to;
        to = swap;
    }
    if (from != values)
        memcpy(values, from, count * sizeof *values);
    ifg_free(spare);
    return true;
}

/* The value of a rank: its cell tells where in the sorted rest it is. */
static uint64_t value_at(const struct group *group, const struct group_rest *rest, uint64_t rank)
{
    uint64_t before = 0;
    uint64_t kept_before = 0;

    if (!group->cells)
        return rest->values[rank];
    for (uint32_t c = 0; c < CELLS; c++) {
        if (rank < before + group->cells[c])
            return rest->values[kept_before + (rank - before)];
        before += group->cells[c];
        if (rest->cell_bits[c / 64] >> (c % 64) & 1)
            kept_before += group->cells[c];
    }
    return rest->max;
}

/* ---- rows
 * -----------------------------------------------------------------------------------------------
 */

static double deviation_of(const struct group *group)
{
    long double mean;
    long double sum;

    if (group->count < 2)
        return 0;
    mean = (long double)group->total / (long double)group->count;
    sum = (long double)group->squares - mean * (long double)group->total;
    return sum > 0 ? (double)sqrtl(sum / (long double)(group->count - 1)) : 0;
}

static char *row_name(const struct gathering *gathering, const struct group_rest *rest)
{
    const struct timeline *timeline = gathering->timeline;
    const struct timeline_location *location = &timeline->locations[rest->first_location];
    char name[2600];

    if (gathering->by_thread) {
        const struct timeline_thread *thread = &timeline->threads[rest->thread];

        snprintf(name, sizeof name, "%u %.1000s", thread->tid, thread->name);
    } else if (gathering->options->by == STATS_BY_MODEL) {
        snprintf(name, sizeof name, "%.1200s", model_name(timeline, location));
    } else if (gathering->options->by == STATS_BY_CATEGORY) {
        snprintf(name, sizeof name, "%s", timeline_category_name(location->category));
    } else if (gathering->options->by == STATS_BY_FUNCTION) {
        snprintf(name, sizeof name, "%.1200s · %.1200s", model_name(timeline, location),
                 location->function);
    } else if (location->kind == TRACE_LOCATION_ML) {
        snprintf(name, sizeof name, "%.800s · %.800s · %.800s", model_name(timeline, location),
                 location->function, location->name);
    } else {
        snprintf(name, sizeof name, "%.1200s", location->name);
    }
    return ifg_strdup(name);
}

static bool fill_row(const struct gathering *gathering, size_t g, uint64_t range_ns,
                     struct stats_row *row)
{
    const struct group *group = &gathering->groups[g];
    const struct group_rest *rest = &gathering->rest[g];
    const struct timeline_location *location =
        &gathering->timeline->locations[rest->first_location];

    row->name = row_name(gathering, rest);
    row->kind = location->kind;
    row->category = location->category;
    row->model = gathering->by_thread ? "" : model_name(gathering->timeline, location);
    row->location = location->name;
    row->first_location = gathering->by_thread ? TIMELINE_NONE : rest->first_location;
    row->function = location->function;
    row->count = group->count;
    row->unfinished = rest->unfinished;
    row->total_ns = group->total;
    row->self_ns = (int64_t)(group->total - group->inside);
    row->min_ns = rest->min;
    row->max_ns = rest->max;
    row->sd_ns = deviation_of(group);
    row->host_time = rest->host_time;
    row->device_ns = rest->device_recorded ? (double)rest->device_ns : (double)NAN;
    row->share = range_ns ? (double)group->total / (double)range_ns : 0;
    if (group->count) {
        row->mean_ns = (double)group->total / (double)group->count;
        for (int p = 0; p < STATS_PERCENTILES; p++) {
            struct ifg_quantile_ranks ranks =
                ifg_quantile_ranks(group->count, wanted[p], gathering->options->percentile);

            row->percentile_ns[p] = between(value_at(group, rest, ranks.low),
                                            value_at(group, rest, ranks.high), ranks.part);
        }
    }
    return row->name != NULL;
}

static int by_total(const void *a, const void *b)
{
    const struct stats_row *left = a;
    const struct stats_row *right = b;

    if (left->total_ns != right->total_ns)
        return left->total_ns < right->total_ns ? 1 : -1;
    return strcmp(left->name, right->name);
}

static enum ifg_status make_rows(struct gathering *gathering, struct stats *stats)
{
    stats->rows = ifg_alloc(gathering->group_count, sizeof *stats->rows);
    if (!stats->rows)
        return IFG_NO_MEMORY;
    for (size_t g = 0; g < gathering->group_count; g++) {
        struct group_rest *rest = &gathering->rest[g];

        if (!gathering->groups[g].count && !rest->unfinished)
            continue;
        if (rest->value_count && !radix_sort(rest->values, rest->value_count))
            return IFG_NO_MEMORY;
        if (rest->value_count) {
            rest->min = rest->values[0];
            rest->max = rest->values[rest->value_count - 1];
        }
        if (gathering->by_thread)
            rest->thread = (uint32_t)g;
        if (!fill_row(gathering, g, stats->range_ns, &stats->rows[stats->row_count]))
            return IFG_NO_MEMORY;
        stats->unfinished += rest->unfinished;
        stats->row_count++;
    }
    if (stats->row_count)
        qsort(stats->rows, stats->row_count, sizeof *stats->rows, by_total);
    return IFG_OK;
}

static void finish(struct gathering *gathering)
{
    for (size_t g = 0; g < gathering->group_count; g++) {
        if (gathering->groups)
            ifg_free(gathering->groups[g].cells);
        if (gathering->rest) {
            ifg_free(gathering->rest[g].values);
            ifg_free(gathering->rest[g].cell_bits);
        }
    }
    ifg_free(gathering->groups);
    ifg_free(gathering->rest);
    ifg_free(gathering->group_of_location);
    ifg_free(gathering->thread_wanted);
}

enum ifg_status stats_create(const struct timeline *timeline, const struct stats_options *options,
                             struct stats **out_stats, struct ifg_error *err)
{
    struct gathering gathering = {
        .timeline = timeline,
        .options = options,
        .by_thread = options->by == STATS_BY_THREAD,
        .from_ns = timeline->begin_ns + options->filter.from_ns,
        .to_ns = options->filter.to_ns ? timeline->begin_ns + options->filter.to_ns : UINT64_MAX,
    };
    struct stats *stats = ifg_alloc(1, sizeof *stats);
    uint64_t range_end = gathering.to_ns < timeline->end_ns ? gathering.to_ns : timeline->end_ns;
    enum ifg_status status = stats ? IFG_OK : IFG_NO_MEMORY;

    *out_stats = NULL;
    if (stats && range_end > gathering.from_ns)
        stats->range_ns = range_end - gathering.from_ns;
    if (!status)
        status = group_locations(&gathering);
    if (!status)
        status = find_host_times(&gathering);
    if (!status)
        status = choose_threads(&gathering);
    if (!status)
        status = add_device_times(&gathering);
    if (!status && gathering.group_count) {
        status = reserve_histograms(&gathering);
        if (!status)
            status = count_all(&gathering);
        if (!status)
            status = choose_cells(&gathering);
        if (!status) {
            take_values(&gathering);
            status = make_rows(&gathering, stats);
        }
    }
    finish(&gathering);
    if (status) {
        stats_destroy(stats);
        return ifg_fail_no_memory(err, "for statistics of %zu slices", timeline->slice_count);
    }
    *out_stats = stats;
    return IFG_OK;
}

void stats_destroy(struct stats *stats)
{
    if (!stats)
        return;
    for (size_t i = 0; i < stats->row_count; i++)
        ifg_free((char *)(uintptr_t)stats->rows[i].name);
    ifg_free(stats->rows);
    ifg_free(stats);
}
