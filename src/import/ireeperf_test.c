// SPDX-License-Identifier: Apache-2.0
/* Lines, and ticks of devices on the host's clock; tests/e2e/import_iree.sh has whole profiles. */
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "import/ireeperf.h"
#include "import/ireeperf_clock.h"
#include "tap.h"

/* All lines of a text, with | behind each; ! after one that was cut, # for one too long. */
static void lines_are(const char *text, size_t bytes, size_t chunk, const char *expected)
{
    struct source *source;
    struct lines lines;
    struct line line;
    char found[256] = "";
    size_t used = 0;
    bool has_line = true;

    REQUIRE(source_open_memory(text, bytes, chunk, &source, NULL) == IFG_OK);
    lines_init(&lines, source);
    while (has_line && used < 200) {
        REQUIRE(lines_next(&lines, &line, &has_line, NULL) == IFG_OK);
        if (!has_line)
            break;
        used += (size_t)snprintf(found + used, sizeof found - used, "%.*s%s",
                                 (int)(line.bytes < 16 ? line.bytes : 16), line.text,
                                 line.is_too_long ? "#|"
                                 : line.is_cut    ? "!|"
                                                  : "|");
    }
    CHECK_STR(found, expected);
    CHECK_UINT(lines.bytes, bytes);
    lines_fini(&lines);
    source_close(source);
}

static void lines_end_with_a_break(void)
{
    static const char text[] = "one\n\nthree\nlast";

    for (size_t chunk = 0; chunk < 8; chunk++)
        lines_are(text, sizeof text - 1, chunk, "one||three|last!|");
    lines_are("one\n", 4, 0, "one|");
    lines_are("", 0, 0, "");
}

static void long_lines_are_skipped(void)
{
    size_t bytes = (size_t)LINE_MAX_BYTES + (1u << 20);
    char *text = ifg_alloc(bytes, 1);

    REQUIRE(text != NULL);
    memset(text, 'x', bytes);
    memcpy(text, "first\n", 6);
    memcpy(text + bytes - 5, "\nend\n", 5);
    lines_are(text, bytes, 0, "first|#|end|");
    ifg_free(text);
}

static void ticks_are_times(void)
{
    struct ireeperf_clocks clocks = { 0 };
    int64_t ns;

    CHECK(!ireeperf_clock_convert(&clocks, 0, 5, &ns));
    CHECK(ireeperf_clock_relate(&clocks, 0, 1000, 5000000000));
    CHECK(!ireeperf_clock_convert(&clocks, 0, 1000, &ns));
    CHECK(ireeperf_clock_relate(&clocks, 0, 101000, 5001000000));
    CHECK(ireeperf_clock_relate(&clocks, 0, 51000, 5000500123)); /* between: not on the line */
    CHECK(ireeperf_clock_convert(&clocks, 0, 1000, &ns));
    CHECK_INT(ns, 5000000000);
    CHECK(ireeperf_clock_convert(&clocks, 0, 2000, &ns));
    CHECK_INT(ns, 5000010000);
    CHECK(ireeperf_clock_convert(&clocks, 0, 0, &ns)); /* before the first */
    CHECK_INT(ns, 4999990000);
    CHECK(!ireeperf_clock_convert(&clocks, 1, 2000, &ns)); /* another device */
    CHECK(!ireeperf_clock_convert(&clocks, 0, UINT64_MAX, &ns));
    for (uint64_t device = 1; device < IREEPERF_DEVICES_MAX; device++)
        CHECK(ireeperf_clock_relate(&clocks, device, 1, 1));
    CHECK(!ireeperf_clock_relate(&clocks, IREEPERF_DEVICES_MAX, 1, 1));
}

static void formats_are_known_by_their_beginning(void)
{
    static const char good[] =
        "{\"schema_version\":15,\"record_type\":\"schema\",\"format\":\"ireeperf-jsonl\",";
    static const char chrome[] = "{\"schemaVersion\":1,\"note\":\"ireeperf-jsonl\",";

    CHECK(ireeperf_begins(good, sizeof good - 1));
    CHECK(!ireeperf_begins(good, 20));
    CHECK(!ireeperf_begins(chrome, sizeof chrome - 1));
    CHECK(!ireeperf_begins("", 0));
}

TAP_MAIN(TAP_CASE(lines_end_with_a_break), TAP_CASE(long_lines_are_skipped),
         TAP_CASE(ticks_are_times), TAP_CASE(formats_are_known_by_their_beginning))
