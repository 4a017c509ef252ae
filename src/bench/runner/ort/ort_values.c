// SPDX-License-Identifier: Apache-2.0
/* Tensors in and out. Inputs stand in the caller's memory; outputs are made by ONNX Runtime. */
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/array.h"
#include "bench/runner/ort/ort_internal.h"
#include "bench/inputs/tensor.h"

#define SETS_MAX    (1u << 20)
#define WORKERS_MAX 4096u

static int no_memory(const struct ort_error *error)
{
    return ort_say(error, IFG_BENCH_FAILED, "not enough memory");
}

static void release_value(const ifg_bench_model *model, void *value)
{
    if (value)
        ORT(model->context->api, ORT_ReleaseValue, void, (void *))(value);
}

static void free_set(const ifg_bench_model *model, struct ort_set *set)
{
    for (size_t i = 0; i < set->count; i++)
        release_value(model, set->values[i]);
    ifg_free(set->names);
    ifg_free(set->values);
    *set = (struct ort_set){ 0 };
}

/* ---- does it fit? ---- */

static const struct ifg_bench_port *port_called(const struct ort_ports *ports, const char *name,
                                                bool *out_is_unshaped)
{
    for (size_t i = 0; i < ports->count; i++) {
        if (strcmp(ports->items[i].name, name) == 0) {
            *out_is_unshaped = ports->is_unshaped[i];
            return &ports->items[i];
        }
    }
    return NULL;
}

static const char *names_of(const struct ort_ports *ports, char *out, size_t size)
{
    size_t length = 0;

    snprintf(out, size, "none");
    for (size_t i = 0; i < ports->count && length < size; i++)
        length += (size_t)snprintf(out + length, size - length, "%s%s", i ? ", " : "",
                                   ports->items[i].name);
    return out;
}

/* "float32 1x3x?x?" */
static const char *kind_of(int32_t type, const int64_t *dims, const char *const *dim_names,
                           uint32_t rank, char *out, size_t size)
{
    char shape[256];

    tensor_shape_text(dims, (char *const *)(uintptr_t)dim_names, rank, shape, sizeof shape);
    snprintf(out, size, "%s %s", tensor_type_name(type), shape);
    return out;
}

static bool shape_fits(const ifg_bench_model *model, const struct ifg_bench_port *port,
                       bool is_unshaped, const struct ifg_bench_tensor *tensor)
{
    /* Before 1.24 nobody can tell a scalar from an input of any shape: ONNX Runtime may judge. */
    if (is_unshaped || (model->context->minor < 24 && port->rank == 0))
        return true;
    if (port->rank != tensor->rank)
        return false;
    for (uint32_t d = 0; d < port->rank; d++)
        if (port->dims[d] >= 0 && port->dims[d] != tensor->dims[d])
            return false;
    return true;
}

static int check_fit(const ifg_bench_model *model, const struct ifg_bench_tensor *tensor,
                     const struct ort_error *error)
{
    bool is_unshaped = false;
    const struct ifg_bench_port *port = port_called(&model->inputs, tensor->name, &is_unshaped);
    char takes[320];
    char got[320];

    if (!port)
        port = port_called(&model->overridable, tensor->name, &is_unshaped);
    if (!port)
        return ort_say(error, IFG_BENCH_BAD_INPUT, "the model has no input \"%s\"; its inputs: %s",
                       tensor->name, names_of(&model->inputs, takes, sizeof takes));
    if (!port->type)
        return ort_say(error, IFG_BENCH_BAD_INPUT,
                       "input \"%s\" is not a tensor (a sequence, a map or an optional) and cannot "
                       "be fed",
                       tensor->name);
    if (tensor->rank > IFG_BENCH_RANK_MAX)
        return ort_say(error, IFG_BENCH_BAD_INPUT, "input \"%s\": %u dimensions are too many",
                       tensor->name, tensor->rank);
    if (port->type == tensor->type && shape_fits(model, port, is_unshaped, tensor))
        return IFG_BENCH_OK;
    return ort_say(
        error, IFG_BENCH_BAD_INPUT, "input \"%s\" takes %s, got %s", tensor->name,
        kind_of(port->type, port->dims, port->dim_names, port->rank, takes, sizeof takes),
        kind_of(tensor->type, tensor->dims, NULL, tensor->rank, got, sizeof got));
}

/* ---- inputs ---- */

static int make_strings(const ifg_bench_model *model, const struct ifg_bench_tensor *tensor,
                        uint64_t count, void **out_value, const struct ort_error *error)
{
    ort_table api = model->context->api;
    const char *at = tensor->data;
    const char *end = at + tensor->bytes;
    const char **texts = ifg_alloc((size_t)count + 1, sizeof *texts);
    void *status;

    if (!texts)
        return no_memory(error);
    for (uint64_t i = 0; i < count; i++) {
        const char *nul = at < end ? memchr(at, '\0', (size_t)(end - at)) : NULL;

        if (!nul) {
            ifg_free(texts);
            return ort_say(error, IFG_BENCH_BAD_INPUT,
                           "input \"%s\" has fewer texts than its shape says", tensor->name);
        }
        texts[i] = at;
        at = nul + 1;
    }
    status = ORT(api, ORT_CreateTensor, void *, (void *, const int64_t *, size_t, int, void **))(
        model->context->allocator, tensor->dims, tensor->rank, IFG_BENCH_STRING, out_value);
    if (!status)
        status = ORT(api, ORT_FillStringTensor, void *,
                     (void *, const char *const *, size_t))(*out_value, texts, (size_t)count);
    ifg_free(texts);
    if (status)
        return ort_say_status(model->context, status, error, IFG_BENCH_FAILED,
                              "input \"%s\" cannot be made", tensor->name);
    return IFG_BENCH_OK;
}

static int make_value(const ifg_bench_model *model, const struct ifg_bench_tensor *tensor,
                      void **out_value, const struct ort_error *error)
{
    size_t element = tensor_type_bytes(tensor->type);
    uint64_t count = 0;
    void *status;

    if (!tensor_elements(tensor->dims, tensor->rank, &count) || count >= SIZE_MAX / 16)
        return ort_say(error, IFG_BENCH_BAD_INPUT, "input \"%s\" has an impossible shape",
                       tensor->name);
    if (tensor->type == IFG_BENCH_STRING)
        return make_strings(model, tensor, count, out_value, error);
    if (!element)
        return ort_say(error, IFG_BENCH_UNAVAILABLE, "input \"%s\": %s cannot be fed", tensor->name,
                       tensor_type_name(tensor->type));
    if (tensor->bytes != count * element)
        return ort_say(error, IFG_BENCH_BAD_INPUT,
                       "input \"%s\" has %zu bytes, its shape needs %llu", tensor->name,
                       tensor->bytes, (unsigned long long)(count * element));
    status = ORT(model->context->api, ORT_CreateTensorWithData, void *,
                 (const void *, void *, size_t, const int64_t *, size_t, int, void **))(
        model->context->memory, (void *)(uintptr_t)tensor->data, tensor->bytes, tensor->dims,
        tensor->rank, tensor->type, out_value);
    if (status)
        return ort_say_status(model->context, status, error, IFG_BENCH_FAILED,
                              "input \"%s\" cannot be made", tensor->name);
    return IFG_BENCH_OK;
}

static int fill_set(const ifg_bench_model *model, struct ort_set *set,
                    const struct ifg_bench_tensor *tensors, size_t count,
                    const struct ort_error *error)
{
    set->names = ifg_alloc(count + 1, sizeof *set->names);
    set->values = ifg_alloc(count + 1, sizeof *set->values);
    if (!set->names || !set->values)
        return no_memory(error);
    for (size_t i = 0; i < count; i++) {
        int code = check_fit(model, &tensors[i], error);
        bool ignored;

        if (!code)
            code = make_value(model, &tensors[i], &set->values[i], error);
        if (code)
            return code;
        for (size_t j = 0; j < i; j++)
            if (strcmp(tensors[j].name, tensors[i].name) == 0)
                return ort_say(error, IFG_BENCH_BAD_INPUT, "input \"%s\" is given twice",
                               tensors[i].name);
        /* The port's name lives as long as the model; the tensor's may not. */
        const struct ifg_bench_port *port = port_called(&model->inputs, tensors[i].name, &ignored);
        if (!port)
            port = port_called(&model->overridable, tensors[i].name, &ignored);
        set->names[i] = port ? port->name : tensors[i].name;
        set->count++;
    }
    return IFG_BENCH_OK;
}

/* Whether every input that must be given is. */
static int check_all(const ifg_bench_model *model, const struct ort_set *set,
                     const struct ort_error *error)
{
    char takes[320];

    for (size_t i = 0; i < model->inputs.count; i++) {
        const struct ifg_bench_port *port = &model->inputs.items[i];
        bool is_there = false;

        for (size_t j = 0; j < set->count && !is_there; j++)
            is_there = strcmp(set->names[j], port->name) == 0;
        if (!is_there && port->type)
            return ort_say(
                error, IFG_BENCH_BAD_INPUT, "input \"%s\" (%s) is missing in the data given",
                port->name,
                kind_of(port->type, port->dims, port->dim_names, port->rank, takes, sizeof takes));
    }
    return IFG_BENCH_OK;
}

static bool grow_workers(ifg_bench_model *model, uint32_t workers)
{
    if (!IFG_ARRAY_ROOM(model->workers, model->worker_capacity, workers, WORKERS_MAX))
        return false;
    while (model->worker_count < workers) {
        /* Room around, for the same reason as in the structure. */
        void **outputs = ifg_alloc(model->outputs.count + 32, sizeof *outputs);

        if (!outputs)
            return false;
        model->workers[model->worker_count++] = (struct ort_worker){ .outputs = outputs };
    }
    return true;
}

int ort_bind(ifg_bench_model *model, size_t set, const struct ifg_bench_tensor *tensors,
             size_t count, uint32_t workers, char *error, size_t error_size)
{
    struct ort_error told = { error, error_size };
    struct ort_set made = { 0 };
    int code;

    if (set > model->set_count || set >= SETS_MAX)
        return ort_say(&told, IFG_BENCH_FAILED, "input set %zu is out of order", set);
    if (set == model->set_count) {
        if (!IFG_ARRAY_ROOM(model->sets, model->set_capacity, set + 1, SETS_MAX))
            return no_memory(&told);
        model->sets[set] = (struct ort_set){ 0 };
        model->set_count++;
    }
    code = fill_set(model, &made, tensors, count, &told);
    if (!code)
        code = check_all(model, &made, &told);
    if (!code && !grow_workers(model, workers ? workers : 1))
        code = no_memory(&told);
    if (code) {
        free_set(model, &made);
        return code;
    }
    free_set(model, &model->sets[set]);
    model->sets[set] = made;
    return IFG_BENCH_OK;
}

/* ---- outputs ---- */

void ort_finish(ifg_bench_model *model, uint32_t worker)
{
    void **outputs = model->workers[worker].outputs;

    for (size_t i = 0; i < model->outputs.count; i++) {
        release_value(model, outputs[i]);
        outputs[i] = NULL;
    }
}

/* ONNX Runtime has texts without an end, and where each begins; we want them NUL-terminated. */
static bool take_strings(const ifg_bench_model *model, void *value, size_t count,
                         struct ifg_bench_tensor *tensor, void **out_owned)
{
    const ifg_bench_context *context = model->context;
    size_t *offsets = ifg_alloc(count + 1, sizeof *offsets);
    size_t bytes = 0;
    char *raw = NULL;
    char *texts = NULL;
    bool good = offsets && ort_good(context, ORT(context->api, ORT_GetStringTensorDataLength,
                                                 void *, (const void *, size_t *))(value, &bytes));

    if (good && bytes < SIZE_MAX / 2 - count) {
        raw = ifg_alloc(bytes + 1, 1);
        texts = ifg_alloc(bytes + count + 1, 1);
    }
    good = raw && texts && offsets &&
           ort_good(context, ORT(context->api, ORT_GetStringTensorContent, void *,
                                 (const void *, void *, size_t, size_t *, size_t))(
                                 value, raw, bytes, offsets, count));
    if (good) {
        offsets[count] = bytes;
        for (size_t i = 0; i < count && good; i++) {
            good = offsets[i] <= offsets[i + 1] && offsets[i + 1] <= bytes;
            if (good)
                memcpy(texts + offsets[i] + i, raw + offsets[i], offsets[i + 1] - offsets[i]);
        }
    }
    ifg_free(offsets);
    ifg_free(raw);
    if (!good) {
        ifg_free(texts);
        return false;
    }
    tensor->data = texts;
    tensor->bytes = bytes + count;
    *out_owned = texts;
    return true;
}

static bool is_there(const ifg_bench_context *context, void *value)
{
    int is_tensor = 0;
    int has_value = 0;

    return value &&
           ort_good(context, ORT(context->api, ORT_HasValue, void *,
                                 (const void *, int *))(value, &has_value)) &&
           has_value &&
           ort_good(context, ORT(context->api, ORT_IsTensor, void *,
                                 (const void *, int *))(value, &is_tensor)) &&
           is_tensor;
}

static bool take_result(const ifg_bench_model *model, void *value, struct ifg_bench_tensor *tensor,
                        void **out_owned)
{
    const ifg_bench_context *context = model->context;
    ort_table api = context->api;
    void *info = NULL;
    void *data = NULL;
    size_t rank = 0;
    size_t count = 0;
    int type = 0;
    bool good;

    *out_owned = NULL;
    if (!is_there(context, value) || !ort_good(context, ORT(api, ORT_GetTensorTypeAndShape, void *,
                                                            (const void *, void **))(value, &info)))
        return false;
    good =
        ort_good(context,
                 ORT(api, ORT_GetTensorElementType, void *, (const void *, int *))(info, &type)) &&
        ort_good(context,
                 ORT(api, ORT_GetDimensionsCount, void *, (const void *, size_t *))(info, &rank)) &&
        rank <= IFG_BENCH_RANK_MAX &&
        ort_good(context, ORT(api, ORT_GetDimensions, void *,
                              (const void *, int64_t *, size_t))(info, tensor->dims, rank)) &&
        ort_good(context, ORT(api, ORT_GetTensorShapeElementCount, void *,
                              (const void *, size_t *))(info, &count));
    ORT(api, ORT_ReleaseTensorTypeAndShapeInfo, void, (void *))(info);
    if (!good)
        return false;
    tensor->type = type;
    tensor->rank = (uint32_t)rank;
    if (type == IFG_BENCH_STRING)
        return take_strings(model, value, count, tensor, out_owned);
    if (!tensor_type_bytes(type) || !ort_good(context, ORT(api, ORT_GetTensorMutableData, void *,
                                                           (void *, void **))(value, &data)))
        return false;
    tensor->data = data;
    tensor->bytes = count * tensor_type_bytes(type);
    return true;
}

static void free_results(ifg_bench_model *model)
{
    for (size_t i = 0; model->result_texts && i < model->result_count; i++)
        ifg_free(model->result_texts[i]);
    model->result_count = 0;
}

size_t ort_results(ifg_bench_model *model, const struct ifg_bench_tensor **out_tensors)
{
    *out_tensors = NULL;
    free_results(model);
    if (!model->results)
        model->results = ifg_alloc(model->outputs.count + 1, sizeof *model->results);
    if (!model->result_texts)
        model->result_texts = ifg_alloc(model->outputs.count + 1, sizeof *model->result_texts);
    if (!model->results || !model->result_texts || !model->worker_count)
        return 0;
    for (size_t i = 0; i < model->outputs.count; i++) {
        struct ifg_bench_tensor *tensor = &model->results[model->result_count];

        *tensor = (struct ifg_bench_tensor){ .name = model->outputs.items[i].name };
        if (take_result(model, model->workers[0].outputs[i], tensor,
                        &model->result_texts[model->result_count]))
            model->result_count++;
    }
    *out_tensors = model->results;
    return model->result_count;
}

void ort_values_free(ifg_bench_model *model)
{
    free_results(model);
    ifg_free(model->results);
    ifg_free(model->result_texts);
    for (uint32_t i = 0; i < model->worker_count; i++) {
        ort_finish(model, i);
        ifg_free(model->workers[i].outputs);
    }
    ifg_free(model->workers);
    for (size_t i = 0; i < model->set_count; i++)
        free_set(model, &model->sets[i]);
    ifg_free(model->sets);
}
