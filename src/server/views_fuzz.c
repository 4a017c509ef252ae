// SPDX-License-Identifier: Apache-2.0
/*
 * Tables and trees of the page, from whatever a trace file may say.
 *
 * Strategies:
 *   - the input is a trace file; checksums are made right first, so that mutations reach what is
 *     behind them
 *   - each question about the whole trace and about a part of it; all functions for a while
 *   - what comes out is an answer or an error that can be told, within its bounds
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/flame.h"
#include "base/alloc.h"
#include "server/routes.h"
#include "mended_timeline.h"

#define FUNCTIONS_TRIED 40u

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool condition)
{
    if (!condition)
        abort();
}

static void ask(struct server_trace *trace, const char *question)
{
    static struct request parsed;
    struct server_request request = { .trace = trace,
                                      .timeline = trace->timeline,
                                      .query = &parsed };
    struct server_answer answer = { .status = 200 };
    char target[128];
    const char *why;

    snprintf(target, sizeof target, "/api/t/0/%s", question);
    require(request_parse(target, strlen(target), &parsed, &why) == REQUEST_OK);
    ifg_bytes_init(&answer.body, SERVER_ANSWER_MAX);
    route_find(parsed.name, ROUTE_TRACE)->handler(&request, &answer);
    require(answer.status == 200 || answer.status == 400 || answer.status == 422);
    require(answer.body.size > 1 || answer.body.failed);
    ifg_bytes_fini(&answer.body);
}

/* The sums that the page counts on. */
static void check_flame(const struct timeline *timeline)
{
    const struct flame_options options = { .by_time = true };
    struct flame *flame = NULL;
    uint64_t roots = 0;
    uint64_t self = 0;

    if (flame_create(timeline, &options, &flame, NULL))
        return;
    require(flame->node_count <= FLAME_NODES);
    for (size_t i = 0; i < flame->node_count; i++) {
        const struct flame_node *node = &flame->nodes[i];

        require(node->parent == FLAME_NONE || node->parent < i);
        require(node->value && node->self <= node->value && node->inferred <= node->value);
        roots += node->parent == FLAME_NONE ? node->value : 0;
        self += node->self;
    }
    require(roots == flame->samples && self == flame->samples);
    flame_destroy(flame);
}

static void look(const struct timeline *timeline)
{
    static const char *const questions[] = {
        "stats",
        "stats?by=model",
        "stats?by=op&model=0&q=a",
        "stats?by=thread&t0=1&t1=1000",
        "stats?mode=sampling&q=r",
        "flame?mode=merged",
        "flame?t0=5&t1=100000000&model=0&op=Conv",
        "flame?thread=t0",
        "ops?model=0",
        "switches?model=0",
        "report",
        "memory",
        "flows",
        "flows?slice=0",
        "flows?slice=3",
        "flows?t0=5&t1=100000000",
    };
    struct server_trace trace = { .name = "fuzz", .timeline = timeline };
    size_t functions;
    char question[64];

    pthread_mutex_init(&trace.report_lock, NULL);
    pthread_mutex_init(&trace.index_lock, NULL);
    if (timeline_profile_get(timeline, &trace.profile, NULL) == IFG_OK &&
        trace_build_tracks(&trace, NULL) == IFG_OK) {
        for (size_t i = 0; i < sizeof questions / sizeof questions[0]; i++)
            ask(&trace, questions[i]);
        functions = trace.profile ? trace.profile->function_count : 0;
        for (size_t r = 0; r <= functions && r < FUNCTIONS_TRIED; r++) {
            snprintf(question, sizeof question, "annotate?function=%zu", r);
            ask(&trace, question);
        }
        check_flame(timeline);
    }
    report_destroy(atomic_load(&trace.report));
    trace_destroy_crossings(&trace);
    trace_destroy_tracks(&trace);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    mended_timeline(data, size, look);
    return 0;
}
