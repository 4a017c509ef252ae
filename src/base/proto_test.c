// SPDX-License-Identifier: Apache-2.0
/* Fields of protobuf messages: bytes as the definition has them, and strings that are UTF-8. */
#include "base/proto.h"

#include "tap.h"

static void fields(void)
{
    static const uint8_t wanted[] = { 0x08, 0x96, 0x01, 0x11, 1,    0, 0,   0,
                                      0,    0,    0,    0,    0x1a, 2, 'a', 'b' };
    struct ifg_bytes out;

    ifg_bytes_init(&out, 1024);
    proto_uint(&out, 1, 150);
    proto_fixed64(&out, 2, 1);
    proto_string(&out, 3, "ab");
    CHECK_UINT(out.size, sizeof wanted);
    CHECK(memcmp(out.data, wanted, sizeof wanted) == 0);
    ifg_bytes_fini(&out);
}

static void text(void)
{
    static const struct {
        const char *from, *wanted;
    } rows[] = {
        { "", "" },
        { "plain", "plain" },
        { "\xe6\xa8\xa1\xe5\x9e\x8b \xc3\xa9 \xf0\x9f\x98\x80",
          "\xe6\xa8\xa1\xe5\x9e\x8b \xc3\xa9 \xf0\x9f\x98\x80" },
        { "a\xff"
          "b",
          "a\xef\xbf\xbd"
          "b" },
        { "\xc3", "\xef\xbf\xbd" }, /* cut */
        { "\xc3(", "\xef\xbf\xbd(" },
        { "\xc0\x80", "\xef\xbf\xbd\xef\xbf\xbd" },                 /* longer than needed */
        { "\xed\xa0\x80", "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd" }, /* half of a pair */
        { "\xf4\x90\x80\x80", "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd" },
        { "\xe2\x82", "\xef\xbf\xbd\xef\xbf\xbd" },
    };

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct ifg_bytes out;

        ifg_bytes_init(&out, 1024);
        proto_text(&out, 1, rows[i].from);
        REQUIRE(out.size >= 2);
        CHECK_UINT(out.data[1], strlen(rows[i].wanted));
        CHECK(memcmp(out.data + 2, rows[i].wanted, strlen(rows[i].wanted)) == 0);
        ifg_bytes_fini(&out);
    }
}

TAP_MAIN(TAP_CASE(fields), TAP_CASE(text))
