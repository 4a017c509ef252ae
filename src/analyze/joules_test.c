// SPDX-License-Identifier: Apache-2.0
/* Joules per inference of devices whose power is known at every moment. */
#include "analyze/joules.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "analyze/findings/rules_test.h"
#include "base/alloc.h"
#include "device_trace.h"
#include "tap.h"

#define MACHINE ML_TRACE_MACHINE
#define STEP_MS 100u

struct joules_test {
    struct rules_test rules;
    struct joules *joules;
};

/* So many watts until then. */
struct phase {
    unsigned until_ms;
    double watts;
};

static double energy_at(const struct phase *phases, unsigned ms)
{
    double joules = 1000; /* counters do not begin at 0 */
    unsigned from = 0;

    for (; phases->until_ms; phases++) {
        unsigned until = ms < phases->until_ms ? ms : phases->until_ms;

        if (until > from)
            joules += phases->watts * (until - from) / 1e3;
        from = phases->until_ms;
    }
    return joules;
}

/* A counter that is read every so often, until the last phase is over. */
static void meter(struct joules_test *test, const char *name, const struct phase *phases,
                  unsigned step_ms)
{
    unsigned end = 0;

    for (const struct phase *phase = phases; phase->until_ms; phase++)
        end = phase->until_ms;
    for (unsigned ms = 0; ms <= end; ms += step_ms)
        ml_trace_resource(&test->rules.trace, MACHINE, name, ms * (uint64_t)ML_MS + 1,
                          energy_at(phases, ms));
}

/* A value that becomes another one at that time. */
static void put(struct joules_test *test, uint32_t process, const char *name, unsigned end_ms,
                double first, unsigned at_ms, double then)
{
    for (unsigned ms = 0; ms <= end_ms; ms += STEP_MS)
        ml_trace_resource(&test->rules.trace, process, name, ms * (uint64_t)ML_MS + 1,
                          ms < at_ms ? first : then);
}

static uint32_t begin(struct joules_test *test, const char *device)
{
    ml_trace_begin(&test->rules.trace, NULL);
    return ml_trace_model(
        &test->rules.trace,
        &(struct ml_trace_model){ .name = "on it", .requested = device, .actual = device });
}

static void infer(struct joules_test *test, uint32_t thread, uint32_t model, unsigned count,
                  unsigned ms)
{
    for (unsigned i = 0; i < count; i++)
        ml_trace_event(&test->rules.trace, thread, model, TRACE_CATEGORY_INFERENCE,
                       ms * (uint64_t)ML_MS);
}

static void wait_ms(struct joules_test *test, uint32_t thread, unsigned ms)
{
    ml_trace_wait(&test->rules.trace, thread, ms * (uint64_t)ML_MS);
}

static void run(struct joules_test *test)
{
    test->joules = NULL;
    rules_run(&test->rules);
    REQUIRE(joules_create(test->rules.input, &test->joules) == IFG_OK);
}

static void end(struct joules_test *test)
{
    joules_destroy(test->joules);
    rules_end(&test->rules);
}

static const struct joules_row *row_of(const struct joules_test *test, const char *model,
                                       const char *device)
{
    for (size_t i = 0; test->joules && i < test->joules->row_count; i++) {
        const struct joules_row *row = &test->joules->rows[i];

        if (strcmp(test->joules->devices[row->device].name, device) == 0 &&
            strcmp(test->rules.input->models[row->model].model->name, model) == 0)
            return row;
    }
    return NULL;
}

static bool is_near(double got, double expected, double tolerance)
{
    if (fabs(got - expected) <= tolerance * expected)
        return true;
    tap_diag("got %g, expected %g", got, expected);
    return false;
}

/* The value is right, and the bounds are around it and no wider than that. */
static void check(const struct joules_row *row, double expected, double tolerance, double width)
{
    REQUIRE(row != NULL);
    CHECK_STR(row->reason, "");
    CHECK(is_near(row->joules, expected, tolerance));
    CHECK(row->low_j <= expected && expected <= row->high_j);
    CHECK(row->low_j <= row->joules && row->joules <= row->high_j);
    if (!(row->high_j - row->low_j <= width * expected))
        tap_diag("bounds %g to %g", row->low_j, row->high_j);
    CHECK(row->high_j - row->low_j <= width * expected);
}

static void check_none(const struct joules_row *row, const char *reason)
{
    REQUIRE(row != NULL);
    CHECK(isnan(row->joules) && isnan(row->low_j) && isnan(row->high_j));
    CHECK_CONTAINS(row->reason, reason);
}

static void put_measured(struct joules_test *test, const char *device, double watts, double low,
                         double high)
{
    char name[48];

    snprintf(name, sizeof name, "%s idle W", device);
    ml_trace_resource(&test->rules.trace, MACHINE, name, 1, watts);
    snprintf(name, sizeof name, "%s idle low W", device);
    ml_trace_resource(&test->rules.trace, MACHINE, name, 1, low);
    snprintf(name, sizeof name, "%s idle high W", device);
    ml_trace_resource(&test->rules.trace, MACHINE, name, 1, high);
    ml_trace_resource(&test->rules.trace, MACHINE, "idle s", 1, 2.0);
}

/* 400 inferences of 10 ms at 200 W above idle are 2 J each, wherever readings fall. */
static void above_measured_idle(void)
{
    static const unsigned offsets[] = { 0, 3, 50, 97 };

    for (size_t i = 0; i < 4; i++) {
        const struct phase phases[] = {
            { 2000 + offsets[i], 50 }, { 6000 + offsets[i], 250 }, { 7000, 50 }, { 0, 0 }
        };
        struct joules_test test;
        uint32_t model = begin(&test, "CUDAExecutionProvider");
        char words[80];

        wait_ms(&test, 0, 2000 + offsets[i]);
        infer(&test, 0, model, 400, 10);
        meter(&test, "gpu 0 energy J", phases, STEP_MS);
        put(&test, 0, "gpu 0 memory bytes", 7000, 1e9, 0, 1e9);
        put_measured(&test, "gpu 0", 50, 50, 50);
        run(&test);
        check(row_of(&test, "on it", "gpu 0"), 2, 0.002, 0.2);
        CHECK_UINT(row_of(&test, "on it", "gpu 0")->inferences, 400);
        CHECK_UINT(test.joules->device_count, 1);
        CHECK(is_near(test.joules->devices[0].total_j, 4000 * 0.25 + 3000 * 0.05, 0.001));
        CHECK_STR(joules_idle_words(&test.joules->devices[0], words, sizeof words),
                  "measured for 2.0 s before the program started");
        end(&test);
    }
}

/* What idle power is not known for sure makes the bounds wider. */
static void doubt_about_idle_is_in_the_bounds(void)
{
    static const struct phase phases[] = { { 1000, 50 }, { 5000, 250 }, { 0, 0 } };
    struct joules_test test;
    uint32_t model = begin(&test, "CUDAExecutionProvider");
    const struct joules_row *row;

    wait_ms(&test, 0, 1000);
    infer(&test, 0, model, 400, 10);
    meter(&test, "gpu 0 energy J", phases, STEP_MS);
    put(&test, 0, "gpu 0 memory bytes", 5000, 1e9, 0, 1e9);
    put_measured(&test, "gpu 0", 50, 30, 80);
    run(&test);
    row = row_of(&test, "on it", "gpu 0");
    check(row, 2, 0.002, 0.6);
    CHECK(row->low_j < 1.72 && row->low_j > 1.55);
    CHECK(row->high_j > 2.18 && row->high_j < 2.4);
    end(&test);
}

/* Without a measurement: the power before memory was taken. A context of its own takes more. */
static void idle_before_use(void)
{
    static const struct phase phases[] = {
        { 2000, 50 }, { 3000, 90 }, { 7000, 250 }, { 8000, 90 }, { 0, 0 }
    };
    struct joules_test test;
    uint32_t model = begin(&test, "CUDAExecutionProvider");
    char words[80];

    wait_ms(&test, 0, 3000);
    infer(&test, 0, model, 400, 10);
    meter(&test, "gpu 0 energy J", phases, STEP_MS);
    put(&test, MACHINE, "gpu 0 memory used bytes", 8000, 1e9, 2000, 2e9);
    put(&test, MACHINE, "gpu 0 busy %", 8000, 0, 3000, 100);
    put(&test, 0, "gpu 0 memory bytes", 8000, 1e9, 0, 1e9);
    run(&test);
    check(row_of(&test, "on it", "gpu 0"), 2, 0.01, 0.2);
    CHECK_INT(test.joules->devices[0].idle, JOULES_IDLE_BEFORE);
    CHECK(is_near(test.joules->devices[0].idle_w, 50, 0.001));
    CHECK_STR(joules_idle_words(&test.joules->devices[0], words, sizeof words),
              "seen for 1.5 s before the program used it");
    end(&test);
}

/* Work that was before the recording keeps clocks and power up for a while. */
static void idle_that_falls(void)
{
    static const struct phase phases[] = { { 1500, 130 }, { 5000, 50 }, { 9000, 250 }, { 0, 0 } };
    struct joules_test test;
    uint32_t model = begin(&test, "CUDAExecutionProvider");
    char words[160];

    wait_ms(&test, 0, 5000);
    infer(&test, 0, model, 400, 10);
    meter(&test, "gpu 0 energy J", phases, STEP_MS);
    put(&test, MACHINE, "gpu 0 memory used bytes", 9000, 1e9, 4900, 2e9);
    put(&test, MACHINE, "gpu 0 busy %", 9000, 0, 5000, 100);
    put(&test, 0, "gpu 0 memory bytes", 9000, 1e9, 0, 1e9);
    run(&test);
    check(row_of(&test, "on it", "gpu 0"), 2, 0.01, 0.2);
    CHECK(is_near(test.joules->devices[0].idle_w, 50, 0.001));
    CHECK_INT(test.joules->devices[0].idle_fell, JOULES_FELL);
    CHECK_CONTAINS(joules_idle_words(&test.joules->devices[0], words, sizeof words),
                   "before the program used it, the end of it, as power was still falling");
    end(&test);
}

/* Measured with clocks that were up: idle may be anything below. If the recording has a moment of
 * rest later, that is it. */
static void measured_too_early(void)
{
    static const struct phase at_once[] = { { 4000, 250 }, { 0, 0 } };
    static const struct phase later[] = { { 2000, 50 }, { 6000, 250 }, { 0, 0 } };

    for (int rests = 0; rests < 2; rests++) {
        struct joules_test test;
        uint32_t model = begin(&test, "CUDAExecutionProvider");
        unsigned begin_ms = rests ? 2000 : 0;
        const struct joules_row *row;
        const struct joules_device *device;
        char words[160];

        wait_ms(&test, 0, begin_ms);
        infer(&test, 0, model, 400, 10);
        meter(&test, "gpu 0 energy J", rests ? later : at_once, STEP_MS);
        put(&test, MACHINE, "gpu 0 memory used bytes", begin_ms + 4000, 1e9, begin_ms, 2e9);
        put(&test, MACHINE, "gpu 0 busy %", begin_ms + 4000, 0, begin_ms, 100);
        put(&test, MACHINE, "gpu 0 clock MHz", begin_ms + 4000, 345, begin_ms, 1980);
        put(&test, 0, "gpu 0 memory bytes", begin_ms + 4000, 1e9, 0, 1e9);
        put_measured(&test, "gpu 0", 140, 132, 147);
        ml_trace_resource(&test.rules.trace, MACHINE, "gpu 0 idle clock MHz", 1, 1980);
        run(&test);
        row = row_of(&test, "on it", "gpu 0");
        device = &test.joules->devices[0];
        joules_idle_words(device, words, sizeof words);
        if (rests) {
            check(row, 2, 0.01, 0.2);
            CHECK_INT(device->idle, JOULES_IDLE_BEFORE);
        } else {
            REQUIRE(row != NULL);
            CHECK(row->low_j <= 2 && row->high_j >= 2);
            CHECK_INT(device->idle_fell, JOULES_FALLS);
            CHECK_CONTAINS(words, "it was not at rest yet and may take less");
        }
        end(&test);
    }
}

static void idle_while_held(void)
{
    static const struct phase phases[] = { { 2000, 250 }, { 5000, 90 }, { 7000, 250 }, { 0, 0 } };
    struct joules_test test;
    uint32_t model = begin(&test, "CUDAExecutionProvider");

    infer(&test, 0, model, 200, 10);
    wait_ms(&test, 0, 3000);
    infer(&test, 0, model, 200, 10);
    meter(&test, "gpu 0 energy J", phases, STEP_MS);
    put(&test, MACHINE, "gpu 0 memory used bytes", 7000, 1e9, 0, 1e9);
    for (unsigned ms = 0; ms <= 7000; ms += STEP_MS)
        ml_trace_resource(&test.rules.trace, MACHINE, "gpu 0 busy %", ms * (uint64_t)ML_MS + 1,
                          ms <= 2000 || ms > 5000 ? 100 : 0);
    put(&test, 0, "gpu 0 memory bytes", 7000, 1e9, 0, 1e9);
    run(&test);
    check(row_of(&test, "on it", "gpu 0"), 1.6, 0.01, 0.4);
    CHECK_INT(test.joules->devices[0].idle, JOULES_IDLE_HELD);
    end(&test);
}

static void never_idle(void)
{
    static const struct phase phases[] = { { 4000, 250 }, { 0, 0 } };
    struct joules_test test;
    uint32_t model = begin(&test, "CUDAExecutionProvider");
    const struct joules_row *row;

    infer(&test, 0, model, 400, 10);
    meter(&test, "gpu 0 energy J", phases, STEP_MS);
    put(&test, MACHINE, "gpu 0 busy %", 4000, 100, 0, 100);
    put(&test, 0, "gpu 0 memory bytes", 4000, 1e9, 0, 1e9);
    run(&test);
    row = row_of(&test, "on it", "gpu 0");
    REQUIRE(row != NULL);
    CHECK(isnan(row->joules) && isnan(row->low_j));
    CHECK_CONTAINS(row->reason, "never idle for half a second: record with --idle 2");
    end(&test);
}

/* A model on the CPU, and one in a process that has nothing of the device, are not charged. */
static void who_does_not_use_it(void)
{
    static const struct phase phases[] = { { 1000, 50 }, { 5000, 250 }, { 0, 0 } };
    struct joules_test test;
    uint32_t model = begin(&test, "CUDAExecutionProvider"), on_cpu, elsewhere;

    on_cpu = ml_trace_model(&test.rules.trace, &(struct ml_trace_model){ .name = "on cpu" });
    elsewhere = ml_trace_model(&test.rules.trace,
                               &(struct ml_trace_model){ .name = "elsewhere",
                                                         .requested = "CUDAExecutionProvider",
                                                         .actual = "CUDAExecutionProvider",
                                                         .process = 1 });
    for (uint32_t thread = 0; thread < 5; thread++)
        wait_ms(&test, thread, 1000);
    infer(&test, 0, model, 400, 10);
    infer(&test, 1, on_cpu, 400, 10);
    infer(&test, 4, elsewhere, 400, 10);
    meter(&test, "gpu 0 energy J", phases, STEP_MS);
    put(&test, 0, "gpu 0 memory bytes", 5000, 1e9, 0, 1e9);
    put(&test, 1, "gpu descriptors", 5000, 0, 0, 0);
    put_measured(&test, "gpu 0", 50, 50, 50);
    run(&test);
    check(row_of(&test, "on it", "gpu 0"), 2, 0.002, 0.2);
    CHECK(!row_of(&test, "on it", "gpu 0")->shared);
    CHECK(row_of(&test, "on cpu", "gpu 0") == NULL);
    CHECK(row_of(&test, "elsewhere", "gpu 0") == NULL);
    end(&test);
}

/* A child has the descriptors of its parent, and does nothing with them. */
static void make_child(struct ml_trace *trace)
{
    trace_writer_process(trace->writer, &(struct trace_process){ .index = 1,
                                                                 .pid = 4712,
                                                                 .parent_pid = 4711,
                                                                 .program = "/usr/bin/app",
                                                                 .start_ticks = ML_TRACE_START });
}

/* Of two models in one process, that use the same provider for all that is known, the one that
 * launched nothing is not charged. Nor is a fork, which would have recorded work of its own. */
static void who_launched_nothing(void)
{
    static const struct phase phases[] = { { 1000, 50 }, { 5000, 250 }, { 0, 0 } };
    struct device_trace trace;
    struct joules_test test;
    uint32_t models[2], stream, child;

    device_trace_begin(&trace, NULL);
    make_child(&trace.ml);
    stream = device_trace_stream(&trace, 0, 0, 7);
    for (size_t i = 0; i < 2; i++)
        models[i] = ml_trace_model(&trace.ml,
                                   &(struct ml_trace_model){ .name = i ? "host" : "on it",
                                                             .requested = "CUDAExecutionProvider",
                                                             .actual = "CUDAExecutionProvider" });
    child = ml_trace_model(
        &trace.ml,
        &(struct ml_trace_model){ .name = "child", .process = 1, .actual = "", .requested = "" });
    ml_trace_wait(&trace.ml, 0, 1000 * (uint64_t)ML_MS);
    ml_trace_wait(&trace.ml, 1, 1000 * (uint64_t)ML_MS);
    for (unsigned i = 0; i < 400; i++) {
        struct ml_trace_open run = ml_trace_enter(
            &trace.ml, 0, ml_trace_category(&trace.ml, models[0], TRACE_CATEGORY_INFERENCE));

        device_trace_launch(&trace, 0, stream, 5 * ML_US,
                            &(struct device_trace_work){ .name = "gemm", .ns = 9 * ML_MS });
        device_trace_sync(&trace, 0, stream, 10 * ML_MS - 5 * ML_US);
        ml_trace_leave(&trace.ml, 0, run);
        ml_trace_event(&trace.ml, 4, child, TRACE_CATEGORY_INFERENCE, 10 * ML_MS);
        ml_trace_event(&trace.ml, 1, models[1], TRACE_CATEGORY_INFERENCE, 10 * ML_MS);
    }
    test.rules.trace = trace.ml;
    meter(&test, "gpu 0 energy J", phases, STEP_MS);
    put(&test, 0, "gpu 0 memory bytes", 5000, 1e9, 0, 1e9);
    put(&test, 1, "gpu descriptors", 2000, 23, 0, 23);
    put_measured(&test, "gpu 0", 50, 50, 50);
    run(&test);
    check(row_of(&test, "on it", "gpu 0"), 2, 0.01, 0.2);
    CHECK(row_of(&test, "host", "gpu 0") == NULL);
    CHECK(row_of(&test, "child", "gpu 0") == NULL);
    end(&test);
}

/* An inference of 10 ms on each of two threads, with so much work on the device. */
static void infer_both(struct device_trace *trace, const uint32_t *models, const uint32_t *streams,
                       const unsigned *busy_ms)
{
    for (uint32_t i = 0; i < 2; i++) {
        struct ml_trace_open run = ml_trace_enter(
            &trace->ml, i, ml_trace_category(&trace->ml, models[i], TRACE_CATEGORY_INFERENCE));

        device_trace_launch(
            trace, i, streams[i], 5 * ML_US,
            &(struct device_trace_work){ .name = "gemm", .ns = busy_ms[i] * ML_MS });
        device_trace_sync(trace, i, streams[i], 10 * ML_MS - 5 * ML_US);
        ml_trace_leave(&trace->ml, i, run);
    }
}

/* Both ran all the time; the device worked for the one four times as long as for the other. Work of
 * which nobody knows whose it is leaves no number if it is much. */
static void work_divides(void)
{
    static const struct phase phases[] = { { 1000, 50 }, { 5000, 250 }, { 0, 0 } };
    static const unsigned busy_ms[] = { 8, 2 };

    for (int lost = 0; lost < 2; lost++) {
        struct device_trace trace;
        struct joules_test test;
        uint32_t models[2], streams[3];

        device_trace_begin(&trace, NULL);
        for (uint32_t i = 0; i < 3; i++)
            streams[i] = device_trace_stream(&trace, 0, 0, 7 + i);
        for (uint32_t i = 0; i < 2; i++) {
            models[i] = ml_trace_model(
                &trace.ml, &(struct ml_trace_model){
                               .name = i ? "other" : "on it", .requested = "", .actual = "" });
            ml_trace_wait(&trace.ml, i, 1000 * (uint64_t)ML_MS);
        }
        for (unsigned i = 0; i < 400; i++)
            infer_both(&trace, models, streams, busy_ms);
        if (lost)
            device_trace_orphan(&trace, streams[2], ML_TRACE_START + 2000 * (uint64_t)ML_MS,
                                &(struct device_trace_work){ .ns = 2000 * (uint64_t)ML_MS });
        test.rules.trace = trace.ml;
        meter(&test, "gpu 0 energy J", phases, STEP_MS);
        put(&test, 0, "gpu 0 memory bytes", 5000, 1e9, 0, 1e9);
        put_measured(&test, "gpu 0", 50, 50, 50);
        run(&test);
        if (lost) {
            check_none(row_of(&test, "on it", "gpu 0"), "who launched that is not recorded");
        } else {
            const struct joules_row *row = row_of(&test, "on it", "gpu 0");

            REQUIRE(row != NULL && row_of(&test, "other", "gpu 0") != NULL);
            CHECK(row->shared && row->by_work && is_near(row->joules, 1.6, 0.01));
            CHECK(row->low_j < 0.01 && row->high_j >= 2);
            CHECK(is_near(row_of(&test, "other", "gpu 0")->joules, 0.4, 0.02));
        }
        end(&test);
    }
}

/* The driver lists who is on the device: a process that has it open for other reasons is not. */
static void open_but_not_listed(void)
{
    static const struct phase phases[] = { { 1000, 50 }, { 5000, 250 }, { 0, 0 } };
    struct joules_test test;
    uint32_t model = begin(&test, ""), elsewhere;

    elsewhere = ml_trace_model(
        &test.rules.trace, &(struct ml_trace_model){
                               .name = "elsewhere", .requested = "", .actual = "", .process = 1 });
    wait_ms(&test, 0, 1000);
    wait_ms(&test, 4, 1000);
    infer(&test, 0, model, 400, 10);
    infer(&test, 4, elsewhere, 400, 10);
    meter(&test, "gpu 0 energy J", phases, STEP_MS);
    put(&test, 0, "gpu 0 memory bytes", 5000, 1e9, 0, 1e9);
    put(&test, 0, "gpu descriptors", 5000, 23, 0, 23);
    put(&test, 1, "gpu descriptors", 5000, 3, 0, 3);
    put_measured(&test, "gpu 0", 50, 50, 50);
    run(&test);
    check(row_of(&test, "on it", "gpu 0"), 2, 0.01, 0.2);
    CHECK(row_of(&test, "elsewhere", "gpu 0") == NULL);
    end(&test);
}

/* In a recording that is too short for many looks at the driver's list: one is enough, none is not.
 */
static void inherited_descriptors(void)
{
    static const struct phase phases[] = { { 1000, 50 }, { 2000, 250 }, { 0, 0 } };

    for (unsigned looks = 0; looks < 2; looks++) {
        struct joules_test test;
        uint32_t model = begin(&test, ""), child;

        make_child(&test.rules.trace);
        child = ml_trace_model(&test.rules.trace,
                               &(struct ml_trace_model){
                                   .name = "child", .requested = "", .actual = "", .process = 1 });
        wait_ms(&test, 0, 1000);
        wait_ms(&test, 4, 1000);
        infer(&test, 0, model, 100, 10);
        infer(&test, 4, child, 90, 10);
        meter(&test, "gpu 0 energy J", phases, STEP_MS);
        put(&test, 0, "gpu 0 memory bytes", 2000, 1e9, 0, 1e9);
        put(&test, 0, "gpu descriptors", 2000, 23, 0, 23);
        put(&test, 1, "gpu descriptors", 2000, 23, 0, 23);
        if (looks)
            ml_trace_resource(&test.rules.trace, MACHINE, "gpu 0 other processes", 1500 * ML_MS, 0);
        put_measured(&test, "gpu 0", 50, 50, 50);
        run(&test);
        if (looks) {
            CHECK(row_of(&test, "child", "gpu 0") == NULL);
            check(row_of(&test, "on it", "gpu 0"), 2, 0.01, 0.5);
        } else {
            REQUIRE(row_of(&test, "child", "gpu 0") != NULL);
            CHECK(isnan(row_of(&test, "child", "gpu 0")->joules));
            CHECK_CONTAINS(row_of(&test, "child", "gpu 0")->reason, "not known whether");
        }
        end(&test);
    }
}

/* Nothing tells of the process: no number, and no silence either. */
static void unknown_use_is_said(void)
{
    static const struct phase phases[] = { { 1000, 50 }, { 5000, 250 }, { 0, 0 } };
    struct joules_test test;
    uint32_t model = begin(&test, "CUDAExecutionProvider");

    wait_ms(&test, 0, 1000);
    infer(&test, 0, model, 400, 10);
    meter(&test, "gpu 0 energy J", phases, STEP_MS);
    put_measured(&test, "gpu 0", 50, 50, 50);
    run(&test);
    REQUIRE(row_of(&test, "on it", "gpu 0") != NULL);
    CHECK(isnan(row_of(&test, "on it", "gpu 0")->joules));
    CHECK_CONTAINS(row_of(&test, "on it", "gpu 0")->reason, "not known whether");
    end(&test);
}

/* At the same time, on two threads, and nobody recorded who did what: no number could be right. */
static void two_models_share(void)
{
    static const struct phase phases[] = { { 1000, 50 }, { 5000, 250 }, { 0, 0 } };
    struct joules_test test;
    uint32_t model = begin(&test, "CUDAExecutionProvider");
    uint32_t other = ml_trace_model(&test.rules.trace,
                                    &(struct ml_trace_model){ .name = "other",
                                                              .requested = "CUDAExecutionProvider",
                                                              .actual = "CUDAExecutionProvider" });

    wait_ms(&test, 0, 1000);
    wait_ms(&test, 1, 1000);
    infer(&test, 0, model, 400, 10);
    infer(&test, 1, other, 100, 40);
    meter(&test, "gpu 0 energy J", phases, STEP_MS);
    put(&test, 0, "gpu 0 memory bytes", 5000, 1e9, 0, 1e9);
    put_measured(&test, "gpu 0", 50, 50, 50);
    run(&test);
    check_none(row_of(&test, "on it", "gpu 0"), "only what all models took together is known");
    check_none(row_of(&test, "other", "gpu 0"), "use --gpu kernels");
    end(&test);
}

/* Of models that say nothing of where they run, one may be all; of two, either may be none. */
static void models_without_placement(void)
{
    static const struct phase phases[] = { { 1000, 50 }, { 5000, 250 }, { 0, 0 } };

    for (int two = 0; two < 2; two++) {
        struct joules_test test;
        uint32_t model = begin(&test, ""), other = 0;

        if (two)
            other = ml_trace_model(
                &test.rules.trace,
                &(struct ml_trace_model){ .name = "other", .requested = "", .actual = "" });
        wait_ms(&test, 0, 1000);
        infer(&test, 0, model, 400, 10);
        if (two)
            infer(&test, 1, other, 50, 10);
        meter(&test, "gpu 0 energy J", phases, STEP_MS);
        put(&test, 0, "gpu 0 memory bytes", 5000, 1e9, 0, 1e9);
        put_measured(&test, "gpu 0", 50, 50, 50);
        run(&test);
        if (two) {
            check_none(row_of(&test, "on it", "gpu 0"),
                       "which model used the device is not recorded (use --gpu kernels)");
            check_none(row_of(&test, "other", "gpu 0"), "which model used the device");
        } else {
            check(row_of(&test, "on it", "gpu 0"), 2, 0.01, 0.25);
        }
        end(&test);
    }
}

/* One after the other they do not share, but in the reading in between. */
static void two_models_in_turn(void)
{
    static const struct phase phases[] = {
        { 1000, 50 }, { 3000, 250 }, { 5000, 150 }, { 6000, 50 }, { 0, 0 }
    };
    struct joules_test test;
    uint32_t model = begin(&test, "CUDAExecutionProvider");
    uint32_t other = ml_trace_model(&test.rules.trace,
                                    &(struct ml_trace_model){ .name = "other",
                                                              .requested = "CUDAExecutionProvider",
                                                              .actual = "CUDAExecutionProvider" });

    wait_ms(&test, 0, 1000);
    infer(&test, 0, model, 200, 10);
    infer(&test, 0, other, 200, 10);
    meter(&test, "gpu 0 energy J", phases, STEP_MS);
    put(&test, 0, "gpu 0 memory bytes", 6000, 1e9, 0, 1e9);
    put_measured(&test, "gpu 0", 50, 50, 50);
    run(&test);
    CHECK(is_near(row_of(&test, "on it", "gpu 0")->joules, 2, 0.03));
    CHECK(is_near(row_of(&test, "other", "gpu 0")->joules, 1, 0.03));
    end(&test);
}

static void mig_and_others_are_said(void)
{
    static const struct phase phases[] = { { 1000, 50 }, { 5000, 250 }, { 0, 0 } };

    for (int mig = 0; mig < 2; mig++) {
        struct joules_test test;
        uint32_t model = begin(&test, "CUDAExecutionProvider");
        const struct joules_row *row;

        wait_ms(&test, 0, 1000);
        infer(&test, 0, model, 400, 10);
        meter(&test, "gpu 0 energy J", phases, STEP_MS);
        put(&test, 0, "gpu 0 memory bytes", 5000, 1e9, 0, 1e9);
        put(&test, MACHINE, mig ? "gpu 0 MIG instances" : "gpu 0 other processes", 5000, 2, 0, 2);
        put_measured(&test, "gpu 0", 50, 50, 50);
        run(&test);
        row = row_of(&test, "on it", "gpu 0");
        REQUIRE(row != NULL);
        if (mig) {
            CHECK(isnan(row->joules));
            CHECK_CONTAINS(row->reason, "MIG");
        } else {
            CHECK(row->others && row->low_j == 0);
            CHECK(is_near(row->joules, 2, 0.01));
        }
        end(&test);
    }
}

/* A driver that is loaded anew begins at 0 again; that reading is lost, and nothing else. */
static void a_reset_counter(void)
{
    struct joules_test test;
    uint32_t model = begin(&test, "CUDAExecutionProvider");

    infer(&test, 0, model, 400, 10);
    for (unsigned ms = 0; ms <= 4000; ms += STEP_MS)
        ml_trace_resource(&test.rules.trace, MACHINE, "gpu 0 energy J", ms * (uint64_t)ML_MS + 1,
                          (ms < 2000 ? 5000 : 0) + 0.25 * ms);
    put(&test, 0, "gpu 0 memory bytes", 4000, 1e9, 0, 1e9);
    put_measured(&test, "gpu 0", 50, 50, 50);
    run(&test);
    check(row_of(&test, "on it", "gpu 0"), 2, 0.01, 0.3);
    CHECK_UINT(row_of(&test, "on it", "gpu 0")->inferences, 390);
    end(&test);
}

/* amdgpu tells its power and counts nothing. */
static void power_alone(void)
{
    struct joules_test test;
    uint32_t model = begin(&test, "ROCMExecutionProvider");

    wait_ms(&test, 0, 1000);
    infer(&test, 0, model, 400, 10);
    for (unsigned ms = 0; ms <= 6000; ms += STEP_MS)
        ml_trace_resource(&test.rules.trace, MACHINE, "gpu 0 power W", ms * (uint64_t)ML_MS + 1,
                          ms <= 1000 || ms > 5000 ? 50 : 250);
    put(&test, 0, "gpu engine compute %", 6000, 0, 1000, 100);
    put_measured(&test, "gpu 0", 50, 50, 50);
    run(&test);
    check(row_of(&test, "on it", "gpu 0"), 2, 0.02, 0.3);
    CHECK(!test.joules->devices[0].counts);
    end(&test);
}

/* Everybody uses the CPU; its idle power must have been measured. */
static void processors(void)
{
    static const struct phase phases[] = { { 1000, 30 }, { 5000, 70 }, { 0, 0 } };

    for (int measured = 0; measured < 2; measured++) {
        struct joules_test test;
        uint32_t model = begin(&test, "CPUExecutionProvider");
        const struct joules_row *row;

        wait_ms(&test, 0, 1000);
        infer(&test, 0, model, 400, 10);
        meter(&test, "cpu energy J", phases, STEP_MS);
        if (measured)
            put_measured(&test, "cpu", 30, 29, 31);
        run(&test);
        row = row_of(&test, "on it", "cpu");
        REQUIRE(row != NULL);
        if (measured) {
            check(row, 0.4, 0.01, 0.3);
        } else {
            CHECK(isnan(row->joules));
            CHECK_CONTAINS(row->reason, "record with --idle 2");
        }
        end(&test);
    }
}

static void nothing_known(void)
{
    struct joules_test test;
    uint32_t model = begin(&test, "CUDAExecutionProvider");

    infer(&test, 0, model, 10, 10);
    put(&test, MACHINE, "gpu 0 busy %", 1000, 5, 0, 5);
    run(&test);
    CHECK(test.joules == NULL);
    end(&test);
}

static void no_memory(void)
{
    static const struct phase phases[] = { { 1000, 50 }, { 2000, 250 }, { 0, 0 } };
    struct joules_test test;
    uint32_t model = begin(&test, "CUDAExecutionProvider");
    enum ifg_status status = IFG_NO_MEMORY;

    infer(&test, 0, model, 100, 10);
    meter(&test, "gpu 0 energy J", phases, STEP_MS);
    meter(&test, "cpu energy J", phases, STEP_MS);
    run(&test);
    joules_destroy(test.joules);
    for (long n = 0; status && n < 20; n++) {
        ifg_alloc_fail_after(n);
        status = joules_create(test.rules.input, &test.joules);
        CHECK(status == IFG_OK || (status == IFG_NO_MEMORY && !test.joules));
    }
    ifg_alloc_fail_after(-1);
    CHECK_INT(status, IFG_OK);
    end(&test);
}

TAP_MAIN(TAP_CASE(above_measured_idle), TAP_CASE(doubt_about_idle_is_in_the_bounds),
         TAP_CASE(idle_before_use), TAP_CASE(idle_that_falls), TAP_CASE(measured_too_early),
         TAP_CASE(idle_while_held), TAP_CASE(never_idle), TAP_CASE(who_does_not_use_it),
         TAP_CASE(who_launched_nothing), TAP_CASE(work_divides), TAP_CASE(open_but_not_listed),
         TAP_CASE(inherited_descriptors), TAP_CASE(unknown_use_is_said), TAP_CASE(two_models_share),
         TAP_CASE(models_without_placement), TAP_CASE(two_models_in_turn),
         TAP_CASE(mig_and_others_are_said), TAP_CASE(a_reset_counter), TAP_CASE(power_alone),
         TAP_CASE(processors), TAP_CASE(nothing_known), TAP_CASE(no_memory))
