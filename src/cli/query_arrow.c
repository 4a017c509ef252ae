// SPDX-License-Identifier: Apache-2.0
/* Arrow from a query: see query_arrow.h. */
#include "cli/query_arrow.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/array.h"
#include "cli/cli.h"
#include "export/arrow_ipc.h"
#include "query/columns.h"

#define BATCH_ROWS  65536u
#define VALID_BYTES (BATCH_ROWS / 8)

/* One value of a column; which one it is, the column says. */
union cell {
    int64_t integer;
    double real;
    uint64_t text; /* number of a text */
};

/* The rows of one column in one batch. */
struct chunk {
    union cell *cells;
    uint8_t *valid;
    size_t nulls;
};

struct column {
    enum arrow_type type;
    struct ifg_strings texts;
    struct chunk *chunks;
    size_t capacity;
};

struct query_arrow {
    size_t count;
    size_t rows;
    struct arrow_field *fields;
    struct column *columns;
    struct ifg_strings names;
};

/* ---- the end of every stream -------------------------------------------------------------- */

static int finish(struct arrow_stream *stream, struct export_sink *sink)
{
    struct ifg_error err = { 0 };
    bool good = !stream->failed;
    enum ifg_status status;

    arrow_end(stream);
    arrow_fini(stream);
    status = export_sink_close(sink, good, &err);
    if (!good)
        cli_say("not enough memory for the result, or a column of it has more than 2 GB of text");
    else if (status)
        cli_say("%s", err.message);
    return good && !status ? CLI_YES : CLI_NO;
}

/* ---- plain columns ------------------------------------------------------------------------ */

struct scratch {
    struct arrow_field *fields;
    struct arrow_values *values;
    char *memory;
};

static bool scratch_init(struct scratch *scratch, const struct query_columns *columns)
{
    size_t count = query_columns_count(columns);
    size_t bytes = BATCH_ROWS * sizeof(int64_t) + VALID_BYTES;

    scratch->fields = ifg_alloc(count, sizeof *scratch->fields);
    scratch->values = ifg_alloc(count, sizeof *scratch->values);
    scratch->memory = ifg_alloc(count, bytes);
    if (!scratch->fields || !scratch->values || !scratch->memory)
        return false;
    for (size_t i = 0; i < count; i++) {
        scratch->fields[i].name = query_columns_name(columns, i);
        scratch->fields[i].type = query_columns_texts(columns, i) ? ARROW_TEXT : ARROW_INT64;
        scratch->values[i].values = scratch->memory + i * bytes;
        scratch->values[i].valid =
            (const uint8_t *)scratch->memory + i * bytes + BATCH_ROWS * sizeof(int64_t);
    }
    return true;
}

static void scratch_fini(struct scratch *scratch)
{
    ifg_free(scratch->fields);
    ifg_free(scratch->values);
    ifg_free(scratch->memory);
}

static int write_columns(const struct query_columns *columns, struct scratch *scratch)
{
    size_t count = query_columns_count(columns);
    size_t rows = query_columns_rows(columns);
    struct ifg_error err = { 0 };
    struct arrow_stream stream;
    struct export_sink sink;

    if (export_sink_open(&sink, "-", false, &err)) {
        cli_say("%s", err.message);
        return CLI_NO;
    }
    arrow_begin(&stream, &sink, scratch->fields, count);
    for (size_t i = 0; i < count; i++)
        if (scratch->fields[i].type == ARROW_TEXT)
            arrow_dictionary(&stream, i, query_columns_texts(columns, i));
    for (size_t at = 0; at < rows && !stream.failed && !sink.failed; at += BATCH_ROWS) {
        size_t part = rows - at < BATCH_ROWS ? rows - at : BATCH_ROWS;

        for (size_t i = 0; i < count; i++)
            scratch->values[i].nulls = query_columns_fill(
                columns, i, at, part, (void *)(uintptr_t)scratch->values[i].values,
                (void *)(uintptr_t)scratch->values[i].valid);
        arrow_batch(&stream, part, scratch->values);
    }
    return finish(&stream, &sink);
}

int query_arrow_columns(struct query *query, const char *sql, uint64_t max_rows, bool *out_done)
{
    struct query_columns *columns = NULL;
    struct scratch scratch = { 0 };
    struct ifg_error err = { 0 };
    int code = CLI_NO;

    *out_done = true;
    if (query_columns_create(query, sql, &columns, &err)) {
        cli_say("%s", err.message);
    } else if (!columns || (max_rows && query_columns_rows(columns) > max_rows)) {
        *out_done = false;
        code = CLI_YES;
    } else if (!scratch_init(&scratch, columns)) {
        cli_say("not enough memory");
    } else {
        code = write_columns(columns, &scratch);
    }
    scratch_fini(&scratch);
    query_columns_destroy(columns);
    return code;
}

/* ---- rows of any statement ---------------------------------------------------------------- */

struct query_arrow *query_arrow_create(const struct query *query)
{
    struct query_arrow *arrow = ifg_alloc(1, sizeof *arrow);

    if (!arrow)
        return NULL;
    arrow->count = query_column_count(query);
    arrow->fields = ifg_alloc(arrow->count + 1, sizeof *arrow->fields);
    arrow->columns = ifg_alloc(arrow->count + 1, sizeof *arrow->columns);
    for (size_t i = 0; arrow->fields && arrow->columns && i < arrow->count; i++) {
        const char *name = query_column_name(query, i);

        arrow->columns[i].texts.limit = INT32_MAX;
        arrow->fields[i].name = ifg_strings_copy(&arrow->names, name, strlen(name));
        if (!arrow->fields[i].name)
            arrow->names.no_memory = true;
    }
    if (arrow->fields && arrow->columns && !arrow->names.no_memory)
        return arrow;
    query_arrow_destroy(arrow);
    return NULL;
}

void query_arrow_destroy(struct query_arrow *arrow)
{
    if (!arrow)
        return;
    for (size_t i = 0; arrow->columns && i < arrow->count; i++) {
        struct column *column = &arrow->columns[i];

        for (size_t chunk = 0; chunk < column->capacity; chunk++) {
            ifg_free(column->chunks[chunk].cells);
            ifg_free(column->chunks[chunk].valid);
        }
        ifg_free(column->chunks);
        ifg_strings_fini(&column->texts);
    }
    ifg_strings_fini(&arrow->names);
    ifg_free(arrow->fields);
    ifg_free(arrow->columns);
    ifg_free(arrow);
}

static bool keep_text(struct column *column, const char *text, size_t bytes, uint64_t *out_number)
{
    uint32_t number = ifg_strings_add(&column->texts, text, bytes);

    *out_number = number;
    return number != IFG_STRINGS_NONE;
}

/* A number as a text, as in CSV. */
static bool number_to_text(struct column *column, enum arrow_type from, union cell *cell)
{
    char text[40];

    if (from == ARROW_INT64) {
        snprintf(text, sizeof text, "%lld", (long long)cell->integer);
    } else {
        snprintf(text, sizeof text, "%.15g", cell->real);
        if (isfinite(cell->real) &&
            memcmp(&(double){ strtod(text, NULL) }, &cell->real, sizeof(double)) != 0)
            snprintf(text, sizeof text, "%.17g", cell->real);
    }
    return keep_text(column, text, strlen(text), &cell->text);
}

/* All values so far become values of another type: integers reals, or anything texts. */
static bool retype(struct query_arrow *arrow, struct column *column, enum arrow_type to)
{
    enum arrow_type from = column->type;

    column->type = to;
    for (size_t row = 0; from != ARROW_NULL && row < arrow->rows; row++) {
        struct chunk *chunk = &column->chunks[row / BATCH_ROWS];
        size_t at = row % BATCH_ROWS;

        if (!(chunk->valid[at / 8] >> at % 8 & 1))
            continue;
        if (to == ARROW_DOUBLE)
            chunk->cells[at].real = (double)chunk->cells[at].integer;
        else if (!number_to_text(column, from, &chunk->cells[at]))
            return false;
    }
    return true;
}

static bool keep_blob(struct column *column, const struct query_value *value, uint64_t *out_number)
{
    static const char digits[] = "0123456789abcdef";
    char *hex = ifg_alloc(value->bytes + 1, 2);
    bool good;

    if (!hex)
        return false;
    for (size_t i = 0; i < value->bytes; i++) {
        hex[2 * i] = digits[(unsigned char)value->text[i] >> 4];
        hex[2 * i + 1] = digits[value->text[i] & 15];
    }
    good = keep_text(column, hex, 2 * value->bytes, out_number);
    ifg_free(hex);
    return good;
}

static bool keep_value(struct query_arrow *arrow, struct column *column,
                       const struct query_value *value, union cell *cell)
{
    static const enum arrow_type types[] = { [QUERY_NULL] = ARROW_NULL,
                                             [QUERY_INTEGER] = ARROW_INT64,
                                             [QUERY_REAL] = ARROW_DOUBLE,
                                             [QUERY_TEXT] = ARROW_TEXT,
                                             [QUERY_BLOB] = ARROW_TEXT };
    enum arrow_type type = types[value->type];

    if (type > column->type && !retype(arrow, column, type))
        return false;
    if (value->type == QUERY_TEXT)
        return keep_text(column, value->text, value->bytes, &cell->text);
    if (value->type == QUERY_BLOB)
        return keep_blob(column, value, &cell->text);
    if (value->type == QUERY_INTEGER)
        cell->integer = value->integer;
    else
        cell->real = value->real;
    if (column->type == ARROW_TEXT)
        return number_to_text(column, type, cell);
    if (column->type == ARROW_DOUBLE && type == ARROW_INT64)
        cell->real = (double)value->integer;
    return true;
}

static bool new_chunk(struct column *column, size_t number)
{
    if (!IFG_ARRAY_ROOM_ZEROED(column->chunks, column->capacity, number + 1, IFG_ARRAY_ANY))
        return false;
    column->chunks[number].cells = ifg_alloc(BATCH_ROWS, sizeof(union cell));
    column->chunks[number].valid = ifg_alloc(VALID_BYTES, 1);
    return column->chunks[number].cells && column->chunks[number].valid;
}

bool query_arrow_row(struct query_arrow *arrow, const struct query *query)
{
    size_t number = arrow->rows / BATCH_ROWS;
    size_t at = arrow->rows % BATCH_ROWS;

    for (size_t i = 0; i < arrow->count; i++) {
        struct column *column = &arrow->columns[i];
        struct query_value value = query_column_value(query, i);
        struct chunk *chunk;

        if (!at && !new_chunk(column, number))
            return false;
        chunk = &column->chunks[number];
        if (value.type == QUERY_NULL) {
            chunk->nulls++;
            continue;
        }
        if (!keep_value(arrow, column, &value, &chunk->cells[at]))
            return false;
        chunk->valid[at / 8] |= (uint8_t)(1u << at % 8);
    }
    arrow->rows++;
    return true;
}

/* Numbers of texts are 32 bits wide in Arrow; in place, from the front. */
static void narrow(struct chunk *chunk, size_t rows)
{
    for (size_t i = 0; i < rows; i++) {
        int32_t number = (int32_t)chunk->cells[i].text;

        memcpy((char *)chunk->cells + i * sizeof number, &number, sizeof number);
    }
}

static bool write_chunks(struct query_arrow *arrow, struct arrow_stream *stream)
{
    struct arrow_values *values = ifg_alloc(arrow->count + 1, sizeof *values);

    if (!values)
        return false;
    for (size_t first = 0; first < arrow->rows; first += BATCH_ROWS) {
        size_t rows = arrow->rows - first < BATCH_ROWS ? arrow->rows - first : BATCH_ROWS;

        for (size_t i = 0; i < arrow->count; i++) {
            struct chunk *chunk = &arrow->columns[i].chunks[first / BATCH_ROWS];

            if (arrow->columns[i].type == ARROW_TEXT)
                narrow(chunk, rows);
            values[i] = (struct arrow_values){ chunk->cells, chunk->valid, chunk->nulls };
        }
        arrow_batch(stream, rows, values);
        for (size_t i = 0; i < arrow->count; i++) {
            struct chunk *chunk = &arrow->columns[i].chunks[first / BATCH_ROWS];

            ifg_free(chunk->cells); /* what is written need not be held twice */
            chunk->cells = NULL;
        }
    }
    ifg_free(values);
    return true;
}

int query_arrow_write(struct query_arrow *arrow)
{
    struct ifg_error err = { 0 };
    struct arrow_stream stream;
    struct export_sink sink;

    if (!arrow) {
        cli_say("not enough memory for the result; LIMIT in the SQL asks for less");
        return CLI_NO;
    }
    if (export_sink_open(&sink, "-", false, &err)) {
        cli_say("%s", err.message);
        return CLI_NO;
    }
    for (size_t i = 0; i < arrow->count; i++)
        arrow->fields[i].type = arrow->columns[i].type;
    arrow_begin(&stream, &sink, arrow->fields, arrow->count);
    for (size_t i = 0; i < arrow->count; i++)
        if (arrow->fields[i].type == ARROW_TEXT)
            arrow_dictionary(&stream, i, &arrow->columns[i].texts);
    if (!write_chunks(arrow, &stream))
        stream.failed = true;
    return finish(&stream, &sink);
}
