// SPDX-License-Identifier: Apache-2.0
/* Operators that pick elements, reduce along axes, or make tensors from shapes. */
#include "onnx/shapes_internal.h"

static int64_t to_size(double number)
{
    return number >= 0 && number <= (double)SIZE_LIMIT ? (int64_t)number : UNKNOWN_SIZE;
}

static void gather_numbers(struct opened *opened, const struct node *node)
{
    const struct value *from = input_at(node, 0);
    const struct value *indices = input_at(node, 1);
    double *to;

    if (!from->numbers || from->rank != 1 || !indices->numbers)
        return;
    to = numbers_new(opened, output_at(node, 0), indices->number_count);
    for (uint32_t i = 0; to && i < indices->number_count; i++) {
        double index = indices->numbers[i];

        index += index < 0 ? from->number_count : 0;
        to[i] = index >= 0 && index < from->number_count ? from->numbers[(size_t)index] : NAN;
    }
}

void infer_gather(struct opened *opened, struct node *node)
{
    const struct value *from = input_at(node, 0);
    const struct value *indices = input_at(node, 1);
    int64_t dims[ONNX_RANK_MAX];
    int64_t axis;
    uint32_t rank = 0;

    if (from)
        shape_set_type(output_at(node, 0), from->type);
    if (!has_shape(from) || !has_shape(indices))
        return;
    axis = shape_axis(onnx_attribute_int(node, "axis", 0), from->rank);
    if (axis < 0 || from->rank - 1 + indices->rank > ONNX_RANK_MAX)
        return;
    for (uint32_t i = 0; i < from->rank; i++) {
        if (i != axis) {
            dims[rank++] = from->dims[i];
            continue;
        }
        for (uint32_t j = 0; j < indices->rank; j++)
            dims[rank++] = indices->dims[j];
    }
    shape_set(output_at(node, 0), from->type, rank, dims);
    gather_numbers(opened, node);
}

void infer_gather_elements(struct opened *opened, struct node *node)
{
    const struct value *from = input_at(node, 0);
    const struct value *indices = input_at(node, 1);

    (void)opened;
    if (from && has_shape(indices))
        shape_set(output_at(node, 0), from->type, indices->rank, indices->dims);
}

void infer_gather_nd(struct opened *opened, struct node *node)
{
    const struct value *from = input_at(node, 0);
    const struct value *indices = input_at(node, 1);
    int64_t batch = onnx_attribute_int(node, "batch_dims", 0);
    int64_t dims[ONNX_RANK_MAX];
    int64_t depth;
    uint32_t rank = 0;

    (void)opened;
    if (!has_shape(from) || !has_shape(indices) || indices->rank == 0 || batch < 0)
        return;
    depth = indices->dims[indices->rank - 1];
    if (depth == UNKNOWN_SIZE || batch > (int64_t)from->rank || depth > (int64_t)from->rank - batch)
        return;
    if (indices->rank - 1 + from->rank - (uint32_t)(batch + depth) > ONNX_RANK_MAX)
        return;
    for (uint32_t i = 0; i + 1 < indices->rank; i++)
        dims[rank++] = indices->dims[i];
    for (uint32_t i = (uint32_t)(batch + depth); i < from->rank; i++)
        dims[rank++] = from->dims[i];
    shape_set(output_at(node, 0), from->type, rank, dims);
}

void infer_shape(struct opened *opened, struct node *node)
{
    const struct value *from = input_at(node, 0);
    struct value *to = output_at(node, 0);
    int64_t start = onnx_attribute_int(node, "start", 0);
    int64_t end = onnx_attribute_int(node, "end", INT64_MAX);
    double *numbers;

    if (!has_shape(from)) {
        shape_set_type(to, TYPE_INT64);
        return;
    }
    start += start < 0 ? (int64_t)from->rank : 0;
    end += end < 0 ? (int64_t)from->rank : 0;
    start = start < 0 ? 0 : start;
    end = end > (int64_t)from->rank ? (int64_t)from->rank : end;
    end = end < start ? start : end;
    if (start > (int64_t)from->rank)
        return;
    shape_set(to, TYPE_INT64, 1, (int64_t[]){ end - start });
    numbers = numbers_new(opened, to, (uint32_t)(end - start));
    for (int64_t i = start; numbers && i < end; i++)
        numbers[i - start] = from->dims[i] == UNKNOWN_SIZE ? NAN : (double)from->dims[i];
}

void infer_size(struct opened *opened, struct node *node)
{
    double elements = shape_elements(input_at(node, 0));
    double *number;

    shape_set(output_at(node, 0), TYPE_INT64, 0, NULL);
    number = numbers_new(opened, output_at(node, 0), 1);
    if (number)
        *number = elements < 0 ? NAN : elements;
}

void infer_constant_of_shape(struct opened *opened, struct node *node)
{
    const struct attribute *attribute = onnx_attribute(node, "value");
    const struct tensor *fill = attribute ? attribute->tensor : NULL;
    double sizes[NUMBERS_MAX];
    int count = shape_list(node, "shape", 0, sizes);
    int64_t dims[ONNX_RANK_MAX];
    double *numbers;
    struct value *to = output_at(node, 0);

    shape_set_type(to, fill ? fill->type : TYPE_FLOAT32);
    if (count < 0 || count > ONNX_RANK_MAX)
        return;
    for (int i = 0; i < count; i++)
        dims[i] = to_size(sizes[i]);
    shape_set(to, fill ? fill->type : TYPE_FLOAT32, (uint32_t)count, dims);
    if (count > 1 || shape_elements(to) < 0 || shape_elements(to) > NUMBERS_MAX)
        return;
    numbers = numbers_new(opened, to, (uint32_t)shape_elements(to));
    for (uint32_t i = 0; numbers && i < to->number_count; i++)
        numbers[i] = fill && fill->number_count == 1 ? fill->numbers[0] : fill ? NAN : 0;
}

static double one_number(const struct value *value)
{
    return value && value->numbers && value->number_count == 1 ? value->numbers[0] : NAN;
}

void infer_range(struct opened *opened, struct node *node)
{
    double start = one_number(input_at(node, 0));
    double limit = one_number(input_at(node, 1));
    double step = one_number(input_at(node, 2));
    double count = step != 0 ? ceil((limit - start) / step) : NAN;
    int32_t type = input_at(node, 0) ? input_at(node, 0)->type : 0;
    double *numbers = NULL;

    if (count < 0)
        count = 0;
    shape_set(output_at(node, 0), type, 1,
              (int64_t[]){ isnan(count) ? UNKNOWN_SIZE : to_size(count) });
    if (count <= NUMBERS_MAX)
        numbers = numbers_new(opened, output_at(node, 0), (uint32_t)count);
    for (uint32_t i = 0; numbers && i < output_at(node, 0)->number_count; i++)
        numbers[i] = start + i * step;
}

void infer_top_k(struct opened *opened, struct node *node)
{
    const struct value *from = input_at(node, 0);
    int64_t count = onnx_attribute_int(node, "k", UNKNOWN_SIZE);
    int64_t dims[ONNX_RANK_MAX];
    int64_t axis;

    (void)opened;
    if (!has_shape(from))
        return;
    if (input_at(node, 1) && !isnan(one_number(input_at(node, 1))))
        count = to_size(one_number(input_at(node, 1)));
    axis = shape_axis(onnx_attribute_int(node, "axis", -1), from->rank);
    if (axis < 0)
        return;
    memcpy(dims, from->dims, sizeof dims);
    dims[axis] = count;
    shape_set(output_at(node, 0), from->type, from->rank, dims);
    shape_set(output_at(node, 1), TYPE_INT64, from->rank, dims);
}

/* ---- along axes ---- */

static void reduce_axes(const struct node *node, const bool *gone, int32_t type)
{
    const struct value *from = input_at(node, 0);
    bool keep = onnx_attribute_int(node, "keepdims", 1) != 0;
    int64_t dims[ONNX_RANK_MAX];
    uint32_t rank = 0;

    for (uint32_t i = 0; i < from->rank; i++)
        if (!gone[i] || keep)
            dims[rank++] = gone[i] ? 1 : from->dims[i];
    shape_set(output_at(node, 0), type, rank, dims);
}

void infer_arg(struct opened *opened, struct node *node)
{
    const struct value *from = input_at(node, 0);
    bool gone[ONNX_RANK_MAX] = { false };
    int64_t axis;

    (void)opened;
    if (!has_shape(from))
        return;
    axis = shape_axis(onnx_attribute_int(node, "axis", 0), from->rank);
    if (axis < 0)
        return;
    gone[axis] = true;
    reduce_axes(node, gone, TYPE_INT64);
}

static void reduce_numbers(struct opened *opened, const struct node *node)
{
    const struct value *from = input_at(node, 0);
    const char *op = node->op_type;
    double result = from->numbers && from->number_count ? from->numbers[0] : NAN;
    double *number;

    if (!from->numbers || from->rank != 1)
        return;
    for (uint32_t i = 1; i < from->number_count; i++) {
        double next = from->numbers[i];

        if (strcmp(op, "ReduceProd") == 0)
            result *= next;
        else if (strcmp(op, "ReduceSum") == 0)
            result += next;
        else if (strcmp(op, "ReduceMax") == 0)
            result = isnan(result) || isnan(next) ? NAN : fmax(result, next);
        else if (strcmp(op, "ReduceMin") == 0)
            result = isnan(result) || isnan(next) ? NAN : fmin(result, next);
        else
            result = NAN;
    }
    number = numbers_new(opened, output_at(node, 0), 1);
    if (number)
        *number = result;
}

void infer_reduce(struct opened *opened, struct node *node)
{
    const struct value *from = input_at(node, 0);
    bool gone[ONNX_RANK_MAX] = { false };
    double axes[NUMBERS_MAX];
    int count = shape_list(node, "axes", 1, axes);
    bool all = count == 0 || count == -2;

    if (from)
        shape_set_type(output_at(node, 0), from->type);
    if (!has_shape(from) || count == -1)
        return;
    if (all && onnx_attribute_int(node, "noop_with_empty_axes", 0)) {
        shape_set(output_at(node, 0), from->type, from->rank, from->dims);
        return;
    }
    for (uint32_t i = 0; i < from->rank; i++)
        gone[i] = all;
    for (int i = 0; i < count; i++) {
        int64_t axis =
            fabs(axes[i]) < ONNX_RANK_MAX ? shape_axis((int64_t)axes[i], from->rank) : -1;

        if (axis < 0)
            return;
        gone[axis] = true;
    }
    reduce_axes(node, gone, from->type);
    if (from->rank == 1 && gone[0])
        reduce_numbers(opened, node);
}

void infer_one_hot(struct opened *opened, struct node *node)
{
    const struct value *indices = input_at(node, 0);
    const struct value *values = input_at(node, 2);
    double depth = one_number(input_at(node, 1));
    int64_t dims[ONNX_RANK_MAX];
    int64_t axis;

    (void)opened;
    if (!has_shape(indices) || !values || indices->rank == ONNX_RANK_MAX)
        return;
    axis = shape_axis(onnx_attribute_int(node, "axis", -1), indices->rank + 1);
    if (axis < 0)
        return;
    for (uint32_t i = 0, next = 0; i <= indices->rank; i++)
        dims[i] =
            i == axis ? (isnan(depth) ? UNKNOWN_SIZE : to_size(depth)) : indices->dims[next++];
    shape_set(output_at(node, 0), values->type, indices->rank + 1, dims);
}
