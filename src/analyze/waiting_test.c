// SPDX-License-Identifier: Apache-2.0
/* Run-queue wait, wakers and names from planted context switches, with inferences around them. */
#include "analyze/waiting.h"

#include <string.h>

#include "ml_trace.h"
#include "tap.h"
#include "trace/samples.h"

#define PID    4711u
#define MAIN   5000u
#define WORKER 9001u
#define OTHER  77u

static struct trace_switch changes[64];
static size_t count;

static void at(uint64_t us, uint32_t tid, enum trace_switch_kind kind, uint32_t waker)
{
    changes[count++] = (struct trace_switch){ .time_ns = ML_TRACE_START + us * ML_US,
                                              .pid = PID,
                                              .tid = tid,
                                              .kind = (uint8_t)kind,
                                              .other_pid = waker ? PID : 0,
                                              .other_tid = waker };
}

/* Two inferences of 10 ms, 10 ms apart. In each the thread sleeps from 2 to 5 ms, is woken by the
 * worker at 4 ms, and gets a CPU at 5 ms. */
static void plan(bool with_wakers)
{
    count = 0;
    at(0, MAIN, TRACE_SWITCH_IN, 0);
    for (uint64_t i = 0; i < 2; i++) {
        at(i * 20000 + 2000, MAIN, TRACE_SWITCH_BLOCKED, 0);
        if (with_wakers)
            at(i * 20000 + 4000, MAIN, TRACE_SWITCH_WOKEN, WORKER);
        at(i * 20000 + 5000, MAIN, TRACE_SWITCH_IN, 0);
    }
    at(35000, MAIN, TRACE_SWITCH_BLOCKED, 0);
    if (with_wakers)
        at(36000, MAIN, TRACE_SWITCH_WOKEN, 0);
    at(36500, MAIN, TRACE_SWITCH_IN, 0);
    at(37000, MAIN, TRACE_SWITCH_BLOCKED, 0);
    at(0, WORKER, TRACE_SWITCH_IN, 0);
    at(1000, WORKER, TRACE_SWITCH_DISK, 0);
    at(1001, WORKER, TRACE_SWITCH_BLOCKED, 0);
    at(3001, WORKER, TRACE_SWITCH_IN, 0);
    at(30000, WORKER, TRACE_SWITCH_PREEMPTED, 0);
}

static struct waiting *begin(struct ml_trace *trace, bool with_wakers)
{
    static const struct trace_thread_name names[] = { { PID, WORKER, "early" },
                                                      { 1, OTHER, "kworker/0:1" },
                                                      { PID, WORKER, "ort-worker" } };
    struct waiting *waiting = NULL;
    uint32_t model;

    ml_trace_begin(trace, NULL);
    model = ml_trace_model(trace, &(struct ml_trace_model){ .name = "ocr" });
    for (int i = 0; i < 2; i++) {
        ml_trace_event(trace, 0, model, TRACE_CATEGORY_INFERENCE, 10 * ML_MS);
        ml_trace_wait(trace, 0, 10 * ML_MS);
    }
    plan(with_wakers);
    /* Wakeups come from other rings: blocks need not be in order. */
    trace_writer_switches(trace->writer, changes + count / 2, count - count / 2);
    trace_writer_switches(trace->writer, changes, count / 2);
    trace_writer_thread_names(trace->writer, names, 2);
    trace_writer_thread_names(trace->writer, names + 2, 1);
    REQUIRE(ml_trace_load(trace));
    REQUIRE(waiting_create(trace->timeline, &waiting, NULL) == IFG_OK);
    REQUIRE(waiting);
    return waiting;
}

static const struct waiting_thread *find(const struct ml_trace *trace,
                                         const struct waiting *waiting, uint32_t tid,
                                         const struct timeline_profile **out_profile)
{
    REQUIRE(timeline_profile_get(trace->timeline, out_profile, NULL) == IFG_OK && *out_profile);
    for (size_t i = 0; i < waiting->thread_count; i++)
        if ((*out_profile)->threads[waiting->threads[i].thread].tid == tid)
            return &waiting->threads[i];
    return NULL;
}

static void with_wakers(void)
{
    struct ml_trace trace;
    struct waiting *waiting = begin(&trace, true);
    const struct timeline_profile *profile;
    const struct waiting_thread *thread = find(&trace, waiting, MAIN, &profile);

    CHECK(waiting->has_wakers);
    CHECK_UINT(waiting->models[0].inferences, 2);
    CHECK_UINT(waiting->models[0].ns[TIMELINE_RUNNABLE], 2 * ML_MS); /* from wakeup to running */
    CHECK_UINT(waiting->models[0].ns[TIMELINE_BLOCKED], 4 * ML_MS);
    CHECK_UINT(waiting->models[0].longest_wait_ns, ML_MS);
    REQUIRE(thread);
    CHECK_UINT(thread->wakes, 3);
    CHECK_UINT(thread->wake_ns, 2 * ML_MS + 500 * ML_US);
    CHECK_UINT(thread->waker, WORKER);
    CHECK_UINT(thread->waker_times, 2);
    CHECK_UINT(thread->disk_ns, 0);
    thread = find(&trace, waiting, WORKER, &profile);
    REQUIRE(thread);
    CHECK_UINT(thread->wakes, 0);
    CHECK_UINT(thread->disk_ns, 2001 * ML_US);
    CHECK_UINT(thread->ns[TIMELINE_BLOCKED], 2001 * ML_US);
    waiting_destroy(waiting);
    ml_trace_end(&trace);
}

/* The same program, recorded by somebody who may not see wakeups. */
static void without_wakers(void)
{
    struct ml_trace trace;
    struct waiting *waiting = begin(&trace, false);

    CHECK(!waiting->has_wakers);
    CHECK_UINT(waiting->models[0].ns[TIMELINE_RUNNABLE], 0);
    CHECK_UINT(waiting->models[0].ns[TIMELINE_BLOCKED], 6 * ML_MS);
    waiting_destroy(waiting);
    ml_trace_end(&trace);
}

static void names(void)
{
    struct ml_trace trace;
    struct waiting *waiting = begin(&trace, true);
    const struct timeline_profile *profile;
    const struct waiting_thread *worker = find(&trace, waiting, WORKER, &profile);

    REQUIRE(worker);
    CHECK_STR(profile->threads[worker->thread].name, "ort-worker"); /* it has no zones */
    CHECK_STR(timeline_kernel_name(profile, WORKER), "ort-worker");
    CHECK_STR(timeline_kernel_name(profile, OTHER), "kworker/0:1"); /* nor was it recorded */
    CHECK_STR(timeline_kernel_name(profile, 1), "");
    CHECK_STR(timeline_kernel_name(profile, UINT32_MAX), "");
    waiting_destroy(waiting);
    ml_trace_end(&trace);
}

TAP_MAIN(TAP_CASE(with_wakers), TAP_CASE(without_wakers), TAP_CASE(names))
