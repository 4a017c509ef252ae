// SPDX-License-Identifier: Apache-2.0
/* Samples as a tree of calls. */
#include "analyze/device_flame.h"
#include "analyze/flame.h"
#include "server/routes.h"
#include "server/views_internal.h"

#define FOLDED "\u2026"

static void put_node(struct ifg_json *json, const struct timeline_profile *profile,
                     const struct flame_node *node)
{
    bool folded = node->function == FLAME_NONE;
    char name[512];

    ifg_json_open(json, '{');
    ifg_json_put_int(json, "p", node->parent == FLAME_NONE ? -1 : (int64_t)node->parent);
    ifg_json_put_int(json, "f", folded ? -1 : (int64_t)node->function);
    ifg_json_put_string(
        json, "n",
        folded ? FOLDED : timeline_function_name(profile, node->function, name, sizeof name));
    ifg_json_put_uint(json, "v", node->value);
    ifg_json_put_uint(json, "s", node->self);
    ifg_json_put_double(json, "i", (double)node->inferred / (double)node->value);
    ifg_json_close(json, '}');
}

/* What devices did; values are nanoseconds. */
static void serve_device(const struct server_request *request, const struct views_filter *filter,
                         struct server_answer *answer)
{
    const struct device_flame_filter wanted = { filter->model, filter->op, filter->from_ns,
                                                filter->to_ns };
    struct device_flame *flame = NULL;
    struct ifg_error err = { 0 };
    enum ifg_status status = device_flame_create(request->timeline, &wanted, &flame, &err);
    struct ifg_json json;

    if (!answer_begin(answer, status, &err, &json))
        return;
    ifg_json_put_uint(&json, "samples", flame->total_ns);
    ifg_json_put_uint(&json, "folded", 0);
    ifg_json_put_bool(&json, "device", true);
    ifg_json_put_open(&json, "nodes", '[');
    for (size_t i = 0; i < flame->node_count && i < FLAME_NODES; i++) {
        const struct device_flame_node *node = &flame->nodes[i];

        ifg_json_open(&json, '{');
        ifg_json_put_int(&json, "p",
                         node->parent == DEVICE_FLAME_NONE ? -1 : (int64_t)node->parent);
        ifg_json_put_int(&json, "f", -1);
        ifg_json_put_string(&json, "n", node->name);
        ifg_json_put_uint(&json, "v", node->value_ns);
        ifg_json_put_uint(&json, "s", node->self_ns);
        ifg_json_put_uint(&json, "i", 0);
        ifg_json_close(&json, '}');
    }
    ifg_json_close(&json, ']');
    ifg_json_close(&json, '}');
    device_flame_destroy(flame);
}

void serve_flame(const struct server_request *request, struct server_answer *answer)
{
    static const char *const modes[] = { "merged", "time", "device" };
    struct views_filter filter;
    struct flame_options options = { 0 };
    struct flame *flame = NULL;
    struct ifg_error err = { 0 };
    struct ifg_json json;
    enum ifg_status status;
    unsigned mode;

    if (!views_filter(request, &filter, answer) ||
        !views_choice(request, "mode", modes, 3, &mode, answer))
        return;
    if (mode == 2) {
        serve_device(request, &filter, answer);
        return;
    }
    options.filter = views_hot_filter(&filter, false);
    options.by_time = mode == 1;
    status = flame_create(request->timeline, &options, &flame, &err);
    if (!answer_begin(answer, status, &err, &json))
        return;
    ifg_json_put_uint(&json, "samples", flame->samples);
    ifg_json_put_uint(&json, "folded", flame->folded);
    ifg_json_put_open(&json, "nodes", '[');
    for (size_t i = 0; i < flame->node_count; i++)
        put_node(&json, request->trace->profile, &flame->nodes[i]);
    ifg_json_close(&json, ']');
    ifg_json_close(&json, '}');
    flame_destroy(flame);
}
