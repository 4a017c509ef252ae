// SPDX-License-Identifier: Apache-2.0
/* Durations of many events: see values.h. */
#include "server/values.h"

#include <math.h>
#include <string.h>

#define LOG_FROM_RATIO 30.0

static void swap(uint64_t *a, uint64_t *b)
{
    uint64_t value = *a;

    *a = *b;
    *b = value;
}

/* Puts the k-th smallest to its place, smaller ones before and larger ones behind it. */
static uint64_t select_value(uint64_t *values, size_t count, size_t k)
{
    size_t low = 0;
    size_t high = count - 1;

    while (low < high) {
        size_t middle = low + (high - low) / 2;
        size_t less = low;
        size_t more = high;
        uint64_t pivot;

        /* The median of three, so that sorted values are no trouble. */
        if (values[middle] < values[low])
            swap(&values[middle], &values[low]);
        if (values[high] < values[low])
            swap(&values[high], &values[low]);
        if (values[high] < values[middle])
            swap(&values[high], &values[middle]);
        pivot = values[middle];
        while (less <= more) {
            while (values[less] < pivot)
                less++;
            while (values[more] > pivot)
                more--;
            if (less > more)
                break;
            swap(&values[less++], &values[more]);
            if (more == 0)
                break;
            more--;
        }
        if (k <= more)
            high = more;
        else if (k >= less)
            low = less;
        else
            break;
    }
    return values[k];
}

double values_quantile(uint64_t *values, size_t count, double rank)
{
    double at;
    size_t index;
    uint64_t below;
    uint64_t above = UINT64_MAX;

    if (count == 0)
        return NAN;
    at = rank * (double)(count - 1);
    index = (size_t)at;
    if (index >= count)
        index = count - 1;
    below = select_value(values, count, index);
    if (index + 1 == count)
        return (double)below;
    for (size_t i = index + 1; i < count; i++) /* they are all larger now */
        above = values[i] < above ? values[i] : above;
    return (double)below + (at - (double)index) * (double)(above - below);
}

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
