// SPDX-License-Identifier: Apache-2.0
/* Models written by hand: what is counted, what is refused, and how little is read. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "onnx/fixture.h"
#include "tap.h"

static const struct onnx_options with_costs = { .costs = true };
static char folder[64];
static struct ifg_error err;

static const char *in_folder(const char *name)
{
    static char path[4][256];
    static unsigned next;
    char *out = path[next++ % 4];

    snprintf(out, 256, "%s/%s", folder, name);
    return out;
}

static void make_folder(void)
{
    snprintf(folder, sizeof folder, "/tmp/ifg-onnx-XXXXXX");
    REQUIRE(mkdtemp(folder) != NULL);
}

static void remove_folder(void)
{
    char command[128];

    snprintf(command, sizeof command, "rm -rf '%s'", folder);
    CHECK_INT(system(command), 0);
}

static void write_file(const char *name, const void *data, size_t size)
{
    int fd = open(in_folder(name), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

    REQUIRE(fd >= 0 && write(fd, data, size) == (ssize_t)size);
    close(fd);
}

static struct onnx_model *open_message(message graph)
{
    struct onnx_model *model = NULL;
    message file = model_of(graph);

    if (onnx_open_memory(file.data, file.size, &with_costs, &model, &err))
        tap_diag("%s", err.message);
    ifg_bytes_fini(&file);
    REQUIRE(model != NULL);
    return model;
}

static message small_graph(void)
{
    message graph = new_message();

    put_node(&graph, "MatMul", "x w", "y");
    put_port(&graph, 11, "x", 1, "nx4");
    put_port(&graph, 12, "y", 1, "nx2");
    put_weight(&graph, "w", 1, "4x2");
    return graph;
}

/* ---- what is counted ---- */

static void header(void)
{
    struct onnx_model *model = open_message(small_graph());

    CHECK_INT(model->ir_version, 8);
    CHECK_STR(model->producer, "tests 1.0");
    CHECK_STR(model->graph_name, "a graph");
    REQUIRE_UINT(model->opset_count, 1);
    CHECK_STR(model->opsets[0].domain, "ai.onnx");
    CHECK_INT(model->opsets[0].version, 17);
    REQUIRE_UINT(model->input_count, 1);
    CHECK_STR(model->inputs[0].name, "x");
    CHECK_STR(model->inputs[0].kind, "tensor");
    CHECK_STR(model->inputs[0].dim_names[0], "n");
    CHECK_INT(model->inputs[0].dims[0], -1);
    CHECK_INT(model->inputs[0].dims[1], 4);
    CHECK_UINT(model->node_count, 1);
    CHECK_UINT(model->parameters, 8);
    CHECK_UINT(model->weight_bytes, 32);
    onnx_close(model);
}

static void narrow_types(void)
{
    static const struct {
        int type;
        const char *name;
        uint64_t bytes; /* of 7 elements */
    } types[] = {
        { 22, "int4", 4 },     { 21, "uint4", 4 },        { 17, "float8e4m3fn", 7 },
        { 3, "int8", 7 },      { 10, "float16", 14 },     { 16, "bfloat16", 14 },
        { 11, "float64", 56 }, { 15, "complex128", 112 }, { 23, "float4e2m1", 4 },
        { 25, "uint2", 2 },    { 9, "bool", 7 },
    };

    for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
        message graph = new_message();
        struct onnx_model *model;

        put_weight(&graph, "w", types[i].type, "7");
        model = open_message(graph);
        tap_note("%s", types[i].name);
        CHECK_STR(onnx_type_name(types[i].type), types[i].name);
        CHECK_UINT(model->weights[types[i].type].elements, 7);
        CHECK_UINT(model->weights[types[i].type].bytes, types[i].bytes);
        CHECK(model->quantized_share == (onnx_type_is_small(types[i].type) ? 1 : 0));
        onnx_close(model);
    }
    CHECK_STR(onnx_type_name(99), "unknown");
    CHECK_STR(onnx_type_name(-1), "unknown");
}

static message constant_of(const char *name, unsigned field, const void *data, size_t size)
{
    message node = node_of("Constant", "", "y");
    message attribute = new_message();

    put_text(&attribute, 1, name);
    put_bytes(&attribute, field, data, size);
    put_message(&node, 5, attribute);
    return node;
}

static void constants_in_every_form(void)
{
    static const float floats[] = { 1, 2, 3 };
    static const unsigned char ints[] = { 1, 2, 3, 4 };
    message graph = new_message();
    message one = node_of("Constant", "", "one");
    message sparse = new_message();
    message attribute = new_message();
    message node = node_of("Constant", "", "s");
    message tensor = tensor_of("", 11, "2x3", NULL, 0);
    struct onnx_model *model;

    put_int(&one, "value_int", 5);
    put_message(&graph, 1, one);
    put_message(&graph, 1, constant_of("value_floats", 7, floats, sizeof floats));
    put_message(&graph, 1, constant_of("value_ints", 8, ints, sizeof ints));
    put_message(&graph, 1, constant_of("value", 5, tensor.data, tensor.size));
    put_message(&sparse, 1, tensor_of("", 1, "5", NULL, 0));
    put_message(&sparse, 2, tensor_of("", 7, "5", NULL, 0));
    put_number(&sparse, 3, 1000);
    put_text(&attribute, 1, "sparse_value");
    put_message(&attribute, 22, sparse);
    put_message(&node, 5, attribute);
    put_message(&graph, 1, node);
    ifg_bytes_fini(&tensor);
    model = open_message(graph);
    CHECK_UINT(model->parameters, 1 + 3 + 4 + 6 + 5);
    CHECK_UINT(model->constant_parameters, model->parameters);
    CHECK_UINT(model->weights[7].elements, 5);
    CHECK_UINT(model->weights[1].elements, 8);
    CHECK_UINT(model->weights[1].bytes, 8 * 4 + 5 * 8);
    CHECK_UINT(model->weights[11].bytes, 48);
    onnx_close(model);
}

static void weights_in_subgraphs_and_functions(void)
{
    message graph = new_message();
    message inner = new_message();
    message choice = node_of("If", "flag", "y");
    message model = new_message();
    message function = new_message();
    message opset = new_message();
    struct onnx_model *opened = NULL;

    put_node(&inner, "Add", "x w", "z");
    put_weight(&inner, "w", 1, "10");
    put_graph(&choice, "then_branch", inner);
    put_message(&graph, 1, choice);
    put_port(&graph, 11, "flag", 9, "");
    put_text(&function, 1, "Twice");
    put_text(&function, 10, "mine");
    put_message(&function, 7, node_of("Add", "a a", "b"));
    put_message(&function, 7, constant_of("value_floats", 7, "\0\0\0\0", 4));
    put_message(&model, 7, graph);
    put_number(&opset, 2, 17);
    put_message(&model, 8, opset);
    put_message(&model, 25, function);
    CHECK_INT(onnx_open_memory(model.data, model.size, &with_costs, &opened, &err), IFG_OK);
    ifg_bytes_fini(&model);
    REQUIRE(opened != NULL);
    CHECK_UINT(opened->parameters, 11);
    CHECK_UINT(opened->subgraph_count, 1);
    CHECK_UINT(opened->node_count, 2);
    REQUIRE_UINT(opened->function_count, 1);
    CHECK_STR(opened->functions[0].name, "Twice");
    CHECK_UINT(opened->functions[0].node_count, 2);
    CHECK_UINT(opened->nodes[1].parameters, 10);
    onnx_close(opened);
}

static void weights_are_not_inputs(void)
{
    message graph = small_graph();
    struct onnx_model *model;

    put_port(&graph, 11, "w", 1, "4x2");
    model = open_message(graph);
    CHECK_UINT(model->input_count, 1);
    onnx_close(model);
}

static void quantized(void)
{
    message graph = new_message();
    message packed = node_of("MatMulNBits", "y b scales", "z");
    struct onnx_model *model;

    put_node(&graph, "DequantizeLinear", "w s", "d");
    put_node(&graph, "MatMul", "x d", "y");
    put_text(&packed, 7, "com.microsoft");
    put_int(&packed, "K", 32);
    put_int(&packed, "N", 10);
    put_message(&graph, 1, packed);
    put_port(&graph, 11, "x", 1, "1x8");
    put_weight(&graph, "w", 5, "8x32"); /* int16 */
    put_weight(&graph, "s", 1, "1");
    put_weight(&graph, "b", 2, "10x1x16"); /* two in a byte */
    put_weight(&graph, "scales", 1, "10");
    model = open_message(graph);
    CHECK_UINT(model->weights[21].elements, 320);
    CHECK_UINT(model->weights[21].bytes, 160);
    CHECK_UINT(model->weights[2].tensors, 0);
    CHECK_UINT(model->parameters, 256 + 1 + 320 + 10);
    CHECK(model->quantized_share == (256.0 + 320) / 587);
    CHECK_UINT(model->nodes[1].parameters, 257); /* the layer's, not DequantizeLinear's */
    CHECK_UINT(model->nodes[2].parameters, 330);
    onnx_close(model);
}

static void operators_are_counted(void)
{
    message graph = new_message();
    message other = node_of("Relu", "y", "z");
    struct onnx_model *model;

    put_node(&graph, "Relu", "x", "y");
    put_node(&graph, "Relu", "y", "u");
    put_node(&graph, "Abs", "y", "v");
    put_text(&other, 7, "com.example");
    put_message(&graph, 1, other);
    model = open_message(graph);
    REQUIRE_UINT(model->op_count, 3);
    CHECK_STR(model->ops[0].op_type, "Relu");
    CHECK_UINT(model->ops[0].count, 2);
    CHECK_STR(model->ops[1].op_type, "Abs");
    CHECK_STR(model->ops[2].domain, "com.example");
    onnx_close(model);
}

static void inputs_that_are_indices(void)
{
    message graph = new_message();
    struct onnx_bound bounds[4];
    struct onnx_model *model;

    put_node(&graph, "Cast", "ids", "wide");
    put_node(&graph, "Unsqueeze", "wide axes", "more");
    put_node(&graph, "Gather", "table more", "y");
    put_node(&graph, "Gather", "short ids", "z");
    put_node(&graph, "Add", "free one", "sum");
    put_node(&graph, "Gather", "table sum", "u");
    put_port(&graph, 11, "ids", 6, "nx?");
    put_port(&graph, 11, "free", 7, "n");
    put_weight(&graph, "table", 1, "30522x8");
    put_weight(&graph, "short", 1, "512x8");
    put_weight(&graph, "one", 7, "1");
    put_weight(&graph, "axes", 7, "1");
    model = open_message(graph);
    REQUIRE_UINT(onnx_input_bounds(model, bounds, 4), 1);
    CHECK_STR(bounds[0].input, "ids");
    CHECK_INT(bounds[0].below, 512);
    CHECK_UINT(onnx_input_bounds(model, bounds, 0), 0);
    onnx_close(model);
}

/* ---- files ---- */

static message external_tensor(const char *name, const char *dims, const char *location,
                               const char *offset)
{
    message tensor = tensor_of(name, 1, dims, NULL, 0);
    message entry = new_message();

    put_text(&entry, 1, "location");
    put_text(&entry, 2, location);
    put_message(&tensor, 13, entry);
    entry = new_message();
    put_text(&entry, 1, "offset");
    put_text(&entry, 2, offset);
    put_message(&tensor, 13, entry);
    put_number(&tensor, 14, 1);
    return tensor;
}

/* A file without contents, as large as one likes. */
static void make_sparse(const char *name, off_t size)
{
    int fd = open(in_folder(name), O_WRONLY | O_CREAT | O_CLOEXEC, 0600);

    REQUIRE(fd >= 0);
    if (ftruncate(fd, size) != 0) {
        int error_number = errno;

        remove_folder();
        SKIP("no file of %lld bytes: %s", (long long)size, strerror(error_number));
    }
    close(fd);
}

static void external_data(void)
{
    struct onnx_model *model = NULL;
    message graph = new_message();
    message file;

    make_folder();
    make_sparse("weights.bin", 4000000);
    put_message(&graph, 5, external_tensor("w", "1000x1000", "weights.bin", "0"));
    put_message(&graph, 5, external_tensor("v", "10", "weights.bin", "3999980"));
    put_message(&graph, 5, external_tensor("gone", "10", "gone.bin", "0"));
    put_message(&graph, 5, external_tensor("bad", "10", "../../etc/passwd", "0"));
    put_message(&graph, 5, external_tensor("worse", "10", "/etc/passwd", "0"));
    file = model_of(graph);
    write_file("m.onnx", file.data, file.size);
    CHECK_INT(onnx_open(in_folder("m.onnx"), NULL, &model, &err), IFG_OK);
    REQUIRE(model != NULL);
    CHECK_UINT(model->file_bytes, file.size);
    CHECK_UINT(model->external_bytes, 4000000);
    CHECK_UINT(model->parameters, 1000040);
    REQUIRE_UINT(model->file_count, 4);
    CHECK(model->files[0].is_outside && model->files[1].is_outside);
    CHECK_STR(model->files[2].path, "gone.bin");
    CHECK(model->files[2].missing && !model->files[3].missing);
    REQUIRE_UINT(model->note_count, 4);
    CHECK_CONTAINS(model->notes[0], "suspicious");
    CHECK_CONTAINS(model->notes[1], "/etc/passwd");
    CHECK_CONTAINS(model->notes[2], "missing");
    CHECK_CONTAINS(model->notes[3], "too short");
    onnx_close(model);
    ifg_bytes_fini(&file);
    remove_folder();
}

static uint64_t bytes_read(void)
{
    unsigned long long count = 0;
    char line[128];
    FILE *io = fopen("/proc/self/io", "r");

    while (io && fgets(line, sizeof line, io))
        if (strncmp(line, "rchar:", 6) == 0)
            count = strtoull(line + 6, NULL, 10);
    if (io)
        fclose(io);
    return count;
}

/* Weights of two gigabytes in the file, of three beside it: none of that is read. */
static void large_models_are_not_read(void)
{
    const uint64_t each = 1100u << 20;
    struct onnx_model *model = NULL;
    message head = new_message();
    message graph_end = new_message();
    message weight = tensor_of("w", 1, "1100x512x512", NULL, 0);
    message outer = new_message();
    uint64_t before;
    uint64_t graph_size;
    off_t at = 0;
    int fd;

    make_folder();
    make_sparse("big.bin", (off_t)3 << 30);
    ifg_bytes_put_varint(&weight, 9 << 3 | 2);
    ifg_bytes_put_varint(&weight, each);
    ifg_bytes_put_varint(&outer, 5 << 3 | 2);
    ifg_bytes_put_varint(&outer, weight.size + each);
    put_message(&graph_end, 5, external_tensor("e", "768x1024x1024", "big.bin", "0"));
    put_node(&graph_end, "Relu", "x", "y");
    graph_size = 2 * (outer.size + weight.size + each) + graph_end.size;
    put_number(&head, 1, 8);
    ifg_bytes_put_varint(&head, 7 << 3 | 2);
    ifg_bytes_put_varint(&head, graph_size);
    make_sparse("m.onnx", (off_t)(head.size + graph_size));
    fd = open(in_folder("m.onnx"), O_WRONLY | O_CLOEXEC);
    REQUIRE(fd >= 0);
    REQUIRE(pwrite(fd, head.data, head.size, 0) == (ssize_t)head.size);
    at = (off_t)head.size;
    for (int i = 0; i < 2; i++) {
        REQUIRE(pwrite(fd, outer.data, outer.size, at) == (ssize_t)outer.size);
        at += (off_t)outer.size;
        REQUIRE(pwrite(fd, weight.data, weight.size, at) == (ssize_t)weight.size);
        at += (off_t)(weight.size + each);
    }
    REQUIRE(pwrite(fd, graph_end.data, graph_end.size, at) == (ssize_t)graph_end.size);
    close(fd);
    before = bytes_read();
    CHECK_INT(onnx_open(in_folder("m.onnx"), &with_costs, &model, &err), IFG_OK);
    if (before)
        CHECK(bytes_read() - before < 1u << 20);
    REQUIRE(model != NULL);
    CHECK_UINT(model->parameters, 2ull * 1100 * 512 * 512 + 768ull * 1024 * 1024);
    CHECK_UINT(model->external_bytes, 3ull << 30);
    CHECK(model->file_bytes > 2ull << 30);
    CHECK_UINT(model->note_count, 0);
    onnx_close(model);
    ifg_bytes_fini(&head);
    ifg_bytes_fini(&graph_end);
    ifg_bytes_fini(&weight);
    ifg_bytes_fini(&outer);
    remove_folder();
}

static void directories(void)
{
    struct onnx_model *model = NULL;
    message file = model_of(small_graph());

    make_folder();
    CHECK_INT(onnx_open(folder, NULL, &model, &err), IFG_INVALID);
    CHECK_CONTAINS(err.message, "without a model");
    write_file("notes.txt", "12345", 5);
    write_file("a.onnx", file.data, file.size);
    write_file("b.onnx", "<html>", 6);
    REQUIRE_INT(mkdir(in_folder("sub"), 0700), 0);
    write_file("sub/c.onnx", file.data, file.size);
    write_file("sub/genai_config.json", "{}", 2);
    write_file("blob", file.data, file.size); /* as in the cache of a hub */
    REQUIRE_INT(symlink("../blob", in_folder("sub/d.onnx")), 0);
    REQUIRE_INT(symlink("..", in_folder("sub/loop")), 0);
    REQUIRE_INT(symlink("a.onnx", in_folder("again.onnx")), 0);
    REQUIRE_INT(symlink("nowhere", in_folder("broken.onnx")), 0);
    CHECK_INT(onnx_open(folder, NULL, &model, &err), IFG_OK);
    REQUIRE(model != NULL);
    CHECK_INT(model->format, ONNX_FORMAT_DIRECTORY);
    CHECK_UINT(model->model_count, 3); /* and one of them has two names */
    CHECK_UINT(model->parameters, 24);
    CHECK_UINT(model->file_bytes, 3 * file.size + 5 + 6 + 2);
    CHECK(model->has_genai_config);
    CHECK_UINT(model->note_count, 2); /* the web page, the broken link */
    CHECK_CONTAINS(model->notes[0], "HTML");
    onnx_close(model);
    ifg_bytes_fini(&file);
    remove_folder();
}

/* Counted once under all its names; packages of others are only summed. */
static void directories_of_others(void)
{
    struct onnx_model *model = NULL;

    make_folder();
    REQUIRE_INT(mkdir(in_folder("Data"), 0700), 0);
    write_file("Data/model.mlmodel", "0123456789", 10);
    write_file("Manifest.json", "{}", 2);
    REQUIRE_INT(link(in_folder("Data/model.mlmodel"), in_folder("twin")), 0);
    CHECK_INT(onnx_open(folder, NULL, &model, &err), IFG_OK);
    REQUIRE(model != NULL);
    CHECK_UINT(model->file_bytes, 12);
    CHECK_UINT(model->model_count, 0);
    onnx_close(model);
    remove_folder();
}

/* ---- what is refused ---- */

static void other_files(void)
{
    static const struct {
        const char *data;
        size_t size;
        const char *says;
    } files[] = {
        { "", 0, "is empty" },
        { "<!DOCTYPE html><html>", 21,
          "not an ONNX model: byte 0 is '<'; this looks like HTML (a download page?)" },
        { "\n  <html>", 9, "HTML" },
        { "<?xml version=", 14, "XML" },
        { "version https://git-lfs.github.com/spec/v1", 42, "Git LFS pointer; run 'git lfs pull'" },
        { "PK\3\4......", 10, "zip archive" },
        { "\x1f\x8b\x08......", 9, "gunzip" },
        { "GGUF\3\0\0\0", 8, "GGUF" },
        { "\x02\0\0\0\0\0\0\0{}", 10, "safetensors" },
        { "\x1c\0\0\0TFL3.....", 13, "TensorFlow Lite" },
        { "\x80\x02}q\1", 5, "pickle" },
        { "\x0a\x20\x0a\x05input\x12\x0bPlaceholder", 22, "TensorFlow" },
        { "{\"a\": 1}", 8, "JSON" },
        { "just some words", 15, "text" },
        { "\x08\x08", 2, "no graph" },
        { "\x3a\x00", 2, "neither an IR version nor an opset" },
        { "\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff", 11, "not an ONNX model" },
        { "\x08\x08\x3a\x7f\x0a", 5, "truncated: the graph at byte 2 has 127 bytes" },
        { "\x08\x08\x3a\x80", 4, "truncated: the file ends at byte 4" },
        { "\x08\x08\x3a\x02\x0a\x05", 6, "truncated: the node at byte 4" },
        { "\x08\x08\x3a\x02\x0a\x05.....", 11, "damaged at byte 4: the node" },
        { "\x18\0\0\0ORTM", 8, "damaged" },
        { "\x08\x00\0\0ORTM\xff\xff\xff\x7f", 12, "damaged" },
    };

    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        struct onnx_model *model = NULL;

        tap_note("%s", files[i].says);
        CHECK(onnx_open_memory(files[i].data, files[i].size, NULL, &model, &err) != IFG_OK);
        CHECK(model == NULL);
        CHECK_CONTAINS(err.message, files[i].says);
    }
}

static void missing_files(void)
{
    struct onnx_model *model = NULL;

    CHECK_INT(onnx_open("/nonexistent/m.onnx", NULL, &model, &err), IFG_NOT_FOUND);
    CHECK_INT(onnx_open("/dev/null", NULL, &model, &err), IFG_INVALID);
    make_folder();
    write_file("m.onnx", "x", 1);
    REQUIRE_INT(chmod(in_folder("m.onnx"), 0), 0);
    if (geteuid() != 0)
        CHECK_INT(onnx_open(in_folder("m.onnx"), NULL, &model, &err), IFG_PERMISSION);
    remove_folder();
}

static void every_cut_is_noticed(void)
{
    message file = model_of(small_graph());

    for (size_t size = 0; size + 4 < file.size; size++) { /* the opset at the end may be missing */
        struct onnx_model *model = NULL;

        tap_note("%zu of %zu bytes", size, file.size);
        CHECK(onnx_open_memory(file.data, size, &with_costs, &model, &err) != IFG_OK);
    }
    ifg_bytes_fini(&file);
}

static void sizes_that_cannot_be(void)
{
    struct onnx_model *model = NULL;
    message graph = new_message();
    message file;

    put_weight(&graph, "w", 1, "4294967296x4294967296");
    file = model_of(graph);
    CHECK_INT(onnx_open_memory(file.data, file.size, NULL, &model, &err), IFG_CORRUPT);
    CHECK_CONTAINS(err.message, "more elements than fit");
    ifg_bytes_fini(&file);
    graph = new_message();
    put_weight(&graph, "w", 1, "4294967296x4294967296x0"); /* nothing of that is fine */
    file = model_of(graph);
    CHECK_INT(onnx_open_memory(file.data, file.size, NULL, &model, &err), IFG_OK);
    onnx_close(model);
    ifg_bytes_fini(&file);
    graph = new_message();
    put_message(&graph, 5, tensor_of("w", 1, "4", "123", 3));
    file = model_of(graph);
    CHECK_INT(onnx_open_memory(file.data, file.size, NULL, &model, &err), IFG_OK);
    REQUIRE_UINT(model->note_count, 1);
    CHECK_CONTAINS(model->notes[0], "should have 16 bytes, but has 3");
    onnx_close(model);
    ifg_bytes_fini(&file);
}

static void deep_graphs(void)
{
    message graph = small_graph();
    struct onnx_model *model = NULL;
    message file;

    for (unsigned i = 0; i < NESTING_MAX + 1; i++) {
        message outer = new_message();
        message choice = node_of("If", "flag", "y");

        put_graph(&choice, "then_branch", graph);
        put_message(&outer, 1, choice);
        graph = outer;
    }
    file = model_of(graph);
    CHECK_INT(onnx_open_memory(file.data, file.size, &with_costs, &model, &err), IFG_UNSUPPORTED);
    ifg_bytes_fini(&file);
}

/* Fails one allocation after the other until none is left to fail. */
static void starve(const char *path)
{
    enum ifg_status status = IFG_NO_MEMORY;
    long allowed = 0;

    for (; status == IFG_NO_MEMORY && allowed < 1000; allowed++) {
        struct onnx_model *model = NULL;

        ifg_alloc_fail_after(allowed);
        status = onnx_open(path, &with_costs, &model, &err);
        ifg_alloc_fail_after(-1);
        CHECK(status == IFG_OK || model == NULL);
        onnx_close(model);
    }
    CHECK_INT(status, IFG_OK);
    CHECK(allowed > 2);
}

static void without_memory(void)
{
    message graph = small_graph();
    message file;

    put_message(&graph, 5, external_tensor("v", "10", "gone.bin", "0"));
    file = model_of(graph);
    make_folder();
    write_file("m.onnx", file.data, file.size);
    write_file("n.onnx", file.data, file.size);
    starve(in_folder("m.onnx"));
    starve(folder);
    ifg_bytes_fini(&file);
    remove_folder();
}

TAP_MAIN(TAP_CASE(header), TAP_CASE(narrow_types), TAP_CASE(constants_in_every_form),
         TAP_CASE(weights_in_subgraphs_and_functions), TAP_CASE(weights_are_not_inputs),
         TAP_CASE(quantized), TAP_CASE(operators_are_counted), TAP_CASE(inputs_that_are_indices),
         TAP_CASE(external_data), TAP_CASE(large_models_are_not_read), TAP_CASE(directories),
         TAP_CASE(directories_of_others), TAP_CASE(other_files), TAP_CASE(missing_files),
         TAP_CASE(every_cut_is_noticed), TAP_CASE(sizes_that_cannot_be), TAP_CASE(deep_graphs),
         TAP_CASE(without_memory))
