// SPDX-License-Identifier: Apache-2.0
/* Rules about placement, loads, first inferences and failures: each with and without its case. */
#include "analyze/findings/findings.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "ml_trace.h"
#include "tap.h"

#include "analyze/findings/rules_test.h"

static const struct ml_trace_details cold = { .session = 1,
                                              .key = "specialization",
                                              .text = "cold" };

static uint32_t plain_model(struct ml_trace *trace)
{
    return ml_trace_model(trace, &(struct ml_trace_model){ .name = "ocr" });
}

/* ---- repeated-load ---- */

static void repeated_load(void)
{
    struct rules_test test;
    const struct finding *finding;
    uint32_t model = rules_begin(&test, "ocr");

    for (int i = 0; i < 14; i++) {
        ml_trace_event(&test.trace, 0, model, TRACE_CATEGORY_LOAD, i ? 90 * ML_MS : 100 * ML_MS);
        ml_trace_event(&test.trace, 0, model, TRACE_CATEGORY_INFERENCE, 15 * ML_MS);
    }
    rules_run(&test);
    finding = rules_find(&test, "repeated-load");
    REQUIRE(finding != NULL);
    CHECK_INT(finding->severity, FINDING_HIGH);
    CHECK_CONTAINS(finding->title, "loaded 14 times, 90.0 ms each");
    CHECK_CONTAINS(finding->sentence, "The model is loaded 14 times: 1.17 s of 1.48 s (79 %)");
    CHECK_CONTAINS(finding->fix, "saves 1.17 s");
    CHECK_UINT(finding->event_count, 14);
    CHECK_UINT(finding->events[0], 0);
    CHECK_UINT(finding->events[1], 2);
    CHECK(rules_number(finding, "count") == 14);
    CHECK(fabs(rules_number(finding, "saved_ms") - 1170) < 1e-6);
    rules_end(&test);
}

static void loaded_once(void)
{
    struct rules_test test;
    uint32_t model = rules_begin(&test, "ocr");
    uint32_t same = ml_trace_model(&test.trace, &(struct ml_trace_model){ .name = "ocr" });
    uint32_t there =
        ml_trace_model(&test.trace, &(struct ml_trace_model){ .name = "ocr", .process = 1 });

    /* Other options, another process, a failed try: none of these is a repetition. */
    ml_trace_event(&test.trace, 0, model, TRACE_CATEGORY_LOAD, 90 * ML_MS);
    ml_trace_event(&test.trace, 0, same, TRACE_CATEGORY_LOAD, 90 * ML_MS);
    ml_trace_event(&test.trace, 4, there, TRACE_CATEGORY_LOAD, 90 * ML_MS);
    ml_trace_event_with(&test.trace, 0, model, TRACE_CATEGORY_LOAD, 90 * ML_MS,
                        &(struct ml_trace_details){ .key = "status", .text = "error: no" });
    rules_run(&test);
    CHECK(!rules_find(&test, "repeated-load"));
    rules_end(&test);
}

/* ---- cold-start ---- */

static void cold_start(void)
{
    struct rules_test test;
    const struct finding *finding;
    struct ml_trace_open load;
    uint32_t model = rules_begin(&test, "ocr");

    load =
        ml_trace_enter(&test.trace, 0, ml_trace_category(&test.trace, model, TRACE_CATEGORY_LOAD));
    ml_trace_text(&test.trace, 0, load, "specialization", "cold");
    ml_trace_text(&test.trace, 0, load, "why", "graph optimization is on");
    ml_trace_wait(&test.trace, 0, 100 * ML_MS);
    ml_trace_event(&test.trace, 0, model, TRACE_CATEGORY_SPECIALIZATION, 300 * ML_MS);
    ml_trace_leave(&test.trace, 0, load);
    ml_trace_event(&test.trace, 0, model, TRACE_CATEGORY_INFERENCE, 100 * ML_MS);
    rules_run(&test);
    finding = rules_find(&test, "cold-start");
    REQUIRE(finding != NULL);
    CHECK_CONTAINS(finding->title, "a cold load takes 400 ms, 300 ms of it for specialization");
    CHECK_CONTAINS(finding->evidence, "80 % of the 500 ms until the first inference is done");
    CHECK_CONTAINS(finding->evidence, "graph optimization is on");
    CHECK_CONTAINS(finding->fix, "SetOptimizedModelFilePath");
    CHECK_UINT(finding->event_count, 1);
    CHECK_UINT(finding->events[0], 0);
    rules_end(&test);
}

static void cold_start_of_a_compiling_provider(void)
{
    struct rules_test test;
    uint32_t model;

    ml_trace_begin(&test.trace, NULL);
    model = ml_trace_model(
        &test.trace,
        &(struct ml_trace_model){ .name = "ocr",
                                  .requested = "TensorrtExecutionProvider,CPUExecutionProvider",
                                  .actual = "TensorrtExecutionProvider" });
    ml_trace_event_with(&test.trace, 0, model, TRACE_CATEGORY_LOAD, 9ull * ML_S, &cold);
    rules_run(&test);
    REQUIRE(rules_find(&test, "cold-start") != NULL);
    CHECK_INT(rules_find(&test, "cold-start")->severity, FINDING_HIGH);
    CHECK_CONTAINS(rules_find(&test, "cold-start")->fix, "trt_engine_cache_enable=1");
    CHECK(!rules_find(&test, "ep-fallback"));
    rules_end(&test);
}

static void warm_start(void)
{
    struct rules_test test;
    struct ml_trace_open load;
    uint32_t model = rules_begin(&test, "ocr");
    uint32_t large = ml_trace_model(&test.trace, &(struct ml_trace_model){ .name = "large" });

    ml_trace_event_with(&test.trace, 0, model, TRACE_CATEGORY_LOAD, 400 * ML_MS,
                        &(struct ml_trace_details){ .key = "specialization", .text = "cached" });
    /* Cold, but reading the file is what takes the time. */
    load =
        ml_trace_enter(&test.trace, 0, ml_trace_category(&test.trace, large, TRACE_CATEGORY_LOAD));
    ml_trace_text(&test.trace, 0, load, "specialization", "cold");
    ml_trace_wait(&test.trace, 0, 400 * ML_MS);
    ml_trace_event(&test.trace, 0, large, TRACE_CATEGORY_SPECIALIZATION, 20 * ML_MS);
    ml_trace_leave(&test.trace, 0, load);
    rules_run(&test);
    CHECK(!rules_find(&test, "cold-start"));
    rules_end(&test);
}

/* ---- slow-first-run ---- */

static void first_runs(struct rules_test *test, uint64_t first_ns, bool with_load)
{
    uint32_t model = rules_begin(test, "ocr");

    if (with_load)
        ml_trace_event_with(&test->trace, 0, model, TRACE_CATEGORY_LOAD, ML_MS, &cold);
    for (int i = 0; i < 8; i++)
        ml_trace_event_with(
            &test->trace, 0, model, TRACE_CATEGORY_INFERENCE, i ? 15 * ML_MS : first_ns,
            &(struct ml_trace_details){ .session = 1, .key = "shapes", .text = "x:1x3" });
    rules_run(test);
}

static void slow_first_run(void)
{
    struct rules_test test;

    first_runs(&test, 31 * ML_MS, true);
    REQUIRE(rules_find(&test, "slow-first-run") != NULL);
    CHECK_STR(rules_find(&test, "slow-first-run")->title,
              "the first inference takes 31.0 ms, 2.1 times as long as later ones");
    CHECK_INT(rules_find(&test, "slow-first-run")->severity, FINDING_MEDIUM);
    CHECK_UINT(rules_find(&test, "slow-first-run")->events[0], 1);
    rules_end(&test);
}

static void even_first_run(void)
{
    struct rules_test test;

    first_runs(&test, 25 * ML_MS, true);
    CHECK(!rules_find(&test, "slow-first-run"));
    rules_end(&test);
    first_runs(&test, 31 * ML_MS, false); /* it may not be the session's first */
    CHECK(!rules_find(&test, "slow-first-run"));
    rules_end(&test);
}

/* ---- ep-fallback ---- */

static uint32_t asks_for(struct rules_test *test, const char *provider, const char *actual)
{
    static char requested[96];

    snprintf(requested, sizeof requested, "%s,CPUExecutionProvider", provider);
    ml_trace_begin(&test->trace, NULL);
    return ml_trace_model(
        &test->trace,
        &(struct ml_trace_model){ .name = "ocr", .requested = requested, .actual = actual });
}

static void ep_fallback(void)
{
    struct rules_test test;
    const struct finding *finding;
    uint32_t model = asks_for(&test, "CUDAExecutionProvider", "CPUExecutionProvider");

    ml_trace_property(&test.trace, model, "nodes.CUDAExecutionProvider", "0");
    ml_trace_property(&test.trace, model, "nodes.CPUExecutionProvider", "400");
    ml_trace_property(&test.trace, model, "placement.source", "assignment info");
    for (int i = 0; i < 9; i++) /* and something else that is bad */
        ml_trace_event(&test.trace, 0, model, TRACE_CATEGORY_LOAD, 90 * ML_MS);
    rules_run(&test);
    finding = rules_find(&test, "ep-fallback");
    REQUIRE(finding == &test.findings->items[0]);
    CHECK_INT(finding->severity, FINDING_HIGH);
    CHECK_STR(finding->sentence,
              "CUDA was requested, but CPU does all the work: 0 of 400 nodes run on "
              "CUDAExecutionProvider.");
    CHECK_CONTAINS(finding->fix, "session.disable_cpu_ep_fallback=1");
    CHECK_CONTAINS(finding->evidence, "assignment info");
    rules_end(&test);
}

static void ep_not_in_build(void)
{
    struct rules_test test;
    uint32_t model = asks_for(&test, "CUDAExecutionProvider", "");

    ml_trace_property(&test.trace, model, "requested_failed.CUDAExecutionProvider",
                      "CUDA execution provider is not enabled in this build.");
    ml_trace_event_with(
        &test.trace, 0, model, TRACE_CATEGORY_PREPARE_EP, ML_MS,
        &(struct ml_trace_details){ .key = "provider", .text = "CUDAExecutionProvider" });
    rules_run(&test);
    REQUIRE(rules_find(&test, "ep-fallback") != NULL);
    CHECK_STR(rules_find(&test, "ep-fallback")->title,
              "CUDAExecutionProvider was requested, is not in this build");
    CHECK_CONTAINS(rules_find(&test, "ep-fallback")->evidence, "is not enabled in this build");
    CHECK_UINT(rules_find(&test, "ep-fallback")->event_count, 1);
    rules_end(&test);
}

static void ep_with_few_nodes(void)
{
    struct rules_test test;
    uint32_t model =
        asks_for(&test, "CUDAExecutionProvider", "CUDAExecutionProvider,CPUExecutionProvider");

    ml_trace_property(&test.trace, model, "nodes.CUDAExecutionProvider", "3");
    ml_trace_property(&test.trace, model, "nodes.CPUExecutionProvider", "409");
    ml_trace_event(&test.trace, 0, model, TRACE_CATEGORY_LOAD, ML_MS);
    rules_run(&test);
    REQUIRE(rules_find(&test, "ep-fallback") != NULL);
    CHECK_CONTAINS(rules_find(&test, "ep-fallback")->sentence,
                   "CPU does most of the work: 3 of 412 nodes");
    rules_end(&test);
}

static void no_fallback(void)
{
    static const struct {
        const char *provider;
        const char *actual;
        const char *nodes;
        const char *cpu_nodes;
    } cases[] = {
        { "CPUExecutionProvider", "CPUExecutionProvider", "57", "57" },
        { "CUDAExecutionProvider", "CUDAExecutionProvider,CPUExecutionProvider", "300", "112" },
        /* One node may be the whole graph. */
        { "TensorrtExecutionProvider", "TensorrtExecutionProvider,CPUExecutionProvider", "1", "4" },
        { "TensorrtExecutionProvider,CUDAExecutionProvider", "TensorrtExecutionProvider", "0",
          "0" },
        { "CUDAExecutionProvider", "", NULL, NULL }, /* nothing is known */
    };

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct rules_test test;
        uint32_t model = asks_for(&test, cases[i].provider, cases[i].actual);
        char key[96];

        snprintf(key, sizeof key, "nodes.%.*s", (int)strcspn(cases[i].provider, ","),
                 cases[i].provider);
        if (cases[i].nodes && strcmp(cases[i].nodes, "0") != 0) {
            ml_trace_property(&test.trace, model, key, cases[i].nodes);
            ml_trace_property(&test.trace, model, "nodes.CPUExecutionProvider", cases[i].cpu_nodes);
        }
        ml_trace_event(&test.trace, 0, model, TRACE_CATEGORY_LOAD, ML_MS);
        rules_run(&test);
        CHECK(!rules_find(&test, "ep-fallback"));
        rules_end(&test);
    }
}

/* ---- policy-fallback ---- */

static void policy_fallback(void)
{
    struct rules_test test;
    uint32_t model = rules_begin(&test, "ocr");

    ml_trace_property(&test.trace, model, "policy", "PREFER_NPU");
    ml_trace_property(&test.trace, model, "nodes.CPUExecutionProvider", "57");
    ml_trace_event(&test.trace, 0, model, TRACE_CATEGORY_LOAD, ML_MS);
    rules_run(&test);
    REQUIRE(rules_find(&test, "policy-fallback") != NULL);
    CHECK_CONTAINS(rules_find(&test, "policy-fallback")->title, "PREFER_NPU requests the NPU");
    CHECK_UINT(rules_find(&test, "policy-fallback")->event_count, 1);
    rules_end(&test);
}

static void policy_kept(void)
{
    struct rules_test test;
    uint32_t model = asks_for(&test, "QNNExecutionProvider", "QNNExecutionProvider");

    ml_trace_property(&test.trace, model, "policy", "PREFER_NPU");
    ml_trace_property(&test.trace, model, "nodes.QNNExecutionProvider", "1");
    rules_run(&test);
    CHECK(!rules_find(&test, "policy-fallback"));
    rules_end(&test);
    model = rules_begin(&test, "ocr");
    ml_trace_property(&test.trace, model, "policy", "MAX_PERFORMANCE");
    rules_run(&test);
    CHECK(!rules_find(&test, "policy-fallback"));
    rules_end(&test);
}

/* ---- failed-runs ---- */

static void failed_runs(void)
{
    struct rules_test test;
    const struct finding *finding;
    uint32_t model = rules_begin(&test, "ocr");

    for (int i = 0; i < 10; i++)
        ml_trace_event_with(
            &test.trace, 0, model, TRACE_CATEGORY_INFERENCE, ML_MS,
            &(struct ml_trace_details){ .key = i % 4 == 1 ? "status" : NULL,
                                        .text = "error: Got invalid dimensions for input: x" });
    rules_run(&test);
    finding = rules_find(&test, "failed-runs");
    REQUIRE(finding != NULL);
    CHECK_STR(finding->title, "3 of 10 inferences failed");
    CHECK_CONTAINS(finding->evidence, "Got invalid dimensions for input: x");
    CHECK_UINT(finding->event_count, 3);
    CHECK_UINT(finding->events[0], 1);
    rules_end(&test);
}

static void no_failed_runs(void)
{
    struct rules_test test;
    uint32_t model = plain_model((ml_trace_begin(&test.trace, NULL), &test.trace));

    ml_trace_event_with(&test.trace, 0, model, TRACE_CATEGORY_INFERENCE, ML_MS,
                        &(struct ml_trace_details){ .key = "status", .text = "ok" });
    rules_run(&test);
    CHECK(!rules_find(&test, "failed-runs"));
    rules_end(&test);
}

TAP_MAIN(TAP_CASE(repeated_load), TAP_CASE(loaded_once), TAP_CASE(cold_start),
         TAP_CASE(cold_start_of_a_compiling_provider), TAP_CASE(warm_start),
         TAP_CASE(slow_first_run), TAP_CASE(even_first_run), TAP_CASE(ep_fallback),
         TAP_CASE(ep_not_in_build), TAP_CASE(ep_with_few_nodes), TAP_CASE(no_fallback),
         TAP_CASE(policy_fallback), TAP_CASE(policy_kept), TAP_CASE(failed_runs),
         TAP_CASE(no_failed_runs))
