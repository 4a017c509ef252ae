// SPDX-License-Identifier: Apache-2.0
/*
 * SQL over a timeline.
 *
 * A query object belongs to one thread at a time; the timeline must outlive it. It runs one
 * statement after the other, each row by row. Statements can only read: no files, no pragmas that
 * change anything, no extensions. SQL text is hostile input: time, rows, memory and sizes are
 * limited.
 */
#ifndef IFG_QUERY_QUERY_H
#define IFG_QUERY_QUERY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"
#include "timeline/timeline.h"

#define QUERY_SQL_MAX    (256u << 10) /* bytes of one statement */
#define QUERY_VALUE_MAX  (4u << 20)   /* bytes of one text or blob */
#define QUERY_MEMORY_MAX (1u << 30)   /* bytes that SQLite may use, in this process */

struct query;

struct query_limits {
    uint64_t rows;    /* 0: no limit */
    double timeout_s; /* 0: no limit; counts the time spent in the query, not that of its reader */
};

enum query_type {
    QUERY_NULL,
    QUERY_INTEGER,
    QUERY_REAL,
    QUERY_TEXT,
    QUERY_BLOB,
};

/* One value of the current row; text is UTF-8 and NUL-terminated. Valid until the next query_next.
 */
struct query_value {
    enum query_type type;
    union {
        int64_t integer;
        double real;
        const char *text; /* or the bytes of a blob */
    };
    size_t bytes;
};

struct query_column {
    const char *name;
    const char *type;
    const char *about;
    const struct query_getter
        *get; /* for this room; NULL in tables that have modules of their own */
};

struct query_table {
    const char *name;
    const char *about;
    const struct query_column
        *columns; /* arguments of a function have a type that ends in HIDDEN */
    size_t column_count;
};

enum ifg_status query_create(const struct timeline *timeline, struct query **out_query,
                             struct ifg_error *err) IFG_MUST_CHECK;
void query_destroy(struct query *query);

/* Begins a statement; one that was running is given up. IFG_INVALID: the SQL is wrong or not
 * allowed. */
enum ifg_status query_start(struct query *query, const char *sql, const struct query_limits *limits,
                            struct ifg_error *err) IFG_MUST_CHECK;

/* The columns of the statement begun last. */
size_t query_column_count(const struct query *query);
const char *query_column_name(const struct query *query, size_t column);

/* Goes to the next row, the first one at first. *out_row is false at the end. IFG_CANCELLED: a
 * limit was reached; the rows so far are right, but not all. */
enum ifg_status query_next(struct query *query, bool *out_row,
                           struct ifg_error *err) IFG_MUST_CHECK;
struct query_value query_column_value(const struct query *query, size_t column);

/* After IFG_CANCELLED: was it the number of rows, or the time? */
bool query_hit_row_limit(const struct query *query);

/* True if the statement has been at work for a second more than it may, which happens only inside
 * one long call of a built-in function that cannot be interrupted. May be called from a signal
 * handler. */
bool query_is_stuck(const struct query *query);

/* The tables and table-valued functions there are; NULL after the last one. */
const struct query_table *query_table_at(size_t index);

#endif
