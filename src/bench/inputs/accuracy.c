// SPDX-License-Identifier: Apache-2.0
/*
 * How far outputs are apart: see accuracy.h. Sums are of doubles with Neumaier's correction, so
 * that millions of elements do not wear them down.
 *
 * Elements that are NaN or infinite on one side only are counted and left out of every number;
 * those that are the same kind of NaN or infinity on both sides agree and are left out as well.
 */
#include "bench/inputs/accuracy.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"

/* A sum and what rounding took from it. */
struct sums {
    double value, rest;
};

static void sums_add(struct sums *sums, double more)
{
    double next = sums->value + more;

    if (fabs(sums->value) >= fabs(more))
        sums->rest += (sums->value - next) + more;
    else
        sums->rest += (more - next) + sums->value;
    sums->value = next;
}

static double sums_total(const struct sums *sums)
{
    return sums->value + sums->rest;
}

static bool same_shape(const struct tensor *left, const struct tensor *right)
{
    if (left->rank != right->rank)
        return false;
    for (uint32_t i = 0; i < left->rank; i++)
        if (left->dims[i] != right->dims[i])
            return false;
    return true;
}

/* Whether there are as many bytes as type and shape say: outputs come from another process. */
static bool is_whole(const struct tensor *tensor, uint64_t *out_elements)
{
    uint64_t bytes;

    return tensor->rank <= IFG_BENCH_RANK_MAX &&
           tensor_elements(tensor->dims, tensor->rank, out_elements) &&
           !__builtin_mul_overflow(*out_elements, tensor_type_bytes(tensor->type), &bytes) &&
           bytes == tensor->bytes;
}

static const struct tensor *find_match(const struct tensor_list *baseline,
                                       const struct tensor_list *other, size_t index)
{
    for (size_t i = 0; i < other->count; i++)
        if (strcmp(other->items[i].name, baseline->items[index].name) == 0)
            return &other->items[i];
    return other->count == baseline->count ? &other->items[index] : NULL;
}

/* Rows along the last axis whose largest element has the same place; the first of equals counts,
 * NaN is never the largest. */
static double agreement(const struct tensor *left, const struct tensor *right, uint64_t elements,
                        uint64_t *out_rows)
{
    uint64_t width = left->rank ? (uint64_t)left->dims[left->rank - 1] : 1;
    uint64_t rows, same = 0;

    if (width < 2 || elements == 0)
        return (double)NAN;
    rows = *out_rows = elements / width;
    for (uint64_t row = 0; row < rows; row++) {
        uint64_t best_left = width, best_right = width;
        double most_left = (double)-INFINITY, most_right = (double)-INFINITY;

        for (uint64_t i = 0; i < width; i++) {
            double a = tensor_value(left, row * width + i);
            double b = tensor_value(right, row * width + i);

            if (a > most_left) {
                most_left = a;
                best_left = i;
            }
            if (b > most_right) {
                most_right = b;
                best_right = i;
            }
        }
        same += best_left == best_right;
    }
    return (double)same / (double)rows;
}

static bool same_not_finite(double a, double b)
{
    return (isnan(a) && isnan(b)) || (isinf(a) && isinf(b) && a == b);
}

/* cosine and SQNR from the sums of squares, of products, and of squared differences. */
static void finish(struct accuracy *out)
{
    if (out->elements && !out->compared) { /* nothing was a number */
        out->max_abs = out->mean_abs = out->cosine = out->sqnr_db = (double)NAN;
        return;
    }
    if (out->square_a == 0 && out->square_b == 0)
        out->cosine = 1;
    else if (out->square_a == 0 || out->square_b == 0)
        out->cosine = (double)NAN;
    else if (out->square_difference == 0)
        out->cosine = 1; /* not 0.9999999999999999 */
    else
        out->cosine = out->product / (sqrt(out->square_a) * sqrt(out->square_b));
    out->sqnr_db = out->square_difference == 0 ? (double)INFINITY
                                               : 10 * log10(out->square_a / out->square_difference);
}

static void compare_numbers(const struct tensor *left, const struct tensor *right,
                            uint64_t elements, struct accuracy *out)
{
    struct sums off = { 0 }, product = { 0 }, square_a = { 0 }, square_b = { 0 }, noise = { 0 };

    out->elements = elements;
    for (uint64_t i = 0; i < elements; i++) {
        double a = tensor_value(left, i), b = tensor_value(right, i);
        double difference = fabs(a - b);

        if (!isfinite(a) || !isfinite(b)) {
            if (same_not_finite(a, b))
                out->neither_finite++;
            else
                out->not_finite++;
            continue;
        }
        out->compared++;
        if (difference > out->max_abs)
            out->max_abs = difference;
        sums_add(&off, difference);
        sums_add(&noise, difference * difference);
        sums_add(&product, a * b);
        sums_add(&square_a, a * a);
        sums_add(&square_b, b * b);
    }
    out->mean_abs = out->compared ? sums_total(&off) / (double)out->compared : 0;
    out->product = sums_total(&product);
    out->square_a = sums_total(&square_a);
    out->square_b = sums_total(&square_b);
    out->square_difference = sums_total(&noise);
    finish(out);
    out->argmax_agreement = agreement(left, right, elements, &out->rows);
}

static void compare_one(const struct tensor *left, const struct tensor *right, struct accuracy *out)
{
    uint64_t elements = 0, others = 0;
    char here[64], there[64];

    out->output = left->name;
    out->max_abs = out->mean_abs = out->cosine = out->sqnr_db = out->argmax_agreement = (double)NAN;
    if (!right) {
        snprintf(out->reason, sizeof out->reason, "the other model has no such output");
    } else if (left->type == IFG_BENCH_STRING || right->type == IFG_BENCH_STRING) {
        snprintf(out->reason, sizeof out->reason, "strings");
        out->no_numbers = true;
    } else if (!tensor_type_bytes(left->type) || !tensor_type_bytes(right->type)) {
        snprintf(out->reason, sizeof out->reason, "%.30s: not comparable as numbers",
                 tensor_type_name(tensor_type_bytes(left->type) ? right->type : left->type));
        out->no_numbers = true;
    } else if (!same_shape(left, right)) {
        snprintf(out->reason, sizeof out->reason, "shape %s, the other has %s",
                 tensor_shape_text(left->dims, NULL, left->rank, here, sizeof here),
                 tensor_shape_text(right->dims, NULL, right->rank, there, sizeof there));
    } else if (!is_whole(left, &elements) || !is_whole(right, &others)) {
        snprintf(out->reason, sizeof out->reason, "the runtime gave another size than its shape");
    } else {
        out->comparable = true;
        out->max_abs = 0;
        compare_numbers(left, right, elements, out);
    }
}

enum ifg_status accuracy_compare(const struct tensor_list *baseline,
                                 const struct tensor_list *other, struct accuracy **out_list,
                                 struct ifg_error *err)
{
    struct accuracy *list = ifg_alloc(baseline->count, sizeof *list);

    *out_list = NULL;
    if (!list)
        return ifg_fail_no_memory(err, "to compare %zu outputs", baseline->count);
    for (size_t i = 0; i < baseline->count; i++)
        compare_one(&baseline->items[i], find_match(baseline, other, i), &list[i]);
    *out_list = list;
    return IFG_OK;
}

static double weigh(double a, double weight_a, double b, double weight_b)
{
    if (isnan(a) || weight_a == 0)
        return b;
    if (isnan(b) || weight_b == 0)
        return a;
    return (a * weight_a + b * weight_b) / (weight_a + weight_b);
}

void accuracy_combine(struct accuracy *into, const struct accuracy *more, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        struct accuracy *to = &into[i];
        const struct accuracy *from = &more[i];

        if (!to->comparable)
            continue;
        if (!from->comparable) { /* then nothing can be said of all of them */
            const char *name = to->output;

            *to = *from;
            to->output = name;
            continue;
        }
        to->max_abs = fmax(to->max_abs, from->max_abs);
        to->mean_abs =
            weigh(to->mean_abs, (double)to->compared, from->mean_abs, (double)from->compared);
        to->argmax_agreement = weigh(to->argmax_agreement, (double)to->rows, from->argmax_agreement,
                                     (double)from->rows);
        to->elements += from->elements;
        to->compared += from->compared;
        to->rows += from->rows;
        to->not_finite += from->not_finite;
        to->neither_finite += from->neither_finite;
        to->product += from->product;
        to->square_a += from->square_a;
        to->square_b += from->square_b;
        to->square_difference += from->square_difference;
        finish(to);
    }
}

static bool one_within(const struct accuracy *one, const struct accuracy_limits *limits,
                       char *reason, size_t size)
{
    const char *name = one->output ? one->output : "";
    double apart = one->square_a > 0 ? sqrt(one->square_difference / one->square_a) : 0;
    double most = sqrt(2 * (1 - limits->min_cosine));

    if (!one->comparable && one->no_numbers)
        return true;
    if (!one->comparable)
        snprintf(reason, size, "output '%.60s' cannot be compared: %s", name, one->reason);
    else if (one->not_finite)
        snprintf(reason, size,
                 "output '%.60s' has %llu of %llu elements NaN or infinite on one side", name,
                 (unsigned long long)one->not_finite, (unsigned long long)one->elements);
    else if (one->max_abs > limits->max_abs)
        snprintf(reason, size, "output '%.60s' is off by up to %.4g, at most %.4g is allowed", name,
                 one->max_abs, limits->max_abs);
    else if (one->square_a == 0 && one->square_b > 0)
        snprintf(reason, size, "output '%.60s' is not all zero as the baseline's", name);
    else if (one->square_a > 0 && !(one->cosine >= limits->min_cosine))
        snprintf(reason, size, "output '%.60s' has cosine %.4g, at least %.4g is wanted", name,
                 isnan(one->cosine) ? 0 : one->cosine, limits->min_cosine);
    else if (apart > most)
        snprintf(reason, size,
                 "output '%.60s' is off by %.3g %% of its length, at most %.3g %% is "
                 "allowed",
                 name, 100 * apart, 100 * most);
    else
        return true;
    return false;
}

bool accuracy_within(const struct accuracy *list, size_t count,
                     const struct accuracy_limits *limits, char *reason, size_t size)
{
    for (size_t i = 0; i < count; i++)
        if (!one_within(&list[i], limits, reason, size))
            return false;
    return true;
}

void accuracy_free(struct accuracy *list)
{
    ifg_free(list);
}
