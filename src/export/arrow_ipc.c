// SPDX-License-Identifier: Apache-2.0
/*
 * Arrow IPC: see arrow_ipc.h.
 *
 * A message is a FlatBuffer and a body. FlatBuffers are written front to back: a table has its
 * fields' places first and what they refer to behind it, so that references are filled in when the
 * target's position is known.
 */
#include "export/arrow_ipc.h"

#include <string.h>

#include "base/alloc.h"
#include "base/json.h"

#define HEAD_MAX   (16u << 20)
#define FIELDS_MAX 7
#define ALIGNMENT  8u

/* Numbers of the format. */
enum { VERSION_5 = 4 };
enum { HEADER_SCHEMA = 1, HEADER_DICTIONARY = 2, HEADER_BATCH = 3 };
enum { TYPE_NULL = 1, TYPE_INT = 2, TYPE_FLOAT = 3, TYPE_UTF8 = 5 };
enum { PRECISION_DOUBLE = 2 };

/* ---- FlatBuffers -------------------------------------------------------------------------- */

static void align(struct ifg_bytes *head, size_t to, size_t plus)
{
    static const uint8_t zeros[ALIGNMENT];

    ifg_bytes_put(head, zeros, (to - (head->size + plus) % to) % to);
}

static void set(struct ifg_bytes *head, size_t at, const void *value, size_t bytes)
{
    if (!head->failed)
        memcpy(head->data + at, value, bytes);
}

static void set_8(struct ifg_bytes *head, size_t at, uint8_t value)
{
    set(head, at, &value, sizeof value);
}

static void set_16(struct ifg_bytes *head, size_t at, uint16_t value)
{
    set(head, at, &value, sizeof value);
}

static void set_32(struct ifg_bytes *head, size_t at, uint32_t value)
{
    set(head, at, &value, sizeof value);
}

static void set_64(struct ifg_bytes *head, size_t at, uint64_t value)
{
    set(head, at, &value, sizeof value);
}

/* The field at `at` refers to what is written next. */
static void refer(struct ifg_bytes *head, size_t at)
{
    set_32(head, at, (uint32_t)(head->size - at));
}

/* A table with fields of so many bytes (0: left out); out_at has where each of them is. */
static void put_table(struct ifg_bytes *head, const uint8_t *sizes, size_t count, size_t *reference,
                      size_t out_at[FIELDS_MAX])
{
    uint16_t layout[2 + FIELDS_MAX] = { (uint16_t)(4 + 2 * count) };
    static const uint8_t zeros[64];
    size_t bytes = 4;
    size_t description;
    size_t table;

    for (size_t i = 0; i < count; i++) {
        if (!sizes[i])
            continue;
        bytes += (sizes[i] - bytes % sizes[i]) % sizes[i];
        layout[2 + i] = (uint16_t)bytes;
        bytes += sizes[i];
    }
    layout[1] = (uint16_t)bytes;
    align(head, 2, 0);
    description = head->size;
    ifg_bytes_put(head, layout, 4 + 2 * count);
    align(head, ALIGNMENT, 0);
    table = head->size;
    if (reference)
        refer(head, *reference);
    ifg_bytes_put(head, zeros, bytes);
    set_32(head, table, (uint32_t)(table - description));
    for (size_t i = 0; i < count; i++)
        out_at[i] = table + layout[2 + i];
}

static void put_string(struct ifg_bytes *head, size_t reference, const char *text)
{
    uint32_t length = (uint32_t)strlen(text);

    align(head, 4, 0);
    refer(head, reference);
    ifg_bytes_put(head, &length, sizeof length);
    ifg_bytes_put(head, text, (size_t)length + 1);
}

/* A vector of `count` elements that are 8 bytes long or multiples of that, or of references. */
static size_t put_vector(struct ifg_bytes *head, size_t reference, size_t count, size_t bytes)
{
    static const uint8_t zeros[16];
    uint32_t length = (uint32_t)count;
    size_t first;

    align(head, ALIGNMENT, 4);
    refer(head, reference);
    ifg_bytes_put(head, &length, sizeof length);
    first = head->size;
    for (size_t i = 0; i < count; i++)
        ifg_bytes_put(head, zeros, bytes);
    return first;
}

/* ---- messages ----------------------------------------------------------------------------- */

/* Begins a message; *out_header is where its header is referred to, *out_body where the length of
 * its body is. */
static void begin_message(struct arrow_stream *stream, uint8_t header, size_t *out_header,
                          size_t *out_body)
{
    struct ifg_bytes *head = &stream->head;
    static const uint8_t sizes[] = { 2, 1, 4, 8 };
    size_t root = 0;
    size_t at[FIELDS_MAX];

    ifg_bytes_clear(head);
    ifg_bytes_put(head, (uint8_t[4]){ 0 }, 4);
    put_table(head, sizes, 4, &root, at);
    set_16(head, at[0], VERSION_5);
    set_8(head, at[1], header);
    *out_header = at[2];
    *out_body = at[3];
}

static void end_message(struct arrow_stream *stream)
{
    struct ifg_bytes *head = &stream->head;
    uint32_t prefix[2] = { UINT32_MAX, 0 };

    align(head, ALIGNMENT, 0);
    if (head->failed)
        stream->failed = true;
    if (stream->failed)
        return;
    prefix[1] = (uint32_t)head->size;
    export_put(stream->sink, prefix, sizeof prefix);
    export_put(stream->sink, head->data, head->size);
}

static size_t padded(size_t bytes)
{
    return (bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
}

static void put_padded(struct arrow_stream *stream, const void *data, size_t bytes)
{
    static const uint8_t zeros[ALIGNMENT];

    if (stream->failed)
        return;
    export_put(stream->sink, data, bytes);
    export_put(stream->sink, zeros, padded(bytes) - bytes);
}

/* ---- schema ------------------------------------------------------------------------------- */

static void put_int(struct ifg_bytes *head, size_t reference, uint32_t bits)
{
    static const uint8_t sizes[] = { 4, 1 };
    size_t at[FIELDS_MAX];

    put_table(head, sizes, 2, &reference, at);
    set_32(head, at[0], bits);
    set_8(head, at[1], 1);
}

static void put_type(struct ifg_bytes *head, enum arrow_type type, size_t kind, size_t reference)
{
    static const uint8_t types[] = { TYPE_NULL, TYPE_INT, TYPE_FLOAT, TYPE_UTF8 };
    size_t at[FIELDS_MAX];

    set_8(head, kind, types[type]);
    if (type == ARROW_INT64) {
        put_int(head, reference, 64);
    } else if (type == ARROW_DOUBLE) {
        put_table(head, (const uint8_t[]){ 2 }, 1, &reference, at);
        set_16(head, at[0], PRECISION_DOUBLE);
    } else {
        put_table(head, NULL, 0, &reference, at);
    }
}

static void put_field(struct arrow_stream *stream, size_t number, size_t reference)
{
    static const uint8_t sizes[] = { 4, 1, 1, 4, 4, 4 };
    const struct arrow_field *field = &stream->fields[number];
    bool is_text = field->type == ARROW_TEXT;
    struct ifg_bytes *head = &stream->head;
    uint8_t used[6];
    size_t at[FIELDS_MAX];
    size_t inner[FIELDS_MAX];

    memcpy(used, sizes, sizeof used);
    used[4] = is_text ? 4 : 0;
    put_table(head, used, 6, &reference, at);
    set_8(head, at[1], 1); /* may have nulls */
    put_string(head, at[0], field->name);
    put_type(head, field->type, at[2], at[3]);
    if (is_text) {
        put_table(head, (const uint8_t[]){ 8, 4 }, 2, &at[4], inner);
        set_64(head, inner[0], number);
        put_int(head, inner[1], 32);
    }
    put_vector(head, at[5], 0, 4);
}

void arrow_begin(struct arrow_stream *stream, struct export_sink *sink,
                 const struct arrow_field *fields, size_t count)
{
    size_t header;
    size_t body;
    size_t at[FIELDS_MAX];
    size_t first;

    *stream = (struct arrow_stream){ .sink = sink, .fields = fields, .field_count = count };
    ifg_bytes_init(&stream->head, HEAD_MAX);
    begin_message(stream, HEADER_SCHEMA, &header, &body);
    put_table(&stream->head, (const uint8_t[]){ 0, 4 }, 2, &header, at);
    first = put_vector(&stream->head, at[1], count, 4);
    for (size_t i = 0; i < count; i++)
        put_field(stream, i, first + 4 * i);
    end_message(stream);
}

/* ---- batches ------------------------------------------------------------------------------ */

struct buffer {
    const void *data;
    size_t bytes;
};

/* The table RecordBatch: its nodes (length, nulls) and buffers. Returns the length of the body. */
static uint64_t put_record(struct ifg_bytes *head, size_t reference, uint64_t rows,
                           const uint64_t *nulls, size_t nodes, const struct buffer *buffers,
                           size_t buffer_count)
{
    size_t at[FIELDS_MAX];
    uint64_t offset = 0;
    size_t first;

    put_table(head, (const uint8_t[]){ 8, 4, 4 }, 3, &reference, at);
    set_64(head, at[0], rows);
    first = put_vector(head, at[1], nodes, 16);
    for (size_t i = 0; i < nodes; i++) {
        set_64(head, first + 16 * i, rows);
        set_64(head, first + 16 * i + 8, nulls[i]);
    }
    first = put_vector(head, at[2], buffer_count, 16);
    for (size_t i = 0; i < buffer_count; i++) {
        set_64(head, first + 16 * i, offset);
        set_64(head, first + 16 * i + 8, buffers[i].bytes);
        offset += padded(buffers[i].bytes);
    }
    return offset;
}

static void put_utf8(struct ifg_bytes *out, const char *text, size_t size)
{
    const unsigned char *at = (const unsigned char *)text;
    size_t left = size;

    while (left) {
        size_t length = ifg_utf8_length(at, left);

        ifg_bytes_put(out, length ? (const char *)at : "\xef\xbf\xbd", length ? length : 3);
        length = length ? length : 1;
        at += length;
        left -= length;
    }
}

void arrow_dictionary(struct arrow_stream *stream, size_t field, const struct ifg_strings *texts)
{
    struct ifg_bytes text;
    int32_t *offsets = ifg_alloc((size_t)texts->count + 1, sizeof *offsets);
    struct buffer buffers[3] = { { 0 } };
    uint64_t nulls = 0;
    size_t header;
    size_t body;
    size_t at[FIELDS_MAX];

    ifg_bytes_init(&text, INT32_MAX);
    for (uint32_t i = 0; offsets && i < texts->count; i++) {
        put_utf8(&text, texts->items[i].text, texts->items[i].size);
        offsets[i + 1] = (int32_t)text.size;
    }
    if (!offsets || text.failed)
        stream->failed = true;
    buffers[1] = (struct buffer){ offsets, ((size_t)texts->count + 1) * sizeof *offsets };
    buffers[2] = (struct buffer){ text.data, text.size };
    begin_message(stream, HEADER_DICTIONARY, &header, &body);
    put_table(&stream->head, (const uint8_t[]){ 8, 4 }, 2, &header, at);
    set_64(&stream->head, at[0], field);
    set_64(&stream->head, body,
           put_record(&stream->head, at[1], texts->count, &nulls, 1, buffers, 3));
    end_message(stream);
    put_padded(stream, buffers[1].data, buffers[1].bytes);
    put_padded(stream, buffers[2].data, buffers[2].bytes);
    ifg_bytes_fini(&text);
    ifg_free(offsets);
}

void arrow_batch(struct arrow_stream *stream, uint64_t rows, const struct arrow_values *columns)
{
    struct buffer *buffers = ifg_alloc(2 * stream->field_count + 1, sizeof *buffers);
    uint64_t *nulls = ifg_alloc(stream->field_count + 1, sizeof *nulls);
    size_t count = 0;
    size_t header;
    size_t body;

    for (size_t i = 0; buffers && nulls && i < stream->field_count; i++) {
        enum arrow_type type = stream->fields[i].type;

        nulls[i] = type == ARROW_NULL ? rows : columns[i].nulls;
        if (type == ARROW_NULL)
            continue;
        buffers[count++] = (struct buffer){ columns[i].valid, nulls[i] ? (rows + 7) / 8 : 0 };
        buffers[count++] =
            (struct buffer){ columns[i].values, rows * (type == ARROW_TEXT ? 4 : 8) };
    }
    if (!buffers || !nulls) {
        stream->failed = true;
    } else {
        begin_message(stream, HEADER_BATCH, &header, &body);
        set_64(&stream->head, body,
               put_record(&stream->head, header, rows, nulls, stream->field_count, buffers, count));
        end_message(stream);
        for (size_t i = 0; i < count; i++)
            if (buffers[i].bytes)
                put_padded(stream, buffers[i].data, buffers[i].bytes);
    }
    ifg_free(buffers);
    ifg_free(nulls);
}

void arrow_end(struct arrow_stream *stream)
{
    static const uint32_t end[2] = { UINT32_MAX, 0 };

    if (!stream->failed)
        export_put(stream->sink, end, sizeof end);
}

void arrow_fini(struct arrow_stream *stream)
{
    ifg_bytes_fini(&stream->head);
}
