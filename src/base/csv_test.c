// SPDX-License-Identifier: Apache-2.0
/* Fields of CSV: which are quoted, and how. */
#include "base/csv.h"

#include "tap.h"

static void quoted_where_it_must_be(void)
{
    static const struct {
        const char *text;
        const char *separator;
        const char *field;
    } cases[] = {
        { "", ",", "" },
        { "conv", ",", "conv" },
        { "a b", ",", "a b" },
        { "a,b", ",", "\"a,b\"" },
        { "a,b", ";", "a,b" },
        { "a;b", ";", "\"a;b\"" },
        { "a::b", "::", "\"a::b\"" },
        { "a:b", "::", "a:b" },
        { "a,b", "", "a,b" },
        { "\"", ",", "\"\"\"\"" },
        { "say \"hi\", \"you\"", ",", "\"say \"\"hi\"\", \"\"you\"\"\"" },
        { "two\nlines", ",", "\"two\nlines\"" },
        { "old\rmac", ",", "\"old\rmac\"" },
        { " front", ",", "\" front\"" },
        { "back ", ",", "\"back \"" },
        { "\xc3\xa4", ",", "\xc3\xa4" },
    };

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct ifg_bytes out;

        ifg_bytes_init(&out, 1 << 10);
        ifg_csv_put(&out, cases[i].text, cases[i].separator);
        ifg_bytes_put(&out, "", 1);
        REQUIRE(!out.failed);
        CHECK_STR((const char *)out.data, cases[i].field);
        ifg_bytes_fini(&out);
    }
}

TAP_MAIN(TAP_CASE(quoted_where_it_must_be))
