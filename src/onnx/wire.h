// SPDX-License-Identifier: Apache-2.0
/*
 * Protocol buffers from a file or from memory. A file is read through a small window and never
 * mapped: it may shrink while we look at it, and what is stepped over (weights) is not read at all.
 *
 * The first failure stays in `status` and `err`; after it, nothing more is read.
 */
#ifndef IFG_ONNX_WIRE_H
#define IFG_ONNX_WIRE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

#define WIRE_WINDOW_BYTES (16u << 10)

struct wire {
    const char *path;    /* for messages */
    const uint8_t *data; /* NULL: a file */
    int fd;
    uint64_t bytes;
    uint64_t window_at;
    size_t window_bytes;
    uint8_t *window; /* WIRE_WINDOW_BYTES of a file */
    enum ifg_status status;
    struct ifg_error *err;
};

enum wire_type { WIRE_VARINT = 0, WIRE_FIXED64 = 1, WIRE_BYTES = 2, WIRE_FIXED32 = 5 };

struct wire_span {
    uint64_t at;
    uint64_t end;
};

/* What a message is called and what its fields are, for messages to people. */
struct wire_names {
    const char *name;
    const char *const *fields; /* by number; may have gaps */
    size_t count;
};

struct wire_field {
    uint32_t number;
    enum wire_type type;
    uint64_t at;            /* of its tag */
    uint64_t value;         /* of a number */
    struct wire_span bytes; /* of what has a length */
};

/* One number for a switch: field number and how it is written. Others are stepped over. */
#define WIRE_FIELD(number, type) ((uint64_t)(number) << 3 | (uint64_t)(type))

static inline uint64_t wire_key(const struct wire_field *field)
{
    return WIRE_FIELD(field->number, field->type);
}

static inline uint64_t wire_length(struct wire_span span)
{
    return span.end - span.at;
}

/* The next field; false at the end, or when something is wrong (wire->status). */
bool wire_next(struct wire *wire, struct wire_span *in, const struct wire_names *names,
               struct wire_field *out);

/* One packed number. False at the end or when something is wrong. */
bool wire_packed(struct wire *wire, struct wire_span *in, enum wire_type type, uint64_t *out);

/* Up to `bytes` bytes at a place; fewer only at the end of the file. */
size_t wire_read(struct wire *wire, uint64_t at, void *out, size_t bytes);

/* Notes the first failure, with the path before it. Returns false. */
bool wire_fail(struct wire *wire, enum ifg_status status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

#endif
