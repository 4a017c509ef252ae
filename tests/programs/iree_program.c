// SPDX-License-Identifier: Apache-2.0
/*
 * Every macro that a tracing provider gives to IREE, the way IREE's runtime uses them: zone ids in
 * structures and results, 0 as "no zone", names that are known only at run time. Compiled as C and
 * as C++, in every tracing mode and with IFG_DISABLE; it prints the same each time.
 */
#include "iree_stand_in.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* IREE's pools have names in variables, and its frames of the VM have zones. */
static const char *const pool_name = "device pool";
struct frame {
    char odd[4];
    iree_zone_id_t zone;
};

static iree_zone_id_t begin_dispatch(const char *name, size_t length)
{
    static const char file[] = "model.mlir, and more";

    (void)file, (void)name, (void)length;
    IREE_TRACE_ZONE_BEGIN_EXTERNAL(z0, file, 10, 42, name, length, NULL, 0);
    IREE_TRACE_ZONE_APPEND_TEXT(z0, "tag");
    return z0;
}

static int fails_if(int status)
{
    IREE_TRACE_ZONE_BEGIN(z0);
    IREE_RETURN_AND_END_ZONE_IF_ERROR(z0, status);
    IREE_RETURN_AND_END_ZONE(z0, status + 100);
}

static void zones(void)
{
    char name[] = "vm.call xyz";
    struct frame frame = { "abc", 0 };

    (void)name;
    IREE_TRACE_ZONE_BEGIN(z0);
    IREE_TRACE_ZONE_BEGIN_NAMED(z1, "named");
    IREE_TRACE_ZONE_SET_COLOR(z1, 0x123456);
    IREE_TRACE_ZONE_APPEND_VALUE_I64(z1, -7);
    IREE_TRACE_ZONE_APPEND_VALUE_I64(z1, 8);
    IREE_TRACE_ZONE_APPEND_TEXT(z1, "whole");
    IREE_TRACE_ZONE_APPEND_TEXT(z1, "part of it", 4);
    for (int i = 0; i < 3; i++) {
        name[8] = (char)('x' + i % 2); /* the same memory, another name */
        IREE_TRACE_ZONE_BEGIN_NAMED_DYNAMIC(z2, name, 9);
        IREE_TRACE_ZONE_END(z2);
    }
    frame.zone = begin_dispatch("dispatch_0", 10);
    if (frame.zone)
        IREE_TRACE_ZONE_END(frame.zone);
    frame.zone = 0;
    IREE_TRACE_ZONE_END(frame.zone); /* no zone */
    IREE_TRACE_ZONE_END(begin_dispatch("dispatch_1, not all", 10));
    IREE_TRACE_ZONE_END(begin_dispatch("dispatch_0", strlen("dispatch_0")));
    {
        IREE_TRACE_ZONE_BEGIN_EXTERNAL(z3, "a.c", 3, 1, "function", 8, "own name", 8);
        IREE_TRACE_ZONE_END(z3);
    }
    IREE_TRACE_ZONE_END(z1);
    IREE_TRACE_ZONE_END(z0);
}

static void plots(void)
{
    char late[] = "task executor";

    (void)late;
    IREE_TRACE_SET_PLOT_TYPE("pending", IREE_TRACING_PLOT_TYPE_NUMBER, true, true, 0);
    IREE_TRACE_SET_PLOT_TYPE("cached", IREE_TRACING_PLOT_TYPE_MEMORY, true, true, 0);
    IREE_TRACE_SET_PLOT_TYPE(late, IREE_TRACING_PLOT_TYPE_PERCENTAGE, true, false, 0);
    IREE_TRACE_PLOT_VALUE_I64("pending", -3);
    IREE_TRACE_PLOT_VALUE_I64("cached", (int64_t)1 << 40);
    IREE_TRACE_PLOT_VALUE_F32(late, 50.0f);
    late[0] = 'T';
    IREE_TRACE_PLOT_VALUE_F64(late, 0.25);
    IREE_TRACE_SET_PLOT_TYPE("pending", IREE_TRACING_PLOT_TYPE_MEMORY, true, true, 0); /* late */
    IREE_TRACE_PLOT_VALUE_I64("pending", 4);
}

static void memory(void)
{
    void *block = malloc(64);
    void *gone = iree_tracing_obscure_ptr(block);

    (void)pool_name, (void)gone;
    IREE_TRACE_ALLOC(block, 64);
    IREE_TRACE_ALLOC_NAMED(pool_name, (void *)(uintptr_t)0x1000, 4096);
    IREE_TRACE_FREE_NAMED(pool_name, (void *)(uintptr_t)0x1000);
    free(block);
    IREE_TRACE_FREE(gone);
}

static void messages(void)
{
    IREE_TRACE_MESSAGE(ERROR, "an error");
    IREE_TRACE_MESSAGE(WARNING, "a warning");
    IREE_TRACE_MESSAGE(INFO, "a fact");
    IREE_TRACE_MESSAGE(VERBOSE, "a detail");
    IREE_TRACE_MESSAGE(DEBUG, "a step");
    IREE_TRACE_MESSAGE_COLORED(IREE_TRACING_MESSAGE_LEVEL_WARNING, "yellow");
    IREE_TRACE_MESSAGE_COLORED(0x0000ff, "blue");
    IREE_TRACE_MESSAGE_DYNAMIC(ERROR, "copied, cut", 6);
    IREE_TRACE_MESSAGE_DYNAMIC_COLORED(IREE_TRACING_MESSAGE_LEVEL_DEBUG, "green, cut", 5);
}

static void frames(void)
{
    IREE_TRACE_FRAME_MARK();
    IREE_TRACE_FRAME_MARK_NAMED("Iteration");
    IREE_TRACE_FRAME_MARK_NAMED("Iteration");
    IREE_TRACE_FRAME_MARK_BEGIN_NAMED("init");
    IREE_TRACE_FRAME_MARK_END_NAMED("init");
}

/* An invocation that waits in between and goes on on another thread. */
static void *resume(void *unused)
{
    IREE_TRACE_SET_THREAD_NAME("iree-worker-0");
    IREE_TRACE_ZONE_BEGIN_NAMED(tick, "tick");
    IREE_TRACE_FIBER_ENTER((intptr_t)17);
    IREE_TRACE_FIBER_LEAVE();
    IREE_TRACE_ZONE_END(tick);
    return unused;
}

static int fibers(void)
{
    pthread_t thread;

    IREE_TRACE_FIBER_ENTER((intptr_t)17);
    IREE_TRACE_FIBER_ENTER((intptr_t)18); /* a context that another one runs in */
    IREE_TRACE_FIBER_LEAVE();
    if (pthread_create(&thread, NULL, resume, NULL))
        return 1;
    return pthread_join(thread, NULL);
}

#ifdef __cplusplus
static void inner_scope()
{
    IREE_TRACE_SCOPE_NAMED("scoped");
    IREE_TRACE_ZONE_APPEND_TEXT(IREE_TRACE_SCOPE_ID, "in a scope");
}

static void scopes()
{
    IREE_TRACE_SCOPE();
    IREE_TRACE_ZONE_APPEND_VALUE_I64(IREE_TRACE_SCOPE_ID, 5);
    inner_scope();
    inner_scope();
}
#endif

int main(void)
{
    int results;

    IREE_TRACE_APP_ENTER();
    IREE_TRACE_SET_APP_INFO("version 7, cut", 9);
    IREE_TRACE_PUBLISH_SOURCE_FILE("a.mlir", 6, "func", 4);
    IREE_TRACE(int only_traced = 1);
    zones();
    plots();
    memory();
    messages();
    frames();
    results = fails_if(3) * 1000 + fails_if(0);
#ifdef __cplusplus
    scopes();
#endif
    if (fibers())
        return 1;
    IREE_TRACE(results += only_traced - 1);
    printf("%d\n", results);
    IREE_TRACE_APP_EXIT(0);
    return 0;
}
