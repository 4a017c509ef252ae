// SPDX-License-Identifier: Apache-2.0
/* `inferogram inspect --json`; the keys are described in docs/inspect.md. */
#include "base/json.h"
#include "cli/cli.h"
#include "cli/inspect.h"

#define MB (1024.0 * 1024.0)
#define GB (1024.0 * 1024.0 * 1024.0)

static void put_ports(struct ifg_json *json, const char *key, const struct onnx_port *ports,
                      size_t count)
{
    ifg_json_put_open(json, key, '[');
    for (size_t i = 0; i < count; i++) {
        const struct onnx_port *port = &ports[i];

        ifg_json_open(json, '{');
        ifg_json_put_string(json, "name", port->name);
        ifg_json_put_string(json, "kind", port->kind);
        ifg_json_put_string(json, "type", port->type ? onnx_type_name(port->type) : "");
        ifg_json_put_bool(json, "has_shape", port->has_shape);
        ifg_json_key(json, "shape"); /* a number, a name, or "" for a free one without */
        ifg_json_open(json, '[');
        for (uint32_t j = 0; j < port->rank; j++) {
            if (port->dims[j] >= 0)
                ifg_json_int(json, port->dims[j]);
            else
                ifg_json_string(json, port->dim_names[j] ? port->dim_names[j] : "");
        }
        ifg_json_close(json, ']');
        ifg_json_close(json, '}');
    }
    ifg_json_close(json, ']');
}

static void put_weights(struct ifg_json *json, const struct onnx_model *model)
{
    ifg_json_put_uint(json, "parameters", model->parameters);
    ifg_json_put_uint(json, "constant_parameters", model->constant_parameters);
    ifg_json_put_uint(json, "weight_bytes", model->weight_bytes);
    ifg_json_put_double(json, "quantized_share", model->quantized_share);
    ifg_json_put_open(json, "weights", '[');
    for (int32_t type = 0; type < ONNX_TYPES; type++) {
        const struct onnx_weights *weights = &model->weights[type];

        if (!weights->tensors)
            continue;
        ifg_json_open(json, '{');
        ifg_json_put_string(json, "type", onnx_type_name(type));
        ifg_json_put_uint(json, "tensors", weights->tensors);
        ifg_json_put_uint(json, "parameters", weights->elements);
        ifg_json_put_uint(json, "bytes", weights->bytes);
        ifg_json_close(json, '}');
    }
    ifg_json_close(json, ']');
}

/* Unknown costs are null. */
static void put_cost(struct ifg_json *json, const char *key, double cost)
{
    ifg_json_key(json, key);
    if (cost >= 0 && cost < 9e15)
        ifg_json_uint(json, (uint64_t)cost);
    else
        ifg_json_double(json, cost >= 0 ? cost : 0.0 / 0.0);
}

static void put_nodes(struct ifg_json *json, const struct onnx_model *model)
{
    ifg_json_put_open(json, "nodes", '[');
    for (size_t i = 0; i < model->nodes_listed; i++) {
        const struct onnx_node *node = &model->nodes[i];

        ifg_json_open(json, '{');
        ifg_json_put_string(json, "name", node->name);
        ifg_json_put_string(json, "op_type", node->op_type);
        ifg_json_put_string(json, "domain", node->domain);
        ifg_json_put_uint(json, "parameters", node->parameters);
        ifg_json_put_uint(json, "parameter_bytes", node->parameter_bytes);
        put_cost(json, "flops", node->flops);
        put_cost(json, "bytes", node->bytes);
        ifg_json_put_double(json, "weight", node->weight);
        ifg_json_put_bool(json, "in_subgraph", node->in_subgraph);
        ifg_json_put_bool(json, "counted", node->is_counted);
        ifg_json_close(json, '}');
    }
    ifg_json_close(json, ']');
}

static void put_lists(struct ifg_json *json, const struct onnx_model *model)
{
    ifg_json_put_open(json, "opsets", '[');
    for (size_t i = 0; i < model->opset_count; i++) {
        ifg_json_open(json, '{');
        ifg_json_put_string(json, "domain", model->opsets[i].domain);
        ifg_json_put_int(json, "version", model->opsets[i].version);
        ifg_json_close(json, '}');
    }
    ifg_json_close(json, ']');
    put_ports(json, "inputs", model->inputs, model->input_count);
    put_ports(json, "outputs", model->outputs, model->output_count);
    ifg_json_put_open(json, "operators", '[');
    for (size_t i = 0; i < model->op_count; i++) {
        ifg_json_open(json, '{');
        ifg_json_put_string(json, "op_type", model->ops[i].op_type);
        ifg_json_put_string(json, "domain", model->ops[i].domain);
        ifg_json_put_uint(json, "count", model->ops[i].count);
        ifg_json_close(json, '}');
    }
    ifg_json_close(json, ']');
    ifg_json_put_open(json, "functions", '[');
    for (size_t i = 0; i < model->function_count; i++) {
        ifg_json_open(json, '{');
        ifg_json_put_string(json, "domain", model->functions[i].domain);
        ifg_json_put_string(json, "name", model->functions[i].name);
        ifg_json_put_uint(json, "nodes", model->functions[i].node_count);
        ifg_json_close(json, '}');
    }
    ifg_json_close(json, ']');
}

static void put_files(struct ifg_json *json, const struct onnx_model *model)
{
    ifg_json_put_open(json, "files", '[');
    for (size_t i = 0; i < model->file_count; i++) {
        const struct onnx_file *file = &model->files[i];

        ifg_json_open(json, '{');
        ifg_json_put_string(json, "path", file->path);
        ifg_json_put_uint(json, "bytes", file->bytes);
        ifg_json_put_bool(json, "missing", file->missing);
        ifg_json_put_bool(json, "outside", file->is_outside);
        ifg_json_close(json, '}');
    }
    ifg_json_close(json, ']');
    ifg_json_put_open(json, "notes", '[');
    for (size_t i = 0; i < model->note_count; i++)
        ifg_json_string(json, model->notes[i]);
    ifg_json_close(json, ']');
}

/* request: NULL without costs. */
static void put_model(struct ifg_json *json, const struct onnx_model *model,
                      const struct inspect_request *request)
{
    static const char *const formats[] = { "onnx", "ort", "directory" };
    double size = (double)(model->file_bytes + model->external_bytes);

    ifg_json_put_string(json, "path", model->path);
    ifg_json_put_string(json, "format", formats[model->format]);
    ifg_json_put_uint(json, "size_bytes", model->file_bytes + model->external_bytes);
    ifg_json_put_double(json, "size_mb", size / MB);
    ifg_json_put_double(json, "size_gb", size / GB);
    ifg_json_put_uint(json, "file_bytes", model->file_bytes);
    ifg_json_put_uint(json, "external_bytes", model->external_bytes);
    ifg_json_put_string(json, "content_id", model->content_id);
    ifg_json_put_int(json, "ir_version", model->ir_version);
    ifg_json_put_string(json, "producer", model->producer);
    ifg_json_put_string(json, "graph_name", model->graph_name);
    ifg_json_put_string(json, "ort_version", model->ort_version);
    ifg_json_put_bool(json, "genai_config", model->has_genai_config);
    put_weights(json, model);
    ifg_json_put_uint(json, "node_count", model->node_count);
    ifg_json_put_uint(json, "subgraph_count", model->subgraph_count);
    put_lists(json, model);
    put_files(json, model);
    if (request && model->format == ONNX_FORMAT_ONNX) {
        char reason[INSPECT_OPTIONS + 64];
        const char *unknown = inspect_no_costs(request, reason, sizeof reason);

        put_cost(json, "flops", unknown ? -1 : model->flops);
        put_cost(json, "bytes", unknown ? -1 : model->moved_bytes);
        ifg_json_put_string(json, "cost_reason", unknown ? unknown : "");
        ifg_json_put_uint(json, "cost_unknown", model->cost_unknown);
        put_nodes(json, model);
    }
}

void inspect_write_json(const struct inspect_request *request, struct ifg_bytes *out)
{
    const struct onnx_model *model = request->model;
    struct ifg_json json = { .out = out };

    ifg_json_open(&json, '{');
    ifg_json_put_uint(&json, "schema", 1);
    put_model(&json, model, request);
    ifg_json_put_open(&json, "dims", '{');
    for (size_t i = 0; i < request->dim_count; i++)
        ifg_json_put_int(&json, request->dims[i].name, request->dims[i].size);
    ifg_json_close(&json, '}');
    ifg_json_put_open(&json, "models", '[');
    for (size_t i = 0; i < model->model_count; i++) {
        ifg_json_open(&json, '{');
        put_model(&json, model->models[i], NULL);
        ifg_json_close(&json, '}');
    }
    ifg_json_close(&json, ']');
    ifg_json_close(&json, '}');
    cli_print(out, "\n");
}
