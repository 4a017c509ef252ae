// SPDX-License-Identifier: Apache-2.0
/* Columns, paragraphs and lists. */
#include "cli/text.h"

#include <string.h>

#include "tap.h"

static const char *wrapped(struct ifg_bytes *out, struct text_frame frame, const char *text,
                           size_t *out_column)
{
    ifg_bytes_clear(out);
    *out_column = text_wrap(out, frame, text);
    ifg_bytes_put(out, "", 1);
    return (const char *)out->data;
}

static void characters_are_columns(void)
{
    CHECK_UINT(text_columns("abc"), 3);
    CHECK_UINT(text_columns("µs · ≈"), 6);
    CHECK_UINT(text_columns_of("µs", 2), 1);
    CHECK_UINT(text_columns(""), 0);
}

static void paragraphs_wrap(void)
{
    struct text_frame frame = { .column = 2, .indent = 4, .columns = 12 };
    struct ifg_bytes out;
    size_t column;

    ifg_bytes_init(&out, 1u << 16);
    CHECK_STR(wrapped(&out, frame, "one two three four", &column), "one two\n    three\n    four");
    CHECK_UINT(column, 8);
    CHECK_STR(wrapped(&out, frame, "", &column), "");
    CHECK_UINT(column, 2);
    CHECK_STR(wrapped(&out, frame, "  a   b  ", &column), "a b");
    CHECK_STR(wrapped(&out, frame, "longer-than-a-line x", &column), "longer-than-a-line\n    x");
    CHECK_STR(wrapped(&out, frame, "about 12 ms", &column), "about\n    12 ms");
    CHECK_STR(wrapped(&out, frame, "ααα ββββ γ", &column), "ααα ββββ γ");
    ifg_bytes_fini(&out);
}

static const char *cell(struct ifg_bytes *out, const char *text, size_t columns, enum text_cell how)
{
    ifg_bytes_clear(out);
    text_put_cell(out, text, columns, how);
    ifg_bytes_put(out, "", 1);
    return (const char *)out->data;
}

static void cells_are_cut_and_padded(void)
{
    struct ifg_bytes out;

    ifg_bytes_init(&out, 1u << 16);
    CHECK_STR(cell(&out, "ab", 4, TEXT_LEFT), "ab  ");
    CHECK_STR(cell(&out, "–", 4, TEXT_RIGHT), "   –");
    CHECK_STR(cell(&out, "ab", 4, TEXT_LAST), "ab");
    CHECK_STR(cell(&out, "abcd", 4, TEXT_LEFT), "abcd");
    CHECK_STR(cell(&out, "abcde", 4, TEXT_LEFT), "abc…");
    CHECK_STR(cell(&out, "αβγδε", 4, TEXT_LAST), "αβγ…");
    CHECK_STR(cell(&out, "αβγδε", 4, TEXT_KEEP_END), "…γδε");
    CHECK_STR(cell(&out, "ab", 4, TEXT_KEEP_END), "ab  ");
    CHECK_STR(cell(&out, "a\033b", 4, TEXT_LAST), "a?b");
    ifg_bytes_fini(&out);
}

static void lists_fill_lines(void)
{
    struct ifg_bytes out;
    struct text_list list = { .out = &out, .label = "Label", .label_columns = 10 };
    char item[61];

    memset(item, 'x', sizeof item - 1);
    item[sizeof item - 1] = '\0';
    ifg_bytes_init(&out, 1u << 16);
    text_list_end(&list);
    CHECK_UINT(out.size, 0);
    text_list_put(&list, "a");
    text_list_put(&list, "b");
    text_list_put(&list, item);
    text_list_put(&list, item);
    text_list_end(&list);
    ifg_bytes_put(&out, "", 1);
    CHECK_CONTAINS((const char *)out.data, "Label     a · b · xxx");
    CHECK_CONTAINS((const char *)out.data, "xxx\n          xxx");
    ifg_bytes_fini(&out);
}

static const char *folded(struct ifg_bytes *out, const char *text)
{
    ifg_bytes_clear(out);
    text_fold(text, 20, out);
    ifg_bytes_put(out, "", 1);
    return (const char *)out->data;
}

static void long_lines_fold(void)
{
    struct ifg_bytes out;

    ifg_bytes_init(&out, 1u << 16);
    CHECK_STR(folded(&out, "short\n"), "short\n");
    CHECK_STR(folded(&out, "one two three four five"), "one two three four\n  five");
    CHECK_STR(folded(&out, "  one two three four five\nx"), "  one two three four\n    five\nx");
    CHECK_STR(folded(&out, "a word for; and 12 ms"), "a word for; and\n  12 ms");
    CHECK_STR(folded(&out, "one two three4 · fourx5"), "one two three4\n  fourx5");
    CHECK_STR(folded(&out, "\033[1mone two three four\033[0m five"),
              "\033[1mone two three four\033[0m\n  five");
    CHECK_STR(folded(&out, "ααααααααααααααααααααβ"), "αααααααααααααααααααα\n  β");
    ifg_bytes_fini(&out);
}

static void tables_are_whole_in_a_pipe(void)
{
    static const struct text_column columns[] = {
        { "name", TEXT_LEFT, 4, 0 },  { "count", TEXT_RIGHT, 0, 1 }, { "empty", TEXT_RIGHT, 0, 0 },
        { "time", TEXT_RIGHT, 0, 2 }, { "more", TEXT_WRAP, 0, 0 },
    };
    struct text_table table;
    struct ifg_bytes out;

    ifg_bytes_init(&out, 1u << 16);
    text_table_begin(&table, columns, 5, 1);
    text_table_end(&table, &out);
    CHECK_UINT(out.size, 0);
    text_table_begin(&table, columns, 5, 1);
    text_table_put(&table, "a\033 long name");
    text_table_count(&table, 12345);
    text_table_put(&table, "%s", "");
    text_table_time(&table, 1500);
    text_table_put(&table, "%s", "words");
    text_table_next(&table);
    text_table_put(&table, "µ");
    text_table_next(&table);
    text_table_note(&table, 2, "a note");
    text_table_end(&table, &out);
    ifg_bytes_put(&out, "", 1);
    CHECK_STR((const char *)out.data, " name          count     time  more\n"
                                      " a? long name  12345  1.50 µs  words\n"
                                      " µ\n"
                                      "   a note\n");
    ifg_bytes_fini(&out);
}

TAP_MAIN(TAP_CASE(characters_are_columns), TAP_CASE(paragraphs_wrap),
         TAP_CASE(cells_are_cut_and_padded), TAP_CASE(lists_fill_lines), TAP_CASE(long_lines_fold),
         TAP_CASE(tables_are_whole_in_a_pipe))
