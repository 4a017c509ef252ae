// SPDX-License-Identifier: Apache-2.0
/* Reads the messages of an ONNX file: model, graphs within graphs, nodes, attributes, types. */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "onnx/onnx_internal.h"

#define TEXT_MAX     (64u << 10) /* longer ones are cut: nobody reads them, and they are hostile */
#define TYPE_NESTING 16u

static const char *const model_fields[] = {
    [1] = "ir_version",     [2] = "producer name", [3] = "producer version",
    [4] = "domain",         [5] = "model version", [6] = "doc string",
    [7] = "graph",          [8] = "opset import",  [14] = "metadata entry",
    [20] = "training info", [25] = "function",
};
static const struct wire_names model_names = { "model", model_fields, 26 };
static const char *const graph_fields[] = {
    [1] = "node",
    [2] = "name",
    [5] = "initializer",
    [10] = "doc string",
    [11] = "input",
    [12] = "output",
    [13] = "value info",
    [14] = "quantization annotation",
    [15] = "sparse initializer",
};
static const struct wire_names graph_names = { "graph", graph_fields, 16 };
static const char *const node_fields[] = {
    [1] = "input",     [2] = "output",     [3] = "name",   [4] = "op_type",
    [5] = "attribute", [6] = "doc string", [7] = "domain",
};
static const struct wire_names node_names = { "node", node_fields, 8 };
static const char *const attribute_fields[] = {
    [1] = "name",    [2] = "float",   [3] = "integer", [4] = "text",
    [5] = "tensor",  [6] = "graph",   [7] = "floats",  [8] = "integers",
    [9] = "strings", [10] = "tensor", [11] = "graph",
};
static const struct wire_names attribute_names = { "attribute", attribute_fields, 12 };
static const char *const function_fields[] = { [1] = "name", [7] = "node", [10] = "domain" };
static const struct wire_names function_names = { "function", function_fields, 11 };
static const struct wire_names opset_names = { "opset import", NULL, 0 };
static const char *const value_fields[] = { [1] = "name", [2] = "type" };
static const struct wire_names value_names = { "value info", value_fields, 3 };
static const struct wire_names type_names = { "type", NULL, 0 };
static const struct wire_names shape_names = { "shape", NULL, 0 };
static const char *const dim_fields[] = { [1] = "size", [2] = "name" };
static const struct wire_names dim_names = { "dimension", dim_fields, 3 };

bool onnx_no_memory(struct opened *opened)
{
    if (opened->arena.used > ONNX_MEMORY / 2)
        return wire_fail(&opened->wire, IFG_UNSUPPORTED,
                         "has so many parts that they do not fit into %u MB; is it a model?",
                         ONNX_MEMORY >> 20);
    return wire_fail(&opened->wire, IFG_NO_MEMORY, "not enough memory");
}

bool onnx_note(struct opened *opened, const char *format, ...)
{
    struct onnx_model *model = &opened->model;
    char text[512];
    va_list args;
    char **grown;

    if (model->note_count == NOTES_MAX)
        return true;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    if (model->note_count == NOTES_MAX - 1)
        snprintf(text, sizeof text, "and more of the kind");
    grown = arena_append(&opened->arena, model->notes, model->note_count, sizeof *grown);
    if (!grown)
        return onnx_no_memory(opened);
    model->notes = grown;
    grown[model->note_count] = arena_text(&opened->arena, text, strlen(text));
    if (!grown[model->note_count])
        return onnx_no_memory(opened);
    model->note_count++;
    return true;
}

bool onnx_take_text(struct opened *opened, struct wire_span span, const char **out)
{
    size_t length = wire_length(span) < TEXT_MAX ? (size_t)wire_length(span) : TEXT_MAX;
    struct wire *wire = &opened->wire;
    char *text = arena_alloc(&opened->arena, length + 1, 1);

    if (!text)
        return onnx_no_memory(opened);
    /* What the window holds is not read again. */
    if (!wire->data && span.at >= wire->window_at &&
        span.at + length <= wire->window_at + wire->window_bytes)
        memcpy(text, wire->window + (span.at - wire->window_at), length);
    else if (wire_read(wire, span.at, text, length) != length)
        return wire_fail(wire, IFG_IO, "cannot read %zu bytes at byte %llu", length,
                         (unsigned long long)span.at);
    *out = text;
    return true;
}

/* ---- types and shapes ---- */

static bool take_dim(struct opened *opened, struct wire_span span, struct onnx_port *port)
{
    struct wire_field field;
    uint32_t at = port->rank;
    const char *name = "";
    int64_t size = UNKNOWN_SIZE;

    while (wire_next(&opened->wire, &span, &dim_names, &field)) {
        if (wire_key(&field) == WIRE_FIELD(1, WIRE_VARINT) && (int64_t)field.value >= 0)
            size = (int64_t)field.value;
        if (wire_key(&field) == WIRE_FIELD(2, WIRE_BYTES) &&
            !onnx_take_text(opened, field.bytes, &name))
            return false;
    }
    if (opened->wire.status)
        return false;
    if (at >= ONNX_RANK_MAX) {
        port->has_shape = false;
        return true;
    }
    port->dims[at] = size;
    port->dim_names[at] = *name ? (char *)name : NULL;
    port->rank++;
    return true;
}

static bool take_tensor_type(struct opened *opened, struct wire_span span, struct onnx_port *port)
{
    struct wire_field field;

    while (wire_next(&opened->wire, &span, &type_names, &field)) {
        struct wire_field dim;

        if (wire_key(&field) == WIRE_FIELD(1, WIRE_VARINT) && field.value < ONNX_TYPES)
            port->type = (int32_t)field.value;
        if (wire_key(&field) != WIRE_FIELD(2, WIRE_BYTES))
            continue;
        port->has_shape = true;
        port->rank = 0;
        while (wire_next(&opened->wire, &field.bytes, &shape_names, &dim))
            if (wire_key(&dim) == WIRE_FIELD(1, WIRE_BYTES) && !take_dim(opened, dim.bytes, port))
                return false;
    }
    return !opened->wire.status;
}

static bool take_type(struct opened *opened, struct wire_span span, struct onnx_port *port,
                      unsigned depth)
{
    struct wire_field field;
    const char *kind = NULL;

    while (wire_next(&opened->wire, &span, &type_names, &field)) {
        struct wire_field inner;

        if (field.type != WIRE_BYTES)
            continue;
        if (field.number == 1 || field.number == 8) {
            kind = field.number == 1 ? "tensor" : "sparse";
            if (!take_tensor_type(opened, field.bytes, port))
                return false;
        } else if (field.number == 4 || field.number == 9) { /* of what, is in it */
            kind = field.number == 4 ? "sequence" : "optional";
            while (wire_next(&opened->wire, &field.bytes, &type_names, &inner))
                if (wire_key(&inner) == WIRE_FIELD(1, WIRE_BYTES) && depth < TYPE_NESTING &&
                    !take_type(opened, inner.bytes, port, depth + 1))
                    return false;
        } else if (field.number == 5) {
            kind = "map";
        }
    }
    if (kind)
        snprintf(port->kind, sizeof port->kind, "%s", kind);
    return !opened->wire.status;
}

bool onnx_take_port(struct opened *opened, struct wire_span span, struct onnx_port *out)
{
    struct wire_field field;
    const char *name = "";

    memset(out, 0, sizeof *out);
    while (wire_next(&opened->wire, &span, &value_names, &field)) {
        if (wire_key(&field) == WIRE_FIELD(1, WIRE_BYTES) &&
            !onnx_take_text(opened, field.bytes, &name))
            return false;
        if (wire_key(&field) == WIRE_FIELD(2, WIRE_BYTES) &&
            !take_type(opened, field.bytes, out, 0))
            return false;
    }
    out->name = (char *)name;
    return !opened->wire.status;
}

/* ---- nodes ---- */

static bool take_graph(struct opened *opened, struct wire_span span, struct graph *parent,
                       struct graph **out);

static bool add_text(struct opened *opened, struct wire_span span, const char ***texts,
                     uint32_t *count)
{
    const char **grown = arena_append(&opened->arena, *texts, *count, sizeof *grown);

    if (!grown)
        return onnx_no_memory(opened);
    *texts = grown;
    if (!onnx_take_text(opened, span, &grown[*count]))
        return false;
    (*count)++;
    return true;
}

static bool add_ints(struct opened *opened, struct attribute *attribute,
                     const struct wire_field *field)
{
    struct wire_span span = field->bytes;
    uint64_t value = field->value;
    int64_t *grown;

    /* Each takes at least a byte: no list that we would keep is longer than this. */
    if (field->type == WIRE_BYTES && wire_length(span) > NUMBERS_MAX * 10u) {
        while (wire_packed(&opened->wire, &span, WIRE_VARINT, &value))
            attribute->ints_in_file++;
        return !opened->wire.status;
    }
    while (field->type == WIRE_VARINT || wire_packed(&opened->wire, &span, WIRE_VARINT, &value)) {
        attribute->ints_in_file++;
        if (attribute->int_count < NUMBERS_MAX) {
            grown = arena_append(&opened->arena, (void *)attribute->ints, attribute->int_count,
                                 sizeof *grown);
            if (!grown)
                return onnx_no_memory(opened);
            grown[attribute->int_count++] = (int64_t)value;
            attribute->ints = grown;
        }
        if (field->type == WIRE_VARINT)
            break;
    }
    return !opened->wire.status;
}

static bool add_floats(struct opened *opened, struct attribute *attribute,
                       const struct wire_field *field)
{
    struct wire_span span = field->bytes;
    uint64_t value = field->value;

    if (field->type == WIRE_BYTES && wire_length(span) / 4 > NUMBERS_MAX) {
        attribute->floats_in_file += wire_length(span) / 4;
        return true;
    }
    while (field->type == WIRE_FIXED32 || wire_packed(&opened->wire, &span, WIRE_FIXED32, &value)) {
        attribute->floats_in_file++;
        if (attribute->float_count < NUMBERS_MAX) {
            double *grown = arena_append(&opened->arena, (void *)attribute->floats,
                                         attribute->float_count, sizeof *grown);
            uint32_t bits = (uint32_t)value;
            float narrow;

            if (!grown)
                return onnx_no_memory(opened);
            memcpy(&narrow, &bits, sizeof narrow);
            grown[attribute->float_count++] = (double)narrow;
            attribute->floats = grown;
        }
        if (field->type == WIRE_FIXED32)
            break;
    }
    return !opened->wire.status;
}

static bool add_graph(struct opened *opened, struct wire_span span, struct graph *parent,
                      struct node *node)
{
    struct graph *graph = NULL;

    if (!take_graph(opened, span, parent, &graph))
        return false;
    opened->model.subgraph_count++;
    if (node->last_graph)
        node->last_graph->next = graph;
    else
        node->graphs = graph;
    node->last_graph = graph;
    return true;
}

static bool take_attribute_field(struct opened *opened, const struct wire_field *field,
                                 struct attribute *out)
{
    struct tensor *tensor;
    uint32_t bits = (uint32_t)field->value;
    float narrow;

    switch (wire_key(field)) {
    case WIRE_FIELD(2, WIRE_FIXED32):
        memcpy(&narrow, &bits, sizeof narrow);
        out->f = (double)narrow;
        break;
    case WIRE_FIELD(3, WIRE_VARINT):
        out->i = (int64_t)field->value;
        break;
    case WIRE_FIELD(4, WIRE_BYTES):
        out->string_bytes = wire_length(field->bytes);
        if (!onnx_take_text(opened, field->bytes, &out->s))
            return false;
        break;
    case WIRE_FIELD(5, WIRE_BYTES):
    case WIRE_FIELD(10, WIRE_BYTES):
        if (!onnx_read_tensor(opened, field->bytes, &tensor))
            return false;
        out->tensor = tensor;
        break;
    case WIRE_FIELD(22, WIRE_BYTES):
        if (!onnx_read_sparse(opened, field->bytes, &tensor))
            return false;
        out->tensor = tensor;
        break;
    case WIRE_FIELD(7, WIRE_FIXED32):
    case WIRE_FIELD(7, WIRE_BYTES):
        if (!add_floats(opened, out, field))
            return false;
        break;
    case WIRE_FIELD(8, WIRE_VARINT):
    case WIRE_FIELD(8, WIRE_BYTES):
        if (!add_ints(opened, out, field))
            return false;
        break;
    case WIRE_FIELD(9, WIRE_BYTES):
        out->strings_in_file++;
        out->string_bytes += wire_length(field->bytes);
        break;
    default:
        return true;
    }
    out->kind = field->number;
    return true;
}

static bool take_attribute(struct opened *opened, struct wire_span span, struct graph *parent,
                           struct node *node, struct attribute *out)
{
    struct graph *before = node->last_graph;
    struct wire_field field;

    memset(out, 0, sizeof *out);
    out->name = out->s = "";
    while (wire_next(&opened->wire, &span, &attribute_names, &field)) {
        if (wire_key(&field) == WIRE_FIELD(1, WIRE_BYTES)) {
            if (!onnx_take_text(opened, field.bytes, &out->name))
                return false;
        } else if ((field.number == 6 || field.number == 11) && field.type == WIRE_BYTES) {
            if (!add_graph(opened, field.bytes, parent, node))
                return false;
        } else if (!take_attribute_field(opened, &field, out)) {
            return false;
        }
    }
    for (struct graph *graph = before ? before->next : node->graphs; graph; graph = graph->next)
        graph->attribute = out->name;
    return !opened->wire.status;
}

static bool take_node(struct opened *opened, struct wire_span span, struct graph *graph,
                      struct node *out)
{
    struct wire_field field;
    bool good = true;

    memset(out, 0, sizeof *out);
    out->name = out->op_type = out->domain = "";
    out->flops = out->bytes = -1;
    out->is_counted = true;
    while (good && wire_next(&opened->wire, &span, &node_names, &field)) {
        struct attribute *grown;

        switch (wire_key(&field)) {
        case WIRE_FIELD(1, WIRE_BYTES):
            good = add_text(opened, field.bytes, &out->input_names, &out->input_count);
            break;
        case WIRE_FIELD(2, WIRE_BYTES):
            good = add_text(opened, field.bytes, &out->output_names, &out->output_count);
            break;
        case WIRE_FIELD(3, WIRE_BYTES):
            good = onnx_take_text(opened, field.bytes, &out->name);
            break;
        case WIRE_FIELD(4, WIRE_BYTES):
            good = onnx_take_text(opened, field.bytes, &out->op_type);
            break;
        case WIRE_FIELD(5, WIRE_BYTES):
            grown =
                arena_append(&opened->arena, out->attributes, out->attribute_count, sizeof *grown);
            if (!grown)
                return onnx_no_memory(opened);
            out->attributes = grown;
            good = take_attribute(opened, field.bytes, graph, out, &grown[out->attribute_count]);
            out->attribute_count++;
            break;
        case WIRE_FIELD(7, WIRE_BYTES):
            good = onnx_take_text(opened, field.bytes, &out->domain);
            break;
        default:
            break;
        }
    }
    if (strcmp(out->domain, "ai.onnx") == 0)
        out->domain = "";
    return good && !opened->wire.status;
}

/* ---- graphs ---- */

static bool add_node(struct opened *opened, struct wire_span span, struct graph *graph)
{
    struct node *grown =
        arena_append(&opened->arena, graph->nodes, graph->node_count, sizeof *grown);

    if (!grown)
        return onnx_no_memory(opened);
    graph->nodes = grown;
    if (!take_node(opened, span, graph, &grown[graph->node_count]))
        return false;
    graph->node_count++;
    opened->model.node_count++;
    return true;
}

static bool add_port(struct opened *opened, struct wire_span span, struct onnx_port **ports,
                     size_t *count)
{
    struct onnx_port *grown = arena_append(&opened->arena, *ports, *count, sizeof *grown);

    if (!grown)
        return onnx_no_memory(opened);
    *ports = grown;
    if (!onnx_take_port(opened, span, &grown[*count]))
        return false;
    (*count)++;
    return true;
}

static bool add_initializer(struct opened *opened, const struct wire_field *field,
                            struct graph *graph)
{
    struct tensor **grown =
        arena_append(&opened->arena, graph->initializers, graph->initializer_count, sizeof *grown);
    struct tensor **out;

    if (!grown)
        return onnx_no_memory(opened);
    graph->initializers = grown;
    out = &grown[graph->initializer_count];
    if (!(field->number == 5 ? onnx_read_tensor(opened, field->bytes, out)
                             : onnx_read_sparse(opened, field->bytes, out)))
        return false;
    graph->initializer_count++;
    return onnx_count_weight(opened, *out, false);
}

static bool take_graph_field(struct opened *opened, const struct wire_field *field,
                             struct graph *graph)
{
    if (field->type != WIRE_BYTES)
        return true;
    switch (field->number) {
    case 1:
        return add_node(opened, field->bytes, graph);
    case 2:
        return onnx_take_text(opened, field->bytes, &graph->name);
    case 5:
    case 15:
        return add_initializer(opened, field, graph);
    case 11:
        return add_port(opened, field->bytes, &graph->inputs, &graph->input_count);
    case 12:
        return add_port(opened, field->bytes, &graph->outputs, &graph->output_count);
    case 13:
        return add_port(opened, field->bytes, &graph->infos, &graph->info_count);
    default:
        return true;
    }
}

static struct graph *new_graph(struct opened *opened, struct graph *parent)
{
    struct graph *graph = arena_alloc(&opened->arena, 1, sizeof *graph);

    if (!graph) {
        onnx_no_memory(opened);
        return NULL;
    }
    graph->name = graph->attribute = "";
    graph->parent = parent;
    graph->depth = parent ? parent->depth + 1 : 0;
    return graph;
}

static bool take_graph(struct opened *opened, struct wire_span span, struct graph *parent,
                       struct graph **out)
{
    struct wire_field field;

    *out = new_graph(opened, parent);
    if (!*out)
        return false;
    if ((*out)->depth > NESTING_MAX)
        return wire_fail(&opened->wire, IFG_UNSUPPORTED,
                         "has more than %u graphs inside of each other at byte %llu", NESTING_MAX,
                         (unsigned long long)span.at);
    while (wire_next(&opened->wire, &span, &graph_names, &field))
        if (!take_graph_field(opened, &field, *out))
            return false;
    return !opened->wire.status;
}

/* ---- the model ---- */

static bool take_opset(struct opened *opened, struct wire_span span)
{
    struct onnx_model *model = &opened->model;
    struct onnx_opset *grown =
        arena_append(&opened->arena, model->opsets, model->opset_count, sizeof *grown);
    const char *domain = "";
    int64_t version = 0;
    struct wire_field field;

    if (!grown)
        return onnx_no_memory(opened);
    model->opsets = grown;
    while (wire_next(&opened->wire, &span, &opset_names, &field)) {
        if (wire_key(&field) == WIRE_FIELD(1, WIRE_BYTES) &&
            !onnx_take_text(opened, field.bytes, &domain))
            return false;
        if (wire_key(&field) == WIRE_FIELD(2, WIRE_VARINT))
            version = (int64_t)field.value;
    }
    grown[model->opset_count].domain = *domain ? (char *)domain : "ai.onnx";
    grown[model->opset_count++].version = version;
    return !opened->wire.status;
}

static bool take_function(struct opened *opened, struct wire_span span)
{
    struct function *function = arena_alloc(&opened->arena, 1, sizeof *function);
    uint64_t nodes = opened->model.node_count;
    uint64_t graphs = opened->model.subgraph_count;
    struct wire_field field;

    if (!function)
        return onnx_no_memory(opened);
    function->body = new_graph(opened, NULL);
    if (!function->body)
        return false;
    function->name = function->domain = "";
    while (wire_next(&opened->wire, &span, &function_names, &field)) {
        bool good = true;

        if (wire_key(&field) == WIRE_FIELD(1, WIRE_BYTES))
            good = onnx_take_text(opened, field.bytes, &function->name);
        else if (wire_key(&field) == WIRE_FIELD(7, WIRE_BYTES))
            good = add_node(opened, field.bytes, function->body);
        else if (wire_key(&field) == WIRE_FIELD(10, WIRE_BYTES))
            good = onnx_take_text(opened, field.bytes, &function->domain);
        if (!good)
            return false;
    }
    function->next = opened->functions;
    opened->functions = function;
    opened->model.function_count++;
    opened->model.node_count = nodes; /* those of the graph only */
    opened->model.subgraph_count = graphs;
    return !opened->wire.status;
}

static bool finish_header(struct opened *opened, const char *producer, const char *version)
{
    struct onnx_model *model = &opened->model;
    char text[256];

    snprintf(text, sizeof text, "%.200s%s%.40s", producer, *producer && *version ? " " : "",
             version);
    model->producer = arena_text(&opened->arena, text, strlen(text));
    if (!model->producer)
        return onnx_no_memory(opened);
    model->graph_name = (char *)opened->graph->name;
    return true;
}

bool onnx_read_model(struct opened *opened)
{
    struct wire *wire = &opened->wire;
    struct wire_span span = { 0, wire->bytes };
    const char *producer = "";
    const char *version = "";
    struct wire_field field;
    bool good = true;
    bool is_model = false;

    while (good && wire_next(wire, &span, &model_names, &field)) {
        switch (wire_key(&field)) {
        case WIRE_FIELD(1, WIRE_VARINT):
            opened->model.ir_version = (int64_t)field.value;
            is_model = true;
            break;
        case WIRE_FIELD(2, WIRE_BYTES):
            good = onnx_take_text(opened, field.bytes, &producer);
            break;
        case WIRE_FIELD(3, WIRE_BYTES):
            good = onnx_take_text(opened, field.bytes, &version);
            break;
        case WIRE_FIELD(7, WIRE_BYTES):
            good = !opened->graph && take_graph(opened, field.bytes, NULL, &opened->graph);
            if (!good && !wire->status)
                wire_fail(wire, IFG_CORRUPT, "damaged at byte %llu: a second graph",
                          (unsigned long long)field.at);
            break;
        case WIRE_FIELD(8, WIRE_BYTES):
            good = take_opset(opened, field.bytes);
            is_model = true;
            break;
        case WIRE_FIELD(25, WIRE_BYTES):
            good = take_function(opened, field.bytes);
            break;
        default:
            break;
        }
    }
    if (wire->status == IFG_CORRUPT && !opened->graph && !is_model) {
        wire->status = IFG_OK;
        return wire_fail(wire, IFG_CORRUPT,
                         "not an ONNX model: at byte %llu it makes no sense as one",
                         (unsigned long long)field.at);
    }
    if (wire->status)
        return false;
    if (!opened->graph || !is_model)
        return wire_fail(wire, IFG_CORRUPT,
                         "not an ONNX model: its fields can be read to the end, but %s",
                         opened->graph ? "there is neither an IR version nor an opset"
                                       : "there is no graph among them (TensorFlow, Core ML and "
                                         "tensors are written in the same way)");
    return finish_header(opened, producer, version);
}

/* ---- attributes ---- */

const struct attribute *onnx_attribute(const struct node *node, const char *name)
{
    for (uint32_t i = 0; i < node->attribute_count; i++)
        if (strcmp(node->attributes[i].name, name) == 0)
            return &node->attributes[i];
    return NULL;
}

int64_t onnx_attribute_int(const struct node *node, const char *name, int64_t otherwise)
{
    const struct attribute *attribute = onnx_attribute(node, name);

    return attribute ? attribute->i : otherwise;
}

const char *onnx_attribute_text(const struct node *node, const char *name, const char *otherwise)
{
    const struct attribute *attribute = onnx_attribute(node, name);

    return attribute ? attribute->s : otherwise;
}
