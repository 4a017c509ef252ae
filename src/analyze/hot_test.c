// SPDX-License-Identifier: Apache-2.0
/* Samples joined with events, functions by samples, waiting, and code with its samples. */
#include "analyze/hot.h"

#include <string.h>

#include "analyze/annotate.h"
#include "analyze/findings/rules_test.h"
#include "analyze/waiting.h"
#include "base/alloc.h"
#include "profile_trace.h"
#include "tap.h"

static void begin(struct ml_trace *trace, const struct timeline_profile **out_profile)
{
    ml_trace_begin(trace, NULL);
    profile_trace_write(trace);
    REQUIRE(ml_trace_load(trace));
    REQUIRE(timeline_profile_get(trace->timeline, out_profile, NULL) == IFG_OK);
}

static const struct hot_row *find(const struct hot *hot, const char *name)
{
    for (size_t i = 0; i < hot->row_count; i++)
        if (strcmp(hot->rows[i].name, name) == 0)
            return &hot->rows[i];
    return NULL;
}

static struct hot *count(const struct timeline *timeline, const struct hot_filter *filter)
{
    struct hot *hot = NULL;

    REQUIRE(hot_create(timeline, filter, &hot, NULL) == IFG_OK);
    return hot;
}

static void the_join(void)
{
    struct ml_trace trace;
    const struct timeline_profile *profile;
    const struct timeline_profile *again;
    size_t joins[4] = { 0 };

    begin(&trace, &profile);
    REQUIRE(timeline_profile_get(trace.timeline, &again, NULL) == IFG_OK && again == profile);
    REQUIRE(profile->sample_count == PROFILE_TRACE_SAMPLES && profile->thread_count == 2);
    CHECK_UINT(profile->lost, 3);
    CHECK(profile->by_timer && profile->has_wakers && profile->hz == 100);
    CHECK(profile->threads[0].thread == 0 && profile->threads[1].thread == TIMELINE_NONE);
    for (size_t i = 0; i < profile->sample_count; i++) {
        const struct timeline_sample *sample = &profile->samples[i];
        const char *model = timeline_sample_model(trace.timeline, sample);
        bool inside = i % 10 < 8;

        joins[sample->join]++;
        CHECK((model != NULL) == inside);
        CHECK((sample->op != TIMELINE_NONE) == (i % 10 < 5));
        CHECK((sample->slice != SIZE_MAX) == inside);
        if (inside)
            CHECK_STR(trace.timeline->locations[trace.timeline->location[sample->slice]].name,
                      i % 10 < 5 ? "Conv" : "inference");
    }
    CHECK_UINT(joins[TIMELINE_JOIN_OWN], 40);
    CHECK_UINT(joins[TIMELINE_JOIN_LENT], 40);
    CHECK_UINT(joins[TIMELINE_JOIN_NONE], 20);
    CHECK(trace.timeline->end_ns > ML_TRACE_START + PROFILE_TRACE_RUNS * PROFILE_TRACE_STEP);
    ml_trace_end(&trace);
}

/* A worker's sample while two models run belongs to neither. */
static void several_models(void)
{
    struct ml_trace trace;
    const struct timeline_profile *profile;
    uint32_t other;

    ml_trace_begin(&trace, NULL);
    profile_trace_write(&trace);
    other = ml_trace_model(&trace, &(struct ml_trace_model){ .name = "other" });
    ml_trace_wait(&trace, 1, 3 * ML_MS);
    ml_trace_event(&trace, 1, other, TRACE_CATEGORY_INFERENCE, 2 * ML_MS);
    REQUIRE(ml_trace_load(&trace));
    REQUIRE(timeline_profile_get(trace.timeline, &profile, NULL) == IFG_OK);
    CHECK_UINT(profile->samples[1].join, TIMELINE_JOIN_LENT);
    CHECK_UINT(profile->samples[3].join, TIMELINE_JOIN_SEVERAL);
    CHECK(!timeline_sample_model(trace.timeline, &profile->samples[3]));
    CHECK_UINT(profile->samples[4].join, TIMELINE_JOIN_OWN);
    ml_trace_end(&trace);
}

static void functions(void)
{
    struct ml_trace trace;
    const struct timeline_profile *profile;
    const struct hot_row *row;
    struct hot *hot;

    begin(&trace, &profile);
    hot = count(trace.timeline, &(struct hot_filter){ 0 });
    CHECK_UINT(hot->samples, 100);
    CHECK_UINT(hot->rooted, 90);
    CHECK_UINT(hot->inferred, 10);
    CHECK_UINT(hot->in_kernel, 10);
    CHECK_UINT(hot->lent, 40);
    CHECK_STR(hot->rows[0].name, "spin");
    CHECK_UINT(hot->rows[0].self, 40);
    row = find(hot, "run(int)");
    REQUIRE(row != NULL);
    CHECK_UINT(row->self, 30);
    CHECK_UINT(row->total, 40);
    CHECK_STR(row->module, "librun.so");
    CHECK_STR(row->file, "/src/run.c");
    CHECK_UINT(row->line, 10);
    REQUIRE(row->line_count == 2 && row->address_count == 2);
    CHECK_UINT(row->lines[0].self, 20);
    CHECK_STR(row->lines[1].innermost, "mul");
    CHECK_UINT(row->lines[1].line, 3);
    CHECK_UINT(row->addresses[0].address, 0x1010);
    row = find(hot, "recurse");
    REQUIRE(row != NULL);
    CHECK(row->self == 10 && row->total == 10);
    row = find(hot, "pool::Worker::(virtual 2)");
    REQUIRE(row != NULL);
    CHECK(row->guessed && row->self == 0 && row->total == 50 && row->total_inferred == 10);
    row = find(hot, "librun.so [unknown]");
    REQUIRE(row != NULL);
    CHECK(row->self == 10 && row->total_inferred == 0);
    CHECK_STR(row->under, "pool::Worker::(virtual 2)");
    CHECK_STR(hot->rows[0].under, "");
    CHECK(find(hot, "main")->total == 50 && find(hot, "do_page")->self == 10);
    REQUIRE(hot->module_count == 2);
    CHECK_STR(hot->modules[0].name, "librun.so");
    CHECK_UINT(hot->modules[0].self, 90);
    CHECK_STR(hot->modules[1].name, "[kernel]");
    hot_destroy(hot);
    ml_trace_end(&trace);
}

static bool has_n(const char *name, void *user)
{
    (void)user;
    return strchr(name, 'n') != NULL;
}

static void filters(void)
{
    const struct {
        struct hot_filter filter;
        uint64_t samples;
    } cases[] = {
        { { .model = "ocr" }, 80 },
        { { .model = "nobody" }, 0 },
        { { .op = "Conv" }, 50 },
        { { .op = "Conv", .model = "ocr" }, 50 },
        { { .op = "Add" }, 0 },
        { { .thread = "5000" }, 50 },
        { { .thread = "9001" }, 50 },
        { { .thread = "worker", .op = "Conv" }, 30 },
        { { .zone = "Conv" }, 50 },
        { { .zone = "inference" }, 80 },
        { { .zone = "nothing" }, 0 },
        { { .category = TRACE_CATEGORY_INFERENCE }, 80 },
        { { .category = TRACE_CATEGORY_LOAD }, 0 },
        { { .from_ns = ML_MS, .to_ns = 13 * ML_MS }, 10 },
    };
    struct ml_trace trace;
    const struct timeline_profile *profile;
    struct hot *hot;

    begin(&trace, &profile);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        hot = count(trace.timeline, &cases[i].filter);
        CHECK_UINT(hot->samples, cases[i].samples);
        hot_destroy(hot);
    }
    hot = count(trace.timeline, &(struct hot_filter){ .name_matches = has_n });
    CHECK(find(hot, "main") && !find(hot, "do_page"));
    CHECK_UINT(hot->samples, 100);
    hot_destroy(hot);
    ml_trace_end(&trace);
}

static void no_samples(void)
{
    struct ml_trace trace;
    const struct timeline_profile *profile;
    struct waiting *waiting;
    struct hot *hot;

    ml_trace_begin(&trace, NULL);
    REQUIRE(ml_trace_load(&trace));
    CHECK(!timeline_has_profile(trace.timeline));
    REQUIRE(timeline_profile_get(trace.timeline, &profile, NULL) == IFG_OK);
    CHECK(!profile);
    hot = count(trace.timeline, &(struct hot_filter){ 0 });
    CHECK(hot->samples == 0 && hot->row_count == 0);
    hot_destroy(hot);
    REQUIRE(waiting_create(trace.timeline, &waiting, NULL) == IFG_OK);
    CHECK(!waiting);
    ml_trace_end(&trace);
}

static void run_queue(void)
{
    struct ml_trace trace;
    const struct timeline_profile *profile;
    struct waiting *waiting;

    begin(&trace, &profile);
    REQUIRE(waiting_create(trace.timeline, &waiting, NULL) == IFG_OK);
    REQUIRE(waiting && waiting->thread_count == 2);
    CHECK_UINT(waiting->models[0].inferences, 10);
    CHECK_UINT(waiting->models[0].total_ns, 100 * ML_MS);
    CHECK_UINT(waiting->models[0].ns[TIMELINE_RUNNABLE], 20 * ML_MS);
    CHECK_UINT(waiting->models[0].ns[TIMELINE_RUNNING], 80 * ML_MS);
    CHECK_UINT(waiting->models[0].ns[TIMELINE_BLOCKED], 0);
    CHECK_UINT(waiting->models[0].longest_wait_ns, 2 * ML_MS);
    CHECK_UINT(waiting->threads[0].ns[TIMELINE_RUNNABLE], 21 * ML_MS); /* and once after a wakeup */
    CHECK_UINT(waiting->threads[0].ns[TIMELINE_BLOCKED], 3 * ML_MS);
    CHECK_UINT(waiting->threads[0].times, 11);
    CHECK_UINT(waiting->threads[1].ns[TIMELINE_RUNNING], 120 * ML_MS);
    CHECK_UINT(profile->states[profile->state_count - 2].waker, 9001);
    waiting_destroy(waiting);
    ml_trace_end(&trace);
}

static void code_and_lines(void)
{
    struct ml_trace trace;
    const struct timeline_profile *profile;
    struct annotation *a = NULL;
    struct hot *hot;
    size_t rows[4];

    begin(&trace, &profile);
    hot = count(trace.timeline, &(struct hot_filter){ 0 });
    CHECK_UINT(annotate_find(hot, profile, "nothing", rows, 4), 0);
    CHECK_UINT(annotate_find(hot, profile, "r", rows, 4), 4); /* run, recurse, Worker, librun.so */
    CHECK_UINT(annotate_find(hot, profile, "0x10f0", rows, 4), 1);
    REQUIRE(annotate_find(hot, profile, "run", rows, 4) == 1); /* whole but for parameters */
    REQUIRE(annotate_create(trace.timeline, hot, rows[0], &a, NULL) == IFG_OK);
    CHECK(a->self == 30 && a->total == 40 && a->samples == 100 && a->by_timer);
    REQUIRE(a->line_count == 3);
    CHECK_STR(a->lines[0].file, "/src/mul.h");
    CHECK(a->lines[0].self == 10 && !a->lines[0].text);
    CHECK(a->lines[1].line == 10 && a->lines[1].self == 20 && a->lines[1].total == 30);
    CHECK(a->lines[2].line == 11 && a->lines[2].self == 0 && a->lines[2].total == 10);
    REQUIRE(a->lines[2].text != NULL);
    CHECK(strncmp(a->lines[2].text, "  sum += mul(a, b);", a->lines[2].text_bytes) == 0);
    REQUIRE(a->instruction_count == 0xff); /* one of 256 bytes has two */
    CHECK(a->instructions[0x10].address == 0x1010 && a->instructions[0x10].self == 20);
    CHECK(a->instructions[0x20].is_target && a->instructions[0x20].self == 10);
    CHECK_STR(a->instructions[0x30].what.text, "jmp 0x1020");
    CHECK_STR(a->instructions[0xfe].what.text, "ret");
    annotate_destroy(a);
    REQUIRE(annotate_find(hot, profile, "do_page", rows, 4) == 1);
    REQUIRE(annotate_create(trace.timeline, hot, rows[0], &a, NULL) == IFG_OK);
    CHECK(!a->instruction_count);
    CHECK_STR(a->why_no_code, "its code is not in the trace");
    annotate_destroy(a);
    hot_destroy(hot);
    ml_trace_end(&trace);
}

static void findings(void)
{
    struct rules_test test;
    const struct finding *found;

    ml_trace_begin(&test.trace, NULL);
    profile_trace_write(&test.trace);
    rules_run(&test);
    found = rules_find(&test, "run-queue-wait");
    REQUIRE(found != NULL);
    CHECK(found->severity == FINDING_HIGH && found->event_count == 1);
    CHECK(fabs(rules_number(found, "share") - 0.2) < 1e-9);
    CHECK_STR(found->sentence, "Inferences wait 2.00 ms of 10.0 ms for a CPU (20 %).");
    CHECK(!rules_find(&test, "spinning")); /* 40 samples are too few to tell */
    rules_end(&test);
}

/* The same, longer: the worker waits in a loop with a pause, which its code tells. */
static void spinning(void)
{
    struct rules_test test;
    const struct finding *found;
    struct trace_sample more[100];

    ml_trace_begin(&test.trace, NULL);
    profile_trace_write(&test.trace);
    for (unsigned i = 0; i < 100; i++)
        more[i] = (struct trace_sample){ .time_ns = ML_TRACE_START + ML_S + i * ML_MS,
                                         .pid = 4711,
                                         .tid = 9001 + i % 5,
                                         .stack = 8 };
    trace_writer_samples(test.trace.writer, more, 100, 3);
    rules_run(&test);
    found = rules_find(&test, "spinning");
    REQUIRE(found != NULL);
    CHECK(found->severity == FINDING_HIGH);
    CHECK(rules_number(found, "samples") == 140 && rules_number(found, "threads") == 5);
    CHECK(fabs(rules_number(found, "share") - 0.7) < 1e-9);
    rules_end(&test);
}

static void out_of_memory(void)
{
    struct ml_trace trace;
    const struct timeline_profile *profile;
    struct hot *hot = NULL;
    long failures = 0;

    ml_trace_begin(&trace, NULL);
    profile_trace_write(&trace);
    REQUIRE(ml_trace_load(&trace));
    for (long n = 0; n < 500; n++) {
        enum ifg_status status;

        ifg_alloc_fail_after(n);
        status = timeline_profile_get(trace.timeline, &profile, NULL);
        if (!status)
            status = hot_create(trace.timeline,
                                &(struct hot_filter){ .zone = "Conv", .op = "Conv" }, &hot, NULL);
        ifg_alloc_fail_after(-1);
        if (status == IFG_OK)
            break;
        CHECK_INT(status, IFG_NO_MEMORY);
        failures++;
    }
    REQUIRE(hot != NULL);
    CHECK(failures > 20 && failures < 300);
    CHECK_UINT(hot->samples, 50);
    hot_destroy(hot);
    ml_trace_end(&trace);
}

/* The fact decides; only traces without it are asked for their sentence, "100 Hz by cpu-clock". */
static void what_took_the_samples(void)
{
    static const char *const clocks[] = { "cycles", "cpu-clock" };

    for (size_t i = 0; i < 2; i++) {
        struct ml_trace trace;
        const struct timeline_profile *profile;

        ml_trace_begin(&trace, NULL);
        profile_trace_write(&trace);
        trace_writer_fact(trace.writer, "samples.clock", clocks[i]);
        REQUIRE(ml_trace_load(&trace));
        REQUIRE(timeline_profile_get(trace.timeline, &profile, NULL) == IFG_OK);
        CHECK_INT(profile->by_timer, i == 1);
        ml_trace_end(&trace);
    }
}

TAP_MAIN(TAP_CASE(the_join), TAP_CASE(what_took_the_samples), TAP_CASE(several_models),
         TAP_CASE(functions), TAP_CASE(filters), TAP_CASE(no_samples), TAP_CASE(run_queue),
         TAP_CASE(code_and_lines), TAP_CASE(findings), TAP_CASE(spinning), TAP_CASE(out_of_memory))
