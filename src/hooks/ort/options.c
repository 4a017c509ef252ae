// SPDX-License-Identifier: Apache-2.0
/*
 * Session options: what the program asks for. ONNX Runtime has no functions to read most of it
 * back, so it is noted down as it is set. Only calls that worked count.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "hooks/ort/refused.h"
#include "hooks/ort/wrap.h"

static const struct ort_options defaults = {
    .graph_optimization = 99,
    .log_severity = -1,
    .policy = -1,
};

/* Of an object that was made before the table was patched. */
static const struct ort_options unknown = {
    .graph_optimization = 99,
    .log_severity = -1,
    .policy = -1,
    .unknown = true,
};

const struct ort_options *ort_options_of(const struct ort_session_options *options)
{
    const struct ort_options *known = ort_map_find(&ort_options_map, options);

    if (known)
        return known;
    return options && ort_late ? &unknown : &defaults;
}

/* To change; NULL for options that we did not see being made. */
static struct ort_options *known(struct ort_session_options *options)
{
    return ort_map_find(&ort_options_map, options);
}

struct ort_status *ort_CreateSessionOptions(struct ort_runtime *rt,
                                            struct ort_session_options **out)
{
    struct ort_status *status =
        ORT_FN(rt, CreateSessionOptions, struct ort_session_options **)(out);
    struct ort_options *made = status || !out ? NULL : malloc(sizeof *made);

    if (made) {
        *made = defaults;
        if (!ort_map_add(&ort_options_map, *out, made))
            free(made);
    }
    return status;
}

struct ort_status *ort_CloneSessionOptions(struct ort_runtime *rt,
                                           const struct ort_session_options *from,
                                           struct ort_session_options **out)
{
    struct ort_status *status = ORT_FN(rt, CloneSessionOptions, const struct ort_session_options *,
                                       struct ort_session_options **)(from, out);
    struct ort_options *made = status || !out ? NULL : malloc(sizeof *made);

    if (made) {
        *made = *ort_options_of(from);
        made->prepares.count = 0; /* those belong to the original's first session */
        if (!ort_map_add(&ort_options_map, *out, made))
            free(made);
    }
    return status;
}

/* What was prepared for a session that never came belongs to the next one. */
static void hand_on(struct ort_runtime *rt, struct ort_options *noted)
{
    pthread_mutex_lock(&rt->lock);
    ort_prepares_move(&noted->prepares, &rt->prepares);
    pthread_mutex_unlock(&rt->lock);
}

void ort_ReleaseSessionOptions(struct ort_runtime *rt, struct ort_session_options *options)
{
    struct ort_options *noted = ort_map_remove(&ort_options_map, options);

    if (noted && noted->prepares.count && noted->failed_count)
        hand_on(rt, noted);
    free(noted);
    ORT_VOID(rt, ReleaseSessionOptions)(options);
}

/* A setter of one number: passed on, and noted if it worked. */
#define SETTER(name, field)                                                                        \
    struct ort_status *ort_##name(struct ort_runtime *rt, struct ort_session_options *options,     \
                                  int value)                                                       \
    {                                                                                              \
        struct ort_status *status =                                                                \
            ORT_FN(rt, name, struct ort_session_options *, int)(options, value);                   \
        struct ort_options *noted = status ? NULL : known(options);                                \
        if (noted)                                                                                 \
            noted->field = value;                                                                  \
        return status;                                                                             \
    }

SETTER(SetSessionExecutionMode, execution_mode)
SETTER(SetSessionLogSeverityLevel, log_severity)
SETTER(SetSessionGraphOptimizationLevel, graph_optimization)
SETTER(SetIntraOpNumThreads, intra_threads)
SETTER(SetInterOpNumThreads, inter_threads)
SETTER(SetEpSelectionPolicy, policy)

struct ort_status *ort_SetEpSelectionPolicyDelegate(struct ort_runtime *rt,
                                                    struct ort_session_options *options,
                                                    void *function, void *user)
{
    struct ort_status *status =
        ORT_FN(rt, SetEpSelectionPolicyDelegate, struct ort_session_options *, void *,
               void *)(options, function, user);
    struct ort_options *noted = status ? NULL : known(options);

    if (noted)
        noted->policy = -2;
    return status;
}

struct ort_status *ort_SetOptimizedModelFilePath(struct ort_runtime *rt,
                                                 struct ort_session_options *options, ort_text path)
{
    struct ort_status *status = ORT_FN(rt, SetOptimizedModelFilePath, struct ort_session_options *,
                                       ort_text)(options, path);
    struct ort_options *noted = status ? NULL : known(options);

    if (noted)
        noted->saves_optimized = path && *path;
    return status;
}

struct ort_status *ort_EnableProfiling(struct ort_runtime *rt, struct ort_session_options *options,
                                       ort_text prefix)
{
    struct ort_status *status =
        ORT_FN(rt, EnableProfiling, struct ort_session_options *, ort_text)(options, prefix);
    struct ort_options *noted = status ? NULL : known(options);

    if (noted)
        noted->profiling = true;
    return status;
}

struct ort_status *ort_DisableProfiling(struct ort_runtime *rt, struct ort_session_options *options)
{
    struct ort_status *status = ORT_FN(rt, DisableProfiling, struct ort_session_options *)(options);
    struct ort_options *noted = status ? NULL : known(options);

    if (noted)
        noted->profiling = false;
    return status;
}

struct ort_status *ort_DisablePerSessionThreads(struct ort_runtime *rt,
                                                struct ort_session_options *options)
{
    struct ort_status *status =
        ORT_FN(rt, DisablePerSessionThreads, struct ort_session_options *)(options);
    struct ort_options *noted = status ? NULL : known(options);

    if (noted)
        noted->global_threads = true;
    return status;
}

/* ---- entries with names ---- */

static void note_entry(struct ort_options *noted, const char *key, const char *value)
{
    static const char *const cache_endings[] = {
        "cache_path", "cache_dir", "cache_prefix_path", "context_file_path", "cache_file",
    };
    size_t bytes = strlen(key);

    for (const char *at = key; *at; at++)
        noted->config_hash = (noted->config_hash ^ (unsigned char)*at) * 0x100000001b3ull;
    for (const char *at = value; *at; at++)
        noted->config_hash = (noted->config_hash ^ (unsigned char)*at) * 0x100000001b3ull;
    for (size_t i = 0; i < sizeof cache_endings / sizeof *cache_endings; i++) {
        size_t ending = strlen(cache_endings[i]);

        if (bytes >= ending && strcmp(key + bytes - ending, cache_endings[i]) == 0 && *value &&
            noted->cache_count < ORT_CACHES)
            snprintf(noted->caches[noted->cache_count++], ORT_TEXT, "%s", value);
    }
}

struct ort_status *ort_AddSessionConfigEntry(struct ort_runtime *rt,
                                             struct ort_session_options *options, ort_text key,
                                             ort_text value)
{
    struct ort_status *status = ORT_FN(rt, AddSessionConfigEntry, struct ort_session_options *,
                                       ort_text, ort_text)(options, key, value);
    struct ort_options *noted = status || !key || !value ? NULL : known(options);

    if (noted) {
        note_entry(noted, key, value);
        if (strcmp(key, "session.disable_cpu_ep_fallback") == 0)
            noted->no_cpu_fallback = strcmp(value, "1") == 0;
        else if (strcmp(key, "ep.context_enable") == 0)
            noted->writes_context = strcmp(value, "1") == 0;
        else if (strcmp(key, "session.use_env_allocators") == 0)
            noted->env_allocators = strcmp(value, "1") == 0;
    }
    return status;
}

/* ---- providers ---- */

/* "CUDA" and "CUDAExecutionProvider" are the same; the long form is what ONNX Runtime reports. */
static void full_name(const char *name, char *out, size_t size)
{
    bool is_full = strstr(name, "ExecutionProvider") != NULL;

    snprintf(out, size, "%.29s%s", name, is_full ? "" : "ExecutionProvider");
    if (is_full)
        snprintf(out, size, "%.46s", name);
}

static void note_provider(struct ort_runtime *rt, struct ort_session_options *options,
                          const char *name, const ort_text *keys, const ort_text *values,
                          size_t count, uint64_t start, struct ort_status *status)
{
    struct ort_options *noted = known(options);
    char text[ORT_TEXT] = "";
    char full[48];

    if (!noted)
        return;
    full_name(name ? name : "?", full, sizeof full);
    if (status)
        ort_status_text(rt, status, text, sizeof text);
    ort_prepares_add(&noted->prepares, full, NULL, start, ifg_ticks(), text);
    if (status)
        refused_provider(full, text);
    if (status && noted->failed_count < ORT_PROVIDERS) {
        snprintf(noted->failed[noted->failed_count][0], ORT_TEXT, "%s", full);
        snprintf(noted->failed[noted->failed_count++][1], ORT_TEXT, "%s", text);
    }
    for (unsigned i = 0; i < noted->provider_count; i++)
        if (strcmp(noted->providers[i], full) == 0)
            return;
    if (noted->provider_count < ORT_PROVIDERS)
        memcpy(noted->providers[noted->provider_count++], full, sizeof full);
    if (status)
        return;
    for (size_t i = 0; keys && values && i < count; i++)
        if (keys[i] && values[i])
            note_entry(noted, keys[i], values[i]);
}

#define APPENDER(name, provider)                                                                   \
    struct ort_status *ort_##name(struct ort_runtime *rt, struct ort_session_options *options,     \
                                  const void *more)                                                \
    {                                                                                              \
        uint64_t start = ifg_ticks();                                                              \
        struct ort_status *status =                                                                \
            ORT_FN(rt, name, struct ort_session_options *, const void *)(options, more);           \
        note_provider(rt, options, provider, NULL, NULL, 0, start, status);                        \
        return status;                                                                             \
    }

APPENDER(AppendExecutionProvider_CUDA, "CUDA")
APPENDER(AppendExecutionProvider_CUDA_V2, "CUDA")
APPENDER(AppendExecutionProvider_ROCM, "ROCM")
APPENDER(AppendExecutionProvider_OpenVINO, "OpenVINO")
APPENDER(AppendExecutionProvider_TensorRT, "Tensorrt")
APPENDER(AppendExecutionProvider_TensorRT_V2, "Tensorrt")
APPENDER(AppendExecutionProvider_MIGraphX, "MIGraphX")
APPENDER(AppendExecutionProvider_CANN, "CANN")
APPENDER(AppendExecutionProvider_Dnnl, "Dnnl")

#define NAMED_APPENDER(name, provider)                                                             \
    struct ort_status *ort_##name(struct ort_runtime *rt, struct ort_session_options *options,     \
                                  const ort_text *keys, const ort_text *values, size_t count)      \
    {                                                                                              \
        uint64_t start = ifg_ticks();                                                              \
        struct ort_status *status =                                                                \
            ORT_FN(rt, name, struct ort_session_options *, const ort_text *, const ort_text *,     \
                   size_t)(options, keys, values, count);                                          \
        note_provider(rt, options, provider, keys, values, count, start, status);                  \
        return status;                                                                             \
    }

NAMED_APPENDER(AppendExecutionProvider_OpenVINO_V2, "OpenVINO")
NAMED_APPENDER(AppendExecutionProvider_VitisAI, "VitisAI")

struct ort_status *ort_AppendExecutionProvider(struct ort_runtime *rt,
                                               struct ort_session_options *options, ort_text name,
                                               const ort_text *keys, const ort_text *values,
                                               size_t count)
{
    uint64_t start = ifg_ticks();
    struct ort_status *status =
        ORT_FN(rt, AppendExecutionProvider, struct ort_session_options *, ort_text,
               const ort_text *, const ort_text *, size_t)(options, name, keys, values, count);

    note_provider(rt, options, name, keys, values, count, start, status);
    return status;
}

struct ort_status *ort_AppendExecutionProvider_V2(struct ort_runtime *rt,
                                                  struct ort_session_options *options,
                                                  struct ort_env *env,
                                                  const struct ort_ep_device *const *devices,
                                                  size_t devices_count, const ort_text *keys,
                                                  const ort_text *values, size_t count)
{
    uint64_t start = ifg_ticks();
    struct ort_status *status =
        ORT_FN(rt, AppendExecutionProvider_V2, struct ort_session_options *, struct ort_env *,
               const struct ort_ep_device *const *, size_t, const ort_text *, const ort_text *,
               size_t)(options, env, devices, devices_count, keys, values, count);
    const char *name = NULL;

    if (devices && devices_count && devices[0])
        name = ((const char *(*)(const struct ort_ep_device *))rt->api[ORT_EpDevice_EpName])(
            devices[0]);
    note_provider(rt, options, name, keys, values, count, start, status);
    return status;
}

/* ---- as text ---- */

void ort_requested_text(const struct ort_options *options, char *out, size_t size)
{
    bool has_cpu = false;
    size_t at = 0;

    out[0] = '\0';
    if (options->unknown)
        return;
    for (unsigned i = 0; i < options->provider_count && at < size; i++) {
        has_cpu = has_cpu || strcmp(options->providers[i], ORT_CPU) == 0;
        at += (size_t)snprintf(out + at, size - at, "%s%s", i ? "," : "", options->providers[i]);
    }
    if (!has_cpu && at < size)
        snprintf(out + at, size - at, "%s" ORT_CPU, at ? "," : "");
}

void ort_options_text(const struct ort_options *options, char *out, size_t size)
{
    const char *level = options->graph_optimization == 0   ? "off"
                        : options->graph_optimization == 1 ? "basic"
                        : options->graph_optimization == 2 ? "extended"
                        : options->graph_optimization == 3 ? "layout"
                                                           : "all";

    if (options->unknown) {
        snprintf(out, size, "unknown (made before the attach)");
        return;
    }
    snprintf(out, size,
             "intra_op_threads=%d inter_op_threads=%d graph_optimization=%s execution_mode=%s%s%s",
             options->intra_threads, options->inter_threads, level,
             options->execution_mode ? "parallel" : "sequential",
             options->global_threads ? " global_thread_pools=1" : "",
             options->profiling ? " profiling=1" : "");
}
