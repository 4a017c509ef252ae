// SPDX-License-Identifier: Apache-2.0
/* When rules come true: over what is written to a memory, as a recording writes it. */
#include "record/dump_watch.h"

#include <string.h>

#include "base/bytes.h"
#include "tap.h"
#include "trace/keys.h"
#include "trace/output.h"
#include "trace/writer.h"

#define MS 1000000ull
#define S  1000000000ull

#define INFERENCE 1u /* locations */
#define OTHER     2u /* an inference of another model */
#define LOAD      3u
#define PLAIN     4u

static struct trace_memory *memory;
static struct trace_writer *writer;
static struct trace_stream *streams[2];
static struct dump_rule rules[4];

static void define_event(uint32_t id, uint32_t model, enum trace_category category)
{
    trace_writer_location(writer, &(struct trace_location){ .id = id,
                                                            .kind = TRACE_LOCATION_ML,
                                                            .category = category,
                                                            .model = model,
                                                            .function = "main" });
}

static struct dump_watch *begin(const char *const *texts)
{
    const struct trace_clock_pair pair = { 0 };
    struct trace_output *output = NULL;
    struct dump_watch *watch = NULL;
    size_t count = 0;

    for (; texts[count]; count++)
        REQUIRE_INT(dump_rule_parse(texts[count], &rules[count], NULL), IFG_OK);
    REQUIRE_INT(trace_memory_create("memory", 1u << 24, &memory, NULL), IFG_OK);
    REQUIRE_INT(trace_output_memory(memory, &output, NULL), IFG_OK);
    REQUIRE_INT(trace_writer_create_on(output, &writer, NULL), IFG_OK);
    REQUIRE_INT(dump_watch_create(memory, rules, count, &watch, NULL), IFG_OK);
    trace_writer_clock(writer, 0, TRACE_CLOCK_MONOTONIC, S, "ns");
    trace_writer_clock_pairs(writer, 0, &pair, 1);
    trace_writer_process(writer, &(struct trace_process){ .pid = 1, .program = "demo" });
    trace_writer_model(writer, &(struct trace_model){ .id = 1, .name = "ocr" });
    trace_writer_model(writer, &(struct trace_model){ .id = 2, .name = "detector" });
    define_event(INFERENCE, 1, TRACE_CATEGORY_INFERENCE);
    define_event(OTHER, 2, TRACE_CATEGORY_INFERENCE);
    define_event(LOAD, 1, TRACE_CATEGORY_LOAD);
    trace_writer_location(writer, &(struct trace_location){
                                      .id = PLAIN, .kind = TRACE_LOCATION_ZONE, .name = "plain" });
    for (uint32_t i = 0; i < 2; i++) {
        trace_writer_thread(writer, i, 0, i + 1, "worker");
        streams[i] = trace_stream_create(writer, i);
        REQUIRE(streams[i] != NULL);
    }
    return watch;
}

static void end(struct dump_watch *watch)
{
    dump_watch_destroy(watch);
    REQUIRE_INT(trace_writer_close(writer, NULL), IFG_OK);
    trace_memory_destroy(memory);
}

static void event(uint32_t location, uint64_t end_ns, uint64_t latency_ns)
{
    trace_stream_zone(streams[0], end_ns - latency_ns, latency_ns, location);
    trace_stream_flush(streams[0], NULL, 0, 0);
}

static void one_that_is_slow(void)
{
    static const char *const texts[] = { "oc?/inference.latency>100ms", "load.latency>=1s", NULL };
    struct dump_watch *watch = begin(texts);
    struct dump_alarm alarm;

    event(INFERENCE, 10 * S, 100 * MS);
    event(OTHER, 11 * S, 900 * MS);
    event(PLAIN, 12 * S, 2 * S);
    event(LOAD, 13 * S, 900 * MS);
    CHECK(!dump_watch_look(watch, 13 * S, &alarm));
    event(INFERENCE, 14 * S, 100 * MS + 1);
    event(INFERENCE, 15 * S, 500 * MS);
    REQUIRE(dump_watch_look(watch, 16 * S, &alarm));
    CHECK_UINT(alarm.time_ns, 14 * S); /* the first one of them */
    CHECK_STR(alarm.what, "oc?/inference.latency>100ms: ocr took 100.000 ms");
    CHECK(!dump_watch_look(watch, 17 * S, &alarm));
    event(LOAD, 18 * S, S);
    REQUIRE(dump_watch_look(watch, 18 * S, &alarm));
    CHECK_CONTAINS(alarm.what, "load.latency>=1s: ocr took 1000.000 ms");
    end(watch);
}

/* What lasts comes true once, and again when it was over in between. */
static void percentiles_of_the_last_seconds(void)
{
    static const char *const texts[] = { "inference.p90>50ms over 10s", NULL };
    struct dump_watch *watch = begin(texts);
    struct dump_alarm alarm;

    for (uint64_t i = 0; i < 9; i++)
        event(INFERENCE, 20 * S + i, 80 * MS);
    CHECK(!dump_watch_look(watch, 21 * S, &alarm)); /* nine have no p90 */
    event(OTHER, 21 * S, 80 * MS);
    CHECK(!dump_watch_look(watch, 21 * S + 200 * MS, &alarm)); /* others may come late */
    REQUIRE(dump_watch_look(watch, 22 * S, &alarm));
    CHECK_CONTAINS(alarm.what, "it was 80.000 ms");
    CHECK(!dump_watch_look(watch, 23 * S, &alarm));
    for (uint64_t i = 0; i < 100; i++)
        event(INFERENCE, 23 * S + i, MS);
    CHECK(!dump_watch_look(watch, 24 * S, &alarm));
    for (uint64_t i = 0; i < 10; i++) /* the quick ones are too old by now */
        event(INFERENCE, 40 * S + i, 60 * MS);
    CHECK(dump_watch_look(watch, 41 * S, &alarm));
    end(watch);
}

static void too_few_and_too_many(void)
{
    static const char *const texts[] = { "inference.rate<5 over 2s", "load.count>2 over 5s", NULL };
    struct dump_watch *watch = begin(texts);
    struct dump_alarm alarm;

    CHECK(!dump_watch_look(watch, 50 * S, &alarm)); /* nothing has begun yet */
    for (uint64_t i = 0; i < 40; i++)
        event(INFERENCE, 60 * S + i * 100 * MS, MS);
    CHECK(!dump_watch_look(watch, 61 * S, &alarm)); /* it has not had its two seconds */
    CHECK(!dump_watch_look(watch, 64 * S, &alarm));
    REQUIRE(dump_watch_look(watch, 66 * S, &alarm));
    CHECK_CONTAINS(alarm.what, "inference.rate<5 over 2s: it was 1.5 a second");
    for (uint64_t i = 0; i < 3; i++)
        event(LOAD, 70 * S + i, MS);
    REQUIRE(dump_watch_look(watch, 71 * S, &alarm));
    CHECK_CONTAINS(alarm.what, "load.count>2 over 5s: it was 3");
    end(watch);
}

static void ones_that_failed(void)
{
    static const char *const texts[] = { "inference.failures>0", NULL };
    struct dump_watch *watch = begin(texts);
    struct dump_alarm alarm;

    trace_stream_attribute(streams[0], 80 * S, INFERENCE, TRACE_VALUE_STRING, "text", 4, "x", 1);
    event(INFERENCE, 81 * S, S);
    CHECK(!dump_watch_look(watch, 82 * S, &alarm));
    trace_stream_attribute(streams[0], 83 * S, INFERENCE, TRACE_VALUE_STRING, TRACE_KEY_STATUS,
                           strlen(TRACE_KEY_STATUS), "error", 5);
    event(INFERENCE, 84 * S, S);
    CHECK(dump_watch_look(watch, 85 * S, &alarm));
    end(watch);
}

static void half(uint32_t thread, enum trace_event_kind kind, uint64_t time_ns, uint64_t id)
{
    uint8_t payload[IFG_VARINT_MAX];
    uint8_t *payload_end = ifg_varint_write(payload, id);

    trace_stream_event(streams[thread], kind, time_ns, INFERENCE, payload,
                       (size_t)(payload_end - payload));
    trace_stream_flush(streams[thread], NULL, 0, 0);
}

/* From one thread to another; the blocks of either may come first. */
static void asynchronous_ones(void)
{
    static const char *const texts[] = { "inference.latency>1s", NULL };
    struct dump_watch *watch = begin(texts);
    struct dump_alarm alarm;

    half(0, TRACE_EVENT_ASYNC_BEGIN, 90 * S, 7);
    half(1, TRACE_EVENT_ASYNC_END, 90 * S + 500 * MS, 7);
    half(0, TRACE_EVENT_ASYNC_BEGIN, 91 * S, 8);
    CHECK(!dump_watch_look(watch, 92 * S, &alarm));
    half(1, TRACE_EVENT_ASYNC_END, 93 * S, 8);
    REQUIRE(dump_watch_look(watch, 94 * S, &alarm));
    CHECK_UINT(alarm.time_ns, 93 * S);
    half(1, TRACE_EVENT_ASYNC_END, 97 * S, 9);
    half(0, TRACE_EVENT_ASYNC_BEGIN, 95 * S, 9);
    REQUIRE(dump_watch_look(watch, 98 * S, &alarm));
    CHECK_CONTAINS(alarm.what, "ocr took 2000.000 ms");
    end(watch);
}

TAP_MAIN(TAP_CASE(one_that_is_slow), TAP_CASE(percentiles_of_the_last_seconds),
         TAP_CASE(too_few_and_too_many), TAP_CASE(ones_that_failed), TAP_CASE(asynchronous_ones))
