// SPDX-License-Identifier: Apache-2.0
/* Two sides: how much they differ, how sure that is, and what to call it. See samples.h. */
#include "analyze/statistics.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/statistics_internal.h"
#include "base/alloc.h"
#include "base/convert.h"
#include "base/quantile.h"

#define UNITS_LEAST     6u
#define PROCESSES_LEAST 2u
#define EXACT_MOST      200u  /* pairs for which the signed ranks are counted, not approximated */
#define SHIFT_MOST      1000u /* values of a side that the Hodges-Lehmann shift looks at */
#define LOOKS_BEYOND    1e6   /* times as many units as there are: nobody can measure that */

/* What medians of fresh processes of the same program differ by (standard deviation of their
 * logarithms), assumed for a side that has only one process and so cannot show it. Measured over
 * 160 processes: docs/statistics.md. */
#define BETWEEN_PROCESSES 0.024

const char *statistics_verdict_name(enum statistics_verdict verdict)
{
    static const char *const names[] = { "SAME", "REGRESSED", "IMPROVED", "UNSURE" };

    return names[verdict];
}

static enum ifg_status no_memory(struct ifg_error *err)
{
    return ifg_fail_no_memory(err, "to compare the two sides");
}

static bool all_positive(const double *values, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (!(values[i] > 0) || !isfinite(values[i]))
            return false;
    return true;
}

static void fill_change(struct statistics_change *change, double middle, double low, double high)
{
    change->change = expm1(middle);
    change->low = expm1(low);
    change->high = expm1(high);
    change->half_width = (change->high - change->low) / 2;
}

/* ---- pairs -------------------------------------------------------------------------------------
 */

struct signed_value {
    double size;
    bool positive;
};

static int compare_size(const void *left, const void *right)
{
    const struct signed_value *a = left;
    const struct signed_value *b = right;

    return a->size < b->size ? -1 : a->size > b->size;
}

/* P[rank sum <= observed] if every sign is a coin; ranks are doubled, so that middle ranks of ties
 * are whole. */
static double count_rank_sums(const uint64_t *ranks, size_t count, uint64_t observed,
                              bool *out_good)
{
    uint64_t total = 0;
    double *chances, sum = 0;

    for (size_t i = 0; i < count; i++)
        total += ranks[i];
    chances = ifg_alloc(total + 1, sizeof *chances);
    *out_good = chances != NULL;
    if (!chances)
        return 1;
    chances[0] = 1;
    total = 0;
    for (size_t i = 0; i < count; i++) {
        total += ranks[i];
        for (uint64_t s = total + 1; s-- > 0;)
            chances[s] = (chances[s] + (s >= ranks[i] ? chances[s - ranks[i]] : 0)) / 2;
    }
    for (uint64_t s = 0; s <= observed; s++)
        sum += chances[s];
    ifg_free(chances);
    return sum;
}

/* Wilcoxon's signed ranks, two-sided; zeroes are left out, ties have middle ranks. */
static double signed_rank_p(const double *values, size_t count, bool *out_good)
{
    struct signed_value *order = ifg_alloc(count, sizeof *order);
    uint64_t *ranks = ifg_alloc(count, sizeof *ranks);
    uint64_t up = 0, down = 0;
    double squares = 0, p = 1;
    size_t n = 0;

    *out_good = order && ranks;
    for (size_t i = 0; i < count && *out_good; i++)
        if (values[i] != 0)
            order[n++] = (struct signed_value){ fabs(values[i]), values[i] > 0 };
    if (!n)
        goto out;
    qsort(order, n, sizeof *order, compare_size);
    for (size_t i = 0, same; i < n; i += same) {
        for (same = 1; i + same < n && order[i + same].size == order[i].size; same++)
            continue;
        for (size_t j = i; j < i + same; j++) {
            ranks[j] = 2 * i + same + 1; /* twice the middle of ranks i + 1 .. i + same */
            squares += (double)ranks[j] * (double)ranks[j];
            *(order[j].positive ? &up : &down) += ranks[j];
        }
    }
    if (n <= EXACT_MOST) {
        p = 2 * count_rank_sums(ranks, n, up < down ? up : down, out_good);
    } else { /* each doubled rank comes or not: variance is a quarter of the squares */
        double off = fmax(fabs((double)up - (double)down) / 2 - 1, 0);

        p = erfc(off / sqrt(squares / 4) / sqrt(2));
    }
out:
    ifg_free(order);
    ifg_free(ranks);
    return fmin(p, 1);
}

static int compare_strata(const void *left, const void *right)
{
    const struct statistics_block *a = left;
    const struct statistics_block *b = right;

    if (a->process != b->process)
        return a->process < b->process ? -1 : 1;
    return a->first < b->first ? -1 : a->first > b->first;
}

/* Ratios in the order of their strata, and the strata as blocks. */
static enum ifg_status order_strata(double *ratios, const uint32_t *strata, size_t units,
                                    struct statistics_block **out_strata, size_t *out_count,
                                    struct ifg_error *err)
{
    struct statistics_block *order = ifg_alloc(units, sizeof *order);
    double *copy = ifg_alloc(units, sizeof *copy);
    size_t count = 0;

    *out_strata = NULL;
    *out_count = 0;
    if (!order || !copy) {
        ifg_free(order);
        ifg_free(copy);
        return no_memory(err);
    }
    for (size_t i = 0; i < units; i++)
        order[i] = (struct statistics_block){ strata ? strata[i] : 0, i, 1 };
    qsort(order, units, sizeof *order, compare_strata);
    memcpy(copy, ratios, units * sizeof *copy);
    for (size_t i = 0; i < units; i++)
        ratios[i] = copy[order[i].first];
    for (size_t i = 0; i < units; i++) {
        if (!i || order[i].process != order[count - 1].process)
            order[count++] = (struct statistics_block){ order[i].process, i, 0 };
        order[count - 1].count++;
    }
    ifg_free(copy);
    *out_strata = order;
    *out_count = count;
    return IFG_OK;
}

/* Percentile bootstrap of the median, each stratum resampled to its own size. */
static void bootstrap_pairs(const double *ratios, size_t units,
                            const struct statistics_block *strata, size_t strata_count, double tail,
                            uint64_t seed, double *drawn, double *resampled, double *out_low,
                            double *out_high)
{
    for (size_t i = 0; i < STATISTICS_RESAMPLES; i++) {
        size_t n = 0;

        for (size_t j = 0; j < strata_count; j++)
            for (size_t k = 0; k < strata[j].count; k++)
                drawn[n++] =
                    ratios[strata[j].first + statistics_random_below(&seed, strata[j].count)];
        resampled[i] = ifg_median(drawn, units);
    }
    statistics_sort(resampled, STATISTICS_RESAMPLES);
    *out_low = ifg_quantile_sorted(resampled, STATISTICS_RESAMPLES, tail, IFG_QUANTILE_LINEAR);
    *out_high = ifg_quantile_sorted(resampled, STATISTICS_RESAMPLES, 1 - tail, IFG_QUANTILE_LINEAR);
}

enum ifg_status statistics_paired_change(const double *a, const double *b, const uint32_t *strata,
                                         size_t units, double confidence, uint64_t seed,
                                         struct statistics_change *out_change,
                                         struct ifg_error *err)
{
    struct statistics_block *blocks = NULL;
    struct statistics_interval exact;
    double *ratios, *drawn, *resampled;
    double low, high;
    size_t block_count;
    enum ifg_status status = IFG_OK;
    bool good;

    *out_change = (struct statistics_change){ .units = units, .p = 1 };
    if (!units || !all_positive(a, units) || !all_positive(b, units))
        return ifg_fail(err, IFG_INVALID, "times to compare must be positive numbers");
    ratios = ifg_alloc(units, sizeof *ratios);
    drawn = ifg_alloc(units, sizeof *drawn);
    resampled = ifg_alloc(STATISTICS_RESAMPLES, sizeof *resampled);
    if (!ratios || !drawn || !resampled) {
        status = no_memory(err);
        goto out;
    }
    for (size_t i = 0; i < units; i++)
        ratios[i] = log(b[i] / a[i]);
    status = order_strata(ratios, strata, units, &blocks, &block_count, err);
    if (status)
        goto out;
    out_change->p = signed_rank_p(ratios, units, &good);
    if (!good) {
        status = no_memory(err);
        goto out;
    }
    bootstrap_pairs(ratios, units, blocks, block_count, (1 - confidence) / 2, seed, drawn,
                    resampled, &low, &high);
    statistics_sort(ratios, units);
    exact = statistics_quantile_interval(ratios, units, 0.5, confidence);
    if (exact.known) {
        low = fmin(low, exact.low);
        high = fmax(high, exact.high);
    }
    out_change->known = exact.known && units >= UNITS_LEAST;
    fill_change(out_change, ifg_quantile_sorted(ratios, units, 0.5, IFG_QUANTILE_LINEAR), low,
                high);
out:
    ifg_free(blocks);
    ifg_free(resampled);
    ifg_free(drawn);
    ifg_free(ratios);
    return status;
}

/* ---- not paired --------------------------------------------------------------------------------
 */

struct side {
    const double *values; /* process by process */
    struct statistics_block *processes;
    size_t process_count;
    size_t count;
    double *logs;   /* of the values */
    double *drawn;  /* scratch of count */
    double *middle; /* scratch of process_count */
};

static void side_fini(struct side *side)
{
    ifg_free(side->processes);
    ifg_free(side->logs);
    ifg_free(side->drawn);
    ifg_free(side->middle);
}

static enum ifg_status side_init(struct side *side, const double *values, const uint32_t *processes,
                                 size_t count, struct ifg_error *err)
{
    enum ifg_status status;

    memset(side, 0, sizeof *side);
    side->count = count;
    side->logs = ifg_alloc(count, sizeof *side->logs);
    side->drawn = ifg_alloc(count, sizeof *side->drawn);
    side->middle = ifg_alloc(count, sizeof *side->middle);
    if (!side->logs || !side->drawn || !side->middle)
        return no_memory(err);
    for (size_t i = 0; i < count; i++)
        side->logs[i] = log(values[i]);
    status =
        order_strata(side->logs, processes, count, &side->processes, &side->process_count, err);
    side->values = side->logs;
    return status;
}

/* The median of the processes' medians. With a random state, of drawn processes and drawn units. */
static double side_middle(struct side *side, uint64_t *random)
{
    for (size_t i = 0; i < side->process_count; i++) {
        const struct statistics_block *process = &side->processes[i];

        if (random && side->process_count > 1)
            process = &side->processes[statistics_random_below(random, side->process_count)];
        for (size_t j = 0; j < process->count; j++)
            side->drawn[j] =
                side->values[process->first +
                             (random ? (size_t)statistics_random_below(random, process->count)
                                     : j)];
        side->middle[i] = ifg_median(side->drawn, process->count);
    }
    return ifg_median(side->middle, side->process_count);
}

static size_t side_units(const struct side *side)
{
    return side->process_count > 1 ? side->process_count : side->count;
}

static bool side_enough(const struct side *side)
{
    return side->process_count > 1 ? side->process_count >= PROCESSES_LEAST
                                   : side->count >= UNITS_LEAST;
}

/* A percentile interval of few units is too narrow: it takes their spread for known, and divides by
 * n where n - 1 is right. */
static double few_units_factor(size_t units_a, size_t units_b, double confidence)
{
    size_t least = units_a < units_b ? units_a : units_b;
    size_t freedom = units_a + units_b - 2;
    double factor;

    if (least < 2)
        return 1;
    freedom = freedom < 1000 ? freedom : 1000;
    factor = statistics_student(1 - confidence, freedom) / statistics_student(1 - confidence, 1000);
    return factor * sqrt((double)least / (double)(least - 1));
}

/* From the resampled differences to an interval around the middle and a p. */
static void unpaired_interval(const struct side sides[2], double *resampled, double middle,
                              double confidence, double widen, struct statistics_change *change)
{
    double tail = (1 - confidence) / 2;
    size_t units_a = side_units(&sides[0]);
    size_t units_b = side_units(&sides[1]);
    double factor = few_units_factor(units_a, units_b, confidence) * fmax(widen, 1);
    double unseen = BETWEEN_PROCESSES *
                    sqrt((sides[0].process_count == 1) + (sides[1].process_count == 1)) *
                    fmax(widen, 1);
    double away = unseen * statistics_student(1 - confidence, 1000);
    double mean = 0, spread = 0, below, above;

    for (size_t i = 0; i < STATISTICS_RESAMPLES; i++)
        mean += resampled[i] / STATISTICS_RESAMPLES;
    for (size_t i = 0; i < STATISTICS_RESAMPLES; i++)
        spread += (resampled[i] - mean) * (resampled[i] - mean);
    spread = hypot(sqrt(spread / (STATISTICS_RESAMPLES - 1)) * factor, unseen);
    statistics_sort(resampled, STATISTICS_RESAMPLES);
    below =
        middle - ifg_quantile_sorted(resampled, STATISTICS_RESAMPLES, tail, IFG_QUANTILE_LINEAR);
    above = ifg_quantile_sorted(resampled, STATISTICS_RESAMPLES, 1 - tail, IFG_QUANTILE_LINEAR) -
            middle;
    fill_change(change, middle, middle - hypot(factor * fmax(below, 0), away),
                middle + hypot(factor * fmax(above, 0), away));
    change->units = units_a < units_b ? units_a : units_b;
    change->known = side_enough(&sides[0]) && side_enough(&sides[1]);
    change->p = spread > 0 ? erfc(fabs(middle) / spread / sqrt(2)) : middle == 0;
}

enum ifg_status statistics_unpaired_change(const double *a, const uint32_t *process_a,
                                           size_t count_a, const double *b,
                                           const uint32_t *process_b, size_t count_b,
                                           double confidence, double widen, uint64_t seed,
                                           struct statistics_change *out_change,
                                           struct ifg_error *err)
{
    struct side sides[2] = { { 0 }, { 0 } };
    double *resampled = NULL;
    double middle;
    enum ifg_status status;

    *out_change = (struct statistics_change){ .p = 1 };
    if (!count_a || !count_b || !all_positive(a, count_a) || !all_positive(b, count_b))
        return ifg_fail(err, IFG_INVALID, "times to compare must be positive numbers");
    status = side_init(&sides[0], a, process_a, count_a, err);
    if (!status)
        status = side_init(&sides[1], b, process_b, count_b, err);
    if (status)
        goto out;
    resampled = ifg_alloc(STATISTICS_RESAMPLES, sizeof *resampled);
    if (!resampled) {
        status = no_memory(err);
        goto out;
    }
    middle = side_middle(&sides[1], NULL) - side_middle(&sides[0], NULL);
    for (size_t i = 0; i < STATISTICS_RESAMPLES; i++) {
        resampled[i] = -side_middle(&sides[0], &seed);
        resampled[i] += side_middle(&sides[1], &seed);
    }
    unpaired_interval(sides, resampled, middle, confidence, widen, out_change);
out:
    ifg_free(resampled);
    side_fini(&sides[0]);
    side_fini(&sides[1]);
    return status;
}

/* ---- verdicts ----------------------------------------------------------------------------------
 */

enum statistics_verdict statistics_judge(const struct statistics_change *change, double threshold)
{
    if (!change->known)
        return STATISTICS_UNSURE;
    if (change->low > threshold)
        return STATISTICS_REGRESSED;
    if (change->high < -threshold)
        return STATISTICS_IMPROVED;
    if (change->low >= -threshold && change->high <= threshold)
        return STATISTICS_SAME;
    return STATISTICS_UNSURE;
}

uint64_t statistics_more(const struct statistics_change *change, double threshold)
{
    double way = fabs(fabs(change->change) - threshold);
    double factor = change->half_width / way;
    double more;

    if (!change->known)
        return change->units < UNITS_LEAST ? UNITS_LEAST - change->units : 1;
    factor *= factor;
    if (!(factor < LOOKS_BEYOND))
        return 0;
    more = ceil((double)change->units * (factor - 1));
    return more > 1 ? ifg_u64_of(more) : 1;
}

/* ---- second opinion ----------------------------------------------------------------------------
 */

struct from_side {
    double value;
    bool b;
};

static int compare_from_side(const void *left, const void *right)
{
    const struct from_side *a = left;
    const struct from_side *b = right;

    return a->value < b->value ? -1 : a->value > b->value;
}

/* Counts for how many pairs b is larger, ties half; *out_ties is the sum of t^3 - t. */
static double count_larger(const double *a, size_t count_a, const double *b, size_t count_b,
                           double *out_ties, bool *out_good)
{
    struct from_side *all = ifg_alloc(count_a + count_b, sizeof *all);
    size_t total = count_a + count_b;
    double larger = 0, passed = 0;

    *out_ties = 0;
    *out_good = all != NULL;
    if (!all)
        return 0;
    for (size_t i = 0; i < total; i++)
        all[i] = i < count_a ? (struct from_side){ a[i], false }
                             : (struct from_side){ b[i - count_a], true };
    qsort(all, total, sizeof *all, compare_from_side);
    for (size_t i = 0, same; i < total; i += same) {
        double of_a = 0, of_b = 0;

        for (same = 0; i + same < total && all[i + same].value == all[i].value; same++)
            *(all[i + same].b ? &of_b : &of_a) += 1;
        larger += of_b * (passed + of_a / 2);
        passed += of_a;
        *out_ties += (double)same * (double)same * (double)same - (double)same;
    }
    ifg_free(all);
    return larger;
}

/* At most SHIFT_MOST values of a side, evenly by rank: value (i + 1/2) n / SHIFT_MOST. */
static size_t thin_sorted(const double *values, size_t count, double *sorted)
{
    memcpy(sorted, values, count * sizeof *sorted);
    statistics_sort(sorted, count);
    if (count <= SHIFT_MOST)
        return count;
    for (size_t i = 0; i < SHIFT_MOST; i++)
        sorted[i] = sorted[(size_t)(((double)i + 0.5) * (double)count / SHIFT_MOST)];
    return SHIFT_MOST;
}

static enum ifg_status find_shift(const double *a, size_t count_a, const double *b, size_t count_b,
                                  double *out_shift, struct ifg_error *err)
{
    double *sorted_a = ifg_alloc(count_a, sizeof *sorted_a);
    double *sorted_b = ifg_alloc(count_b, sizeof *sorted_b);
    double *differences = NULL;

    if (sorted_a && sorted_b) {
        count_a = thin_sorted(a, count_a, sorted_a);
        count_b = thin_sorted(b, count_b, sorted_b);
        differences = ifg_alloc(count_a * count_b, sizeof *differences);
    }
    if (differences) {
        for (size_t i = 0; i < count_a; i++)
            for (size_t j = 0; j < count_b; j++)
                differences[i * count_b + j] = sorted_b[j] - sorted_a[i];
        *out_shift = ifg_median(differences, count_a * count_b);
    }
    ifg_free(sorted_a);
    ifg_free(sorted_b);
    ifg_free(differences);
    return differences ? IFG_OK : no_memory(err);
}

enum ifg_status statistics_second_opinion(const double *a, size_t count_a, const double *b,
                                          size_t count_b,
                                          struct statistics_second_opinion *out_opinion,
                                          struct ifg_error *err)
{
    double n = (double)count_a + (double)count_b;
    double pairs = (double)count_a * (double)count_b;
    double larger, ties, variance;
    bool good;

    *out_opinion = (struct statistics_second_opinion){ .u_p = 1 };
    if (!count_a || !count_b)
        return ifg_fail(err, IFG_INVALID, "one of the two sides has no values");
    larger = count_larger(a, count_a, b, count_b, &ties, &good);
    if (!good)
        return no_memory(err);
    out_opinion->cliffs_delta = 2 * larger / pairs - 1;
    variance = pairs / 12 * (n + 1 - ties / (n * (n - 1)));
    if (variance > 0)
        out_opinion->u_p = erfc(fmax(fabs(larger - pairs / 2) - 0.5, 0) / sqrt(variance) / sqrt(2));
    return find_shift(a, count_a, b, count_b, &out_opinion->shift, err);
}

/* ---- many tests --------------------------------------------------------------------------------
 */

enum ifg_status statistics_survivors(const double *p, size_t count, double rate, bool *out,
                                     struct ifg_error *err)
{
    double *sorted = ifg_alloc(count, sizeof *sorted);
    double limit = -1;
    size_t tests = 0;

    if (!sorted)
        return no_memory(err);
    for (size_t i = 0; i < count; i++)
        if (!isnan(p[i]))
            sorted[tests++] = p[i];
    statistics_sort(sorted, tests);
    for (size_t i = 0; i < tests; i++)
        if (sorted[i] <= rate * (double)(i + 1) / (double)tests)
            limit = sorted[i];
    for (size_t i = 0; i < count; i++)
        out[i] = p[i] <= limit;
    ifg_free(sorted);
    return IFG_OK;
}
