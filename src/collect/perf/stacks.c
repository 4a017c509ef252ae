// SPDX-License-Identifier: Apache-2.0
/* See stacks.h: two growing arrays, each with an index. */
#include "collect/perf/stacks.h"

#include "base/alloc.h"
#include "base/array.h"
#include "base/hash.h"
#include "base/index.h"

#define ENTRIES_MAX (16u << 20)
#define CACHE_LINE  64u
#define RECENT_SETS (1u << 11)

/* The tables are large, and a look into them costs four lines that the CPU does not have at hand;
 * this is what such a look gave, two to a line. */
struct recent {
    uint64_t address;
    uint32_t module;
    uint32_t parent;
    uint32_t node; /* 0: free */
    bool inferred;
};

struct recent_set {
    struct recent entries[2];
    uint64_t unused[2];
};

struct stacks {
    struct trace_frame *frames;
    size_t frame_count, frame_room, frames_written;
    struct ifg_index frame_index;
    struct trace_stack_node *nodes;
    size_t node_count, node_room, nodes_written;
    struct ifg_index node_index;
    void *memory;
    struct recent_set *recent; /* RECENT_SETS of them */
};

static uint64_t hash_frame(const void *frames, size_t position)
{
    const struct trace_frame *frame = (const struct trace_frame *)frames + position;

    return ifg_hash_pair(frame->address, frame->module);
}

static bool is_same_frame(const void *frames, size_t position, const void *wanted)
{
    const struct trace_frame *frame = (const struct trace_frame *)frames + position;
    const struct trace_frame *other = wanted;

    return frame->address == other->address && frame->module == other->module;
}

static uint64_t hash_node(const void *nodes, size_t position)
{
    const struct trace_stack_node *node = (const struct trace_stack_node *)nodes + position;

    return ifg_hash_pair((uint64_t)node->parent << 1 | node->inferred, node->frame);
}

static bool is_same_node(const void *nodes, size_t position, const void *wanted)
{
    const struct trace_stack_node *node = (const struct trace_stack_node *)nodes + position;
    const struct trace_stack_node *other = wanted;

    return node->parent == other->parent && node->frame == other->frame &&
           node->inferred == other->inferred;
}

struct stacks *stacks_create(void)
{
    struct stacks *stacks = ifg_alloc(1, sizeof *stacks);

    if (!stacks)
        return NULL;
    stacks->memory = ifg_alloc(RECENT_SETS + 1, sizeof *stacks->recent);
    if (!stacks->memory) {
        ifg_free(stacks);
        return NULL;
    }
    stacks->recent =
        (void *)(((uintptr_t)stacks->memory + CACHE_LINE - 1) / CACHE_LINE * CACHE_LINE);
    return stacks;
}

void stacks_destroy(struct stacks *stacks)
{
    if (!stacks)
        return;
    ifg_free(stacks->frames);
    ifg_free(stacks->nodes);
    ifg_index_fini(&stacks->frame_index);
    ifg_index_fini(&stacks->node_index);
    ifg_free(stacks->memory);
    ifg_free(stacks);
}

uint32_t stacks_frame(struct stacks *stacks, uint32_t module, uint64_t address)
{
    struct trace_frame frame = { module, address };
    struct ifg_index *index = &stacks->frame_index;
    uint64_t hash = hash_frame(&frame, 0);
    uint32_t known = ifg_index_find(index, hash, is_same_frame, stacks->frames, &frame);

    if (known)
        return known;
    if (!IFG_ARRAY_ROOM(stacks->frames, stacks->frame_room, stacks->frame_count + 1, ENTRIES_MAX) ||
        !ifg_index_room(index, stacks->frame_count, hash_frame, stacks->frames))
        return 0;
    stacks->frames[stacks->frame_count] = frame;
    ifg_index_put(index, hash, stacks->frame_count++);
    return (uint32_t)stacks->frame_count;
}

uint32_t stacks_node(struct stacks *stacks, uint32_t parent, uint32_t frame, bool inferred)
{
    struct trace_stack_node node = { parent, frame, inferred };
    struct ifg_index *index = &stacks->node_index;
    uint64_t hash = hash_node(&node, 0);
    uint32_t known = ifg_index_find(index, hash, is_same_node, stacks->nodes, &node);

    if (known)
        return known;
    if (!IFG_ARRAY_ROOM(stacks->nodes, stacks->node_room, stacks->node_count + 1, ENTRIES_MAX) ||
        !ifg_index_room(index, stacks->node_count, hash_node, stacks->nodes))
        return 0;
    stacks->nodes[stacks->node_count] = node;
    ifg_index_put(index, hash, stacks->node_count++);
    return (uint32_t)stacks->node_count;
}

uint32_t stacks_child(struct stacks *stacks, uint32_t parent, uint32_t module, uint64_t address,
                      bool inferred)
{
    struct recent *set =
        stacks
            ->recent[ifg_hash_pair(address, (uint64_t)parent << 32 | module << 1 | inferred) %
                     RECENT_SETS]
            .entries;
    struct recent found = { address, module, parent, 0, inferred };
    uint32_t frame;

    for (size_t i = 0; i < 2; i++)
        if (set[i].address == address && set[i].parent == parent && set[i].module == module &&
            set[i].inferred == inferred && set[i].node)
            return set[i].node;
    frame = stacks_frame(stacks, module, address);
    found.node = frame ? stacks_node(stacks, parent, frame, inferred) : 0;
    set[1] = set[0];
    set[0] = found;
    return found.node;
}

const struct trace_frame *stacks_frames(const struct stacks *stacks, size_t *out_count)
{
    *out_count = stacks->frame_count;
    return stacks->frames;
}

void stacks_write(struct stacks *stacks, struct trace_writer *writer)
{
    if (stacks->frame_count > stacks->frames_written)
        trace_writer_frames(writer, stacks->frames + stacks->frames_written,
                            stacks->frame_count - stacks->frames_written);
    if (stacks->node_count > stacks->nodes_written)
        trace_writer_stacks(writer, stacks->nodes + stacks->nodes_written,
                            stacks->node_count - stacks->nodes_written);
    stacks->frames_written = stacks->frame_count;
    stacks->nodes_written = stacks->node_count;
}
