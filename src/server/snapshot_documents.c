// SPDX-License-Identifier: Apache-2.0
/* The documents of a mailed page: what the handlers answer, by the address they are asked at. */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "server/snapshot_internal.h"
#include "server/routes.h"
#include "server/traces.h"
#include "timeline/device.h"

#define MODELS_MOST    12u /* that have documents of their own */
#define FUNCTIONS_MOST 12u /* whose code is in the page */
#define BUSY_PX        800u
#define FLOWS_OF_PART  400u
#define FLOW_PARTS     16u

struct documents {
    struct traces *traces;
    struct server_trace *trace;
    struct ifg_bytes *out;
    struct ifg_json json;
    bool failed;
};

/* Asks as a page would; an answer that is an error is no document. */
static void add(struct documents *documents, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

static void add(struct documents *documents, const char *format, ...)
{
    char address[256];
    char target[300];
    struct request query;
    struct server_answer answer = { .status = 200 };
    struct server_request request = { .traces = documents->traces,
                                      .trace = documents->trace,
                                      .timeline = documents->trace->timeline,
                                      .query = &query };
    const struct route *route;
    const char *why = NULL;
    va_list args;
    int length;

    va_start(args, format);
    vsnprintf(address, sizeof address, format, args);
    va_end(args);
    length = snprintf(target, sizeof target, "/api/t/0/%s", address);
    if (request_parse(target, (size_t)length, &query, &why) != REQUEST_OK)
        return;
    route = route_find(query.name, ROUTE_TRACE);
    if (!route)
        return;
    ifg_bytes_init(&answer.body, SERVER_ANSWER_MAX);
    route->handler(&request, &answer);
    documents->failed |= answer.body.failed;
    if (answer.status == 200 && !answer.body.failed) {
        ifg_json_key(&documents->json, address);
        ifg_bytes_put(documents->out, answer.body.data, answer.body.size);
        documents->json.need_comma = true;
    }
    ifg_bytes_fini(&answer.body);
}

struct sampled {
    uint32_t function;
    uint32_t self;
};

static int by_self(const void *a, const void *b)
{
    const struct sampled *left = a;
    const struct sampled *right = b;

    return left->self > right->self ? -1 : left->self < right->self;
}

/* The code of the functions in which most samples are. */
static void add_code(struct documents *documents)
{
    const struct timeline_profile *profile = documents->trace->profile;
    struct sampled *sampled = ifg_alloc(profile->function_count + 1, sizeof *sampled);

    if (!sampled) {
        documents->failed = true;
        return;
    }
    for (size_t i = 0; i < profile->function_count; i++)
        sampled[i].function = (uint32_t)i;
    for (size_t i = 0; i < profile->sample_count; i++) {
        uint32_t stack = profile->samples[i].stack;

        if (stack)
            sampled[profile->function_of[profile->trace->nodes[stack - 1].frame]].self++;
    }
    qsort(sampled, profile->function_count, sizeof *sampled, by_self);
    for (size_t i = 0; i < FUNCTIONS_MOST && i < profile->function_count && sampled[i].self; i++)
        add(documents, "annotate?function=%u", sampled[i].function);
    ifg_free(sampled);
}

/* An answer has a few hundred arrows at most: of a trace with more, several parts are asked for. */
static void add_flows(struct documents *documents)
{
    const struct timeline *timeline = documents->trace->timeline;
    unsigned parts = timeline->arrow_count + timeline->async_count > FLOWS_OF_PART ? FLOW_PARTS : 1;
    uint64_t length = timeline_length_ns(timeline) + 1;

    if (!timeline->arrow_count && !timeline->async_count)
        return;
    for (unsigned i = 0; i < parts; i++)
        add(documents, "flows?t0=%" PRIu64 "&t1=%" PRIu64, length / parts * i,
            i + 1 < parts ? length / parts * (i + 1) : length);
}

enum ifg_status snapshot_documents(struct server_trace *trace, struct traces *traces, bool code,
                                   struct ifg_bytes *out, struct ifg_error *err)
{
    static const char *const groups[] = { "zone", "model", "category", "op", "function", "thread" };
    struct documents documents = { .traces = traces, .trace = trace, .out = out };
    size_t models =
        trace->timeline->model_count < MODELS_MOST ? trace->timeline->model_count : MODELS_MOST;
    bool samples = trace->profile && trace->profile->sample_count;
    const struct timeline_devices *devices;

    documents.json.out = out;
    ifg_json_open(&documents.json, '{');
    add(&documents, "meta");
    add(&documents, "report");
    add(&documents, "memory");
    add(&documents, "busy?px=%u", BUSY_PX);
    add_flows(&documents);
    for (size_t i = 0; i < sizeof groups / sizeof groups[0]; i++) {
        add(&documents, "stats?by=%s&mode=instrumentation", groups[i]);
        for (size_t m = 0; models > 1 && m < models; m++)
            add(&documents, "stats?by=%s&mode=instrumentation&model=%zu", groups[i], m);
    }
    for (size_t m = 0; m < models; m++) {
        add(&documents, "ops?model=%zu", m);
        add(&documents, "switches?model=%zu", m);
    }
    if (timeline_devices_get(trace->timeline, &devices, NULL) == IFG_OK && devices->work_count) {
        add(&documents, "stats?by=kernel&mode=instrumentation");
        add(&documents, "flame?mode=device");
        for (size_t m = 0; m < models; m++) {
            add(&documents, "stats?by=kernel&mode=instrumentation&model=%zu", m);
            add(&documents, "flame?model=%zu&mode=device", m);
        }
    }
    if (samples) {
        add(&documents, "functions");
        add(&documents, "stats?by=function&mode=sampling");
        add(&documents, "flame?mode=merged");
        add(&documents, "flame?mode=time");
        for (size_t m = 0; m < models; m++) {
            add(&documents, "stats?by=function&mode=sampling&model=%zu", m);
            add(&documents, "flame?model=%zu&mode=merged", m);
        }
        if (code)
            add_code(&documents);
    }
    ifg_json_close(&documents.json, '}');
    if (documents.failed || out->failed)
        return ifg_fail_no_memory(err, "for the documents of the page");
    return IFG_OK;
}
