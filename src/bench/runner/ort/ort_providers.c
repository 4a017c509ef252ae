// SPDX-License-Identifier: Apache-2.0
/*
 * Execution providers: "cuda+cpu" into calls of ONNX Runtime, each by the function that its kind
 * needs. What this build or this machine lacks is said in one sentence.
 */
#include <dlfcn.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "bench/runner/ort/ort_internal.h"

#define OPTIONS_MAX 64
#define NAME_BYTES  128

enum way {
    BY_NOTHING, /* the CPU is always there */
    BY_OPTIONS, /* an object of options is made, filled and appended */
    BY_PAIRS,   /* a function with keys and values */
    BY_NAME,    /* SessionOptionsAppendExecutionProvider */
    BY_ZEROS,   /* a structure whose default is all zeros; by name if there are options */
};

enum device { NO_DEVICE, A_GPU, AN_NPU };

static const struct provider {
    const char *name; /* as the user says it */
    const char *full;
    const char *short_name; /* for BY_NAME */
    const char *library;    /* that it is in, beside ONNX Runtime's; NULL: in that itself */
    enum way way;
    unsigned since; /* minor version with the functions needed */
    enum device device;
    enum ort_slot create, update, append, release;
} known[] = {
    { .name = "cpu", .full = ORT_CPU, .way = BY_NOTHING },
    { .name = "cuda",
      .library = "libonnxruntime_providers_cuda.so",
      .full = "CUDAExecutionProvider",
      .way = BY_OPTIONS,
      .device = A_GPU,
      .create = ORT_CreateCUDAProviderOptions,
      .update = ORT_UpdateCUDAProviderOptions,
      .append = ORT_AppendExecutionProvider_CUDA_V2,
      .release = ORT_ReleaseCUDAProviderOptions },
    { .name = "tensorrt",
      .library = "libonnxruntime_providers_tensorrt.so",
      .full = "TensorrtExecutionProvider",
      .way = BY_OPTIONS,
      .device = A_GPU,
      .create = ORT_CreateTensorRTProviderOptions,
      .update = ORT_UpdateTensorRTProviderOptions,
      .append = ORT_AppendExecutionProvider_TensorRT_V2,
      .release = ORT_ReleaseTensorRTProviderOptions },
    { .name = "nv_tensorrt_rtx",
      .library = "libonnxruntime_providers_nv_tensorrt_rtx.so",
      .full = "NvTensorRTRTXExecutionProvider",
      .short_name = "NvTensorRtRtx",
      .way = BY_NAME,
      .device = A_GPU },
    { .name = "rocm",
      .library = "libonnxruntime_providers_rocm.so",
      .full = "ROCMExecutionProvider",
      .way = BY_OPTIONS,
      .since = 16,
      .device = A_GPU,
      .create = ORT_CreateROCMProviderOptions,
      .update = ORT_UpdateROCMProviderOptions,
      .append = ORT_AppendExecutionProvider_ROCM,
      .release = ORT_ReleaseROCMProviderOptions },
    { .name = "migraphx",
      .library = "libonnxruntime_providers_migraphx.so",
      .full = "MIGraphXExecutionProvider",
      .short_name = "MIGraphX",
      .way = BY_ZEROS,
      .device = A_GPU,
      .append = ORT_AppendExecutionProvider_MIGraphX },
    { .name = "webgpu",
      .full = "WebGpuExecutionProvider",
      .short_name = "WebGPU",
      .way = BY_NAME,
      .device = A_GPU },
    { .name = "openvino",
      .library = "libonnxruntime_providers_openvino.so",
      .full = "OpenVINOExecutionProvider",
      .way = BY_PAIRS,
      .since = 17,
      .append = ORT_AppendExecutionProvider_OpenVINO_V2 },
    { .name = "qnn",
      .full = "QNNExecutionProvider",
      .short_name = "QNN",
      .way = BY_NAME,
      .device = AN_NPU },
    { .name = "vitisai",
      .library = "libonnxruntime_providers_vitisai.so",
      .full = "VitisAIExecutionProvider",
      .way = BY_PAIRS,
      .since = 18,
      .device = AN_NPU,
      .append = ORT_AppendExecutionProvider_VitisAI },
    { .name = "cann",
      .library = "libonnxruntime_providers_cann.so",
      .full = "CANNExecutionProvider",
      .way = BY_OPTIONS,
      .device = AN_NPU,
      .create = ORT_CreateCANNProviderOptions,
      .update = ORT_UpdateCANNProviderOptions,
      .append = ORT_AppendExecutionProvider_CANN,
      .release = ORT_ReleaseCANNProviderOptions },
    { .name = "snpe",
      .full = "SNPEExecutionProvider",
      .short_name = "SNPE",
      .way = BY_NAME,
      .device = AN_NPU },
    { .name = "coreml", .full = "CoreMLExecutionProvider", .short_name = "CoreML", .way = BY_NAME },
    { .name = "dnnl",
      .library = "libonnxruntime_providers_dnnl.so",
      .full = "DnnlExecutionProvider",
      .way = BY_OPTIONS,
      .since = 15,
      .create = ORT_CreateDnnlProviderOptions,
      .update = ORT_UpdateDnnlProviderOptions,
      .append = ORT_AppendExecutionProvider_Dnnl,
      .release = ORT_ReleaseDnnlProviderOptions },
    { .name = "xnnpack",
      .full = "XnnpackExecutionProvider",
      .short_name = "XNNPACK",
      .way = BY_NAME },
    { .name = "azure", .full = "AzureExecutionProvider", .short_name = "AZURE", .way = BY_NAME },
};

struct pairs {
    const char *keys[OPTIONS_MAX];
    const char *values[OPTIONS_MAX];
    size_t count;
};

struct job {
    ifg_bench_context *context;
    const struct ifg_bench_setting *settings;
    size_t setting_count;
    struct ort_wanted *wanted;
    const struct ort_error *error;
    char has[512]; /* what this build has, for messages */
};

static const struct provider *find_known(const char *name)
{
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (strcasecmp(known[i].name, name) == 0 || strcasecmp(known[i].full, name) == 0)
            return &known[i];
    return NULL;
}

static bool is_built_in(const ifg_bench_context *context, const char *full)
{
    for (int i = 0; i < context->provider_count; i++)
        if (strcmp(context->providers[i], full) == 0)
            return true;
    return false;
}

/* Calls each name of "a+b"; stops at the first that is not 0. */
static int each_name(const char *list, int (*call)(const char *name, void *user), void *user)
{
    char name[NAME_BYTES];

    while (*list) {
        size_t length = strcspn(list, "+");
        int code;

        snprintf(name, sizeof name, "%.*s", (int)(length < sizeof name ? length : sizeof name - 1),
                 list);
        code = call(name, user);
        if (code)
            return code;
        list += length + (list[length] == '+');
    }
    return 0;
}

struct wanted_name {
    const char *name;
    size_t length;
};

static int same_name(const char *name, void *user)
{
    const struct wanted_name *wanted = user;

    return strlen(name) == wanted->length && strncasecmp(name, wanted->name, wanted->length) == 0;
}

bool ort_providers_has(const char *list, const char *name, size_t length)
{
    struct wanted_name wanted = { name, length };

    return each_name(list, same_name, &wanted) ||
           each_name(list, same_name, &(struct wanted_name){ "all", 3 }) ||
           each_name(list, same_name, &(struct wanted_name){ "gpu", 3 }) ||
           each_name(list, same_name, &(struct wanted_name){ "npu", 3 });
}

/* ---- one provider ---- */

static int collect_pairs(const struct job *job, const char *name, struct pairs *out)
{
    size_t length = strlen(name);

    out->count = 0;
    for (size_t i = 0; i < job->setting_count; i++) {
        const char *key = job->settings[i].key;

        if (strncmp(key, "ep.", 3) != 0 || strncasecmp(key + 3, name, length) != 0 ||
            key[3 + length] != '.' || !key[4 + length])
            continue;
        if (out->count == OPTIONS_MAX)
            return ort_say(job->error, IFG_BENCH_UNAVAILABLE, "%s has more than %d options", name,
                           OPTIONS_MAX);
        out->keys[out->count] = key + 4 + length;
        out->values[out->count++] = job->settings[i].value;
    }
    return IFG_BENCH_OK;
}

static void *append_by_options(const struct job *job, const struct provider *provider,
                               const struct pairs *pairs)
{
    ort_table api = job->context->api;
    void *options = NULL;
    void *status = ORT(api, provider->create, void *, (void **))(&options);

    if (!status && pairs->count)
        status = ORT(api, provider->update, void *,
                     (void *, const char *const *, const char *const *, size_t))(
            options, pairs->keys, pairs->values, pairs->count);
    if (!status)
        status = ORT(api, provider->append, void *, (void *, const void *))(job->wanted->options,
                                                                            options);
    if (options)
        ORT(api, provider->release, void, (void *))(options);
    return status;
}

static void *append_by_name(const struct job *job, const char *name, const struct pairs *pairs)
{
    return ORT(job->context->api, ORT_AppendExecutionProvider, void *,
               (void *, const char *, const char *const *, const char *const *, size_t))(
        job->wanted->options, name, pairs->keys, pairs->values, pairs->count);
}

static void *append(const struct job *job, const struct provider *provider,
                    const struct pairs *pairs)
{
    static const uint64_t zeros[64];

    switch (provider->way) {
    case BY_OPTIONS:
        return append_by_options(job, provider, pairs);
    case BY_PAIRS:
        return ORT(job->context->api, provider->append, void *,
                   (void *, const char *const *, const char *const *, size_t))(
            job->wanted->options, pairs->keys, pairs->values, pairs->count);
    case BY_ZEROS:
        if (!pairs->count)
            return ORT(job->context->api, provider->append, void *,
                       (void *, const void *))(job->wanted->options, zeros);
        return append_by_name(job, provider->short_name, pairs);
    case BY_NAME:
        return append_by_name(job, provider->short_name, pairs);
    default:
        return NULL;
    }
}

/* ONNX Runtime does not say which library, nor what that lacks. */
static int say_refused(const struct job *job, const struct provider *provider, void *status)
{
    static const char refused[] = "cannot be used here";
    char path[PATH_MAX + 64];
    int code = ort_say_status(job->context, status, job->error, IFG_BENCH_UNAVAILABLE, "%s %s",
                              provider->full, refused);

    if (!provider->library || !strstr(job->error->text, "Failed to load shared library"))
        return code;
    snprintf(path, sizeof path, "%s/%s", job->context->folder, provider->library);
    if (access(path, F_OK) < 0)
        return ort_say(job->error, code, "%s %s: there is no %s beside ONNX Runtime's library",
                       provider->full, refused, provider->library);
    if (!dlopen(path, RTLD_LAZY | RTLD_LOCAL))
        return ort_say(job->error, code, "%s %s: %s", provider->full, refused, dlerror());
    return code;
}

static int append_built_in(const struct job *job, const struct provider *provider)
{
    struct pairs pairs;
    void *status;
    int code = collect_pairs(job, provider->name, &pairs);

    if (code)
        return code;
    if (job->context->minor < provider->since)
        return ort_say(job->error, IFG_BENCH_UNAVAILABLE,
                       "%s needs ONNX Runtime 1.%u or newer; this is %s", provider->full,
                       provider->since, job->context->version);
    status = append(job, provider, &pairs);
    if (status)
        return say_refused(job, provider, status);
    job->wanted->is_cpu_only = false;
    return IFG_BENCH_OK;
}

/* All devices of the provider of that name, or of all devices of a kind those of the first provider
 * found. *out_found tells whether there was one. */
static int append_devices(const struct job *job, const char *name, int type, const char *options_of,
                          bool *out_found)
{
    const ifg_bench_context *context = job->context;
    void *const *devices = NULL;
    size_t count = ort_ep_devices(context, &devices);
    const char *provider = NULL;
    void *chosen[32];
    size_t chosen_count = 0;
    struct pairs pairs;
    void *status;
    int code = collect_pairs(job, options_of, &pairs);

    *out_found = false;
    if (code)
        return code;
    for (size_t i = 0; i < count && chosen_count < sizeof chosen / sizeof *chosen; i++) {
        const char *of = ort_device_provider(context, devices[i]);

        if (strcmp(of, ORT_CPU) == 0 || (name && strcasecmp(of, name) != 0) ||
            (type >= 0 && ort_device_type(context, devices[i]) != type) ||
            (provider && strcmp(of, provider) != 0))
            continue;
        provider = of;
        chosen[chosen_count++] = devices[i];
    }
    if (!chosen_count)
        return IFG_BENCH_OK;
    *out_found = true;
    status = ORT(context->api, ORT_AppendExecutionProvider_V2, void *,
                 (void *, void *, void *const *, size_t, const char *const *, const char *const *,
                  size_t))(job->wanted->options, context->env, chosen, chosen_count, pairs.keys,
                           pairs.values, pairs.count);
    if (status)
        return ort_say_status(context, status, job->error, IFG_BENCH_UNAVAILABLE,
                              "%s cannot be used here", provider);
    job->wanted->is_cpu_only = false;
    return IFG_BENCH_OK;
}

/* ---- "gpu", "npu", "all" ---- */

/* What was told about each of those tried. */
static void collect_reason(const struct job *job, char *tried, size_t size)
{
    size_t length = strlen(tried);

    snprintf(tried + length, size - length, "%s%.200s", length ? "; " : "", job->error->text);
}

static int append_kind(const struct job *job, const char *word, enum device device, int type)
{
    bool found = false;
    char tried[768] = "";
    int code = append_devices(job, NULL, type, word, &found);

    if (code || found)
        return code;
    code = ort_say(job->error, IFG_BENCH_UNAVAILABLE,
                   "this build of ONNX Runtime has no provider for %s (it has: %s)",
                   device == A_GPU ? "a GPU" : "an NPU", job->has);
    for (size_t i = 0; i < sizeof known / sizeof *known && code; i++) {
        if (known[i].device != device || !is_built_in(job->context, known[i].full))
            continue;
        code = append_built_in(job, &known[i]);
        if (code)
            collect_reason(job, tried, sizeof tried);
    }
    return code && *tried ? ort_say(job->error, code, "%s", tried) : code;
}

/* Whatever works. ONNX Runtime lists those first that it would prefer itself; Azure's computes
 * elsewhere. */
static int append_all(const struct job *job)
{
    bool has_npu = false;
    bool has_gpu = false;
    bool has_other = false;
    char tried[768] = "";
    int code = append_devices(job, NULL, ORT_DEVICE_NPU, "npu", &has_npu);

    if (!code)
        code = append_devices(job, NULL, ORT_DEVICE_GPU, "gpu", &has_gpu);
    if (code || has_npu || has_gpu)
        return code;
    code = ort_say(job->error, IFG_BENCH_UNAVAILABLE,
                   "there is no accelerator: this build of ONNX Runtime has no provider for one "
                   "(it has: %s)",
                   job->has);
    for (int i = 0; i < job->context->provider_count; i++) {
        const struct provider *provider = find_known(job->context->providers[i]);

        if (!provider || provider->way == BY_NOTHING || strcmp(provider->name, "azure") == 0)
            continue;
        code = append_built_in(job, provider);
        has_other = has_other || !code;
        if (code)
            collect_reason(job, tried, sizeof tried);
    }
    if (has_other)
        return IFG_BENCH_OK;
    return *tried ? ort_say(job->error, code, "%s", tried) : code;
}

static int append_one(const char *name, void *user)
{
    const struct job *job = user;
    const struct provider *provider = find_known(name);
    bool found = false;
    int code;

    if (strcasecmp(name, "gpu") == 0)
        return append_kind(job, name, A_GPU, ORT_DEVICE_GPU);
    if (strcasecmp(name, "npu") == 0)
        return append_kind(job, name, AN_NPU, ORT_DEVICE_NPU);
    if (strcasecmp(name, "all") == 0)
        return append_all(job);
    if (provider && provider->way == BY_NOTHING)
        return IFG_BENCH_OK;
    if (provider && is_built_in(job->context, provider->full))
        return append_built_in(job, provider);
    /* A provider of a library of its own goes by the name that its devices have. */
    code = append_devices(job, provider ? provider->full : name, -1, name, &found);
    if (code || found)
        return code;
    return ort_say(job->error, IFG_BENCH_UNAVAILABLE,
                   "%s is not in this build of ONNX Runtime (it has: %s)",
                   provider ? provider->full : name, job->has);
}

int ort_providers_append(ifg_bench_context *context, const char *list,
                         const struct ifg_bench_setting *settings, size_t count,
                         struct ort_wanted *wanted, const struct ort_error *error)
{
    struct job job = { .context = context,
                       .settings = settings,
                       .setting_count = count,
                       .wanted = wanted,
                       .error = error };

    ort_providers_text(context, job.has, sizeof job.has);
    return each_name(list, append_one, &job);
}
