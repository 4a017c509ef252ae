// SPDX-License-Identifier: Apache-2.0
/*
 * Results of queries that a damaged or forged Arrow IPC stream claims to have.
 *
 * Tried: messages, vectors and buffers that end outside, tables without columns and columns without
 * rows, more rows than there are bytes, numbers of texts that are not there, dictionaries twice or
 * never. What is accepted is read as other libraries read it, from the first to the last value,
 * through the Arrow C stream, which must outlive the table that it was made of.
 */
#include "arrow.h"
#include "table.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static volatile uint64_t sum;

static void take(const void *data, size_t size)
{
    for (size_t i = 0; i < size; i++)
        sum += ((const unsigned char *)data)[i];
}

static void take_texts(const struct ArrowArray *array, const struct ArrowArray *texts)
{
    const uint8_t *valid = array->buffers[0];
    const int32_t *numbers = array->buffers[1];
    const int32_t *offsets = texts->buffers[1];

    for (int64_t i = 0; i < array->length; i++) {
        if (array->null_count && !(valid[i / 8] >> i % 8 & 1))
            continue;
        if (numbers[i] < 0 || numbers[i] >= texts->length)
            abort();
        take((const char *)texts->buffers[2] + offsets[numbers[i]],
             (size_t)(offsets[numbers[i] + 1] - offsets[numbers[i]]));
    }
}

static void take_column(const struct ArrowSchema *schema, const struct ArrowArray *array,
                        int64_t rows)
{
    if (array->length != rows || array->null_count < 0 || array->null_count > rows)
        abort();
    take(schema->name, strlen(schema->name));
    if (strcmp(schema->format, "n") == 0)
        return;
    if (array->buffers[0])
        take(array->buffers[0], ((size_t)rows + 7) / 8);
    else if (array->null_count)
        abort();
    if (!schema->dictionary != !array->dictionary)
        abort();
    if (array->dictionary)
        take_texts(array, array->dictionary);
    else
        take(array->buffers[1], 8 * (size_t)rows);
}

static void take_stream(struct ArrowArrayStream *stream, int64_t expected)
{
    struct ArrowSchema schema;
    struct ArrowArray array;
    int64_t rows = 0;

    if (stream->get_schema(stream, &schema))
        return;
    while (!stream->get_next(stream, &array) && array.release) {
        if (array.n_children != schema.n_children)
            abort();
        for (int64_t i = 0; i < array.n_children; i++)
            take_column(schema.children[i], array.children[i], array.length);
        rows += array.length;
        array.release(&array);
    }
    if (rows != expected)
        abort();
    schema.release(&schema);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    uint8_t *copy = malloc(size ? size : 1);
    const char *reason = NULL;
    struct ArrowArrayStream *stream;
    struct table *table;
    int64_t rows;

    if (!copy)
        return 0;
    if (size)
        memcpy(copy, data, size);
    table = table_read(copy, size, &reason);
    if (table) {
        rows = table->rows;
        stream = table_stream_new(table);
        table_release(table);
        if (stream) {
            take_stream(stream, rows);
            table_stream_free(stream);
        }
    } else if (!reason || !*reason) {
        abort();
    }
    free(copy);
    return 0;
}
