// SPDX-License-Identifier: Apache-2.0
/*
 * Tables as an Arrow IPC stream (format 1.0, metadata version 5): a schema, a dictionary for each
 * column of texts, then batches of rows.
 *
 * What fails is remembered: `failed` here (memory, more text than a dictionary can hold), or in the
 * sink. Everything after it is ignored.
 */
#ifndef IFG_EXPORT_ARROW_IPC_H
#define IFG_EXPORT_ARROW_IPC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/bytes.h"
#include "base/strings.h"
#include "export/sink.h"

enum arrow_type {
    ARROW_NULL, /* nothing but nulls */
    ARROW_INT64,
    ARROW_DOUBLE,
    ARROW_TEXT, /* numbers of texts in the column's dictionary, 32 bits each */
};

struct arrow_field {
    const char *name;
    enum arrow_type type;
};

/* A column in a batch. */
struct arrow_values {
    const void *values;
    const uint8_t *valid; /* a bit for each row, the lowest first; not used if none is null */
    uint64_t nulls;
};

struct arrow_stream {
    struct export_sink *sink;
    const struct arrow_field *fields;
    size_t field_count;
    struct ifg_bytes head; /* of the message being written */
    bool failed;
};

/* Writes the schema. Then come the dictionaries of all columns of texts, then batches, then the
 * end. */
void arrow_begin(struct arrow_stream *stream, struct export_sink *sink,
                 const struct arrow_field *fields, size_t count);

/* Bytes that are not UTF-8 become U+FFFD. */
void arrow_dictionary(struct arrow_stream *stream, size_t field, const struct ifg_strings *texts);
void arrow_batch(struct arrow_stream *stream, uint64_t rows, const struct arrow_values *columns);
void arrow_end(struct arrow_stream *stream);
void arrow_fini(struct arrow_stream *stream);

#endif
