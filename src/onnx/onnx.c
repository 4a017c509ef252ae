// SPDX-License-Identifier: Apache-2.0
/* See onnx.h: opens a model and puts the steps in order. */
#include "onnx/onnx.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "onnx/onnx_internal.h"

/* ---- lists for the caller ---- */

static int32_t type_of(const struct node *node)
{
    const struct value *value = node->input_count ? node->inputs[0] : NULL;

    if (!value && node->output_count)
        value = node->outputs[0];
    return value ? value->type : 0;
}

static void list_graph(struct opened *opened, const struct graph *graph)
{
    struct onnx_model *model = &opened->model;

    for (size_t i = 0; i < graph->node_count; i++) {
        const struct node *node = &graph->nodes[i];
        struct onnx_node *out = &model->nodes[model->nodes_listed++];

        out->name = (char *)node->name;
        out->op_type = (char *)node->op_type;
        out->domain = (char *)node->domain;
        out->parameters = node->parameters;
        out->parameter_bytes = node->parameter_bytes;
        out->flops = node->flops;
        out->weight = node->weight;
        out->bytes = node->bytes;
        out->type = type_of(node);
        out->is_counted = node->is_counted;
        out->in_subgraph = graph->depth > 0;
        for (const struct graph *inner = node->graphs; inner; inner = inner->next)
            list_graph(opened, inner);
    }
}

static int by_operator(const void *left, const void *right)
{
    const struct onnx_op_count *one = left;
    const struct onnx_op_count *two = right;
    int order = strcmp(one->op_type, two->op_type);

    return order ? order : strcmp(one->domain, two->domain);
}

static int by_count(const void *left, const void *right)
{
    const struct onnx_op_count *one = left;
    const struct onnx_op_count *two = right;

    if (one->count != two->count)
        return one->count < two->count ? 1 : -1;
    return by_operator(left, right);
}

static bool count_operators(struct opened *opened)
{
    struct onnx_model *model = &opened->model;
    struct onnx_op_count *ops =
        arena_alloc(&opened->arena, model->nodes_listed, sizeof *model->ops);

    if (!ops)
        return onnx_no_memory(opened);
    for (size_t i = 0; i < model->nodes_listed; i++) {
        ops[i].op_type = model->nodes[i].op_type;
        ops[i].domain = model->nodes[i].domain;
    }
    if (model->nodes_listed)
        qsort(ops, model->nodes_listed, sizeof *ops, by_operator);
    for (size_t i = 0; i < model->nodes_listed; i++) {
        if (!model->op_count || by_operator(&ops[model->op_count - 1], &ops[i]) != 0)
            ops[model->op_count++] = ops[i];
        ops[model->op_count - 1].count++;
    }
    if (model->op_count)
        qsort(ops, model->op_count, sizeof *ops, by_count);
    model->ops = ops;
    return true;
}

bool onnx_list_nodes(struct opened *opened)
{
    struct onnx_model *model = &opened->model;
    size_t count = 0;

    model->nodes = arena_alloc(&opened->arena, (size_t)model->node_count, sizeof *model->nodes);
    model->functions = arena_alloc(&opened->arena, model->function_count, sizeof *model->functions);
    if (!model->nodes || !model->functions)
        return onnx_no_memory(opened);
    list_graph(opened, opened->graph);
    for (const struct function *function = opened->functions; function; function = function->next) {
        struct onnx_function *out = &model->functions[model->function_count - ++count];

        out->domain = (char *)function->domain;
        out->name = (char *)function->name;
        out->node_count = function->body->node_count;
    }
    return count_operators(opened);
}

/* ---- opening ---- */

static struct opened *create(const char *path, const struct onnx_options *options,
                             struct ifg_error *err)
{
    static const struct onnx_options no_options;
    struct opened *opened = ifg_alloc(1, sizeof *opened);
    struct onnx_model *model;

    if (!opened)
        return NULL;
    model = &opened->model;
    opened->options = options ? options : &no_options;
    opened->wire.fd = -1;
    opened->wire.path = path;
    opened->wire.err = err;
    model->path = arena_text(&opened->arena, path, strlen(path));
    model->content_id = model->producer = model->graph_name = model->ort_version = "";
    if (!model->path) {
        onnx_close(model);
        return NULL;
    }
    return opened;
}

static bool read_graphs(struct opened *opened)
{
    if (!onnx_read_model(opened) || !onnx_resolve(opened) || !onnx_assign_weights(opened) ||
        !onnx_find_bounds(opened) || !onnx_look_at_external(opened))
        return false;
    if (opened->options->costs) {
        if (!onnx_infer_shapes(opened))
            return false;
        onnx_estimate_costs(opened);
    }
    return onnx_list_nodes(opened);
}

static bool read_contents(struct opened *opened)
{
    struct onnx_model *model = &opened->model;
    char identity[20];
    bool good;

    model->file_bytes = opened->wire.bytes;
    if (onnx_is_ort(&opened->wire)) {
        model->format = ONNX_FORMAT_ORT;
        good = onnx_read_ort(opened);
    } else {
        model->format = ONNX_FORMAT_ONNX;
        good = onnx_sniff(&opened->wire) && read_graphs(opened);
    }
    if (!good)
        return false;
    snprintf(identity, sizeof identity, "%016llx",
             (unsigned long long)onnx_content_hash(&opened->wire));
    model->content_id = arena_text(&opened->arena, identity, strlen(identity));
    return model->content_id || onnx_no_memory(opened);
}

static enum ifg_status finish(struct opened *opened, bool good, struct onnx_model **out_model)
{
    enum ifg_status status = opened->wire.status;

    if (good) {
        if (opened->wire.fd >= 0)
            close(opened->wire.fd);
        ifg_free(opened->wire.window);
        opened->wire = (struct wire){ .fd = -1 };
        opened->options = NULL;
        *out_model = &opened->model;
        return IFG_OK;
    }
    onnx_close(&opened->model);
    return status ? status : IFG_INTERNAL;
}

static bool open_file(struct opened *opened, const char *path)
{
    struct wire *wire = &opened->wire;
    struct stat info;

    wire->fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
    if (wire->fd < 0 || fstat(wire->fd, &info) != 0) {
        wire->status = ifg_fail_errno(wire->err, "cannot open %s", path);
        return false;
    }
    if (S_ISDIR(info.st_mode))
        return onnx_read_directory(opened, wire->fd);
    if (!S_ISREG(info.st_mode))
        return wire_fail(wire, IFG_INVALID, "neither a file nor a directory");
    wire->bytes = (uint64_t)info.st_size;
    wire->window = ifg_alloc(1, WIRE_WINDOW_BYTES);
    if (!wire->window)
        return onnx_no_memory(opened);
    return read_contents(opened);
}

enum ifg_status onnx_open(const char *path, const struct onnx_options *options,
                          struct onnx_model **out_model, struct ifg_error *err)
{
    struct opened *opened = create(path, options, err);

    *out_model = NULL;
    if (!opened)
        return ifg_fail_no_memory(err, "to read %s", path);
    return finish(opened, open_file(opened, path), out_model);
}

enum ifg_status onnx_open_memory(const void *data, size_t bytes, const struct onnx_options *options,
                                 struct onnx_model **out_model, struct ifg_error *err)
{
    struct opened *opened = create("memory", options, err);

    *out_model = NULL;
    if (!opened)
        return ifg_fail_no_memory(err, NULL);
    opened->wire.data = bytes ? data : (const uint8_t *)"";
    opened->wire.bytes = bytes;
    return finish(opened, read_contents(opened), out_model);
}

void onnx_close(struct onnx_model *model)
{
    struct opened *opened = (struct opened *)model;

    if (!model)
        return;
    for (size_t i = 0; i < model->model_count; i++)
        onnx_close(model->models[i]);
    if (opened->wire.fd >= 0)
        close(opened->wire.fd);
    ifg_free(opened->wire.window);
    arena_fini(&opened->arena);
    ifg_free(opened);
}
