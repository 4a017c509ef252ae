// SPDX-License-Identifier: Apache-2.0
/* Operators that change the form of a tensor, or pick parts of it. */
#include "onnx/shapes_internal.h"

static int64_t to_size(double number)
{
    return number >= 0 && number <= (double)SIZE_LIMIT ? (int64_t)number : UNKNOWN_SIZE;
}

/* A number that may be huge, because "to the end" is often written so. */
static int64_t to_int(double number)
{
    if (number > (double)SIZE_LIMIT)
        return SIZE_LIMIT;
    return number < -(double)SIZE_LIMIT ? -SIZE_LIMIT : (int64_t)number;
}

static bool is_sure(const double *numbers, int count)
{
    for (int i = 0; i < count; i++)
        if (isnan(numbers[i]))
            return false;
    return count >= 0;
}

void infer_identity(struct opened *opened, struct node *node)
{
    const struct value *from = input_at(node, 0);

    (void)opened;
    if (has_shape(from))
        shape_set(output_at(node, 0), from->type, from->rank, from->dims);
    else if (from)
        shape_set_type(output_at(node, 0), from->type);
    numbers_copy(output_at(node, 0), from);
}

void infer_cast(struct opened *opened, struct node *node)
{
    const struct value *from = input_at(node, 0);
    int64_t type = onnx_attribute_int(node, "to", 0);
    struct value *to = output_at(node, 0);

    (void)opened;
    if (strcmp(node->op_type, "CastLike") == 0 && input_at(node, 1))
        type = input_at(node, 1)->type;
    type = type >= 0 && type < ONNX_TYPES ? type : 0;
    shape_set_type(to, (int32_t)type);
    if (has_shape(from))
        shape_set(to, (int32_t)type, from->rank, from->dims);
    numbers_copy(to, from);
}

/* One dimension that is left over follows from the number of elements. */
static void solve_last(const struct value *from, uint32_t rank, int64_t *dims)
{
    double rest = shape_elements(from);
    int unknown = -1;

    for (uint32_t i = 0; i < rank; i++) {
        if (dims[i] != UNKNOWN_SIZE)
            rest = dims[i] ? rest / (double)dims[i] : -1;
        else if (unknown >= 0)
            return;
        else
            unknown = (int)i;
    }
    if (unknown >= 0 && rest >= 0 && rest == floor(rest))
        dims[unknown] = to_size(rest);
}

void infer_reshape(struct opened *opened, struct node *node)
{
    const struct value *from = input_at(node, 0);
    const struct value *shape = input_at(node, 1);
    double sizes[NUMBERS_MAX];
    int64_t dims[ONNX_RANK_MAX];
    int rank = shape_list(node, "shape", 1, sizes);

    (void)opened;
    if (!from)
        return;
    shape_set_type(output_at(node, 0), from->type);
    if (rank == -1 && has_shape(shape) && shape->rank == 1 && shape->dims[0] >= 0 &&
        shape->dims[0] <= ONNX_RANK_MAX) { /* so many dimensions, of whatever sizes */
        rank = (int)shape->dims[0];
        for (int i = 0; i < rank; i++)
            sizes[i] = NAN;
    }
    if (rank < 0 || rank > ONNX_RANK_MAX)
        return;
    for (int i = 0; i < rank; i++) {
        dims[i] = to_size(sizes[i]);
        if (sizes[i] == 0 && !onnx_attribute_int(node, "allowzero", 0))
            dims[i] = has_shape(from) && i < (int)from->rank ? from->dims[i] : UNKNOWN_SIZE;
    }
    solve_last(from, (uint32_t)rank, dims);
    shape_set(output_at(node, 0), from->type, (uint32_t)rank, dims);
    numbers_copy(output_at(node, 0), from);
}

static int64_t product(const int64_t *dims, int64_t count)
{
    int64_t result = 1;

    for (int64_t i = 0; i < count; i++)
        if (dims[i] == UNKNOWN_SIZE || __builtin_mul_overflow(result, dims[i], &result))
            return UNKNOWN_SIZE;
    return result;
}

void infer_flatten(struct opened *opened, struct node *node)
{
    const struct value *from = input_at(node, 0);
    int64_t axis = onnx_attribute_int(node, "axis", 1);

    (void)opened;
    if (!has_shape(from))
        return;
    axis += axis < 0 ? (int64_t)from->rank : 0;
    if (axis < 0 || axis > (int64_t)from->rank)
        return;
    shape_set(output_at(node, 0), from->type, 2,
              (int64_t[]){ product(from->dims, axis),
                           product(from->dims + axis, (int64_t)from->rank - axis) });
    numbers_copy(output_at(node, 0), from);
}

static void concat_numbers(struct opened *opened, struct node *node)
{
    uint32_t count = 0;
    double *to;

    for (uint32_t i = 0; i < node->input_count; i++) {
        if (!node->inputs[i] || !node->inputs[i]->numbers || node->inputs[i]->rank != 1 ||
            node->inputs[i]->number_count > NUMBERS_MAX - count)
            return;
        count += node->inputs[i]->number_count;
    }
    to = numbers_new(opened, output_at(node, 0), count);
    for (uint32_t i = 0; to && i < node->input_count; i++) {
        memcpy(to, node->inputs[i]->numbers, node->inputs[i]->number_count * sizeof *to);
        to += node->inputs[i]->number_count;
    }
}

/* A shape is often put together of parts of which some are not known: one number each. */
static void concat_unknown(struct opened *opened, struct node *node)
{
    for (uint32_t i = 0; i < node->input_count; i++) {
        struct value *part = node->inputs[i];
        double *number;

        if (!part || part->numbers || !part->known || part->rank != 1 || part->dims[0] != 1 ||
            (part->type != TYPE_INT64 && part->type != TYPE_INT32))
            continue;
        number = numbers_new(opened, part, 1);
        if (number)
            *number = NAN;
    }
}

void infer_concat(struct opened *opened, struct node *node)
{
    const struct value *first = input_at(node, 0);
    int64_t axis = onnx_attribute_int(node, "axis", 1);
    int64_t dims[ONNX_RANK_MAX];

    if (!has_shape(first))
        return;
    shape_set_type(output_at(node, 0), first->type);
    axis = shape_axis(axis, first->rank);
    if (axis < 0)
        return;
    memcpy(dims, first->dims, sizeof dims);
    for (uint32_t i = 1; i < node->input_count; i++) {
        const struct value *value = node->inputs[i];

        if (!has_shape(value) || value->rank != first->rank)
            return;
        for (uint32_t j = 0; j < first->rank; j++) {
            if (j == axis)
                dims[j] = dims[j] == UNKNOWN_SIZE || value->dims[j] == UNKNOWN_SIZE
                              ? UNKNOWN_SIZE
                              : sane_size(dims[j] + value->dims[j]);
            else if (dims[j] == UNKNOWN_SIZE)
                dims[j] = value->dims[j];
        }
    }
    shape_set(output_at(node, 0), first->type, first->rank, dims);
    if (axis == 0 && first->rank == 1) {
        concat_unknown(opened, node);
        concat_numbers(opened, node);
    }
}

/* The result's scale and zero point, then each part with its own. */
void infer_quantized_concat(struct opened *opened, struct node *node)
{
    const struct value *first = input_at(node, 2);
    int64_t axis = onnx_attribute_int(node, "axis", 0);
    int64_t dims[ONNX_RANK_MAX];

    (void)opened;
    axis = has_shape(first) ? shape_axis(axis, first->rank) : -1;
    if (axis < 0)
        return;
    memcpy(dims, first->dims, sizeof dims);
    for (uint32_t i = 5; i < node->input_count; i += 3) {
        const struct value *value = node->inputs[i];

        if (!has_shape(value) || value->rank != first->rank)
            return;
        dims[axis] = dims[axis] == UNKNOWN_SIZE || value->dims[axis] == UNKNOWN_SIZE
                         ? UNKNOWN_SIZE
                         : sane_size(dims[axis] + value->dims[axis]);
    }
    shape_set(output_at(node, 0), first->type, first->rank, dims);
}

void infer_split(struct opened *opened, struct node *node)
{
    const struct value *from = input_at(node, 0);
    double sizes[NUMBERS_MAX];
    int count = shape_list(node, "split", 1, sizes);
    int64_t dims[ONNX_RANK_MAX];
    int64_t axis;
    int64_t each;
    uint32_t at = 0;

    if (!has_shape(from))
        return;
    axis = shape_axis(onnx_attribute_int(node, "axis", 0), from->rank);
    if (axis < 0 || !node->output_count)
        return;
    each = from->dims[axis] == UNKNOWN_SIZE
               ? UNKNOWN_SIZE
               : (from->dims[axis] + node->output_count - 1) / node->output_count;
    memcpy(dims, from->dims, sizeof dims);
    for (uint32_t i = 0; i < node->output_count; i++) {
        struct value *to = node->outputs[i];

        if (count == -2 && each != UNKNOWN_SIZE) /* equal parts; the last may be smaller */
            dims[axis] = i + 1 < node->output_count ? each : from->dims[axis] - each * i;
        else
            dims[axis] = (int)i < count ? to_size(sizes[i]) : UNKNOWN_SIZE;
        shape_set(to, from->type, from->rank, dims);
        if (from->rank == 1 && from->numbers && dims[0] >= 0 &&
            at + (uint64_t)dims[0] <= from->number_count) {
            double *numbers = numbers_new(opened, to, (uint32_t)dims[0]);

            if (numbers)
                memcpy(numbers, from->numbers + at, (size_t)dims[0] * sizeof *numbers);
        }
        at = dims[axis] >= 0 && dims[axis] <= NUMBERS_MAX ? at + (uint32_t)dims[axis]
                                                          : NUMBERS_MAX + 1;
    }
}

/* ---- Slice ---- */

static int64_t clamp(int64_t value, int64_t low, int64_t high)
{
    return value < low ? low : value > high ? high : value;
}

struct cut {
    int64_t start;
    int64_t step;
    int64_t count; /* UNKNOWN_SIZE */
};

static struct cut cut_axis(int64_t size, double start, double end, double step)
{
    struct cut cut = { 0, 1, UNKNOWN_SIZE };
    int64_t last;

    if (size == UNKNOWN_SIZE || isnan(start) || isnan(end) || isnan(step) || step == 0)
        return cut;
    cut.step = to_int(step);
    cut.count = 0;
    if (size == 0)
        return cut;
    cut.start = to_int(start);
    last = to_int(end);
    cut.start += cut.start < 0 ? size : 0;
    last += last < 0 ? size : 0;
    if (cut.step > 0) {
        cut.start = clamp(cut.start, 0, size);
        last = clamp(last, 0, size);
        cut.count = last > cut.start ? (last - cut.start + cut.step - 1) / cut.step : 0;
    } else {
        cut.start = clamp(cut.start, 0, size - 1);
        last = clamp(last, -1, size - 1);
        cut.count = last < cut.start ? (cut.start - last - cut.step - 1) / -cut.step : 0;
    }
    return cut;
}

/* The numbers of a constant at other places: every axis begins somewhere and goes in steps. */
static void pick_numbers(struct opened *opened, const struct value *from, struct value *to,
                         const struct cut *cuts, const int64_t *strides, uint32_t rank)
{
    double *numbers;
    int64_t count = 1;

    if (!from->numbers || !to)
        return;
    for (uint32_t i = 0; i < rank; i++)
        if (cuts[i].count < 0 || (count *= cuts[i].count) > NUMBERS_MAX)
            return;
    numbers = numbers_new(opened, to, (uint32_t)count);
    for (int64_t i = 0; numbers && i < count; i++) {
        int64_t rest = i;
        int64_t at = 0;

        for (uint32_t j = rank; j-- > 0; rest /= cuts[j].count)
            at += (cuts[j].start + rest % cuts[j].count * cuts[j].step) * strides[j];
        numbers[i] = at >= 0 && at < from->number_count ? from->numbers[at] : NAN;
    }
}

/* How far elements of each axis are from each other. Only of constants, so they are short. */
static void find_strides(const struct value *value, int64_t strides[ONNX_RANK_MAX])
{
    int64_t stride = 1;

    for (uint32_t i = value->rank; i-- > 0;) {
        strides[i] = stride;
        stride = value->dims[i] > 0 && value->dims[i] <= NUMBERS_MAX && stride <= NUMBERS_MAX
                     ? stride * value->dims[i]
                     : stride;
    }
}

void infer_slice(struct opened *opened, struct node *node)
{
    const struct value *from = input_at(node, 0);
    double starts[NUMBERS_MAX];
    double ends[NUMBERS_MAX];
    double axes[NUMBERS_MAX];
    double steps[NUMBERS_MAX];
    int start_count = shape_list(node, "starts", 1, starts);
    int end_count = shape_list(node, "ends", 2, ends);
    int axis_count = shape_list(node, "axes", 3, axes);
    int step_count = shape_list(node, "steps", 4, steps);
    struct cut cuts[ONNX_RANK_MAX];
    int64_t dims[ONNX_RANK_MAX];
    int64_t strides[ONNX_RANK_MAX];
    int count;

    if (!has_shape(from))
        return;
    memcpy(dims, from->dims, sizeof dims);
    for (uint32_t i = 0; i < from->rank; i++)
        cuts[i] = (struct cut){ 0, 1, from->dims[i] };
    if (axis_count == -1 || !is_sure(axes, axis_count < 0 ? 0 : axis_count)) {
        for (uint32_t i = 0; i < from->rank; i++)
            dims[i] = UNKNOWN_SIZE;
        shape_set(output_at(node, 0), from->type, from->rank, dims);
        return;
    }
    count = axis_count >= 0 ? axis_count : start_count >= 0 ? start_count : (int)from->rank;
    for (int i = 0; i < count; i++) {
        int64_t axis = shape_axis(axis_count >= 0 ? to_int(axes[i]) : i, from->rank);

        if (axis < 0)
            return;
        cuts[axis] = cut_axis(from->dims[axis], i < start_count ? starts[i] : NAN,
                              i < end_count ? ends[i] : NAN,
                              step_count == -2 ? 1
                              : i < step_count ? steps[i]
                                               : NAN);
        dims[axis] = cuts[axis].count;
    }
    shape_set(output_at(node, 0), from->type, from->rank, dims);
    find_strides(from, strides);
    pick_numbers(opened, from, output_at(node, 0), cuts, strides, from->rank);
}

void infer_transpose(struct opened *opened, struct node *node)
{
    const struct attribute *order = onnx_attribute(node, "perm");
    const struct value *from = input_at(node, 0);
    struct cut cuts[ONNX_RANK_MAX];
    int64_t strides[ONNX_RANK_MAX];
    int64_t turned[ONNX_RANK_MAX];
    int64_t dims[ONNX_RANK_MAX];

    if (!has_shape(from) || (order && order->int_count && order->int_count != from->rank))
        return;
    find_strides(from, strides);
    for (uint32_t i = 0; i < from->rank; i++) {
        int64_t axis = shape_int(order, i, (int64_t)from->rank - 1 - i);

        if (axis < 0 || axis >= (int64_t)from->rank)
            return;
        dims[i] = from->dims[axis];
        turned[i] = strides[axis];
        cuts[i] = (struct cut){ 0, 1, dims[i] };
    }
    shape_set(output_at(node, 0), from->type, from->rank, dims);
    pick_numbers(opened, from, output_at(node, 0), cuts, turned, from->rank);
}

/* ---- dimensions of one ---- */

void infer_squeeze(struct opened *opened, struct node *node)
{
    const struct value *from = input_at(node, 0);
    bool gone[ONNX_RANK_MAX] = { false };
    double axes[NUMBERS_MAX];
    int count = shape_list(node, "axes", 1, axes);
    int64_t dims[ONNX_RANK_MAX];
    uint32_t rank = 0;

    (void)opened;
    if (!has_shape(from) || count == -1 || !is_sure(axes, count < 0 ? 0 : count))
        return;
    for (int i = 0; i < count; i++) {
        int64_t axis = shape_axis(to_int(axes[i]), from->rank);

        if (axis < 0)
            return;
        gone[axis] = true;
    }
    for (uint32_t i = 0; i < from->rank; i++) {
        if (count == -2 && from->dims[i] == UNKNOWN_SIZE)
            return;
        if (!(count == -2 ? from->dims[i] == 1 : gone[i]))
            dims[rank++] = from->dims[i];
    }
    shape_set(output_at(node, 0), from->type, rank, dims);
    numbers_copy(output_at(node, 0), from);
}

void infer_unsqueeze(struct opened *opened, struct node *node)
{
    const struct value *from = input_at(node, 0);
    bool added[ONNX_RANK_MAX] = { false };
    double axes[NUMBERS_MAX];
    int count = shape_list(node, "axes", 1, axes);
    int64_t dims[ONNX_RANK_MAX];
    uint32_t rank;
    uint32_t next = 0;

    (void)opened;
    if (!has_shape(from) || count < 0 || !is_sure(axes, count) ||
        from->rank + (uint32_t)count > ONNX_RANK_MAX)
        return;
    rank = from->rank + (uint32_t)count;
    for (int i = 0; i < count; i++) {
        int64_t axis = shape_axis(to_int(axes[i]), rank);

        if (axis < 0 || added[axis])
            return;
        added[axis] = true;
    }
    for (uint32_t i = 0; i < rank; i++)
        dims[i] = added[i] ? 1 : from->dims[next++];
    shape_set(output_at(node, 0), from->type, rank, dims);
    numbers_copy(output_at(node, 0), from);
}

/* ---- larger or smaller ---- */

/* Resize and Upsample: by factors or to sizes, of all axes or of some. */
void infer_resize(struct opened *opened, struct node *node)
{
    const struct value *from = input_at(node, 0);
    bool is_new = node->input_count > 2;
    const struct attribute *axes = onnx_attribute(node, "axes");
    double scales[NUMBERS_MAX];
    double sizes[NUMBERS_MAX];
    int scale_count = shape_list(node, "scales", is_new ? 2 : 1, scales);
    int size_count = is_new ? shape_list(node, "sizes", 3, sizes) : -2;
    int64_t dims[ONNX_RANK_MAX];
    uint32_t count;

    (void)opened;
    if (!has_shape(from))
        return;
    count = axes && axes->int_count ? axes->int_count : from->rank;
    memcpy(dims, from->dims, sizeof dims);
    for (uint32_t i = 0; i < count; i++) {
        int64_t axis = shape_axis(shape_int(axes, i, i), from->rank);

        if (axis < 0)
            return;
        if (size_count == (int)count)
            dims[axis] = strcmp(onnx_attribute_text(node, "keep_aspect_ratio_policy", "stretch"),
                                "stretch") == 0
                             ? to_size(sizes[i])
                             : UNKNOWN_SIZE;
        else if (scale_count == (int)count && from->dims[axis] != UNKNOWN_SIZE)
            dims[axis] = to_size(floor((double)from->dims[axis] * scales[i]));
        else
            dims[axis] = UNKNOWN_SIZE;
    }
    shape_set(output_at(node, 0), from->type, from->rank, dims);
}

void infer_pad(struct opened *opened, struct node *node)
{
    const struct value *from = input_at(node, 0);
    double pads[NUMBERS_MAX];
    double axes[NUMBERS_MAX];
    int count = shape_list(node, onnx_attribute(node, "paddings") ? "paddings" : "pads", 1, pads);
    int axis_count = shape_list(node, "axes", 3, axes);
    int64_t dims[ONNX_RANK_MAX];
    int padded;

    (void)opened;
    if (!has_shape(from))
        return;
    padded = axis_count == -2 ? (int)from->rank : axis_count;
    for (uint32_t i = 0; i < from->rank; i++)
        dims[i] = count == 2 * padded ? from->dims[i] : UNKNOWN_SIZE;
    for (int i = 0; padded >= 0 && count == 2 * padded && i < padded; i++) {
        int64_t axis = i;

        if (axis_count >= 0 && isnan(axes[i]))
            return;
        axis = shape_axis(axis_count >= 0 ? to_int(axes[i]) : i, from->rank);
        if (axis < 0)
            return;
        if (dims[axis] != UNKNOWN_SIZE)
            dims[axis] = to_size((double)dims[axis] + pads[i] + pads[i + padded]);
    }
    shape_set(output_at(node, 0), from->type, from->rank, dims);
}

void infer_expand(struct opened *opened, struct node *node)
{
    const struct value *from = input_at(node, 0);
    double sizes[NUMBERS_MAX];
    int count = shape_list(node, "shape", 1, sizes);
    int64_t dims[ONNX_RANK_MAX];
    uint32_t rank;

    (void)opened;
    if (!has_shape(from) || count < 0 || count > ONNX_RANK_MAX)
        return;
    rank = from->rank > (uint32_t)count ? from->rank : (uint32_t)count;
    for (uint32_t i = 0; i < rank; i++) {
        int64_t old = i + from->rank >= rank ? from->dims[i + from->rank - rank] : 1;
        double size = i + (uint32_t)count >= rank ? sizes[i + (uint32_t)count - rank] : 1;

        dims[i] = old != 1 && (old != UNKNOWN_SIZE || size == 1) ? old : to_size(size);
    }
    shape_set(output_at(node, 0), from->type, rank, dims);
    if (from->number_count == 1 && rank < 2 && from->numbers && (rank == 0 || dims[0] == 1))
        numbers_copy(output_at(node, 0), from);
}

void infer_tile(struct opened *opened, struct node *node)
{
    const struct value *from = input_at(node, 0);
    double repeats[NUMBERS_MAX];
    int count = shape_list(node, "repeats", 1, repeats);
    int64_t dims[ONNX_RANK_MAX];

    (void)opened;
    if (!has_shape(from) || count != (int)from->rank)
        return;
    for (uint32_t i = 0; i < from->rank; i++)
        dims[i] = from->dims[i] == UNKNOWN_SIZE ? UNKNOWN_SIZE
                                                : to_size((double)from->dims[i] * repeats[i]);
    shape_set(output_at(node, 0), from->type, from->rank, dims);
}

void infer_depth_to_space(struct opened *opened, struct node *node)
{
    const struct value *from = input_at(node, 0);
    int64_t block = sane_size(onnx_attribute_int(node, "blocksize", 0));
    int64_t dims[4];

    (void)opened;
    if (!has_shape(from) || from->rank != 4 || block < 1 || block > 65536)
        return;
    memcpy(dims, from->dims, sizeof dims);
    dims[1] = dims[1] == UNKNOWN_SIZE ? UNKNOWN_SIZE : dims[1] / (block * block);
    dims[2] = dims[2] == UNKNOWN_SIZE ? UNKNOWN_SIZE : dims[2] * block;
    dims[3] = dims[3] == UNKNOWN_SIZE ? UNKNOWN_SIZE : dims[3] * block;
    shape_set(output_at(node, 0), from->type, 4, dims);
}

void infer_space_to_depth(struct opened *opened, struct node *node)
{
    const struct value *from = input_at(node, 0);
    int64_t block = sane_size(onnx_attribute_int(node, "blocksize", 0));
    int64_t dims[4];

    (void)opened;
    if (!has_shape(from) || from->rank != 4 || block < 1 || block > 1024)
        return;
    memcpy(dims, from->dims, sizeof dims);
    dims[1] = dims[1] == UNKNOWN_SIZE ? UNKNOWN_SIZE : dims[1] * block * block;
    dims[2] = dims[2] == UNKNOWN_SIZE ? UNKNOWN_SIZE : dims[2] / block;
    dims[3] = dims[3] == UNKNOWN_SIZE ? UNKNOWN_SIZE : dims[3] / block;
    shape_set(output_at(node, 0), from->type, 4, dims);
}
