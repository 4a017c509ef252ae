// SPDX-License-Identifier: Apache-2.0
/* Code generated at run time with its samples: versions of a function, reused memory, gaps. */
#include "analyze/annotate.h"

#include <string.h>

#include "ml_trace.h"
#include "tap.h"
#include "trace/samples.h"

static struct ml_trace trace;
static const struct timeline_profile *profile;
static struct hot *hot;

/* Two versions of one function, the first of them optimized; the second, later one begins inside of
 * the first. A third function of which the second page is missing. */
static void begin(void)
{
    static uint8_t old[0x40], new[0x40], first[0x800], third[0x10];
    struct trace_sample samples[6];
    static const uint32_t nodes[] = { 1, 1, 1, 2, 3, 4 };

    memset(old, 0x90, sizeof old);
    memset(new, 0xcc, sizeof new);
    memset(first, 0x90, sizeof first);
    memset(third, 0xc3, sizeof third);
    ml_trace_begin(&trace, NULL);
    trace_writer_modules(trace.writer,
                         &(struct trace_module){ TRACE_MODULE_RUNTIME, 4711, "", "", "" }, 1);
    trace_writer_frames(
        trace.writer,
        (struct trace_frame[]){ { 1, 0x1030 }, { 1, 0x1028 }, { 1, 0x9004 }, { 1, 0xb008 } }, 4);
    trace_writer_stacks(trace.writer,
                        (struct trace_stack_node[]){
                            { 0, 1, false }, { 0, 2, false }, { 0, 3, false }, { 0, 4, false } },
                        4);
    trace_writer_symbols(trace.writer,
                         (struct trace_symbol[]){
                             { 1, "JS:*run /a.js:1:1", 0x1000, 0x40, "", 0, false, false },
                             { 2, "JS:^run /a.js:1:1", 0x1020, 0x40, "", 0, false, false },
                             { 3, "JS:*other /a.js:9:1", 0x9000, 0x3000, "", 0, false, false },
                             { 4, "JS:*other /a.js:9:1", 0x9000, 0x3000, "", 0, false, false },
                         },
                         4);
    trace_writer_code(trace.writer,
                      (struct trace_code[]){ { 1, 0x1000, old, sizeof old },
                                             { 1, 0x1020, new, sizeof new },
                                             { 1, 0x9000, first, sizeof first },
                                             { 1, 0xb000, third, sizeof third } },
                      4);
    for (size_t i = 0; i < 6; i++)
        samples[i] = (struct trace_sample){
            .time_ns = ML_TRACE_START + i * ML_MS, .pid = 4711, .tid = 5000, .stack = nodes[i]
        };
    trace_writer_samples(trace.writer, samples, 6, 0);
    REQUIRE(ml_trace_load(&trace));
    REQUIRE(timeline_profile_get(trace.timeline, &profile, NULL) == IFG_OK);
    REQUIRE(hot_create(trace.timeline, &(struct hot_filter){ 0 }, &hot, NULL) == IFG_OK);
}

static void end(void)
{
    hot_destroy(hot);
    ml_trace_end(&trace);
}

static struct annotation *annotate(const char *text)
{
    struct annotation *annotation = NULL;
    size_t rows[4];

    REQUIRE(annotate_find(hot, profile, text, rows, 4) == 1);
    REQUIRE(annotate_create(trace.timeline, hot, rows[0], &annotation, NULL) == IFG_OK);
    return annotation;
}

static void versions_of_a_function(void)
{
    struct annotation *annotation;
    size_t rows[4];

    begin();
    annotation = annotate("run");
    CHECK_STR(annotation->name, "JS:*run /a.js:1:1");
    CHECK_UINT(annotation->self, 3);
    annotate_destroy(annotation);
    annotation = annotate("JS:^run");
    CHECK_UINT(annotation->start, 0x1020);
    annotate_destroy(annotation);
    CHECK_UINT(annotate_find(hot, profile, "a.js", rows, 4), 3); /* not versions of one another */
    CHECK_UINT(annotate_find(hot, profile, "run", rows, 1), 2);  /* no room to choose */
    end();
}

static void memory_that_is_used_again(void)
{
    struct annotation *annotation;

    begin();
    annotation = annotate("0x1004");
    REQUIRE(annotation->instruction_count == 0x40);
    CHECK_STR(annotation->instructions[0x30].what.text, "nop");
    CHECK_UINT(annotation->instructions[0x30].self, 3);
    annotate_destroy(annotation);
    annotation = annotate("JS:^run");
    REQUIRE(annotation->instruction_count == 0x40);
    CHECK_STR(annotation->instructions[8].what.text, "int3");
    CHECK_UINT(annotation->instructions[8].self, 1);
    annotate_destroy(annotation);
    end();
}

static void code_with_gaps(void)
{
    struct annotation *annotation;

    begin();
    annotation = annotate("other");
    REQUIRE(annotation->instruction_count == 0x810);
    CHECK_UINT(annotation->instructions[4].self, 1);
    CHECK_UINT(annotation->instructions[0x800].address, 0xb000);
    CHECK_UINT(annotation->instructions[0x808].self, 1);
    CHECK_STR(annotation->instructions[0x808].what.text, "ret");
    CHECK_STR(annotation->why_no_code, "");
    annotate_destroy(annotation);
    end();
}

TAP_MAIN(TAP_CASE(versions_of_a_function), TAP_CASE(memory_that_is_used_again),
         TAP_CASE(code_with_gaps))
