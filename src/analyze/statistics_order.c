// SPDX-License-Identifier: Apache-2.0
/* Values in the order of time: dependence, trend, steady state, change of level: see samples.h. */
#include "analyze/statistics.h"

#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "base/quantile.h"

double statistics_autocorrelation(const double *values, size_t count)
{
    long double sum = 0, own = 0, next = 0;
    long double mean;

    if (count < 3)
        return 0;
    for (size_t i = 0; i < count; i++)
        sum += values[i];
    mean = sum / (long double)count;
    for (size_t i = 0; i < count; i++) {
        own += (values[i] - mean) * (values[i] - mean);
        if (i)
            next += (values[i] - mean) * (values[i - 1] - mean);
    }
    return own > 0 ? (double)(next / own) : 0;
}

double statistics_effective(size_t count, double autocorrelation)
{
    double n = (double)count;
    double effective = n * (1 - autocorrelation) / (1 + autocorrelation);

    if (!count)
        return 0;
    if (!(effective < n)) /* less than independent is not more than n; -1 divides by 0 */
        return n;
    return effective > 1 ? effective : 1;
}

/* ---- trend -------------------------------------------------------------------------------------
 */

#define TREND_MOST 300u /* pairs are quadratic; more values than this go in as medians of groups */

/* Medians of `groups` runs of neighbours of nearly equal length; false: no memory. */
static bool group_medians(const double *values, size_t count, size_t groups, double *out_medians)
{
    double *scratch = ifg_alloc(count / groups + 2, sizeof *scratch);

    if (!scratch)
        return false;
    for (size_t i = 0; i < groups; i++) {
        size_t from = (size_t)((unsigned __int128)count * i / groups);
        size_t to = (size_t)((unsigned __int128)count * (i + 1) / groups);

        memcpy(scratch, values + from, (to - from) * sizeof *scratch);
        out_medians[i] = ifg_median(scratch, to - from);
    }
    ifg_free(scratch);
    return true;
}

double statistics_mann_kendall(const double *values, size_t count)
{
    double kept[TREND_MOST];
    double sum = 0, ties = 0, n, variance;

    if (count > TREND_MOST) {
        if (!group_medians(values, count, TREND_MOST, kept))
            return 0; /* nothing is known, so nothing is claimed */
        count = TREND_MOST;
    } else if (count) {
        memcpy(kept, values, count * sizeof kept[0]);
    }
    for (size_t i = 1; i < count; i++)
        for (size_t j = 0; j < i; j++)
            sum += (kept[i] > kept[j]) - (kept[i] < kept[j]);
    statistics_sort(kept, count);
    for (size_t i = 0, same; i < count; i += same) {
        double t;

        for (same = 1; i + same < count && kept[i + same] == kept[i]; same++)
            continue;
        t = (double)same;
        ties += t * (t - 1) * (2 * t + 5);
    }
    n = (double)count;
    variance = (n * (n - 1) * (2 * n + 5) - ties) / 18;
    if (count < 3 || !(variance > 0))
        return 1;
    return erfc(fmax(fabs(sum) - 1, 0) / sqrt(2 * variance));
}

/* ---- steady state ------------------------------------------------------------------------------
 */

#define STEADY_WINDOW 10u
#define STEADY_P      0.05

/* How far apart the medians of the three windows from here are, relative to the least. */
static double windows_apart(const double *medians, size_t stride)
{
    double least = fmin(medians[0], fmin(medians[stride], medians[2 * stride]));
    double most = fmax(medians[0], fmax(medians[stride], medians[2 * stride]));

    if (most == least)
        return 0;
    return least > 0 ? (most - least) / least : INFINITY;
}

struct statistics_steady statistics_find_steady(const double *values, size_t count,
                                                double tolerance)
{
    struct statistics_steady found = { .from = count, .change = NAN, .trend_p = NAN };
    size_t window = count / 20 < STEADY_WINDOW ? STEADY_WINDOW : count / 20 / 10 * 10;
    size_t step = window / 10;
    size_t positions, stride = window / step;
    double *scratch, *medians;

    if (count < 3 * window)
        return found;
    positions = (count - window) / step + 1; /* of windows; at most about 200 */
    scratch = ifg_alloc(window, sizeof *scratch);
    medians = ifg_alloc(positions, sizeof *medians);
    for (size_t i = 0; i < positions && scratch && medians; i++) {
        size_t first = i < 2 * stride ? 0 : i - 2 * stride;

        memcpy(scratch, values + i * step, window * sizeof *scratch);
        medians[i] = ifg_median(scratch, window);
        if (i < 2 * stride)
            continue;
        found.change = windows_apart(medians + first, stride);
        if (!(found.change <= tolerance) && i + 1 < positions)
            continue;
        found.trend_p = statistics_mann_kendall(values + first * step, 3 * window);
        if (found.change <= tolerance && found.trend_p > STEADY_P) {
            found.steady = true;
            found.from = first * step;
            break;
        }
    }
    ifg_free(scratch);
    ifg_free(medians);
    return found;
}

/* ---- changes of level --------------------------------------------------------------------------
 */

#define CHANGE_LEAST   5u    /* values of a segment */
#define CHANGE_MOST    2000u /* segments' costs are quadratic; more go in as medians of groups */
#define CHANGE_PENALTY 3.0   /* times log n */
#define CHANGE_LAGS    5u
#define CHANGE_FLOOR   0.001 /* noise is never taken for less than this share of the median */
#define CHANGE_R_MOST  0.6

struct segment {
    size_t from, to;
    size_t split; /* where the second part begins; 0: not to be split */
    double gain;
};

struct segmenting {
    const double *values;
    size_t count;
    double noise;
    double *sorted, *costs; /* scratch of count */
};

/* The spread of one value, from differences between neighbours up to some values apart: a step or a
 * drift hardly touches them, and values that resemble their neighbours still show theirs. */
static double noise_of(const double *values, size_t count, double *scratch)
{
    double noise = 0, median, middle;

    for (size_t lag = 1; lag <= CHANGE_LAGS && 4 * lag <= count; lag++) {
        size_t n = count - lag;

        for (size_t i = 0; i < n; i++)
            scratch[i] = values[i + lag] - values[i];
        middle = ifg_median(scratch, n);
        for (size_t i = 0; i < n; i++)
            scratch[i] = fabs(scratch[i] - middle);
        noise = fmax(noise, 1.4826 * ifg_median(scratch, n) / sqrt(2));
    }
    memcpy(scratch, values, count * sizeof *scratch);
    median = ifg_median(scratch, count);
    return fmax(noise, CHANGE_FLOOR * fabs(median));
}

/* out_costs[i]: sum of distances of the first i + 1 values (or, backwards, the last) from their
 * median. */
static void running_costs(struct segmenting *work, const struct segment *segment, bool backwards,
                          double *out_costs)
{
    size_t n = segment->to - segment->from;
    double *sorted = work->sorted;

    for (size_t i = 0; i < n; i++) {
        double value = work->values[backwards ? segment->to - 1 - i : segment->from + i];
        double cost = 0;
        size_t low = 0, high = i;

        while (low < high) {
            size_t middle = (low + high) / 2;

            if (sorted[middle] <= value)
                low = middle + 1;
            else
                high = middle;
        }
        memmove(sorted + low + 1, sorted + low, (i - low) * sizeof *sorted);
        sorted[low] = value;
        for (size_t j = 0; j < (i + 1) / 2; j++)
            cost += sorted[i - j] - sorted[j];
        out_costs[i] = cost;
    }
}

/* Lag-1 autocorrelation of what is left when each part's median is taken away. */
static double rest_autocorrelation(struct segmenting *work, const struct segment *segment)
{
    size_t n = segment->to - segment->from;
    size_t left = segment->split - segment->from;
    double medians[2];

    memcpy(work->sorted, work->values + segment->from, n * sizeof *work->sorted);
    medians[0] = ifg_median(work->sorted, left);
    medians[1] = ifg_median(work->sorted + left, n - left);
    for (size_t i = 0; i < n; i++)
        work->sorted[i] = work->values[segment->from + i] - medians[i >= left];
    return statistics_autocorrelation(work->sorted, n);
}

/* Finds the best place to split, if one pays. */
static void consider(struct segmenting *work, struct segment *segment)
{
    size_t n = segment->to - segment->from;
    double *backward = work->costs + work->count;
    double best = 0, r;

    segment->split = 0;
    segment->gain = 0;
    if (n < 2 * CHANGE_LEAST)
        return;
    running_costs(work, segment, false, work->costs);
    running_costs(work, segment, true, backward);
    for (size_t left = CHANGE_LEAST; left <= n - CHANGE_LEAST; left++) {
        double gain = work->costs[n - 1] - work->costs[left - 1] - backward[n - left - 1];

        if (gain > best) {
            best = gain;
            segment->split = segment->from + left;
        }
    }
    if (!segment->split)
        return;
    /* 4 f(0) times the gain is about chi-square; f(0) of a normal density is 0.3989 / noise. */
    segment->gain = 4 * 0.3989422804014327 * best / work->noise;
    r = fmin(fmax(rest_autocorrelation(work, segment), 0), CHANGE_R_MOST);
    if (!(segment->gain > CHANGE_PENALTY * log((double)work->count) * (1 + r) / (1 - r)))
        segment->split = 0;
}

static size_t segment_all(struct segmenting *work, struct segment *segments, size_t *out_points,
                          size_t max)
{
    size_t count = 1;

    segments[0] = (struct segment){ .from = 0, .to = work->count };
    consider(work, &segments[0]);
    while (count <= max) {
        size_t best = SIZE_MAX;

        for (size_t i = 0; i < count; i++)
            if (segments[i].split && (best == SIZE_MAX || segments[i].gain > segments[best].gain))
                best = i;
        if (best == SIZE_MAX)
            break;
        memmove(segments + best + 1, segments + best, (count - best) * sizeof *segments);
        count++;
        segments[best + 1].from = segments[best].to = segments[best].split;
        consider(work, &segments[best]);
        consider(work, &segments[best + 1]);
    }
    for (size_t i = 1; i < count; i++)
        out_points[i - 1] = segments[i].from;
    return count - 1;
}

size_t statistics_change_points(const double *values, size_t count, size_t *out_points, size_t max)
{
    struct segmenting work = { .values = values, .count = count };
    struct segment *segments;
    double *grouped = NULL;
    size_t found = 0;

    if (count < 2 * CHANGE_LEAST || !max)
        return 0;
    if (count > CHANGE_MOST) {
        grouped = ifg_alloc(CHANGE_MOST, sizeof *grouped);
        if (!grouped || !group_medians(values, count, CHANGE_MOST, grouped)) {
            ifg_free(grouped);
            return 0;
        }
        work.values = grouped;
        work.count = CHANGE_MOST;
    }
    max = max < work.count ? max : work.count;
    segments = ifg_alloc(max + 2, sizeof *segments);
    work.sorted = ifg_alloc(work.count, sizeof *work.sorted);
    work.costs = ifg_alloc(2 * work.count, sizeof *work.costs);
    if (segments && work.sorted && work.costs) {
        work.noise = noise_of(work.values, work.count, work.sorted);
        if (work.noise > 0)
            found = segment_all(&work, segments, out_points, max);
    }
    for (size_t i = 0; i < found && grouped; i++)
        out_points[i] = (size_t)((unsigned __int128)count * out_points[i] / CHANGE_MOST);
    ifg_free(segments);
    ifg_free(work.sorted);
    ifg_free(work.costs);
    ifg_free(grouped);
    return found;
}
