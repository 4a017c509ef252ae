// SPDX-License-Identifier: Apache-2.0
/*
 * Opening a library, loading a model, and the inference itself, which is ONNX Runtime's Run and
 * nothing else.
 */
#include "bench/runner/ort/ort.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "bench/runner/ort/ort_internal.h"
#include "ort_abi/api.h"

static void close_library(ifg_bench_context *context)
{
    if (!context)
        return;
    ort_devices_free(context);
    for (size_t i = 0; i < context->registered_count; i++)
        ifg_free(context->registered[i]);
    if (context->providers)
        ort_good(context, ORT(context->api, ORT_ReleaseAvailableProviders, void *,
                              (char **, int))(context->providers, context->provider_count));
    if (context->memory)
        ORT(context->api, ORT_ReleaseMemoryInfo, void, (void *))(context->memory);
    if (context->env)
        ORT(context->api, ORT_ReleaseEnv, void, (void *))(context->env);
    /* The library stays: threads and destructors of its own may still need it. */
    ifg_free(context);
}

static int find_table(ifg_bench_context *context, const char *library,
                      const struct ort_error *error)
{
    const struct ort_base *(*get_base)(void);
    const struct ort_base *base;
    const char *version;
    char *slash;

    context->library = dlopen(library, RTLD_NOW | RTLD_LOCAL);
    if (!context->library)
        return ort_say(error, IFG_BENCH_UNAVAILABLE, "ONNX Runtime cannot be opened: %s",
                       dlerror());
    *(void **)&get_base = dlsym(context->library, "OrtGetApiBase");
    base = get_base ? get_base() : NULL;
    version = base ? base->get_version() : NULL;
    if (!version)
        return ort_say(error, IFG_BENCH_UNAVAILABLE,
                       "%s is not ONNX Runtime: it has no OrtGetApiBase", library);
    snprintf(context->version, sizeof context->version, "%s", version);
    if (!realpath(library, context->folder))
        snprintf(context->folder, sizeof context->folder, "%s", library);
    slash = strrchr(context->folder, '/');
    if (slash)
        *slash = '\0';
    if (!ort_abi_parse_version(version, &context->minor) || context->minor < ORT_OLDEST_MINOR)
        return ort_say(error, IFG_BENCH_UNAVAILABLE,
                       "ONNX Runtime 1.%d or newer is needed; %s is %s", ORT_OLDEST_MINOR, library,
                       version);
    if (context->minor > ORT_ABI_TRIED) /* a newer library has the older interfaces too */
        context->minor = ORT_ABI_TRIED;
    context->api = base->get_api(context->minor);
    if (!context->api)
        return ort_say(error, IFG_BENCH_UNAVAILABLE,
                       "ONNX Runtime %s does not give its functions of version %u", version,
                       context->minor);
    return IFG_BENCH_OK;
}

static int open_library(const char *library, ifg_bench_context **out_context, char *error,
                        size_t error_size)
{
    struct ort_error told = { error, error_size };
    ifg_bench_context *context = NULL;
    void *status;
    int code;

    *out_context = NULL;
    if (!library)
        return ort_say(&told, IFG_BENCH_UNAVAILABLE, "no library of ONNX Runtime was named");
    ort_profile_sweep();
    context = ifg_alloc(1, sizeof *context);
    if (!context)
        return ort_say(&told, IFG_BENCH_FAILED, "not enough memory");
    code = find_table(context, library, &told);
    if (code)
        goto out;
    status = ORT(context->api, ORT_CreateEnv, void *,
                 (int, const char *, void **))(ORT_LOG_FATAL, "inferogram", &context->env);
    if (!status)
        status = ORT(context->api, ORT_CreateCpuMemoryInfo, void *,
                     (int, int, void **))(1, 0, &context->memory);
    if (!status)
        status = ORT(context->api, ORT_GetAllocatorWithDefaultOptions, void *,
                     (void **))(&context->allocator);
    if (!status)
        status = ORT(context->api, ORT_GetAvailableProviders, void *,
                     (char ***, int *))(&context->providers, &context->provider_count);
    if (status) {
        code = ort_say_status(context, status, &told, IFG_BENCH_FAILED,
                              "ONNX Runtime %s does not start", context->version);
        goto out;
    }
    *out_context = context;
    context = NULL;
out:
    close_library(context);
    return code;
}

static const char *version(const ifg_bench_context *context)
{
    return context->version;
}

static void unload(ifg_bench_model *model)
{
    ifg_bench_context *context;

    if (!model)
        return;
    context = model->context;
    ort_placement_free(model);
    ort_values_free(model);
    ort_ports_free(model);
    if (model->session)
        ORT(context->api, ORT_ReleaseSession, void, (void *))(model->session);
    if (model->profile.fd >= 0)
        close(model->profile.fd);
    ifg_free(model);
}

static int load(ifg_bench_context *context, const char *path,
                const struct ifg_bench_setting *settings, size_t setting_count,
                ifg_bench_model **out_model, char *error, size_t error_size)
{
    struct ort_error told = { error, error_size };
    ifg_bench_model *model = ifg_alloc(1, sizeof *model);
    struct ort_wanted wanted = { 0 };
    char directory[64] = "";
    void *status;
    int code;

    *out_model = NULL;
    if (!model)
        return ort_say(&told, IFG_BENCH_FAILED, "not enough memory");
    model->context = context;
    model->profile.fd = -1;
    code = ort_options_create(context, settings, setting_count, &wanted, &told);
    if (code)
        goto out;
    model->is_cpu_only = wanted.is_cpu_only;
    model->has_assignment = context->minor >= 24;
    /* Other providers start profilers of their own when a session is profiled. */
    if (wanted.is_cpu_only)
        ort_profile_begin(context, wanted.options, &model->profile, directory);
    status = ORT(context->api, ORT_CreateSession, void *,
                 (const void *, const char *, const void *, void **))(
        context->env, path, wanted.options, &model->session);
    ort_profile_hide(&model->profile, directory);
    code = status ? ort_say_load(context, status, path, wanted.is_cpu_only, &told)
                  : ort_ports_read(model, &told);
    if (code)
        goto out;
    *out_model = model;
    model = NULL;
out:
    if (wanted.options)
        ORT(context->api, ORT_ReleaseSessionOptions, void, (void *))(wanted.options);
    unload(model);
    return code;
}

static size_t inputs(const ifg_bench_model *model, const struct ifg_bench_port **out_ports)
{
    *out_ports = model->inputs.items;
    return model->inputs.count;
}

static size_t outputs(const ifg_bench_model *model, const struct ifg_bench_port **out_ports)
{
    *out_ports = model->outputs.items;
    return model->outputs.count;
}

static void end_profile(ifg_bench_model *model)
{
    if (model->profile.is_on)
        model->specialization_ns = ort_profile_end(model->context, model->session, &model->profile);
}

/* Asked after the load has been timed; the model is ours to change. */
static uint64_t specialization_ns(const ifg_bench_model *model)
{
    end_profile((ifg_bench_model *)(uintptr_t)model);
    return model->specialization_ns;
}

static int bind(ifg_bench_model *model, size_t set, const struct ifg_bench_tensor *tensors,
                size_t tensor_count, uint32_t workers, char *error, size_t error_size)
{
    end_profile(model);
    return ort_bind(model, set, tensors, tensor_count, workers, error, error_size);
}

static int run(ifg_bench_model *model, size_t set, uint32_t worker, char *error, size_t error_size)
{
    const struct ort_set *inputs_of_set = &model->sets[set];
    void *status = ORT(model->context->api, ORT_Run, void *,
                       (void *, const void *, const char *const *, const void *const *, size_t,
                        const char *const *, size_t, void **))(
        model->session, NULL, inputs_of_set->names, (const void *const *)inputs_of_set->values,
        inputs_of_set->count, model->output_names, model->outputs.count,
        model->workers[worker].outputs);

    return status ? ort_say_run(model->context, status, &(struct ort_error){ error, error_size })
                  : IFG_BENCH_OK;
}

const struct ifg_bench_runtime bench_ort_runtime = {
    .struct_size = sizeof bench_ort_runtime,
    .name = BENCH_ORT_NAME,
    .open = open_library,
    .close = close_library,
    .version = version,
    .load = load,
    .unload = unload,
    .inputs = inputs,
    .outputs = outputs,
    .bind = bind,
    .run = run,
    .finish = ort_finish,
    .results = ort_results,
    .specialization_ns = specialization_ns,
    .placement = ort_placement,
    .nodes = ort_nodes,
    .devices = ort_devices,
    IFG_BENCH_ELEMENT_SIZES,
};
