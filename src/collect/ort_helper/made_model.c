// SPDX-License-Identifier: Apache-2.0
/* Models made in memory: see made_model.h. Protocol buffers, every length below 128 but the graph's. */
#include "collect/ort_helper/made_model.h"

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

static void put_node(struct message *graph, size_t place)
{
    char input[] = { 'v', (char)('0' + place), '\0' };
    char output[] = { 'v', (char)('1' + place), '\0' };
    struct message node = { 0 };

    put_text(&node, 1, input);
    put_text(&node, 2, output);
    if (MADE_MODEL_ORDER[place] == 'P') {
        put_text(&node, 4, made_model_ops[place]);
        put_text(&node, 7, MADE_MODEL_DOMAIN);
    } else {
        put_text(&node, 4, "Neg");
    }
    put_message(graph, 1, &node);
}

static void put_opset(struct message *model, const char *domain, size_t version)
{
    struct message opset = { 0 };

    if (domain)
        put_text(&opset, 1, domain);
    put_number(&opset, 2, version);
    put_message(model, 8, &opset);
}

size_t made_model(uint8_t out[MADE_MODEL_BYTES])
{
    struct message graph = { 0 }, model = { 0 };

    for (size_t place = MADE_MODEL_NODES; place-- > 0;)
        put_node(&graph, place);
    put_text(&graph, 2, "g");
    put_value(&graph, 11, MADE_MODEL_INPUT);
    put_value(&graph, 12, MADE_MODEL_OUTPUT);
    put_number(&model, 1, 7);
    put_message(&model, 7, &graph);
    put_opset(&model, NULL, 11);
    put_opset(&model, MADE_MODEL_DOMAIN, 1);
    memcpy(out, model.bytes, model.used);
    return model.used;
}
