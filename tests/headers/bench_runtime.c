// SPDX-License-Identifier: Apache-2.0
/* What a runtime for bench looks like, as far as a compiler cares; compiled as C and as C++. */
#include <inferogram/bench_runtime.h>

static int open_it(const char *library, ifg_bench_context **out_context, char *error,
                   size_t error_size)
{
    (void)library, (void)out_context, (void)error, (void)error_size;
    return IFG_BENCH_OK;
}

static void close_it(ifg_bench_context *context)
{
    (void)context;
}

static const char *tell_version(const ifg_bench_context *context)
{
    (void)context;
    return IFG_BENCH_RUNTIME_SYMBOL;
}

static int load(ifg_bench_context *context, const char *path,
                const struct ifg_bench_setting *settings, size_t setting_count,
                ifg_bench_model **out_model, char *error, size_t error_size)
{
    (void)context, (void)path, (void)settings, (void)setting_count, (void)out_model;
    (void)error, (void)error_size;
    return IFG_BENCH_UNAVAILABLE;
}

static void unload(ifg_bench_model *model)
{
    (void)model;
}

static size_t list_ports(const ifg_bench_model *model, const struct ifg_bench_port **out_ports)
{
    static struct ifg_bench_port port;

    (void)model;
    port.name = "x";
    port.type = IFG_BENCH_FLOAT;
    port.rank = 1;
    port.dims[0] = -1;
    port.dim_names[0] = "batch";
    *out_ports = &port;
    return 1;
}

static int bind_it(ifg_bench_model *model, size_t set, const struct ifg_bench_tensor *tensors,
                   size_t tensor_count, uint32_t workers, char *error, size_t error_size)
{
    (void)model, (void)set, (void)tensors, (void)tensor_count, (void)workers, (void)error;
    (void)error_size;
    return IFG_BENCH_BAD_INPUT;
}

static int run(ifg_bench_model *model, size_t set, uint32_t worker, char *error, size_t error_size)
{
    (void)model, (void)set, (void)worker, (void)error, (void)error_size;
    return IFG_BENCH_FAILED;
}

static void finish(ifg_bench_model *model, uint32_t worker)
{
    (void)model, (void)worker;
}

/* In order: C++ before 20 has no names here. */
const struct ifg_bench_runtime ifg_bench_runtime_1 = {
    sizeof(struct ifg_bench_runtime),
    "mine",
    open_it,
    close_it,
    tell_version,
    load,
    unload,
    list_ports,
    list_ports,
    bind_it,
    run,
    finish,
    NULL,
    NULL,
    NULL,
    NULL,
    NULL,
    IFG_BENCH_ELEMENT_SIZES,
};
