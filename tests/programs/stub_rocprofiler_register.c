// SPDX-License-Identifier: Apache-2.0
/*
 * The library that introduces HIP to profilers, as version 0.5 of librocprofiler-register does it:
 * if a tool is configured it loads rocprofiler-sdk, or what is named in its place, and ends the
 * program if there is none.
 */
#include "stub_rocm.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

typedef int set_table(const char *name, uint64_t version, uint64_t instance, void **tables,
                      uint64_t count);

static int is_set(const char *value)
{
    return value && *value;
}

static void *open_beside(const char *name)
{
    const char *slash;
    char path[4096];
    Dl_info info;

    if (!dladdr((void *)(uintptr_t)open_beside, &info) || !info.dli_fname)
        return NULL;
    slash = strrchr(info.dli_fname, '/');
    if (!slash)
        return NULL;
    snprintf(path, sizeof path, "%.*s/%s", (int)(slash - info.dli_fname), info.dli_fname, name);
    return dlopen(path, RTLD_GLOBAL | RTLD_LAZY);
}

int rocprofiler_register_library_api_table(const char *name, void **tables, uint64_t count)
{
    const char *library = getenv("ROCPROFILER_REGISTER_LIBRARY");
    set_table *set = NULL;
    void *found;

    if (!is_set(library) && !is_set(getenv("ROCP_TOOL_LIBRARIES")))
        return 1;
    if (!is_set(library))
        library = "librocprofiler-sdk.so";
    found = dlsym(RTLD_DEFAULT, "rocprofiler_set_api_table");
    if (!found) {
        void *handle = dlopen(library, RTLD_GLOBAL | RTLD_LAZY);

        if (!handle)
            handle = open_beside(library);
        found = handle ? dlsym(handle, "rocprofiler_set_api_table") : NULL;
    }
    if (!found) {
        setrlimit(RLIMIT_CORE, &(struct rlimit){ 0, 0 });
        fprintf(stderr, "rocprofiler_set_api_table not found. Tried to dlopen %s\n", library);
        abort();
    }
    memcpy(&set, &found, sizeof set);
    return set(name, 70000, 0, tables, count);
}
