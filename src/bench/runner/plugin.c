// SPDX-License-Identifier: Apache-2.0
/* Loading a runtime and looking at what it offers: see plugin.h. */
#include "bench/runner/plugin.h"

#include <dlfcn.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* Everything before the first optional member must be there. */
#define LEAST_SIZE offsetof(struct ifg_bench_runtime, results)

static const char *first_missing(const struct ifg_bench_runtime *runtime)
{
    const struct {
        const char *name;
        bool is_there;
    } members[] = {
        { "name", runtime->name != NULL },     { "open", runtime->open != NULL },
        { "close", runtime->close != NULL },   { "version", runtime->version != NULL },
        { "load", runtime->load != NULL },     { "unload", runtime->unload != NULL },
        { "inputs", runtime->inputs != NULL }, { "outputs", runtime->outputs != NULL },
        { "bind", runtime->bind != NULL },     { "run", runtime->run != NULL },
        { "finish", runtime->finish != NULL },
    };

    for (size_t i = 0; i < sizeof members / sizeof *members; i++)
        if (!members[i].is_there)
            return members[i].name;
    return NULL;
}

enum ifg_status plugin_take(const char *path, const struct ifg_bench_runtime *given,
                            struct ifg_bench_runtime *out_runtime, struct ifg_error *err)
{
    const char *missing;

    memset(out_runtime, 0, sizeof *out_runtime);
    if (given->struct_size < LEAST_SIZE)
        return ifg_fail(err, IFG_INVALID,
                        "%s is no runtime for bench: struct_size of %s is %zu, and at least %zu is "
                        "needed; set it to sizeof(struct ifg_bench_runtime)",
                        path, IFG_BENCH_RUNTIME_SYMBOL, given->struct_size, LEAST_SIZE);
    memcpy(out_runtime, given,
           given->struct_size < sizeof *out_runtime ? given->struct_size : sizeof *out_runtime);
    missing = first_missing(out_runtime);
    if (missing)
        return ifg_fail(err, IFG_INVALID, "%s is no runtime for bench: %s has no `%s`", path,
                        IFG_BENCH_RUNTIME_SYMBOL, missing);
    return IFG_OK;
}

enum ifg_status plugin_load(const char *path, struct ifg_bench_runtime *out_runtime,
                            struct ifg_error *err)
{
    const struct ifg_bench_runtime *given;
    char here[PATH_MAX];
    void *library;

    memset(out_runtime, 0, sizeof *out_runtime);
    if (access(path, F_OK) < 0)
        return ifg_fail(err, IFG_NOT_FOUND, "there is no runtime %s", path);
    /* A name without a folder is a file here, not a library of the system. */
    snprintf(here, sizeof here, "%s%s", strchr(path, '/') ? "" : "./", path);
    library = dlopen(here, RTLD_NOW | RTLD_LOCAL);
    if (!library)
        return ifg_fail(err, IFG_UNSUPPORTED, "the runtime %s cannot be loaded: %s", path,
                        dlerror());
    given = dlsym(library, IFG_BENCH_RUNTIME_SYMBOL);
    if (!given)
        return ifg_fail(err, IFG_INVALID,
                        "%s is no runtime for bench: it does not export %s (see "
                        "<inferogram/bench_runtime.h>)",
                        path, IFG_BENCH_RUNTIME_SYMBOL);
    return plugin_take(path, given, out_runtime, err);
}
