// SPDX-License-Identifier: Apache-2.0
/* Reading an Arrow IPC stream in place: see table.h. */
#include "table.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

#define COLUMNS_MAX 2000u
#define PREFIX      8u

/* Numbers of the format. */
enum { HEADER_SCHEMA = 1, HEADER_DICTIONARY = 2, HEADER_BATCH = 3 };
enum { TYPE_NULL = 1, TYPE_INT = 2, TYPE_FLOAT = 3, TYPE_UTF8 = 5 };

/* A FlatBuffer. Whatever lies outside of it reads as 0 and is remembered. */
struct flat {
    const uint8_t *data;
    size_t size;
    bool failed;
};

static uint64_t flat_number(struct flat *flat, size_t at, size_t bytes)
{
    uint64_t value = 0;

    if (at > flat->size || flat->size - at < bytes) {
        flat->failed = true;
        return 0;
    }
    memcpy(&value, flat->data + at, bytes);
    return value;
}

/* Where a field of a table is; 0: it is left out. */
static size_t flat_field(struct flat *flat, size_t table, unsigned slot)
{
    size_t description = table - (size_t)(int32_t)flat_number(flat, table, 4);
    size_t length = flat_number(flat, description, 2);
    size_t offset = 4 + 2 * (size_t)slot < length
                        ? flat_number(flat, description + 4 + 2 * (size_t)slot, 2)
                        : 0;

    return offset ? table + offset : 0;
}

static uint64_t flat_value(struct flat *flat, size_t table, unsigned slot, size_t bytes)
{
    size_t at = flat_field(flat, table, slot);

    return at ? flat_number(flat, at, bytes) : 0;
}

/* What a field refers to; 0: nothing. */
static size_t flat_target(struct flat *flat, size_t at)
{
    return at ? at + flat_number(flat, at, 4) : 0;
}

static size_t flat_vector(struct flat *flat, size_t table, unsigned slot, size_t bytes,
                          size_t *out_count)
{
    size_t at = flat_target(flat, flat_field(flat, table, slot));
    size_t count = at ? flat_number(flat, at, 4) : 0;

    *out_count = 0;
    if (!at || flat->failed || at + 4 > flat->size || (flat->size - at - 4) / bytes < count)
        return 0;
    *out_count = count;
    return at + 4;
}

/* ---- schema ------------------------------------------------------------------------------- */

static char *copy_text(struct flat *flat, size_t at)
{
    size_t length = flat_number(flat, at, 4);
    char *text;

    if (flat->failed || flat->size - at - 4 < length)
        return NULL;
    text = malloc(length + 1);
    if (text) {
        memcpy(text, flat->data + at + 4, length);
        text[length] = '\0';
    }
    return text;
}

static bool read_field(struct flat *flat, size_t field, struct table_column *column)
{
    size_t name = flat_target(flat, flat_field(flat, field, 0));
    size_t dictionary = flat_target(flat, flat_field(flat, field, 4));
    size_t type = flat_target(flat, flat_field(flat, field, 3));

    switch (flat_value(flat, field, 2, 1)) {
    case TYPE_NULL:
        column->type = TABLE_NULL;
        break;
    case TYPE_INT:
        column->type = TABLE_INT64;
        if (flat_value(flat, type, 0, 4) != 64)
            return false;
        break;
    case TYPE_FLOAT:
        column->type = TABLE_DOUBLE;
        if (flat_value(flat, type, 0, 2) != 2)
            return false;
        break;
    case TYPE_UTF8:
        column->type = TABLE_TEXT;
        if (!dictionary)
            return false;
        column->dictionary = (int64_t)flat_value(flat, dictionary, 0, 8);
        break;
    default:
        return false;
    }
    column->name = name ? copy_text(flat, name) : NULL;
    return column->name && !flat->failed;
}

static bool read_schema(struct table *table, struct flat *flat, size_t schema)
{
    size_t count;
    size_t fields = flat_vector(flat, schema, 1, 4, &count);

    if (table->columns || flat->failed || count > COLUMNS_MAX)
        return false;
    table->columns = calloc(count + 1, sizeof *table->columns);
    if (!table->columns)
        return false;
    table->column_count = count;
    for (size_t i = 0; i < count; i++)
        if (!read_field(flat, flat_target(flat, fields + 4 * i), &table->columns[i]))
            return false;
    return true;
}

/* ---- batches ------------------------------------------------------------------------------ */

struct body {
    const uint8_t *data;
    size_t size;
    size_t nodes;
    size_t node_count;
    size_t buffers;
    size_t buffer_count;
    size_t next_buffer;
    int64_t rows;
};

static bool open_record(struct flat *flat, size_t record, struct body *body)
{
    body->rows = (int64_t)flat_value(flat, record, 0, 8);
    body->nodes = flat_vector(flat, record, 1, 16, &body->node_count);
    body->buffers = flat_vector(flat, record, 2, 16, &body->buffer_count);
    return record && !flat->failed && body->rows >= 0 && !flat_field(flat, record, 3);
}

/* The next buffer, at least `wanted` bytes long or, if it may be missing, NULL for none. */
static bool next_buffer(struct flat *flat, struct body *body, uint64_t wanted, bool optional,
                        const void **out_data, size_t *out_size)
{
    size_t at = body->buffers + 16 * body->next_buffer;
    uint64_t offset;
    uint64_t size;

    *out_data = NULL;
    if (body->next_buffer++ >= body->buffer_count)
        return false;
    offset = flat_number(flat, at, 8);
    size = flat_number(flat, at + 8, 8);
    if (flat->failed || offset > body->size || size > body->size - offset || offset % 8)
        return false;
    *out_size = size;
    if (optional && !size)
        return true;
    *out_data = body->data + offset;
    return size >= wanted;
}

static bool read_dictionary(struct table *table, struct flat *flat, size_t header,
                            struct body *body)
{
    int64_t id = (int64_t)flat_value(flat, header, 0, 8);
    const void *nothing;
    const void *offsets;
    const void *bytes;
    size_t size = 0;
    const int32_t *numbers;

    if (!open_record(flat, flat_target(flat, flat_field(flat, header, 1)), body) ||
        body->rows >= INT32_MAX || !next_buffer(flat, body, 0, true, &nothing, &size) ||
        !next_buffer(flat, body, 4 * ((uint64_t)body->rows + 1), false, &offsets, &size) ||
        !next_buffer(flat, body, 0, false, &bytes, &size))
        return false;
    numbers = offsets;
    if (numbers[0] < 0 || numbers[body->rows] < 0 || (size_t)numbers[body->rows] > size)
        return false;
    for (int64_t i = 0; i < body->rows; i++)
        if (numbers[i + 1] < numbers[i])
            return false;
    for (size_t i = 0; i < table->column_count; i++)
        if (table->columns[i].type == TABLE_TEXT && table->columns[i].dictionary == id) {
            if (table->columns[i].offsets)
                return false; /* another one, which numbers of earlier rows may exceed */
            table->columns[i].texts = body->rows;
            table->columns[i].offsets = offsets;
            table->columns[i].bytes = bytes;
        }
    return true;
}

/* Whoever gets the table looks texts up without asking. The number of a null means nothing. */
static bool numbers_are_texts(const struct table_column *column, const struct table_values *values,
                              int64_t rows)
{
    const uint32_t *numbers = values->values;
    uint32_t largest = 0;

    for (int64_t i = 0; i < rows; i++)
        largest = numbers[i] > largest ? numbers[i] : largest;
    if (!rows || largest < (uint64_t)column->texts)
        return true;
    for (int64_t i = 0; i < rows; i++)
        if (numbers[i] >= (uint64_t)column->texts && (!values->nulls || !table_is_null(values, i)))
            return false;
    return true;
}

static bool read_column(const struct table_column *column, struct flat *flat, struct body *body,
                        size_t number, struct table_values *values)
{
    uint64_t rows = (uint64_t)body->rows;
    uint64_t width = column->type == TABLE_TEXT ? 4 : 8;
    const void *valid;
    size_t size;

    values->nulls = (int64_t)flat_number(flat, body->nodes + 16 * number + 8, 8);
    if (flat->failed || column->type == TABLE_NULL)
        return !flat->failed;
    if (rows > body->size || values->nulls < 0 || values->nulls > body->rows)
        return false; /* a row takes four bytes at least */
    if (column->type == TABLE_TEXT && !column->offsets)
        return false;
    if (!next_buffer(flat, body, (rows + 7) / 8, true, &valid, &size) ||
        !next_buffer(flat, body, rows * width, false, &values->values, &size))
        return false;
    values->valid = valid;
    if (!valid && values->nulls)
        return false;
    return column->type != TABLE_TEXT || numbers_are_texts(column, values, body->rows);
}

static bool read_batch(struct table *table, struct flat *flat, size_t header, struct body *body)
{
    struct table_batch *batch;

    if (!table->columns || !open_record(flat, header, body) ||
        body->node_count != table->column_count || body->rows > INT64_MAX - table->rows)
        return false;
    if (table->batch_count == table->batch_capacity) {
        size_t capacity = table->batch_capacity + 64 + table->batch_capacity / 2;
        struct table_batch *more = realloc(table->batches, capacity * sizeof *more);

        if (!more)
            return false;
        table->batches = more;
        table->batch_capacity = capacity;
    }
    batch = &table->batches[table->batch_count];
    batch->rows = body->rows;
    batch->columns = calloc(table->column_count + 1, sizeof *batch->columns);
    if (!batch->columns)
        return false;
    table->batch_count++;
    for (size_t i = 0; i < table->column_count; i++)
        if (!read_column(&table->columns[i], flat, body, i, &batch->columns[i]))
            return false;
    table->rows += body->rows;
    return true;
}

/* ---- the stream --------------------------------------------------------------------------- */

/* One message at *at, which moves behind it; *out_end: it was the last one. */
static bool read_message(struct table *table, size_t *at, bool *out_end)
{
    const uint8_t *data = table->memory;
    struct flat whole = { data, table->size, false };
    uint64_t mark = flat_number(&whole, *at, 4);
    uint64_t length = flat_number(&whole, *at + 4, 4);
    struct flat flat = { data + *at + PREFIX, length, false };
    struct body body = { 0 };
    size_t message;
    size_t header;
    uint64_t size;

    *out_end = !length;
    if (whole.failed || mark != UINT32_MAX || length > table->size - *at - PREFIX || length % 8)
        return false;
    if (!length)
        return true;
    message = flat_number(&flat, 0, 4);
    header = flat_target(&flat, flat_field(&flat, message, 2));
    size = flat_value(&flat, message, 3, 8);
    *at += PREFIX + length;
    if (flat.failed || size > table->size - *at || size % 8)
        return false;
    body.data = data + *at;
    body.size = size;
    *at += size;
    switch (flat_value(&flat, message, 1, 1)) {
    case HEADER_SCHEMA:
        return read_schema(table, &flat, header);
    case HEADER_DICTIONARY:
        return read_dictionary(table, &flat, header, &body);
    case HEADER_BATCH:
        return read_batch(table, &flat, header, &body);
    default:
        return false;
    }
}

struct table *table_read(const void *memory, size_t size, const char **out_reason)
{
    struct table *table = calloc(1, sizeof *table);
    size_t at = 0;
    bool end = false;

    *out_reason = "there is no memory for the result";
    if (!table)
        return NULL;
    table->references = 1;
    table->memory = memory;
    table->size = size;
    while (!end)
        if (!read_message(table, &at, &end)) {
            *out_reason = "the result is damaged, or another version of inferogram wrote it";
            table_release(table);
            return NULL;
        }
    return table;
}

struct table *table_map(int fd, const char **out_reason)
{
    struct table *table;
    struct stat status;
    void *memory;

    if (fstat(fd, &status) < 0 || status.st_size < (off_t)PREFIX) {
        *out_reason = "the result is empty";
        return NULL;
    }
    *out_reason = "there is no memory for the result";
    memory = mmap(NULL, (size_t)status.st_size, PROT_READ, MAP_SHARED, fd, 0);
    if (memory == MAP_FAILED)
        return NULL;
    table = table_read(memory, (size_t)status.st_size, out_reason);
    if (table)
        table->mapped = true;
    else
        munmap(memory, (size_t)status.st_size);
    return table;
}

struct table *table_hold(struct table *table)
{
    __atomic_add_fetch(&table->references, 1, __ATOMIC_RELAXED);
    return table;
}

void table_release(struct table *table)
{
    if (!table || __atomic_sub_fetch(&table->references, 1, __ATOMIC_ACQ_REL))
        return;
    for (size_t i = 0; i < table->batch_count; i++)
        free(table->batches[i].columns);
    for (size_t i = 0; i < table->column_count; i++)
        free(table->columns[i].name);
    free(table->batches);
    free(table->columns);
    if (table->mapped)
        munmap((void *)table->memory, table->size);
    free(table);
}
