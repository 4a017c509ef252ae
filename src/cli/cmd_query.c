// SPDX-License-Identifier: Apache-2.0
/* inferogram query: SQL over a trace. */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <unistd.h>

#include "base/alloc.h"
#include "cli/cli.h"
#include "cli/commands.h"
#include "cli/query_arrow.h"
#include "cli/query_output.h"
#include "query/query.h"

#define ROWS_DEFAULT    1000000
#define TIMEOUT_DEFAULT 30
#define WIDTH_DEFAULT   80
#define WATCH_US        500000

struct request {
    const char *path;
    char *sql; /* owned */
    bool tables;
    bool json;
    bool csv;
    bool arrow;
    size_t max_width;
    struct query_limits limits;
};

static const struct option_row option_rows[] = {
    { "tables", 0, NULL, "list tables, functions and columns", OPTION_FLAG,
      IFG_AT(struct request, tables) },
    { "json", 0, NULL, "print one JSON document: columns, rows, truncated", OPTION_FLAG,
      IFG_AT(struct request, json) },
    { "csv", 0, NULL, "print CSV (RFC 4180)", OPTION_FLAG, IFG_AT(struct request, csv) },
    { "arrow", 0, NULL, "write an Arrow IPC stream, for pyarrow, polars, DuckDB", OPTION_FLAG,
      IFG_AT(struct request, arrow) },
    { "max-rows", 0, "N", "stop after N rows, 0 for no limit [1000000]", OPTION_COUNT,
      IFG_AT(struct request, limits.rows), .what = "a number of rows" },
    { "timeout", 0, "T", "stop after this long (500ms, 2m), 0 for no limit [30]", OPTION_SECONDS,
      IFG_AT(struct request, limits.timeout_s), .zero = true },
    { "max-width", 0, "N", "cut text in tables after N characters; 0: never [80]", OPTION_COUNT,
      IFG_AT(struct request, max_width), .most = 1e9, .what = "a number of characters" },
    { 0 },
};

/* SQL from standard input. */
static char *read_sql(void)
{
    char *sql = ifg_alloc(QUERY_SQL_MAX + 1, 1);
    size_t size = sql ? fread(sql, 1, QUERY_SQL_MAX, stdin) : 0;

    if (!sql)
        cli_say("not enough memory");
    else if (ferror(stdin))
        cli_say("cannot read the SQL from standard input: %s", strerror(errno));
    else if (size == QUERY_SQL_MAX)
        cli_say("the SQL on standard input is longer than %u kB", QUERY_SQL_MAX >> 10);
    else if (strlen(sql) != size)
        cli_say("the SQL on standard input has a NUL in it");
    else
        return sql;
    ifg_free(sql);
    return NULL;
}

static int take_words(const struct option_words *words, struct request *request)
{
    const char *sql;

    if (request->json + request->csv + request->arrow > 1)
        return cli_usage("query", "--json, --csv and --arrow exclude each other");
    if (request->arrow && isatty(STDOUT_FILENO))
        return cli_usage("query", "--arrow is for programs: write it to a file or a pipe");
    if (request->tables && words->count > 1)
        return cli_usage("query", "--tables takes no SQL");
    if (request->tables)
        return CLI_YES; /* all traces have the same tables */
    if (words->count > 2)
        return cli_usage("query", "'%s' is too many; put the SQL in quotes", words->items[2]);
    if (!words->count || (words->count == 1 && options_is_trace(words->items[0])))
        return cli_usage("query",
                         "which SQL? Give a statement, or - to read it from standard input");
    request->path = words->count == 2 ? words->items[0] : options_newest_trace(&query_command);
    if (!request->path)
        return CLI_USAGE;
    sql = words->items[words->count - 1];
    request->sql = strcmp(sql, "-") == 0 ? read_sql() : ifg_strdup(sql);
    return request->sql ? CLI_YES : CLI_USAGE;
}

/* ---- --tables ---------------------------------------------------------------------------- */

static void tables_text(struct ifg_bytes *out)
{
    const struct query_table *table;

    for (size_t i = 0; (table = query_table_at(i)); i++) {
        cli_print(out, "%s%s%s%s: %s\n", i ? "\n" : "", cli_bold(true, STDOUT_FILENO), table->name,
                  cli_bold(false, STDOUT_FILENO), table->about);
        for (size_t c = 0; c < table->column_count; c++)
            cli_print(out, "  %-24s %-8.7s %s\n", table->columns[c].name, table->columns[c].type,
                      table->columns[c].about);
    }
    cli_print(out, "\naggregates: percentile(value, p) with p from 0 to 100, median(value), "
                   "stddev(value)\n");
}

static void tables_json(struct ifg_bytes *out)
{
    struct ifg_json json = { out, false };
    const struct query_table *table;

    ifg_json_open(&json, '{');
    ifg_json_put_int(&json, "schema", 1);
    ifg_json_put_open(&json, "tables", '[');
    for (size_t i = 0; (table = query_table_at(i)); i++) {
        ifg_json_open(&json, '{');
        ifg_json_put_string(&json, "name", table->name);
        ifg_json_put_string(&json, "about", table->about);
        ifg_json_put_open(&json, "columns", '[');
        for (size_t c = 0; c < table->column_count; c++) {
            ifg_json_open(&json, '{');
            ifg_json_put_string(&json, "name", table->columns[c].name);
            ifg_json_put_string(&json, "type", table->columns[c].type);
            ifg_json_put_string(&json, "about", table->columns[c].about);
            ifg_json_close(&json, '}');
        }
        ifg_json_close(&json, ']');
        ifg_json_close(&json, '}');
    }
    ifg_json_close(&json, ']');
    ifg_json_close(&json, '}');
    ifg_bytes_put(out, "\n", 1);
}

static int list_tables(const struct request *request)
{
    struct ifg_bytes out;
    int code;

    if (request->csv || request->arrow)
        return cli_usage("query", "--tables is a list for people, or --json");
    ifg_bytes_init(&out, 1u << 20);
    if (request->json)
        tables_json(&out);
    else
        tables_text(&out);
    code = cli_write_out(&out);
    ifg_bytes_fini(&out);
    return code;
}

/* ---- running ----------------------------------------------------------------------------- */

static const struct query *watched;

/* A few functions of SQLite can work for minutes without looking at the clock. */
static void look_at_clock(int signal)
{
    static const char message[] =
        "inferogram: the query took longer than --timeout allows and was stopped\n";

    (void)signal;
    if (query_is_stuck(watched)) {
        if (write(STDERR_FILENO, message, sizeof message - 1) < 0)
            _exit(CLI_NO);
        _exit(CLI_NO);
    }
}

static void watch(const struct query *query)
{
    struct sigaction action = { .sa_handler = look_at_clock, .sa_flags = SA_RESTART };
    struct itimerval often = { { 0, WATCH_US }, { 0, WATCH_US } };

    watched = query;
    sigaction(SIGALRM, &action, NULL);
    setitimer(ITIMER_REAL, &often, NULL);
}

static void unwatch(void)
{
    struct itimerval never = { { 0, 0 }, { 0, 0 } };

    setitimer(ITIMER_REAL, &never, NULL);
}

static int say_failure(enum ifg_status status, const struct ifg_error *err,
                       const struct query *query)
{
    if (status == IFG_CANCELLED) {
        cli_say("%s; %s", err->message,
                query_hit_row_limit(query)
                    ? "--max-rows 0 shows all, LIMIT in the SQL asks for fewer"
                    : "--timeout raises the limit, 0 removes it");
        return CLI_NO;
    }
    if (strstr(err->message, "no such"))
        cli_say("%s; 'inferogram query --tables' lists tables and columns", err->message);
    else
        cli_say("%s", err->message);
    return status == IFG_INVALID ? CLI_USAGE : CLI_NO;
}

static int write_rows(struct query *query, struct query_output *output)
{
    struct ifg_error err = { 0 };
    enum ifg_status status = IFG_OK;
    int code = query_output_begin(output, query);
    bool row = true;

    while (!code && row && !status) {
        status = query_next(query, &row, &err);
        if (row)
            code = query_output_row(output, query);
    }
    if (!code)
        code = query_output_end(output, status != IFG_OK, status ? err.message : NULL);
    if (!code && status)
        code = say_failure(status, &err, query);
    return code;
}

/* Rows of any statement as Arrow: complete, or none at all. */
static int write_arrow(struct query *query)
{
    struct ifg_error err = { 0 };
    struct query_arrow *arrow = query_arrow_create(query);
    enum ifg_status status = IFG_OK;
    bool row = true;
    int code;

    while (arrow && row && !status) {
        status = query_next(query, &row, &err);
        if (row && !query_arrow_row(arrow, query)) {
            query_arrow_destroy(arrow);
            arrow = NULL;
        }
    }
    if (status)
        code = say_failure(status, &err, query);
    else
        code = query_arrow_write(arrow);
    query_arrow_destroy(arrow);
    return code;
}

static int ask(const struct request *request, const struct timeline *timeline)
{
    struct query_output output = {
        .format = request->json  ? QUERY_JSON
                  : request->csv ? QUERY_CSV
                                 : QUERY_TABLE,
        .max_width = request->max_width,
    };
    struct ifg_error err = { 0 };
    struct query *query;
    enum ifg_status status = query_create(timeline, &query, &err);
    bool done = false;
    int code = CLI_YES;

    if (status)
        return say_failure(status, &err, NULL);
    if (request->arrow)
        code = query_arrow_columns(query, request->sql, request->limits.rows, &done);
    if (done) {
        query_destroy(query);
        return code;
    }
    watch(query);
    status = query_start(query, request->sql, &request->limits, &err);
    if (status)
        code = say_failure(status, &err, query);
    else if (request->arrow)
        code = write_arrow(query);
    else
        code = write_rows(query, &output);
    unwatch();
    query_output_fini(&output);
    query_destroy(query);
    return code;
}

static int run(int argc, char **argv)
{
    struct request request = {
        .max_width = WIDTH_DEFAULT,
        .limits = { .rows = ROWS_DEFAULT, .timeout_s = TIMEOUT_DEFAULT },
    };
    struct option_words words;
    struct trace_reader *reader = NULL;
    const struct timeline *timeline = NULL;
    int code = options_parse(&query_command, argc, argv, &request, &words);

    if (!code)
        code = take_words(&words, &request);
    if (!code && request.tables)
        code = list_tables(&request);
    else if (!code)
        code = cli_load(request.path, &reader, &timeline);
    if (!code && timeline)
        code = ask(&request, timeline);
    timeline_destroy(timeline);
    trace_reader_close(reader);
    ifg_free(request.sql);
    return code;
}

const struct cli_command query_command = {
    .name = "query",
    .summary = "query a trace in SQL",
    .usage = "[FILE] SQL [--json|--csv|--arrow] [OPTIONS]\n--tables [--json]",
    .about = "Queries a trace in SQL (SQLite's dialect, read-only). SQL is one statement; '-' "
             "reads it from standard input. Times are nanoseconds since the start of the trace. "
             "docs/sql.md describes the tables and has ten queries to start from.",
    .tables = { option_rows },
    .examples =
        "inferogram query run.ifg 'SELECT name, count(*), sum(dur_ns) FROM slice GROUP BY name'\n"
        "inferogram query run.ifg 'SELECT * FROM zone_stats() ORDER BY p99_ns DESC LIMIT 10'",
    .exits = "0 success, 1 a limit was reached or the output cannot be written, 2 usage error, "
             "unreadable FILE or invalid SQL",
    .operands = OPERANDS_TRACES,
    .reads = true,
    .run = run,
};
