// SPDX-License-Identifier: Apache-2.0
/*
 * Statistics of plain numbers: quantiles and what can be said about them, bootstrap intervals over
 * blocks and processes, verdicts. Nothing here assumes a distribution, and nothing takes iterations
 * of one process for independent. Every random choice comes from splitmix64 with a given seed, so
 * that anybody can compute the same numbers again (docs/statistics.md has every formula).
 */
#ifndef IFG_ANALYZE_STATISTICS_H
#define IFG_ANALYZE_STATISTICS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/quantile.h"
#include "base/status.h"

#define STATISTICS_RESAMPLES  2000u
#define STATISTICS_CONFIDENCE 0.95

/* The generator: state += 0x9e3779b97f4a7c15, then mixed. */
uint64_t statistics_random(uint64_t *state);
/* Below n, by multiplication: (random * n) >> 64. n > 0. */
uint64_t statistics_random_below(uint64_t *state, uint64_t n);

void statistics_sort(double *values, size_t count);

struct statistics_interval {
    bool known;
    double low;
    double high;
    uint64_t needs; /* if it is not known: with this many values it would be; 0: cannot be said */
};

/* [x(l), x(u)]: l the largest, u the smallest rank (from 1) with P[B < l] <= a/2 and P[B >= u] <=
 * a/2, B binomial(count, q), a = 1 - confidence. */
struct statistics_interval statistics_quantile_interval(const double *sorted, size_t count,
                                                        double q, double confidence);
/* One-sided: q is below `high` with the given confidence; low is -INFINITY. Not known: too few. */
struct statistics_interval statistics_quantile_bound(const double *sorted, size_t count, double q,
                                                     double confidence);
/* Values that a two-sided interval of quantile q needs at least: 6, 36, 72, 368, 3688 at 95 %. */
uint64_t statistics_needed(double q, double confidence);
uint64_t statistics_needed_bound(double q, double confidence); /* 5, 29, 59, 299, 2995 */

enum {
    STATISTICS_P50,
    STATISTICS_P90,
    STATISTICS_P95,
    STATISTICS_P99,
    STATISTICS_P999,
    STATISTICS_QUANTILES
};
extern const double statistics_quantiles[STATISTICS_QUANTILES];

struct statistics_summary {
    size_t count;
    double mean, sd; /* n - 1 */
    double min, max;
    double mad;      /* median of |x - median|, not scaled */
    size_t outliers; /* |x - median| > 14.826 mad, if mad > 0 */
    double p[STATISTICS_QUANTILES];
    struct statistics_interval interval[STATISTICS_QUANTILES];
};
/* IFG_INVALID for no values. */
enum ifg_status statistics_summarize(const double *values, size_t count,
                                     enum ifg_quantile_rule rule, double confidence,
                                     struct statistics_summary *out_summary,
                                     struct ifg_error *err) IFG_MUST_CHECK;

/* A block of neighbouring iterations within a process. Blocks are in order and cover values. */
struct statistics_block {
    uint32_t process;
    size_t first;
    size_t count;
};

/* Hierarchical bootstrap of the median of all values: draw processes with replacement, then blocks
 * of each, then take all their iterations. One process: blocks alone. Fewer than 2 processes and
 * fewer than 5 blocks: not known. Percentiles, farther out where processes (or blocks) are few. */
enum ifg_status statistics_median_interval(const double *values, size_t count,
                                           const struct statistics_block *blocks,
                                           size_t block_count, double confidence, uint64_t seed,
                                           struct statistics_interval *out_interval,
                                           struct ifg_error *err) IFG_MUST_CHECK;
/* The same for the mean of one number per block (time per inference, say), weighted by the blocks'
 * counts. */
enum ifg_status statistics_block_interval(const double *per_block,
                                          const struct statistics_block *blocks, size_t block_count,
                                          double confidence, uint64_t seed,
                                          struct statistics_interval *out_interval,
                                          struct ifg_error *err) IFG_MUST_CHECK;

/* ---- order in time ---- */

double statistics_autocorrelation(const double *values,
                                  size_t count);                    /* lag 1; 0 for fewer than 3 */
double statistics_effective(size_t count, double autocorrelation);  /* n (1-r)/(1+r), in [1, n] */
double statistics_mann_kendall(const double *values, size_t count); /* p of "no trend" */

struct statistics_steady {
    bool steady;
    size_t from;   /* first iteration of the steady part; count if there is none */
    double change; /* how far the last windows are apart, relative */
    double trend_p;
};
/* windows of max(10, 5 %): steady from the first index where the medians of three windows in a row
 * agree within `tolerance` (0.01) and there is no trend over them (p > 0.05). */
struct statistics_steady statistics_find_steady(const double *values, size_t count,
                                                double tolerance);

/* Binary segmentation on medians' series: least segment 5, penalty 3 log n. Indices where a new
 * level begins, ascending; returns how many (at most max). */
size_t statistics_change_points(const double *values, size_t count, size_t *out_points, size_t max);

/* ---- two sides ---- */

enum statistics_verdict {
    STATISTICS_SAME,
    STATISTICS_REGRESSED,
    STATISTICS_IMPROVED,
    STATISTICS_UNSURE
};
const char *statistics_verdict_name(enum statistics_verdict verdict); /* "SAME", ... */

struct statistics_change {
    size_t units;  /* pairs */
    double change; /* exp(median ln(b/a)) - 1 */
    double low, high;
    bool known; /* enough units (6; more at high confidence) for an interval */
    double p;   /* two-sided, of "no change": paired by signed ranks, else by the bootstrap */
    double half_width;
};
/* Paired units: a[i] and b[i] are medians of neighbouring blocks (or processes); strata[i] (may be
 * NULL) is the process they ran in: resampling keeps each stratum's size. The interval is the wider
 * of the bootstrap's and the sign test's. IFG_INVALID unless all are positive. */
enum ifg_status statistics_paired_change(const double *a, const double *b, const uint32_t *strata,
                                         size_t units, double confidence, uint64_t seed,
                                         struct statistics_change *out_change,
                                         struct ifg_error *err) IFG_MUST_CHECK;
/* Not paired (result files): medians of the processes' medians of units, each side resampled by
 * process and unit; `widen` >= 1 multiplies the half width. Few processes widen it by Student's t,
 * a side of one process by what processes usually differ (docs/statistics.md). Known with 2
 * processes of each side, or 6 units where there is one. */
enum ifg_status statistics_unpaired_change(const double *a, const uint32_t *process_a,
                                           size_t count_a, const double *b,
                                           const uint32_t *process_b, size_t count_b,
                                           double confidence, double widen, uint64_t seed,
                                           struct statistics_change *out_change,
                                           struct ifg_error *err) IFG_MUST_CHECK;

/* Larger is worse. */
enum statistics_verdict statistics_judge(const struct statistics_change *change, double threshold);
/* UNSURE: about so many more units would decide: n (w/d)^2 - n, at least 1, where w is the half
 * width and d the way from the change to the nearer threshold; 0: cannot be said. */
uint64_t statistics_more(const struct statistics_change *change, double threshold);

struct statistics_second_opinion {
    double u_p;          /* Mann-Whitney, two-sided, normal approximation with ties */
    double shift;        /* Hodges-Lehmann, b - a */
    double cliffs_delta; /* -1 .. 1 */
};
enum ifg_status statistics_second_opinion(const double *a, size_t count_a, const double *b,
                                          size_t count_b,
                                          struct statistics_second_opinion *out_opinion,
                                          struct ifg_error *err) IFG_MUST_CHECK;

/* Benjamini-Hochberg: out[i] whether p[i] survives at this rate. */
enum ifg_status statistics_survivors(const double *p, size_t count, double rate, bool *out,
                                     struct ifg_error *err) IFG_MUST_CHECK;

/* Upper bound (Clopper-Pearson, one-sided) of a share when `hits` of `count` were seen. */
double statistics_share_bound(uint64_t hits, uint64_t count, double confidence);

#endif
