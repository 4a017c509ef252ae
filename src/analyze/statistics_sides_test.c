// SPDX-License-Identifier: Apache-2.0
/* Two sides: intervals of changes against simulated truth, tests against counting. */
#include "analyze/statistics.h"

#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "base/quantile.h"
#include "tap.h"

#define MOST 64u

static uint64_t chance = 31;

static double uniform(void)
{
    return ((double)(statistics_random(&chance) >> 11) + 0.5) / 9007199254740992.0;
}

static double normal(void)
{
    return sqrt(-2 * log(uniform())) * cos(2 * M_PI * uniform());
}

/* One in ten is twenty times as far off. */
static double contaminated(void)
{
    return uniform() < 0.1 ? 20 * normal() : normal();
}

static bool near(double got, double expected)
{
    bool good = fabs(got - expected) <= 1e-9 * fmax(fabs(expected), 1e-300);

    if (!good)
        tap_diag("got %.17g, expected %.17g", got, expected);
    return good;
}

static void pairs(void)
{
    const double a[] = { 1, 2, 3, 4, 5, 6 };
    const double b[] = { 1.1, 2.2, 3.3, 4.4, 5.5, 6.6 };
    struct statistics_change change;
    struct ifg_error err;

    REQUIRE(statistics_paired_change(a, b, NULL, 6, 0.95, 1, &change, &err) == IFG_OK);
    CHECK_UINT(change.units, 6);
    CHECK(change.known && fabs(change.change - 0.1) < 1e-12 && change.half_width < 1e-12);
    CHECK(near(change.p, 2.0 / 64));
    CHECK_INT(statistics_judge(&change, 0.02), STATISTICS_REGRESSED);
    CHECK_INT(statistics_judge(&change, 0.2), STATISTICS_SAME);
    REQUIRE(statistics_paired_change(b, a, NULL, 6, 0.95, 1, &change, &err) == IFG_OK);
    CHECK_INT(statistics_judge(&change, 0.02), STATISTICS_IMPROVED);
    REQUIRE(statistics_paired_change(a, b, NULL, 5, 0.95, 1, &change, &err) == IFG_OK);
    CHECK(!change.known);
    CHECK_INT(statistics_judge(&change, 0.02), STATISTICS_UNSURE);
    CHECK_UINT(statistics_more(&change, 0.02), 1);
    REQUIRE(statistics_paired_change(a, a, NULL, 6, 0.95, 1, &change, &err) == IFG_OK);
    CHECK(change.change == 0 && change.p == 1);
    CHECK_INT(statistics_judge(&change, 0.02), STATISTICS_SAME);
    CHECK_STR(statistics_verdict_name(STATISTICS_UNSURE), "UNSURE");
}

static void pairs_refused(void)
{
    const double a[] = { 1, 2, 3, 4, 5, 6 };
    const double zero[] = { 1, 2, 0, 4, 5, 6 };
    const double infinite[] = { 1, 2, INFINITY, 4, 5, 6 };
    struct statistics_change change;
    struct ifg_error err;

    CHECK_INT(statistics_paired_change(a, zero, NULL, 6, 0.95, 1, &change, &err), IFG_INVALID);
    CHECK_INT(statistics_paired_change(infinite, a, NULL, 6, 0.95, 1, &change, &err), IFG_INVALID);
    CHECK_INT(statistics_paired_change(a, a, NULL, 0, 0.95, 1, &change, &err), IFG_INVALID);
    CHECK_INT(statistics_unpaired_change(a, NULL, 6, zero, NULL, 6, 0.95, 1, 1, &change, &err),
              IFG_INVALID);
    for (long i = 0; i < 20; i++) {
        enum ifg_status status;

        ifg_alloc_fail_after(i);
        status = statistics_paired_change(a, a, NULL, 6, 0.95, 1, &change, &err);
        ifg_alloc_fail_after(i);
        if (!status)
            CHECK(i >= 6);
        else
            CHECK_INT(status, IFG_NO_MEMORY);
        status = statistics_unpaired_change(a, NULL, 6, a, NULL, 6, 0.95, 1, 1, &change, &err);
        ifg_alloc_fail_after(-1);
        CHECK(status == IFG_OK || status == IFG_NO_MEMORY);
    }
}

/* Pairs of different strata are drawn apart, in whatever order they come. */
static void strata_are_kept(void)
{
    double a[40], b[40];
    uint32_t strata[40];
    struct statistics_change mixed, apart;
    struct ifg_error err;

    for (size_t i = 0; i < 40; i++) {
        strata[i] = i % 2;
        a[i] = 10;
        b[i] = strata[i] ? 10.5 + 0.001 * (double)i : 10.1 + 0.001 * (double)i;
    }
    REQUIRE(statistics_paired_change(a, b, NULL, 40, 0.95, 1, &mixed, &err) == IFG_OK);
    REQUIRE(statistics_paired_change(a, b, strata, 40, 0.95, 1, &apart, &err) == IFG_OK);
    CHECK(near(mixed.change, apart.change));
    CHECK(apart.low <= apart.change && apart.change <= apart.high);
    CHECK(apart.half_width <= mixed.half_width);
}

/* The bar of false alarms: identical sides, noise without a variance to speak of. */
static void false_alarms(void)
{
    double a[MOST], b[MOST];

    for (size_t n = 6; n <= 40; n += n < 12 ? 1 : 9) {
        int alarms = 0, covered = 0;
        const int runs = 300;

        for (int run = 0; run < runs; run++) {
            struct statistics_change change;

            for (size_t i = 0; i < n; i++) {
                a[i] = 10 * exp(0.01 * contaminated());
                b[i] = 10 * exp(0.01 * contaminated());
            }
            REQUIRE(statistics_paired_change(a, b, NULL, n, 0.95, 1, &change, NULL) == IFG_OK);
            alarms += change.low > 0 || change.high < 0;
            for (size_t i = 0; i < n; i++)
                b[i] *= 1.03;
            REQUIRE(statistics_paired_change(a, b, NULL, n, 0.95, 1, &change, NULL) == IFG_OK);
            covered += change.low <= 0.03 && 0.03 <= change.high;
        }
        tap_diag("%zu pairs: %.1f %% false alarms, 3 %% inside in %.1f %%", n,
                 100.0 * alarms / runs, 100.0 * covered / runs);
        CHECK(alarms <= 0.08 * runs); /* 5 %, and what chance adds to 300 of them */
        CHECK(covered >= 0.92 * runs);
    }
}

static double p_by_counting(const double *values, size_t n)
{
    double ranks[16];
    double observed = 0, total = 0, least;
    size_t extreme = 0;

    for (size_t i = 0; i < n; i++) {
        ranks[i] = 0.5;
        for (size_t j = 0; j < n; j++)
            ranks[i] += fabs(values[j]) < fabs(values[i])    ? 1
                        : fabs(values[j]) == fabs(values[i]) ? 0.5
                                                             : 0;
        total += ranks[i];
        observed += values[i] > 0 ? ranks[i] : 0;
    }
    least = fmin(observed, total - observed);
    for (size_t signs = 0; signs < (size_t)1 << n; signs++) {
        double sum = 0;

        for (size_t i = 0; i < n; i++)
            sum += signs >> i & 1 ? ranks[i] : 0;
        extreme += sum <= least + 1e-9;
    }
    return fmin(1, 2 * (double)extreme / (double)((size_t)1 << n));
}

static void signed_ranks(void)
{
    double a[10], b[10], logs[10];
    double many_a[400], many_b[400];
    struct statistics_change change;

    for (int run = 0; run < 20; run++) {
        for (size_t i = 0; i < 10; i++) {
            a[i] = 1;
            b[i] =
                run % 2 ? exp(0.1 + 0.2 * normal()) : exp(0.5 * floor(4 * uniform() - 1.5) + 0.25);
            logs[i] = log(b[i]);
        }
        REQUIRE(statistics_paired_change(a, b, NULL, 10, 0.95, 1, &change, NULL) == IFG_OK);
        CHECK(near(change.p, p_by_counting(logs, 10)));
    }
    /* Above 200 pairs by approximation: close to 200 by counting. */
    for (size_t i = 0; i < 400; i++) {
        many_a[i] = 1;
        many_b[i] = exp(0.15 + normal());
    }
    REQUIRE(statistics_paired_change(many_a, many_b, NULL, 400, 0.95, 1, &change, NULL) == IFG_OK);
    CHECK(change.p < 0.05 && change.p > 1e-8);
}

static void not_paired(void)
{
    double a[100], b[100];
    uint32_t process[100];
    struct statistics_change change, wider;
    int alarms = 0;
    const int runs = 100;

    for (size_t i = 0; i < 100; i++)
        process[i] = (uint32_t)(i / 20);
    for (int run = 0; run < runs; run++) {
        for (size_t i = 0; i < 100; i++) {
            static double of_a, of_b;

            if (i % 20 == 0) {
                of_a = 0.024 * normal();
                of_b = 0.024 * normal();
            }
            a[i] = 10 * exp(of_a + 0.0075 * normal());
            b[i] = 10 * exp(of_b + 0.0075 * normal());
        }
        REQUIRE(statistics_unpaired_change(a, process, 100, b, process, 100, 0.95, 1, 1, &change,
                                           NULL) == IFG_OK);
        CHECK_UINT(change.units, 5);
        alarms += change.low > 0 || change.high < 0;
    }
    tap_diag("5 processes a side, alike: %d of %d intervals without 0", alarms, runs);
    CHECK(alarms <= 10);
    REQUIRE(statistics_unpaired_change(a, process, 100, b, process, 100, 0.95, 2, 1, &wider,
                                       NULL) == IFG_OK);
    CHECK(wider.half_width > 1.8 * change.half_width);
    for (size_t i = 0; i < 100; i++)
        b[i] = 1.5 * a[i];
    REQUIRE(statistics_unpaired_change(a, process, 100, b, process, 100, 0.95, 1, 1, &change,
                                       NULL) == IFG_OK);
    CHECK(change.known && near(change.change, 0.5));
    CHECK_INT(statistics_judge(&change, 0.02), STATISTICS_REGRESSED);
    /* One process cannot show what processes differ by, so that is assumed. */
    REQUIRE(statistics_unpaired_change(a, NULL, 20, a, NULL, 20, 0.95, 1, 1, &change, NULL) ==
            IFG_OK);
    CHECK(change.known && change.half_width > 0.06);
    CHECK_UINT(change.units, 20);
    REQUIRE(statistics_unpaired_change(a, NULL, 5, a, NULL, 20, 0.95, 1, 1, &change, NULL) ==
            IFG_OK);
    CHECK(!change.known);
}

static void verdicts(void)
{
    struct statistics_change change = { .units = 20, .known = true };

    change.low = -0.03, change.high = 0.03, change.half_width = 0.03;
    CHECK_INT(statistics_judge(&change, 0.02), STATISTICS_UNSURE);
    CHECK_UINT(statistics_more(&change, 0.02), 25); /* 20 (1.5^2 - 1) */
    change.low = -0.02, change.high = 0.02;
    CHECK_INT(statistics_judge(&change, 0.02), STATISTICS_SAME);
    change.low = 0.02, change.high = 0.04;
    CHECK_INT(statistics_judge(&change, 0.02), STATISTICS_UNSURE);
    change.low = 0.021;
    CHECK_INT(statistics_judge(&change, 0.02), STATISTICS_REGRESSED);
    change.low = -0.04, change.high = -0.021;
    CHECK_INT(statistics_judge(&change, 0.02), STATISTICS_IMPROVED);
    change.change = 0.02; /* on the line itself nothing decides */
    CHECK_UINT(statistics_more(&change, 0.02), 0);
    change.change = 0.01, change.half_width = 0.005;
    CHECK_UINT(statistics_more(&change, 0.02), 1);
}

static void second_opinions(void)
{
    double a[30], b[40];
    double differences[1200];
    struct statistics_second_opinion opinion;
    struct ifg_error err;
    double larger = 0;

    for (size_t i = 0; i < 30; i++)
        a[i] = floor(20 * uniform());
    for (size_t i = 0; i < 40; i++)
        b[i] = floor(20 * uniform()) + 3;
    for (size_t i = 0; i < 30; i++)
        for (size_t j = 0; j < 40; j++) {
            larger += b[j] > a[i] ? 1 : b[j] < a[i] ? -1 : 0;
            differences[i * 40 + j] = b[j] - a[i];
        }
    statistics_sort(differences, 1200);
    REQUIRE(statistics_second_opinion(a, 30, b, 40, &opinion, &err) == IFG_OK);
    CHECK(near(opinion.cliffs_delta, larger / 1200));
    CHECK(near(opinion.shift, ifg_quantile_sorted(differences, 1200, 0.5, IFG_QUANTILE_LINEAR)));
    CHECK(opinion.u_p > 0 && opinion.u_p < 1);
    /* Without ties: U = 0 of 3 x 3, variance 9 * 7 / 12. */
    REQUIRE(statistics_second_opinion((double[]){ 1, 2, 3 }, 3, (double[]){ 4, 5, 6 }, 3, &opinion,
                                      &err) == IFG_OK);
    CHECK(near(opinion.u_p, erfc(4 / sqrt(5.25) / sqrt(2))));
    CHECK(near(opinion.cliffs_delta, 1));
    CHECK(near(opinion.shift, 3));
    CHECK_INT(statistics_second_opinion(a, 0, b, 40, &opinion, &err), IFG_INVALID);
    for (long i = 0; i < 4; i++) {
        ifg_alloc_fail_after(i);
        CHECK_INT(statistics_second_opinion(a, 30, b, 40, &opinion, &err), IFG_NO_MEMORY);
    }
}

static void many_tests(void)
{
    /* The example of the paper: 15 tests, 4 survive at 5 %. */
    const double p[] = { 0.0001, 0.0004, 0.0019, 0.0095, 0.0201, 0.0278, 0.0298, 0.0344,
                         0.0459, 0.3240, 0.4262, 0.5719, 0.6528, 0.7590, 1.0000 };
    const double some[] = { 0.01, NAN, 0.9 };
    bool out[15];
    size_t survivors = 0;

    REQUIRE(statistics_survivors(p, 15, 0.05, out, NULL) == IFG_OK);
    for (size_t i = 0; i < 15; i++)
        survivors += out[i];
    CHECK_UINT(survivors, 4);
    CHECK(out[3] && !out[4]);
    REQUIRE(statistics_survivors(some, 3, 0.05, out, NULL) == IFG_OK);
    CHECK(out[0] && !out[1] && !out[2]);
    REQUIRE(statistics_survivors(some, 0, 0.05, out, NULL) == IFG_OK);
    ifg_alloc_fail_after(0);
    CHECK_INT(statistics_survivors(p, 15, 0.05, out, NULL), IFG_NO_MEMORY);
}

TAP_MAIN(TAP_CASE(pairs), TAP_CASE(pairs_refused), TAP_CASE(strata_are_kept),
         TAP_CASE(false_alarms), TAP_CASE(signed_ranks), TAP_CASE(not_paired), TAP_CASE(verdicts),
         TAP_CASE(second_opinions), TAP_CASE(many_tests))
