// SPDX-License-Identifier: Apache-2.0
/*
 * Hostile SQL. Strategies:
 *
 * 1. The input is a statement, run over a small trace that has some of everything. Seeds: the
 * queries of docs/sql.md, every table, joins, and attempts to do more than reading.
 * 2. Every row is fetched and every value looked at, so that reading past a text shows.
 * 3. A statement that was refused must not spoil the next one: after each input the same known
 * query must still give the same answer.
 */
#include <stdlib.h>
#include <string.h>

#include "query/query.h"
#include "sample_trace.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct sample_trace sample;
static struct query *query;
static volatile uint64_t sink; /* so that nothing is optimised away */

static bool prepare(void)
{
    return query || (sample_trace_init(&sample, 1, 40) &&
                     query_create(sample.timeline, &query, NULL) == IFG_OK);
}

static void look_at_row(void)
{
    for (size_t i = 0; i < query_column_count(query); i++) {
        struct query_value value = query_column_value(query, i);

        sink += strlen(query_column_name(query, i));
        if (value.type != QUERY_TEXT && value.type != QUERY_BLOB) {
            sink += (uint64_t)value.integer;
            continue;
        }
        for (size_t k = 0; k < value.bytes; k++)
            sink += (unsigned char)value.text[k];
        if (value.type == QUERY_TEXT && value.text[value.bytes] != '\0')
            abort();
    }
}

static size_t run(const char *sql)
{
    struct query_limits limits = { .rows = 200, .timeout_s = 0.05 };
    struct ifg_error err = { 0 };
    bool row = true;
    size_t rows = 0;

    if (query_start(query, sql, &limits, &err)) {
        if (!err.message[0])
            abort();
        return 0;
    }
    while (!query_next(query, &row, &err) && row) {
        look_at_row();
        if (++rows > limits.rows)
            abort();
    }
    return rows;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *sql;

    if (!prepare())
        abort();
    sql = malloc(size + 1);
    if (!sql)
        return 0;
    if (size)
        memcpy(sql, data, size);
    sql[size] = '\0';
    run(sql);
    free(sql);
    if (run("SELECT id FROM slice WHERE id IN (3, 5) ORDER BY start_ns") != 2)
        abort();
    return 0;
}
