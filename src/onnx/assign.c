// SPDX-License-Identifier: Apache-2.0
/* Which weights belong to which node, how many are quantized, and which inputs are indices. */
#include <stdlib.h>
#include <string.h>

#include "onnx/onnx_internal.h"

#define BOUNDS_MAX 256u

static bool is_one_of(const char *text, const char *const *list, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (strcmp(text, list[i]) == 0)
            return true;
    return false;
}

#define IS_ONE_OF(text, list) is_one_of(text, list, sizeof(list) / sizeof *(list))

/* Computes nothing but a weight from weights: the layer behind it is what uses them. */
static bool is_carrier(const struct node *node)
{
    static const char *const different[] = { "RandomNormal",     "RandomUniform",     "Bernoulli",
                                             "RandomNormalLike", "RandomUniformLike", "Multinomial",
                                             "EPContext" };

    if (node->graphs || !node->output_count || !node->outputs[0] ||
        IS_ONE_OF(node->op_type, different))
        return false;
    if (!node->input_count)
        return strcmp(node->op_type, "Constant") == 0;
    for (uint32_t i = 0; i < node->input_count; i++)
        if (node->inputs[i] && !node->inputs[i]->is_weight)
            return false;
    return true;
}

static void take_weights(struct node *node)
{
    uint64_t parameters = 0;
    uint64_t bytes = 0;

    for (uint32_t i = 0; i < node->input_count; i++) {
        struct value *value = node->inputs[i];

        if (!value)
            continue;
        parameters += value->pending_parameters;
        bytes += value->pending_bytes;
        value->pending_parameters = value->pending_bytes = 0;
    }
    if (is_carrier(node)) {
        for (uint32_t i = 0; i < node->output_count; i++)
            if (node->outputs[i])
                node->outputs[i]->is_weight = true;
        node->outputs[0]->pending_parameters += parameters;
        node->outputs[0]->pending_bytes += bytes;
    } else {
        node->parameters = parameters;
        node->parameter_bytes = bytes;
    }
}

/* Numbers that are quantized though they are wide: those behind (De)QuantizeLinear. */
static void note_quantized(struct opened *opened, const struct node *node)
{
    static const char *const ops[] = { "DequantizeLinear", "QuantizeLinear" };
    struct tensor *tensor;

    if (!node->input_count || !node->inputs[0] || !IS_ONE_OF(node->op_type, ops))
        return;
    tensor = node->inputs[0]->tensor;
    if (!tensor || tensor->is_quantized || onnx_type_is_small(tensor->type))
        return;
    tensor->is_quantized = true;
    opened->quantized += tensor->elements;
}

/* MatMulNBits keeps several weights in each byte; they are counted for what they are. */
static void unpack_bits(struct opened *opened, struct node *node)
{
    struct onnx_model *model = &opened->model;
    int64_t bits = onnx_attribute_int(node, "bits", 4);
    int64_t rows = onnx_attribute_int(node, "N", 0);
    int64_t columns = onnx_attribute_int(node, "K", 0);
    struct value *packed = node->input_count > 1 ? node->inputs[1] : NULL;
    struct tensor *tensor = packed ? packed->tensor : NULL;
    int32_t type = bits == 4 ? TYPE_UINT4 : TYPE_UINT2;
    uint64_t elements;

    if (strcmp(node->op_type, "MatMulNBits") != 0 || !tensor || tensor->type != TYPE_UINT8 ||
        (bits != 4 && bits != 2) || rows <= 0 || columns <= 0 ||
        __builtin_mul_overflow((uint64_t)rows, (uint64_t)columns, &elements))
        return;
    /* Blocks are filled up to their size: there is never less room than weights. */
    if (elements / (uint64_t)(8 / bits) > tensor->elements || packed->pending_parameters == 0)
        return;
    model->weights[TYPE_UINT8].tensors--;
    model->weights[TYPE_UINT8].elements -= tensor->elements;
    model->weights[TYPE_UINT8].bytes -= tensor->bytes;
    model->weights[type].tensors++;
    model->weights[type].elements += elements;
    model->weights[type].bytes += tensor->bytes;
    model->parameters += elements - tensor->elements;
    packed->pending_parameters = elements;
}

static void assign_graph(struct opened *opened, struct graph *graph)
{
    for (size_t i = 0; i < graph->node_count; i++) {
        struct node *node = &graph->nodes[i];

        note_quantized(opened, node);
        unpack_bits(opened, node);
        take_weights(node);
        for (struct graph *inner = node->graphs; inner; inner = inner->next)
            assign_graph(opened, inner);
    }
}

/* What no layer took stays where it is. */
static void leave_rest(struct graph *graph)
{
    for (size_t i = 0; i < graph->node_count; i++) {
        struct node *node = &graph->nodes[i];

        if (is_carrier(node)) {
            node->parameters += node->outputs[0]->pending_parameters;
            node->parameter_bytes += node->outputs[0]->pending_bytes;
            node->outputs[0]->pending_parameters = node->outputs[0]->pending_bytes = 0;
        }
        for (struct graph *inner = node->graphs; inner; inner = inner->next)
            leave_rest(inner);
    }
}

bool onnx_assign_weights(struct opened *opened)
{
    struct onnx_model *model = &opened->model;

    assign_graph(opened, opened->graph);
    leave_rest(opened->graph);
    for (int32_t type = 0; type < ONNX_TYPES; type++)
        if (onnx_type_is_small(type))
            opened->quantized += model->weights[type].elements;
    model->quantized_share =
        model->parameters ? (double)opened->quantized / (double)model->parameters : 0;
    return true;
}

/* ---- inputs that are indices ---- */

static bool add_bound(struct opened *opened, const struct value *indices, int64_t below)
{
    struct onnx_bound *grown;

    if (!indices || !indices->input || below <= 0)
        return true;
    for (size_t i = 0; i < opened->bound_count; i++)
        if (opened->bounds[i].input == indices->input->name) {
            if (below < opened->bounds[i].below)
                opened->bounds[i].below = below;
            return true;
        }
    if (opened->bound_count == BOUNDS_MAX)
        return true;
    grown = arena_append(&opened->arena, opened->bounds, opened->bound_count, sizeof *grown);
    if (!grown)
        return onnx_no_memory(opened);
    opened->bounds = grown;
    grown[opened->bound_count].input = indices->input->name;
    grown[opened->bound_count++].below = below;
    return true;
}

static const struct value *input_of(const struct node *node, uint32_t index)
{
    return index < node->input_count ? node->inputs[index] : NULL;
}

/* How long a table is along an axis, also behind what leaves its form alone; 0: not known. */
static int64_t table_size(const struct value *table, int64_t axis)
{
    static const char *const same_form[] = { "Identity", "Cast", "DequantizeLinear" };

    for (unsigned i = 0; table && !table->tensor && i < 4; i++)
        table = table->producer && table->producer->input_count &&
                        IS_ONE_OF(table->producer->op_type, same_form)
                    ? table->producer->inputs[0]
                    : NULL;
    if (!table || !table->tensor || !table->tensor->rank_fits)
        return 0;
    axis += axis < 0 ? table->tensor->rank : 0;
    return axis >= 0 && axis < table->tensor->rank ? table->tensor->dims[axis] : 0;
}

/* One list of indices for several axes: what is good for the shortest is good for all. */
static int64_t smallest_size(const struct value *table, int64_t first_axis)
{
    int64_t smallest = 0;

    for (int64_t axis = first_axis; axis >= 0 && axis < ONNX_RANK_MAX; axis++) {
        int64_t size = table_size(table, axis);

        if (size > 0 && (!smallest || size < smallest))
            smallest = size;
    }
    return smallest;
}

static bool bounds_of_node(struct opened *opened, const struct node *node)
{
    const char *op = node->op_type;
    int64_t axis = onnx_attribute_int(node, "axis", 0);

    if (strcmp(op, "Gather") == 0 || strcmp(op, "GatherElements") == 0)
        return add_bound(opened, input_of(node, 1), table_size(input_of(node, 0), axis));
    if (strcmp(op, "GatherBlockQuantized") == 0)
        return add_bound(opened, input_of(node, 1),
                         table_size(input_of(node, 0), onnx_attribute_int(node, "gather_axis", 0)));
    if (strcmp(op, "GatherND") == 0)
        return add_bound(
            opened, input_of(node, 1),
            smallest_size(input_of(node, 0), onnx_attribute_int(node, "batch_dims", 0)));
    if (strcmp(op, "EmbedLayerNormalization") == 0)
        return add_bound(opened, input_of(node, 0), table_size(input_of(node, 2), 0)) &&
               add_bound(opened, input_of(node, 1), table_size(input_of(node, 4), 0));
    if (strcmp(op, "ATen") == 0 &&
        strcmp(onnx_attribute_text(node, "operator", ""), "embedding") == 0)
        return add_bound(opened, input_of(node, 1), table_size(input_of(node, 0), 0));
    return true;
}

static bool bounds_of_graph(struct opened *opened, struct graph *graph)
{
    static const char *const unchanged[] = { "Cast",    "Unsqueeze", "Reshape",   "Identity",
                                             "Squeeze", "Flatten",   "Transpose", "Expand" };

    for (size_t i = 0; i < graph->node_count; i++) {
        struct node *node = &graph->nodes[i];

        if (IS_ONE_OF(node->op_type, unchanged) && node->output_count && node->outputs[0] &&
            input_of(node, 0) && !node->outputs[0]->input)
            node->outputs[0]->input = node->inputs[0]->input;
        if (!bounds_of_node(opened, node))
            return false;
        for (struct graph *inner = node->graphs; inner; inner = inner->next)
            if (!bounds_of_graph(opened, inner))
                return false;
    }
    return true;
}

bool onnx_find_bounds(struct opened *opened)
{
    return bounds_of_graph(opened, opened->graph);
}

size_t onnx_input_bounds(const struct onnx_model *model, struct onnx_bound *out, size_t max)
{
    const struct opened *opened = (const struct opened *)model;
    size_t count = opened->bound_count < max ? opened->bound_count : max;

    if (count)
        memcpy(out, opened->bounds, count * sizeof *out);
    return count;
}
