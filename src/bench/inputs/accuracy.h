// SPDX-License-Identifier: Apache-2.0
/* How far the outputs of one model are from those of another. */
#ifndef IFG_BENCH_ACCURACY_H
#define IFG_BENCH_ACCURACY_H

#include "bench/inputs/tensor.h"

struct accuracy {
    const char *output; /* name in the baseline's list */
    bool comparable;    /* else reason says why: other shape, strings, missing */
    bool no_numbers;    /* not comparable because of its type: nothing is known of it */
    char reason[128];
    uint64_t elements;
    double max_abs;
    double mean_abs;
    double cosine;           /* 1 if both are all zero; NAN if one is */
    double sqnr_db;          /* 10 log10(sum a^2 / sum (a-b)^2); INFINITY if equal */
    double argmax_agreement; /* share of rows (last axis) with the same index of the maximum; NAN
                                for scalars and rows of one */
    uint64_t not_finite;     /* elements that are NaN or infinite on one side only */
    uint64_t neither_finite; /* ... on both sides in the same way */
    /* What the above comes from, for accuracy_combine(): finite elements of both sides. */
    uint64_t compared, rows;
    double square_a, square_b, product, square_difference;
};

/* Outputs are matched by name, else by position if both have as many. *out_list has baseline->count
 * entries, whose names belong to it. Several input sets: call once per set and combine. Elements
 * that are not finite are left out of all numbers but not_finite. */
enum ifg_status accuracy_compare(const struct tensor_list *baseline,
                                 const struct tensor_list *other, struct accuracy **out_list,
                                 struct ifg_error *err) IFG_MUST_CHECK;

/* Adds what another input set gave, as if all had been compared at once: both lists come from
 * accuracy_compare with the same outputs. One that is not comparable makes the output so. */
void accuracy_combine(struct accuracy *into, const struct accuracy *more, size_t count);

/* What is still the same answer. The difference may be as long as two outputs of one length that
 * have this cosine are apart, sqrt(2 (1 - cosine)) of the baseline's: a cosine alone does not see
 * outputs that are all too large. */
#define ACCURACY_MIN_COSINE 0.95
struct accuracy_limits {
    double max_abs; /* INFINITY: no limit */
    double min_cosine;
};

/* Whether every output is within the limits, with no NaN or infinity on one side only and of the
 * same shape; else *reason says which is not. Outputs without numbers are passed over. */
bool accuracy_within(const struct accuracy *list, size_t count,
                     const struct accuracy_limits *limits, char *reason, size_t size);

void accuracy_free(struct accuracy *list);

#endif
