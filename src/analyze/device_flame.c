// SPDX-License-Identifier: Apache-2.0
/* Work of devices as a tree: see device_flame.h. */
#include "analyze/device_flame.h"

#include <stdlib.h>
#include <string.h>

#include "analyze/device_time.h"
#include "base/alloc.h"

#define LEVELS 3u

/* Work with the same names, and how much all of a name have. */
struct leaf {
    const char *names[LEVELS]; /* model, operator, kernel */
    uint64_t ns;
    uint64_t totals[LEVELS];
};

static int compare_names(const struct leaf *a, const struct leaf *b, size_t levels)
{
    int order = 0;

    for (size_t i = 0; i < levels && !order; i++)
        order = strcmp(a->names[i], b->names[i]);
    return order;
}

static int by_names(const void *a, const void *b)
{
    return compare_names(a, b, LEVELS);
}

static int by_weight(const void *a, const void *b)
{
    const struct leaf *left = a;
    const struct leaf *right = b;

    for (size_t i = 0; i < LEVELS; i++) {
        int order = strcmp(left->names[i], right->names[i]);

        if (order && left->totals[i] != right->totals[i])
            return left->totals[i] > right->totals[i] ? -1 : 1;
        if (order)
            return order;
    }
    return 0;
}

static bool counts(const struct timeline *timeline, const struct device_flame_filter *filter,
                   const struct timeline_device_work *work, const struct timeline_device_call *call)
{
    const struct timeline_location *op =
        call && call->op != SIZE_MAX ? &timeline->locations[timeline->location[call->op]] : NULL;

    return device_is_busy_kind(work->kind) &&
           work->start_ns >= timeline->begin_ns + filter->from_ns &&
           (!filter->to_ns || work->start_ns < timeline->begin_ns + filter->to_ns) &&
           (filter->model == TIMELINE_NONE || (call && call->model == filter->model)) &&
           (!filter->op || (op && strcmp(op->name, filter->op) == 0));
}

static struct leaf leaf_of(const struct timeline *timeline, const struct timeline_device_work *work,
                           const struct timeline_device_call *call)
{
    bool inside = call && call->inference != SIZE_MAX && call->model < timeline->model_count;

    return (struct leaf){
        .names = { inside ? timeline->models[call->model].name : "outside of inferences",
                   call && call->op != SIZE_MAX
                       ? timeline->locations[timeline->location[call->op]].name
                       : "no operator",
                   timeline->locations[work->location].name },
        .ns = work->end_ns - work->start_ns,
    };
}

/* Leaves of the same names become one; then each level has its sums. */
static size_t merge(struct leaf *leaves, size_t count)
{
    size_t kept = 0;

    if (count)
        qsort(leaves, count, sizeof *leaves, by_names);
    for (size_t i = 0; i < count; i++) {
        if (kept && by_names(&leaves[kept - 1], &leaves[i]) == 0)
            leaves[kept - 1].ns += leaves[i].ns;
        else
            leaves[kept++] = leaves[i];
    }
    for (size_t level = 0; level < LEVELS; level++)
        for (size_t i = 0; i < kept;) {
            size_t end = i;
            uint64_t sum = 0;

            while (end < kept && compare_names(&leaves[i], &leaves[end], level + 1) == 0)
                sum += leaves[end++].ns;
            while (i < end)
                leaves[i++].totals[level] = sum;
        }
    if (kept)
        qsort(leaves, kept, sizeof *leaves, by_weight);
    return kept;
}

static void write_nodes(struct device_flame *flame, const struct leaf *leaves, size_t count)
{
    uint32_t open[LEVELS] = { 0 };

    for (size_t i = 0; i < count; i++) {
        flame->total_ns += leaves[i].ns;
        for (size_t level = 0; level < LEVELS; level++) {
            if (i && compare_names(&leaves[i - 1], &leaves[i], level + 1) == 0)
                continue;
            open[level] = (uint32_t)flame->node_count;
            flame->nodes[flame->node_count++] = (struct device_flame_node){
                .parent = level ? open[level - 1] : DEVICE_FLAME_NONE,
                .name = leaves[i].names[level],
                .value_ns = leaves[i].totals[level],
                .self_ns = level == LEVELS - 1 ? leaves[i].ns : 0,
            };
        }
    }
}

enum ifg_status device_flame_create(const struct timeline *timeline,
                                    const struct device_flame_filter *filter,
                                    struct device_flame **out_flame, struct ifg_error *err)
{
    const struct timeline_devices *devices;
    struct device_flame *flame;
    struct leaf *leaves;
    enum ifg_status status = timeline_devices_get(timeline, &devices, err);
    size_t count = 0;

    *out_flame = NULL;
    if (status)
        return status;
    flame = ifg_alloc(1, sizeof *flame);
    leaves = ifg_alloc(devices->work_count + 1, sizeof *leaves);
    for (size_t i = 0; flame && leaves && i < devices->work_count; i++) {
        const struct timeline_device_work *work = &devices->works[i];
        const struct timeline_device_call *call = timeline_call_of(devices, work);

        if (counts(timeline, filter, work, call))
            leaves[count++] = leaf_of(timeline, work, call);
    }
    if (flame && leaves) {
        count = merge(leaves, count);
        flame->nodes = ifg_alloc(LEVELS * count + 1, sizeof *flame->nodes);
    }
    if (flame && flame->nodes) {
        write_nodes(flame, leaves, count);
        *out_flame = flame;
    } else {
        device_flame_destroy(flame);
        status = ifg_fail_no_memory(err, "for the tree of kernels");
    }
    ifg_free(leaves);
    return status;
}

void device_flame_destroy(struct device_flame *flame)
{
    if (!flame)
        return;
    ifg_free(flame->nodes);
    ifg_free(flame);
}
