// SPDX-License-Identifier: Apache-2.0
/* The JSON writer: what it writes must be valid whatever it is given. */
#include "base/json.h"

#include <math.h>
#include <string.h>

#include "tap.h"

static const char *written(struct ifg_bytes *bytes)
{
    ifg_bytes_put(bytes, "", 1);
    return (const char *)bytes->data;
}

static void nesting(void)
{
    struct ifg_bytes bytes;
    struct ifg_json json = { &bytes, false };

    ifg_bytes_init(&bytes, 4096);
    ifg_json_open(&json, '{');
    ifg_json_key(&json, "a");
    ifg_json_uint(&json, UINT64_MAX);
    ifg_json_put_open(&json, "b", '[');
    ifg_json_int(&json, -1);
    ifg_json_bool(&json, true);
    ifg_json_open(&json, '{');
    ifg_json_close(&json, '}');
    ifg_json_close(&json, ']');
    ifg_json_key(&json, "c");
    ifg_json_double(&json, 0.5);
    ifg_json_close(&json, '}');
    CHECK_STR(written(&bytes), "{\"a\":18446744073709551615,\"b\":[-1,true,{}],\"c\":0.5}");
    ifg_bytes_fini(&bytes);
}

static void escapes(void)
{
    static const struct {
        const char *in;
        size_t length;
        const char *out;
    } cases[] = {
        { "a\"b\\c", 5, "\"a\\\"b\\\\c\"" },
        { "\n\x1f\x7f", 3, "\"\\u000a\\u001f\\u007f\"" },
        { "a\0b", 3, "\"a\\u0000b\"" },
        { "\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80", 9, "\"\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80\"" },
        { "\xff", 1, "\"\xef\xbf\xbd\"" },
        { "\xc3", 1, "\"\xef\xbf\xbd\"" },
        { "\xed\xa0\x80", 3, "\"\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\"" },
        { "\xc0\xaf", 2, "\"\xef\xbf\xbd\xef\xbf\xbd\"" },
        { "\xf4\x90\x80\x80", 4, "\"\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\"" },
    };

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct ifg_bytes bytes;
        struct ifg_json json = { &bytes, false };

        ifg_bytes_init(&bytes, 4096);
        ifg_json_string_n(&json, cases[i].in, cases[i].length);
        CHECK_STR(written(&bytes), cases[i].out);
        ifg_bytes_fini(&bytes);
    }
}

static void numbers_without_a_json_form(void)
{
    struct ifg_bytes bytes;
    struct ifg_json json = { &bytes, false };

    ifg_bytes_init(&bytes, 4096);
    ifg_json_open(&json, '[');
    ifg_json_double(&json, NAN);
    ifg_json_double(&json, INFINITY);
    ifg_json_close(&json, ']');
    CHECK_STR(written(&bytes), "[null,null]");
    ifg_bytes_fini(&bytes);
}

TAP_MAIN(TAP_CASE(nesting), TAP_CASE(escapes), TAP_CASE(numbers_without_a_json_form))
