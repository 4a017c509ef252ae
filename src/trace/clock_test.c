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

/* The pairs as a trace has them, in this order. */
static struct trace_reader *read_pairs(const struct trace_clock_pair *pairs, size_t count,
                                       uint64_t hz)
{
    struct trace_writer *writer;
    struct trace_reader *reader;
    const char *path = fixture_path();

    REQUIRE_INT(trace_writer_create(path, false, &writer, NULL), IFG_OK);
    trace_writer_clock(writer, 1, TRACE_CLOCK_DEVICE, hz, "device");
    trace_writer_clock_pairs(writer, 1, pairs, count);
    REQUIRE_INT(trace_writer_close(writer, NULL), IFG_OK);
    REQUIRE_INT(trace_reader_open(path, &reader, NULL), IFG_OK);
    unlink(path);
    return reader;
}

/* Whatever the pairs are: time never runs backwards. */
static void check_rises(const struct trace_reader *reader)
{
    uint64_t before = 0;

    for (unsigned bit = 0; bit < 64; bit++)
        for (uint64_t near = 0; near < 300; near += 7) {
            uint64_t ns = trace_clock_to_ns(
                reader, 1, (UINT64_C(1) << bit) + (UINT64_C(1) << bit) / 300 * near);

            CHECK(ns >= before);
            before = ns;
        }
}

static void one_wrong_reading_is_left_out(void)
{
    enum { PAIRS = 60, SECOND = 1000000000 };

    for (size_t wrong = 0; wrong < PAIRS; wrong++) {
        static const uint64_t readings[] = { 0, 12345, UINT64_MAX, UINT64_MAX / 2 };
        struct trace_clock_pair pairs[PAIRS];
        struct trace_clock_rate rate;
        struct trace_reader *reader;

        for (uint64_t i = 0; i < PAIRS; i++)
            pairs[i] = (struct trace_clock_pair){ (i + 1) * SECOND, (i + 101) * SECOND, 0 };
        if (wrong % 2)
            pairs[wrong].monotonic_ns = readings[wrong / 2 % 4];
        else
            pairs[wrong].ticks = readings[wrong / 2 % 4];
        reader = read_pairs(pairs, PAIRS, SECOND);
        rate = trace_clock_rate(reader, 1);
        CHECK_UINT(rate.pairs + rate.contradictions, PAIRS);
        for (uint64_t i = 3; i < PAIRS - 3; i++)
            CHECK_UINT(trace_clock_to_ns(reader, 1, (i + 1) * SECOND + SECOND / 4),
                       (i + 101) * SECOND + SECOND / 4);
        check_rises(reader);
        trace_reader_close(reader);
    }
}

/* Set back by a third of its way without anybody telling: one part is right, the other is off by as
 * much, and nothing runs backwards. */
static void a_clock_that_is_set_back_in_silence(void)
{
    struct trace_clock_pair pairs[90];
    struct trace_reader *reader;
    size_t right = 0;

    for (uint64_t i = 0; i < 90; i++)
        pairs[i] =
            (struct trace_clock_pair){ (i < 60 ? i : i - 29) * 1000 + 7, i * 1000 + 50000, 0 };
    reader = read_pairs(pairs, 90, 1000000000);
    CHECK_UINT(trace_clock_rate(reader, 1).pairs, 61);
    for (uint64_t i = 0; i < 90; i++)
        right += trace_clock_to_ns(reader, 1, pairs[i].ticks) == pairs[i].monotonic_ns;
    CHECK(right >= 60);
    check_rises(reader);
    trace_reader_close(reader);
}

/* A jump ahead between two pairs that enclose it: exact before and after. */
static void a_clock_that_jumps_ahead(void)
{
    const struct trace_clock_pair pairs[] = {
        { 1000, 1000, 0 }, { 2000, 2000, 0 }, { 9002000, 2001, 0 }, { 9003000, 3001, 0 }
    };
    struct trace_reader *reader = read_pairs(pairs, 4, 1000000000);

    CHECK_UINT(trace_clock_to_ns(reader, 1, 1500), 1500);
    CHECK_UINT(trace_clock_to_ns(reader, 1, 9002500), 2501);
    check_rises(reader);
    trace_reader_close(reader);
}

static void pairs_without_sense(void)
{
    static const struct trace_clock_pair equal[] = { { 5, 7, 0 }, { 5, 7, 0 }, { 5, 9, 0 } };
    static const struct trace_clock_pair falling[] = { { 100, 3000, 0 },
                                                       { 200, 2000, 0 },
                                                       { 300, 1000, 0 } };
    static const struct trace_clock_pair still[] = { { 100, 1000, 0 }, { 200, 1000, 0 } };
    static const struct trace_clock_pair huge[] = { { 0, 0, 0 },
                                                    { UINT64_MAX, UINT64_MAX, UINT64_MAX },
                                                    { UINT64_MAX - 1, 1, 0 } };
    static const struct {
        const struct trace_clock_pair *pairs;
        size_t count, kept, left_out;
    } cases[] = { { equal, 3, 1, 1 }, { falling, 3, 1, 2 }, { still, 2, 2, 0 }, { huge, 3, 3, 0 } };

    for (size_t i = 0; i < LENGTH(cases); i++) {
        struct trace_reader *reader = read_pairs(cases[i].pairs, cases[i].count, i % 2 * 1000);
        struct trace_clock_rate rate = trace_clock_rate(reader, 1);

        CHECK_UINT(rate.pairs, cases[i].kept);
        CHECK_UINT(rate.contradictions, cases[i].left_out);
        CHECK(rate.hz >= 0);
        check_rises(reader);
        trace_reader_close(reader);
    }
}

/* Pairs from chance, in any order: the same for a column as one by one, and never backwards. */
static void pairs_from_chance(void)
{
    uint64_t chance = 88172645463325252;

    for (int round = 0; round < 200; round++) {
        struct trace_clock_pair pairs[40];
        struct trace_reader *reader;

        for (size_t i = 0; i < LENGTH(pairs); i++) {
            uint64_t *fields = &pairs[i].ticks;

            for (size_t k = 0; k < 3; k++) {
                chance ^= chance << 13;
                chance ^= chance >> 7;
                chance ^= chance << 17;
                fields[k] = chance >> chance % 60;
            }
        }
        reader = read_pairs(pairs, 1 + (size_t)round % LENGTH(pairs), chance >> 40);
        check_rises(reader);
        for (size_t i = 0; i < LENGTH(pairs); i++) {
            uint64_t times[2] = { pairs[i].ticks, pairs[i].ticks / 2 };

            trace_clock_convert(reader, 1, times, 2);
            CHECK_UINT(times[0], trace_clock_to_ns(reader, 1, pairs[i].ticks));
            CHECK_UINT(times[1], trace_clock_to_ns(reader, 1, pairs[i].ticks / 2));
        }
        trace_reader_close(reader);
    }
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
         TAP_CASE(one_wrong_reading_is_left_out), TAP_CASE(a_clock_that_is_set_back_in_silence),
         TAP_CASE(a_clock_that_jumps_ahead), TAP_CASE(pairs_without_sense),
         TAP_CASE(pairs_from_chance), TAP_CASE(any_order), TAP_CASE(drift_is_corrected))
