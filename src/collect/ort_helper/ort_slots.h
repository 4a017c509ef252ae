// SPDX-License-Identifier: Apache-2.0
/*
 * ONNX Runtime's C interface as far as the helper calls it: positions in its table, which are the
 * same in every release since 1.8, and the structure of a custom operator.
 */
#ifndef IFG_COLLECT_ORT_HELPER_ORT_SLOTS_H
#define IFG_COLLECT_ORT_HELPER_ORT_SLOTS_H

#include <stddef.h>
#include <stdint.h>

typedef void (*ort_function)(void);
typedef const ort_function *ort_table;

struct ort_base {
    ort_table (*get_api)(uint32_t version);
    const char *(*get_version)(void);
};

enum ort_slot {
    ORT_GET_ERROR_MESSAGE = 2,
    ORT_CREATE_ENV = 3,
    ORT_CREATE_SESSION = 7,
    ORT_CREATE_SESSION_FROM_ARRAY = 8,
    ORT_RUN = 9,
    ORT_CREATE_SESSION_OPTIONS = 10,
    ORT_SET_SESSION_EXECUTION_MODE = 13,
    ORT_ENABLE_PROFILING = 14,
    ORT_SET_SESSION_GRAPH_OPTIMIZATION_LEVEL = 23,
    ORT_SET_INTRA_OP_NUM_THREADS = 24,
    ORT_SET_INTER_OP_NUM_THREADS = 25,
    ORT_CREATE_CUSTOM_OP_DOMAIN = 26,
    ORT_CUSTOM_OP_DOMAIN_ADD = 27,
    ORT_ADD_CUSTOM_OP_DOMAIN = 28,
    ORT_SESSION_GET_INPUT_COUNT = 30,
    ORT_SESSION_GET_OUTPUT_COUNT = 31,
    ORT_SESSION_GET_INPUT_TYPE_INFO = 33,
    ORT_SESSION_GET_INPUT_NAME = 36,
    ORT_SESSION_GET_OUTPUT_NAME = 37,
    ORT_CREATE_TENSOR_AS_VALUE = 48,
    ORT_CREATE_TENSOR_WITH_DATA = 49,
    ORT_GET_TENSOR_MUTABLE_DATA = 51,
    ORT_FILL_STRING_TENSOR = 52,
    ORT_CAST_TYPE_INFO_TO_TENSOR_INFO = 55,
    ORT_GET_TENSOR_ELEMENT_TYPE = 60,
    ORT_GET_DIMENSIONS_COUNT = 61,
    ORT_GET_DIMENSIONS = 62,
    ORT_CREATE_CPU_MEMORY_INFO = 69,
    ORT_ALLOCATOR_FREE = 76,
    ORT_GET_ALLOCATOR_WITH_DEFAULT_OPTIONS = 78,
    ORT_KERNEL_CONTEXT_GET_OUTPUT = 91,
    ORT_RELEASE_STATUS = 93,
    ORT_RELEASE_SESSION = 95,
    ORT_RELEASE_VALUE = 96,
    ORT_RELEASE_TYPE_INFO = 98,
    ORT_SESSION_END_PROFILING = 110,
    ORT_RUN_WITH_BINDING = 133,
    ORT_CREATE_IO_BINDING = 134,
    ORT_RELEASE_IO_BINDING = 135,
    ORT_BIND_INPUT = 136,
    ORT_BIND_OUTPUT_TO_DEVICE = 138,
    ORT_APPEND_PROVIDER = 216 /* from 1.12 */
};

#define ORT_OLDEST_MINOR 8

/* ORT(table, ORT_RUN, void *, (types))(arguments): most return a status, NULL if all is well. */
#define ORT(table, slot, result, types) ((result(*) types)(table)[slot])

/* What an operator of ours must offer. Older runtimes read only the beginning; `version` says which
 * members there are. */
struct ort_custom_op {
    uint32_t version;
    void *(*create_kernel)(const struct ort_custom_op *, ort_table, const void *info);
    const char *(*get_name)(const struct ort_custom_op *);
    const char *(*get_provider)(const struct ort_custom_op *);
    int (*get_input_type)(const struct ort_custom_op *, size_t);
    size_t (*get_input_count)(const struct ort_custom_op *);
    int (*get_output_type)(const struct ort_custom_op *, size_t);
    size_t (*get_output_count)(const struct ort_custom_op *);
    void (*compute)(void *kernel, void *context);
    void (*destroy_kernel)(void *kernel);
    int (*get_input_characteristic)(const struct ort_custom_op *, size_t);
    int (*get_output_characteristic)(const struct ort_custom_op *, size_t);
    int (*get_input_memory_type)(const struct ort_custom_op *, size_t); /* from here: 13 */
    int (*get_variadic_input_min)(const struct ort_custom_op *);        /* from here: 14 */
    int (*get_variadic_input_homogeneity)(const struct ort_custom_op *);
    int (*get_variadic_output_min)(const struct ort_custom_op *);
    int (*get_variadic_output_homogeneity)(const struct ort_custom_op *);
    void *(*create_kernel_v2)(const struct ort_custom_op *, ort_table, const void *, void **);
    void *(*compute_v2)(void *, void *);                        /* these two: 16 */
    void *(*infer_shape)(const struct ort_custom_op *, void *); /* from here: 17 */
    int (*get_start_version)(const struct ort_custom_op *);
    int (*get_end_version)(const struct ort_custom_op *);
    void *later[8];
};

#endif
