// SPDX-License-Identifier: Apache-2.0
/* Interleaved: blocks of models loaded in one process, or processes with one model each. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/quantile.h"
#include "bench/compare/compare_models.h"

#define TURN_BLOCKS 5u /* of a process that is one unit */

static void tell(const struct model_job *job, size_t row, size_t target)
{
    const struct bench_options *bench = &job->options->bench;
    const struct compare_row *measured = &job->compare->rows[row];
    struct bench_progress progress = { .row = measured->name,
                                       .process = job->compare->processes + 1,
                                       .phase = "measuring pairs",
                                       .done = measured->unit_count,
                                       .wanted = target,
                                       .last_p50_ms = NAN };

    if (bench->progress)
        bench->progress(&progress, bench->user);
}

/* Whose fault it was decides: without the baseline nothing can be compared, without another one the
 * rest can. */
static enum ifg_status blame(struct model_job *job, size_t row, enum ifg_status status,
                             struct ifg_error *err)
{
    if (status == IFG_CANCELLED) {
        job->compare->interrupted = true;
        return IFG_OK;
    }
    if (status == IFG_NO_MEMORY)
        return status;
    if (row == 0)
        return ifg_fail_context(err, status, "%s, the baseline", job->compare->rows[0].name);
    compare_drop(&job->compare->rows[row], err ? err->message : "it failed");
    return IFG_OK;
}

static bool is_wanted(const struct model_job *job, size_t row, size_t target)
{
    const struct compare_row *wanted = &job->compare->rows[row];

    return wanted->available && !wanted->look && wanted->unit_count < target;
}

static bool may_go_on(struct model_job *job, size_t target)
{
    bool any = false;

    if (job->compare->interrupted)
        return false;
    if (compare_now() > job->deadline) {
        job->out_of_time = true;
        return false;
    }
    for (size_t i = 1; i < job->compare->row_count; i++)
        any = any || is_wanted(job, i, target);
    return any;
}

/* ---- blocks in one process ---- */

/* Every contender that still wants units, and the baseline, in an order that is drawn: which one
 * comes first decides about its memory. *out_guilty says who failed. */
static enum ifg_status load_all(struct model_job *job, size_t target, size_t *out_guilty,
                                struct ifg_error *err)
{
    size_t count = compare_order(job->compare, &job->random, job->order);
    size_t baseline_at = statistics_random_below(&job->random, count + 1);
    enum ifg_status status;

    for (size_t i = 0; i <= count; i++) {
        size_t row = i == baseline_at ? 0 : job->order[i < baseline_at ? i : i - 1];

        if (row && !is_wanted(job, row, target))
            continue;
        *out_guilty = row;
        status = compare_process_load(job, &job->contenders[row], NULL, err);
        if (status)
            return status;
    }
    for (size_t row = 0; row < job->compare->row_count; row++) {
        if (!job->contenders[row].loaded)
            continue;
        *out_guilty = row;
        status = compare_process_warm_up(job, &job->contenders[row], err);
        if (status)
            return status;
    }
    return IFG_OK;
}

/* ABBA or BAAB: two pairs, each of neighbours that get the same inputs. */
static enum ifg_status four_blocks(struct model_job *job, size_t row, size_t *out_guilty,
                                   struct ifg_error *err)
{
    bool outside = compare_baseline_outside(&job->random);
    uint64_t reference_ns = 0;
    double value[2] = { 0 };
    enum ifg_status status;

    *out_guilty = row;
    status = runner_reference(job->runner, &reference_ns, err);
    for (int turn = 0; turn < 4 && !status; turn++) {
        bool baseline = outside == (turn == 0 || turn == 3);

        *out_guilty = baseline ? 0 : row;
        status = compare_process_block(job, &job->contenders[*out_guilty], 0, reference_ns,
                                       &value[baseline ? 0 : 1], err);
        if (!status && turn % 2)
            status = compare_add_pair(job->compare, row, value[0], value[1],
                                      job->compare->processes, err);
    }
    return status;
}

static enum ifg_status one_process(struct model_job *job, size_t target, struct ifg_error *err)
{
    size_t guilty = 0;
    enum ifg_status status = compare_process_start(job, &job->contenders[0], err);

    if (!status)
        status = load_all(job, target, &guilty, err);
    for (uint32_t pairs = 0; !status && pairs < job->pairs_per_process; pairs += 2) {
        size_t count = compare_order(job->compare, &job->random, job->order);

        for (size_t i = 0; i < count && !status; i++) {
            if (!job->contenders[job->order[i]].loaded || !is_wanted(job, job->order[i], target))
                continue;
            if (!may_go_on(job, target))
                goto out;
            tell(job, job->order[i], target);
            status = four_blocks(job, job->order[i], &guilty, err);
        }
    }
out:
    if (!status || job->seen_count)
        job->compare->processes++;
    if (status)
        status = blame(job, guilty, status, err);
    compare_process_end(job);
    return status;
}

enum ifg_status compare_pairs_in_process(void *user, size_t target, struct ifg_error *err)
{
    struct model_job *job = user;

    while (may_go_on(job, target)) {
        enum ifg_status status = one_process(job, target, err);

        if (status)
            return status;
    }
    return IFG_OK;
}

/* ---- processes ---- */

static enum ifg_status one_turn(struct model_job *job, size_t row, double *out_ms,
                                struct ifg_error *err)
{
    struct contender *contender = &job->contenders[row];
    double medians[TURN_BLOCKS];
    uint64_t reference_ns = 0;
    enum ifg_status status = compare_process_start(job, contender, err);

    if (!status)
        status = compare_process_load(job, contender, NULL, err);
    if (!status)
        status = compare_process_warm_up(job, contender, err);
    if (!status)
        status = runner_reference(job->runner, &reference_ns, err);
    for (size_t i = 0; i < TURN_BLOCKS && !status; i++)
        status = compare_process_block(job, contender, 0, reference_ns, &medians[i], err);
    compare_process_end(job);
    if (status)
        return status;
    job->compare->processes++;
    statistics_sort(medians, TURN_BLOCKS);
    *out_ms = ifg_quantile_sorted(medians, TURN_BLOCKS, 0.5, IFG_QUANTILE_LINEAR);
    return IFG_OK;
}

static enum ifg_status four_turns(struct model_job *job, size_t row, struct ifg_error *err)
{
    bool outside = compare_baseline_outside(&job->random);
    double value[2] = { 0 };

    for (int turn = 0; turn < 4; turn++) {
        bool baseline = outside == (turn == 0 || turn == 3);
        enum ifg_status status = one_turn(job, baseline ? 0 : row, &value[baseline ? 0 : 1], err);

        if (status)
            return blame(job, baseline ? 0 : row, status, err);
        if (turn % 2)
            status = compare_add_pair(job->compare, row, value[0], value[1],
                                      job->compare->processes - 1, err);
        if (status)
            return status;
    }
    return IFG_OK;
}

enum ifg_status compare_pairs_of_processes(void *user, size_t target, struct ifg_error *err)
{
    struct model_job *job = user;

    while (may_go_on(job, target)) {
        size_t count = compare_order(job->compare, &job->random, job->order);

        for (size_t i = 0; i < count && may_go_on(job, target); i++) {
            enum ifg_status status = IFG_OK;

            tell(job, job->order[i], target);
            if (is_wanted(job, job->order[i], target))
                status = four_turns(job, job->order[i], err);
            if (status)
                return status;
        }
    }
    return IFG_OK;
}
