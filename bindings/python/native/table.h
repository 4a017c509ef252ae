// SPDX-License-Identifier: Apache-2.0
/*
 * A table in an Arrow IPC stream, as `inferogram query --arrow` writes it, mapped and never copied.
 *
 * The bytes are checked as if they were foreign. A table may be released by any thread, with or
 * without the interpreter's lock: consumers of Arrow data do as they like.
 */
#ifndef IFG_BINDINGS_PYTHON_TABLE_H
#define IFG_BINDINGS_PYTHON_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum table_type { TABLE_NULL, TABLE_INT64, TABLE_DOUBLE, TABLE_TEXT };

struct table_column {
    char *name;
    enum table_type type;
    int64_t dictionary; /* the id of its dictionary */
    int64_t texts;      /* in the dictionary */
    const int32_t *offsets;
    const char *bytes;
};

/* The rows of one column in one batch. */
struct table_values {
    const void *values;   /* int64_t, double, or int32_t numbers of texts */
    const uint8_t *valid; /* NULL: none is null */
    int64_t nulls;
};

struct table_batch {
    int64_t rows;
    struct table_values *columns;
};

struct table {
    long references;
    const void *memory;
    size_t size;
    bool mapped; /* the memory is ours to unmap */
    struct table_column *columns;
    size_t column_count;
    struct table_batch *batches;
    size_t batch_count;
    size_t batch_capacity;
    int64_t rows;
};

/* The table in a file; NULL with a reason. The descriptor may be closed afterwards. */
struct table *table_map(int fd, const char **out_reason);

/* The same of memory, which begins at a multiple of 8 and must outlive the table. */
struct table *table_read(const void *memory, size_t size, const char **out_reason);
struct table *table_hold(struct table *table);
void table_release(struct table *table);

static inline bool table_is_null(const struct table_values *values, int64_t row)
{
    return values->valid && !(values->valid[row / 8] >> row % 8 & 1);
}

/* The Arrow C stream interface: a stream, which holds the table. NULL: no memory. */
struct ArrowArrayStream;
struct ArrowArrayStream *table_stream_new(struct table *table);
void table_stream_free(struct ArrowArrayStream *stream);

#endif
