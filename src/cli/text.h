// SPDX-License-Identifier: Apache-2.0
/*
 * Text in columns, for every command: how wide a text and a terminal are, paragraphs that wrap, and
 * lists that fill lines. A column is a character; texts are UTF-8 that cli_clean has passed.
 */
#ifndef IFG_CLI_TEXT_H
#define IFG_CLI_TEXT_H

#include <stdbool.h>
#include <stddef.h>

#include "base/bytes.h"

#define TEXT_COLUMNS 100 /* longer lines are hard to read, and what a pipe gets */

size_t text_columns(const char *text);
size_t text_columns_of(const char *text, size_t bytes);

/* The size of a terminal; false: fd is none, and nothing is changed. */
bool text_terminal_size(int fd, size_t *out_columns, size_t *out_rows);

/* The columns of lines for fd: those of its terminal, from 40 to TEXT_COLUMNS. */
size_t text_line_columns(int fd);

/* Where a paragraph stands. */
struct text_frame {
    size_t column;  /* of its first character: what is in that line already */
    size_t indent;  /* of the lines below */
    size_t columns; /* that a line has; 0: TEXT_COLUMNS */
};

/* Breaks between words, but not between a number and its unit. Does not end the last line; returns
 * the column it has come to. */
size_t text_wrap(struct ifg_bytes *out, struct text_frame frame, const char *text);

/* Cells of so many columns: text that is too long is cut at its end, or at its begin, with "…"
 * there; shorter text is padded behind it, before it, or not at all. Cleans the text. */
enum text_cell { TEXT_LEFT, TEXT_RIGHT, TEXT_LAST, TEXT_KEEP_END };

void text_put_cell(struct ifg_bytes *out, const char *text, size_t columns, enum text_cell how);

/* Items behind a label with " · " between them, as many in a line as fit. */
struct text_list {
    struct ifg_bytes *out;
    const char *label;
    size_t label_columns;
    size_t column;
    bool is_open;
};

void text_list_put(struct text_list *list, const char *item);
void text_list_end(struct text_list *list);

#endif
