// SPDX-License-Identifier: Apache-2.0
/* Costs of operators by the model's file: see model_costs.h. */
#include "cli/model_costs.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/alloc.h"
#include "cli/cli.h"
#include "onnx/onnx.h"

#define DIMS_MAX      256u
#define DIM_MAX       ((int64_t)1 << 31)
#define NAME_RECORDED 64   /* so many bytes of an input's name are in the words of its shape */
#define SHAPES_CUT    250u /* words this long may have been cut off */
#define REASON        400u

struct dims {
    struct onnx_dim items[DIMS_MAX];
    char names[DIMS_MAX][160];
    size_t count;
};

/* ---- the inputs of the recorded inferences ---- */

/* "x:1x3x224x224 y:scalar", the same for all inferences whose operators are in the trace; NULL:
 * they differ; "": not known. */
static const char *recorded_shapes(const struct ml_input *input, const struct ml_model *model)
{
    const char *shapes = NULL;

    for (size_t f = 0; f < model->function_count; f++) {
        const struct ml_events *events =
            &input->functions[model->first_function + f].events[TRACE_CATEGORY_INFERENCE];

        for (size_t i = 0; i < events->count; i++) {
            const struct ml_event *event = &events->items[i];

            if (!(event->flags & (ML_WITH_OPS | ML_HAS_OPS)))
                continue;
            if (shapes && strcmp(shapes, event->detail) != 0)
                return NULL;
            shapes = event->detail;
        }
    }
    return shapes ? shapes : "";
}

/* The sizes of one input; false: they are not there, or not all of them. */
static bool find_input(const char *shapes, const struct onnx_port *port, int64_t *out_sizes)
{
    char wanted[NAME_RECORDED + 2];
    size_t length = (size_t)snprintf(wanted, sizeof wanted, "%.*s:", NAME_RECORDED, port->name);
    bool may_be_cut = strlen(shapes) >= SHAPES_CUT;

    for (const char *at = strstr(shapes, wanted); at; at = strstr(at + 1, wanted)) {
        const char *size = at + length;
        uint32_t rank = 0;

        if (at != shapes && at[-1] != ' ')
            continue;
        while (rank < port->rank && *size >= '0' && *size <= '9') {
            char *end;

            out_sizes[rank] = strtoll(size, &end, 10);
            if (out_sizes[rank] > DIM_MAX)
                return false;
            rank++;
            size = *end == 'x' ? end + 1 : end;
        }
        if (rank == port->rank && (*size == ' ' || (!*size && !may_be_cut)))
            return true;
    }
    return false;
}

static bool add_dim(struct dims *dims, const char *name, int64_t size, char *reason)
{
    for (size_t i = 0; i < dims->count; i++)
        if (strcmp(dims->items[i].name, name) == 0) {
            if (dims->items[i].size == size)
                return true;
            snprintf(reason, REASON, "dimension '%.60s' had several sizes in one inference", name);
            return false;
        }
    if (dims->count == DIMS_MAX || strlen(name) >= sizeof dims->names[0]) {
        snprintf(reason, REASON, "the model has too many free dimensions");
        return false;
    }
    snprintf(dims->names[dims->count], sizeof dims->names[0], "%s", name);
    dims->items[dims->count] = (struct onnx_dim){ dims->names[dims->count], size };
    dims->count++;
    return true;
}

static bool is_free(const struct onnx_port *port)
{
    for (uint32_t i = 0; i < port->rank; i++)
        if (port->dims[i] < 0)
            return true;
    return false;
}

/* Gives every free dimension the size that it had. */
static bool take_dims(const struct onnx_model *file, const char *shapes, struct dims *dims,
                      char *reason)
{
    for (size_t i = 0; i < file->input_count; i++) {
        const struct onnx_port *port = &file->inputs[i];
        int64_t sizes[ONNX_RANK_MAX];

        if (!port->has_shape || !is_free(port))
            continue;
        if (!shapes) {
            snprintf(reason, REASON, "its inferences had inputs of different shapes");
            return false;
        }
        if (!find_input(shapes, port, sizes)) {
            snprintf(reason, REASON, "the shape of its input '%.60s' was not recorded", port->name);
            return false;
        }
        for (uint32_t axis = 0; axis < port->rank; axis++) {
            char place[160];
            const char *name = port->dim_names[axis];

            if (port->dims[axis] >= 0)
                continue;
            if (!name || !*name) {
                snprintf(place, sizeof place, "%.140s:%u", port->name, axis);
                name = place;
            }
            if (!add_dim(dims, name, sizes[axis], reason))
                return false;
        }
    }
    return true;
}

/* ---- its file ---- */

static enum roofline_type element_of(int32_t type)
{
    const char *name = onnx_type_name(type);

    if (strcmp(name, "float64") == 0)
        return ROOFLINE_FLOAT64;
    if (strcmp(name, "float32") == 0)
        return ROOFLINE_FLOAT32;
    if (strcmp(name, "float16") == 0 || strcmp(name, "bfloat16") == 0)
        return ROOFLINE_FLOAT16;
    if (strcmp(name, "int8") == 0 || strcmp(name, "uint8") == 0 || strncmp(name, "float8", 6) == 0)
        return ROOFLINE_8_BITS;
    return ROOFLINE_TYPE_OTHER;
}

/* In a trace, an identity goes on with that of the options. */
static bool is_same(const char *recorded, const char *content)
{
    size_t length = strlen(content);

    return length && strncmp(recorded, content, length) == 0 &&
           (!recorded[length] || recorded[length] == '-');
}

/* A trace may name any path: nothing but a plain file is opened, and what it has is used only if it
 * is what the trace knows. */
static struct onnx_model *open_same(const struct timeline_model *model,
                                    const struct onnx_options *options, char *reason)
{
    struct ifg_error err = { 0 };
    struct onnx_model *file = NULL;
    struct stat info;
    char path[200];

    cli_clean(model->path, path, sizeof path);
    if (*model->path != '/') {
        snprintf(reason, REASON, "the trace does not tell where its file is");
    } else if (!*model->content_id) {
        snprintf(reason, REASON, "the trace does not tell what was in %s", path);
    } else if (stat(model->path, &info) != 0) {
        snprintf(reason, REASON, "cannot read %s: %s", path, strerror(errno));
    } else if (!S_ISREG(info.st_mode)) {
        snprintf(reason, REASON, "%s is not a file", path);
    } else if (onnx_open(model->path, options, &file, &err)) {
        snprintf(reason, REASON, "%.380s", err.message);
    } else if (!is_same(model->content_id, file->content_id)) {
        snprintf(reason, REASON, "%s has changed since the recording", path);
        onnx_close(file);
        file = NULL;
    } else if (file->format != ONNX_FORMAT_ONNX) {
        snprintf(reason, REASON, "shapes are read from ONNX files only");
        onnx_close(file);
        file = NULL;
    }
    return file;
}

static enum ifg_status make(const struct ml_input *input, uint32_t index,
                            const struct onnx_model *file, struct roofline **out_roofline,
                            struct ifg_error *err)
{
    struct roofline_cost *costs = ifg_alloc(file->nodes_listed + 1, sizeof *costs);
    enum ifg_status status;
    size_t count = 0;

    if (!costs)
        return ifg_fail_no_memory(err, "for the costs of a model");
    for (size_t i = 0; i < file->nodes_listed; i++) {
        const struct onnx_node *node = &file->nodes[i];

        /* How often a graph inside of a node runs is not known. */
        costs[count++] = (struct roofline_cost){ .name = node->name,
                                                 .type = node->op_type,
                                                 .flops = node->in_subgraph ? -1 : node->flops,
                                                 .bytes = node->in_subgraph ? -1 : node->bytes,
                                                 .element = element_of(node->type) };
    }
    status = roofline_create(input->timeline, index, costs, count, out_roofline, err);
    ifg_free(costs);
    return status;
}

static enum ifg_status add_one(const struct ml_input *input, uint32_t index,
                               struct roofline **out_roofline, struct ifg_error *err)
{
    const struct ml_model *model = &input->models[index];
    struct onnx_options options = { .costs = false };
    struct dims *dims = ifg_alloc(1, sizeof *dims);
    struct onnx_model *file = NULL;
    char reason[REASON] = "";
    enum ifg_status status;

    if (!dims)
        return ifg_fail_no_memory(err, "for the costs of a model");
    file = open_same(model->model, &options, reason);
    if (file && take_dims(file, recorded_shapes(input, model), dims, reason)) {
        onnx_close(file);
        options = (struct onnx_options){ true, dims->items, dims->count };
        file = open_same(model->model, &options, reason);
    }
    if (*reason || !file)
        status = roofline_create_empty(reason, out_roofline, err);
    else
        status = make(input, index, file, out_roofline, err);
    onnx_close(file);
    ifg_free(dims);
    return status;
}

enum ifg_status model_costs_add(struct report *report, struct ifg_error *err)
{
    enum ifg_status status = IFG_OK;
    size_t looked = 0;

    report->rooflines = ifg_alloc(report->model_count + 1, sizeof *report->rooflines);
    if (!report->rooflines)
        return ifg_fail_no_memory(err, "for the costs of models");
    for (size_t i = 0; !status && i < report->model_count && looked < MODEL_COSTS_MODELS; i++) {
        if (!report->input->models[report->models[i]].operator_count)
            continue;
        status = add_one(report->input, report->models[i], &report->rooflines[i], err);
        looked++;
    }
    return status;
}

/* ---- by name ---- */

struct model_costs {
    struct ml_input *input;
    struct roofline *rooflines[MODEL_COSTS_MODELS];
    size_t count;
};

enum ifg_status model_costs_open(const struct timeline *timeline, struct model_costs **out_costs,
                                 struct ifg_error *err)
{
    struct model_costs *costs = ifg_alloc(1, sizeof *costs);
    enum ifg_status status;

    *out_costs = NULL;
    if (!costs)
        return ifg_fail_no_memory(err, "for the costs of models");
    status = findings_input_create(timeline, &costs->input, err);
    for (uint32_t i = 0; !status && i < costs->input->model_count; i++) {
        if (!costs->input->models[i].operator_count)
            continue;
        if (costs->count == MODEL_COSTS_MODELS)
            break;
        status = add_one(costs->input, i, &costs->rooflines[costs->count++], err);
    }
    if (status)
        model_costs_close(costs);
    else
        *out_costs = costs;
    return status;
}

void model_costs_close(struct model_costs *costs)
{
    if (!costs)
        return;
    for (size_t i = 0; i < costs->count; i++)
        roofline_destroy(costs->rooflines[i]);
    findings_input_destroy(costs->input);
    ifg_free(costs);
}

const struct roofline_point *model_costs_find(const struct model_costs *costs, const char *name)
{
    const struct roofline_point *found = NULL;

    for (size_t i = 0; i < costs->count; i++)
        for (size_t k = 0; k < costs->rooflines[i]->node_count; k++) {
            if (strcmp(costs->rooflines[i]->nodes[k].name, name) != 0)
                continue;
            if (found)
                return NULL;
            found = &costs->rooflines[i]->nodes[k].point;
        }
    return found;
}
