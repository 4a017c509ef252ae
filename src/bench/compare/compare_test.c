// SPDX-License-Identifier: Apache-2.0
/* The parts of a comparison that need no process: looks, orders, verdicts, result files, and the
 * number that a command prints. */
#include "bench/compare/compare_internal.h"

#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "bench/result/json_number.h"
#include "tap.h"

static struct compare_options options_with(double threshold)
{
    struct compare_options options;

    compare_options_init(&options);
    options.threshold = threshold;
    return options;
}

static struct compare *begin(enum compare_unit unit, double threshold, size_t rows)
{
    struct compare_options options = options_with(threshold);
    struct compare *compare = NULL;

    REQUIRE(compare_create(unit, &options, rows, &compare, NULL) == IFG_OK);
    return compare;
}

/* ---- looks and orders ---- */

static void looks(void)
{
    uint32_t units[COMPARE_LOOKS];

    compare_plan_looks(20, 80, units);
    CHECK(units[0] == 20 && units[1] == 40 && units[2] == 80);
    compare_plan_looks(8, 8, units);
    CHECK(units[0] == 8 && units[1] == 8 && units[2] == 8);
    compare_plan_looks(10, 5, units);
    CHECK(units[2] == 10);
}

static void orders(void)
{
    struct compare *compare = begin(COMPARE_BLOCK_PAIRS, 0.02, 5);
    size_t order[5];
    size_t seen[5] = { 0 };
    uint64_t random = 1;
    unsigned outside = 0;

    compare->rows[2].available = false;
    compare->rows[4].look = 1;
    for (int i = 0; i < 400; i++) {
        REQUIRE(compare_order(compare, &random, order) == 2);
        CHECK((order[0] == 1 && order[1] == 3) || (order[0] == 3 && order[1] == 1));
        seen[order[0]]++;
        outside += compare_baseline_outside(&random);
    }
    CHECK(seen[1] > 150 && seen[3] > 150);
    CHECK(outside > 150 && outside < 250);
    compare_destroy(compare);
}

/* ---- verdicts ---- */

/* `processes` processes with two pairs each; a process is luckier by `luck`, alternately. */
static void add_pairs(struct compare *compare, size_t row, double ratio, double luck,
                      uint32_t processes)
{
    for (uint32_t i = 0; i < processes; i++)
        for (int pair = 0; pair < 2; pair++) {
            double speed = 1 + 0.1 * i; /* the machine; both sides have it */
            double own = i % 2 ? 1 + luck : 1 / (1 + luck);
            double jitter = pair ? 1.001 : 1 / 1.001;

            REQUIRE(compare_add_pair(compare, row, speed, speed * ratio * own * jitter, i, NULL) ==
                    IFG_OK);
        }
}

static enum statistics_verdict verdict_of(double ratio, double luck, uint32_t processes)
{
    struct compare *compare = begin(COMPARE_BLOCK_PAIRS, 0.02, 2);
    enum statistics_verdict verdict;
    bool open;

    add_pairs(compare, 1, ratio, luck, processes);
    REQUIRE(compare_judge(compare, &open, NULL) == IFG_OK);
    verdict = compare->rows[1].verdict;
    CHECK(open == (verdict == STATISTICS_UNSURE));
    CHECK(compare->rows[1].look == (verdict != STATISTICS_UNSURE));
    CHECK(compare->rows[0].unit_count == compare->rows[1].unit_count);
    compare_destroy(compare);
    return verdict;
}

static void verdicts(void)
{
    CHECK(verdict_of(1.00, 0.001, 10) == STATISTICS_SAME);
    CHECK(verdict_of(1.03, 0.001, 10) == STATISTICS_REGRESSED);
    CHECK(verdict_of(0.97, 0.001, 10) == STATISTICS_IMPROVED);
    CHECK(verdict_of(1.02, 0.001, 10) == STATISTICS_UNSURE);
    CHECK(verdict_of(1.03, 0.02, 10) == STATISTICS_UNSURE);
}

/* Pairs of one process are one value, else many pairs would make a process's luck look certain. */
static void a_process_is_a_unit(void)
{
    struct compare *compare = begin(COMPARE_BLOCK_PAIRS, 0.02, 2);
    struct compare_row *row = &compare->rows[1];
    bool open;

    add_pairs(compare, 1, 1.1, 0.01, 12);
    REQUIRE(compare_judge(compare, &open, NULL) == IFG_OK);
    CHECK(row->by_process);
    CHECK(row->change.units == 12 && row->unit_count == 24);
    CHECK(fabs(row->change.change - 0.1) < 0.012);
    CHECK(row->change.low < 0.09 && row->change.high > 0.11);
    compare_destroy(compare);

    compare = begin(COMPARE_BLOCK_PAIRS, 0.02, 2);
    row = &compare->rows[1];
    add_pairs(compare, 1, 1.1, 0.001, 5); /* too few processes ... */
    REQUIRE(compare_judge(compare, &open, NULL) == IFG_OK);
    CHECK(row->verdict == STATISTICS_UNSURE && !row->change.known);
    compare->few_processes = true; /* ... unless the pairs have to do */
    REQUIRE(compare_judge(compare, &open, NULL) == IFG_OK);
    CHECK(!row->by_process);
    CHECK(row->change.units == 10 && row->change.known);
    CHECK(row->verdict == STATISTICS_REGRESSED);
    compare_destroy(compare);
}

static void units_missing(void)
{
    struct compare *compare = begin(COMPARE_BLOCK_PAIRS, 0.02, 2);
    bool open;

    add_pairs(compare, 1, 1.0, 0.03, 10);
    REQUIRE(compare_judge(compare, &open, NULL) == IFG_OK);
    CHECK(compare->rows[1].verdict == STATISTICS_UNSURE);
    CHECK(compare->rows[1].more > 10); /* pairs, two in each process */
    compare_destroy(compare);
}

struct gathering {
    struct compare *compare;
    unsigned calls;
    size_t last_target;
    double ratio, luck;
};

static enum ifg_status gather(void *user, size_t target, struct ifg_error *err)
{
    struct gathering *gathering = user;
    struct compare *compare = gathering->compare;

    gathering->calls++;
    gathering->last_target = target;
    for (uint32_t i = (uint32_t)compare->rows[1].unit_count; i < target; i++) {
        double own = i % 2 ? 1 + gathering->luck : 1 / (1 + gathering->luck);
        enum ifg_status status = compare_add_pair(compare, 1, 1, gathering->ratio * own, i, err);

        if (status)
            return status;
    }
    return IFG_OK;
}

static void stops_when_certain(void)
{
    struct gathering gathering = { .ratio = 1.1, .luck = 0.001 };
    bool out_of_time = false;

    gathering.compare = begin(COMPARE_PROCESSES, 0.02, 2);
    REQUIRE(compare_in_looks(gathering.compare, 8, 32, gather, &gathering, &out_of_time, NULL) ==
            IFG_OK);
    CHECK(gathering.calls == 1 && gathering.compare->looks_taken == 1);
    CHECK(gathering.compare->rows[1].look == 1);
    CHECK(fabs(gathering.compare->confidence - (1 - 0.05 / 3)) < 1e-12);
    compare_destroy(gathering.compare);

    gathering = (struct gathering){ .ratio = 1.02, .luck = 0.01 };
    gathering.compare = begin(COMPARE_PROCESSES, 0.02, 2);
    REQUIRE(compare_in_looks(gathering.compare, 8, 32, gather, &gathering, &out_of_time, NULL) ==
            IFG_OK);
    CHECK(gathering.calls == 3 && gathering.last_target == 32);
    CHECK(gathering.compare->rows[1].look == 0);
    compare_destroy(gathering.compare);

    gathering = (struct gathering){ .ratio = 1.02, .luck = 0.01 };
    gathering.compare = begin(COMPARE_PROCESSES, 0.02, 2);
    out_of_time = true;
    REQUIRE(compare_in_looks(gathering.compare, 8, 32, gather, &gathering, &out_of_time, NULL) ==
            IFG_OK);
    CHECK(gathering.calls == 1);
    compare_destroy(gathering.compare);
}

/* Every allocation may fail; nothing may leak or be used then. */
static void no_memory(void)
{
    for (long successes = 0; successes < 200; successes++) {
        struct compare_options options = options_with(0.02);
        struct compare *compare = NULL;
        bool open;
        enum ifg_status status;

        ifg_alloc_fail_after(successes);
        status = compare_create(COMPARE_BLOCK_PAIRS, &options, 2, &compare, NULL);
        for (uint32_t i = 0; i < 8 && !status; i++)
            status = compare_add_pair(compare, 1, 1, 1.1, i, NULL);
        if (!status)
            status = compare_judge(compare, &open, NULL);
        ifg_alloc_fail_after(-1);
        compare_destroy(compare);
        if (!status)
            return;
        CHECK(status == IFG_NO_MEMORY);
    }
    CHECK(!"it never succeeds");
}

/* ---- result files ---- */

/* Five processes of four blocks of five, all of one time but a little. */
static struct bench_result *make_result(double ms, double reference_ms)
{
    struct bench_result *result = bench_result_create();
    struct bench_row *row;
    size_t samples = 0;

    REQUIRE(result);
    result->rows = row = ifg_alloc(1, sizeof *row);
    REQUIRE(row);
    result->row_count = 1;
    row->available = true;
    row->steady = true;
    row->name = ifg_strdup("default");
    row->samples_ms = ifg_alloc(100, sizeof *row->samples_ms);
    row->blocks = ifg_alloc(20, sizeof *row->blocks);
    row->processes = ifg_alloc(5, sizeof *row->processes);
    REQUIRE(row->name && row->samples_ms && row->blocks && row->processes);
    row->block_count = 20;
    row->process_count = 5;
    for (uint32_t i = 0; i < 20; i++) {
        row->blocks[i].where = (struct statistics_block){ i / 4, samples, 5 };
        row->blocks[i].reference_ms = reference_ms;
        for (int j = 0; j < 5; j++)
            row->samples_ms[samples++] = ms * (1 + 0.001 * ((i * 7 + (uint32_t)j * 3) % 5));
    }
    row->sample_count = samples;
    REQUIRE(bench_row_finish(row, false, 1, NULL) == IFG_OK);
    return result;
}

static struct compare *compare_two(struct bench_result *a, struct bench_result *b, double threshold)
{
    struct compare_options options = options_with(threshold);
    struct bench_result *results[2] = { a, b };
    const char *const names[2] = { "a.json", "b.json" };
    struct compare *compare = NULL;
    struct ifg_error err = { 0 };

    REQUIRE(compare_results(&options, results, names, 2, &compare, &err) == IFG_OK);
    return compare;
}

static void results(void)
{
    struct bench_result *a = make_result(10, 1);
    struct bench_result *same = make_result(10, 1);
    struct bench_result *slow = make_result(11, 1);
    struct bench_result *drifted = make_result(11, 1.2);
    struct compare *compare = compare_two(a, same, 0.02);

    CHECK(compare->unit == COMPARE_NOT_INTERLEAVED);
    CHECK(compare->rows[1].verdict == STATISTICS_SAME);
    CHECK(compare->rows[1].drift == 0);
    CHECK(compare->rows[0].p50_ms == a->rows[0].summary.p[STATISTICS_P50]);
    compare_destroy(compare);

    compare = compare_two(a, slow, 0.02);
    CHECK(compare->rows[1].verdict == STATISTICS_REGRESSED);
    CHECK(fabs(compare->rows[1].change.change - 0.1) < 1e-3);
    compare_destroy(compare);

    /* The machine itself was slower by more than the change: nothing is certain. */
    compare = compare_two(a, drifted, 0.02);
    CHECK(compare->rows[1].verdict == STATISTICS_UNSURE);
    CHECK(fabs(compare->rows[1].drift - log(1.2)) < 1e-9);
    CHECK(compare->rows[1].change.half_width > 0.18);
    compare_destroy(compare);

    bench_result_destroy(a);
    bench_result_destroy(same);
    bench_result_destroy(slow);
    bench_result_destroy(drifted);
}

static void other_work(void)
{
    struct compare_options options = options_with(0.02);
    struct bench_result *results[2] = { make_result(10, 1), make_result(10, 1) };
    const char *const names[2] = { "a.json", "b.json" };
    struct compare *compare = NULL;
    struct ifg_error err = { 0 };

    results[0]->threads = 1;
    results[1]->threads = 2;
    CHECK(compare_results(&options, results, names, 2, &compare, &err) == IFG_INVALID);
    CHECK(strstr(err.message, "threads"));
    options.force = true;
    REQUIRE(compare_results(&options, results, names, 2, &compare, &err) == IFG_OK);
    CHECK(compare->warning_count >= 1);
    compare_destroy(compare);
    bench_result_destroy(results[0]);
    bench_result_destroy(results[1]);
}

static void nothing_measured(void)
{
    struct compare_options options = options_with(0.02);
    struct bench_result *results[2] = { make_result(10, 1), make_result(10, 1) };
    const char *const names[2] = { "a.json", "b.json" };
    struct compare *compare = NULL;

    results[1]->rows[0].available = false;
    results[1]->rows[0].reason = ifg_strdup("no such provider");
    REQUIRE(compare_results(&options, results, names, 2, &compare, NULL) == IFG_OK);
    CHECK(!compare->rows[1].available);
    CHECK(strcmp(compare->rows[1].reason, "no such provider") == 0);
    compare_destroy(compare);
    results[0]->rows[0].available = false;
    CHECK(compare_results(&options, results, names, 2, &compare, NULL) == IFG_UNSUPPORTED);
    bench_result_destroy(results[0]);
    bench_result_destroy(results[1]);
}

/* ---- the number that a command prints ---- */

static bool finds(const char *text, const char *key, double expected)
{
    double number = NAN;

    return json_last_number(text, strlen(text), key, &number) && number == expected;
}

static bool lacks(const char *text, const char *key)
{
    double number;

    return !json_last_number(text, strlen(text), key, &number);
}

static void printed_numbers(void)
{
    CHECK(finds("{\"a\": 1.5}", "a", 1.5));
    CHECK(finds("talk\n{\"a\": 1}\n{\"a\": 2e3}\n", "a", 2000));
    CHECK(finds("{\n  \"b\": [{\"a\": 7}],\n  \"a\": {\"b\": {\"c\": -3}}\n}\n", "a.b.c", -3));
    CHECK(finds("{\"x.y\": 4}", "x.y", 4));
    CHECK(finds("{\"ab\": 1, \"a\": 2}", "a", 2));
    CHECK(lacks("{\"a\": {\"c\": 1}, \"c\": 2}", "a"));
    CHECK(lacks("{\"b\": {\"a\": 1}}", "a"));
    CHECK(lacks("{\"a\": [1]}", "a"));
    CHECK(lacks("{\"a\": \"1\"}", "a"));
    CHECK(lacks("{\"a\": 1} and more", "a"));
    CHECK(lacks("{\"a\": 1", "a"));
    CHECK(lacks("{\"a\": 1e999}", "a"));
    CHECK(lacks("", "a"));
    CHECK(lacks("[[[[", "a"));
}

static void deep_documents(void)
{
    char text[400];

    memset(text, '[', sizeof text);
    memcpy(text, "{\"a\":", 5);
    text[sizeof text - 1] = '\0';
    CHECK(lacks(text, "a"));
}

TAP_MAIN(TAP_CASE(looks), TAP_CASE(orders), TAP_CASE(verdicts), TAP_CASE(a_process_is_a_unit),
         TAP_CASE(units_missing), TAP_CASE(stops_when_certain), TAP_CASE(no_memory),
         TAP_CASE(results), TAP_CASE(other_work), TAP_CASE(nothing_measured),
         TAP_CASE(printed_numbers), TAP_CASE(deep_documents))
