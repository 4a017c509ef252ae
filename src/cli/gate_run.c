// SPDX-License-Identifier: Apache-2.0
/* Measuring, judging, and measuring again what failed: see docs/gate.md for the plan. */
#include "cli/gate_run.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/alloc.h"
#include "cli/cli.h"

#define THRESHOLD_IN_TURNS 0.02
#define THRESHOLD_BASELINE 0.10
#define PROCESSES_PER_SIDE 12
#define PROCESSES_MOST     1000
#define NEEDS_MARGIN       1.25 /* what is needed is itself an estimate */
#define GROWTH_MAX         8.0
#define TURNS_LEAST_S      5.0 /* of a comparison in turns */

static void run_fini(struct gate_work *run)
{
    for (size_t i = 0; i < run->result_count; i++)
        bench_result_destroy(run->results[i]);
    for (size_t i = 0; i < run->compare_count; i++)
        compare_destroy(run->compares[i]);
    bench_result_destroy(run->baseline);
}

static int say_error(const struct ifg_error *err, int code)
{
    cli_say("%s", err->message);
    return code;
}

/* Out of memory or a failed computation is nobody's verdict. */
static int say_trouble(const struct ifg_error *err)
{
    return say_error(err, CLI_USAGE);
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

static void set_reason(struct gate_check *check, const char *reason)
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

static const struct bench_row *choose_row(const struct bench_result *result, const char *name)
{
    if (!name)
        return bench_result_main(result);
    for (size_t i = 0; i < result->row_count; i++)
        if (result->rows[i].name && strcmp(result->rows[i].name, name) == 0)
            return &result->rows[i];
    return NULL;
}

/* The row to be judged is there, or the exit status after a message. */
static int check_row(const struct gate_request *request, const struct bench_result *result,
                     const char *where)
{
    const struct bench_row *row = choose_row(result, request->row);
    const struct bench_row *first = result->row_count ? &result->rows[0] : NULL;
    char names[300] = "";
    size_t used = 0;

    if (row && row->available && (row->sample_count || row->process_count))
        return CLI_YES;
    if (request->row && !row) {
        for (size_t i = 0; i < result->row_count && used < sizeof names; i++)
            used += (size_t)snprintf(names + used, sizeof names - used, "%s%s", i ? ", " : "",
                                     result->rows[i].name);
        cli_say("%s has no row '%s'; there are: %s", where, request->row, names);
        return CLI_USAGE;
    }
    row = row ? row : first;
    cli_say("%s: nothing was measured%s%s", where, row && row->reason ? ": " : "",
            row && row->reason ? row->reason : "");
    if (row && row->crashed)
        return CLI_NO;
    return row && !row->available ? CLI_LACKS : CLI_USAGE;
}

/* ---- judging results ---- */

struct pooled {
    struct bench_row fit, all; /* of measurements in a fit environment; of all */
    size_t fit_count, all_count;
};

static int pool(const struct gate_work *run, struct pooled *out)
{
    const struct bench_row *fit[GATE_RETRIES_MAX + 1];
    const struct bench_row *all[GATE_RETRIES_MAX + 1];
    struct gate_request *request = run->request;
    bool nearest = run->results[0]->percentile_nearest;
    uint64_t seed = run->results[0]->seed;
    struct ifg_error err = { 0 };
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
    if (gate_pool_rows(all, out->all_count, nearest, seed, &out->all, &err))
        return say_trouble(&err);
    if (out->fit_count && gate_pool_rows(fit, out->fit_count, nearest, seed, &out->fit, &err)) {
        gate_pool_fini(&out->all);
        return say_trouble(&err);
    }
    return CLI_YES;
}

static void pooled_fini(struct pooled *pooled)
{
    gate_pool_fini(&pooled->fit);
    gate_pool_fini(&pooled->all);
}

static const char no_steady[] = "no steady state was reached: more --warmup-max, or judge it as it "
                                "is with --allow-noisy";
static const char not_fit[] = "the machine was not fit for it (--allow-noisy judges it anyway)";

/* Otherwise there are too few samples, and noise has no part in it. */
static bool knows_both_ends(const struct gate_estimate *estimate)
{
    return estimate->low_known && estimate->high_known;
}

static const char beyond_noise[] =
    "whatever the machine did: even the best of all is beyond twice the limit";

static int judge_budget(const struct gate_work *run, const struct pooled *pooled,
                        struct gate_check *check)
{
    const struct gate_request *request = run->request;
    bool timing = gate_budget_is_timing(check->budget);
    const struct bench_row *row = timing && pooled->fit_count ? &pooled->fit : &pooled->all;
    struct ifg_error err = { 0 };
    bool unfit = timing && !pooled->fit_count;
    bool unsteady = gate_budget_is_steady(check->budget) && !row->steady && row->process_count &&
                    !request->allow_noisy;
    enum gate_verdict verdict;
    bool clear;

    if (gate_estimate_result(check->budget, run->results[0], row, request->slo_ms,
                             run->report->alpha, request->arguments.options.inputs.seed,
                             &check->estimate, &err))
        return say_trouble(&err);
    verdict = gate_judge(&check->estimate, check->budget->at_least, check->limit);
    set_reason(check, verdict == GATE_LACKS ? check->estimate.missing : "");
    clear = gate_beyond_noise(&check->estimate, check->budget->at_least, check->limit, verdict);
    if (clear && verdict == GATE_FAIL && (unfit || unsteady))
        set_reason(check, beyond_noise);
    /* Noise makes things slower, never faster: what is within its limit all the same, is. */
    if (unfit && !clear &&
        (verdict == GATE_FAIL || (verdict == GATE_UNSURE && knows_both_ends(&check->estimate)))) {
        verdict = GATE_UNFIT;
        set_reason(check, not_fit);
    } else if (verdict != GATE_LACKS && unsteady && !clear &&
               (verdict != GATE_UNSURE || knows_both_ends(&check->estimate))) {
        verdict = GATE_UNSURE;
        set_reason(check, no_steady);
    }
    gate_take_look(check, &request->plan, verdict);
    return CLI_YES;
}

/* The model itself may be another one: whether a new one is slower is what is asked. */
static int check_same_work(const struct gate_work *run)
{
    struct ifg_error err = { 0 };
    char **lines = NULL;
    size_t count = 0;

    if (bench_result_differences(run->baseline, run->results[0], true, &lines, &count, &err))
        return say_trouble(&err);
    for (size_t i = 0; i < count; i++) {
        if (run->request->force)
            gate_warn(run->report, false, false, "%s differs: %s", run->request->baseline,
                      lines[i]);
        else
            cli_say("%s is not the same work: %s", run->request->baseline, lines[i]);
        ifg_free(lines[i]);
    }
    ifg_free(lines);
    if (run->baseline->model_hash && run->results[0]->model_hash &&
        strcmp(run->baseline->model_hash, run->results[0]->model_hash) != 0)
        gate_warn(run->report, false, false, "%s is of another model: %s", run->request->baseline,
                  run->baseline->model_name);
    if (count && !run->request->force) {
        cli_say("a new baseline: inferogram bench MODEL --json > %s; --force compares them anyway",
                run->request->baseline);
        return CLI_USAGE;
    }
    return CLI_YES;
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

static int judge_baseline(const struct gate_work *run, struct pooled *pooled,
                          struct gate_check *check)
{
    const struct gate_request *request = run->request;
    struct bench_row *row = pooled->fit_count ? &pooled->fit : &pooled->all;
    struct bench_result shown = *run->results[0];
    struct bench_result *both[2] = { run->baseline, &shown };
    const char *names[2] = { request->baseline, run->report->subject };
    struct compare_options options;
    struct compare *compare = NULL;
    struct ifg_error err = { 0 };
    enum gate_verdict verdict;
    bool clear;

    shown.rows = row;
    shown.row_count = 1;
    compare_options_init(&options);
    options.threshold = check->limit;
    options.alpha = run->report->alpha;
    options.force = true; /* looked at by check_same_work */
    if (compare_results(&options, both, names, 2, &compare, &err))
        return say_trouble(&err);
    check->change = compare->rows[1].change;
    gate_estimate_change(&check->change, check->limit, compare->confidence, &check->estimate);
    verdict = gate_verdict_of_change(&check->change, check->limit);
    set_reason(check, "");
    clear = change_beyond_noise(bench_result_main(run->baseline), row, check->limit, verdict);
    /* The same, and the new one is not excused by noise in the old one. */
    if (!clear && ((!pooled->fit_count && verdict != GATE_PASS) ||
                   (is_unfit(run->baseline, request) && verdict != GATE_FAIL))) {
        verdict = GATE_UNFIT;
        set_reason(check, not_fit);
    } else if (!clear && !row->steady && row->process_count && !request->allow_noisy) {
        verdict = GATE_UNSURE;
        set_reason(check, no_steady);
    }
    gate_take_look(check, &request->plan, verdict);
    compare_destroy(compare);
    return CLI_YES;
}

static int judge_results(struct gate_work *run)
{
    struct pooled pooled;
    int code = pool(run, &pooled);

    if (code)
        return code;
    for (size_t i = 0; !code && i < run->report->check_count; i++) {
        struct gate_check *check = &run->report->checks[i];

        if (check->settled)
            continue;
        if (check->kind == GATE_BUDGET)
            code = judge_budget(run, &pooled, check);
        else if (check->unit == COMPARE_NOT_INTERLEAVED)
            code = judge_baseline(run, &pooled, check);
    }
    snprintf(run->alone, sizeof run->alone, "%zu inferences", pooled.all.sample_count);
    if (pooled.all.process_count)
        snprintf(run->alone + strlen(run->alone), sizeof run->alone - strlen(run->alone),
                 " in %zu process%s", pooled.all.process_count,
                 pooled.all.process_count == 1 ? "" : "es");
    pooled_fini(&pooled);
    return code;
}

/* Takes the result over. */
static int add_result(struct gate_work *run, struct bench_result *result, const char *where)
{
    const struct gate_request *request = run->request;
    const struct bench_row *row;
    int code;

    run->results[run->result_count++] = result;
    code = check_row(request, result, where);
    if (code)
        return code;
    row = choose_row(result, request->row);
    run->fit[run->result_count - 1] = row->trust.level != TRUST_BAD || request->allow_noisy;
    if (row->trust.level == TRUST_WARN || row->trust.level == TRUST_BAD)
        trust_summary(&row->trust, run->report->trust, sizeof run->report->trust);
    if (result->interrupted)
        gate_warn(run->report, false, false, "%s was interrupted: it has only a part", where);
    return run->result_count == 1 && run->baseline ? check_same_work(run) : CLI_YES;
}

/* ---- measuring ---- */

static double now_s(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
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

static int measure(struct gate_work *run)
{
    struct gate_request *request = run->request;
    struct bench_options options = request->arguments.options;
    struct bench_result *result = NULL;
    struct ifg_error err = { 0 };
    double growth = run->result_count ? fmax(1, wanted_growth(run)) : 1;
    double began_s = now_s();
    enum ifg_status status;

    for (size_t i = 0; i < run->report->check_count && run->result_count; i++)
        if (strcmp(run->report->checks[i].reason, no_steady) == 0)
            options.warmup_max_s =
                request->arguments.options.warmup_max_s * (double)(1u << run->result_count);
    /* More processes, as they are what an interval rests on. */
    options.processes = (uint32_t)fmin(round(options.processes * growth), PROCESSES_MOST);
    status = bench_measure(&options, &result, &err);
    run->last_s = (now_s() - began_s) * request->arguments.options.processes / options.processes;
    run->alone_s += now_s() - began_s;
    bench_clear_progress();
    if (status)
        return say_error(&err, bench_exit_for(status));
    run->interrupted = run->interrupted || result->interrupted;
    return add_result(run, result, request->model);
}

static enum ifg_status compare_once(struct gate_work *run, const struct compare_options *options,
                                    struct compare **out, struct ifg_error *err)
{
    const struct gate_request *request = run->request;
    static char shell[] = "sh", shell_option[] = "-c";
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

static int check_compared(const struct gate_work *run, const struct compare *compare)
{
    for (size_t i = 0; i < compare->row_count; i++) {
        const struct compare_row *row = &compare->rows[i];

        if (row->available)
            continue;
        cli_say("%s: nothing was measured%s%s", row->name, row->reason ? ": " : "",
                row->reason ? row->reason : "");
        return i ? CLI_NO
                 : CLI_USAGE; /* the base runs, the candidate does not: that is a failure */
    }
    for (size_t i = 0; i < compare->warning_count && run->compare_count == 1; i++)
        gate_warn(run->report, false, false, "%s", compare->warnings[i]);
    return CLI_YES;
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
    set_reason(check, !row->accuracy_count  ? row->accuracy_reason
                      : row->outputs_differ ? row->outputs_reason
                                            : "");
    gate_take_look(check, &request->plan,
                   !row->accuracy_count  ? GATE_LACKS
                   : row->outputs_differ ? GATE_FAIL
                                         : GATE_PASS);
}

static int compare_in_turns(struct gate_work *run)
{
    struct gate_request *request = run->request;
    struct gate_check *check = &run->report->checks[0];
    struct bench_variant variants[2] = { { .name = run->report->against,
                                           .model = request->against },
                                         { .name = request->model, .model = request->model } };
    struct compare_options options;
    struct compare *compare = NULL;
    struct ifg_error err = { 0 };
    double began_s = now_s();
    enum ifg_status status;
    int code;

    compare_options_init(&options);
    options.bench = request->arguments.options;
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
    status = compare_once(run, &options, &compare, &err);
    run->turns_s += now_s() - began_s;
    bench_clear_progress();
    if (status) { /* 1 is a verdict, and there is none */
        code = bench_exit_for(status);
        return say_error(&err, code == CLI_NO ? CLI_USAGE : code);
    }
    run->compares[run->compare_count++] = compare;
    run->interrupted = run->interrupted || compare->interrupted;
    code = check_compared(run, compare);
    if (code)
        return code;
    check->unit = compare->unit;
    if (options.accuracy)
        judge_outputs(run, compare);
    if (gate_pool_changes((const struct compare *const *)run->compares, run->compare_count,
                          &check->change, &err))
        return say_trouble(&err);
    gate_estimate_change(&check->change, check->limit, compare->confidence, &check->estimate);
    gate_take_look(check, &request->plan, gate_verdict_of_change(&check->change, check->limit));
    snprintf(run->in_turns, sizeof run->in_turns, "%zu pairs (%s)", check->change.units,
             compare_unit_name(compare->unit));
    return CLI_YES;
}

/* As many inferences as the budgets need, unless the user said how many. */
static void plan_iterations(struct gate_work *run)
{
    struct gate_request *request = run->request;
    struct bench_options *options = &request->arguments.options;
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

static int run_measured(struct gate_work *run)
{
    struct gate_request *request = run->request;
    struct bench_options *options = &request->arguments.options;
    uint32_t looks = gate_plan_looks(&request->plan);
    bool keeps_result = request->history || (request->update_baseline && request->baseline);
    int code = CLI_YES;

    options->model = request->model;
    if (request->slo_ms > 0)
        options->slo_ms = request->slo_ms;
    bench_catch_interrupt(&request->arguments);
    options->progress = bench_show_progress;
    plan_iterations(run);
    if (request->model && !bench_check_model(request->model, options->runtime, NULL, NULL)) {
        if (is_open(run, false) || keeps_result)
            bench_say_plan(options);
        cli_say("what is unsure then is measured again, for %.0f s in all at most (--max-time)",
                request->max_s > 0 ? request->max_s : GATE_MAX_S);
    }
    run->deadline_s = now_s() + (request->max_s > 0 ? request->max_s : GATE_MAX_S);
    for (uint32_t look = 0; !code && look < looks && !run->interrupted; look++) {
        bool in_turns = is_open(run, true);
        bool alone = is_open(run, false) || (keeps_result && !look);

        if (!in_turns && !alone)
            break;
        if (look && !has_time(run, !in_turns))
            break;
        run->report->measurements++;
        if (in_turns)
            code = compare_in_turns(run);
        if (!code && alone && !run->interrupted)
            code = measure(run);
        if (!code && run->result_count && alone)
            code = judge_results(run);
    }
    estimate_time(run);
    return code;
}

/* ---- files ---- */

static int run_result(struct gate_work *run)
{
    struct gate_request *request = run->request;
    struct bench_result *result = NULL;
    struct ifg_error err = { 0 };
    int code;

    if (bench_result_read(strcmp(request->result, "-") == 0 ? "/dev/stdin" : request->result,
                          &result, &err))
        return say_error(&err, CLI_USAGE);
    code = add_result(run, result, request->result);
    return code ? code : judge_results(run);
}

static int run_trace(struct gate_work *run)
{
    struct gate_request *request = run->request;
    struct trace_reader *reader = NULL;
    const struct timeline *timeline = NULL;
    struct perturbed perturbed = { 0 };
    struct ifg_error err = { 0 };
    int code = cli_load(request->trace, &reader, &timeline);

    if (!code && perturbed_find(timeline, &perturbed, &err))
        code = say_trouble(&err);
    for (size_t i = 0; !code && i < run->report->check_count; i++) {
        struct gate_check *check = &run->report->checks[i];
        struct gate_left_out left;

        if (gate_estimate_trace(check->budget, timeline, &perturbed, run->report->alpha,
                                request->arguments.options.inputs.seed, &check->estimate, &left,
                                &err)) {
            cli_say("%s: %s", request->trace, err.message);
            code = CLI_USAGE;
            break;
        }
        gate_take_look(check, &request->plan,
                       gate_judge(&check->estimate, check->budget->at_least, check->limit));
        if (left.unfinished)
            gate_warn(run->report, false, false, "%s: %llu had not ended and are in no figure",
                      check->metric, (unsigned long long)left.unfinished);
        if (left.perturbed)
            gate_warn(run->report, false, false,
                      "%s: in %llu the operators were recorded, which makes them slower; they are "
                      "in no figure",
                      check->metric, (unsigned long long)left.perturbed);
    }
    if (!code && timeline->dropped)
        gate_warn(run->report, false, false,
                  "%llu events were dropped while recording and are in no figure",
                  (unsigned long long)timeline->dropped);
    perturbed_fini(&perturbed);
    timeline_destroy(timeline);
    trace_reader_close(reader);
    return code;
}

/* ---- together ---- */

static int status_of(enum gate_verdict verdict)
{
    switch (verdict) {
    case GATE_PASS:
        return CLI_YES;
    case GATE_FAIL:
        return CLI_NO;
    case GATE_UNSURE:
        return CLI_UNSURE;
    default:
        return CLI_LACKS;
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
        report->status = CLI_YES;
    for (size_t i = 0; i < report->warning_count; i++) {
        if (report->warnings[i].fatal) {
            report->verdict = GATE_FAIL;
            report->status = CLI_NO;
        }
    }
}

int gate_run(struct gate_request *request, struct gate_report *report)
{
    struct gate_work run = { .request = request, .report = report };
    int code = CLI_YES;

    report->on_unsure = request->on_unsure;
    report->baseline = request->update_baseline ? request->baseline : NULL;
    report->planned = request->model || request->command;
    if (!report->planned) /* there is nothing to measure again */
        request->plan.retries = request->plan.unsure = 0;
    report->plan = request->plan;
    report->alpha = gate_plan_alpha(&request->plan);
    if (request->baseline)
        code = gate_read_baseline(&run);
    if (!code) {
        add_checks(&run);
        code = request->trace    ? run_trace(&run)
               : request->result ? run_result(&run)
                                 : run_measured(&run);
    }
    /* What no look reached, because it was stopped. */
    for (size_t i = 0; !code && i < report->check_count; i++) {
        if (!report->checks[i].look_count) {
            report->checks[i].verdict = GATE_UNSURE;
            set_reason(&report->checks[i], "it was stopped before it was measured");
        }
    }
    if (!code)
        code = gate_keep_in_history(&run);
    if (!code) {
        conclude(&run);
        code = gate_update_baseline(&run);
    }
    gate_history_destroy(run.history);
    run_fini(&run);
    return code;
}
