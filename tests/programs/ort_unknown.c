// SPDX-License-Identifier: Apache-2.0
/*
 * A library that looks like an ONNX Runtime of the future: version 1.99.0, a longer table. As much
 * of it works as ort_app calls for a model without inputs; anything else ends the program: a hook
 * that calls more than it has to in a version that nobody tested is found out. It tells how often
 * it was called. With ORT_UNKNOWN_FOREIGN one of its functions is not its own.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ort_min.h"

#define SLOTS       600
#define SLOT_UNUSED 400

const struct ort_base *OrtGetApiBase(void);

static ort_function table[SLOTS];
static char object; /* every object of this runtime */
static int sessions;
static int runs;
static int released;

static void unexpected(void)
{
    fprintf(stderr, "ort_unknown: a function that nobody asked for was called\n");
    abort();
}

static void *ok(void)
{
    return NULL;
}

static void nothing(void *what)
{
    (void)what;
}

static void *make(void **out)
{
    *out = &object;
    return NULL;
}

static void *create_env(int severity, const char *name, void **out)
{
    (void)severity;
    (void)name;
    return make(out);
}

static void *create_memory_info(int allocator, int type, void **out)
{
    (void)allocator;
    (void)type;
    return make(out);
}

static void *create_session(void *env, const char *file, void *options, void **out)
{
    (void)env;
    (void)file;
    (void)options;
    sessions++;
    return make(out);
}

static void *count_none(void *session, size_t *out_count)
{
    (void)session;
    *out_count = 0;
    return NULL;
}

static void *run(void)
{
    runs++;
    return NULL;
}

static void release_session(void *session)
{
    (void)session;
    released++;
}

static void release_env(void *env)
{
    (void)env;
    printf("unknown runtime: %d sessions, %d runs, %d released\n", sessions, runs, released);
}

static const char *version(void)
{
    return "1.99.0";
}

static void set(enum ort_slot slot, ort_function function)
{
    table[slot] = function;
}

#ifdef ORT_INSIDE
/* Like a runtime that was linked into a program: a version that is known, its table is data. */
static const ort_function inside[425] = {
    [0 ... 424] = unexpected,
    [ORT_CreateEnv] = (ort_function)create_env,
    [ORT_CreateSession] = (ort_function)create_session,
    [ORT_Run] = (ort_function)run,
    [ORT_CreateSessionOptions] = (ort_function)make,
    [ORT_SetIntraOpNumThreads] = (ort_function)ok,
    [ORT_SessionGetInputCount] = (ort_function)count_none,
    [ORT_SessionGetOutputCount] = (ort_function)count_none,
    [ORT_CreateCpuMemoryInfo] = (ort_function)create_memory_info,
    [ORT_GetAllocatorWithDefaultOptions] = (ort_function)make,
    [ORT_ReleaseEnv] = (ort_function)release_env,
    [ORT_ReleaseMemoryInfo] = (ort_function)nothing,
    [ORT_ReleaseSession] = (ort_function)release_session,
    [ORT_ReleaseSessionOptions] = (ort_function)nothing,
};

static const char *inside_version(void)
{
    return "1.30.0";
}

static ort_table get_inside(uint32_t wanted)
{
    return wanted && wanted <= 30 ? inside : NULL;
}
#endif

static ort_table get_api(uint32_t wanted)
{
    if (wanted == 0 || wanted > 99)
        return NULL;
    for (size_t i = 0; i < SLOTS; i++)
        table[i] = unexpected;
    set(ORT_CreateEnv, (ort_function)create_env);
    set(ORT_CreateSession, (ort_function)create_session);
    set(ORT_Run, (ort_function)run);
    set(ORT_CreateSessionOptions, (ort_function)make);
    set(ORT_SetIntraOpNumThreads, (ort_function)ok);
    set(ORT_SessionGetInputCount, (ort_function)count_none);
    set(ORT_SessionGetOutputCount, (ort_function)count_none);
    set(ORT_CreateCpuMemoryInfo, (ort_function)create_memory_info);
    set(ORT_GetAllocatorWithDefaultOptions, (ort_function)make);
    set(ORT_ReleaseEnv, (ort_function)release_env);
    set(ORT_ReleaseMemoryInfo, (ort_function)nothing);
    set(ORT_ReleaseSession, (ort_function)release_session);
    set(ORT_ReleaseSessionOptions, (ort_function)nothing);
    if (getenv("ORT_UNKNOWN_FOREIGN"))
        table[SLOT_UNUSED] = (ort_function)abort;
    return table;
}

__attribute__((visibility("default"))) const struct ort_base *OrtGetApiBase(void)
{
#ifdef ORT_INSIDE
    static const struct ort_base base = { get_inside, inside_version };

    (void)get_api;
    (void)version;
#else
    static const struct ort_base base = { get_api, version };
#endif

    return &base;
}
