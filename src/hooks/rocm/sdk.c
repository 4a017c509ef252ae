// SPDX-License-Identifier: Apache-2.0
/*
 * Between HIP and rocprofiler-sdk.
 *
 * HIP hands its tables of functions to librocprofiler-register, which passes them to
 * rocprofiler-sdk if ROCP_TOOL_LIBRARIES names a tool. If it cannot load rocprofiler-sdk, which is
 * a package of its own, it aborts the program. So the recorder names this library as the one to
 * load as well (ROCPROFILER_REGISTER_LIBRARY): it looks for the real one in the same places and
 * passes the tables on. Where there is none, the program runs on without.
 */
#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <link.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "hooks/rocm/hook.h"
#include "wire/device.h"

#define EXPORT   __attribute__((visibility("default")))
#define REGISTER "librocprofiler-register.so"
#define TABLE    "rocprofiler_set_api_table"
#define KINDS    256

EXPORT int rocprofiler_set_api_table(const char *name, uint64_t version, uint64_t instance,
                                     void **tables, uint64_t count);

struct rocm rocm;

/* ---- finding it ---- */

static int look_for_register(struct dl_phdr_info *info, size_t size, void *user)
{
    const char *slash = info->dlpi_name ? strrchr(info->dlpi_name, '/') : NULL;
    char *folder = user;
    size_t length;

    (void)size;
    if (!slash || strncmp(slash + 1, REGISTER, strlen(REGISTER)) != 0)
        return 0;
    length = (size_t)(slash + 1 - info->dlpi_name);
    if (length >= PATH_MAX)
        return 0;
    memcpy(folder, info->dlpi_name, length);
    folder[length] = '\0';
    return 1;
}

static void *open_library(const char *folder, const char *name)
{
    char path[PATH_MAX + 64];
    void *library;

    snprintf(path, sizeof path, "%s%s", folder, name);
    library = dlopen(path, RTLD_LAZY | RTLD_GLOBAL);
    dlerror(); /* ours, not the program's */
    return library;
}

/* The one that was asked for before, one that can be found by its name, or the one beside whoever
 * asks. Nothing is loaded from anywhere else. */
static void *find_library(void)
{
    static const char *const names[] = { "librocprofiler-sdk.so", "librocprofiler-sdk.so.1" };
    const char *own = secure_getenv(IFG_ENV_ROCM_REGISTER);
    char folder[PATH_MAX] = "";
    void *library = own && *own ? open_library("", own) : NULL;

    for (size_t i = 0; i < sizeof names / sizeof *names && !library; i++)
        library = open_library("", names[i]);
    if (library || dl_iterate_phdr(look_for_register, folder) != 1)
        return library;
    for (size_t i = 0; i < sizeof names / sizeof *names && !library; i++)
        library = open_library(folder, names[i]);
    return library;
}

static rocm_set_table *next_table;

static void find_next(void)
{
    void *library = find_library();
    void *found = library ? dlsym(library, TABLE) : NULL;

    dlerror();
    memcpy(&next_table, &found, sizeof next_table);
    if (next_table == rocprofiler_set_api_table)
        next_table = NULL;
    if (!next_table)
        tool_refuse(
            "there is no librocprofiler-sdk, neither beside the program's ROCm libraries nor on "
            "this machine; the package rocprofiler-sdk of ROCm 7.0 or later has it");
}

int rocprofiler_set_api_table(const char *name, uint64_t version, uint64_t instance, void **tables,
                              uint64_t count)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    int saved_errno = errno;

    pthread_once(&once, find_next);
    errno = saved_errno;
    return next_table ? next_table(name, version, instance, tables, count) : 0;
}

/* ---- its functions ---- */

static bool resolve(const char *name, void *function, size_t size)
{
    void *found = dlsym(RTLD_DEFAULT, name);

    if (!found) { /* whoever loaded it may have kept it to itself */
        void *library = dlopen("librocprofiler-sdk.so.1", RTLD_LAZY | RTLD_NOLOAD);

        found = library ? dlsym(library, name) : NULL;
    }
    dlerror();
    memcpy(function, &found, size);
    return found != NULL;
}

bool rocm_resolve(uint32_t version, char *reason, size_t size)
{
    const char *missing = NULL;

    if (version < ROCM_VERSION_OLDEST || version >= ROCM_VERSION_BEYOND) {
        snprintf(reason, size, "rocprofiler-sdk %u.%u is %s: 1.0 (ROCm 7.0) is understood",
                 version / 10000, version / 100 % 100,
                 version < ROCM_VERSION_OLDEST ? "too old" : "newer than is known");
        return false;
    }
#define RESOLVE(name, parameters)                                                                  \
    if (!resolve("rocprofiler_" #name, &rocm.name, sizeof rocm.name))                              \
        missing = "rocprofiler_" #name;
    ROCM_FUNCTIONS(RESOLVE)
#undef RESOLVE
    resolve("rocprofiler_get_status_string", &rocm.get_status_string,
            sizeof rocm.get_status_string);
    if (missing) {
        snprintf(reason, size, "this rocprofiler-sdk is none that is known: it has no %s", missing);
        return false;
    }
    rocm.version = version;
    return true;
}

void rocm_explain(int result, const char *doing, char *reason, size_t size)
{
    const char *text = rocm.get_status_string ? rocm.get_status_string(result) : NULL;

    snprintf(reason, size, "rocprofiler-sdk cannot %s: %.200s (%d)", doing, text ? text : "error",
             result);
}

int rocm_kind(int (*query)(int, const char **, uint64_t *), const char *name)
{
    for (int kind = 1; kind < KINDS; kind++) {
        const char *found = NULL;

        if (query(kind, &found, NULL) != ROCM_OK)
            return -1; /* there are no more */
        if (found && strcmp(found, name) == 0)
            return kind;
    }
    return -1;
}
