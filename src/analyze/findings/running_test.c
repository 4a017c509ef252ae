// SPDX-License-Identifier: Apache-2.0
/* Rules about inferences, what is around them, threads, the host: with and without their case. */
#include "analyze/findings/findings.h"

#include <stdio.h>
#include <string.h>

#include "analyze/findings/rules_test.h"
#include "ml_trace.h"
#include "tap.h"

static void run_shaped(struct rules_test *test, uint32_t thread, uint32_t model, uint64_t ns,
                       const char *shapes)
{
    ml_trace_event_with(
        &test->trace, thread, model, TRACE_CATEGORY_INFERENCE, ns,
        &(struct ml_trace_details){ .session = 1, .batch = 1, .key = "shapes", .text = shapes });
}

/* ---- reshaping ---- */

/* Each of the shapes five times, the first `times` as long; sizes differ as shapes do. */
static void run_shapes(struct rules_test *test, int shapes, uint64_t times)
{
    uint32_t model = rules_begin(test, "ocr");

    run_shaped(test, 0, model, 50 * ML_MS, "x:1x1");
    for (int s = 1; s <= shapes; s++) {
        char text[32];

        snprintf(text, sizeof text, "x:1x%d", s * 16);
        for (int i = 0; i < 5; i++)
            run_shaped(test, 0, model, (i ? 1 : times) * (uint64_t)s * ML_MS, text);
    }
    rules_run(test);
}

static void reshaping(void)
{
    struct rules_test test;

    run_shapes(&test, 6, 3);
    REQUIRE(rules_find(&test, "reshaping") != NULL);
    CHECK_CONTAINS(rules_find(&test, "reshaping")->title, "7 input shapes");
    CHECK(rules_number(rules_find(&test, "reshaping"), "ratio") == 3);
    CHECK(rules_number(rules_find(&test, "reshaping"), "lost_ms") == 42);
    rules_end(&test);
}

static void specialized_in_inferences(void)
{
    struct rules_test test;
    uint32_t model = rules_begin(&test, "ocr");

    for (int i = 0; i < 5; i++) {
        struct ml_trace_open run = ml_trace_enter(
            &test.trace, 0, ml_trace_category(&test.trace, model, TRACE_CATEGORY_INFERENCE));

        if (i % 2 == 0)
            ml_trace_event(&test.trace, 0, model, TRACE_CATEGORY_SPECIALIZATION, 700 * ML_MS);
        ml_trace_wait(&test.trace, 0, ML_MS);
        ml_trace_leave(&test.trace, 0, run);
    }
    rules_run(&test);
    REQUIRE(rules_find(&test, "reshaping") != NULL);
    CHECK_CONTAINS(rules_find(&test, "reshaping")->title, "inside 3 inferences, 2.10 s in all");
    CHECK_UINT(rules_find(&test, "reshaping")->event_count, 3);
    rules_end(&test);
}

static void shapes_that_cost_nothing(void)
{
    struct rules_test test;

    run_shapes(&test, 6, 1);
    CHECK(!rules_find(&test, "reshaping"));
    rules_end(&test);
    run_shapes(&test, 3, 5); /* too few to tell */
    CHECK(!rules_find(&test, "reshaping"));
    rules_end(&test);
}

/* ---- uneven-latency ---- */

static void run_unevenly(struct rules_test *test, uint64_t slow_ns, bool other_shape)
{
    uint32_t model = rules_begin(test, "ocr");

    for (int i = 0; i < 400; i++)
        run_shaped(test, 0, model, i % 40 == 7 ? slow_ns : 10 * ML_MS + (uint64_t)i,
                   i % 40 == 7 && other_shape ? "x:8x3" : "x:1x3");
    rules_run(test);
}

static void uneven_latency(void)
{
    struct rules_test test;

    run_unevenly(&test, 60 * ML_MS, false);
    REQUIRE(rules_find(&test, "uneven-latency") != NULL);
    CHECK_CONTAINS(rules_find(&test, "uneven-latency")->title, "p99 is 6.0 times the median");
    CHECK_UINT(rules_find(&test, "uneven-latency")->event_count, 10);
    CHECK_UINT(rules_find(&test, "uneven-latency")->events[0], 7);
    rules_end(&test);
}

static void even_latency(void)
{
    struct rules_test test;

    run_unevenly(&test, 20 * ML_MS, false);
    CHECK(!rules_find(&test, "uneven-latency"));
    rules_end(&test);
    run_unevenly(&test, 60 * ML_MS, true); /* a larger input takes longer: no wonder */
    CHECK(!rules_find(&test, "uneven-latency"));
    rules_end(&test);
}

/* ---- setup-heavy ---- */

static void set_up(struct rules_test *test, uint64_t setup_ns)
{
    uint32_t model = rules_begin(test, "ocr");

    for (int i = 0; i < 40; i++) {
        ml_trace_event(&test->trace, 0, model, TRACE_CATEGORY_SETUP, setup_ns);
        ml_trace_event(&test->trace, 0, model, TRACE_CATEGORY_INFERENCE, 10 * ML_MS);
    }
    rules_run(test);
}

static void setup_heavy(void)
{
    struct rules_test test;

    set_up(&test, 4 * ML_MS);
    REQUIRE(rules_find(&test, "setup-heavy") != NULL);
    CHECK_STR(rules_find(&test, "setup-heavy")->title,
              "setup takes 4.00 ms per inference of 10.0 ms");
    CHECK_CONTAINS(rules_find(&test, "setup-heavy")->fix, "IoBinding");
    rules_end(&test);
}

static void setup_light(void)
{
    struct rules_test test;

    set_up(&test, 40 * ML_US);
    CHECK(!rules_find(&test, "setup-heavy"));
    rules_end(&test);
}

/* ---- pre-post-heavy ---- */

static void run_stages(struct rules_test *test, uint64_t pre_ns)
{
    uint32_t model = rules_begin(test, "ocr");
    const char *const names[] = { "pre", "inference", "post" };
    uint32_t locations[3];

    for (int i = 0; i < 3; i++)
        locations[i] = ml_trace_location(&test->trace, TRACE_LOCATION_STAGE, 0, names[i], "");
    for (uint64_t r = 1; r <= 20; r++) {
        for (int i = 0; i < 3; i++) {
            struct ml_trace_open stage = ml_trace_enter(&test->trace, 0, locations[i]);

            ml_trace_number(&test->trace, 0, stage, "request", r);
            if (i == 1)
                ml_trace_event(&test->trace, 0, model, TRACE_CATEGORY_INFERENCE, 20 * ML_MS);
            else
                ml_trace_wait(&test->trace, 0, i ? 2 * ML_MS : pre_ns);
            ml_trace_leave(&test->trace, 0, stage);
        }
    }
    rules_run(test);
}

static void pre_post_heavy(void)
{
    struct rules_test test;

    run_stages(&test, 58 * ML_MS);
    REQUIRE(rules_find(&test, "pre-post-heavy") != NULL);
    CHECK_STR(rules_find(&test, "pre-post-heavy")->title,
              "75 % of a request is not inference; most of it is 'pre'");
    CHECK_UINT(test.input->requests, 20);
    rules_end(&test);
}

static void zones_are_requests(void)
{
    struct rules_test test;
    uint32_t model = rules_begin(&test, "ocr");
    uint32_t outer = ml_trace_location(&test.trace, TRACE_LOCATION_ZONE, 0, "serve", "f");
    uint32_t middle = ml_trace_location(&test.trace, TRACE_LOCATION_ZONE, 0, "request", "f");
    uint32_t inner = ml_trace_location(&test.trace, TRACE_LOCATION_ZONE, 0, "call", "f");
    struct ml_trace_open all = ml_trace_enter(&test.trace, 0, outer);

    for (int i = 0; i < 12; i++) {
        struct ml_trace_open request = ml_trace_enter(&test.trace, 0, middle);
        struct ml_trace_open call;

        ml_trace_wait(&test.trace, 0, 30 * ML_MS);
        call = ml_trace_enter(&test.trace, 0, inner);
        ml_trace_event(&test.trace, 0, model, TRACE_CATEGORY_INFERENCE, 10 * ML_MS);
        ml_trace_leave(&test.trace, 0, call);
        ml_trace_wait(&test.trace, 0, 10 * ML_MS);
        ml_trace_leave(&test.trace, 0, request);
    }
    ml_trace_leave(&test.trace, 0, all);
    rules_run(&test);
    CHECK_UINT(test.input->functions[0].request.count, 12);
    CHECK_UINT(test.input->functions[0].request.before_ns, 12ull * 30 * ML_MS);
    CHECK_UINT(test.input->functions[0].request.inference_ns, 12ull * 10 * ML_MS);
    CHECK_UINT(test.input->functions[0].request.after_ns, 12ull * 10 * ML_MS);
    REQUIRE(rules_find(&test, "pre-post-heavy") != NULL);
    CHECK_CONTAINS(rules_find(&test, "pre-post-heavy")->title, "30.0 ms before, 10.0 ms after");
    rules_end(&test);
}

static void pre_post_light(void)
{
    struct rules_test test;

    run_stages(&test, 2 * ML_MS);
    CHECK(!rules_find(&test, "pre-post-heavy"));
    rules_end(&test);
}

/* ---- host-bound, many-small-runs ---- */

static void run_often(struct rules_test *test, uint64_t ns, uint64_t gap_ns, const char *shapes)
{
    uint32_t model = rules_begin(test, "ocr");

    for (int i = 0; i < 300; i++) {
        run_shaped(test, 0, model, ns, shapes);
        ml_trace_wait(&test->trace, 0, gap_ns);
    }
    rules_run(test);
}

static void host_bound(void)
{
    struct rules_test test;

    run_often(&test, 10 * ML_MS, 18 * ML_MS, "x:1x3");
    REQUIRE(rules_find(&test, "host-bound") != NULL);
    CHECK_STR(rules_find(&test, "host-bound")->title, "18.0 ms between inferences of 10.0 ms");
    rules_end(&test);
}

static void model_bound(void)
{
    struct rules_test test;

    run_often(&test, 10 * ML_MS, 2 * ML_MS, "x:1x3");
    CHECK(!rules_find(&test, "host-bound"));
    rules_end(&test);
    run_often(&test, 10 * ML_MS, 500 * ML_MS, "x:1x3"); /* waits for something to do */
    CHECK(!rules_find(&test, "host-bound"));
    rules_end(&test);
}

static void many_small_runs(void)
{
    struct rules_test test;

    run_often(&test, 100 * ML_US, 5 * ML_US, "x:1x3");
    REQUIRE(rules_find(&test, "many-small-runs") != NULL);
    CHECK_CONTAINS(rules_find(&test, "many-small-runs")->title,
                   "300 inferences of 100 µs with batch 1");
    rules_end(&test);
}

static void few_or_large_runs(void)
{
    struct rules_test test;

    run_often(&test, 2 * ML_MS, 5 * ML_US, "x:1x3");
    CHECK(!rules_find(&test, "many-small-runs"));
    rules_end(&test);
    run_often(&test, 100 * ML_US, 300 * ML_US, "x:1x3"); /* not back to back */
    CHECK(!rules_find(&test, "many-small-runs"));
    rules_end(&test);
    run_often(&test, 100 * ML_US, 5 * ML_US, "input:1x512 state:2x1x128"); /* one needs the other */
    CHECK(!rules_find(&test, "many-small-runs"));
    rules_end(&test);
}

/* ---- oversubscription ---- */

/* Three threads, each with its own session of so many threads, at the same time or in turn. */
static void run_together(struct rules_test *test, const char *runtime, const char *options,
                         bool at_once)
{
    ml_trace_begin(&test->trace, NULL);
    for (uint32_t t = 0; t < 3; t++) {
        char name[16];
        uint32_t model;

        snprintf(name, sizeof name, "m%u", t);
        model = ml_trace_model(&test->trace,
                               &(struct ml_trace_model){ .name = name, .runtime = runtime });
        ml_trace_property(&test->trace, model, "options", options);
        for (int i = 0; i < 20; i++) {
            if (!at_once)
                ml_trace_wait(&test->trace, t, t * 10 * ML_MS);
            run_shaped(test, t, model, 10 * ML_MS, "x:1");
            if (!at_once)
                ml_trace_wait(&test->trace, t, (2 - t) * 10 * ML_MS);
        }
    }
    rules_run(test);
}

static void oversubscription(void)
{
    struct rules_test test;

    run_together(&test, NULL, "intra_op_threads=4 graph_optimization=all", true);
    REQUIRE(rules_find(&test, "oversubscription") != NULL);
    CHECK_STR(rules_find(&test, "oversubscription")->title,
              "up to 12 threads compute at a time on 4 CPUs");
    CHECK_INT(rules_find(&test, "oversubscription")->severity, FINDING_HIGH);
    rules_end(&test);
    run_together(&test, NULL, "intra_op_threads=0", true); /* at least half of the CPUs each */
    REQUIRE(rules_find(&test, "oversubscription") != NULL);
    CHECK_CONTAINS(rules_find(&test, "oversubscription")->title, "up to 6 threads");
    CHECK_CONTAINS(rules_find(&test, "oversubscription")->fix,
                   "fewer threads (SetIntraOpNumThreads, intra_op_num_threads), or one pool for "
                   "all (CreateEnvWithGlobalThreadPools");
    rules_end(&test);
    run_together(&test, "llama.cpp", "intra_op_threads=4", true); /* whose options are not known */
    REQUIRE(rules_find(&test, "oversubscription") != NULL);
    CHECK_CONTAINS(rules_find(&test, "oversubscription")->fix,
                   "fewer threads, or one pool for all");
    rules_end(&test);
}

/* Six sessions of one thread each: nobody can set fewer. */
static void oversubscription_of_single_threads(void)
{
    struct rules_test test;

    ml_trace_begin(&test.trace, NULL);
    for (uint32_t t = 0; t < ML_TRACE_THREADS; t++) {
        char name[16];
        uint32_t model;

        snprintf(name, sizeof name, "m%u", t);
        model = ml_trace_model(&test.trace,
                               &(struct ml_trace_model){ .name = name, .process = t >= 4 ? 1 : 0 });
        ml_trace_property(&test.trace, model, "options", "intra_op_threads=1");
        for (int i = 0; i < 20; i++)
            run_shaped(&test, t, model, 10 * ML_MS, "x:1");
    }
    rules_run(&test);
    REQUIRE(rules_find(&test, "oversubscription") != NULL);
    CHECK_CONTAINS(rules_find(&test, "oversubscription")->fix,
                   "each session already computes with one thread: run at most 4 inferences");
    rules_end(&test);
}

static void enough_cpus(void)
{
    struct rules_test test;

    run_together(&test, NULL, "intra_op_threads=1", true);
    CHECK(!rules_find(&test, "oversubscription"));
    rules_end(&test);
    run_together(&test, NULL, "intra_op_threads=4", false);
    CHECK(!rules_find(&test, "oversubscription"));
    rules_end(&test);
}

/* ---- quantized-slower ---- */

static void run_twins(struct rules_test *test, uint64_t quantized_ns, const char *quantized_name)
{
    uint32_t plain = rules_begin(test, "det_fp32");
    uint32_t quantized =
        ml_trace_model(&test->trace, &(struct ml_trace_model){ .name = quantized_name });

    for (int i = 0; i < 25; i++) {
        run_shaped(test, 0, plain, 10 * ML_MS, "x:1x3");
        run_shaped(test, 0, quantized, quantized_ns, "x:1x3");
    }
    rules_run(test);
}

static void quantized_slower(void)
{
    struct rules_test test;

    run_twins(&test, 13 * ML_MS, "Det-INT8");
    REQUIRE(rules_find(&test, "quantized-slower") != NULL);
    CHECK_STR(rules_find(&test, "quantized-slower")->title,
              "the quantized model takes 13.0 ms, the float one 10.0 ms");
    rules_end(&test);
}

static void run_converting(struct rules_test *test, uint64_t convert_us)
{
    uint32_t model = rules_begin(test, "det");
    uint32_t convert =
        ml_trace_location(&test->trace, TRACE_LOCATION_OP, model, "q", "QuantizeLinear");
    uint32_t conv = ml_trace_location(&test->trace, TRACE_LOCATION_OP, model, "c", "QLinearConv");

    for (int i = 0; i < 10; i++) {
        struct ml_trace_open run = ml_trace_enter(
            &test->trace, 0, ml_trace_category(&test->trace, model, TRACE_CATEGORY_INFERENCE));

        for (int k = 0; k < 5; k++) {
            ml_trace_slice(&test->trace, 0, convert, convert_us * ML_US);
            ml_trace_slice(&test->trace, 0, conv, 100 * ML_US);
        }
        ml_trace_leave(&test->trace, 0, run);
    }
    rules_run(test);
}

static void conversions(void)
{
    struct rules_test test;

    run_converting(&test, 50);
    REQUIRE(rules_find(&test, "quantized-slower") != NULL);
    CHECK_CONTAINS(rules_find(&test, "quantized-slower")->title, "33 % of the operators' time");
    rules_end(&test);
}

static void quantized_faster(void)
{
    struct rules_test test;

    run_twins(&test, 6 * ML_MS, "det_int8");
    CHECK(!rules_find(&test, "quantized-slower"));
    rules_end(&test);
    run_twins(&test, 13 * ML_MS, "rec_int8"); /* another model */
    CHECK(!rules_find(&test, "quantized-slower"));
    rules_end(&test);
    run_converting(&test, 10);
    CHECK(!rules_find(&test, "quantized-slower"));
    rules_end(&test);
}

/* ---- noisy-host, dropped-events ---- */

static void noisy_host(void)
{
    struct rules_test test;

    rules_begin(&test, "ocr");
    trace_writer_fact(test.trace.writer, "host.load", "5.50 3.00 1.00 9/200 4711");
    trace_writer_fact(test.trace.writer, "host.virtual", "yes");
    rules_run(&test);
    REQUIRE(rules_find(&test, "noisy-host") != NULL);
    CHECK_STR(rules_find(&test, "noisy-host")->title,
              "load average 5.5 on 4 CPUs before the recording began");
    CHECK_CONTAINS(rules_find(&test, "noisy-host")->evidence, "not recorded: which programs");
    CHECK_INT(rules_find(&test, "noisy-host")->severity, FINDING_MEDIUM);
    rules_end(&test);
}

static void quiet_host(void)
{
    struct rules_test test;

    rules_begin(&test, "ocr");
    trace_writer_fact(test.trace.writer, "host.load", "1.20 3.00 1.00 9/200 4711");
    rules_run(&test);
    CHECK(!rules_find(&test, "noisy-host"));
    CHECK(!rules_find(&test, "dropped-events"));
    rules_end(&test);
}

static void dropped_events(void)
{
    struct rules_test test;
    uint32_t model = rules_begin(&test, "ocr");

    for (int i = 0; i < 90; i++)
        ml_trace_event(&test.trace, 0, model, TRACE_CATEGORY_INFERENCE, ML_MS);
    trace_writer_loss(test.trace.writer, 0, "events of threads that found no ring", 10);
    rules_run(&test);
    REQUIRE(rules_find(&test, "dropped-events") != NULL);
    CHECK_STR(rules_find(&test, "dropped-events")->title, "10 events were dropped, 10 % of all");
    CHECK_INT(rules_find(&test, "dropped-events")->severity, FINDING_HIGH);
    rules_end(&test);
}

TAP_MAIN(TAP_CASE(reshaping), TAP_CASE(specialized_in_inferences),
         TAP_CASE(shapes_that_cost_nothing), TAP_CASE(uneven_latency), TAP_CASE(even_latency),
         TAP_CASE(setup_heavy), TAP_CASE(setup_light), TAP_CASE(pre_post_heavy),
         TAP_CASE(zones_are_requests), TAP_CASE(pre_post_light), TAP_CASE(host_bound),
         TAP_CASE(model_bound), TAP_CASE(many_small_runs), TAP_CASE(few_or_large_runs),
         TAP_CASE(oversubscription), TAP_CASE(oversubscription_of_single_threads),
         TAP_CASE(enough_cpus), TAP_CASE(quantized_slower), TAP_CASE(conversions),
         TAP_CASE(quantized_faster), TAP_CASE(noisy_host), TAP_CASE(quiet_host),
         TAP_CASE(dropped_events))
