// SPDX-License-Identifier: Apache-2.0
/*
 * What a model is fed with: seeded random data of the right types and shapes, or the user's own
 * from .npy, .npz or a directory of them. Files are hostile; every refusal names the file, the
 * input and what the model takes instead.
 */
#ifndef IFG_BENCH_INPUTS_H
#define IFG_BENCH_INPUTS_H

#include "bench/inputs/tensor.h"

struct inputs_dim {
    const char *name; /* of a free dimension */
    int64_t size;
};

struct inputs_shape {
    const char *input; /* NULL: the model's only input */
    uint32_t rank;
    int64_t dims[IFG_BENCH_RANK_MAX];
};

struct inputs_value {
    const char *input;
    double value; /* every element */
};

/* Integers for an input that is used as an index must stay below a bound. */
struct inputs_bound {
    const char *input;
    int64_t below;
};

struct inputs_options {
    int64_t batch; /* the first dimension of every input where it is free; 0: 1 */
    const struct inputs_dim *dims;
    size_t dim_count;
    const struct inputs_shape *shapes;
    size_t shape_count;
    const struct inputs_value *values;
    size_t value_count;
    const struct inputs_bound *bounds; /* from onnx_input_bounds(), or none */
    size_t bound_count;
    const char *data_path; /* .npz, .npy or a directory of them; NULL: random */
    uint64_t seed;
};

/* One or more sets of tensors: a directory gives one per file, used in turn. */
struct input_sets {
    struct tensor_list *sets;
    size_t count, capacity;
    char summary[256]; /* "x float32 1x3x320x320, random (seed 1)" */
};

/* "batch=4", "x:1x3x224x224" or "1x3x224x224", "sr=16000". False: not of that form. The names point
 * into text, which is changed. */
bool inputs_parse_dim(char *text, struct inputs_dim *out);
bool inputs_parse_shape(char *text, struct inputs_shape *out);
bool inputs_parse_value(char *text, struct inputs_value *out);

/* IFG_INVALID: options or data do not fit the ports; IFG_NOT_FOUND, IFG_CORRUPT: the data files. */
enum ifg_status inputs_make(const struct port_list *ports, const struct inputs_options *options,
                            struct input_sets *out_sets, struct ifg_error *err) IFG_MUST_CHECK;
void inputs_fini(struct input_sets *sets);

#endif
