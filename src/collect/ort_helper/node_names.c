// SPDX-License-Identifier: Apache-2.0
/* From the arguments of ExecuteKernel to the name of the node: see node_names.h. */
#include "collect/ort_helper/node_names.h"

#include <stdio.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

#include "collect/ort_helper/tell.h"

#define WAYS_MAX    64
#define CALLS_MAX   32
#define WORD        sizeof(uint64_t)
#define CONTEXT_MAX 8 /* words that are looked at in each */
#define STATE_MAX   64
#define GRAPH_MAX   72
#define NODE_MAX    24
#define NAME_BYTES  32

struct call {
    uintptr_t function;
    uint64_t arguments[TRAPS_ARGUMENTS];
};

struct way {
    uintptr_t function;
    unsigned argument;
    unsigned offsets[5];
    unsigned right; /* nodes whose name was found */
    bool wrong;
};

static struct call calls[CALLS_MAX];
static volatile size_t call_count;
static struct way ways[WAYS_MAX];
static size_t way_count;
static bool looked;
static const char *type_looked_for;

bool node_names_peek(uint64_t address, void *out, size_t size)
{
    struct iovec here = { out, size };
    struct iovec there = { (void *)(uintptr_t)address, size };

    return process_vm_readv(getpid(), &here, 1, &there, 1, 0) == (ssize_t)size;
}

void node_names_entered(uintptr_t function, const uint64_t arguments[TRAPS_ARGUMENTS])
{
    struct call *call = &calls[call_count % CALLS_MAX];

    call->function = function;
    memcpy(call->arguments, arguments, sizeof call->arguments);
    call_count++;
}

static bool is_pointer(uint64_t value)
{
    return value >= 0x10000 && value < UINT64_C(1) << 47 && value % WORD == 0;
}

/* As many words as there are, up to `count`; an object may end before a page does. */
static size_t peek_words(uint64_t address, uint64_t *out, size_t count)
{
    if (!is_pointer(address))
        return 0;
    while (count && !node_names_peek(address, out, count * WORD))
        count /= 2;
    return count;
}

static bool has_text(uint64_t address, const char *text)
{
    char found[NAME_BYTES];
    size_t bytes = strlen(text) + 1;

    return bytes <= sizeof found && node_names_peek(address, found, bytes) &&
           memcmp(found, text, bytes) == 0;
}

static bool is_name(uint64_t nodes, uint64_t index, unsigned offset, const char *prefix)
{
    char name[NAME_BYTES];
    uint64_t node;
    uint64_t characters;

    snprintf(name, sizeof name, "%s%u", prefix, (unsigned)index);
    return node_names_peek(nodes + index * WORD, &node, WORD) && is_pointer(node) &&
           node_names_peek(node + offset, &characters, WORD) && has_text(characters, name);
}

static void add_way(const struct way *way)
{
    if (way_count < WAYS_MAX)
        ways[way_count++] = *way;
}

/* Where the type of a node is; 0 if it cannot be seen. */
static unsigned find_type(uint64_t node, unsigned behind)
{
    for (unsigned offset = behind + (unsigned)WORD; offset < NODE_MAX * WORD; offset += WORD) {
        uint64_t characters;

        if (node_names_peek(node + offset, &characters, WORD) &&
            has_text(characters, type_looked_for))
            return offset;
    }
    return 0;
}

/* Is this an array of pointers to the nodes? */
static void try_nodes(struct way *way, uint64_t nodes, uint64_t index, const char *prefix,
                      unsigned count)
{
    uint64_t pointers[16];

    if (count > 16 || peek_words(nodes, pointers, count) != count)
        return;
    for (unsigned i = 0; i < count; i++)
        if (!is_pointer(pointers[i]))
            return;
    for (unsigned word = 0; word < NODE_MAX; word++) {
        unsigned right = 0;

        while (right < count && is_name(nodes, right, word * (unsigned)WORD, prefix))
            right++;
        way->offsets[3] = word * (unsigned)WORD;
        if (right < count)
            continue;
        way->offsets[4] = find_type(pointers[index], way->offsets[3]);
        add_way(way);
    }
}

static void try_state(struct way *way, uint64_t state, uint64_t index, const char *prefix,
                      unsigned count)
{
    uint64_t states[STATE_MAX];
    size_t state_words = peek_words(state, states, STATE_MAX);

    for (size_t b = 0; b < state_words; b++) {
        uint64_t graph[GRAPH_MAX];
        size_t graph_words = peek_words(states[b], graph, GRAPH_MAX);

        way->offsets[1] = (unsigned)(b * WORD);
        for (size_t c = 0; c < graph_words; c++) {
            way->offsets[2] = (unsigned)(c * WORD);
            if (is_pointer(graph[c]))
                try_nodes(way, graph[c], index, prefix, count);
        }
    }
}

static void look(const struct call *call, unsigned argument, uint64_t index, const char *prefix,
                 unsigned count)
{
    struct way way = { .function = call->function, .argument = argument };
    uint64_t context[CONTEXT_MAX];
    size_t words = peek_words(call->arguments[argument], context, CONTEXT_MAX);

    for (size_t a = 0; a < words; a++) {
        way.offsets[0] = (unsigned)(a * WORD);
        try_state(&way, context[a], index, prefix, count);
    }
}

static void check(struct way *way, const struct call *call, uint64_t index, const char *prefix)
{
    uint64_t at = call->arguments[way->argument];

    for (size_t i = 0; i < 3; i++)
        if (!is_pointer(at) || !node_names_peek(at + way->offsets[i], &at, WORD)) {
            way->wrong = true;
            return;
        }
    if (is_name(at, index, way->offsets[3], prefix))
        way->right++;
    else
        way->wrong = true;
}

void node_names_begin(void)
{
    call_count = 0;
}

static bool has_argument(const struct call *call, uint64_t value)
{
    for (unsigned k = 0; k < TRAPS_ARGUMENTS; k++)
        if (call->arguments[k] == value)
            return true;
    return false;
}

void node_names_computed(uint64_t index, const char *prefix, unsigned count, const char *type)
{
    size_t available = call_count < CALLS_MAX ? call_count : CALLS_MAX;

    type_looked_for = type;
    for (size_t i = 0; i < available && index < count; i++) {
        const struct call *call = &calls[i];

        if (!has_argument(call, index))
            continue;
        for (unsigned k = 0; k < TRAPS_ARGUMENTS && !looked; k++)
            look(call, k, index, prefix, count);
        for (size_t w = 0; w < way_count; w++)
            if (ways[w].function == call->function)
                check(&ways[w], call, index, prefix);
    }
    looked |= way_count > 0;
    call_count = 0;
}

void node_names_tell(uintptr_t base)
{
    for (size_t w = 0; w < way_count; w++) {
        struct tell line;

        if (ways[w].wrong)
            continue;
        tell_begin(&line, "names");
        tell_hex(&line, ways[w].function - base);
        tell_number(&line, ways[w].argument + 1);
        for (size_t i = 0; i < 5; i++)
            tell_number(&line, ways[w].offsets[i]);
        tell_number(&line, ways[w].right);
        tell_end(&line);
    }
}
