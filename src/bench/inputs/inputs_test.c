// SPDX-License-Identifier: Apache-2.0
/* Shapes and random data: what options say, where they do not fit, and that a seed is a promise. */
#include "bench/inputs/inputs.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "tap.h"

#define D(...) __VA_ARGS__

static struct ifg_error err;
static struct input_sets sets;

/* name type (dims) (names of free ones) */
#define PORT(port_name, port_type, port_rank, sizes, names)                                        \
    {                                                                                              \
        .name = (char *)(port_name), .type = (port_type), .rank = (port_rank), .dims = { sizes },  \
        .dim_names = {                                                                             \
            names                                                                                  \
        }                                                                                          \
    }

static struct port image[] = { PORT("x", IFG_BENCH_FLOAT, 4, D(-1, 3, -1, -1),
                                    D((char *)"batch", NULL, NULL, (char *)"width")) };
static struct port text[] = {
    PORT("input_ids", IFG_BENCH_INT64, 2, D(-1, -1), D((char *)"batch", (char *)"sequence")),
    PORT("attention_mask", IFG_BENCH_INT64, 2, D(-1, -1), D((char *)"batch", (char *)"sequence")),
    PORT("scale", IFG_BENCH_FLOAT, 0, 0, NULL),
};
static const struct port_list image_ports = { image, 1 };
static const struct port_list text_ports = { text, 3 };

static enum ifg_status make(const struct port_list *ports, const struct inputs_options *options)
{
    inputs_fini(&sets);
    memset(&err, 0, sizeof err);
    return inputs_make(ports, options, &sets, &err);
}

static const char *shape_of(size_t input)
{
    static char shape[128];
    const struct tensor *tensor = &sets.sets[0].items[input];

    return tensor_shape_text(tensor->dims, NULL, tensor->rank, shape, sizeof shape);
}

static void free_dimensions_are_one(void)
{
    struct inputs_options options = { .seed = 1 };

    REQUIRE_INT(make(&image_ports, &options), IFG_OK);
    REQUIRE_UINT(sets.count, 1);
    REQUIRE_UINT(sets.sets[0].count, 1);
    CHECK_STR(shape_of(0), "1x3x1x1");
    CHECK_STR(sets.sets[0].items[0].name, "x");
    CHECK_UINT(sets.sets[0].items[0].bytes, 12);
    CHECK_STR(sets.summary, "x float32 1x3x1x1, random (seed 1)");
    REQUIRE_INT(make(&text_ports, &options), IFG_OK);
    CHECK_STR(shape_of(2), "scalar");
    CHECK_UINT(sets.sets[0].items[2].bytes, 4);
    CHECK_STR(sets.summary, "input_ids int64 1x1, attention_mask int64 1x1, scale float32 scalar, "
                            "random (seed 1)");
    inputs_fini(&sets);
}

static void options_set_dimensions(void)
{
    struct inputs_dim dims[] = { { "width", 320 }, { "batch", 2 } };
    struct inputs_shape shape = { NULL, 4, { 8, 3, 16, 32 } };
    struct inputs_options options = { .batch = 4, .dims = dims, .dim_count = 1 };

    REQUIRE_INT(make(&image_ports, &options), IFG_OK);
    CHECK_STR(shape_of(0), "4x3x1x320");
    options.dim_count = 2; /* a name says more than --batch */
    REQUIRE_INT(make(&image_ports, &options), IFG_OK);
    CHECK_STR(shape_of(0), "2x3x1x320");
    options.shapes = &shape; /* and a shape says all */
    options.shape_count = 1;
    REQUIRE_INT(make(&image_ports, &options), IFG_OK);
    CHECK_STR(shape_of(0), "8x3x16x32");
    inputs_fini(&sets);
}

static void a_name_has_one_size_in_all_inputs(void)
{
    struct inputs_shape shape = { "attention_mask", 2, { 2, 128 } };
    struct inputs_options options = { .batch = 4, .shapes = &shape, .shape_count = 1 };

    REQUIRE_INT(make(&text_ports, &options), IFG_OK);
    CHECK_STR(shape_of(0), "2x128");
    CHECK_STR(shape_of(1), "2x128");
    options.shape_count = 0;
    REQUIRE_INT(make(&text_ports, &options), IFG_OK);
    CHECK_STR(shape_of(0), "4x1");
    CHECK_STR(shape_of(1), "4x1");
    inputs_fini(&sets);
}

static void an_input_without_a_shape_takes_any(void)
{
    struct inputs_shape shape = { "scale", 2, { 5, 6 } };
    struct inputs_options options = { .shapes = &shape, .shape_count = 1 };

    REQUIRE_INT(make(&text_ports, &options), IFG_OK);
    CHECK_STR(shape_of(2), "5x6");
    inputs_fini(&sets);
}

static void what_does_not_fit_is_refused(void)
{
    struct inputs_shape shape = { "x", 4, { 1, 4, 10, 10 } };
    struct inputs_dim dim = { "bacth", 2 };
    struct inputs_value value = { "scael", 2 };
    struct inputs_options options = { .shapes = &shape, .shape_count = 1 };

    CHECK_INT(make(&image_ports, &options), IFG_INVALID);
    CHECK_STR(err.message,
              "--shape: input x is declared as batchx3x?xwidth, which 1x4x10x10 does not fit");
    CHECK_UINT(sets.count, 0);
    shape.rank = 3;
    CHECK_INT(make(&image_ports, &options), IFG_INVALID);
    CHECK_CONTAINS(err.message, "1x4x10 does not fit");
    shape.input = "y";
    CHECK_INT(make(&image_ports, &options), IFG_INVALID);
    CHECK_STR(err.message, "--shape y: the model has no such input; it has: x");
    shape.input = NULL;
    CHECK_INT(make(&text_ports, &options), IFG_INVALID);
    CHECK_STR(err.message, "--shape 1x4x10: the model has 3 inputs (input_ids, attention_mask, "
                           "scale); name one: --shape INPUT:1x4x10");

    options = (struct inputs_options){ .dims = &dim, .dim_count = 1 };
    CHECK_INT(make(&text_ports, &options), IFG_INVALID);
    CHECK_STR(err.message,
              "--dim bacth: the model has no such free dimension (did you mean batch?); "
              "it has: batch, sequence");
    options = (struct inputs_options){ .values = &value, .value_count = 1 };
    CHECK_INT(make(&text_ports, &options), IFG_INVALID);
    CHECK_STR(err.message, "--value scael: the model has no such input (did you mean scale?); it "
                           "has: input_ids, attention_mask, scale");
}

static void a_fixed_batch_stays(void)
{
    static struct port fixed[] = { PORT("x", IFG_BENCH_FLOAT, 2, D(1, 4), NULL),
                                   PORT("n", IFG_BENCH_INT64, 1, -1, NULL) };
    struct port_list one = { fixed, 1 }, two = { fixed, 2 };
    struct inputs_dim dim = { "n", 2 };
    struct inputs_options options = { .batch = 8 };

    CHECK_INT(make(&one, &options), IFG_INVALID);
    CHECK_CONTAINS(err.message, "--batch 8: no input has a free first dimension: x (float32 1x4)");
    REQUIRE_INT(make(&two, &options), IFG_OK); /* where it is free */
    CHECK_STR(shape_of(0), "1x4");
    CHECK_STR(shape_of(1), "8");
    options.batch = 1;
    CHECK_INT(make(&one, &options), IFG_OK);
    options = (struct inputs_options){ .dims = &dim, .dim_count = 1 };
    CHECK_INT(make(&two, &options), IFG_INVALID);
    CHECK_CONTAINS(err.message, "no free dimension with a name; use --shape");
    inputs_fini(&sets);
}

static void what_is_no_tensor_is_refused(void)
{
    struct port odd = PORT("states", 0, 0, 0, NULL);
    struct port_list ports = { &odd, 1 }, none = { NULL, 0 };
    struct inputs_options options = { 0 };

    CHECK_INT(make(&ports, &options), IFG_INVALID);
    CHECK_CONTAINS(err.message, "input states is not a tensor");
    odd.type = 17;
    CHECK_INT(make(&ports, &options), IFG_INVALID);
    CHECK_CONTAINS(err.message, "float8e4m3fn");
    odd.type = IFG_BENCH_FLOAT;
    odd.rank = 17;
    CHECK_INT(make(&ports, &options), IFG_INVALID);
    CHECK_CONTAINS(err.message, "17 dimensions");
    CHECK_INT(make(&none, &options), IFG_OK);
    CHECK_UINT(sets.count, 1);
    CHECK_CONTAINS(sets.summary, "none");
    inputs_fini(&sets);
}

static void too_much_is_refused(void)
{
    struct inputs_shape shape = { NULL, 4, { 1 << 20, 3, 1 << 10, 1 << 10 } };
    struct inputs_options options = { .shapes = &shape, .shape_count = 1 };

    CHECK_INT(make(&image_ports, &options), IFG_INVALID);
    CHECK_CONTAINS(err.message, "all inputs together may have 16 GiB");
    shape.dims[0] = shape.dims[2] = INT64_MAX / 2;
    CHECK_INT(make(&image_ports, &options), IFG_INVALID);
    CHECK_CONTAINS(err.message, "too large");
}

static void empty_inputs_are_possible(void)
{
    struct inputs_dim dim = { "sequence", 0 };
    struct inputs_options options = { .dims = &dim, .dim_count = 1 };

    REQUIRE_INT(make(&text_ports, &options), IFG_OK);
    CHECK_STR(shape_of(0), "1x0");
    CHECK_UINT(sets.sets[0].items[0].bytes, 0);
    CHECK(sets.sets[0].items[0].data != NULL);
    inputs_fini(&sets);
}

/* ---- data ---- */

static const int32_t all_types[] = {
    IFG_BENCH_FLOAT,  IFG_BENCH_UINT8,  IFG_BENCH_INT8,     IFG_BENCH_UINT16,  IFG_BENCH_INT16,
    IFG_BENCH_INT32,  IFG_BENCH_INT64,  IFG_BENCH_BOOL,     IFG_BENCH_FLOAT16, IFG_BENCH_DOUBLE,
    IFG_BENCH_UINT32, IFG_BENCH_UINT64, IFG_BENCH_BFLOAT16,
};
#define TYPES (sizeof all_types / sizeof *all_types)

static bool is_float(int32_t type)
{
    return type == IFG_BENCH_FLOAT || type == IFG_BENCH_DOUBLE || type == IFG_BENCH_FLOAT16 ||
           type == IFG_BENCH_BFLOAT16;
}

static void every_type_has_its_numbers(void)
{
    struct inputs_options options = { .seed = 7 };

    for (size_t i = 0; i < TYPES; i++) {
        struct port port = PORT("x", all_types[i], 1, 4000, NULL);
        struct port_list ports = { &port, 1 };
        const struct tensor *tensor;
        double sum = 0, least = INFINITY, most = -INFINITY;
        double limit = is_float(port.type) ? 1 : port.type == IFG_BENCH_BOOL ? 2 : 10;

        tap_note("%s", tensor_type_name(port.type));
        REQUIRE_INT(make(&ports, &options), IFG_OK);
        tensor = &sets.sets[0].items[0];
        REQUIRE_UINT(tensor->bytes, 4000 * tensor_type_bytes(port.type));
        for (uint64_t j = 0; j < 4000; j++) {
            double value = tensor_value(tensor, j);

            CHECK(value >= 0 && value < limit);
            CHECK(is_float(port.type) || value == floor(value));
            sum += value;
            least = fmin(least, value);
            most = fmax(most, value);
        }
        /* The mean of 4000 is within 6 standard deviations of the middle. */
        CHECK(fabs(sum / 4000 - (is_float(port.type) ? 0.5 : (limit - 1) / 2)) < 0.03 * limit);
        CHECK(least < 0.01 && most > (is_float(port.type) ? 0.99 : limit - 2));
    }
    inputs_fini(&sets);
}

static void bounds_are_kept_and_used(void)
{
    struct port port = PORT("ids", IFG_BENCH_INT64, 1, 2000, NULL);
    struct port_list ports = { &port, 1 };
    struct inputs_bound bounds[] = { { "somebody", 3 }, { "ids", 30522 } };
    struct inputs_options options = { .seed = 1, .bounds = bounds, .bound_count = 2 };
    double most = 0;

    REQUIRE_INT(make(&ports, &options), IFG_OK);
    for (uint64_t i = 0; i < 2000; i++) {
        CHECK(tensor_value(&sets.sets[0].items[0], i) < 30522);
        most = fmax(most, tensor_value(&sets.sets[0].items[0], i));
    }
    CHECK(most > 30000);
    bounds[1].below = 2;
    REQUIRE_INT(make(&ports, &options), IFG_OK);
    for (uint64_t i = 0; i < 2000; i++)
        CHECK(tensor_value(&sets.sets[0].items[0], i) < 2);
    port.type = IFG_BENCH_INT8; /* a table larger than the type can point into */
    bounds[1].below = 30522;
    REQUIRE_INT(make(&ports, &options), IFG_OK);
    for (uint64_t i = 0; i < 2000; i++)
        CHECK(tensor_value(&sets.sets[0].items[0], i) >= 0);
    inputs_fini(&sets);
}

static void strings_are_words(void)
{
    struct port port = PORT("s", IFG_BENCH_STRING, 1, 100, NULL);
    struct port_list ports = { &port, 1 };
    struct inputs_options options = { .seed = 1 };
    const struct tensor *tensor;
    size_t ends = 0;

    REQUIRE_INT(make(&ports, &options), IFG_OK);
    tensor = &sets.sets[0].items[0];
    REQUIRE(tensor->bytes > 300);
    for (size_t i = 0; i < tensor->bytes; i++)
        ends += tensor->data[i] == 0;
    CHECK_UINT(ends, 100);
    CHECK_UINT(tensor->data[tensor->bytes - 1], 0);
    inputs_fini(&sets);
}

/* A seed and a name give these bytes today and for ever, so that results can be compared. */
static void a_seed_is_a_promise(void)
{
    static struct port ports[] = { PORT("a", IFG_BENCH_FLOAT, 1, 100, NULL),
                                   PORT("b", IFG_BENCH_FLOAT, 1, 100, NULL) };
    static struct port turned[] = { PORT("b", IFG_BENCH_FLOAT, 1, 100, NULL),
                                    PORT("c", IFG_BENCH_INT32, 1, 7, NULL),
                                    PORT("a", IFG_BENCH_FLOAT, 1, 100, NULL) };
    struct port_list two = { ports, 2 }, three = { turned, 3 };
    struct inputs_options options = { .seed = 5 };
    uint8_t a[400], b[400];

    REQUIRE_INT(make(&two, &options), IFG_OK);
    memcpy(a, sets.sets[0].items[0].data, sizeof a);
    memcpy(b, sets.sets[0].items[1].data, sizeof b);
    CHECK(memcmp(a, b, sizeof a) != 0);
    REQUIRE_INT(make(&three, &options), IFG_OK);
    CHECK_BYTES(sets.sets[0].items[0].data, b, sizeof b);
    CHECK_BYTES(sets.sets[0].items[2].data, a, sizeof a);
    options.seed = 6;
    REQUIRE_INT(make(&two, &options), IFG_OK);
    CHECK(memcmp(a, sets.sets[0].items[0].data, sizeof a) != 0);
    options.seed = 1;
    REQUIRE_INT(make(&two, &options), IFG_OK);
    tap_diag("%.9g", tensor_value(&sets.sets[0].items[0], 0));
    CHECK(tensor_value(&sets.sets[0].items[0], 0) == 0x1.ccba4e0000000p-1);
    inputs_fini(&sets);
}

static void values_fill_an_input(void)
{
    struct inputs_value value = { "v", 3 };
    struct inputs_options options = { .values = &value, .value_count = 1 };
    static const struct {
        int32_t type;
        double asked, got; /* NAN: refused */
    } cases[] = {
        { IFG_BENCH_FLOAT, 0.1, 0.1f },
        { IFG_BENCH_DOUBLE, 0.1, 0.1 },
        { IFG_BENCH_FLOAT16, 0.1, 0.0999755859375 },
        { IFG_BENCH_FLOAT16, 65519, 65504 },
        { IFG_BENCH_FLOAT16, 65520, NAN },
        { IFG_BENCH_FLOAT16, 2049, 2048 }, /* ties to even */
        { IFG_BENCH_FLOAT16, 2051, 2052 },
        { IFG_BENCH_FLOAT16, 0x1p-25, 0 },
        { IFG_BENCH_FLOAT16, 0x1.8p-24, 0x1p-23 },
        { IFG_BENCH_FLOAT16, 0x1.ffcp-15, 0x1p-14 }, /* the largest subnormal half rounds up */
        { IFG_BENCH_FLOAT16, -1e9, NAN },
        { IFG_BENCH_FLOAT16, (double)-INFINITY, (double)-INFINITY },
        { IFG_BENCH_BFLOAT16, 0.1, 0.10009765625 },
        { IFG_BENCH_BFLOAT16, 257, 256 },
        { IFG_BENCH_BFLOAT16, 259, 260 },
        { IFG_BENCH_BFLOAT16, 257.0000000001, 258 }, /* beside a tie, but not as a float */
        { IFG_BENCH_BFLOAT16, 3.4e38, NAN },
        { IFG_BENCH_FLOAT, 1e39, NAN },
        { IFG_BENCH_INT8, 127, 127 },
        { IFG_BENCH_INT8, 128, NAN },
        { IFG_BENCH_INT8, -128, -128 },
        { IFG_BENCH_INT8, -129, NAN },
        { IFG_BENCH_UINT8, -1, NAN },
        { IFG_BENCH_UINT8, 255, 255 },
        { IFG_BENCH_INT32, 0.5, NAN },
        { IFG_BENCH_INT64, 16000, 16000 },
        { IFG_BENCH_INT64, -0x1p63, -0x1p63 },
        { IFG_BENCH_INT64, 0x1p63, NAN },
        { IFG_BENCH_UINT64, 0x1p63, 0x1p63 },
        { IFG_BENCH_UINT64, 0x1p64, NAN },
        { IFG_BENCH_BOOL, 1, 1 },
        { IFG_BENCH_BOOL, 2, NAN },
        { IFG_BENCH_STRING, 1, NAN },
        { IFG_BENCH_INT16, (double)INFINITY, NAN },
    };

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct port port = PORT("v", cases[i].type, 1, 3, NULL);
        struct port_list ports = { &port, 1 };

        tap_note("%s %.17g", tensor_type_name(cases[i].type), cases[i].asked);
        value.value = cases[i].asked;
        if (isnan(cases[i].got)) {
            CHECK_INT(make(&ports, &options), IFG_INVALID);
            CHECK_CONTAINS(err.message, "--value v=");
            continue;
        }
        REQUIRE_INT(make(&ports, &options), IFG_OK);
        for (uint64_t j = 0; j < 3; j++)
            CHECK(tensor_value(&sets.sets[0].items[0], j) == cases[i].got);
    }
    value.value = 3;
    {
        struct port port = PORT("v", IFG_BENCH_INT64, 1, 3, NULL);
        struct port_list ports = { &port, 1 };

        REQUIRE_INT(make(&ports, &options), IFG_OK);
        CHECK_STR(sets.summary, "v int64 3 = 3");
    }
    inputs_fini(&sets);
}

static void names_cannot_command_a_terminal(void)
{
    struct port ports[] = { PORT("a\033[2Jb", IFG_BENCH_FLOAT, 1, 1, NULL),
                            PORT("c", IFG_BENCH_FLOAT, 1, 1, NULL) };
    struct port_list list = { ports, 2 };
    struct inputs_options options = { 0 };

    REQUIRE_INT(make(&list, &options), IFG_OK);
    CHECK(strchr(sets.summary, '\033') == NULL);
    CHECK_CONTAINS(sets.summary, "a?[2Jb");
    inputs_fini(&sets);
}

static void summaries_fit(void)
{
    static struct port ports[40];
    struct port_list list = { ports, 40 };
    struct inputs_options options = { .seed = 3 };
    char names[40][32];

    for (size_t i = 0; i < 40; i++) {
        snprintf(names[i], sizeof names[i], "past_key_values.%zu.key", i);
        ports[i] = (struct port)PORT(names[i], IFG_BENCH_FLOAT, 1, 1, NULL);
    }
    REQUIRE_INT(make(&list, &options), IFG_OK);
    CHECK(strlen(sets.summary) < sizeof sets.summary);
    CHECK_CONTAINS(sets.summary, "..., random (seed 3)");
    inputs_fini(&sets);
}

static void every_failing_allocation_is_said(void)
{
    struct inputs_options options = { .seed = 1 };

    for (long i = 0; i < 20; i++) {
        enum ifg_status status;

        inputs_fini(&sets);
        ifg_alloc_fail_after(i);
        status = inputs_make(&text_ports, &options, &sets, &err);
        ifg_alloc_fail_after(-1);
        if (status == IFG_OK) {
            CHECK(i > 5);
            inputs_fini(&sets);
            return;
        }
        CHECK_INT(status, IFG_NO_MEMORY);
        CHECK_UINT(sets.count, 0);
    }
    CHECK(false);
}

/* ---- texts ---- */

static void dims_are_parsed(void)
{
    static const char *const bad[] = {
        "batch",    "batch=",    "=4", "batch=-1",
        "batch=4x", "batch=4.0", "",   "batch=99999999999999999999"
    };
    struct inputs_dim dim;
    char words[64];

    snprintf(words, sizeof words, "batch=4");
    REQUIRE(inputs_parse_dim(words, &dim));
    CHECK_STR(dim.name, "batch");
    CHECK_INT(dim.size, 4);
    snprintf(words, sizeof words, "a=b=12");
    REQUIRE(inputs_parse_dim(words, &dim));
    CHECK_STR(dim.name, "a=b");
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        snprintf(words, sizeof words, "%s", bad[i]);
        tap_note("%s", bad[i]);
        CHECK(!inputs_parse_dim(words, &dim));
    }
}

static void shapes_are_parsed(void)
{
    static const char *const bad[] = {
        "x:",     ":1x2",   "x:1x",
        "x:1xx2", "x:1x-2", "x:ax3",
        "",       "x",      "1x2x3x4x5x6x7x8x9x10x11x12x13x14x15x16x17",
        "x: 1x2"
    };
    struct inputs_shape shape;
    char words[64];

    snprintf(words, sizeof words, "x:1x3x224x224");
    REQUIRE(inputs_parse_shape(words, &shape));
    CHECK_STR(shape.input, "x");
    CHECK_UINT(shape.rank, 4);
    CHECK_INT(shape.dims[3], 224);
    snprintf(words, sizeof words, "16");
    REQUIRE(inputs_parse_shape(words, &shape));
    CHECK(shape.input == NULL);
    CHECK_UINT(shape.rank, 1);
    snprintf(words, sizeof words, "input:0:2,3");
    REQUIRE(inputs_parse_shape(words, &shape));
    CHECK_STR(shape.input, "input:0");
    CHECK_UINT(shape.rank, 2);
    snprintf(words, sizeof words, "sr:scalar");
    REQUIRE(inputs_parse_shape(words, &shape));
    CHECK_UINT(shape.rank, 0);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        snprintf(words, sizeof words, "%s", bad[i]);
        tap_note("%s", bad[i]);
        CHECK(!inputs_parse_shape(words, &shape));
    }
}

static void values_are_parsed(void)
{
    static const char *const bad[] = { "sr", "sr=", "=1", "sr=1a", "sr= 1", "" };
    struct inputs_value value;
    char words[64];

    snprintf(words, sizeof words, "sr=16000");
    REQUIRE(inputs_parse_value(words, &value));
    CHECK_STR(value.input, "sr");
    CHECK(value.value == 16000);
    snprintf(words, sizeof words, "t=-1e-3");
    REQUIRE(inputs_parse_value(words, &value));
    CHECK(value.value == -1e-3);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        snprintf(words, sizeof words, "%s", bad[i]);
        tap_note("%s", bad[i]);
        CHECK(!inputs_parse_value(words, &value));
    }
}

TAP_MAIN(TAP_CASE(free_dimensions_are_one), TAP_CASE(options_set_dimensions),
         TAP_CASE(a_name_has_one_size_in_all_inputs), TAP_CASE(an_input_without_a_shape_takes_any),
         TAP_CASE(what_does_not_fit_is_refused), TAP_CASE(a_fixed_batch_stays),
         TAP_CASE(what_is_no_tensor_is_refused), TAP_CASE(too_much_is_refused),
         TAP_CASE(empty_inputs_are_possible), TAP_CASE(every_type_has_its_numbers),
         TAP_CASE(bounds_are_kept_and_used), TAP_CASE(strings_are_words),
         TAP_CASE(a_seed_is_a_promise), TAP_CASE(values_fill_an_input),
         TAP_CASE(names_cannot_command_a_terminal), TAP_CASE(summaries_fit),
         TAP_CASE(every_failing_allocation_is_said), TAP_CASE(dims_are_parsed),
         TAP_CASE(shapes_are_parsed), TAP_CASE(values_are_parsed))
