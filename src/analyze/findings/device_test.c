// SPDX-License-Identifier: Apache-2.0
/* Rules about devices: with and without their case. */
#include "analyze/findings/findings.h"

#include <stdio.h>
#include <string.h>

#include "analyze/findings/rules_test.h"
#include "device_trace.h"
#include "tap.h"

#define US   ML_US
#define RUNS 30

struct device_rules {
    struct device_trace trace;
    struct ml_input *input;
    struct findings *findings;
    uint32_t net;
    uint32_t inference;
    uint32_t stream;
};

static void begin(struct device_rules *test)
{
    device_trace_begin(&test->trace, NULL);
    test->stream = device_trace_stream(&test->trace, 0, 1, 7);
    test->net = ml_trace_model(
        &test->trace.ml,
        &(struct ml_trace_model){ .name = "net", .requested = "CUDAExecutionProvider" });
    test->inference = ml_trace_category(&test->trace.ml, test->net, TRACE_CATEGORY_INFERENCE);
}

static void run(struct device_rules *test)
{
    test->input = NULL;
    test->findings = NULL;
    REQUIRE(ml_trace_load(&test->trace.ml));
    REQUIRE(findings_input_create(test->trace.ml.timeline, &test->input, NULL) == IFG_OK);
    REQUIRE(findings_create(test->input, &test->findings, NULL) == IFG_OK);
}

static void end(struct device_rules *test)
{
    findings_destroy(test->findings);
    findings_input_destroy(test->input);
    device_trace_end(&test->trace);
}

static const struct finding *find(const struct device_rules *test, const char *id)
{
    for (size_t i = 0; i < test->findings->count; i++)
        if (strcmp(test->findings->items[i].id, id) == 0)
            return &test->findings->items[i];
    return NULL;
}

/* An inference: so many kernels of such a length, the host busy with other things before each. */
static void infer(struct device_rules *test, int kernels, uint64_t kernel_ns, uint64_t prepare_ns)
{
    struct ml_trace_open open = ml_trace_enter(&test->trace.ml, 0, test->inference);

    for (int i = 0; i < kernels; i++) {
        ml_trace_wait(&test->trace.ml, 0, prepare_ns);
        device_trace_launch(&test->trace, 0, test->stream, 4 * US,
                            &(struct device_trace_work){ .name = "gemm", .ns = kernel_ns });
    }
    device_trace_sync(&test->trace, 0, test->stream, 1 * US);
    ml_trace_leave(&test->trace.ml, 0, open);
    ml_trace_wait(&test->trace.ml, 0, 2 * US);
}

/* 10 kernels of 20 us, for each of which the host needs 50. */
static void host_bound(void)
{
    struct device_rules test;
    const struct finding *finding;

    begin(&test);
    for (int i = 0; i < RUNS; i++)
        infer(&test, 10, 20 * US, 46 * US);
    run(&test);
    finding = find(&test, "host-bound");
    REQUIRE(finding != NULL);
    /* 10 x (46 + 4) and 20 of the last kernel; idle 520 - 200 */
    CHECK_STR(finding->title, "the device is idle for 62 % of an inference, waiting for the host");
    CHECK(fabs(rules_number(finding, "gap_ms") - 0.320) < 1e-9);
    CHECK(fabs(rules_number(finding, "busy_ms") - 0.200) < 1e-9);
    CHECK(rules_number(finding, "launches") == 10);
    CHECK_CONTAINS(finding->fix, "enable_cuda_graph=1");
    CHECK_UINT(finding->event_count, RUNS);
    CHECK(!find(&test, "device-bound") && !find(&test, "copy-bound"));
    CHECK(!find(&test, "sync-in-inference") && !find(&test, "small-kernels"));
    end(&test);
}

/* Launched ahead: the device is never without work. */
static void device_bound(void)
{
    struct device_rules test;

    begin(&test);
    for (int i = 0; i < RUNS; i++)
        infer(&test, 10, 100 * US, 1 * US);
    run(&test);
    REQUIRE(find(&test, "device-bound") != NULL);
    CHECK_CONTAINS(find(&test, "device-bound")->evidence, "gemm takes most of it: 100 %");
    CHECK_INT(find(&test, "device-bound")->severity, FINDING_LOW);
    CHECK(!find(&test, "host-bound") && !find(&test, "copy-bound"));
    CHECK(!find(&test, "sync-in-inference") && !find(&test, "small-kernels"));
    CHECK(!find(&test, "first-run-autotune"));
    end(&test);
}

/* The device idle for a quarter: that is nobody's case. */
static void healthy(void)
{
    struct device_rules test;
    static const char *const ids[] = { "host-bound",    "device-bound",       "copy-bound",
                                       "small-kernels", "first-run-autotune", "sync-in-inference" };

    begin(&test);
    for (int i = 0; i < RUNS; i++)
        infer(&test, 10, 40 * US, 46 * US);
    run(&test);
    for (size_t i = 0; i < sizeof ids / sizeof ids[0]; i++)
        CHECK(!find(&test, ids[i]));
    end(&test);
    /* Too few to tell. */
    begin(&test);
    for (int i = 0; i < 10; i++)
        infer(&test, 10, 20 * US, 46 * US);
    run(&test);
    CHECK(!find(&test, "host-bound"));
    end(&test);
}

/* Copies of 100 us around an operator on the CPU of 60 us, kernels of 100 us. */
static void copy_bound(void)
{
    struct device_rules test;
    const struct finding *finding;
    struct ml_trace *ml = &test.trace.ml;
    uint32_t conv, unique;

    begin(&test);
    conv = ml_trace_location(ml, TRACE_LOCATION_OP, test.net, "conv1", "Conv");
    unique = ml_trace_location(ml, TRACE_LOCATION_OP, test.net, "unique_7", "Unique");
    for (int i = 0; i < RUNS; i++) {
        struct ml_trace_open open = ml_trace_enter(ml, 0, test.inference);
        struct ml_trace_open op = ml_trace_enter(ml, 0, conv);

        device_trace_launch(&test.trace, 0, test.stream, 4 * US,
                            &(struct device_trace_work){ .name = "conv", .ns = 100 * US });
        ml_trace_leave(ml, 0, op);
        device_trace_launch(
            &test.trace, 0, test.stream, 4 * US,
            &(struct device_trace_work){ .kind = "memcpy DtoH", .ns = 50 * US, .bytes = 4000000 });
        device_trace_sync(&test.trace, 0, test.stream, 1 * US);
        ml_trace_slice(ml, 0, unique, 60 * US);
        device_trace_launch(
            &test.trace, 0, test.stream, 4 * US,
            &(struct device_trace_work){ .kind = "memcpy HtoD", .ns = 50 * US, .bytes = 4000000 });
        device_trace_sync(&test.trace, 0, test.stream, 1 * US);
        ml_trace_leave(ml, 0, open);
    }
    run(&test);
    finding = find(&test, "copy-bound");
    REQUIRE(finding != NULL);
    /* 4 + 100 + 50 + 60 + 4 + 50 = 268: copies 100, the operator 60 */
    CHECK(fabs(rules_number(finding, "copy_share") - 100.0 / 268) < 1e-9);
    CHECK(fabs(rules_number(finding, "cpu_share") - 60.0 / 268) < 1e-9);
    CHECK(fabs(rules_number(finding, "node_ms") - 0.060) < 1e-9);
    CHECK_CONTAINS(finding->evidence, "'unique_7' (Unique) runs on the CPU in between, 60.0 µs");
    CHECK_CONTAINS(finding->evidence, "1.0 HtoD of 4000.0 KB, 1.0 DtoH of 4000.0 KB");
    CHECK_CONTAINS(finding->fix, "IoBinding");
    /* The wait in the middle is seen as well: 64 us without work behind it. */
    finding = find(&test, "sync-in-inference");
    REQUIRE(finding != NULL);
    CHECK(fabs(rules_number(finding, "lost_ms") - 0.064) < 1e-9);
    CHECK(rules_number(finding, "waits") == 1);
    CHECK_CONTAINS(finding->evidence, "cuStreamSynchronize");
    end(&test);
}

/* 40 kernels of 2 us, as one graph or one by one. */
static void small_kernels(void)
{
    struct device_rules test;

    begin(&test);
    for (int i = 0; i < RUNS; i++)
        infer(&test, 40, 2 * US, 1 * US);
    run(&test);
    REQUIRE(find(&test, "small-kernels") != NULL);
    CHECK(rules_number(find(&test, "small-kernels"), "kernels") == 40);
    CHECK(rules_number(find(&test, "small-kernels"), "median_us") == 2);
    CHECK_INT(find(&test, "small-kernels")->severity, FINDING_MEDIUM);
    end(&test);
    begin(&test);
    for (int i = 0; i < RUNS; i++)
        infer(&test, 40, 8 * US, 1 * US);
    run(&test);
    CHECK(!find(&test, "small-kernels"));
    end(&test);
}

/* The first one also runs so many kernels that no other runs, and takes so much longer. */
static void tune(struct device_rules *test, int extra, uint64_t longer_ns)
{
    begin(test);
    for (int i = 0; i < RUNS; i++) {
        struct ml_trace_open open = ml_trace_enter(&test->trace.ml, 0, test->inference);

        for (int k = 0; i == 0 && k < extra; k++) {
            char name[64];

            snprintf(name, sizeof name, "void cudnn::try_%d<float>(int)", k);
            device_trace_launch(&test->trace, 0, test->stream, 4 * US,
                                &(struct device_trace_work){ .name = name, .ns = 50 * US });
        }
        if (i == 0)
            ml_trace_wait(&test->trace.ml, 0, longer_ns);
        device_trace_launch(&test->trace, 0, test->stream, 4 * US,
                            &(struct device_trace_work){ .name = "cudnn::best", .ns = 40 * US });
        device_trace_sync(&test->trace, 0, test->stream, 1 * US);
        ml_trace_leave(&test->trace.ml, 0, open);
    }
    run(test);
}

static void first_run_autotune(void)
{
    struct device_rules test;
    const struct finding *finding;

    tune(&test, 6, 300 * ML_MS);
    finding = find(&test, "first-run-autotune");
    REQUIRE(finding != NULL);
    CHECK_CONTAINS(finding->title, "cuDNN: the first inference tries out 6 kernels");
    CHECK_CONTAINS(finding->evidence, "for example cudnn::try_0");
    CHECK(rules_number(finding, "kernels") == 6);
    CHECK_INT(finding->severity, FINDING_MEDIUM);
    CHECK_UINT(finding->event_count, 2);
    end(&test);
    tune(&test, 0, 300 * ML_MS); /* slow, but not because of kernels */
    CHECK(!find(&test, "first-run-autotune"));
    end(&test);
    tune(&test, 6, 1 * ML_MS); /* too little to matter */
    CHECK(!find(&test, "first-run-autotune"));
    end(&test);
}

TAP_MAIN(TAP_CASE(host_bound), TAP_CASE(device_bound), TAP_CASE(healthy), TAP_CASE(copy_bound),
         TAP_CASE(small_kernels), TAP_CASE(first_run_autotune))
