// SPDX-License-Identifier: Apache-2.0
/* Quantiles: see quantile.h. */
#include "base/quantile.h"

#include <math.h>
#include <string.h>

#include "base/alloc.h"

struct ifg_quantile_ranks ifg_quantile_ranks(size_t count, double q, enum ifg_quantile_rule rule)
{
    double at = rule == IFG_QUANTILE_NEAREST ? (double)count * q : (double)(count - 1) * q;
    size_t low = at > 0 ? (size_t)at : 0;

    if (low >= count - 1)
        return (struct ifg_quantile_ranks){ count - 1, count - 1, 0 };
    if (rule == IFG_QUANTILE_NEAREST)
        return (struct ifg_quantile_ranks){ low, low, 0 };
    return (struct ifg_quantile_ranks){ low, low + 1, at - (double)low };
}

/* The value of this rank where sorting would put it, nothing larger before it and nothing smaller
 * behind it (Hoare's selection). The pivots are drawn, so that no order of the values is a bad one;
 * always the same way, so that the same values give the same answer. */
#define SELECT_RANK(name, type)                                                                    \
    static type name(type *values, ptrdiff_t count, ptrdiff_t rank)                                \
    {                                                                                              \
        ptrdiff_t low = 0, high = count - 1;                                                       \
        uint64_t seed = 0x9e3779b97f4a7c15u;                                                       \
                                                                                                   \
        while (low < high) {                                                                       \
            ptrdiff_t i = low, j = high;                                                           \
            type pivot;                                                                            \
                                                                                                   \
            seed = seed * 6364136223846793005u + 1442695040888963407u;                             \
            pivot = values[low + (ptrdiff_t)((seed >> 33) % (uint64_t)(high - low + 1))];          \
            do {                                                                                   \
                while (values[i] < pivot)                                                          \
                    i++;                                                                           \
                while (pivot < values[j])                                                          \
                    j--;                                                                           \
                if (i <= j) {                                                                      \
                    type moving = values[i];                                                       \
                                                                                                   \
                    values[i++] = values[j];                                                       \
                    values[j--] = moving;                                                          \
                }                                                                                  \
            } while (i <= j);                                                                      \
            if (j < rank)                                                                          \
                low = i;                                                                           \
            if (rank < i)                                                                          \
                high = j;                                                                          \
        }                                                                                          \
        return values[rank];                                                                       \
    }

SELECT_RANK(select_double, double)
SELECT_RANK(select_u64, uint64_t)

double ifg_quantile_sorted(const double *sorted, size_t count, double q,
                           enum ifg_quantile_rule rule)
{
    struct ifg_quantile_ranks ranks;

    if (!count)
        return NAN;
    ranks = ifg_quantile_ranks(count, q, rule);
    if (!(ranks.part > 0)) /* nothing between: infinite values stay what they are */
        return sorted[ranks.low];
    return sorted[ranks.low] + ranks.part * (sorted[ranks.high] - sorted[ranks.low]);
}

double ifg_quantile_sorted_u64(const uint64_t *sorted, size_t count, double q,
                               enum ifg_quantile_rule rule)
{
    struct ifg_quantile_ranks ranks;

    if (!count)
        return NAN;
    ranks = ifg_quantile_ranks(count, q, rule);
    return (double)sorted[ranks.low] +
           ranks.part * ((double)sorted[ranks.high] - (double)sorted[ranks.low]);
}

double ifg_quantile(double *values, size_t count, double q)
{
    struct ifg_quantile_ranks ranks;
    double low, high;

    if (!count)
        return NAN;
    ranks = ifg_quantile_ranks(count, q, IFG_QUANTILE_LINEAR);
    low = select_double(values, (ptrdiff_t)count, (ptrdiff_t)ranks.low);
    if (!(ranks.part > 0)) /* nothing between: infinite values stay what they are */
        return low;
    high = values[ranks.high];
    for (size_t i = ranks.high + 1; i < count; i++)
        high = values[i] < high ? values[i] : high;
    return low + ranks.part * (high - low);
}

double ifg_quantile_u64(uint64_t *values, size_t count, double q)
{
    struct ifg_quantile_ranks ranks;
    uint64_t low, high;

    if (!count)
        return NAN;
    ranks = ifg_quantile_ranks(count, q, IFG_QUANTILE_LINEAR);
    low = select_u64(values, (ptrdiff_t)count, (ptrdiff_t)ranks.low);
    if (!(ranks.part > 0))
        return (double)low;
    high = values[ranks.high];
    for (size_t i = ranks.high + 1; i < count; i++)
        high = values[i] < high ? values[i] : high;
    return (double)low + ranks.part * (double)(high - low);
}

static double middle_of(size_t cell, unsigned bits)
{
    unsigned log = (unsigned)(cell >> bits); /* of the cell's width, + 1 */
    size_t share = (size_t)1 << bits;

    if (log <= 1)
        return (double)cell;
    return ldexp((double)(share + (cell & (share - 1))), (int)log - 1) +
           (ldexp(1, (int)log - 1) - 1) / 2;
}

double ifg_cells_median(const uint64_t *cells, size_t cell_count, unsigned bits)
{
    uint64_t count = 0, seen = 0;

    for (size_t i = 0; i < cell_count; i++)
        count += cells[i];
    for (size_t i = 0; i < cell_count; i++) {
        seen += cells[i];
        if (seen && seen > (count - 1) / 2)
            return middle_of(i, bits);
    }
    return NAN;
}

double ifg_median_of_copy(const double *values, size_t count)
{
    double *copy = count ? ifg_alloc(count, sizeof *copy) : NULL;
    double median = NAN;

    if (copy) {
        memcpy(copy, values, count * sizeof *copy);
        median = ifg_median(copy, count);
    }
    ifg_free(copy);
    return median;
}
