// SPDX-License-Identifier: Apache-2.0
/* A whole gate over results that are files: verdicts, what is no verdict, and the baseline. */
#include "bench/gate/gate_run.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "bench/gate/gate_internal.h"
#include "tap.h"

#define SAMPLES 400

static char directory[] = "/tmp/ifg-gate-XXXXXX";

static void path_of(const char *name, char out[128])
{
    snprintf(out, 128, "%s/%s", directory, name);
}

/* A result of so many ms, give or take a little. */
static void write_samples(const char *path, double ms, int count)
{
    FILE *file = fopen(path, "w");

    REQUIRE(file != NULL);
    fputs("{\"model\":{\"name\":\"det.onnx\"},\"raw_samples_ms\":[", file);
    for (int i = 0; i < count; i++)
        fprintf(file, "%s%.6f", i ? "," : "", ms * (1 + 0.0001 * (i % 7)));
    fputs("]}", file);
    REQUIRE_INT(fclose(file), 0);
}

static void write_result(const char *path, double ms)
{
    write_samples(path, ms, SAMPLES);
}

static void say_nothing(const char *text, void *user)
{
    (void)text;
    (void)user;
}

/* By a budget on the median, if there is one. */
static enum ifg_status judge(struct gate_request *request, const char *budget,
                             struct gate_report *report, struct ifg_error *err)
{
    memset(report, 0, sizeof *report);
    *err = (struct ifg_error){ 0 };
    request->threshold = NAN;
    request->allow_noisy = true;
    request->plan = (struct gate_plan){ GATE_ALPHA, GATE_RETRIES, GATE_RETRIES };
    request->say = say_nothing;
    request->budget_count = 0;
    if (budget) {
        REQUIRE_INT(gate_budget_parse(budget, false, false, &request->budgets[0], err), IFG_OK);
        request->budget_count = 1;
    }
    report->subject = request->result;
    return gate_run(request, report, err);
}

static void budgets_and_baselines(void)
{
    struct gate_request *request = ifg_alloc(1, sizeof *request);
    struct gate_report *report = ifg_alloc(1, sizeof *report);
    struct ifg_error err;
    char result[128];
    char slower[128];
    char baseline[128];

    REQUIRE(request && report && mkdtemp(directory));
    path_of("result.json", result);
    path_of("slower.json", slower);
    path_of("baseline.json", baseline);
    write_result(result, 10);
    write_result(slower, 15);
    request->result = result;
    REQUIRE_INT(judge(request, "p50=20ms", report, &err), IFG_OK);
    CHECK_INT(report->status, GATE_STATUS_PASS);
    REQUIRE_INT(judge(request, "p50=5ms", report, &err), IFG_OK);
    CHECK_INT(report->status, GATE_STATUS_FAIL);

    request->baseline = baseline;
    CHECK_INT(judge(request, NULL, report, &err), IFG_NOT_FOUND);
    CHECK_CONTAINS(err.message, "there is no baseline");
    request->update_baseline = true;
    REQUIRE_INT(judge(request, "p50=20ms", report, &err), IFG_OK);
    CHECK(report->baseline_written);
    CHECK_INT(access(baseline, F_OK), 0);
    request->update_baseline = false;
    REQUIRE_INT(judge(request, NULL, report, &err), IFG_OK);
    CHECK_INT(report->status, GATE_STATUS_PASS);
    request->result = slower;
    REQUIRE_INT(judge(request, NULL, report, &err), IFG_OK);
    CHECK_INT(report->status, GATE_STATUS_FAIL);

    request->baseline = NULL;
    request->row = "cuda";
    CHECK_INT(judge(request, "p50=20ms", report, &err), IFG_NOT_FOUND);
    CHECK_CONTAINS(err.message, "has no row 'cuda'");
    request->row = NULL;
    request->result = "/nowhere/result.json";
    CHECK(judge(request, "p50=20ms", report, &err) != IFG_OK);
    CHECK_CONTAINS(err.message, "/nowhere/result.json");
    unlink(result);
    unlink(slower);
    unlink(baseline);
    rmdir(directory);
    ifg_free(report);
    ifg_free(request);
}

/* The budget judged by 500 inferences on a bad machine, then 100 on a fit one. */
static enum gate_verdict after_noise(double noisy_ms)
{
    struct gate_request *request = ifg_alloc(1, sizeof *request);
    struct gate_report *report = ifg_alloc(1, sizeof *report);
    struct gate_work run = { .request = request, .report = report, .result_count = 2 };
    enum gate_verdict verdict;
    char path[] = "/tmp/ifg-gate-result-XXXXXX";
    int fd = mkstemp(path);

    REQUIRE(request && report && fd >= 0);
    close(fd);
    for (int i = 0; i < 2; i++) {
        write_samples(path, i ? 1 : noisy_ms, i ? 100 : 500);
        REQUIRE_INT(bench_result_read(path, &run.results[i], NULL), IFG_OK);
        run.fit[i] = i == 1;
    }
    unlink(path);
    REQUIRE_INT(gate_budget_parse("p99=10ms", false, false, &request->budgets[0], NULL), IFG_OK);
    request->plan = (struct gate_plan){ GATE_ALPHA, GATE_RETRIES, GATE_RETRIES };
    report->alpha = GATE_ALPHA;
    report->check_count = 1;
    report->checks[0].kind = GATE_BUDGET;
    report->checks[0].budget = &request->budgets[0];
    report->checks[0].limit = request->budgets[0].limit;
    REQUIRE_INT(gate_judge_results(&run, NULL), IFG_OK);
    verdict = report->checks[0].verdict;
    bench_result_destroy(run.results[0]);
    bench_result_destroy(run.results[1]);
    ifg_free(report);
    ifg_free(request);
    return verdict;
}

/* 100 say nothing of a p99; with the 500 it is within the limit, and noise made nothing faster.
 * That something is beyond its limit, a bad machine cannot say. */
static void what_noise_could_only_have_made_worse(void)
{
    CHECK_INT(after_noise(2), GATE_PASS);
    CHECK_INT(after_noise(20), GATE_UNSURE);
}

TAP_MAIN(TAP_CASE(budgets_and_baselines), TAP_CASE(what_noise_could_only_have_made_worse))
