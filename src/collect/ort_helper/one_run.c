// SPDX-License-Identifier: Apache-2.0
/* One run of a model with random inputs: see one_run.h. */
#include "collect/ort_helper/one_run.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

#include "collect/ort_helper/probe.h"
#include "collect/ort_helper/tell.h"

#define VALUES_MAX   64
#define RANK_MAX     16
#define ELEMENTS_MAX (INT64_C(1) << 23) /* of one input; more takes too long */
#define LOG_FATAL    4

enum element { FLOAT = 1, STRING = 8, BOOL = 9, FLOAT16 = 10, DOUBLE = 11, BFLOAT16 = 16 };

struct value {
    char *name;
    int type;
    size_t rank;
    int64_t dims[RANK_MAX];
};

static struct {
    ort_table api;
    void *env;
    void *allocator;
    void *session;
    struct value inputs[VALUES_MAX];
    size_t input_count;
    char *outputs[VALUES_MAX];
    size_t output_count;
} state;

/* What is tried for dimensions that the model leaves open and for integers, until a run succeeds:
 * sampling rates and lengths of frames are where models of sound are choosy. helper.py has the
 * same. */
static const struct {
    int64_t size;
    int64_t integer;
} tries[] = { { 1, 1 },  { 1, 16000 }, { 2, 1 },   { 3, 1 },       { 1, 0 },   { 16, 1 },
              { 32, 1 }, { 64, 1 },    { 320, 1 }, { 512, 16000 }, { 1536, 1 } };

/* Of one element; 0 for what cannot be made up. */
static size_t size_of(int type)
{
    static const uint8_t sizes[] = { 0, 4, 1, 1, 2, 2, 4, 8, 0, 1, 2, 8, 4, 8, 8, 16, 2 };

    return type > 0 && (size_t)type < sizeof sizes ? sizes[type] : 0;
}

/* Memory that nobody gives back: the process ends soon. */
static void *take_memory(size_t bytes)
{
    void *memory =
        mmap(NULL, bytes ? bytes : 1, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    return memory == MAP_FAILED ? NULL : memory;
}

static bool add_providers(const struct one_run *run, void *options)
{
    if (run->provider_count && probe_minor() < 12) {
        tell_sentence("error",
                      "this ONNX Runtime cannot be asked for an execution provider by name", NULL);
        return false;
    }
    for (size_t i = 0; i < run->provider_count; i++)
        if (!probe_ok(ORT(state.api, ORT_AppendExecutionProvider, void *,
                          (void *, const char *, const char *const *, const char *const *, size_t))(
                          options, run->providers[i], NULL, NULL, 0),
                      "the execution provider cannot be had"))
            return false;
    return true;
}

static bool create_session(const struct one_run *run)
{
    ort_table api = state.api;
    void *options = NULL;

    return probe_ok(ORT(api, ORT_CreateEnv, void *,
                        (int, const char *, void **))(LOG_FATAL, "inferogram", &state.env),
                    "no environment can be made") &&
           probe_ok(
               ORT(api, ORT_GetAllocatorWithDefaultOptions, void *, (void **))(&state.allocator),
               "there is no allocator") &&
           probe_ok(ORT(api, ORT_CreateSessionOptions, void *, (void **))(&options),
                    "no session options can be made") &&
           probe_ok(ORT(api, ORT_SetIntraOpNumThreads, void *,
                        (void *, int))(options, run->threads > 0 ? run->threads : 1),
                    "the number of threads cannot be set") &&
           (run->level < 0 || probe_ok(ORT(api, ORT_SetSessionGraphOptimizationLevel, void *,
                                           (void *, int))(options, run->level),
                                       "the optimization level cannot be set")) &&
           add_providers(run, options) &&
           probe_ok(
               ORT(api, ORT_EnableProfiling, void *, (void *, const char *))(options, run->profile),
               "profiling cannot be turned on") &&
           probe_ok(ORT(api, ORT_CreateSession, void *, (void *, const char *, void *, void **))(
                        state.env, run->model, options, &state.session),
                    "the model cannot be loaded");
}

static bool describe_input(size_t i)
{
    struct value *input = &state.inputs[i];
    ort_table api = state.api;
    const void *tensor = NULL;
    void *type = NULL;

    if (!probe_ok(ORT(api, ORT_SessionGetInputName, void *, (void *, size_t, void *, char **))(
                      state.session, i, state.allocator, &input->name),
                  "an input has no name") ||
        !probe_ok(ORT(api, ORT_SessionGetInputTypeInfo, void *,
                      (void *, size_t, void **))(state.session, i, &type),
                  "an input has no type") ||
        !probe_ok(
            ORT(api, ORT_CastTypeInfoToTensorInfo, void *, (void *, const void **))(type, &tensor),
            "an input has no type"))
        return false;
    if (!tensor) {
        tell_sentence("error", "no value can be made up for an input that is no tensor",
                      input->name);
        return false;
    }
    return probe_ok(ORT(api, ORT_GetTensorElementType, void *, (const void *, int *))(tensor,
                                                                                      &input->type),
                    "an input has no type") &&
           probe_ok(ORT(api, ORT_GetDimensionsCount, void *,
                        (const void *, size_t *))(tensor, &input->rank),
                    "an input has no shape") &&
           input->rank <= RANK_MAX &&
           probe_ok(ORT(api, ORT_GetDimensions, void *,
                        (const void *, int64_t *, size_t))(tensor, input->dims, input->rank),
                    "an input has no shape");
}

static bool describe(void)
{
    ort_table api = state.api;

    if (!probe_ok(ORT(api, ORT_SessionGetInputCount, void *,
                      (void *, size_t *))(state.session, &state.input_count),
                  "the model's inputs cannot be counted") ||
        !probe_ok(ORT(api, ORT_SessionGetOutputCount, void *,
                      (void *, size_t *))(state.session, &state.output_count),
                  "the model's outputs cannot be counted"))
        return false;
    if (state.input_count > VALUES_MAX || state.output_count > VALUES_MAX) {
        tell_sentence("error", "the model has more than 64 inputs or outputs", NULL);
        return false;
    }
    for (size_t i = 0; i < state.input_count; i++)
        if (!describe_input(i))
            return false;
    for (size_t i = 0; i < state.output_count; i++)
        if (!probe_ok(ORT(api, ORT_SessionGetOutputName, void *, (void *, size_t, void *, char **))(
                          state.session, i, state.allocator, &state.outputs[i]),
                      "an output has no name"))
            return false;
    return true;
}

static uint64_t next_random(uint64_t *seed)
{
    *seed = *seed * 6364136223846793005u + 1442695040888963407u;
    return *seed >> 40;
}

/* Floats in [-1, 1), zeros in half precision, one value for all integers, false. */
static void fill(void *data, int type, int64_t count, int64_t integer)
{
    uint64_t seed = 12345;
    size_t bytes = size_of(type);

    for (int64_t i = 0; i < count; i++) {
        char *at = (char *)data + (size_t)i * bytes;

        if (type == FLOAT)
            *(float *)(void *)at = (float)next_random(&seed) / 8388608.0f - 1.0f;
        else if (type == DOUBLE)
            *(double *)(void *)at = (double)next_random(&seed) / 8388608.0 - 1.0;
        else if (type != BOOL && type != FLOAT16 && type != BFLOAT16)
            memcpy(at, &integer, bytes < sizeof integer ? bytes : sizeof integer);
    }
}

static bool make_strings(const struct value *input, const int64_t *dims, int64_t count,
                         void **out_value)
{
    const char **texts = take_memory((size_t)count * sizeof *texts);

    for (int64_t i = 0; texts && i < count; i++)
        texts[i] = "a";
    return texts &&
           probe_ok(ORT(state.api, ORT_CreateTensor, void *,
                        (void *, const int64_t *, size_t, int, void **))(
                        state.allocator, dims, input->rank, STRING, out_value),
                    "no tensor can be made") &&
           probe_ok(ORT(state.api, ORT_FillStringTensor, void *,
                        (void *, const char *const *, size_t))(*out_value, texts, (size_t)count),
                    "no text can be made up");
}

/* The number of elements; -1 if they are too many. */
static int64_t shape_of(const struct value *input, int64_t size, int64_t *out_dims)
{
    int64_t count = 1;

    for (size_t d = 0; d < input->rank; d++) {
        out_dims[d] = input->dims[d] < 0 ? size : input->dims[d];
        if (out_dims[d] > ELEMENTS_MAX || count * out_dims[d] > ELEMENTS_MAX)
            return -1;
        count *= out_dims[d];
    }
    return count;
}

static bool is_too_large(int64_t size)
{
    int64_t dims[RANK_MAX];

    for (size_t i = 0; i < state.input_count; i++)
        if (shape_of(&state.inputs[i], size, dims) < 0)
            return true;
    return false;
}

static bool make_input(const struct value *input, int64_t size, int64_t integer, void **out_value)
{
    int64_t dims[RANK_MAX];
    int64_t count = shape_of(input, size, dims);
    void *data = NULL;

    if (input->type == STRING)
        return make_strings(input, dims, count, out_value);
    if (!size_of(input->type)) {
        tell_sentence("error", "no value can be made up for the type of an input", input->name);
        return false;
    }
    if (!probe_ok(ORT(state.api, ORT_CreateTensor, void *,
                      (void *, const int64_t *, size_t, int, void **))(
                      state.allocator, dims, input->rank, input->type, out_value),
                  "no tensor can be made") ||
        !probe_ok(
            ORT(state.api, ORT_GetTensorMutableData, void *, (void *, void **))(*out_value, &data),
            "a tensor has no data"))
        return false;
    memset(data, 0, (size_t)count * size_of(input->type));
    fill(data, input->type, count, integer);
    return true;
}

/* 1 = it ran, 0 = it failed, -1 = nothing can be made up; told why. */
static int try_run(int64_t size, int64_t integer, char *out_why, size_t why_bytes)
{
    const char *names[VALUES_MAX];
    void *values[VALUES_MAX] = { NULL };
    void *results[VALUES_MAX] = { NULL };
    void *status;
    bool made = true;

    for (size_t i = 0; i < state.input_count && made; i++) {
        names[i] = state.inputs[i].name;
        made = make_input(&state.inputs[i], size, integer, &values[i]);
    }
    if (!made)
        return -1;
    status =
        ORT(state.api, ORT_Run, void *,
            (void *, const void *, const char *const *, void *const *, size_t, const char *const *,
             size_t, void **))(state.session, NULL, names, values, state.input_count,
                               (const char *const *)state.outputs, state.output_count, results);
    if (status) {
        snprintf(out_why, why_bytes, "%s",
                 ORT(state.api, ORT_GetErrorMessage, const char *, (const void *))(status));
        ORT(state.api, ORT_ReleaseStatus, void, (void *))(status);
    }
    for (size_t i = 0; i < state.input_count; i++)
        ORT(state.api, ORT_ReleaseValue, void, (void *))(values[i]);
    for (size_t i = 0; i < state.output_count; i++)
        if (results[i])
            ORT(state.api, ORT_ReleaseValue, void, (void *))(results[i]);
    return status ? 0 : 1;
}

static void tell_success(int64_t size, int64_t integer)
{
    struct tell line;

    tell_begin(&line, "run ok");
    tell_number(&line, (uint64_t)size);
    tell_number(&line, (uint64_t)integer);
    tell_end(&line);
}

bool one_run_do(const struct one_run *run)
{
    char why[512] = "";
    char *file = NULL;
    int result = 0;

    state.api = probe_api();
    if (!create_session(run) || !describe())
        return false;
    for (size_t i = 0; i < sizeof tries / sizeof tries[0] && !result; i++) {
        int64_t size = run->size > 0 ? run->size : tries[i].size;

        if (is_too_large(size)) {
            snprintf(why, sizeof why, "inputs of size %lld are too large to be made up",
                     (long long)size);
            continue;
        }
        result = try_run(size, tries[i].integer, why, sizeof why);
        if (result > 0)
            tell_success(size, tries[i].integer);
    }
    if (!result)
        tell_sentence("run failed", why, NULL);
    if (result < 0 ||
        !probe_ok(ORT(state.api, ORT_SessionEndProfiling, void *,
                      (void *, void *, char **))(state.session, state.allocator, &file),
                  "the profile cannot be had"))
        return false;
    tell_pair("profile", file);
    return true;
}
