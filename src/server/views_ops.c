// SPDX-License-Identifier: Apache-2.0
/* The operators of a model, and which of its inferences waited for a CPU. */
#include <math.h>
#include <string.h>

#include "analyze/operator_use.h"
#include "analyze/waiting_runs.h"
#include "server/routes.h"
#include "server/views_internal.h"

#define NODES_MOST 5000u
#define TYPES_MOST 1000u
#define RUNS_SHOWN 100u

/* "CUDA" for CUDAExecutionProvider, as people say it. */
static size_t short_name(const char *provider)
{
    static const char tail[] = "ExecutionProvider";
    size_t length = strlen(provider);
    size_t cut = sizeof tail - 1;

    return length > cut && strcmp(provider + length - cut, tail) == 0 ? length - cut : length;
}

static void put_times(struct ifg_json *json, const struct operator_use *use, uint64_t self_ns,
                      uint64_t total_ns, uint64_t device_ns)
{
    double runs = use->runs ? (double)use->runs : (double)NAN;

    ifg_json_put_double(json, "per_run_ns", (double)self_ns / runs);
    ifg_json_put_double(json, "total_per_run_ns", (double)total_ns / runs);
    ifg_json_put_double(json, "device_per_run_ns",
                        use->device_recorded ? (double)device_ns / runs : (double)NAN);
    ifg_json_put_double(json, "share",
                        use->self_ns ? (double)self_ns / (double)use->self_ns : (double)NAN);
}

static void put_type(struct ifg_json *json, const struct operator_use *use,
                     const struct operator_type *type)
{
    ifg_json_open(json, '{');
    ifg_json_put_string(json, "type", type->type);
    ifg_json_put_uint(json, "count", type->nodes);
    ifg_json_put_uint(json, "executions", type->count);
    put_times(json, use, type->self_ns, type->total_ns, type->device_ns);
    ifg_json_put_open(json, "provider", '{');
    for (size_t i = 0; i < type->provider_count; i++) {
        const char *name = *type->providers[i].name ? type->providers[i].name : "unknown";

        ifg_json_string_n(json, name, short_name(name));
        ifg_bytes_put(json->out, ":", 1);
        json->need_comma = false;
        ifg_json_uint(json, type->providers[i].nodes);
    }
    ifg_json_close(json, '}');
    ifg_json_close(json, '}');
}

static void put_node(struct ifg_json *json, const struct operator_use *use,
                     const struct operator_node *node)
{
    ifg_json_open(json, '{');
    ifg_json_put_string(json, "name", node->name);
    ifg_json_put_string(json, "type", node->type);
    ifg_json_key(json, "provider");
    ifg_json_string_n(json, node->provider, short_name(node->provider));
    ifg_json_put_uint(json, "location", node->location);
    ifg_json_put_uint(json, "executions", node->count);
    put_times(json, use, node->self_ns, node->total_ns, node->device_ns);
    ifg_json_close(json, '}');
}

void serve_ops(const struct server_request *request, struct server_answer *answer)
{
    struct operator_use *use = NULL;
    struct ifg_error err = { 0 };
    struct ifg_json json;
    enum ifg_status status;
    uint32_t model;

    if (!request_index(request, "model", false, request->timeline->model_count, &model, answer))
        return;
    status = operator_use_create(request->timeline, model, &use, &err);
    if (!answer_begin(answer, status, &err, &json))
        return;
    ifg_json_put_uint(&json, "runs", use->runs);
    ifg_json_put_double(&json, "per_run_ns",
                        use->runs ? (double)use->self_ns / (double)use->runs : (double)NAN);
    ifg_json_put_uint(&json, "node_count", use->node_count);
    ifg_json_put_bool(&json, "host_time", use->host_time);
    ifg_json_put_double(&json, "device_per_run_ns",
                        use->device_recorded && use->runs
                            ? (double)use->device_ns / (double)use->runs
                            : (double)NAN);
    ifg_json_put_open(&json, "types", '[');
    for (size_t i = 0; i < use->type_count && i < TYPES_MOST; i++)
        put_type(&json, use, &use->types[i]);
    ifg_json_close(&json, ']');
    ifg_json_put_open(&json, "nodes", '[');
    for (size_t i = 0; i < use->node_count && i < NODES_MOST; i++)
        put_node(&json, use, &use->nodes[i]);
    ifg_json_close(&json, ']');
    ifg_json_close(&json, '}');
    operator_use_destroy(use);
}

void serve_switches(const struct server_request *request, struct server_answer *answer)
{
    const struct timeline *timeline = request->timeline;
    struct waiting_runs *runs = NULL;
    struct ifg_error err = { 0 };
    struct ifg_json json;
    enum ifg_status status;
    uint32_t model;

    if (!request_index(request, "model", false, timeline->model_count, &model, answer))
        return;
    status = waiting_runs_create(timeline, model, RUNS_SHOWN, &runs, &err);
    if (status) {
        answer_status(answer, status, &err);
        return;
    }
    json = answer_json(answer);
    ifg_json_open(&json, '[');
    for (size_t i = 0; i < runs->count; i++) {
        const struct waiting_run *run = &runs->items[i];

        ifg_json_open(&json, '{');
        ifg_json_put_uint(&json, "slice", run->slice);
        ifg_json_put_double(&json, "start", answer_ns(timeline, timeline->start_ns[run->slice]));
        ifg_json_put_uint(&json, "duration", run->duration_ns);
        ifg_json_put_uint(&json, "running_ns", run->ns[TIMELINE_RUNNING]);
        ifg_json_put_uint(&json, "runnable_ns", run->ns[TIMELINE_RUNNABLE]);
        ifg_json_put_uint(&json, "blocked_ns", run->ns[TIMELINE_BLOCKED]);
        ifg_json_close(&json, '}');
    }
    ifg_json_close(&json, ']');
    waiting_runs_destroy(runs);
}
