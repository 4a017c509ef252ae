// SPDX-License-Identifier: Apache-2.0
/*
 * The hierarchical bootstrap: processes are drawn, then blocks of each, never single iterations,
 * because neighbours in time resemble each other. See samples.h and docs/statistics.md.
 */
#include "analyze/statistics.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/statistics_internal.h"
#include "base/alloc.h"
#include "base/quantile.h"

#define BLOCKS_LEAST 5u      /* of a single process */
#define VALUES_MOST  200000u /* more are thinned */
#define BLOCKS_MOST  2000u   /* more are joined with their neighbours */

struct process_blocks {
    size_t first, count;
};

/* Blocks as they are drawn. */
struct drawing {
    struct process_blocks *processes;
    size_t process_count;
    size_t block_count;
    uint32_t *times;  /* how often each block was drawn */
    uint32_t *joined; /* by block of the caller: the number of the block it became part of */
    uint64_t *sizes;  /* values that were kept */
};

struct weighted {
    double value;
    uint32_t block;
};

static enum ifg_status no_memory(struct ifg_error *err)
{
    return ifg_fail_no_memory(err, "for the bootstrap");
}

static void drawing_fini(struct drawing *drawing)
{
    ifg_free(drawing->processes);
    ifg_free(drawing->times);
    ifg_free(drawing->joined);
    ifg_free(drawing->sizes);
}

/* Neighbouring blocks of one process belong together; too many blocks are joined in runs. */
static enum ifg_status drawing_init(struct drawing *drawing, const struct statistics_block *blocks,
                                    size_t block_count, struct ifg_error *err)
{
    size_t run = (block_count + BLOCKS_MOST - 1) / BLOCKS_MOST;
    size_t processes = 0;

    memset(drawing, 0, sizeof *drawing);
    for (size_t i = 0; i < block_count; i++)
        processes += !i || blocks[i].process != blocks[i - 1].process;
    drawing->processes = ifg_alloc(processes, sizeof *drawing->processes);
    drawing->times = ifg_alloc(block_count, sizeof *drawing->times);
    drawing->joined = ifg_alloc(block_count, sizeof *drawing->joined);
    drawing->sizes = ifg_alloc(block_count, sizeof *drawing->sizes);
    if (!drawing->processes || !drawing->times || !drawing->joined || !drawing->sizes) {
        drawing_fini(drawing);
        return no_memory(err);
    }
    for (size_t i = 0, within = 0; i < block_count; i++, within++) {
        if (!i || blocks[i].process != blocks[i - 1].process) {
            drawing->processes[drawing->process_count++].first = drawing->block_count;
            within = 0;
        }
        if (within % run == 0) {
            drawing->processes[drawing->process_count - 1].count++;
            drawing->block_count++;
        }
        drawing->joined[i] = (uint32_t)(drawing->block_count - 1);
    }
    return IFG_OK;
}

/* As many processes as there are, with replacement; of each, as many blocks as it has. */
static void draw(struct drawing *drawing, uint64_t *random)
{
    memset(drawing->times, 0, drawing->block_count * sizeof *drawing->times);
    for (size_t i = 0; i < drawing->process_count; i++) {
        size_t which = drawing->process_count > 1
                           ? (size_t)statistics_random_below(random, drawing->process_count)
                           : 0;
        const struct process_blocks *process = &drawing->processes[which];

        for (size_t j = 0; j < process->count; j++)
            drawing->times[process->first + statistics_random_below(random, process->count)]++;
    }
}

static bool enough(const struct drawing *drawing)
{
    return drawing->process_count > 1 || drawing->block_count >= BLOCKS_LEAST;
}

/* Which share of the resampled values is left out at each end. With few units their spread is
 * hardly known, and resampling them divides by n where n - 1 is right: the plain percentiles of 5
 * processes cover the truth in 84 % of cases, not in 95. So the tail is the normal one at the point
 * where Student's t with n - 1 degrees of freedom has it, times sqrt(n / (n - 1)). */
static double expanded_tail(const struct drawing *drawing, double confidence)
{
    size_t units = drawing->process_count > 1 ? drawing->process_count : drawing->block_count;
    double point = statistics_student(1 - confidence, units - 1);

    return erfc(point * sqrt((double)units / (double)(units - 1)) / sqrt(2)) / 2;
}

static void percentile_interval(const struct drawing *drawing, double *resampled, double confidence,
                                struct statistics_interval *out_interval)
{
    double tail = expanded_tail(drawing, confidence);

    statistics_sort(resampled, STATISTICS_RESAMPLES);
    out_interval->known = true;
    out_interval->low =
        ifg_quantile_sorted(resampled, STATISTICS_RESAMPLES, tail, IFG_QUANTILE_LINEAR);
    out_interval->high =
        ifg_quantile_sorted(resampled, STATISTICS_RESAMPLES, 1 - tail, IFG_QUANTILE_LINEAR);
}

static int compare_weighted(const void *left, const void *right)
{
    const struct weighted *a = left;
    const struct weighted *b = right;

    return a->value < b->value ? -1 : a->value > b->value;
}

/* The linear-rule median of the values, each as often as its block was drawn: the mean of ranks
 * (total - 1) / 2 and total / 2, from 0. */
static double weighted_median(const struct weighted *sorted, const struct drawing *drawing)
{
    const uint32_t *times = drawing->times;
    uint64_t total = 0, passed;
    double low;
    size_t i = 0;

    for (size_t k = 0; k < drawing->block_count; k++)
        total += times[k] * drawing->sizes[k];
    passed = times[sorted[0].block];
    while (passed <= (total - 1) / 2)
        passed += times[sorted[++i].block];
    low = sorted[i].value;
    while (passed <= total / 2)
        passed += times[sorted[++i].block];
    return low + 0.5 * (sorted[i].value - low);
}

/* Blocks must be in order and cover the values; anything else is our own mistake. */
static bool covers(const struct statistics_block *blocks, size_t block_count, size_t count)
{
    size_t at = 0;

    for (size_t i = 0; i < block_count; i++) {
        if (blocks[i].first != at || !blocks[i].count || blocks[i].count > count - at)
            return false;
        at += blocks[i].count;
    }
    return at == count && count;
}

static struct weighted *sort_weighted(const double *values, size_t count,
                                      const struct statistics_block *blocks, size_t block_count,
                                      const struct drawing *drawing)
{
    size_t every = (count + VALUES_MOST - 1) / VALUES_MOST;
    struct weighted *sorted = ifg_alloc(count / every + drawing->block_count, sizeof *sorted);
    size_t kept = 0, at = 0;

    if (!sorted)
        return NULL;
    for (size_t i = 0; i < block_count; i++) {
        if (i && drawing->joined[i] != drawing->joined[i - 1])
            at = blocks[i].first;
        for (; at < blocks[i].first + blocks[i].count; at += every) {
            sorted[kept++] = (struct weighted){ values[at], drawing->joined[i] };
            drawing->sizes[drawing->joined[i]]++;
        }
    }
    qsort(sorted, kept, sizeof *sorted, compare_weighted);
    return sorted;
}

enum ifg_status statistics_median_interval(const double *values, size_t count,
                                           const struct statistics_block *blocks,
                                           size_t block_count, double confidence, uint64_t seed,
                                           struct statistics_interval *out_interval,
                                           struct ifg_error *err)
{
    struct drawing drawing;
    struct weighted *sorted = NULL;
    double *resampled = NULL;
    enum ifg_status status;

    *out_interval = (struct statistics_interval){ .low = NAN, .high = NAN };
    if (!covers(blocks, block_count, count))
        return ifg_fail(err, IFG_INVALID, "the blocks do not cover the %zu values", count);
    status = drawing_init(&drawing, blocks, block_count, err);
    if (status)
        return status;
    if (!enough(&drawing)) {
        out_interval->needs = (count + block_count - 1) / block_count * BLOCKS_LEAST;
        goto out;
    }
    sorted = sort_weighted(values, count, blocks, block_count, &drawing);
    resampled = ifg_alloc(STATISTICS_RESAMPLES, sizeof *resampled);
    if (!sorted || !resampled) {
        status = no_memory(err);
        goto out;
    }
    for (size_t i = 0; i < STATISTICS_RESAMPLES; i++) {
        draw(&drawing, &seed);
        resampled[i] = weighted_median(sorted, &drawing);
    }
    percentile_interval(&drawing, resampled, confidence, out_interval);
out:
    ifg_free(resampled);
    ifg_free(sorted);
    drawing_fini(&drawing);
    return status;
}

enum ifg_status statistics_block_interval(const double *per_block,
                                          const struct statistics_block *blocks, size_t block_count,
                                          double confidence, uint64_t seed,
                                          struct statistics_interval *out_interval,
                                          struct ifg_error *err)
{
    struct drawing drawing;
    double *resampled = NULL;
    double *sums = NULL, *weights;
    enum ifg_status status;

    *out_interval = (struct statistics_interval){ .low = NAN, .high = NAN };
    if (!block_count)
        return ifg_fail(err, IFG_INVALID, "there are no blocks");
    status = drawing_init(&drawing, blocks, block_count, err);
    if (status)
        return status;
    if (!enough(&drawing)) {
        out_interval->needs = BLOCKS_LEAST;
        goto out;
    }
    resampled = ifg_alloc(STATISTICS_RESAMPLES, sizeof *resampled);
    sums = ifg_alloc(2 * drawing.block_count, sizeof *sums);
    if (!resampled || !sums) {
        status = no_memory(err);
        goto out;
    }
    weights = sums + drawing.block_count;
    for (size_t i = 0; i < block_count; i++) {
        double weight = blocks[i].count ? (double)blocks[i].count : 1;

        sums[drawing.joined[i]] += weight * per_block[i];
        weights[drawing.joined[i]] += weight;
    }
    for (size_t i = 0; i < STATISTICS_RESAMPLES; i++) {
        double sum = 0, weight = 0;

        draw(&drawing, &seed);
        for (size_t j = 0; j < drawing.block_count; j++) {
            sum += drawing.times[j] * sums[j];
            weight += drawing.times[j] * weights[j];
        }
        resampled[i] = sum / weight;
    }
    percentile_interval(&drawing, resampled, confidence, out_interval);
out:
    ifg_free(resampled);
    ifg_free(sums);
    drawing_fini(&drawing);
    return status;
}
