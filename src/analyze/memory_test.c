// SPDX-License-Identifier: Apache-2.0
/* Memory of phases, against values that were put there; and the rule about loads. */
#include "analyze/memory.h"

#include <math.h>
#include <string.h>

#include "analyze/findings/rules_test.h"
#include "base/alloc.h"
#include "ml_trace.h"
#include "tap.h"

#define MB 1e6
#define T  ((uint64_t)ML_MS)

/* Resident memory in MB at a time in ms. */
static void put(struct rules_test *test, uint32_t process, uint64_t ms, double megabytes)
{
    ml_trace_resource(&test->trace, process, "resident bytes", ms * T, megabytes * MB);
}

static void put_peak(struct rules_test *test, uint64_t ms, double megabytes)
{
    ml_trace_resource(&test->trace, 0, "resident peak bytes", ms * T, megabytes * MB);
}

static void put_line(struct rules_test *test, uint64_t from_ms, uint64_t to_ms, double megabytes)
{
    for (uint64_t ms = from_ms; ms <= to_ms; ms += 10)
        put(test, 0, ms, megabytes);
}

static const struct memory_phase *find(const struct memory *memory, const char *name,
                                       enum memory_part part)
{
    for (size_t i = 0; i < memory->phase_count; i++)
        if (strcmp(memory->phases[i].name, name) == 0 && memory->phases[i].part == part)
            return &memory->phases[i];
    return NULL;
}

#define CHECK_MB(value, expected)                                                                  \
    do {                                                                                           \
        if (!(fabs((value) - (expected)*MB) < 1))                                                  \
            tap_note("%g instead of %g MB", (value) / MB, (double)(expected));                     \
        CHECK(fabs((value) - (expected)*MB) < 1);                                                  \
    } while (0)

/* A load from 0 to 100 ms, inferences from 100 to 140, 140 to 180, 180 to 220; a zone of 4 ms. */
static uint32_t begin(struct rules_test *test)
{
    uint32_t model = rules_begin(test, "det");
    uint32_t conv = ml_trace_location(&test->trace, TRACE_LOCATION_OP, model, "Conv", "");
    uint32_t run = ml_trace_category(&test->trace, model, TRACE_CATEGORY_INFERENCE);
    uint32_t zone = ml_trace_location(&test->trace, TRACE_LOCATION_ZONE, 0, "resize", "");

    ml_trace_event(&test->trace, 0, model, TRACE_CATEGORY_LOAD, 100 * ML_MS);
    for (int i = 0; i < 3; i++) {
        struct ml_trace_open open = ml_trace_enter(&test->trace, 0, run);

        ml_trace_slice(&test->trace, 0, conv, 30 * ML_MS);
        ml_trace_wait(&test->trace, 0, 10 * ML_MS);
        ml_trace_leave(&test->trace, 0, open);
    }
    ml_trace_wait(&test->trace, 0, 2 * ML_MS);
    ml_trace_slice(&test->trace, 0, zone, 4 * ML_MS);
    return model;
}

static void phases(void)
{
    struct rules_test test;
    const struct memory *memory;
    const struct memory_phase *phase;

    begin(&test);
    put_line(&test, 0, 30, 10);
    put_line(&test, 40, 60, 90); /* while it loads */
    put_line(&test, 70, 110, 50);
    put(&test, 0, 120, 70); /* in the first inference */
    put_line(&test, 130, 150, 60);
    put(&test, 0, 160, 65); /* in the second */
    put_line(&test, 170, 240, 60);
    put_peak(&test, 230, 80); /* between 220 and 230: the zone is from 222 to 226 */
    rules_run(&test);
    memory = test.input->memory;
    REQUIRE(memory != NULL && memory->fine);
    CHECK_UINT(memory->resolution_ns, 10 * T);

    phase = find(memory, "load", MEMORY_ALL);
    REQUIRE(phase != NULL);
    CHECK_UINT(phase->count, 1);
    CHECK_MB(phase->most.before, 10);
    CHECK_MB(phase->most.peak, 90);
    CHECK_MB(phase->most.after, 50);
    CHECK_MB(phase->growth, 40);
    CHECK(!phase->most.coarse && phase == &memory->phases[1]); /* most first */
    CHECK(memory->phases[0].whole && memory->phases[0].pid == phase->pid);

    phase = find(memory, "inference", MEMORY_FIRST);
    REQUIRE(phase != NULL);
    CHECK_UINT(phase->count, 1);
    CHECK_MB(phase->most.before, 50);
    CHECK_MB(phase->most.peak, 70);
    CHECK_MB(phase->most.after, 60);

    phase = find(memory, "inference", MEMORY_REST);
    REQUIRE(phase != NULL);
    CHECK_UINT(phase->count, 2);
    CHECK_MB(phase->most.peak, 65);
    CHECK_MB(phase->growth, 0);
    CHECK_UINT(phase->most_start_ns, ML_TRACE_START + 140 * T);

    phase = find(memory, "resize", MEMORY_ALL);
    REQUIRE(phase != NULL);
    CHECK_MB(phase->most.before, 60);
    CHECK(isnan(phase->most.peak)); /* the kernel saw 80 MB: maybe in it, maybe around it */
    CHECK(phase->most.coarse && phase->most.is_short && phase->model == TIMELINE_NONE);
    CHECK_MB(phase->growth, 0);

    REQUIRE_UINT(memory->process_count, 1);
    CHECK_MB(memory->processes[0].whole.before, 10);
    CHECK_MB(memory->processes[0].whole.peak, 90);
    CHECK_MB(memory->processes[0].whole.after, 60);
    CHECK_MB(memory->processes[0].after_load, 50);
    CHECK(memory->processes[0].scene.category == TRACE_CATEGORY_LOAD);
    CHECK_STR(memory->processes[0].scene.op, "");
    rules_end(&test);
}

static void scene_of_peak(void)
{
    struct rules_test test;
    const struct memory_scene *scene;

    begin(&test);
    put_line(&test, 0, 150, 10);
    put(&test, 0, 160, 98.5);
    put_line(&test, 170, 230, 98);
    put(&test, 0, 240, 99); /* where it was nearly before */
    rules_run(&test);
    REQUIRE(test.input->memory != NULL);
    scene = &test.input->memory->processes[0].scene;
    CHECK_MB(test.input->memory->processes[0].whole.peak, 99);
    CHECK_UINT(scene->model, 0);
    CHECK_UINT(scene->number, 2);
    CHECK(scene->category == TRACE_CATEGORY_INFERENCE);
    CHECK_STR(scene->op, "Conv");
    rules_end(&test);

    begin(&test); /* somewhere between 220 and 230: what covers most of that is told */
    put_line(&test, 0, 230, 10);
    put_peak(&test, 230, 99);
    rules_run(&test);
    scene = &test.input->memory->processes[0].scene;
    CHECK_MB(test.input->memory->processes[0].whole.peak, 99);
    CHECK_UINT(test.input->memory->processes[0].whole.peak_ns -
                   test.input->memory->processes[0].whole.peak_from_ns,
               10 * T);
    CHECK_STR(scene->zone, "resize");
    rules_end(&test);
}

/* What the kernel saw between two looks of which one is outside of a phase. */
static void peaks_at_edges(void)
{
    struct rules_test test;
    uint32_t model;
    const struct memory_phase *phase;

    for (int at = 0; at < 3; at++) {
        model = rules_begin(&test, "det");
        ml_trace_wait(&test.trace, 0, 5 * ML_MS);
        ml_trace_event(&test.trace, 0, model, TRACE_CATEGORY_LOAD, 50 * ML_MS); /* 5 to 55 */
        for (uint64_t ms = 0; ms <= 100; ms += 10)
            put(&test, 0, ms, 10 + (double)ms / 10);
        put_peak(&test, at == 0 ? 10 : at == 1 ? 30 : 60, 99);
        rules_run(&test);
        phase = find(test.input->memory, "load", MEMORY_ALL);
        REQUIRE(phase != NULL);
        CHECK_MB(phase->most.before, 10);
        CHECK_MB(phase->most.after, 16);
        CHECK_MB(phase->most.peak, 99);
        CHECK(phase->most.coarse == (at != 1));
        rules_end(&test);
    }
    model = rules_begin(&test, "det"); /* that it goes up until the end is no reason */
    ml_trace_wait(&test.trace, 0, 5 * ML_MS);
    ml_trace_event(&test.trace, 0, model, TRACE_CATEGORY_LOAD, 50 * ML_MS);
    for (uint64_t ms = 0; ms <= 100; ms += 10)
        put(&test, 0, ms, 10 + (double)ms / 10);
    rules_run(&test);
    phase = find(test.input->memory, "load", MEMORY_ALL);
    REQUIRE(phase != NULL);
    CHECK_MB(phase->most.peak, 16);
    CHECK(!phase->most.coarse);
    rules_end(&test);
}

/* What was before all values, or is later than they are, is not counted; what lasts longer is. */
static void edges(void)
{
    struct rules_test test;
    const struct memory *memory;

    begin(&test);
    put_line(&test, 50, 200, 30);
    rules_run(&test);
    memory = test.input->memory;
    REQUIRE(memory != NULL);
    CHECK(!find(memory, "load", MEMORY_ALL));
    CHECK(!find(memory, "resize", MEMORY_ALL));
    REQUIRE(find(memory, "inference", MEMORY_REST) != NULL);
    CHECK_UINT(find(memory, "inference", MEMORY_REST)->count, 2); /* the last ends after them */
    CHECK_MB(find(memory, "inference", MEMORY_REST)->most.after, 30);
    rules_end(&test);

    begin(&test); /* one value only */
    put(&test, 0, 100, 30);
    rules_run(&test);
    REQUIRE(test.input->memory != NULL);
    CHECK_UINT(test.input->memory->processes[0].looks, 1);
    rules_end(&test);
}

/* Without --memory: once a second, and said. */
static void once_a_second(void)
{
    struct rules_test test;
    const struct memory *memory;

    begin(&test);
    for (uint64_t s = 0; s < 5; s++)
        ml_trace_resource(&test.trace, 0, "rss bytes", s * ML_S, (10 + (double)s) * MB);
    ml_trace_resource(&test.trace, 1, "rss bytes", 0, 900 * MB);
    ml_trace_resource(&test.trace, 1, "rss bytes", ML_S, 999 * MB);
    rules_run(&test);
    memory = test.input->memory;
    REQUIRE(memory != NULL && !memory->fine);
    CHECK_UINT(memory->resolution_ns, ML_S);
    CHECK(isnan(memory->gaps));
    REQUIRE_UINT(memory->process_count, 2);
    CHECK(memory->processes[0].has_models); /* though the other one has more */
    CHECK_MB(memory->processes[0].whole.peak, 14);
    REQUIRE(find(memory, "load", MEMORY_ALL) != NULL);
    CHECK(find(memory, "load", MEMORY_ALL)->most.coarse);
    CHECK(isnan(memory_delta(&find(memory, "load", MEMORY_ALL)->most)));
    CHECK(isnan(find(memory, "load", MEMORY_ALL)->growth));
    CHECK_UINT(find(memory, "load", MEMORY_ALL)->resolution_ns, ML_S);
    CHECK(memory->phases[0].whole && memory->phases[1].whole); /* what is not known comes last */
    rules_end(&test);
}

/* One step of memory between two looks is no phase's that is shorter: a thousand inferences have
 * not grown by a thousand such steps, nor has one of them by one. */
static void growth_between_looks(void)
{
    struct rules_test test;
    uint32_t model = rules_begin(&test, "det");

    for (int i = 0; i < 1000; i++)
        ml_trace_event(&test.trace, 0, model, TRACE_CATEGORY_INFERENCE, ML_MS);
    put(&test, 0, 0, 20);
    put(&test, 0, 500, 100);
    put(&test, 0, 1000, 105);
    rules_run(&test);
    REQUIRE(test.input->memory != NULL);
    REQUIRE(find(test.input->memory, "inference", MEMORY_REST) != NULL);
    CHECK(isnan(find(test.input->memory, "inference", MEMORY_REST)->growth));
    CHECK(isnan(find(test.input->memory, "inference", MEMORY_FIRST)->growth));
    CHECK_MB(test.input->memory->phases[0].growth, 85); /* of the process */
    rules_end(&test);

    model = rules_begin(&test, "det"); /* no step: it is known that nothing came of it */
    for (int i = 0; i < 1000; i++)
        ml_trace_event(&test.trace, 0, model, TRACE_CATEGORY_INFERENCE, ML_MS);
    put_line(&test, 0, 1000, 20);
    rules_run(&test);
    CHECK_MB(find(test.input->memory, "inference", MEMORY_REST)->growth, 0);
    rules_end(&test);
}

/* Two threads in one phase at a time share what memory grew by; a short instance inside of a long
 * one adds nothing, and a small step that may be of another one does not spoil the rest. */
static void growth_is_counted_once(void)
{
    struct rules_test test;
    uint32_t zone;

    rules_begin(&test, "det");
    zone = ml_trace_location(&test.trace, TRACE_LOCATION_ZONE, 0, "resize", "");
    for (uint32_t thread = 0; thread < 3; thread++) {
        ml_trace_wait(&test.trace, thread, 10 * T);
        ml_trace_slice(&test.trace, thread, zone, thread == 2 ? T : 80 * T);
    }
    ml_trace_wait(&test.trace, 2, 102 * T); /* until 113 */
    ml_trace_slice(&test.trace, 2, zone, 2 * T);
    for (uint64_t ms = 0; ms <= 200; ms += 10)
        put(&test, 0, ms, ms < 100 ? 10 + (double)ms : ms < 120 ? 100 : 101);
    rules_run(&test);
    REQUIRE(find(test.input->memory, "resize", MEMORY_ALL) != NULL);
    CHECK_UINT(find(test.input->memory, "resize", MEMORY_ALL)->count, 4);
    CHECK_MB(find(test.input->memory, "resize", MEMORY_ALL)->growth, 81);
    rules_end(&test);
}

static void nothing_known(void)
{
    struct rules_test test;

    begin(&test);
    ml_trace_resource(&test.trace, 0, "cpu %", 0, 5);
    rules_run(&test);
    CHECK(test.input->memory == NULL);
    rules_end(&test);
}

/* Many blocks of values: the largest of a long span is found, whatever its place. */
static void long_lines(void)
{
    struct rules_test test;

    for (uint64_t at = 10; at < 5000; at += 1270) {
        uint32_t model = rules_begin(&test, "det");

        ml_trace_event(&test.trace, 0, model, TRACE_CATEGORY_LOAD, 5000 * T);
        for (uint64_t ms = 0; ms <= 5100; ms += 10)
            put(&test, 0, ms, ms == at ? 77 : 5 + (double)(ms % 70) / 100);
        rules_run(&test);
        REQUIRE(find(test.input->memory, "load", MEMORY_ALL) != NULL);
        CHECK_MB(find(test.input->memory, "load", MEMORY_ALL)->most.peak, 77);
        CHECK_UINT(find(test.input->memory, "load", MEMORY_ALL)->most.peak_ns,
                   ML_TRACE_START + at * T);
        rules_end(&test);
    }
}

static void no_memory(void)
{
    struct rules_test test;
    struct memory *memory;
    enum ifg_status status = IFG_NO_MEMORY;

    begin(&test);
    put_line(&test, 0, 240, 10);
    put_peak(&test, 100, 20);
    rules_run(&test);
    for (long n = 0; status && n < 80; n++) {
        ifg_alloc_fail_after(n);
        status = memory_create(test.input, &memory);
        CHECK(status == IFG_OK || (status == IFG_NO_MEMORY && !memory));
    }
    ifg_alloc_fail_after(-1);
    CHECK_INT(status, IFG_OK);
    memory_destroy(memory);
    rules_end(&test);
}

/* ---- memory-peak-in-load ---- */

static void load(struct rules_test *test, const char *file_bytes, double peak, double after)
{
    uint32_t model = begin(test);

    ml_trace_property(&test->trace, model, "file_bytes", file_bytes);
    put_line(test, 0, 40, 50);
    put_line(test, 50, 60, peak);
    put_line(test, 70, 240, after);
    rules_run(test);
}

static void peak_in_load(void)
{
    struct rules_test test;

    load(&test, "100000000", 350, 160);
    REQUIRE(rules_find(&test, "memory-peak-in-load") != NULL);
    CHECK_STR(rules_find(&test, "memory-peak-in-load")->title,
              "loading peaks at 300 MB, of which 110 MB stay");
    CHECK_CONTAINS(rules_find(&test, "memory-peak-in-load")->evidence, "50 MB before, 350 MB at");
    CHECK(fabs(rules_number(rules_find(&test, "memory-peak-in-load"), "file_mb") - 100) < 0.1);
    CHECK_UINT(rules_find(&test, "memory-peak-in-load")->event_count, 1);
    rules_end(&test);
}

static void no_peak_in_load(void)
{
    struct rules_test test;

    load(&test, "100000000", 350, 340); /* it stays */
    CHECK(!rules_find(&test, "memory-peak-in-load"));
    rules_end(&test);

    load(&test, "300000000", 350, 160); /* no more than the file */
    CHECK(!rules_find(&test, "memory-peak-in-load"));
    rules_end(&test);

    load(&test, "10000000", 140, 60); /* 90 MB: who cares */
    CHECK(!rules_find(&test, "memory-peak-in-load"));
    rules_end(&test);

    begin(&test); /* once a second tells nothing of a load of 100 ms */
    ml_trace_resource(&test.trace, 0, "rss bytes", 0, 50 * MB);
    ml_trace_resource(&test.trace, 0, "rss bytes", 50 * T, 950 * MB);
    ml_trace_resource(&test.trace, 0, "rss bytes", ML_S, 60 * MB);
    rules_run(&test);
    CHECK(!rules_find(&test, "memory-peak-in-load"));
    rules_end(&test);
}

TAP_MAIN(TAP_CASE(phases), TAP_CASE(scene_of_peak), TAP_CASE(peaks_at_edges), TAP_CASE(edges),
         TAP_CASE(once_a_second), TAP_CASE(growth_between_looks), TAP_CASE(growth_is_counted_once),
         TAP_CASE(nothing_known), TAP_CASE(long_lines), TAP_CASE(no_memory), TAP_CASE(peak_in_load),
         TAP_CASE(no_peak_in_load))
