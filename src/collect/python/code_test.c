// SPDX-License-Identifier: Apache-2.0
/* Tables of lines as three interpreters made them of one function, texts; and nonsense. */
#include "collect/python/code.h"

#include <string.h>

#include "tap.h"

/* Line 2 defines it; 3, 4, 5 and 6 (one statement), 8. */
static const uint8_t of_3_8[] = { 0, 1, 8, 1, 12, 1, 4, 1, 2, 255, 8, 3 };
static const uint8_t of_3_10[] = { 8, 1, 12, 1, 4, 1, 2, 1, 8, 255, 4, 3 };
static const uint8_t of_3_12[] = { 128, 0,   216, 8,  9,   136, 65,  137, 5,  128, 65, 220,
                                   13,  18,  144, 49, 139, 88,  242, 0,   2,  5,   17, 136,
                                   1,   216, 8,   9,  136, 97,  216, 14,  15, 241, 3,  1,
                                   15,  16,  241, 0,  1,   9,   17,  137, 1,  240, 3,  2,
                                   5,   17,  240, 8,  0,   12,  13,  128, 72 };

struct expected {
    uint64_t offset;
    uint32_t line;
};

static void check(enum python_lines kind, const uint8_t *table, size_t size,
                  const struct expected *expected, size_t count)
{
    for (size_t i = 0; i < count; i++)
        CHECK_UINT(python_line(kind, table, size, 2, expected[i].offset), expected[i].line);
}

static void lines_are_those_of_the_interpreter(void)
{
    static const struct expected pairs[] = {
        { 0, 3 },  { 7, 3 },  { 8, 4 },  { 19, 4 }, { 20, 5 },
        { 24, 6 }, { 26, 5 }, { 33, 5 }, { 34, 8 }, { 37, 8 }
    };
    static const struct expected ranges[] = { { 0, 3 },  { 8, 4 },  { 20, 5 }, { 24, 6 },
                                              { 26, 5 }, { 34, 8 }, { 37, 8 }, { 38, 0 } };
    static const struct expected places[] = { { 0, 2 },  { 2, 3 },  { 10, 3 }, { 12, 4 },
                                              { 38, 4 }, { 40, 5 }, { 44, 6 }, { 46, 5 },
                                              { 58, 4 }, { 60, 8 }, { 62, 8 }, { 64, 0 } };

    check(PYTHON_LNOTAB, of_3_8, sizeof of_3_8, pairs, sizeof pairs / sizeof pairs[0]);
    check(PYTHON_RANGES, of_3_10, sizeof of_3_10, ranges, sizeof ranges / sizeof ranges[0]);
    check(PYTHON_PLACES, of_3_12, sizeof of_3_12, places, sizeof places / sizeof places[0]);
}

static void nonsense_has_no_line(void)
{
    static const uint8_t endless[] = { 0xf0, 0x7f, 0x7f, 0x7f, 0x7f, 0x7f, 0x7f, 0x7f, 0x7f };
    static const uint8_t not_begun[] = { 0x01, 0x02 };
    static const uint8_t none[] = { 0xf8 };
    static const uint8_t without[] = { 8, 128 };

    CHECK_UINT(python_line(PYTHON_PLACES, endless, sizeof endless, 2, 0), 0);
    CHECK_UINT(python_line(PYTHON_PLACES, not_begun, sizeof not_begun, 2, 0), 0);
    CHECK_UINT(python_line(PYTHON_PLACES, none, sizeof none, 2, 0), 0);
    CHECK_UINT(python_line(PYTHON_PLACES, none, 0, 2, 0), 0);
    CHECK_UINT(python_line(PYTHON_RANGES, without, sizeof without, 2, 0), 0);
    CHECK_UINT(python_line(PYTHON_LNOTAB, of_3_8, sizeof of_3_8, 0, 26), 3);
    CHECK_UINT(python_line(PYTHON_PLACES, of_3_12, sizeof of_3_12, 2, UINT64_MAX), 0);
}

static void fill_head(uint8_t *head, uint64_t length, uint32_t width, bool compact, bool ascii)
{
    uint32_t state = width << 2 | (uint32_t)compact << 5 | (uint32_t)ascii << 6;

    memset(head, 0, PYTHON_TEXT_HEAD);
    memcpy(head + 16, &length, sizeof length);
    memcpy(head + 32, &state, sizeof state);
}

static void texts_become_utf8(void)
{
    static const uint16_t wide[] = { 'a', 0xfc, 0x20ac, 0xd800 };
    static const uint32_t wider[] = { 0x1f600 };
    struct python_layout layout;
    uint8_t head[PYTHON_TEXT_HEAD];
    struct python_text text;
    char out[PYTHON_TEXT_MAX];

    REQUIRE(python_layout_known(12, &layout));
    fill_head(head, 3, 1, true, true);
    REQUIRE(python_text_head(&layout, head, layout.ascii_bytes, &text));
    CHECK_UINT(text.at, 40);
    REQUIRE(python_text_copy(&text, (const uint8_t *)"a\nb", 3, out, sizeof out));
    CHECK_STR(out, "a?b");
    fill_head(head, 4, 2, true, false);
    REQUIRE(python_text_head(&layout, head, layout.ascii_bytes, &text));
    CHECK_UINT(text.at, 56);
    REQUIRE(python_text_copy(&text, (const uint8_t *)wide, sizeof wide, out, sizeof out));
    CHECK_STR(out, "a\303\274\342\202\254?");
    fill_head(head, 1, 4, true, false);
    REQUIRE(python_text_head(&layout, head, layout.ascii_bytes, &text));
    REQUIRE(python_text_copy(&text, (const uint8_t *)wider, sizeof wider, out, sizeof out));
    CHECK_STR(out, "\360\237\230\200");
    CHECK(!python_text_copy(&text, (const uint8_t *)wider, 3, out, sizeof out));
    CHECK(!python_text_copy(&text, (const uint8_t *)wider, sizeof wider, out, 4));
}

static void other_texts_are_refused(void)
{
    struct python_layout layout;
    uint8_t head[PYTHON_TEXT_HEAD];
    struct python_text text;

    REQUIRE(python_layout_known(8, &layout));
    fill_head(head, 3, 1, false, true);
    CHECK(!python_text_head(&layout, head, sizeof head, &text));
    fill_head(head, 3, 3, true, false);
    CHECK(!python_text_head(&layout, head, sizeof head, &text));
    fill_head(head, PYTHON_TEXT_MAX, 1, true, true);
    CHECK(!python_text_head(&layout, head, sizeof head, &text));
    fill_head(head, 3, 2, true, true);
    CHECK(!python_text_head(&layout, head, sizeof head, &text));
    fill_head(head, 3, 1, true, true);
    CHECK(!python_text_head(&layout, head, 35, &text));
}

TAP_MAIN(TAP_CASE(lines_are_those_of_the_interpreter), TAP_CASE(nonsense_has_no_line),
         TAP_CASE(texts_become_utf8), TAP_CASE(other_texts_are_refused))
