// SPDX-License-Identifier: Apache-2.0
/* Quantiles, what can be said about them from binomial tails, and summaries: see samples.h. */
#include "analyze/statistics.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/statistics_internal.h"
#include "base/alloc.h"
#include "base/convert.h"
#include "base/quantile.h"

const double statistics_quantiles[STATISTICS_QUANTILES] = { 0.5, 0.9, 0.95, 0.99, 0.999 };

uint64_t statistics_random(uint64_t *state)
{
    uint64_t z = (*state += UINT64_C(0x9e3779b97f4a7c15)); /* splitmix64 */

    z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
    return z ^ z >> 31;
}

uint64_t statistics_random_below(uint64_t *state, uint64_t n)
{
    return (uint64_t)((unsigned __int128)statistics_random(state) * n >> 64);
}

static int compare_double(const void *left, const void *right)
{
    double a = *(const double *)left;
    double b = *(const double *)right;

    return a < b ? -1 : a > b;
}

void statistics_sort(double *values, size_t count)
{
    if (count > 1)
        qsort(values, count, sizeof *values, compare_double);
}

/* ---- binomial tails ----------------------------------------------------------------------------
 */

/* ln P[B = k], B binomial(n, q), 0 < q < 1. */
static double log_choose_term(double n, double k, double q)
{
    return lgamma(n + 1) - lgamma(k + 1) - lgamma(n - k + 1) + k * log(q) + (n - k) * log1p(-q);
}

/* P[B <= k]. Terms fall from the mode outwards, so summing away from it ends early: the sum costs
 * about sqrt(n) terms. */
static double binomial_at_most(double n, double k, double q)
{
    double mode = floor((n + 1) * q);
    double term, sum = 0;

    if (k < 0)
        return 0;
    if (k >= n)
        return 1;
    if (k >= mode) { /* the other tail is the short one */
        term = exp(log_choose_term(n, k + 1, q));
        for (double i = k + 1; i <= n && term > sum * 1e-18; i++) {
            sum += term;
            term *= (n - i) / (i + 1) * (q / (1 - q));
        }
        return 1 - sum;
    }
    term = exp(log_choose_term(n, k, q));
    for (double i = k; i >= 0 && term > sum * 1e-18; i--) {
        sum += term;
        term *= i / (n - i + 1) * ((1 - q) / q);
    }
    return sum;
}

/* P[B >= k], without the loss of 1 - P[B < k] for small results. */
static double binomial_at_least(double n, double k, double q)
{
    return binomial_at_most(n, n - k, 1 - q);
}

/* The largest rank l in 0..n with P[B < l] <= tail; 0 if only 0 fits. */
static uint64_t lower_rank(uint64_t n, double q, double tail)
{
    uint64_t low = 0, high = n;

    while (low < high) {
        uint64_t middle = low + (high - low + 1) / 2;

        if (binomial_at_most((double)n, (double)middle - 1, q) <= tail)
            low = middle;
        else
            high = middle - 1;
    }
    return low;
}

/* The smallest rank u in 1..n + 1 with P[B >= u] <= tail. */
static uint64_t upper_rank(uint64_t n, double q, double tail)
{
    uint64_t low = 1, high = n + 1;

    while (low < high) {
        uint64_t middle = low + (high - low) / 2;

        if (binomial_at_least((double)n, (double)middle, q) <= tail)
            high = middle;
        else
            low = middle + 1;
    }
    return low;
}

static uint64_t least_count(double q, double tail)
{
    double share = fmax(q, 1 - q); /* the farther tail decides */
    double guess;
    uint64_t n;

    if (!(q > 0) || !(q < 1) || !(tail > 0))
        return 0;
    guess = ceil(log(tail) / log(share));
    if (!(guess < 1e15))
        return 0;
    n = guess < 1 ? 1 : (uint64_t)guess;
    while (n > 1 && exp((double)(n - 1) * log(share)) <= tail)
        n--;
    while (exp((double)n * log(share)) > tail)
        n++;
    return n;
}

uint64_t statistics_needed(double q, double confidence)
{
    return least_count(q, (1 - confidence) / 2);
}

uint64_t statistics_needed_bound(double q, double confidence)
{
    double tail = 1 - confidence;

    /* Only the upper tail matters: all values below the quantile by chance. */
    if (!(q > 0) || !(q < 1) || !(tail > 0))
        return 0;
    return q >= 0.5 ? least_count(q, tail) : ifg_u64_of(fmax(1, ceil(log(tail) / log(q))));
}

struct statistics_interval statistics_quantile_interval(const double *sorted, size_t count,
                                                        double q, double confidence)
{
    struct statistics_interval interval = { .low = NAN, .high = NAN };
    double tail = (1 - confidence) / 2;
    uint64_t low, high;

    if (!(q > 0) || !(q < 1) || !(tail > 0))
        return interval;
    low = lower_rank(count, q, tail);
    high = upper_rank(count, q, tail);
    if (low < 1 || high > count) {
        interval.needs = statistics_needed(q, confidence);
        return interval;
    }
    interval.known = true;
    interval.low = sorted[low - 1];
    interval.high = sorted[high - 1];
    return interval;
}

struct statistics_interval statistics_quantile_bound(const double *sorted, size_t count, double q,
                                                     double confidence)
{
    struct statistics_interval interval = { .low = -INFINITY, .high = NAN };
    double tail = 1 - confidence;
    uint64_t high;

    if (!(q > 0) || !(q < 1) || !(tail > 0))
        return interval;
    high = upper_rank(count, q, tail);
    if (high > count) {
        interval.needs = statistics_needed_bound(q, confidence);
        return interval;
    }
    interval.known = true;
    interval.high = sorted[high - 1];
    return interval;
}

double statistics_share_bound(uint64_t hits, uint64_t count, double confidence)
{
    double low = 0, high = 1;

    if (hits >= count)
        return 1;
    /* The share at which so few hits are just too rare; P[B <= hits] falls as the share grows. */
    for (int i = 0; i < 100 && high - low > 0; i++) {
        double middle = (low + high) / 2;

        if (middle <= low || middle >= high)
            break;
        if (binomial_at_most((double)count, (double)hits, middle) > 1 - confidence)
            low = middle;
        else
            high = middle;
    }
    return high;
}

/* ---- Student's t -------------------------------------------------------------------------------
 */

/* P[|T| > t] of Student's t, whole degrees of freedom: the finite sums for odd and even ones. */
static double student_tails(double t, size_t freedom)
{
    double angle = atan(t / sqrt((double)freedom));
    double square = cos(angle) * cos(angle);
    double term = 1, sum = 1;
    size_t first = freedom % 2 ? 3 : 2;

    if (freedom == 1)
        return 1 - 2 * angle / M_PI;
    for (size_t i = first; i + 2 <= freedom; i += 2) {
        term *= square * (double)(i - 1) / (double)i;
        sum += term;
    }
    if (freedom % 2)
        return 1 - 2 / M_PI * (angle + sin(angle) * cos(angle) * sum);
    return 1 - sin(angle) * sum;
}

double statistics_student(double chance, size_t freedom)
{
    double low = 0, high = 1;

    while (student_tails(high, freedom) > chance && high < 1e9)
        high *= 2;
    for (int i = 0; i < 100; i++) {
        double middle = (low + high) / 2;

        *(student_tails(middle, freedom) > chance ? &low : &high) = middle;
    }
    return high;
}

/* ---- summaries ---------------------------------------------------------------------------------
 */

enum ifg_status statistics_summarize(const double *values, size_t count,
                                     enum ifg_quantile_rule rule, double confidence,
                                     struct statistics_summary *out_summary, struct ifg_error *err)
{
    double *sorted;
    long double sum = 0, squares = 0;
    double median;

    memset(out_summary, 0, sizeof *out_summary);
    if (!count)
        return ifg_fail(err, IFG_INVALID, "there are no values to summarise");
    sorted = ifg_alloc(count, sizeof *sorted);
    if (!sorted)
        return ifg_fail_no_memory(err, "for %zu values", count);
    memcpy(sorted, values, count * sizeof *sorted);
    statistics_sort(sorted, count);
    for (size_t i = 0; i < count; i++)
        sum += sorted[i];
    out_summary->count = count;
    out_summary->mean = (double)(sum / (long double)count);
    for (size_t i = 0; i < count; i++) {
        long double off = sorted[i] - sum / (long double)count;

        squares += off * off;
    }
    out_summary->sd = count > 1 ? (double)sqrtl(squares / (long double)(count - 1)) : 0;
    out_summary->min = sorted[0];
    out_summary->max = sorted[count - 1];
    for (int i = 0; i < STATISTICS_QUANTILES; i++) {
        out_summary->p[i] = ifg_quantile_sorted(sorted, count, statistics_quantiles[i], rule);
        out_summary->interval[i] =
            statistics_quantile_interval(sorted, count, statistics_quantiles[i], confidence);
    }
    median = ifg_quantile_sorted(sorted, count, 0.5, IFG_QUANTILE_LINEAR);
    for (size_t i = 0; i < count; i++)
        sorted[i] = fabs(sorted[i] - median);
    statistics_sort(sorted, count);
    out_summary->mad = ifg_quantile_sorted(sorted, count, 0.5, IFG_QUANTILE_LINEAR);
    if (out_summary->mad > 0)
        for (size_t i = count; i > 0 && sorted[i - 1] > 14.826 * out_summary->mad; i--)
            out_summary->outliers++;
    ifg_free(sorted);
    return IFG_OK;
}
