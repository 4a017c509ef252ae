// SPDX-License-Identifier: Apache-2.0
/* Functions, plans and limits of queries; random_test.c compares their rows with brute force. */
#include "query/query.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/stats.h"
#include "base/alloc.h"
#include "base/quantile.h"
#include "sample_trace.h"
#include "tap.h"

static const struct query_limits no_limits = { 0 };
static struct sample_trace sample;
static struct query *query;

static void set_up(uint64_t seed, size_t slices)
{
    REQUIRE(sample_trace_init(&sample, seed, slices));
    REQUIRE_INT(query_create(sample.timeline, &query, NULL), IFG_OK);
}

static void tear_down(void)
{
    query_destroy(query);
    sample_trace_fini(&sample);
    query = NULL;
}

/* ---- functions --------------------------------------------------------------------------- */

static double number(const char *sql)
{
    bool row = false;
    struct query_value value;

    if (query_start(query, sql, &no_limits, NULL) || query_next(query, &row, NULL) || !row)
        return NAN;
    value = query_column_value(query, 0);
    return value.type == QUERY_INTEGER ? (double)value.integer
           : value.type == QUERY_REAL  ? value.real
                                       : NAN;
}

static bool close_to(double a, double b)
{
    return fabs(a - b) <= 1e-9 * (fabs(a) + fabs(b)) + 1e-12;
}

static void aggregates(void)
{
    set_up(4, 50);
    CHECK(close_to(number("SELECT percentile(value, 50) FROM (SELECT 3 AS value UNION ALL SELECT 1 "
                          "UNION ALL SELECT 2 UNION ALL SELECT 10)"),
                   2.5));
    CHECK(close_to(
        number("SELECT percentile(column1, 90) FROM (VALUES (1), (2), (3), (4), (NULL))"), 3.7));
    CHECK(close_to(number("SELECT percentile(column1, 0) FROM (VALUES (5), (2), (3))"), 2));
    CHECK(close_to(number("SELECT percentile(column1, 100) FROM (VALUES (5), (2), (3))"), 5));
    CHECK(close_to(number("SELECT median(column1) FROM (VALUES (5), (2), (2), (2))"), 2));
    CHECK(isnan(number("SELECT percentile(1, 50) WHERE 0")));
    CHECK(isnan(number("SELECT percentile(1, 101)")));
    CHECK(isnan(number("SELECT percentile('x', 50)")));
    CHECK(isnan(number("SELECT percentile(column1, column1) FROM (VALUES (5), (2))")));
    CHECK(close_to(number("SELECT stddev(column1) FROM (VALUES (2), (4), (4), (4), (5), (5), (7), "
                          "(9))"),
                   sqrt(32.0 / 7)));
    CHECK(isnan(number("SELECT stddev(1)")));
    tear_down();
}

static void percentile_is_that_of_sorted_values(void)
{
    static const double ps[] = { 0, 1, 25, 50, 90, 99, 99.9, 100 };
    uint64_t *sorted;
    size_t count;
    bool row;

    set_up(5, 1000);
    count = sample.timeline->slice_count;
    sorted = malloc(count * sizeof *sorted);
    REQUIRE_INT(query_start(query, "SELECT dur_ns FROM slice ORDER BY dur_ns", &no_limits, NULL),
                IFG_OK);
    for (size_t i = 0; !query_next(query, &row, NULL) && row; i++)
        sorted[i] = (uint64_t)query_column_value(query, 0).integer;
    for (size_t i = 0; i < sizeof ps / sizeof ps[0]; i++) {
        char sql[128];

        snprintf(sql, sizeof sql, "SELECT percentile(dur_ns, %g) FROM slice", ps[i]);
        CHECK(close_to(number(sql),
                       ifg_quantile_sorted_u64(sorted, count, ps[i] / 100, IFG_QUANTILE_LINEAR)));
    }
    free(sorted);
    tear_down();
}

static void zone_stats_agree_with_slices(void)
{
    static const char *const windows[] = {
        "",     "0, 1000000", "500",         "2000, 3000",
        "5, 5", "-5, -1",     "NULL, 40000", "0, 9223372036854775807"
    };
    bool row;

    set_up(6, 800);
    for (size_t w = 0; w < sizeof windows / sizeof windows[0]; w++) {
        char sql[1024];

        snprintf(sql, sizeof sql,
                 "SELECT count(*) FROM (SELECT z.*, z.from_ns AS f, z.to_ns AS t FROM "
                 "zone_stats(%s) z) z WHERE z.kind != 'ml' AND z.count != (SELECT count(*) "
                 "FROM slice s WHERE s.name = z.name AND s.kind = z.kind AND NOT s.unfinished AND "
                 "s.start_ns >= coalesce(f, 0) AND s.start_ns < coalesce(t, "
                 "9223372036854775807))",
                 windows[w]);
        tap_note("%s", sql);
        CHECK(number(sql) < 0.5);
    }
    REQUIRE_INT(query_start(query,
                            "SELECT z.total_ns = sum(s.dur_ns), z.self_ns = sum(s.self_ns), "
                            "z.min_ns = min(s.dur_ns), z.max_ns = max(s.dur_ns), abs(z.mean_ns - "
                            "avg(s.dur_ns)) < 1e-3, abs(z.p99_ns - percentile(s.dur_ns, 99)) < "
                            "1e-3, abs(z.p50_ns - median(s.dur_ns)) < 1e-3, abs(z.sd_ns - "
                            "stddev(s.dur_ns)) < 1e-3 * z.sd_ns + 1e-3 FROM zone_stats() z JOIN "
                            "slice s ON s.name = z.name AND s.kind = z.kind WHERE z.kind != 'ml' "
                            "AND NOT s.unfinished GROUP BY z.name, z.kind",
                            &no_limits, NULL),
                IFG_OK);
    for (size_t rows = 0; !query_next(query, &row, NULL); rows++) {
        if (!row) {
            CHECK(rows > 5);
            break;
        }
        for (size_t i = 0; i < query_column_count(query); i++)
            CHECK_INT(query_column_value(query, i).integer, 1);
    }
    tear_down();
}

/* ---- limits ------------------------------------------------------------------------------ */

static void check_refused(const char *sql, const char *part)
{
    struct ifg_error err = { 0 };
    enum ifg_status status = query_start(query, sql, &no_limits, &err);
    bool row = true;

    while (!status && row)
        status = query_next(query, &row, &err);
    tap_note("%.200s", sql);
    CHECK_INT(status, IFG_INVALID);
    CHECK_CONTAINS(err.message, part);
}

static void only_reading(void)
{
    set_up(7, 20);
    check_refused("ATTACH 'x.db' AS x", "ATTACH");
    check_refused("DETACH main", "");
    check_refused("PRAGMA journal_mode = WAL", "PRAGMA");
    check_refused("PRAGMA temp_store_directory = '/'", "PRAGMA");
    check_refused("SELECT load_extension('x.so')", "function");
    check_refused("CREATE TABLE t(a)", "only read");
    check_refused("CREATE TEMP TABLE t(a)", "only read");
    check_refused("CREATE TEMP VIEW t AS SELECT 1", "only read");
    check_refused("CREATE VIRTUAL TABLE t USING slice", "only read");
    check_refused("INSERT INTO slice VALUES (1)", "");
    check_refused("UPDATE slice SET name = 'x'", "");
    check_refused("DELETE FROM slice", "");
    check_refused("DROP TABLE slice", "");
    check_refused("VACUUM INTO '/tmp/x'", "");
    check_refused("BEGIN", "transaction");
    check_refused("SAVEPOINT x", "transaction");
    check_refused("ANALYZE", "");
    check_refused("REINDEX", "");
    check_refused("SELECT 1; SELECT 2", "one statement");
    check_refused("", "no SQL");
    check_refused("-- nothing", "no SQL");
    check_refused("SELECT missing FROM slice", "no such column");
    check_refused("SELECT * FROM slices", "no such table");
    check_refused("SELEC 1", "syntax error");
    check_refused("SELECT zeroblob(100000000)", "too big");
    check_refused("SELECT replace(hex(zeroblob(8000000)), '0', 'xx')", "too big");
    check_refused("SELECT * FROM pragma_table_info('slice')", "only read");
    check_refused("SELECT * FROM zone_stats(1, 2, 3)", "too many arguments");
    CHECK(close_to(number("PRAGMA table_info(slice)"), 0));
    CHECK(close_to(number("SELECT 1; -- and that is all"), 1));
    tear_down();
}

static void deep_and_long_statements(void)
{
    char *sql = malloc(1u << 20);
    size_t used;

    set_up(8, 20);
    used = (size_t)snprintf(sql, 1u << 20, "SELECT ");
    for (int i = 0; i < 5000; i++)
        used += (size_t)snprintf(sql + used, 64, "(");
    used += (size_t)snprintf(sql + used, 64, "1");
    for (int i = 0; i < 5000; i++)
        used += (size_t)snprintf(sql + used, 64, ")");
    check_refused(sql, "");
    used = (size_t)snprintf(sql, 1u << 20, "SELECT 1");
    for (int i = 0; i < 1000; i++)
        used += (size_t)snprintf(sql + used, 64, " UNION ALL SELECT %d", i);
    check_refused(sql, "too many terms");
    used = (size_t)snprintf(sql, 1u << 20, "SELECT '");
    memset(sql + used, 'x', 300000);
    memcpy(sql + used + 300000, "'", 2);
    check_refused(sql, "longer");
    free(sql);
    tear_down();
}

static void time_and_rows_are_limited(void)
{
    struct query_limits limits = { .timeout_s = 0.2 };
    struct ifg_error err = { 0 };
    bool row = true;
    size_t rows = 0;

    set_up(9, 50);
    REQUIRE_INT(query_start(query,
                            "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) "
                            "SELECT count(*) FROM n",
                            &limits, &err),
                IFG_OK);
    CHECK_INT(query_next(query, &row, &err), IFG_CANCELLED);
    CHECK(!row);
    CHECK(!query_hit_row_limit(query));
    CHECK_CONTAINS(err.message, "0.2 s");
    limits = (struct query_limits){ .rows = 7 };
    REQUIRE_INT(query_start(query, "SELECT id FROM slice", &limits, &err), IFG_OK);
    while (!query_next(query, &row, &err) && row)
        rows++;
    CHECK_UINT(rows, 7);
    CHECK(query_hit_row_limit(query));
    CHECK_INT(query_start(query, "SELECT id FROM slice LIMIT 7", &limits, &err), IFG_OK);
    for (rows = 0; rows < 7; rows++)
        REQUIRE_INT(query_next(query, &row, &err), IFG_OK);
    CHECK(row);
    CHECK_INT(query_next(query, &row, &err), IFG_OK);
    CHECK(!row);
    CHECK(!query_hit_row_limit(query));
    CHECK(!query_is_stuck(query));
    tear_down();
}

/* Group and order by what locations and threads have must not make SQLite sort. */
static void plans_use_the_order(void)
{
    static const char *const free_of_sorting[] = {
        "SELECT name, count(*) FROM slice GROUP BY name",
        "SELECT model, category, sum(dur_ns) FROM slice GROUP BY model, category",
        "SELECT thread_name, count(*) FROM slice GROUP BY thread_name",
        "SELECT * FROM slice ORDER BY start_ns",
        "SELECT * FROM slice ORDER BY start_ns DESC LIMIT 5",
        "SELECT * FROM slice WHERE thread = 5 ORDER BY id DESC",
        "SELECT * FROM counter WHERE time_ns > 5 ORDER BY time_ns, id",
    };

    set_up(10, 50);
    for (size_t i = 0; i < sizeof free_of_sorting / sizeof free_of_sorting[0]; i++) {
        char sql[512];
        bool row;
        int steps = 0;

        snprintf(sql, sizeof sql, "EXPLAIN QUERY PLAN %s", free_of_sorting[i]);
        REQUIRE_INT(query_start(query, sql, &no_limits, NULL), IFG_OK);
        while (!query_next(query, &row, NULL) && row) {
            const char *step = query_column_value(query, 3).text;

            steps++;
            if (strstr(step, "B-TREE"))
                tap_diag("%s: %s", free_of_sorting[i], step);
            CHECK(!strstr(step, "B-TREE"));
        }
        CHECK(steps > 0);
    }
    tear_down();
}

static void memory_may_run_out(void)
{
    static const char *const statements[] = {
        "SELECT name, count(*) FROM slice GROUP BY name",
        "SELECT sum(self_ns), max(parent_id) FROM slice",
        "SELECT detail FROM ml_event ORDER BY start_ns",
        "SELECT * FROM zone_stats() a JOIN location p ON p.name = a.name",
    };

    REQUIRE(sample_trace_init(&sample, 11, 100));
    for (size_t s = 0; s < sizeof statements / sizeof statements[0]; s++) {
        for (long successes = 0; successes < 400; successes++) {
            struct ifg_error err = { 0 };
            bool row = true;

            ifg_alloc_fail_after(successes);
            if (!query_create(sample.timeline, &query, &err) &&
                !query_start(query, statements[s], &no_limits, &err))
                while (!query_next(query, &row, &err) && row)
                    continue;
            ifg_alloc_fail_after(-1);
            query_destroy(query);
            query = NULL;
        }
    }
    sample_trace_fini(&sample);
}

TAP_MAIN(TAP_CASE(aggregates), TAP_CASE(percentile_is_that_of_sorted_values),
         TAP_CASE(zone_stats_agree_with_slices), TAP_CASE(only_reading),
         TAP_CASE(deep_and_long_statements), TAP_CASE(time_and_rows_are_limited),
         TAP_CASE(plans_use_the_order), TAP_CASE(memory_may_run_out))
