// SPDX-License-Identifier: Apache-2.0
/*
 * The protobuf wire format, written by hand: fields into growable bytes. A message inside another
 * is built in bytes of its own first, since its length comes before it.
 */
#ifndef IFG_BASE_PROTO_H
#define IFG_BASE_PROTO_H

#include <string.h>

#include "base/bytes.h"

#define PROTO_TAG_MAX (2 * IFG_VARINT_MAX)

static inline void proto_uint(struct ifg_bytes *out, uint32_t field, uint64_t value)
{
    uint8_t *at;

    if (!ifg_bytes_reserve(out, PROTO_TAG_MAX))
        return;
    at = ifg_varint_write(out->data + out->size, (uint64_t)field << 3);
    at = ifg_varint_write(at, value);
    out->size = (size_t)(at - out->data);
}

static inline void proto_fixed64(struct ifg_bytes *out, uint32_t field, uint64_t value)
{
    uint8_t *at;

    if (!ifg_bytes_reserve(out, PROTO_TAG_MAX))
        return;
    at = ifg_varint_write(out->data + out->size, (uint64_t)field << 3 | 1);
    for (int i = 0; i < 8; i++)
        *at++ = (uint8_t)(value >> (8 * i));
    out->size = (size_t)(at - out->data);
}

static inline void proto_double(struct ifg_bytes *out, uint32_t field, double value)
{
    uint64_t bits;

    memcpy(&bits, &value, sizeof bits);
    proto_fixed64(out, field, bits);
}

/* Bytes, a string, or a message that is complete. */
static inline void proto_bytes(struct ifg_bytes *out, uint32_t field, const void *data, size_t size)
{
    uint8_t *at;

    if (!ifg_bytes_reserve(out, PROTO_TAG_MAX + size))
        return;
    at = ifg_varint_write(out->data + out->size, (uint64_t)field << 3 | 2);
    at = ifg_varint_write(at, size);
    if (size)
        memcpy(at, data, size);
    out->size = (size_t)(at + size - out->data);
}

/* A string of anybody: what is no UTF-8 becomes U+FFFD, else readers refuse the whole message. */
void proto_text(struct ifg_bytes *out, uint32_t field, const char *text);

static inline void proto_string(struct ifg_bytes *out, uint32_t field, const char *text)
{
    proto_bytes(out, field, text, strlen(text));
}

static inline void proto_message(struct ifg_bytes *out, uint32_t field,
                                 const struct ifg_bytes *message)
{
    if (message->failed)
        out->failed = true;
    else
        proto_bytes(out, field, message->data, message->size);
}

#endif
