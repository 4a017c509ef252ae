// SPDX-License-Identifier: Apache-2.0
/*
 * Names of nodes in the memory of a process that lies. Strategies:
 *
 * 1. The first bytes are the offsets that a helper found, and which nodes are asked for; the rest
 *    is memory at a known address, where a kernel's state lies at the beginning.
 * 2. Each node is asked for twice, and again when what was found has been forgotten.
 *
 * What is found has a name that can be shown, and is found again under the same number.
 */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "collect/ort_attach/attach_internal.h"
#include "fixed_memory.h"

#define HEAD  8u
#define NODES 16u

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool condition)
{
    if (!condition)
        abort();
}

static void check_node(const struct attach_process *process, uint32_t node)
{
    const struct attach_nodes *nodes = &process->nodes;

    require(node && node <= nodes->count);
    require(nodes->items[node - 1].name[0]);
    for (const char *at = nodes->items[node - 1].name; *at; at++)
        require((unsigned char)*at >= 0x20 && *at != 0x7f);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct attach_process process; /* large, and all zero between inputs */
    struct attach_kernels kernels = { .since_ns = 1 };
    uint64_t read_ns;

    if (size < HEAD)
        return 0;
    process.pid = getpid();
    for (size_t i = 0; i < 5; i++)
        kernels.offsets[i] = data[i] * 8u;
    fixed_memory_fill(data + HEAD, size - HEAD);
    for (uint32_t i = 0; i < NODES; i++) {
        uint32_t index = i * (data[5] ? data[5] : 1u);
        uint64_t state = FIXED_MEMORY_BASE + data[6] * (uint64_t)i;
        uint32_t node = attach_node_of(&process, &kernels, state, index, &read_ns);

        require(attach_node_of(&process, &kernels, state, index, &read_ns) == node);
        if (node)
            check_node(&process, node);
        if (data[7] & 1) {
            attach_nodes_forget_seats(&process);
            require(attach_node_of(&process, &kernels, state, index, &read_ns) == node);
        }
    }
    attach_nodes_free(&process);
    return 0;
}
