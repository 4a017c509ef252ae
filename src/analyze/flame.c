// SPDX-License-Identifier: Apache-2.0
/*
 * Samples as a tree of calls: see flame.h.
 *
 * Samples are counted at the nodes of the trace's tree of stacks, which tells addresses apart; sums
 * go to the roots; then nodes with the same functions above them become one. Parents have smaller
 * numbers than their children in both trees, so that plain loops do, however deep stacks are.
 */
#include "analyze/flame.h"

#include <stdlib.h>

#include "analyze/hot_internal.h"
#include "base/alloc.h"
#include "base/hash.h"
#include "base/index.h"

/* At the stacks of the trace, by the number of a node; 0: nothing is known. */
struct counts {
    uint32_t *own;     /* samples that end here */
    uint32_t *all;     /* and below */
    uint32_t *certain; /* of these, those whose way up to here is certain */
    uint32_t *first;   /* position of the first sample */
};

/* Functions by the way to them. Number 0 is above the roots. */
struct way {
    uint32_t parent;
    uint32_t function;
    uint32_t own, all, certain, first;
    uint32_t child, end; /* its children that are seen: positions in order */
    bool seen;
    bool folds; /* it has children that are not */
};

struct ways {
    struct way *items;
    size_t count;
    struct ifg_index index; /* by parent and function */
    uint32_t *order;        /* the seen ones, sorted by parent */
    size_t seen;
};

/* One step of the walk that writes nodes. */
struct step {
    uint32_t way;
    bool fold; /* the folded children of it, instead of itself */
};

/* ---- counting ---- */

static bool counts_init(struct counts *counts, size_t nodes)
{
    counts->own = ifg_alloc(nodes, sizeof(uint32_t));
    counts->all = ifg_alloc(nodes, sizeof(uint32_t));
    counts->certain = ifg_alloc(nodes, sizeof(uint32_t));
    counts->first = ifg_alloc(nodes, sizeof(uint32_t));
    return counts->own && counts->all && counts->certain && counts->first;
}

static void counts_fini(struct counts *counts)
{
    ifg_free(counts->own);
    ifg_free(counts->all);
    ifg_free(counts->certain);
    ifg_free(counts->first);
}

static void count_samples(struct counts *counts, const struct timeline_profile *profile,
                          const struct hot_wanted *wanted, uint64_t *out_samples)
{
    const struct trace_stack_node *nodes = profile->trace->nodes;

    for (size_t i = 0; i <= profile->trace->node_count; i++)
        counts->first[i] = UINT32_MAX;
    for (size_t i = 0; i < profile->sample_count; i++) {
        uint32_t stack = profile->samples[i].stack;

        if (!hot_wants(wanted, &profile->samples[i]))
            continue;
        if (!counts->own[stack]++)
            counts->first[stack] = (uint32_t)i;
        ++*out_samples;
    }
    for (size_t i = profile->trace->node_count + 1; i-- > 0;) {
        uint32_t parent = i ? nodes[i - 1].parent : 0;

        counts->all[i] += counts->own[i];
        counts->certain[i] += counts->own[i];
        if (!parent)
            continue;
        counts->all[parent] += counts->all[i];
        counts->certain[parent] += nodes[i - 1].inferred ? 0 : counts->certain[i];
        if (counts->first[i] < counts->first[parent])
            counts->first[parent] = counts->first[i];
    }
}

/* ---- ways ---- */

static bool ways_init(struct ways *ways, size_t most)
{
    ways->items = ifg_alloc(most, sizeof *ways->items);
    ways->order = ifg_alloc(most, sizeof *ways->order);
    ways->count = 1;
    return ways->items && ways->order && ifg_index_reserve(&ways->index, most);
}

static void ways_fini(struct ways *ways)
{
    ifg_free(ways->items);
    ifg_index_fini(&ways->index);
    ifg_free(ways->order);
}

static bool is_same_way(const void *items, size_t position, const void *wanted)
{
    const struct way *way = (const struct way *)items + position;
    const struct way *other = wanted;

    return way->parent == other->parent && way->function == other->function;
}

static uint32_t find_way(struct ways *ways, uint32_t parent, uint32_t function)
{
    struct way way = { .parent = parent, .function = function, .first = UINT32_MAX };
    uint64_t hash = ifg_hash_pair(parent, function);
    uint32_t found = ifg_index_find(&ways->index, hash, is_same_way, ways->items, &way);

    if (found)
        return found - 1;
    ways->items[ways->count] = way;
    ifg_index_put(&ways->index, hash, ways->count);
    return (uint32_t)ways->count++;
}

static void add_to_way(struct way *way, const struct counts *counts, size_t node)
{
    way->own += counts->own[node];
    way->all += counts->all[node];
    way->certain += counts->certain[node];
    if (counts->first[node] < way->first)
        way->first = counts->first[node];
}

/* way_of: by node; those without samples have none and are never asked for. */
static void find_ways(struct ways *ways, const struct counts *counts,
                      const struct timeline_profile *profile, uint32_t *way_of)
{
    const struct trace_stack_node *nodes = profile->trace->nodes;

    for (size_t i = 1; i <= profile->trace->node_count; i++) {
        if (!counts->all[i])
            continue;
        way_of[i] =
            find_way(ways, way_of[nodes[i - 1].parent], profile->function_of[nodes[i - 1].frame]);
        add_to_way(&ways->items[way_of[i]], counts, i);
    }
    if (counts->own[0])
        add_to_way(&ways->items[find_way(ways, 0, profile->function_of[0])], counts, 0);
}

/* ---- what is seen ---- */

static int heaviest(const void *a, const void *b, void *user)
{
    const struct way *left = (const struct way *)user + *(const uint32_t *)a;
    const struct way *right = (const struct way *)user + *(const uint32_t *)b;

    if (left->all != right->all)
        return left->all > right->all ? -1 : 1;
    return left < right ? -1 : left > right;
}

static int in_order(const void *a, const void *b, void *user)
{
    const struct way *left = (const struct way *)user + *(const uint32_t *)a;
    const struct way *right = (const struct way *)user + *(const uint32_t *)b;

    if (left->parent != right->parent)
        return left->parent < right->parent ? -1 : 1;
    if (left->all != right->all)
        return left->all > right->all ? -1 : 1;
    return left->function < right->function ? -1 : left->function > right->function;
}

static int in_time(const void *a, const void *b, void *user)
{
    const struct way *left = (const struct way *)user + *(const uint32_t *)a;
    const struct way *right = (const struct way *)user + *(const uint32_t *)b;

    if (left->parent != right->parent)
        return left->parent < right->parent ? -1 : 1;
    return left->first < right->first ? -1 : left->first > right->first;
}

/* A parent has at least as many samples as its children, so it is never less seen than they. */
static void choose(struct ways *ways, double least, size_t nodes_most)
{
    size_t half = (nodes_most - 1) / 2;
    size_t nodes = 0;

    ways->seen = 0;
    for (size_t i = 1; i < ways->count; i++) {
        struct way *way = &ways->items[i];
        struct way *parent = &ways->items[way->parent];

        way->seen = (double)way->all >= least;
        if (way->seen)
            ways->order[ways->seen++] = (uint32_t)i;
        if (way->seen || (!parent->folds && (parent->seen || !way->parent)))
            nodes++;
        parent->folds |= !way->seen;
    }
    if (nodes <= nodes_most)
        return;
    /* Each, and what is above the roots, may have one more node for what is folded. */
    qsort_r(ways->order, ways->seen, sizeof *ways->order, heaviest, ways->items);
    for (size_t i = half; i < ways->seen; i++) {
        struct way *way = &ways->items[ways->order[i]];

        way->seen = false;
        ways->items[way->parent].folds = true;
    }
    if (ways->seen > half)
        ways->seen = half;
}

static void sort_ways(struct ways *ways, bool by_time)
{
    if (ways->seen)
        qsort_r(ways->order, ways->seen, sizeof *ways->order, by_time ? in_time : in_order,
                ways->items);
    for (size_t i = 0; i < ways->seen; i++) {
        struct way *parent = &ways->items[ways->items[ways->order[i]].parent];

        if (!parent->end)
            parent->child = (uint32_t)i;
        parent->end = (uint32_t)i + 1;
    }
}

/* ---- nodes ---- */

static void add_folded(struct flame *flame, const struct ways *ways, uint32_t of, uint32_t parent)
{
    const struct way *way = &ways->items[of];
    struct flame_node node = { .parent = parent, .function = FLAME_NONE };
    uint32_t below = of ? way->all - way->own : (uint32_t)flame->samples;

    for (size_t i = way->child; i < way->end; i++)
        below -= ways->items[ways->order[i]].all;
    node.value = node.self = below;
    flame->nodes[flame->node_count++] = node;
}

/* The walk: `steps` has room for each seen way and for what is folded below it. */
static void write_nodes(struct flame *flame, const struct ways *ways, struct step *steps,
                        uint32_t *index_of)
{
    size_t count = 0;

    index_of[0] = FLAME_NONE;
    steps[count++] = (struct step){ 0, false };
    while (count) {
        struct step step = steps[--count];
        const struct way *way = &ways->items[step.way];

        if (step.fold) {
            add_folded(flame, ways, step.way, index_of[step.way]);
            continue;
        }
        if (step.way) {
            index_of[step.way] = (uint32_t)flame->node_count;
            flame->nodes[flame->node_count++] = (struct flame_node){
                .parent = index_of[way->parent],
                .function = way->function,
                .value = way->all,
                .self = way->own,
                .inferred = way->all - way->certain,
            };
        }
        if (way->folds)
            steps[count++] = (struct step){ step.way, true };
        for (size_t i = way->end; i-- > way->child;)
            steps[count++] = (struct step){ ways->order[i], false };
    }
    flame->folded = ways->count - 1 - ways->seen;
}

static bool fill(struct flame *flame, const struct timeline *timeline,
                 const struct timeline_profile *profile, const struct flame_options *options)
{
    double least = options->least_share > 0 ? options->least_share : FLAME_LEAST;
    size_t nodes = profile->trace->node_count + 1;
    struct hot_wanted wanted = { 0 };
    struct counts counts = { 0 };
    struct ways ways = { 0 };
    uint32_t *way_of = NULL;
    struct step *steps = NULL;
    bool good = hot_wanted_init(&wanted, timeline, profile, &options->filter) &&
                counts_init(&counts, nodes) && ways_init(&ways, nodes + 2);

    way_of = ifg_alloc(nodes + 2, sizeof *way_of);
    good = good && way_of;
    if (good) {
        count_samples(&counts, profile, &wanted, &flame->samples);
        find_ways(&ways, &counts, profile, way_of);
        choose(&ways, least * (double)flame->samples,
               options->nodes_most ? options->nodes_most : FLAME_NODES);
        sort_ways(&ways, options->by_time);
        flame->nodes = ifg_alloc(2 * ways.seen + 2, sizeof *flame->nodes);
        steps = ifg_alloc(2 * ways.seen + 2, sizeof *steps);
        good = flame->nodes && steps;
    }
    if (good)
        write_nodes(flame, &ways, steps, way_of); /* from here on: node of a way */
    ifg_free(steps);
    ifg_free(way_of);
    ways_fini(&ways);
    counts_fini(&counts);
    hot_wanted_fini(&wanted);
    return good;
}

enum ifg_status flame_create(const struct timeline *timeline, const struct flame_options *options,
                             struct flame **out_flame, struct ifg_error *err)
{
    const struct timeline_profile *profile;
    struct flame *flame;
    enum ifg_status status = timeline_profile_get(timeline, &profile, err);

    *out_flame = NULL;
    if (status)
        return status;
    flame = ifg_alloc(1, sizeof *flame);
    if (!flame || (profile && !fill(flame, timeline, profile, options))) {
        flame_destroy(flame);
        return ifg_fail_no_memory(err, "for the tree of calls");
    }
    *out_flame = flame;
    return IFG_OK;
}

void flame_destroy(struct flame *flame)
{
    if (!flame)
        return;
    ifg_free(flame->nodes);
    ifg_free(flame);
}
