// SPDX-License-Identifier: Apache-2.0
/*
 * How fast a trace of ten million slices becomes CSV, Tracy's unwrapped CSV, Chrome JSON and
 * Perfetto's protobuf, and how much memory that takes besides the loaded trace. The output goes to
 * /dev/null; the slices are inferences with a hundred operators each, with zones inside, on four
 * threads.
 *
 * usage: export_speed [--json] [--slices N]
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <fcntl.h>
#include <unistd.h>

#include "bench.h"
#include "export/export.h"
#include "trace/writer.h"

#define THREADS     4u
#define OPERATORS   100u
#define ROUNDS      3
#define MODEL_BYTES 24.0 /* per slice: what a loaded trace may take */
#define EXTRA_MB    64.0

enum { LOCATION_INFERENCE = 1, LOCATION_SETUP, LOCATION_INNER, LOCATION_OPERATOR = 16 };

static uint64_t random_state = 88172645463325252u;

static uint64_t vary(uint64_t typical_ns)
{
    random_state ^= random_state << 13;
    random_state ^= random_state >> 7;
    random_state ^= random_state << 17;
    return typical_ns - typical_ns / 16 + random_state % (typical_ns / 8 + 1);
}

static void fail(const char *what, const struct ifg_error *err)
{
    fprintf(stderr, "export_speed: %s: %s\n", what, err->message);
    exit(1);
}

static void define(struct trace_writer *writer)
{
    const struct trace_process process = { .pid = 4242, .program = "/usr/bin/bench" };
    const struct trace_model model = { .id = 1, .name = "resnet" };
    char name[48];

    trace_writer_clock(writer, 0, TRACE_CLOCK_MONOTONIC, 1000000000, "monotonic");
    trace_writer_process(writer, &process);
    trace_writer_model(writer, &model);
    for (uint32_t i = 0; i < THREADS; i++)
        trace_writer_thread(writer, i, 0, 4242 + i, "worker");
    for (uint32_t i = 1; i < LOCATION_OPERATOR + OPERATORS; i++) {
        struct trace_location location = { .id = i, .kind = TRACE_LOCATION_ZONE, .line = 10 * i };

        snprintf(name, sizeof name, i < LOCATION_OPERATOR ? "zone %u" : "/layer%u/Conv", i);
        location.name = name;
        location.function = "run";
        location.file = "engine.c";
        if (i <= LOCATION_SETUP) {
            location.kind = TRACE_LOCATION_ML;
            location.category =
                i == LOCATION_SETUP ? TRACE_CATEGORY_SETUP : TRACE_CATEGORY_INFERENCE;
            location.model = 1;
        } else if (i >= LOCATION_OPERATOR) {
            location.kind = TRACE_LOCATION_OP;
        }
        trace_writer_location(writer, &location);
    }
}

static void write_thread(struct trace_stream *stream, size_t slices)
{
    uint64_t at = 1000000000u;

    for (size_t count = 0; count < slices;) {
        uint64_t inference = at;
        uint64_t begin = at += vary(300);

        at += vary(4000);
        trace_stream_zone(stream, begin, at - begin, LOCATION_SETUP);
        for (uint32_t i = 0; i < OPERATORS; i++) {
            uint64_t operator_begin = at += vary(110);

            for (uint32_t k = 0; k < i % 4; k++) {
                begin = at += vary(90);
                at += vary(500 + 100 * i);
                trace_stream_zone(stream, begin, at - begin, LOCATION_INNER + k);
                count++;
            }
            at += vary(800);
            trace_stream_zone(stream, operator_begin, at - operator_begin, LOCATION_OPERATOR + i);
            count++;
        }
        trace_stream_zone(stream, inference, at - inference, LOCATION_INFERENCE);
        count += 2;
        at += vary(200000);
    }
}

static void write_trace(const char *path, size_t slices)
{
    struct ifg_error err = { 0 };
    struct trace_writer *writer;

    if (trace_writer_create(path, true, &writer, &err))
        fail("create", &err);
    define(writer);
    for (uint32_t i = 0; i < THREADS; i++) {
        struct trace_stream *stream = trace_stream_create(writer, i);

        if (stream)
            write_thread(stream, slices / THREADS);
        trace_stream_destroy(stream);
    }
    if (trace_writer_close(writer, &err))
        fail("write", &err);
}

/* A line such as "VmHWM:  1234 kB" of /proc/self/status, in MB. */
static double memory_mb(const char *key)
{
    FILE *file = fopen("/proc/self/status", "re");
    char line[256];
    double mb = 0;

    while (file && fgets(line, sizeof line, file))
        if (strncmp(line, key, strlen(key)) == 0)
            mb = strtod(line + strlen(key), NULL) / 1000;
    if (file)
        fclose(file);
    return mb;
}

static void forget_peak(void)
{
    int fd = open("/proc/self/clear_refs", O_WRONLY | O_CLOEXEC);

    if (fd >= 0) {
        if (write(fd, "5", 1) != 1)
            perror("clear_refs");
        close(fd);
    }
}

/* Million slices per second, the best of a few rounds. */
static double measure(const struct timeline *timeline, const char *format,
                      const struct export_options *options)
{
    double best = 0;

    for (int i = 0; i < ROUNDS; i++) {
        struct ifg_error err = { 0 };
        struct export_result result;
        struct export_sink sink;
        double begin = bench_wall_seconds();
        double rate;

        if (export_sink_open(&sink, "/dev/null", false, &err))
            fail("open", &err);
        if (export_run(timeline, export_find_format(format), options, &sink, &result, &err))
            fail(format, &err);
        if (export_sink_close(&sink, true, &err))
            fail("close", &err);
        rate = (double)result.slices / (bench_wall_seconds() - begin) / 1e6;
        if (rate > best)
            best = rate;
    }
    return best;
}

/* A bar that is a least value: bench_bar knows only the most. */
static void at_least(const char *key, double value, double least)
{
    char name[64];

    bench_result(key, value, "M slices/s");
    snprintf(name, sizeof name, "%s_bar_over_it", key);
    bench_bar(name, least / value, 1, "x");
}

int main(int argc, char **argv)
{
    const struct export_options unwrap = { .unwrap = true };
    const struct export_options plain = { 0 };
    struct trace_reader *reader = NULL;
    const struct timeline *timeline = NULL;
    struct ifg_error err = { 0 };
    size_t slices = 10000000;
    char path[4096];
    double begin;
    double rates[4];

    for (int i = 1; i + 1 < argc; i++)
        if (strcmp(argv[i], "--slices") == 0)
            slices = strtoul(argv[i + 1], NULL, 10);
    bench_begin("export_speed", argc, argv);
    snprintf(path, sizeof path, "%s", bench_file("export.ifg"));
    write_trace(path, slices);
    begin = bench_wall_seconds();
    if (trace_reader_open(path, &reader, &err) || timeline_create(reader, NULL, &timeline, &err))
        fail("load", &err);
    bench_result("load_s", bench_wall_seconds() - begin, "s");
    bench_result("loaded_mb", memory_mb("VmRSS:"), "MB");
    forget_peak();
    rates[0] = measure(timeline, "csv", &plain);
    rates[1] = measure(timeline, "tracy-csv", &unwrap);
    rates[2] = measure(timeline, "chrome", &plain);
    bench_bar("memory_over_model_mb",
              memory_mb("VmHWM:") - MODEL_BYTES * (double)timeline->slice_count / 1e6, EXTRA_MB,
              "MB");
    rates[3] = measure(timeline, "perfetto", &plain);
    at_least("csv_m_per_s", rates[0], 4);
    at_least("unwrap_m_per_s", rates[1], 4);
    at_least("chrome_m_per_s", rates[2], 2);
    bench_result("perfetto_m_per_s", rates[3], "M slices/s");
    timeline_destroy(timeline);
    trace_reader_close(reader);
    return bench_end();
}
