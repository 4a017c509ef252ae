// SPDX-License-Identifier: Apache-2.0
/*
 * How fast SQL answers over ten million slices: a GROUP BY that SQLite does row by row, the same as
 * a table-valued function over the columns, and a few questions that people ask. The model is
 * loaded once; of each statement the best of five counts, after one that makes the indices.
 *
 * usage: query_speed [--json] [--slices N]
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench.h"
#include "query/query.h"
#include "synthetic.h"

#define ROUNDS 5

static const struct {
    const char *key;
    const char *sql;
    double bar_ms; /* 0: none */
} questions[] = {
    { "group_by_name_ms", "SELECT name, count(*), sum(dur_ns) FROM slice GROUP BY name", 3000 },
    { "zone_stats_ms", "SELECT * FROM zone_stats()", 150 },
    { "one_name_ms", "SELECT count(*), sum(dur_ns) FROM slice WHERE name = 'Conv_7'", 0 },
    { "time_window_ms",
      "SELECT count(*), sum(dur_ns) FROM slice WHERE start_ns BETWEEN 1e9 AND 2e9", 0 },
    { "first_by_time_ms", "SELECT * FROM slice ORDER BY start_ns LIMIT 100", 0 },
    { "longest_ms", "SELECT id, name, dur_ns FROM slice ORDER BY dur_ns DESC LIMIT 10", 0 },
    { "p99_of_one_name_ms", "SELECT percentile(dur_ns, 99) FROM slice WHERE name = 'Conv_7'", 0 },
};

#define QUESTIONS (sizeof questions / sizeof questions[0])

static _Noreturn void die(const struct ifg_error *err)
{
    fprintf(stderr, "query_speed: %s\n", err->message);
    exit(1);
}

/* Milliseconds; the first row's sum of counts is what tells that all slices were seen. */
static double ask(struct query *query, const char *sql, uint64_t *out_counted)
{
    struct query_limits none = { 0 };
    struct ifg_error err = { 0 };
    double begin = bench_wall_seconds();
    bool row = true;

    *out_counted = 0;
    if (query_start(query, sql, &none, &err))
        die(&err);
    while (row) {
        if (query_next(query, &row, &err))
            die(&err);
        for (size_t i = 0; row && i < query_column_count(query); i++)
            if (strncmp(query_column_name(query, i), "count", 5) == 0)
                *out_counted += (uint64_t)query_column_value(query, i).integer;
    }
    return (bench_wall_seconds() - begin) * 1e3;
}

static void measure(struct query *query, uint64_t slices)
{
    for (size_t i = 0; i < QUESTIONS; i++) {
        double best = 1e18;
        uint64_t counted;
        double first = ask(query, questions[i].sql, &counted);

        if (i < 2 && counted != slices) {
            fprintf(stderr, "query_speed: %llu of %llu slices were counted\n",
                    (unsigned long long)counted, (unsigned long long)slices);
            exit(1);
        }
        if (i == 0)
            bench_result("first_group_by_name_ms", first, "ms");
        for (int round = 0; round < ROUNDS; round++) {
            double spent = ask(query, questions[i].sql, &counted);

            if (spent < best)
                best = spent;
        }
        if (questions[i].bar_ms > 0)
            bench_bar(questions[i].key, best, questions[i].bar_ms, "ms");
        else
            bench_result(questions[i].key, best, "ms");
    }
}

int main(int argc, char **argv)
{
    size_t slices = 10000000;
    struct trace_reader *reader;
    const struct timeline *timeline;
    struct query *query;
    struct ifg_error err = { 0 };
    const char *path;

    for (int i = 1; i + 1 < argc; i++)
        if (strcmp(argv[i], "--slices") == 0)
            slices = strtoul(argv[i + 1], NULL, 10);
    bench_begin("query_speed", argc, argv);
    path = bench_file("query.ifg");
    slices = synthetic_trace(path, slices, false);
    if (trace_reader_open(path, &reader, &err) || timeline_create(reader, NULL, &timeline, &err) ||
        query_create(timeline, &query, &err))
        die(&err);
    bench_result("slices", (double)slices, "");
    measure(query, slices);
    query_destroy(query);
    timeline_destroy(timeline);
    trace_reader_close(reader);
    return bench_end();
}
