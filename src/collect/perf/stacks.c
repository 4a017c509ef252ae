// SPDX-License-Identifier: Apache-2.0
/* See stacks.h: two open-addressed tables over two growing arrays. */
#include "collect/perf/stacks.h"

#include <string.h>

#include "base/alloc.h"

#define ENTRIES_MAX (16u << 20)
#define CACHE_LINE  64u
#define RECENT_SETS (1u << 11)

/* Numbers of array entries by hash; 0 is free. At most half full. */
struct numbers {
    uint32_t *slots;
    size_t size; /* a power of two */
};

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
    struct numbers frame_numbers;
    struct trace_stack_node *nodes;
    size_t node_count, node_room, nodes_written;
    struct numbers node_numbers;
    void *memory;
    struct recent_set *recent; /* RECENT_SETS of them */
};

static uint64_t mix(uint64_t a, uint64_t b)
{
    uint64_t hash = a * 0x9e3779b97f4a7c15ull ^ b * 0xc2b2ae3d27d4eb4full;

    hash ^= hash >> 29;
    hash *= 0xbf58476d1ce4e5b9ull;
    return hash ^ hash >> 32;
}

static uint64_t hash_frame(const struct trace_frame *frame)
{
    return mix(frame->address, frame->module);
}

static uint64_t hash_node(const struct trace_stack_node *node)
{
    return mix((uint64_t)node->parent << 1 | node->inferred, node->frame);
}

static void put_number(struct numbers *numbers, uint64_t hash, uint32_t number)
{
    size_t at = (size_t)hash & (numbers->size - 1);

    while (numbers->slots[at])
        at = (at + 1) & (numbers->size - 1);
    numbers->slots[at] = number;
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
    ifg_free(stacks->frame_numbers.slots);
    ifg_free(stacks->node_numbers.slots);
    ifg_free(stacks->memory);
    ifg_free(stacks);
}

static bool grow_frames(struct stacks *stacks)
{
    size_t room = stacks->frame_room ? stacks->frame_room * 2 : 1024;
    struct numbers numbers = { ifg_alloc(room * 2, sizeof *numbers.slots), room * 2 };
    struct trace_frame *frames = numbers.slots && room <= ENTRIES_MAX
                                     ? ifg_realloc(stacks->frames, room, sizeof *frames)
                                     : NULL;

    if (!frames) {
        ifg_free(numbers.slots);
        return false;
    }
    stacks->frames = frames;
    stacks->frame_room = room;
    for (size_t i = 0; i < stacks->frame_count; i++)
        put_number(&numbers, hash_frame(&frames[i]), (uint32_t)i + 1);
    ifg_free(stacks->frame_numbers.slots);
    stacks->frame_numbers = numbers;
    return true;
}

static bool grow_nodes(struct stacks *stacks)
{
    size_t room = stacks->node_room ? stacks->node_room * 2 : 1024;
    struct numbers numbers = { ifg_alloc(room * 2, sizeof *numbers.slots), room * 2 };
    struct trace_stack_node *nodes = numbers.slots && room <= ENTRIES_MAX
                                         ? ifg_realloc(stacks->nodes, room, sizeof *nodes)
                                         : NULL;

    if (!nodes) {
        ifg_free(numbers.slots);
        return false;
    }
    stacks->nodes = nodes;
    stacks->node_room = room;
    for (size_t i = 0; i < stacks->node_count; i++)
        put_number(&numbers, hash_node(&nodes[i]), (uint32_t)i + 1);
    ifg_free(stacks->node_numbers.slots);
    stacks->node_numbers = numbers;
    return true;
}

uint32_t stacks_frame(struct stacks *stacks, uint32_t module, uint64_t address)
{
    struct trace_frame frame = { module, address };
    uint64_t hash = hash_frame(&frame);
    const struct numbers *numbers = &stacks->frame_numbers;

    if (numbers->size)
        for (size_t at = (size_t)hash & (numbers->size - 1); numbers->slots[at];
             at = (at + 1) & (numbers->size - 1)) {
            const struct trace_frame *old = &stacks->frames[numbers->slots[at] - 1];

            if (old->address == address && old->module == module)
                return numbers->slots[at];
        }
    if (stacks->frame_count == stacks->frame_room && !grow_frames(stacks))
        return 0;
    stacks->frames[stacks->frame_count++] = frame;
    put_number(&stacks->frame_numbers, hash, (uint32_t)stacks->frame_count);
    return (uint32_t)stacks->frame_count;
}

uint32_t stacks_node(struct stacks *stacks, uint32_t parent, uint32_t frame, bool inferred)
{
    struct trace_stack_node node = { parent, frame, inferred };
    uint64_t hash = hash_node(&node);
    const struct numbers *numbers = &stacks->node_numbers;

    if (numbers->size)
        for (size_t at = (size_t)hash & (numbers->size - 1); numbers->slots[at];
             at = (at + 1) & (numbers->size - 1)) {
            const struct trace_stack_node *old = &stacks->nodes[numbers->slots[at] - 1];

            if (old->parent == parent && old->frame == frame && old->inferred == inferred)
                return numbers->slots[at];
        }
    if (stacks->node_count == stacks->node_room && !grow_nodes(stacks))
        return 0;
    stacks->nodes[stacks->node_count++] = node;
    put_number(&stacks->node_numbers, hash, (uint32_t)stacks->node_count);
    return (uint32_t)stacks->node_count;
}

uint32_t stacks_child(struct stacks *stacks, uint32_t parent, uint32_t module, uint64_t address,
                      bool inferred)
{
    struct recent *set =
        stacks->recent[mix(address, (uint64_t)parent << 32 | module << 1 | inferred) % RECENT_SETS]
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
