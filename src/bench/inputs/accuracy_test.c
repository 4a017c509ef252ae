// SPDX-License-Identifier: Apache-2.0
/* Tensors and how far outputs are apart, against numbers that numpy computed. */
#include "bench/inputs/accuracy.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "tap.h"

#define COUNT 600
#define WIDTH 20

static bool is_near(double got, double expected)
{
    return fabs(got - expected) <= 1e-12 * fmax(1, fabs(expected));
}

#define CHECK_NEAR(got, expected)                                                                  \
    do {                                                                                           \
        if (!is_near(got, expected))                                                               \
            tap_diag("%s is %.17g, expected %.17g", #got, (double)(got), (double)(expected));      \
        CHECK(is_near(got, expected));                                                             \
    } while (0)

/* k / 1024 with |k| < 1024: exact in every float type. */
static uint16_t half_of(int k)
{
    int size = k < 0 ? -k : k;
    int exponent = 15;

    if (k == 0)
        return 0;
    while (size < 1024) {
        size *= 2;
        exponent--;
    }
    return (uint16_t)((k < 0 ? 0x8000 : 0) | exponent << 10 | (size - 1024));
}

static void put(struct tensor *tensor, size_t index, int k)
{
    float single = (float)k / 1024;
    double twice = (double)k / 1024;
    uint16_t half = half_of(k);
    int16_t integer = (int16_t)k;
    uint32_t bits;

    switch (tensor->type) {
    case IFG_BENCH_FLOAT:
        memcpy(tensor->data + 4 * index, &single, 4);
        break;
    case IFG_BENCH_DOUBLE:
        memcpy(tensor->data + 8 * index, &twice, 8);
        break;
    case IFG_BENCH_FLOAT16:
        memcpy(tensor->data + 2 * index, &half, 2);
        break;
    case IFG_BENCH_BFLOAT16:
        memcpy(&bits, &single, 4);
        bits >>= 16;
        half = (uint16_t)bits;
        memcpy(tensor->data + 2 * index, &half, 2);
        break;
    case IFG_BENCH_INT16:
        memcpy(tensor->data + 2 * index, &integer, 2);
        break;
    case IFG_BENCH_BOOL:
        tensor->data[index] = k > 0;
        break;
    default:
        REQUIRE(false);
    }
}

static void make(struct tensor *tensor, const char *name, int32_t type, size_t from, size_t count,
                 bool other)
{
    memset(tensor, 0, sizeof *tensor);
    tensor->name = ifg_strdup(name);
    tensor->type = type;
    tensor->rank = 2;
    tensor->dims[0] = (int64_t)count / WIDTH;
    tensor->dims[1] = WIDTH;
    tensor->bytes = count * tensor_type_bytes(type);
    tensor->data = ifg_alloc(tensor->bytes, 1);
    REQUIRE(tensor->data != NULL && tensor->name != NULL);
    for (size_t i = 0; i < count; i++) {
        int k = (int)((from + i) * 7919 % 1000) - 500;

        put(tensor, i, k + (other ? (int)((from + i) * 104729 % 81) - 40 : 0));
    }
}

static struct tensor_list list_of(size_t count)
{
    struct tensor_list list = { ifg_alloc(count, sizeof(struct tensor)), count };

    REQUIRE(list.items != NULL);
    return list;
}

struct golden {
    int32_t type;
    double max_abs, mean_abs, cosine, sqnr_db, argmax;
};

static const struct golden golden[] = {
    /* numpy: sums of float64 by math.fsum */
    { IFG_BENCH_FLOAT, 0.0390625, 0.019739583333333335, 0.9967549639211516, 21.837750795403615,
      0.8 },
    { IFG_BENCH_DOUBLE, 0.0390625, 0.019739583333333335, 0.9967549639211516, 21.837750795403615,
      0.8 },
    { IFG_BENCH_FLOAT16, 0.0390625, 0.019739583333333335, 0.9967549639211516, 21.837750795403615,
      0.8 },
    { IFG_BENCH_INT16, 40.0, 20.213333333333335, 0.9967549639211516, 21.837750795403615, 0.8 },
    { IFG_BENCH_BOOL, 1.0, 0.021666666666666667, 0.9784424731554305, 13.646231432870067,
      0.9666666666666667 },
};

static void numbers_are_those_of_numpy(void)
{
    for (size_t i = 0; i < sizeof golden / sizeof *golden; i++) {
        struct tensor_list a = list_of(1), b = list_of(1);
        struct accuracy *got = NULL;

        tap_note("%s", tensor_type_name(golden[i].type));
        make(a.items, "y", golden[i].type, 0, COUNT, false);
        make(b.items, "y", golden[i].type, 0, COUNT, true);
        REQUIRE_INT(accuracy_compare(&a, &b, &got, NULL), IFG_OK);
        CHECK(got->comparable);
        CHECK_STR(got->output, "y");
        CHECK_UINT(got->elements, COUNT);
        CHECK_UINT(got->not_finite, 0);
        CHECK_NEAR(got->max_abs, golden[i].max_abs);
        CHECK_NEAR(got->mean_abs, golden[i].mean_abs);
        CHECK_NEAR(got->cosine, golden[i].cosine);
        CHECK_NEAR(got->sqnr_db, golden[i].sqnr_db);
        CHECK_NEAR(got->argmax_agreement, golden[i].argmax);
        accuracy_free(got);
        tensor_list_fini(&a);
        tensor_list_fini(&b);
    }
}

static void the_same_twice_differs_by_nothing(void)
{
    static const int32_t types[] = { IFG_BENCH_FLOAT,    IFG_BENCH_DOUBLE, IFG_BENCH_FLOAT16,
                                     IFG_BENCH_BFLOAT16, IFG_BENCH_INT16,  IFG_BENCH_BOOL };

    for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
        struct tensor_list a = list_of(1);
        struct accuracy *got = NULL;

        make(a.items, "y", types[i], 0, COUNT, false);
        REQUIRE_INT(accuracy_compare(&a, &a, &got, NULL), IFG_OK);
        CHECK(got->max_abs == 0);
        CHECK(got->mean_abs == 0);
        CHECK(got->cosine == 1);
        CHECK(isinf(got->sqnr_db) && got->sqnr_db > 0);
        CHECK(got->argmax_agreement == 1);
        accuracy_free(got);
        tensor_list_fini(&a);
    }
}

static void sets_combine_to_what_all_of_them_give(void)
{
    static const size_t cuts[] = { 0, 200, 240, COUNT };
    struct accuracy *all = NULL, *sum = NULL;
    struct tensor_list a = list_of(1), b = list_of(1);

    make(a.items, "y", IFG_BENCH_FLOAT, 0, COUNT, false);
    make(b.items, "y", IFG_BENCH_FLOAT, 0, COUNT, true);
    REQUIRE_INT(accuracy_compare(&a, &b, &all, NULL), IFG_OK);
    tensor_list_fini(&a);
    tensor_list_fini(&b);
    for (size_t i = 0; i < 3; i++) {
        struct accuracy *more = NULL;

        a = list_of(1);
        b = list_of(1);
        make(a.items, "y", IFG_BENCH_FLOAT, cuts[i], cuts[i + 1] - cuts[i], false);
        make(b.items, "y", IFG_BENCH_FLOAT, cuts[i], cuts[i + 1] - cuts[i], true);
        REQUIRE_INT(accuracy_compare(&a, &b, &more, NULL), IFG_OK);
        if (sum) {
            accuracy_combine(sum, more, 1);
            accuracy_free(more);
        } else {
            sum = more;
        }
        tensor_list_fini(&a);
        tensor_list_fini(&b);
    }
    CHECK_UINT(sum->elements, all->elements);
    CHECK_NEAR(sum->max_abs, all->max_abs);
    CHECK_NEAR(sum->mean_abs, all->mean_abs);
    CHECK_NEAR(sum->cosine, all->cosine);
    CHECK_NEAR(sum->sqnr_db, all->sqnr_db);
    CHECK_NEAR(sum->argmax_agreement, all->argmax_agreement);
    accuracy_free(sum);
    accuracy_free(all);
}

static void what_is_not_finite_is_counted(void)
{
    const float left[] = { 1, NAN, NAN, INFINITY, INFINITY, -INFINITY, 2, 3 };
    const float right[] = { 1, NAN, 5, INFINITY, -INFINITY, 0, NAN, 4 };
    struct tensor a = { .name = (char *)"y",
                        .type = IFG_BENCH_FLOAT,
                        .rank = 1,
                        .dims = { 8 },
                        .data = (uint8_t *)left,
                        .bytes = sizeof left };
    struct tensor b = a;
    struct tensor_list list_a = { &a, 1 }, list_b = { &b, 1 };
    struct accuracy *got = NULL;

    b.data = (uint8_t *)right;
    REQUIRE_INT(accuracy_compare(&list_a, &list_b, &got, NULL), IFG_OK);
    CHECK_UINT(got->elements, 8);
    CHECK_UINT(got->not_finite, 4);
    CHECK_UINT(got->compared, 2); /* 1 with 1, 3 with 4 */
    CHECK_NEAR(got->max_abs, 1);
    CHECK_NEAR(got->mean_abs, 0.5);
    CHECK_NEAR(got->sqnr_db, 10);
    accuracy_free(got);
    b.data = a.data;
    REQUIRE_INT(accuracy_compare(&list_a, &list_b, &got, NULL), IFG_OK);
    CHECK_UINT(got->not_finite, 0);
    CHECK(got->max_abs == 0 && got->cosine == 1);
    accuracy_free(got);
}

static void zeros_have_a_cosine_only_with_zeros(void)
{
    const float zeros[3] = { 0, 0, 0 }, ones[3] = { 1, 1, 1 };
    struct tensor a = { .name = (char *)"y",
                        .type = IFG_BENCH_FLOAT,
                        .rank = 1,
                        .dims = { 3 },
                        .data = (uint8_t *)zeros,
                        .bytes = sizeof zeros };
    struct tensor b = a;
    struct tensor_list list_a = { &a, 1 }, list_b = { &b, 1 };
    struct accuracy *got = NULL;

    REQUIRE_INT(accuracy_compare(&list_a, &list_b, &got, NULL), IFG_OK);
    CHECK(got->cosine == 1);
    CHECK(isinf(got->sqnr_db));
    accuracy_free(got);
    b.data = (uint8_t *)ones;
    REQUIRE_INT(accuracy_compare(&list_a, &list_b, &got, NULL), IFG_OK);
    CHECK(isnan(got->cosine));
    CHECK(isinf(got->sqnr_db) && got->sqnr_db < 0);
    accuracy_free(got);
    a.rank = b.rank = 0;
    a.bytes = b.bytes = 4;
    REQUIRE_INT(accuracy_compare(&list_a, &list_b, &got, NULL), IFG_OK);
    CHECK(isnan(got->argmax_agreement));
    CHECK_UINT(got->elements, 1);
    accuracy_free(got);
}

static void outputs_match_by_name_then_by_place(void)
{
    struct tensor_list a = list_of(2), b = list_of(2);
    struct accuracy *got = NULL;

    make(&a.items[0], "scores", IFG_BENCH_FLOAT, 0, 20, false);
    make(&a.items[1], "boxes", IFG_BENCH_FLOAT, 100, 40, false);
    make(&b.items[0], "boxes", IFG_BENCH_FLOAT, 100, 40, false);
    make(&b.items[1], "scores", IFG_BENCH_FLOAT16, 0, 20, false);
    REQUIRE_INT(accuracy_compare(&a, &b, &got, NULL), IFG_OK);
    CHECK(got[0].comparable && got[0].max_abs == 0); /* float32 against float16 is fine */
    CHECK(got[1].comparable && got[1].max_abs == 0);
    accuracy_free(got);
    b.items[1].name[0] = 'S'; /* no such name: the second of two */
    REQUIRE_INT(accuracy_compare(&a, &b, &got, NULL), IFG_OK);
    CHECK(!got[0].comparable); /* "boxes" by place */
    CHECK_CONTAINS(got[0].reason, "shape 1x20, the other has 2x20");
    accuracy_free(got);
    b.count = 1;
    REQUIRE_INT(accuracy_compare(&a, &b, &got, NULL), IFG_OK);
    CHECK_CONTAINS(got[0].reason, "no such output");
    CHECK(isnan(got[0].max_abs));
    CHECK(got[1].comparable);
    accuracy_free(got);
    b.count = 2;
    tensor_list_fini(&a);
    tensor_list_fini(&b);
}

static void what_cannot_be_compared_says_why(void)
{
    struct tensor_list a = list_of(1), b = list_of(1);
    struct accuracy *got = NULL, *good = NULL;

    make(a.items, "y", IFG_BENCH_FLOAT, 0, 40, false);
    make(b.items, "y", IFG_BENCH_FLOAT, 0, 40, false);
    REQUIRE_INT(accuracy_compare(&a, &b, &good, NULL), IFG_OK);
    b.items[0].type = IFG_BENCH_STRING;
    REQUIRE_INT(accuracy_compare(&a, &b, &got, NULL), IFG_OK);
    CHECK_STR(got->reason, "strings");
    accuracy_combine(good, got, 1);
    CHECK(!good->comparable);
    CHECK_STR(good->reason, "strings");
    accuracy_free(got);
    b.items[0].type = 22;
    REQUIRE_INT(accuracy_compare(&a, &b, &got, NULL), IFG_OK);
    CHECK_CONTAINS(got->reason, "int4");
    accuracy_free(got);
    b.items[0].type = IFG_BENCH_DOUBLE; /* whose bytes are too few */
    REQUIRE_INT(accuracy_compare(&a, &b, &got, NULL), IFG_OK);
    CHECK_CONTAINS(got->reason, "another size");
    accuracy_free(got);
    accuracy_free(good);
    tensor_list_fini(&a);
    tensor_list_fini(&b);
}

static void no_memory_is_said(void)
{
    struct tensor_list a = list_of(1);
    struct accuracy *got = NULL;
    struct ifg_error err;

    make(a.items, "y", IFG_BENCH_FLOAT, 0, 20, false);
    ifg_alloc_fail_after(0);
    CHECK_INT(accuracy_compare(&a, &a, &got, &err), IFG_NO_MEMORY);
    ifg_alloc_fail_after(-1);
    CHECK(got == NULL);
    tensor_list_fini(&a);
}

/* ---- tensors ---- */

static void shapes_read_well(void)
{
    const int64_t dims[] = { -1, 3, -1, 224 };
    char *names[] = { (char *)"batch", NULL, (char *)"", NULL };
    char text[64], little[5];

    CHECK_STR(tensor_shape_text(dims, names, 4, text, sizeof text), "batchx3x?x224");
    CHECK_STR(tensor_shape_text(dims, NULL, 4, text, sizeof text), "?x3x?x224");
    CHECK_STR(tensor_shape_text(dims, NULL, 0, text, sizeof text), "scalar");
    CHECK_STR(tensor_shape_text(dims, names, 4, little, sizeof little), "batc");
    CHECK_STR(tensor_type_name(IFG_BENCH_BFLOAT16), "bfloat16");
    CHECK_STR(tensor_type_name(99), "type 99");
    CHECK_STR(tensor_type_name(-1), "type -1");
    CHECK_UINT(tensor_type_bytes(IFG_BENCH_STRING), 0);
    CHECK_UINT(tensor_type_bytes(IFG_BENCH_DOUBLE), 8);
}

static void elements_do_not_overflow(void)
{
    const int64_t large[] = { INT64_MAX, 3 }, empty[] = { INT64_MAX, 0, INT64_MAX, 1 };
    const int64_t free_one[] = { 2, -1 };
    uint64_t count;

    CHECK(!tensor_elements(large, 2, &count));
    CHECK(tensor_elements(large, 1, &count) && count == INT64_MAX);
    CHECK(!tensor_elements(free_one, 2, &count));
    CHECK(tensor_elements(empty, 2, &count) && count == 0);
    CHECK(!tensor_elements(empty, 4, &count)); /* not even when there is nothing in it */
    CHECK(tensor_elements(NULL, 0, &count) && count == 1);
}

static void halves_are_widened(void)
{
    static const struct {
        uint16_t bits;
        int32_t type;
        double value;
    } cases[] = {
        { 0x3c00, IFG_BENCH_FLOAT16, 1 },         { 0xc000, IFG_BENCH_FLOAT16, -2 },
        { 0x7bff, IFG_BENCH_FLOAT16, 65504 },     { 0x0001, IFG_BENCH_FLOAT16, 0x1p-24 },
        { 0x0400, IFG_BENCH_FLOAT16, 0x1p-14 },   { 0x03ff, IFG_BENCH_FLOAT16, 1023 * 0x1p-24 },
        { 0xfc00, IFG_BENCH_FLOAT16, -INFINITY }, { 0x3555, IFG_BENCH_FLOAT16, 0.333251953125 },
        { 0x3f80, IFG_BENCH_BFLOAT16, 1 },        { 0xc049, IFG_BENCH_BFLOAT16, -3.140625 },
    };
    uint16_t nan_bits = 0x7e01;
    struct tensor tensor = { .rank = 0, .bytes = 2 };

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        uint16_t bits = cases[i].bits;

        tensor.type = cases[i].type;
        tensor.data = (uint8_t *)&bits;
        tap_note("0x%04x", bits);
        CHECK(tensor_value(&tensor, 0) == cases[i].value);
    }
    tensor.type = IFG_BENCH_FLOAT16;
    tensor.data = (uint8_t *)&nan_bits;
    CHECK(isnan(tensor_value(&tensor, 0)));
}

/* What is still the same answer. */
static void limits_decide(void)
{
    const struct accuracy_limits usual = { INFINITY, ACCURACY_MIN_COSINE };
    const struct accuracy good = { .output = "y",
                                   .comparable = true,
                                   .elements = 4,
                                   .compared = 4,
                                   .max_abs = 0.5,
                                   .cosine = 0.99,
                                   .square_a = 100,
                                   .square_b = 100,
                                   .square_difference = 1 };
    struct accuracy one[2] = { good, good };
    struct accuracy_limits own = usual;
    char reason[200] = "";

    CHECK(accuracy_within(one, 2, &usual, reason, sizeof reason));
    CHECK(accuracy_within(one, 0, &usual, reason, sizeof reason));
    one[1].cosine = 0.03;
    CHECK(!accuracy_within(one, 2, &usual, reason, sizeof reason));
    CHECK_STR(reason, "output 'y' has cosine 0.03, at least 0.95 is wanted");
    own.min_cosine = 0.02;
    CHECK(accuracy_within(one, 2, &own, reason, sizeof reason));
    one[1] = good;
    one[1].square_difference = 10.1; /* all too large: the cosine does not see it */
    one[1].cosine = 1;
    CHECK(!accuracy_within(one, 2, &usual, reason, sizeof reason));
    CHECK_STR(reason, "output 'y' is off by 31.8 % of its length, at most 31.6 % is allowed");
    one[1] = good;
    one[1].not_finite = 1;
    CHECK(!accuracy_within(one, 2, &usual, reason, sizeof reason));
    CHECK_STR(reason, "output 'y' has 1 of 4 elements NaN or infinite on one side");
    one[1] = good;
    own = (struct accuracy_limits){ 0.4, 0.95 };
    CHECK(!accuracy_within(one, 2, &own, reason, sizeof reason));
    CHECK_STR(reason, "output 'y' is off by up to 0.5, at most 0.4 is allowed");
    one[1].square_a = 0;
    one[1].cosine = NAN;
    CHECK(!accuracy_within(one, 2, &usual, reason, sizeof reason));
    one[1].square_b = one[1].square_difference = 0;
    one[1].cosine = 1;
    CHECK(accuracy_within(one, 2, &usual, reason, sizeof reason));
    one[1] = (struct accuracy){ .output = "s", .reason = "strings", .no_numbers = true };
    CHECK(accuracy_within(one, 2, &usual, reason, sizeof reason));
    one[1] = (struct accuracy){ .output = "s", .reason = "shape 1, the other has 2" };
    CHECK(!accuracy_within(one, 2, &usual, reason, sizeof reason));
    CHECK_CONTAINS(reason, "cannot be compared: shape 1");
}

TAP_MAIN(TAP_CASE(limits_decide), TAP_CASE(numbers_are_those_of_numpy),
         TAP_CASE(the_same_twice_differs_by_nothing),
         TAP_CASE(sets_combine_to_what_all_of_them_give), TAP_CASE(what_is_not_finite_is_counted),
         TAP_CASE(zeros_have_a_cosine_only_with_zeros),
         TAP_CASE(outputs_match_by_name_then_by_place), TAP_CASE(what_cannot_be_compared_says_why),
         TAP_CASE(no_memory_is_said), TAP_CASE(shapes_read_well),
         TAP_CASE(elements_do_not_overflow), TAP_CASE(halves_are_widened))
