// SPDX-License-Identifier: Apache-2.0
/*
 * Whole columns of the table `slice`, without SQLite: for readers that want all of it.
 *
 * SQLite computes a table of twenty columns at a million rows a second. The timeline has it as
 * columns already, so a plain "SELECT a, b FROM slice" is copied from there, with the same values
 * in the same order.
 */
#ifndef IFG_QUERY_COLUMNS_H
#define IFG_QUERY_COLUMNS_H

#include "base/strings.h"
#include "query/query.h"

struct query_columns;

/* *out_columns is NULL if the statement is not a plain one: any word but names of columns, FROM
 * slice. The query must outlive it. */
enum ifg_status query_columns_create(struct query *query, const char *sql,
                                     struct query_columns **out_columns,
                                     struct ifg_error *err) IFG_MUST_CHECK;
void query_columns_destroy(struct query_columns *columns);

size_t query_columns_rows(const struct query_columns *columns);
size_t query_columns_count(const struct query_columns *columns);
const char *query_columns_name(const struct query_columns *columns, size_t column);

/* The texts that the numbers of a column stand for; NULL: it is a column of integers. */
const struct ifg_strings *query_columns_texts(const struct query_columns *columns, size_t column);

/* Rows `first` to `first + count` of a column: int64_t, or int32_t numbers of texts. `valid` has a
 * bit for each row; it is filled if the number of nulls, which is returned, is not 0. */
size_t query_columns_fill(const struct query_columns *columns, size_t column, size_t first,
                          size_t count, void *values, uint8_t *valid);

#endif
