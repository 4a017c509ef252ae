// SPDX-License-Identifier: Apache-2.0
/* Results that outlive a gate: the baseline, and the history with its drift. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/alloc.h"
#include "cli/cli.h"
#include "cli/gate_run.h"

#define OUTPUT_MAX (1u << 30)

static int say_error(const struct ifg_error *err, int code)
{
    cli_say("%s", err->message);
    return code;
}

/* ---- the baseline ---- */

int gate_read_baseline(struct gate_work *run)
{
    struct gate_request *request = run->request;
    struct ifg_error err = { 0 };

    if (access(request->baseline, F_OK) != 0 && errno == ENOENT) {
        if (request->update_baseline) /* what becomes of it is told when it is known */
            return CLI_YES;
        cli_say("there is no baseline %s; make it with: inferogram bench %s --json > %s (or add "
                "--update-baseline)",
                request->baseline, request->model ? request->model : "MODEL", request->baseline);
        return CLI_USAGE;
    }
    if (bench_result_read(request->baseline, &run->baseline, &err))
        return say_error(&err, CLI_USAGE);
    return CLI_YES;
}

/* The latest one that was measured in a fit environment. */
static const struct bench_result *to_keep(const struct gate_work *run)
{
    for (size_t i = run->result_count; i; i--)
        if (run->fit[i - 1] && !run->results[i - 1]->interrupted)
            return run->results[i - 1];
    return NULL;
}

static int write_result(const struct bench_result *result, struct ifg_bytes *out)
{
    struct ifg_error err = { 0 };

    ifg_bytes_init(out, OUTPUT_MAX);
    if (!bench_result_write_json(result, out, &err) && !out->failed)
        return CLI_YES;
    cli_say("%s", out->failed ? "not enough memory" : err.message);
    ifg_bytes_fini(out);
    return CLI_USAGE;
}

/* Why nothing can be written, or NULL. */
static const char *why_not(const struct gate_work *run)
{
    if (run->report->verdict != GATE_PASS)
        return "nothing passed that could replace it";
    if (run->interrupted)
        return "the measurement was stopped";
    if (!to_keep(run))
        return "the machine was not fit for measuring (--allow-noisy writes it all the same)";
    return NULL;
}

int gate_update_baseline(struct gate_work *run)
{
    const struct gate_request *request = run->request;
    struct gate_report *report = run->report;
    const char *reason = why_not(run);
    struct ifg_error err = { 0 };
    struct ifg_bytes document;
    int code;

    if (!request->update_baseline)
        return CLI_YES;
    if (reason) {
        gate_warn(report, false, false, "%s was not written: %s", request->baseline, reason);
        /* There is still none: whoever goes on as if there was one, goes wrong. */
        if (!run->baseline && report->status == CLI_YES) {
            report->status = report->verdict == GATE_PASS ? CLI_LACKS : CLI_UNSURE;
            report->verdict = report->verdict == GATE_PASS ? GATE_UNFIT : report->verdict;
        }
        return CLI_YES;
    }
    code = write_result(to_keep(run), &document);
    if (code)
        return code;
    if (gate_write_file(request->baseline, document.data, document.size, &err))
        code = say_error(&err, CLI_USAGE);
    ifg_bytes_fini(&document);
    report->baseline_written = !code;
    if (!code)
        gate_warn(report, false, false, "this result is the baseline %s now%s", request->baseline,
                  run->baseline ? "" : "; there was none");
    return code;
}

/* ---- history ---- */

static const char *commit_from_environment(void)
{
    static const char *const names[] = { "GITHUB_SHA", "CI_COMMIT_SHA", "GIT_COMMIT" };

    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        const char *value = getenv(names[i]);

        if (value && *value)
            return value;
    }
    return NULL;
}

static void tell_drift(struct gate_work *run, const struct gate_drift *drift)
{
    const struct gate_request *request = run->request;
    bool risen = drift->change > request->drift;
    char before[48], now[48];
    enum gate_unit unit = drift->series == GATE_SERIES_PEAK ? GATE_BYTES : GATE_MS;

    if (!risen && drift->change > -request->drift)
        return;
    gate_warn(run->report, risen, risen && request->fail_on_drift,
              "%s %s %.1f %% since %.10s%s%s, run %zu of %zu (%s to %s)",
              gate_series_names[drift->series], risen ? "rose" : "fell", 100 * fabs(drift->change),
              drift->since.when, *drift->since.commit ? " " : "", drift->since.commit,
              drift->number, drift->runs, gate_value_text(drift->before, unit, before),
              gate_value_text(drift->now, unit, now));
}

static int judge_history(struct gate_work *run, const char *file)
{
    struct gate_request *request = run->request;
    struct gate_report *report = run->report;
    struct ifg_error err = { 0 };
    const struct gate_history *history;

    if (gate_history_read(request->history, file, &run->history, &err))
        return say_error(&err, CLI_USAGE);
    history = run->history;
    report->history_runs = history->run_count;
    for (size_t i = 0; i < history->skipped_count; i++)
        gate_warn(report, false, false, "left out of the history: %s", history->skipped[i]);
    if (history->not_read)
        gate_warn(report, false, false, "the oldest %zu files of the history were not read",
                  history->not_read);
    for (int series = 0; series < GATE_SERIES; series++) {
        struct gate_drift *drift = &report->drifts[report->drift_count];

        if (gate_history_drift(history, series, drift, &err))
            return say_error(&err, CLI_USAGE);
        if (drift->changed)
            tell_drift(run, drift);
        report->drift_count++;
    }
    return CLI_YES;
}

int gate_keep_in_history(struct gate_work *run)
{
    struct gate_request *request = run->request;
    const struct bench_result *result = to_keep(run);
    struct ifg_error err = { 0 };
    struct ifg_bytes document;
    char file[GATE_TEXT];
    int code;

    if (!request->history)
        return CLI_YES;
    run->report->history = request->history;
    if (!result) {
        gate_warn(run->report, false, false,
                  "nothing was added to the history: the machine was not fit, or it was stopped");
        return CLI_YES;
    }
    if (!result->when || !*result->when || !result->model_name || !*result->model_name) {
        cli_say("%s cannot go into a history: it does not say when it was measured, or of what",
                run->report->subject);
        return CLI_USAGE;
    }
    code = write_result(result, &document);
    if (code)
        return code;
    if (gate_history_append(request->history, &document, result->when, commit_from_environment(),
                            file, sizeof file, &err))
        code = say_error(&err, CLI_USAGE);
    ifg_bytes_fini(&document);
    return code ? code : judge_history(run, file);
}
