// SPDX-License-Identifier: Apache-2.0
/*
 * The interface between `inferogram bench` and a runtime.
 *
 * ONNX Runtime is built in. Any other runtime is a shared library that exports one symbol,
 *
 *     const struct ifg_bench_runtime ifg_bench_runtime_1 = { .struct_size = sizeof(...), ... };
 *
 * (declared at the end of this file, so that it is exported and has a C name in C++ as well).
 * Select it with `--runtime ./libmine.so`. It is loaded in a separate process, so a crash in it is
 * a result, not the end of the benchmark. examples/bench_plugin.c is a complete example.
 *
 * Rules. All texts are UTF-8 and NUL-terminated. What a function returns by pointer belongs to the
 * runtime and stays valid until the model is unloaded, unless noted otherwise. All functions are
 * called from one thread, except `run` and `finish`, which are called from several threads at a
 * time with different `worker` numbers. Functions that can fail return an enum ifg_bench_code and
 * write one sentence into `error` (`error_size` bytes): what failed and why. Members may be added
 * at the end of a structure: struct_size tells how much is there, and the element sizes at the end
 * of struct ifg_bench_runtime tell how far apart elements of arrays are, in both directions.
 * Optional members may be NULL.
 */
#ifndef INFEROGRAM_BENCH_RUNTIME_H
#define INFEROGRAM_BENCH_RUNTIME_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define IFG_BENCH_RUNTIME_SYMBOL "ifg_bench_runtime_1"
#define IFG_BENCH_RANK_MAX       16

enum ifg_bench_code {
    IFG_BENCH_OK = 0,
    IFG_BENCH_FAILED = 1,      /* the runtime could not do it */
    IFG_BENCH_UNAVAILABLE = 2, /* this build or machine lacks a provider, device or feature */
    IFG_BENCH_BAD_MODEL = 3,   /* the file is no model, is damaged, or needs unknown features */
    IFG_BENCH_BAD_INPUT = 4,   /* data with a name, type or shape that the model does not take */
};

/* Element types, numbered as in ONNX's TensorProto.DataType. */
enum ifg_bench_type {
    IFG_BENCH_FLOAT = 1,
    IFG_BENCH_UINT8 = 2,
    IFG_BENCH_INT8 = 3,
    IFG_BENCH_UINT16 = 4,
    IFG_BENCH_INT16 = 5,
    IFG_BENCH_INT32 = 6,
    IFG_BENCH_INT64 = 7,
    IFG_BENCH_STRING = 8, /* data: NUL-terminated texts one after the other */
    IFG_BENCH_BOOL = 9,
    IFG_BENCH_FLOAT16 = 10,
    IFG_BENCH_DOUBLE = 11,
    IFG_BENCH_UINT32 = 12,
    IFG_BENCH_UINT64 = 13,
    IFG_BENCH_BFLOAT16 = 16,
};

/* One input or output as the model declares it. */
struct ifg_bench_port {
    const char *name;
    int32_t type;                     /* enum ifg_bench_type; 0: not a tensor (a sequence, a map) */
    uint32_t rank;                    /* 0 is a scalar */
    int64_t dims[IFG_BENCH_RANK_MAX]; /* -1: free */
    const char *dim_names[IFG_BENCH_RANK_MAX]; /* of free dimensions; NULL or "": unnamed */
};

struct ifg_bench_tensor {
    const char *name;
    int32_t type;
    uint32_t rank;
    int64_t dims[IFG_BENCH_RANK_MAX];
    const void *data;
    size_t bytes;
};

/* "threads"="2", "ep"="cuda+cpu", "ep.cuda.device_id"="1", "policy"="PREFER_NPU", "opt"="all",
 * "config.session.intra_op.allow_spinning"="0", and anything from `--set KEY=VALUE`. A runtime
 * fails with IFG_BENCH_UNAVAILABLE for an unknown setting. */
struct ifg_bench_setting {
    const char *key;
    const char *value;
};

/* Where a model's nodes were placed: one entry per provider. */
struct ifg_bench_placement {
    const char *provider;
    uint32_t nodes;
};

/* A node and its provider; for `--ops` and `--load-only`. */
struct ifg_bench_node {
    const char *name;
    const char *op_type;
    const char *provider;
};

typedef struct ifg_bench_context ifg_bench_context; /* the runtime itself, opened */
typedef struct ifg_bench_model ifg_bench_model;     /* a loaded model with its settings */

struct ifg_bench_runtime {
    size_t struct_size;
    const char *name; /* "ONNX Runtime" */

    /* library: the path from `--ort` or the one found; NULL if the runtime needs none. */
    int (*open)(const char *library, ifg_bench_context **out_context, char *error,
                size_t error_size);
    void (*close)(ifg_bench_context *context);
    const char *(*version)(const ifg_bench_context *context);

    int (*load)(ifg_bench_context *context, const char *path,
                const struct ifg_bench_setting *settings, size_t setting_count,
                ifg_bench_model **out_model, char *error, size_t error_size);
    void (*unload)(ifg_bench_model *model);

    /* Return the number of inputs or outputs. */
    size_t (*inputs)(const ifg_bench_model *model, const struct ifg_bench_port **out_ports);
    size_t (*outputs)(const ifg_bench_model *model, const struct ifg_bench_port **out_ports);

    /* Prepares input set number `set` (from 0, in order; the same number again replaces it) from
     * tensors whose memory stays in place until unload, and makes room for `workers` threads. */
    int (*bind)(ifg_bench_model *model, size_t set, const struct ifg_bench_tensor *tensors,
                size_t tensor_count, uint32_t workers, char *error, size_t error_size);

    /* One inference with input set `set`: only this is timed. `finish` cleans up what it leaves
     * behind for `worker`. It is called after every run, even a failed one, and is not timed
     * (except between the inferences of one query, if a query has several). */
    int (*run)(ifg_bench_model *model, size_t set, uint32_t worker, char *error, size_t error_size);
    void (*finish)(ifg_bench_model *model, uint32_t worker);

    /* The tensors that the last `run` of worker 0 made; called between run and finish. Optional. */
    size_t (*results)(ifg_bench_model *model, const struct ifg_bench_tensor **out_tensors);

    /* How long specialization (compilation) took within load, in ns; 0 if unknown. Optional. */
    uint64_t (*specialization_ns)(const ifg_bench_model *model);

    /* Optional. If it returns 0, *out_reason (never NULL) explains why nothing is known. */
    size_t (*placement)(ifg_bench_model *model, const struct ifg_bench_placement **out_entries,
                        const char **out_reason);
    size_t (*nodes)(ifg_bench_model *model, const struct ifg_bench_node **out_nodes);

    /* Available providers and devices, one line of text each. Optional. */
    size_t (*devices)(ifg_bench_context *context, const char *const **out_lines);

    /* sizeof of the structures in arrays, as this runtime was built: it receives and returns
     * elements that far apart, whatever its user's header knows. 0, or absent: as in the first
     * version of this header. IFG_BENCH_ELEMENT_SIZES sets all. */
    uint32_t setting_size;
    uint32_t port_size;
    uint32_t tensor_size;
    uint32_t placement_size;
    uint32_t node_size;
};

/* In order, after `devices`; C++20 with designated initializers needs each of them named. */
#define IFG_BENCH_ELEMENT_SIZES                                                                    \
    sizeof(struct ifg_bench_setting), sizeof(struct ifg_bench_port),                               \
        sizeof(struct ifg_bench_tensor), sizeof(struct ifg_bench_placement),                       \
        sizeof(struct ifg_bench_node)

/* What a runtime defines. */
#if defined(__GNUC__)
__attribute__((visibility("default")))
#endif
extern const struct ifg_bench_runtime ifg_bench_runtime_1;

#ifdef __cplusplus
}
#endif

#endif
