// SPDX-License-Identifier: Apache-2.0
/* Allocations of a trace: their ends, what ran then, and traces that have nothing else. */
#include "timeline/allocations.h"

#include <string.h>

#include "base/alloc.h"
#include "profile_trace.h"
#include "tap.h"

#define PID    4711u
#define MAIN   5000u
#define WORKER 9001u
#define US     ((uint64_t)ML_US)

static struct trace_allocation take(uint64_t at_us, uint32_t tid, uint64_t address, uint64_t bytes)
{
    return (struct trace_allocation){ .time_ns = ML_TRACE_START + at_us * US,
                                      .pid = PID,
                                      .tid = tid,
                                      .address = address,
                                      .bytes = bytes,
                                      .weight = bytes * 2,
                                      .stack = 2 };
}

static struct trace_allocation give_back(uint64_t at_us, uint32_t pid, uint64_t address)
{
    return (struct trace_allocation){ .time_ns = ML_TRACE_START + at_us * US,
                                      .pid = pid,
                                      .tid = WORKER,
                                      .address = address,
                                      .freed = true };
}

/* Times as in profile_trace.h: an inference from 0 to 10 ms, its Conv from 1 to 6. */
static void write_heap(struct ml_trace *trace)
{
    const struct trace_allocation first[] = {
        take(500, MAIN, 0x1000, 100),
        take(2000, MAIN, 0x2000, 200),
        give_back(3000, PID, 0x1000),
        take(3000, MAIN, 0x1000, 300),
    };
    const struct trace_allocation second[] = {
        take(4000, WORKER, 0x3000, 400), give_back(4500, PID + 1, 0x2000),
        give_back(5000, PID, 0x9999),    take(6500, MAIN, 0x1000, 500),
        give_back(11000, PID, 0x2000),   take(11000, WORKER, 0x5000, 600),
    };

    trace_writer_allocations(trace->writer, second, 6, 9);
    trace_writer_allocations(trace->writer, first, 4, 4);
}

static uint64_t at(uint64_t us)
{
    return ML_TRACE_START + us * US;
}

static void ends_and_joins(void)
{
    struct ml_trace trace;
    const struct timeline_allocations *heap, *again;
    const struct timeline_heap_allocation *item;

    ml_trace_begin(&trace, NULL);
    profile_trace_write(&trace);
    write_heap(&trace);
    REQUIRE(ml_trace_load(&trace));
    CHECK(timeline_has_allocations(trace.timeline));
    REQUIRE(timeline_allocations_get(trace.timeline, &heap, NULL) == IFG_OK);
    REQUIRE(timeline_allocations_get(trace.timeline, &again, NULL) == IFG_OK && again == heap);
    REQUIRE(heap->count == 6);
    CHECK_UINT(heap->lost, 9);
    item = heap->items;

    CHECK_UINT(item[0].freed_ns, at(3000)); /* and another one at the same place, at once */
    CHECK_UINT(item[0].bytes, 100);
    CHECK_UINT(item[0].weight, 200);
    CHECK_STR(timeline_allocation_model(trace.timeline, &item[0]), "ocr");
    CHECK(item[0].op == TIMELINE_NONE && item[0].join == TIMELINE_JOIN_OWN && item[0].stack == 2);
    CHECK(item[0].process == 0 && item[0].thread == 0);

    CHECK_UINT(item[1].freed_ns, at(11000)); /* not by another process */
    CHECK(item[1].op != TIMELINE_NONE && item[1].slice != SIZE_MAX);

    CHECK_UINT(item[2].ns, at(3000));
    CHECK_UINT(item[2].freed_ns, at(6500)); /* its end was not told; there is another one now */

    CHECK_UINT(item[3].freed_ns, UINT64_MAX);
    CHECK(item[3].join == TIMELINE_JOIN_LENT && item[3].op != TIMELINE_NONE);
    CHECK(item[3].thread == TIMELINE_NONE && item[3].process == 0);

    CHECK_UINT(item[4].bytes, 500);
    CHECK_UINT(item[4].freed_ns, UINT64_MAX);

    CHECK(item[5].join == TIMELINE_JOIN_NONE && item[5].slice == SIZE_MAX);
    CHECK(!timeline_allocation_model(trace.timeline, &item[5]));
    ml_trace_end(&trace);
}

/* Neither samples nor switches: there is a profile all the same, for the names. */
static void nothing_else(void)
{
    struct ml_trace trace;
    const struct timeline_allocations *heap;
    const struct timeline_profile *profile;

    ml_trace_begin(&trace, NULL);
    ml_trace_event(&trace, 0, ml_trace_model(&trace, &(struct ml_trace_model){ .name = "ocr" }),
                   TRACE_CATEGORY_INFERENCE, 10 * ML_MS);
    write_heap(&trace);
    REQUIRE(ml_trace_load(&trace));
    CHECK(!timeline_has_profile(trace.timeline));
    REQUIRE(timeline_allocations_get(trace.timeline, &heap, NULL) == IFG_OK && heap);
    REQUIRE(timeline_profile_get(trace.timeline, &profile, NULL) == IFG_OK && profile);
    CHECK_UINT(heap->count, 6);
    CHECK_UINT(heap->items[1].stack, 0); /* there are no stacks */
    CHECK_UINT(profile->sample_count + profile->switch_count, 0);
    ml_trace_end(&trace);
}

static void none(void)
{
    struct ml_trace trace;
    const struct timeline_allocations *heap;

    ml_trace_begin(&trace, NULL);
    profile_trace_write(&trace);
    REQUIRE(ml_trace_load(&trace));
    CHECK(!timeline_has_allocations(trace.timeline));
    REQUIRE(timeline_allocations_get(trace.timeline, &heap, NULL) == IFG_OK);
    CHECK(!heap);
    ml_trace_end(&trace);
}

/* Frees only, as when everything else was lost. */
static void only_ends(void)
{
    struct ml_trace trace;
    const struct timeline_allocations *heap;
    const struct trace_allocation end = give_back(1, PID, 0x1000);

    ml_trace_begin(&trace, NULL);
    trace_writer_allocations(trace.writer, &end, 1, 2);
    REQUIRE(ml_trace_load(&trace));
    REQUIRE(timeline_allocations_get(trace.timeline, &heap, NULL) == IFG_OK && heap);
    CHECK_UINT(heap->count, 0);
    CHECK_UINT(heap->lost, 2);
    ml_trace_end(&trace);
}

static void out_of_memory(void)
{
    struct ml_trace trace;
    const struct timeline_profile *profile;
    unsigned failures = 0;

    ml_trace_begin(&trace, NULL);
    profile_trace_write(&trace);
    write_heap(&trace);
    REQUIRE(ml_trace_load(&trace));
    REQUIRE(timeline_profile_get(trace.timeline, &profile, NULL) == IFG_OK);
    for (long n = 0; n < 1000; n++) {
        const struct timeline_allocations *heap;
        enum ifg_status status;

        ifg_alloc_fail_after(n);
        status = timeline_allocations_get(trace.timeline, &heap, NULL);
        ifg_alloc_fail_after(-1);
        if (!status)
            break;
        CHECK_INT(status, IFG_NO_MEMORY);
        CHECK(!heap);
        failures++;
    }
    CHECK(failures > 5 && failures < 1000);
    ml_trace_end(&trace);
}

TAP_MAIN(TAP_CASE(ends_and_joins), TAP_CASE(nothing_else), TAP_CASE(none), TAP_CASE(only_ends),
         TAP_CASE(out_of_memory))
