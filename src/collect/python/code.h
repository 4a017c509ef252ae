// SPDX-License-Identifier: Apache-2.0
/*
 * Texts and tables of lines as CPython keeps them in memory. The bytes are the program's, and
 * hostile: every length is checked.
 */
#ifndef IFG_COLLECT_PYTHON_CODE_H
#define IFG_COLLECT_PYTHON_CODE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "collect/python/layout.h"

#define PYTHON_TEXT_MAX  1024u /* bytes of a name or path, in UTF-8 with its NUL */
#define PYTHON_TEXT_HEAD 72u   /* of the longest header of a text */

/* How the characters behind a text's header are stored. */
struct python_text {
    uint64_t length; /* characters */
    uint32_t width;  /* bytes of one */
    uint32_t at;     /* from the begin of the header */
};

/* False: not a text of this layout, or longer than what is read. */
bool python_text_head(const struct python_layout *layout, const uint8_t *head, size_t size,
                      struct python_text *out_text);

/* Characters into UTF-8, with a NUL; those that no terminal should see become '?'. False: they do
 * not fit, or one of them is none. */
bool python_text_copy(const struct python_text *text, const uint8_t *characters, size_t size,
                      char *out, size_t out_size);

/* The line of the instruction at this byte of the code; 0: it has none, or the table is over. */
uint32_t python_line(enum python_lines kind, const uint8_t *table, size_t size, uint32_t first_line,
                     uint64_t offset);

#endif
