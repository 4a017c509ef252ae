// SPDX-License-Identifier: Apache-2.0
/*
 * The result of a query as an Arrow IPC stream on stdout.
 *
 * SQLite gives each value a type of its own; a column of Arrow has one. So rows are kept until the
 * last one is known: a column of integers and reals becomes one of reals, and one with a text in it
 * becomes texts. Texts are dictionaries: names repeat.
 */
#ifndef IFG_CLI_QUERY_ARROW_H
#define IFG_CLI_QUERY_ARROW_H

#include "query/query.h"

struct query_arrow;

/* A plain "SELECT columns FROM slice" is written from the timeline's columns, and *out_done is
 * true; other statements are not touched. max_rows 0: no limit. Returns the exit status; failures
 * have been reported. */
int query_arrow_columns(struct query *query, const char *sql, uint64_t max_rows, bool *out_done);

/* NULL, or false: memory is short. */
struct query_arrow *query_arrow_create(const struct query *query);
bool query_arrow_row(struct query_arrow *arrow, const struct query *query);

/* Writes all rows; arrow may be NULL for want of memory. Returns the exit status. */
int query_arrow_write(struct query_arrow *arrow);
void query_arrow_destroy(struct query_arrow *arrow);

#endif
