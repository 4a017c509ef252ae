// SPDX-License-Identifier: Apache-2.0
/* What is known of a metric in a result: not one number but the two ends between which it is. */
#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "base/quantile.h"
#include "bench/gate/gate_internal.h"

#define PROCESSES_TRIED 256u /* of more, one does not weigh much */

/* ---- several measurements as one ---- */

void gate_pool_fini(struct bench_row *row)
{
    ifg_free(row->samples_ms);
    ifg_free(row->blocks);
    ifg_free(row->processes);
    ifg_free(row->open.service_ms);
    memset(row, 0, sizeof *row);
}

static bool pool_room(const struct bench_row *const *rows, size_t count, struct bench_row *row)
{
    size_t samples = 0, blocks = 0, processes = 0;
    bool service = true;

    for (size_t i = 0; i < count; i++) {
        samples += rows[i]->sample_count;
        blocks += rows[i]->block_count;
        processes += rows[i]->process_count;
        service = service && rows[i]->open.service_ms;
    }
    row->samples_ms = ifg_alloc(samples ? samples : 1, sizeof *row->samples_ms);
    row->blocks = ifg_alloc(blocks ? blocks : 1, sizeof *row->blocks);
    row->processes = ifg_alloc(processes ? processes : 1, sizeof *row->processes);
    row->open.service_ms =
        service ? ifg_alloc(samples ? samples : 1, sizeof *row->open.service_ms) : NULL;
    return row->samples_ms && row->blocks && row->processes && (!service || row->open.service_ms);
}

enum ifg_status gate_pool_rows(const struct bench_row *const *rows, size_t count, bool nearest,
                               uint64_t seed, struct bench_row *out_row, struct ifg_error *err)
{
    enum ifg_status status = IFG_OK;
    double seconds = 0;
    uint32_t process_first = 0;

    *out_row = *rows[0];
    out_row->samples_ms = NULL;
    out_row->blocks = NULL;
    out_row->processes = NULL;
    out_row->open.service_ms = NULL;
    out_row->sample_count = out_row->block_count = out_row->process_count = 0;
    if (!pool_room(rows, count, out_row)) {
        gate_pool_fini(out_row);
        return ifg_fail_no_memory(err, NULL);
    }
    for (size_t i = 0; i < count; i++) {
        const struct bench_row *row = rows[i];
        uint32_t processes = (uint32_t)row->process_count;

        for (size_t k = 0; k < row->block_count; k++) {
            struct bench_block *block = &out_row->blocks[out_row->block_count++];

            *block = row->blocks[k];
            block->where.first += out_row->sample_count;
            block->where.process += process_first;
            if (row->blocks[k].where.process >= processes)
                processes = row->blocks[k].where.process + 1;
        }
        for (size_t k = 0; k < row->process_count; k++)
            out_row->processes[out_row->process_count++] = row->processes[k];
        for (size_t k = 0; k < row->sample_count; k++) {
            if (out_row->open.service_ms)
                out_row->open.service_ms[out_row->sample_count] = row->open.service_ms[k];
            out_row->samples_ms[out_row->sample_count++] = row->samples_ms[k];
        }
        process_first += processes;
        if (row->throughput > 0)
            seconds += (double)row->sample_count / row->throughput;
    }
    if (count > 1 && out_row->sample_count)
        status = bench_row_finish(out_row, nearest, seed, err);
    if (status)
        gate_pool_fini(out_row);
    else if (count > 1)
        out_row->throughput = seconds > 0 ? (double)out_row->sample_count / seconds : NAN;
    return status;
}

/* ---- what is known ---- */

void gate_by_order(double *sorted, size_t count, double q, bool at_least, double limit,
                   double alpha, struct gate_estimate *out)
{
    /* One side is the budget's claim, at 1 - alpha; the other must be beyond doubt as an end of the
     * two-sided interval, at alpha / 2. */
    double above = at_least ? 1 - alpha / 2 : 1 - alpha;
    double below = at_least ? 1 - alpha : 1 - alpha / 2;
    struct statistics_interval bound = statistics_quantile_bound(sorted, count, q, above);

    out->rule = GATE_BY_ORDER;
    out->quantile = q;
    out->confidence = 1 - alpha;
    out->count = count;
    out->high_known = bound.known;
    out->high = bound.high;
    for (size_t i = 0; i < count; i++)
        out->beyond += at_least ? sorted[i] < limit : sorted[i] > limit;
    if (!bound.known && !at_least)
        out->needs = statistics_needed_bound(q, above);
    /* From below it is the same question about the values upside down. */
    for (size_t i = 0; i < count / 2; i++) {
        double swapped = sorted[i];

        sorted[i] = sorted[count - 1 - i];
        sorted[count - 1 - i] = swapped;
    }
    for (size_t i = 0; i < count; i++)
        sorted[i] = -sorted[i];
    bound = statistics_quantile_bound(sorted, count, 1 - q, below);
    out->low_known = bound.known;
    out->low = -bound.high;
    if (!bound.known && at_least)
        out->needs = statistics_needed_bound(1 - q, below);
}

static double process_value(const struct bench_process *process, int member)
{
    switch ((enum gate_member)member) {
    case MEMBER_FIRST:
        return process->first_ms;
    case MEMBER_LOAD:
        return process->load_ms;
    case MEMBER_SPECIALIZATION:
        return process->specialization_ms;
    case MEMBER_START:
        return process->start_ms;
    case MEMBER_PEAK:
        return process->peak_bytes ? (double)process->peak_bytes : NAN;
    case MEMBER_DELTA:
        return process->before_bytes && process->after_runs_bytes
                   ? (double)process->after_runs_bytes - (double)process->before_bytes
                   : NAN;
    case MEMBER_AFTER_LOAD:
        return process->after_load_bytes ? (double)process->after_load_bytes : NAN;
    }
    return NAN;
}

/* All on the right side: PASS, whatever their number. The median on the wrong side: FAIL. With many
 * processes a few may be on the wrong side, as far as the median's bound allows. */
static enum ifg_status by_process(const struct gate_budget *budget, const struct bench_row *row,
                                  double alpha, struct gate_estimate *out, struct ifg_error *err)
{
    double *values = ifg_alloc(row->process_count ? row->process_count : 1, sizeof *values);
    double least, most, median;
    struct gate_estimate ends = { 0 };
    size_t count = 0;

    if (!values)
        return ifg_fail_no_memory(err, NULL);
    for (size_t i = 0; i < row->process_count; i++) {
        double value = process_value(&row->processes[i], budget->of->which);

        if (isfinite(value))
            values[count++] = value;
    }
    out->rule = GATE_BY_PROCESS;
    if (!count) {
        out->missing = budget->of->which == MEMBER_SPECIALIZATION ? "the runtime does not tell it"
                                                                  : "it was not measured";
        ifg_free(values);
        return IFG_OK;
    }
    statistics_sort(values, count);
    least = values[0];
    most = values[count - 1];
    median = ifg_quantile_sorted(values, count, 0.5, IFG_QUANTILE_LINEAR);
    gate_by_order(values, count, 0.5, budget->at_least, budget->limit, alpha, &ends);
    ifg_free(values);
    out->value = median;
    out->least = least;
    out->most = most;
    out->count = count;
    out->beyond = ends.beyond;
    out->confidence = 1 - alpha;
    out->low_known = out->high_known = true;
    if (budget->at_least) {
        out->low = ends.low_known && ends.low > least ? ends.low : least;
        out->high = median;
    } else {
        out->low = median;
        out->high = ends.high_known && ends.high < most ? ends.high : most;
    }
    return IFG_OK;
}

static enum ifg_status copy_blocks(const struct bench_row *row,
                                   struct statistics_block **out_blocks, struct ifg_error *err)
{
    *out_blocks = ifg_alloc(row->block_count ? row->block_count : 1, sizeof **out_blocks);
    if (!*out_blocks)
        return ifg_fail_no_memory(err, NULL);
    for (size_t i = 0; i < row->block_count; i++)
        (*out_blocks)[i] = row->blocks[i].where;
    return IFG_OK;
}

enum ifg_status gate_by_blocks(const double *values, size_t count,
                               const struct statistics_block *blocks, size_t block_count,
                               bool median, double alpha, uint64_t seed, struct gate_estimate *out,
                               struct ifg_error *err)
{
    struct statistics_interval interval = { 0 };
    enum ifg_status status = IFG_OK;
    double *means = NULL;

    out->rule = GATE_BY_INTERVAL;
    out->count = count;
    out->groups = block_count;
    out->confidence = 1 - alpha;
    if (block_count && median) {
        status = statistics_median_interval(values, count, blocks, block_count, 1 - alpha, seed,
                                            &interval, err);
    } else if (block_count) {
        means = ifg_alloc(block_count, sizeof *means);
        if (!means)
            return ifg_fail_no_memory(err, NULL);
        for (size_t i = 0; i < block_count; i++) {
            for (size_t k = 0; k < blocks[i].count; k++)
                means[i] += values[blocks[i].first + k];
            means[i] /= (double)blocks[i].count;
        }
        status =
            statistics_block_interval(means, blocks, block_count, 1 - alpha, seed, &interval, err);
    }
    out->low_known = out->high_known = !status && interval.known;
    out->low = interval.low;
    out->high = interval.high;
    ifg_free(means);
    return status;
}

/* A copy, sorted. */
static enum ifg_status sorted_samples(const struct bench_row *row, double **out_sorted,
                                      struct ifg_error *err)
{
    *out_sorted = ifg_alloc(row->sample_count, sizeof **out_sorted);
    if (!*out_sorted)
        return ifg_fail_no_memory(err, NULL);
    memcpy(*out_sorted, row->samples_ms, row->sample_count * sizeof **out_sorted);
    statistics_sort(*out_sorted, row->sample_count);
    return IFG_OK;
}

/* Other tools do not tell how long a block took: one inference after the other then. */
static double block_wall_ms(const struct bench_row *row, const struct bench_block *block)
{
    double sum = 0;

    if (block->wall_ms > 0)
        return block->wall_ms;
    for (size_t i = 0; i < block->where.count; i++)
        sum += row->samples_ms[block->where.first + i];
    return sum;
}

/* Per inference, the time that passed in a block; its inverse is the rate. */
static enum ifg_status by_throughput(const struct bench_row *row, double alpha, uint64_t seed,
                                     struct gate_estimate *out, struct ifg_error *err)
{
    struct statistics_block *blocks = NULL;
    struct statistics_interval interval = { 0 };
    double *each = NULL;
    double mean = 0, fastest = INFINITY, slowest = 0;
    enum ifg_status status = copy_blocks(row, &blocks, err);

    out->rule = GATE_BY_INTERVAL;
    out->value = row->throughput;
    out->count = row->sample_count;
    out->groups = row->block_count;
    out->confidence = 1 - alpha;
    if (!status && !(row->throughput > 0))
        out->missing = "it was not measured";
    if (status || out->missing || !row->block_count)
        goto out;
    each = ifg_alloc(row->block_count, sizeof *each);
    if (!each) {
        status = ifg_fail_no_memory(err, NULL);
        goto out;
    }
    for (size_t i = 0; i < row->block_count; i++) {
        each[i] = block_wall_ms(row, &row->blocks[i]) / (double)row->blocks[i].where.count;
        mean += each[i] / (double)row->block_count;
        fastest = fmin(fastest, each[i]);
        slowest = fmax(slowest, each[i]);
    }
    if (!isfinite(mean) || mean <= 0)
        goto out;
    out->least = row->throughput * mean / slowest;
    out->most = row->throughput * mean / fastest;
    status =
        statistics_block_interval(each, blocks, row->block_count, 1 - alpha, seed, &interval, err);
    if (!status && interval.known && interval.low > 0) {
        out->low_known = out->high_known = true;
        out->low = row->throughput * mean / interval.high;
        out->high = row->throughput * mean / interval.low;
    }
out:
    ifg_free(each);
    ifg_free(blocks);
    return status;
}

static void by_share(const struct bench_row *row, double slo_ms, bool at_least, double alpha,
                     struct gate_estimate *out)
{
    double claim = 1 - alpha, doubt = 1 - alpha / 2;
    uint64_t hits = 0;

    out->rule = GATE_BY_SHARE;
    if (!(slo_ms > 0)) {
        out->missing = "no latency was agreed upon: give --slo T";
        return;
    }
    for (size_t i = 0; i < row->sample_count; i++)
        hits += row->samples_ms[i] <= slo_ms;
    out->count = row->sample_count;
    out->groups = hits;
    out->value = (double)hits / (double)row->sample_count;
    out->confidence = claim;
    out->low_known = out->high_known = true;
    out->high = statistics_share_bound(hits, row->sample_count, at_least ? doubt : claim);
    out->low = 1 - statistics_share_bound(row->sample_count - hits, row->sample_count,
                                          at_least ? claim : doubt);
}

static void exactly(double value, bool there, struct gate_estimate *out)
{
    out->rule = GATE_EXACT;
    out->value = out->low = out->high = value;
    out->low_known = out->high_known = true;
    out->count = 1;
    if (!there)
        out->missing = "it was not measured";
}

/* Inferences of one process are alike, and one slow process must not fail a budget: the end that
 * fails is the mildest of those that are left when one process is taken away. */
static enum ifg_status without_each_process(const struct gate_budget *budget,
                                            const struct bench_row *row, double q, double alpha,
                                            struct gate_estimate *out, struct ifg_error *err)
{
    double *rest = NULL;

    if (row->process_count < 2 || row->process_count > PROCESSES_TRIED)
        return IFG_OK;
    rest = ifg_alloc(row->sample_count, sizeof *rest);
    if (!rest)
        return ifg_fail_no_memory(err, NULL);
    for (uint32_t process = 0; process < row->process_count; process++) {
        struct gate_estimate ends = { 0 };
        size_t count = 0;

        for (size_t i = 0; i < row->block_count; i++) {
            const struct statistics_block *block = &row->blocks[i].where;

            if (block->process == process)
                continue;
            memcpy(rest + count, row->samples_ms + block->first, block->count * sizeof *rest);
            count += block->count;
        }
        if (!count || count == row->sample_count)
            continue;
        statistics_sort(rest, count);
        gate_by_order(rest, count, q, budget->at_least, budget->limit, alpha, &ends);
        if (budget->at_least && out->high_known) {
            out->high_known = ends.high_known;
            out->high = fmax(out->high, ends.high);
        } else if (!budget->at_least && out->low_known) {
            out->low_known = ends.low_known;
            out->low = fmin(out->low, ends.low);
        }
    }
    ifg_free(rest);
    return IFG_OK;
}

static double energy_of(const struct bench_row *row)
{
    double cpu = row->energy_cpu_j, gpu = row->energy_gpu_j;

    return isfinite(cpu) && isfinite(gpu) ? cpu + gpu : isfinite(cpu) ? cpu : gpu;
}

static enum ifg_status by_samples(const struct gate_budget *budget, const struct bench_row *row,
                                  double alpha, uint64_t seed, struct gate_estimate *out,
                                  struct ifg_error *err)
{
    struct statistics_block *blocks = NULL;
    double *sorted = NULL;
    bool median = budget->of->source == FROM_MEDIAN;
    enum ifg_status status = sorted_samples(row, &sorted, err);

    if (!status)
        status = copy_blocks(row, &blocks, err);
    if (status)
        goto out;
    out->least = sorted[0];
    out->most = sorted[row->sample_count - 1];
    switch (budget->of->source) {
    case FROM_QUANTILE:
        out->value = row->summary.p[budget->of->which];
        gate_by_order(sorted, row->sample_count, statistics_quantiles[budget->of->which],
                      budget->at_least, budget->limit, alpha, out);
        status = without_each_process(budget, row, statistics_quantiles[budget->of->which], alpha,
                                      out, err);
        break;
    case FROM_MIN:
        exactly(sorted[0], true, out);
        break;
    case FROM_MAX:
        exactly(sorted[row->sample_count - 1], true, out);
        break;
    default:
        status = gate_by_blocks(row->samples_ms, row->sample_count, blocks, row->block_count,
                                median, alpha, seed, out, err);
        out->value = median ? row->summary.p[STATISTICS_P50] : row->summary.mean;
        /* Documents of other tools have no blocks: then the iterations are all there is. */
        if (!status && !out->low_known && median) {
            gate_by_order(sorted, row->sample_count, 0.5, budget->at_least, budget->limit, alpha,
                          out);
            out->iterations_alone = true;
        }
    }
out:
    ifg_free(sorted);
    ifg_free(blocks);
    return status;
}

enum ifg_status gate_estimate_result(const struct gate_budget *budget,
                                     const struct bench_result *result, const struct bench_row *row,
                                     double slo_ms, double alpha, uint64_t seed,
                                     struct gate_estimate *out_estimate, struct ifg_error *err)
{
    enum ifg_status status = IFG_OK;

    memset(out_estimate, 0, sizeof *out_estimate);
    out_estimate->least = out_estimate->most = NAN;
    switch (budget->of->source) {
    case FROM_PROCESS:
        status = by_process(budget, row, alpha, out_estimate, err);
        break;
    case FROM_ENERGY:
        exactly(energy_of(row), isfinite(energy_of(row)), out_estimate);
        if (out_estimate->missing && row->energy_reason && *row->energy_reason)
            out_estimate->missing = row->energy_reason;
        break;
    case FROM_SIZE:
        exactly((double)result->model_bytes, result->model_bytes > 0, out_estimate);
        break;
    case FROM_PARAMETERS:
        exactly((double)result->parameters, result->parameters > 0, out_estimate);
        break;
    default:
        if (!row->sample_count)
            out_estimate->missing = "there is no sample";
        else if (budget->of->source == FROM_THROUGHPUT)
            status = by_throughput(row, alpha, seed, out_estimate, err);
        else if (budget->of->source == FROM_GOODPUT)
            by_share(row, slo_ms > 0 ? slo_ms : row->slo_ms, budget->at_least, alpha, out_estimate);
        else
            status = by_samples(budget, row, alpha, seed, out_estimate, err);
    }
    if (!status && !out_estimate->missing &&
        gate_judge(out_estimate, budget->at_least, budget->limit) == GATE_UNSURE)
        out_estimate->needs = gate_needs(out_estimate, budget->limit);
    return status;
}
