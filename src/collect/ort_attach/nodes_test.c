// SPDX-License-Identifier: Apache-2.0
/* Names of nodes, read from a process whose memory is anything: this one. */
#include <stdint.h>
#include <string.h>
#include <unistd.h>

#include "collect/ort_attach/attach_internal.h"
#include "tap.h"

#define NODES 8

struct made_node {
    uint64_t unused;
    const char *name;
    const char *type;
};

static struct made_node items[NODES];
static struct made_node *nodes[NODES];
static struct {
    uint64_t unused[2];
    struct made_node **nodes;
} graph;
static struct {
    uint64_t unused;
    void *graph;
} state;
static char endless[2000];
static struct attach_process process;
static const struct attach_kernels kernels = { .offsets = { 0, 8, 16, 8, 16 } };

static void make(void)
{
    static const char *const names[NODES] = { "conv1",    "",      "",   "bad\nname",
                                              "odd type", endless, NULL, "last" };
    static const char *const types[NODES] = { "Conv", "Relu", "",     "Conv",
                                              "a b",  "Conv", "Conv", "com.example:Op_1" };

    memset(endless, 'x', sizeof endless - 1);
    for (size_t i = 0; i < NODES; i++) {
        items[i].name = names[i];
        items[i].type = types[i];
        nodes[i] = &items[i];
    }
    graph.nodes = nodes;
    state.graph = &graph;
    process = (struct attach_process){ .pid = getpid() };
}

static uint32_t look(uint64_t where, uint32_t index)
{
    uint64_t read_ns;
    uint32_t node = attach_node_of(&process, &kernels, where, index, &read_ns);

    CHECK(!where || read_ns);
    return node;
}

static uint32_t node_of(uint32_t index)
{
    return look((uint64_t)(uintptr_t)&state, index);
}

static void names_and_types(void)
{
    uint32_t node;

    make();
    node = node_of(0);
    REQUIRE(node);
    CHECK_STR(process.nodes.items[node - 1].name, "conv1");
    CHECK_STR(process.nodes.items[node - 1].type, "Conv");
    node = node_of(1); /* as ONNX Runtime calls one without a name */
    REQUIRE(node);
    CHECK_STR(process.nodes.items[node - 1].name, "Relu_1");
    node = node_of(7);
    REQUIRE(node);
    CHECK_STR(process.nodes.items[node - 1].type, "com.example:Op_1");
    attach_nodes_free(&process);
}

static void what_is_no_name(void)
{
    make();
    for (uint32_t i = 2; i <= 6; i++)
        CHECK_UINT(node_of(i), 0);
    CHECK_UINT(node_of(UINT32_MAX), 0);
    CHECK_UINT(look(0, 0), 0);
    CHECK_UINT(look(8, 0), 0);
    CHECK_UINT(look(UINT64_MAX, 0), 0);
    CHECK_UINT(look(UINT64_MAX - 7, 3), 0);
    nodes[0] = (struct made_node *)(uintptr_t)-16;
    CHECK_UINT(node_of(0), 0);
    graph.nodes = (struct made_node **)(uintptr_t)0x7fffffffffff;
    CHECK_UINT(node_of(1), 0);
    attach_nodes_free(&process);
}

static void read_once_until_forgotten(void)
{
    uint32_t first;

    make();
    first = node_of(0);
    items[0].name = "another";
    CHECK_UINT(node_of(0), first);
    attach_nodes_forget_seats(&process);
    CHECK(node_of(0) != first);
    items[0].name = "conv1";
    attach_nodes_forget_seats(&process);
    CHECK_UINT(node_of(0), first); /* one entry for one name */
    attach_nodes_free(&process);
}

static void many(void)
{
    make();
    for (uint64_t where = 1; where < 20000; where++)
        CHECK_UINT(look(where * 16, (uint32_t)where), 0);
    CHECK(node_of(0) != 0);
    attach_nodes_free(&process);
}

static void trusted_until_a_turn(void)
{
    make();
    CHECK_UINT(attach_trusted_until(&process, 5, 100), UINT64_MAX);
    attach_turn_add(&process, 6, 150);
    CHECK_UINT(attach_trusted_until(&process, 5, 100), UINT64_MAX);
    attach_turn_add(&process, 5, 200);
    attach_turn_add(&process, 0, 180);
    CHECK_UINT(attach_trusted_until(&process, 5, 100), 180);
    CHECK_UINT(attach_trusted_until(&process, 5, 190), 200);
    CHECK_UINT(attach_trusted_until(&process, 5, 201), UINT64_MAX);
    for (uint64_t i = 0; i < ATTACH_TURNS; i++)
        attach_turn_add(&process, 7, 1000 + i);
    CHECK_UINT(attach_trusted_until(&process, 5, 100), 0); /* nobody knows any more */
    CHECK_UINT(attach_trusted_until(&process, 5, 2000), UINT64_MAX);
}

TAP_MAIN(TAP_CASE(names_and_types), TAP_CASE(what_is_no_name), TAP_CASE(read_once_until_forgotten),
         TAP_CASE(many), TAP_CASE(trusted_until_a_turn))
