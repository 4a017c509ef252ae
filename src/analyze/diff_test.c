// SPDX-License-Identifier: Apache-2.0
/* Differences of traces whose truth is known: noise that drifts, with and without a change. */
#include "analyze/diff.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "tap.h"
#include "trace/writer.h"

#define LOCATIONS 12

struct made {
    char path[64];
    struct trace_reader *reader;
    const struct timeline *timeline;
};

static uint64_t random_state;

static double uniform(void)
{
    random_state = random_state * UINT64_C(6364136223846793005) + 1442695040888963407u;
    return ((double)(random_state >> 11) + 0.5) / 9007199254740992.0;
}

static double normal(void)
{
    return sqrt(-2 * log(uniform())) * cos(6.283185307179586 * uniform());
}

/* Locations "p0" to "p11"; each zone takes base_ns with 5 % noise, a slow drift that all share, and
 * rare stalls. Location 0 takes `factor` times as long. */
static void make(struct made *made, size_t rounds, double base_ns, double factor, double drift_size)
{
    struct trace_writer *writer = NULL;
    struct trace_stream *stream;
    struct trace_clock_pair pair = { 1000, 1000, 1000 };
    uint64_t now = 1000;
    double drift = 0;

    snprintf(made->path, sizeof made->path, "/tmp/ifg-diff-test-%d-XXXXXX", (int)getpid());
    close(mkstemp(made->path));
    REQUIRE_INT(trace_writer_create(made->path, true, &writer, NULL), IFG_OK);
    trace_writer_clock(writer, 0, TRACE_CLOCK_MONOTONIC, 1000000000u, "test");
    trace_writer_process(writer, &(struct trace_process){ .pid = 1, .program = "test" });
    trace_writer_thread(writer, 0, 0, 1, "main");
    for (uint32_t i = 0; i < LOCATIONS; i++) {
        char name[16];

        snprintf(name, sizeof name, "p%u", i);
        trace_writer_location(writer, &(struct trace_location){
                                          .id = i + 1, .kind = TRACE_LOCATION_ZONE, .name = name });
    }
    trace_writer_flush_definitions(writer);
    trace_writer_clock_pairs(writer, 0, &pair, 1);
    stream = trace_stream_create(writer, 0);
    REQUIRE(stream != NULL);
    for (size_t round = 0; round < rounds; round++) {
        drift = 0.99 * drift + 0.14 * drift_size * normal(); /* its own deviation is drift_size */
        for (uint32_t i = 0; i < LOCATIONS; i++) {
            double ns = base_ns * exp(0.05 * normal() + drift) * (i == 0 ? factor : 1);

            if (uniform() < 0.01)
                ns *= 20;
            trace_stream_zone(stream, now, (uint64_t)ns, i + 1);
            now += (uint64_t)ns + 10;
        }
    }
    REQUIRE_INT(trace_writer_close(writer, NULL), IFG_OK);
    REQUIRE_INT(trace_reader_open(made->path, &made->reader, NULL), IFG_OK);
    REQUIRE_INT(timeline_create(made->reader, NULL, &made->timeline, NULL), IFG_OK);
}

static void unmake(struct made *made)
{
    timeline_destroy(made->timeline);
    trace_reader_close(made->reader);
    unlink(made->path);
}

static const struct diff_row *find(const struct diff *diff, const char *name)
{
    for (size_t i = 0; i < diff->row_count; i++)
        if (strcmp(diff->rows[i].name, name) == 0)
            return &diff->rows[i];
    return NULL;
}

/* How often verdicts fall in `runs` pairs of traces. *out_found: location 0 REGRESSED. */
static size_t count_false(size_t runs, size_t rounds, double factor, double drift,
                          size_t *out_found)
{
    size_t wrong = 0;

    *out_found = 0;
    for (size_t run = 0; run < runs; run++) {
        struct made a, b;
        struct diff *diff = NULL;

        make(&a, rounds, 20000, 1, drift);
        make(&b, rounds, 20000, factor, drift);
        REQUIRE_INT(diff_create(a.timeline, b.timeline, DIFF_THRESHOLD, &diff, NULL), IFG_OK);
        CHECK_UINT(diff->row_count, LOCATIONS);
        for (size_t i = 0; i < diff->row_count; i++) {
            const struct diff_row *row = &diff->rows[i];
            bool is_target = strcmp(row->name, "p0") == 0;

            CHECK(row->low <= row->change + 1e-9 && row->change <= row->high + 1e-9);
            if (is_target)
                *out_found += row->verdict == DIFF_REGRESSED;
            if (!is_target || factor == 1)
                wrong += row->verdict == DIFF_REGRESSED || row->verdict == DIFF_IMPROVED;
        }
        diff_destroy(diff);
        unmake(&a);
        unmake(&b);
    }
    return wrong;
}

static void nothing_changed(void)
{
    size_t found;
    size_t wrong;

    random_state = 1;
    wrong = count_false(40, 1000, 1, 0.03, &found);
    tap_diag("no change, drift of 3 %%: %zu of %d locations called changed", wrong, 40 * LOCATIONS);
    CHECK(wrong <= 4);
}

static void something_changed(void)
{
    static const double factors[] = { 1.3, 1.1, 1.04 };

    random_state = 2;
    for (size_t i = 0; i < 3; i++) {
        size_t found;
        size_t wrong = count_false(20, 1000, factors[i], 0.01, &found);

        tap_diag("%+.0f %%: found in %zu of 20, wrong elsewhere %zu of %d", 100 * (factors[i] - 1),
                 found, wrong, 20 * (LOCATIONS - 1));
        CHECK_UINT(wrong, 0);
        if (factors[i] > 1.2)
            CHECK_UINT(found, 20);
        if (factors[i] < 1.05)
            CHECK_UINT(found, 0); /* below the threshold it is none of our business */
    }
}

static void too_few(void)
{
    struct made a, b;
    struct diff *diff = NULL;
    const struct diff_row *row;

    random_state = 3;
    make(&a, 1000, 20000, 1, 0);
    make(&b, 25, 20000, 1, 0);
    REQUIRE_INT(diff_create(a.timeline, b.timeline, DIFF_THRESHOLD, &diff, NULL), IFG_OK);
    row = find(diff, "p3");
    REQUIRE(row != NULL);
    CHECK_INT(row->verdict, DIFF_UNSURE);
    CHECK_UINT(row->more, 15);
    CHECK_UINT(row->side[DIFF_B].count, 25);
    CHECK_UINT(diff->compared, 0);
    diff_destroy(diff);
    unmake(&a);
    unmake(&b);
}

/* 200 and 240 ns: 20 % more, but less than the clock can tell. */
static void too_fine(void)
{
    struct made a, b;
    struct diff *diff = NULL;
    const struct diff_row *row;

    random_state = 4;
    make(&a, 1000, 200, 1, 0);
    make(&b, 1000, 200, 1.2, 0);
    REQUIRE_INT(diff_create(a.timeline, b.timeline, DIFF_THRESHOLD, &diff, NULL), IFG_OK);
    CHECK_UINT(diff->floor_ns, DIFF_FLOOR_NS);
    row = find(diff, "p0");
    REQUIRE(row != NULL);
    CHECK(row->too_fine);
    CHECK_INT(row->verdict, DIFF_UNSURE);
    diff_destroy(diff);
    unmake(&a);
    unmake(&b);
}

static void no_memory(void)
{
    struct made a, b;
    struct diff *diff = NULL;
    struct ifg_error err;
    long at = 0;

    random_state = 5;
    make(&a, 100, 20000, 1, 0);
    make(&b, 100, 20000, 1, 0);
    for (;; at++) {
        enum ifg_status status;

        ifg_alloc_fail_after(at);
        status = diff_create(a.timeline, b.timeline, DIFF_THRESHOLD, &diff, &err);
        ifg_alloc_fail_after(-1);
        if (!status)
            break;
        CHECK_INT(status, IFG_NO_MEMORY);
        CHECK(diff == NULL);
    }
    CHECK(at > 5);
    diff_destroy(diff);
    unmake(&a);
    unmake(&b);
}

TAP_MAIN(TAP_CASE(nothing_changed), TAP_CASE(something_changed), TAP_CASE(too_few),
         TAP_CASE(too_fine), TAP_CASE(no_memory))
