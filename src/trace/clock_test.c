// SPDX-License-Identifier: Apache-2.0
/* Ticks to nanoseconds: exact on the pairs, straight between them, sensible beyond. */
#include <unistd.h>

#include "tap.h"
#include "trace/fixture.h"
#include "trace/reader_internal.h"

#define LENGTH(array) (sizeof(array) / sizeof(array)[0])

static uint64_t convert(struct trace_pair *pairs, size_t count, uint64_t hz, uint64_t ticks)
{
    struct trace_clock_line line = { .pairs = pairs, .count = count, .nominal_hz = hz };

    return trace_clock_line_to_ns(&line, ticks);
}

static void no_pairs(void)
{
    CHECK_UINT(convert(NULL, 0, 1000, 12345), 12345);
}

static void one_pair_uses_the_nominal_rate(void)
{
    struct trace_pair pair = { 1000000, 5000, 0 };

    CHECK_UINT(convert(&pair, 1, 2000000000, 1000000), 5000);
    CHECK_UINT(convert(&pair, 1, 2000000000, 1000200), 5100);
    CHECK_UINT(convert(&pair, 1, 2000000000, 999800), 4900);
    CHECK_UINT(convert(&pair, 1, 2000000000, 0), 0); /* before the clock began */
    CHECK_UINT(convert(&pair, 1, 1, UINT64_MAX), UINT64_MAX);
}

static void between_pairs(void)
{
    struct trace_pair pairs[] = { { 100, 1000, 0 }, { 200, 1050, 0 }, { 400, 1350, 0 } };

    CHECK_UINT(convert(pairs, 3, 1, 100), 1000);
    CHECK_UINT(convert(pairs, 3, 1, 150), 1025);
    CHECK_UINT(convert(pairs, 3, 1, 200), 1050);
    CHECK_UINT(convert(pairs, 3, 1, 300), 1200);
    CHECK_UINT(convert(pairs, 3, 1, 399), 1348);
    CHECK_UINT(convert(pairs, 3, 1, 400), 1350);
}

static void beyond_the_ends(void)
{
    struct trace_pair pairs[] = { { 100, 1000, 0 }, { 200, 1000, 0 }, { 300, 1400, 0 } };

    CHECK_UINT(convert(pairs, 3, 1, 50), 900); /* overall slope: 2 */
    CHECK_UINT(convert(pairs, 3, 1, 350), 1500);
    CHECK_UINT(convert(pairs, 3, 1, UINT64_MAX), UINT64_MAX);
}

/* Far larger than 2^53 and products beyond 64 bits: still exact to the nanosecond. */
static void large_numbers_stay_exact(void)
{
    uint64_t base = UINT64_C(0x7000000000000000);
    struct trace_pair pairs[] = { { base, base / 3, 0 },
                                  { base + UINT64_C(3000000000) * 86400,
                                    base / 3 + UINT64_C(1000000000) * 86400, 0 } };

    for (uint64_t i = 0; i < 86400; i += 977)
        CHECK_UINT(convert(pairs, 2, 1, base + UINT64_C(3000000000) * i + 3 * i),
                   base / 3 + UINT64_C(1000000000) * i + i);
}

static void a_falling_clock_is_still_a_line(void)
{
    struct trace_pair pairs[] = { { 100, 2000, 0 }, { 200, 1000, 0 } };

    CHECK_UINT(convert(pairs, 2, 1, 150), 1500);
    CHECK_UINT(convert(pairs, 2, 1, 50), 2500);
    CHECK_UINT(convert(pairs, 2, 1, 250), 500);
    CHECK_UINT(convert(pairs, 2, 1, 1000), 0);
}

/* Order of calls makes no difference. */
static void any_order(void)
{
    struct trace_pair pairs[100];
    struct trace_clock_line line = { .pairs = pairs, .count = LENGTH(pairs), .nominal_hz = 1 };

    for (size_t i = 0; i < LENGTH(pairs); i++)
        pairs[i] = (struct trace_pair){ i * 1000, i * 500, 0 };
    for (uint64_t i = 0; i < 99000; i += 13) {
        CHECK_UINT(trace_clock_line_to_ns(&line, i), i / 2);
        CHECK_UINT(trace_clock_line_to_ns(&line, 99000 - i), (99000 - i) / 2);
    }
}

/* Converting a column gives what converting each time gives, inside and outside the pairs. */
static void check_columns(const struct trace_reader *reader, uint64_t first, uint64_t last)
{
    uint64_t step = (last - first) / 1900;
    uint64_t times[2000];
    uint64_t expected[2000];

    for (uint32_t clock = 0; clock < 4; clock++) {
        for (size_t i = 0; i < LENGTH(times); i++) {
            times[i] = i % 100 == 99 ? i << 50 : first - 40 * step + i * step + i % 7;
            expected[i] = trace_clock_to_ns(reader, clock, times[i]);
        }
        trace_clock_convert(reader, clock, times, LENGTH(times));
        for (size_t i = 0; i < LENGTH(times); i++)
            CHECK_UINT(times[i], expected[i]);
    }
}

/* A counter that runs 50 ppm fast against its nominal rate, and whose rate changes on the way.
 * Pairs every second for a minute: the error stays far below 100 us. */
static void drift_is_corrected(void)
{
    enum { SECONDS = 60 };
    const uint64_t hz = 3000000000;
    struct trace_writer *writer;
    struct trace_reader *reader;
    const char *path = fixture_path();
    struct trace_clock_pair pairs[SECONDS + 1];
    uint64_t ticks = 123456789;

    for (size_t i = 0; i < LENGTH(pairs); i++) {
        pairs[i] = (struct trace_clock_pair){ ticks, 1000000000 * (i + 5), 7000000000 };
        ticks += hz + hz / 1000000 * (40 + i % 3 * 10); /* 40 to 60 ppm */
    }
    REQUIRE_INT(trace_writer_create(path, false, &writer, NULL), IFG_OK);
    trace_writer_clock(writer, 2, TRACE_CLOCK_TSC, hz, "tsc");
    trace_writer_clock_pairs(writer, 2, pairs + 30, 31); /* order in the file does not matter */
    trace_writer_clock_pairs(writer, 2, pairs, 30);
    trace_writer_clock_pairs(writer, 2, pairs, 1);
    trace_writer_clock_pairs(writer, 2, pairs, 0);
    REQUIRE_INT(trace_writer_close(writer, NULL), IFG_OK);
    REQUIRE_INT(trace_reader_open(path, &reader, NULL), IFG_OK);
    unlink(path);
    for (size_t i = 0; i < SECONDS; i++) {
        for (uint64_t part = 0; part <= 10; part++) {
            uint64_t at = pairs[i].ticks + (pairs[i + 1].ticks - pairs[i].ticks) * part / 10;
            int64_t error = (int64_t)(trace_clock_to_ns(reader, 2, at) -
                                      (pairs[i].monotonic_ns + 100000000 * part));

            CHECK(error >= -1 && error <= 1);
        }
    }
    /* One pair at each end only: the largest error of a straight line. */
    {
        struct trace_pair ends[] = { { pairs[0].ticks, pairs[0].monotonic_ns, 0 },
                                     { pairs[SECONDS].ticks, pairs[SECONDS].monotonic_ns, 0 } };

        for (size_t i = 0; i <= SECONDS; i++) {
            int64_t error = (int64_t)(convert(ends, 2, hz, pairs[i].ticks) - pairs[i].monotonic_ns);

            CHECK(error > -100000 && error < 100000);
        }
    }
    check_columns(reader, pairs[0].ticks, pairs[SECONDS].ticks);
    CHECK_INT(trace_realtime_offset_ns(reader), 2000000000);
    CHECK_UINT(trace_clock_to_ns(reader, 0, 77), 77); /* without pairs */
    CHECK_UINT(trace_clock_to_ns(reader, 99, 77), 77);
    trace_reader_close(reader);
}

TAP_MAIN(TAP_CASE(no_pairs), TAP_CASE(one_pair_uses_the_nominal_rate), TAP_CASE(between_pairs),
         TAP_CASE(beyond_the_ends), TAP_CASE(large_numbers_stay_exact),
         TAP_CASE(a_falling_clock_is_still_a_line), TAP_CASE(any_order),
         TAP_CASE(drift_is_corrected))
