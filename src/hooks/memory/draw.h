// SPDX-License-Identifier: Apache-2.0
/*
 * How many bytes until the next pick: exponentially distributed, so that every byte has the same
 * chance whatever was before it. No mathematical library: the hook links nothing but libc.
 */
#ifndef IFG_HOOKS_MEMORY_DRAW_H
#define IFG_HOOKS_MEMORY_DRAW_H

#include <stdint.h>

/* The state is never 0. */
static inline uint64_t draw_random(uint64_t *state)
{
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return *state * 0x2545f4914f6cdd1dull;
}

/* The natural logarithm of a whole number from 1 on. */
static inline double draw_log(uint64_t n)
{
    static const double ln2 = 0.693147180559945309;
    int exponent = 63 - __builtin_clzll(n);
    double m = (double)n / (double)((uint64_t)1 << exponent); /* 1 to 2 */
    double z, square, term, sum = 0;

    if (m > 1.41421356) {
        m /= 2;
        exponent++;
    }
    z = (m - 1) / (m + 1);
    square = z * z;
    term = z;
    for (int i = 1; i < 20; i += 2) {
        sum += term / i;
        term *= square;
    }
    return 2 * sum + exponent * ln2;
}

static inline int64_t draw_interval(uint64_t *state, uint64_t mean)
{
    const uint64_t all = (uint64_t)1 << 48;
    uint64_t n = (draw_random(state) >> 16) + 1; /* 1 to 2^48 */

    return (int64_t)((draw_log(all) - draw_log(n)) * (double)mean);
}

#endif
