// SPDX-License-Identifier: Apache-2.0
/* Which provider got which node: ONNX Runtime tells since 1.24, if it was asked before loading. */
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/array.h"
#include "bench/runner/ort/ort_internal.h"

#define NODES_MAX     10000000u
#define PLACEMENT_MAX 64u

static bool count_node(ifg_bench_model *model, const char *provider)
{
    struct ifg_bench_placement *entry;

    for (size_t i = 0; i < model->placement_count; i++) {
        if (strcmp(model->placements[i].provider, provider) == 0) {
            model->placements[i].nodes++;
            return true;
        }
    }
    if (!model->placements)
        model->placements = ifg_alloc(PLACEMENT_MAX, sizeof *model->placements);
    if (!model->placements || model->placement_count == PLACEMENT_MAX)
        return false;
    entry = &model->placements[model->placement_count++];
    *entry = (struct ifg_bench_placement){ .provider = provider, .nodes = 1 };
    return true;
}

/* Texts belong to the session. */
static bool add_node(ifg_bench_model *model, const char *provider, const void *node,
                     size_t *capacity)
{
    ort_table api = model->context->api;
    const char *name = NULL;
    const char *op = NULL;

    if (!ort_good(model->context, ORT(api, ORT_EpAssignedNode_GetName, void *,
                                      (const void *, const char **))(node, &name)) ||
        !ort_good(model->context, ORT(api, ORT_EpAssignedNode_GetOperatorType, void *,
                                      (const void *, const char **))(node, &op)))
        return false;
    if (!IFG_ARRAY_ROOM(model->nodes, *capacity, model->node_count + 1, NODES_MAX))
        return false;
    model->nodes[model->node_count++] = (struct ifg_bench_node){ .name = name ? name : "",
                                                                 .op_type = op ? op : "",
                                                                 .provider = provider };
    return count_node(model, provider);
}

static bool read_subgraph(ifg_bench_model *model, const void *part, size_t *capacity)
{
    ort_table api = model->context->api;
    const char *provider = NULL;
    const void *const *nodes = NULL;
    size_t count = 0;

    if (!ort_good(model->context, ORT(api, ORT_EpAssignedSubgraph_GetEpName, void *,
                                      (const void *, const char **))(part, &provider)) ||
        !ort_good(model->context,
                  ORT(api, ORT_EpAssignedSubgraph_GetNodes, void *,
                      (const void *, const void *const **, size_t *))(part, &nodes, &count)) ||
        !provider)
        return false;
    for (size_t i = 0; i < count; i++)
        if (!add_node(model, provider, nodes[i], capacity))
            return false;
    return true;
}

static bool read_assignment(ifg_bench_model *model)
{
    const void *const *parts = NULL;
    size_t capacity = 0;
    size_t count = 0;

    if (!ort_good(model->context, ORT(model->context->api, ORT_GetAssignmentInfo, void *,
                                      (const void *, const void *const **, size_t *))(
                                      model->session, &parts, &count)))
        return false;
    for (size_t i = 0; i < count; i++)
        if (!read_subgraph(model, parts[i], &capacity))
            return false;
    return true;
}

static void read_once(ifg_bench_model *model)
{
    const ifg_bench_context *context = model->context;

    if (model->is_placement_read)
        return;
    model->is_placement_read = true;
    if (context->minor >= 24 && model->has_assignment && read_assignment(model)) {
        if (!model->placement_count)
            snprintf(model->reason, sizeof model->reason, "no node was left to place");
        return;
    }
    ort_placement_free(model);
    if (context->minor >= 24)
        snprintf(model->reason, sizeof model->reason, "ONNX Runtime %s did not tell",
                 context->version);
    else if (model->is_cpu_only)
        snprintf(model->reason, sizeof model->reason,
                 "all on " ORT_CPU ", the only one; counts need ONNX Runtime 1.24 or newer, "
                 "this is %s",
                 context->version);
    else
        snprintf(model->reason, sizeof model->reason,
                 "needs ONNX Runtime 1.24 or newer; this is %s", context->version);
}

size_t ort_placement(ifg_bench_model *model, const struct ifg_bench_placement **out_entries,
                     const char **out_reason)
{
    read_once(model);
    *out_entries = model->placements;
    *out_reason = model->reason;
    return model->placement_count;
}

size_t ort_nodes(ifg_bench_model *model, const struct ifg_bench_node **out_nodes)
{
    read_once(model);
    *out_nodes = model->nodes;
    return model->node_count;
}

void ort_placement_free(ifg_bench_model *model)
{
    ifg_free(model->placements);
    ifg_free(model->nodes);
    model->placements = NULL;
    model->nodes = NULL;
    model->placement_count = 0;
    model->node_count = 0;
}
