// SPDX-License-Identifier: Apache-2.0
/* What the three ways of comparing share: looks, orders, pairs and verdicts. */
#ifndef IFG_BENCH_COMPARE_INTERNAL_H
#define IFG_BENCH_COMPARE_INTERNAL_H

#include "bench/compare/compare.h"

#define COMPARE_LOOKS              3u
#define COMPARE_PROCESSES_PER_SIDE 8u
#define COMPARE_PROCESSES_SHARED   10u /* by all sides */
#define COMPARE_MAX_S              300.0

/* Rows with names, all available, nothing measured. */
enum ifg_status compare_create(enum compare_unit unit, const struct compare_options *options,
                               size_t row_count, struct compare **out_compare,
                               struct ifg_error *err) IFG_MUST_CHECK;

/* Makes *text a copy; false: no memory. */
bool compare_set(char **text, const char *value);
bool compare_warn(struct compare *compare, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* The row is not measured (any more); keeps the first reason. */
void compare_drop(struct compare_row *row, const char *reason);

/* How many units each look has: first, last, and the geometric middle. */
void compare_plan_looks(uint32_t first, uint32_t last, uint32_t out_units[COMPARE_LOOKS]);

/* The rows that still want units, in random order; returns how many. `order` holds row_count. */
size_t compare_order(const struct compare *compare, uint64_t *random, size_t *order);
/* Whether the baseline comes first and last of the next four (ABBA) or in the middle (BAAB). */
bool compare_baseline_outside(uint64_t *random);

enum ifg_status compare_add_pair(struct compare *compare, size_t row, double baseline, double value,
                                 uint32_t process, struct ifg_error *err) IFG_MUST_CHECK;

/* The change of every undecided row, its verdict, and whether anything is left to decide. */
enum ifg_status compare_judge(struct compare *compare, bool *out_open,
                              struct ifg_error *err) IFG_MUST_CHECK;

/* Gathers units until every undecided row has `target`, or it is out of time or stopped. */
typedef enum ifg_status compare_gather(void *user, size_t target, struct ifg_error *err);
enum ifg_status compare_in_looks(struct compare *compare, uint32_t first, uint32_t last,
                                 compare_gather *gather, void *user, bool *out_of_time,
                                 struct ifg_error *err) IFG_MUST_CHECK;

double compare_now(void); /* seconds */

enum ifg_status compare_measure_ops(const struct compare_options *options, struct compare *compare,
                                    struct ifg_error *err) IFG_MUST_CHECK;

#endif
