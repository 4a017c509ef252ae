// SPDX-License-Identifier: Apache-2.0
/*
 * ONNX Runtime, made slower on purpose: a runtime for `bench --runtime` that is the built-in one
 * with a known fault, so that tests can see whether it is found.
 *
 * The library is what --ort or IFG_ORT names. Settings:
 *
 *   slow_pct=3      each inference takes 3 % longer: it spins for that part of the median of the
 *                   last inferences, timed without the spin. The default 0 only times them
 *   stall_ms=400    one inference of the model sleeps this long ...
 *   stall_at=100    ... the one with this number, from 0
 */
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/alloc.h"
#include "bench/runner/ort/ort.h"

#define WINDOW       31u
#define SETTINGS_MAX 128u

/* Of one thread. */
struct pace {
    uint64_t last_ns[WINDOW];
    uint32_t count; /* so many have been seen */
    uint64_t median_ns;
    char apart[64];
};

struct slow_model {
    ifg_bench_model *inner;
    double slow_pct;
    uint64_t stall_ns;
    uint64_t stall_at;
    uint64_t runs; /* of all threads */
    struct pace *paces;
    uint32_t pace_count;
};

static struct slow_model *slow(const ifg_bench_model *model)
{
    return (struct slow_model *)(uintptr_t)model;
}

static uint64_t now_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* ---- loading ---- */

/* Takes our own settings; false: it is not one of them. */
static bool take(struct slow_model *model, const struct ifg_bench_setting *setting)
{
    double number = strtod(setting->value, NULL);

    if (strcmp(setting->key, "slow_pct") == 0)
        model->slow_pct = number;
    else if (strcmp(setting->key, "stall_ms") == 0)
        model->stall_ns = (uint64_t)(number * 1e6);
    else if (strcmp(setting->key, "stall_at") == 0)
        model->stall_at = (uint64_t)number;
    else
        return false;
    return true;
}

static int load(ifg_bench_context *context, const char *path,
                const struct ifg_bench_setting *settings, size_t count, ifg_bench_model **out_model,
                char *error, size_t error_size)
{
    struct ifg_bench_setting others[SETTINGS_MAX];
    struct slow_model *model = ifg_alloc(1, sizeof *model);
    size_t other_count = 0;
    int code = IFG_BENCH_FAILED;

    *out_model = NULL;
    if (!model)
        return IFG_BENCH_FAILED;
    for (size_t i = 0; i < count; i++)
        if (!take(model, &settings[i]) && other_count < SETTINGS_MAX)
            others[other_count++] = settings[i];
    code = bench_ort_runtime.load(context, path, others, other_count, &model->inner, error,
                                  error_size);
    if (code) {
        ifg_free(model);
        return code;
    }
    *out_model = (ifg_bench_model *)(void *)model;
    return IFG_BENCH_OK;
}

static void unload(ifg_bench_model *model)
{
    if (!model)
        return;
    bench_ort_runtime.unload(slow(model)->inner);
    ifg_free(slow(model)->paces);
    ifg_free(slow(model));
}

static int bind(ifg_bench_model *model, size_t set, const struct ifg_bench_tensor *tensors,
                size_t count, uint32_t workers, char *error, size_t error_size)
{
    uint32_t wanted = workers ? workers : 1;

    if (wanted > slow(model)->pace_count) {
        ifg_free(slow(model)->paces);
        slow(model)->paces = ifg_alloc(wanted, sizeof *slow(model)->paces);
        slow(model)->pace_count = slow(model)->paces ? wanted : 0;
        if (!slow(model)->paces)
            return IFG_BENCH_FAILED;
    }
    return bench_ort_runtime.bind(slow(model)->inner, set, tensors, count, workers, error,
                                  error_size);
}

/* ---- running ---- */

static int run(ifg_bench_model *model, size_t set, uint32_t worker, char *error, size_t error_size)
{
    struct slow_model *mine = slow(model);
    struct pace *pace = &mine->paces[worker];
    uint64_t begin_ns = now_ns();
    int code = bench_ort_runtime.run(mine->inner, set, worker, error, error_size);
    uint64_t took_ns = now_ns() - begin_ns;
    uint64_t usual_ns = pace->median_ns ? pace->median_ns : took_ns;

    pace->last_ns[pace->count++ % WINDOW] = took_ns;
    if (mine->slow_pct > 0) {
        uint64_t until_ns =
            begin_ns + took_ns + (uint64_t)((double)usual_ns * mine->slow_pct / 100);

        while (now_ns() < until_ns)
            ;
    }
    if (mine->stall_ns && __atomic_fetch_add(&mine->runs, 1, __ATOMIC_RELAXED) == mine->stall_at) {
        struct timespec pause = { .tv_sec = (time_t)(mine->stall_ns / 1000000000u),
                                  .tv_nsec = (long)(mine->stall_ns % 1000000000u) };

        nanosleep(&pause, NULL);
    }
    return code;
}

static int by_value(const void *a, const void *b)
{
    uint64_t left = *(const uint64_t *)a;
    uint64_t right = *(const uint64_t *)b;

    return left < right ? -1 : left > right;
}

/* Not timed: here the pace is looked at again, every so often. */
static void finish(ifg_bench_model *model, uint32_t worker)
{
    struct pace *pace = &slow(model)->paces[worker];

    bench_ort_runtime.finish(slow(model)->inner, worker);
    if (pace->count && pace->count % WINDOW == 0) {
        uint64_t sorted[WINDOW];

        memcpy(sorted, pace->last_ns, sizeof sorted);
        qsort(sorted, WINDOW, sizeof *sorted, by_value);
        pace->median_ns = sorted[WINDOW / 2];
    }
}

/* ---- the same as ONNX Runtime's ---- */

static int open_library(const char *library, ifg_bench_context **out_context, char *error,
                        size_t error_size)
{
    return bench_ort_runtime.open(library ? library : getenv("IFG_ORT"), out_context, error,
                                  error_size);
}

static void close_library(ifg_bench_context *context)
{
    bench_ort_runtime.close(context);
}

static const char *version(const ifg_bench_context *context)
{
    return bench_ort_runtime.version(context);
}

static size_t inputs(const ifg_bench_model *model, const struct ifg_bench_port **out_ports)
{
    return bench_ort_runtime.inputs(slow(model)->inner, out_ports);
}

static size_t outputs(const ifg_bench_model *model, const struct ifg_bench_port **out_ports)
{
    return bench_ort_runtime.outputs(slow(model)->inner, out_ports);
}

static size_t results(ifg_bench_model *model, const struct ifg_bench_tensor **out_tensors)
{
    return bench_ort_runtime.results(slow(model)->inner, out_tensors);
}

static uint64_t specialization_ns(const ifg_bench_model *model)
{
    return bench_ort_runtime.specialization_ns(slow(model)->inner);
}

static size_t placement(ifg_bench_model *model, const struct ifg_bench_placement **out_entries,
                        const char **out_reason)
{
    return bench_ort_runtime.placement(slow(model)->inner, out_entries, out_reason);
}

static size_t nodes(ifg_bench_model *model, const struct ifg_bench_node **out_nodes)
{
    return bench_ort_runtime.nodes(slow(model)->inner, out_nodes);
}

static size_t devices(ifg_bench_context *context, const char *const **out_lines)
{
    return bench_ort_runtime.devices(context, out_lines);
}

extern const struct ifg_bench_runtime ifg_bench_runtime_1;

const struct ifg_bench_runtime ifg_bench_runtime_1 = {
    .struct_size = sizeof ifg_bench_runtime_1,
    .name = "ONNX Runtime (slowed down)",
    .open = open_library,
    .close = close_library,
    .version = version,
    .load = load,
    .unload = unload,
    .inputs = inputs,
    .outputs = outputs,
    .bind = bind,
    .run = run,
    .finish = finish,
    .results = results,
    .specialization_ns = specialization_ns,
    .placement = placement,
    .nodes = nodes,
    .devices = devices,
};
