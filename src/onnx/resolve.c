// SPDX-License-Identifier: Apache-2.0
/* From names to values: what a node reads is in its own graph or in one of those around it. */
#include <string.h>

#include "onnx/onnx_internal.h"

#define FIRST_TABLE 1024u

static size_t slot_of(const struct opened *opened, const struct graph *graph, const char *name)
{
    /* Where things are differs from run to run, so nobody can prepare names that all collide. */
    uint64_t hash = (uint64_t)(uintptr_t)graph * 0x9e3779b97f4a7c15ull ^ (uintptr_t)opened;

    for (; *name; name++) {
        hash = (hash ^ (unsigned char)*name) * 0x9fb21c651e98df25ull;
        hash ^= hash >> 35;
    }
    return (size_t)(hash ^ hash >> 29) & (opened->table_size - 1);
}

static struct value *find_here(const struct opened *opened, const struct graph *graph,
                               const char *name)
{
    struct value *value;

    if (!opened->table_size)
        return NULL;
    value = opened->table[slot_of(opened, graph, name)];
    while (value && (value->graph != graph || strcmp(value->name, name) != 0))
        value = value->next;
    return value;
}

struct value *onnx_find_value(const struct opened *opened, const struct graph *graph,
                              const char *name)
{
    struct value *value = NULL;

    for (; graph && !value; graph = graph->parent)
        value = find_here(opened, graph, name);
    return value;
}

static bool grow_table(struct opened *opened)
{
    struct value **old = opened->table;
    size_t old_size = opened->table_size;

    opened->table_size = old_size ? old_size * 4 : FIRST_TABLE;
    opened->table = arena_alloc(&opened->arena, opened->table_size, sizeof *opened->table);
    if (!opened->table) {
        opened->table_size = 0;
        return onnx_no_memory(opened);
    }
    for (size_t i = 0; i < old_size; i++) {
        struct value *value = old[i];

        while (value) {
            struct value *next = value->next;
            size_t slot = slot_of(opened, value->graph, value->name);

            value->next = opened->table[slot];
            opened->table[slot] = value;
            value = next;
        }
    }
    return true;
}

/* The value of that name in this graph, new if need be. NULL: out of memory. */
static struct value *declare(struct opened *opened, const struct graph *graph, const char *name)
{
    struct value *value = find_here(opened, graph, name);
    size_t slot;

    if (value)
        return value;
    if (opened->value_count >= opened->table_size && !grow_table(opened))
        return NULL;
    value = arena_alloc(&opened->arena, 1, sizeof *value);
    if (!value) {
        onnx_no_memory(opened);
        return NULL;
    }
    value->name = name;
    value->graph = graph;
    slot = slot_of(opened, graph, name);
    value->next = opened->table[slot];
    opened->table[slot] = value;
    opened->value_count++;
    return value;
}

static void become_weight(struct value *value, struct tensor *tensor)
{
    value->tensor = tensor;
    value->is_weight = true;
    value->type = tensor->type;
    value->pending_parameters = tensor->elements;
    value->pending_bytes = tensor->bytes;
    value->known = tensor->rank_fits;
    value->rank = tensor->rank;
    memcpy(value->dims, tensor->dims, sizeof value->dims);
    value->numbers = tensor->numbers;
    value->number_count = tensor->number_count;
}

static bool declare_ports(struct opened *opened, const struct graph *graph,
                          const struct onnx_port *ports, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        struct value *value = declare(opened, graph, ports[i].name);

        if (!value)
            return false;
        value->declared = &ports[i];
        if (!value->type)
            value->type = ports[i].type;
    }
    return true;
}

/* ---- weights in Constant nodes ---- */

static bool constant_list(struct opened *opened, const struct attribute *attribute,
                          struct tensor *out)
{
    double *numbers = NULL;
    uint32_t kept =
        attribute->kind == ATTRIBUTE_INTS ? attribute->int_count : attribute->float_count;

    out->type = attribute->kind == ATTRIBUTE_INTS ? TYPE_INT64 : TYPE_FLOAT32;
    out->elements =
        attribute->kind == ATTRIBUTE_INTS ? attribute->ints_in_file : attribute->floats_in_file;
    out->rank = 1;
    out->dims[0] = (int64_t)out->elements;
    if (kept != out->elements)
        return true;
    numbers = arena_alloc(&opened->arena, kept, sizeof *numbers);
    if (!numbers)
        return onnx_no_memory(opened);
    for (uint32_t i = 0; i < kept; i++)
        numbers[i] =
            attribute->kind == ATTRIBUTE_INTS ? (double)attribute->ints[i] : attribute->floats[i];
    out->numbers = numbers;
    out->number_count = kept;
    return true;
}

static bool constant_one(struct opened *opened, const struct attribute *attribute,
                         struct tensor *out)
{
    double *number = arena_alloc(&opened->arena, 1, sizeof *number);

    if (!number)
        return onnx_no_memory(opened);
    *number = attribute->kind == ATTRIBUTE_INT ? (double)attribute->i : attribute->f;
    out->type = attribute->kind == ATTRIBUTE_INT ? TYPE_INT64 : TYPE_FLOAT32;
    out->elements = 1;
    out->numbers = number;
    out->number_count = 1;
    return true;
}

/* Whatever a Constant node is made of, as a tensor. */
static bool constant_tensor(struct opened *opened, const struct node *node, struct tensor **out)
{
    const struct attribute *attribute = NULL;
    struct tensor *tensor;

    for (uint32_t i = 0; i < node->attribute_count && !attribute; i++)
        if (strncmp(node->attributes[i].name, "value", 5) == 0 ||
            strcmp(node->attributes[i].name, "sparse_value") == 0)
            attribute = &node->attributes[i];
    *out = attribute ? attribute->tensor : NULL;
    if (!attribute || *out || !attribute->kind)
        return true;
    tensor = *out = arena_alloc(&opened->arena, 1, sizeof *tensor);
    if (!tensor)
        return onnx_no_memory(opened);
    tensor->name = "";
    tensor->rank_fits = true;
    if (attribute->kind == ATTRIBUTE_TEXT || attribute->kind == ATTRIBUTE_TEXTS) {
        tensor->type = TYPE_STRING;
        tensor->elements = attribute->kind == ATTRIBUTE_TEXT ? 1 : attribute->strings_in_file;
        tensor->rank = attribute->kind == ATTRIBUTE_TEXTS;
        tensor->dims[0] = (int64_t)tensor->elements;
        tensor->bytes = attribute->string_bytes;
        return true;
    }
    if (attribute->kind == ATTRIBUTE_FLOATS || attribute->kind == ATTRIBUTE_INTS) {
        if (!constant_list(opened, attribute, tensor))
            return false;
    } else if (!constant_one(opened, attribute, tensor)) {
        return false;
    }
    tensor->bytes = tensor->elements * (onnx_type_bits(tensor->type) / 8);
    return true;
}

static bool resolve_constant(struct opened *opened, struct node *node)
{
    struct tensor *tensor;

    if (strcmp(node->op_type, "Constant") != 0 || *node->domain)
        return true;
    if (!constant_tensor(opened, node, &tensor))
        return false;
    if (!tensor)
        return true;
    if (node->output_count && node->outputs[0])
        become_weight(node->outputs[0], tensor);
    return onnx_count_weight(opened, tensor, true);
}

/* ---- graphs ---- */

static bool declare_outputs(struct opened *opened, const struct graph *graph, struct node *node)
{
    node->outputs = arena_alloc(&opened->arena, node->output_count, sizeof *node->outputs);
    if (!node->outputs)
        return onnx_no_memory(opened);
    for (uint32_t i = 0; i < node->output_count; i++) {
        if (!*node->output_names[i])
            continue;
        node->outputs[i] = declare(opened, graph, node->output_names[i]);
        if (!node->outputs[i])
            return false;
        node->outputs[i]->producer = node;
    }
    return resolve_constant(opened, node);
}

static bool find_inputs(struct opened *opened, const struct graph *graph, struct node *node)
{
    node->inputs = arena_alloc(&opened->arena, node->input_count, sizeof *node->inputs);
    if (!node->inputs)
        return onnx_no_memory(opened);
    for (uint32_t i = 0; i < node->input_count; i++) {
        if (!*node->input_names[i])
            continue;
        node->inputs[i] = onnx_find_value(opened, graph, node->input_names[i]);
        if (!node->inputs[i])
            node->inputs[i] = declare(opened, graph, node->input_names[i]);
        if (!node->inputs[i])
            return false;
    }
    return true;
}

static bool resolve_graph(struct opened *opened, struct graph *graph)
{
    if (!declare_ports(opened, graph, graph->infos, graph->info_count) ||
        !declare_ports(opened, graph, graph->outputs, graph->output_count) ||
        !declare_ports(opened, graph, graph->inputs, graph->input_count))
        return false;
    for (size_t i = 0; i < graph->initializer_count; i++) {
        struct value *value = declare(opened, graph, graph->initializers[i]->name);

        if (!value)
            return false;
        become_weight(value, graph->initializers[i]);
    }
    for (size_t i = 0; i < graph->node_count; i++)
        if (!declare_outputs(opened, graph, &graph->nodes[i]))
            return false;
    for (size_t i = 0; i < graph->node_count; i++) {
        if (!find_inputs(opened, graph, &graph->nodes[i]))
            return false;
        for (struct graph *inner = graph->nodes[i].graphs; inner; inner = inner->next)
            if (!resolve_graph(opened, inner))
                return false;
    }
    return true;
}

/* Old files list weights among the inputs too. */
static bool keep_inputs(struct opened *opened)
{
    struct onnx_model *model = &opened->model;
    const struct graph *graph = opened->graph;

    model->inputs = arena_alloc(&opened->arena, graph->input_count, sizeof *model->inputs);
    if (!model->inputs)
        return onnx_no_memory(opened);
    for (size_t i = 0; i < graph->input_count; i++) {
        struct value *value = find_here(opened, graph, graph->inputs[i].name);

        if (value && value->tensor)
            continue;
        model->inputs[model->input_count] = graph->inputs[i];
        if (value)
            value->input = &model->inputs[model->input_count];
        model->input_count++;
    }
    model->outputs = graph->outputs;
    model->output_count = graph->output_count;
    return true;
}

bool onnx_resolve(struct opened *opened)
{
    if (!resolve_graph(opened, opened->graph) || !keep_inputs(opened))
        return false;
    for (struct function *function = opened->functions; function; function = function->next)
        if (!resolve_graph(opened, function->body))
            return false;
    return true;
}
