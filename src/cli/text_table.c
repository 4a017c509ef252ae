// SPDX-License-Identifier: Apache-2.0
/* Tables that fit their terminal, and are whole in a pipe: see text.h. */
#include <math.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "base/convert.h"
#include "cli/cli.h"
#include "cli/text.h"

#define CELLS_MAX   (256u << 20)
#define CELL_BYTES  4096u
#define GAP         2u
#define PADDED_MOST 60u    /* in a pipe: a long name does not move the columns of the others away */
#define WRAP_LEAST  24u    /* narrower, a last column stands below its row */
#define NOTE        '\001' /* begins a note among the cells; the next byte is 1 + its indent */

void text_table_begin(struct text_table *table, const struct text_column *columns, size_t count,
                      size_t indent)
{
    *table = (struct text_table){ .columns = columns, .count = count, .indent = indent };
    ifg_bytes_init(&table->cells, CELLS_MAX);
}

void text_table_put(struct text_table *table, const char *format, ...)
{
    char text[CELL_BYTES];
    char clean[CELL_BYTES];
    va_list args;

    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    cli_clean(text, clean, sizeof clean);
    ifg_bytes_put(&table->cells, clean, strlen(clean) + 1);
    table->at++;
}

void text_table_count(struct text_table *table, uint64_t count)
{
    char text[32];

    text_table_put(table, "%s", cli_count(count, text));
}

void text_table_time(struct text_table *table, double ns)
{
    char text[32];

    text_table_put(table, "%s", isnan(ns) ? "–" : cli_duration(ns, text));
}

void text_table_size(struct text_table *table, double bytes)
{
    char text[32];

    text_table_put(table, "%s", isnan(bytes) ? "–" : cli_size(ifg_u64_of(bytes), text));
}

void text_table_share(struct text_table *table, double share)
{
    if (isnan(share))
        text_table_put(table, "–");
    else
        text_table_put(table, "%.1f %%", 100 * share);
}

void text_table_next(struct text_table *table)
{
    while (table->at < table->count)
        text_table_put(table, "%s", "");
    table->at = 0;
}

void text_table_note(struct text_table *table, size_t indent, const char *text)
{
    char head[] = { NOTE, (char)(indent + 1) };
    char clean[CELL_BYTES];

    cli_clean(text, clean, sizeof clean);
    ifg_bytes_put(&table->cells, head, sizeof head);
    ifg_bytes_put(&table->cells, clean, strlen(clean) + 1);
}

struct layout {
    size_t widths[TEXT_TABLE_COLUMNS]; /* 0: left out */
    bool narrowed[TEXT_TABLE_COLUMNS]; /* left out for want of room */
    size_t limit;
};

static void measure(const struct text_table *table, struct layout *layout)
{
    const char *at = (const char *)table->cells.data;
    const char *end = at + table->cells.size;

    for (size_t column = 0; at < end; at += strlen(at) + 1) {
        size_t width = text_columns(at);

        if (*at == NOTE)
            continue;
        if (layout->limit == SIZE_MAX && width > PADDED_MOST)
            width = PADDED_MOST;
        if (width > layout->widths[column])
            layout->widths[column] = width;
        column = (column + 1) % table->count;
    }
    for (size_t i = 0; i < table->count; i++) {
        size_t least = text_columns(table->columns[i].title);

        if (table->columns[i].how == TEXT_RIGHT && least < table->steady)
            least = table->steady;
        if (layout->widths[i] && layout->widths[i] < least)
            layout->widths[i] = least;
    }
}

/* Without the last column, if that one wraps. */
static size_t total(const struct text_table *table, const struct layout *layout)
{
    size_t columns = table->indent;

    for (size_t i = 0; i < table->count; i++)
        if (layout->widths[i] && table->columns[i].how != TEXT_WRAP)
            columns += layout->widths[i] + GAP;
    return columns - (columns > table->indent ? GAP : 0);
}

/* The widest column that may be narrower; SIZE_MAX: none. */
static size_t widest(const struct text_table *table, const struct layout *layout)
{
    size_t found = SIZE_MAX;

    for (size_t i = 0; i < table->count; i++)
        if (table->columns[i].least && layout->widths[i] > table->columns[i].least &&
            (found == SIZE_MAX || layout->widths[i] > layout->widths[found]))
            found = i;
    return found;
}

static size_t least_needed(const struct text_table *table, const struct layout *layout)
{
    size_t at = SIZE_MAX;

    for (size_t i = 0; i < table->count; i++)
        if (layout->widths[i] && table->columns[i].rank &&
            (at == SIZE_MAX || table->columns[i].rank > table->columns[at].rank))
            at = i;
    return at;
}

/* What the columns that may be cut could give. */
static size_t slack(const struct text_table *table, const struct layout *layout)
{
    size_t columns = 0;

    for (size_t i = 0; i < table->count; i++)
        if (table->columns[i].least && layout->widths[i] > table->columns[i].least)
            columns += layout->widths[i] - table->columns[i].least;
    return columns;
}

static void fit(const struct text_table *table, struct layout *layout)
{
    size_t at;

    while (total(table, layout) > layout->limit &&
           total(table, layout) - slack(table, layout) > layout->limit &&
           (at = least_needed(table, layout)) != SIZE_MAX) {
        layout->widths[at] = 0;
        layout->narrowed[at] = true;
    }
    while (total(table, layout) > layout->limit && (at = widest(table, layout)) != SIZE_MAX)
        layout->widths[at]--;
}

static void put_wrapped(const struct text_table *table, const struct layout *layout, size_t column,
                        const char *text, struct ifg_bytes *out)
{
    struct text_frame frame = { column, column, layout->limit };

    if (column + text_columns(text) <= layout->limit) {
        cli_print(out, "%s", text);
        return;
    }
    if (column + WRAP_LEAST > layout->limit) {
        frame.column = frame.indent = table->indent + 4;
        cli_print(out, "\n%*s", (int)frame.indent, "");
    }
    text_wrap(out, frame, text);
}

static size_t last_of(const struct text_table *table, const struct layout *layout, const char *row)
{
    size_t last = 0;

    for (size_t i = 0; i < table->count; i++, row += strlen(row) + 1)
        if (layout->widths[i] && *row)
            last = i;
    return last;
}

/* A row of cells; returns what is behind it. */
static const char *put_row(const struct text_table *table, const struct layout *layout,
                           const char *cell, struct ifg_bytes *out)
{
    size_t last = last_of(table, layout, cell);
    size_t column = table->indent;
    const char *gap = "";

    cli_print(out, "%*s", (int)table->indent, "");
    for (size_t i = 0; i < table->count; i++, cell += strlen(cell) + 1) {
        enum text_cell how = table->columns[i].how;
        size_t width = layout->widths[i];

        if (!width || i > last)
            continue;
        cli_print(out, "%s", gap);
        column += strlen(gap);
        gap = "  ";
        if (how == TEXT_WRAP) {
            put_wrapped(table, layout, column, cell, out);
            continue;
        }
        if (layout->limit == SIZE_MAX && text_columns(cell) > width)
            cli_print(out, "%s", cell); /* whole, whatever that does to the columns */
        else
            text_put_cell(out, cell, width, i == last && how == TEXT_LEFT ? TEXT_LAST : how);
        column += width;
    }
    cli_print(out, "\n");
    return cell;
}

static void put_titles(const struct text_table *table, const struct layout *layout,
                       struct ifg_bytes *out)
{
    struct ifg_bytes titles;
    size_t used = 0;

    ifg_bytes_init(&titles, CELL_BYTES);
    for (size_t i = 0; i < table->count; i++) {
        used += strlen(table->columns[i].title);
        ifg_bytes_put(&titles, table->columns[i].title, strlen(table->columns[i].title) + 1);
    }
    if (!titles.failed && used)
        put_row(table, layout, (const char *)titles.data, out);
    ifg_bytes_fini(&titles);
}

static void name_left_out(const struct text_table *table, const struct layout *layout,
                          struct ifg_bytes *out)
{
    char text[512];
    size_t used = 0;

    for (size_t i = 0; i < table->count && used < sizeof text; i++)
        if (layout->narrowed[i])
            used += (size_t)snprintf(text + used, sizeof text - used, "%s%s",
                                     used ? ", " : "(no room for ", table->columns[i].title);
    if (!used || used >= sizeof text || table->again)
        return;
    snprintf(text + used, sizeof text - used, "; a pipe has all columns)");
    cli_print(out, "%*s", (int)table->indent, "");
    text_wrap(out, (struct text_frame){ table->indent, table->indent + 2, layout->limit }, text);
    cli_print(out, "\n");
}

void text_table_end(struct text_table *table, struct ifg_bytes *out)
{
    struct layout layout = { .limit = text_table_columns() };
    const char *at = (const char *)table->cells.data;
    const char *end;

    out->failed |= table->cells.failed;
    if (!out->failed && table->cells.size) {
        end = at + table->cells.size;
        measure(table, &layout);
        fit(table, &layout);
        put_titles(table, &layout, out);
        while (at < end) {
            size_t indent = table->indent + (*at == NOTE ? (size_t)at[1] - 1 : 0);

            if (*at != NOTE) {
                at = put_row(table, &layout, at, out);
                continue;
            }
            cli_print(out, "%*s", (int)indent, "");
            text_wrap(out, (struct text_frame){ indent, indent, 0 }, at + 2);
            cli_print(out, "\n");
            at += strlen(at) + 1;
        }
        name_left_out(table, &layout, out);
    }
    ifg_bytes_fini(&table->cells);
}
