// SPDX-License-Identifier: Apache-2.0
/*
 * What devices did as a tree: model, operator, kernel; as wide as the durations of the work.
 *
 * Work that overlaps counts each time. What no inference asked for is below a root of its own.
 */
#ifndef IFG_ANALYZE_DEVICE_FLAME_H
#define IFG_ANALYZE_DEVICE_FLAME_H

#include <stddef.h>
#include <stdint.h>

#include "base/status.h"
#include "timeline/timeline.h"

#define DEVICE_FLAME_NONE UINT32_MAX

struct device_flame_node {
    uint32_t parent;  /* index, before its own, or DEVICE_FLAME_NONE */
    const char *name; /* belongs to the timeline, or is constant */
    uint64_t value_ns;
    uint64_t self_ns; /* kernels: all; others: 0 */
};

struct device_flame {
    struct device_flame_node *nodes; /* a node before its children, the heaviest first */
    size_t node_count;
    uint64_t total_ns;
};

/* Only work of this model (TIMELINE_NONE: any), asked for in this operator (NULL: any), and that
 * begins in [from, to), in ns since the trace's begin (to 0: the end). */
struct device_flame_filter {
    uint32_t model;
    const char *op;
    uint64_t from_ns;
    uint64_t to_ns;
};

enum ifg_status device_flame_create(const struct timeline *timeline,
                                    const struct device_flame_filter *filter,
                                    struct device_flame **out_flame,
                                    struct ifg_error *err) IFG_MUST_CHECK;
void device_flame_destroy(struct device_flame *flame); /* accepts NULL */

#endif
