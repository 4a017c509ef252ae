// SPDX-License-Identifier: Apache-2.0
/*
 * How fast a trace of twenty million zones is opened and its statistics by zone are computed, on
 * one core, and how much memory that takes. Beside it, in the same run, a plain sum over as many
 * bytes as the columns have: what memory alone would cost. Each round is a process of its own.
 *
 * usage: read_speed [--json] [--zones N]
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "analyze/stats.h"
#include "bench.h"
#include "synthetic.h"

#define ROUNDS       5
#define COLUMN_BYTES 18

struct round {
    double seconds;
    double load_seconds;
    double scan_seconds;
    double peak_bytes;
    uint64_t counted;
};

static double scan_seconds(size_t bytes)
{
    uint64_t *memory = malloc(bytes);
    size_t count = bytes / sizeof *memory;
    uint64_t sum = 0;
    double begin;

    if (!memory)
        return 0;
    memset(memory, 1, bytes);
    begin = bench_cpu_seconds();
    for (size_t i = 0; i < count; i++)
        sum += memory[i];
    __asm__ volatile("" : : "r"(sum)); /* somebody wants it */
    begin = bench_cpu_seconds() - begin;
    free(memory);
    return begin;
}

static struct round run(const char *path, size_t zones)
{
    struct round round = { 0 };
    struct timeline_options one_core = { .threads = 1 };
    struct stats_options by_zone = { .by = STATS_BY_ZONE };
    struct trace_reader *reader;
    const struct timeline *timeline;
    struct stats *stats;
    struct ifg_error err;
    struct rusage usage;
    double begin = bench_cpu_seconds();

    if (trace_reader_open(path, &reader, &err) ||
        timeline_create(reader, &one_core, &timeline, &err)) {
        fprintf(stderr, "%s\n", err.message);
        exit(1);
    }
    round.load_seconds = bench_cpu_seconds() - begin;
    if (stats_create(timeline, &by_zone, &stats, &err)) {
        fprintf(stderr, "%s\n", err.message);
        exit(1);
    }
    round.seconds = bench_cpu_seconds() - begin;
    getrusage(RUSAGE_SELF, &usage);
    round.peak_bytes = (double)usage.ru_maxrss * 1024;
    for (size_t i = 0; i < stats->row_count; i++)
        round.counted += stats->rows[i].count;
    stats_destroy(stats);
    timeline_destroy(timeline);
    trace_reader_close(reader);
    round.scan_seconds = scan_seconds(zones * COLUMN_BYTES);
    return round;
}

/* In a child, so that memory and page tables of one round do not help the next. */
static struct round run_apart(const char *path, size_t zones)
{
    struct round round = { 0 };
    int result[2];
    pid_t child;

    if (pipe(result) < 0)
        exit(1);
    child = fork();
    if (child == 0) {
        round = run(path, zones);
        _exit(write(result[1], &round, sizeof round) == (ssize_t)sizeof round ? 0 : 1);
    }
    close(result[1]);
    if (read(result[0], &round, sizeof round) != (ssize_t)sizeof round)
        exit(1);
    close(result[0]);
    waitpid(child, NULL, 0);
    return round;
}

int main(int argc, char **argv)
{
    size_t zones = 20000000;
    struct round best = { .seconds = 1e9, .scan_seconds = 1e9 };
    uint64_t written;
    char path[256];

    for (int i = 1; i + 1 < argc; i++)
        if (strcmp(argv[i], "--zones") == 0)
            zones = strtoul(argv[i + 1], NULL, 10);
    bench_begin("read_speed", argc, argv);
    snprintf(path, sizeof path, "%s", bench_file("read.ifg"));
    written = synthetic_trace(path, zones, false);
    for (int i = 0; i < ROUNDS; i++) {
        struct round round = run_apart(path, written);

        if (round.counted != written) {
            fprintf(stderr, "read_speed: %llu of %llu zones were counted\n",
                    (unsigned long long)round.counted, (unsigned long long)written);
            return 1;
        }
        if (round.scan_seconds < best.scan_seconds)
            best.scan_seconds = round.scan_seconds;
        if (round.seconds < best.seconds) {
            double scan = best.scan_seconds;

            best = round;
            best.scan_seconds = scan;
        }
    }
    bench_result("zones", (double)written, "");
    bench_result("open_ns_per_zone", best.load_seconds / (double)written * 1e9, "ns");
    bench_result("stats_ns_per_zone", (best.seconds - best.load_seconds) / (double)written * 1e9,
                 "ns");
    bench_bar("ns_per_zone", best.seconds / (double)written * 1e9, 1e3 / 33, "ns");
    bench_result("mzones_per_s", (double)written / best.seconds * 1e-6, "M/s");
    bench_result("ratio_to_memory_scan", best.seconds / best.scan_seconds, "");
    bench_bar("bytes_per_zone", best.peak_bytes / (double)written, 24, "B");
    return bench_end();
}
