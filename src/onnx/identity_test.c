// SPDX-License-Identifier: Apache-2.0
/* The identity of a model is the same here and in the watched process. */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "hooks/ort/identity.h"
#include "onnx/fixture.h"
#include "tap.h"

static void same_in_both_places(void)
{
    static const size_t sizes[] = { 1,       7,       8,           8191,        8192,   8193,
                                    1048575, 1048576, 1048576 + 1, 1048576 + 9, 3000017 };
    unsigned char *data = malloc(3000017);

    REQUIRE(data != NULL);
    for (size_t i = 0; i < 3000017; i++)
        data[i] = (unsigned char)(i * 2654435761u >> 13);
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        struct wire wire = { .path = "test", .data = data, .bytes = sizes[i], .fd = -1 };
        struct model_identity theirs;

        identity_of_model(data, sizes[i], &theirs);
        tap_note("%zu bytes", sizes[i]);
        CHECK_UINT(onnx_content_hash(&wire), theirs.hash);
    }
    free(data);
}

static void same_of_a_file(void)
{
    char path[] = "/tmp/ifg-onnx-XXXXXX";
    struct model_identity theirs;
    struct onnx_model *model = NULL;
    struct ifg_error err = { 0 };
    message graph = new_message();
    message file;
    char text[20];
    void *zeros = calloc(1, 2000000);
    int fd = mkstemp(path);

    REQUIRE(zeros != NULL);
    put_node(&graph, "Relu", "x", "y");
    put_message(&graph, 5, tensor_of("w", 2, "2000000", zeros, 2000000));
    file = model_of(graph);
    REQUIRE(fd >= 0 && write(fd, file.data, file.size) == (ssize_t)file.size);
    close(fd);
    CHECK_INT(onnx_open(path, NULL, &model, &err), IFG_OK);
    CHECK(identity_of_file(path, &theirs));
    snprintf(text, sizeof text, "%016llx", (unsigned long long)theirs.hash);
    unlink(path);
    REQUIRE(model != NULL);
    CHECK_STR(model->content_id, text);
    CHECK_STR(model->graph_name, theirs.graph_name);
    CHECK_UINT(model->node_count, theirs.nodes);
    onnx_close(model);
    ifg_bytes_fini(&file);
    free(zeros);
}

TAP_MAIN(TAP_CASE(same_in_both_places), TAP_CASE(same_of_a_file))
