// SPDX-License-Identifier: Apache-2.0
/* Budgets and their units, ends of what is known, the plan and its false alarms, traces. */
#include "bench/gate/gate.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "ml_trace.h"
#include "tap.h"

/* ---- reading budgets ---- */

static void units(void)
{
    static const struct {
        const char *text;
        enum gate_unit unit;
        double value; /* negative: refused */
    } cases[] = {
        { "50ms", GATE_MS, 50 },
        { "50 ms", GATE_MS, 50 },
        { "1.5s", GATE_MS, 1500 },
        { "800us", GATE_MS, 0.8 },
        { "2000000ns", GATE_MS, 2 },
        { ".5ms", GATE_MS, 0.5 },
        { "50", GATE_MS, -1 }, /* of what? */
        { "50MB", GATE_MS, -1 },
        { "", GATE_MS, -1 },
        { "ms", GATE_MS, -1 },
        { "-1ms", GATE_MS, -1 },
        { "nan", GATE_MS, -1 },
        { "infms", GATE_MS, -1 },
        { "0x10ms", GATE_MS, -1 },
        { "1e400ms", GATE_MS, -1 },
        { "50msx", GATE_MS, -1 },
        { "500MB", GATE_BYTES, 500e6 },
        { "512MiB", GATE_BYTES, 536870912 },
        { "1kB", GATE_BYTES, 1000 },
        { "1KB", GATE_BYTES, 1000 },
        { "1KiB", GATE_BYTES, 1024 },
        { "2GB", GATE_BYTES, 2e9 },
        { "123456", GATE_BYTES, 123456 },
        { "5Mb", GATE_BYTES, -1 },
        { "30", GATE_PER_SECOND, 30 },
        { "30fps", GATE_PER_SECOND, 30 },
        { "30ms", GATE_PER_SECOND, -1 },
        { "300mJ", GATE_JOULE, 0.3 },
        { "3", GATE_JOULE, -1 },
        { "99%", GATE_SHARE, 0.99 },
        { "0.99", GATE_SHARE, 0.99 },
        { "101%", GATE_SHARE, -1 },
        { "99", GATE_SHARE, -1 },
        { "25M", GATE_NUMBER, 25e6 },
        { "1000", GATE_NUMBER, 1000 },
    };

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct ifg_error err = { 0 };
        double value = -2;
        enum ifg_status status = gate_parse_value(cases[i].text, cases[i].unit, &value, &err);

        tap_note("'%s' as %s: %s", cases[i].text, gate_unit_name(cases[i].unit), err.message);
        CHECK_INT(status, cases[i].value < 0 ? IFG_INVALID : IFG_OK);
        if (!status)
            CHECK(fabs(value - cases[i].value) <= 1e-9 * cases[i].value);
        else
            CHECK(strlen(err.message) > 10);
    }
}

static void budgets(void)
{
    struct gate_budget budget;
    struct ifg_error err = { 0 };

    REQUIRE_INT(gate_budget_parse("p99=50ms", false, false, &budget, &err), IFG_OK);
    CHECK_STR(budget.metric, "p99");
    CHECK(!budget.at_least && budget.of && budget.limit == 50);
    CHECK(gate_budget_is_timing(&budget) && gate_budget_is_steady(&budget));
    REQUIRE_INT(gate_budget_parse("throughput=30", true, false, &budget, &err), IFG_OK);
    CHECK_STR(budget.metric, "fps");
    CHECK(budget.at_least);
    REQUIRE_INT(gate_budget_parse("p99.9=1s", false, false, &budget, &err), IFG_OK);
    CHECK_STR(budget.metric, "p999");
    REQUIRE_INT(gate_budget_parse("size=5MB", false, false, &budget, &err), IFG_OK);
    CHECK(!gate_budget_is_timing(&budget));
    REQUIRE_INT(gate_budget_parse("load=2s", false, false, &budget, &err), IFG_OK);
    CHECK(gate_budget_is_timing(&budget) && !gate_budget_is_steady(&budget));

    CHECK_INT(gate_budget_parse("latency=5ms", false, false, &budget, &err), IFG_INVALID);
    CHECK_CONTAINS(err.message, "there is no metric 'latency'; there are: p50, p90");
    CHECK_CONTAINS(err.message, "parameters");
    CHECK_INT(gate_budget_parse("p99", false, false, &budget, &err), IFG_INVALID);
    CHECK_CONTAINS(err.message, "METRIC=VALUE");
    CHECK_INT(gate_budget_parse("=5ms", false, false, &budget, &err), IFG_INVALID);
    CHECK_INT(gate_budget_parse("p99=", false, false, &budget, &err), IFG_INVALID);
    CHECK_INT(gate_budget_parse("p99=5", false, false, &budget, &err), IFG_INVALID);
    CHECK_CONTAINS(err.message, "--max p99=5: '5' is not a time with its unit");
    CHECK_INT(gate_budget_parse("inference.p99=5ms", false, false, &budget, &err), IFG_INVALID);
    CHECK_CONTAINS(err.message, "for --trace");
}

static void trace_metrics(void)
{
    struct gate_budget budget;
    struct ifg_error err = { 0 };

    REQUIRE_INT(gate_budget_parse("inference.p99=50ms", false, true, &budget, &err), IFG_OK);
    CHECK(budget.scope == GATE_IN_CATEGORY && budget.category == TRACE_CATEGORY_INFERENCE);
    CHECK(budget.stat == GATE_P99 && !budget.model[0] && !budget.of);
    REQUIRE_INT(gate_budget_parse("a/b.c/load.max=1s", false, true, &budget, &err), IFG_OK);
    CHECK_STR(budget.model, "a/b.c");
    CHECK(budget.category == TRACE_CATEGORY_LOAD && budget.stat == GATE_MAX);
    REQUIRE_INT(gate_budget_parse("prepare-ep.total=1s", false, true, &budget, &err), IFG_OK);
    CHECK(budget.category == TRACE_CATEGORY_PREPARE_EP);
    REQUIRE_INT(gate_budget_parse("zone:a=b.count=3", false, true, &budget, &err), IFG_OK);
    CHECK_STR(budget.name, "a=b");
    CHECK(budget.unit == GATE_NUMBER && budget.limit == 3);
    REQUIRE_INT(gate_budget_parse("op:conv.1.p99.9=3ms", false, true, &budget, &err), IFG_OK);
    CHECK_STR(budget.name, "conv.1");
    CHECK(budget.stat == GATE_P999 && budget.scope == GATE_IN_OP);

    CHECK_INT(gate_budget_parse("p99=50ms", false, true, &budget, &err), IFG_INVALID);
    CHECK_CONTAINS(err.message, "[MODEL/]CATEGORY.STAT");
    CHECK_INT(gate_budget_parse("inference.p98=50ms", false, true, &budget, &err), IFG_INVALID);
    CHECK_INT(gate_budget_parse("reload.p99=50ms", false, true, &budget, &err), IFG_INVALID);
    CHECK_INT(gate_budget_parse("zone:.p99=50ms", false, true, &budget, &err), IFG_INVALID);
    CHECK_INT(gate_budget_parse("/inference.p99=5ms", false, true, &budget, &err), IFG_INVALID);
    CHECK_INT(gate_budget_parse(".p99=50ms", false, true, &budget, &err), IFG_INVALID);
}

/* ---- rows to judge ---- */

#define PROCESSES 5u
#define BLOCKS    10u
#define PER_BLOCK 10u
#define SAMPLES   (PROCESSES * BLOCKS * PER_BLOCK)

struct made {
    struct bench_result result;
    struct bench_row row;
    double samples[SAMPLES];
    struct bench_block blocks[PROCESSES * BLOCKS];
    struct bench_process processes[PROCESSES];
};

static double uniform(uint64_t *random)
{
    return ((double)(statistics_random(random) >> 11) + 0.5) / 9007199254740992.0;
}

static double normal(uint64_t *random)
{
    return sqrt(-2 * log(uniform(random))) * cos(6.283185307179586 * uniform(random));
}

/* Processes differ by 2.4 %, blocks by 0.75 %, iterations by 3 %, and some are far off: as measured
 * on a shared machine. The median of all that is `median`. */
static void make_noisy(struct made *made, double median, uint64_t *random)
{
    struct ifg_error err = { 0 };
    size_t at = 0;

    memset(made, 0, sizeof *made);
    for (uint32_t p = 0; p < PROCESSES; p++) {
        double process = 0.024 * normal(random);

        made->processes[p] = (struct bench_process){ .load_ms = 100 + p,
                                                     .first_ms = 30,
                                                     .specialization_ms = NAN,
                                                     .start_ms = 5,
                                                     .steady = true,
                                                     .before_bytes = 10,
                                                     .after_load_bytes = 80,
                                                     .after_runs_bytes = 90,
                                                     .peak_bytes = 100 + 10 * (uint64_t)p };
        for (uint32_t b = 0; b < BLOCKS; b++) {
            double block = process + 0.0075 * normal(random);
            struct bench_block *to = &made->blocks[p * BLOCKS + b];

            *to = (struct bench_block){ { p, at, PER_BLOCK }, NAN, 0, false };
            for (uint32_t i = 0; i < PER_BLOCK; i++) {
                double value = median * exp(block + 0.03 * normal(random));

                made->samples[at++] = value;
                to->wall_ms += value;
            }
        }
    }
    made->row = (struct bench_row){ .available = true,
                                    .samples_ms = made->samples,
                                    .sample_count = SAMPLES,
                                    .blocks = made->blocks,
                                    .block_count = PROCESSES * BLOCKS,
                                    .processes = made->processes,
                                    .process_count = PROCESSES,
                                    .energy_cpu_j = NAN,
                                    .energy_gpu_j = NAN,
                                    .energy_reason = NULL };
    made->result = (struct bench_result){
        .rows = &made->row, .row_count = 1, .model_bytes = 1000, .parameters = 0
    };
    REQUIRE_INT(bench_row_finish(&made->row, false, 1, &err), IFG_OK);
}

static enum gate_verdict judge(const struct made *made, const char *text, bool at_least,
                               double alpha, struct gate_estimate *out)
{
    struct gate_budget budget;
    struct ifg_error err = { 0 };

    REQUIRE_INT(gate_budget_parse(text, at_least, false, &budget, &err), IFG_OK);
    REQUIRE_INT(gate_estimate_result(&budget, &made->result, &made->row, 0, alpha, 1, out, &err),
                IFG_OK);
    return gate_judge(out, at_least, budget.limit);
}

/* One step above the end that decides, and one below: the verdict changes there, nowhere else. */
static void ends_decide(void)
{
    static const char *const metrics[] = { "p50", "p90", "p95", "p99", "mean", "max", "load" };
    static struct made made;
    uint64_t random = 7;
    struct gate_estimate estimate;
    char text[64];

    make_noisy(&made, 10, &random);
    for (size_t i = 0; i < sizeof metrics / sizeof metrics[0]; i++) {
        tap_note("%s", metrics[i]);
        snprintf(text, sizeof text, "%s=1000ms", metrics[i]);
        CHECK_INT(judge(&made, text, false, 0.05, &estimate), GATE_PASS);
        REQUIRE(estimate.high_known && estimate.low_known);
        CHECK(estimate.low <= estimate.value && estimate.value <= estimate.high);
        snprintf(text, sizeof text, "%s=%.9fms", metrics[i], estimate.high + 1e-6);
        CHECK_INT(judge(&made, text, false, 0.05, &estimate), GATE_PASS);
        if (strcmp(metrics[i], "max") != 0) {
            snprintf(text, sizeof text, "%s=%.9fms", metrics[i], estimate.high - 1e-6);
            CHECK_INT(judge(&made, text, false, 0.05, &estimate), GATE_UNSURE);
            CHECK(estimate.needs > estimate.count);
        }
        snprintf(text, sizeof text, "%s=%.9fms", metrics[i], estimate.low - 1e-6);
        CHECK_INT(judge(&made, text, false, 0.05, &estimate), GATE_FAIL);
        /* The same question from below. */
        snprintf(text, sizeof text, "%s=1ms", metrics[i]);
        CHECK_INT(judge(&made, text, true, 0.05, &estimate), GATE_PASS);
        snprintf(text, sizeof text, "%s=1000ms", metrics[i]);
        CHECK_INT(judge(&made, text, true, 0.05, &estimate), GATE_FAIL);
    }
    CHECK_INT(judge(&made, "fps=1", true, 0.05, &estimate), GATE_PASS);
    CHECK(estimate.low < estimate.value && estimate.value < estimate.high);
    snprintf(text, sizeof text, "fps=%.9f", estimate.low + 1e-6);
    CHECK_INT(judge(&made, text, true, 0.05, &estimate), GATE_UNSURE);
    snprintf(text, sizeof text, "fps=%.9f", estimate.high + 1e-6);
    CHECK_INT(judge(&made, text, true, 0.05, &estimate), GATE_FAIL);
}

static void the_rest(void)
{
    static struct made made;
    uint64_t random = 8;
    struct gate_estimate estimate;
    struct gate_budget budget;
    struct ifg_error err = { 0 };

    make_noisy(&made, 10, &random);
    /* 100, 110, 120, 130, 140 bytes */
    CHECK_INT(judge(&made, "peak_rss=140B", false, 0.05, &estimate), GATE_PASS);
    CHECK_INT(judge(&made, "peak_rss=139B", false, 0.05, &estimate), GATE_UNSURE);
    CHECK_UINT(estimate.beyond, 1);
    CHECK_INT(judge(&made, "peak_rss=120B", false, 0.05, &estimate), GATE_UNSURE);
    CHECK_INT(judge(&made, "peak_rss=119B", false, 0.05, &estimate), GATE_FAIL);
    CHECK_INT(judge(&made, "memory_delta=80B", false, 0.05, &estimate), GATE_PASS);
    CHECK_INT(judge(&made, "memory_delta=79B", false, 0.05, &estimate), GATE_FAIL);
    CHECK_INT(judge(&made, "size=1kB", false, 0.05, &estimate), GATE_PASS);
    CHECK_INT(judge(&made, "size=999", false, 0.05, &estimate), GATE_FAIL);
    CHECK_INT(judge(&made, "parameters=5", false, 0.05, &estimate), GATE_LACKS);
    CHECK_INT(judge(&made, "energy=5J", false, 0.05, &estimate), GATE_LACKS);
    CHECK_INT(judge(&made, "specialization=5s", false, 0.05, &estimate), GATE_LACKS);
    CHECK_STR(estimate.missing, "the runtime does not tell it");
    CHECK_INT(judge(&made, "goodput=99%", true, 0.05, &estimate), GATE_LACKS);
    CHECK_CONTAINS(estimate.missing, "--slo");

    /* Nobody is late, but 500 of 500 proves only so much: 1 - 0.05^(1/500) = 0.6 %. */
    REQUIRE_INT(gate_budget_parse("goodput=99.4%", true, false, &budget, &err), IFG_OK);
    REQUIRE_INT(
        gate_estimate_result(&budget, &made.result, &made.row, 1e6, 0.05, 1, &estimate, &err),
        IFG_OK);
    CHECK_INT(gate_judge(&estimate, true, budget.limit), GATE_PASS);
    CHECK(fabs(estimate.low - pow(0.05, 1.0 / SAMPLES)) < 1e-9);
    CHECK_INT(gate_judge(&estimate, true, 0.9999), GATE_UNSURE);
    REQUIRE_INT(
        gate_estimate_result(&budget, &made.result, &made.row, 0.001, 0.05, 1, &estimate, &err),
        IFG_OK);
    CHECK_INT(gate_judge(&estimate, true, budget.limit), GATE_FAIL);
}

/* x(i) = i, so that the ends are the ranks. */
static void ranks(void)
{
    static double samples[400];
    struct bench_result result = { 0 };
    struct bench_row row = { .available = true, .samples_ms = samples };
    struct gate_budget budget;
    struct gate_estimate estimate;
    struct ifg_error err = { 0 };

    for (size_t i = 0; i < 400; i++)
        samples[i] = (double)(i + 1);
    REQUIRE_INT(gate_budget_parse("p99=1000ms", false, false, &budget, &err), IFG_OK);
    /* 0.99^298 > 0.05 >= 0.99^299 */
    for (size_t count = 298; count <= 299; count++) {
        row.sample_count = count;
        REQUIRE_INT(bench_row_finish(&row, false, 1, &err), IFG_OK);
        REQUIRE_INT(gate_estimate_result(&budget, &result, &row, 0, 0.05, 1, &estimate, &err),
                    IFG_OK);
        CHECK_INT(estimate.high_known, count == 299);
        CHECK_INT(gate_judge(&estimate, false, 1000), count == 299 ? GATE_PASS : GATE_UNSURE);
        CHECK_UINT(estimate.needs, count == 299 ? 0 : 299);
    }
    CHECK(estimate.high == 299);
    /* Too few to pass, enough to fail: all 100 of them are over it. */
    row.sample_count = 100;
    budget.limit = 0.5;
    REQUIRE_INT(bench_row_finish(&row, false, 1, &err), IFG_OK);
    REQUIRE_INT(gate_estimate_result(&budget, &result, &row, 0, 0.05, 1, &estimate, &err), IFG_OK);
    CHECK_INT(gate_judge(&estimate, false, 0.5), GATE_FAIL);
    CHECK_UINT(estimate.beyond, 100);
    CHECK_UINT(gate_samples_needed(&budget, 1, 0.05), 299);
    CHECK_UINT(gate_samples_needed(&budget, 1, 0.05 / 3), 408);
    /* A document with samples alone: no blocks, so the median is by order statistics. */
    row.sample_count = 100;
    REQUIRE_INT(gate_budget_parse("p50=1s", false, false, &budget, &err), IFG_OK);
    REQUIRE_INT(gate_estimate_result(&budget, &result, &row, 0, 0.05, 1, &estimate, &err), IFG_OK);
    CHECK(estimate.iterations_alone && estimate.high_known && estimate.high < 62);
    CHECK_INT(gate_judge(&estimate, false, budget.limit), GATE_PASS);
}

static void pooling(void)
{
    static struct made a, b;
    uint64_t random = 9;
    struct bench_row pooled;
    const struct bench_row *rows[2] = { &a.row, &b.row };
    struct ifg_error err = { 0 };

    make_noisy(&a, 10, &random);
    make_noisy(&b, 20, &random);
    REQUIRE_INT(gate_pool_rows(rows, 2, false, 1, &pooled, &err), IFG_OK);
    CHECK_UINT(pooled.sample_count, 2 * SAMPLES);
    CHECK_UINT(pooled.process_count, 2 * PROCESSES);
    CHECK_UINT(pooled.block_count, 2 * PROCESSES * BLOCKS);
    CHECK_UINT(pooled.blocks[PROCESSES * BLOCKS].where.first, SAMPLES);
    CHECK_UINT(pooled.blocks[PROCESSES * BLOCKS].where.process, PROCESSES);
    CHECK(pooled.samples_ms[SAMPLES] == b.samples[0]);
    CHECK(pooled.steady);
    /* 500 at 100/s and 500 at 50/s are 1000 in 15 s. */
    CHECK(fabs(pooled.throughput - 1000.0 / 15) < 3);
    gate_pool_fini(&pooled);
    b.processes[3].steady = false;
    REQUIRE_INT(gate_pool_rows(rows, 2, false, 1, &pooled, &err), IFG_OK);
    CHECK(!pooled.steady);
    gate_pool_fini(&pooled);
    for (long n = 0; n < 4; n++) {
        ifg_alloc_fail_after(n);
        CHECK_INT(gate_pool_rows(rows, 2, false, 1, &pooled, &err), IFG_NO_MEMORY);
        ifg_alloc_fail_after(-1);
    }
}

/* One process of five is slow: it alone is over the limit. That is no reason to fail. */
static void one_process(void)
{
    static struct made made;
    uint64_t random = 10;
    struct gate_estimate estimate;

    make_noisy(&made, 10, &random);
    for (size_t i = 0; i < SAMPLES / PROCESSES; i++)
        made.samples[i] *= 3;
    CHECK_INT(judge(&made, "p90=25ms", false, 0.05, &estimate), GATE_UNSURE);
    CHECK_UINT(estimate.beyond, SAMPLES / PROCESSES);
    CHECK_INT(judge(&made, "p90=35ms", false, 0.05, &estimate), GATE_PASS);
    for (size_t i = SAMPLES / PROCESSES; i < 2 * SAMPLES / PROCESSES; i++)
        made.samples[i] *= 3;
    CHECK_INT(judge(&made, "p90=25ms", false, 0.05, &estimate), GATE_FAIL);
}

/* ---- the plan ---- */

/* Letters of the looks, then '|' and what is left: . settled, ? open */
static void plan_rules(void)
{
    static const struct {
        uint32_t retries, unsure;
        const char *looks;
        enum gate_rule rule;
        bool settled;
    } cases[] = {
        { 0, 0, "P", GATE_BY_ORDER, true },   { 2, 0, "P", GATE_BY_ORDER, true },
        { 0, 0, "F", GATE_BY_ORDER, true },   { 2, 0, "F", GATE_BY_ORDER, false },
        { 2, 0, "F", GATE_EXACT, true },      { 2, 0, "FF", GATE_BY_ORDER, true },
        { 2, 0, "FP", GATE_BY_ORDER, true },  { 2, 0, "FU", GATE_BY_ORDER, false },
        { 2, 0, "FUF", GATE_BY_ORDER, true }, { 2, 0, "FUU", GATE_BY_ORDER, true },
        { 2, 0, "U", GATE_BY_ORDER, true },   { 2, 1, "U", GATE_BY_ORDER, false },
        { 2, 1, "UU", GATE_BY_ORDER, true },  { 2, 1, "UF", GATE_BY_ORDER, false },
        { 2, 1, "UFF", GATE_BY_ORDER, true }, { 0, 2, "UU", GATE_BY_ORDER, false },
        { 0, 2, "UUU", GATE_BY_ORDER, true }, { 2, 0, "X", GATE_BY_ORDER, false },
        { 0, 0, "X", GATE_BY_ORDER, true },   { 2, 0, "L", GATE_BY_ORDER, true },
    };

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct gate_plan plan = { 0.05, cases[i].retries, cases[i].unsure };
        struct gate_check check = { .estimate = { .rule = cases[i].rule } };

        tap_note("retries %u, unsure %u: %s", cases[i].retries, cases[i].unsure, cases[i].looks);
        for (const char *at = cases[i].looks; *at; at++) {
            static const char letters[] = "PFUXL";

            REQUIRE(!check.settled);
            gate_take_look(&check, &plan, (enum gate_verdict)(strchr(letters, *at) - letters));
        }
        CHECK_INT(check.settled, cases[i].settled);
        CHECK_UINT(check.look_count, strlen(cases[i].looks));
    }
    CHECK_UINT(gate_plan_looks(&(struct gate_plan){ 0.05, 2, 0 }), 3);
    CHECK_UINT(gate_plan_looks(&(struct gate_plan){ 0.05, 2, 4 }), 5);
    CHECK(fabs(gate_plan_alpha(&(struct gate_plan){ 0.06, 2, 0 }) - 0.02) < 1e-12);
}

static void together(void)
{
    static const struct {
        const char *verdicts;
        enum gate_on_unsure on_unsure;
        enum gate_verdict all;
    } cases[] = {
        { "PP", GATE_UNSURE_STAYS, GATE_PASS },    { "PU", GATE_UNSURE_STAYS, GATE_UNSURE },
        { "PU", GATE_UNSURE_PASSES, GATE_PASS },   { "PU", GATE_UNSURE_FAILS, GATE_FAIL },
        { "FUXL", GATE_UNSURE_PASSES, GATE_FAIL }, { "PUX", GATE_UNSURE_STAYS, GATE_UNFIT },
        { "PUL", GATE_UNSURE_STAYS, GATE_LACKS },  { "PUX", GATE_UNSURE_PASSES, GATE_UNFIT },
        { "PU", GATE_UNSURE_WARNS, GATE_UNSURE },  { "PUX", GATE_UNSURE_WARNS, GATE_UNFIT },
        { "", GATE_UNSURE_STAYS, GATE_PASS },
    };

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct gate_check checks[4] = { 0 };
        size_t count = strlen(cases[i].verdicts);

        for (size_t k = 0; k < count; k++)
            checks[k].verdict =
                (enum gate_verdict)(strchr("PFUXL", cases[i].verdicts[k]) - "PFUXL");
        CHECK_INT(gate_overall(checks, count, cases[i].on_unsure), cases[i].all);
    }
}

/* A minimum of 77 us fails a budget of 10 us, and 38 to 55 ms pass one of 10 s, on any machine. */
static void beyond_noise(void)
{
    const struct gate_estimate fast = { .value = 0.08,
                                        .low = 0.079,
                                        .high = 0.081,
                                        .low_known = true,
                                        .high_known = true,
                                        .least = 0.077,
                                        .most = 12000 };
    struct gate_estimate wide = { .low = 38, .high = 55, .low_known = true, .high_known = true };
    struct gate_estimate unknown = { .least = NAN, .most = NAN };

    wide.least = 30;
    wide.most = 200;
    CHECK(gate_beyond_noise(&fast, false, 0.010, GATE_FAIL));
    CHECK(gate_beyond_noise(&fast, false, 0.038, GATE_FAIL));
    CHECK(!gate_beyond_noise(&fast, false, 0.039, GATE_FAIL)); /* noise may double a time */
    CHECK(gate_beyond_noise(&wide, false, 10000, GATE_PASS));
    CHECK(gate_beyond_noise(&wide, false, 110, GATE_PASS));
    CHECK(!gate_beyond_noise(&wide, false, 109, GATE_PASS));
    wide.most = 56; /* all of them */
    CHECK(gate_beyond_noise(&wide, false, 56, GATE_PASS));
    CHECK(!gate_beyond_noise(&wide, false, 10000, GATE_UNSURE));
    CHECK(gate_beyond_noise(&wide, true, 113, GATE_FAIL));
    CHECK(!gate_beyond_noise(&wide, true, 112, GATE_FAIL));
    CHECK(gate_beyond_noise(&wide, true, 19, GATE_PASS));
    CHECK(gate_beyond_noise(&wide, true, 30, GATE_PASS));
    CHECK(!gate_beyond_noise(&wide, true, 31, GATE_PASS));
    CHECK(!gate_beyond_noise(&unknown, false, 1, GATE_FAIL));
    CHECK(!gate_beyond_noise(&unknown, true, 1, GATE_FAIL));
    CHECK(!gate_beyond_noise(&unknown, false, 1, GATE_PASS));
}

/* The whole plan on noise alone: the true median is the limit exactly, the hardest case there is. A
 * look has 5 more processes. How often does it fail? */
#define TRIALS 120u

static void plan_on_noise(const char *metric, double limit, uint64_t seed, unsigned *out_failed,
                          unsigned *out_passed)
{
    static struct made made[3];
    struct gate_plan plan = { GATE_ALPHA, GATE_RETRIES, GATE_RETRIES };
    uint64_t random = seed;
    struct ifg_error err = { 0 };
    struct gate_budget budget;
    char text[64];

    *out_failed = *out_passed = 0;
    snprintf(text, sizeof text, "%s=%.9fms", metric, limit);
    REQUIRE_INT(gate_budget_parse(text, false, false, &budget, &err), IFG_OK);
    for (unsigned trial = 0; trial < TRIALS; trial++) {
        struct gate_check check = { 0 };

        for (size_t look = 0; !check.settled; look++) {
            const struct bench_row *rows[3] = { &made[0].row, &made[1].row, &made[2].row };
            struct bench_row pooled;

            make_noisy(&made[look], 10, &random);
            REQUIRE_INT(gate_pool_rows(rows, look + 1, false, 1, &pooled, &err), IFG_OK);
            REQUIRE_INT(gate_estimate_result(&budget, &made[0].result, &pooled, 0,
                                             gate_plan_alpha(&plan), trial, &check.estimate, &err),
                        IFG_OK);
            gate_take_look(&check, &plan, gate_judge(&check.estimate, false, limit));
            gate_pool_fini(&pooled);
        }
        *out_failed += check.verdict == GATE_FAIL;
        *out_passed += check.verdict == GATE_PASS;
    }
}

static void false_alarms_p50(void)
{
    unsigned failed, passed;

    plan_on_noise("p50", 10, 11, &failed, &passed);
    tap_diag("the limit is the true p50: %u of %u failed, %u passed", failed, TRIALS, passed);
    CHECK(failed <= TRIALS / 20);
    /* 2 % of room: the interval of 5 processes that differ by 2.4 % is as wide as that. */
    plan_on_noise("p50", 10.2, 12, &failed, &passed);
    tap_diag("2 %% of room: %u of %u failed, %u passed", failed, TRIALS, passed);
    CHECK_UINT(failed, 0);
    /* 10 % too slow is always found, and never passes. */
    plan_on_noise("p50", 10 / 1.1, 13, &failed, &passed);
    tap_diag("10 %% too slow: %u of %u failed, %u passed", failed, TRIALS, passed);
    CHECK(failed >= TRIALS - TRIALS / 20);
    CHECK_UINT(passed, 0);
}

static void false_alarms_p99(void)
{
    unsigned failed, passed;
    /* All noise together has a standard deviation of sqrt(2.4^2 + 0.75^2 + 3^2) = 3.91 %. */
    double p99 = 10 * exp(2.3263 * 0.03914);

    plan_on_noise("p99", p99, 21, &failed, &passed);
    tap_diag("the limit is the true p99: %u of %u failed, %u passed", failed, TRIALS, passed);
    CHECK(failed <= TRIALS / 20);
    plan_on_noise("p99", p99 / 1.1, 22, &failed, &passed);
    tap_diag("10 %% too slow: %u of %u failed, %u passed", failed, TRIALS, passed);
    CHECK(failed >= TRIALS / 2);
    CHECK_UINT(passed, 0);
}

/* Block pairs as compare measures them, ten processes of four that each favour one side a little;
 * the change is exactly what is allowed. */
static void false_alarms_relative(void)
{
    enum { PAIRS = 40, PER_PROCESS = 4, TRIES = 400 };
    struct gate_plan plan = { GATE_ALPHA, GATE_RETRIES, GATE_RETRIES };
    static const double thresholds[] = { 0.02, 0.02 };
    static const double truths[] = { 0.02, 0.05 };

    for (size_t k = 0; k < 2; k++) {
        unsigned failed = 0, passed = 0;
        uint64_t random = 31 + k;

        for (unsigned trial = 0; trial < TRIES; trial++) {
            struct gate_check check = { 0 };
            double a[3][PAIRS], b[3][PAIRS];
            uint32_t process[PAIRS];
            struct compare_row rows[3][2];
            struct compare compares[3];
            const struct compare *all[3] = { &compares[0], &compares[1], &compares[2] };
            struct ifg_error err = { 0 };

            memset(rows, 0, sizeof rows);
            memset(compares, 0, sizeof compares);
            for (size_t look = 0; !check.settled; look++) {
                double favour = 0;

                for (uint32_t i = 0; i < PAIRS; i++) {
                    double common = 0.02 * normal(&random);

                    if (i % PER_PROCESS == 0)
                        favour = 0.005 * normal(&random);
                    process[i] = i / PER_PROCESS;
                    a[look][i] = 10 * exp(common + 0.0075 * normal(&random));
                    b[look][i] =
                        (1 + truths[k]) * 10 * exp(common + favour + 0.0075 * normal(&random));
                }
                rows[look][1] = (struct compare_row){ .available = true,
                                                      .unit_ms = b[look],
                                                      .baseline_ms = a[look],
                                                      .unit_process = process,
                                                      .unit_count = PAIRS };
                compares[look] = (struct compare){ .unit = COMPARE_BLOCK_PAIRS,
                                                   .rows = rows[look],
                                                   .row_count = 2,
                                                   .seed = trial,
                                                   .confidence = 1 - gate_plan_alpha(&plan) };
                REQUIRE_INT(compare_block_pairs(a[look], b[look], process, PAIRS,
                                                compares[look].confidence, trial,
                                                &rows[look][1].change, &err),
                            IFG_OK);
                REQUIRE_INT(gate_pool_changes(all, look + 1, &check.change, &err), IFG_OK);
                CHECK_UINT(check.change.units, (look + 1) * (PAIRS / PER_PROCESS));
                gate_take_look(&check, &plan, gate_verdict_of_change(&check.change, thresholds[k]));
            }
            failed += check.verdict == GATE_FAIL;
            passed += check.verdict == GATE_PASS;
        }
        tap_diag("true change %.0f %%, allowed 2 %%: %u of %u failed, %u passed", 100 * truths[k],
                 failed, TRIES, passed);
        if (k == 0) {
            CHECK(failed <= TRIES / 20);
            CHECK(passed <= TRIES / 20);
        } else {
            CHECK(failed >= TRIES - TRIES / 20);
            CHECK_UINT(passed, 0);
        }
    }
}

static void changes(void)
{
    struct statistics_change change = {
        .known = true, .units = 20, .change = 0.06, .low = 0.05, .high = 0.07, .half_width = 0.01
    };
    struct gate_estimate estimate;

    CHECK_INT(gate_verdict_of_change(&change, 0.02), GATE_FAIL);
    CHECK_INT(gate_verdict_of_change(&change, 0.10), GATE_PASS);
    CHECK_INT(gate_verdict_of_change(&change, 0.06), GATE_UNSURE);
    /* Perhaps faster, perhaps the same, in no case slower: good enough. */
    change.low = -0.2;
    change.high = 0.01;
    CHECK_INT(gate_verdict_of_change(&change, 0.02), GATE_PASS);
    change.known = false;
    CHECK_INT(gate_verdict_of_change(&change, 0.02), GATE_UNSURE);
    change = (struct statistics_change){
        .known = true, .units = 20, .change = 0.03, .low = 0.01, .high = 0.05, .half_width = 0.02
    };
    gate_estimate_change(&change, 0.02, 0.95, &estimate);
    CHECK_UINT(estimate.needs, 80); /* half as wide needs four times as many */
}

/* ---- traces ---- */

/* A trace, and what the last budget gave on it. */
struct judged {
    struct ml_trace trace;
    struct perturbed perturbed;
    struct gate_estimate estimate;
    struct gate_left_out left;
    struct ifg_error err;
};

static void judged_load(struct judged *judged)
{
    judged->err = (struct ifg_error){ 0 };
    REQUIRE(ml_trace_load(&judged->trace));
    REQUIRE_INT(perturbed_find(judged->trace.timeline, &judged->perturbed, &judged->err), IFG_OK);
}

static void judged_fini(struct judged *judged)
{
    perturbed_fini(&judged->perturbed);
    ml_trace_end(&judged->trace);
}

static enum ifg_status estimate_of(struct judged *judged, const char *text)
{
    struct gate_budget budget;

    tap_note("%s: %s", text, judged->err.message);
    REQUIRE_INT(gate_budget_parse(text, false, true, &budget, &judged->err), IFG_OK);
    return gate_estimate_trace(&budget, judged->trace.timeline, &judged->perturbed, 0.05, 1,
                               &judged->estimate, &judged->left, &judged->err);
}

/* 300 inferences of 1 to 300 ms with a zone and an operator each, and one of another model. */
static void make_trace(struct ml_trace *trace)
{
    uint32_t ocr, vad, zone, op;

    ml_trace_begin(trace, NULL);
    ocr = ml_trace_model(trace, &(struct ml_trace_model){ .name = "ocr" });
    vad = ml_trace_model(trace, &(struct ml_trace_model){ .name = "vad" });
    zone = ml_trace_location(trace, TRACE_LOCATION_ZONE, 0, "decode", "main");
    op = ml_trace_location(trace, TRACE_LOCATION_OP, ocr, "conv_1", "Conv");
    ml_trace_event(trace, 0, ocr, TRACE_CATEGORY_LOAD, 70 * ML_MS);
    for (unsigned i = 1; i <= 300; i++) {
        ml_trace_event(trace, 0, ocr, TRACE_CATEGORY_INFERENCE, i * ML_MS);
        ml_trace_slice(trace, 0, zone, 2 * ML_MS);
        ml_trace_slice(trace, 1, op, ML_MS);
    }
    ml_trace_event(trace, 1, vad, TRACE_CATEGORY_INFERENCE, 1000 * ML_MS);
}

static void on_trace(void)
{
    static const struct {
        const char *text;
        double value;
        bool exact;
    } cases[] = {
        { "ocr/inference.count=1", 300, true },
        { "inference.count=1", 301, true },
        { "ocr/inference.total=1s", 45150, true },
        { "ocr/inference.max=1s", 300, true },
        { "ocr/inference.min=1s", 1, true },
        { "ocr/inference.first=1s", 1, true },
        { "inference.max=1s", 1000, true },
        { "ocr/inference.mean=1s", 150.5, false },
        { "ocr/inference.p50=1s", 150.5, false },
        { "ocr/inference.p99=1s", 297.01, false },
        { "ocr/load.max=1s", 70, true },
        { "zone:decode.p99=1s", 2, false },
        { "op:conv_1.total=1s", 300, true },
        { "zone:nothing.count=1", 0, true },
        { "setup.total=1s", 0, true },
    };
    struct judged judged;

    make_trace(&judged.trace);
    judged_load(&judged);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        REQUIRE_INT(estimate_of(&judged, cases[i].text), IFG_OK);
        CHECK(fabs(judged.estimate.value - cases[i].value) < 1e-6);
        CHECK_INT(judged.estimate.rule == GATE_EXACT, cases[i].exact);
        CHECK_UINT(judged.left.unfinished, 0);
    }
    /* 300 samples: the bound of p99 is the largest one, and there is none of p999. */
    REQUIRE_INT(estimate_of(&judged, "ocr/inference.p99=300ms"), IFG_OK);
    CHECK_INT(gate_judge(&judged.estimate, false, 300), GATE_PASS);
    CHECK_INT(gate_judge(&judged.estimate, false, 299.9), GATE_UNSURE);
    REQUIRE_INT(estimate_of(&judged, "ocr/inference.p999=1s"), IFG_OK);
    CHECK_INT(gate_judge(&judged.estimate, false, 1000), GATE_UNSURE);
    CHECK_UINT(judged.estimate.needs, 2995);

    CHECK_INT(estimate_of(&judged, "zone:nothing.max=1s"), IFG_NOT_FOUND);
    CHECK_CONTAINS(judged.err.message, "there is: zone:decode");
    CHECK_INT(estimate_of(&judged, "other/inference.p50=1s"), IFG_NOT_FOUND);
    CHECK_CONTAINS(judged.err.message, "ocr/inference");
    judged_fini(&judged);
}

/* 300 inferences of 1 ms, 300 of 6 ms whose operators were recorded: the 6 ms are of recording. */
static void perturbed_ones_do_not_count(void)
{
    struct judged judged;
    uint32_t ocr, vad;

    ml_trace_begin(&judged.trace, NULL);
    ocr = ml_trace_model(&judged.trace, &(struct ml_trace_model){ .name = "ocr" });
    vad = ml_trace_model(&judged.trace, &(struct ml_trace_model){ .name = "vad" });
    for (unsigned i = 0; i < 300; i++) {
        ml_trace_event(&judged.trace, 0, ocr, TRACE_CATEGORY_INFERENCE, 1 * ML_MS);
        ml_trace_event_with(&judged.trace, 0, ocr, TRACE_CATEGORY_INFERENCE, 6 * ML_MS,
                            &(struct ml_trace_details){ .ops = true });
        ml_trace_event_with(&judged.trace, 0, vad, TRACE_CATEGORY_INFERENCE, 6 * ML_MS,
                            &(struct ml_trace_details){ .ops = true });
    }
    judged_load(&judged);
    REQUIRE_INT(estimate_of(&judged, "ocr/inference.p99=2ms"), IFG_OK);
    CHECK_INT(gate_judge(&judged.estimate, false, 2), GATE_PASS);
    CHECK_UINT(judged.left.perturbed, 300);
    CHECK_UINT(judged.estimate.count, 300);
    REQUIRE_INT(estimate_of(&judged, "ocr/inference.count=600"), IFG_OK);
    CHECK(judged.estimate.value == 600); /* they happened */
    CHECK_INT(estimate_of(&judged, "ocr/inference.total=1s"), IFG_NOT_FOUND);
    CHECK_CONTAINS(judged.err.message, "of 300 of the 600 that make up ocr/inference.total");
    CHECK_INT(estimate_of(&judged, "vad/inference.max=1s"), IFG_NOT_FOUND);
    CHECK_CONTAINS(judged.err.message, "nothing is left to judge; record without --ops");
    judged_fini(&judged);
}

TAP_MAIN(TAP_CASE(units), TAP_CASE(budgets), TAP_CASE(trace_metrics), TAP_CASE(ends_decide),
         TAP_CASE(the_rest), TAP_CASE(ranks), TAP_CASE(one_process), TAP_CASE(pooling),
         TAP_CASE(plan_rules), TAP_CASE(together), TAP_CASE(beyond_noise),
         TAP_CASE_TIMEOUT(false_alarms_p50, 120), TAP_CASE_TIMEOUT(false_alarms_p99, 120),
         TAP_CASE_TIMEOUT(false_alarms_relative, 120), TAP_CASE(changes), TAP_CASE(on_trace),
         TAP_CASE(perturbed_ones_do_not_count))
