// SPDX-License-Identifier: Apache-2.0
/*
 * Shapes of values, operator by operator. What cannot be found out stays unknown: a rank
 * (value->known), a dimension (UNKNOWN_SIZE) or an element of a small constant (NaN). Nothing is
 * guessed. Running out of memory is left in the wire's status.
 */
#ifndef IFG_ONNX_SHAPES_INTERNAL_H
#define IFG_ONNX_SHAPES_INTERNAL_H

#include <math.h>
#include <string.h>

#include "onnx/onnx_internal.h"

#define SIZE_LIMIT ((int64_t)1 << 40) /* no dimension or step beyond this is taken seriously */

typedef void infer_fn(struct opened *opened, struct node *node);

enum cost_kind {
    COST_FREE,   /* nothing is computed or moved */
    COST_MOVE,   /* read and written, no arithmetic */
    COST_PICK,   /* only what is written is read: Gather, Slice */
    COST_OUTPUT, /* so many operations for each element of the first output */
    COST_INPUT,  /* ... of the first input */
    COST_MATMUL, /* and the others have a formula */
    COST_CONV,
    COST_CONV_TRANSPOSE,
    COST_POOL,
    COST_RECURRENT,
    COST_EINSUM,
    COST_ATTENTION,
    COST_RESIZE,
};

struct operator_info {
    const char *name;
    infer_fn *infer; /* NULL: its outputs depend on more than shapes */
    enum cost_kind cost;
    double each; /* operations for each element */
};

/* NULL: not known. */
const struct operator_info *onnx_operator(const struct node *node);

static inline struct value *input_at(const struct node *node, uint32_t index)
{
    return index < node->input_count ? node->inputs[index] : NULL;
}

static inline struct value *output_at(const struct node *node, uint32_t index)
{
    return index < node->output_count ? node->outputs[index] : NULL;
}

static inline bool has_shape(const struct value *value)
{
    return value && value->known;
}

static inline int64_t sane_size(int64_t size)
{
    return size >= 0 && size <= SIZE_LIMIT ? size : UNKNOWN_SIZE;
}

/* Fills in what is not known yet; what the file says stays. Accepts NULL. */
void shape_set(struct value *value, int32_t type, uint32_t rank, const int64_t *dims);
void shape_set_type(struct value *value, int32_t type);

/* Elements; -1: not known. */
double shape_elements(const struct value *value);

/* An axis that may count from the end; -1: there is no such axis. */
int64_t shape_axis(int64_t axis, uint32_t rank);

/* A list that older operators have as attribute and newer ones as input. Returns how many there
 * are, -1 if they are not known, -2 if it was not given. Unknown elements are NaN. */
int shape_list(const struct node *node, const char *attribute, uint32_t input,
               double out[NUMBERS_MAX]);

/* Element of a list of integers; `otherwise` if there is none; SIZE_LIMIT + 1 if it is absurd. */
int64_t shape_int(const struct attribute *list, uint32_t index, int64_t otherwise);

/* ---- numbers.c: the contents of small constants ---- */

double *numbers_new(struct opened *opened, struct value *value, uint32_t count);
void numbers_copy(struct value *to, const struct value *from);
void numbers_unary(struct opened *opened, struct node *node);
void numbers_binary(struct opened *opened, struct node *node);

/* ---- operators ---- */

infer_fn infer_same, infer_same_bool, infer_broadcast, infer_compare, infer_where, infer_cast;
infer_fn infer_conv, infer_conv_transpose, infer_pool, infer_global_pool, infer_matmul, infer_gemm;
infer_fn infer_recurrent, infer_normalization, infer_quantize, infer_dequantize;
infer_fn infer_dynamic_quantize, infer_einsum, infer_attention, infer_multi_head_attention;
infer_fn infer_embed_layer_normalization, infer_dropout;
infer_fn infer_reshape, infer_flatten, infer_transpose, infer_concat, infer_split, infer_slice;
infer_fn infer_squeeze, infer_unsqueeze, infer_resize, infer_pad, infer_gather;
infer_fn infer_gather_elements, infer_gather_nd, infer_expand, infer_tile, infer_shape, infer_size;
infer_fn infer_constant_of_shape, infer_range, infer_top_k, infer_arg, infer_reduce, infer_one_hot;
infer_fn infer_depth_to_space, infer_space_to_depth, infer_identity;
uint32_t shapes_recurrent_state_axis(const struct node *node);
infer_fn infer_quantized_binary, infer_quantized_concat;
infer_fn infer_roi_align, infer_grid_sample, infer_like;

#endif
