// SPDX-License-Identifier: Apache-2.0
/*
 * Operators of a model: see operator_use.h.
 *
 * One pass over the slices counts at their locations; attributes are looked at once for each
 * location, since a runtime has a location for each node. Then locations that are the same become
 * one node: another session of a model has locations of its own.
 */
#include "analyze/operator_use.h"

#include <stdlib.h>
#include <string.h>

#include "analyze/device_time.h"
#include "base/alloc.h"
#include "runtimes/runtimes.h"
#include "trace/keys.h"

#define DEPTH_MAX 65536u /* as deep as the column can tell */
#define NO_SLICE  SIZE_MAX

struct gathering {
    const struct timeline *timeline;
    uint32_t model;
    struct operator_use *use;
    struct operator_node *by_location;
    struct device_times *device; /* NULL: no work of devices was recorded */
    size_t *inference;           /* by depth: the inference of this model around, or NO_SLICE */
    uint32_t *around; /* by depth: location + 1 of the nearest operator of this model, or 0 */
};

/* ---- counting ---- */

static const char *text_of(const struct timeline *timeline, size_t slice, const char *key)
{
    const struct timeline_attribute *found = timeline_find_attribute(timeline, slice, key);

    return found && found->type == TRACE_VALUE_STRING ? found->text : "";
}

static bool any_is_asynchronous(const char *providers)
{
    while (*providers) {
        size_t bytes;

        providers += strspn(providers, " ,");
        bytes = strcspn(providers, " ,");
        if (runtime_provider_is_asynchronous(providers, bytes))
            return true;
        providers += bytes;
    }
    return false;
}

bool operator_is_host_time(const struct timeline *timeline, size_t slice)
{
    const char *provider = text_of(timeline, slice, TRACE_KEY_PROVIDER);
    uint32_t index = timeline->locations[timeline->location[slice]].model;
    const struct timeline_model *model =
        index < timeline->model_count ? &timeline->models[index] : NULL;

    if (device_is_recorded(timeline, timeline->locations[timeline->location[slice]].process))
        return false; /* the device's times are there as well */
    if (*provider || !model)
        return any_is_asynchronous(provider);
    return any_is_asynchronous(*model->actual_devices ? model->actual_devices
                                                      : model->requested_devices);
}

enum ifg_status operator_host_times(const struct timeline *timeline, bool **out_by_location)
{
    bool *seen = ifg_alloc(timeline->location_count, sizeof *seen);
    bool *host = ifg_alloc(timeline->location_count, sizeof *host);

    for (size_t i = 0; seen && host && i < timeline->slice_count; i++) {
        uint32_t at = timeline->location[i];

        if (!seen[at] && timeline->locations[at].kind == TRACE_LOCATION_OP)
            host[at] = operator_is_host_time(timeline, i);
        seen[at] = true;
    }
    if (!seen) {
        ifg_free(host);
        host = NULL;
    }
    ifg_free(seen);
    *out_by_location = host;
    return host ? IFG_OK : IFG_NO_MEMORY;
}

static void take_operator(struct gathering *gathering, size_t slice, uint32_t around)
{
    const struct timeline *timeline = gathering->timeline;
    uint32_t number = timeline->location[slice];
    struct operator_node *node = &gathering->by_location[number];
    uint64_t duration = timeline_duration_ns(timeline, slice);

    if (!node->count) {
        const char *type = timeline->locations[number].function;

        node->name = timeline->locations[number].name;
        node->type = *type ? type : text_of(timeline, slice, TRACE_KEY_OP_NAME);
        node->provider = text_of(timeline, slice, TRACE_KEY_PROVIDER);
        node->location = number;
        gathering->use->host_time |= operator_is_host_time(timeline, slice);
    }
    node->count++;
    if (gathering->device) {
        struct device_time time;

        device_time_of(gathering->device, slice, &time);
        node->device_ns += time.busy_ns;
    }
    node->total_ns += duration;
    node->self_ns += duration;
    if (around) {
        struct operator_node *outer = &gathering->by_location[around - 1];

        outer->self_ns -= duration < outer->self_ns ? duration : outer->self_ns;
    }
}

static void take_thread(struct gathering *gathering, const struct timeline_thread *thread)
{
    const struct timeline *timeline = gathering->timeline;
    size_t counted = NO_SLICE; /* inference that is already among the runs */
    size_t deep = 0;           /* so many entries of the arrays are those of open slices */

    for (size_t i = thread->first_slice; i < thread->first_slice + thread->slice_count; i++) {
        const struct timeline_location *location = &timeline->locations[timeline->location[i]];
        size_t depth = timeline->depth[i];
        size_t outer = depth < deep ? depth : deep;
        size_t inference = outer ? gathering->inference[outer - 1] : NO_SLICE;
        uint32_t around = outer ? gathering->around[outer - 1] : 0;

        if (location->kind == TRACE_LOCATION_ML && location->category == TRACE_CATEGORY_INFERENCE) {
            inference = location->model == gathering->model ? i : NO_SLICE;
            around = 0;
        } else if (location->kind == TRACE_LOCATION_OP && !timeline_is_unfinished(timeline, i) &&
                   (location->model == gathering->model ||
                    (location->model == TIMELINE_NONE && inference != NO_SLICE))) {
            take_operator(gathering, i, around);
            around = timeline->location[i] + 1;
            if (inference != NO_SLICE && inference != counted)
                gathering->use->runs++;
            counted = inference != NO_SLICE ? inference : counted;
        }
        gathering->inference[outer] = inference;
        gathering->around[outer] = around;
        deep = outer + 1;
    }
}

/* ---- nodes and types ---- */

static int compare_nodes(const struct operator_node *a, const struct operator_node *b)
{
    int order = strcmp(a->type, b->type);

    if (!order)
        order = strcmp(a->provider, b->provider);
    return order ? order : strcmp(a->name, b->name);
}

static int by_key(const void *a, const void *b)
{
    const struct operator_node *left = a;
    const struct operator_node *right = b;
    int order = compare_nodes(left, right);

    return order ? order : left->location < right->location ? -1 : left->location > right->location;
}

static int longest_node(const void *a, const void *b)
{
    const struct operator_node *left = a;
    const struct operator_node *right = b;

    if (left->self_ns != right->self_ns)
        return left->self_ns > right->self_ns ? -1 : 1;
    return by_key(a, b);
}

static int longest_type(const void *a, const void *b)
{
    const struct operator_type *left = a;
    const struct operator_type *right = b;

    if (left->self_ns != right->self_ns)
        return left->self_ns > right->self_ns ? -1 : 1;
    return strcmp(left->type, right->type);
}

static int most_nodes(const void *a, const void *b)
{
    const struct operator_provider *left = a;
    const struct operator_provider *right = b;

    if (left->nodes != right->nodes)
        return left->nodes > right->nodes ? -1 : 1;
    return strcmp(left->name, right->name);
}

static void merge_nodes(struct gathering *gathering)
{
    struct operator_use *use = gathering->use;

    for (size_t p = 0; p < gathering->timeline->location_count; p++)
        if (gathering->by_location[p].count)
            use->nodes[use->node_count++] = gathering->by_location[p];
    if (use->node_count)
        qsort(use->nodes, use->node_count, sizeof *use->nodes, by_key);
    for (size_t i = 0, count = use->node_count; i < count; i++) {
        struct operator_node *last = use->nodes + use->node_count - 1;

        if (i == 0)
            use->node_count = 0;
        if (i && compare_nodes(last, &use->nodes[i]) == 0) {
            last->count += use->nodes[i].count;
            last->total_ns += use->nodes[i].total_ns;
            last->self_ns += use->nodes[i].self_ns;
            last->device_ns += use->nodes[i].device_ns;
        } else {
            use->nodes[use->node_count++] = use->nodes[i];
        }
    }
}

/* Nodes are sorted by type and provider. */
static void sum_types(struct operator_use *use)
{
    struct operator_type *type = NULL;

    for (size_t i = 0; i < use->node_count; i++) {
        const struct operator_node *node = &use->nodes[i];
        struct operator_provider *provider;

        if (!type || strcmp(type->type, node->type) != 0) {
            type = &use->types[use->type_count++];
            type->type = node->type;
        }
        type->nodes++;
        type->count += node->count;
        type->total_ns += node->total_ns;
        type->self_ns += node->self_ns;
        type->device_ns += node->device_ns;
        use->self_ns += node->self_ns;
        use->device_ns += node->device_ns;
        provider = type->provider_count ? &type->providers[type->provider_count - 1] : NULL;
        if (provider && strcmp(provider->name, node->provider) == 0)
            provider->nodes++;
        else if (type->provider_count < OPERATOR_PROVIDERS)
            type->providers[type->provider_count++] =
                (struct operator_provider){ node->provider, 1 };
    }
    for (size_t i = 0; i < use->type_count; i++)
        qsort(use->types[i].providers, use->types[i].provider_count,
              sizeof use->types[i].providers[0], most_nodes);
    if (use->node_count)
        qsort(use->nodes, use->node_count, sizeof *use->nodes, longest_node);
    if (use->type_count)
        qsort(use->types, use->type_count, sizeof *use->types, longest_type);
}

enum ifg_status operator_use_create(const struct timeline *timeline, uint32_t model,
                                    struct operator_use **out_use, struct ifg_error *err)
{
    struct gathering gathering = { .timeline = timeline, .model = model };
    struct operator_use *use = ifg_alloc(1, sizeof *use);
    size_t kinds = 0;
    bool good;

    *out_use = NULL;
    gathering.use = use;
    gathering.by_location = ifg_alloc(timeline->location_count + 1, sizeof *gathering.by_location);
    gathering.inference = ifg_alloc(DEPTH_MAX + 1, sizeof *gathering.inference);
    gathering.around = ifg_alloc(DEPTH_MAX + 1, sizeof *gathering.around);
    good = use && gathering.by_location && gathering.inference && gathering.around &&
           device_times_create(timeline, &gathering.device, NULL) == IFG_OK;
    for (size_t t = 0; good && t < timeline->thread_count; t++)
        take_thread(&gathering, &timeline->threads[t]);
    for (size_t p = 0; good && p < timeline->location_count; p++)
        kinds += gathering.by_location[p].count > 0;
    if (good) {
        use->nodes = ifg_alloc(kinds + 1, sizeof *use->nodes);
        use->types = ifg_alloc(kinds + 1, sizeof *use->types);
        good = use->nodes && use->types;
    }
    if (good) {
        use->device_recorded = model < timeline->model_count &&
                               device_is_recorded(timeline, timeline->models[model].process);
        merge_nodes(&gathering);
        sum_types(use);
    }
    device_times_destroy(gathering.device);
    ifg_free(gathering.by_location);
    ifg_free(gathering.inference);
    ifg_free(gathering.around);
    if (!good) {
        operator_use_destroy(use);
        return ifg_fail_no_memory(err, "for the operators of a model");
    }
    *out_use = use;
    return IFG_OK;
}

void operator_use_destroy(struct operator_use *use)
{
    if (!use)
        return;
    ifg_free(use->nodes);
    ifg_free(use->types);
    ifg_free(use);
}
