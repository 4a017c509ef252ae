// SPDX-License-Identifier: Apache-2.0
/* What the files of this room share. */
#ifndef IFG_QUERY_QUERY_INTERNAL_H
#define IFG_QUERY_QUERY_INTERNAL_H

#include <sqlite3.h>

#include "query/query.h"

enum query_get {
    GET_ROW,    /* the number of the row */
    GET_UINT,   /* the member itself; above 2^63 - 1 negative */
    GET_COUNT,  /* the same, but no more than 2^63 - 1 */
    GET_REAL,   /* a double */
    GET_TEXT,   /* a text; NULL if it is empty */
    GET_STRING, /* a text, also if it is empty */
    GET_NAME,   /* a text of `names`, which the member numbers */
    GET_TIME,
    GET_PROCESS, /* the number of the process that the member is the index of */
    GET_THREAD_PROCESS,
    GET_THREAD, /* the same of a thread */
    GET_LOCATION_NAME,
    GET_NUMBER, /* what `number` says */
    GET_VALUE,  /* what `value` puts out; nothing is NULL */
};

/* Members whose value stands for nothing are NULL in SQL. */
enum query_null { NULL_NEVER, NULL_ZERO, NULL_NONE /* all bits set */ };

/* Where the value of a column is in the structure of its row. */
struct query_getter {
    enum query_get get;
    size_t offset;
    size_t bytes;
    enum query_null null;
    const char *const *names;
    size_t name_count;
    int64_t (*number)(struct query *query, const void *row);
    void (*value)(struct query *query, const void *row, sqlite3_context *out);
    bool sorted; /* its values never fall from row to row: ROW, UINT, TIME, NUMBER */
    bool unique; /* and none comes twice */
};

#define GETTER(...)                                                                                \
    &(const struct query_getter)                                                                   \
    {                                                                                              \
        __VA_ARGS__                                                                                \
    }
#define MEMBER(structure, member)                                                                  \
    .offset = offsetof(struct structure, member), .bytes = sizeof(((struct structure *)0)->member)
#define OF(kind, structure, member) GETTER(.get = kind, MEMBER(structure, member))
#define OF_SORTED(kind, structure, member)                                                         \
    GETTER(.get = kind, MEMBER(structure, member), .sorted = true)
#define OF_OR_NULL(kind, structure, member, when)                                                  \
    GETTER(.get = kind, MEMBER(structure, member), .null = when)
#define OF_NAMES(texts, structure, member)                                                         \
    GETTER(.get = GET_NAME, MEMBER(structure, member), .names = texts,                             \
           .name_count = sizeof texts / sizeof texts[0])
#define BY(function) GETTER(.get = GET_VALUE, .value = function)
#define ROW_NUMBER   GETTER(.get = GET_ROW, .sorted = true, .unique = true)

/* A table of rows that are numbered from 0: an array of the timeline or of the trace's tables, or
 * what two functions say. */
struct row_table {
    struct query_table table;
    bool of_trace;
    size_t items; /* offsets of the array and its count */
    size_t number;
    size_t bytes;                         /* of a row */
    size_t (*count)(struct query *query); /* SIZE_MAX: not enough memory */
    const void *(*row)(struct query *query, size_t row);
};

#define ROWS_OF(structure, array, how_many)                                                        \
    .items = offsetof(struct structure, array), .number = offsetof(struct structure, how_many),    \
    .bytes = sizeof(*((struct structure *)0)->array)

extern const struct row_table process_table, thread_table, model_table, property_table,
    function_table, location_table, ml_table, attribute_table;
extern const struct row_table async_table, message_table, counter_table, allocation_table,
    frame_table, flow_table;
extern const struct row_table info_table, fact_table, instrument_table, loss_table, clock_table;
extern const struct row_table sample_table, stack_frame_table, thread_state_table;
extern const struct row_table heap_allocation_table, input_table;
extern const struct row_table gpu_slice_table, gpu_call_table, gpu_stream_table;
extern const struct query_table slice_table;
extern const struct query_table zone_stats_table;

extern const sqlite3_module row_module;
extern const sqlite3_module slice_module;
extern const sqlite3_module zone_stats_module;

/* What a module is given: the query and, for row_module, the table. */
struct table_binding {
    struct query *query;
    const struct row_table *rows;
};

struct table_vtab {
    sqlite3_vtab base;
    struct query *query;
    const struct row_table *rows;
};

#define TABLES_MAX     32
#define COLUMNS(array) array, sizeof array / sizeof array[0]

struct query {
    sqlite3 *db;
    sqlite3_stmt *statement;
    const struct timeline *timeline;
    struct table_binding bindings[TABLES_MAX];
    bool declaring;

    /* made when first needed; see index.c */
    uint32_t *by_location;  /* slices, location by location, ascending in each */
    size_t *location_first; /* location_count + 1 positions in by_location */
    uint32_t *parents;      /* of each slice; TIMELINE_NONE at the top */
    uint32_t *self_ns;      /* of each slice; UINT32_MAX: query_self_ns counts */
    uint32_t *ml;           /* slices that are ML events */
    size_t ml_count;
    struct query_samples *samples; /* see sample_tables.c */
    const char *denied;            /* what the authorizer refused */

    struct query_limits limits;
    uint64_t rows;
    bool hit_row_limit;
    uint64_t spent_ns;              /* in earlier calls of this statement */
    volatile uint64_t entered_ns;   /* 0: not at work */
    volatile uint64_t allowance_ns; /* UINT64_MAX: no limit */
};

/* Times for SQL: nanoseconds since the trace began. Both keep the order of what they are given. */
static inline int64_t query_clamp(uint64_t value)
{
    return value > INT64_MAX ? INT64_MAX : (int64_t)value;
}

static inline int64_t query_time(const struct query *query, uint64_t ns)
{
    uint64_t begin = query->timeline->begin_ns;

    return ns >= begin ? query_clamp(ns - begin) : -query_clamp(begin - ns);
}

uint32_t query_pid(const struct query *query, uint32_t process);

const struct timeline_thread *query_thread(const struct query *query, uint32_t thread);
const char *query_location_name(const struct query *query, uint32_t location);
const char *query_location_model(const struct query *query, uint32_t location); /* NULL: none */
const struct trace_tables *query_trace(const struct query *query);

/* Make an index if there is none yet; false when memory is short. */
bool query_need_locations(struct query *query);
bool query_need_parents(struct query *query);
bool query_need_self(struct query *query);
bool query_need_ml(struct query *query);
void query_index_fini(struct query *query);
void query_samples_fini(struct query *query);

/* True if slices can be numbered by 32 bits, as the indices do. */
bool query_can_index(const struct query *query);
int64_t query_self_ns(const struct query *query, size_t slice); /* after query_need_self */

/* One past the last slice inside this one. */
size_t query_subtree_end(const struct query *query, size_t slice);

/* Results: NULL for texts that are NULL or empty. */
void query_result_text(sqlite3_context *out, const char *text);
void query_result_uint(sqlite3_context *out, uint64_t value);
void query_result_time(sqlite3_context *out, const struct query *query, uint64_t ns);

/* The attributes of a slice as one JSON object. */
void query_result_detail(sqlite3_context *out, const struct query *query, size_t slice);
void query_result_attribute(sqlite3_context *out, const struct timeline_attribute *attribute);

/* An inclusive range of integers. */
struct range {
    int64_t low;
    int64_t high;
};

/* Narrows a range to what can fulfil "column op value"; never to less than that. */
void query_range_narrow(struct range *range, char op, sqlite3_value *value);

/* A constraint that query_range_narrow understands: '=', '<', '{' (<=), '>', '}' (>=), else 0. */
char query_range_operator(unsigned char sqlite_operator);

/* Shared by the modules. */
int table_connect(sqlite3 *db, void *aux, const struct query_table *table, sqlite3_vtab **out_vtab);
int table_disconnect(sqlite3_vtab *vtab);

/* percentile(), median(), stddev(). */
int functions_register(sqlite3 *db);

#endif
