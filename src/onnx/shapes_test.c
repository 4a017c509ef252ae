// SPDX-License-Identifier: Apache-2.0
/* Shapes and costs of single operators, against formulas; and what is not known stays unknown. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "onnx/fixture.h"
#include "tap.h"

static struct onnx_model *opened;

static const struct onnx_model *open_graph(message graph, const struct onnx_dim *dims, size_t count)
{
    struct onnx_options options = { .costs = true, .dims = dims, .dim_count = count };
    struct ifg_error err = { 0 };
    message model = model_of(graph);

    onnx_close(opened);
    opened = NULL;
    if (onnx_open_memory(model.data, model.size, &options, &opened, &err))
        tap_diag("%s", err.message);
    REQUIRE(opened != NULL);
    ifg_bytes_fini(&model);
    return opened;
}

static double sum_of_weights(const struct onnx_model *model)
{
    double sum = 0;

    for (size_t i = 0; i < model->nodes_listed; i++)
        sum += model->nodes[i].weight;
    return sum;
}

/* One node between input x and output y; b is a weight if it has dims. */
static const struct onnx_node *one_node(message node, const char *x, const char *b)
{
    message graph = new_message();

    put_message(&graph, 1, node);
    put_port(&graph, 11, "x", 1, x);
    put_port(&graph, 12, "y", 1, NULL);
    if (b)
        put_weight(&graph, "b", 1, b);
    open_graph(graph, NULL, 0);
    CHECK(fabs(sum_of_weights(opened) - 1) < 1e-6);
    return &opened->nodes[0];
}

static void conv(void)
{
    message node = node_of("Conv", "x b", "y");
    const struct onnx_node *result;

    put_ints(&node, "kernel_shape", 2, 3, 3);
    put_ints(&node, "strides", 2, 2, 2);
    put_ints(&node, "pads", 4, 1, 1, 1, 1);
    result = one_node(node, "1x3x224x224", "32x3x3x3");
    CHECK_INT((int64_t)result->flops, 2ll * 32 * 112 * 112 * 3 * 9);
    CHECK_INT((int64_t)result->bytes, 4ll * (3 * 224 * 224 + 32 * 27 + 32 * 112 * 112));
    CHECK_UINT(result->parameters, 32 * 27);
    node = node_of("Conv", "x b bias", "y"); /* the bias is not known, but was given */
    put_int(&node, "group", 8);
    put_ints(&node, "dilations", 1, 2);
    result = one_node(node, "2x8x100", "16x1x5");
    CHECK_INT((int64_t)result->flops, 2ll * 2 * 16 * 92 * 5 + 2 * 16 * 92);
    CHECK(result->bytes < 0);
    CHECK_UINT(opened->cost_unknown, 1);
    node = node_of("Conv", "x b", "y");
    put_string(&node, "auto_pad", "SAME_UPPER");
    put_ints(&node, "strides", 1, 3);
    CHECK_INT((int64_t)one_node(node, "1x1x100", "1x1x5")->flops, 2 * 34 * 5);
}

static void conv_transpose(void)
{
    message node = node_of("ConvTranspose", "x b", "y");

    put_ints(&node, "strides", 2, 2, 2);
    CHECK_INT((int64_t)one_node(node, "1x24x80x80", "24x24x2x2")->flops,
              2ll * 24 * 80 * 80 * 24 * 4);
    CHECK_INT((int64_t)opened->nodes[0].bytes, 4ll * (24 * 80 * 80 + 24 * 24 * 4 + 24 * 160 * 160));
}

static void matrices(void)
{
    const struct onnx_node *result = one_node(node_of("MatMul", "x b", "y"), "8x64x128", "128x256");
    message node;

    CHECK_INT((int64_t)result->flops, 2ll * 8 * 64 * 128 * 256);
    CHECK_INT((int64_t)result->bytes, 4ll * (8 * 64 * 128 + 128 * 256 + 8 * 64 * 256));
    CHECK_INT((int64_t)one_node(node_of("MatMul", "x b", "y"), "128", "128")->flops, 2 * 128);
    node = node_of("Gemm", "x b", "y");
    put_int(&node, "transB", 1);
    CHECK_INT((int64_t)one_node(node, "10x20", "30x20")->flops, 2 * 10 * 20 * 30);
    node = node_of("Gemm", "x b c", "y");
    put_int(&node, "transA", 1);
    CHECK_INT((int64_t)one_node(node, "20x10", "20x30")->flops, 2 * 10 * 20 * 30 + 10 * 30);
    node = node_of("Einsum", "x b", "y");
    put_string(&node, "equation", "bij,jk->bik");
    CHECK_INT((int64_t)one_node(node, "2x3x4", "4x5")->flops, 2 * 2 * 3 * 4 * 5);
    node = node_of("MatMulNBits", "x b scales", "y");
    put_text(&node, 7, "com.microsoft");
    put_int(&node, "K", 64);
    put_int(&node, "N", 32);
    CHECK_INT((int64_t)one_node(node, "1x7x64", NULL)->flops, 2 * 7 * 64 * 32);
    CHECK_INT((int64_t)one_node(node_of("MatMul", "x b", "y"), "3x4", "4x0")->flops, 0);
    CHECK(sum_of_weights(opened) == 1);
}

static void recurrent(void)
{
    message graph = new_message();

    put_node(&graph, "LSTM", "x w r", "y h c");
    put_port(&graph, 11, "x", 1, "3x1x64");
    put_weight(&graph, "w", 1, "1x256x64");
    put_weight(&graph, "r", 1, "1x256x64");
    open_graph(graph, NULL, 0);
    CHECK_INT((int64_t)opened->flops, 2 * 3 * 2 * 256 * 64 + 4 * 4 * 3 * 64);
    CHECK_INT((int64_t)opened->moved_bytes, 4 * (3 * 64 + 2 * 256 * 64 + 3 * 64 + 64 + 64));
}

static double microsoft_flops(const char *op, const char *inputs, const char *x, const char *b)
{
    message node = node_of(op, inputs, "y");

    put_text(&node, 7, "com.microsoft");
    return one_node(node, x, b)->flops;
}

static void quantized(void)
{
    message graph = new_message();
    message node = node_of("DynamicQuantizeLSTM", "x w r", "y h c");

    /* Weights lie the other way round than those of LSTM: [directions, from, 4 x state]. */
    put_text(&node, 7, "com.microsoft");
    put_message(&graph, 1, node);
    put_node(&graph, "Relu", "h", "z");
    put_port(&graph, 11, "x", 1, "3x1x64");
    put_weight(&graph, "w", 3, "1x64x512");
    put_weight(&graph, "r", 3, "1x128x512");
    open_graph(graph, NULL, 0);
    CHECK_INT((int64_t)opened->nodes[0].flops, 2 * 3 * (64 + 128) * 512 + 4 * 4 * 3 * 128);
    CHECK_INT((int64_t)opened->nodes[1].flops, 128);
    CHECK_INT((int64_t)one_node(node_of("MatMulInteger", "x b", "y"), "10x20", "20x30")->flops,
              2 * 10 * 20 * 30);
    CHECK_INT((int64_t)one_node(node_of("ConvInteger", "x b", "y"), "1x3x8x8", "4x3x1x1")->flops,
              2 * 64 * 4 * 3);
    CHECK_INT(
        (int64_t)one_node(node_of("QLinearConv", "x s z b s z s z", "y"), "1x3x8x8", "4x3x1x1")
            ->flops,
        2 * 64 * 4 * 3);
    CHECK_INT((int64_t)one_node(node_of("QLinearMatMul", "x s z b s z s z", "y"), "10x20", "20x30")
                  ->flops,
              2 * 10 * 20 * 30);
    CHECK_INT(
        (int64_t)one_node(node_of("DynamicQuantizeLinear", "x", "y s z"), "10x20", NULL)->flops,
        4 * 200);
    CHECK_INT((int64_t)microsoft_flops("DynamicQuantizeMatMul", "x b s", "10x20", "20x30"),
              2 * 10 * 20 * 30);
    CHECK_INT((int64_t)microsoft_flops("QGemm", "x s z b s z", "10x20", "20x30"), 2 * 10 * 20 * 30);
    CHECK_INT((int64_t)microsoft_flops("QAttention", "x b c s s", "2x5x8", "8x24"),
              2 * 2 * 5 * 8 * 24 + 4 * 2 * 5 * 5 * 8);
    CHECK_INT((int64_t)microsoft_flops("QLinearAdd", "x s z b s z s z", "2x5x8", "8"), 80);
    CHECK_INT((int64_t)microsoft_flops("QLinearMul", "x s z b s z s z", "5x1", "2x5x8"), 80);
    CHECK_INT((int64_t)microsoft_flops("QLinearSigmoid", "x s z s z", "2x5", NULL), 40);
    CHECK_INT((int64_t)microsoft_flops("QLinearGlobalAveragePool", "x s z s z", "1x4x3x3", NULL),
              36);
    graph = new_message();
    node = node_of("QLinearConcat", "s z x s z x s z", "y");
    put_text(&node, 7, "com.microsoft");
    put_int(&node, "axis", 1);
    put_message(&graph, 1, node);
    put_node(&graph, "Relu", "y", "q");
    put_port(&graph, 11, "x", 2, "2x5");
    open_graph(graph, NULL, 0);
    CHECK_INT((int64_t)opened->nodes[1].flops, 20);
}

static void attention(void)
{
    message graph = new_message();
    message projected = node_of("Attention", "x w", "a");
    message heads = node_of("MultiHeadAttention", "x x x", "b");
    message grouped = node_of("GroupQueryAttention", "x x x past", "c");

    put_text(&projected, 7, "com.microsoft");
    put_text(&heads, 7, "com.microsoft");
    put_text(&grouped, 7, "com.microsoft");
    put_message(&graph, 1, projected);
    put_message(&graph, 1, heads);
    put_message(&graph, 1, grouped);
    put_port(&graph, 11, "x", 1, "2x5x8");
    put_port(&graph, 11, "past", 1, "2x2x7x4");
    put_weight(&graph, "w", 1, "8x24");
    open_graph(graph, NULL, 0);
    CHECK_INT((int64_t)opened->nodes[0].flops, 2 * 2 * 5 * 8 * 24 + 4 * 2 * 5 * 5 * 8);
    CHECK_INT((int64_t)opened->nodes[1].flops, 4 * 2 * 5 * 5 * 8);
    CHECK_INT((int64_t)opened->nodes[2].flops, 4 * 2 * 5 * (5 + 7) * 8);
}

/* A chain whose last node tells by its cost what shape reached it. */
static int64_t elements_after(message node, const char *x, const int64_t *list, size_t count)
{
    message graph = new_message();

    put_message(&graph, 1, node);
    put_node(&graph, "Relu", "y", "z");
    put_port(&graph, 11, "x", 1, x);
    if (list)
        put_int64s(&graph, "b", list, count);
    open_graph(graph, NULL, 0);
    return (int64_t)opened->nodes[1].flops;
}

static void forms(void)
{
    message node;

    CHECK_INT(elements_after(node_of("Reshape", "x b", "y"), "2x3x4", (int64_t[]){ 0, -1 }, 2), 24);
    CHECK_INT(elements_after(node_of("Reshape", "x b", "y"), "2x3x4", (int64_t[]){ 5, -1 }, 2), -1);
    CHECK_INT(elements_after(node_of("Flatten", "x", "y"), "2x3x4", NULL, 0), 24);
    CHECK_INT(elements_after(node_of("Concat", "x x", "y"), "2x3", NULL, 0), 12);
    CHECK_INT(elements_after(node_of("Unsqueeze", "x b", "y"), "2x3", (int64_t[]){ 0 }, 1), 6);
    CHECK_INT(elements_after(node_of("Squeeze", "x b", "y"), "1x3", (int64_t[]){ 0 }, 1), 3);
    CHECK_INT(elements_after(node_of("Expand", "x b", "y"), "3x1", (int64_t[]){ 2, 1, 6 }, 3), 36);
    CHECK_INT(elements_after(node_of("Tile", "x b", "y"), "2x3", (int64_t[]){ 2, 2 }, 2), 24);
    CHECK_INT(elements_after(node_of("Pad", "x b", "y"), "2x3", (int64_t[]){ 0, 1, 0, 1 }, 4), 10);
    CHECK_INT(elements_after(node_of("Gather", "x b", "y"), "9x4", (int64_t[]){ 1, 2, 3 }, 3), 12);
    CHECK_INT(
        elements_after(node_of("Resize", "x - - b", "y"), "1x1x4x4", (int64_t[]){ 1, 1, 8, 6 }, 4),
        48);
    CHECK_INT(elements_after(node_of("Slice", "x b b", "y"), "8x2", (int64_t[]){ 0 }, 1), 0);
    CHECK_INT(elements_after(node_of("ReduceMean", "x", "y"), "8x2", NULL, 0), 1);
    node = node_of("Slice", "x", "y");
    put_ints(&node, "starts", 2, -3, 0);
    put_ints(&node, "ends", 2, 1 << 30, 1);
    CHECK_INT(elements_after(node, "8x2", NULL, 0), 3);
    node = node_of("Transpose", "x", "y");
    put_ints(&node, "perm", 2, 1, 0);
    CHECK_INT(elements_after(node, "8x2", NULL, 0), 16);
    node = node_of("MaxPool", "x", "y");
    put_ints(&node, "kernel_shape", 1, 3);
    put_ints(&node, "strides", 1, 2);
    put_int(&node, "ceil_mode", 1);
    CHECK_INT(elements_after(node, "1x1x6", NULL, 0), 3);
    CHECK_INT(elements_after(node_of("NonZero", "x", "y"), "8x2", NULL, 0), -1);
    CHECK_INT(elements_after(node_of("OfNobody", "x", "y"), "8x2", NULL, 0), -1);
    CHECK_UINT(opened->cost_unknown, 2);
}

/* Shape, Gather, arithmetic and Concat, as exporters write "flatten all but the batch". */
static void shapes_that_are_computed(void)
{
    message graph = new_message();
    message parts = node_of("Concat", "twice rest", "shape");

    put_int(&parts, "axis", 0);
    put_node(&graph, "Shape", "x", "s");
    put_node(&graph, "Gather", "s zero", "batch");
    put_node(&graph, "Mul", "batch two", "twice");
    put_message(&graph, 1, parts);
    put_node(&graph, "Reshape", "x shape", "y");
    put_node(&graph, "MatMul", "y w", "z");
    put_port(&graph, 11, "x", 1, "batchx6x10");
    put_int64s(&graph, "zero", (int64_t[]){ 0 }, 1);
    put_int64s(&graph, "two", (int64_t[]){ 2 }, 1);
    put_int64s(&graph, "rest", (int64_t[]){ -1 }, 1);
    put_weight(&graph, "w", 1, "30x7");
    open_graph(graph, &(struct onnx_dim){ "batch", 4 }, 1);
    CHECK_INT((int64_t)opened->nodes[5].flops, 2 * 8 * 30 * 7);
    CHECK_UINT(opened->cost_unknown, 0);
}

static void free_dimensions(void)
{
    static const struct onnx_dim dims[] = { { "n", 5 }, { "x:2", 7 } };

    for (size_t given = 0; given <= 2; given++) {
        message graph = new_message();

        put_node(&graph, "Relu", "x", "y");
        put_port(&graph, 11, "x", 1, "nx3x?");
        open_graph(graph, dims, given);
        CHECK_INT((int64_t)opened->flops, given == 0 ? 3 : given == 1 ? 15 : 105);
    }
}

/* What the file says of values in between is used. */
static void declared_shapes(void)
{
    message graph = new_message();

    put_node(&graph, "OfNobody", "x", "y");
    put_node(&graph, "Relu", "y", "z");
    put_port(&graph, 11, "x", 1, "1");
    put_port(&graph, 13, "y", 1, "3x5");
    open_graph(graph, NULL, 0);
    CHECK_INT((int64_t)opened->nodes[1].flops, 15);
    CHECK_UINT(opened->cost_unknown, 1);
    CHECK(fabs(sum_of_weights(opened) - 1) < 1e-6);
}

static message branch(const char *op, const char *inputs, const char *output)
{
    message graph = new_message();

    put_node(&graph, op, inputs, output);
    put_port(&graph, 12, output, 1, NULL);
    return graph;
}

/* Of two branches the dearer counts; both see what is around them. */
static void branches(void)
{
    message graph = new_message();
    message choice = node_of("If", "flag", "y");

    put_graph(&choice, "then_branch", branch("MatMul", "x w", "big"));
    put_graph(&choice, "else_branch", branch("Relu", "x", "small"));
    put_message(&graph, 1, choice);
    put_node(&graph, "Neg", "y", "z");
    put_port(&graph, 11, "x", 1, "4x4");
    put_port(&graph, 11, "flag", 9, "");
    put_weight(&graph, "w", 1, "4x4");
    open_graph(graph, NULL, 0);
    REQUIRE_UINT(opened->nodes_listed, 4);
    CHECK(opened->nodes[1].is_counted && opened->nodes[1].in_subgraph);
    CHECK(!opened->nodes[2].is_counted && opened->nodes[2].weight == 0);
    CHECK_INT((int64_t)opened->flops, 2 * 4 * 4 * 4 + 16);
    CHECK_UINT(opened->cost_unknown, 0);
    CHECK(fabs(sum_of_weights(opened) - 1) < 1e-6);
}

/* A loop may change what it carries, so that is known only if the file says so. */
static void loops(void)
{
    message graph = new_message();
    message body = new_message();
    message loop = node_of("Loop", "trips - x", "last all");

    put_node(&body, "Relu", "carried", "next");
    put_node(&body, "Identity", "go_on", "still");
    put_node(&body, "Neg", "outer", "each");
    put_port(&body, 11, "count", 7, "");
    put_port(&body, 11, "go_on", 9, "");
    put_port(&body, 11, "carried", 1, NULL);
    put_port(&body, 12, "still", 9, "");
    put_port(&body, 12, "next", 1, NULL);
    put_port(&body, 12, "each", 1, NULL);
    put_graph(&loop, "body", body);
    put_message(&graph, 1, loop);
    put_node(&graph, "Abs", "all", "z");
    put_port(&graph, 11, "x", 1, "6");
    put_port(&graph, 11, "outer", 1, "5");
    put_int64s(&graph, "trips", (int64_t[]){ 3 }, 1);
    open_graph(graph, NULL, 0);
    CHECK(opened->nodes[1].flops < 0);
    CHECK_INT((int64_t)opened->nodes[3].flops, 5);
    CHECK_INT((int64_t)opened->nodes[4].flops, 15);
}

/* What runtimes compute once costs nothing, and its weights are the layer's. */
static void constants_are_folded(void)
{
    message graph = new_message();

    put_node(&graph, "Transpose", "w", "turned");
    put_node(&graph, "MatMul", "x turned", "y");
    put_port(&graph, 11, "x", 1, "1x8");
    put_weight(&graph, "w", 1, "2x8");
    open_graph(graph, NULL, 0);
    CHECK(opened->nodes[0].bytes == 0 && opened->nodes[0].parameters == 0);
    CHECK_UINT(opened->nodes[1].parameters, 16);
    CHECK_INT((int64_t)opened->flops, 2 * 2 * 8);
}

static void absurd_sizes(void)
{
    message graph = new_message();

    put_node(&graph, "MatMul", "x x", "y");
    put_node(&graph, "Relu", "v", "z");
    put_port(&graph, 11, "x", 1,
             "1099511627776x1099511627776x1099511627776x1099511627776x1099511627776");
    put_port(&graph, 11, "v", 1, "9223372036854775807x2");
    open_graph(graph, NULL, 0);
    CHECK_UINT(opened->cost_unknown, 1); /* a size beyond belief is free, so it counts as 1 */
    CHECK(isfinite(opened->flops));
    CHECK(fabs(sum_of_weights(opened) - 1) < 1e-6);
}

TAP_MAIN(TAP_CASE(conv), TAP_CASE(conv_transpose), TAP_CASE(matrices), TAP_CASE(recurrent),
         TAP_CASE(quantized), TAP_CASE(attention), TAP_CASE(forms),
         TAP_CASE(shapes_that_are_computed), TAP_CASE(free_dimensions), TAP_CASE(declared_shapes),
         TAP_CASE(branches), TAP_CASE(loops), TAP_CASE(constants_are_folded),
         TAP_CASE(absurd_sizes))
