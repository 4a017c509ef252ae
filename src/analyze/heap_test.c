// SPDX-License-Identifier: Apache-2.0
/* Who held the heap, against allocations that were put there; and the rule about churn. */
#include "analyze/heap.h"

#include <math.h>
#include <string.h>

#include "analyze/findings/rules_test.h"
#include "base/alloc.h"
#include "timeline/samples.h"
#include "profile_trace.h"
#include "tap.h"

#define PID    4711u
#define MAIN   5000u
#define WORKER 9001u
#define MB     1e6
#define US     ((uint64_t)ML_US)

enum { NODE_RUN = 2, NODE_KERNEL = 4, NODE_SPIN = 8 };

static struct trace_allocation take(uint64_t at_us, uint32_t tid, uint64_t address,
                                    double megabytes, uint32_t stack)
{
    return (struct trace_allocation){ .time_ns = ML_TRACE_START + at_us * US,
                                      .pid = PID,
                                      .tid = tid,
                                      .address = address,
                                      .bytes = (uint64_t)(megabytes * MB / 2),
                                      .weight = (uint64_t)(megabytes * MB),
                                      .stack = stack };
}

static struct trace_allocation give_back(uint64_t at_us, uint64_t address)
{
    return (struct trace_allocation){ .time_ns = ML_TRACE_START + at_us * US,
                                      .pid = PID,
                                      .tid = MAIN,
                                      .address = address,
                                      .freed = true };
}

/* Ten inferences of 10 ms, one every 12 ms, Conv from 1 to 6 ms of each: see profile_trace.h. Each
 * takes so much in Conv and frees it at its end. */
static void begin(struct rules_test *test, double churn)
{
    ml_trace_begin(&test->trace, NULL);
    profile_trace_write(&test->trace);
    for (unsigned i = 0; churn > 0 && i < PROFILE_TRACE_RUNS; i++) {
        struct trace_allocation items[22];
        size_t count = 0;

        for (unsigned n = 0; n < 10; n++) {
            items[count++] = take(i * 12000 + 2000 + n, MAIN, 0x100000 + n, churn / 10, NODE_RUN);
            items[count++] = give_back(i * 12000 + 9000 + n, 0x100000 + n);
        }
        trace_writer_allocations(test->trace.writer, items, count, 0);
    }
}

static const struct heap_row *find(const struct heap_table *table, const char *name)
{
    for (size_t i = 0; i < table->count; i++)
        if (strcmp(table->rows[i].name, name) == 0)
            return &table->rows[i];
    return NULL;
}

#define CHECK_MB(value, expected) CHECK(fabs((value) - (expected)*MB) < 1)

static void holders(void)
{
    struct rules_test test;
    const struct heap_use *heap;
    const struct heap_row *row;
    uint32_t functions[HEAP_FRAMES];
    const struct trace_allocation items[] = {
        take(500, MAIN, 0x1000, 1, NODE_RUN),
        take(2000, MAIN, 0x2000, 8, NODE_RUN),
        take(2100, WORKER, 0x3000, 4, NODE_SPIN),
        take(2200, MAIN, 0x4000, 2, 0),
        give_back(2500, 0x2000),
        take(3000, MAIN, 0x5000, 1, NODE_RUN),
        give_back(11000, 0x1000),
        take(11500, MAIN, 0x6000, 3, NODE_KERNEL),
    };

    begin(&test, 0);
    trace_writer_allocations(test.trace.writer, items, 8, 5);
    rules_run(&test);
    heap = test.input->heap;
    REQUIRE(heap != NULL);
    CHECK_UINT(heap->lost, 5);
    CHECK_MB(heap->peak.bytes, 15);
    CHECK_UINT(heap->peak_ns, ML_TRACE_START + 2200 * US);
    CHECK_MB(heap->all.bytes, 19);
    CHECK_MB(heap->kept.bytes, 10);
    CHECK_UINT(heap->kept.count, 4);

    row = find(&heap->functions, "run(int)");
    REQUIRE(row != NULL && row == &heap->functions.rows[0]);
    CHECK_MB(row->peak.bytes, 9);
    CHECK_MB(row->all.bytes, 10);
    CHECK_MB(row->kept.bytes, 1);
    CHECK_UINT(row->all.count, 3);
    /* picked with a chance of one half each: the variance is w * w / 2 */
    CHECK(fabs(heap_error(&row->peak) - sqrt((1 + 64) / 2.0) * MB) < 10);
    REQUIRE_UINT(heap_stack(test.input->profile, row->stack, functions), 2);
    CHECK_STR(test.input->profile->functions[functions[1]].name, "main");
    CHECK(find(&heap->functions, "spin") != NULL && find(&heap->functions, "do_page") != NULL);

    REQUIRE_UINT(heap->models.count, 2); /* inferences, and between them */
    CHECK_UINT(heap->models.rows[0].model, 0);
    CHECK(heap->models.rows[0].category == TRACE_CATEGORY_INFERENCE);
    CHECK_MB(heap->models.rows[0].peak.bytes, 15);
    CHECK_MB(heap->models.rows[1].all.bytes, 3);
    row = find(&heap->operators, "Conv");
    REQUIRE(row != NULL);
    CHECK_MB(row->peak.bytes, 14); /* what the worker took then is counted with it */
    REQUIRE_UINT(heap->threads.count, 2);
    CHECK_MB(heap->threads.rows[0].peak.bytes, 11);
    rules_end(&test);
}

static void allocators(void)
{
    CHECK(heap_is_allocator("malloc", "libc.so.6"));
    CHECK(heap_is_allocator("operator new(unsigned long)", "libstdc++.so.6"));
    CHECK(heap_is_allocator("std::vector<int>::_M_default_append(unsigned long)", "app"));
    CHECK(heap_is_allocator("onnxruntime::BFCArena::Extend(unsigned long)", "libonnxruntime.so.1"));
    CHECK(heap_is_allocator("", "libinferogram-memory.so"));
    CHECK(!heap_is_allocator("onnxruntime::Conv<float>::Compute", "libonnxruntime.so.1"));
    CHECK(!heap_is_allocator("mallocate", "app"));
    CHECK(!heap_is_allocator("", "libonnxruntime.so.1"));
}

static void none(void)
{
    struct rules_test test;

    begin(&test, 0);
    rules_run(&test);
    CHECK(test.input->heap == NULL);
    rules_end(&test);
}

static void churn(void)
{
    struct rules_test test;
    const struct finding *finding;

    begin(&test, 40);
    rules_run(&test);
    REQUIRE(test.input->heap != NULL && test.input->heap->churn_count == 1);
    CHECK_UINT(test.input->heap->churns[0].inferences, 9);
    CHECK_MB(test.input->heap->churns[0].allocated.bytes, 360);
    CHECK_MB(test.input->heap->churns[0].freed.bytes, 360);
    finding = rules_find(&test, "heap-churn");
    REQUIRE(finding != NULL);
    CHECK_STR(finding->title, "each inference allocates 40 MB and frees it again");
    CHECK_CONTAINS(finding->evidence, "each of 9 inferences");
    CHECK_CONTAINS(finding->fix, "IoBinding");
    CHECK_INT(finding->severity, FINDING_MEDIUM);
    rules_end(&test);
}

static void no_churn(void)
{
    struct rules_test test;

    begin(&test, 5); /* too little */
    rules_run(&test);
    CHECK(!rules_find(&test, "heap-churn"));
    rules_end(&test);

    begin(&test, 0); /* kept: that is another matter */
    for (unsigned i = 0; i < PROFILE_TRACE_RUNS; i++)
        trace_writer_allocations(
            test.trace.writer,
            (struct trace_allocation[]){ take(i * 12000 + 2000, MAIN, 0x1000 + i, 40, NODE_RUN) },
            1, 0);
    rules_run(&test);
    CHECK(!rules_find(&test, "heap-churn"));
    rules_end(&test);

    begin(&test, 0); /* one that was picked by chance, for all of them: no evidence */
    trace_writer_allocations(test.trace.writer,
                             (struct trace_allocation[]){ take(14000, MAIN, 0x1000, 200, NODE_RUN),
                                                          give_back(15000, 0x1000) },
                             2, 0);
    rules_run(&test);
    CHECK(!rules_find(&test, "heap-churn"));
    rules_end(&test);
}

static void no_memory(void)
{
    struct rules_test test;
    struct heap_use *heap;
    enum ifg_status status = IFG_NO_MEMORY;

    begin(&test, 40);
    rules_run(&test);
    for (long n = 0; status && n < 60; n++) {
        ifg_alloc_fail_after(n);
        status = heap_use_create(test.input, &heap, NULL);
        CHECK(status == IFG_OK || (status == IFG_NO_MEMORY && !heap));
    }
    ifg_alloc_fail_after(-1);
    CHECK_INT(status, IFG_OK);
    heap_use_destroy(heap);
    rules_end(&test);
}

TAP_MAIN(TAP_CASE(holders), TAP_CASE(allocators), TAP_CASE(none), TAP_CASE(churn),
         TAP_CASE(no_churn), TAP_CASE(no_memory))
