// SPDX-License-Identifier: Apache-2.0
/* Growable bytes and safe cursors: see bytes.h. */
#include "base/bytes.h"

#include <string.h>

#include "base/alloc.h"

void ifg_bytes_init(struct ifg_bytes *bytes, size_t ceiling)
{
    memset(bytes, 0, sizeof *bytes);
    bytes->ceiling = ceiling;
}

void ifg_bytes_fini(struct ifg_bytes *bytes)
{
    ifg_free(bytes->data);
    memset(bytes, 0, sizeof *bytes);
}

void ifg_bytes_clear(struct ifg_bytes *bytes)
{
    bytes->size = 0;
    bytes->failed = false;
}

bool ifg_bytes_reserve(struct ifg_bytes *bytes, size_t more)
{
    size_t needed;
    size_t capacity;
    uint8_t *data;

    if (bytes->failed)
        return false;
    if (__builtin_add_overflow(bytes->size, more, &needed) || needed > bytes->ceiling) {
        bytes->failed = true;
        return false;
    }
    if (needed <= bytes->capacity)
        return true;
    capacity = bytes->capacity ? bytes->capacity : 256;
    while (capacity < needed && capacity < bytes->ceiling / 2)
        capacity += capacity / 2 + 64;
    if (capacity < needed || capacity > bytes->ceiling)
        capacity = bytes->ceiling;
    data = ifg_realloc(bytes->data, capacity, 1);
    if (!data) {
        bytes->failed = true;
        return false;
    }
    bytes->data = data;
    bytes->capacity = capacity;
    return true;
}

void ifg_bytes_put(struct ifg_bytes *bytes, const void *data, size_t size)
{
    if (!ifg_bytes_reserve(bytes, size))
        return;
    if (size)
        memcpy(bytes->data + bytes->size, data, size);
    bytes->size += size;
}

void ifg_bytes_put_varint(struct ifg_bytes *bytes, uint64_t value)
{
    uint8_t encoded[IFG_VARINT_MAX];

    if (!bytes->failed && bytes->capacity - bytes->size >= IFG_VARINT_MAX) { /* nearly always */
        bytes->size = (size_t)(ifg_varint_write(bytes->data + bytes->size, value) - bytes->data);
        return;
    }
    ifg_bytes_put(bytes, encoded, (size_t)(ifg_varint_write(encoded, value) - encoded));
}

void ifg_bytes_put_string(struct ifg_bytes *bytes, const char *text, size_t length)
{
    ifg_bytes_put_varint(bytes, length);
    ifg_bytes_put(bytes, text, length);
}

uint8_t ifg_cursor_byte(struct ifg_cursor *cursor)
{
    if (cursor->at == cursor->end) {
        cursor->failed = true;
        return 0;
    }
    return *cursor->at++;
}

const uint8_t *ifg_cursor_take(struct ifg_cursor *cursor, size_t size)
{
    const uint8_t *start = cursor->at;

    if (cursor->failed || size > ifg_cursor_left(cursor)) {
        cursor->failed = true;
        return NULL;
    }
    cursor->at += size;
    return start;
}

const char *ifg_cursor_string(struct ifg_cursor *cursor, size_t *out_length)
{
    uint64_t length = ifg_cursor_varint(cursor);
    const uint8_t *text;

    *out_length = 0;
    if (cursor->failed || length > ifg_cursor_left(cursor)) {
        cursor->failed = true;
        return "";
    }
    text = ifg_cursor_take(cursor, (size_t)length);
    if (!text)
        return "";
    *out_length = (size_t)length;
    return (const char *)text;
}
