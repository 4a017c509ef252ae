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
#include "base/ticks.h"
#include "collect/ort_attach/names.h"

#define NAME_BYTES 512
#define TYPE_BYTES 128
#define NODES_MAX  (1u << 20)
#define SEATS_MAX  (1u << 21)
#define HEADS      4096u

/* ---- names ---- */

static uint32_t hash_of(const char *name, const char *type)
{
    uint32_t hash = 2166136261u;

    for (; *name; name++)
        hash = (hash ^ (unsigned char)*name) * 16777619u;
    for (hash *= 31; *type; type++)
        hash = (hash ^ (unsigned char)*type) * 16777619u;
    return hash % HEADS;
}

static uint32_t add_node(struct attach_nodes *nodes, const char *name, const char *type,
                         uint32_t head)
{
    struct attach_node *node;

    if (!IFG_ARRAY_ROOM(nodes->items, nodes->capacity, nodes->count + 2, NODES_MAX))
        return 0;
    node = &nodes->items[nodes->count + 1];
    *node = (struct attach_node){
        .name = ifg_strdup(name),
        .type = ifg_strdup(type),
        .next = nodes->heads[head],
    };
    if (!node->name || !node->type) {
        ifg_free(node->name);
        ifg_free(node->type);
        return 0;
    }
    nodes->heads[head] = (uint32_t)++nodes->count;
    return nodes->heads[head];
}

/* With this model, or with none yet. */
static uint32_t intern(struct attach_nodes *nodes, const char *name, const char *type,
                       uint32_t model)
{
    uint32_t head = hash_of(name, type);

    if (!nodes->heads) {
        nodes->heads = ifg_alloc(HEADS, sizeof *nodes->heads);
        if (!nodes->heads)
            return 0;
    }
    for (uint32_t i = nodes->heads[head]; i; i = nodes->items[i].next)
        if ((!model || !nodes->items[i].model || nodes->items[i].model == model) &&
            strcmp(nodes->items[i].name, name) == 0 && strcmp(nodes->items[i].type, type) == 0)
            return i;
    return add_node(nodes, name, type, head);
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
    } else if (nodes->items[node].model && nodes->items[node].model != model->id) {
        node = intern(nodes, nodes->items[node].name, nodes->items[node].type, model->id);
    }
    if (!node)
        return 0;
    item = &nodes->items[node];
    if (!item->model) {
        item->model = model->id;
        item->location = attach_node_location(process, model, item->name, item->type);
    }
    return node;
}

/* ---- reading ---- */

static bool word_at(pid_t pid, uint64_t address, uint64_t *out)
{
    return process_memory(pid, address, out, sizeof *out);
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

        if (!word_at(pid, at + offsets[4], &text) || !process_text(pid, text, type, sizeof type) ||
            !is_type(type))
            return 0;
    }
    if (!word_at(pid, at + offsets[3], &at) || !process_text(pid, at, name, sizeof name) ||
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

static size_t seat_at(const struct attach_nodes *nodes, uint64_t state, uint32_t index)
{
    uint64_t hash = (state ^ (uint64_t)index << 32 ^ index) * 0x9e3779b97f4a7c15ull;
    size_t at = (size_t)(hash >> 32) & (nodes->seat_capacity - 1);

    while (nodes->seats[at].state &&
           (nodes->seats[at].state != state || nodes->seats[at].index != index))
        at = (at + 1) & (nodes->seat_capacity - 1);
    return at;
}

static bool make_room(struct attach_nodes *nodes)
{
    struct attach_nodes larger = *nodes;

    if (nodes->seat_count < nodes->seat_capacity / 2)
        return true;
    larger.seat_capacity = nodes->seat_capacity ? 2 * nodes->seat_capacity : 1024;
    larger.seats = larger.seat_capacity <= SEATS_MAX
                       ? ifg_alloc(larger.seat_capacity, sizeof *larger.seats)
                       : NULL;
    if (!larger.seats)
        return false;
    for (size_t i = 0; i < nodes->seat_capacity; i++)
        if (nodes->seats[i].state)
            larger.seats[seat_at(&larger, nodes->seats[i].state, nodes->seats[i].index)] =
                nodes->seats[i];
    ifg_free(nodes->seats);
    *nodes = larger;
    return true;
}

uint32_t attach_node_of(struct attach_process *process, const struct attach_kernels *kernels,
                        uint64_t state, uint32_t index, uint64_t *out_read_ns)
{
    struct attach_nodes *nodes = &process->nodes;
    struct attach_seat *seat;

    *out_read_ns = 0;
    if (!state)
        return 0;
    if (!make_room(nodes)) {
        attach_nodes_forget_seats(process);
        if (!make_room(nodes))
            return 0;
    }
    seat = &nodes->seats[seat_at(nodes, state, index)];
    if (!seat->state) {
        seat->state = state;
        seat->index = index;
        seat->node = read_node(process, kernels, state, index);
        seat->read_ns = ifg_monotonic_ns();
        nodes->seat_count++;
    }
    *out_read_ns = seat->read_ns;
    return seat->node;
}

void attach_nodes_forget_seats(struct attach_process *process)
{
    struct attach_nodes *nodes = &process->nodes;

    if (nodes->seat_count)
        memset(nodes->seats, 0, nodes->seat_capacity * sizeof *nodes->seats);
    nodes->seat_count = 0;
}

void attach_nodes_free(struct attach_process *process)
{
    struct attach_nodes *nodes = &process->nodes;

    for (size_t i = 1; i <= nodes->count; i++) {
        ifg_free(nodes->items[i].name);
        ifg_free(nodes->items[i].type);
    }
    ifg_free(nodes->items);
    ifg_free(nodes->heads);
    ifg_free(nodes->seats);
    *nodes = (struct attach_nodes){ 0 };
}
