// SPDX-License-Identifier: Apache-2.0
/* The table of runtimes: see runtimes.h. */
#include "runtimes/runtimes.h"

#include <string.h>
#include <strings.h>

/* The name of a class, as the compiler writes it down, and of a file, for messages. */
static const char *const ort_marks[] = { "N11onnxruntime16InferenceSessionE",
                                         "core/session/inference_session.cc", NULL };

static const char *const ort_allocators[] = { "onnxruntime::CPUAllocator",
                                              "onnxruntime::AllocatorDefaultAlloc",
                                              "onnxruntime::BFCArena",
                                              "onnxruntime::IAllocator",
                                              "onnxruntime::IArena",
                                              "onnxruntime::StreamAwareBFCArena",
                                              "onnxruntime::utils::DefaultAlloc",
                                              NULL };

const struct runtime runtimes[] = {
    { .name = "ONNX Runtime",
      .package = "onnxruntime",
      .python = "onnxruntime (Python)",
      .module = "onnxruntime_pybind11_state",
      .library = "libonnxruntime",
      .helpers = "_providers_",
      .marks = ort_marks,
      .allocators = ort_allocators },
    { .name = "llama.cpp", .probes = "llama" },
    { .name = "OpenVINO", .probes = "openvino" },
};
const size_t runtime_count = sizeof runtimes / sizeof runtimes[0];
const struct runtime *const runtime_ort = &runtimes[0];

static bool begins(const char *text, const char *with)
{
    return with && strncasecmp(text, with, strlen(with)) == 0;
}

const struct runtime *runtime_called(const char *name)
{
    for (size_t i = 0; i < runtime_count; i++)
        if (begins(name, runtimes[i].name) || begins(name, runtimes[i].package))
            return &runtimes[i];
    return NULL;
}

const struct runtime *runtime_of_file(const char *name, bool *out_is_module)
{
    *out_is_module = false;
    for (size_t i = 0; i < runtime_count; i++) {
        const struct runtime *runtime = &runtimes[i];

        *out_is_module =
            runtime->module && strncmp(name, runtime->module, strlen(runtime->module)) == 0;
        if (*out_is_module)
            return runtime;
        if (runtime->library && strncmp(name, runtime->library, strlen(runtime->library)) == 0 &&
            strstr(name, ".so") && !(runtime->helpers && strstr(name, runtime->helpers)))
            return runtime;
    }
    return NULL;
}
