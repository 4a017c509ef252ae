// SPDX-License-Identifier: Apache-2.0
/* Distinct stacks: see stacks.h. */
#include "export/stacks.h"

#include "base/alloc.h"
#include "base/array.h"
#include "base/hash.h"

static uint64_t hash_node(const void *nodes, size_t position)
{
    const struct stack_node *node = (const struct stack_node *)nodes + position;

    return ifg_hash_pair((uint64_t)node->parent << 32 | node->location, node->is_thread);
}

static bool is_same_node(const void *nodes, size_t position, const void *wanted)
{
    const struct stack_node *node = (const struct stack_node *)nodes + position;
    const struct stack_node *other = wanted;

    return node->parent == other->parent && node->location == other->location &&
           node->is_thread == other->is_thread;
}

static uint32_t add_node(struct stacks *stacks, const struct stack_node *node)
{
    if (!IFG_ARRAY_ROOM(stacks->nodes, stacks->capacity, stacks->count + 1, STACK_ROOT) ||
        !ifg_index_room(&stacks->index, stacks->count, hash_node, stacks->nodes))
        return STACK_ROOT;
    stacks->nodes[stacks->count] = *node;
    ifg_index_put(&stacks->index, hash_node(node, 0), stacks->count);
    return (uint32_t)stacks->count++;
}

/* The node below parent for this location; STACK_ROOT if memory is short. */
static uint32_t child(struct stacks *stacks, const struct timeline *timeline, uint32_t parent,
                      uint32_t location)
{
    struct stack_node node = { .parent = parent, .location = location, .ml = TIMELINE_NONE };
    uint32_t found =
        ifg_index_find(&stacks->index, hash_node(&node, 0), is_same_node, stacks->nodes, &node);

    if (found)
        return found - 1;
    if (timeline->locations[location].kind == TRACE_LOCATION_ML)
        node.ml = location;
    else if (parent != STACK_ROOT)
        node.ml = stacks->nodes[parent].ml;
    return add_node(stacks, &node);
}

static void close_slice(struct stacks *stacks, const struct timeline *timeline,
                        struct export_nest *nest)
{
    const struct export_open *open = &nest->items[--nest->count];
    uint64_t ns = timeline_duration_ns(timeline, open->index);

    if (ns > open->children_ns)
        stacks->nodes[open->node].self_ns += ns - open->children_ns;
}

static bool take_thread(struct stacks *stacks, struct export_job *job, uint32_t thread,
                        uint32_t root, struct export_nest *nest)
{
    struct export_cursor cursor;
    struct export_slice slice;

    if (!export_cursor_init(&cursor, job, thread))
        return true;
    while (export_next(&cursor, &slice)) {
        struct export_open *parent;
        uint32_t node;

        job->result->slices++;
        while (export_nest_ended(nest, slice.start_ns))
            close_slice(stacks, job->timeline, nest);
        parent = export_nest_top(nest);
        node = child(stacks, job->timeline, parent ? parent->node : root, slice.location);
        if (node == STACK_ROOT)
            return false;
        stacks->nodes[node].count++;
        if (parent)
            parent->children_ns +=
                (slice.end_ns < parent->end_ns ? slice.end_ns : parent->end_ns) - slice.start_ns;
        if (!export_nest_push(nest, &slice))
            return false;
        export_nest_top(nest)->node = node;
    }
    while (nest->count)
        close_slice(stacks, job->timeline, nest);
    return true;
}

enum ifg_status stacks_build(struct stacks *stacks, struct export_job *job, bool by_thread)
{
    struct export_nest nest = { 0 };
    bool good = true;

    *stacks = (struct stacks){ 0 };
    for (uint32_t i = 0; i < job->timeline->thread_count && good; i++) {
        struct stack_node thread = { STACK_ROOT, i, TIMELINE_NONE, true, 0, 0 };
        uint32_t root = STACK_ROOT;

        if (by_thread) {
            root = add_node(stacks, &thread);
            good = root != STACK_ROOT;
        }
        good = good && take_thread(stacks, job, i, root, &nest);
    }
    export_nest_fini(&nest);
    return good ? IFG_OK : export_no_memory(job);
}

void stacks_fini(struct stacks *stacks)
{
    ifg_free(stacks->nodes);
    ifg_index_fini(&stacks->index);
    *stacks = (struct stacks){ 0 };
}
