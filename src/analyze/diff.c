// SPDX-License-Identifier: Apache-2.0
/* Comparing two traces location by location: see diff.h. */
#include "analyze/diff.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/diff_pairs.h"
#include "analyze/operator_use.h"
#include "analyze/statistics.h"
#include "analyze/perturbed.h"
#include "base/alloc.h"
#include "base/quantile.h"
#include "trace/keys.h"

#define SEED UINT64_C(0x1f6e0d5c3b2a4978)

/* A larger common step is chance: few durations, or all the same. */
#define DIFF_STEP_MOST_NS 1000000u

struct occurrence {
    uint64_t start_ns;
    uint64_t duration_ns;
};

struct comparing {
    const struct timeline *timelines[DIFF_SIDES];
    const char **names[DIFF_SIDES]; /* what their models are called here */
    struct diff *diff;
    size_t *row_of[DIFF_SIDES];                /* by location */
    double (*blocks[DIFF_SIDES])[DIFF_BLOCKS]; /* by row: logarithms of block medians */
    double threshold;
    uint64_t step_ns[DIFF_SIDES]; /* every duration is a multiple of it */
    struct perturbed perturbed[DIFF_SIDES];
    struct ifg_error *err;
};

const char *diff_verdict_name(enum diff_verdict verdict)
{
    static const char *const names[DIFF_VERDICTS] = { "SAME",   "REGRESSED", "IMPROVED",
                                                      "UNSURE", "NEW",       "GONE" };

    return names[verdict];
}

bool diff_is_of_device(enum trace_location_kind kind)
{
    return kind == TRACE_LOCATION_DEVICE || kind == TRACE_LOCATION_DRIVER;
}

void diff_destroy(struct diff *diff)
{
    if (!diff)
        return;
    ifg_free(diff->rows);
    ifg_free(diff);
}

static enum ifg_status no_memory(struct ifg_error *err)
{
    return ifg_fail_no_memory(err, "to compare the traces");
}

/* ---- rows: what both traces have locations for ---- */

static int compare_identity(const void *left, const void *right)
{
    const struct diff_row *a = left;
    const struct diff_row *b = right;
    int order;

    if (a->kind != b->kind)
        return a->kind < b->kind ? -1 : 1;
    if (a->category != b->category)
        return a->category < b->category ? -1 : 1;
    order = strcmp(a->name, b->name);
    if (!order)
        order = strcmp(a->model, b->model);
    return order ? order : strcmp(a->function, b->function);
}

/* Waits for devices are those of the calls that wait, and changes of memory have no time. */
static bool is_compared(const struct timeline_location *location)
{
    enum trace_location_kind kind = location->kind;

    if (kind == TRACE_LOCATION_DEVICE && (strcmp(location->function, TRACE_WORK_SYNC) == 0 ||
                                          strcmp(location->function, TRACE_WORK_MEMORY) == 0))
        return false;
    return kind == TRACE_LOCATION_ZONE || kind == TRACE_LOCATION_ML || kind == TRACE_LOCATION_OP ||
           kind == TRACE_LOCATION_STAGE || diff_is_of_device(kind);
}

static struct diff_row row_of_location(const struct comparing *comparing, int side, size_t index)
{
    const struct timeline *timeline = comparing->timelines[side];
    const struct timeline_location *location = &timeline->locations[index];
    struct diff_row row = {
        .kind = location->kind,
        .category = location->category,
        .name = location->name,
        .model = location->model != TIMELINE_NONE ? comparing->names[side][location->model] : "",
        .function = "",
    };

    if (location->kind == TRACE_LOCATION_ML)
        row.function = location->function_index != TIMELINE_NONE
                           ? timeline->functions[location->function_index].name
                           : location->function;
    return row;
}

static bool name_models(struct comparing *comparing)
{
    for (int side = 0; side < DIFF_SIDES; side++) {
        comparing->names[side] =
            ifg_alloc(comparing->timelines[side]->model_count + 1, sizeof *comparing->names[side]);
        if (!comparing->names[side])
            return false;
    }
    diff_pair_models(comparing->timelines[DIFF_A], comparing->timelines[DIFF_B],
                     comparing->names[DIFF_A], comparing->names[DIFF_B]);
    return true;
}

static bool mark_host_times(struct comparing *comparing)
{
    for (int side = 0; side < DIFF_SIDES; side++) {
        bool *host = NULL;

        if (operator_host_times(comparing->timelines[side], &host))
            return false;
        for (size_t i = 0; i < comparing->timelines[side]->location_count; i++)
            if (host[i])
                comparing->diff->rows[comparing->row_of[side][i]].host_time = true;
        ifg_free(host);
    }
    return true;
}

static bool make_rows(struct comparing *comparing)
{
    struct diff *diff = comparing->diff;
    size_t locations =
        comparing->timelines[DIFF_A]->location_count + comparing->timelines[DIFF_B]->location_count;
    size_t count = 0;

    diff->rows = ifg_alloc(locations, sizeof *diff->rows);
    if (!diff->rows)
        return false;
    for (int side = 0; side < DIFF_SIDES; side++) {
        const struct timeline *timeline = comparing->timelines[side];

        for (size_t i = 0; i < timeline->location_count; i++)
            if (is_compared(&timeline->locations[i]))
                diff->rows[count++] = row_of_location(comparing, side, i);
    }
    qsort(diff->rows, count, sizeof *diff->rows, compare_identity);
    for (size_t i = 0; i < count; i++)
        if (!diff->row_count ||
            compare_identity(&diff->rows[diff->row_count - 1], &diff->rows[i]) != 0)
            diff->rows[diff->row_count++] = diff->rows[i];
    for (int side = 0; side < DIFF_SIDES; side++) {
        const struct timeline *timeline = comparing->timelines[side];

        comparing->row_of[side] = ifg_alloc(timeline->location_count, sizeof(size_t));
        comparing->blocks[side] = ifg_alloc(diff->row_count, sizeof *comparing->blocks[side]);
        if (!comparing->row_of[side] || !comparing->blocks[side])
            return false;
        for (size_t i = 0; i < timeline->location_count; i++) {
            struct diff_row key = row_of_location(comparing, side, i);
            const struct diff_row *found = is_compared(&timeline->locations[i])
                                               ? bsearch(&key, diff->rows, diff->row_count,
                                                         sizeof *diff->rows, compare_identity)
                                               : NULL;

            comparing->row_of[side][i] = found ? (size_t)(found - diff->rows) : SIZE_MAX;
        }
    }
    return mark_host_times(comparing);
}

/* ---- blocks ------------------------------------------------------------------------------------
 */

static int compare_start(const void *left, const void *right)
{
    const struct occurrence *a = left;
    const struct occurrence *b = right;

    return a->start_ns < b->start_ns ? -1 : a->start_ns > b->start_ns;
}

/* The occurrences of one row into blocks. durations has room for all of them. */
static void make_blocks(struct occurrence *occurrences, size_t count, uint64_t *durations,
                        struct diff_side *side, double blocks[DIFF_BLOCKS])
{
    size_t block_count =
        count / DIFF_BLOCK_LEAST < DIFF_BLOCKS ? count / DIFF_BLOCK_LEAST : DIFF_BLOCKS;
    bool sorted = true;

    side->count = count;
    if (!count)
        return;
    for (size_t i = 1; i < count && sorted; i++)
        sorted = occurrences[i - 1].start_ns <= occurrences[i].start_ns;
    if (!sorted)
        qsort(occurrences, count, sizeof *occurrences, compare_start);
    for (size_t i = 0; i < count; i++) {
        durations[i] = occurrences[i].duration_ns;
        side->total_ns += durations[i];
    }
    side->blocks = (uint32_t)block_count;
    for (size_t i = 0; i < block_count; i++) {
        size_t from = count * i / block_count;
        size_t to = count * (i + 1) / block_count;

        /* Nothing is shorter than the clock's grain; a nanosecond stands for zero. */
        blocks[i] = log(fmax(ifg_median_u64(durations + from, to - from), 1.0));
    }
    side->median_ns = ifg_median_u64(durations, count);
}

static size_t row_of_slice(const struct comparing *comparing, int side, size_t slice)
{
    uint32_t location = comparing->timelines[side]->location[slice];

    return location < comparing->timelines[side]->location_count ? comparing->row_of[side][location]
                                                                 : SIZE_MAX;
}

/* Counts the slices of each row; *out_begins[row] is where the row begins if they lie row by row.
 */
static size_t *count_slices(const struct comparing *comparing, int side, size_t *out_total,
                            size_t *out_most)
{
    const struct timeline *timeline = comparing->timelines[side];
    size_t rows = comparing->diff->row_count;
    size_t *begins = ifg_alloc(rows + 1, sizeof *begins);

    *out_total = 0;
    *out_most = 0;
    if (!begins)
        return NULL;
    for (size_t i = 0; i < timeline->slice_count; i++) {
        size_t row = row_of_slice(comparing, side, i);

        if (row != SIZE_MAX)
            begins[row]++;
    }
    for (size_t i = 0; i < rows; i++) {
        size_t count = begins[i];

        *out_most = count > *out_most ? count : *out_most;
        begins[i] = *out_total;
        *out_total += count;
    }
    return begins;
}

/* The greatest common divisor; 0 divides everything. */
static uint64_t common_step(uint64_t a, uint64_t b)
{
    while (b) {
        uint64_t rest = a % b;

        a = b;
        b = rest;
    }
    return a;
}

/* Fills one side of all rows: a counting sort of the slices by row, then blocks. */
static enum ifg_status fill_side(struct comparing *comparing, int side)
{
    const struct timeline *timeline = comparing->timelines[side];
    struct diff *diff = comparing->diff;
    size_t total, most;
    size_t *begins = count_slices(comparing, side, &total, &most);
    size_t *counts = ifg_alloc(diff->row_count + 1, sizeof *counts);
    struct occurrence *occurrences = ifg_alloc(total, sizeof *occurrences);
    uint64_t *durations = ifg_alloc(most, sizeof *durations);
    size_t unfinished = 0;
    bool good = begins && counts && occurrences && durations;

    for (size_t i = 0; i < timeline->slice_count && good; i++) {
        size_t row = row_of_slice(comparing, side, i);
        struct occurrence *occurrence;

        if (unfinished < timeline->unfinished_count && timeline->unfinished[unfinished] == i) {
            unfinished++; /* how long it would have taken is not known */
            continue;
        }
        if (row == SIZE_MAX)
            continue;
        if (comparing->diff->perturbed == DIFF_PERTURBED_LEFT_OUT &&
            comparing->perturbed[side].marks[i]) {
            diff->rows[row].side[side].perturbed++;
            continue;
        }
        occurrence = &occurrences[begins[row] + counts[row]++];
        occurrence->start_ns = timeline->start_ns[i];
        occurrence->duration_ns = timeline_duration_ns(timeline, i);
        if (comparing->step_ns[side] != 1)
            comparing->step_ns[side] =
                common_step(comparing->step_ns[side], occurrence->duration_ns);
    }
    for (size_t i = 0; i < diff->row_count && good; i++)
        make_blocks(occurrences + begins[i], counts[i], durations, &diff->rows[i].side[side],
                    comparing->blocks[side][i]);
    ifg_free(begins);
    ifg_free(counts);
    ifg_free(occurrences);
    ifg_free(durations);
    return good ? IFG_OK : no_memory(comparing->err);
}

/* ---- intervals ---------------------------------------------------------------------------------
 */

/* As many blocks as there were, drawn in runs of neighbours, around the end if need be. */
static double resample(const double *blocks, uint32_t count, uint64_t *random)
{
    uint32_t run = (uint32_t)lround(sqrt((double)count));
    double drawn[DIFF_BLOCKS];

    for (uint32_t i = 0; i < count; i += run) {
        uint32_t from = (uint32_t)(statistics_random(random) % count);

        for (uint32_t j = 0; j < run && i + j < count; j++)
            drawn[i + j] = blocks[(from + j) % count];
    }
    return ifg_median(drawn, count);
}

static void compare_row(const struct comparing *comparing, size_t index)
{
    struct diff_row *row = &comparing->diff->rows[index];
    double values[DIFF_RESAMPLES];
    double copy[DIFF_BLOCKS];
    double medians[DIFF_SIDES];
    uint64_t random = SEED;
    double mean = 0, spread = 0;
    double change;

    for (int side = 0; side < DIFF_SIDES; side++) {
        memcpy(copy, comparing->blocks[side][index], sizeof copy);
        medians[side] = ifg_median(copy, row->side[side].blocks);
    }
    change = medians[DIFF_B] - medians[DIFF_A];
    for (size_t i = 0; i < DIFF_RESAMPLES; i++) {
        double b = resample(comparing->blocks[DIFF_B][index], row->side[DIFF_B].blocks, &random);
        double a = resample(comparing->blocks[DIFF_A][index], row->side[DIFF_A].blocks, &random);

        values[i] = b - a;
        mean += values[i] / DIFF_RESAMPLES;
    }
    for (size_t i = 0; i < DIFF_RESAMPLES; i++)
        spread += (values[i] - mean) * (values[i] - mean);
    spread = sqrt(spread / (DIFF_RESAMPLES - 1));
    statistics_sort(values, DIFF_RESAMPLES);
    row->compared = true;
    row->change = expm1(change);
    row->low = expm1(ifg_quantile_sorted(values, DIFF_RESAMPLES, 0.025, IFG_QUANTILE_LINEAR));
    row->high = expm1(ifg_quantile_sorted(values, DIFF_RESAMPLES, 0.975, IFG_QUANTILE_LINEAR));
    if (spread > 0)
        row->p = erfc(fabs(change) / spread / sqrt(2));
    else
        row->p = change == 0 ? 1 : 0;
}

/* ---- verdicts ----------------------------------------------------------------------------------
 */

/* Benjamini-Hochberg over all rows that could be compared: those of devices for themselves, since
 * hundreds of kernels would make it harder for the others. */
static enum ifg_status mark_significant(struct comparing *comparing, bool of_device)
{
    struct diff *diff = comparing->diff;
    double *p = ifg_alloc(diff->row_count, sizeof *p);
    bool *survives = ifg_alloc(diff->row_count, sizeof *survives);
    enum ifg_status status = IFG_OK;

    if (!p || !survives) {
        status = no_memory(comparing->err);
        goto out;
    }
    for (size_t i = 0; i < diff->row_count; i++) {
        bool counts = diff->rows[i].compared && diff_is_of_device(diff->rows[i].kind) == of_device;

        p[i] = counts ? diff->rows[i].p : NAN;
        diff->compared += counts;
    }
    status = statistics_survivors(p, diff->row_count, DIFF_FALSE_ALARMS, survives, comparing->err);
    for (size_t i = 0; i < diff->row_count && !status; i++)
        if (diff_is_of_device(diff->rows[i].kind) == of_device)
            diff->rows[i].significant = survives[i];
out:
    ifg_free(p);
    ifg_free(survives);
    return status;
}

/* How many more occurrences per side: the interval shrinks with the root of their number. */
static uint64_t more_needed(const struct diff_row *row, double threshold)
{
    uint64_t least = DIFF_BLOCKS_LEAST * DIFF_BLOCK_LEAST;
    uint64_t have = row->side[DIFF_A].count < row->side[DIFF_B].count ? row->side[DIFF_A].count
                                                                      : row->side[DIFF_B].count;
    double half = (row->high - row->low) / 2;
    double factor = half / threshold;

    if (!row->compared)
        return least - (have < least ? have : least);
    factor *= factor;
    return factor > 1 && factor < 1e6 ? (uint64_t)((double)have * (factor - 1)) + 1 : 0;
}

static enum diff_verdict judge(const struct diff_row *row, double threshold)
{
    double down = 1 / (1 + threshold) - 1; /* as far down as the threshold is up */

    if ((!row->side[DIFF_A].count && row->side[DIFF_A].perturbed) ||
        (!row->side[DIFF_B].count && row->side[DIFF_B].perturbed))
        return DIFF_UNSURE; /* it is there, but none that could be compared */
    if (!row->side[DIFF_A].count || !row->side[DIFF_B].count)
        return row->side[DIFF_A].count ? DIFF_GONE : DIFF_NEW;
    if (!row->compared)
        return DIFF_UNSURE;
    if (row->too_fine)
        return row->low >= down && row->high <= threshold ? DIFF_SAME : DIFF_UNSURE;
    if (row->low > threshold && row->significant)
        return DIFF_REGRESSED;
    if (row->high < down && row->significant)
        return DIFF_IMPROVED;
    return row->low >= down && row->high <= threshold ? DIFF_SAME : DIFF_UNSURE;
}

static int compare_rows(const void *left, const void *right)
{
    static const int rank[DIFF_VERDICTS] = {
        [DIFF_REGRESSED] = 0, [DIFF_IMPROVED] = 1, [DIFF_NEW] = 2,
        [DIFF_GONE] = 3,      [DIFF_UNSURE] = 4,   [DIFF_SAME] = 5,
    };
    const struct diff_row *a = left;
    const struct diff_row *b = right;

    if (a->verdict != b->verdict)
        return rank[a->verdict] < rank[b->verdict] ? -1 : 1;
    if (fabs(a->weight_ns) != fabs(b->weight_ns))
        return fabs(a->weight_ns) > fabs(b->weight_ns) ? -1 : 1;
    return compare_identity(a, b);
}

static enum ifg_status judge_all(struct comparing *comparing)
{
    struct diff *diff = comparing->diff;
    double *changes = ifg_alloc(diff->row_count, sizeof *changes);
    enum ifg_status status =
        changes ? mark_significant(comparing, false) : no_memory(comparing->err);
    size_t count = 0;

    if (!status)
        status = mark_significant(comparing, true);
    diff->floor_ns = DIFF_FLOOR_NS;
    for (int side = 0; side < DIFF_SIDES; side++)
        if (2 * comparing->step_ns[side] > diff->floor_ns &&
            comparing->step_ns[side] <= DIFF_STEP_MOST_NS)
            diff->floor_ns = 2 * comparing->step_ns[side];
    for (size_t i = 0; i < diff->row_count && !status; i++) {
        struct diff_row *row = &diff->rows[i];

        row->too_fine = row->compared && fabs(row->side[DIFF_B].median_ns -
                                              row->side[DIFF_A].median_ns) < (double)diff->floor_ns;
        row->verdict = judge(row, comparing->threshold);
        if (row->verdict == DIFF_UNSURE && !row->too_fine && row->side[DIFF_A].count &&
            row->side[DIFF_B].count)
            row->more = more_needed(row, comparing->threshold);
        row->weight_ns = row->change * (double)row->side[DIFF_A].total_ns;
        if (row->verdict == DIFF_NEW)
            row->weight_ns = (double)row->side[DIFF_B].total_ns;
        if (row->verdict == DIFF_GONE)
            row->weight_ns = -(double)row->side[DIFF_A].total_ns;
        diff->verdicts[row->verdict]++;
        if (row->compared && !diff_is_of_device(row->kind))
            changes[count++] = row->change;
    }
    if (!status && count) {
        statistics_sort(changes, count);
        diff->common_change = ifg_quantile_sorted(changes, count, 0.5, IFG_QUANTILE_LINEAR);
    }
    ifg_free(changes);
    if (!status)
        qsort(diff->rows, diff->row_count, sizeof *diff->rows, compare_rows);
    return status;
}

static enum ifg_status find_perturbed(struct comparing *comparing)
{
    struct diff *diff = comparing->diff;
    size_t left[DIFF_SIDES], with_ops = 0;

    for (int side = 0; side < DIFF_SIDES; side++) {
        struct perturbed *perturbed = &comparing->perturbed[side];

        if (perturbed_find(comparing->timelines[side], perturbed, NULL))
            return no_memory(comparing->err);
        diff->with_ops[side] = perturbed->with_ops;
        diff->inferences[side] = perturbed->inferences;
        left[side] = perturbed->inferences - perturbed->with_ops;
        with_ops += perturbed->with_ops;
    }
    if (!with_ops)
        return IFG_OK;
    diff->perturbed = DIFF_PERTURBED_LEFT_OUT;
    if (!left[DIFF_A] && !left[DIFF_B])
        diff->perturbed = DIFF_ALL_PERTURBED;
    for (int side = 0; side < DIFF_SIDES; side++)
        if (diff->with_ops[side] && !left[side] && left[!side])
            return ifg_fail(comparing->err, IFG_INVALID,
                            "the operators of all %zu inferences of %c were recorded, which makes "
                            "them slower, and of %c not: nothing is left that can be compared. "
                            "Record both with --ops, or both without",
                            diff->inferences[side], 'A' + side, 'B' - side);
    return IFG_OK;
}

enum ifg_status diff_create(const struct timeline *a, const struct timeline *b, double threshold,
                            struct diff **out_diff, struct ifg_error *err)
{
    struct comparing comparing = { .timelines = { a, b }, .threshold = threshold, .err = err };
    enum ifg_status status = IFG_OK;
    size_t kept = 0;

    *out_diff = NULL;
    comparing.diff = ifg_alloc(1, sizeof *comparing.diff);
    if (!comparing.diff || !name_models(&comparing) || !make_rows(&comparing))
        status = no_memory(err);
    if (!status)
        status = find_perturbed(&comparing);
    for (int side = 0; side < DIFF_SIDES && !status; side++)
        status = fill_side(&comparing, side);
    for (size_t i = 0; !status && i < comparing.diff->row_count; i++) {
        struct diff_row *row = &comparing.diff->rows[i];

        if (row->side[DIFF_A].blocks >= DIFF_BLOCKS_LEAST &&
            row->side[DIFF_B].blocks >= DIFF_BLOCKS_LEAST)
            compare_row(&comparing, i);
    }
    /* Locations that never ended anything in either trace say nothing. */
    for (size_t i = 0; !status && i < comparing.diff->row_count; i++)
        if (comparing.diff->rows[i].side[DIFF_A].count ||
            comparing.diff->rows[i].side[DIFF_B].count)
            comparing.diff->rows[kept++] = comparing.diff->rows[i];
    if (!status) {
        comparing.diff->row_count = kept;
        status = judge_all(&comparing);
    }
    for (int side = 0; side < DIFF_SIDES; side++) {
        ifg_free(comparing.names[side]);
        ifg_free(comparing.row_of[side]);
        ifg_free(comparing.blocks[side]);
        perturbed_fini(&comparing.perturbed[side]);
    }
    if (status) {
        diff_destroy(comparing.diff);
        return status;
    }
    *out_diff = comparing.diff;
    return IFG_OK;
}
