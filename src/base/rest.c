// SPDX-License-Identifier: Apache-2.0
/* Where values come to rest: see rest.h. */
#include "base/rest.h"

#define ALIKE  0.03
#define FEWEST 4u /* values that can be compared by halves */

static double mean(const double *values, size_t count)
{
    double sum = 0;

    for (size_t i = 0; i < count; i++)
        sum += values[i];
    return sum / (double)count;
}

size_t ifg_rest_from(const double *values, size_t count, double noise, bool *out_falls)
{
    size_t from = 0;

    *out_falls = false;
    while (count - from >= FEWEST) {
        size_t half = (count - from) / 2;
        double first = mean(values + from, half);
        double then = mean(values + from + half, count - from - half);

        if (first <= then * (1 + ALIKE + 2 * noise / (double)half))
            return from;
        from += half;
        *out_falls = count - from < FEWEST;
    }
    return from;
}
