// SPDX-License-Identifier: Apache-2.0
/*
 * Text in columns, for every command: how wide a text and a terminal are, paragraphs that wrap,
 * lists that fill lines, and tables. A column is a character; texts are UTF-8 that cli_clean has
 * passed.
 *
 * On a terminal every line fits. In a pipe nothing is cut or left out, because a script reads it.
 */
#ifndef IFG_CLI_TEXT_H
#define IFG_CLI_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/bytes.h"

#define TEXT_COLUMNS 100 /* longer lines are hard to read, and what a pipe gets */

size_t text_columns(const char *text);
size_t text_columns_of(const char *text, size_t bytes);

/* The size of a terminal; false: fd is none, and nothing is changed. */
bool text_terminal_size(int fd, size_t *out_columns, size_t *out_rows);

/* The columns of lines for fd: those of its terminal, from 40 to TEXT_COLUMNS. */
size_t text_line_columns(int fd);

/* The columns that a table on stdout may have: all of its terminal's; SIZE_MAX: it is none. */
size_t text_table_columns(void);

/* Breaks the lines of a text that are longer than the terminal on stdout is wide: what paragraphs
 * and tables have not laid out. The rest of a line stands below its text, behind its label. */
void text_fit(struct ifg_bytes *text);

/* The same for so many columns. */
void text_fold(const char *text, size_t columns, struct ifg_bytes *out);

/* Where a paragraph stands. */
struct text_frame {
    size_t column;  /* of its first character: what is in that line already */
    size_t indent;  /* of the lines below */
    size_t columns; /* that a line has; 0: as many as fit into one of stdout */
};

/* Breaks between words, but not between a number and its unit. Does not end the last line; returns
 * the column it has come to. */
size_t text_wrap(struct ifg_bytes *out, struct text_frame frame, const char *text);

/* Cells of so many columns: text that is too long is cut at its end, or at its begin, with "…"
 * there; shorter text is padded behind it, before it, or not at all. Cleans the text. TEXT_WRAP is
 * for the last column of a table: it goes on in lines of its own. */
enum text_cell { TEXT_LEFT, TEXT_RIGHT, TEXT_LAST, TEXT_KEEP_END, TEXT_WRAP };

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

/*
 * A table: columns are as wide as their cells, and those without any are left out. Where a terminal
 * is too narrow, first the columns with a `least` become narrower, down to that; then those of the
 * highest `rank` are left out, and a line below names them.
 */
struct text_column {
    const char *title;
    enum text_cell how;
    unsigned char least; /* columns; 0: its cells are never cut */
    unsigned char rank;  /* 0: always there */
};

#define TEXT_TABLE_COLUMNS 16u

struct text_table {
    const struct text_column *columns;
    size_t count;
    size_t indent;
    size_t steady; /* columns of numbers are at least so wide: tables below each other agree */
    bool again;    /* of several: the first has named what is left out */
    struct ifg_bytes cells; /* texts with a NUL behind each */
    size_t at;              /* the column that is next */
};

void text_table_begin(struct text_table *table, const struct text_column *columns, size_t count,
                      size_t indent);

/* The next cell of the row; cleaned. */
void text_table_put(struct text_table *table, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* The same for numbers, as cli_count, cli_duration and cli_size have them, or "12.3 %"; "–" stands
 * for NAN. */
void text_table_count(struct text_table *table, uint64_t count);
void text_table_time(struct text_table *table, double ns);
void text_table_size(struct text_table *table, double bytes);
void text_table_share(struct text_table *table, double share);

/* Ends the row; cells that were not put are empty. */
void text_table_next(struct text_table *table);

/* A line of its own between rows, wrapped, so far from the table's left edge. */
void text_table_note(struct text_table *table, size_t indent, const char *text);

/* Writes the table, if it has a row, and frees it. */
void text_table_end(struct text_table *table, struct ifg_bytes *out);

#endif
