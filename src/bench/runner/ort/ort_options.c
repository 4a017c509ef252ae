// SPDX-License-Identifier: Apache-2.0
/* Settings of a session: what may be asked for, and how ONNX Runtime is told. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/runner/ort/ort_internal.h"

#define KNOWN                                                                                      \
    "threads, inter_threads, opt, parallel, ep, ep.NAME.OPTION, ep_library.NAME, strict_ep, "      \
    "policy, config.KEY"

struct settings {
    const char *ep;
    const char *policy;
    bool is_strict;
};

static int bad_value(const struct ifg_bench_setting *setting, const char *takes,
                     const struct ort_error *error)
{
    return ort_say(error, IFG_BENCH_UNAVAILABLE, "%s cannot be \"%s\": it takes %s", setting->key,
                   setting->value, takes);
}

static bool number_in(const char *text, long most, long *out_number)
{
    char *end;

    errno = 0;
    *out_number = strtol(text, &end, 10);
    return !errno && end != text && !*end && *out_number >= 0 && *out_number <= most;
}

static int set_number(ifg_bench_context *context, void *options,
                      const struct ifg_bench_setting *setting, enum ort_slot slot, long most,
                      const char *takes, const struct ort_error *error)
{
    long number;
    void *status;

    if (!number_in(setting->value, most, &number))
        return bad_value(setting, takes, error);
    status = ORT(context->api, slot, void *, (void *, int))(options, (int)number);
    return status ? ort_say_status(context, status, error, IFG_BENCH_UNAVAILABLE,
                                   "%s cannot be set to %s", setting->key, setting->value)
                  : IFG_BENCH_OK;
}

static int set_level(ifg_bench_context *context, void *options,
                     const struct ifg_bench_setting *setting, const struct ort_error *error)
{
    static const struct {
        const char *name;
        int level;
    } levels[] = { { "none", 0 }, { "basic", 1 }, { "extended", 2 }, { "all", 99 } };
    void *status;

    for (size_t i = 0; i < sizeof levels / sizeof *levels; i++) {
        if (strcmp(setting->value, levels[i].name) != 0)
            continue;
        status = ORT(context->api, ORT_SetSessionGraphOptimizationLevel, void *,
                     (void *, int))(options, levels[i].level);
        return status ? ort_say_status(context, status, error, IFG_BENCH_UNAVAILABLE,
                                       "the optimization level cannot be set")
                      : IFG_BENCH_OK;
    }
    return bad_value(setting, "none, basic, extended or all", error);
}

static int set_config(ifg_bench_context *context, void *options, const char *key, const char *value,
                      const struct ort_error *error)
{
    void *status = ORT(context->api, ORT_AddSessionConfigEntry, void *,
                       (void *, const char *, const char *))(options, key, value);

    return status ? ort_say_status(context, status, error, IFG_BENCH_UNAVAILABLE,
                                   "the session cannot be configured with %s=%s", key, value)
                  : IFG_BENCH_OK;
}

static int set_policy(ifg_bench_context *context, void *options, const char *policy,
                      const struct ort_error *error)
{
    static const char *const names[] = { "DEFAULT",          "PREFER_CPU",      "PREFER_NPU",
                                         "PREFER_GPU",       "MAX_PERFORMANCE", "MAX_EFFICIENCY",
                                         "MIN_OVERALL_POWER" };
    size_t i = 0;
    void *status;

    while (i < sizeof names / sizeof *names && strcasecmp(policy, names[i]) != 0)
        i++;
    if (i == sizeof names / sizeof *names)
        return ort_say(error, IFG_BENCH_UNAVAILABLE,
                       "there is no policy \"%s\": it is one of DEFAULT, PREFER_CPU, PREFER_NPU, "
                       "PREFER_GPU, MAX_PERFORMANCE, MAX_EFFICIENCY, MIN_OVERALL_POWER",
                       policy);
    if (context->minor < 22)
        return ort_say(error, IFG_BENCH_UNAVAILABLE,
                       "a policy needs ONNX Runtime 1.22 or newer; this is %s", context->version);
    status = ORT(context->api, ORT_SetEpSelectionPolicy, void *, (void *, int))(options, (int)i);
    return status ? ort_say_status(context, status, error, IFG_BENCH_UNAVAILABLE,
                                   "the policy %s cannot be had", names[i])
                  : IFG_BENCH_OK;
}

static int take(ifg_bench_context *context, struct ort_wanted *wanted,
                const struct ifg_bench_setting *setting, struct settings *settings,
                const struct ort_error *error)
{
    static const char threads[] = "a number of threads, 0 for as many as cores";
    const char *key = setting->key;
    void *options = wanted->options;
    long flag;

    if (strcmp(key, "threads") == 0)
        return set_number(context, options, setting, ORT_SetIntraOpNumThreads, 4096, threads,
                          error);
    if (strcmp(key, "inter_threads") == 0)
        return set_number(context, options, setting, ORT_SetInterOpNumThreads, 4096, threads,
                          error);
    if (strcmp(key, "parallel") == 0)
        return set_number(context, options, setting, ORT_SetSessionExecutionMode, 1, "0 or 1",
                          error);
    if (strcmp(key, "opt") == 0)
        return set_level(context, options, setting, error);
    if (strncmp(key, "config.", 7) == 0 && key[7])
        return set_config(context, options, key + 7, setting->value, error);
    if (strncmp(key, "ep_library.", 11) == 0 && key[11])
        return ort_library_register(context, key + 11, setting->value, error);
    if (strcmp(key, "ep") == 0) {
        settings->ep = setting->value;
    } else if (strcmp(key, "policy") == 0) {
        settings->policy = setting->value;
    } else if (strcmp(key, "strict_ep") == 0) {
        if (!number_in(setting->value, 1, &flag))
            return bad_value(setting, "0 or 1", error);
        settings->is_strict = flag != 0;
    } else if (strcmp(key, "ort") != 0 && (strncmp(key, "ep.", 3) != 0 || !strchr(key + 3, '.'))) {
        return ort_say(error, IFG_BENCH_UNAVAILABLE,
                       "ONNX Runtime has no setting \"%s\"; it has: " KNOWN, key);
    }
    return IFG_BENCH_OK;
}

/* An option of a provider that is not asked for would be lost without a word. */
static int check_provider_options(const struct ifg_bench_setting *settings, size_t count,
                                  const char *list, const struct ort_error *error)
{
    for (size_t i = 0; i < count; i++) {
        const char *name = settings[i].key + 3;
        const char *dot;

        if (strncmp(settings[i].key, "ep.", 3) != 0)
            continue;
        dot = strchr(name, '.');
        if (dot && !ort_providers_has(list, name, (size_t)(dot - name)))
            return ort_say(error, IFG_BENCH_UNAVAILABLE,
                           "%s is an option of a provider that is not asked for (ep is %s)",
                           settings[i].key, *list ? list : "not set");
    }
    return IFG_BENCH_OK;
}

int ort_options_create(ifg_bench_context *context, const struct ifg_bench_setting *settings,
                       size_t count, struct ort_wanted *out_wanted, const struct ort_error *error)
{
    struct settings taken = { 0 };
    void *status;
    int code = IFG_BENCH_OK;

    *out_wanted = (struct ort_wanted){ .is_cpu_only = true };
    status = ORT(context->api, ORT_CreateSessionOptions, void *, (void **))(&out_wanted->options);
    if (status)
        return ort_say_status(context, status, error, IFG_BENCH_FAILED,
                              "no session options can be made");
    /* Asked for first, so that the user's own configuration wins. */
    if (context->minor >= 24)
        code = set_config(context, out_wanted->options, "session.record_ep_graph_assignment_info",
                          "1", error);
    for (size_t i = 0; i < count && !code; i++)
        code = take(context, out_wanted, &settings[i], &taken, error);
    if (!code && taken.policy && taken.ep)
        code = ort_say(error, IFG_BENCH_UNAVAILABLE,
                       "either providers are named (ep=%s) or a policy chooses them (policy=%s)",
                       taken.ep, taken.policy);
    if (!code)
        code = check_provider_options(settings, count, taken.ep ? taken.ep : "", error);
    if (!code && taken.ep)
        code = ort_providers_append(context, taken.ep, settings, count, out_wanted, error);
    if (!code && taken.policy) {
        code = set_policy(context, out_wanted->options, taken.policy, error);
        out_wanted->is_cpu_only = false;
    }
    if (!code && taken.is_strict && !out_wanted->is_cpu_only)
        code =
            set_config(context, out_wanted->options, "session.disable_cpu_ep_fallback", "1", error);
    if (code) {
        ORT(context->api, ORT_ReleaseSessionOptions, void, (void *))(out_wanted->options);
        out_wanted->options = NULL;
    }
    return code;
}
