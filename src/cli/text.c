// SPDX-License-Identifier: Apache-2.0
/* Columns, wrapping, lists and the width of terminals: see text.h. */
#include "cli/text.h"

#include <string.h>
#include <sys/ioctl.h>

#include "cli/cli.h"

#define LEAST_COLUMNS 40

size_t text_columns_of(const char *text, size_t bytes)
{
    size_t columns = 0;

    for (size_t i = 0; i < bytes; i++)
        columns += ((unsigned char)text[i] & 0xc0) != 0x80; /* not the rest of a character */
    return columns;
}

size_t text_columns(const char *text)
{
    return text_columns_of(text, strlen(text));
}

bool text_terminal_size(int fd, size_t *out_columns, size_t *out_rows)
{
    struct winsize size;

    if (ioctl(fd, TIOCGWINSZ, &size) != 0 || !size.ws_col || !size.ws_row)
        return false;
    *out_columns = size.ws_col;
    *out_rows = size.ws_row;
    return true;
}

size_t text_line_columns(int fd)
{
    size_t columns = TEXT_COLUMNS;
    size_t rows;

    text_terminal_size(fd, &columns, &rows);
    return columns < LEAST_COLUMNS  ? LEAST_COLUMNS
           : columns < TEXT_COLUMNS ? columns
                                    : TEXT_COLUMNS;
}

/* Whether the word that begins here belongs to the number or name before it. */
static bool is_glued(const char *word)
{
    static const char *const units[] = { "ns", "us", "µs", "ms", "s", "kB", "MB", "GB", "dropped" };
    size_t bytes = strcspn(word, " ,;:.)");

    if (*word == '%' || strncmp(word, "· ", strlen("· ")) == 0)
        return true;
    for (size_t i = 0; i < sizeof units / sizeof units[0]; i++)
        if (strlen(units[i]) == bytes && strncmp(word, units[i], bytes) == 0)
            return true;
    return false;
}

/* How many bytes from here on stay on one line. */
static size_t piece(const char *at)
{
    size_t bytes = strcspn(at, " ");

    while (at[bytes] == ' ' && is_glued(at + bytes + 1))
        bytes += 1 + strcspn(at + bytes + 1, " ");
    return bytes;
}

size_t text_wrap(struct ifg_bytes *out, struct text_frame frame, const char *text)
{
    size_t limit = frame.columns ? frame.columns : TEXT_COLUMNS;
    size_t column = frame.column;
    bool begun = false;

    for (text += strspn(text, " "); *text; text += strspn(text, " ")) {
        size_t bytes = piece(text);
        size_t columns = text_columns_of(text, bytes);

        if (begun && column + 1 + columns > limit) {
            cli_print(out, "\n%*s", (int)frame.indent, "");
            column = frame.indent;
        } else if (begun) {
            cli_print(out, " ");
            column++;
        }
        ifg_bytes_put(out, text, bytes);
        column += columns;
        begun = true;
        text += bytes;
    }
    return column;
}

/* How many bytes the first so many columns take. */
static size_t bytes_of(const char *text, size_t columns)
{
    size_t bytes = 0;

    while (text[bytes] && (columns || ((unsigned char)text[bytes] & 0xc0) == 0x80))
        columns -= ((unsigned char)text[bytes++] & 0xc0) != 0x80;
    return bytes;
}

void text_put_cell(struct ifg_bytes *out, const char *text, size_t columns, enum text_cell how)
{
    char clean[1024];
    size_t used = text_columns(cli_clean(text, clean, sizeof clean));
    int pad = used < columns ? (int)(columns - used) : 0;

    if (used > columns && how == TEXT_KEEP_END)
        cli_print(out, "…%s", clean + bytes_of(clean, used - columns + 1));
    else if (used > columns)
        cli_print(out, "%.*s…", (int)bytes_of(clean, columns - 1), clean);
    else if (how == TEXT_RIGHT)
        cli_print(out, "%*s%s", pad, "", clean);
    else
        cli_print(out, "%s%*s", clean, how == TEXT_LAST ? 0 : pad, "");
}

void text_list_put(struct text_list *list, const char *item)
{
    size_t columns = text_columns(item);

    if (list->is_open && list->column + 3 + columns <= TEXT_COLUMNS) {
        cli_print(list->out, " · ");
        list->column += 3;
    } else {
        cli_print(list->out, "%s%-*s", list->is_open ? "\n" : "", (int)list->label_columns,
                  list->is_open ? "" : list->label);
        list->column = list->label_columns;
    }
    list->is_open = true;
    cli_print(list->out, "%s", item);
    list->column += columns;
}

void text_list_end(struct text_list *list)
{
    if (list->is_open)
        cli_print(list->out, "\n");
    list->is_open = false;
}
