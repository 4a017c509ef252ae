// SPDX-License-Identifier: Apache-2.0
/* Tables, JSON and CSV of a query: see query_output.h. */
#include "cli/query_output.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/csv.h"
#include "cli/cli.h"
#include "cli/text.h"

#define FLUSH_BYTES  (64u << 10)
#define OUTPUT_MAX   (256u << 20) /* of one row and what waits before it */
#define SAMPLE_CELLS 20000u
#define SAMPLE_BYTES (4u << 20)

static int flush(struct query_output *output, size_t more_than)
{
    int code = CLI_YES;

    if (output->out.size > more_than || output->out.failed) {
        code = more_than ? cli_write_part(&output->out) : cli_write_out(&output->out);
        ifg_bytes_clear(&output->out);
    }
    return code;
}

static void put_hex(struct ifg_bytes *out, const struct query_value *value)
{
    static const char digits[] = "0123456789abcdef";

    for (size_t i = 0; i < value->bytes; i++) {
        unsigned char byte = (unsigned char)value->text[i];

        ifg_bytes_put(out, (char[2]){ digits[byte >> 4], digits[byte & 15] }, 2);
    }
}

/* For people nine digits; else the shortest text that reads back as the same number. */
static void format_real(double value, bool exact, char out[40])
{
    snprintf(out, 40, "%.*g", exact ? 15 : 9, value);
    if (exact && isfinite(value)) {
        double back = strtod(out, NULL);

        if (back < value || back > value)
            snprintf(out, 40, "%.17g", value);
    }
}

static void put_plain(struct ifg_bytes *out, const struct query_value *value, bool exact)
{
    char real[40];

    switch (value->type) {
    case QUERY_INTEGER:
        cli_print(out, "%lld", (long long)value->integer);
        break;
    case QUERY_REAL:
        format_real(value->real, exact, real);
        cli_print(out, "%s", real);
        break;
    case QUERY_TEXT:
        ifg_bytes_put(out, value->text, strlen(value->text));
        break;
    case QUERY_BLOB:
        put_hex(out, value);
        break;
    case QUERY_NULL:
        break;
    }
}

/* ---- JSON and CSV ------------------------------------------------------------------------ */

static void json_value(struct query_output *output, const struct query_value *value)
{
    struct ifg_bytes hex;

    switch (value->type) {
    case QUERY_INTEGER:
        ifg_json_int(&output->json, value->integer);
        break;
    case QUERY_REAL:
        ifg_json_double(&output->json, value->real);
        break;
    case QUERY_TEXT:
        ifg_json_string_n(&output->json, value->text, value->bytes);
        break;
    case QUERY_BLOB:
        ifg_bytes_init(&hex, OUTPUT_MAX);
        put_hex(&hex, value);
        ifg_json_string_n(&output->json, (const char *)hex.data, hex.size);
        output->out.failed |= hex.failed;
        ifg_bytes_fini(&hex);
        break;
    case QUERY_NULL:
        ifg_json_double(&output->json, NAN); /* null */
        break;
    }
}

static void json_begin(struct query_output *output, const struct query *query)
{
    struct ifg_json *json = &output->json;

    ifg_json_open(json, '{');
    ifg_json_key(json, "schema");
    ifg_json_int(json, 1);
    ifg_json_put_open(json, "columns", '[');
    for (size_t i = 0; i < output->columns; i++)
        ifg_json_string(json, query_column_name(query, i));
    ifg_json_close(json, ']');
    ifg_json_put_open(json, "rows", '[');
}

static void json_row(struct query_output *output, const struct query *query)
{
    if (output->started)
        ifg_bytes_put(&output->out, ",", 1);
    output->json.need_comma = false;
    ifg_bytes_put(&output->out, "\n", 1); /* one row per line */
    ifg_json_open(&output->json, '[');
    for (size_t i = 0; i < output->columns; i++) {
        struct query_value value = query_column_value(query, i);

        json_value(output, &value);
    }
    ifg_json_close(&output->json, ']');
    output->started = true;
}

static void csv_value(struct query_output *output, const struct query_value *value)
{
    if (value->type != QUERY_TEXT)
        put_plain(&output->out, value, true);
    else if (*value->text)
        ifg_csv_put(&output->out, value->text, ",");
    else
        ifg_bytes_put(&output->out, "\"\"", 2); /* not NULL */
}

static void csv_row(struct query_output *output, const struct query *query)
{
    for (size_t i = 0; i < output->columns; i++) {
        struct query_value value = query_column_value(query, i);

        if (i)
            ifg_bytes_put(&output->out, ",", 1);
        csv_value(output, &value);
    }
    ifg_bytes_put(&output->out, "\r\n", 2);
}

/* ---- tables ------------------------------------------------------------------------------ */

/* Cuts a text to max_width characters. */
static void cut(const struct query_output *output, char *text, size_t size)
{
    size_t count = 0;
    char *at = text;

    if (!output->max_width || text_columns(text) <= output->max_width)
        return;
    while (count + 1 < output->max_width || (*at & 0xc0) == 0x80) {
        count += (*at & 0xc0) != 0x80;
        at++;
    }
    if ((size_t)(at - text) + 4 <= size)
        memcpy(at, "…", sizeof "…");
}

/* A value as a cell: one line, cleaned for a terminal, and cut. The caller frees it; NULL: no
 * memory. */
static char *cell_text(const struct query_output *output, const struct query_value *value)
{
    struct ifg_bytes plain;
    char *text = NULL;

    ifg_bytes_init(&plain, OUTPUT_MAX);
    if (value->type == QUERY_NULL)
        ifg_bytes_put(&plain, "NULL", 4);
    else
        put_plain(&plain, value, false);
    ifg_bytes_put(&plain, "", 1);
    if (!plain.failed)
        text = ifg_alloc(plain.size + 4, 1);
    if (text) {
        cli_clean((const char *)plain.data, text, plain.size + 4);
        cut(output, text, plain.size + 4);
    }
    ifg_bytes_fini(&plain);
    return text;
}

static void put_spaces(struct ifg_bytes *out, size_t count)
{
    while (count--)
        ifg_bytes_put(out, " ", 1);
}

static void put_cell(struct query_output *output, size_t column, const char *text, bool right)
{
    size_t width = text_columns(text);
    size_t fill = width < output->widths[column] ? output->widths[column] - width : 0;

    if (column)
        put_spaces(&output->out, 2);
    if (right)
        put_spaces(&output->out, fill);
    ifg_bytes_put(&output->out, text, strlen(text));
    if (!right && column + 1 < output->columns)
        put_spaces(&output->out, fill);
    if (column + 1 == output->columns)
        ifg_bytes_put(&output->out, "\n", 1);
}

/* Kept cells are "1" or "0" for numbers or others, then the text and a NUL. */
static void write_sample(struct query_output *output)
{
    const char *at = (const char *)output->cells.data;

    for (size_t i = 0; i < output->cell_count; i++) {
        size_t column = i % output->columns;
        bool heading = i < output->columns;

        if (heading && !column)
            cli_print(&output->out, "%s", cli_bold(true, STDOUT_FILENO));
        put_cell(output, column, at + 1, heading ? output->numeric[column] : at[0] == '1');
        if (heading && column + 1 == output->columns)
            cli_print(&output->out, "%s", cli_bold(false, STDOUT_FILENO));
        at += strlen(at) + 1;
    }
    output->cell_count = 0;
    output->started = true;
    ifg_bytes_clear(&output->cells);
}

static void keep_cell(struct query_output *output, size_t column, const char *text, bool numeric)
{
    size_t width = text_columns(text);

    ifg_bytes_put(&output->cells, numeric ? "1" : "0", 1);
    ifg_bytes_put(&output->cells, text, strlen(text) + 1);
    output->cell_count++;
    output->out.failed |= output->cells.failed;
    if (width > output->widths[column])
        output->widths[column] = width;
}

static void table_row(struct query_output *output, const struct query *query)
{
    for (size_t i = 0; i < output->columns; i++) {
        struct query_value value = query_column_value(query, i);
        bool numeric = value.type == QUERY_INTEGER || value.type == QUERY_REAL;
        char *text = cell_text(output, &value);

        if (!text)
            output->out.failed = true;
        else if (output->started)
            put_cell(output, i, text, numeric);
        else
            keep_cell(output, i, text, numeric);
        output->numeric[i] |= numeric;
        ifg_free(text);
    }
    if (!output->started &&
        (output->cell_count >= SAMPLE_CELLS || output->cells.size >= SAMPLE_BYTES))
        write_sample(output);
}

/* ---- all three --------------------------------------------------------------------------- */

static void begin_table(struct query_output *output, const struct query *query)
{
    output->widths = ifg_alloc(output->columns + 1, sizeof *output->widths);
    output->numeric = ifg_alloc(output->columns + 1, sizeof *output->numeric);
    if (!output->widths || !output->numeric) {
        output->out.failed = true;
        return;
    }
    for (size_t i = 0; i < output->columns; i++) {
        struct query_value name = { .type = QUERY_TEXT, .text = query_column_name(query, i) };
        char *text = cell_text(output, &name);

        if (text)
            keep_cell(output, i, text, false);
        else
            output->out.failed = true;
        ifg_free(text);
    }
}

int query_output_begin(struct query_output *output, const struct query *query)
{
    output->columns = query_column_count(query);
    ifg_bytes_init(&output->out, OUTPUT_MAX);
    ifg_bytes_init(&output->cells, OUTPUT_MAX);
    output->json.out = &output->out;
    if (output->format == QUERY_JSON) {
        json_begin(output, query);
    } else if (output->format == QUERY_CSV) {
        for (size_t i = 0; i < output->columns; i++) {
            if (i)
                ifg_bytes_put(&output->out, ",", 1);
            ifg_csv_put(&output->out, query_column_name(query, i), ",");
        }
        ifg_bytes_put(&output->out, "\r\n", 2);
    } else {
        begin_table(output, query);
    }
    return flush(output, FLUSH_BYTES);
}

int query_output_row(struct query_output *output, const struct query *query)
{
    if (output->format == QUERY_JSON)
        json_row(output, query);
    else if (output->format == QUERY_CSV)
        csv_row(output, query);
    else
        table_row(output, query);
    return flush(output, FLUSH_BYTES);
}

int query_output_end(struct query_output *output, bool truncated, const char *error)
{
    if (output->format == QUERY_JSON) {
        if (output->started)
            ifg_bytes_put(&output->out, "\n", 1);
        ifg_json_close(&output->json, ']');
        ifg_json_key(&output->json, "truncated");
        ifg_json_bool(&output->json, truncated);
        if (error) {
            ifg_json_key(&output->json, "error");
            ifg_json_string(&output->json, error);
        }
        ifg_json_close(&output->json, '}');
        ifg_bytes_put(&output->out, "\n", 1);
    } else if (output->format == QUERY_TABLE && !output->started && !output->out.failed) {
        write_sample(output);
    }
    return flush(output, 0);
}

void query_output_fini(struct query_output *output)
{
    ifg_bytes_fini(&output->out);
    ifg_bytes_fini(&output->cells);
    ifg_free(output->widths);
    ifg_free(output->numeric);
}
