// SPDX-License-Identifier: Apache-2.0
/* Both ends of asynchronous events, in any order of arrival. */
#include "analyze/live_spans.h"

#include "tap.h"

static struct live_span_end at(uint64_t ns, uint64_t id)
{
    return (struct live_span_end){ .ns = ns, .id = id, .process = 1, .location = 7, .thread = 3 };
}

static bool begin(struct live_spans *spans, uint64_t ns, uint64_t id, uint64_t *out_ns)
{
    struct live_span_end end = at(ns, id);
    struct live_span_end other = { 0 };
    bool complete = live_spans_begin(spans, &end, &other);

    *out_ns = other.ns;
    return complete;
}

static bool end(struct live_spans *spans, uint64_t ns, uint64_t id, uint64_t *out_ns)
{
    struct live_span_end last = at(ns, id);
    struct live_span_end other = { 0 };
    bool complete = live_spans_end(spans, &last, &other);

    *out_ns = other.ns;
    return complete;
}

static void begins_first(void)
{
    static struct live_spans spans;
    uint64_t other;

    CHECK(!begin(&spans, 100, 1, &other));
    CHECK(!begin(&spans, 110, 2, &other));
    CHECK(spans.changed);
    CHECK_UINT(spans.begun.count, 2);
    CHECK(end(&spans, 150, 1, &other));
    CHECK_UINT(other, 100);
    CHECK(end(&spans, 160, 2, &other));
    CHECK_UINT(other, 110);
    CHECK_UINT(spans.begun.count, 0);
    CHECK_UINT(spans.ended.count, 0);
}

static void ends_first_and_ids_again(void)
{
    static struct live_spans spans;
    uint64_t other;

    CHECK(!end(&spans, 150, 1, &other));
    CHECK(!end(&spans, 250, 1, &other));
    CHECK(!spans.changed);
    CHECK(begin(&spans, 100, 1, &other));
    CHECK_UINT(other, 150);
    CHECK(begin(&spans, 200, 1, &other));
    CHECK_UINT(other, 250);

    /* Both begins are known before the first end. */
    CHECK(!begin(&spans, 300, 1, &other));
    CHECK(!begin(&spans, 400, 1, &other));
    CHECK(end(&spans, 350, 1, &other));
    CHECK_UINT(other, 300);
    CHECK(end(&spans, 450, 1, &other));
    CHECK_UINT(other, 400);

    /* An end that lies before is another one's. */
    CHECK(!begin(&spans, 600, 1, &other));
    CHECK(!end(&spans, 500, 1, &other));
    CHECK_UINT(spans.begun.count, 1);
}

static void others_have_the_same_id(void)
{
    static struct live_spans spans;
    struct live_span_end other_process = at(150, 1);
    struct live_span_end other_location = at(150, 1);
    struct live_span_end other;
    uint64_t ns;

    other_process.process = 2;
    other_location.location = 8;
    CHECK(!begin(&spans, 100, 1, &ns));
    CHECK(!live_spans_end(&spans, &other_process, &other));
    CHECK(!live_spans_end(&spans, &other_location, &other));
    CHECK_UINT(spans.ended.count, 2);
    spans.changed = false;
    live_spans_forget(&spans, 2);
    CHECK_UINT(spans.ended.count, 1);
    CHECK(!spans.changed);
    live_spans_forget(&spans, 1);
    CHECK_UINT(spans.begun.count, 0);
    CHECK(spans.changed);
}

static void ends_that_never_come(void)
{
    static struct live_spans spans;
    uint64_t other;

    for (uint64_t i = 0; i < 3 * LIVE_SPANS_MOST; i++) {
        CHECK(!begin(&spans, 100 + i, i, &other));
        CHECK(!end(&spans, 100 + i, i + 1000000, &other));
    }
    CHECK_UINT(spans.begun.count, LIVE_SPANS_MOST);
    CHECK_UINT(spans.ended.count, LIVE_SPANS_MOST);
    CHECK(!end(&spans, 10000, 0, &other)); /* the oldest are forgotten */
    CHECK(end(&spans, 10000, 3 * LIVE_SPANS_MOST - 1, &other));
}

TAP_MAIN(TAP_CASE(begins_first), TAP_CASE(ends_first_and_ids_again),
         TAP_CASE(others_have_the_same_id), TAP_CASE(ends_that_never_come))
