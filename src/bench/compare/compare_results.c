// SPDX-License-Identifier: Apache-2.0
/* Results that were measured earlier, one after the other: weaker, and said so. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/quantile.h"
#include "bench/compare/compare_internal.h"

#define FOREIGN_BLOCKS 20u

/* One side: a number per block, and what the machine's own speed was. */
struct side {
    double *unit_ms;
    uint32_t *process;
    size_t count;
    double reference_ms; /* NAN: not measured */
};

static void side_fini(struct side *side)
{
    ifg_free(side->unit_ms);
    ifg_free(side->process);
}

/* A foreign document has no blocks: neighbours are taken together. */
static struct statistics_block block_at(const struct bench_row *row, size_t count, size_t i)
{
    size_t first = row->sample_count * i / count;
    struct statistics_block made = { 0, first, row->sample_count * (i + 1) / count - first };

    return row->block_count ? row->blocks[i].where : made;
}

static enum ifg_status side_init(const struct bench_row *row, struct side *out,
                                 struct ifg_error *err)
{
    size_t count = row->block_count;
    size_t references = 0;
    double *sorted = ifg_alloc(row->sample_count + 1, sizeof *sorted);

    if (!count)
        count = row->sample_count < FOREIGN_BLOCKS ? row->sample_count : FOREIGN_BLOCKS;
    out->reference_ms = NAN;
    out->unit_ms = ifg_alloc(count + 1, sizeof *out->unit_ms);
    out->process = ifg_alloc(count + 1, sizeof *out->process);
    if (!sorted || !out->unit_ms || !out->process) {
        ifg_free(sorted);
        return ifg_fail_no_memory(err, NULL);
    }
    for (size_t i = 0; i < count; i++) {
        struct statistics_block block = block_at(row, count, i);

        if (!block.count)
            continue;
        memcpy(sorted, row->samples_ms + block.first, block.count * sizeof *sorted);
        out->unit_ms[out->count] = ifg_median(sorted, block.count);
        out->process[out->count++] = block.process;
    }
    for (size_t i = 0; i < row->block_count && references < row->sample_count; i++)
        if (row->blocks[i].reference_ms > 0)
            sorted[references++] = row->blocks[i].reference_ms;
    out->reference_ms = ifg_median(sorted, references);
    ifg_free(sorted);
    return IFG_OK;
}

static enum ifg_status fill_row(const struct bench_result *result, const char *name,
                                struct compare_row *out, struct ifg_error *err)
{
    const struct bench_row *row = bench_result_main(result);
    struct bench_memory memory;
    double *sorted;

    out->model_bytes = result->model_bytes;
    if (!compare_set(&out->name, name) || !compare_set(&out->model_hash, result->model_hash))
        return ifg_fail_no_memory(err, NULL);
    if (!row || !row->sample_count) {
        compare_drop(out, result->row_count && result->rows[0].reason ? result->rows[0].reason
                                                                      : "nothing was measured");
        return IFG_OK;
    }
    out->p50_ms = row->summary.p[STATISTICS_P50];
    out->p50 = row->median;
    out->throughput = row->throughput;
    out->summary = row->summary;
    out->load_ms = bench_row_process_median(row, offsetof(struct bench_process, load_ms));
    out->first_ms = bench_row_process_median(row, offsetof(struct bench_process, first_ms));
    out->specialization_ms =
        bench_row_process_median(row, offsetof(struct bench_process, specialization_ms));
    bench_row_memory(row, &memory);
    out->peak_bytes = memory.peak_bytes;
    sorted = ifg_alloc(row->sample_count, sizeof *sorted);
    if (!sorted || !compare_set(&out->accuracy_reason, "result files hold no outputs")) {
        ifg_free(sorted);
        return ifg_fail_no_memory(err, NULL);
    }
    memcpy(sorted, row->samples_ms, row->sample_count * sizeof *sorted);
    statistics_sort(sorted, row->sample_count);
    out->p99 = statistics_quantile_bound(sorted, row->sample_count, 0.99, STATISTICS_CONFIDENCE);
    ifg_free(sorted);
    return IFG_OK;
}

/* ---- the same work? ---- */

static enum ifg_status check_same_work(const struct compare_options *options,
                                       struct bench_result *const *results,
                                       const char *const *names, size_t other,
                                       struct compare *compare, struct ifg_error *err)
{
    char **lines = NULL;
    size_t count = 0;
    char all[600] = "";
    size_t used = 0;
    enum ifg_status status;

    status = bench_result_differences(results[0], results[other], false, &lines, &count, err);
    for (size_t i = 0; i < count && !status; i++) {
        if (options->force) {
            if (!compare_warn(compare, "%s differs from %s: %s", names[other], names[0], lines[i]))
                status = ifg_fail_no_memory(err, NULL);
        } else if (used < sizeof all) {
            used +=
                (size_t)snprintf(all + used, sizeof all - used, "%s %s", i ? ";" : "", lines[i]);
        }
    }
    if (!status && count && !options->force)
        status = ifg_fail(err, IFG_INVALID,
                          "%s and %s are not the same work (--force compares them all the same):%s",
                          names[0], names[other], all);
    for (size_t i = 0; i < count; i++)
        ifg_free(lines[i]);
    ifg_free(lines);
    return status;
}

static bool warn_about(struct compare *compare, const struct bench_row *row, const char *name)
{
    char text[300];

    if (!row)
        return true;
    if (row->trust.level == TRUST_WARN || row->trust.level == TRUST_BAD) {
        trust_summary(&row->trust, text, sizeof text);
        if (!compare_warn(compare, "%s: the machine was disturbed: %s", name, text))
            return false;
    }
    return row->steady || !row->process_count ||
           compare_warn(compare, "%s: it never reached a steady state", name);
}

/* ---- operators: one recording each, so no certainty ---- */

static const struct bench_op *find_op(const struct bench_row *row, const char *name)
{
    for (size_t i = 0; i < row->op_count; i++)
        if (strcmp(row->ops[i].name, name) == 0)
            return &row->ops[i];
    return NULL;
}

static enum ifg_status list_ops(const struct bench_row *a, const struct bench_row *b,
                                struct compare_row *out, struct ifg_error *err)
{
    if (!a->op_count || !b->op_count)
        return compare_set(&out->ops_reason, "a result has no operators; use bench --ops")
                   ? IFG_OK
                   : ifg_fail_no_memory(err, NULL);
    out->ops_host_time = bench_row_has_host_times(a) || bench_row_has_host_times(b);
    out->ops = ifg_alloc(a->op_count, sizeof *out->ops);
    if (!out->ops)
        return ifg_fail_no_memory(err, NULL);
    for (size_t i = 0; i < a->op_count; i++) {
        const struct bench_op *other = find_op(b, a->ops[i].name);
        struct compare_op *op = &out->ops[out->op_count++];

        op->a_ms = a->ops[i].p50_ms;
        op->b_ms = other ? other->p50_ms : NAN;
        op->share = a->ops[i].share;
        op->change.change = op->b_ms / op->a_ms - 1;
        op->change.low = op->change.high = op->change.p = NAN;
        if (!compare_set(&op->name, a->ops[i].name) ||
            !compare_set(&op->op_type, a->ops[i].op_type))
            return ifg_fail_no_memory(err, NULL);
    }
    return IFG_OK;
}

/* ---- verdicts ---- */

/* The machine's own speed, by the reference kernel, changed by `drift` between the runs. How much
 * of the change is due to that nobody knows, so both ends move outwards by all of it. */
static void widen(struct statistics_change *change, double drift)
{
    change->low = (1 + change->low) * exp(-drift) - 1;
    change->high = (1 + change->high) * exp(drift) - 1;
    change->half_width = (change->high - change->low) / 2;
}

static enum ifg_status judge(struct compare *compare, const struct side *a, const struct side *b,
                             struct compare_row *row, struct ifg_error *err)
{
    double drift = fabs(log(b->reference_ms / a->reference_ms));
    enum ifg_status status;

    row->drift = drift;
    status = statistics_unpaired_change(a->unit_ms, a->process, a->count, b->unit_ms, b->process,
                                        b->count, compare->confidence, 1, compare->seed,
                                        &row->change, err);
    if (!status && !isnan(drift))
        widen(&row->change, drift);
    if (!status && isnan(drift) &&
        !compare_warn(compare,
                      "%s: no reference kernel on both sides: how fast the machine itself was is "
                      "not known",
                      row->name))
        status = ifg_fail_no_memory(err, NULL);
    if (status)
        return status;
    row->verdict = statistics_judge(&row->change, compare->threshold);
    row->more =
        row->verdict == STATISTICS_UNSURE ? statistics_more(&row->change, compare->threshold) : 0;
    row->look = row->verdict != STATISTICS_UNSURE;
    return statistics_second_opinion(a->unit_ms, a->count, b->unit_ms, b->count, &row->second, err);
}

static enum ifg_status compare_one(const struct compare_options *options,
                                   struct bench_result *const *results, const char *const *names,
                                   size_t i, const struct side *baseline, struct compare *compare,
                                   struct ifg_error *err)
{
    struct compare_row *row = &compare->rows[i];
    const struct bench_row *measured = bench_result_main(results[i]);
    struct side side = { 0 };
    enum ifg_status status = check_same_work(options, results, names, i, compare, err);

    if (!status && row->available)
        status = side_init(measured, &side, err);
    if (!status && row->available)
        status = judge(compare, baseline, &side, row, err);
    if (!status && row->available && options->ops)
        status = list_ops(bench_result_main(results[0]), measured, row, err);
    if (status) {
        side_fini(&side);
        return status;
    }
    row->unit_ms = side.unit_ms;
    row->unit_process = side.process;
    row->unit_count = side.count;
    return IFG_OK;
}

static enum ifg_status fill(const struct compare_options *options,
                            struct bench_result *const *results, const char *const *names,
                            size_t count, struct compare *compare, struct ifg_error *err)
{
    struct side baseline = { 0 };
    enum ifg_status status = IFG_OK;

    for (size_t i = 0; i < count && !status; i++) {
        status = fill_row(results[i], names[i], &compare->rows[i], err);
        if (!status && !warn_about(compare, bench_result_main(results[i]), names[i]))
            status = ifg_fail_no_memory(err, NULL);
    }
    if (!status && !compare->rows[0].available)
        status = ifg_fail(err, IFG_UNSUPPORTED, "%s, the baseline, has no measurement: %s",
                          names[0], compare->rows[0].reason ? compare->rows[0].reason : "");
    if (!status)
        status = side_init(bench_result_main(results[0]), &baseline, err);
    compare->looks_taken = 1;
    for (size_t i = 1; i < count && !status; i++)
        status = compare_one(options, results, names, i, &baseline, compare, err);
    if (!status && (!compare_set(&compare->runtime, results[0]->runtime) ||
                    !compare_set(&compare->library, results[0]->library) ||
                    !compare_set(&compare->inputs, results[0]->inputs)))
        status = ifg_fail_no_memory(err, NULL);
    if (status) {
        side_fini(&baseline);
        return status;
    }
    compare->rows[0].unit_ms = baseline.unit_ms;
    compare->rows[0].unit_process = baseline.process;
    compare->rows[0].unit_count = baseline.count;
    return IFG_OK;
}

enum ifg_status compare_results(const struct compare_options *options,
                                struct bench_result *const *results, const char *const *names,
                                size_t count, struct compare **out_compare, struct ifg_error *err)
{
    struct compare *compare = NULL;
    enum ifg_status status = compare_create(COMPARE_NOT_INTERLEAVED, options, count, &compare, err);

    if (!status)
        status = fill(options, results, names, count, compare, err);
    if (status) {
        compare_destroy(compare);
        return status;
    }
    *out_compare = compare;
    return IFG_OK;
}
