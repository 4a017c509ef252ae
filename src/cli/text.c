// SPDX-License-Identifier: Apache-2.0
/* Columns, wrapping, lists and the width of terminals: see text.h. */
#include "cli/text.h"

#include <stdint.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "cli/cli.h"

#define LEAST_COLUMNS 40
#define DOT           " ·"
#define LABEL_MOST    34 /* a wider one is no label */

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

size_t text_table_columns(void)
{
    size_t columns = SIZE_MAX;
    size_t rows;

    if (text_terminal_size(STDOUT_FILENO, &columns, &rows) && columns < LEAST_COLUMNS)
        columns = LEAST_COLUMNS;
    return columns;
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
    size_t limit = frame.columns ? frame.columns : text_line_columns(STDOUT_FILENO);
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
    char clean[4096];
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

    if (list->is_open && list->column + 3 + columns <= text_line_columns(STDOUT_FILENO)) {
        cli_print(list->out, " · ");
        list->column += 3;
    } else {
        cli_print(list->out, "%s%-*s", list->is_open ? "\n" : "", (int)list->label_columns,
                  list->is_open ? "" : list->label);
        list->column = list->label_columns;
    }
    list->is_open = true;
    list->column =
        text_wrap(list->out, (struct text_frame){ list->column, list->label_columns + 2, 0 }, item);
}

void text_list_end(struct text_list *list)
{
    if (list->is_open)
        cli_print(list->out, "\n");
    list->is_open = false;
}

/* ---- lines that are too long ---- */

/* How many bytes an escape sequence has here; 0: there is none. */
static size_t escape_bytes(const char *at, const char *end)
{
    const char *from = at;

    if (end - at < 2 || at[0] != '\033' || at[1] != '[')
        return 0;
    for (at += 2; at < end && (*at < '@' || *at > '~');)
        at++;
    return (size_t)(at - from) + (at < end);
}

/* Up to where the first so many columns go; *out_columns: how many there are, at most that. */
static const char *within(const char *at, const char *end, size_t columns, size_t *out_columns)
{
    *out_columns = 0;
    while (at < end) {
        size_t escape = escape_bytes(at, end);
        bool begins = !escape && ((unsigned char)*at & 0xc0) != 0x80;

        if (begins && *out_columns == columns)
            break;
        *out_columns += begins;
        at += escape ? escape : 1;
    }
    return at;
}

/* Where the text of a line stands: behind its label, or a little to the right of its begin. */
static size_t hanging_indent(const char *at, const char *end, size_t columns)
{
    size_t blanks = 0;
    size_t column = 0;
    size_t begin = SIZE_MAX;

    for (; at < end && column < LABEL_MOST; at++) {
        size_t escape = escape_bytes(at, end);

        if (escape) {
            at += escape - 1;
            continue;
        }
        if (((unsigned char)*at & 0xc0) == 0x80)
            continue;
        if (*at != ' ' && begin == SIZE_MAX)
            begin = column;
        else if (*at != ' ' && blanks > 1 && column + 30 <= columns)
            return column;
        blanks = *at == ' ' ? blanks + 1 : 0;
        column++;
    }
    return begin < columns / 2 ? begin + 2 : 2;
}

/* The last blank up to limit, and not further from it than so many bytes, where a line may break;
 * only behind one of these characters, if there are any. */
static const char *last_blank(const char *first, const char *limit, const char *behind,
                              size_t bytes)
{
    for (const char *at = limit; at > first && (size_t)(limit - at) < bytes; at--)
        if (*at == ' ' && !is_glued(at + 1) &&
            (!*behind || strchr(behind, at[-1]) || strncmp(at - 2, "·", 2) == 0))
            return at;
    return NULL;
}

static void fold_line(const char *at, const char *end, size_t columns, struct ifg_bytes *out)
{
    size_t indent = hanging_indent(at, end, columns);
    size_t room = columns;
    size_t used;
    size_t kept;
    const char *limit;

    while ((limit = within(at, end, room, &used)) < end) {
        const char *first = at + strspn(at, " ");
        const char *blank = last_blank(first, limit, ";,:", columns / 3);

        if (!blank)
            blank = last_blank(first, limit, "", SIZE_MAX);
        if (!blank)
            blank = limit; /* one long word */
        kept = (size_t)(blank - at);
        if (kept > strlen(DOT) && memcmp(blank - strlen(DOT), DOT, strlen(DOT)) == 0)
            kept -= strlen(DOT); /* the end of the line separates as well */
        ifg_bytes_put(out, at, kept);
        for (at = blank; at < end && *at == ' ';)
            at++;
        cli_print(out, "\n%*s", (int)indent, "");
        room = columns - indent;
    }
    ifg_bytes_put(out, at, (size_t)(end - at));
}

void text_fold(const char *text, size_t columns, struct ifg_bytes *out)
{
    while (*text) {
        size_t bytes = strcspn(text, "\n");

        fold_line(text, text + bytes, columns, out);
        text += bytes;
        if (*text) {
            ifg_bytes_put(out, "\n", 1);
            text++;
        }
    }
}

void text_fit(struct ifg_bytes *text)
{
    size_t columns = text_table_columns();
    struct ifg_bytes folded;

    if (columns == SIZE_MAX || !text->size)
        return;
    ifg_bytes_put(text, "", 1);
    if (text->failed)
        return;
    ifg_bytes_init(&folded, text->ceiling);
    text_fold((const char *)text->data, columns, &folded);
    ifg_bytes_fini(text);
    *text = folded;
}
