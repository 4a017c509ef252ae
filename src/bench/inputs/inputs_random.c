// SPDX-License-Identifier: Apache-2.0
/*
 * Data without a file: seeded random numbers of every type, or one value everywhere. The same seed
 * gives the same bytes for an input of the same name, whatever other inputs there are.
 */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "analyze/statistics.h"
#include "base/alloc.h"
#include "bench/inputs/inputs_internal.h"

/* Integers below this are valid for almost everything: class numbers, tokens, masks, lengths. */
#define UNBOUNDED_BELOW 10

static const char *const words[] = { "time",  "year",   "people",  "way",   "day",   "man",
                                     "thing", "woman",  "life",    "child", "world", "school",
                                     "state", "family", "student", "group" };
#define WORDS    (sizeof words / sizeof *words)
#define WORD_MAX 8 /* with its end */

static uint64_t hash_name(const char *name)
{
    uint64_t hash = 0xcbf29ce484222325u; /* FNV-1a */

    for (; *name; name++)
        hash = (hash ^ (uint8_t)*name) * 0x100000001b3u;
    return hash;
}

/* To the nearest half, ties to even. Too large ones become infinite. */
static uint16_t round_to_half(double value)
{
    uint16_t sign = signbit(value) ? 0x8000 : 0;
    double size = fabs(value);
    int exponent;
    double units;

    if (isnan(value))
        return 0x7e00;
    if (size >= 65520.0) /* half way between the largest half and the one that would come next */
        return sign | 0x7c00;
    if (size < ldexp(1.0, -14)) /* steps of 2^-24; 1024 of them are the smallest normal number */
        return sign | (uint16_t)nearbyint(ldexp(size, 24));
    frexp(size, &exponent);
    units = nearbyint(ldexp(size, 11 - exponent)); /* 1024 .. 2048; the latter carries over */
    return (uint16_t)(sign | ((uint32_t)((exponent + 14) << 10) + ((uint32_t)units - 1024)));
}

/* To the nearest bfloat16, ties to even, by way of float. A double that lies just beside a tie of
 * bfloat16 may move onto it as a float: then it tells the way that it came from. */
static uint16_t round_to_brain(double value)
{
    float narrow = (float)value;
    uint32_t bits;
    uint32_t rest;

    if (isnan(value))
        return 0x7fc0;
    memcpy(&bits, &narrow, sizeof bits);
    rest = bits & 0xffff;
    bits >>= 16;
    if (rest > 0x8000)
        bits++;
    else if (rest == 0x8000) {
        double off = fabs(value) - fabs((double)narrow);

        if (off > 0 || (off == 0 && (bits & 1)))
            bits++;
    }
    return (uint16_t)bits;
}

static double unit(uint64_t *state)
{
    return (double)(statistics_random(state) >> 40) * 0x1p-24; /* exact as a float too */
}

/* [0, 1) stays open when rounding would close it. */
static uint16_t unit_rounded(uint64_t *state, uint16_t (*round)(double), uint16_t one)
{
    uint16_t bits = round(unit(state));

    return bits < one ? bits : (uint16_t)(one - 1);
}

static void random_floats(struct tensor *tensor, uint64_t count, uint64_t *state)
{
    for (uint64_t i = 0; i < count; i++) {
        if (tensor->type == IFG_BENCH_FLOAT) {
            float value = (float)unit(state);

            memcpy(tensor->data + i * sizeof value, &value, sizeof value);
        } else if (tensor->type == IFG_BENCH_DOUBLE) {
            double value = (double)(statistics_random(state) >> 11) * 0x1p-53;

            memcpy(tensor->data + i * sizeof value, &value, sizeof value);
        } else {
            uint16_t value = tensor->type == IFG_BENCH_FLOAT16
                                 ? unit_rounded(state, round_to_half, 0x3c00)
                                 : unit_rounded(state, round_to_brain, 0x3f80);

            memcpy(tensor->data + i * sizeof value, &value, sizeof value);
        }
    }
}

/* The largest integer of a type; 0 for what is none. */
static uint64_t integer_max(int32_t type)
{
    switch (type) {
    case IFG_BENCH_INT8:
        return INT8_MAX;
    case IFG_BENCH_UINT8:
        return UINT8_MAX;
    case IFG_BENCH_INT16:
        return INT16_MAX;
    case IFG_BENCH_UINT16:
        return UINT16_MAX;
    case IFG_BENCH_INT32:
        return INT32_MAX;
    case IFG_BENCH_UINT32:
        return UINT32_MAX;
    case IFG_BENCH_INT64:
        return INT64_MAX;
    case IFG_BENCH_UINT64:
        return UINT64_MAX;
    default:
        return 0;
    }
}

/* The low bytes of a 64-bit integer, in this machine's order. */
static void put_integer(uint8_t *at, size_t bytes, uint64_t value)
{
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
    memcpy(at, (uint8_t *)&value + sizeof value - bytes, bytes);
#else
    memcpy(at, &value, bytes);
#endif
}

static void random_integers(struct tensor *tensor, uint64_t count, int64_t below, uint64_t *state)
{
    uint64_t most = integer_max(tensor->type);
    uint64_t limit = below > 0 ? (uint64_t)below : UNBOUNDED_BELOW;
    size_t bytes = tensor_type_bytes(tensor->type);

    if (limit > most)
        limit = most;
    for (uint64_t i = 0; i < count; i++)
        put_integer(tensor->data + i * bytes, bytes, statistics_random_below(state, limit));
}

static enum ifg_status random_words(struct tensor *tensor, uint64_t count, uint64_t *state)
{
    size_t used = 0;

    tensor->data = ifg_alloc(count ? count : 1, WORD_MAX);
    if (!tensor->data)
        return IFG_NO_MEMORY;
    for (uint64_t i = 0; i < count; i++) {
        const char *word = words[statistics_random_below(state, WORDS)];
        size_t length = strlen(word) + 1;

        memcpy(tensor->data + used, word, length);
        used += length;
    }
    tensor->bytes = used;
    return IFG_OK;
}

/* The bits of one element that is `value`; false if the type has no such number. */
static bool encode_value(int32_t type, double value, uint8_t *out)
{
    uint64_t most = integer_max(type);
    bool is_signed = type == IFG_BENCH_INT8 || type == IFG_BENCH_INT16 || type == IFG_BENCH_INT32 ||
                     type == IFG_BENCH_INT64;
    size_t bytes = tensor_type_bytes(type);
    double limit;
    uint16_t half;
    float single;

    switch (type) {
    case IFG_BENCH_DOUBLE:
        memcpy(out, &value, sizeof value);
        return true;
    case IFG_BENCH_FLOAT:
        single = (float)value;
        memcpy(out, &single, sizeof single);
        return isinf((double)single) == isinf(value);
    case IFG_BENCH_FLOAT16:
    case IFG_BENCH_BFLOAT16:
        half = type == IFG_BENCH_FLOAT16 ? round_to_half(value) : round_to_brain(value);
        memcpy(out, &half, sizeof half);
        return isinf(value) || (half & 0x7fff) != (type == IFG_BENCH_FLOAT16 ? 0x7c00 : 0x7f80);
    case IFG_BENCH_BOOL:
        *out = value != 0;
        return value == 0 || value == 1;
    default:
        limit = ldexp(1.0, (int)bytes * 8 - (is_signed ? 1 : 0)); /* one more than the largest */
        if (most == 0 || value != floor(value) || value >= limit ||
            value < (is_signed ? -limit : 0.0))
            return false;
        put_integer(out, bytes, value < 0 ? (uint64_t)(int64_t)value : (uint64_t)value);
        return true;
    }
}

static enum ifg_status fill_value(const struct inputs_value *value, struct tensor *tensor,
                                  uint64_t count, struct ifg_error *err)
{
    size_t bytes = tensor_type_bytes(tensor->type);
    uint8_t element[8];

    if (tensor->type == IFG_BENCH_STRING)
        return ifg_fail(err, IFG_INVALID,
                        "--value %.*s=%g: this input takes strings; give them with --input-data",
                        INPUTS_TEXT, tensor->name, value->value);
    if (!encode_value(tensor->type, value->value, element))
        return ifg_fail(err, IFG_INVALID,
                        "--value %.*s=%.17g: the input is %s, which has no such number",
                        INPUTS_TEXT, tensor->name, value->value, tensor_type_name(tensor->type));
    for (uint64_t i = 0; i < count; i++)
        memcpy(tensor->data + i * bytes, element, bytes);
    return IFG_OK;
}

enum ifg_status inputs_fill(const struct wanted_input *input, uint64_t seed, struct tensor *tensor,
                            struct ifg_error *err)
{
    uint64_t state = seed ^ hash_name(tensor->name);
    size_t bytes = tensor_type_bytes(tensor->type);
    uint64_t count;

    if (!tensor_elements(tensor->dims, tensor->rank, &count))
        return ifg_fail(err, IFG_INTERNAL, "a shape was not checked");
    /* Seeds are often 1 and 2, and names differ in a letter: mix before the first draw. */
    state = statistics_random(&state);
    if (tensor->type == IFG_BENCH_STRING && !input->value) {
        if (random_words(tensor, count, &state) != IFG_OK)
            return ifg_fail_no_memory(err, "for input %.*s", INPUTS_TEXT, tensor->name);
        return IFG_OK;
    }
    tensor->data = ifg_alloc(count ? count : 1, bytes ? bytes : 1);
    if (!tensor->data)
        return ifg_fail_no_memory(err, "for %" PRIu64 " bytes of input %.*s", count * bytes,
                                  INPUTS_TEXT, tensor->name);
    tensor->bytes = count * bytes;
    if (input->value)
        return fill_value(input->value, tensor, count, err);
    switch (tensor->type) {
    case IFG_BENCH_FLOAT:
    case IFG_BENCH_DOUBLE:
    case IFG_BENCH_FLOAT16:
    case IFG_BENCH_BFLOAT16:
        random_floats(tensor, count, &state);
        break;
    case IFG_BENCH_BOOL:
        for (uint64_t i = 0; i < count; i++)
            tensor->data[i] = (uint8_t)(statistics_random(&state) >> 63);
        break;
    default:
        random_integers(tensor, count, input->below, &state);
        break;
    }
    return IFG_OK;
}
