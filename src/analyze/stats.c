// SPDX-License-Identifier: Apache-2.0
/*
 * Statistics by group: see stats.h.
 *
 * Pass 1 counts, sums and finds self times. Pass 2 sorts the durations of small groups into one array, and
 * fills a logarithmic histogram for each large one; pass 3 takes out of the large groups only those values
 * that lie in the histogram cells in which a wanted rank falls. So percentiles are exact, and twenty
 * million slices need no sort of twenty million values.
 */
#include "analyze/stats.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"

#define NO_GROUP UINT32_MAX

/* Groups up to this size are simply sorted. */
#define SMALL_GROUP 4096u

/* Cells: 64 for each power of two, so a cell is at most 1.6 % wide. */
#define CELL_BITS 6u
#define CELLS     (64u << CELL_BITS)

static const double wanted[STATS_PERCENTILES] = { 0.50, 0.90, 0.95, 0.99, 0.999 };

struct group {
    uint64_t count;
    uint64_t unfinished;
    uint64_t total;
    int64_t self;
    uint64_t min;
    uint64_t max;
    unsigned __int128 squares;
    uint64_t *values;   /* small groups: all; large ones: those of the wanted cells */
    size_t value_count;
    uint32_t *cells;    /* large groups: the histogram */
    uint64_t *cell_bits; /* large groups: one bit per wanted cell */
    uint32_t first_place;
    uint32_t thread;
};

/* The ranks of a percentile and how far it lies between them. */
struct ranks {
    uint64_t low;
    uint64_t high;
    double part;
};

struct gathering {
    const struct model *model;
    const struct stats_options *options;
    uint64_t from_ns;
    uint64_t to_ns;
    uint32_t *group_of_place;
    bool *thread_wanted;
    struct group *groups;
    size_t group_count;
    bool by_thread;
    bool any_large; /* a group that is not simply sorted */
};

static uint32_t cell_of(uint64_t value)
{
    unsigned exponent;

    if (value < (1u << CELL_BITS))
        return (uint32_t)value;
    exponent = 63u - (unsigned)__builtin_clzll(value);
    return ((exponent - CELL_BITS + 1) << CELL_BITS) |
           (uint32_t)((value >> (exponent - CELL_BITS)) & ((1u << CELL_BITS) - 1));
}

static struct ranks ranks_of(uint64_t count, double p, enum stats_percentile how)
{
    struct ranks ranks;

    if (how == STATS_NEAREST) {
        uint64_t at = (uint64_t)((double)count * p);

        ranks.low = ranks.high = at < count ? at : count - 1;
        ranks.part = 0;
    } else {
        double at = (double)(count - 1) * p;

        ranks.low = (uint64_t)at;
        ranks.high = ranks.low + 1 < count ? ranks.low + 1 : ranks.low;
        ranks.part = at - (double)ranks.low;
    }
    return ranks;
}

static double between(uint64_t low, uint64_t high, double part)
{
    return (double)low + ((double)high - (double)low) * part;
}

double stats_percentile_of(const uint64_t *sorted, size_t count, double p,
                           enum stats_percentile how)
{
    struct ranks ranks = ranks_of(count, p, how);

    return between(sorted[ranks.low], sorted[ranks.high], ranks.part);
}

/* ---- groups ----------------------------------------------------------------------------------------- */

static bool place_counts(const struct gathering *gathering, const struct model_place *place)
{
    const struct stats_filter *filter = &gathering->options->filter;
    bool ml = place->kind == TRACE_LOCATION_ML;

    switch (gathering->options->by) {
    case STATS_BY_MODEL:
    case STATS_BY_CATEGORY:
    case STATS_BY_FUNCTION:
        if (!ml)
            return false;
        break;
    case STATS_BY_OP:
        if (place->kind != TRACE_LOCATION_OP)
            return false;
        break;
    case STATS_BY_ZONE:
    case STATS_BY_THREAD:
        break;
    }
    if (filter->model && (place->net == MODEL_NONE ||
                          strcmp(gathering->model->nets[place->net].name, filter->model) != 0))
        return false;
    return !filter->name_matches || filter->name_matches(place->name, filter->user);
}

static const char *net_name(const struct model *model, const struct model_place *place)
{
    return place->net == MODEL_NONE ? "" : model->nets[place->net].name;
}

/* What makes two places one group; the same in two processes is the same for people. */
static int compare_keys(const struct gathering *gathering, const struct model_place *a,
                        const struct model_place *b)
{
    const struct model *model = gathering->model;
    int order = 0;

    switch (gathering->options->by) {
    case STATS_BY_MODEL:
        return strcmp(net_name(model, a), net_name(model, b));
    case STATS_BY_CATEGORY:
        return (int)a->category - (int)b->category;
    case STATS_BY_FUNCTION:
        order = strcmp(net_name(model, a), net_name(model, b));
        return order ? order : strcmp(a->function, b->function);
    case STATS_BY_ZONE:
    case STATS_BY_OP:
    case STATS_BY_THREAD:
        order = (int)a->kind - (int)b->kind;
        if (!order)
            order = strcmp(net_name(model, a), net_name(model, b));
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
    const struct model_place *places = gathering->model->places;

    return compare_keys(gathering, &places[*(const uint32_t *)a], &places[*(const uint32_t *)b]);
}

static enum ifg_status group_places(struct gathering *gathering)
{
    const struct model *model = gathering->model;
    uint32_t *order = ifg_alloc(model->place_count, sizeof *order);
    size_t used = 0;

    gathering->group_of_place = ifg_alloc(model->place_count, sizeof(uint32_t));
    if (!order || !gathering->group_of_place) {
        ifg_free(order);
        return IFG_NO_MEMORY;
    }
    for (uint32_t i = 0; i < model->place_count; i++) {
        gathering->group_of_place[i] = NO_GROUP;
        if (place_counts(gathering, &model->places[i]))
            order[used++] = i;
    }
    if (gathering->by_thread) {
        for (size_t i = 0; i < used; i++)
            gathering->group_of_place[order[i]] = 0; /* wanted; the thread decides which group */
        gathering->group_count = model->thread_count;
    } else {
        qsort_r(order, used, sizeof *order, by_key, gathering);
        for (size_t i = 0; i < used; i++) {
            if (!i || by_key(&order[i - 1], &order[i], gathering) != 0)
                gathering->group_count++;
            gathering->group_of_place[order[i]] = (uint32_t)gathering->group_count - 1;
        }
    }
    gathering->groups = ifg_alloc(gathering->group_count, sizeof *gathering->groups);
    if (gathering->groups && !gathering->by_thread)
        for (size_t i = used; i-- > 0;)
            gathering->groups[gathering->group_of_place[order[i]]].first_place = order[i];
    ifg_free(order);
    return gathering->groups ? IFG_OK : IFG_NO_MEMORY;
}

static enum ifg_status choose_threads(struct gathering *gathering)
{
    const struct model *model = gathering->model;
    const char *thread = gathering->options->filter.thread;
    char *end = NULL;
    unsigned long tid = thread ? strtoul(thread, &end, 10) : 0;
    bool by_number = thread && *thread && !*end;

    gathering->thread_wanted = ifg_alloc(model->thread_count, sizeof(bool));
    if (!gathering->thread_wanted)
        return IFG_NO_MEMORY;
    for (size_t t = 0; t < model->thread_count; t++)
        gathering->thread_wanted[t] = !thread || strcmp(model->threads[t].name, thread) == 0 ||
                                      (by_number && model->threads[t].tid == tid);
    return IFG_OK;
}

/* ---- the passes -------------------------------------------------------------------------------------- */

/* The part of a thread's slices that begins in the time range. */
static void range_of(const struct gathering *gathering, const struct model_thread *thread,
                     size_t *out_first, size_t *out_end)
{
    const uint64_t *starts = gathering->model->start_ns;
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

/* The group of a slice, or NO_GROUP. By thread only outermost slices count: others lie inside them. */
static inline uint32_t group_of(const struct gathering *gathering, size_t slice, uint32_t thread)
{
    uint32_t group = gathering->group_of_place[gathering->model->place[slice]];

    if (!gathering->by_thread || group == NO_GROUP)
        return group;
    return gathering->model->depth[slice] == 0 ? thread : NO_GROUP;
}

/* Self time by thread is the time in no slice inside: the same rule, applied to outermost slices. */
static void count_thread(struct gathering *gathering, uint32_t t, size_t first, size_t end,
                         uint32_t *parents)
{
    const struct model *model = gathering->model;
    size_t next_unfinished = 0;

    while (next_unfinished < model->unfinished_count && model->unfinished[next_unfinished] < first)
        next_unfinished++;
    for (size_t i = first; i < end; i++) {
        uint32_t group = group_of(gathering, i, t);
        uint32_t depth = model->depth[i];
        uint64_t duration = model_duration_ns(model, i);

        if (depth && parents[depth - 1] != NO_GROUP)
            gathering->groups[parents[depth - 1]].self -= (int64_t)duration;
        parents[depth] = group;
        if (__builtin_expect(next_unfinished < model->unfinished_count &&
                                 model->unfinished[next_unfinished] == i, 0)) {
            next_unfinished++;
            parents[depth] = NO_GROUP;
            if (group != NO_GROUP)
                gathering->groups[group].unfinished++;
            continue;
        }
        if (group != NO_GROUP) {
            struct group *into = &gathering->groups[group];

            if (duration < into->min || !into->count)
                into->min = duration;
            if (duration > into->max)
                into->max = duration;
            into->count++;
            into->total += duration;
            into->self += (int64_t)duration;
            into->squares += (unsigned __int128)duration * duration;
        }
    }
}

static enum ifg_status count_all(struct gathering *gathering)
{
    const struct model *model = gathering->model;
    uint32_t *parents = ifg_alloc((size_t)UINT16_MAX + 1, sizeof *parents);

    if (!parents)
        return IFG_NO_MEMORY;
    for (uint32_t t = 0; t < model->thread_count; t++) {
        size_t first, end;

        if (!gathering->thread_wanted[t])
            continue;
        range_of(gathering, &model->threads[t], &first, &end);
        /* What lies around the first slice began before the range and does not count. */
        memset(parents, 0xff, ((size_t)UINT16_MAX + 1) * sizeof *parents);
        count_thread(gathering, t, first, end, parents);
    }
    ifg_free(parents);
    return IFG_OK;
}

static enum ifg_status reserve_values(struct gathering *gathering)
{
    for (size_t g = 0; g < gathering->group_count; g++) {
        struct group *group = &gathering->groups[g];

        if (!group->count)
            continue;
        if (group->count <= SMALL_GROUP) {
            group->values = ifg_alloc(group->count, sizeof *group->values);
            if (!group->values)
                return IFG_NO_MEMORY;
        } else {
            gathering->any_large = true;
            group->cells = ifg_alloc(CELLS, sizeof *group->cells);
            group->cell_bits = ifg_alloc(CELLS / 64, sizeof *group->cell_bits);
            if (!group->cells || !group->cell_bits)
                return IFG_NO_MEMORY;
        }
    }
    return IFG_OK;
}

enum pass { FILL_CELLS, TAKE_VALUES };

static void pass_over(struct gathering *gathering, enum pass pass)
{
    const struct model *model = gathering->model;

    for (uint32_t t = 0; t < model->thread_count; t++) {
        size_t first, end;

        if (!gathering->thread_wanted[t])
            continue;
        range_of(gathering, &model->threads[t], &first, &end);
        for (size_t i = first; i < end; i++) {
            uint32_t g = group_of(gathering, i, t);
            struct group *group;
            uint64_t duration;

            if (g == NO_GROUP)
                continue;
            group = &gathering->groups[g];
            if (__builtin_expect(group->unfinished != 0, 0) && model_is_unfinished(model, i))
                continue;
            duration = model_duration_ns(model, i);
            if (pass == FILL_CELLS) {
                if (group->cells)
                    group->cells[cell_of(duration)]++;
                else
                    group->values[group->value_count++] = duration;
            } else if (group->cells) {
                uint32_t cell = cell_of(duration);

                if (group->cell_bits[cell / 64] >> (cell % 64) & 1)
                    group->values[group->value_count++] = duration;
            }
        }
    }
}

/* Marks the cells that hold the ranks wanted, and makes room for what is in them. */
static enum ifg_status choose_cells(struct gathering *gathering)
{
    for (size_t g = 0; g < gathering->group_count; g++) {
        struct group *group = &gathering->groups[g];
        uint64_t before = 0;
        uint64_t taken = 0;

        if (!group->cells)
            continue;
        for (uint32_t c = 0; c < CELLS; c++) {
            uint64_t after = before + group->cells[c];
            bool hit = false;

            for (int p = 0; p < STATS_PERCENTILES && group->cells[c]; p++) {
                struct ranks ranks =
                    ranks_of(group->count, wanted[p], gathering->options->percentile);

                hit |= (ranks.low >= before && ranks.low < after) ||
                       (ranks.high >= before && ranks.high < after);
            }
            if (hit) {
                group->cell_bits[c / 64] |= (uint64_t)1 << (c % 64);
                taken += group->cells[c];
            }
            before = after;
        }
        group->values = ifg_alloc(taken, sizeof *group->values);
        if (!group->values)
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
        size_t places[257] = { 0 };
        uint64_t *swap = from;

        if (!(any >> shift & 0xff))
            continue;
        for (size_t i = 0; i < count; i++)
            places[(from[i] >> shift & 0xff) + 1]++;
        for (int i = 0; i < 256; i++)
            places[i + 1] += places[i];
        for (size_t i = 0; i < count; i++)
            to[places[from[i] >> shift & 0xff]++] = from[i];
        from = to;
        to = swap;
    }
    if (from != values)
        memcpy(values, from, count * sizeof *values);
    ifg_free(spare);
    return true;
}

/* The value of a rank in a large group: its cell tells where in the sorted rest it is. */
static uint64_t value_at(const struct group *group, uint64_t rank)
{
    uint64_t before = 0;
    uint64_t kept_before = 0;

    if (!group->cells)
        return group->values[rank];
    for (uint32_t c = 0; c < CELLS; c++) {
        if (rank < before + group->cells[c])
            return group->values[kept_before + (rank - before)];
        before += group->cells[c];
        if (group->cell_bits[c / 64] >> (c % 64) & 1)
            kept_before += group->cells[c];
    }
    return group->max;
}

/* ---- rows ----------------------------------------------------------------------------------------------- */

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

static char *row_name(const struct gathering *gathering, const struct group *group)
{
    const struct model *model = gathering->model;
    const struct model_place *place = &model->places[group->first_place];
    char name[2600];

    if (gathering->by_thread) {
        const struct model_thread *thread = &model->threads[group->thread];

        snprintf(name, sizeof name, "%u %.1000s", thread->tid, thread->name);
    } else if (gathering->options->by == STATS_BY_MODEL) {
        snprintf(name, sizeof name, "%.1200s", net_name(model, place));
    } else if (gathering->options->by == STATS_BY_CATEGORY) {
        snprintf(name, sizeof name, "%s", model_category_name(place->category));
    } else if (gathering->options->by == STATS_BY_FUNCTION) {
        snprintf(name, sizeof name, "%.1200s · %.1200s", net_name(model, place), place->function);
    } else if (place->kind == TRACE_LOCATION_ML) {
        snprintf(name, sizeof name, "%.800s · %.800s · %.800s", net_name(model, place),
                 place->function, place->name);
    } else {
        snprintf(name, sizeof name, "%.1200s", place->name);
    }
    return ifg_strdup(name);
}

static bool fill_row(const struct gathering *gathering, const struct group *group,
                     uint64_t range_ns, struct stats_row *row)
{
    const struct model_place *place = &gathering->model->places[group->first_place];

    row->name = row_name(gathering, group);
    row->kind = place->kind;
    row->category = place->category;
    row->model = gathering->by_thread ? "" : net_name(gathering->model, place);
    row->count = group->count;
    row->unfinished = group->unfinished;
    row->total_ns = group->total;
    row->self_ns = group->self;
    row->min_ns = group->min;
    row->max_ns = group->max;
    row->sd_ns = deviation_of(group);
    row->share = range_ns ? (double)group->total / (double)range_ns : 0;
    if (group->count) {
        row->mean_ns = (double)group->total / (double)group->count;
        for (int p = 0; p < STATS_PERCENTILES; p++) {
            struct ranks ranks = ranks_of(group->count, wanted[p], gathering->options->percentile);

            row->percentile_ns[p] = between(value_at(group, ranks.low),
                                            value_at(group, ranks.high), ranks.part);
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
        struct group *group = &gathering->groups[g];

        if (!group->count && !group->unfinished)
            continue;
        if (group->value_count && !radix_sort(group->values, group->value_count))
            return IFG_NO_MEMORY;
        if (gathering->by_thread)
            group->thread = (uint32_t)g;
        if (!fill_row(gathering, group, stats->range_ns, &stats->rows[stats->row_count]))
            return IFG_NO_MEMORY;
        stats->unfinished += group->unfinished;
        stats->row_count++;
    }
    if (stats->row_count)
        qsort(stats->rows, stats->row_count, sizeof *stats->rows, by_total);
    return IFG_OK;
}

static void finish(struct gathering *gathering)
{
    for (size_t g = 0; gathering->groups && g < gathering->group_count; g++) {
        ifg_free(gathering->groups[g].values);
        ifg_free(gathering->groups[g].cells);
        ifg_free(gathering->groups[g].cell_bits);
    }
    ifg_free(gathering->groups);
    ifg_free(gathering->group_of_place);
    ifg_free(gathering->thread_wanted);
}

enum ifg_status stats_create(const struct model *model, const struct stats_options *options,
                             struct stats **out_stats, struct ifg_error *err)
{
    struct gathering gathering = {
        .model = model,
        .options = options,
        .by_thread = options->by == STATS_BY_THREAD,
        .from_ns = model->begin_ns + options->filter.from_ns,
        .to_ns = options->filter.to_ns ? model->begin_ns + options->filter.to_ns : UINT64_MAX,
    };
    struct stats *stats = ifg_alloc(1, sizeof *stats);
    uint64_t range_end = gathering.to_ns < model->end_ns ? gathering.to_ns : model->end_ns;
    enum ifg_status status = stats ? IFG_OK : IFG_NO_MEMORY;

    *out_stats = NULL;
    if (stats && range_end > gathering.from_ns)
        stats->range_ns = range_end - gathering.from_ns;
    if (!status)
        status = group_places(&gathering);
    if (!status)
        status = choose_threads(&gathering);
    if (!status && gathering.group_count) {
        status = count_all(&gathering);
        if (!status)
            status = reserve_values(&gathering);
        if (!status) {
            pass_over(&gathering, FILL_CELLS);
            status = choose_cells(&gathering);
        }
        if (!status) {
            if (gathering.any_large)
                pass_over(&gathering, TAKE_VALUES);
            status = make_rows(&gathering, stats);
        }
    }
    finish(&gathering);
    if (status) {
        stats_destroy(stats);
        return ifg_fail(err, status, "not enough memory for statistics of %zu slices",
                        model->slice_count);
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
