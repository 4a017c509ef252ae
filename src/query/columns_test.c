// SPDX-License-Identifier: Apache-2.0
/* Whole columns against the same statement in SQLite: every value, every NULL, any batch. */
#include "query/columns.h"

#include <string.h>

#include "sample_trace.h"
#include "tap.h"

#define ROWS_MAX 70

static const struct query_limits no_limits = { 0 };
static struct sample_trace sample;
static struct query *query;

static void set_up(void)
{
    struct ifg_error err = { 0 };

    REQUIRE(sample_trace_init(&sample, 7, 300));
    REQUIRE(query_create(sample.timeline, &query, &err) == IFG_OK);
}

static void tear_down(void)
{
    query_destroy(query);
    sample_trace_fini(&sample);
}

static struct query_columns *plain(const char *sql)
{
    struct query_columns *columns;
    struct ifg_error err = { 0 };

    REQUIRE(query_columns_create(query, sql, &columns, &err) == IFG_OK);
    return columns;
}

/* Whether a value of a batch is what SQLite says of it. */
static bool is_same(const struct query_columns *columns, size_t column, size_t row,
                    const void *values, const uint8_t *valid, size_t nulls,
                    const struct query_value *expected)
{
    const struct ifg_strings *texts = query_columns_texts(columns, column);
    bool is_null = nulls && !(valid[row / 8] >> row % 8 & 1);
    int32_t number;

    if (is_null || expected->type == QUERY_NULL)
        return is_null && expected->type == QUERY_NULL;
    if (!texts)
        return expected->type == QUERY_INTEGER &&
               ((const int64_t *)values)[row] == expected->integer;
    number = ((const int32_t *)values)[row];
    return expected->type == QUERY_TEXT && number >= 0 && (uint32_t)number < texts->count &&
           strcmp(ifg_strings_get(texts, (uint32_t)number), expected->text) == 0;
}

/* One column at a time, in batches that begin and end anywhere. */
static size_t compare(const struct query_columns *columns, size_t column, size_t batch)
{
    size_t rows = query_columns_rows(columns);
    struct ifg_error err = { 0 };
    size_t wrong = 0;
    bool row = true;

    REQUIRE(query_start(query, "SELECT * FROM slice WHERE 1", &no_limits, &err) == IFG_OK);
    for (size_t first = 0; first < rows; first += batch) {
        int64_t values[ROWS_MAX];
        uint8_t valid[(ROWS_MAX + 7) / 8];
        size_t count = rows - first < batch ? rows - first : batch;
        size_t nulls = query_columns_fill(columns, column, first, count, values, valid);
        size_t seen = 0;

        for (size_t i = 0; i < count; i++) {
            struct query_value expected;

            REQUIRE(query_next(query, &row, &err) == IFG_OK && row);
            expected = query_column_value(query, column);
            seen += expected.type == QUERY_NULL;
            wrong += !is_same(columns, column, i, values, valid, nulls, &expected);
        }
        wrong += seen != nulls;
    }
    REQUIRE(query_next(query, &row, &err) == IFG_OK && !row);
    return wrong;
}

static void columns_are_what_sqlite_says(void)
{
    static const size_t batches[] = { 1, 7, 8, 64, ROWS_MAX };
    struct query_columns *columns;

    set_up();
    columns = plain("SELECT * FROM slice");
    REQUIRE(columns != NULL);
    CHECK_UINT(query_columns_count(columns), 20);
    CHECK_UINT(query_columns_rows(columns), sample.timeline->slice_count);
    for (size_t i = 0; i < query_columns_count(columns); i++)
        for (size_t b = 0; b < sizeof batches / sizeof batches[0]; b++) {
            size_t wrong = compare(columns, i, batches[b]);

            if (wrong)
                tap_diag("%s in batches of %zu: %zu wrong", query_columns_name(columns, i),
                         batches[b], wrong);
            CHECK_UINT(wrong, 0);
        }
    query_columns_destroy(columns);
    tear_down();
}

static void only_plain_statements(void)
{
    static const char *const others[] = {
        "",
        "SELECT",
        "SELECT FROM slice",
        "SELECT * FROM thread",
        "SELECT nonsense FROM slice",
        "SELECT id, FROM slice",
        "SELECT id FROM slice WHERE 1",
        "SELECT id FROM slice LIMIT 1",
        "SELECT id FROM slice s",
        "SELECT id AS i FROM slice",
        "SELECT id + 1 FROM slice",
        "SELECT id FROM slice; SELECT 1",
        "SELECT id FROM slice -- more",
        "SELECT id FROM slice ORDER BY id",
        "SELECTid FROM slice",
    };
    struct query_columns *columns;

    set_up();
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++) {
        columns = plain(others[i]);
        if (columns)
            tap_diag("taken: %s", others[i]);
        CHECK(!columns);
        query_columns_destroy(columns);
    }
    columns = plain("\n select NAME,\tId from SLICE ; \n");
    REQUIRE(columns != NULL);
    CHECK_STR(query_columns_name(columns, 0), "name");
    CHECK_STR(query_columns_name(columns, 1), "id");
    query_columns_destroy(columns);
    columns = plain("SELECT *, id FROM slice");
    REQUIRE(columns != NULL);
    CHECK_UINT(query_columns_count(columns), 21);
    query_columns_destroy(columns);
    tear_down();
}

TAP_MAIN(TAP_CASE(columns_are_what_sqlite_says), TAP_CASE(only_plain_statements))
