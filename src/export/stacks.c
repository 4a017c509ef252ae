// SPDX-License-Identifier: Apache-2.0
/* Distinct stacks: see stacks.h. */
#include "export/stacks.h"

#include "base/alloc.h"

static size_t slot_of(const struct stacks *stacks, uint32_t parent, uint32_t location)
{
    uint64_t key = ((uint64_t)parent << 32 | location) * 0x9e3779b97f4a7c15u;

    return (size_t)(key >> 24) & (stacks->slot_count - 1);
}

static bool grow_slots(struct stacks *stacks)
{
    size_t count = stacks->slot_count ? stacks->slot_count * 2 : 1024;
    uint32_t *slots = ifg_alloc(count, sizeof *slots);

    if (!slots)
        return false;
    ifg_free(stacks->slots);
    stacks->slots = slots;
    stacks->slot_count = count;
    for (size_t i = 0; i < stacks->count; i++) {
        size_t at;

        if (stacks->nodes[i].is_thread)
            continue;
        at = slot_of(stacks, stacks->nodes[i].parent, stacks->nodes[i].location);
        while (slots[at])
            at = (at + 1) & (count - 1);
        slots[at] = (uint32_t)i + 1;
    }
    return true;
}

static uint32_t add_node(struct stacks *stacks, const struct stack_node *node)
{
    if (stacks->count == stacks->capacity) {
        size_t capacity = stacks->capacity ? stacks->capacity * 2 : 256;
        struct stack_node *nodes = ifg_realloc(stacks->nodes, capacity, sizeof *nodes);

        if (!nodes || capacity >= STACK_ROOT)
            return STACK_ROOT;
        stacks->nodes = nodes;
        stacks->capacity = capacity;
    }
    stacks->nodes[stacks->count] = *node;
    return (uint32_t)stacks->count++;
}

/* The node below parent for this place; STACK_ROOT if memory is short. */
static uint32_t child(struct stacks *stacks, const struct timeline *timeline, uint32_t parent,
                      uint32_t location)
{
    struct stack_node node = { .parent = parent, .location = location, .ml = TIMELINE_NONE };
    size_t at;

    if (stacks->count * 2 >= stacks->slot_count && !grow_slots(stacks))
        return STACK_ROOT;
    at = slot_of(stacks, parent, location);
    for (; stacks->slots[at]; at = (at + 1) & (stacks->slot_count - 1)) {
        const struct stack_node *found = &stacks->nodes[stacks->slots[at] - 1];

        if (found->parent == parent && found->location == location)
            return stacks->slots[at] - 1;
    }
    if (timeline->locations[location].kind == TRACE_LOCATION_ML)
        node.ml = location;
    else if (parent != STACK_ROOT)
        node.ml = stacks->nodes[parent].ml;
    stacks->slots[at] = (uint32_t)stacks->count + 1;
    if (add_node(stacks, &node) == STACK_ROOT) {
        stacks->slots[at] = 0;
        return STACK_ROOT;
    }
    return (uint32_t)stacks->count - 1;
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
    ifg_free(stacks->slots);
    *stacks = (struct stacks){ 0 };
}
