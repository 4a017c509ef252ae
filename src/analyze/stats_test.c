// SPDX-License-Identifier: Apache-2.0
/* Statistics against the plainest computation of the same numbers. */
#include "analyze/stats.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/quantile.h"
#include "tap.h"
#include "trace/writer.h"

#define LOCATIONS 5u

static char path[64];
static uint64_t *durations[LOCATIONS];
static size_t counts[LOCATIONS];
static uint32_t seed = 99;

static uint32_t dice(uint32_t sides)
{
    seed = seed * 1664525u + 1013904223u;
    return (seed >> 8) % sides;
}

static struct trace_writer *begin_trace(uint32_t locations)
{
    struct trace_writer *writer = NULL;
    struct trace_process process = { .pid = 42, .program = "/bin/tested" };
    int fd;

    snprintf(path, sizeof path, "/tmp/inferogram-stats-XXXXXX");
    fd = mkstemp(path);
    REQUIRE(fd >= 0);
    close(fd);
    REQUIRE(trace_writer_create(path, true, &writer, NULL) == IFG_OK);
    trace_writer_clock(writer, 0, TRACE_CLOCK_MONOTONIC, 1000000000u, "ns");
    trace_writer_process(writer, &process);
    trace_writer_thread(writer, 0, 0, 100, "main");
    for (uint32_t i = 0; i < locations; i++) {
        char name[16];
        struct trace_location location = { .id = i + 2, .kind = TRACE_LOCATION_ZONE, .name = name };

        snprintf(name, sizeof name, "p%u", i);
        trace_writer_location(writer, &location);
    }
    return writer;
}

static struct stats *compute(const struct stats_options *options, struct trace_reader **out_reader,
                             const struct timeline **out_timeline)
{
    struct stats *stats = NULL;

    REQUIRE(trace_reader_open(path, out_reader, NULL) == IFG_OK);
    REQUIRE(timeline_create(*out_reader, NULL, out_timeline, NULL) == IFG_OK);
    REQUIRE(stats_create(*out_timeline, options, &stats, NULL) == IFG_OK);
    return stats;
}

static const struct stats_row *row_named(const struct stats *stats, const char *name)
{
    for (size_t i = 0; i < stats->row_count; i++)
        if (strcmp(stats->rows[i].name, name) == 0)
            return &stats->rows[i];
    return NULL;
}

static int by_value(const void *a, const void *b)
{
    uint64_t left = *(const uint64_t *)a;
    uint64_t right = *(const uint64_t *)b;

    return left < right ? -1 : left > right;
}

static bool near(double a, double b)
{
    return fabs(a - b) <= 1e-9 * (fabs(a) + fabs(b)) + 1e-9;
}

static void check_row(const struct stats_row *row, uint64_t *values, size_t count)
{
    static const double p[] = { .5, .9, .95, .99, .999 };
    long double sum = 0;
    long double squares = 0;

    qsort(values, count, sizeof *values, by_value);
    for (size_t i = 0; i < count; i++)
        sum += (long double)values[i];
    for (size_t i = 0; i < count; i++)
        squares += ((long double)values[i] - sum / (long double)count) *
                   ((long double)values[i] - sum / (long double)count);
    CHECK_UINT(row->count, count);
    CHECK(near(row->mean_ns, (double)(sum / (long double)count)));
    CHECK(count < 2 ||
          fabs(row->sd_ns - (double)sqrtl(squares / (long double)(count - 1))) < 1e-6 * row->sd_ns);
    CHECK_UINT(row->min_ns, values[0]);
    CHECK_UINT(row->max_ns, values[count - 1]);
    for (int i = 0; i < STATS_PERCENTILES; i++) {
        double at = (double)(count - 1) * p[i];
        size_t low = (size_t)at;
        size_t high = low + 1 < count ? low + 1 : low;
        double expected =
            (double)values[low] + ((double)values[high] - (double)values[low]) * (at - (double)low);

        CHECK(near(row->percentile_ns[i], expected));
    }
}

/* Groups of very different sizes and spreads, one far beyond what is sorted as a whole. */
static void random_groups(void)
{
    static const size_t sizes[LOCATIONS] = { 1, 2, 1000, 5000, 90000 };
    struct trace_writer *writer = begin_trace(LOCATIONS);
    struct trace_stream *stream = trace_stream_create(writer, 0);
    struct stats_options options = { .by = STATS_BY_ZONE };
    struct trace_reader *reader;
    const struct timeline *timeline;
    struct stats *stats;
    uint64_t at = 1000;

    for (uint32_t p = 0; p < LOCATIONS; p++) {
        durations[p] = calloc(sizes[p], sizeof(uint64_t));
        REQUIRE(durations[p] != NULL);
        for (size_t i = 0; i < sizes[p]; i++) {
            uint64_t duration = dice(20) == 0 ? dice(1000000) : 500 + dice(40);

            if (p == 3)
                duration = 6000000000u + dice(1000); /* beyond 32 bits */
            durations[p][counts[p]++] = duration;
            trace_stream_zone(stream, at, duration, p + 2);
            at += duration + 1;
        }
    }
    REQUIRE(trace_writer_close(writer, NULL) == IFG_OK);
    stats = compute(&options, &reader, &timeline);
    CHECK_UINT(stats->row_count, LOCATIONS);
    for (uint32_t p = 0; p < LOCATIONS; p++) {
        char name[16];
        const struct stats_row *row;

        snprintf(name, sizeof name, "p%u", p);
        row = row_named(stats, name);
        REQUIRE(row != NULL);
        check_row(row, durations[p], counts[p]);
        free(durations[p]);
    }
    stats_destroy(stats);
    timeline_destroy(timeline);
    trace_reader_close(reader);
    unlink(path);
}

/* 1 .. 100: the two definitions give 99.01 and 100 for p99. */
static void both_percentiles(void)
{
    uint64_t values[100];

    for (uint64_t i = 0; i < 100; i++)
        values[i] = i + 1;
    CHECK(near(ifg_quantile_sorted_u64(values, 100, .99, IFG_QUANTILE_LINEAR), 99.01));
    CHECK(near(ifg_quantile_sorted_u64(values, 100, .99, IFG_QUANTILE_NEAREST), 100));
    CHECK(near(ifg_quantile_sorted_u64(values, 100, .5, IFG_QUANTILE_LINEAR), 50.5));
    CHECK(near(ifg_quantile_sorted_u64(values, 1, .5, IFG_QUANTILE_NEAREST), 1));
    CHECK(near(ifg_quantile_sorted_u64(values, 1, .999, IFG_QUANTILE_LINEAR), 1));
}

static bool is_p1(const char *name, void *user)
{
    (void)user;
    return strcmp(name, "p1") == 0;
}

static void self_time_and_filters(void)
{
    struct trace_writer *writer = begin_trace(3);
    struct trace_stream *stream = trace_stream_create(writer, 0);
    struct trace_open_zone open = { 900, 4 };
    struct stats_options options = { .by = STATS_BY_ZONE };
    struct trace_reader *reader;
    const struct timeline *timeline;
    struct stats *stats;
    struct stats *filtered = NULL;

    trace_stream_zone(stream, 110, 20, 3);
    trace_stream_zone(stream, 140, 30, 3);
    trace_stream_zone(stream, 100, 100, 2); /* holds both */
    trace_stream_zone(stream, 300, 0, 2);   /* zero-length zones count */
    trace_stream_zone(stream, 910, 40, 3);  /* inside a zone that never ended */
    trace_stream_flush(stream, &open, 1, 1000);
    REQUIRE(trace_writer_close(writer, NULL) == IFG_OK);
    stats = compute(&options, &reader, &timeline);
    REQUIRE(row_named(stats, "p0") && row_named(stats, "p1") && row_named(stats, "p2"));
    CHECK_UINT(row_named(stats, "p0")->count, 2);
    CHECK_UINT(row_named(stats, "p0")->total_ns, 100);
    CHECK_INT(row_named(stats, "p0")->self_ns, 50);
    CHECK_UINT(row_named(stats, "p0")->min_ns, 0);
    CHECK_INT(row_named(stats, "p1")->self_ns, 90);
    CHECK_UINT(row_named(stats, "p2")->count, 0);
    CHECK_UINT(row_named(stats, "p2")->unfinished, 1);
    CHECK_UINT(stats->unfinished, 1);
    CHECK_UINT(stats->range_ns, 900);
    stats_destroy(stats);

    options.filter.name_matches = is_p1;
    options.filter.from_ns = 30; /* from the begin of the trace at 100 */
    options.filter.to_ns = 50;
    REQUIRE(stats_create(timeline, &options, &filtered, NULL) == IFG_OK);
    REQUIRE(filtered->row_count == 1);
    CHECK_STR(filtered->rows[0].name, "p1");
    CHECK_UINT(filtered->rows[0].count, 1);
    CHECK_UINT(filtered->rows[0].total_ns, 30);
    CHECK_UINT(filtered->range_ns, 20);
    stats_destroy(filtered);

    options = (struct stats_options){ .by = STATS_BY_THREAD, .filter.thread = "main" };
    REQUIRE(stats_create(timeline, &options, &filtered, NULL) == IFG_OK);
    REQUIRE(filtered->row_count == 1);
    CHECK_STR(filtered->rows[0].name, "100 main");
    CHECK_UINT(filtered->rows[0].count, 2); /* the outermost that ended */
    stats_destroy(filtered);

    options = (struct stats_options){ .by = STATS_BY_MODEL };
    REQUIRE(stats_create(timeline, &options, &filtered, NULL) == IFG_OK);
    CHECK_UINT(filtered->row_count, 0);
    stats_destroy(filtered);
    timeline_destroy(timeline);
    trace_reader_close(reader);
    unlink(path);
}

/* So many groups that there are no histograms: the other way to the same numbers. */
static void very_many_groups(void)
{
    const uint32_t locations = 6000;
    struct trace_writer *writer = begin_trace(locations);
    struct trace_stream *stream = trace_stream_create(writer, 0);
    struct stats_options options = { .by = STATS_BY_ZONE };
    struct trace_reader *reader;
    const struct timeline *timeline;
    struct stats *stats;
    uint64_t at = 1000;

    for (uint32_t round = 1; round <= 3; round++) {
        for (uint32_t p = 0; p < locations; p++) {
            trace_stream_zone(stream, at, round * 100 + p, p + 2);
            at += 10000;
        }
    }
    REQUIRE(trace_writer_close(writer, NULL) == IFG_OK);
    stats = compute(&options, &reader, &timeline);
    CHECK_UINT(stats->row_count, locations);
    REQUIRE(row_named(stats, "p77") != NULL);
    CHECK_UINT(row_named(stats, "p77")->count, 3);
    CHECK_UINT(row_named(stats, "p77")->min_ns, 177);
    CHECK_UINT(row_named(stats, "p77")->max_ns, 377);
    CHECK(near(row_named(stats, "p77")->percentile_ns[STATS_P50], 277));
    CHECK(near(row_named(stats, "p77")->sd_ns, 100));
    stats_destroy(stats);
    timeline_destroy(timeline);
    trace_reader_close(reader);
    unlink(path);
}

static void out_of_memory(void)
{
    struct trace_writer *writer = begin_trace(2);
    struct trace_stream *stream = trace_stream_create(writer, 0);
    struct stats_options options = { .by = STATS_BY_ZONE };
    struct trace_reader *reader;
    const struct timeline *timeline;
    struct stats *stats;
    long failures = 0;

    for (uint64_t i = 0; i < 500; i++)
        trace_stream_zone(stream, i * 10, 5, 2 + i % 2);
    REQUIRE(trace_writer_close(writer, NULL) == IFG_OK);
    stats = compute(&options, &reader, &timeline);
    stats_destroy(stats);
    for (long n = 0; n < 1000; n++) {
        enum ifg_status status;

        ifg_alloc_fail_after(n);
        status = stats_create(timeline, &options, &stats, NULL);
        ifg_alloc_fail_after(-1);
        if (!status) {
            stats_destroy(stats);
            break;
        }
        CHECK_INT(status, IFG_NO_MEMORY);
        failures++;
    }
    CHECK(failures > 5 && failures < 1000);
    timeline_destroy(timeline);
    trace_reader_close(reader);
    unlink(path);
}

TAP_MAIN(TAP_CASE(random_groups), TAP_CASE(both_percentiles), TAP_CASE(self_time_and_filters),
         TAP_CASE(very_many_groups), TAP_CASE(out_of_memory))
