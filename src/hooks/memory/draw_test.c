// SPDX-License-Identifier: Apache-2.0
/* The distribution of what is picked. */
#include "hooks/memory/draw.h"

#include <math.h>

#include "tap.h"

#define DRAWS 200000

static void logarithm(void)
{
    double worst = 0;

    for (uint64_t n = 1; n < 1ull << 60; n += n / 7 + 1)
        worst = fmax(worst, fabs(draw_log(n) - log((double)n)));
    CHECK(worst < 1e-7);
    CHECK(draw_log(1) == 0);
}

/* Mean and median of an exponential distribution; nothing below zero. */
static void intervals(void)
{
    const double mean = 524288;
    uint64_t state = 88172645463325252ull;
    double sum = 0;
    int below = 0;

    for (int i = 0; i < DRAWS; i++) {
        int64_t one = draw_interval(&state, (uint64_t)mean);

        CHECK(one >= 0);
        sum += (double)one;
        below += (double)one < mean * log(2);
    }
    CHECK(fabs(sum / DRAWS / mean - 1) < 0.02);
    CHECK(fabs((double)below / DRAWS - 0.5) < 0.01);
}

/* Picked bytes stand for all bytes, whatever the sizes are. */
static void estimate(void)
{
    static const double sizes[] = { 24, 4000, 100000, 500000 };
    const double mean = 524288;
    uint64_t state = 1234567;

    for (size_t s = 0; s < 4; s++) {
        int64_t left = draw_interval(&state, (uint64_t)mean);
        double all = 0, seen = 0;

        while (all < 4000 * mean) {
            all += sizes[s];
            left -= (int64_t)sizes[s];
            if (left >= 0)
                continue;
            seen += sizes[s] / -expm1(-sizes[s] / mean);
            left = draw_interval(&state, (uint64_t)mean);
        }
        CHECK(fabs(seen / all - 1) < 0.06); /* 4000 picks: 1.6 % is one deviation */
    }
}

TAP_MAIN(TAP_CASE(logarithm), TAP_CASE(intervals), TAP_CASE(estimate))
