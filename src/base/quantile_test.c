// SPDX-License-Identifier: Apache-2.0
/* Quantiles: both rules, values in any order against values that are sorted, and hard orders. */
#include "base/quantile.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "tap.h"

static void both_rules(void)
{
    static const double ten[] = { 1, 2, 3, 4, 5, 6, 7, 8, 9, 10 };
    double endless[] = { 1, INFINITY, INFINITY };
    static const uint64_t numbers[] = { 1, 2, 3, 4, 5, 6, 7, 8, 9, 10 };

    CHECK(ifg_quantile_sorted(ten, 10, 0.5, IFG_QUANTILE_LINEAR) == 5.5);
    CHECK(ifg_quantile_sorted(ten, 10, 0.5, IFG_QUANTILE_NEAREST) == 6);
    CHECK(ifg_quantile_sorted(ten, 10, 1, IFG_QUANTILE_LINEAR) == 10);
    CHECK(ifg_quantile_sorted(ten, 10, 1, IFG_QUANTILE_NEAREST) == 10);
    CHECK(ifg_quantile_sorted(ten, 10, 0, IFG_QUANTILE_LINEAR) == 1);
    CHECK(ifg_quantile_sorted(ten, 10, 0, IFG_QUANTILE_NEAREST) == 1);
    CHECK(ifg_quantile_sorted(ten, 1, 0.99, IFG_QUANTILE_LINEAR) == 1);
    CHECK(ifg_quantile_sorted_u64(numbers, 10, 0.5, IFG_QUANTILE_LINEAR) == 5.5);
    CHECK(ifg_quantile_sorted_u64(numbers, 10, 0.9, IFG_QUANTILE_NEAREST) == 10);
    CHECK(ifg_quantile_sorted_u64(numbers, 1, 0.5, IFG_QUANTILE_NEAREST) == 1);
    CHECK(isinf(ifg_quantile_sorted(endless, 3, 1, IFG_QUANTILE_LINEAR)));
    CHECK(isinf(ifg_quantile(endless, 3, 1)));
}

static void of_nothing_there_is_none(void)
{
    CHECK(isnan(ifg_quantile_sorted(NULL, 0, 0.5, IFG_QUANTILE_LINEAR)));
    CHECK(isnan(ifg_quantile_sorted_u64(NULL, 0, 0.5, IFG_QUANTILE_NEAREST)));
    CHECK(isnan(ifg_median(NULL, 0)));
    CHECK(isnan(ifg_median_u64(NULL, 0)));
    CHECK(isnan(ifg_median_of_copy(NULL, 0)));
}

static int by_number(const void *left, const void *right)
{
    uint64_t a = *(const uint64_t *)left;
    uint64_t b = *(const uint64_t *)right;

    return a < b ? -1 : a > b;
}

static void any_order_is_as_good_as_sorted(void)
{
    static const double qs[] = { 0, 0.01, 0.25, 0.5, 0.9, 0.99, 1 };
    uint64_t seed = 1;

    for (size_t round = 0; round < 2000; round++) {
        uint64_t numbers[64], sorted[64];
        double values[64];
        size_t count = 1 + round % 64;
        double q = qs[round % 7];

        for (size_t i = 0; i < count; i++) {
            seed = seed * 6364136223846793005u + 1442695040888963407u;
            sorted[i] = numbers[i] = (seed >> 33) % (round % 3 ? 1000000 : 5);
            values[i] = (double)numbers[i];
        }
        qsort(sorted, count, sizeof *sorted, by_number);
        CHECK(ifg_quantile(values, count, q) ==
              ifg_quantile_sorted_u64(sorted, count, q, IFG_QUANTILE_LINEAR));
        CHECK(ifg_quantile_u64(numbers, count, q) ==
              ifg_quantile_sorted_u64(sorted, count, q, IFG_QUANTILE_LINEAR));
        qsort(numbers, count, sizeof *numbers, by_number);
        CHECK(memcmp(numbers, sorted, count * sizeof *sorted) == 0); /* none was lost */
    }
}

/* Orders that some ways of choosing a pivot take quadratic time for: this test would not end. */
static void no_order_is_a_hard_one(void)
{
    enum { COUNT = 1 << 20 };
    uint64_t *values = ifg_alloc(COUNT, sizeof *values);

    REQUIRE(values != NULL);
    for (uint64_t shape = 0; shape < 4; shape++) {
        for (uint64_t i = 0; i < COUNT; i++)
            values[i] = shape == 0   ? i
                        : shape == 1 ? COUNT - i
                        : shape == 2 ? 7
                                     : (i < COUNT / 2 ? i : COUNT - i);
        (void)ifg_median_u64(values, COUNT);
        CHECK(values[0] <= values[COUNT - 1] || shape == 2);
    }
    ifg_free(values);
}

static void a_copy_leaves_the_values(void)
{
    const double values[] = { 3, 1, 2, 10 };

    CHECK(ifg_median_of_copy(values, 4) == 2.5);
    CHECK(values[0] == 3 && values[3] == 10);
    ifg_alloc_fail_after(0);
    CHECK(isnan(ifg_median_of_copy(values, 4)));
    ifg_alloc_fail_after(-1);
}

static void cells_of_a_histogram(void)
{
    static uint64_t cells[IFG_CELLS(5, 64)];

    CHECK(isnan(ifg_cells_median(cells, IFG_CELLS(5, 64), 5)));
    for (unsigned log = 0; log < 64; log++) {
        uint64_t value = UINT64_C(1) << log;
        uint32_t cell = ifg_cell_of(value, 5);

        REQUIRE(cell < IFG_CELLS(5, 64));
        CHECK(cell > ifg_cell_of(value - 1, 5));
        cells[cell] = 1;
        CHECK(fabs(ifg_cells_median(cells, IFG_CELLS(5, 64), 5) / (double)value - 1) <= 1.0 / 64);
        cells[cell] = 0;
    }
    CHECK_UINT(ifg_cell_of(UINT64_MAX, 5), IFG_CELLS(5, 64) - 1);
    cells[40] = 2; /* of 40: below 64 they are exact */
    cells[ifg_cell_of(1000, 5)] = 2;
    CHECK(ifg_cells_median(cells, IFG_CELLS(5, 64), 5) == 40);
    cells[ifg_cell_of(1000, 5)] = 3;
    CHECK(ifg_cells_median(cells, IFG_CELLS(5, 64), 5) > 990);
}

TAP_MAIN(TAP_CASE(cells_of_a_histogram), TAP_CASE(both_rules), TAP_CASE(of_nothing_there_is_none),
         TAP_CASE(any_order_is_as_good_as_sorted), TAP_CASE(no_order_is_a_hard_one),
         TAP_CASE(a_copy_leaves_the_values))
