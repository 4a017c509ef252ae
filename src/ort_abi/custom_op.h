// SPDX-License-Identifier: Apache-2.0
/* What ONNX Runtime wants of an operator that is not its own. */
#ifndef IFG_ORT_ABI_CUSTOM_OP_H
#define IFG_ORT_ABI_CUSTOM_OP_H

#include <stddef.h>
#include <stdint.h>

#include "ort_abi/api.h"

/* Older runtimes read only the beginning; `version` says which
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
