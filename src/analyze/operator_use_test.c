// SPDX-License-Identifier: Apache-2.0
/* Operators of a model, by node and by type; and which inferences waited longest. */
#include "analyze/operator_use.h"

#include <string.h>

#include "analyze/waiting_runs.h"
#include "base/alloc.h"
#include "profile_trace.h"
#include "tap.h"

static void op(struct ml_trace *trace, uint32_t location, uint64_t ns, const char *type,
               const char *provider)
{
    struct ml_trace_open open = ml_trace_enter(trace, 0, location);

    ml_trace_text(trace, 0, open, "op_name", type);
    ml_trace_text(trace, 0, open, "provider", provider);
    ml_trace_wait(trace, 0, ns);
    ml_trace_leave(trace, 0, open);
}

/* Two runs with operators and one without; an If with a branch inside; another model. */
static void write_model(struct ml_trace *trace)
{
    uint32_t model = ml_trace_model(trace, &(struct ml_trace_model){ .name = "ocr" });
    uint32_t other = ml_trace_model(trace, &(struct ml_trace_model){ .name = "other" });
    uint32_t run = ml_trace_category(trace, model, TRACE_CATEGORY_INFERENCE);
    uint32_t conv = ml_trace_location(trace, TRACE_LOCATION_OP, model, "conv_1", "");
    uint32_t far = ml_trace_location(trace, TRACE_LOCATION_OP, model, "conv_2", "");
    uint32_t test = ml_trace_location(trace, TRACE_LOCATION_OP, model, "if_1", "");
    uint32_t add = ml_trace_location(trace, TRACE_LOCATION_OP, model, "add_1", "Add");
    uint32_t foreign = ml_trace_location(trace, TRACE_LOCATION_OP, other, "conv_1", "");

    for (int i = 0; i < 2; i++) {
        struct ml_trace_open inference = ml_trace_enter(trace, 0, run);
        struct ml_trace_open branch;

        op(trace, conv, 4 * ML_MS, "Conv", "CPUExecutionProvider");
        op(trace, far, 2 * ML_MS, "Conv", "CUDAExecutionProvider");
        branch = ml_trace_enter(trace, 0, test);
        ml_trace_text(trace, 0, branch, "op_name", "If");
        ml_trace_slice(trace, 0, add, 3 * ML_MS);
        ml_trace_wait(trace, 0, ML_MS);
        ml_trace_leave(trace, 0, branch);
        ml_trace_leave(trace, 0, inference);
    }
    ml_trace_event(trace, 0, model, TRACE_CATEGORY_INFERENCE, 9 * ML_MS);
    ml_trace_slice(trace, 0, foreign, 100 * ML_MS);
}

static void nodes_and_types(void)
{
    struct ml_trace trace;
    struct operator_use *use = NULL;

    ml_trace_begin(&trace, NULL);
    write_model(&trace);
    REQUIRE(ml_trace_load(&trace));
    REQUIRE(operator_use_create(trace.timeline, 0, &use, NULL) == IFG_OK);
    CHECK_UINT(use->runs, 2);
    CHECK_UINT(use->self_ns, 2 * 10 * ML_MS);
    REQUIRE_UINT(use->node_count, 4);
    CHECK_STR(use->nodes[0].name, "conv_1");
    CHECK_STR(use->nodes[0].provider, "CPUExecutionProvider");
    CHECK_UINT(use->nodes[0].self_ns, 8 * ML_MS);
    CHECK_STR(use->nodes[1].name, "add_1");
    CHECK_STR(use->nodes[1].type, "Add");
    CHECK_STR(use->nodes[1].provider, "");
    CHECK_STR(use->nodes[3].type, "If");
    CHECK_UINT(use->nodes[3].self_ns, 2 * ML_MS);
    CHECK_UINT(use->nodes[3].total_ns, 8 * ML_MS);
    REQUIRE_UINT(use->type_count, 3);
    CHECK_STR(use->types[0].type, "Conv");
    CHECK_UINT(use->types[0].nodes, 2);
    CHECK_UINT(use->types[0].count, 4);
    CHECK_UINT(use->types[0].self_ns, 12 * ML_MS);
    REQUIRE_UINT(use->types[0].provider_count, 2);
    CHECK_STR(use->types[0].providers[0].name, "CPUExecutionProvider");
    CHECK_UINT(use->types[0].providers[0].nodes, 1);
    operator_use_destroy(use);

    REQUIRE(operator_use_create(trace.timeline, 1, &use, NULL) == IFG_OK);
    CHECK_UINT(use->runs, 0); /* none is around it */
    REQUIRE_UINT(use->node_count, 1);
    CHECK_STR(use->nodes[0].type, "");
    operator_use_destroy(use);
    ml_trace_end(&trace);
}

static void waits(void)
{
    struct ml_trace trace;
    struct waiting_runs *runs = NULL;

    ml_trace_begin(&trace, NULL);
    profile_trace_write(&trace);
    REQUIRE(ml_trace_load(&trace));
    REQUIRE(waiting_runs_create(trace.timeline, 0, 4, &runs, NULL) == IFG_OK);
    CHECK_UINT(runs->inferences, PROFILE_TRACE_RUNS);
    REQUIRE_UINT(runs->count, 4);
    for (size_t i = 0; i < runs->count; i++) {
        CHECK_UINT(runs->items[i].ns[TIMELINE_RUNNABLE], 2 * ML_MS);
        CHECK_UINT(runs->items[i].ns[TIMELINE_RUNNING], 8 * ML_MS);
        CHECK_UINT(runs->items[i].duration_ns, 10 * ML_MS);
        CHECK(!i || runs->items[i].slice > runs->items[i - 1].slice); /* the same: the earlier */
    }
    waiting_runs_destroy(runs);
    REQUIRE(waiting_runs_create(trace.timeline, 1, 4, &runs, NULL) == IFG_OK);
    CHECK_UINT(runs->count, 0);
    waiting_runs_destroy(runs);
    ml_trace_end(&trace);
}

static void out_of_memory(void)
{
    struct ml_trace trace;
    struct operator_use *use = NULL;
    long failures = 0;

    ml_trace_begin(&trace, NULL);
    write_model(&trace);
    REQUIRE(ml_trace_load(&trace));
    for (; failures < 50 && !use; failures++) {
        ifg_alloc_fail_after(failures);
        CHECK((operator_use_create(trace.timeline, 0, &use, NULL) == IFG_OK) == (use != NULL));
        ifg_alloc_fail_after(-1);
    }
    REQUIRE(use != NULL);
    CHECK(failures > 5);
    operator_use_destroy(use);
    ml_trace_end(&trace);
}

/* Whose times are the host's: told by the operator, else by its model. */
static void host_times(void)
{
    struct ml_trace trace;
    struct operator_use *use = NULL;
    bool *host = NULL;
    static const struct ml_trace_model gpu = { .name = "gpu", .requested = "CUDA,CPU" },
                                       fell_back = { .name = "fell back",
                                                     .requested = "CUDA,CPU",
                                                     .actual = "CPU" };
    uint32_t locations[4];

    ml_trace_begin(&trace, NULL);
    write_model(&trace); /* one of its operators is on CUDA, though nobody asked for it */
    for (uint32_t i = 0; i < 2; i++) {
        uint32_t model = ml_trace_model(&trace, i ? &fell_back : &gpu);
        uint32_t run = ml_trace_category(&trace, model, TRACE_CATEGORY_INFERENCE);
        struct ml_trace_open open = ml_trace_enter(&trace, 0, run);

        locations[2 * i] = ml_trace_location(&trace, TRACE_LOCATION_OP, model, "untold", "Conv");
        locations[2 * i + 1] = ml_trace_location(&trace, TRACE_LOCATION_OP, model, "told", "Conv");
        ml_trace_slice(&trace, 0, locations[2 * i], ML_MS);
        op(&trace, locations[2 * i + 1], ML_MS, "Conv", i ? "CUDA" : "CPUExecutionProvider");
        ml_trace_leave(&trace, 0, open);
    }
    REQUIRE(ml_trace_load(&trace));
    REQUIRE(operator_host_times(trace.timeline, &host) == IFG_OK);
    for (size_t i = 0; i < trace.timeline->location_count; i++) {
        const struct timeline_location *location = &trace.timeline->locations[i];
        const char *model =
            location->model == TIMELINE_NONE ? "" : trace.timeline->models[location->model].name;
        bool told = strcmp(location->name, "told") == 0;

        CHECK(host[i] == ((strcmp(location->name, "conv_2") == 0 && strcmp(model, "ocr") == 0) ||
                          (strcmp(location->name, "untold") == 0 && strcmp(model, "gpu") == 0) ||
                          (told && strcmp(model, "fell back") == 0)));
    }
    ifg_free(host);
    REQUIRE(operator_use_create(trace.timeline, 0, &use, NULL) == IFG_OK);
    CHECK(use->host_time);
    operator_use_destroy(use);
    REQUIRE(operator_use_create(trace.timeline, 1, &use, NULL) == IFG_OK);
    CHECK(!use->host_time);
    operator_use_destroy(use);
    for (long n = 0; n < 2; n++) {
        ifg_alloc_fail_after(n);
        CHECK(operator_host_times(trace.timeline, &host) == IFG_NO_MEMORY && !host);
    }
    ifg_alloc_fail_after(-1);
    ml_trace_end(&trace);
}

TAP_MAIN(TAP_CASE(nodes_and_types), TAP_CASE(host_times), TAP_CASE(waits), TAP_CASE(out_of_memory))
