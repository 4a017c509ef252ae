// SPDX-License-Identifier: Apache-2.0
/*
 * Tensors and the ports they go into, owned by us: the data that a model is fed with and what comes
 * out of it. Types are those of <inferogram/bench_runtime.h>.
 */
#ifndef IFG_BENCH_TENSOR_H
#define IFG_BENCH_TENSOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <inferogram/bench_runtime.h>

#include "base/status.h"

struct port {
    char *name;
    int32_t type;
    uint32_t rank;
    int64_t dims[IFG_BENCH_RANK_MAX];
    char *dim_names[IFG_BENCH_RANK_MAX]; /* NULL: none */
};

struct port_list {
    struct port *items;
    size_t count;
};

struct tensor {
    char *name;
    int32_t type;
    uint32_t rank;
    int64_t dims[IFG_BENCH_RANK_MAX];
    uint8_t *data;
    size_t bytes;
};

struct tensor_list {
    struct tensor *items;
    size_t count;
};

void tensor_port_list_fini(struct port_list *ports);
void tensor_list_fini(struct tensor_list *tensors);

/* Bytes of one element; 0 for strings and what is unknown. */
size_t tensor_type_bytes(int32_t type);
const char *tensor_type_name(int32_t type); /* "float32", "int64"; "type 23" if unknown */

/* Elements of a shape; false if a dimension is negative or the product overflows. */
bool tensor_elements(const int64_t *dims, uint32_t rank, uint64_t *out_count);

/* "1x3x224x224", "scalar", with free dimensions by name: "batchx3x?x?". */
const char *tensor_shape_text(const int64_t *dims, char *const *dim_names, uint32_t rank, char *out,
                              size_t size);

/* One element as a number (bool 0 or 1; float16 and bfloat16 widened); index in range. */
double tensor_value(const struct tensor *tensor, uint64_t index);

#endif
