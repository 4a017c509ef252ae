// SPDX-License-Identifier: Apache-2.0
/*
 * Samples as a tree of calls: functions by the way that led to them, roots first.
 *
 * Functions are those of hot.h: what was inlined counts as the function that has the code. Ways
 * with the same functions are one, whatever the addresses. What has too few samples to be seen is
 * folded: the children of one parent into a single node, with everything below them. The sum of all
 * self samples stays that of all samples.
 */
#ifndef IFG_ANALYZE_FLAME_H
#define IFG_ANALYZE_FLAME_H

#include "analyze/hot.h"

#define FLAME_NONE  UINT32_MAX /* parent of a root; function of folded ones */
#define FLAME_LEAST 0.0005     /* of all samples, to be seen */
#define FLAME_NODES 20000u

struct flame_options {
    struct hot_filter filter;
    bool by_time;       /* children in the order of their first samples; else heaviest first */
    double least_share; /* 0: FLAME_LEAST */
    size_t nodes_most;  /* 0: FLAME_NODES */
};

struct flame_node {
    uint32_t parent;   /* index, before its own, or FLAME_NONE */
    uint32_t function; /* FLAME_NONE: several that were folded */
    uint32_t value;    /* samples in it and what it called */
    uint32_t self;     /* of these, in itself; of folded ones all */
    uint32_t inferred; /* of value: the way from the innermost frame to it is not certain */
};

struct flame {
    struct flame_node *nodes; /* a node before its children, these before its next sibling */
    size_t node_count;
    uint64_t samples; /* that count: the sum of the roots' values */
    size_t folded;    /* nodes that are not here by themselves */
};

/* A trace without samples gives one with no nodes. */
enum ifg_status flame_create(const struct timeline *timeline, const struct flame_options *options,
                             struct flame **out_flame, struct ifg_error *err) IFG_MUST_CHECK;
void flame_destroy(struct flame *flame); /* accepts NULL */

#endif
