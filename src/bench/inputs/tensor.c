// SPDX-License-Identifier: Apache-2.0
/* Sizes, names and numbers of the types of tensors, their shapes as text, and freeing them. */
#include "bench/inputs/tensor.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"

/* Names by number; an empty place is a type that has none here. */
static const struct {
    const char *name;
    size_t bytes;
} types[] = {
    [0] = { "no tensor", 0 },
    [IFG_BENCH_FLOAT] = { "float32", 4 },
    [IFG_BENCH_UINT8] = { "uint8", 1 },
    [IFG_BENCH_INT8] = { "int8", 1 },
    [IFG_BENCH_UINT16] = { "uint16", 2 },
    [IFG_BENCH_INT16] = { "int16", 2 },
    [IFG_BENCH_INT32] = { "int32", 4 },
    [IFG_BENCH_INT64] = { "int64", 8 },
    [IFG_BENCH_STRING] = { "string", 0 },
    [IFG_BENCH_BOOL] = { "bool", 1 },
    [IFG_BENCH_FLOAT16] = { "float16", 2 },
    [IFG_BENCH_DOUBLE] = { "float64", 8 },
    [IFG_BENCH_UINT32] = { "uint32", 4 },
    [IFG_BENCH_UINT64] = { "uint64", 8 },
    [14] = { "complex64", 0 },
    [15] = { "complex128", 0 },
    [IFG_BENCH_BFLOAT16] = { "bfloat16", 2 },
    [17] = { "float8e4m3fn", 0 },
    [18] = { "float8e4m3fnuz", 0 },
    [19] = { "float8e5m2", 0 },
    [20] = { "float8e5m2fnuz", 0 },
    [21] = { "uint4", 0 },
    [22] = { "int4", 0 },
    [23] = { "float4e2m1", 0 },
};

void tensor_port_list_fini(struct port_list *ports)
{
    for (size_t i = 0; i < ports->count; i++) {
        ifg_free(ports->items[i].name);
        for (size_t dim = 0; dim < IFG_BENCH_RANK_MAX; dim++)
            ifg_free(ports->items[i].dim_names[dim]);
    }
    ifg_free(ports->items);
    *ports = (struct port_list){ 0 };
}

void tensor_list_fini(struct tensor_list *tensors)
{
    for (size_t i = 0; i < tensors->count; i++) {
        ifg_free(tensors->items[i].name);
        ifg_free(tensors->items[i].data);
    }
    ifg_free(tensors->items);
    *tensors = (struct tensor_list){ 0 };
}

static bool is_known(int32_t type)
{
    return type >= 0 && (size_t)type < sizeof types / sizeof *types && types[type].name;
}

size_t tensor_type_bytes(int32_t type)
{
    return is_known(type) ? types[type].bytes : 0;
}

const char *tensor_type_name(int32_t type)
{
    static _Thread_local char unknown[24];

    if (is_known(type))
        return types[type].name;
    snprintf(unknown, sizeof unknown, "type %d", (int)type);
    return unknown;
}

bool tensor_elements(const int64_t *dims, uint32_t rank, uint64_t *out_count)
{
    uint64_t count = 1;
    bool empty = false;

    *out_count = 0;
    for (uint32_t i = 0; i < rank; i++) {
        if (dims[i] < 0)
            return false;
        if (dims[i] == 0)
            empty = true;
        else if (__builtin_mul_overflow(count, (uint64_t)dims[i], &count))
            return false;
    }
    *out_count = empty ? 0 : count;
    return true;
}

const char *tensor_shape_text(const int64_t *dims, char *const *dim_names, uint32_t rank, char *out,
                              size_t size)
{
    size_t used = 0;

    if (size == 0)
        return out;
    out[0] = '\0';
    if (rank == 0)
        snprintf(out, size, "scalar");
    for (uint32_t i = 0; i < rank && used < size; i++) {
        const char *between = i ? "x" : "";
        int more;

        if (dims[i] >= 0)
            more = snprintf(out + used, size - used, "%s%lld", between, (long long)dims[i]);
        else
            more = snprintf(out + used, size - used, "%s%s", between,
                            dim_names && dim_names[i] && dim_names[i][0] ? dim_names[i] : "?");
        used += more > 0 ? (size_t)more : 0;
    }
    return out;
}

static double widen_half(uint16_t bits)
{
    int exponent = (bits >> 10) & 0x1f;
    double fraction = bits & 0x3ff;
    double value;

    if (exponent == 0)
        value = ldexp(fraction, -24);
    else if (exponent == 0x1f)
        value = fraction != 0 ? (double)NAN : (double)INFINITY;
    else
        value = ldexp(1024.0 + fraction, exponent - 25);
    return bits & 0x8000 ? -value : value;
}

static double widen_brain(uint16_t bits)
{
    uint32_t wide = (uint32_t)bits << 16;
    float value;

    memcpy(&value, &wide, sizeof value);
    return (double)value;
}

/* Elements may lie anywhere in foreign buffers, so they are copied before they are looked at. */
#define ELEMENT(type)                                                                              \
    do {                                                                                           \
        type element;                                                                              \
                                                                                                   \
        memcpy(&element, at, sizeof element);                                                      \
        return (double)element;                                                                    \
    } while (0)

double tensor_value(const struct tensor *tensor, uint64_t index)
{
    size_t bytes = tensor_type_bytes(tensor->type);
    const uint8_t *at = tensor->data + index * bytes;
    uint16_t half;

    switch (tensor->type) {
    case IFG_BENCH_FLOAT:
        ELEMENT(float);
    case IFG_BENCH_DOUBLE:
        ELEMENT(double);
    case IFG_BENCH_UINT8:
        ELEMENT(uint8_t);
    case IFG_BENCH_INT8:
        ELEMENT(int8_t);
    case IFG_BENCH_UINT16:
        ELEMENT(uint16_t);
    case IFG_BENCH_INT16:
        ELEMENT(int16_t);
    case IFG_BENCH_UINT32:
        ELEMENT(uint32_t);
    case IFG_BENCH_INT32:
        ELEMENT(int32_t);
    case IFG_BENCH_UINT64:
        ELEMENT(uint64_t);
    case IFG_BENCH_INT64:
        ELEMENT(int64_t);
    case IFG_BENCH_BOOL:
        return *at ? 1 : 0;
    case IFG_BENCH_FLOAT16:
    case IFG_BENCH_BFLOAT16:
        memcpy(&half, at, sizeof half);
        return tensor->type == IFG_BENCH_FLOAT16 ? widen_half(half) : widen_brain(half);
    default:
        return (double)NAN;
    }
}
