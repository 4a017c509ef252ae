// SPDX-License-Identifier: Apache-2.0
/* Inferences whose operators were recorded are slower, and no comparison takes them for slow. */
#include "analyze/perturbed.h"

#include <string.h>

#include "analyze/diff.h"
#include "base/alloc.h"
#include "ml_trace.h"
#include "tap.h"

/* 400 frames of an inference with a step in it; of every `every`th (0: none) the operators were
 * recorded, and it takes 4.5 times as long. */
static void make(struct ml_trace *trace, unsigned every)
{
    uint32_t model, frame, step, op;

    ml_trace_begin(trace, NULL);
    model = ml_trace_model(trace, &(struct ml_trace_model){ .name = "ocr" });
    frame = ml_trace_location(trace, TRACE_LOCATION_ZONE, 0, "frame", "main");
    step = ml_trace_location(trace, TRACE_LOCATION_ZONE, 0, "step", "main");
    op = ml_trace_location(trace, TRACE_LOCATION_OP, model, "conv_1", "Conv");
    for (unsigned i = 0; i < 400; i++) {
        bool with_ops = every && i % every == 0;
        struct ml_trace_open around = ml_trace_enter(trace, 0, frame);
        struct ml_trace_open inference =
            ml_trace_enter(trace, 0, ml_trace_category(trace, model, TRACE_CATEGORY_INFERENCE));

        /* Half of them are told by their operators alone. */
        if (with_ops && i / every % 2)
            ml_trace_number(trace, 0, inference, "ops", 1);
        ml_trace_slice(trace, 0, step, (with_ops ? 45 : 10) * ML_US + i % 7);
        if (with_ops && i / every % 2 == 0)
            ml_trace_slice(trace, 0, op, 400 * ML_US);
        ml_trace_wait(trace, 0, (with_ops ? 4500 : 1000) * ML_US + 100 * (i % 13));
        ml_trace_leave(trace, 0, inference);
        ml_trace_wait(trace, 0, 5 * ML_US);
        ml_trace_leave(trace, 0, around);
        ml_trace_slice(trace, 0, frame, 1000 * ML_US); /* without an inference */
    }
    REQUIRE(ml_trace_load(trace));
}

static const struct diff_row *find(const struct diff *diff, const char *name)
{
    for (size_t i = 0; i < diff->row_count; i++)
        if (strcmp(diff->rows[i].name, name) == 0)
            return &diff->rows[i];
    REQUIRE(!"there is such a row");
    return NULL;
}

static void they_are_marked(void)
{
    struct ml_trace trace;
    struct perturbed perturbed;
    size_t marked = 0;

    make(&trace, 4);
    REQUIRE_INT(perturbed_find(trace.timeline, &perturbed, NULL), IFG_OK);
    CHECK_UINT(perturbed.inferences, 400);
    CHECK_UINT(perturbed.with_ops, 100);
    for (size_t i = 0; i < trace.timeline->slice_count; i++) {
        const struct timeline_location *location =
            &trace.timeline->locations[trace.timeline->location[i]];

        marked += perturbed.marks[i];
        CHECK(location->kind != TRACE_LOCATION_OP || !perturbed.marks[i]);
    }
    CHECK_UINT(marked, 300); /* the inference, the frame around it, the step in it */
    perturbed_fini(&perturbed);
    for (int i = 0; i < 3; i++) {
        ifg_alloc_fail_after(i);
        CHECK_INT(perturbed_find(trace.timeline, &perturbed, NULL), IFG_NO_MEMORY);
        ifg_alloc_fail_after(-1);
        CHECK(!perturbed.marks);
    }
    ml_trace_end(&trace);
}

static void they_are_left_out(void)
{
    static const char *const names[] = { "inference", "frame", "step" };
    struct ml_trace plain, mixed;
    struct ifg_error err = { 0 };
    struct diff *diff = NULL;

    make(&plain, 0);
    make(&mixed, 2);
    REQUIRE_INT(diff_create(plain.timeline, mixed.timeline, DIFF_THRESHOLD, &diff, &err), IFG_OK);
    CHECK_INT(diff->perturbed, DIFF_PERTURBED_LEFT_OUT);
    CHECK_UINT(diff->with_ops[DIFF_B], 200);
    for (size_t i = 0; i < 3; i++) {
        tap_note("%s", names[i]);
        CHECK_INT(find(diff, names[i])->verdict, DIFF_SAME);
        CHECK_UINT(find(diff, names[i])->side[DIFF_B].perturbed, 200);
    }
    CHECK_UINT(diff->verdicts[DIFF_REGRESSED], 0);
    CHECK_INT(find(diff, "conv_1")->verdict, DIFF_NEW); /* operators are what they are */
    diff_destroy(diff);
    ml_trace_end(&plain);
    ml_trace_end(&mixed);
}

static void none_left_is_refused(void)
{
    struct ml_trace plain, all;
    struct ifg_error err = { 0 };
    struct diff *diff = NULL;

    make(&plain, 0);
    make(&all, 1);
    CHECK_INT(diff_create(plain.timeline, all.timeline, DIFF_THRESHOLD, &diff, &err), IFG_INVALID);
    CHECK_CONTAINS(err.message, "the operators of all 400 inferences of B were recorded");
    CHECK_CONTAINS(err.message, "of A not");
    CHECK_INT(diff_create(all.timeline, plain.timeline, DIFF_THRESHOLD, &diff, &err), IFG_INVALID);
    CHECK_CONTAINS(err.message, "inferences of A were recorded");
    /* Like with like. */
    REQUIRE_INT(diff_create(all.timeline, all.timeline, DIFF_THRESHOLD, &diff, &err), IFG_OK);
    CHECK_INT(diff->perturbed, DIFF_ALL_PERTURBED);
    CHECK_INT(find(diff, "inference")->verdict, DIFF_SAME);
    CHECK_UINT(find(diff, "inference")->side[DIFF_A].count, 400);
    diff_destroy(diff);
    REQUIRE_INT(diff_create(plain.timeline, plain.timeline, DIFF_THRESHOLD, &diff, &err), IFG_OK);
    CHECK_INT(diff->perturbed, DIFF_NONE_PERTURBED);
    diff_destroy(diff);
    ml_trace_end(&plain);
    ml_trace_end(&all);
}

TAP_MAIN(TAP_CASE(they_are_marked), TAP_CASE(they_are_left_out), TAP_CASE(none_left_is_refused))
