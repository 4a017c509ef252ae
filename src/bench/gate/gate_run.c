// SPDX-License-Identifier: Apache-2.0
/* Measuring, judging, and measuring again what failed: see docs/gate.md for the plan. */
#include "bench/gate/gate_run.h"

#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/ticks.h"
#include "bench/gate/gate_internal.h"

#define THRESHOLD_IN_TURNS 0.02
#define THRESHOLD_BASELINE 0.10
#define PROCESSES_PER_SIDE 12
#define PROCESSES_MOST     1000
#define NEEDS_MARGIN       1.25 /* what is needed is itself an estimate */
#define GROWTH_MAX         8.0
#define TURNS_LEAST_S      5.0 /* of an interleaved comparison */

static void run_fini(struct gate_work *run)
{
    for (size_t i = 0; i < run->result_count; i++)
        bench_result_destroy(run->results[i]);
    for (size_t i = 0; i < run->compare_count; i++)
        compare_destroy(run->compares[i]);
    bench_result_destroy(run->baseline);
}

enum ifg_status gate_no_verdict(enum ifg_status status)
{
    switch (status) {
    case IFG_INTERNAL:
    case IFG_UNSUPPORTED:
    case IFG_CANCELLED:
        return IFG_INVALID;
    default:
        return status;
    }
}

void gate_warn(struct gate_report *report, bool drift, bool fatal, const char *format, ...)
{
    struct gate_warning *warning;
    va_list arguments;

    if (report->warning_count == GATE_WARNINGS_MAX)
        return;
    warning = &report->warnings[report->warning_count++];
    warning->drift = drift;
    warning->fatal = fatal;
    va_start(arguments, format);
    vsnprintf(warning->text, sizeof warning->text, format, arguments);
    va_end(arguments);
}

/* ---- checks ---- */

static void add_checks(struct gate_work *run)
{
    struct gate_request *request = run->request;
    struct gate_report *report = run->report;
    struct gate_check *check;
    bool in_turns = request->against || request->base_command;

    if (in_turns) {
        check = &report->checks[report->check_count++];
        check->kind = GATE_RELATIVE;
        check->against = report->against;
        check->unit = request->command ? COMPARE_PROCESSES : COMPARE_BLOCK_PAIRS;
        check->limit = isnan(request->threshold) ? THRESHOLD_IN_TURNS : request->threshold;
        snprintf(check->metric, sizeof check->metric, "%s",
                 !request->command                      ? "p50"
                 : request->measure == COMPARE_CPU      ? "cpu"
                 : request->measure == COMPARE_JSON_KEY ? request->measure_key
                                                        : "wall");
    }
    if (run->baseline) {
        check = &report->checks[report->check_count++];
        check->kind = GATE_RELATIVE;
        check->against = request->baseline;
        check->unit = COMPARE_NOT_INTERLEAVED;
        check->limit = isnan(request->threshold) ? THRESHOLD_BASELINE : request->threshold;
        snprintf(check->metric, sizeof check->metric, "p50");
    }
    for (size_t i = 0; i < request->budget_count; i++) {
        check = &report->checks[report->check_count++];
        check->kind = GATE_BUDGET;
        check->budget = &request->budgets[i];
        check->limit = request->budgets[i].limit;
        snprintf(check->metric, sizeof check->metric, "%s", request->budgets[i].metric);
    }
}

void gate_set_reason(struct gate_check *check, const char *reason)
{
    snprintf(check->reason, sizeof check->reason, "%s", reason);
}

static bool is_in_turns(const struct gate_check *check)
{
    return check->kind == GATE_OUTPUTS ||
           (check->kind == GATE_RELATIVE && check->unit != COMPARE_NOT_INTERLEAVED);
}

/* Open ones that this kind of measurement could settle. */
static bool is_open(const struct gate_work *run, bool in_turns)
{
    for (size_t i = 0; i < run->report->check_count; i++) {
        const struct gate_check *check = &run->report->checks[i];

        if (!check->settled && is_in_turns(check) == in_turns)
            return true;
    }
    return false;
}

/* ---- measuring ---- */

static double now_s(void)
{
    return 1e-9 * (double)ifg_monotonic_ns();
}

/* By how much the next measurement should be larger than the first, so that what is unsure now is
 * decided with some room: at most by what the time allows. Below 1: not even the same fits in. */
static double wanted_growth(const struct gate_work *run)
{
    double growth = 1;

    for (size_t i = 0; i < run->report->check_count; i++) {
        const struct gate_check *check = &run->report->checks[i];
        double count = (double)check->estimate.count;
        double needs = NEEDS_MARGIN * (double)check->estimate.needs;

        if (!check->settled && check->verdict == GATE_UNSURE && !is_in_turns(check) &&
            needs > count && count > 0)
            growth = fmax(growth, (needs / count - 1) * run->alone_s / run->last_s);
    }
    growth = fmin(growth, GROWTH_MAX);
    return fmin(growth, (run->deadline_s - now_s()) / run->last_s);
}

/* Failures are confirmed, and what the machine spoilt is measured again, whatever the time. */
static bool must_look_again(const struct gate_work *run)
{
    for (size_t i = 0; i < run->report->check_count; i++) {
        const struct gate_check *check = &run->report->checks[i];

        if (!check->settled && (check->verdict == GATE_FAIL || check->verdict == GATE_UNFIT))
            return true;
    }
    return false;
}

static enum ifg_status measure(struct gate_work *run, struct ifg_error *err)
{
    struct gate_request *request = run->request;
    struct bench_options options = request->options;
    struct bench_result *result = NULL;
    double growth = run->result_count ? fmax(1, wanted_growth(run)) : 1;
    double began_s = now_s();
    enum ifg_status status;

    for (size_t i = 0; i < run->report->check_count && run->result_count; i++)
        if (strcmp(run->report->checks[i].reason, gate_no_steady) == 0)
            options.warmup_max_s =
                request->options.warmup_max_s * (double)(1u << run->result_count);
    /* More processes, as they are what an interval rests on. */
    options.processes = (uint32_t)fmin(round(options.processes * growth), PROCESSES_MOST);
    status = bench_measure(&options, &result, err);
    run->last_s = (now_s() - began_s) * request->options.processes / options.processes;
    run->alone_s += now_s() - began_s;
    if (status)
        return status;
    run->interrupted = run->interrupted || result->interrupted;
    return gate_add_result(run, result, request->model, err);
}

static enum ifg_status compare_once(struct gate_work *run, const struct compare_options *options,
                                    struct compare **out, struct ifg_error *err)
{
    const struct gate_request *request = run->request;
    char shell[] = "sh";
    char shell_option[] = "-c";
    char *in_shell[] = { shell, shell_option, NULL, NULL };
    struct compare_command commands[2];

    if (!request->command)
        return compare_models(options, out, err);
    commands[1].name = run->report->subject;
    commands[1].argv = request->command;
    commands[0].name = run->report->against;
    commands[0].argv = request->base_command;
    if (!commands[0].argv) {
        in_shell[2] = (char *)(uintptr_t)request->against;
        commands[0].argv = in_shell;
    }
    return compare_commands(options, commands, 2, request->measure, request->measure_key, out, err);
}

static enum ifg_status check_compared(const struct gate_work *run, const struct compare *compare,
                                      struct ifg_error *err)
{
    for (size_t i = 0; i < compare->row_count; i++) {
        const struct compare_row *row = &compare->rows[i];

        if (row->available)
            continue;
        /* The base runs, the candidate does not: that is a failure. */
        return ifg_fail(err, i ? IFG_INTERNAL : IFG_INVALID, "%s: nothing was measured%s%s",
                        row->name, row->reason ? ": " : "", row->reason ? row->reason : "");
    }
    for (size_t i = 0; i < compare->warning_count && run->compare_count == 1; i++)
        gate_warn(run->report, false, false, "%s", compare->warnings[i]);
    return IFG_OK;
}

/* A faster way to another answer is no improvement. Which answer it gives does not depend on the
 * machine: one look is enough. */
static void judge_outputs(struct gate_work *run, const struct compare *compare)
{
    const struct gate_request *request = run->request;
    const struct compare_row *row = &compare->rows[1];
    struct gate_check *check = &run->report->checks[run->report->check_count];
    double least = 1;

    if (!row->accuracy_count && !request->limits_given) {
        gate_warn(run->report, false, false, "the outputs were not compared: %s",
                  row->accuracy_reason ? row->accuracy_reason : "there are none");
        return;
    }
    run->report->check_count++;
    check->kind = GATE_OUTPUTS;
    check->against = run->report->against;
    check->limit = request->limits.min_cosine;
    snprintf(check->metric, sizeof check->metric, "outputs");
    for (size_t i = 0; i < row->accuracy_count; i++)
        if (row->accuracy[i].comparable && row->accuracy[i].cosine < least)
            least = row->accuracy[i].cosine;
    check->estimate.rule = GATE_EXACT;
    check->estimate.value = check->estimate.low = check->estimate.high = least;
    check->estimate.low_known = check->estimate.high_known = true;
    check->estimate.count = row->accuracy_count;
    gate_set_reason(check, !row->accuracy_count  ? row->accuracy_reason
                           : row->outputs_differ ? row->outputs_reason
                                                 : "");
    gate_take_look(check, &request->plan,
                   !row->accuracy_count  ? GATE_LACKS
                   : row->outputs_differ ? GATE_FAIL
                                         : GATE_PASS);
}

static enum ifg_status compare_in_turns(struct gate_work *run, struct ifg_error *err)
{
    struct gate_request *request = run->request;
    struct gate_check *check = &run->report->checks[0];
    struct bench_variant variants[2] = { { .name = run->report->against,
                                           .model = request->against },
                                         { .name = request->model, .model = request->model } };
    struct compare_options options;
    struct compare *compare = NULL;
    double began_s = now_s();
    enum ifg_status status;

    compare_options_init(&options);
    options.bench = request->options;
    options.bench.variants = variants;
    options.bench.variant_count = request->command ? 0 : 2;
    options.threshold = check->limit;
    options.alpha = run->report->alpha;
    options.accuracy = !request->no_accuracy && !request->command && !run->compare_count;
    options.limits = request->limits;
    options.one_sided = true;
    options.force = true;
    options.pairs = request->pairs ? request->pairs : request->command ? PROCESSES_PER_SIDE : 0;
    options.max_s = fmax(run->deadline_s - began_s, TURNS_LEAST_S);
    status = compare_once(run, &options, &compare, err);
    run->turns_s += now_s() - began_s;
    if (status)
        return status == IFG_INTERNAL ? gate_no_verdict(status) : status;
    run->compares[run->compare_count++] = compare;
    run->interrupted = run->interrupted || compare->interrupted;
    status = check_compared(run, compare, err);
    if (status)
        return status;
    check->unit = compare->unit;
    if (options.accuracy)
        judge_outputs(run, compare);
    status = gate_pool_changes((const struct compare *const *)run->compares, run->compare_count,
                               &check->change, err);
    if (status)
        return gate_no_verdict(status);
    gate_estimate_change(&check->change, check->limit, compare->confidence, &check->estimate);
    gate_take_look(check, &request->plan, gate_verdict_of_change(&check->change, check->limit));
    snprintf(run->in_turns, sizeof run->in_turns, "%zu pairs (%s)", check->change.units,
             compare_unit_name(compare->unit));
    return IFG_OK;
}

/* As many inferences as the budgets need, unless the user said how many. */
static void plan_iterations(struct gate_work *run)
{
    struct gate_request *request = run->request;
    struct bench_options *options = &request->options;
    uint64_t needed =
        gate_samples_needed(request->budgets, request->budget_count, run->report->alpha);

    if (request->iterations_given || !options->processes)
        return;
    needed = (needed + options->processes - 1) / options->processes;
    if (needed > options->iterations)
        options->iterations = (uint32_t)needed;
}

/* How long it would take until what is unsure is certain. */
static void estimate_time(struct gate_work *run)
{
    for (size_t i = 0; i < run->report->check_count; i++) {
        struct gate_check *check = &run->report->checks[i];
        double spent_s = is_in_turns(check) ? run->turns_s : run->alone_s;

        if (check->verdict == GATE_UNSURE && check->estimate.needs > check->estimate.count &&
            check->estimate.count)
            check->needs_s = NEEDS_MARGIN * spent_s * (double)check->estimate.needs /
                             (double)check->estimate.count;
    }
}

static bool has_time(struct gate_work *run, bool alone)
{
    if (must_look_again(run))
        return true;
    run->out_of_time = alone ? wanted_growth(run) < 1 : run->deadline_s - now_s() < TURNS_LEAST_S;
    return !run->out_of_time;
}

static enum ifg_status run_measured(struct gate_work *run, struct ifg_error *err)
{
    struct gate_request *request = run->request;
    struct bench_options *options = &request->options;
    uint32_t looks = gate_plan_looks(&request->plan);
    bool keeps_result = request->history || (request->update_baseline && request->baseline);
    double max_s = request->max_s > 0 ? request->max_s : GATE_MAX_S;
    enum ifg_status status = IFG_OK;

    options->model = request->model;
    if (request->slo_ms > 0)
        options->slo_ms = request->slo_ms;
    plan_iterations(run);
    if (request->model && !bench_check_model(request->model, options->runtime, NULL, NULL))
        request->plan_made(is_open(run, false) || keeps_result ? options : NULL, max_s,
                           request->user);
    run->deadline_s = now_s() + max_s;
    for (uint32_t look = 0; !status && look < looks && !run->interrupted; look++) {
        bool in_turns = is_open(run, true);
        bool alone = is_open(run, false) || (keeps_result && !look);

        if (!in_turns && !alone)
            break;
        if (look && !has_time(run, !in_turns))
            break;
        run->report->measurements++;
        if (in_turns)
            status = compare_in_turns(run, err);
        if (!status && alone && !run->interrupted)
            status = measure(run, err);
        if (!status && run->result_count && alone)
            status = gate_judge_results(run, err);
    }
    estimate_time(run);
    return status;
}

/* ---- files ---- */

static enum ifg_status run_result(struct gate_work *run, struct ifg_error *err)
{
    struct gate_request *request = run->request;
    struct bench_result *result = NULL;
    enum ifg_status status = bench_result_read(
        strcmp(request->result, "-") == 0 ? "/dev/stdin" : request->result, &result, err);

    if (status)
        return gate_no_verdict(status);
    status = gate_add_result(run, result, request->result, err);
    return status ? status : gate_judge_results(run, err);
}

static void warn_of_left_out(const struct gate_check *check, const struct gate_left_out *left,
                             struct gate_report *report)
{
    if (left->unfinished)
        gate_warn(report, false, false, "%s: %llu had not ended and are in no figure",
                  check->metric, (unsigned long long)left->unfinished);
    if (left->perturbed)
        gate_warn(report, false, false,
                  "%s: in %llu the operators were recorded, which makes them slower; they are in "
                  "no figure",
                  check->metric, (unsigned long long)left->perturbed);
}

static enum ifg_status run_trace(struct gate_work *run, struct ifg_error *err)
{
    struct gate_request *request = run->request;
    struct perturbed perturbed = { 0 };
    enum ifg_status status = perturbed_find(request->timeline, &perturbed, err);

    for (size_t i = 0; !status && i < run->report->check_count; i++) {
        struct gate_check *check = &run->report->checks[i];
        struct gate_left_out left;

        status =
            gate_estimate_trace(check->budget, request->timeline, &perturbed, run->report->alpha,
                                request->options.inputs.seed, &check->estimate, &left, err);
        if (status) {
            status = ifg_fail_context(err, status, "%s", request->trace);
            break;
        }
        gate_take_look(check, &request->plan,
                       gate_judge(&check->estimate, check->budget->at_least, check->limit));
        warn_of_left_out(check, &left, run->report);
    }
    if (!status && request->timeline->dropped)
        gate_warn(run->report, false, false,
                  "%llu events were dropped while recording and are in no figure",
                  (unsigned long long)request->timeline->dropped);
    perturbed_fini(&perturbed);
    return gate_no_verdict(status);
}

/* ---- together ---- */

static enum gate_status status_of(enum gate_verdict verdict)
{
    switch (verdict) {
    case GATE_PASS:
        return GATE_STATUS_PASS;
    case GATE_FAIL:
        return GATE_STATUS_FAIL;
    case GATE_UNSURE:
        return GATE_STATUS_UNSURE;
    default:
        return GATE_STATUS_LACKS;
    }
}

static void conclude(struct gate_work *run)
{
    struct gate_report *report = run->report;

    snprintf(report->measured, sizeof report->measured, "%s%s%s", run->in_turns,
             run->in_turns[0] && run->alone[0] ? ", " : "", run->alone);
    report->verdict = gate_overall(report->checks, report->check_count, run->request->on_unsure);
    if (run->interrupted && report->verdict != GATE_FAIL)
        report->verdict = GATE_UNSURE;
    report->status = status_of(report->verdict);
    if (report->verdict == GATE_UNSURE && report->on_unsure == GATE_UNSURE_WARNS &&
        !run->interrupted)
        report->status = GATE_STATUS_PASS;
    for (size_t i = 0; i < report->warning_count; i++) {
        if (report->warnings[i].fatal) {
            report->verdict = GATE_FAIL;
            report->status = GATE_STATUS_FAIL;
        }
    }
}

enum ifg_status gate_run(struct gate_request *request, struct gate_report *report,
                         struct ifg_error *err)
{
    struct gate_work run = { .request = request, .report = report };
    enum ifg_status status = IFG_OK;

    report->on_unsure = request->on_unsure;
    report->baseline = request->update_baseline ? request->baseline : NULL;
    report->planned = request->model || request->command;
    if (!report->planned) /* there is nothing to measure again */
        request->plan.retries = request->plan.unsure = 0;
    report->plan = request->plan;
    report->alpha = gate_plan_alpha(&request->plan);
    if (request->baseline)
        status = gate_read_baseline(&run, err);
    if (!status) {
        add_checks(&run);
        status = request->trace    ? run_trace(&run, err)
                 : request->result ? run_result(&run, err)
                                   : run_measured(&run, err);
    }
    /* What no look reached, because it was stopped. */
    for (size_t i = 0; !status && i < report->check_count; i++) {
        if (!report->checks[i].look_count) {
            report->checks[i].verdict = GATE_UNSURE;
            gate_set_reason(&report->checks[i], "it was stopped before it was measured");
        }
    }
    if (!status)
        status = gate_keep_in_history(&run, err);
    if (!status) {
        conclude(&run);
        status = gate_update_baseline(&run, err);
    }
    gate_history_destroy(run.history);
    run_fini(&run);
    return status;
}
