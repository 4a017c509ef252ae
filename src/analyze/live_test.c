// SPDX-License-Identifier: Apache-2.0
/* Bars, medians, High, Low and Count of events whose numbers were computed by hand. */
#include "analyze/live.h"

#include <math.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "tap.h"

#define MS   UINT64_C(1000000)
#define S    (1000 * MS)
#define BASE (5000 * S + 123456789)

static struct live *must_create(void)
{
    struct live *live = live_create();

    REQUIRE(live != NULL);
    live->begin_ns = BASE - S;
    live_begin_step(live);
    return live;
}

/* An event that ends so many milliseconds after the first one began. */
static void add(struct live *live, enum live_category category, uint64_t end_ms, double duration_ms)
{
    uint64_t duration = (uint64_t)(duration_ms * 1e6);
    struct live_event event = {
        .start_ns = BASE + end_ms * MS - duration,
        .end_ns = BASE + end_ms * MS,
        .category = category,
        .model = LIVE_NONE,
        .zone = live->events,
    };

    CHECK(live_add(live, &event));
}

/* A load of 302 ms with a specialization of 236 ms in it, then inferences:
 *   second 0: 61.8, 20.1           second 1: 21.4, 21.0, 30.9       second 3: 24.0 */
static struct live *story(void)
{
    struct live *live = must_create();

    live_set_first(live, BASE);
    add(live, LIVE_SPECIALIZATION, 290, 236);
    add(live, LIVE_LOAD, 302, 302);
    add(live, LIVE_SETUP, 310, 5);
    add(live, LIVE_INFERENCE, 400, 61.8);
    add(live, LIVE_INFERENCE, 999, 20.1);
    add(live, LIVE_INFERENCE, 1000, 21.4);
    add(live, LIVE_INFERENCE, 1100, 21.0);
    add(live, LIVE_INFERENCE, 1999, 30.9);
    add(live, LIVE_INFERENCE, 3500, 24.0);
    return live;
}

static void bars_are_the_maximum_of_a_second(void)
{
    struct live *live = story();
    const struct live_bucket *bucket = live_bucket(live, LIVE_INFERENCE, 0);

    REQUIRE(bucket != NULL);
    CHECK_UINT(bucket->count, 2);
    CHECK_UINT(bucket->max_ns, 61800000);
    CHECK_UINT(bucket->min_ns, 20100000);
    CHECK_UINT(bucket->sum_ns, 81900000); /* the strip of all events: time spent in the second */
    bucket = live_bucket(live, LIVE_INFERENCE, 1);
    REQUIRE(bucket != NULL);
    CHECK_UINT(bucket->count, 3);
    CHECK_UINT(bucket->max_ns, 30900000);
    CHECK_UINT(bucket->sum_ns, 73300000);
    CHECK(live_bucket(live, LIVE_INFERENCE, 2) == NULL);
    bucket = live_bucket(live, LIVE_LOAD, 0);
    REQUIRE(bucket != NULL);
    CHECK_UINT(bucket->max_ns, 302000000);
    CHECK_UINT(live_second_of(live, BASE + 1999999999), 1);
    CHECK_INT(live_second_of(live, BASE - 1), -1);
    live_destroy(live);
}

static void medians_and_the_numbers_of_a_graph(void)
{
    struct live *live = story();
    struct live_window window = live_window(live, LIVE_INFERENCE);

    /* 20.1 21.0 21.4 24.0 30.9 61.8 */
    CHECK(live_median(live, LIVE_INFERENCE) == 22700000);
    CHECK(live_median(live, LIVE_LOAD) == 302000000);
    CHECK(live_median(live, LIVE_SPECIALIZATION) == 236000000);
    CHECK(live_median(live, LIVE_SETUP) == 5000000);
    CHECK(isnan(live_median(live, LIVE_PREPARE_EP)));
    /* without setup: 20.1 21.0 21.4 24.0 30.9 61.8 236 302 */
    CHECK(live_median(live, LIVE_ALL) == 27450000);
    CHECK_UINT(window.count, 6);
    CHECK_UINT(window.high_ns, 61800000);
    CHECK_UINT(window.low_ns, 20100000);
    /* 90 seconds later only what ended since counts: 24.0, then nothing. */
    live_set_now(live, BASE + 92 * S);
    window = live_window(live, LIVE_INFERENCE);
    CHECK_UINT(window.count, 1);
    CHECK_UINT(window.high_ns, 24000000);
    CHECK(live_window_median(live, LIVE_INFERENCE) == 24000000);
    CHECK(isnan(live_window_median(live, LIVE_LOAD)));
    CHECK(live_median(live, LIVE_INFERENCE) == 22700000);
    live_set_now(live, BASE + 93 * S);
    CHECK_UINT(live_window(live, LIVE_INFERENCE).count, 0);
    CHECK(isnan(live_window_median(live, LIVE_INFERENCE)));
    live_destroy(live);
}

/* The same values in any order and any number: never more than 1 % off. */
static void medians_of_very_many(void)
{
    static const uint64_t scales[] = { 1, 40, 900, 21400, 5000000, 300000000 };

    for (size_t s = 0; s < sizeof scales / sizeof scales[0]; s++) {
        struct live *live = must_create();
        uint64_t random = 12345;
        double exact;

        /* 1 to 20001 times the scale, each once: the step is prime to their number. */
        for (uint64_t i = 0; i < 20001; i++) {
            uint64_t value = (i * 7919 + random) % 20001 + 1;
            struct live_event event = { .start_ns = BASE + i * MS / 4,
                                        .end_ns = BASE + i * MS / 4 + value * scales[s],
                                        .category = LIVE_INFERENCE,
                                        .model = LIVE_NONE };

            event.start_ns = event.end_ns - value * scales[s];
            live_add(live, &event);
        }
        exact = 10001.0 * (double)scales[s];
        CHECK(fabs(live_median(live, LIVE_INFERENCE) - exact) <= exact * 0.008 + 0.5);
        live_destroy(live);
    }
}

static void window_median_of_very_many(void)
{
    struct live *live = must_create();

    /* Slow for 100 seconds, then fast for 100: the window knows only the fast ones. */
    for (uint64_t ms = 0; ms < 200000; ms++)
        add(live, LIVE_INFERENCE, 1000 + ms, ms < 100000 ? 40 : 10 + (double)(ms % 3));
    CHECK(fabs(live_window_median(live, LIVE_INFERENCE) - 11e6) < 11e6 * 0.008);
    CHECK_UINT(live_window(live, LIVE_INFERENCE).high_ns, 12000000);
    CHECK(live_median(live, LIVE_INFERENCE) > 11.9e6);
    live_destroy(live);
}

static void ten_minutes_are_kept(void)
{
    struct live *live = must_create();

    for (uint64_t second = 0; second < 700; second++)
        add(live, LIVE_INFERENCE, second * 1000 + 500, 1);
    CHECK(live_bucket(live, LIVE_INFERENCE, 99) == NULL);
    CHECK(live_bucket(live, LIVE_INFERENCE, 100) != NULL);
    CHECK(live_bucket(live, LIVE_INFERENCE, 699) != NULL);
    CHECK_UINT(live->events, 700);
    /* What comes more than ten minutes late is counted, and changes no bar. */
    add(live, LIVE_INFERENCE, 50500, 3);
    CHECK_UINT(live->events, 701);
    CHECK(live_bucket(live, LIVE_INFERENCE, 650)->max_ns == MS);
    live_destroy(live);
}

/* 100,000 a second: every event is in its bar; of rows there is a share, with the slowest. */
static void rows_are_thinned_bars_are_not(void)
{
    struct live *live = must_create();
    uint64_t before = 0;
    bool found = false;

    for (uint64_t i = 0; i < 1000000; i++) {
        bool slow = i % 100000 == 77777;
        struct live_event event = { .start_ns = BASE + i * 10000,
                                    .end_ns = BASE + i * 10000 + (slow ? 9000 : 5000),
                                    .category = LIVE_INFERENCE,
                                    .model = 0 };

        live_add(live, &event);
    }
    for (int64_t second = 0; second < 10; second++) {
        const struct live_bucket *bucket = live_bucket(live, LIVE_INFERENCE, second);

        REQUIRE(bucket != NULL);
        CHECK_UINT(bucket->count, 100000);
        CHECK_UINT(bucket->max_ns, 9000);
    }
    CHECK(live->row_count >= 5000);
    CHECK(live->row_count <= 15000);
    for (uint64_t i = live->row_count - LIVE_ROWS; i < live->row_count; i++) {
        const struct live_row *row = &live->rows[i % LIVE_ROWS];

        CHECK(row->number > before);
        before = row->number;
        found |= row->number == 977778;
    }
    CHECK(found);
    live_destroy(live);
}

static void open_events(void)
{
    struct live *live = must_create();
    struct live_open open[2] = {
        { .thread = 3, .category = LIVE_SPECIALIZATION, .start_ns = BASE + 10 * MS },
        { .thread = 3, .category = LIVE_LOAD, .start_ns = BASE },
    };
    struct live_open other = { .thread = 4, .category = LIVE_INFERENCE, .start_ns = BASE + 5 * MS };
    struct live_event event = { .start_ns = BASE + 10 * MS,
                                .end_ns = BASE + 700 * MS,
                                .category = LIVE_SPECIALIZATION,
                                .thread = 3 };

    live_replace_open(live, 3, open, 2);
    live_replace_open(live, 4, &other, 1);
    REQUIRE_UINT(live->open_count, 3);
    CHECK_UINT(live->open[0].category, LIVE_LOAD); /* the oldest first */
    CHECK_UINT(live->open[1].category, LIVE_INFERENCE);
    CHECK_UINT(live->first_ns, BASE + 10 * MS); /* the first that was told of stays it */
    live_add(live, &event);
    CHECK_UINT(live->open_count, 2);
    live_replace_open(live, 3, NULL, 0);
    CHECK_UINT(live->open_count, 1);
    for (uint32_t thread = 0; thread < 200; thread++) {
        other.thread = thread;
        live_replace_open(live, thread, &other, 1);
    }
    CHECK_UINT(live->open_count, LIVE_OPEN_MOST);
    live_destroy(live);
}

static void resources_of_ten_minutes(void)
{
    struct live *live = must_create();
    struct live_series *cpu = live_add_series(live, 0, 7, 0, "cpu total %");
    struct live_series *core = live_add_series(live, 0, 8, 0, "cpu 11 %");
    struct live_series *memory = live_add_series(live, 1, 9, 4711, "rss bytes");
    const struct live_value *value;

    REQUIRE(cpu != NULL && core != NULL && memory != NULL);
    CHECK_STR(core->label, "CPU 11");
    CHECK_STR(live_kind_name(memory->kind), "process-memory");
    CHECK(live_add_series(live, 0, 10, 0, "load") == NULL);
    CHECK(live_add_series(live, 1, 10, 4711, "cpu total %") == NULL); /* of a process? no */
    live_value(live, cpu, live->begin_ns + 100 * MS, 30);
    live_value(live, cpu, live->begin_ns + 300 * MS, 90);
    live_value(live, cpu, live->begin_ns + 900 * MS, 50);
    live_value(live, cpu, live->begin_ns + 950 * MS, NAN);
    value = live_latest(cpu);
    REQUIRE(value != NULL);
    CHECK(value->last == 50 && value->min == 30 && value->max == 90);
    for (uint64_t second = 0; second < 660; second++)
        live_value(live, memory, live->begin_ns + second * S, (double)second);
    CHECK(memory->values[660 % LIVE_SECONDS].second == 60); /* the oldest is ten minutes old */
    CHECK(live_find_series(live, 1, 9) == memory);
    CHECK(live_latest(memory)->last == 659);
    live_destroy(live);
}

static void names_that_change(void)
{
    struct live *live = must_create();
    uint64_t version = live->version;

    CHECK_UINT(live_model(live, 0, 1, "model 1", "", ""), 0);
    CHECK_UINT(live_model(live, 1, 1, "other", "", ""), 1);
    live_begin_step(live);
    CHECK_UINT(live_model(live, 0, 1, "det", "/m/det.onnx", "ONNX Runtime"), 0);
    CHECK(live->models[0].changed > version);
    CHECK_UINT(live->models[1].changed, version);
    CHECK_STR(live->models[0].name, "det");
    for (uint32_t i = 0; i < LIVE_MODELS_MOST + 10; i++)
        live_model(live, 2, i + 1, "m", "", "");
    CHECK_UINT(live->model_count, LIVE_MODELS_MOST);
    live_destroy(live);
}

static void memory_runs_out(void)
{
    for (long successes = 0; successes < 12; successes++) {
        struct live *live;

        ifg_alloc_fail_after(successes);
        live = live_create();
        if (live) {
            struct live_event event = { .start_ns = BASE, .end_ns = BASE + MS };

            live_add(live, &event);
            live_add(live, &event);
            CHECK_UINT(live->events, 2);
            CHECK(isnan(live_median(live, LIVE_PREPARE_EP)) ||
                  live_median(live, LIVE_PREPARE_EP) == 1e6);
            live_add_series(live, 0, 1, 0, "cpu total %");
            live_model(live, 0, 1, "m", "", "");
        }
        ifg_alloc_fail_after(-1);
        live_destroy(live);
    }
}

TAP_MAIN(TAP_CASE(bars_are_the_maximum_of_a_second), TAP_CASE(medians_and_the_numbers_of_a_graph),
         TAP_CASE(medians_of_very_many), TAP_CASE(window_median_of_very_many),
         TAP_CASE(ten_minutes_are_kept), TAP_CASE(rows_are_thinned_bars_are_not),
         TAP_CASE(open_events), TAP_CASE(resources_of_ten_minutes), TAP_CASE(names_that_change),
         TAP_CASE(memory_runs_out))
