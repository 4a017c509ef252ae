// SPDX-License-Identifier: Apache-2.0
/* Running foreign SQL: what it may do, for how long, and how it fails. */
#include "query/query_internal.h"

#include <string.h>

#include "base/alloc.h"
#include "base/ticks.h"

#define PROGRESS_STEPS 200 /* instructions of SQLite between two looks at the clock */
#define STUCK_NS       1000000000u

static const struct row_table *const row_tables[] = {
    &info_table,         &process_table,         &thread_table,     &model_table,
    &property_table,     &function_table,        &location_table,   &ml_table,
    &attribute_table,    &async_table,           &message_table,    &counter_table,
    &allocation_table,   &frame_table,           &fact_table,       &instrument_table,
    &loss_table,         &clock_table,           &sample_table,     &stack_frame_table,
    &thread_state_table, &heap_allocation_table, &flow_table,       &input_table,
    &gpu_slice_table,    &gpu_call_table,        &gpu_stream_table,
};

#define ROW_TABLES (sizeof row_tables / sizeof row_tables[0])

_Static_assert(ROW_TABLES <= TABLES_MAX, "bindings are too few");

const struct query_table *query_table_at(size_t index)
{
    if (index < 2)
        return index ? &zone_stats_table : &slice_table;
    return index - 2 < ROW_TABLES ? &row_tables[index - 2]->table : NULL;
}

/* ---- what SQL may do --------------------------------------------------------------------- */

static const char *action_name(int action)
{
    switch (action) {
    case SQLITE_ATTACH:
        return "ATTACH";
    case SQLITE_DETACH:
        return "DETACH";
    case SQLITE_PRAGMA:
        return "this PRAGMA";
    case SQLITE_FUNCTION:
        return "this function";
    case SQLITE_TRANSACTION:
    case SQLITE_SAVEPOINT:
        return "a transaction";
    default:
        return "changing or creating something";
    }
}

/* Only reading. Any rule that is not here is refused. */
static int authorize(void *user, int action, const char *first, const char *second,
                     const char *database, const char *trigger)
{
    struct query *query = user;

    (void)database, (void)trigger;
    if (query->declaring)
        return SQLITE_OK;
    switch (action) {
    case SQLITE_SELECT:
    case SQLITE_READ:
    case SQLITE_RECURSIVE:
        return SQLITE_OK;
    case SQLITE_FUNCTION:
        if (second && sqlite3_stricmp(second, "load_extension") != 0 &&
            sqlite3_stricmp(second, "fts3_tokenizer") != 0)
            return SQLITE_OK;
        break;
    case SQLITE_PRAGMA:
        if (first && (sqlite3_stricmp(first, "table_info") == 0 ||
                      sqlite3_stricmp(first, "table_xinfo") == 0))
            return SQLITE_OK;
        break;
    default:
        break;
    }
    if (!query->denied)
        query->denied = action_name(action);
    return SQLITE_DENY;
}

static int watch_clock(void *user)
{
    const struct query *query = user;

    return query->allowance_ns != UINT64_MAX &&
           ifg_monotonic_ns() - query->entered_ns > query->allowance_ns;
}

static void set_limits(sqlite3 *db)
{
    static const struct {
        int what;
        int value;
    } limits[] = {
        { SQLITE_LIMIT_LENGTH, QUERY_VALUE_MAX },
        { SQLITE_LIMIT_SQL_LENGTH, QUERY_SQL_MAX },
        { SQLITE_LIMIT_COLUMN, 1000 },
        { SQLITE_LIMIT_EXPR_DEPTH, 200 },
        { SQLITE_LIMIT_COMPOUND_SELECT, 100 },
        { SQLITE_LIMIT_VDBE_OP, 1000000 },
        { SQLITE_LIMIT_FUNCTION_ARG, 100 },
        { SQLITE_LIMIT_ATTACHED, 0 },
        { SQLITE_LIMIT_LIKE_PATTERN_LENGTH, 1000 },
        { SQLITE_LIMIT_VARIABLE_NUMBER, 10 },
        { SQLITE_LIMIT_TRIGGER_DEPTH, 1 },
        { SQLITE_LIMIT_WORKER_THREADS, 0 },
    };

    for (size_t i = 0; i < sizeof limits / sizeof limits[0]; i++)
        sqlite3_limit(db, limits[i].what, limits[i].value);
    sqlite3_db_config(db, SQLITE_DBCONFIG_DEFENSIVE, 1, NULL);
    sqlite3_db_config(db, SQLITE_DBCONFIG_ENABLE_LOAD_EXTENSION, 0, NULL);
    sqlite3_db_config(db, SQLITE_DBCONFIG_ENABLE_FTS3_TOKENIZER, 0, NULL);
    sqlite3_hard_heap_limit64(ifg_alloc_left() < QUERY_MEMORY_MAX ? (sqlite3_int64)ifg_alloc_left()
                                                                  : QUERY_MEMORY_MAX);
}

static int register_tables(struct query *query)
{
    int code = functions_register(query->db);

    query->bindings[0] = (struct table_binding){ query, NULL };
    if (!code)
        code =
            sqlite3_create_module(query->db, slice_table.name, &slice_module, &query->bindings[0]);
    if (!code)
        code = sqlite3_create_module(query->db, zone_stats_table.name, &zone_stats_module,
                                     &query->bindings[0]);
    for (size_t i = 0; i < ROW_TABLES && !code; i++) {
        query->bindings[i + 1] = (struct table_binding){ query, row_tables[i] };
        code = sqlite3_create_module(query->db, row_tables[i]->table.name, &row_module,
                                     &query->bindings[i + 1]);
    }
    return code;
}

enum ifg_status query_create(const struct timeline *timeline, struct query **out_query,
                             struct ifg_error *err)
{
    struct query *query = ifg_alloc(1, sizeof *query);
    int code = SQLITE_NOMEM;

    *out_query = NULL;
    if (query) {
        query->timeline = timeline;
        code =
            sqlite3_open_v2(":memory:", &query->db,
                            SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX, NULL);
    }
    if (!code) {
        set_limits(query->db);
        code = register_tables(query);
    }
    if (code) {
        query_destroy(query);
        return ifg_fail(err, code == SQLITE_NOMEM ? IFG_NO_MEMORY : IFG_INTERNAL,
                        "cannot start SQLite: %s", sqlite3_errstr(code));
    }
    sqlite3_set_authorizer(query->db, authorize, query);
    sqlite3_progress_handler(query->db, PROGRESS_STEPS, watch_clock, query);
    *out_query = query;
    return IFG_OK;
}

void query_destroy(struct query *query)
{
    if (!query)
        return;
    sqlite3_finalize(query->statement);
    sqlite3_close(query->db);
    query_index_fini(query);
    query_samples_fini(query);
    ifg_free(query);
}

/* ---- how it fails ------------------------------------------------------------------------ */

/* " (character 8, at 'durr_ns FROM slice')", or nothing. */
static void describe_position(const struct query *query, const char *sql, char *out, size_t size)
{
    int offset = -1;

    out[0] = '\0';
#if SQLITE_VERSION_NUMBER >= 3038000
    offset = sqlite3_error_offset(query->db);
#else
    (void)query;
#endif
    if (!sql || offset < 0 || (size_t)offset >= strlen(sql))
        return;
    sqlite3_snprintf((int)size, out, " (character %d, at '%.40s')", offset + 1, sql + offset);
}

static enum ifg_status fail_sql(struct query *query, int code, const char *sql,
                                struct ifg_error *err)
{
    char position[128];

    if (query->denied)
        return ifg_fail(err, IFG_INVALID, "a query can only read; %s is not allowed",
                        query->denied);
    switch (code & 0xff) {
    case SQLITE_INTERRUPT:
        return ifg_fail(err, IFG_CANCELLED, "the query took longer than %g s and was stopped",
                        query->limits.timeout_s);
    case SQLITE_NOMEM:
        return ifg_fail(err, IFG_NO_MEMORY,
                        "the query needs more memory than there is, or than it may have (%u MB)",
                        QUERY_MEMORY_MAX >> 20);
    case SQLITE_TOOBIG:
        return ifg_fail(err, IFG_INVALID,
                        "a text, a blob or the SQL itself is too big: at most %u MB and %u kB",
                        QUERY_VALUE_MAX >> 20, QUERY_SQL_MAX >> 10);
    case SQLITE_FULL:
    case SQLITE_IOERR:
    case SQLITE_CANTOPEN:
        return ifg_fail(err, IFG_IO, "cannot write temporary files for sorting: %s",
                        sqlite3_errmsg(query->db));
    default:
        describe_position(query, sql, position, sizeof position);
        return ifg_fail(err, IFG_INVALID, "SQL: %s%s", sqlite3_errmsg(query->db), position);
    }
}

static void enter(struct query *query)
{
    double limit_ns = query->limits.timeout_s * 1e9;

    if (limit_ns <= 0 || limit_ns >= 9e18)
        query->allowance_ns = UINT64_MAX;
    else
        query->allowance_ns =
            (uint64_t)limit_ns > query->spent_ns ? (uint64_t)limit_ns - query->spent_ns : 0;
    query->entered_ns = ifg_monotonic_ns();
}

static void leave(struct query *query)
{
    query->spent_ns += ifg_monotonic_ns() - query->entered_ns;
    query->entered_ns = 0;
}

bool query_is_stuck(const struct query *query)
{
    uint64_t entered = query->entered_ns;
    uint64_t allowance = query->allowance_ns;

    return entered && allowance < UINT64_MAX - STUCK_NS &&
           ifg_monotonic_ns() - entered > allowance + STUCK_NS;
}

/* ---- running ----------------------------------------------------------------------------- */

/* Nothing but blanks and comments may follow the statement. */
static enum ifg_status check_tail(struct query *query, const char *tail, struct ifg_error *err)
{
    sqlite3_stmt *second = NULL;
    int code = sqlite3_prepare_v2(query->db, tail, -1, &second, NULL);
    bool more = code || second;

    sqlite3_finalize(second);
    return more ? ifg_fail(err, IFG_INVALID, "SQL: one statement at a time; '%.40s' is too many",
                           tail + strspn(tail, " \t\r\n"))
                : IFG_OK;
}

static enum ifg_status prepare(struct query *query, const char *sql, struct ifg_error *err)
{
    const char *tail = NULL;
    int code;

    if (strlen(sql) >= QUERY_SQL_MAX)
        return ifg_fail(err, IFG_INVALID, "the SQL is longer than %u kB", QUERY_SQL_MAX >> 10);
    query->denied = NULL;
    code = sqlite3_prepare_v2(query->db, sql, -1, &query->statement, &tail);
    if (code)
        return fail_sql(query, code, sql, err);
    if (!query->statement)
        return ifg_fail(err, IFG_INVALID, "there is no SQL in this query");
    if (!sqlite3_stmt_readonly(query->statement) || !sqlite3_column_count(query->statement))
        return ifg_fail(err, IFG_INVALID, "a query can only read, and this statement has no rows");
    return check_tail(query, tail, err);
}

enum ifg_status query_start(struct query *query, const char *sql, const struct query_limits *limits,
                            struct ifg_error *err)
{
    enum ifg_status status;

    sqlite3_finalize(query->statement);
    query->statement = NULL;
    query->limits = *limits;
    query->rows = 0;
    query->hit_row_limit = false;
    query->spent_ns = 0;
    enter(query);
    status = prepare(query, sql, err);
    leave(query);
    if (status) {
        sqlite3_finalize(query->statement);
        query->statement = NULL;
    }
    return status;
}

size_t query_column_count(const struct query *query)
{
    return query->statement ? (size_t)sqlite3_column_count(query->statement) : 0;
}

const char *query_column_name(const struct query *query, size_t column)
{
    const char *name = sqlite3_column_name(query->statement, (int)column);

    return name ? name : "";
}

enum ifg_status query_next(struct query *query, bool *out_row, struct ifg_error *err)
{
    enum ifg_status status = IFG_OK;
    int code;

    *out_row = false;
    if (!query->statement)
        return IFG_OK;
    enter(query);
    code = sqlite3_step(query->statement);
    leave(query);
    if (code == SQLITE_ROW && (!query->limits.rows || query->rows < query->limits.rows)) {
        query->rows++;
        *out_row = true;
        return IFG_OK;
    }
    query->hit_row_limit = code == SQLITE_ROW;
    if (code == SQLITE_ROW)
        status = ifg_fail(err, IFG_CANCELLED, "there are more than %llu rows; the rest is left out",
                          (unsigned long long)query->limits.rows);
    else if (code != SQLITE_DONE)
        status = fail_sql(query, code, NULL, err);
    sqlite3_finalize(query->statement);
    query->statement = NULL;
    return status;
}

bool query_hit_row_limit(const struct query *query)
{
    return query->hit_row_limit;
}

struct query_value query_column_value(const struct query *query, size_t column)
{
    sqlite3_stmt *statement = query->statement;
    struct query_value value = { .type = QUERY_NULL };
    int at = (int)column;

    switch (sqlite3_column_type(statement, at)) {
    case SQLITE_INTEGER:
        value.type = QUERY_INTEGER;
        value.integer = sqlite3_column_int64(statement, at);
        break;
    case SQLITE_FLOAT:
        value.type = QUERY_REAL;
        value.real = sqlite3_column_double(statement, at);
        break;
    case SQLITE_TEXT:
        value.type = QUERY_TEXT;
        value.text = (const char *)sqlite3_column_text(statement, at);
        value.bytes = (size_t)sqlite3_column_bytes(statement, at);
        break;
    case SQLITE_BLOB:
        value.type = QUERY_BLOB;
        value.text = sqlite3_column_blob(statement, at);
        value.bytes = (size_t)sqlite3_column_bytes(statement, at);
        break;
    default:
        break;
    }
    if ((value.type == QUERY_TEXT || value.type == QUERY_BLOB) && !value.text) {
        value.text = ""; /* an empty blob, or not enough memory */
        value.bytes = 0;
    }
    return value;
}
