// SPDX-License-Identifier: Apache-2.0
/* Paths and parameters: what is accepted, and that everything else is refused with a reason. */
#include "server/request.h"

#include <stdio.h>
#include <string.h>

#include "tap.h"

static struct request request;
static const char *why;

static enum request_result parse(const char *target)
{
    return request_parse(target, strlen(target), &request, &why);
}

static void paths(void)
{
    static const char *const unknown[] = {
        "",
        "/",
        "/api",
        "/api/",
        "/api/t/",
        "/api/t/0",
        "/api/t/0/",
        "/api/t/x/lod",
        "/api/t/-1/lod",
        "/api/../lod",
        "/api/t/0/a/b",
        "/api//lod",
        "/api/t/1234567890/lod",
        "/API/traces",
        "/api/tr%61ces",
        "/api/traces/",
        "/api/live/",
        "/api/live/state/",
        "/api/t/0/live/state",
        "/api/aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
        "api/traces",
    };

    /* an address of the server */
    CHECK(parse("/api/traces") == REQUEST_OK && strcmp(request.name, "traces") == 0 &&
          request.trace == REQUEST_NO_TRACE && request.parameter_count == 0);
    /* an address of a trace */
    CHECK(parse("/api/t/17/lod?track=t0") == REQUEST_OK && strcmp(request.name, "lod") == 0 &&
          request.trace == 17);
    /* of a recording that goes on */
    CHECK(parse("/api/live/state") == REQUEST_OK && strcmp(request.name, "live/state") == 0 &&
          request.trace == REQUEST_NO_TRACE);
    for (size_t i = 0; i < sizeof unknown / sizeof unknown[0]; i++) {
        tap_note("%s", unknown[i]);
        CHECK(parse(unknown[i]) == REQUEST_UNKNOWN && *why);
    }
}

static void parameters(void)
{
    static const char *const bad[] = {
        "a",     "a=1&",    "a=1&&b=2", "=1",      "a=%",    "a=%1",   "a=%zz", "a=%00",
        "a=%0a", "a=1&a=2", "a b=1",    "a%20b=1", "a=\x01", "a=\x7f", "&",     "a=%7f",

    };
    char target[1024] = "/api/traces?";

    /* escapes are undone */
    CHECK(parse("/api/traces?q=a%20b+c%26&limit=5&empty=") == REQUEST_OK);
    /* a value */
    CHECK(strcmp(request_find(&request, "q"), "a b c&") == 0);
    /* another */
    CHECK(strcmp(request_find(&request, "limit"), "5") == 0);
    /* an empty one */
    CHECK(strcmp(request_find(&request, "empty"), "") == 0);
    /* none */
    CHECK(!request_find(&request, "other"));
    /* no parameters */
    CHECK(parse("/api/traces?") == REQUEST_OK && request.parameter_count == 0);
    /* UTF-8 */
    CHECK(parse("/api/traces?q=%c3%a9") == REQUEST_OK &&
          strcmp(request_find(&request, "q"), "\xc3\xa9") == 0);
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        snprintf(target, sizeof target, "/api/traces?%s", bad[i]);
        tap_note("%s", target);
        CHECK(parse(target) == REQUEST_BAD && *why);
    }
    snprintf(target, sizeof target, "/api/traces?");
    for (unsigned i = 0; i <= REQUEST_PARAMETERS_MAX; i++)
        snprintf(target + strlen(target), sizeof target - strlen(target), "%sp%u=1", i ? "&" : "",
                 i);
    /* too many */
    CHECK(parse(target) == REQUEST_BAD);
}

static void lengths(void)
{
    static char target[REQUEST_TARGET_MAX + 2];

    memset(target, 'x', sizeof target);
    memcpy(target, "/api/traces?q=", 14);
    /* as long as may be */
    CHECK(request_parse(target, REQUEST_TARGET_MAX, &request, &why) == REQUEST_OK &&
          strlen(request_find(&request, "q")) == REQUEST_TARGET_MAX - 14);
    /* longer */
    CHECK(request_parse(target, REQUEST_TARGET_MAX + 1, &request, &why) == REQUEST_TOO_LONG &&
          *why);
    memcpy(target, "/api/traces?q=%41", 17);
    /* an escape that is cut */
    CHECK(request_parse(target, 16, &request, &why) == REQUEST_BAD);
    /* an escape at the end */
    CHECK(request_parse(target, 17, &request, &why) == REQUEST_OK &&
          strcmp(request_find(&request, "q"), "A") == 0);
}

static void numbers(void)
{
    static const char *const bad[] = { "",      "nan", "inf", "-inf",  "0x10", " 1", "1 ", "1e",
                                       "1e999", "--1", ".",   "1.2.3", "1,5",  "e5", "+1" };
    double number;
    uint64_t whole;
    uint32_t list[4];

    /* a number */
    CHECK(request_parse_double("-12.5e3", &number) && number == -12500);
    /* a + that was not escaped */
    CHECK(request_parse_double("1e 9", &number) && number == 1e9);
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        tap_note("%s", bad[i]);
        CHECK(!request_parse_double(bad[i], &number));
    }
    /* no number at all */
    CHECK(!request_parse_double(NULL, &number));
    /* the largest */
    CHECK(request_parse_u64("18446744073709551615", &whole) && whole == UINT64_MAX);
    /* larger */
    CHECK(!request_parse_u64("18446744073709551616", &whole));
    /* no count */
    CHECK(!request_parse_u64("-1", &whole) && !request_parse_u64("", &whole) &&
          !request_parse_u64("1x", &whole));
    /* a list */
    CHECK(request_parse_list("1,2,4294967295", list, 4) == 3 && list[2] == UINT32_MAX);
    /* a long list */
    CHECK(request_parse_list("1,2,3,4,5", list, 4) == SIZE_MAX);
    /* no list */
    CHECK(request_parse_list("1,,2", list, 4) == SIZE_MAX &&
          request_parse_list("1,", list, 4) == SIZE_MAX &&
          request_parse_list("4294967296", list, 4) == SIZE_MAX &&
          request_parse_list("", list, 4) == SIZE_MAX);
}

TAP_MAIN(TAP_CASE(paths), TAP_CASE(parameters), TAP_CASE(lengths), TAP_CASE(numbers))
