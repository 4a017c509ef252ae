// SPDX-License-Identifier: Apache-2.0
/* Inputs and outputs of a session, with their types and shapes. */
#include <string.h>

#include "base/alloc.h"
#include "bench/runner/ort/ort_internal.h"

#define PORTS_MAX 65536u

/* The three functions for a kind of port. */
struct kind {
    const char *what;
    enum ort_slot count;
    enum ort_slot name;
    enum ort_slot type;
};

static const struct kind inputs = { "input", ORT_SessionGetInputCount, ORT_SessionGetInputName,
                                    ORT_SessionGetInputTypeInfo };
static const struct kind outputs = { "output", ORT_SessionGetOutputCount, ORT_SessionGetOutputName,
                                     ORT_SessionGetOutputTypeInfo };
static const struct kind overridable = { "initializer", ORT_SessionGetOverridableInitializerCount,
                                         ORT_SessionGetOverridableInitializerName,
                                         ORT_SessionGetOverridableInitializerTypeInfo };

static bool has_no_shape(const ifg_bench_context *context, const void *tensor)
{
    return context->minor >= 24 &&
           !ORT(context->api, ORT_TensorTypeAndShape_HasShape, bool, (const void *))(tensor);
}

static int no_memory(const struct ort_error *error)
{
    return ort_say(error, IFG_BENCH_FAILED, "not enough memory");
}

static int read_shape(const ifg_bench_context *context, const void *tensor,
                      struct ifg_bench_port *port, const struct ort_error *error)
{
    const char *names[IFG_BENCH_RANK_MAX] = { NULL };
    ort_table api = context->api;
    size_t rank = 0;
    int type = 0;
    void *status;

    status = ORT(api, ORT_GetTensorElementType, void *, (const void *, int *))(tensor, &type);
    if (!status)
        status = ORT(api, ORT_GetDimensionsCount, void *, (const void *, size_t *))(tensor, &rank);
    if (!status && rank > IFG_BENCH_RANK_MAX)
        return ort_say(error, IFG_BENCH_UNAVAILABLE, "%s has %zu dimensions; at most %d can be fed",
                       port->name, rank, IFG_BENCH_RANK_MAX);
    if (!status)
        status = ORT(api, ORT_GetDimensions, void *,
                     (const void *, int64_t *, size_t))(tensor, port->dims, rank);
    if (!status)
        status = ORT(api, ORT_GetSymbolicDimensions, void *,
                     (const void *, const char **, size_t))(tensor, names, rank);
    if (status)
        return ort_say_status(context, status, error, IFG_BENCH_FAILED, "%s has no shape",
                              port->name);
    port->type = type;
    port->rank = (uint32_t)rank;
    for (size_t i = 0; i < rank; i++) {
        if (port->dims[i] >= 0 || !names[i] || !*names[i])
            continue;
        port->dim_names[i] = ifg_strdup(names[i]);
        if (!port->dim_names[i])
            return no_memory(error);
    }
    return IFG_BENCH_OK;
}

static int read_port(const ifg_bench_model *model, const struct kind *kind, size_t index,
                     struct ifg_bench_port *port, bool *out_is_unshaped,
                     const struct ort_error *error)
{
    const ifg_bench_context *context = model->context;
    ort_table api = context->api;
    const void *tensor = NULL;
    void *info = NULL;
    char *name = NULL;
    void *status;
    int code = IFG_BENCH_OK;

    status = ORT(api, kind->name, void *, (const void *, size_t, void *, char **))(
        model->session, index, context->allocator, &name);
    if (!status) {
        port->name = ifg_strdup(name ? name : "");
        ort_good(context,
                 ORT(api, ORT_AllocatorFree, void *, (void *, void *))(context->allocator, name));
        if (!port->name)
            return no_memory(error);
        status = ORT(api, kind->type, void *, (const void *, size_t, void **))(model->session,
                                                                               index, &info);
    }
    if (!status)
        status = ORT(api, ORT_CastTypeInfoToTensorInfo, void *,
                     (const void *, const void **))(info, &tensor);
    if (status)
        code = ort_say_status(context, status, error, IFG_BENCH_FAILED, "%s %zu has no type",
                              kind->what, index);
    else if (tensor) {
        *out_is_unshaped = has_no_shape(context, tensor);
        code = read_shape(context, tensor, port, error);
    }
    if (info)
        ORT(api, ORT_ReleaseTypeInfo, void, (void *))(info);
    return code;
}

static int read_ports(ifg_bench_model *model, const struct kind *kind, struct ort_ports *ports,
                      const struct ort_error *error)
{
    size_t count = 0;
    void *status = ORT(model->context->api, kind->count, void *,
                       (const void *, size_t *))(model->session, &count);

    if (status)
        return ort_say_status(model->context, status, error, IFG_BENCH_FAILED,
                              "the model does not tell its %ss", kind->what);
    if (count > PORTS_MAX)
        return ort_say(error, IFG_BENCH_UNAVAILABLE, "the model has %zu %ss; at most %u can be fed",
                       count, kind->what, PORTS_MAX);
    ports->items = ifg_alloc(count + 1, sizeof *ports->items);
    ports->is_unshaped = ifg_alloc(count + 1, sizeof *ports->is_unshaped);
    if (!ports->items || !ports->is_unshaped)
        return no_memory(error);
    for (size_t i = 0; i < count; i++) {
        int code;

        ports->count++;
        code = read_port(model, kind, i, &ports->items[i], &ports->is_unshaped[i], error);
        if (code)
            return code;
    }
    return IFG_BENCH_OK;
}

int ort_ports_read(ifg_bench_model *model, const struct ort_error *error)
{
    int code = read_ports(model, &inputs, &model->inputs, error);

    if (!code)
        code = read_ports(model, &outputs, &model->outputs, error);
    if (!code)
        code = read_ports(model, &overridable, &model->overridable, error);
    if (code)
        return code;
    model->output_names = ifg_alloc(model->outputs.count + 1, sizeof *model->output_names);
    if (!model->output_names)
        return no_memory(error);
    for (size_t i = 0; i < model->outputs.count; i++)
        model->output_names[i] = model->outputs.items[i].name;
    return IFG_BENCH_OK;
}

static void free_ports(struct ort_ports *ports)
{
    for (size_t i = 0; i < ports->count; i++) {
        ifg_free((void *)(uintptr_t)ports->items[i].name);
        for (size_t d = 0; d < IFG_BENCH_RANK_MAX; d++)
            ifg_free((void *)(uintptr_t)ports->items[i].dim_names[d]);
    }
    ifg_free(ports->items);
    ifg_free(ports->is_unshaped);
    *ports = (struct ort_ports){ 0 };
}

void ort_ports_free(ifg_bench_model *model)
{
    free_ports(&model->inputs);
    free_ports(&model->outputs);
    free_ports(&model->overridable);
    ifg_free(model->output_names);
    model->output_names = NULL;
}
