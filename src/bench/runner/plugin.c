// SPDX-License-Identifier: Apache-2.0
/* Loading a runtime and looking at what it offers: see plugin.h. */
#include "bench/runner/plugin.h"

#include <dlfcn.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"

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

void *plugin_array(const void *from, size_t from_size, size_t to_size, size_t count)
{
    char *copy = from ? ifg_alloc(count + 1, to_size) : NULL;

    for (size_t i = 0; copy && i < count; i++)
        memcpy(copy + i * to_size, (const char *)from + i * from_size,
               from_size < to_size ? from_size : to_size);
    return copy;
}

#define ELEMENT_MAX 65536u

/* `first`: what the first version of the header had; who says nothing was built with that. */
static bool take_size(uint32_t *size, uint32_t first)
{
    if (!*size)
        *size = first;
    return *size >= first && *size <= ELEMENT_MAX && *size % sizeof(void *) == 0;
}

static bool take_sizes(struct ifg_bench_runtime *runtime)
{
    return take_size(&runtime->setting_size, 16) && take_size(&runtime->port_size, 272) &&
           take_size(&runtime->tensor_size, 160) && take_size(&runtime->placement_size, 16) &&
           take_size(&runtime->node_size, 24);
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
    if (!take_sizes(out_runtime))
        return ifg_fail(err, IFG_INVALID,
                        "%s is no runtime for bench: %s has element sizes that cannot be; set them "
                        "by IFG_BENCH_ELEMENT_SIZES",
                        path, IFG_BENCH_RUNTIME_SYMBOL);
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
