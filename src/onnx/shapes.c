// SPDX-License-Identifier: Apache-2.0
/* Shapes of all values, in order of the nodes; graphs within nodes see what is around them. */
#include "onnx/shapes_internal.h"

#include <stdio.h>

#define NAMES_MAX 256u /* of free dimensions */

/* ---- what the operators use ---- */

void shape_set_type(struct value *value, int32_t type)
{
    if (value && !value->type)
        value->type = type;
}

void shape_set(struct value *value, int32_t type, uint32_t rank, const int64_t *dims)
{
    if (!value)
        return;
    shape_set_type(value, type);
    if (value->tensor || rank > ONNX_RANK_MAX || (value->known && value->rank != rank))
        return;
    for (uint32_t i = 0; i < rank; i++)
        if (!value->known || value->dims[i] == UNKNOWN_SIZE)
            value->dims[i] = sane_size(dims[i]);
    value->known = true;
    value->rank = rank;
}

double shape_elements(const struct value *value)
{
    double elements = 1;

    if (!has_shape(value))
        return -1;
    for (uint32_t i = 0; i < value->rank; i++) {
        if (value->dims[i] == UNKNOWN_SIZE)
            return -1;
        elements *= (double)value->dims[i];
    }
    return elements;
}

int64_t shape_axis(int64_t axis, uint32_t rank)
{
    axis += axis < 0 ? (int64_t)rank : 0;
    return axis >= 0 && axis < (int64_t)rank ? axis : -1;
}

int64_t shape_int(const struct attribute *list, uint32_t index, int64_t otherwise)
{
    int64_t value;

    if (!list || index >= list->int_count)
        return otherwise;
    value = list->ints[index];
    return value >= -SIZE_LIMIT && value <= SIZE_LIMIT ? value : SIZE_LIMIT + 1;
}

int shape_list(const struct node *node, const char *name, uint32_t input, double out[NUMBERS_MAX])
{
    const struct attribute *attribute = onnx_attribute(node, name);
    const struct value *value = input_at(node, input);

    if (attribute && attribute->kind == ATTRIBUTE_INTS) {
        for (uint32_t i = 0; i < attribute->int_count; i++)
            out[i] = (double)attribute->ints[i];
        return (int)attribute->int_count;
    }
    if (attribute && attribute->kind == ATTRIBUTE_FLOATS) {
        for (uint32_t i = 0; i < attribute->float_count; i++)
            out[i] = attribute->floats[i];
        return (int)attribute->float_count;
    }
    if (!value)
        return -2;
    if (!value->numbers)
        return -1;
    memcpy(out, value->numbers, value->number_count * sizeof *out);
    return (int)value->number_count;
}

/* ---- free dimensions ---- */

struct names {
    const char *names[NAMES_MAX];
    int64_t sizes[NAMES_MAX];
    size_t count;
};

static int64_t size_of(const struct names *names, const char *name)
{
    for (size_t i = 0; name && i < names->count; i++)
        if (strcmp(names->names[i], name) == 0)
            return names->sizes[i];
    return UNKNOWN_SIZE;
}

/* A free dimension is called by its place, as in "input:1", above all one without a name. */
static int64_t size_of_axis(const struct names *names, const char *input, uint32_t axis)
{
    char text[512];
    int length = snprintf(text, sizeof text, "%s:%u", input, axis);

    return length > 0 && length < (int)sizeof text ? size_of(names, text) : UNKNOWN_SIZE;
}

static int64_t size_at(const struct names *names, const char *input, uint32_t axis)
{
    int64_t size = size_of_axis(names, input, axis);

    return size == UNKNOWN_SIZE ? 1 : size;
}

static void collect_names(const struct opened *opened, struct names *names)
{
    const struct onnx_model *model = &opened->model;

    names->count = 0;
    for (size_t i = 0; i < opened->options->dim_count && names->count < NAMES_MAX; i++) {
        names->names[names->count] = opened->options->dims[i].name;
        names->sizes[names->count++] = sane_size(opened->options->dims[i].size);
    }
    for (size_t i = 0; i < model->input_count; i++)
        for (uint32_t j = 0; j < model->inputs[i].rank; j++) {
            const char *name = model->inputs[i].dim_names[j];
            int64_t size = name ? size_of_axis(names, model->inputs[i].name, j) : UNKNOWN_SIZE;

            if (names->count == NAMES_MAX)
                return;
            /* Given by its place: the name stands for the same size everywhere. */
            if (size != UNKNOWN_SIZE && size_of(names, name) == UNKNOWN_SIZE) {
                names->names[names->count] = name;
                names->sizes[names->count++] = size;
            }
        }
    for (size_t i = 0; i < model->input_count; i++)
        for (uint32_t j = 0; j < model->inputs[i].rank; j++) {
            const char *name = model->inputs[i].dim_names[j];

            if (names->count == NAMES_MAX)
                return;
            if (name && model->inputs[i].dims[j] == UNKNOWN_SIZE &&
                size_of(names, name) == UNKNOWN_SIZE) {
                names->names[names->count] = name;
                names->sizes[names->count++] = 1;
            }
        }
}

/* What the file says of a value. Free dimensions of the model's inputs always get a size. */
static void apply_declared(const struct names *names, struct value *value, bool is_input)
{
    const struct onnx_port *port = value->declared;

    if (value->tensor || !port || !port->has_shape || strcmp(port->kind, "tensor") != 0)
        return;
    value->known = true;
    value->rank = port->rank;
    for (uint32_t i = 0; i < port->rank; i++) {
        value->dims[i] = sane_size(port->dims[i]);
        if (port->dims[i] == UNKNOWN_SIZE)
            value->dims[i] = size_of(names, port->dim_names[i]);
        if (value->dims[i] == UNKNOWN_SIZE && is_input)
            value->dims[i] = size_at(names, port->name, i);
    }
}

static void apply_ports(const struct opened *opened, const struct names *names,
                        const struct graph *graph, const struct onnx_port *ports, size_t count,
                        bool is_input)
{
    for (size_t i = 0; i < count; i++) {
        struct value *value = onnx_find_value(opened, graph, ports[i].name);

        if (value && value->graph == graph && value->declared == &ports[i])
            apply_declared(names, value, is_input);
    }
}

/* ---- graphs ---- */

struct shaping {
    struct opened *opened;
    struct names names;
};

static void infer_graph(struct shaping *shaping, struct graph *graph);

static struct value *port_value(const struct shaping *shaping, const struct graph *graph,
                                const struct onnx_port *port)
{
    return onnx_find_value(shaping->opened, graph, port->name);
}

/* The branches of an If agree on what is sure. */
static void join_branches(struct shaping *shaping, struct node *node)
{
    const struct value *condition = input_at(node, 0);
    const char *taken = NULL;

    if (condition && condition->numbers && condition->number_count == 1 &&
        !isnan(condition->numbers[0]))
        taken = condition->numbers[0] != 0 ? "then_branch" : "else_branch";
    for (uint32_t i = 0; i < node->output_count; i++) {
        struct value joined = { 0 };
        bool is_first = true;

        for (struct graph *graph = node->graphs; graph; graph = graph->next) {
            const struct value *value;

            if (i >= graph->output_count || (taken && strcmp(graph->attribute, taken) != 0))
                continue;
            value = port_value(shaping, graph, &graph->outputs[i]);
            if (!has_shape(value) || (!is_first && (!joined.known || joined.rank != value->rank))) {
                joined.known = false;
                is_first = false;
                continue;
            }
            for (uint32_t j = 0; j < value->rank; j++)
                joined.dims[j] =
                    is_first || joined.dims[j] == value->dims[j] ? value->dims[j] : UNKNOWN_SIZE;
            joined.known = is_first || joined.known;
            joined.rank = value->rank;
            joined.type = value->type;
            if (taken && node->outputs[i])
                numbers_copy(node->outputs[i], value);
            is_first = false;
        }
        if (joined.known)
            shape_set(node->outputs[i], joined.type, joined.rank, joined.dims);
    }
}

/* Into a Loop go a counter, a condition and what is carried round, whose shape may change. */
static void enter_loop(struct shaping *shaping, const struct node *node, struct graph *body)
{
    for (size_t i = 0; i < body->input_count; i++) {
        struct value *value = port_value(shaping, body, &body->inputs[i]);
        const struct value *from = input_at(node, (uint32_t)i);

        if (value && i < 2)
            shape_set(value, i == 0 ? TYPE_INT64 : TYPE_BOOL, 0, NULL);
        else if (value && from)
            shape_set_type(value, from->type);
    }
}

static void leave_loop(struct shaping *shaping, struct node *node, const struct graph *body)
{
    const struct value *trips = input_at(node, 0);
    uint32_t carried = node->input_count > 2 ? node->input_count - 2 : 0;

    for (uint32_t i = 0; i < node->output_count && i + 1 < body->output_count; i++) {
        const struct value *value = port_value(shaping, body, &body->outputs[i + 1]);
        const struct value *from = input_at(node, i + 2);
        int64_t dims[ONNX_RANK_MAX];

        if (!has_shape(value) || !node->outputs[i])
            continue;
        if (i < carried) { /* sure only if going round changes nothing */
            if (has_shape(from) && from->rank == value->rank &&
                memcmp(from->dims, value->dims, value->rank * sizeof *value->dims) == 0)
                shape_set(node->outputs[i], value->type, value->rank, value->dims);
        } else if (value->rank < ONNX_RANK_MAX) {
            dims[0] = trips && trips->numbers && trips->number_count == 1 &&
                              fabs(trips->numbers[0]) < (double)SIZE_LIMIT && !input_at(node, 1)
                          ? (int64_t)trips->numbers[0]
                          : UNKNOWN_SIZE;
            memcpy(dims + 1, value->dims, value->rank * sizeof *dims);
            shape_set(node->outputs[i], value->type, value->rank + 1, dims);
        }
    }
}

/* Scan keeps the shapes of its state, and takes slices along one axis. */
static void enter_scan(struct shaping *shaping, const struct node *node, struct graph *body)
{
    const struct attribute *axes = onnx_attribute(node, "scan_input_axes");
    int64_t scanned = onnx_attribute_int(node, "num_scan_inputs", 0);

    if (node->input_count != body->input_count || scanned < 0 || scanned > node->input_count)
        return;
    for (uint32_t i = 0; i < node->input_count; i++) {
        struct value *to = port_value(shaping, body, &body->inputs[i]);
        const struct value *from = node->inputs[i];
        uint32_t first = node->input_count - (uint32_t)scanned;
        int64_t dims[ONNX_RANK_MAX];
        int64_t axis;

        if (!has_shape(from) || !to)
            continue;
        if (i < first) {
            shape_set(to, from->type, from->rank, from->dims);
            continue;
        }
        axis = shape_axis(shape_int(axes, i - first, 0), from->rank);
        for (uint32_t j = 0, k = 0; axis >= 0 && j < from->rank; j++)
            if (j != axis)
                dims[k++] = from->dims[j];
        if (axis >= 0)
            shape_set(to, from->type, from->rank - 1, dims);
    }
}

static void leave_scan(struct shaping *shaping, struct node *node, const struct graph *body)
{
    const struct attribute *axes = onnx_attribute(node, "scan_output_axes");
    const struct attribute *input_axes = onnx_attribute(node, "scan_input_axes");
    int64_t scanned = onnx_attribute_int(node, "num_scan_inputs", 0);
    int64_t steps = UNKNOWN_SIZE;
    uint32_t states;

    if (node->input_count != body->input_count || scanned <= 0 || scanned > node->input_count)
        return;
    states = node->input_count - (uint32_t)scanned;
    if (has_shape(node->inputs[states])) {
        int64_t axis = shape_axis(shape_int(input_axes, 0, 0), node->inputs[states]->rank);

        steps = axis >= 0 ? node->inputs[states]->dims[axis] : UNKNOWN_SIZE;
    }
    for (uint32_t i = 0; i < node->output_count && i < body->output_count; i++) {
        const struct value *value = port_value(shaping, body, &body->outputs[i]);
        int64_t dims[ONNX_RANK_MAX];
        int64_t axis;

        if (!has_shape(value) || (i >= states && value->rank == ONNX_RANK_MAX))
            continue;
        axis = i < states ? -1 : shape_axis(shape_int(axes, i - states, 0), value->rank + 1);
        for (uint32_t j = 0, k = 0; j < value->rank + (axis >= 0); j++)
            dims[j] = j == axis ? steps : value->dims[k++];
        shape_set(node->outputs[i], value->type, value->rank + (axis >= 0), dims);
    }
}

static void infer_control(struct shaping *shaping, struct node *node)
{
    bool is_loop = strcmp(node->op_type, "Loop") == 0;
    bool is_scan = strcmp(node->op_type, "Scan") == 0;

    for (struct graph *graph = node->graphs; graph; graph = graph->next) {
        if (is_loop)
            enter_loop(shaping, node, graph);
        if (is_scan)
            enter_scan(shaping, node, graph);
        infer_graph(shaping, graph);
    }
    if (strcmp(node->op_type, "If") == 0)
        join_branches(shaping, node);
    if (is_loop && node->graphs)
        leave_loop(shaping, node, node->graphs);
    if (is_scan && node->graphs)
        leave_scan(shaping, node, node->graphs);
}

static void infer_graph(struct shaping *shaping, struct graph *graph)
{
    struct opened *opened = shaping->opened;
    bool is_model = graph == opened->graph;

    apply_ports(opened, &shaping->names, graph, graph->infos, graph->info_count, false);
    apply_ports(opened, &shaping->names, graph, graph->outputs, graph->output_count, false);
    apply_ports(opened, &shaping->names, graph, graph->inputs, graph->input_count, is_model);
    for (size_t i = 0; i < graph->node_count && !opened->wire.status; i++) {
        struct node *node = &graph->nodes[i];
        const struct operator_info *info = onnx_operator(node);

        if (node->graphs)
            infer_control(shaping, node);
        else if (info && info->infer)
            info->infer(opened, node);
    }
}

bool onnx_infer_shapes(struct opened *opened)
{
    struct shaping shaping = { .opened = opened };

    collect_names(opened, &shaping.names);
    infer_graph(&shaping, opened->graph);
    return !opened->wire.status;
}
