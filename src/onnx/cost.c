// SPDX-License-Identifier: Apache-2.0
/*
 * What nodes cost, from shapes alone, and each one's share. A node takes as long as the slower of
 * its arithmetic and its memory traffic: max(operations / FLOPS_PER_BYTE, bytes). Of the branches
 * of an If, the most expensive counts; what a Loop or a Scan does counts once.
 */
#include "onnx/shapes_internal.h"

/* What a machine computes in the time in which it moves a byte: 5 to 20 for today's processors. */
#define FLOPS_PER_BYTE 10.0

#define COST_LIMIT 1e30 /* more is nonsense, and would drown all others */

#define LINEAR_EACH 8.0 /* operations for an element of an image that is resized */
#define CUBIC_EACH  32.0

static double elements_of(const struct node *node, uint32_t input)
{
    return shape_elements(input_at(node, input));
}

static double bytes_of(const struct value *value)
{
    double elements = shape_elements(value);
    unsigned bits = value ? onnx_type_bits(value->type) : 0;

    return elements < 0 || !bits ? -1 : elements * bits / 8;
}

static double sum_bytes(struct value *const *values, uint32_t count)
{
    double sum = 0;

    for (uint32_t i = 0; i < count; i++) {
        double bytes = values[i] ? bytes_of(values[i]) : 0;

        if (bytes < 0)
            return -1;
        sum += bytes;
    }
    return sum;
}

/* Everything that is read, or with COST_PICK as much as is written. */
static double moved_bytes(const struct node *node, enum cost_kind kind)
{
    double written = sum_bytes(node->outputs, node->output_count);
    double read = sum_bytes(node->inputs, node->input_count);

    if (kind == COST_FREE)
        return 0;
    if (kind == COST_PICK)
        return written < 0 ? -1 : node->input_count ? 2 * written : written;
    return written < 0 || read < 0 ? -1 : written + read;
}

static double known_product(double a, double b)
{
    return a < 0 || b < 0 ? -1 : a * b;
}

static double matmul_flops(const struct node *node)
{
    const struct value *a = input_at(node, 0);
    bool is_gemm = strstr(node->op_type, "Gemm") != NULL;
    double outputs = shape_elements(output_at(node, 0));
    double flops;
    int64_t inner;

    if (!has_shape(a) || a->rank == 0)
        return -1;
    inner = a->dims[a->rank - (onnx_attribute_int(node, "transA", 0) && a->rank > 1 ? 2 : 1)];
    flops = known_product(outputs, 2 * (double)inner);
    if (flops >= 0 && is_gemm && strcmp(node->op_type, "QGemm") != 0 && input_at(node, 2))
        flops += outputs;
    return flops;
}

static double conv_flops(const struct node *node)
{
    bool is_quantized = strncmp(node->op_type, "QLinear", 7) == 0;
    const struct value *weights = input_at(node, is_quantized ? 3 : 1);
    bool has_bias =
        input_at(node, is_quantized ? 8 : 2) && strcmp(node->op_type, "ConvInteger") != 0;
    double outputs = shape_elements(output_at(node, 0));
    double each = shape_elements(weights); /* of all output channels */
    double flops;

    if (outputs < 0 || each < 0 || weights->rank < 1 || weights->dims[0] == 0)
        return -1;
    each /= (double)weights->dims[0];
    flops = 2 * outputs * each;
    return flops + (has_bias ? outputs : 0);
}

static double conv_transpose_flops(const struct node *node)
{
    const struct value *weights = input_at(node, 1);
    double inputs = elements_of(node, 0);
    double outputs = shape_elements(output_at(node, 0));
    double each = shape_elements(weights); /* of all input channels */

    if (inputs < 0 || each < 0 || outputs < 0 || weights->rank < 1 || weights->dims[0] == 0)
        return -1;
    return 2 * inputs * each / (double)weights->dims[0] + (input_at(node, 2) ? outputs : 0);
}

static double pool_flops(const struct node *node, double each)
{
    const struct attribute *kernel = onnx_attribute(node, "kernel_shape");
    double flops = shape_elements(output_at(node, 0));

    for (uint32_t i = 0; kernel && i < kernel->int_count; i++)
        flops = known_product(flops, (double)kernel->ints[i]);
    return known_product(flops, each);
}

/* Weights of the input and of the state, for every step; gates add a few operations each. */
static double recurrent_flops(const struct node *node, double gates)
{
    const struct value *from = input_at(node, 0);
    double weights = elements_of(node, 1);
    double again = elements_of(node, 2);
    uint32_t axis = shapes_recurrent_state_axis(node);
    double outputs;
    double steps;

    if (!has_shape(from) || from->rank != 3 || weights < 0 || again < 0 ||
        from->dims[0] == UNKNOWN_SIZE || from->dims[1] == UNKNOWN_SIZE)
        return -1;
    steps = (double)from->dims[0] * (double)from->dims[1]; /* of all in the batch */
    outputs =
        has_shape(input_at(node, 2)) && input_at(node, 2)->rank == 3 &&
                input_at(node, 2)->dims[axis] >= 0
            ? steps * (double)input_at(node, 2)->dims[0] * (double)input_at(node, 2)->dims[axis]
            : 0;
    return 2 * steps * (weights + again) + 4 * gates * outputs;
}

/* Every combination of letters is one multiplication and one addition. */
static double einsum_flops(const struct node *node)
{
    const char *at = onnx_attribute_text(node, "equation", "");
    bool seen[128] = { false };
    double flops = node->input_count > 1 ? 2 : 1;
    uint32_t input = 0;
    uint32_t axis = 0;

    for (; *at && *at != '-'; at++) {
        const struct value *value = input_at(node, input);

        if (*at == '.' || (unsigned char)*at >= 128)
            return -1;
        if (*at == ',') {
            input++;
            axis = 0;
        } else if (*at != ' ') {
            if (!has_shape(value) || axis >= value->rank)
                return -1;
            if (!seen[(unsigned char)*at])
                flops = known_product(flops, (double)value->dims[axis]);
            seen[(unsigned char)*at] = true;
            axis++;
        }
    }
    return flops;
}

static double size_at(const struct value *value, uint32_t axis)
{
    return has_shape(value) && axis < value->rank ? (double)value->dims[axis] : -1;
}

/* Keys that are remembered from before, [batch, heads, length, width]; 0: none. */
static double past_length(const struct node *node, bool projects)
{
    bool is_grouped = strcmp(node->op_type, "GroupQueryAttention") == 0;
    bool is_multi = strcmp(node->op_type, "MultiHeadAttention") == 0;
    bool is_quantized = strcmp(node->op_type, "QAttention") == 0;
    const struct value *past = input_at(node, is_grouped ? 3 : is_multi ? 6 : is_quantized ? 8 : 4);

    return past ? size_at(past, projects ? 3 : 2) : 0; /* or keys and values in one */
}

/* Scores and their sum: two products of query length x key length x width; softmax on top. With
 * weights of its own (com.microsoft), also the projection of the input. */
static double attention_flops(const struct node *node)
{
    const struct value *query = input_at(node, 0);
    const struct value *key = input_at(node, 1);
    bool projects = (strcmp(node->op_type, "Attention") == 0 && *node->domain) ||
                    strcmp(node->op_type, "QAttention") == 0;
    double rows = known_product(size_at(query, 0), size_at(query, 1));
    double length = size_at(query, 1);
    double width = size_at(query, 2);
    double flops = 0;
    double past;

    if (!has_shape(query) || (query->rank != 3 && query->rank != 4))
        return -1;
    if (projects) {
        flops = known_product(known_product(rows, width), 2 * size_at(key, 1));
        width = size_at(key, 1) / 3;
    } else if (query->rank == 4) { /* [batch, heads, length, width] */
        rows = known_product(rows, size_at(query, 2));
        width = size_at(query, 3);
        length = size_at(key, 2);
    } else {
        length = size_at(key, 1);
    }
    past = past_length(node, projects);
    if (flops < 0 || rows < 0 || length < 0 || width < 0 || past < 0)
        return -1;
    return flops + 4 * rows * (length + past) * width;
}

static double resize_flops(const struct node *node)
{
    const char *mode = onnx_attribute_text(node, "mode", "nearest");
    double each = strcmp(mode, "cubic") == 0                                     ? CUBIC_EACH
                  : strcmp(mode, "linear") == 0 || strcmp(mode, "bilinear") == 0 ? LINEAR_EACH
                                                                                 : 0;

    return known_product(shape_elements(output_at(node, 0)), each);
}

static double flops_of(const struct node *node, const struct operator_info *info)
{
    switch (info->cost) {
    case COST_FREE:
    case COST_MOVE:
    case COST_PICK:
        return 0;
    case COST_OUTPUT:
        return known_product(shape_elements(output_at(node, 0)), info->each);
    case COST_INPUT:
        return known_product(elements_of(node, 0), info->each);
    case COST_MATMUL:
        return matmul_flops(node);
    case COST_CONV:
        return conv_flops(node);
    case COST_CONV_TRANSPOSE:
        return conv_transpose_flops(node);
    case COST_POOL:
        return pool_flops(node, info->each);
    case COST_RECURRENT:
        return recurrent_flops(node, info->each);
    case COST_EINSUM:
        return einsum_flops(node);
    case COST_ATTENTION:
        return attention_flops(node);
    case COST_RESIZE:
        return resize_flops(node);
    }
    return -1;
}

/* Runtimes do this once, when they load the model. */
static bool is_folded(const struct node *node)
{
    if (strstr(node->op_type, "quantizeLinear") || strstr(node->op_type, "QuantizeLinear"))
        return false;
    if (!node->output_count || !node->outputs[0])
        return false;
    return node->outputs[0]->is_weight || (node->outputs[0]->numbers && node->output_count == 1);
}

static double believable(double cost)
{
    return cost < COST_LIMIT ? cost : -1;
}

static void estimate(struct node *node)
{
    const struct operator_info *info = onnx_operator(node);

    if (node->graphs || is_folded(node)) {
        node->flops = node->bytes = 0; /* what is in a node is counted there */
        return;
    }
    if (!info)
        return;
    node->flops = believable(flops_of(node, info));
    node->bytes = believable(moved_bytes(node, info->cost));
}

static double time_of(const struct node *node)
{
    double arithmetic = node->flops > 0 ? node->flops / FLOPS_PER_BYTE : 0;

    return node->bytes > arithmetic ? node->bytes : arithmetic;
}

static void leave_out(struct graph *graph)
{
    for (size_t i = 0; i < graph->node_count; i++) {
        graph->nodes[i].is_counted = false;
        for (struct graph *inner = graph->nodes[i].graphs; inner; inner = inner->next)
            leave_out(inner);
    }
}

/* The time of a graph; of the branches of an If only the longest is left. */
static double estimate_graph(struct graph *graph)
{
    double sum = 0;

    for (size_t i = 0; i < graph->node_count; i++) {
        struct node *node = &graph->nodes[i];
        struct graph *longest = NULL;
        double longest_time = -1;
        bool is_choice = strcmp(node->op_type, "If") == 0;

        estimate(node);
        sum += time_of(node);
        for (struct graph *inner = node->graphs; inner; inner = inner->next) {
            double inner_time = estimate_graph(inner);

            if (!is_choice) {
                sum += inner_time;
            } else if (inner_time > longest_time) {
                longest = inner;
                longest_time = inner_time;
            }
        }
        for (struct graph *inner = node->graphs; is_choice && inner; inner = inner->next)
            if (inner != longest)
                leave_out(inner);
        sum += longest ? longest_time : 0;
    }
    return sum;
}

static void share(struct opened *opened, struct graph *graph, double total)
{
    struct onnx_model *model = &opened->model;

    for (size_t i = 0; i < graph->node_count; i++) {
        struct node *node = &graph->nodes[i];

        if (node->flops < 0 || node->bytes < 0)
            model->cost_unknown++;
        if (node->is_counted) {
            model->flops += node->flops > 0 ? node->flops : 0;
            model->moved_bytes += node->bytes > 0 ? node->bytes : 0;
            node->weight = total > 0 ? time_of(node) / total : 0;
        }
        if (!(total > 0)) /* nothing is known: all alike */
            node->weight = 1 / (double)model->node_count;
        for (struct graph *inner = node->graphs; inner; inner = inner->next)
            share(opened, inner, total);
    }
}

void onnx_estimate_costs(struct opened *opened)
{
    share(opened, opened->graph, estimate_graph(opened->graph));
}
