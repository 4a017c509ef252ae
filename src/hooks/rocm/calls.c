// SPDX-License-Identifier: Apache-2.0
/*
 * Calls of HIP that launch, copy, set or wait: seen by rocprofiler-sdk on the threads that make
 * them. Only these are asked for, by their names. A call is written when it is over, and so lies in
 * what is open on its thread.
 *
 * Work gets the number of the call that it is made in when it is enqueued, on the thread that does
 * it: rocprofiler-sdk asks for one then. Its own numbers would be those of calls below HIP's where
 * another tool looks at these, too.
 */
#include <stdio.h>

#include "client/device.h"
#include "hooks/rocm/hook.h"
#include "trace/keys.h"

#define OPERATIONS 2048u
#define DEPTH      8u
#define VARIANT    "_spt" /* the default stream is one of the thread's */

enum what { NOTHING, KERNEL, GRAPH, COPY, SET, SYNC };

static const char *const whats[] = {
    "", TRACE_WORK_KERNEL, TRACE_WORK_GRAPH, TRACE_WORK_MEMCPY, TRACE_WORK_MEMSET, TRACE_WORK_SYNC
};

static struct {
    char name[64];
    enum what what;
    uint32_t location; /* 0: there is none yet */
} operations[OPERATIONS];

static int32_t asked[OPERATIONS];
static size_t asked_count;
static uint64_t since;      /* ticks: a call that began before was not seen to begin */
static uint32_t recordings; /* so many have begun: calls of one are not those of the next */

struct open_calls {
    uint32_t recording;
    uint32_t depth;
    uint32_t numbers[DEPTH];
};
static __thread struct open_calls open_calls __attribute__((tls_model("initial-exec")));

/* ---- which ---- */

static bool begins(const char *name, const char *with)
{
    return strncmp(name, with, strlen(with)) == 0;
}

static enum what what_of(const char *name)
{
    if (strcmp(name, "hipGraphLaunch") == 0)
        return GRAPH;
    if (strstr(name, "Graph") || begins(name, "hipLaunchHostFunc"))
        return NOTHING;
    if (begins(name, "hipMemcpy") || begins(name, "hipDrvMemcpy"))
        return COPY;
    if (begins(name, "hipMemset"))
        return SET;
    if (strstr(name, "Launch"))
        return KERNEL;
    if (strlen(name) > strlen("Synchronize") &&
        strcmp(name + strlen(name) - strlen("Synchronize"), "Synchronize") == 0)
        return SYNC;
    return NOTHING;
}

static int take_operation(int kind, int operation, void *user)
{
    const char *name = NULL;
    char *end;

    (void)user;
    if (operation < 0 || operation >= (int)OPERATIONS ||
        rocm.query_callback_tracing_kind_operation_name(kind, operation, &name, NULL) != ROCM_OK ||
        !name)
        return 0;
    snprintf(operations[operation].name, sizeof operations[0].name, "%s", name);
    end = strstr(operations[operation].name, VARIANT);
    if (end && !end[strlen(VARIANT)])
        *end = '\0';
    operations[operation].what = what_of(operations[operation].name);
    if (operations[operation].what != NOTHING && asked_count < OPERATIONS)
        asked[asked_count++] = operation;
    return 0;
}

/* ---- when ---- */

void calls_begin(void)
{
    __atomic_fetch_add(&recordings, 1, __ATOMIC_RELAXED);
    __atomic_store_n(&since, ifg_ticks(), __ATOMIC_RELAXED);
}

static uint32_t location_of(int operation)
{
    uint32_t location = __atomic_load_n(&operations[operation].location, __ATOMIC_ACQUIRE);

    if (!location) {
        location =
            ifg_device_location(1, operations[operation].name, whats[operations[operation].what]);
        __atomic_store_n(&operations[operation].location, location, __ATOMIC_RELEASE);
    }
    return location;
}

static void enter(uint32_t number)
{
    uint32_t recording = __atomic_load_n(&recordings, __ATOMIC_RELAXED);

    if (open_calls.recording != recording) {
        open_calls.recording = recording;
        open_calls.depth = 0;
    }
    if (open_calls.depth < DEPTH)
        open_calls.numbers[open_calls.depth] = number;
    open_calls.depth++;
}

static void leave(void)
{
    if (open_calls.recording == __atomic_load_n(&recordings, __ATOMIC_RELAXED) && open_calls.depth)
        open_calls.depth--;
}

static void callback(struct rocm_event event, uint64_t *kept, void *user)
{
    uint32_t number = (uint32_t)event.correlation;

    (void)user;
    if (event.operation < 0 || event.operation >= (int)OPERATIONS ||
        operations[event.operation].what == NOTHING || !kept)
        return;
    if (event.phase == ROCM_PHASE_ENTER) {
        enter(number);
        *kept = ifg_ticks();
    } else if (event.phase == ROCM_PHASE_EXIT) {
        leave();
        if (*kept >= __atomic_load_n(&since, __ATOMIC_RELAXED))
            ifg_device_call(location_of(event.operation), *kept, number);
    }
}

/* 0: it is in no call that we see. */
int calls_current(uint64_t thread, uint64_t context, int kind, int operation, uint64_t correlation,
                  uint64_t *out, void *user)
{
    uint32_t depth = open_calls.depth;

    (void)thread, (void)context, (void)kind, (void)operation, (void)correlation, (void)user;
    if (open_calls.recording != __atomic_load_n(&recordings, __ATOMIC_RELAXED))
        depth = 0;
    *out = depth ? open_calls.numbers[(depth < DEPTH ? depth : DEPTH) - 1] : 0;
    return 0;
}

int calls_configure(uint64_t context, int kind)
{
    int result;

    asked_count = 0;
    result = rocm.iterate_callback_tracing_kind_operations(kind, take_operation, NULL);
    if (result != ROCM_OK || !asked_count) /* no operations would mean all of them */
        return result != ROCM_OK ? result : 1;
    return rocm.configure_callback_tracing_service(context, kind, asked, asked_count, callback,
                                                   NULL);
}
