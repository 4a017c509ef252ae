// SPDX-License-Identifier: Apache-2.0
/* Looking for a row of the table of runtimes: by a name that a trace has, or by a file. */
#include "runtimes/runtimes.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

struct runtime_names runtimes_watched(enum runtime_way way)
{
    struct runtime_names names = { "" };
    size_t used = 0;

    for (size_t i = 0; runtimes[i] && used < sizeof names.text; i++) {
        const bool is_watched[] = { [RUNTIME_LAUNCHED] = !runtimes[i]->probes,
                                    [RUNTIME_ATTACHED] = runtimes[i]->door != NULL,
                                    [RUNTIME_INJECTED] = runtimes[i]->inject != NULL };

        if (is_watched[way])
            used += (size_t)snprintf(names.text + used, sizeof names.text - used, "%s%s",
                                     used ? " or " : "", runtimes[i]->name);
    }
    return names;
}

const char *runtime_described(size_t index)
{
    for (size_t i = 0; runtimes[i]; i++)
        if (runtimes[i]->probes && index-- == 0)
            return runtimes[i]->probes;
    return index == 0 ? RUNTIME_DRIVER_PROBES : NULL;
}

const struct runtime *runtime_called(const char *name)
{
    for (size_t i = 0; runtimes[i]; i++) {
        const char *names[] = { runtimes[i]->name, runtimes[i]->package };

        for (size_t k = 0; k < 2; k++)
            if (names[k] && strncasecmp(name, names[k], strlen(names[k])) == 0)
                return runtimes[i];
    }
    return NULL;
}

static bool is_library(const struct runtime *runtime, const char *name)
{
    for (const char *const *one = runtime->libraries; one && *one; one++)
        if (strncmp(name, *one, strlen(*one)) == 0)
            return true;
    return false;
}

/* A file whose name says little is known by its folder as well. */
static bool is_module_of(const struct runtime *runtime, const char *path, const char *name)
{
    const char *begin = name;

    if (!runtime->module)
        return false;
    if (strchr(runtime->module, '/')) {
        while (begin > path && begin - 1 > path && begin[-2] != '/')
            begin--;
        if (begin > path)
            begin--;
    }
    return strncmp(begin, runtime->module, strlen(runtime->module)) == 0;
}

const struct runtime *runtime_of_file(const char *path, bool *out_is_module)
{
    const char *slash = strrchr(path, '/');
    const char *name = slash ? slash + 1 : path;

    for (size_t i = 0; runtimes[i]; i++) {
        const struct runtime *runtime = runtimes[i];

        *out_is_module = is_module_of(runtime, path, name);
        if (*out_is_module || is_library(runtime, name))
            return runtime;
    }
    *out_is_module = false;
    return NULL;
}

/* Those that enqueue on a stream, command list or command queue. OpenVINO, QNN, CoreML and VitisAI
 * wait for the device before an operator returns. */
static const struct asynchronous {
    const char *name;
    bool nvidia;
} asynchronous[] = {
    { "CANN", false },         { "CUDA", true },
    { "CudaPlugin", true },    { "Dml", false },
    { "JS", false },           { "MIGraphX", false },
    { "NvTensorRTRTX", true }, { "nv_tensorrt_rtx", true }, /* as it is asked for */
    { "ROCM", false },         { "Tensorrt", true },
    { "WebGpu", true }, /* on any GPU; where it is not NVIDIA's, NVML has no device */
};

static const struct asynchronous *find_asynchronous(const char *name, size_t bytes)
{
    static const char suffix[] = "ExecutionProvider";
    size_t cut = sizeof suffix - 1;

    if (bytes > cut && strncmp(name + bytes - cut, suffix, cut) == 0)
        bytes -= cut;
    for (size_t i = 0; i < sizeof asynchronous / sizeof asynchronous[0]; i++)
        if (strlen(asynchronous[i].name) == bytes &&
            strncasecmp(asynchronous[i].name, name, bytes) == 0)
            return &asynchronous[i];
    return NULL;
}

bool runtime_provider_is_asynchronous(const char *name, size_t bytes)
{
    return find_asynchronous(name, bytes) != NULL;
}

bool runtime_provider_uses_nvidia(const char *name, size_t bytes)
{
    const struct asynchronous *found = find_asynchronous(name, bytes);

    return found && found->nvidia;
}
