// SPDX-License-Identifier: Apache-2.0
/*
 * Code objects of a program that lies about them. Strategies:
 *
 * 1. The input is a table of lines of each kind, asked for places in it and behind it.
 * 2. The input is a text with its header, of the layouts that differ in it.
 *
 * A line fits into 31 bits, and a text ends inside of where it was put.
 */
#include "collect/python/code.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void try_lines(const uint8_t *table, size_t size)
{
    static const uint64_t offsets[] = { 0, 1, 2, 40, 300, 100000, UINT64_MAX };
    static const uint32_t lines[] = { 0, 1, INT32_MAX };

    for (int kind = PYTHON_LNOTAB; kind <= PYTHON_PLACES; kind++)
        for (size_t i = 0; i < sizeof offsets / sizeof offsets[0]; i++)
            for (size_t j = 0; j < sizeof lines / sizeof lines[0]; j++)
                if (python_line((enum python_lines)kind, table, size, lines[j], offsets[i]) >
                    INT32_MAX)
                    abort();
}

static void try_text(unsigned minor, const uint8_t *data, size_t size)
{
    char out[PYTHON_TEXT_MAX];
    struct python_layout layout;
    struct python_text text;

    if (!python_layout_known(minor, &layout) || !python_text_head(&layout, data, size, &text))
        return;
    if (text.at > PYTHON_TEXT_HEAD || text.length >= PYTHON_TEXT_MAX)
        abort();
    if (text.at <= size &&
        python_text_copy(&text, data + text.at, size - text.at, out, sizeof out) &&
        strnlen(out, sizeof out) == sizeof out)
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    try_lines(data, size);
    try_text(8, data, size);
    try_text(12, data, size);
    return 0;
}
