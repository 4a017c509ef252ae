// SPDX-License-Identifier: Apache-2.0
/* See code.h; the formats are those that CPython describes in its lnotab_notes.txt, PEP 626 and
 * code_objects.md. */
#include "collect/python/code.h"

#include <string.h>

#define LENGTH_AT 16u
#define STATE_AT  32u

bool python_text_head(const struct python_layout *layout, const uint8_t *head, size_t size,
                      struct python_text *out_text)
{
    uint32_t state, width;
    bool compact, ascii;

    if (size < STATE_AT + sizeof state)
        return false;
    memcpy(&out_text->length, head + LENGTH_AT, sizeof out_text->length);
    memcpy(&state, head + STATE_AT, sizeof state);
    width = state >> 2 & 7;
    compact = state >> 5 & 1;
    ascii = state >> 6 & 1;
    if (!compact || (width != 1 && width != 2 && width != 4) || (ascii && width != 1) ||
        out_text->length >= PYTHON_TEXT_MAX)
        return false;
    out_text->width = width;
    out_text->at = ascii ? layout->ascii_bytes : layout->unicode_bytes;
    return true;
}

static size_t put_character(char *out, uint32_t c)
{
    if (c < 0x80) {
        out[0] = (char)(c < 0x20 || c == 0x7f ? '?' : c);
        return 1;
    }
    if (c < 0x800) {
        out[0] = (char)(0xc0 | c >> 6);
        out[1] = (char)(0x80 | (c & 0x3f));
        return 2;
    }
    if (c < 0x10000) {
        out[0] = (char)(0xe0 | c >> 12);
        out[1] = (char)(0x80 | (c >> 6 & 0x3f));
        out[2] = (char)(0x80 | (c & 0x3f));
        return 3;
    }
    out[0] = (char)(0xf0 | c >> 18);
    out[1] = (char)(0x80 | (c >> 12 & 0x3f));
    out[2] = (char)(0x80 | (c >> 6 & 0x3f));
    out[3] = (char)(0x80 | (c & 0x3f));
    return 4;
}

bool python_text_copy(const struct python_text *text, const uint8_t *characters, size_t size,
                      char *out, size_t out_size)
{
    size_t at = 0;

    if (text->length >= PYTHON_TEXT_MAX || text->length * text->width > size)
        return false;
    for (size_t i = 0; i < text->length; i++) {
        uint32_t c = 0;

        memcpy(&c, characters + i * text->width, text->width); /* little-endian, as all we run on */
        if (out_size - at < 5 || c > 0x10ffff)
            return false;
        at += put_character(out + at, c >= 0xd800 && c < 0xe000 ? '?' : c);
    }
    if (at >= out_size)
        return false;
    out[at] = '\0';
    return true;
}

/* ---- lines ---- */

static uint32_t line_or_none(int64_t line)
{
    return line > 0 && line <= INT32_MAX ? (uint32_t)line : 0;
}

static uint32_t find_pairs(const uint8_t *table, size_t size, int64_t line, uint64_t offset)
{
    uint64_t address = 0;

    for (size_t i = 0; i + 1 < size; i += 2) {
        address += table[i];
        if (address > offset)
            break;
        line += (int8_t)table[i + 1];
    }
    return line_or_none(line);
}

static uint32_t find_range(const uint8_t *table, size_t size, int64_t line, uint64_t offset)
{
    uint64_t end = 0;

    for (size_t i = 0; i + 1 < size; i += 2) {
        int8_t more = (int8_t)table[i + 1];

        end += table[i];
        if (more != INT8_MIN)
            line += more;
        if (offset < end)
            return more == INT8_MIN ? 0 : line_or_none(line);
    }
    return 0;
}

/* Six bits in each byte, the lowest first. False: it does not end. */
static bool take_varint(const uint8_t *table, size_t size, size_t *at, uint64_t *out)
{
    *out = 0;
    for (unsigned shift = 0; *at < size && shift < 36; shift += 6) {
        uint8_t byte = table[(*at)++];

        *out |= (uint64_t)(byte & 0x3f) << shift;
        if (!(byte & 0x40))
            return true;
    }
    return false;
}

enum { PLACE_ONE_LINE = 10, PLACE_NO_COLUMN = 13, PLACE_LONG = 14, PLACE_NONE = 15 };

static uint32_t find_place(const uint8_t *table, size_t size, int64_t line, uint64_t offset)
{
    uint64_t end = 0;

    for (size_t at = 0; at < size;) {
        unsigned first = table[at++];
        unsigned kind = first >> 3 & 15;
        uint64_t number = 0;

        if (!(first & 0x80))
            return 0;
        end += ((first & 7) + 1) * 2ull;
        if (kind == PLACE_LONG || kind == PLACE_NO_COLUMN) {
            if (!take_varint(table, size, &at, &number))
                return 0;
            line += number & 1 ? -(int64_t)(number >> 1) : (int64_t)(number >> 1);
        } else if (kind >= PLACE_ONE_LINE && kind < PLACE_NO_COLUMN) {
            line += kind - PLACE_ONE_LINE;
        }
        if (offset < end)
            return kind == PLACE_NONE ? 0 : line_or_none(line);
        while (at < size && !(table[at] & 0x80)) /* columns */
            at++;
    }
    return 0;
}

uint32_t python_line(enum python_lines kind, const uint8_t *table, size_t size, uint32_t first_line,
                     uint64_t offset)
{
    switch (kind) {
    case PYTHON_LNOTAB:
        return find_pairs(table, size, first_line, offset);
    case PYTHON_RANGES:
        return find_range(table, size, first_line, offset);
    default:
        return find_place(table, size, first_line, offset);
    }
}
