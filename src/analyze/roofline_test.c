// SPDX-License-Identifier: Apache-2.0
/* Rooflines. The device of these tests moves 1 TB/s and does 2 TFLOP/s of float32, 16 with tensor
 * cores: in the 100 us of operator conv1 10^8 bytes, 2 x 10^8 or 1.6 x 10^9 FLOP. */
#include "analyze/roofline.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "device_trace.h"
#include "tap.h"
#include "trace/keys.h"

struct made {
    struct device_trace trace;
    struct roofline *roofline;
};

static void put_fact(struct made *made, const char *what, const char *value)
{
    char key[80];

    snprintf(key, sizeof key, TRACE_FACT_GPU "0%s", what);
    trace_writer_fact(made->trace.ml.writer, key, value);
}

static void put_limits(struct made *made, const char *capability)
{
    put_fact(made, TRACE_GPU_ID, "GPU-0123");
    put_fact(made, TRACE_GPU_COMPUTE_CAPABILITY, capability);
    put_fact(made, TRACE_GPU_CORES, "1000");
    put_fact(made, TRACE_GPU_CLOCK_MHZ, "1000");
    put_fact(made, TRACE_GPU_MEMORY_CLOCK_MHZ, "1000");
    put_fact(made, TRACE_GPU_MEMORY_BUS_BITS, "4000");
}

static void begin(struct made *made, const char *capability)
{
    memset(made, 0, sizeof *made);
    device_trace_begin(&made->trace, NULL);
    if (capability)
        put_limits(made, capability);
    device_trace_showcase(&made->trace);
}

static void look(struct made *made, const struct roofline_cost *costs, size_t count)
{
    roofline_destroy(made->roofline);
    made->roofline = NULL;
    REQUIRE(roofline_create(made->trace.ml.timeline, 0, costs, count, &made->roofline, NULL) ==
            IFG_OK);
}

static void end(struct made *made)
{
    roofline_destroy(made->roofline);
    device_trace_end(&made->trace);
}

static const struct roofline_node *node(const struct made *made, const char *name)
{
    for (size_t i = 0; i < made->roofline->node_count; i++)
        if (strcmp(made->roofline->nodes[i].name, name) == 0)
            return &made->roofline->nodes[i];
    REQUIRE(false);
    return NULL;
}

static const struct roofline_point *conv_with(struct made *made, double flops, double bytes,
                                              enum roofline_type element)
{
    const struct roofline_cost cost = { "conv1", "Conv", flops, bytes, element };

    look(made, &cost, 1);
    return &node(made, "conv1")->point;
}

#define CHECK_NEAR(value, wanted)                                                                  \
    CHECK(fabs((value) - (double)(wanted)) < 1e-6 * fabs((double)(wanted)) + 1e-12)

static void classes(void)
{
    struct made made;
    const struct roofline_point *point;

    begin(&made, "9.0");
    REQUIRE(ml_trace_load(&made.trace.ml));
    point = conv_with(&made, 1.2e9, 1e7, ROOFLINE_FLOAT32);
    CHECK_STR(made.roofline->peaks.reason, "");
    CHECK_STR(made.roofline->peaks.device, "Test GPU");
    CHECK_NEAR(made.roofline->peaks.bytes_per_s, 1e12);
    CHECK_NEAR(made.roofline->peaks.flops_per_s, 2e12);
    CHECK(point->on_device);
    CHECK_NEAR(point->time_ns, 100e3);
    CHECK_NEAR(point->memory, 0.1);
    CHECK_NEAR(point->compute_low, 0.75);
    CHECK_NEAR(point->compute_high, 0.75); /* more than without tensor cores */
    CHECK_STR(roofline_class_name(point->class), "compute-bound");

    point = conv_with(&made, 1e6, 8e7, ROOFLINE_FLOAT32);
    CHECK_NEAR(point->memory, 0.8);
    CHECK_STR(roofline_class_name(point->class), "memory-bound");
    CHECK_STR(point->why, "");

    point = conv_with(&made, 1e6, 1e6, ROOFLINE_FLOAT32);
    CHECK_STR(roofline_class_name(point->class), "latency-bound");
    CHECK_NEAR(point->compute_low, 1e6 / 1.6e9);
    CHECK_NEAR(point->compute_high, 1e6 / 2e8);
    end(&made);
}

/* What is not known is not guessed. */
static void no_class(void)
{
    static const struct {
        double flops, bytes;
        enum roofline_type element;
        const char *why;
    } rows[] = {
        { 1e8, 1e7, ROOFLINE_FLOAT32, "tensor cores" }, /* 6 %, or half of the peak */
        { 1e6, 2e8, ROOFLINE_FLOAT32, "caches" },
        { 2e9, 1e6, ROOFLINE_FLOAT32, "more FLOP in a second" },
        { 1e6, 1e6, ROOFLINE_TYPE_OTHER, "no peak is known" },
        { 0, 0, ROOFLINE_FLOAT32, "neither computes" },
        { -1, 1e6, ROOFLINE_FLOAT32, "not in the model file" },
    };
    struct made made;

    begin(&made, "9.0");
    REQUIRE(ml_trace_load(&made.trace.ml));
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const struct roofline_point *point =
            conv_with(&made, rows[i].flops, rows[i].bytes, rows[i].element);

        CHECK_INT(point->class, ROOFLINE_UNKNOWN);
        CHECK(strstr(point->why, rows[i].why) != NULL);
    }
    /* Moving alone needs no peak of arithmetic. */
    CHECK_INT(conv_with(&made, 0, 8e7, ROOFLINE_TYPE_OTHER)->class, ROOFLINE_MEMORY);
    end(&made);
}

static void sums(void)
{
    static const struct roofline_cost both[] = {
        { "conv1", "Conv", 1e6, 8e7, ROOFLINE_FLOAT32 },
        { "fc", "MatMul", 1e6, 3e7, ROOFLINE_FLOAT32 },
    };
    static const struct roofline_cost twice[] = {
        { "conv1", "Conv", 1e6, 8e7, ROOFLINE_FLOAT32 },
        { "conv1", "Conv", 1e6, 8e7, ROOFLINE_FLOAT32 },
        { "fc", "Gemm", 1e6, 3e7, ROOFLINE_FLOAT32 },
    };
    struct made made;

    begin(&made, "9.0");
    REQUIRE(ml_trace_load(&made.trace.ml));
    look(&made, both, 2);
    CHECK_UINT(made.roofline->node_count, 2);
    CHECK_UINT(made.roofline->type_count, 2);
    CHECK_STR(made.roofline->nodes[0].name, "conv1"); /* longest first */
    CHECK_UINT(made.roofline->nodes[0].count, 3);
    CHECK_UINT(made.roofline->whole.known, 2);
    CHECK_NEAR(made.roofline->whole.time_ns, 145e3);
    CHECK_NEAR(made.roofline->whole.bytes, 1.1e8);
    CHECK_NEAR(made.roofline->whole.memory, 110e-6 / 145e-6);
    CHECK_INT(made.roofline->whole.class, ROOFLINE_MEMORY);
    look(&made, both, 1); /* of a part, a model has no class */
    CHECK_UINT(made.roofline->whole.known, 1);
    CHECK_INT(made.roofline->whole.class, ROOFLINE_UNKNOWN);
    CHECK(strstr(made.roofline->whole.why, "not all") != NULL);
    CHECK_INT(node(&made, "conv1")->point.class, ROOFLINE_MEMORY);
    look(&made, twice, 3); /* which of the two it was, and what it became, is not known */
    CHECK_UINT(made.roofline->whole.known, 0);
    CHECK(isnan(node(&made, "fc")->point.time_ns));
    end(&made);
}

static void no_peaks(void)
{
    struct made made;
    const struct roofline_point *point;

    begin(&made, NULL);
    REQUIRE(ml_trace_load(&made.trace.ml));
    point = conv_with(&made, 1e8, 1e7, ROOFLINE_FLOAT32);
    CHECK_UINT(point->known, 1); /* what was achieved is known nevertheless */
    CHECK_NEAR(point->flops / point->bytes, 10);
    CHECK(isnan(point->memory));
    CHECK(strstr(point->why, "were not recorded") != NULL);
    end(&made);

    begin(&made, "99.0");
    REQUIRE(ml_trace_load(&made.trace.ml));
    point = conv_with(&made, 1e8, 1e7, ROOFLINE_FLOAT32);
    CHECK_STR(point->why, "the peaks of compute capability 99.0 are not known");
    end(&made);

    begin(&made, "9.0");
    put_fact(&made, TRACE_GPU_MIG, "yes");
    REQUIRE(ml_trace_load(&made.trace.ml));
    point = conv_with(&made, 1e8, 1e7, ROOFLINE_FLOAT32);
    CHECK(strstr(point->why, "MIG") != NULL);
    end(&made);

    begin(&made, "9.0");
    put_fact(&made, TRACE_GPU_MEMORY_BUS_BITS, "1e99");
    REQUIRE(ml_trace_load(&made.trace.ml));
    point = conv_with(&made, 1e8, 1e7, ROOFLINE_FLOAT32);
    CHECK(strstr(point->why, "does not tell the clocks") != NULL);
    end(&made);
}

/* An operator of the CPU between, and what ran with other elements than the file has. */
static void others(void)
{
    static const struct roofline_cost costs[] = {
        { "conv1", "Conv", 1e6, 8e7, ROOFLINE_FLOAT32 },
        { "fc", "MatMul", 1e6, 3e7, ROOFLINE_FLOAT32 },
        { "top", "TopK", 1e6, 1e6, ROOFLINE_FLOAT32 },
        { "cast", "Add", 1e6, 1e6, ROOFLINE_FLOAT16 },
    };
    struct made made;
    struct ml_trace_open run;
    uint32_t top, cast;

    begin(&made, "9.0");
    top = ml_trace_location(&made.trace.ml, TRACE_LOCATION_OP, 1, "top", "TopK");
    cast = ml_trace_location(&made.trace.ml, TRACE_LOCATION_OP, 1, "cast", "Add");
    for (uint64_t ns = 10 * ML_US; ns <= 50 * ML_US; ns += 10 * ML_US) {
        run = ml_trace_enter(&made.trace.ml, 0, top);
        ml_trace_wait(&made.trace.ml, 0, ns);
        ml_trace_text(&made.trace.ml, 0, run, TRACE_KEY_PROVIDER, "CPUExecutionProvider");
        ml_trace_leave(&made.trace.ml, 0, run);
    }
    run = ml_trace_enter(&made.trace.ml, 0, cast);
    ml_trace_wait(&made.trace.ml, 0, ML_US);
    ml_trace_text(&made.trace.ml, 0, run, TRACE_KEY_INPUT_TYPE_SHAPE,
                  "[{\"float\":[1,64]},{\"float\":[64]}]");
    ml_trace_leave(&made.trace.ml, 0, run);
    REQUIRE(ml_trace_load(&made.trace.ml));
    look(&made, costs, 4);
    CHECK_NEAR(node(&made, "top")->point.time_ns, 30e3); /* the median */
    CHECK(!node(&made, "top")->point.on_device);
    CHECK_STR(node(&made, "top")->point.why, "the peaks of processors are not known");
    CHECK(strstr(node(&made, "cast")->point.why, "another type") != NULL);
    CHECK_UINT(node(&made, "cast")->point.known, 0);
    look(&made, costs, 3);
    CHECK(strstr(made.roofline->whole.why, "not all") != NULL);
    end(&made);
}

TAP_MAIN(TAP_CASE(classes), TAP_CASE(no_class), TAP_CASE(sums), TAP_CASE(no_peaks),
         TAP_CASE(others))
