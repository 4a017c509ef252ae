// SPDX-License-Identifier: Apache-2.0
/* Numbers for people, foreign text for a terminal, durations from the command line. */
#include "cli/cli.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "tap.h"

static void counts_can_be_cut_out(void)
{
    char text[32];

    CHECK_STR(cli_count(0, text), "0");
    CHECK_STR(cli_count(999, text), "999");
    CHECK_STR(cli_count(1000, text), "1000");
    CHECK_STR(cli_count(12345678, text), "12345678");
    CHECK_STR(cli_count(UINT64_MAX, text), "18446744073709551615");
}

static void sizes_and_durations_have_three_digits(void)
{
    char text[32];

    CHECK_STR(cli_duration(0, text), "0 ns");
    CHECK_STR(cli_duration(999, text), "999 ns");
    CHECK_STR(cli_duration(1234, text), "1.23 µs");
    CHECK_STR(cli_duration(12345678, text), "12.3 ms");
    CHECK_STR(cli_duration(999999, text), "1.00 ms");
    CHECK_STR(cli_duration(5e9, text), "5.00 s");
    CHECK_STR(cli_size(0, text), "0 B");
    CHECK_STR(cli_size(922, text), "922 B");
    CHECK_STR(cli_size(4250, text), "4.25 kB");
    CHECK_STR(cli_size(70524552, text), "70.5 MB");
    CHECK(strlen(cli_size(UINT64_MAX, text)) < 32);
    CHECK(strlen(cli_duration(1e300, text)) < 32);
}

static const char *clean(const char *text)
{
    static char out[64];

    return cli_clean(text, out, sizeof out);
}

static void foreign_text_is_harmless(void)
{
    CHECK_STR(clean("plain text"), "plain text");
    CHECK_STR(clean("caf\xc3\xa9 \xe2\x86\x92 \xf0\x9f\x98\x80"),
              "caf\xc3\xa9 \xe2\x86\x92 \xf0\x9f\x98\x80");
    CHECK_STR(clean("\033[31mred\007\r\n\t\x7f"), "?[31mred?????");
    CHECK_STR(clean("\x9b"
                    "31m"),
              "?31m");
    CHECK_STR(clean("\xc2\x9b"
                    "31m"),
              "??31m"); /* the same in UTF-8 */
    CHECK_STR(clean("\xc2\xa0x"), "\xc2\xa0x");
    CHECK_STR(clean("\xff\xfe\xc0\x80"), "????");
    CHECK_STR(clean("cut \xe2\x86"), "cut ??");
    CHECK_STR(clean(""), "");
}

static void foreign_text_is_cut_between_characters(void)
{
    char out[8];

    CHECK_STR(cli_clean("12345678", out, sizeof out), "1234567");
    CHECK_STR(cli_clean("12345\xe2\x86\x92", out, sizeof out), "12345");
    CHECK_STR(cli_clean("1234\xe2\x86\x92", out, sizeof out), "1234\xe2\x86\x92");
    CHECK_STR(cli_clean("x", out, 1), "");
}

static void seconds_are_read(void)
{
    uint64_t ns;
    double seconds = -1;

    CHECK(cli_parse_seconds("2", &seconds) && seconds == 2);
    CHECK(cli_parse_seconds("1.5s", &seconds) && seconds == 1.5);
    CHECK(cli_parse_seconds("500ms", &seconds) && seconds == 0.5);
    CHECK(cli_parse_seconds("15us", &seconds) && fabs(seconds / 15e-6 - 1) < 1e-12);
    CHECK(cli_parse_seconds("15µs", &seconds) && fabs(seconds / 15e-6 - 1) < 1e-12);
    CHECK(cli_parse_seconds("7ns", &seconds) && fabs(seconds / 7e-9 - 1) < 1e-12);
    CHECK(cli_parse_ns("15us", &ns) && ns == 15000);
    CHECK(cli_parse_ns("0.3ms", &ns) && ns == 300000); /* not 299999 */
    CHECK(cli_parse_ns("3ms", &ns) && ns == 3000000);
    CHECK(cli_parse_ns("1.5", &ns) && ns == 1500000000);
    CHECK(!cli_parse_ns("us", &ns));
    CHECK(cli_parse_seconds("3m", &seconds) && seconds == 180);
    CHECK(cli_parse_seconds("1h", &seconds) && seconds == 3600);
    CHECK(!cli_parse_seconds("", &seconds));
    CHECK(!cli_parse_seconds("s", &seconds));
    CHECK(!cli_parse_seconds("-1", &seconds));
    CHECK(!cli_parse_seconds("nan", &seconds));
    CHECK(!cli_parse_seconds("inf", &seconds));
    CHECK(!cli_parse_seconds("5x", &seconds));
    CHECK(!cli_parse_seconds("1e99", &seconds));
}

static void statuses_become_exit_statuses(void)
{
    CHECK_INT(cli_exit_for(IFG_OK), CLI_YES);
    CHECK_INT(cli_exit_for(IFG_NOT_FOUND), CLI_NO);
    CHECK_INT(cli_exit_for(IFG_BUSY), CLI_NO);
    CHECK_INT(cli_exit_for(IFG_PERMISSION), CLI_LACKS);
    CHECK_INT(cli_exit_for(IFG_CORRUPT), CLI_USAGE);
    CHECK_INT(cli_exit_for(IFG_UNSUPPORTED), CLI_USAGE);
}

TAP_MAIN(TAP_CASE(counts_can_be_cut_out), TAP_CASE(sizes_and_durations_have_three_digits),
         TAP_CASE(foreign_text_is_harmless), TAP_CASE(foreign_text_is_cut_between_characters),
         TAP_CASE(seconds_are_read), TAP_CASE(statuses_become_exit_statuses))
