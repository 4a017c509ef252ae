// SPDX-License-Identifier: Apache-2.0
/*
 * Queries against brute force: every table is copied into an ordinary SQLite table, and random
 * statements must give the same there and here, in the same order where an order is asked for.
 */
#include "query/query.h"

#include <sqlite3.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sample_trace.h"
#include "tap.h"

#define SQL_MAX  4096
#define ROWS_MAX 200000

static const struct query_limits no_limits = { 0 };
static struct sample_trace sample;
static struct query *query;
static sqlite3 *plain;
static uint64_t state = 12345;

static uint64_t below(uint64_t limit)
{
    return sample_random(&state) % limit;
}

static void set_up(uint64_t seed, size_t slices)
{
    struct ifg_error err = { 0 };

    REQUIRE(sample_trace_init(&sample, seed, slices));
    if (query_create(sample.timeline, &query, &err))
        tap_diag("%s", err.message);
    REQUIRE(query != NULL);
}

static void tear_down(void)
{
    query_destroy(query);
    sqlite3_close(plain);
    sample_trace_fini(&sample);
    query = NULL;
    plain = NULL;
}

/* ---- answers as text --------------------------------------------------------------------- */

struct answer {
    char **rows;
    size_t count;
    char error[768];
};

static void answer_free(struct answer *answer)
{
    for (size_t i = 0; i < answer->count; i++)
        free(answer->rows[i]);
    free(answer->rows);
}

static void answer_put(struct answer *answer, const char *row)
{
    if (answer->count % 1024 == 0)
        answer->rows = realloc(answer->rows, (answer->count + 1024) * sizeof *answer->rows);
    answer->rows[answer->count++] = strdup(row);
}

static size_t put_cell(char *out, size_t size, const struct query_value *value)
{
    switch (value->type) {
    case QUERY_INTEGER:
        return (size_t)snprintf(out, size, "%lld|", (long long)value->integer);
    case QUERY_REAL:
        return (size_t)snprintf(out, size, "%.12g|", value->real);
    case QUERY_TEXT:
        return (size_t)snprintf(out, size, "'%s'|", value->text);
    case QUERY_BLOB:
        return (size_t)snprintf(out, size, "blob %zu|", value->bytes);
    case QUERY_NULL:
        break;
    }
    return (size_t)snprintf(out, size, "NULL|");
}

static struct answer ask(const char *sql)
{
    struct answer answer = { 0 };
    struct ifg_error err = { 0 };
    bool row = true;

    if (query_start(query, sql, &no_limits, &err)) {
        snprintf(answer.error, sizeof answer.error, "%s", err.message);
        return answer;
    }
    while (!query_next(query, &row, &err) && row && answer.count < ROWS_MAX) {
        char text[8192];
        size_t used = 0;

        for (size_t i = 0; i < query_column_count(query) && used < sizeof text - 1024; i++) {
            struct query_value value = query_column_value(query, i);

            used += put_cell(text + used, sizeof text - used, &value);
        }
        answer_put(&answer, text);
    }
    if (err.status)
        snprintf(answer.error, sizeof answer.error, "%s", err.message);
    return answer;
}

static struct answer ask_plain(const char *sql)
{
    struct answer answer = { 0 };
    sqlite3_stmt *statement = NULL;

    if (sqlite3_prepare_v2(plain, sql, -1, &statement, NULL)) {
        snprintf(answer.error, sizeof answer.error, "%s", sqlite3_errmsg(plain));
        return answer;
    }
    while (sqlite3_step(statement) == SQLITE_ROW && answer.count < ROWS_MAX) {
        char text[8192];
        size_t used = 0;

        for (int i = 0; i < sqlite3_column_count(statement) && used < sizeof text - 1024; i++) {
            static const enum query_type types[] = { QUERY_NULL, QUERY_INTEGER, QUERY_REAL,
                                                     QUERY_TEXT, QUERY_BLOB,    QUERY_NULL };
            struct query_value value = { .type = types[sqlite3_column_type(statement, i)] };

            if (value.type == QUERY_INTEGER)
                value.integer = sqlite3_column_int64(statement, i);
            else if (value.type == QUERY_REAL)
                value.real = sqlite3_column_double(statement, i);
            else if (value.type == QUERY_TEXT)
                value.text = (const char *)sqlite3_column_text(statement, i);
            used += put_cell(text + used, sizeof text - used, &value);
        }
        answer_put(&answer, text);
    }
    sqlite3_finalize(statement);
    return answer;
}

static int compare_texts(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

/* Both answer with the same rows; with keys > 0 the first so many columns come in the same order.
 */
static bool same_answers(const char *sql, int keys)
{
    struct answer here = ask(sql);
    struct answer there = ask_plain(sql);
    bool same = here.count == there.count && !here.error[0] == !there.error[0];

    for (size_t i = 0; same && keys && i < here.count; i++) {
        size_t length = 0;

        for (int k = 0; k < keys; k++)
            length += strcspn(here.rows[i] + length, "|") + 1;
        same = strncmp(here.rows[i], there.rows[i], length) == 0;
    }
    if (here.count)
        qsort(here.rows, here.count, sizeof *here.rows, compare_texts);
    if (there.count)
        qsort(there.rows, there.count, sizeof *there.rows, compare_texts);
    for (size_t i = 0; same && i < here.count; i++)
        same = strcmp(here.rows[i], there.rows[i]) == 0;
    if (!same)
        tap_diag("%s\n# %zu rows, expected %zu %s %s", sql, here.count, there.count, here.error,
                 there.error);
    answer_free(&here);
    answer_free(&there);
    return same;
}

/* ---- the copy ---------------------------------------------------------------------------- */

static bool is_function(const struct query_table *table)
{
    return strcmp(table->name, "zone_stats") == 0;
}

static void execute(const char *format, ...)
{
    char sql[SQL_MAX];
    va_list args;

    va_start(args, format);
    vsnprintf(sql, sizeof sql, format, args);
    va_end(args);
    REQUIRE_INT(sqlite3_exec(plain, sql, NULL, NULL, NULL), SQLITE_OK);
}

static void bind(sqlite3_stmt *statement, int at, const struct query_value *value)
{
    if (value->type == QUERY_INTEGER)
        sqlite3_bind_int64(statement, at, value->integer);
    else if (value->type == QUERY_REAL)
        sqlite3_bind_double(statement, at, value->real);
    else if (value->type == QUERY_TEXT)
        sqlite3_bind_text(statement, at, value->text, (int)value->bytes, SQLITE_TRANSIENT);
    else
        sqlite3_bind_null(statement, at);
}

static void copy_table(const struct query_table *table)
{
    char sql[SQL_MAX];
    size_t used = 0;
    sqlite3_stmt *insert;
    bool row;

    used += (size_t)snprintf(sql, sizeof sql, "CREATE TABLE \"%s\"(", table->name);
    for (size_t i = 0; i < table->column_count; i++)
        used += (size_t)snprintf(sql + used, sizeof sql - used, "%s\"%s\" %s", i ? ", " : "",
                                 table->columns[i].name, table->columns[i].type);
    execute("%s)", sql);
    used = (size_t)snprintf(sql, sizeof sql, "INSERT INTO \"%s\" VALUES(?", table->name);
    for (size_t i = 1; i < table->column_count; i++)
        used += (size_t)snprintf(sql + used, sizeof sql - used, ",?");
    snprintf(sql + used, sizeof sql - used, ")");
    REQUIRE_INT(sqlite3_prepare_v2(plain, sql, -1, &insert, NULL), SQLITE_OK);
    snprintf(sql, sizeof sql, "SELECT * FROM \"%s\"", table->name);
    REQUIRE_INT(query_start(query, sql, &no_limits, NULL), IFG_OK);
    while (!query_next(query, &row, NULL) && row) {
        for (size_t i = 0; i < table->column_count; i++) {
            struct query_value value = query_column_value(query, i);

            bind(insert, (int)i + 1, &value);
        }
        sqlite3_step(insert);
        sqlite3_reset(insert);
    }
    sqlite3_finalize(insert);
}

static void copy_all(void)
{
    const struct query_table *table;

    REQUIRE_INT(sqlite3_open(":memory:", &plain), SQLITE_OK);
    execute("BEGIN");
    for (size_t i = 0; (table = query_table_at(i)); i++)
        if (!is_function(table))
            copy_table(table);
    execute("COMMIT");
}

/* ---- random statements ------------------------------------------------------------------- */

struct text {
    char *at;
    size_t left;
};

static void put(struct text *text, const char *format, ...)
{
    va_list args;
    int length;

    va_start(args, format);
    length = vsnprintf(text->at, text->left, format, args);
    va_end(args);
    if (length > 0 && (size_t)length < text->left) {
        text->at += length;
        text->left -= (size_t)length;
    }
}

static const struct query_column *any_column(const struct query_table *table)
{
    return &table->columns[below(table->column_count)];
}

/* A value that occurs in the column, sometimes spoiled. */
static void put_value(struct text *text, const struct query_table *table,
                      const struct query_column *column)
{
    char sql[256];
    sqlite3_stmt *statement;
    uint64_t how = below(16);

    snprintf(sql, sizeof sql,
             "SELECT quote(\"%s\"), typeof(\"%s\") FROM \"%s\" LIMIT 1 OFFSET abs(%lld %% max(1, "
             "(SELECT count(*) FROM \"%s\")))",
             column->name, column->name, table->name, (long long)(below(1u << 30)), table->name);
    REQUIRE_INT(sqlite3_prepare_v2(plain, sql, -1, &statement, NULL), SQLITE_OK);
    if (sqlite3_step(statement) != SQLITE_ROW)
        put(text, "7");
    else if (how == 0)
        put(text, "NULL");
    else if (how == 1)
        put(text, "'%d'", (int)below(20));
    else if (how == 2)
        put(text, "%d", (int)below(20));
    else if (how == 3)
        put(text, "(%s + 0.5)", sqlite3_column_text(statement, 0));
    else if (how == 4)
        put(text, "(%s || '')", sqlite3_column_text(statement, 0));
    else if (how == 5)
        put(text, "(%s * 1.0)", sqlite3_column_text(statement, 0));
    else if (how == 6)
        put(text, "%s", below(2) ? "-9e99" : "9223372036854775807");
    else
        put(text, "%s", sqlite3_column_text(statement, 0));
    sqlite3_finalize(statement);
}

static void put_predicate(struct text *text, const struct query_table *table)
{
    static const char *const operators[] = { "=", "=", "=", "<", "<=", ">", ">=", "!=", "IS" };
    static const char *const patterns[] = { "a%", "%a%", "beta", "ALPHA", "_", "%", "a\\%b", "5" };
    static const char *const globs[] = { "a*", "*a*", "[A-Z]*", "beta", "*" };
    const struct query_column *column = any_column(table);

    switch (below(12)) {
    case 0:
        put(text, "\"%s\" LIKE '%s'", column->name, patterns[below(8)]);
        break;
    case 1:
        put(text, "\"%s\" GLOB '%s'", column->name, globs[below(5)]);
        break;
    case 2:
        put(text, "\"%s\" IN (", column->name);
        put_value(text, table, column);
        put(text, ", ");
        put_value(text, table, column);
        put(text, ")");
        break;
    case 3:
        put(text, "\"%s\" = ", column->name);
        put_value(text, table, column);
        put(text, " COLLATE NOCASE");
        break;
    case 4:
        put(text, "\"%s\" IS %s NULL", column->name, below(2) ? "NOT" : "");
        break;
    case 5:
        put(text, "rowid %s %d", operators[below(7)], (int)below(2000));
        break;
    default:
        put(text, "\"%s\" %s ", column->name, operators[below(9)]);
        put_value(text, table, column);
        break;
    }
}

static void put_where(struct text *text, const struct query_table *table)
{
    uint64_t count = below(4);

    for (uint64_t i = 0; i < count; i++) {
        put(text, "%s", !i ? " WHERE " : below(6) ? " AND " : " OR ");
        put_predicate(text, table);
    }
}

/* SELECT keys, * ... ORDER BY keys */
static int put_ordered(struct text *text, const struct query_table *table)
{
    int keys = 1 + (int)below(3);
    const struct query_column *columns[3];
    bool limited = below(3) == 0;

    put(text, "SELECT ");
    for (int i = 0; i < keys; i++) {
        columns[i] = any_column(table);
        put(text, "\"%s\", ", columns[i]->name);
    }
    put(text, limited ? "rowid FROM \"%s\"" : "* FROM \"%s\"", table->name);
    put_where(text, table);
    put(text, " ORDER BY ");
    for (int i = 0; i < keys; i++)
        put(text, "%s\"%s\"%s", i ? ", " : "", columns[i]->name, below(2) ? " DESC" : "");
    if (limited)
        put(text, ", rowid LIMIT %d OFFSET %d", (int)below(50), (int)below(20));
    return keys;
}

static void put_grouped(struct text *text, const struct query_table *table)
{
    int keys = 1 + (int)below(2);
    const struct query_column *columns[2];

    put(text, "SELECT ");
    for (int i = 0; i < keys; i++) {
        columns[i] = any_column(table);
        put(text, "\"%s\", ", columns[i]->name);
    }
    put(text, "count(*), sum(rowid), min(rowid) FROM \"%s\"", table->name);
    put_where(text, table);
    put(text, " GROUP BY ");
    for (int i = 0; i < keys; i++)
        put(text, "%s\"%s\"", i ? ", " : "", columns[i]->name);
}

static int put_statement(struct text *text, const struct query_table *table)
{
    switch (below(5)) {
    case 0:
        put_grouped(text, table);
        return 0;
    case 1:
        put(text, "SELECT DISTINCT \"%s\", \"%s\" FROM \"%s\"", any_column(table)->name,
            any_column(table)->name, table->name);
        put_where(text, table);
        return 0;
    case 2:
        return put_ordered(text, table);
    default:
        put(text, "SELECT * FROM \"%s\"", table->name);
        put_where(text, table);
        return 0;
    }
}

/* A table numbers its rows from 0, or by id; the copy must too. */
static void number_rows(void)
{
    const struct query_table *table;

    for (size_t i = 0; (table = query_table_at(i)); i++)
        if (!is_function(table))
            execute("UPDATE \"%s\" SET rowid = -rowid; UPDATE \"%s\" SET rowid = -rowid - 1",
                    table->name, table->name);
}

static void random_statements(void)
{
    int failures = 0;

    set_up(1, 300);
    copy_all();
    number_rows();
    for (int i = 0; i < 3000 && failures < 5; i++) {
        const struct query_table *table = query_table_at(0); /* slice */
        char sql[SQL_MAX];
        struct text text = { sql, sizeof sql };
        int keys;

        if (below(3) == 0)
            table = query_table_at(2 + below(18));
        keys = put_statement(&text, table);
        tap_note("%s", sql);
        failures += !same_answers(sql, keys);
    }
    CHECK_INT(failures, 0);
    tear_down();
}

static void joins(void)
{
    static const char *const statements[] = {
        "SELECT a.id, b.id FROM slice a JOIN slice b ON a.parent_id = b.id",
        "SELECT a.id, b.id FROM slice a LEFT JOIN slice b ON b.parent_id = a.id",
        "SELECT a.id, b.id, b.name FROM slice a JOIN slice b ON a.name = b.name AND b.id < a.id "
        "WHERE a.id < 200",
        "SELECT e.id, s.name, s.depth FROM ml_event e JOIN slice s ON s.parent_id = e.id",
        "SELECT s.id, a.key, a.value FROM attribute a JOIN slice s ON s.id = a.slice",
        "SELECT s.id, a.key FROM slice s LEFT JOIN attribute a ON a.slice = s.id "
        "AND a.key = 'name'",
        "SELECT s.id, p.id FROM slice s JOIN location p ON s.location = p.name",
        "SELECT s.id, p.id FROM slice s JOIN location p ON s.name = p.line",
        "SELECT s.id, p.id FROM location p JOIN slice s ON s.name = p.id", /* '05' is 5 there */
        "SELECT s.id, c.id FROM slice s JOIN counter c ON c.time_ns BETWEEN s.start_ns AND "
        "s.end_ns AND c.thread = s.thread",
        "SELECT t.name, count(*) FROM thread t JOIN slice s ON s.thread = t.tid "
        "AND s.process = t.process GROUP BY t.name",
        "SELECT id FROM slice WHERE id IN (SELECT id FROM ml_event WHERE category = 'load')",
        "SELECT id FROM slice WHERE name = (SELECT name FROM location WHERE id = 3)",
        "WITH RECURSIVE up(id, n) AS (SELECT id, 0 FROM slice WHERE id < 50 UNION ALL SELECT "
        "s.parent_id, n + 1 FROM up JOIN slice s ON s.id = up.id WHERE s.parent_id IS NOT NULL) "
        "SELECT id, n FROM up",
        "SELECT model, category, count(*), sum(dur_ns) FROM slice WHERE kind = 'ml' GROUP BY "
        "model, category",
        "SELECT name, dur_ns, row_number() OVER (PARTITION BY name ORDER BY start_ns, id) FROM "
        "slice",
        "SELECT name FROM slice GROUP BY name HAVING count(*) > 20",
        "SELECT max(start_ns), min(start_ns), max(id) FROM slice",
    };

    set_up(2, 150);
    copy_all();
    for (size_t i = 0; i < sizeof statements / sizeof statements[0]; i++)
        CHECK(same_answers(statements[i], 0));
    tear_down();
}

/* The copy is only as good as the table: each column against the timeline. */
static void slices_are_the_models(void)
{
    bool row;
    size_t count = 0;

    set_up(3, 200);
    REQUIRE_INT(query_start(query,
                            "SELECT id, process, thread, thread_name, name, label, kind, depth, "
                            "parent_id, start_ns, dur_ns, end_ns, self_ns, unfinished, location, "
                            "line FROM slice",
                            &no_limits, NULL),
                IFG_OK);
    while (!query_next(query, &row, NULL) && row) {
        const struct timeline *timeline = sample.timeline;
        const struct timeline_thread *thread =
            &timeline->threads[timeline_thread_of(timeline, count)];
        const struct timeline_location *location = &timeline->locations[timeline->location[count]];
        size_t parent = timeline_parent(timeline, count);
        int64_t self = (int64_t)timeline_duration_ns(timeline, count);

        for (size_t i = 0; i < timeline->slice_count; i++)
            if (timeline->depth[i] && timeline_parent(timeline, i) == count)
                self -= (int64_t)timeline_duration_ns(timeline, i);
        CHECK_INT(query_column_value(query, 0).integer, (int64_t)count);
        CHECK_INT(query_column_value(query, 1).integer, timeline->processes[thread->process].pid);
        CHECK_INT(query_column_value(query, 2).integer, thread->tid);
        if (*thread->name)
            CHECK_STR(query_column_value(query, 3).text, thread->name);
        CHECK_STR(query_column_value(query, 4).text, location->name);
        CHECK_STR(query_column_value(query, 5).text, timeline_slice_name(timeline, count));
        CHECK_STR(query_column_value(query, 6).text, timeline_kind_name(location->kind));
        CHECK_INT(query_column_value(query, 7).integer, timeline->depth[count]);
        CHECK_INT(query_column_value(query, 8).type,
                  parent == SIZE_MAX ? QUERY_NULL : QUERY_INTEGER);
        if (parent != SIZE_MAX)
            CHECK_INT(query_column_value(query, 8).integer, (int64_t)parent);
        CHECK_INT(query_column_value(query, 9).integer,
                  (int64_t)(timeline->start_ns[count] - timeline->begin_ns));
        CHECK_INT(query_column_value(query, 10).integer,
                  (int64_t)timeline_duration_ns(timeline, count));
        CHECK_INT(query_column_value(query, 11).integer,
                  (int64_t)(timeline_end_ns(timeline, count) - timeline->begin_ns));
        CHECK_INT(query_column_value(query, 12).integer, self);
        CHECK_INT(query_column_value(query, 13).integer, timeline_is_unfinished(timeline, count));
        CHECK_INT(query_column_value(query, 14).integer, timeline->location[count]);
        CHECK_INT(query_column_value(query, 15).type, location->line ? QUERY_INTEGER : QUERY_NULL);
        count++;
    }
    CHECK_UINT(count, sample.timeline->slice_count);
    CHECK(sample.timeline->unfinished_count > 0);
    CHECK(sample.timeline->long_count > 0);
    tear_down();
}

TAP_MAIN(TAP_CASE(slices_are_the_models), TAP_CASE_TIMEOUT(random_statements, 300), TAP_CASE(joins))
