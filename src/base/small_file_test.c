// SPDX-License-Identifier: Apache-2.0
/* Numbers in the text of small files. */
#include "base/small_file.h"

#include <stdio.h>
#include <unistd.h>

#include "tap.h"

static void numbers(void)
{
    const char *end;
    uint64_t value = 7;

    CHECK(ifg_parse_number(" \t42 kB", &end, &value));
    CHECK_UINT(value, 42);
    CHECK_STR(end, " kB");
    CHECK(ifg_parse_number("18446744073709551615", NULL, &value));
    CHECK(!ifg_parse_number("18446744073709551616", NULL, &value));
    CHECK(!ifg_parse_number("-1", NULL, &value));
    CHECK(!ifg_parse_number("max", NULL, &value));
    CHECK(!ifg_parse_number("", NULL, &value));
}

static void lines(void)
{
    const char *text = "MemTotalX: 1\nMemTotal:   2048 kB\nlast=3\nbad: x\ncut";

    CHECK_UINT(ifg_find_number(text, "MemTotal"), 2048);
    CHECK_UINT(ifg_find_number(text, "last"), 3);
    CHECK(ifg_find_number(text, "bad") == IFG_NO_NUMBER);
    CHECK(ifg_find_number(text, "cut") == IFG_NO_NUMBER);
    CHECK(ifg_find_number(text, "none") == IFG_NO_NUMBER);
    CHECK(ifg_find_number("", "none") == IFG_NO_NUMBER);
}

static void files(void)
{
    char text[8];
    char path[64];

    snprintf(path, sizeof path, "/proc/%ld/stat", (long)getpid());
    CHECK(ifg_read_small(path, text, sizeof text));
    CHECK(text[7] == '\0' && text[6] != '\0');
    CHECK_UINT(ifg_read_number(path), (uint64_t)getpid());
    CHECK(!ifg_read_small("/nowhere/at/all", text, sizeof text));
    CHECK_STR(text, "");
    CHECK(ifg_read_number("/nowhere/at/all") == IFG_NO_NUMBER);
    CHECK(!ifg_read_small("/proc", text, sizeof text)); /* a folder */
}

TAP_MAIN(TAP_CASE(numbers), TAP_CASE(lines), TAP_CASE(files))
