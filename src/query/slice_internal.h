// SPDX-License-Identifier: Apache-2.0
/*
 * The table `slice`: its columns, and the four ways to walk through it.
 *
 * Slices lie thread by thread and, in a thread, by start. An index lists them location by location.
 * So every way is a list of segments of one of these two orders: narrowing drops or shortens
 * segments, ordering by a property of threads or locations sorts the segments, ordering by time
 * merges them.
 */
#ifndef IFG_QUERY_SLICE_INTERNAL_H
#define IFG_QUERY_SLICE_INTERNAL_H

#include "query/query_internal.h"

enum slice_column {
    SLICE_ID,
    SLICE_PROCESS,
    SLICE_THREAD,
    SLICE_THREAD_NAME,
    SLICE_NAME,
    SLICE_LABEL,
    SLICE_KIND,
    SLICE_CATEGORY,
    SLICE_MODEL,
    SLICE_FUNCTION,
    SLICE_DEPTH,
    SLICE_PARENT,
    SLICE_START,
    SLICE_DURATION,
    SLICE_END,
    SLICE_SELF,
    SLICE_UNFINISHED,
    SLICE_LOCATION,
    SLICE_FILE,
    SLICE_LINE,
    SLICE_COLUMNS,
};

/* idxNum; idxStr is the order (pairs of column and '+' or '-'), a ':', then the arguments (pairs of
 * column and operator: those of query_range_operator, 'L' for LIKE, 'G' for GLOB). */
enum slice_plan {
    SLICE_BY_ID,
    SLICE_BY_ID_DOWN,
    SLICE_BY_TIME,
    SLICE_BY_TIME_DOWN,
    SLICE_BY_THREAD,
    SLICE_BY_LOCATION,
};

#define SLICE_COLUMN_CODE 'A'

/* What a column depends on besides the slice itself. */
bool slice_is_of_thread(int column);
bool slice_is_of_location(int column);

int slice_best_index(sqlite3_vtab *vtab, sqlite3_index_info *info);

struct segment {
    size_t at; /* positions in the order walked through: at <= position < end */
    size_t end;
    uint32_t group; /* the thread or location */
};

/* A value of a thread or a location. */
struct slice_cell {
    bool is_null;
    const char *text; /* NULL: a number */
    int64_t number;
};

struct slice_cell slice_cell_of(const struct query *query, int column, uint32_t group);

struct slice_cursor {
    sqlite3_vtab_cursor base;
    struct segment *segments;
    size_t segment_count;
    size_t segment_capacity;
    uint32_t *heap; /* of segments, when merging by time */
    enum slice_plan plan;
    size_t slice; /* the current row; SIZE_MAX at the end */
    size_t
        thread_first; /* the thread of the slice asked for last, if the slice is in [first, end) */
    size_t thread_end;
    uint32_t thread;
};

/* Finds the segments of a plan and goes to the first row. SQLITE_OK or SQLITE_NOMEM. */
int slice_walk_start(struct slice_cursor *cursor, struct query *query, const char *plan, int argc,
                     sqlite3_value **argv);
void slice_walk_next(struct slice_cursor *cursor, const struct query *query);

#endif
