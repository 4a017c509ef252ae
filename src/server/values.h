// SPDX-License-Identifier: Apache-2.0
/* Durations of many events: how they are distributed, without sorting all of them. */
#ifndef IFG_SERVER_VALUES_H
#define IFG_SERVER_VALUES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define VALUES_BINS 48u

struct values_bins {
    double from, to;
    bool log;
    uint32_t bins[VALUES_BINS];
};

/* Equal steps; steps of equal ratio when the largest is many times the least. */
void values_histogram(const uint64_t *values, size_t count, struct values_bins *out);

#endif
