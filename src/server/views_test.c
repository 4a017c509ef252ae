// SPDX-License-Identifier: Apache-2.0
/* Answers about traces that are larger, or odder, than a page can show. */
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "ml_trace.h"
#include "server/routes.h"
#include "server/runs.h"
#include "tap.h"
#include "trace/samples.h"

#define FRAMES    600u
#define CODE      0x40000u
#define LINES     9000u
#define FAR_LINE  UINT32_MAX
#define RUN_START 0x1000u
#define ODD_START 0x100000u

struct asked {
    struct server_trace trace;
    struct request request;
    struct server_answer answer;
};

/* Answers a question such as "flame?mode=time"; the body is a text then. */
static const char *ask(struct asked *asked, const struct timeline *timeline, const char *question)
{
    struct server_request request = { .trace = &asked->trace, .timeline = timeline };
    char target[512];
    const char *why;

    snprintf(target, sizeof target, "/api/t/0/%s", question);
    REQUIRE(request_parse(target, strlen(target), &asked->request, &why) == REQUEST_OK);
    memset(&asked->answer, 0, sizeof asked->answer);
    asked->trace.timeline = timeline;
    REQUIRE(timeline_profile_get(timeline, &asked->trace.profile, NULL) == IFG_OK);
    request.query = &asked->request;
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

/* A function of 256 KiB with samples all over it and in thousands of lines; and one whose lines are
 * where no file has any. */
static void write_large(struct ml_trace *trace)
{
    static uint8_t code[CODE];
    struct trace_frame frames[FRAMES + 2];
    struct trace_stack_node nodes[FRAMES + 2];
    struct trace_symbol symbols[FRAMES + 2];
    struct trace_sample samples[FRAMES + 2];
    char *text = ifg_alloc(LINES, 16);
    size_t used = 0;

    REQUIRE(text != NULL);
    for (unsigned i = 1; i <= LINES; i++)
        used += (size_t)snprintf(text + used, 16, "line %u\n", i);
    for (uint32_t i = 0; i < FRAMES + 2; i++) {
        bool odd = i >= FRAMES;

        frames[i] = (struct trace_frame){ 1, odd ? ODD_START + i : RUN_START + i * 430 };
        nodes[i] = (struct trace_stack_node){ 0, i + 1, false };
        symbols[i] = (struct trace_symbol){
            .frame = i + 1,
            .function = odd ? "odd" : "run",
            .start = odd ? ODD_START : RUN_START,
            .size = odd ? 0x1000 : CODE,
            .file = odd ? "/src/odd.c" : "/src/run.c",
            .line = odd ? FAR_LINE - (i - FRAMES) : 1 + i * 14,
        };
        samples[i] = (struct trace_sample){
            .time_ns = ML_TRACE_START + i * ML_US, .pid = 4711, .tid = 5000, .stack = i + 1
        };
    }
    memset(code, 0x90, sizeof code);
    trace_writer_modules(trace->writer,
                         (struct trace_module[]){ { TRACE_MODULE_FILE, 0, "/bin/x", "", "" } }, 1);
    trace_writer_frames(trace->writer, frames, FRAMES + 2);
    trace_writer_stacks(trace->writer, nodes, FRAMES + 2);
    trace_writer_samples(trace->writer, samples, FRAMES + 2, 0);
    trace_writer_symbols(trace->writer, symbols, FRAMES + 2);
    trace_writer_source(trace->writer, &(struct trace_source){ "/src/run.c", "00", text, used });
    trace_writer_code(trace->writer, &(struct trace_code){ 1, RUN_START, code, sizeof code }, 1);
    trace_writer_fact(trace->writer, "host.machine", "x86_64");
    ml_trace_event(trace, 0, ml_trace_model(trace, &(struct ml_trace_model){ .name = "m" }),
                   TRACE_CATEGORY_INFERENCE, ML_S);
    ifg_free(text);
}

static void large_function(void)
{
    struct ml_trace trace;
    struct asked asked = { 0 };
    const struct timeline_profile *profile;
    const char *body;
    char question[64];
    char name[64];

    ml_trace_begin(&trace, NULL);
    write_large(&trace);
    REQUIRE(ml_trace_load(&trace));
    REQUIRE(timeline_profile_get(trace.timeline, &profile, NULL) == IFG_OK);
    for (uint32_t r = 0; r < profile->function_count; r++) {
        const char *called = timeline_function_name(profile, r, name, sizeof name);

        snprintf(question, sizeof question, "annotate?function=%u", r);
        body = ask(&asked, trace.timeline, question);
        if (strcmp(called, "run") == 0) {
            CHECK_UINT(asked.answer.status, 200);
            CHECK_UINT(count(body, "{\"line\":"), 2000);
            CHECK_UINT(count(body, ",\"a\":\""), 20000);
            CHECK_CONTAINS(body, "\"code_count\":262144");
            CHECK_CONTAINS(body, "\"text\":\"line 15\",\"self\":1");
        } else if (strcmp(called, "odd") == 0) {
            CHECK_UINT(asked.answer.status, 200);
            CHECK_UINT(count(body, "{\"line\":"), 2);
            CHECK_CONTAINS(body, "{\"line\":4294967294,\"text\":null,\"self\":1,\"total\":1},"
                                 "{\"line\":4294967295,\"text\":null,\"self\":1,\"total\":1}");
        } else {
            CHECK_UINT(asked.answer.status, 422);
        }
        ifg_bytes_fini(&asked.answer.body);
    }
    ml_trace_end(&trace);
}

static void folded(void)
{
    struct ml_trace trace;
    struct asked asked = { 0 };
    const char *body;

    ml_trace_begin(&trace, NULL);
    write_large(&trace);
    REQUIRE(ml_trace_load(&trace));
    body = ask(&asked, trace.timeline, "flame"); /* all of a function's addresses are one */
    CHECK_UINT(count(body, "\"p\":"), 2);
    CHECK_CONTAINS(body, "\"samples\":602");
    CHECK_CONTAINS(body, "\"n\":\"run\",\"v\":600,\"s\":600,\"i\":0");
    ifg_bytes_fini(&asked.answer.body);
    ml_trace_end(&trace);
}

/* Every allocation of every answer fails once: an error, and nothing worse. */
static void out_of_memory(void)
{
    static const char *const questions[] = { "flame?op=a",          "stats",
                                             "stats?mode=sampling", "ops?model=0",
                                             "switches?model=0",    "annotate?function=1" };
    struct ml_trace trace;
    struct asked asked = { 0 };

    ml_trace_begin(&trace, NULL);
    write_large(&trace);
    REQUIRE(ml_trace_load(&trace));
    for (size_t q = 0; q < sizeof questions / sizeof questions[0]; q++) {
        struct server_request request = { .trace = &asked.trace, .timeline = trace.timeline };

        ask(&asked, trace.timeline, questions[q]);
        ifg_bytes_fini(&asked.answer.body);
        request.query = &asked.request;
        for (long n = 0; n < 40; n++) {
            asked.answer.status = 200;
            ifg_bytes_init(&asked.answer.body, SERVER_ANSWER_MAX);
            ifg_alloc_fail_after(n);
            route_find(asked.request.name, ROUTE_TRACE)->handler(&request, &asked.answer);
            ifg_alloc_fail_after(-1);
            CHECK(asked.answer.status == 200 || asked.answer.status == 422 ||
                  asked.answer.status == 500);
            ifg_bytes_fini(&asked.answer.body);
        }
    }
    ml_trace_end(&trace);
}

/* Durations of inferences go into a mailed page as they are; a float would round them. */
static void runs_are_exact(void)
{
    const uint64_t odd_ns = ((uint64_t)1 << 24) + 1;
    struct ml_trace trace;
    struct server_trace served = { .name = "test" };
    struct lod_items runs;
    uint32_t model, id = 0;

    ml_trace_begin(&trace, NULL);
    model = ml_trace_model(&trace, &(struct ml_trace_model){ .name = "ocr" });
    ml_trace_event(&trace, 0, model, TRACE_CATEGORY_INFERENCE, odd_ns);
    REQUIRE(ml_trace_load(&trace));
    served.timeline = trace.timeline;
    while (trace.timeline->locations[trace.timeline->location[id]].category !=
           TRACE_CATEGORY_INFERENCE)
        id++;
    served.ml.ids = &id;
    served.ml.count = 1;
    lod_items_init(&runs, SIZE_MAX);
    REQUIRE_INT(runs_of_model(&served, 0, &runs), IFG_OK);
    REQUIRE_UINT(runs.count, 1);
    CHECK_UINT(runs.items[0].duration_ns, odd_ns);
    CHECK_UINT(runs.items[0].id, id);
    lod_items_fini(&runs);
    ml_trace_end(&trace);
}

TAP_MAIN(TAP_CASE(runs_are_exact), TAP_CASE(large_function), TAP_CASE(folded),
         TAP_CASE(out_of_memory))
