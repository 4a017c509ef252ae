// SPDX-License-Identifier: Apache-2.0
/*
 * Medians of a stream in constant memory: the last values as they are, and histograms for when
 * there were more. A cell is 1/64 of a power of two wide and stands for its middle, so that the
 * error is at most 1/128.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/live_internal.h"
#include "base/alloc.h"
#include "base/quantile.h"

#define SHARE_BITS  6u
#define LARGEST_LOG 44u /* 2^44 ns are 4.9 hours; longer ones count as that */
#define CELLS       IFG_CELLS(SHARE_BITS, LARGEST_LOG)
#define HELD        (LIVE_WINDOW + 1) /* seconds with a histogram */

static size_t cell_of(uint64_t value)
{
    return value >> LARGEST_LOG ? CELLS - 1 : ifg_cell_of(value, SHARE_BITS);
}

void live_distribution_fini(struct live_distribution *distribution)
{
    ifg_free(distribution->cells);
    ifg_free(distribution->second_cells);
    ifg_free(distribution->second_of_cells);
    ifg_free(distribution->kept);
    memset(distribution, 0, sizeof *distribution);
}

static bool prepare(struct live_distribution *distribution, bool window)
{
    if (!distribution->kept)
        distribution->kept = ifg_alloc(LIVE_EXACT, sizeof *distribution->kept);
    if (!distribution->cells)
        distribution->cells = ifg_alloc(CELLS, sizeof *distribution->cells);
    if (window && !distribution->second_cells)
        distribution->second_cells =
            ifg_alloc((size_t)HELD * CELLS, sizeof *distribution->second_cells);
    if (window && !distribution->second_of_cells) {
        distribution->second_of_cells = ifg_alloc(HELD, sizeof *distribution->second_of_cells);
        for (size_t i = 0; distribution->second_of_cells && i < HELD; i++)
            distribution->second_of_cells[i] = INT64_MIN;
    }
    return distribution->kept && distribution->cells &&
           (!window || (distribution->second_cells && distribution->second_of_cells));
}

bool live_distribution_add(struct live_distribution *distribution, uint64_t duration_ns,
                           int64_t second, bool window)
{
    size_t cell = cell_of(duration_ns);
    size_t slot = (size_t)(((second % HELD) + HELD) % HELD);

    if (!prepare(distribution, window))
        return false;
    distribution->kept[distribution->count++ % LIVE_EXACT] =
        (struct live_kept){ duration_ns, second };
    distribution->cells[cell]++;
    if (!window || distribution->second_of_cells[slot] > second)
        return true;
    if (distribution->second_of_cells[slot] != second)
        memset(distribution->second_cells + slot * CELLS, 0,
               CELLS * sizeof *distribution->second_cells);
    distribution->second_of_cells[slot] = second;
    distribution->second_cells[slot * CELLS + cell]++;
    return true;
}

/* Of the kept ones from a second on. */
static double exact_median(const struct live_distribution *distribution, int64_t from)
{
    uint64_t values[LIVE_EXACT];
    size_t held = distribution->count < LIVE_EXACT ? (size_t)distribution->count : LIVE_EXACT;
    size_t count = 0;

    for (size_t i = 0; i < held; i++)
        if (distribution->kept[i].second >= from)
            values[count++] = distribution->kept[i].duration_ns;
    return ifg_median_u64(values, count);
}

double live_median(const struct live *live, unsigned category)
{
    const struct live_distribution *distribution = &live->distributions[category];

    if (!distribution->count || !distribution->kept || !distribution->cells)
        return NAN;
    if (distribution->count <= LIVE_EXACT)
        return exact_median(distribution, INT64_MIN);
    return ifg_cells_median(distribution->cells, CELLS, SHARE_BITS);
}

double live_window_median(const struct live *live, unsigned category)
{
    const struct live_distribution *distribution = &live->distributions[category];
    int64_t from = live_second_of(live, live->now_ns) - LIVE_WINDOW + 1;
    uint64_t sums[CELLS] = { 0 };
    uint64_t count = 0;
    bool all_kept = distribution->count <= LIVE_EXACT;

    if (!distribution->count || !distribution->kept || !distribution->second_cells ||
        !distribution->second_of_cells)
        return NAN;
    for (size_t slot = 0; slot < HELD; slot++) {
        const uint32_t *cells = distribution->second_cells + slot * CELLS;

        if (distribution->second_of_cells[slot] < from)
            continue;
        for (size_t i = 0; i < CELLS; i++) {
            sums[i] += cells[i];
            count += cells[i];
        }
    }
    if (all_kept || count <= LIVE_EXACT) {
        /* Those that are kept came last, and so all that are in the window are among them. */
        return exact_median(distribution, from);
    }
    return ifg_cells_median(sums, CELLS, SHARE_BITS);
}
