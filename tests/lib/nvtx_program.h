// SPDX-License-Identifier: Apache-2.0
/*
 * What the header of NVTX is in a program: tables of function pointers, an injection that is asked
 * for at the first call, and calls that do nothing without one. For tests and benchmarks, which
 * must not need NVIDIA's.
 */
#ifndef IFG_TESTS_NVTX_PROGRAM_H
#define IFG_TESTS_NVTX_PROGRAM_H

#include <dlfcn.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "hooks/nvtx/nvtx_abi.h"

static nvtx_function *nvtx_core[NVTX_CORE_COUNT];
static nvtx_function *nvtx_core2[NVTX_CORE2_COUNT];
static nvtx_function **nvtx_core_slots[NVTX_CORE_COUNT];
static nvtx_function **nvtx_core2_slots[NVTX_CORE2_COUNT];

static void nvtx_not_set(void)
{
}

static int nvtx_get_table(int module, nvtx_function ****out_table, unsigned *out_size)
{
    if (module != NVTX_MODULE_CORE && module != NVTX_MODULE_CORE2)
        return 0;
    *out_table = module == NVTX_MODULE_CORE ? nvtx_core_slots : nvtx_core2_slots;
    *out_size = NVTX_CORE_COUNT;
    return 1;
}

static const void *nvtx_get_exports(uint32_t id)
{
    static const struct nvtx_callbacks callbacks = { sizeof callbacks, nvtx_get_table };

    return id == NVTX_EXPORT_CALLBACKS ? &callbacks : NULL;
}

/* Asks an injection; without one, or if it refuses, every call does nothing. */
static inline bool nvtx_begin(nvtx_initialize *initialize)
{
    bool done;

    for (int i = 1; i < NVTX_CORE_COUNT; i++) {
        nvtx_core[i] = nvtx_core2[i] = nvtx_not_set;
        nvtx_core_slots[i] = &nvtx_core[i];
        nvtx_core2_slots[i] = &nvtx_core2[i];
    }
    done = initialize && initialize(nvtx_get_exports);
    for (int i = 1; i < NVTX_CORE_COUNT; i++) {
        if (!done || nvtx_core[i] == nvtx_not_set)
            nvtx_core[i] = NULL;
        if (!done || nvtx_core2[i] == nvtx_not_set)
            nvtx_core2[i] = NULL;
    }
    return done;
}

/* As the header does it. */
static inline bool nvtx_begin_by_variable(void)
{
    const char *path = getenv("NVTX_INJECTION64_PATH");
    void *library = path ? dlopen(path, RTLD_LAZY) : NULL;
    void *found = library ? dlsym(library, "InitializeInjectionNvtx2") : NULL;
    nvtx_initialize *initialize = NULL;

    memcpy(&initialize, &found, sizeof initialize);
    return nvtx_begin(initialize);
}

static inline int nvtx_push(const char *text)
{
    int (*call)(const char *) = (int (*)(const char *))nvtx_core[NVTX_RANGE_PUSH_A];

    return call ? call(text) : NVTX_NO_PUSH_POP_TRACKING;
}

static inline int nvtx_pop(void)
{
    int (*call)(void) = (int (*)(void))nvtx_core[NVTX_RANGE_POP];

    return call ? call() : NVTX_NO_PUSH_POP_TRACKING;
}

static inline void nvtx_mark(const char *text)
{
    void (*call)(const char *) = (void (*)(const char *))nvtx_core[NVTX_MARK_A];

    if (call)
        call(text);
}

static inline uint64_t nvtx_start(const char *text)
{
    uint64_t (*call)(const char *) = (uint64_t(*)(const char *))nvtx_core[NVTX_RANGE_START_A];

    return call ? call(text) : 0;
}

static inline void nvtx_end(uint64_t id)
{
    void (*call)(uint64_t) = (void (*)(uint64_t))nvtx_core[NVTX_RANGE_END];

    if (call)
        call(id);
}

static inline void nvtx_name_thread(uint32_t thread, const char *name)
{
    void (*call)(uint32_t, const char *) =
        (void (*)(uint32_t, const char *))nvtx_core[NVTX_NAME_OS_THREAD_A];

    if (call)
        call(thread, name);
}

static inline void *nvtx_domain(const char *name)
{
    void *(*call)(const char *) = (void *(*)(const char *))nvtx_core2[NVTX_DOMAIN_CREATE_A];

    return call ? call(name) : NULL;
}

static inline const void *nvtx_string(const void *domain, const char *text)
{
    const void *(*call)(const void *, const char *) =
        (const void *(*)(const void *, const char *))nvtx_core2[NVTX_DOMAIN_REGISTER_STRING_A];

    return call ? call(domain, text) : NULL;
}

static inline void nvtx_category(const void *domain, uint32_t category, const char *name)
{
    void (*call)(const void *, uint32_t, const char *) =
        (void (*)(const void *, uint32_t, const char *))nvtx_core2[NVTX_DOMAIN_NAME_CATEGORY_A];

    if (call)
        call(domain, category, name);
}

static inline int nvtx_domain_push(const void *domain, const struct nvtx_event *event)
{
    int (*call)(const void *, const struct nvtx_event *) =
        (int (*)(const void *, const struct nvtx_event *))nvtx_core2[NVTX_DOMAIN_RANGE_PUSH_EX];

    return call ? call(domain, event) : NVTX_NO_PUSH_POP_TRACKING;
}

static inline int nvtx_domain_pop(const void *domain)
{
    int (*call)(const void *) = (int (*)(const void *))nvtx_core2[NVTX_DOMAIN_RANGE_POP];

    return call ? call(domain) : NVTX_NO_PUSH_POP_TRACKING;
}

static inline void nvtx_domain_mark(const void *domain, const struct nvtx_event *event)
{
    void (*call)(const void *, const struct nvtx_event *) =
        (void (*)(const void *, const struct nvtx_event *))nvtx_core2[NVTX_DOMAIN_MARK_EX];

    if (call)
        call(domain, event);
}

static inline struct nvtx_event nvtx_text(const char *text)
{
    struct nvtx_event event = { .version = 3,
                                .size = sizeof event,
                                .message_type = NVTX_MESSAGE_ASCII };

    event.message.ascii = text;
    return event;
}

static inline void nvtx_push_in(const void *domain, const char *text)
{
    struct nvtx_event event = nvtx_text(text);

    nvtx_domain_push(domain, &event);
}

#endif
