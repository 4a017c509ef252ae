// SPDX-License-Identifier: Apache-2.0
/* Values that stand still, fall and come to rest, and fall to the end. */
#include "base/rest.h"

#include "tap.h"

#define COUNT(values) (sizeof(values) / sizeof(values)[0])

static void steady(void)
{
    static const double values[] = { 81, 80, 82, 81, 80, 81 }, noisy[] = { 95, 70, 94, 69, 93, 71 };
    bool falls = true;

    CHECK_UINT(ifg_rest_from(values, COUNT(values), 0, &falls), 0);
    CHECK(!falls);
    CHECK_UINT(ifg_rest_from(noisy, COUNT(noisy), 0.2, &falls), 0);
    CHECK(!falls);
}

static void comes_to_rest(void)
{
    static const double values[] = { 140, 135, 130, 81, 80, 82, 81, 80, 81, 80 };
    bool falls = true;

    CHECK_UINT(ifg_rest_from(values, COUNT(values), 0.2, &falls), 5);
    CHECK(!falls);
}

static void falls_to_the_end(void)
{
    static const double values[] = { 200, 180, 150, 130, 110, 90, 70, 50 };
    bool falls = false;

    CHECK(ifg_rest_from(values, COUNT(values), 0, &falls) >= 6);
    CHECK(falls);
}

/* What comes up is not on its way to rest; of few nothing can be said. */
static void others(void)
{
    static const double rising[] = { 80, 80, 90, 100 }, few[] = { 200, 100, 50 };
    bool falls = true;

    CHECK_UINT(ifg_rest_from(rising, COUNT(rising), 0, &falls), 0);
    CHECK(!falls);
    CHECK_UINT(ifg_rest_from(few, COUNT(few), 0, &falls), 0);
    CHECK(!falls);
    CHECK_UINT(ifg_rest_from(few, 0, 0, &falls), 0);
}

TAP_MAIN(TAP_CASE(steady), TAP_CASE(comes_to_rest), TAP_CASE(falls_to_the_end), TAP_CASE(others))
