// SPDX-License-Identifier: Apache-2.0
/* Arrows of slices and ranges: what is shown of many, wakeups, where async spans lead. */
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "ml_trace.h"
#include "server/routes.h"
#include "tap.h"
#include "trace/keys.h"
#include "trace/samples.h"

enum { ZONE = 90001, FLOW = 90002, SPAN = 90003, CALL = 90004, WORK = 90005 }; /* locations */

#define MANY 200000u

struct asked {
    struct server_trace trace;
    struct request request;
    struct server_answer answer;
};

static void begin(struct ml_trace *trace)
{
    ml_trace_begin(trace, NULL);
    trace_writer_location(trace->writer, &(struct trace_location){ .id = ZONE, .name = "work" });
    trace_writer_location(
        trace->writer,
        &(struct trace_location){ .id = FLOW, .kind = TRACE_LOCATION_FLOW, .name = "job" });
    trace_writer_location(
        trace->writer,
        &(struct trace_location){ .id = SPAN, .kind = TRACE_LOCATION_ASYNC, .name = "upload" });
}

static void event(struct ml_trace *trace, unsigned thread, enum trace_event_kind kind, uint64_t ns,
                  uint32_t location, uint64_t id)
{
    uint8_t payload[IFG_VARINT_MAX];

    trace_stream_event(trace->streams[thread], kind, ML_TRACE_START + ns, location, payload,
                       (size_t)(ifg_varint_write(payload, id) - payload));
}

static void zone(struct ml_trace *trace, unsigned thread, uint64_t ns, uint64_t length)
{
    trace_stream_zone(trace->streams[thread], ML_TRACE_START + ns, length, ZONE);
}

static void open_asked(struct asked *asked, struct ml_trace *trace)
{
    REQUIRE(ml_trace_load(trace));
    memset(asked, 0, sizeof *asked);
    asked->trace.timeline = trace->timeline;
    REQUIRE(timeline_profile_get(trace->timeline, &asked->trace.profile, NULL) == IFG_OK);
    REQUIRE(trace_build_tracks(&asked->trace, NULL) == IFG_OK);
}

static void close_asked(struct asked *asked, struct ml_trace *trace)
{
    ifg_bytes_fini(&asked->answer.body);
    trace_destroy_crossings(&asked->trace);
    trace_destroy_tracks(&asked->trace);
    ml_trace_end(trace);
}

static const char *ask(struct asked *asked, const char *question)
{
    struct server_request request = { .trace = &asked->trace,
                                      .timeline = asked->trace.timeline,
                                      .query = &asked->request };
    char target[128];
    const char *why;

    snprintf(target, sizeof target, "/api/t/0/%s", question);
    REQUIRE(request_parse(target, strlen(target), &asked->request, &why) == REQUEST_OK);
    ifg_bytes_fini(&asked->answer.body);
    asked->answer.status = 200;
    ifg_bytes_init(&asked->answer.body, SERVER_ANSWER_MAX);
    route_find(asked->request.name, ROUTE_TRACE)->handler(&request, &asked->answer);
    ifg_bytes_put(&asked->answer.body, "", 1);
    REQUIRE(!asked->answer.body.failed);
    return (const char *)asked->answer.body.data;
}

static size_t count(const char *text, const char *part)
{
    size_t found = 0;

    for (; (text = strstr(text, part)); text += strlen(part))
        found++;
    return found;
}

static void of_a_slice(void)
{
    struct ml_trace trace;
    struct asked asked;

    begin(&trace);
    event(&trace, 0, TRACE_EVENT_FLOW_BEGIN, 10, FLOW, 7);
    zone(&trace, 0, 0, 20); /* slice 0 */
    event(&trace, 1, TRACE_EVENT_FLOW_STEP, 110, FLOW, 7);
    zone(&trace, 1, 100, 20); /* slice 1 */
    event(&trace, 2, TRACE_EVENT_FLOW_END, 210, FLOW, 7);
    zone(&trace, 2, 200, 20); /* slice 2 */
    zone(&trace, 2, 300, 20); /* slice 3 has none */
    open_asked(&asked, &trace);
    CHECK_STR(ask(&asked, "flows?slice=0"),
              "{\"schema\":1,\"arrows\":["
              "{\"kind\":\"flow\",\"id\":7,\"flow\":0,\"name\":\"job\","
              "\"from\":{\"ns\":10,\"slice\":0,\"thread\":\"t0\"},"
              "\"to\":{\"ns\":110,\"slice\":1,\"thread\":\"t1\"}},"
              "{\"kind\":\"flow\",\"id\":7,\"flow\":0,\"name\":\"job\","
              "\"from\":{\"ns\":110,\"slice\":1,\"thread\":\"t1\"},"
              "\"to\":{\"ns\":210,\"slice\":2,\"thread\":\"t2\"}}],"
              "\"left_out\":0,\"kinds\":[\"flow\"]}");
    CHECK_UINT(count(ask(&asked, "flows?slice=1"), "\"kind\":"), 2);
    CHECK_UINT(count(ask(&asked, "flows?slice=2"), "\"kind\":"), 2);
    CHECK_UINT(count(ask(&asked, "flows?slice=3"), "\"kind\":"), 0);
    CHECK_UINT(count(ask(&asked, "flows?t0=0&t1=5"), "\"kind\":"), 0);
    CHECK_UINT(count(ask(&asked, "flows?t0=50&t1=60"), "\"kind\":"), 1);
    CHECK_UINT(count(ask(&asked, "flows?t0=50&t1=160"), "\"kind\":"), 2);
    CHECK_UINT(count(ask(&asked, "flows?t0=211&t1=260"), "\"kind\":"), 0);
    CHECK_UINT(count(ask(&asked, "flows"), "\"kind\":"), 2);
    ask(&asked, "flows?slice=4");
    CHECK_UINT(asked.answer.status, 400);
    close_asked(&asked, &trace);
}

/* One flow through many slices; and one slice in which many flows begin that go nowhere. */
static void more_than_can_be_shown(void)
{
    struct ml_trace trace;
    struct asked asked;
    const char *answer;
    char question[64];

    begin(&trace);
    for (uint32_t i = 0; i < MANY; i++) {
        event(&trace, i % 2, i ? TRACE_EVENT_FLOW_STEP : TRACE_EVENT_FLOW_BEGIN, 10 * i + 1, FLOW,
              1);
        zone(&trace, i % 2, 10 * i, 5);
    }
    for (uint32_t i = 0; i < MANY; i++)
        event(&trace, 2, TRACE_EVENT_FLOW_BEGIN, 10 + i, FLOW, 2 + i % 7);
    for (uint32_t i = 0; i < 300; i++) {
        event(&trace, 2, TRACE_EVENT_FLOW_BEGIN, MANY + 10 + i, FLOW, 1000 + i);
        event(&trace, 3, TRACE_EVENT_FLOW_END, MANY + 20 + i, FLOW, 1000 + i);
    }
    zone(&trace, 2, 0, 100 * MANY); /* the last slice: threads come one after the other */
    open_asked(&asked, &trace);
    answer = ask(&asked, "flows?slice=100");
    CHECK_UINT(count(answer, "\"kind\":"), 200);
    CHECK_UINT(count(answer, "\"slice\":100,"), 2);
    snprintf(question, sizeof question, "\"left_out\":%u,", MANY - 1 - 200);
    CHECK_UINT(count(answer, question), 1);
    snprintf(question, sizeof question, "flows?slice=%u", MANY);
    answer = ask(&asked, question);
    CHECK_UINT(count(answer, "\"kind\":"), 200);
    CHECK_UINT(count(answer, "\"left_out\":100,"), 1);
    CHECK_UINT(count(answer, "\"slice\":null,\"thread\":null"), 200); /* a thread without a track */
    answer = ask(&asked, "flows");
    CHECK(count(answer, "\"kind\":") <= 500);
    CHECK(count(answer, "\"kind\":") > 450);
    close_asked(&asked, &trace);
}

static void async_spans(void)
{
    struct ml_trace trace;
    struct asked asked;
    const char *answer;

    begin(&trace);
    event(&trace, 0, TRACE_EVENT_ASYNC_BEGIN, 10, SPAN, 5);
    zone(&trace, 0, 0, 20);
    event(&trace, 1, TRACE_EVENT_ASYNC_END, 110, SPAN, 5);
    zone(&trace, 1, 100, 20);
    event(&trace, 0, TRACE_EVENT_ASYNC_BEGIN, 30, SPAN, 6); /* ends where it began */
    event(&trace, 0, TRACE_EVENT_ASYNC_END, 40, SPAN, 6);
    event(&trace, 0, TRACE_EVENT_ASYNC_BEGIN, 50, SPAN, 7); /* never ends */
    open_asked(&asked, &trace);
    answer = ask(&asked, "flows?slice=1");
    CHECK_UINT(count(answer, "{\"kind\":\"async\",\"id\":5,\"flow\":null,\"name\":\"upload\","
                             "\"from\":{\"ns\":10,\"slice\":0,\"thread\":\"t0\"},"
                             "\"to\":{\"ns\":110,\"slice\":1,\"thread\":\"t1\"}}"),
               1);
    CHECK_UINT(count(answer, "\"kinds\":[\"async\"]"), 1);
    CHECK_UINT(count(ask(&asked, "flows"), "\"kind\":"), 1);
    CHECK_UINT(count(ask(&asked, "flows?slice=2"), "\"kind\":"), 0); /* a span itself */
    close_asked(&asked, &trace);
}

static void change(struct trace_switch *out, uint64_t us, uint32_t tid, uint8_t kind,
                   uint32_t other)
{
    *out = (struct trace_switch){ ML_TRACE_START + us * ML_US, 4711, tid, 0, kind, 4711, other };
}

/* Thread 5000 blocks 30 times in its slice and is woken by 5001; once before the slice, by 5002. */
static void wake_ups(void)
{
    struct trace_switch changes[128];
    struct ml_trace trace;
    struct asked asked;
    const char *answer;
    size_t used = 0;

    begin(&trace);
    zone(&trace, 0, 1000 * ML_US, 40000 * ML_US); /* slice 0 */
    zone(&trace, 1, 0, 50000 * ML_US);            /* slice 1 */
    change(&changes[used++], 0, 5000, TRACE_SWITCH_IN, 0);
    change(&changes[used++], 100, 5000, TRACE_SWITCH_BLOCKED, 0);
    change(&changes[used++], 900, 5000, TRACE_SWITCH_WOKEN, 5002);
    change(&changes[used++], 950, 5000, TRACE_SWITCH_IN, 0);
    for (uint32_t i = 0; i < 30; i++) {
        change(&changes[used++], 2000 + 1000 * i, 5000, TRACE_SWITCH_BLOCKED, 0);
        change(&changes[used++], 2300 + 1000 * i + i, 5000, TRACE_SWITCH_WOKEN, 5001);
        change(&changes[used++], 2400 + 1000 * i + i, 5000, TRACE_SWITCH_IN, 0);
    }
    trace_writer_switches(trace.writer, changes, used);
    open_asked(&asked, &trace);
    answer = ask(&asked, "flows?slice=0");
    CHECK_UINT(count(answer, "\"kind\":\"wake\""), 20);
    CHECK_UINT(count(answer, "\"left_out\":11,"), 1);
    CHECK_UINT(count(answer, "\"kinds\":[\"wake\"]"), 1);
    CHECK_UINT(count(answer, "{\"kind\":\"wake\",\"id\":5002,\"flow\":null,\"name\":\"worker\","),
               1);
    CHECK_UINT(count(answer, "{\"kind\":\"wake\",\"id\":5001,\"flow\":null,\"name\":\"worker\","
                             "\"from\":{\"ns\":31329000,\"slice\":1,\"thread\":\"t1\"},"
                             "\"to\":{\"ns\":31429000,\"slice\":0,\"thread\":\"t0\"}}"),
               1);
    CHECK_UINT(count(ask(&asked, "flows?slice=1"), "\"kind\":"), 0);
    CHECK_UINT(count(ask(&asked, "flows"), "\"kind\":"), 0);
    close_asked(&asked, &trace);
}

static void numbered(struct ml_trace *trace, unsigned thread, uint64_t ns, uint64_t length,
                     uint32_t location, uint64_t correlation)
{
    struct trace_stream *stream = trace->streams[thread];

    trace_stream_attribute(stream, ML_TRACE_START + ns, location, TRACE_VALUE_UNSIGNED,
                           TRACE_KEY_CORRELATION, strlen(TRACE_KEY_CORRELATION), &correlation,
                           sizeof correlation);
    trace_stream_zone(stream, ML_TRACE_START + ns, length, location);
}

/* A graph of 60 kernels, and a call without any. */
static void launches(void)
{
    struct ml_trace trace;
    struct asked asked;
    const char *answer;

    begin(&trace);
    trace_writer_location(trace.writer, &(struct trace_location){ .id = CALL,
                                                                  .kind = TRACE_LOCATION_DRIVER,
                                                                  .name = "cuGraphLaunch",
                                                                  .function = "graph" });
    trace_writer_location(trace.writer, &(struct trace_location){ .id = WORK,
                                                                  .kind = TRACE_LOCATION_DEVICE,
                                                                  .name = "gemm",
                                                                  .function = "kernel" });
    numbered(&trace, 0, 0, 10, CALL, 8); /* slice 0 */
    numbered(&trace, 0, 20, 10, CALL, 9);
    for (uint64_t i = 0; i < 60; i++)
        numbered(&trace, 1, 100 + 10 * i, 5, WORK, 9); /* slices 2 to 61 */
    open_asked(&asked, &trace);
    CHECK_UINT(count(ask(&asked, "flows?slice=0"), "\"kind\":"), 0);
    answer = ask(&asked, "flows?slice=1");
    CHECK_UINT(count(answer, "\"kind\":\"flow\""), 50);
    CHECK_UINT(count(answer, "\"left_out\":10,"), 1);
    answer = ask(&asked, "flows?slice=3");
    CHECK_UINT(count(answer, "\"kind\":"), 1);
    CHECK_UINT(count(answer, "{\"kind\":\"flow\",\"id\":9,\"flow\":null,\"name\":\"launch\","
                             "\"from\":{\"ns\":20,\"slice\":1,\"thread\":\"t0\"},"
                             "\"to\":{\"ns\":110,\"slice\":3,\"thread\":\"t1\"}}"),
               1);
    close_asked(&asked, &trace);
}

TAP_MAIN(TAP_CASE(of_a_slice), TAP_CASE(more_than_can_be_shown), TAP_CASE(async_spans),
         TAP_CASE(wake_ups), TAP_CASE(launches))
