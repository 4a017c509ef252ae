// SPDX-License-Identifier: Apache-2.0
/*
 * Hostile models. Strategies:
 *
 * 1. The input is a file: protocol buffers, ONNX Runtime's own format, or something else. Corpus:
 *    small models with every kind of message, operators with attributes, graphs within graphs.
 * 2. Everything that is computed is checked: costs are numbers or unknown, weights add up to 1,
 *    lists are as long as they say, indices have bounds.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "onnx/onnx_internal.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static volatile size_t sink; /* so that nothing is optimised away */

static void touch(const char *text)
{
    sink += strlen(text);
}

static void touch_ports(const struct onnx_port *ports, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        touch(ports[i].name);
        touch(ports[i].kind);
        if (ports[i].rank > ONNX_RANK_MAX)
            abort();
        for (uint32_t j = 0; j < ports[i].rank; j++)
            touch(ports[i].dim_names[j] ? ports[i].dim_names[j] : "");
    }
}

static void check_nodes(const struct onnx_model *model, bool has_costs)
{
    double sum = 0;

    if (model->nodes_listed != model->node_count && model->format == ONNX_FORMAT_ONNX)
        abort();
    for (size_t i = 0; i < model->nodes_listed; i++) {
        const struct onnx_node *node = &model->nodes[i];

        touch(node->name);
        touch(node->op_type);
        touch(node->domain);
        if (!(node->flops >= -1) || !(node->bytes >= -1) || !(node->weight >= 0))
            abort();
        sum += node->weight;
    }
    if (has_costs && model->nodes_listed && fabs(sum - 1) > 1e-6)
        abort();
    if (!isfinite(model->flops) || !isfinite(model->moved_bytes))
        abort();
}

static void use(const struct onnx_model *model, bool has_costs)
{
    struct onnx_bound bounds[8];
    size_t count = onnx_input_bounds(model, bounds, 8);
    uint64_t nodes = 0;

    touch_ports(model->inputs, model->input_count);
    touch_ports(model->outputs, model->output_count);
    check_nodes(model, has_costs);
    for (size_t i = 0; i < count; i++) {
        touch(bounds[i].input);
        if (bounds[i].below <= 0)
            abort();
    }
    for (size_t i = 0; i < model->op_count; i++) {
        touch(model->ops[i].op_type);
        nodes += model->ops[i].count;
    }
    if (nodes != model->nodes_listed)
        abort();
    for (size_t i = 0; i < model->opset_count; i++)
        touch(model->opsets[i].domain);
    for (size_t i = 0; i < model->file_count; i++)
        touch(model->files[i].path);
    for (size_t i = 0; i < model->note_count; i++)
        touch(model->notes[i]);
    for (size_t i = 0; i < model->function_count; i++)
        touch(model->functions[i].name);
    touch(model->producer);
    touch(model->graph_name);
    touch(model->ort_version);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const struct onnx_dim dims[] = { { "n", 8 }, { "x:1", 3 } };
    const struct onnx_options costs = { .costs = true, .dims = dims, .dim_count = 2 };
    struct onnx_model *model = NULL;
    struct ifg_error err = { 0 };

    if (onnx_open_memory(data, size, &costs, &model, &err) == IFG_OK)
        use(model, model->format == ONNX_FORMAT_ONNX);
    else if (model || !*err.message)
        abort();
    onnx_close(model);
    model = NULL;
    if (onnx_open_memory(data, size, NULL, &model, NULL) == IFG_OK)
        use(model, false);
    onnx_close(model);
    return 0;
}
