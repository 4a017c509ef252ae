// SPDX-License-Identifier: Apache-2.0
/* Results that outlive a gate: the baseline, and the history with its drift. */
#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/alloc.h"
#include "bench/gate/gate_internal.h"

#define OUTPUT_MAX (1u << 30)

/* ---- the baseline ---- */

enum ifg_status gate_read_baseline(struct gate_work *run, struct ifg_error *err)
{
    struct gate_request *request = run->request;

    if (access(request->baseline, F_OK) != 0 && errno == ENOENT) {
        if (request->update_baseline) /* what becomes of it is told when it is known */
            return IFG_OK;
        return ifg_fail(err, IFG_NOT_FOUND,
                        "there is no baseline %s; make it with: inferogram bench %s --json > %s "
                        "(or add --update-baseline)",
                        request->baseline, request->model ? request->model : "MODEL",
                        request->baseline);
    }
    return gate_no_verdict(bench_result_read(request->baseline, &run->baseline, err));
}

/* The latest one that was measured in a fit environment. */
static const struct bench_result *to_keep(const struct gate_work *run)
{
    for (size_t i = run->result_count; i; i--)
        if (run->fit[i - 1] && !run->results[i - 1]->interrupted)
            return run->results[i - 1];
    return NULL;
}

static enum ifg_status write_result(const struct bench_result *result, struct ifg_bytes *out,
                                    struct ifg_error *err)
{
    enum ifg_status status;

    ifg_bytes_init(out, OUTPUT_MAX);
    status = bench_result_write_json(result, out, err);
    if (!status && out->failed)
        status = ifg_fail_no_memory(err, NULL);
    if (status)
        ifg_bytes_fini(out);
    return gate_no_verdict(status);
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

enum ifg_status gate_update_baseline(struct gate_work *run, struct ifg_error *err)
{
    const struct gate_request *request = run->request;
    struct gate_report *report = run->report;
    const char *reason = why_not(run);
    struct ifg_bytes document;
    enum ifg_status status;

    if (!request->update_baseline)
        return IFG_OK;
    if (reason) {
        gate_warn(report, false, false, "%s was not written: %s", request->baseline, reason);
        /* There is still none: whoever goes on as if there was one, goes wrong. */
        if (!run->baseline && report->status == GATE_STATUS_PASS) {
            report->status = report->verdict == GATE_PASS ? GATE_STATUS_LACKS : GATE_STATUS_UNSURE;
            report->verdict = report->verdict == GATE_PASS ? GATE_UNFIT : report->verdict;
        }
        return IFG_OK;
    }
    status = write_result(to_keep(run), &document, err);
    if (status)
        return status;
    status = gate_write_file(request->baseline, document.data, document.size, err);
    ifg_bytes_fini(&document);
    report->baseline_written = !status;
    if (!status)
        gate_warn(report, false, false, "this result is the baseline %s now%s", request->baseline,
                  run->baseline ? "" : "; there was none");
    return gate_no_verdict(status);
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
    char text[GATE_MESSAGE];

    if (!risen && drift->change > -request->drift)
        return;
    request->drift_text(drift, text, sizeof text, request->user);
    gate_warn(run->report, risen, risen && request->fail_on_drift, "%s", text);
}

static enum ifg_status judge_history(struct gate_work *run, const char *file, struct ifg_error *err)
{
    struct gate_request *request = run->request;
    struct gate_report *report = run->report;
    const struct gate_history *history;
    enum ifg_status status = gate_history_read(request->history, file, &run->history, err);

    if (status)
        return gate_no_verdict(status);
    history = run->history;
    report->history_runs = history->run_count;
    for (size_t i = 0; i < history->skipped_count; i++)
        gate_warn(report, false, false, "left out of the history: %s", history->skipped[i]);
    if (history->not_read)
        gate_warn(report, false, false, "the oldest %zu files of the history were not read",
                  history->not_read);
    for (int series = 0; series < GATE_SERIES; series++) {
        struct gate_drift *drift = &report->drifts[report->drift_count];

        status = gate_history_drift(history, series, drift, err);
        if (status)
            return gate_no_verdict(status);
        if (drift->changed)
            tell_drift(run, drift);
        report->drift_count++;
    }
    return IFG_OK;
}

enum ifg_status gate_keep_in_history(struct gate_work *run, struct ifg_error *err)
{
    struct gate_request *request = run->request;
    const struct bench_result *result = to_keep(run);
    struct ifg_bytes document;
    char file[GATE_TEXT];
    enum ifg_status status;

    if (!request->history)
        return IFG_OK;
    run->report->history = request->history;
    if (!result) {
        gate_warn(run->report, false, false,
                  "nothing was added to the history: the machine was not fit, or it was stopped");
        return IFG_OK;
    }
    if (!result->when || !*result->when || !result->model_name || !*result->model_name)
        return ifg_fail(
            err, IFG_INVALID,
            "%s cannot go into a history: it does not say when it was measured, or of what",
            run->report->subject);
    status = write_result(result, &document, err);
    if (status)
        return status;
    status = gate_history_append(request->history, &document, result->when,
                                 commit_from_environment(), file, sizeof file, err);
    ifg_bytes_fini(&document);
    return status ? gate_no_verdict(status) : judge_history(run, file, err);
}
