// SPDX-License-Identifier: Apache-2.0
/* Small constants on their way to where a shape is made of them. NaN: that element is unknown. */
#include "onnx/shapes_internal.h"

double *numbers_new(struct opened *opened, struct value *value, uint32_t count)
{
    double *numbers;

    if (!value || value->numbers || count > NUMBERS_MAX)
        return NULL;
    numbers = arena_alloc(&opened->arena, count, sizeof *numbers);
    if (!numbers) {
        onnx_no_memory(opened);
        return NULL;
    }
    value->numbers = numbers;
    value->number_count = count;
    return numbers;
}

void numbers_copy(struct value *to, const struct value *from)
{
    if (to && from && from->numbers && !to->numbers) {
        to->numbers = from->numbers;
        to->number_count = from->number_count;
    }
}

static bool is_integer(int32_t type)
{
    return type == TYPE_INT64 || type == TYPE_INT32;
}

static double apply_unary(const char *op, double x)
{
    if (strcmp(op, "Neg") == 0)
        return -x;
    if (strcmp(op, "Floor") == 0)
        return floor(x);
    if (strcmp(op, "Ceil") == 0)
        return ceil(x);
    if (strcmp(op, "Round") == 0)
        return nearbyint(x);
    if (strcmp(op, "Abs") == 0)
        return fabs(x);
    if (strcmp(op, "Sqrt") == 0)
        return sqrt(x);
    if (strcmp(op, "Not") == 0)
        return isnan(x) ? x : x == 0;
    return NAN;
}

void numbers_unary(struct opened *opened, struct node *node)
{
    const struct value *from = input_at(node, 0);
    double *to;

    if (!from || !from->numbers)
        return;
    to = numbers_new(opened, output_at(node, 0), from->number_count);
    for (uint32_t i = 0; to && i < from->number_count; i++)
        to[i] = apply_unary(node->op_type, from->numbers[i]);
}

static double divide(double a, double b, bool whole)
{
    if (whole && b == 0)
        return NAN;
    return whole ? trunc(a / b) : a / b;
}

static double apply_binary(const char *op, double a, double b, bool whole)
{
    if (isnan(a) || isnan(b)) /* zero times anything is zero, but nobody writes shapes so */
        return NAN;
    if (strcmp(op, "Add") == 0)
        return a + b;
    if (strcmp(op, "Sub") == 0)
        return a - b;
    if (strcmp(op, "Mul") == 0)
        return a * b;
    if (strcmp(op, "Div") == 0)
        return divide(a, b, whole);
    if (strcmp(op, "Mod") == 0)
        return b != 0 ? a - b * floor(a / b) : NAN;
    if (strcmp(op, "Min") == 0)
        return a < b ? a : b;
    if (strcmp(op, "Max") == 0)
        return a > b ? a : b;
    if (strcmp(op, "Equal") == 0)
        return a == b;
    if (strcmp(op, "Greater") == 0)
        return a > b;
    if (strcmp(op, "Less") == 0)
        return a < b;
    if (strcmp(op, "GreaterOrEqual") == 0)
        return a >= b;
    if (strcmp(op, "LessOrEqual") == 0)
        return a <= b;
    if (strcmp(op, "And") == 0)
        return a != 0 && b != 0;
    if (strcmp(op, "Or") == 0)
        return a != 0 || b != 0;
    if (strcmp(op, "Pow") == 0)
        return pow(a, b);
    return NAN;
}

/* Of two lists of one rank, or a list and a single number. */
void numbers_binary(struct opened *opened, struct node *node)
{
    const struct value *a = input_at(node, 0);
    const struct value *b = input_at(node, 1);
    uint32_t count;
    double *to;

    if (node->input_count != 2 || !a || !b || !a->numbers || !b->numbers || a->rank > 1 ||
        b->rank > 1)
        return;
    count = a->number_count > b->number_count ? a->number_count : b->number_count;
    if ((a->number_count != count && a->number_count != 1) ||
        (b->number_count != count && b->number_count != 1) || !a->number_count || !b->number_count)
        return;
    to = numbers_new(opened, output_at(node, 0), count);
    for (uint32_t i = 0; to && i < count; i++)
        to[i] = apply_binary(node->op_type, a->numbers[a->number_count == 1 ? 0 : i],
                             b->numbers[b->number_count == 1 ? 0 : i],
                             is_integer(a->type) && is_integer(b->type));
}
