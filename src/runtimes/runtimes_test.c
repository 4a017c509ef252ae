// SPDX-License-Identifier: Apache-2.0
/* The table of runtimes agrees with its own words and with the descriptions that are installed. */
#include "runtimes/runtimes.h"

#include <glob.h>
#include <stdio.h>
#include <string.h>

#include "tap.h"

static void lists_are_those_of_the_rows(void)
{
    CHECK_STR(runtimes_watched(RUNTIME_LAUNCHED).text, "ONNX Runtime or IREE");
    CHECK_STR(runtimes_watched(RUNTIME_ATTACHED).text, "ONNX Runtime");
    CHECK_STR(runtimes_watched(RUNTIME_INJECTED).text, "ONNX Runtime");
    CHECK_STR(runtime_described(0), "llama");
    CHECK_STR(runtime_described(1), "openvino");
    CHECK_STR(runtime_described(2), RUNTIME_DRIVER_PROBES);
    CHECK(runtime_described(3) == NULL);
}

/* The name by which a file that the description means begins: "library libllama.*so*". */
static bool has_library(const struct runtime *runtime, const char *pattern)
{
    for (const char *const *one = runtime->libraries; one && *one; one++)
        if (strncmp(pattern, *one, strlen(*one)) == 0)
            return true;
    return false;
}

/* Each description in probes/ is a row with the name and the files that it gives its runtime. */
static void descriptions_are_rows(void)
{
    size_t rows = 0;
    glob_t found;

    REQUIRE(glob(PROBES "/*.probe", 0, NULL, &found) == 0);
    while (runtime_described(rows))
        rows++;
    CHECK_UINT(found.gl_pathc, rows);
    for (size_t i = 0; i < found.gl_pathc; i++) {
        FILE *file = fopen(found.gl_pathv[i], "re");
        const struct runtime *runtime = NULL;
        size_t libraries = 0;
        char line[512];

        REQUIRE(file != NULL);
        if (strstr(found.gl_pathv[i], "/" RUNTIME_DRIVER_PROBES ".probe")) {
            fclose(file);
            continue;
        }
        while (fgets(line, sizeof line, file)) {
            line[strcspn(line, "\n")] = '\0';
            if (strncmp(line, "runtime ", 8) == 0) {
                runtime = runtime_called(line + 8);
                REQUIRE(runtime != NULL);
                CHECK_STR(runtime->name, line + 8);
                CHECK_CONTAINS(found.gl_pathv[i], runtime->probes);
            } else if (strncmp(line, "library ", 8) == 0) {
                REQUIRE(runtime != NULL);
                CHECK(has_library(runtime, line + 8));
                libraries++;
            }
        }
        fclose(file);
        CHECK(libraries > 0);
    }
    globfree(&found);
}

static void names_and_files_are_known(void)
{
    bool is_module;

    CHECK(runtime_called("ONNX Runtime 1.30.0") == &runtime_ort);
    CHECK(runtime_called("onnxruntime (Python) 1.20.1") == &runtime_ort);
    CHECK(runtime_called("operators") == NULL);
    CHECK(runtime_called("") == NULL);
    CHECK(runtime_of_file("libonnxruntime.so.1.20.1", &is_module) == &runtime_ort && !is_module);
    CHECK(runtime_of_file("onnxruntime_pybind11_state.so", &is_module) == &runtime_ort &&
          is_module);
    CHECK(runtime_of_file("libonnxruntime_providers_shared.so", &is_module) == NULL);
    CHECK(runtime_of_file("/usr/lib/libllama.so", &is_module) == runtime_called("llama.cpp"));
    CHECK(runtime_of_file("libc.so.6", &is_module) == NULL && !is_module);
    CHECK(runtime_of_file("/lib/iree/_runtime_libs/_runtime.cpython-311.so", &is_module) ==
              runtime_called("IREE 3.13.0") &&
          is_module);
    CHECK(runtime_of_file("_runtime_libs/_runtime.abi3.so", &is_module) == runtime_called("IREE"));
    CHECK(runtime_of_file("/lib/other/_runtime.cpython-311.so", &is_module) == NULL);
    CHECK(runtime_of_file("/_runtime.so", &is_module) == NULL);
    CHECK(runtime_of_file("_runtime.so", &is_module) == NULL);
}

static void asynchronous_providers(void)
{
    static const struct {
        const char *name;
        bool asynchronous;
    } providers[] = {
        { "CUDAExecutionProvider", true },
        { "CUDA", true },
        { "TensorrtExecutionProvider", true },
        { "NvTensorRTRTXExecutionProvider", true },
        { "ROCMExecutionProvider", true },
        { "DmlExecutionProvider", true },
        { "WebGpuExecutionProvider", true },
        { "CPUExecutionProvider", false },
        { "OpenVINOExecutionProvider", false },
        { "ExecutionProvider", false },
        { "", false },
    };

    for (size_t i = 0; i < sizeof providers / sizeof providers[0]; i++)
        CHECK(runtime_provider_is_asynchronous(providers[i].name, strlen(providers[i].name)) ==
              providers[i].asynchronous);
    CHECK(runtime_provider_is_asynchronous("CUDAExecutionProvider,CPU",
                                           21)); /* as long as was said */
    CHECK(runtime_provider_uses_nvidia("TensorrtExecutionProvider", 25) &&
          runtime_provider_uses_nvidia("cuda", 4));
    CHECK(!runtime_provider_uses_nvidia("ROCMExecutionProvider", 21) &&
          !runtime_provider_uses_nvidia("cpu", 3));
}

TAP_MAIN(TAP_CASE(lists_are_those_of_the_rows), TAP_CASE(descriptions_are_rows),
         TAP_CASE(names_and_files_are_known), TAP_CASE(asynchronous_providers))
