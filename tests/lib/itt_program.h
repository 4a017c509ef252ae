// SPDX-License-Identifier: Apache-2.0
/*
 * What the static part of ITT is in a program: a list of functions with their pointers, a collector
 * that is asked for at the first call, and domains that can be switched off. For tests and
 * benchmarks, which must not need Intel's.
 */
#ifndef IFG_TESTS_ITT_PROGRAM_H
#define IFG_TESTS_ITT_PROGRAM_H

#include <dlfcn.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "hooks/itt/itt_abi.h"

typedef void itt_init_function(struct itt_global *global, int groups);

enum itt_program_function {
    ITT_DOMAIN_CREATE,
    ITT_STRING_CREATE,
    ITT_TASK_BEGIN,
    ITT_TASK_END,
    ITT_OVERLAPPED_BEGIN,
    ITT_OVERLAPPED_END,
    ITT_FRAME_BEGIN,
    ITT_FRAME_END,
    ITT_FRAME_SUBMIT,
    ITT_TIMESTAMP,
    ITT_MARKER,
    ITT_METADATA,
    ITT_METADATA_STR,
    ITT_COUNTER_CREATE,
    ITT_COUNTER_INC_DELTA,
    ITT_COUNTER_SET,
    ITT_COUNTER_INC_V3,
    ITT_EVENT_CREATE,
    ITT_EVENT_START,
    ITT_EVENT_END,
    ITT_PAUSE,
    ITT_RESUME,
    ITT_THREAD_NAME,
    ITT_SYNC_CREATE, /* not for us */
    ITT_FUNCTIONS,
};

static void *itt_pointers[ITT_FUNCTIONS];
static char itt_initial; /* its address is a function that was not bound */
static struct itt_domain itt_early_domain = { .name = "early" };

#define ITT_ENTRY(index, text)                                                                     \
    [index] = { "__itt_" text, &itt_pointers[index], &itt_initial, NULL, 0 }
static struct itt_api itt_list[ITT_FUNCTIONS + 1] = {
    ITT_ENTRY(ITT_DOMAIN_CREATE, "domain_create"),
    ITT_ENTRY(ITT_STRING_CREATE, "string_handle_create"),
    ITT_ENTRY(ITT_TASK_BEGIN, "task_begin"),
    ITT_ENTRY(ITT_TASK_END, "task_end"),
    ITT_ENTRY(ITT_OVERLAPPED_BEGIN, "task_begin_overlapped"),
    ITT_ENTRY(ITT_OVERLAPPED_END, "task_end_overlapped"),
    ITT_ENTRY(ITT_FRAME_BEGIN, "frame_begin_v3"),
    ITT_ENTRY(ITT_FRAME_END, "frame_end_v3"),
    ITT_ENTRY(ITT_FRAME_SUBMIT, "frame_submit_v3"),
    ITT_ENTRY(ITT_TIMESTAMP, "get_timestamp"),
    ITT_ENTRY(ITT_MARKER, "marker"),
    ITT_ENTRY(ITT_METADATA, "metadata_add"),
    ITT_ENTRY(ITT_METADATA_STR, "metadata_str_add"),
    ITT_ENTRY(ITT_COUNTER_CREATE, "counter_create"),
    ITT_ENTRY(ITT_COUNTER_INC_DELTA, "counter_inc_delta"),
    ITT_ENTRY(ITT_COUNTER_SET, "counter_set_value"),
    ITT_ENTRY(ITT_COUNTER_INC_V3, "counter_inc_v3"),
    ITT_ENTRY(ITT_EVENT_CREATE, "event_create"),
    ITT_ENTRY(ITT_EVENT_START, "event_start"),
    ITT_ENTRY(ITT_EVENT_END, "event_end"),
    ITT_ENTRY(ITT_PAUSE, "pause"),
    ITT_ENTRY(ITT_RESUME, "resume"),
    ITT_ENTRY(ITT_THREAD_NAME, "thread_set_name"),
    ITT_ENTRY(ITT_SYNC_CREATE, "sync_create"),
};

static struct itt_global itt_global = {
    .magic = { ITT_MAGIC_0, ITT_MAGIC_1 },
    .version = { 3, 0, 20180723 },
    .mutex = PTHREAD_MUTEX_INITIALIZER,
    .functions = itt_list,
    .domains = &itt_early_domain,
};

/* Without a collector, every call does nothing. */
static inline void itt_begin(itt_init_function *init)
{
    for (int i = 0; i < ITT_FUNCTIONS; i++)
        itt_pointers[i] = init ? (void *)&itt_initial : NULL;
    if (init)
        init(&itt_global, -1);
}

/* As the static part does it. */
static inline void itt_begin_by_variable(void)
{
    const char *path = getenv("INTEL_LIBITTNOTIFY64");
    void *library = path ? dlopen(path, RTLD_LAZY) : NULL;
    void *found = library ? dlsym(library, "__itt_api_init") : NULL;
    itt_init_function *init = NULL;

    memcpy(&init, &found, sizeof init);
    itt_begin(init);
}

/* Gives the type of `call` to a pointer; NULL if it is not bound. */
#define ITT_CALL(call, index)                                                                      \
    do {                                                                                           \
        void *itt_found = itt_pointers[index] == &itt_initial ? NULL : itt_pointers[index];        \
        memcpy(&(call), &itt_found, sizeof(call));                                                 \
    } while (0)

static inline struct itt_domain *itt_domain_create(const char *name)
{
    struct itt_domain *(*call)(const char *);

    ITT_CALL(call, ITT_DOMAIN_CREATE);
    return call ? call(name) : NULL;
}

static inline struct itt_string *itt_string_create(const char *text)
{
    struct itt_string *(*call)(const char *);

    ITT_CALL(call, ITT_STRING_CREATE);
    return call ? call(text) : NULL;
}

static inline bool itt_is_on(const struct itt_domain *domain)
{
    return domain && domain->flags;
}

static inline void itt_task_begin(struct itt_domain *domain, struct itt_id id,
                                  struct itt_string *name)
{
    void (*call)(const struct itt_domain *, struct itt_id, struct itt_id, struct itt_string *);

    ITT_CALL(call, ITT_TASK_BEGIN);
    if (call && itt_is_on(domain))
        call(domain, id, (struct itt_id){ { 0 } }, name);
}

static inline void itt_task_end(struct itt_domain *domain)
{
    void (*call)(const struct itt_domain *);

    ITT_CALL(call, ITT_TASK_END);
    if (call && itt_is_on(domain))
        call(domain);
}

#endif
