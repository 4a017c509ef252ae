// SPDX-License-Identifier: Apache-2.0
/*
 * The names of nodes, read from the memory of a watched process on the way that the helper found.
 * That memory is hostile: what is no name is none, and wrong pointers lead to reads that fail.
 */
#include "collect/ort_attach/attach_internal.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/array.h"
#include "base/hash.h"
#include "base/ticks.h"
#include "collect/ort_attach/names.h"

#define NAME_BYTES 512
#define TYPE_BYTES 128
#define NODES_MAX  (1u << 20)
#define SEATS_MAX  (1u << 20)

/* ---- names ---- */

static uint64_t hash_node(const void *items, size_t position)
{
    const struct attach_node *node = (const struct attach_node *)items + position;

    return ifg_hash_pair((uintptr_t)node->name, (uintptr_t)node->type);
}

/* With the wanted model, or with none yet. The texts are kept once. */
static bool is_same_node(const void *items, size_t position, const void *wanted)
{
    const struct attach_node *node = (const struct attach_node *)items + position;
    const struct attach_node *other = wanted;

    return (!other->model || !node->model || node->model == other->model) &&
           node->name == other->name && node->type == other->type;
}

static uint32_t intern(struct attach_nodes *nodes, const char *name, const char *type,
                       uint32_t model)
{
    struct attach_node node = {
        .name = ifg_strings_keep(&nodes->texts, name, strlen(name)),
        .type = ifg_strings_keep(&nodes->texts, type, strlen(type)),
        .model = model,
    };
    uint64_t hash = hash_node(&node, 0);
    uint32_t known = ifg_index_find(&nodes->index, hash, is_same_node, nodes->items, &node);

    if (known || !node.name || !node.type ||
        !IFG_ARRAY_ROOM(nodes->items, nodes->capacity, nodes->count + 1, NODES_MAX) ||
        !ifg_index_room(&nodes->index, nodes->count, hash_node, nodes->items))
        return known;
    node.model = 0; /* until it has a location */
    nodes->items[nodes->count] = node;
    ifg_index_put(&nodes->index, hash, nodes->count++);
    return (uint32_t)nodes->count;
}

uint32_t attach_node_named(struct attach_process *process, uint32_t node, uint32_t index,
                           const struct attach_model *model)
{
    struct attach_nodes *nodes = &process->nodes;
    struct attach_node *item;
    char name[32];

    if (!node) {
        snprintf(name, sizeof name, "node %u", index);
        node = intern(nodes, name, "", model->id);
    } else if (nodes->items[node - 1].model && nodes->items[node - 1].model != model->id) {
        node = intern(nodes, nodes->items[node - 1].name, nodes->items[node - 1].type, model->id);
    }
    if (!node)
        return 0;
    item = &nodes->items[node - 1];
    if (!item->model) {
        item->model = model->id;
        item->location = attach_node_location(process, model, item->name, item->type);
    }
    return node;
}

/* ---- reading ---- */

static bool word_at(pid_t pid, uint64_t address, uint64_t *out)
{
    return names_process_memory(pid, address, out, sizeof *out);
}

static bool is_name(const char *text)
{
    for (; *text; text++)
        if ((unsigned char)*text < 0x20 || *text == 0x7f)
            return false;
    return true;
}

static bool is_type(const char *text)
{
    if (!isalpha((unsigned char)*text) && *text != '_')
        return false;
    for (; *text; text++)
        if (!isalnum((unsigned char)*text) && !strchr("_.:-", *text))
            return false;
    return true;
}

static uint32_t read_node(struct attach_process *process, const struct attach_kernels *kernels,
                          uint64_t state, uint32_t index)
{
    const unsigned *offsets = kernels->offsets;
    pid_t pid = process->pid;
    char name[NAME_BYTES];
    char type[TYPE_BYTES] = "";
    uint64_t at;

    if (!word_at(pid, state + offsets[1], &at) || !word_at(pid, at + offsets[2], &at) ||
        !word_at(pid, at + 8 * (uint64_t)index, &at))
        return 0;
    if (offsets[4]) {
        uint64_t text;

        if (!word_at(pid, at + offsets[4], &text) ||
            !names_process_text(pid, text, type, sizeof type) || !is_type(type))
            return 0;
    }
    if (!word_at(pid, at + offsets[3], &at) || !names_process_text(pid, at, name, sizeof name) ||
        !is_name(name))
        return 0;
    if (!name[0]) { /* as ONNX Runtime's own profile calls it */
        if (!type[0])
            return 0;
        snprintf(name, sizeof name, "%s_%u", type, index);
    }
    return intern(&process->nodes, name, type, 0);
}

/* ---- where they were found ---- */

static uint64_t hash_seat(const void *seats, size_t position)
{
    const struct attach_seat *seat = (const struct attach_seat *)seats + position;

    return ifg_hash_pair(seat->state, seat->index);
}

static bool is_same_seat(const void *seats, size_t position, const void *wanted)
{
    const struct attach_seat *seat = (const struct attach_seat *)seats + position;
    const struct attach_seat *other = wanted;

    return seat->state == other->state && seat->index == other->index;
}

static bool make_room(struct attach_nodes *nodes)
{
    return IFG_ARRAY_ROOM(nodes->seats, nodes->seat_capacity, nodes->seat_count + 1, SEATS_MAX) &&
           ifg_index_room(&nodes->seat_index, nodes->seat_count, hash_seat, nodes->seats);
}

uint32_t attach_node_of(struct attach_process *process, const struct attach_kernels *kernels,
                        uint64_t state, uint32_t index, uint64_t *out_read_ns)
{
    struct attach_nodes *nodes = &process->nodes;
    struct attach_seat seat = { .state = state, .index = index };
    uint64_t hash = hash_seat(&seat, 0);
    uint32_t known = ifg_index_find(&nodes->seat_index, hash, is_same_seat, nodes->seats, &seat);

    *out_read_ns = 0;
    if (!state)
        return 0;
    if (known) {
        *out_read_ns = nodes->seats[known - 1].read_ns;
        return nodes->seats[known - 1].node;
    }
    if (!make_room(nodes)) {
        attach_nodes_forget_seats(process);
        if (!make_room(nodes))
            return 0;
    }
    seat.node = read_node(process, kernels, state, index);
    seat.read_ns = ifg_monotonic_ns();
    nodes->seats[nodes->seat_count] = seat;
    ifg_index_put(&nodes->seat_index, hash, nodes->seat_count++);
    *out_read_ns = seat.read_ns;
    return seat.node;
}

void attach_nodes_forget_seats(struct attach_process *process)
{
    struct attach_nodes *nodes = &process->nodes;

    ifg_index_fini(&nodes->seat_index);
    nodes->seat_count = 0;
}

void attach_nodes_free(struct attach_process *process)
{
    struct attach_nodes *nodes = &process->nodes;

    ifg_free(nodes->items);
    ifg_index_fini(&nodes->index);
    ifg_strings_fini(&nodes->texts);
    ifg_free(nodes->seats);
    ifg_index_fini(&nodes->seat_index);
    *nodes = (struct attach_nodes){ 0 };
}
