// SPDX-License-Identifier: Apache-2.0
/* Judging what was measured or read: budgets and the baseline, over all looks together. */
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "bench/gate/gate_internal.h"

/* A line of talk. */
static void say(const struct gate_work *run, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

static void say(const struct gate_work *run, const char *format, ...)
{
    char text[GATE_MESSAGE];
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    run->request->say(text, run->request->user);
}

static const struct bench_row *choose_row(const struct bench_result *result, const char *name)
{
    if (!name)
        return bench_result_main(result);
    for (size_t i = 0; i < result->row_count; i++)
        if (result->rows[i].name && strcmp(result->rows[i].name, name) == 0)
            return &result->rows[i];
    return NULL;
}

/* Whether the row to be judged is there. */
static enum ifg_status check_row(const struct gate_request *request,
                                 const struct bench_result *result, const char *where,
                                 struct ifg_error *err)
{
    const struct bench_row *row = choose_row(result, request->row);
    const struct bench_row *first = result->row_count ? &result->rows[0] : NULL;
    char names[300] = "";
    size_t used = 0;

    if (row && row->available && (row->sample_count || row->process_count))
        return IFG_OK;
    if (request->row && !row) {
        for (size_t i = 0; i < result->row_count && used < sizeof names; i++)
            used += (size_t)snprintf(names + used, sizeof names - used, "%s%s", i ? ", " : "",
                                     result->rows[i].name);
        return ifg_fail(err, IFG_NOT_FOUND, "%s has no row '%s'; there are: %s", where,
                        request->row, names);
    }
    row = row ? row : first;
    return ifg_fail(err,
                    row && row->crashed      ? IFG_INTERNAL
                    : row && !row->available ? IFG_UNSUPPORTED
                                             : IFG_INVALID,
                    "%s: nothing was measured%s%s", where, row && row->reason ? ": " : "",
                    row && row->reason ? row->reason : "");
}

struct pooled {
    struct bench_row fit; /* of measurements in a fit environment */
    struct bench_row all;
    size_t fit_count;
    size_t all_count;
};

static enum ifg_status pool(const struct gate_work *run, struct pooled *out, struct ifg_error *err)
{
    const struct bench_row *fit[GATE_RETRIES_MAX + 1];
    const struct bench_row *all[GATE_RETRIES_MAX + 1];
    struct gate_request *request = run->request;
    bool nearest = run->results[0]->percentile_nearest;
    uint64_t seed = run->results[0]->seed;
    enum ifg_status status;
    bool any_steady = false;

    memset(out, 0, sizeof *out);
    for (size_t i = 0; i < run->result_count; i++)
        any_steady =
            any_steady || (run->fit[i] && choose_row(run->results[i], request->row)->steady);
    for (size_t i = 0; i < run->result_count; i++) {
        const struct bench_row *row = choose_row(run->results[i], request->row);

        all[out->all_count++] = row;
        /* One that was not steady is no help to those that were. */
        if (run->fit[i] && (row->steady || !any_steady))
            fit[out->fit_count++] = row;
    }
    status = gate_pool_rows(all, out->all_count, nearest, seed, &out->all, err);
    if (!status && out->fit_count) {
        status = gate_pool_rows(fit, out->fit_count, nearest, seed, &out->fit, err);
        if (status)
            gate_pool_fini(&out->all);
    }
    return gate_no_verdict(status);
}

static void pooled_fini(struct pooled *pooled)
{
    gate_pool_fini(&pooled->fit);
    gate_pool_fini(&pooled->all);
}

const char gate_no_steady[] = "no steady state was reached: more --warmup-max, or judge it as it "
                              "is with --allow-noisy";
static const char not_fit[] = "the machine was not fit for it (--allow-noisy judges it anyway)";

/* Otherwise there are too few samples, and noise has no part in it. */
static bool knows_both_ends(const struct gate_estimate *estimate)
{
    return estimate->low_known && estimate->high_known;
}

static const char beyond_noise[] =
    "whatever the machine did: even the best of all is beyond twice the limit";

static enum ifg_status estimate_row(const struct gate_work *run, const struct bench_row *row,
                                    const struct gate_check *check, struct gate_estimate *out,
                                    enum gate_verdict *out_verdict, struct ifg_error *err)
{
    enum ifg_status status =
        gate_estimate_result(check->budget, run->results[0], row, run->request->slo_ms,
                             run->report->alpha, run->request->options.inputs.seed, out, err);

    if (status)
        return gate_no_verdict(status);
    *out_verdict = gate_judge(out, check->budget->at_least, check->limit);
    return IFG_OK;
}

static enum ifg_status judge_budget(const struct gate_work *run, const struct pooled *pooled,
                                    struct gate_check *check, struct ifg_error *err)
{
    const struct gate_request *request = run->request;
    bool timing = gate_budget_is_timing(check->budget);
    const struct bench_row *row = timing && pooled->fit_count ? &pooled->fit : &pooled->all;
    enum ifg_status status;
    bool unfit = timing && !pooled->fit_count;
    bool unsteady;
    enum gate_verdict verdict;
    bool clear;

    status = estimate_row(run, row, check, &check->estimate, &verdict, err);
    if (status)
        return status;
    /* Too few of them were measured while the machine was fit: but noise makes things slower, never
     * faster, so what is within its limit with the others too, is. */
    if (verdict == GATE_UNSURE && row != &pooled->all && !knows_both_ends(&check->estimate)) {
        struct gate_estimate of_all;
        enum gate_verdict by_all;

        status = estimate_row(run, &pooled->all, check, &of_all, &by_all, err);
        if (status)
            return status;
        if (by_all == GATE_PASS) {
            check->estimate = of_all;
            verdict = GATE_PASS;
            row = &pooled->all;
        }
    }
    unsteady = gate_budget_is_steady(check->budget) && !row->steady && row->process_count &&
               !request->allow_noisy;
    gate_set_reason(check, verdict == GATE_LACKS ? check->estimate.missing : "");
    clear = gate_beyond_noise(&check->estimate, check->budget->at_least, check->limit, verdict);
    if (clear && verdict == GATE_FAIL && (unfit || unsteady))
        gate_set_reason(check, beyond_noise);
    if (unfit && !clear &&
        (verdict == GATE_FAIL || (verdict == GATE_UNSURE && knows_both_ends(&check->estimate)))) {
        verdict = GATE_UNFIT;
        gate_set_reason(check, not_fit);
    } else if (verdict != GATE_LACKS && unsteady && !clear &&
               (verdict != GATE_UNSURE || knows_both_ends(&check->estimate))) {
        verdict = GATE_UNSURE;
        gate_set_reason(check, gate_no_steady);
    }
    gate_take_look(check, &request->plan, verdict);
    return IFG_OK;
}

/* The model itself may be another one: whether a new one is slower is what is asked. */
static enum ifg_status check_same_work(const struct gate_work *run, struct ifg_error *err)
{
    enum ifg_status status;
    char **lines = NULL;
    size_t count = 0;

    status = bench_result_differences(run->baseline, run->results[0], true, &lines, &count, err);
    if (status)
        return gate_no_verdict(status);
    for (size_t i = 0; i < count; i++) {
        if (run->request->force)
            gate_warn(run->report, false, false, "%s differs: %s", run->request->baseline,
                      lines[i]);
        else
            say(run, "%s is not the same work: %s", run->request->baseline, lines[i]);
        ifg_free(lines[i]);
    }
    ifg_free(lines);
    if (run->baseline->model_hash && run->results[0]->model_hash &&
        strcmp(run->baseline->model_hash, run->results[0]->model_hash) != 0)
        gate_warn(run->report, false, false, "%s is of another model: %s", run->request->baseline,
                  run->baseline->model_name);
    if (count && !run->request->force)
        return ifg_fail(err, IFG_INVALID,
                        "a new baseline: inferogram bench MODEL --json > %s; --force compares them "
                        "anyway",
                        run->request->baseline);
    return IFG_OK;
}

static bool is_unfit(const struct bench_result *result, const struct gate_request *request)
{
    const struct bench_row *row = bench_result_main(result);

    return row && row->trust.level == TRUST_BAD && !request->allow_noisy;
}

/* What noise on either side cannot have done: every inference is twice as fast as the fastest of
 * the baseline (and what is allowed), or more than twice as slow as its slowest. */
static bool change_beyond_noise(const struct bench_row *base, const struct bench_row *row,
                                double limit, enum gate_verdict verdict)
{
    if (!base || !base->sample_count || !row->sample_count)
        return false;
    if (verdict == GATE_PASS)
        return GATE_NOISE_FACTOR * row->summary.max <= (1 + limit) * base->summary.min;
    return verdict == GATE_FAIL &&
           row->summary.min > GATE_NOISE_FACTOR * (1 + limit) * base->summary.max;
}

static enum ifg_status judge_baseline(const struct gate_work *run, struct pooled *pooled,
                                      struct gate_check *check, struct ifg_error *err)
{
    const struct gate_request *request = run->request;
    struct bench_row *row = pooled->fit_count ? &pooled->fit : &pooled->all;
    struct bench_result shown = *run->results[0];
    struct bench_result *both[2] = { run->baseline, &shown };
    const char *names[2] = { request->baseline, run->report->subject };
    struct compare_options options;
    struct compare *compare = NULL;
    enum ifg_status status;
    enum gate_verdict verdict;
    bool clear;

    shown.rows = row;
    shown.row_count = 1;
    compare_options_init(&options);
    options.threshold = check->limit;
    options.alpha = run->report->alpha;
    options.force = true; /* looked at by check_same_work */
    status = compare_results(&options, both, names, 2, &compare, err);
    if (status)
        return gate_no_verdict(status);
    check->change = compare->rows[1].change;
    gate_estimate_change(&check->change, check->limit, compare->confidence, &check->estimate);
    verdict = gate_verdict_of_change(&check->change, check->limit);
    gate_set_reason(check, "");
    clear = change_beyond_noise(bench_result_main(run->baseline), row, check->limit, verdict);
    /* The same, and the new one is not excused by noise in the old one. */
    if (!clear && ((!pooled->fit_count && verdict != GATE_PASS) ||
                   (is_unfit(run->baseline, request) && verdict != GATE_FAIL))) {
        verdict = GATE_UNFIT;
        gate_set_reason(check, not_fit);
    } else if (!clear && !row->steady && row->process_count && !request->allow_noisy) {
        verdict = GATE_UNSURE;
        gate_set_reason(check, gate_no_steady);
    }
    gate_take_look(check, &request->plan, verdict);
    compare_destroy(compare);
    return IFG_OK;
}

enum ifg_status gate_judge_results(struct gate_work *run, struct ifg_error *err)
{
    struct pooled pooled;
    enum ifg_status status = pool(run, &pooled, err);

    if (status)
        return status;
    for (size_t i = 0; !status && i < run->report->check_count; i++) {
        struct gate_check *check = &run->report->checks[i];

        if (check->settled)
            continue;
        if (check->kind == GATE_BUDGET)
            status = judge_budget(run, &pooled, check, err);
        else if (check->unit == COMPARE_NOT_INTERLEAVED)
            status = judge_baseline(run, &pooled, check, err);
    }
    snprintf(run->alone, sizeof run->alone, "%zu inferences", pooled.all.sample_count);
    if (pooled.all.process_count)
        snprintf(run->alone + strlen(run->alone), sizeof run->alone - strlen(run->alone),
                 " in %zu process%s", pooled.all.process_count,
                 pooled.all.process_count == 1 ? "" : "es");
    pooled_fini(&pooled);
    return status;
}

/* Takes the result over. */
enum ifg_status gate_add_result(struct gate_work *run, struct bench_result *result,
                                const char *where, struct ifg_error *err)
{
    const struct gate_request *request = run->request;
    const struct bench_row *row;
    enum ifg_status status;

    run->results[run->result_count++] = result;
    status = check_row(request, result, where, err);
    if (status)
        return status;
    row = choose_row(result, request->row);
    run->fit[run->result_count - 1] = row->trust.level != TRUST_BAD || request->allow_noisy;
    if (row->trust.level == TRUST_WARN || row->trust.level == TRUST_BAD)
        trust_summary(&row->trust, run->report->trust, sizeof run->report->trust);
    if (result->interrupted)
        gate_warn(run->report, false, false, "%s was interrupted: it has only a part", where);
    return run->result_count == 1 && run->baseline ? check_same_work(run, err) : IFG_OK;
}
