// SPDX-License-Identifier: Apache-2.0
/*
 * Medians and other quantiles of numbers, in one place: what a median is does not differ from one
 * table to the next. Of no values they are NAN. None of the values is.
 */
#ifndef IFG_BASE_QUANTILE_H
#define IFG_BASE_QUANTILE_H

#include <stddef.h>
#include <stdint.h>

enum ifg_quantile_rule {
    IFG_QUANTILE_LINEAR,  /* between the two neighbours of q * (count - 1) */
    IFG_QUANTILE_NEAREST, /* the value at q * count, as perf_analyzer and others have it */
};

/* Between which two of the sorted values it lies, and how far from the lower one. */
struct ifg_quantile_ranks {
    size_t low;
    size_t high;
    double part;
};
struct ifg_quantile_ranks ifg_quantile_ranks(size_t count, double q, enum ifg_quantile_rule rule);

double ifg_quantile_sorted(const double *sorted, size_t count, double q,
                           enum ifg_quantile_rule rule);
double ifg_quantile_sorted_u64(const uint64_t *sorted, size_t count, double q,
                               enum ifg_quantile_rule rule);

/* Of values in any order, which they change; linear. In linear time, whatever the order. */
double ifg_quantile(double *values, size_t count, double q);
double ifg_quantile_u64(uint64_t *values, size_t count, double q);

static inline double ifg_median(double *values, size_t count)
{
    return ifg_quantile(values, count, 0.5);
}

static inline double ifg_median_u64(uint64_t *values, size_t count)
{
    return ifg_quantile_u64(values, count, 0.5);
}

/* Histograms of whole numbers below 2^log: each value below 2^bits has a cell of its own, then each
 * power of two has 2^bits of them. The middle of a cell is off by at most 1 / 2^(bits + 1). */
#define IFG_CELLS(bits, log) (((log) - (bits) + 1u) << (bits))

static inline uint32_t ifg_cell_of(uint64_t value, unsigned bits)
{
    unsigned log;

    if (value < (UINT64_C(1) << bits))
        return (uint32_t)value;
    log = 63u - (unsigned)__builtin_clzll(value);
    return ((log - bits + 1) << bits) |
           (uint32_t)((value >> (log - bits)) & ((UINT64_C(1) << bits) - 1));
}

/* The middle of the cell with the lower of the two values in the middle. */
double ifg_cells_median(const uint64_t *cells, size_t cell_count, unsigned bits);

/* The same for values that must stay as they are; NAN also without memory. */
double ifg_median_of_copy(const double *values, size_t count);

#endif
