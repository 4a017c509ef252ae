// SPDX-License-Identifier: Apache-2.0
/* Durations of many events: see values.h. */
#include "server/values.h"

#include <math.h>
#include <string.h>

#define LOG_FROM_RATIO 30.0

void values_histogram(const uint64_t *values, size_t count, struct values_bins *out)
{
    uint64_t least = UINT64_MAX;
    uint64_t most = 0;
    double scale;

    memset(out, 0, sizeof *out);
    for (size_t i = 0; i < count; i++) {
        least = values[i] < least ? values[i] : least;
        most = values[i] > most ? values[i] : most;
    }
    if (count == 0)
        return;
    out->log = (double)most > LOG_FROM_RATIO * (double)(least ? least : 1);
    out->from = out->log && least == 0 ? 1 : (double)least;
    out->to = (double)most > out->from ? (double)most : out->from + 1;
    scale = VALUES_BINS / (out->log ? log(out->to / out->from) : out->to - out->from);
    for (size_t i = 0; i < count; i++) {
        double value = (double)values[i] > out->from ? (double)values[i] : out->from;
        double bin = (out->log ? log(value / out->from) : value - out->from) * scale;

        out->bins[bin < VALUES_BINS ? (size_t)bin : VALUES_BINS - 1]++;
    }
}
