// SPDX-License-Identifier: Apache-2.0
/* Models made in memory: see made_model.h. The format is that of protocol buffers. */
#include "collect/ort_helper/made_model.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

const char made_model_ops[MADE_MODEL_NODES][4] = { "P0", "P1", "P2", "P3", "P4", "P5" };

struct message {
    size_t used;
    uint8_t bytes[MADE_MODEL_BYTES];
};

static void put_varint(struct message *message, size_t value)
{
    for (; value >= 0x80; value >>= 7)
        message->bytes[message->used++] = (uint8_t)(value | 0x80);
    message->bytes[message->used++] = (uint8_t)value;
}

static void put_number(struct message *message, unsigned field, size_t value)
{
    put_varint(message, field << 3);
    put_varint(message, value);
}

static void put_bytes(struct message *message, unsigned field, const void *bytes, size_t size)
{
    put_varint(message, field << 3 | 2);
    put_varint(message, size);
    memcpy(message->bytes + message->used, bytes, size);
    message->used += size;
}

static void put_text(struct message *message, unsigned field, const char *text)
{
    put_bytes(message, field, text, strlen(text));
}

static void put_message(struct message *message, unsigned field, const struct message *inner)
{
    put_bytes(message, field, inner->bytes, inner->used);
}

/* A value of one float. */
static void put_value(struct message *graph, unsigned field, const char *name)
{
    struct message dim = { 0 }, shape = { 0 }, tensor = { 0 }, type = { 0 }, value = { 0 };

    put_number(&dim, 1, 1);
    put_message(&shape, 1, &dim);
    put_number(&tensor, 1, 1);
    put_message(&tensor, 2, &shape);
    put_message(&type, 1, &tensor);
    put_text(&value, 1, name);
    put_message(&value, 2, &type);
    put_message(graph, field, &value);
}

/* The node at a place of the order. */
static void put_node(struct message *graph, size_t position, char type, const char *name,
                     char value)
{
    char input[] = { value, (char)('0' + position), '\0' };
    char output[] = { value, (char)('1' + position), '\0' };
    struct message node = { 0 };

    put_text(&node, 1, position ? input : MADE_MODEL_INPUT);
    put_text(&node, 2, output);
    put_text(&node, 3, name);
    if (type == 'P') {
        put_text(&node, 4, made_model_ops[position]);
        put_text(&node, 7, MADE_MODEL_DOMAIN);
    } else {
        put_text(&node, 4, "Neg");
    }
    put_message(graph, 1, &node);
}

/* All nodes, named by their index: prefix and a digit. */
static void put_chain(struct message *graph, const char *order, bool backwards, const char *prefix,
                      char value)
{
    for (size_t index = 0; index < MADE_MODEL_NODES; index++) {
        size_t position = backwards ? MADE_MODEL_NODES - 1 - index : index;
        char name[32];

        snprintf(name, sizeof name, "%s%zu", prefix, index);
        put_node(graph, position, order[position], name, value);
    }
    put_text(graph, 2, "g");
}

/* A graph that is an attribute of a node. */
static void put_branch(struct message *node, const char *name, const char *prefix, char value)
{
    char output[] = { value, '0' + MADE_MODEL_NODES, '\0' };
    struct message graph = { 0 }, attribute = { 0 };

    put_chain(&graph, MADE_MODEL_NESTED_ORDER, false, prefix, value);
    put_value(&graph, 12, output);
    put_text(&attribute, 1, name);
    put_message(&attribute, 6, &graph);
    put_number(&attribute, 20, 5);
    put_message(node, 5, &attribute);
}

/* true, as a constant of the graph. */
static void put_condition(struct message *graph)
{
    static const uint8_t one = 1;
    struct message tensor = { 0 };

    put_number(&tensor, 2, 9);
    put_text(&tensor, 8, "c");
    put_bytes(&tensor, 9, &one, 1);
    put_message(graph, 5, &tensor);
}

static void put_opset(struct message *model, const char *domain, size_t version)
{
    struct message opset = { 0 };

    if (domain)
        put_text(&opset, 1, domain);
    put_number(&opset, 2, version);
    put_message(model, 8, &opset);
}

static size_t put_model(const struct message *graph, uint8_t out[MADE_MODEL_BYTES])
{
    struct message model = { 0 };

    put_number(&model, 1, 7);
    put_message(&model, 7, graph);
    put_opset(&model, NULL, 11);
    put_opset(&model, MADE_MODEL_DOMAIN, 1);
    memcpy(out, model.bytes, model.used);
    return model.used;
}

size_t made_model(uint8_t out[MADE_MODEL_BYTES])
{
    struct message graph = { 0 };

    put_chain(&graph, MADE_MODEL_ORDER, true, MADE_MODEL_PREFIX, 'v');
    put_value(&graph, 11, MADE_MODEL_INPUT);
    put_value(&graph, 12, MADE_MODEL_OUTPUT);
    return put_model(&graph, out);
}

size_t made_model_nested(uint8_t out[MADE_MODEL_BYTES])
{
    struct message graph = { 0 }, node = { 0 };

    put_text(&node, 1, "c");
    put_text(&node, 2, MADE_MODEL_OUTPUT);
    put_text(&node, 3, "choice");
    put_text(&node, 4, "If");
    put_branch(&node, "else_branch", "no-", 'n');
    put_branch(&node, "then_branch", MADE_MODEL_NESTED_PREFIX, 'y');
    put_message(&graph, 1, &node);
    put_text(&graph, 2, "g");
    put_condition(&graph);
    put_value(&graph, 11, MADE_MODEL_INPUT);
    put_value(&graph, 12, MADE_MODEL_OUTPUT);
    return put_model(&graph, out);
}
