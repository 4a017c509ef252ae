// SPDX-License-Identifier: Apache-2.0
/* For tests: writes ONNX models by hand, field by field. Messages are growable bytes. */
#ifndef IFG_ONNX_FIXTURE_H
#define IFG_ONNX_FIXTURE_H

#include <stdarg.h>
#include <string.h>

#include "base/bytes.h"
#include "onnx/onnx_internal.h"

#define FIXTURE_MAX (64u << 20)

typedef struct ifg_bytes message;

static inline message new_message(void)
{
    message out;

    ifg_bytes_init(&out, FIXTURE_MAX);
    return out;
}

static inline void put_number(message *out, unsigned field, uint64_t value)
{
    ifg_bytes_put_varint(out, (uint64_t)field << 3);
    ifg_bytes_put_varint(out, value);
}

static inline void put_float(message *out, unsigned field, float value)
{
    ifg_bytes_put_varint(out, (uint64_t)field << 3 | 5);
    ifg_bytes_put(out, &value, sizeof value);
}

static inline void put_bytes(message *out, unsigned field, const void *data, size_t size)
{
    ifg_bytes_put_varint(out, (uint64_t)field << 3 | 2);
    ifg_bytes_put_varint(out, size);
    ifg_bytes_put(out, data, size);
}

static inline void put_text(message *out, unsigned field, const char *text)
{
    put_bytes(out, field, text, strlen(text));
}

/* A message in a message; takes it. */
static inline void put_message(message *out, unsigned field, message inner)
{
    put_bytes(out, field, inner.size ? inner.data : (const uint8_t *)"", inner.size);
    ifg_bytes_fini(&inner);
}

/* "3x4"; a name is a free dimension, "?" one without a name, "" no dimension. */
static inline message shape_of(const char *text)
{
    message shape = new_message();

    while (*text) {
        size_t length = strcspn(text, "x");
        message dim = new_message();
        char part[32] = "";

        memcpy(part, text, length < 31 ? length : 31);
        if (part[0] >= '0' && part[0] <= '9')
            put_number(&dim, 1, strtoull(part, NULL, 10));
        else if (part[0] != '?')
            put_text(&dim, 2, part);
        put_message(&shape, 1, dim);
        text += length + (text[length] == 'x');
    }
    return shape;
}

static inline void put_port(message *graph, unsigned field, const char *name, int type,
                            const char *shape)
{
    message port = new_message();
    message kind = new_message();
    message tensor = new_message();

    put_number(&tensor, 1, (uint64_t)type);
    if (shape)
        put_message(&tensor, 2, shape_of(shape));
    put_message(&kind, 1, tensor);
    put_text(&port, 1, name);
    put_message(&port, 2, kind);
    put_message(graph, field, port);
}

/* Dims as text; without data it is as large as it says, which costs nothing. */
static inline message tensor_of(const char *name, int type, const char *dims, const void *data,
                                size_t size)
{
    message tensor = new_message();

    while (*dims) {
        put_number(&tensor, 1, strtoull(dims, (char **)&dims, 10));
        dims += *dims == 'x';
    }
    put_number(&tensor, 2, (uint64_t)type);
    put_text(&tensor, 8, name);
    if (data)
        put_bytes(&tensor, 9, data, size);
    return tensor;
}

static inline void put_weight(message *graph, const char *name, int type, const char *dims)
{
    put_message(graph, 5, tensor_of(name, type, dims, NULL, 0));
}

static inline void put_int64s(message *graph, const char *name, const int64_t *values, size_t count)
{
    char dims[24];

    snprintf(dims, sizeof dims, "%zu", count);
    put_message(graph, 5, tensor_of(name, 7, dims, values, count * sizeof *values));
}

/* Names separated by blanks; "-" is one that is left out. */
static inline void put_names(message *node, unsigned field, const char *names)
{
    while (*names) {
        size_t length = strcspn(names, " ");

        put_bytes(node, field, names, names[0] == '-' && length == 1 ? 0 : length);
        names += length + (names[length] == ' ');
    }
}

static inline message node_of(const char *op, const char *inputs, const char *outputs)
{
    message node = new_message();

    put_names(&node, 1, inputs);
    put_names(&node, 2, outputs);
    put_text(&node, 3, op);
    put_text(&node, 4, op);
    return node;
}

static inline void put_int(message *node, const char *name, int64_t value)
{
    message attribute = new_message();

    put_text(&attribute, 1, name);
    put_number(&attribute, 3, (uint64_t)value);
    put_message(node, 5, attribute);
}

static inline void put_string(message *node, const char *name, const char *value)
{
    message attribute = new_message();

    put_text(&attribute, 1, name);
    put_text(&attribute, 4, value);
    put_message(node, 5, attribute);
}

static inline void put_ints(message *node, const char *name, size_t count, ...)
{
    message attribute = new_message();
    va_list values;

    put_text(&attribute, 1, name);
    va_start(values, count);
    for (size_t i = 0; i < count; i++)
        put_number(&attribute, 8, (uint64_t)(int64_t)va_arg(values, int));
    va_end(values);
    put_message(node, 5, attribute);
}

static inline void put_graph(message *node, const char *name, message graph)
{
    message attribute = new_message();

    put_text(&attribute, 1, name);
    put_message(&attribute, 6, graph);
    put_message(node, 5, attribute);
}

static inline void put_node(message *graph, const char *op, const char *inputs, const char *outputs)
{
    put_message(graph, 1, node_of(op, inputs, outputs));
}

/* The whole file around a graph, which it takes. */
static inline message model_of(message graph)
{
    message model = new_message();
    message opset = new_message();

    put_number(&model, 1, 8);
    put_text(&model, 2, "tests");
    put_text(&model, 3, "1.0");
    put_text(&graph, 2, "a graph");
    put_message(&model, 7, graph);
    put_number(&opset, 2, 17);
    put_message(&model, 8, opset);
    return model;
}

#endif
