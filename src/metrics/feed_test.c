// SPDX-License-Identifier: Apache-2.0
/* Events of a trace, counted: each once, with the labels of its model. */
#include "metrics/feed.h"

#include <string.h>

#include "base/alloc.h"
#include "metrics/problems.h"
#include "ml_trace.h"
#include "tap.h"
#include "trace/output.h"

static uint64_t count_of(const struct tally_series *series)
{
    uint64_t count = 0;

    for (size_t i = 0; i <= TALLY_BOUNDS; i++)
        count += series->buckets[i];
    return count;
}

static const struct tally_series *find(const struct tally *tally, const char *model,
                                       enum trace_category category)
{
    for (uint32_t i = 0; i < tally->count; i++)
        if (strcmp(tally->series[i].labels.model, model) == 0 &&
            tally->series[i].labels.category == category)
            return &tally->series[i];
    return NULL;
}

static void take_all(const char *path, struct tally *tally)
{
    struct metrics_feed *feed = NULL;
    struct trace_input *input = NULL;

    REQUIRE(trace_input_file(path, &input, NULL) == IFG_OK);
    REQUIRE(metrics_feed_open(input, "app", tally, &feed, NULL) == IFG_OK);
    while (metrics_feed_step(feed))
        ;
    CHECK(!metrics_feed_step(feed)); /* nothing is counted twice */
    metrics_feed_close(feed);
}

static void counts(void)
{
    struct tally *tally = ifg_alloc(1, sizeof *tally);
    const struct tally_series *series;
    struct ml_trace trace;
    uint32_t ocr;
    uint32_t vad;

    ml_trace_begin(&trace, NULL);
    ocr = ml_trace_model(&trace, &(struct ml_trace_model){ .name = "ocr" });
    vad = ml_trace_model(
        &trace, &(struct ml_trace_model){ .name = "", .path = "/m/vad.onnx", .actual = "CUDA" });
    ml_trace_event(&trace, 0, ocr, TRACE_CATEGORY_LOAD, 100 * ML_MS);
    for (int i = 0; i < 5000; i++)
        ml_trace_event(&trace, 0, ocr, TRACE_CATEGORY_INFERENCE, 15 * ML_MS);
    ml_trace_event_with(&trace, 1, vad, TRACE_CATEGORY_INFERENCE, 3 * ML_US,
                        &(struct ml_trace_details){ .key = "status", .text = "error: no" });
    ml_trace_async(&trace, 1, vad, 7, 5 * ML_MS);
    REQUIRE(ml_trace_load(&trace));
    take_all(trace.path, tally);
    CHECK_UINT(tally->count, 3);
    series = find(tally, "ocr", TRACE_CATEGORY_INFERENCE);
    REQUIRE(series);
    CHECK_UINT(count_of(series), 5000);
    CHECK_UINT(series->buckets[14], 5000); /* 8.192 to 16.384 ms */
    CHECK_UINT(series->sum_ns, UINT64_C(5000) * 15 * ML_MS);
    CHECK_STR(series->labels.program, "app");
    CHECK_STR(series->labels.device, "CPUExecutionProvider");
    series = find(tally, "vad.onnx", TRACE_CATEGORY_INFERENCE); /* the file's name, no path */
    REQUIRE(series);
    CHECK_STR(series->labels.device, "CUDA");
    CHECK_UINT(series->buckets[2], 1);
    CHECK_UINT(series->buckets[13], 1); /* the asynchronous one */
    CHECK_UINT(series->failures, 1);
    CHECK(find(tally, "ocr", TRACE_CATEGORY_LOAD));
    ml_trace_end(&trace);
    ifg_free(tally);
}

static void hands_out(void)
{
    struct tally *tally = ifg_alloc(1, sizeof *tally);
    struct span_ring *ring = ifg_alloc(1, sizeof *ring);
    struct metrics_feed *feed = NULL;
    struct trace_input *input = NULL;
    struct ml_trace trace;
    size_t failed = 0;
    uint32_t model;

    ml_trace_begin(&trace, NULL);
    model = ml_trace_model(&trace, &(struct ml_trace_model){ .name = "ocr" });
    ml_trace_event(&trace, 0, model, TRACE_CATEGORY_LOAD, 100 * ML_MS);
    ml_trace_event_with(&trace, 1, model, TRACE_CATEGORY_INFERENCE, 3 * ML_US,
                        &(struct ml_trace_details){ .key = "status", .text = "error: no" });
    for (size_t i = 0; i < 1000; i++)
        ml_trace_event(&trace, 0, model, TRACE_CATEGORY_INFERENCE, 15 * ML_MS);
    REQUIRE(ml_trace_load(&trace));
    REQUIRE(trace_input_file(trace.path, &input, NULL) == IFG_OK);
    REQUIRE(metrics_feed_open(input, "app", tally, &feed, NULL) == IFG_OK);
    REQUIRE(metrics_feed_hand_out(feed, ring));
    while (metrics_feed_step(feed))
        ;
    metrics_feed_flush(feed);
    CHECK(ring->head >= SPANS_PER_SECOND); /* of this second, and perhaps of the next */
    CHECK_UINT(ring->head + ring->not_sent, 1002);
    for (size_t i = 0; i < ring->head; i++) {
        const struct span *span = &ring->spans[i];

        REQUIRE(span->series < tally->count);
        failed += span->has_failed;
        CHECK_UINT(span->end_ns - span->start_ns,
                   span->has_failed ? 3 * ML_US
                   : tally->series[span->series].labels.category == TRACE_CATEGORY_LOAD
                       ? 100 * ML_MS
                       : 15 * ML_MS);
    }
    CHECK(failed <= 1);
    metrics_feed_close(feed);
    ml_trace_end(&trace);
    ifg_free(tally);
    ifg_free(ring);
}

static void problems(void)
{
    struct problems *found = ifg_alloc(1, sizeof *found);
    struct problems *sum = ifg_alloc(1, sizeof *sum);
    struct ml_trace trace;
    uint32_t model;
    bool has_repeated = false;

    ml_trace_begin(&trace, NULL);
    model = ml_trace_model(&trace, &(struct ml_trace_model){ .name = "ocr" });
    for (int i = 0; i < 5; i++)
        ml_trace_event(&trace, 0, model, TRACE_CATEGORY_LOAD, 400 * ML_MS);
    ml_trace_event(&trace, 0, model, TRACE_CATEGORY_INFERENCE, 10 * ML_MS);
    REQUIRE(ml_trace_load(&trace));
    REQUIRE(problems_find(trace.reader, "app", found, NULL) == IFG_OK);
    CHECK_UINT(found->window_count, 1);
    CHECK_STR(found->windows[0].program, "app");
    CHECK(found->windows[0].seconds > 2);
    for (uint32_t i = 0; i < found->count; i++)
        has_repeated |= strcmp(found->items[i].id, "repeated-load") == 0 &&
                        strcmp(found->items[i].model, "ocr") == 0;
    CHECK(has_repeated);
    problems_merge(sum, found);
    problems_merge(sum, found);
    CHECK_UINT(sum->count, found->count);
    CHECK_UINT(sum->items[0].count, 2 * found->items[0].count);
    CHECK_UINT(sum->window_count, 1);
    ml_trace_end(&trace);
    ifg_free(found);
    ifg_free(sum);
}

TAP_MAIN(TAP_CASE(counts), TAP_CASE(hands_out), TAP_CASE(problems))
