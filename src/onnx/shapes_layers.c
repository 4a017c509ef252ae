// SPDX-License-Identifier: Apache-2.0
/* Operators that compute: element by element, with windows, with matrices, with sequences. */
#include "onnx/shapes_internal.h"

void infer_same(struct opened *opened, struct node *node)
{
    const struct value *from = input_at(node, 0);

    if (has_shape(from))
        shape_set(output_at(node, 0), from->type, from->rank, from->dims);
    else if (from)
        shape_set_type(output_at(node, 0), from->type);
    numbers_unary(opened, node);
}

/* As large as its input, of a type of its own. */
void infer_like(struct opened *opened, struct node *node)
{
    const struct value *from = input_at(node, 0);
    int64_t type = onnx_attribute_int(node, "dtype", 0);

    (void)opened;
    if (has_shape(from))
        shape_set(output_at(node, 0), type > 0 && type < ONNX_TYPES ? (int32_t)type : from->type,
                  from->rank, from->dims);
}

void infer_same_bool(struct opened *opened, struct node *node)
{
    const struct value *from = input_at(node, 0);

    if (has_shape(from))
        shape_set(output_at(node, 0), TYPE_BOOL, from->rank, from->dims);
    numbers_unary(opened, node);
}

static int64_t broadcast(int64_t a, int64_t b)
{
    if (a == 1 || a == b)
        return b;
    if (b == 1)
        return a;
    if (a == UNKNOWN_SIZE) /* it is 1 or the same, or the model is wrong */
        return b;
    return b == UNKNOWN_SIZE ? a : UNKNOWN_SIZE;
}

/* False: something is not known. */
static bool broadcast_inputs(const struct node *node, uint32_t *out_rank,
                             int64_t dims[ONNX_RANK_MAX])
{
    uint32_t rank = 0;

    for (uint32_t i = 0; i < node->input_count; i++) {
        if (!has_shape(node->inputs[i]))
            return false;
        if (node->inputs[i]->rank > rank)
            rank = node->inputs[i]->rank;
    }
    for (uint32_t i = 0; i < rank; i++)
        dims[i] = 1;
    for (uint32_t i = 0; i < node->input_count; i++) {
        const struct value *value = node->inputs[i];

        for (uint32_t j = 0; j < value->rank; j++)
            dims[rank - value->rank + j] = broadcast(dims[rank - value->rank + j], value->dims[j]);
    }
    *out_rank = rank;
    return node->input_count > 0;
}

static void infer_broadcast_as(struct opened *opened, struct node *node, int32_t type)
{
    int64_t dims[ONNX_RANK_MAX];
    uint32_t rank;

    shape_set_type(output_at(node, 0), type);
    if (broadcast_inputs(node, &rank, dims))
        shape_set(output_at(node, 0), type, rank, dims);
    numbers_binary(opened, node);
}

void infer_broadcast(struct opened *opened, struct node *node)
{
    infer_broadcast_as(opened, node, input_at(node, 0) ? node->inputs[0]->type : 0);
}

/* a, its scale and zero point, b, its scale and zero point, those of the result */
void infer_quantized_binary(struct opened *opened, struct node *node)
{
    const struct value *a = input_at(node, 0);
    const struct value *b = input_at(node, 3);
    int64_t dims[ONNX_RANK_MAX];
    uint32_t rank;

    (void)opened;
    if (!a || !b)
        return;
    shape_set_type(output_at(node, 0), a->type);
    if (!has_shape(a) || !has_shape(b))
        return;
    rank = a->rank > b->rank ? a->rank : b->rank;
    for (uint32_t i = 0; i < rank; i++)
        dims[i] = broadcast(i + a->rank < rank ? 1 : a->dims[i + a->rank - rank],
                            i + b->rank < rank ? 1 : b->dims[i + b->rank - rank]);
    shape_set(output_at(node, 0), a->type, rank, dims);
}

void infer_compare(struct opened *opened, struct node *node)
{
    infer_broadcast_as(opened, node, TYPE_BOOL);
}

void infer_where(struct opened *opened, struct node *node)
{
    const struct value *choice = input_at(node, 0);
    const struct value *yes = input_at(node, 1);
    const struct value *no = input_at(node, 2);
    struct value *to = output_at(node, 0);
    int64_t dims[ONNX_RANK_MAX];
    uint32_t rank;
    double *numbers;

    if (!choice || !yes || !no)
        return;
    shape_set_type(to, yes->type);
    if (broadcast_inputs(node, &rank, dims))
        shape_set(to, yes->type, rank, dims);
    if (!choice->numbers || !yes->numbers || !no->numbers || choice->number_count == 0 ||
        choice->rank > 1 || (yes->number_count != choice->number_count && yes->number_count != 1) ||
        (no->number_count != choice->number_count && no->number_count != 1))
        return;
    numbers = numbers_new(opened, to, choice->number_count);
    for (uint32_t i = 0; numbers && i < choice->number_count; i++) {
        double chosen = choice->numbers[i];

        numbers[i] = isnan(chosen) ? NAN
                     : chosen != 0 ? yes->numbers[yes->number_count == 1 ? 0 : i]
                                   : no->numbers[no->number_count == 1 ? 0 : i];
    }
}

void infer_dropout(struct opened *opened, struct node *node)
{
    const struct value *from = input_at(node, 0);

    infer_identity(opened, node);
    if (has_shape(from))
        shape_set(output_at(node, 1), TYPE_BOOL, from->rank, from->dims);
}

/* ---- windows ---- */

struct window {
    int64_t kernel;
    int64_t stride;
    int64_t dilation;
    int64_t pads; /* at both ends together */
    int64_t pad_begin;
};

static bool take_window(const struct node *node, uint32_t axis, uint32_t axes, int64_t kernel,
                        struct window *out)
{
    const struct attribute *pads = onnx_attribute(node, "pads");
    int64_t pad_end = shape_int(pads, axis + axes, 0);

    out->kernel = shape_int(onnx_attribute(node, "kernel_shape"), axis, kernel);
    out->stride = shape_int(onnx_attribute(node, "strides"), axis, 1);
    out->dilation = shape_int(onnx_attribute(node, "dilations"), axis, 1);
    out->pad_begin = shape_int(pads, axis, 0);
    out->pads = out->pad_begin + pad_end;
    if (out->kernel < 1 || out->stride < 1 || out->dilation < 1 || out->pad_begin > SIZE_LIMIT ||
        pad_end > SIZE_LIMIT || out->stride > SIZE_LIMIT)
        return false;
    return out->kernel < 1 << 20 && out->dilation < 1 << 20;
}

static int64_t slide(const struct node *node, int64_t size, const struct window *window)
{
    const char *automatic = onnx_attribute_text(node, "auto_pad", "NOTSET");
    bool is_up = onnx_attribute_int(node, "ceil_mode", 0) != 0;
    int64_t reach = (window->kernel - 1) * window->dilation + 1;
    int64_t room;
    int64_t steps;

    if (size == UNKNOWN_SIZE)
        return UNKNOWN_SIZE;
    if (strncmp(automatic, "SAME", 4) == 0)
        return (size + window->stride - 1) / window->stride;
    room = size - reach + (strcmp(automatic, "VALID") == 0 ? 0 : window->pads);
    if (room < 0)
        return UNKNOWN_SIZE;
    steps = (room + (is_up ? window->stride - 1 : 0)) / window->stride + 1;
    /* No window begins in the padding behind. */
    if (is_up && (steps - 1) * window->stride >= size + window->pad_begin)
        steps--;
    return steps;
}

/* Where the weights of a layer are: quantized ones have scales and zero points between. */
static const struct value *weights_of(const struct node *node)
{
    return input_at(node, strncmp(node->op_type, "QLinear", 7) == 0 ? 3 : 1);
}

static int32_t result_type(const struct node *node)
{
    const struct value *zero_point = input_at(node, 7);

    if (strcmp(node->op_type, "ConvInteger") == 0 || strcmp(node->op_type, "MatMulInteger") == 0)
        return TYPE_INT32;
    if (strncmp(node->op_type, "QLinear", 7) == 0)
        return zero_point ? zero_point->type : TYPE_UINT8;
    return input_at(node, 0) ? node->inputs[0]->type : 0;
}

void infer_conv(struct opened *opened, struct node *node)
{
    const struct value *from = input_at(node, 0);
    const struct value *weights = weights_of(node);
    int64_t dims[ONNX_RANK_MAX];

    (void)opened;
    shape_set_type(output_at(node, 0), result_type(node));
    if (!has_shape(from) || from->rank < 3 || !has_shape(weights) || weights->rank != from->rank ||
        onnx_attribute_int(node, "channels_last", 0))
        return;
    dims[0] = from->dims[0];
    dims[1] = weights->dims[0];
    for (uint32_t i = 2; i < from->rank; i++) {
        struct window window;

        if (!take_window(node, i - 2, from->rank - 2, weights->dims[i], &window))
            return;
        dims[i] = slide(node, from->dims[i], &window);
    }
    shape_set(output_at(node, 0), result_type(node), from->rank, dims);
}

void infer_conv_transpose(struct opened *opened, struct node *node)
{
    const struct value *from = input_at(node, 0);
    const struct value *weights = input_at(node, 1);
    const struct attribute *sizes = onnx_attribute(node, "output_shape");
    const struct attribute *extra = onnx_attribute(node, "output_padding");
    const char *automatic = onnx_attribute_text(node, "auto_pad", "NOTSET");
    int64_t group = sane_size(onnx_attribute_int(node, "group", 1));
    int64_t dims[ONNX_RANK_MAX];

    (void)opened;
    if (!has_shape(from) || from->rank < 3 || !has_shape(weights) || weights->rank != from->rank)
        return;
    dims[0] = from->dims[0];
    if (weights->dims[1] == UNKNOWN_SIZE || group == UNKNOWN_SIZE ||
        __builtin_mul_overflow(weights->dims[1], group, &dims[1]))
        dims[1] = UNKNOWN_SIZE;
    for (uint32_t i = 2; i < from->rank; i++) {
        struct window window;

        if (!take_window(node, i - 2, from->rank - 2, weights->dims[i], &window))
            return;
        if (sizes && sizes->int_count) /* of the last axes, in older files of all of them */
            dims[i] = shape_int(sizes, i + sizes->int_count - from->rank, UNKNOWN_SIZE);
        else if (from->dims[i] == UNKNOWN_SIZE || from->dims[i] > 1 << 20 ||
                 window.stride > 1 << 20)
            dims[i] = UNKNOWN_SIZE;
        else if (strncmp(automatic, "SAME", 4) == 0)
            dims[i] = from->dims[i] * window.stride;
        else
            dims[i] = window.stride * (from->dims[i] - 1) + shape_int(extra, i - 2, 0) +
                      (window.kernel - 1) * window.dilation + 1 - window.pads;
    }
    shape_set(output_at(node, 0), from->type, from->rank, dims);
}

void infer_pool(struct opened *opened, struct node *node)
{
    const struct value *from = input_at(node, 0);
    int64_t dims[ONNX_RANK_MAX];

    (void)opened;
    if (!has_shape(from) || from->rank < 3 || onnx_attribute_int(node, "channels_last", 0))
        return;
    dims[0] = from->dims[0];
    dims[1] = from->dims[1];
    for (uint32_t i = 2; i < from->rank; i++) {
        struct window window;

        if (!take_window(node, i - 2, from->rank - 2, 0, &window))
            return;
        dims[i] = slide(node, from->dims[i], &window);
    }
    shape_set(output_at(node, 0), from->type, from->rank, dims);
    shape_set(output_at(node, 1), TYPE_INT64, from->rank, dims);
}

void infer_global_pool(struct opened *opened, struct node *node)
{
    const struct value *from = input_at(node, 0);
    int64_t dims[ONNX_RANK_MAX];

    (void)opened;
    if (!has_shape(from) || from->rank < 2 || onnx_attribute_int(node, "channels_last", 0))
        return;
    for (uint32_t i = 0; i < from->rank; i++)
        dims[i] = i < 2 ? from->dims[i] : 1;
    shape_set(output_at(node, 0), from->type, from->rank, dims);
}

/* [regions, channels, height, width] */
void infer_roi_align(struct opened *opened, struct node *node)
{
    const struct value *from = input_at(node, 0);
    const struct value *regions = input_at(node, 1);

    (void)opened;
    if (has_shape(from) && from->rank == 4 && has_shape(regions) && regions->rank == 2)
        shape_set(output_at(node, 0), from->type, 4,
                  (int64_t[]){ regions->dims[0], from->dims[1],
                               onnx_attribute_int(node, "output_height", 1),
                               onnx_attribute_int(node, "output_width", 1) });
}

/* As many samples as the grid has places. */
void infer_grid_sample(struct opened *opened, struct node *node)
{
    const struct value *from = input_at(node, 0);
    const struct value *grid = input_at(node, 1);
    int64_t dims[ONNX_RANK_MAX];

    (void)opened;
    if (!has_shape(from) || !has_shape(grid) || from->rank < 3 || grid->rank != from->rank)
        return;
    memcpy(dims, from->dims, sizeof dims);
    for (uint32_t i = 2; i < from->rank; i++)
        dims[i] = grid->dims[i - 1];
    shape_set(output_at(node, 0), from->type, from->rank, dims);
}

/* ---- matrices ---- */

/* Rows and columns from the last two axes, the others broadcast. One axis is a vector. */
static void multiply(const struct node *node, const struct value *a, const struct value *b,
                     bool a_turned, bool b_turned)
{
    uint32_t a_batch = a->rank > 2 ? a->rank - 2 : 0;
    uint32_t b_batch = b->rank > 2 ? b->rank - 2 : 0;
    uint32_t batch = a_batch > b_batch ? a_batch : b_batch;
    uint32_t rank = batch;
    int64_t dims[ONNX_RANK_MAX];

    if (a->rank == 0 || b->rank == 0)
        return;
    for (uint32_t i = 0; i < batch; i++)
        dims[i] = broadcast(i + a_batch >= batch ? a->dims[i + a_batch - batch] : 1,
                            i + b_batch >= batch ? b->dims[i + b_batch - batch] : 1);
    if (a->rank > 1)
        dims[rank++] = a->dims[a->rank - (a_turned ? 1 : 2)];
    if (b->rank > 1)
        dims[rank++] = b->dims[b->rank - (b_turned ? 2 : 1)];
    shape_set(output_at(node, 0), result_type(node), rank, dims);
}

void infer_matmul(struct opened *opened, struct node *node)
{
    const struct value *a = input_at(node, 0);
    const struct value *b = weights_of(node);
    int64_t columns = onnx_attribute_int(node, "N", UNKNOWN_SIZE);

    (void)opened;
    shape_set_type(output_at(node, 0), strcmp(node->op_type, "MatMulIntegerToFloat") == 0 ||
                                               strcmp(node->op_type, "DynamicQuantizeMatMul") == 0
                                           ? TYPE_FLOAT32
                                           : result_type(node));
    if (strcmp(node->op_type, "MatMulNBits") == 0 || strcmp(node->op_type, "MatMulBnb4") == 0) {
        int64_t dims[ONNX_RANK_MAX];

        if (!has_shape(a) || a->rank == 0)
            return;
        memcpy(dims, a->dims, sizeof dims);
        dims[a->rank - 1] = columns;
        shape_set(output_at(node, 0), a->type, a->rank, dims);
        return;
    }
    if (has_shape(a) && has_shape(b) && !onnx_attribute_int(node, "transBatchA", 0) &&
        !onnx_attribute_int(node, "transBatchB", 0))
        multiply(node, a, b, onnx_attribute_int(node, "transA", 0) != 0,
                 onnx_attribute_int(node, "transB", 0) != 0);
}

void infer_gemm(struct opened *opened, struct node *node)
{
    const struct value *a = input_at(node, 0);
    const struct value *b =
        strcmp(node->op_type, "QGemm") == 0 ? input_at(node, 3) : input_at(node, 1);

    (void)opened;
    if (has_shape(a) && has_shape(b) && a->rank == 2 && b->rank == 2)
        multiply(node, a, b, onnx_attribute_int(node, "transA", 0) != 0,
                 onnx_attribute_int(node, "transB", 0) != 0);
}

/* "bij,bjk->bik": every letter has a size; what is behind the arrow is the result. */
void infer_einsum(struct opened *opened, struct node *node)
{
    const char *at = onnx_attribute_text(node, "equation", "");
    int64_t sizes[128];
    int64_t dims[ONNX_RANK_MAX];
    uint32_t input = 0;
    uint32_t axis = 0;
    uint32_t rank = 0;

    (void)opened;
    for (size_t i = 0; i < 128; i++)
        sizes[i] = UNKNOWN_SIZE;
    for (; *at && *at != '-'; at++) {
        const struct value *value = input_at(node, input);

        if (*at == '.' || (unsigned char)*at >= 128)
            return;
        if (*at == ',') {
            input++;
            axis = 0;
        } else if (*at != ' ') {
            if (!has_shape(value) || axis >= value->rank)
                return;
            sizes[(unsigned char)*at] = value->dims[axis++];
        }
    }
    if (at[0] != '-' || at[1] != '>')
        return;
    for (at += 2; *at; at++) {
        if (*at == ' ')
            continue;
        if ((unsigned char)*at >= 128 || *at == '.' || rank == ONNX_RANK_MAX)
            return;
        dims[rank++] = sizes[(unsigned char)*at];
    }
    shape_set(output_at(node, 0), input_at(node, 0) ? node->inputs[0]->type : 0, rank, dims);
}

/* ---- sequences ---- */

/* Which axis of the state's weights is as long as the state; quantized ones lie the other way. */
uint32_t shapes_recurrent_state_axis(const struct node *node)
{
    return strcmp(node->op_type, "DynamicQuantizeLSTM") == 0 ? 1 : 2;
}

void infer_recurrent(struct opened *opened, struct node *node)
{
    const struct value *from = input_at(node, 0);
    const struct value *again = input_at(node, 2);
    int64_t hidden = sane_size(onnx_attribute_int(node, "hidden_size", UNKNOWN_SIZE));
    bool batch_first = onnx_attribute_int(node, "layout", 0) != 0;
    int64_t directions =
        strcmp(onnx_attribute_text(node, "direction", "forward"), "bidirectional") == 0 ? 2 : 1;
    int64_t length;
    int64_t batch;

    (void)opened;
    if (!has_shape(from) || from->rank != 3)
        return;
    if (hidden == UNKNOWN_SIZE && has_shape(again) && again->rank == 3)
        hidden = again->dims[shapes_recurrent_state_axis(node)];
    length = from->dims[batch_first ? 1 : 0];
    batch = from->dims[batch_first ? 0 : 1];
    if (batch_first) {
        shape_set(output_at(node, 0), from->type, 4,
                  (int64_t[]){ batch, length, directions, hidden });
        shape_set(output_at(node, 1), from->type, 3, (int64_t[]){ batch, directions, hidden });
        shape_set(output_at(node, 2), from->type, 3, (int64_t[]){ batch, directions, hidden });
    } else {
        shape_set(output_at(node, 0), from->type, 4,
                  (int64_t[]){ length, directions, batch, hidden });
        shape_set(output_at(node, 1), from->type, 3, (int64_t[]){ directions, batch, hidden });
        shape_set(output_at(node, 2), from->type, 3, (int64_t[]){ directions, batch, hidden });
    }
}

/* com.microsoft: [batch, sequence, in] and weights [in, 3 x hidden] */
void infer_attention(struct opened *opened, struct node *node)
{
    const struct value *from = input_at(node, 0);
    const struct value *weights = input_at(node, 1);

    if (!*node->domain) { /* the standard one: query, key, value */
        infer_multi_head_attention(opened, node);
        return;
    }
    if (has_shape(from) && from->rank == 3 && has_shape(weights) && weights->rank == 2 &&
        !onnx_attribute(node, "qkv_hidden_sizes"))
        shape_set(
            output_at(node, 0), *node->op_type == 'Q' ? TYPE_FLOAT32 : from->type, 3,
            (int64_t[]){ from->dims[0], from->dims[1],
                         weights->dims[1] == UNKNOWN_SIZE ? UNKNOWN_SIZE : weights->dims[1] / 3 });
}

/* The result is as long as the query; its width is that of the values times the heads. */
void infer_multi_head_attention(struct opened *opened, struct node *node)
{
    const struct value *query = input_at(node, 0);
    const struct value *values = input_at(node, 2);
    int64_t dims[ONNX_RANK_MAX];

    (void)opened;
    if (!has_shape(query) || (query->rank != 3 && query->rank != 4))
        return;
    shape_set_type(output_at(node, 0), query->type);
    if (!has_shape(values) || values->rank != query->rank ||
        (query->rank == 3 && values->dims[2] != query->dims[2] &&
         strcmp(node->op_type, "GroupQueryAttention") != 0))
        return;
    memcpy(dims, query->dims, sizeof dims);
    if (query->rank == 4)
        dims[3] = values->dims[3];
    shape_set(output_at(node, 0), query->type, query->rank, dims);
}

void infer_embed_layer_normalization(struct opened *opened, struct node *node)
{
    const struct value *ids = input_at(node, 0);
    const struct value *words = input_at(node, 2);

    (void)opened;
    if (!has_shape(ids) || ids->rank != 2 || !has_shape(words) || words->rank != 2)
        return;
    shape_set(output_at(node, 0), words->type, 3,
              (int64_t[]){ ids->dims[0], ids->dims[1], words->dims[1] });
    shape_set(output_at(node, 1), TYPE_INT32, 1, &ids->dims[0]);
}

/* ---- normalization and quantization ---- */

/* Mean and deviation of what is normalized together. */
static void infer_statistics(const struct node *node)
{
    const struct value *from = input_at(node, 0);
    int64_t axis = shape_axis(onnx_attribute_int(node, "axis", -1), from->rank);
    int64_t dims[ONNX_RANK_MAX];

    for (uint32_t i = 0; i < from->rank; i++)
        dims[i] = axis >= 0 && i >= axis ? 1 : from->dims[i];
    shape_set(output_at(node, 1), TYPE_FLOAT32, from->rank, dims);
    shape_set(output_at(node, 2), TYPE_FLOAT32, from->rank, dims);
}

/* Also those that add a residual first, and hand that sum on as their last output. */
void infer_normalization(struct opened *opened, struct node *node)
{
    const struct value *from = input_at(node, 0);
    bool is_skip = strncmp(node->op_type, "Skip", 4) == 0;

    (void)opened;
    if (!has_shape(from))
        return;
    shape_set(output_at(node, 0), from->type, from->rank, from->dims);
    if (is_skip)
        shape_set(output_at(node, 3), from->type, from->rank, from->dims);
    else if (strcmp(node->op_type, "LayerNormalization") == 0)
        infer_statistics(node);
}

void infer_quantize(struct opened *opened, struct node *node)
{
    const struct value *from = input_at(node, 0);
    const struct value *zero_point = input_at(node, 2);
    int64_t type = onnx_attribute_int(node, "output_dtype", 0);

    (void)opened;
    if (type <= 0 || type >= ONNX_TYPES)
        type = zero_point ? zero_point->type : TYPE_UINT8;
    if (has_shape(from))
        shape_set(output_at(node, 0), (int32_t)type, from->rank, from->dims);
    else
        shape_set_type(output_at(node, 0), (int32_t)type);
}

void infer_dequantize(struct opened *opened, struct node *node)
{
    const struct value *from = input_at(node, 0);
    const struct value *scale = input_at(node, 1);
    int32_t type = scale ? scale->type : TYPE_FLOAT32;

    (void)opened;
    if (has_shape(from))
        shape_set(output_at(node, 0), type, from->rank, from->dims);
    else
        shape_set_type(output_at(node, 0), type);
}

void infer_dynamic_quantize(struct opened *opened, struct node *node)
{
    const struct value *from = input_at(node, 0);

    (void)opened;
    if (has_shape(from))
        shape_set(output_at(node, 0), TYPE_UINT8, from->rank, from->dims);
    shape_set(output_at(node, 1), TYPE_FLOAT32, 0, NULL);
    shape_set(output_at(node, 2), TYPE_UINT8, 0, NULL);
}
