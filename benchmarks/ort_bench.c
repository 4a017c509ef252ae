// SPDX-License-Identifier: Apache-2.0
/* What the benchmarks of the hooks share: see ort_bench.h. */
#include "ort_bench.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bench.h"

#define FLOAT     1
#define LOG_FATAL 4

static char results[4096];

static void die(const char *what, const char *why)
{
    fprintf(stderr, "%s: %s\n", what, why);
    exit(1);
}

static void check(ort_table table, void *status)
{
    if (status)
        die("ONNX Runtime", ORT(table, ORT_GetErrorMessage, const char *, (void *))(status));
}

#define OK(table, slot, types, ...) check(table, ORT(table, slot, void *, types)(__VA_ARGS__))

void ort_bench_fetch(const char *name, char *out_path, size_t size)
{
    char command[512];
    FILE *pipe;

    snprintf(command, sizeof command, "'%s' %s", FETCH_RUNTIMES, name);
    pipe = popen(command, "r");
    if (!pipe || !fgets(out_path, (int)size, pipe))
        die(name, "cannot be had");
    pclose(pipe);
    out_path[strcspn(out_path, "\n")] = '\0';
}

static void open_library(struct ort_bench *ort, const char *library)
{
    const struct ort_base *(*get)(void) = NULL;
    void *handle = dlopen(library, RTLD_NOW | RTLD_LOCAL);
    void *found = handle ? dlsym(handle, "OrtGetApiBase") : NULL;
    const struct ort_base *hooked;
    char version[64];
    uint32_t minor;

    if (!found)
        die(library, dlerror());
    memcpy(&get, &found, sizeof get);
    hooked = get();
    snprintf(version, sizeof version, "VERS_%s", hooked->get_version());
    minor = (uint32_t)strtoul(strchr(version, '.') + 1, NULL, 10);
    found = dlvsym(handle, "OrtGetApiBase", version);
    if (!found)
        die(library, dlerror());
    memcpy(&get, &found, sizeof get);
    ort->real = get()->get_api(minor);
    ort->hooked = hooked->get_api(minor);
}

static void make_environment(struct ort_bench *ort)
{
    OK(ort->hooked, ORT_CreateEnv, (int, const char *, void **), LOG_FATAL, "bench", &ort->env);
    OK(ort->hooked, ORT_CreateCpuMemoryInfo, (int, int, void **), 1, 0, &ort->memory);
}

void ort_bench_open(struct ort_bench *ort, const char *library)
{
    open_library(ort, library);
    if (ort->real[ORT_Run] == ort->hooked[ORT_Run])
        die(library, "the hooks are not in this process");
    make_environment(ort);
}

void ort_bench_open_plain(struct ort_bench *ort, const char *library)
{
    open_library(ort, library);
    ort->hooked = ort->real;
    make_environment(ort);
}

static void *tensor(const struct ort_bench *ort, const int64_t *dims, size_t rank)
{
    size_t count = 1;
    float *data;
    void *value = NULL;

    for (size_t i = 0; i < rank; i++)
        count *= (size_t)dims[i];
    data = calloc(count, sizeof *data); /* the program ends soon */
    if (!data)
        die("memory", "is full");
    for (size_t i = 0; i < count; i++)
        data[i] = (float)(i % 255) / 255.0f;
    OK(ort->real, ORT_CreateTensorWithData,
       (void *, void *, size_t, const int64_t *, size_t, int, void **), ort->memory, data,
       count * sizeof *data, dims, rank, FLOAT, &value);
    return value;
}

void ort_bench_session_open(const struct ort_bench *ort, ort_table table, const char *model,
                            const char *input, const int64_t *dims, size_t rank,
                            const int64_t *output_dims, struct ort_bench_session *out)
{
    void *options = NULL;
    void *allocator = NULL;

    memset(out, 0, sizeof *out);
    out->input_name = input;
    OK(table, ORT_CreateSessionOptions, (void **), &options);
    OK(table, ORT_SetIntraOpNumThreads, (void *, int), options, 1);
    OK(table, ORT_CreateSession, (void *, const char *, void *, void **), ort->env, model, options,
       &out->session);
    ORT(table, ORT_ReleaseSessionOptions, void, (void *))(options);
    OK(table, ORT_GetAllocatorWithDefaultOptions, (void **), &allocator);
    OK(table, ORT_SessionGetOutputName, (void *, size_t, void *, char **), out->session, 0,
       allocator, &out->output_name);
    out->input = tensor(ort, dims, rank);
    if (output_dims)
        out->output = tensor(ort, output_dims, rank);
}

void ort_bench_session_close(const struct ort_bench *ort, ort_table table,
                             struct ort_bench_session *session)
{
    ORT(ort->real, ORT_ReleaseValue, void, (void *))(session->input);
    if (session->output)
        ORT(ort->real, ORT_ReleaseValue, void, (void *))(session->output);
    ORT(table, ORT_ReleaseSession, void, (void *))(session->session);
}

void ort_bench_run(ort_table table, const struct ort_bench_session *session)
{
    const char *input = session->input_name;
    const char *output = session->output_name;
    void *value = session->output;

    check(table, ORT(table, ORT_Run, void *,
                     (void *, const void *, const char *const *, void *const *, size_t,
                      const char *const *, size_t, void **))(
                     session->session, NULL, &input, &session->input, 1, &output, 1, &value));
    if (!session->output)
        ORT(table, ORT_ReleaseValue, void, (void *))(value);
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a;
    double y = *(const double *)b;

    return x < y ? -1 : x > y;
}

double ort_bench_median(double *values, size_t count)
{
    qsort(values, count, sizeof *values, by_value);
    return count % 2 ? values[count / 2] : (values[count / 2 - 1] + values[count / 2]) / 2;
}

void ort_bench_measure(const char *file, const char *options, const char *arguments)
{
    char command[2048];
    char self[512] = "";
    char output[256];
    double deadline = bench_wall_seconds() + 120;

    snprintf(output, sizeof output, "%s", bench_file("results"));
    unlink(output);
    if (readlink("/proc/self/exe", self, sizeof self - 1) < 0)
        die("/proc/self/exe", "cannot be read");
    snprintf(command, sizeof command, "'%s' record -q -f -o '%s' %s -- '%s' --measure '%s' %s",
             bench_tool(), file, options, self, output, arguments);
    if (system(command) != 0)
        die(command, "failed");
    results[0] = '\0';
    while (!strstr(results, "end\n") && bench_wall_seconds() < deadline) {
        FILE *stream = fopen(output, "r");

        if (stream) {
            results[fread(results, 1, sizeof results - 1, stream)] = '\0';
            fclose(stream);
        }
        usleep(20000);
    }
    if (!strstr(results, "end\n"))
        die(command, "gave no results");
}

double ort_bench_number(const char *key)
{
    char wanted[64];
    const char *at;

    snprintf(wanted, sizeof wanted, "%s ", key);
    at = strstr(results, wanted);
    if (!at)
        die(key, "is not in the results");
    return strtod(at + strlen(wanted), NULL);
}
