// SPDX-License-Identifier: Apache-2.0
/*
 * As much of ONNX Runtime's C interface as the test programs call, without its header: the table of
 * functions is reached by number, which is stable from ORT 1.8 on.
 */
#ifndef ORT_MIN_H
#define ORT_MIN_H

#include <stddef.h>
#include <stdint.h>

typedef void (*ort_function)(void);
typedef const ort_function *ort_table;

struct ort_base {
    ort_table (*get_api)(uint32_t version);
    const char *(*get_version)(void);
};

enum ort_slot {
    ORT_CREATE_STATUS = 0,
    ORT_GET_ERROR_CODE = 1,
    ORT_GET_ERROR_MESSAGE = 2,
    ORT_CREATE_ENV = 3,
    ORT_CREATE_SESSION = 7,
    ORT_CREATE_SESSION_FROM_ARRAY = 8,
    ORT_RUN = 9,
    ORT_CREATE_SESSION_OPTIONS = 10,
    ORT_SET_OPTIMIZED_MODEL_FILE_PATH = 11,
    ORT_ENABLE_PROFILING = 14,
    ORT_SET_SESSION_GRAPH_OPTIMIZATION_LEVEL = 23,
    ORT_SET_INTRA_OP_NUM_THREADS = 24,
    ORT_SESSION_GET_INPUT_COUNT = 30,
    ORT_SESSION_GET_OUTPUT_COUNT = 31,
    ORT_SESSION_GET_INPUT_TYPE_INFO = 33,
    ORT_SESSION_GET_INPUT_NAME = 36,
    ORT_SESSION_GET_OUTPUT_NAME = 37,
    ORT_CREATE_RUN_OPTIONS = 39,
    ORT_CREATE_TENSOR_AS_VALUE = 48,
    ORT_CREATE_TENSOR_WITH_DATA = 49,
    ORT_GET_TENSOR_MUTABLE_DATA = 51,
    ORT_CAST_TYPE_INFO_TO_TENSOR_INFO = 55,
    ORT_GET_TENSOR_ELEMENT_TYPE = 60,
    ORT_GET_DIMENSIONS_COUNT = 61,
    ORT_GET_DIMENSIONS = 62,
    ORT_GET_TENSOR_SHAPE_ELEMENT_COUNT = 64,
    ORT_GET_TENSOR_TYPE_AND_SHAPE = 65,
    ORT_CREATE_CPU_MEMORY_INFO = 69,
    ORT_ALLOCATOR_FREE = 76,
    ORT_GET_ALLOCATOR_WITH_DEFAULT_OPTIONS = 78,
    ORT_KERNEL_CONTEXT_GET_INPUT = 90,
    ORT_KERNEL_CONTEXT_GET_OUTPUT = 91,
    ORT_RELEASE_ENV = 92,
    ORT_RELEASE_STATUS = 93,
    ORT_RELEASE_MEMORY_INFO = 94,
    ORT_RELEASE_SESSION = 95,
    ORT_RELEASE_VALUE = 96,
    ORT_RELEASE_RUN_OPTIONS = 97,
    ORT_RELEASE_TYPE_INFO = 98,
    ORT_RELEASE_TENSOR_TYPE_AND_SHAPE_INFO = 99,
    ORT_RELEASE_SESSION_OPTIONS = 100,
    ORT_SESSION_END_PROFILING = 110,
    ORT_ADD_SESSION_CONFIG_ENTRY = 130,
    ORT_RUN_WITH_BINDING = 133,
    ORT_CREATE_IO_BINDING = 134,
    ORT_RELEASE_IO_BINDING = 135,
    ORT_BIND_INPUT = 136,
    ORT_BIND_OUTPUT_TO_DEVICE = 138,
    ORT_GET_BOUND_OUTPUT_VALUES = 140,
    ORT_APPEND_CUDA = 152,
    ORT_APPEND_PROVIDER = 216,          /* from 1.12 */
    ORT_HAS_SESSION_CONFIG_ENTRY = 237, /* from 1.14 */
    ORT_GET_SESSION_CONFIG_ENTRY = 238,
    ORT_RUN_ASYNC = 260,                 /* from 1.16 */
    ORT_REGISTER_PROVIDER_LIBRARY = 301, /* from 1.22 */
    ORT_GET_EP_DEVICES = 303,
    ORT_APPEND_PROVIDER_V2 = 304,
    ORT_SET_SELECTION_POLICY = 305,
    ORT_HARDWARE_DEVICE_TYPE = 307,
    ORT_EP_DEVICE_EP_NAME = 312,
    ORT_GET_EP_API = 317,
    ORT_GRAPH_GET_NUM_NODES = 344, /* from 1.23 */
    ORT_GRAPH_GET_NODES = 345,
    ORT_NODE_GET_OPERATOR_TYPE = 350
};

enum { ORT_FLOAT = 1, ORT_INT64 = 7, ORT_BOOL = 9 };

/* ORT(table, ORT_RUN, void *, (types))(arguments): most return a status, NULL if all is well. */
#define ORT(table, slot, result, types) ((result(*) types)(table)[slot])

/* Where the program gets ONNX Runtime from: ort_dlopen.c or ort_linked.c. NULL: message printed. */
const struct ort_base *ort_get_base(const char *library);

#endif
