// SPDX-License-Identifier: Apache-2.0
/* Models that are small enough to be written by hand, and things that are no models. */
#include "hooks/ort/identity.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tap.h"

/* ---- a writer of protocol buffers, for messages below 16 KiB ---- */

struct buffer {
    unsigned char bytes[8192];
    size_t size;
};

static void put_field(struct buffer *out, unsigned number, const void *data, size_t bytes)
{
    out->bytes[out->size++] = (unsigned char)(number << 3 | 2);
    out->bytes[out->size++] = (unsigned char)(bytes & 0x7f) | 0x80;
    out->bytes[out->size++] = (unsigned char)(bytes >> 7);
    memcpy(out->bytes + out->size, data, bytes);
    out->size += bytes;
}

static void put_text(struct buffer *out, unsigned number, const char *text)
{
    put_field(out, number, text, strlen(text));
}

static void put_node(struct buffer *graph, const char *type)
{
    struct buffer node = { .size = 0 };

    put_text(&node, 3, "a node");
    put_text(&node, 4, type);
    put_field(graph, 1, node.bytes, node.size);
}

static void make_model(struct buffer *model, const char *type, const char *domain)
{
    struct buffer graph = { .size = 0 };
    struct buffer opset = { .size = 0 };

    model->size = 0;
    model->bytes[model->size++] = 1 << 3; /* ir_version */
    model->bytes[model->size++] = 8;
    put_node(&graph, "Relu");
    put_node(&graph, type);
    put_text(&graph, 2, "the graph");
    put_field(model, 7, graph.bytes, graph.size);
    put_text(&opset, 1, domain);
    put_field(model, 8, opset.bytes, opset.size);
}

static void a_model_is_known_by_what_is_in_it(void)
{
    struct buffer model;
    struct buffer other;
    struct model_identity one;
    struct model_identity two;

    make_model(&model, "Conv", "");
    make_model(&other, "Gemm", "");
    identity_of_model(model.bytes, model.size, &one);
    CHECK_STR(one.graph_name, "the graph");
    CHECK_UINT(one.nodes, 2);
    CHECK_UINT(one.bytes, model.size);
    CHECK(!one.has_ep_context && !one.saved_by_ort && !one.is_ort_format);
    identity_of_model(other.bytes, other.size, &two);
    CHECK(one.hash != two.hash);
    identity_of_model(model.bytes, model.size, &two);
    CHECK_UINT(one.hash, two.hash);
}

static void prepared_models_are_recognised(void)
{
    struct model_identity identity;
    struct buffer model;

    make_model(&model, "EPContext", "");
    identity_of_model(model.bytes, model.size, &identity);
    CHECK(identity.has_ep_context && !identity.saved_by_ort);
    make_model(&model, "Conv", "com.microsoft.nchwc");
    identity_of_model(model.bytes, model.size, &identity);
    CHECK(identity.saved_by_ort && !identity.has_ep_context);
    identity_of_model("\x30\0\0\0ORTM rest", 13, &identity);
    CHECK(identity.is_ort_format);
}

static void anything_may_be_given(void)
{
    struct model_identity identity;
    struct buffer model;

    identity_of_model(NULL, 0, &identity);
    CHECK_UINT(identity.bytes, 0);
    identity_of_model("<html>", 6, &identity);
    CHECK_STR(identity.graph_name, "");
    make_model(&model, "Conv", "com.microsoft.nchwc");
    for (size_t cut = 0; cut < model.size; cut++)
        identity_of_model(model.bytes, cut, &identity);
    for (size_t at = 0; at < model.size; at++) {
        unsigned char was = model.bytes[at];

        model.bytes[at] = 0xff;
        identity_of_model(model.bytes, model.size, &identity);
        model.bytes[at] = was;
    }
    CHECK(1);
}

static void a_file_is_the_same_as_its_bytes(void)
{
    char path[] = "/tmp/inferogram-identity-XXXXXX";
    int fd = mkstemp(path);
    struct model_identity file;
    struct model_identity memory;
    struct buffer model;
    size_t large = 3u << 20;
    char *padding = calloc(1, large);

    REQUIRE(fd >= 0 && padding);
    make_model(&model, "Conv", "");
    memcpy(padding, model.bytes, model.size); /* then zeros: no field, the end */
    REQUIRE(write(fd, padding, large) == (ssize_t)large);
    REQUIRE(identity_of_file(path, &file));
    identity_of_model(padding, large, &memory);
    CHECK_UINT(file.hash, memory.hash);
    CHECK_STR(file.graph_name, "the graph");
    padding[large - 1] = 1; /* the last piece counts */
    identity_of_model(padding, large, &memory);
    CHECK(file.hash != memory.hash);
    REQUIRE_INT(ftruncate(fd, 0), 0);
    CHECK(!identity_of_file(path, &file));
    close(fd);
    unlink(path);
    CHECK(!identity_of_file(path, &file));
    CHECK(!identity_of_file(NULL, &file));
    CHECK(!identity_of_file("/", &file));
    CHECK(!identity_of_file("/dev/zero", &file));
    free(padding);
}

TAP_MAIN(TAP_CASE(a_model_is_known_by_what_is_in_it), TAP_CASE(prepared_models_are_recognised),
         TAP_CASE(anything_may_be_given), TAP_CASE(a_file_is_the_same_as_its_bytes))
