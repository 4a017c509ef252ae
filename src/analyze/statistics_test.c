// SPDX-License-Identifier: Apache-2.0
/* Statistics against the plainest computation of the same numbers, and against simulated noise. */
#include "analyze/statistics.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/quantile.h"
#include "tap.h"

static uint64_t chance = 20;

static double uniform(void)
{
    return ((double)(statistics_random(&chance) >> 11) + 0.5) / 9007199254740992.0;
}

static double normal(void)
{
    return sqrt(-2 * log(uniform())) * cos(2 * M_PI * uniform());
}

/* Student's t with two degrees of freedom: no variance. */
static double heavy(void)
{
    double a = normal(), b = normal(), c = normal();

    return a / sqrt((b * b + c * c) / 2);
}

static bool near(double got, double expected)
{
    bool good = fabs(got - expected) <= 1e-9 * fmax(fabs(expected), 1e-300);

    if (!good)
        tap_diag("got %.17g, expected %.17g", got, expected);
    return good;
}

/* ---- quantiles ---- */

static void random_numbers(void)
{
    uint64_t state = 1234567;
    uint64_t most = 0;

    CHECK_UINT(statistics_random(&state), UINT64_C(6457827717110365317)); /* published values */
    CHECK_UINT(statistics_random(&state), UINT64_C(3203168211198807973));
    for (int i = 0; i < 1000; i++) {
        uint64_t drawn = statistics_random_below(&state, 7);

        most = drawn > most ? drawn : most;
    }
    CHECK_UINT(most, 6);
    CHECK_UINT(statistics_random_below(&state, 1), 0);
}

static void quantiles(void)
{
    const double ten[] = { 1, 2, 3, 4, 5, 6, 7, 8, 9, 10 };

    CHECK(near(ifg_quantile_sorted(ten, 10, 0.5, IFG_QUANTILE_LINEAR), 5.5));
    CHECK(near(ifg_quantile_sorted(ten, 10, 0.9, IFG_QUANTILE_LINEAR), 9.1));
    CHECK(near(ifg_quantile_sorted(ten, 10, 0.99, IFG_QUANTILE_LINEAR), 9.91));
    CHECK(near(ifg_quantile_sorted(ten, 10, 0.5, IFG_QUANTILE_NEAREST), 6));
    CHECK(near(ifg_quantile_sorted(ten, 10, 0.9, IFG_QUANTILE_NEAREST), 10));
    CHECK(near(ifg_quantile_sorted(ten, 10, 1, IFG_QUANTILE_NEAREST), 10));
    CHECK(near(ifg_quantile_sorted(ten, 10, 0, IFG_QUANTILE_LINEAR), 1));
    CHECK(near(ifg_quantile_sorted(ten, 10, 1, IFG_QUANTILE_LINEAR), 10));
    CHECK(near(ifg_quantile_sorted(ten, 1, 0.999, IFG_QUANTILE_LINEAR), 1));
    CHECK(isnan(ifg_quantile_sorted(ten, 0, 0.5, IFG_QUANTILE_LINEAR)));
}

static void medians(void)
{
    double values[400], sorted[400];

    CHECK(isnan(ifg_median(values, 0)));
    for (size_t n = 1; n < 400; n += 1 + n / 20)
        for (int kind = 0; kind < 4; kind++) {
            for (size_t i = 0; i < n; i++)
                values[i] = kind == 0   ? normal()
                            : kind == 1 ? floor(3 * uniform())
                            : kind == 2 ? (double)i
                                        : -(double)i;
            memcpy(sorted, values, sizeof sorted);
            statistics_sort(sorted, n);
            CHECK(near(ifg_median(values, n),
                       ifg_quantile_sorted(sorted, n, 0.5, IFG_QUANTILE_LINEAR)));
        }
}

/* P[B <= k] by adding the terms, the plain way. */
static long double plain_at_most(int n, int k, double q)
{
    long double term = powl(1 - q, n), sum = 0; /* far below what a double can hold */

    for (int i = 0; i <= k; i++) {
        sum += term;
        term *= (long double)(n - i) / (i + 1) * q / (1 - q);
    }
    return sum;
}

static void order_statistics(void)
{
    double *values = ifg_alloc(400, sizeof *values);
    struct statistics_interval interval;

    REQUIRE(values != NULL);
    for (size_t i = 0; i < 400; i++)
        values[i] = (double)(i + 1); /* the value is the rank */
    interval = statistics_quantile_interval(values, 100, 0.5, 0.95);
    CHECK(interval.known && interval.low == 40 && interval.high == 61); /* in every textbook */
    for (int n = 6; n <= 400; n += 7)
        for (int i = 0; i < STATISTICS_QUANTILES; i++) {
            double q = statistics_quantiles[i];
            int low = 0, high = 1;

            while (plain_at_most(n, low, q) <= 0.025)
                low++;
            while (high <= n && 1 - plain_at_most(n, high - 1, q) > 0.025)
                high++;
            interval = statistics_quantile_interval(values, (size_t)n, q, 0.95);
            CHECK_INT(interval.known, low >= 1 && high <= n);
            if (interval.known && !(interval.low == low && interval.high == high))
                tap_diag("n %d q %g: [%g, %g], expected [%d, %d]", n, q, interval.low,
                         interval.high, low, high);
            CHECK(!interval.known || (interval.low == low && interval.high == high));
        }
    ifg_free(values);
}

static void numbers_needed(void)
{
    static const uint64_t both[] = { 6, 36, 72, 368, 3688 };
    static const uint64_t one[] = { 5, 29, 59, 299, 2995 };
    double *values = ifg_alloc(4000, sizeof *values);

    REQUIRE(values != NULL);
    for (int i = 0; i < STATISTICS_QUANTILES; i++) {
        double q = statistics_quantiles[i];
        struct statistics_interval interval;

        CHECK_UINT(statistics_needed(q, 0.95), both[i]);
        CHECK_UINT(statistics_needed_bound(q, 0.95), one[i]);
        CHECK(statistics_quantile_interval(values, both[i], q, 0.95).known);
        interval = statistics_quantile_interval(values, both[i] - 1, q, 0.95);
        CHECK(!interval.known);
        CHECK_UINT(interval.needs, both[i]);
        CHECK(statistics_quantile_bound(values, one[i], q, 0.95).known);
        interval = statistics_quantile_bound(values, one[i] - 1, q, 0.95);
        CHECK(!interval.known);
        CHECK_UINT(interval.needs, one[i]);
    }
    CHECK(!statistics_quantile_interval(values, 0, 0.5, 0.95).known);
    CHECK(!statistics_quantile_interval(values, 10, 1, 0.95).known);
    ifg_free(values);
}

static void many_values(void)
{
    const size_t n = 10000000;
    double *values = ifg_alloc(n, sizeof *values);
    struct statistics_interval interval;
    double spread = sqrt((double)n * 0.999 * 0.001);

    REQUIRE(values != NULL);
    for (size_t i = 0; i < n; i++)
        values[i] = (double)(i + 1);
    interval = statistics_quantile_interval(values, n, 0.999, 0.95);
    REQUIRE(interval.known);
    /* The normal approximation is within a rank or two here. */
    CHECK(fabs(interval.low - (0.999 * (double)n - 1.95996 * spread)) < 3);
    CHECK(fabs(interval.high - (0.999 * (double)n + 1.95996 * spread)) < 3);
    interval = statistics_quantile_interval(values, n, 0.5, 0.95);
    CHECK(fabs(interval.low - (0.5 * (double)n - 1.95996 * sqrt(0.25 * (double)n))) < 3);
    ifg_free(values);
}

static void share_bounds(void)
{
    CHECK(near(statistics_share_bound(0, 100, 0.95), 1 - pow(0.05, 0.01)));
    CHECK(fabs(statistics_share_bound(1, 10, 0.95) - 0.394163) < 1e-6); /* Clopper and Pearson */
    CHECK(near(statistics_share_bound(10, 10, 0.95), 1));
    CHECK(statistics_share_bound(5, 1000000, 0.95) < 1.2e-5);
}

static void summaries(void)
{
    const double values[] = { 3, 1, 2, 4, 100 };
    struct statistics_summary summary;
    struct ifg_error err;

    REQUIRE(statistics_summarize(values, 5, IFG_QUANTILE_LINEAR, 0.95, &summary, &err) == IFG_OK);
    CHECK_UINT(summary.count, 5);
    CHECK(near(summary.mean, 22));
    CHECK(near(summary.sd, sqrt((19 * 19 + 21 * 21 + 20 * 20 + 18 * 18 + 78 * 78) / 4.0)));
    CHECK(near(summary.min, 1));
    CHECK(near(summary.max, 100));
    CHECK(near(summary.p[STATISTICS_P50], 3));
    CHECK(near(summary.p[STATISTICS_P90], 4 + 0.6 * 96));
    CHECK(near(summary.mad, 1));
    CHECK_UINT(summary.outliers, 1);
    CHECK(!summary.interval[STATISTICS_P50].known);
    CHECK_UINT(summary.interval[STATISTICS_P50].needs, 6);
    REQUIRE(statistics_summarize(values, 1, IFG_QUANTILE_NEAREST, 0.95, &summary, &err) == IFG_OK);
    CHECK(summary.sd == 0 && summary.mad == 0 && summary.outliers == 0);
    CHECK_INT(statistics_summarize(values, 0, IFG_QUANTILE_LINEAR, 0.95, &summary, &err),
              IFG_INVALID);
    ifg_alloc_fail_after(0);
    CHECK_INT(statistics_summarize(values, 5, IFG_QUANTILE_LINEAR, 0.95, &summary, &err),
              IFG_NO_MEMORY);
}

/* ---- bootstrap ---- */

#define PROCESSES 4u
#define BLOCKS    6u
#define EACH      5u

static double measured[PROCESSES * BLOCKS * EACH];
static struct statistics_block blocks[PROCESSES * BLOCKS];

static void make_measured(void)
{
    for (size_t i = 0; i < PROCESSES * BLOCKS; i++) {
        blocks[i] = (struct statistics_block){ (uint32_t)(i / BLOCKS), i * EACH, EACH };
        for (size_t j = 0; j < EACH; j++)
            measured[i * EACH + j] = 10 + (double)(i / BLOCKS) + 0.1 * fabs(normal());
    }
}

/* The same bootstrap with all values written out. */
static void plain_bootstrap(uint64_t seed, size_t processes, double *out_low, double *out_high)
{
    double medians[STATISTICS_RESAMPLES];
    double drawn[PROCESSES * BLOCKS * EACH];
    double point, tail;

    for (size_t r = 0; r < STATISTICS_RESAMPLES; r++) {
        size_t n = 0;

        for (size_t i = 0; i < processes; i++) {
            size_t process = processes > 1 ? (size_t)statistics_random_below(&seed, processes) : 0;

            for (size_t j = 0; j < BLOCKS; j++) {
                size_t block = process * BLOCKS + (size_t)statistics_random_below(&seed, BLOCKS);

                memcpy(drawn + n, measured + block * EACH, EACH * sizeof *drawn);
                n += EACH;
            }
        }
        statistics_sort(drawn, n);
        medians[r] = ifg_quantile_sorted(drawn, n, 0.5, IFG_QUANTILE_LINEAR);
    }
    statistics_sort(medians, STATISTICS_RESAMPLES);
    /* Student's t at 2.5 %, from a table: of 4 processes, of 6 blocks. */
    point = processes > 1 ? 3.182446305284263 * sqrt(4 / 3.0) : 2.570581835636314 * sqrt(6 / 5.0);
    tail = erfc(point / sqrt(2)) / 2;
    *out_low = ifg_quantile_sorted(medians, STATISTICS_RESAMPLES, tail, IFG_QUANTILE_LINEAR);
    *out_high = ifg_quantile_sorted(medians, STATISTICS_RESAMPLES, 1 - tail, IFG_QUANTILE_LINEAR);
}

static void hierarchical_bootstrap(void)
{
    struct statistics_interval interval;
    struct ifg_error err;
    double low, high;

    make_measured();
    REQUIRE(statistics_median_interval(measured, PROCESSES * BLOCKS * EACH, blocks,
                                       PROCESSES * BLOCKS, 0.95, 7, &interval, &err) == IFG_OK);
    plain_bootstrap(7, PROCESSES, &low, &high);
    CHECK(interval.known && near(interval.low, low) && near(interval.high, high));
    REQUIRE(statistics_median_interval(measured, BLOCKS * EACH, blocks, BLOCKS, 0.95, 8, &interval,
                                       &err) == IFG_OK);
    plain_bootstrap(8, 1, &low, &high);
    CHECK(interval.known && near(interval.low, low) && near(interval.high, high));
    /* Four blocks of one process say too little; two processes are enough. */
    REQUIRE(statistics_median_interval(measured, 4 * EACH, blocks, 4, 0.95, 8, &interval, &err) ==
            IFG_OK);
    CHECK(!interval.known);
    CHECK_UINT(interval.needs, 5 * EACH);
    REQUIRE(statistics_median_interval(measured, 2 * BLOCKS * EACH, blocks, 2 * BLOCKS, 0.95, 8,
                                       &interval, &err) == IFG_OK);
    CHECK(interval.known);
}

static void bootstrap_refuses(void)
{
    struct statistics_interval interval;
    struct ifg_error err;

    make_measured();
    CHECK_INT(statistics_median_interval(measured, 7, blocks, 2, 0.95, 1, &interval, &err),
              IFG_INVALID);
    CHECK_INT(statistics_median_interval(measured, 0, blocks, 0, 0.95, 1, &interval, &err),
              IFG_INVALID);
    CHECK_INT(statistics_block_interval(measured, blocks, 0, 0.95, 1, &interval, &err),
              IFG_INVALID);
    for (long i = 0;; i++) {
        enum ifg_status status;

        ifg_alloc_fail_after(i);
        status = statistics_median_interval(measured, PROCESSES * BLOCKS * EACH, blocks,
                                            PROCESSES * BLOCKS, 0.95, 7, &interval, &err);
        ifg_alloc_fail_after(-1);
        if (!status) {
            CHECK(i >= 5);
            break;
        }
        CHECK_INT(status, IFG_NO_MEMORY);
    }
}

static void block_means(void)
{
    double per_block[PROCESSES * BLOCKS];
    struct statistics_interval interval;
    struct ifg_error err;

    make_measured();
    for (size_t i = 0; i < PROCESSES * BLOCKS; i++)
        per_block[i] = 3;
    REQUIRE(statistics_block_interval(per_block, blocks, PROCESSES * BLOCKS, 0.95, 1, &interval,
                                      &err) == IFG_OK);
    CHECK(interval.known && near(interval.low, 3) && near(interval.high, 3));
    for (size_t i = 0; i < PROCESSES * BLOCKS; i++)
        per_block[i] = (double)blocks[i].process;
    REQUIRE(statistics_block_interval(per_block, blocks, PROCESSES * BLOCKS, 0.95, 1, &interval,
                                      &err) == IFG_OK);
    CHECK(interval.low >= 0 && interval.low < 0.8 && interval.high > 2.2 && interval.high <= 3);
    REQUIRE(statistics_block_interval(per_block, blocks, 4, 0.95, 1, &interval, &err) == IFG_OK);
    CHECK(!interval.known);
}

/* More values than are looked at, more blocks than are drawn: still about the same interval. */
static void thinned_bootstrap(void)
{
    const size_t n = 450000, size = 10;
    double *values = ifg_alloc(n, sizeof *values);
    struct statistics_block *many = ifg_alloc(n / size, sizeof *many);
    struct statistics_interval interval;
    struct ifg_error err;

    REQUIRE(values && many);
    for (size_t i = 0; i < n; i++)
        values[i] = 10 + normal();
    for (size_t i = 0; i < n / size; i++)
        many[i] = (struct statistics_block){ (uint32_t)(i * 3 * size / n), i * size, size };
    REQUIRE(statistics_median_interval(values, n, many, n / size, 0.95, 1, &interval, &err) ==
            IFG_OK);
    CHECK(interval.known && interval.low < 10.005 && interval.high > 9.995);
    CHECK(interval.high - interval.low < 0.03);
    ifg_free(values);
    ifg_free(many);
}

/* ---- order in time ---- */

static void dependence(void)
{
    double values[1000];
    double level = 0;

    for (size_t i = 0; i < 1000; i++)
        values[i] = level = 0.7 * level + normal();
    CHECK(fabs(statistics_autocorrelation(values, 1000) - 0.7) < 0.1);
    for (size_t i = 0; i < 1000; i++)
        values[i] = 5;
    CHECK(statistics_autocorrelation(values, 1000) == 0);
    CHECK(statistics_autocorrelation(values, 2) == 0);
    CHECK(near(statistics_effective(100, 0.5), 100 / 3.0));
    CHECK(near(statistics_effective(100, -0.5), 100));
    CHECK(near(statistics_effective(100, 1), 1));
    CHECK(near(statistics_effective(100, -1), 100));
    CHECK(statistics_effective(0, 0) == 0);
}

static void trends(void)
{
    double values[2000];

    for (size_t i = 0; i < 2000; i++)
        values[i] = (double)i;
    /* S = 45, variance 125. */
    CHECK(near(statistics_mann_kendall(values, 10), erfc(44 / sqrt(250))));
    values[9] = 8; /* a tie: S = 44, variance 125 - 18 / 18 */
    CHECK(near(statistics_mann_kendall(values, 10), erfc(43 / sqrt(2 * 124.0))));
    values[9] = 9;
    CHECK(statistics_mann_kendall(values, 2000) < 1e-9);
    CHECK(statistics_mann_kendall(values, 2) == 1);
    for (size_t i = 0; i < 2000; i++)
        values[i] = 1;
    CHECK(statistics_mann_kendall(values, 2000) == 1);
    for (int length = 20; length <= 2000; length *= 10) {
        int alarms = 0;

        for (int run = 0; run < 400; run++) {
            for (int i = 0; i < length; i++)
                values[i] = heavy();
            alarms += statistics_mann_kendall(values, (size_t)length) < 0.05;
        }
        tap_diag("no trend in %d values: %d of 400 below 0.05", length, alarms);
        CHECK(alarms < 40);
    }
}

static void steady_states(void)
{
    double values[3000];
    struct statistics_steady steady;
    int found = 0;

    for (int run = 0; run < 100; run++) {
        for (size_t i = 0; i < 400; i++)
            values[i] = 10 * (1 + 0.003 * normal()) + 20 * exp(-(double)i / 15);
        steady = statistics_find_steady(values, 400, 0.01);
        found += steady.steady && steady.from > 30 && steady.from < 250 && steady.change <= 0.01 &&
                 steady.trend_p > 0.05;
    }
    CHECK(found > 95);
    for (size_t i = 0; i < 400; i++)
        values[i] = 10 * pow(1.002, (double)i); /* never */
    steady = statistics_find_steady(values, 400, 0.01);
    CHECK(!steady.steady);
    CHECK_UINT(steady.from, 400);
    CHECK(steady.change > 0.01);
    steady = statistics_find_steady(values, 29, 0.01);
    CHECK(!steady.steady && isnan(steady.change));
    for (size_t i = 0; i < 3000; i++)
        values[i] = 7;
    steady = statistics_find_steady(values, 3000, 0.01);
    CHECK(steady.steady && steady.from == 0);
    CHECK(statistics_find_steady(values, 30, 0.01).steady);
    ifg_alloc_fail_after(0);
    CHECK(!statistics_find_steady(values, 3000, 0.01).steady);
}

static void level_changes(void)
{
    double values[400];
    size_t points[8];
    int found = 0, drifts = 0, alarms = 0;

    for (int run = 0; run < 100; run++) {
        for (size_t i = 0; i < 60; i++)
            values[i] = 10 * (i < 25 ? 1 : 1.03) * (1 + 0.005 * normal());
        found += statistics_change_points(values, 60, points, 8) == 1 && points[0] >= 24 &&
                 points[0] <= 26;
        for (size_t i = 0; i < 30; i++) /* 1 % a week */
            values[i] = 10 * pow(1.01, (double)i) * (1 + 0.005 * normal());
        drifts += statistics_change_points(values, 30, points, 8) > 0;
        for (size_t i = 0; i < 100; i++)
            values[i] = 10 * (1 + 0.005 * (run % 2 ? heavy() : normal()));
        alarms += statistics_change_points(values, 100, points, 8) > 0;
    }
    tap_diag("of 100: a step found %d times, a drift %d times, %d false alarms", found, drifts,
             alarms);
    CHECK(found >= 95);
    CHECK_INT(drifts, 100);
    CHECK(alarms <= 2);
    for (size_t i = 0; i < 400; i++)
        values[i] = i / 100 + 1.0;
    CHECK_UINT(statistics_change_points(values, 400, points, 8), 3);
    CHECK(points[0] == 100 && points[1] == 200 && points[2] == 300);
    CHECK_UINT(statistics_change_points(values, 400, points, 1), 1);
    CHECK_UINT(statistics_change_points(values, 9, points, 8), 0);
    CHECK_UINT(statistics_change_points(values, 400, points, 0), 0);
}

/* Single outliers are no level, whatever their size. */
static void outliers_are_no_level(void)
{
    double values[100];
    size_t points[8];

    for (size_t i = 0; i < 100; i++)
        values[i] = i % 17 ? 10 + 0.01 * normal() : 1000;
    CHECK_UINT(statistics_change_points(values, 100, points, 8), 0);
    ifg_alloc_fail_after(0);
    CHECK_UINT(statistics_change_points(values, 100, points, 8), 0);
}

static void long_series(void)
{
    const size_t n = 10000;
    double *values = ifg_alloc(n, sizeof *values);
    size_t points[8];

    REQUIRE(values != NULL);
    for (size_t i = 0; i < n; i++)
        values[i] = (i < 4000 ? 10 : 11) + 0.05 * normal();
    CHECK_UINT(statistics_change_points(values, n, points, 8), 1);
    CHECK_UINT(points[0], 4000);
    ifg_free(values);
}

TAP_MAIN(TAP_CASE(random_numbers), TAP_CASE(quantiles), TAP_CASE(medians),
         TAP_CASE(order_statistics), TAP_CASE(numbers_needed), TAP_CASE(many_values),
         TAP_CASE(share_bounds), TAP_CASE(summaries), TAP_CASE(hierarchical_bootstrap),
         TAP_CASE(bootstrap_refuses), TAP_CASE(block_means), TAP_CASE(thinned_bootstrap),
         TAP_CASE(dependence), TAP_CASE(trends), TAP_CASE(steady_states), TAP_CASE(level_changes),
         TAP_CASE(outliers_are_no_level), TAP_CASE(long_series))
