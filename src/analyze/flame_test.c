// SPDX-License-Identifier: Apache-2.0
/* Samples as a tree of calls: merging, order, folding, limits. */
#include "analyze/flame.h"

#include <string.h>

#include "base/alloc.h"
#include "profile_trace.h"
#include "tap.h"
#include "trace/samples.h"

#define DEEP 30000u

static void begin(struct ml_trace *trace, const struct timeline_profile **out_profile)
{
    ml_trace_begin(trace, NULL);
    profile_trace_write(trace);
    REQUIRE(ml_trace_load(trace));
    REQUIRE(timeline_profile_get(trace->timeline, out_profile, NULL) == IFG_OK);
}

static struct flame *make(const struct timeline *timeline, const struct flame_options *options)
{
    struct flame *flame = NULL;

    REQUIRE(flame_create(timeline, options, &flame, NULL) == IFG_OK);
    return flame;
}

static const char *name_of(const struct timeline_profile *profile, const struct flame *flame,
                           size_t i)
{
    static char text[256];
    uint32_t function = flame->nodes[i].function;

    return function == FLAME_NONE ? "..."
                                  : timeline_function_name(profile, function, text, sizeof text);
}

/* What holds whatever was folded: nothing is lost, nothing is counted twice, a node follows its
 * parent, and subtrees are whole. */
static void check_sums(const struct flame *flame)
{
    uint64_t roots = 0;
    uint64_t self = 0;
    uint32_t *below = ifg_alloc(flame->node_count + 1, sizeof *below);

    REQUIRE(below != NULL);
    for (size_t i = 0; i < flame->node_count; i++) {
        const struct flame_node *node = &flame->nodes[i];
        uint32_t up = (uint32_t)i - 1;

        self += node->self;
        REQUIRE(node->value > 0 && node->inferred <= node->value);
        if (node->parent == FLAME_NONE) {
            roots += node->value;
            continue;
        }
        REQUIRE(node->parent < i);
        while (up != node->parent && up != FLAME_NONE) /* on the way from the node before */
            up = flame->nodes[up].parent;
        REQUIRE(up == node->parent);
        below[node->parent] += node->value;
    }
    for (size_t i = 0; i < flame->node_count; i++)
        CHECK_UINT(below[i] + flame->nodes[i].self, flame->nodes[i].value);
    CHECK_UINT(roots, flame->samples);
    CHECK_UINT(self, flame->samples);
    ifg_free(below);
}

static void check_node(const struct timeline_profile *profile, const struct flame *flame, size_t i,
                       const char *name, uint32_t parent, uint32_t value, uint32_t self)
{
    REQUIRE(i < flame->node_count);
    CHECK_STR(name_of(profile, flame, i), name);
    CHECK_UINT(flame->nodes[i].parent, parent);
    CHECK_UINT(flame->nodes[i].value, value);
    CHECK_UINT(flame->nodes[i].self, self);
}

static void merged(void)
{
    struct ml_trace trace;
    const struct timeline_profile *profile;
    struct flame *flame;

    begin(&trace, &profile);
    flame = make(trace.timeline, &(struct flame_options){ .by_time = true });
    CHECK_UINT(flame->samples, PROFILE_TRACE_SAMPLES);
    CHECK_UINT(flame->folded, 0);
    REQUIRE_UINT(flame->node_count, 8);
    check_sums(flame);
    /* Two addresses of run, one of them in what was inlined: one node. Recursion: two. */
    check_node(profile, flame, 0, "main", FLAME_NONE, 50, 0);
    check_node(profile, flame, 1, "run(int)", 0, 40, 30);
    check_node(profile, flame, 2, "do_page", 1, 10, 10);
    check_node(profile, flame, 3, "recurse", 0, 10, 0);
    check_node(profile, flame, 4, "recurse", 3, 10, 10);
    check_node(profile, flame, 5, "pool::Worker::(virtual 2)", FLAME_NONE, 50, 0);
    check_node(profile, flame, 6, "spin", 5, 40, 40);
    CHECK_UINT(flame->nodes[5].inferred, 10);
    CHECK_UINT(flame->nodes[6].inferred, 0);
    CHECK_UINT(flame->nodes[7].inferred, 0);
    flame_destroy(flame);
    ml_trace_end(&trace);
}

static void order(void)
{
    struct ml_trace trace;
    const struct timeline_profile *profile;
    struct flame *flame;
    /* From 7 ms on: spin, recurse, unnamed, run, spin. The trace begins 1 ms before the timeline.
     * */
    struct flame_options options = { .filter = { .from_ns = 8 * ML_MS, .to_ns = 13 * ML_MS },
                                     .by_time = true };

    begin(&trace, &profile);
    flame = make(trace.timeline, &options);
    check_sums(flame);
    CHECK_UINT(flame->samples, 5);
    CHECK_STR(name_of(profile, flame, 0), "pool::Worker::(virtual 2)");
    CHECK_STR(name_of(profile, flame, 1), "spin");
    CHECK_STR(name_of(profile, flame, 3), "main");
    CHECK_STR(name_of(profile, flame, 4), "recurse");
    CHECK_STR(name_of(profile, flame, 6), "run(int)");
    flame_destroy(flame);

    options = (struct flame_options){ .filter = { .thread = "5000" } };
    flame = make(trace.timeline, &options);
    check_sums(flame);
    CHECK_UINT(flame->samples, 50);
    CHECK_STR(name_of(profile, flame, 1), "run(int)"); /* heavier than recurse */
    flame_destroy(flame);
    ml_trace_end(&trace);
}

static void filters(void)
{
    static const struct {
        struct hot_filter filter;
        uint64_t samples;
    } each[] = {
        { { .op = "Conv" }, 50 },      { { .model = "ocr" }, 80 },
        { { .model_number = 1 }, 80 }, { { .model_number = 2 }, 0 },
        { { .model = "other" }, 0 },   { { .thread = "9001" }, 50 },
        { { .op = "nothing" }, 0 },    { { .from_ns = 1000 * ML_S }, 0 },
    };
    struct ml_trace trace;
    const struct timeline_profile *profile;

    begin(&trace, &profile);
    for (size_t i = 0; i < sizeof each / sizeof each[0]; i++) {
        struct flame_options options = { .filter = each[i].filter };
        struct flame *flame = make(trace.timeline, &options);
        struct hot *hot = NULL;

        REQUIRE(hot_create(trace.timeline, &each[i].filter, &hot, NULL) == IFG_OK);
        CHECK_UINT(flame->samples, each[i].samples);
        CHECK_UINT(hot->samples, each[i].samples); /* the same ones as everywhere */
        check_sums(flame);
        hot_destroy(hot);
        flame_destroy(flame);
    }
    ml_trace_end(&trace);
}

static void folding(void)
{
    struct ml_trace trace;
    const struct timeline_profile *profile;
    struct flame *flame;

    begin(&trace, &profile);
    flame = make(trace.timeline, &(struct flame_options){ .by_time = true, .least_share = 0.2 });
    check_sums(flame);
    REQUIRE_UINT(flame->node_count, 7);
    check_node(profile, flame, 0, "main", FLAME_NONE, 50, 0);
    check_node(profile, flame, 1, "run(int)", 0, 40, 30);
    check_node(profile, flame, 2, "...", 1, 10, 10);
    check_node(profile, flame, 3, "...", 0, 10, 10);
    check_node(profile, flame, 6, "...", 4, 10, 10);
    CHECK_UINT(flame->folded, 4);
    flame_destroy(flame);

    flame = make(trace.timeline, &(struct flame_options){ .least_share = 0.9 });
    check_sums(flame);
    REQUIRE_UINT(flame->node_count, 1);
    check_node(profile, flame, 0, "...", FLAME_NONE, 100, 100);
    flame_destroy(flame);

    for (size_t most = 1; most < 9; most++) {
        flame = make(trace.timeline, &(struct flame_options){ .nodes_most = most });
        check_sums(flame);
        CHECK(flame->node_count <= most);
        flame_destroy(flame);
    }
    ml_trace_end(&trace);
}

/* A stack that never ends, and samples of which nothing is known. */
static void deep(void)
{
    struct trace_stack_node *nodes = ifg_alloc(DEEP, sizeof *nodes);
    struct trace_sample samples[100];
    struct ml_trace trace;
    struct flame *flame;

    REQUIRE(nodes != NULL);
    ml_trace_begin(&trace, NULL);
    ml_trace_event(&trace, 0, ml_trace_model(&trace, &(struct ml_trace_model){ .name = "m" }),
                   TRACE_CATEGORY_INFERENCE, ML_S);
    trace_writer_modules(trace.writer,
                         (struct trace_module[]){ { TRACE_MODULE_FILE, 0, "/bin/x", "", "" } }, 1);
    trace_writer_frames(trace.writer, (struct trace_frame[]){ { 1, 16 } }, 1);
    for (uint32_t i = 0; i < DEEP; i++)
        nodes[i] = (struct trace_stack_node){ i, 1, false };
    trace_writer_stacks(trace.writer, nodes, DEEP);
    for (uint32_t i = 0; i < 100; i++)
        samples[i] = (struct trace_sample){ .time_ns = ML_TRACE_START + i * ML_MS,
                                            .pid = 4711,
                                            .tid = 5000,
                                            .stack = i % 4 == 3   ? 0
                                                     : i % 4 == 2 ? 10
                                                                  : DEEP };
    trace_writer_samples(trace.writer, samples, 100, 0);
    REQUIRE(ml_trace_load(&trace));
    flame = make(trace.timeline, &(struct flame_options){ 0 });
    check_sums(flame);
    CHECK_UINT(flame->samples, 100);
    CHECK(flame->node_count <= FLAME_NODES && flame->node_count > FLAME_NODES / 2);
    CHECK_UINT(flame->nodes[0].value, 75);
    CHECK_UINT(flame->nodes[9].self, 25);
    flame_destroy(flame);
    ml_trace_end(&trace);
    ifg_free(nodes);
}

static void no_samples(void)
{
    struct ml_trace trace;
    struct flame *flame;

    ml_trace_begin(&trace, NULL);
    REQUIRE(ml_trace_load(&trace));
    flame = make(trace.timeline, &(struct flame_options){ 0 });
    CHECK_UINT(flame->samples, 0);
    CHECK_UINT(flame->node_count, 0);
    flame_destroy(flame);
    flame_destroy(NULL);
    ml_trace_end(&trace);
}

static void out_of_memory(void)
{
    struct ml_trace trace;
    const struct timeline_profile *profile;
    struct flame_options options = { .filter = { .op = "Conv", .thread = "5000" } };
    struct flame *flame = NULL;
    long failures = 0;

    begin(&trace, &profile);
    for (; failures < 100 && !flame; failures++) {
        ifg_alloc_fail_after(failures);
        CHECK((flame_create(trace.timeline, &options, &flame, NULL) == IFG_OK) == (flame != NULL));
        ifg_alloc_fail_after(-1);
    }
    REQUIRE(flame != NULL);
    CHECK(failures > 10);
    flame_destroy(flame);
    ml_trace_end(&trace);
}

TAP_MAIN(TAP_CASE(merged), TAP_CASE(order), TAP_CASE(filters), TAP_CASE(folding), TAP_CASE(deep),
         TAP_CASE(no_samples), TAP_CASE(out_of_memory))
