// SPDX-License-Identifier: Apache-2.0
/*
 * A table for other libraries: the Arrow C stream interface. Each structure that leaves holds the
 * table, and every buffer in it points into the mapped file.
 */
#include "arrow.h"
#include "table.h"

#include <errno.h>
#include <stdlib.h>

#define FLAG_NULLABLE 2

/* ---- schemas ------------------------------------------------------------------------------ */

static void release_schema(struct ArrowSchema *schema)
{
    for (int64_t i = 0; i < schema->n_children; i++) {
        if (schema->children[i] && schema->children[i]->release)
            schema->children[i]->release(schema->children[i]);
        free(schema->children[i]);
    }
    free(schema->children);
    if (schema->dictionary && schema->dictionary->release)
        schema->dictionary->release(schema->dictionary);
    free(schema->dictionary);
    table_release(schema->private_data);
    schema->release = NULL;
}

static void fill_schema(struct table *table, struct ArrowSchema *out, const char *format,
                        const char *name)
{
    *out = (struct ArrowSchema){
        .format = format,
        .name = name,
        .flags = FLAG_NULLABLE,
        .release = release_schema,
        .private_data = table_hold(table),
    };
}

static struct ArrowSchema *column_schema(struct table *table, const struct table_column *column)
{
    static const char *const formats[] = { "n", "l", "g", "i" };
    struct ArrowSchema *schema = calloc(1, sizeof *schema);

    if (!schema)
        return NULL;
    fill_schema(table, schema, formats[column->type], column->name);
    if (column->type != TABLE_TEXT)
        return schema;
    schema->dictionary = calloc(1, sizeof *schema->dictionary);
    if (!schema->dictionary) {
        schema->release(schema);
        free(schema);
        return NULL;
    }
    fill_schema(table, schema->dictionary, "u", "");
    return schema;
}

/* ---- arrays ------------------------------------------------------------------------------- */

struct array_parts {
    struct table *table;
    const void *buffers[3];
};

static void release_array(struct ArrowArray *array)
{
    struct array_parts *parts = array->private_data;

    for (int64_t i = 0; i < array->n_children; i++) {
        if (array->children[i] && array->children[i]->release)
            array->children[i]->release(array->children[i]);
        free(array->children[i]);
    }
    free(array->children);
    if (array->dictionary && array->dictionary->release)
        array->dictionary->release(array->dictionary);
    free(array->dictionary);
    table_release(parts->table);
    free(parts);
    array->release = NULL;
}

static bool fill_array(struct table *table, struct ArrowArray *out, int64_t rows, int64_t nulls,
                       int64_t buffers)
{
    struct array_parts *parts = calloc(1, sizeof *parts);

    if (!parts)
        return false;
    parts->table = table_hold(table);
    *out = (struct ArrowArray){
        .length = rows,
        .null_count = nulls,
        .n_buffers = buffers,
        .buffers = parts->buffers,
        .release = release_array,
        .private_data = parts,
    };
    return true;
}

static struct ArrowArray *dictionary_array(struct table *table, const struct table_column *column)
{
    struct ArrowArray *array = calloc(1, sizeof *array);

    if (!array || !fill_array(table, array, column->texts, 0, 3)) {
        free(array);
        return NULL;
    }
    array->buffers[1] = column->offsets;
    array->buffers[2] = column->bytes;
    return array;
}

static struct ArrowArray *column_array(struct table *table, size_t number,
                                       const struct table_batch *batch)
{
    const struct table_column *column = &table->columns[number];
    const struct table_values *values = &batch->columns[number];
    bool none = column->type == TABLE_NULL;
    struct ArrowArray *array = calloc(1, sizeof *array);

    if (!array ||
        !fill_array(table, array, batch->rows, none ? batch->rows : values->nulls, none ? 0 : 2)) {
        free(array);
        return NULL;
    }
    if (none)
        return array;
    array->buffers[0] = values->valid;
    array->buffers[1] = values->values;
    if (column->type == TABLE_TEXT) {
        array->dictionary = dictionary_array(table, column);
        if (!array->dictionary) {
            array->release(array);
            free(array);
            return NULL;
        }
    }
    return array;
}

/* ---- the stream --------------------------------------------------------------------------- */

struct stream_parts {
    struct table *table;
    size_t next;
};

static int get_schema(struct ArrowArrayStream *stream, struct ArrowSchema *out)
{
    struct table *table = ((struct stream_parts *)stream->private_data)->table;

    fill_schema(table, out, "+s", "");
    out->flags = 0;
    out->children = calloc(table->column_count + 1, sizeof *out->children);
    for (size_t i = 0; out->children && i < table->column_count; i++) {
        out->children[i] = column_schema(table, &table->columns[i]);
        if (!out->children[i])
            break;
        out->n_children++;
    }
    if (out->n_children == (int64_t)table->column_count && out->children)
        return 0;
    out->release(out);
    return ENOMEM;
}

static int get_next(struct ArrowArrayStream *stream, struct ArrowArray *out)
{
    struct stream_parts *parts = stream->private_data;
    struct table *table = parts->table;
    const struct table_batch *batch;

    *out = (struct ArrowArray){ 0 };
    if (parts->next >= table->batch_count)
        return 0;
    batch = &table->batches[parts->next];
    if (!fill_array(table, out, batch->rows, 0, 1))
        return ENOMEM;
    out->children = calloc(table->column_count + 1, sizeof *out->children);
    for (size_t i = 0; out->children && i < table->column_count; i++) {
        out->children[i] = column_array(table, i, batch);
        if (!out->children[i])
            break;
        out->n_children++;
    }
    if (out->n_children != (int64_t)table->column_count || !out->children) {
        out->release(out);
        return ENOMEM;
    }
    parts->next++;
    return 0;
}

static const char *get_last_error(struct ArrowArrayStream *stream)
{
    (void)stream;
    return "not enough memory";
}

static void release_stream(struct ArrowArrayStream *stream)
{
    struct stream_parts *parts = stream->private_data;

    table_release(parts->table);
    free(parts);
    stream->release = NULL;
}

struct ArrowArrayStream *table_stream_new(struct table *table)
{
    struct ArrowArrayStream *stream = calloc(1, sizeof *stream);
    struct stream_parts *parts = calloc(1, sizeof *parts);

    if (!stream || !parts) {
        free(stream);
        free(parts);
        return NULL;
    }
    parts->table = table_hold(table);
    *stream = (struct ArrowArrayStream){
        .get_schema = get_schema,
        .get_next = get_next,
        .get_last_error = get_last_error,
        .release = release_stream,
        .private_data = parts,
    };
    return stream;
}

void table_stream_free(struct ArrowArrayStream *stream)
{
    if (stream->release)
        stream->release(stream);
    free(stream);
}
