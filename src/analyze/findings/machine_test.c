// SPDX-License-Identifier: Apache-2.0
/* Rules about what the machine and the program used, and the sums behind them. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "analyze/findings/rules_test.h"
#include "base/alloc.h"
#include "ml_trace.h"
#include "tap.h"

#define MACHINE ML_TRACE_MACHINE

/* A program that infers all the time, 10 ms each, for so many seconds. */
static void begin(struct rules_test *test, unsigned seconds)
{
    uint32_t model = rules_begin(test, "ocr");
    char text[32];

    for (unsigned i = 0; i < seconds * 100; i++)
        ml_trace_event(&test->trace, 0, model, TRACE_CATEGORY_INFERENCE, 10 * ML_MS);
    snprintf(text, sizeof text, "%u.0", seconds);
    trace_writer_fact(test->trace.writer, "record.seconds", text);
}

/* One value a second, from the first on, changing by so much. */
static void put(struct rules_test *test, uint32_t process, const char *name, unsigned seconds,
                double first, double step)
{
    for (unsigned i = 0; i <= seconds; i++)
        ml_trace_resource(&test->trace, process, name, i * (uint64_t)ML_S + 1, first + step * i);
}

static void put_cpu(struct rules_test *test, unsigned seconds, double machine, double program)
{
    put(test, MACHINE, "cpu total %", seconds, machine, 0);
    put(test, 0, "cpu %", seconds, program, 0);
}

/* ---- sums ---- */

static void sums(void)
{
    struct rules_test test;
    const struct resources *resources;

    begin(&test, 10);
    put_cpu(&test, 10, 50, 100);
    put(&test, 0, "rss bytes", 10, 50e6, 1e6);
    put(&test, 1, "rss bytes", 10, 20e6, 0);
    put(&test, MACHINE, "cpu 0 %", 10, 100, 0);
    put(&test, MACHINE, "cpu 1 %", 10, 0, 0);
    put(&test, MACHINE, "gpu 1 busy %", 10, 10, 1);
    put(&test, MACHINE, "not finite", 10, (double)NAN, 0);
    rules_run(&test);
    resources = test.input->resources;
    REQUIRE(resources != NULL);
    CHECK_UINT(resources->cpus, 2);
    CHECK(fabs(resources->cpu_pct - 50) < 0.01);
    CHECK(fabs(resources->program_cores - 1) < 0.01);
    CHECK(fabs(resources->rss_max_bytes - 80e6) < 1);
    CHECK(isnan(resources->steal_pct) && isnan(resources->frequency_mhz));
    CHECK_UINT(resources->gpu_count, 2);
    CHECK(isnan(resources->gpus[0].busy_pct));
    CHECK(fabs(resources->gpus[1].busy_max_pct - 20) < 0.01);
    CHECK(!resources_find(resources, 0, "not finite"));
    CHECK_UINT(resources->npu_count, 0);
    rules_end(&test);
}

static void none(void)
{
    struct rules_test test;

    begin(&test, 1);
    rules_run(&test);
    CHECK(test.input->resources == NULL);
    rules_end(&test);
}

static void no_memory(void)
{
    struct rules_test test;
    struct resources *resources;
    enum ifg_status status = IFG_NO_MEMORY;

    begin(&test, 10);
    put_cpu(&test, 10, 50, 100);
    put(&test, 0, "rss bytes", 10, 50e6, 1e6);
    rules_run(&test);
    for (long n = 0; status && n < 20; n++) {
        ifg_alloc_fail_after(n);
        status = resources_create(test.trace.timeline, ML_S, &resources);
        CHECK(status == IFG_OK || (status == IFG_NO_MEMORY && !resources));
    }
    ifg_alloc_fail_after(-1);
    CHECK_INT(status, IFG_OK);
    resources_destroy(resources);
    rules_end(&test);
}

/* ---- throttled ---- */

static void put_quota(struct rules_test *test, double stopped)
{
    put(test, 0, "cgroup cpu limit", 10, 1.5, 0);
    put(test, 0, "cgroup periods", 10, 1000, 10);
    put(test, 0, "cgroup throttled periods", 10, 500, stopped);
    put(test, 0, "cgroup throttled us", 10, 1e6, stopped * 1e4);
}

static void throttled(void)
{
    struct rules_test test;

    begin(&test, 10);
    put_quota(&test, 4);
    rules_run(&test);
    REQUIRE(rules_find(&test, "throttled") != NULL);
    CHECK_CONTAINS(rules_find(&test, "throttled")->title, "stopped the program in 40 % of");
    CHECK_CONTAINS(rules_find(&test, "throttled")->evidence, "40 of 100 periods");
    CHECK_CONTAINS(rules_find(&test, "throttled")->evidence, "1.50 of 4 CPUs");
    CHECK_INT(rules_find(&test, "throttled")->severity, FINDING_HIGH);
    CHECK(fabs(rules_number(rules_find(&test, "throttled"), "stopped_ms") - 400) < 1);
    rules_end(&test);

    begin(&test, 10);
    put(&test, MACHINE, "cpu thermal throttles", 10, 70, 2);
    rules_run(&test);
    REQUIRE(rules_find(&test, "throttled") != NULL);
    CHECK_STR(rules_find(&test, "throttled")->title, "heat throttled the CPUs 20 times");
    rules_end(&test);

    begin(&test, 10);
    put(&test, MACHINE, "gpu 0 busy %", 10, 99, 0);
    put(&test, MACHINE, "gpu 0 slowed by heat", 10, 1, 0);
    rules_run(&test);
    REQUIRE(rules_find(&test, "throttled") != NULL);
    CHECK_CONTAINS(rules_find(&test, "throttled")->title, "GPU 0 was slowed by heat");
    rules_end(&test);
}

static void not_throttled(void)
{
    struct rules_test test;

    begin(&test, 10);
    put_quota(&test, 0); /* it was, but before */
    put(&test, MACHINE, "cpu thermal throttles", 10, 70, 0);
    put(&test, MACHINE, "gpu 0 busy %", 10, 99, 0);
    put(&test, MACHINE, "gpu 0 slowed by heat", 10, 0, 0);
    put(&test, MACHINE, "gpu 0 power capped", 10, 0.2, 0);
    rules_run(&test);
    CHECK(!rules_find(&test, "throttled"));
    rules_end(&test);
}

/* ---- memory-growth ---- */

static void memory_growth(void)
{
    struct rules_test test;

    begin(&test, 20);
    put(&test, 0, "rss bytes", 20, 100e6, 2e6);
    rules_run(&test);
    REQUIRE(rules_find(&test, "memory-growth") != NULL);
    CHECK_CONTAINS(rules_find(&test, "memory-growth")->title, "grows by 2.");
    CHECK_CONTAINS(rules_find(&test, "memory-growth")->title, "over 15 s, to 140 MB");
    CHECK_CONTAINS(rules_find(&test, "memory-growth")->evidence, "for each inference");
    CHECK_INT(rules_find(&test, "memory-growth")->severity, FINDING_MEDIUM);
    rules_end(&test);
}

static void memory_that_settles(void)
{
    struct rules_test test;

    begin(&test, 20); /* at the start only */
    for (unsigned i = 0; i <= 20; i++)
        ml_trace_resource(&test.trace, 0, "rss bytes", i * (uint64_t)ML_S + 1,
                          i < 4 ? 50e6 * (i + 1) : 200e6);
    rules_run(&test);
    CHECK(!rules_find(&test, "memory-growth"));
    rules_end(&test);

    begin(&test, 20); /* one step is no growth: a second model was loaded */
    for (unsigned i = 0; i <= 20; i++)
        ml_trace_resource(&test.trace, 0, "rss bytes", i * (uint64_t)ML_S + 1,
                          i < 12 ? 100e6 : 200e6);
    rules_run(&test);
    CHECK(!rules_find(&test, "memory-growth"));
    rules_end(&test);

    begin(&test, 20); /* up and down */
    for (unsigned i = 0; i <= 20; i++)
        ml_trace_resource(&test.trace, 0, "rss bytes", i * (uint64_t)ML_S + 1,
                          100e6 + 30e6 * (i % 5));
    rules_run(&test);
    CHECK(!rules_find(&test, "memory-growth"));
    rules_end(&test);

    begin(&test, 30); /* levels off after 20 s */
    for (unsigned i = 0; i <= 30; i++)
        ml_trace_resource(&test.trace, 0, "rss bytes", i * (uint64_t)ML_S + 1,
                          100e6 + 4e6 * (i < 20 ? i : 20));
    rules_run(&test);
    CHECK(!rules_find(&test, "memory-growth"));
    rules_end(&test);

    begin(&test, 24); /* the same, ended soon after */
    for (unsigned i = 0; i <= 24; i++)
        ml_trace_resource(&test.trace, 0, "rss bytes", i * (uint64_t)ML_S + 1,
                          100e6 + 4e6 * (i < 20 ? i : 20));
    rules_run(&test);
    CHECK(!rules_find(&test, "memory-growth"));
    rules_end(&test);

    begin(&test, 30); /* slower and slower: a cache that fills */
    for (unsigned i = 0; i <= 30; i++)
        ml_trace_resource(&test.trace, 0, "rss bytes", i * (uint64_t)ML_S + 1,
                          100e6 + 200e6 * (1 - exp(-(double)i / 8)));
    rules_run(&test);
    CHECK(!rules_find(&test, "memory-growth"));
    rules_end(&test);

    begin(&test, 4); /* too short to tell */
    put(&test, 0, "rss bytes", 4, 100e6, 20e6);
    rules_run(&test);
    CHECK(!rules_find(&test, "memory-growth"));
    rules_end(&test);
}

/* ---- page-faults ---- */

static void page_faults(void)
{
    struct rules_test test;

    begin(&test, 10); /* 100 inferences a second: 2000 faults each, 1 ms of 10 */
    put(&test, 0, "page faults minor", 10, 5000, 200000);
    rules_run(&test);
    REQUIRE(rules_find(&test, "page-faults") != NULL);
    CHECK_CONTAINS(rules_find(&test, "page-faults")->title, "page faults per inference");
    CHECK(fabs(rules_number(rules_find(&test, "page-faults"), "share") - 0.1) < 0.01);
    rules_end(&test);

    begin(&test, 10);
    put(&test, 0, "page faults minor", 10, 5000, 10);
    put(&test, 0, "page faults major", 10, 5, 50);
    rules_run(&test);
    REQUIRE(rules_find(&test, "page-faults") != NULL);
    CHECK_CONTAINS(rules_find(&test, "page-faults")->title, "are read from disk");
    rules_end(&test);
}

static void few_page_faults(void)
{
    struct rules_test test;

    begin(&test, 10);
    put(&test, 0, "page faults minor", 10, 5000, 1000);
    put(&test, 0, "page faults major", 10, 500, 0.1);
    rules_run(&test);
    CHECK(!rules_find(&test, "page-faults"));
    rules_end(&test);

    begin(&test, 2); /* it infers for a fifth of the time: whose they are is not known */
    put(&test, 0, "page faults minor", 10, 5000, 200000);
    rules_run(&test);
    CHECK(!rules_find(&test, "page-faults"));
    rules_end(&test);
}

/* ---- noisy-neighbour, noisy-host ---- */

static void put_neighbour(struct rules_test *test, double percent)
{
    put(test, MACHINE, "others cpu %", 10, percent + 3, 0);
    put(test, MACHINE, "other stress (4321) cpu %", 10, percent, 0);
}

static void noisy_neighbour(void)
{
    struct rules_test test;

    begin(&test, 10);
    put_cpu(&test, 10, 50, 100);
    put_neighbour(&test, 97);
    rules_run(&test);
    REQUIRE(rules_find(&test, "noisy-neighbour") != NULL);
    CHECK_STR(rules_find(&test, "noisy-neighbour")->title, "stress (pid 4321) used 97 % of a CPU");
    CHECK_INT(rules_find(&test, "noisy-neighbour")->severity, FINDING_LOW);
    REQUIRE(rules_find(&test, "noisy-host") != NULL);
    CHECK_STR(rules_find(&test, "noisy-host")->title, "other programs used 1.00 of 4 CPUs");
    CHECK_CONTAINS(rules_find(&test, "noisy-host")->evidence, "stress (pid 4321) 97 % of a CPU");
    rules_end(&test);

    begin(&test, 10);
    put_cpu(&test, 10, 99, 300);
    put_neighbour(&test, 30);
    rules_run(&test);
    REQUIRE(rules_find(&test, "noisy-neighbour") != NULL);
    CHECK_INT(rules_find(&test, "noisy-neighbour")->severity, FINDING_MEDIUM);
    rules_end(&test);
}

static void good_neighbour(void)
{
    struct rules_test test;

    begin(&test, 10);
    put_cpu(&test, 10, 30, 110);
    put_neighbour(&test, 9);
    put(&test, MACHINE, "cpu steal %", 10, 0.2, 0);
    rules_run(&test);
    CHECK(!rules_find(&test, "noisy-neighbour"));
    CHECK(!rules_find(&test, "noisy-host"));
    rules_end(&test);

    begin(&test, 10); /* a high load before, but quiet while it was recorded */
    put_cpu(&test, 10, 26, 100);
    trace_writer_fact(test.trace.writer, "host.load", "9.00 1.00 1.00 1/99 100");
    rules_run(&test);
    CHECK(!rules_find(&test, "noisy-host"));
    rules_end(&test);
}

static void noisy_host(void)
{
    struct rules_test test;

    begin(&test, 10);
    put_cpu(&test, 10, 30, 110);
    put(&test, MACHINE, "cpu steal %", 10, 6, 0);
    rules_run(&test);
    REQUIRE(rules_find(&test, "noisy-host") != NULL);
    CHECK_STR(rules_find(&test, "noisy-host")->title,
              "the host took 6.0 % of the CPU time (steal)");
    CHECK_INT(rules_find(&test, "noisy-host")->severity, FINDING_MEDIUM);
    rules_end(&test);
}

static void names_of_others(void)
{
    struct rules_test test;
    const struct resources *resources;

    begin(&test, 10);
    put_cpu(&test, 10, 90, 10);
    put(&test, MACHINE, "others cpu %", 10, 300, 0);
    put(&test, MACHINE, "other a (b) (7) cpu %", 10, 40, 0);
    put(&test, MACHINE, "other  (8) cpu %", 10, 50, 0);
    put(&test, MACHINE, "other x (9) cpu %", 10, 60, 0);
    put(&test, MACHINE, "other y (10) cpu %", 10, 10, 0);
    put(&test, MACHINE, "other (11) cpu", 10, 99, 0);
    rules_run(&test);
    resources = test.input->resources;
    REQUIRE_UINT(resources->other_count, 3);
    CHECK_STR(resources->others[0].name, "x");
    CHECK_STR(resources->others[1].name, "");
    CHECK_STR(resources->others[2].name, "a (b)");
    CHECK_UINT(resources->others[2].pid, 7);
    rules_end(&test);
}

TAP_MAIN(TAP_CASE(sums), TAP_CASE(none), TAP_CASE(no_memory), TAP_CASE(throttled),
         TAP_CASE(not_throttled), TAP_CASE(memory_growth), TAP_CASE(memory_that_settles),
         TAP_CASE(page_faults), TAP_CASE(few_page_faults), TAP_CASE(noisy_neighbour),
         TAP_CASE(good_neighbour), TAP_CASE(noisy_host), TAP_CASE(names_of_others))
