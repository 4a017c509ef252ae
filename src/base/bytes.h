// SPDX-License-Identifier: Apache-2.0
/*
 * Growable bytes with a ceiling, a cursor that cannot read past its end, and the variable-length
 * integers that both speak.
 *
 * A writer that fails remembers it (`failed`), so that a long sequence of puts is checked once at
 * its end; likewise a cursor. Integers are LEB128; signed ones are zigzag-folded first.
 */
#ifndef IFG_BASE_BYTES_H
#define IFG_BASE_BYTES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define IFG_VARINT_MAX 10 /* bytes a 64-bit value can take */

struct ifg_bytes {
    uint8_t *data;
    size_t size;
    size_t capacity;
    size_t ceiling; /* never grows beyond this many bytes */
    bool failed;    /* memory or ceiling was hit; everything after it was ignored */
};

void ifg_bytes_init(struct ifg_bytes *bytes, size_t ceiling);
void ifg_bytes_fini(struct ifg_bytes *bytes);
void ifg_bytes_clear(struct ifg_bytes *bytes);
bool ifg_bytes_reserve(struct ifg_bytes *bytes, size_t more);
void ifg_bytes_put(struct ifg_bytes *bytes, const void *data, size_t size);
void ifg_bytes_put_varint(struct ifg_bytes *bytes, uint64_t value);
void ifg_bytes_put_string(struct ifg_bytes *bytes, const char *text, size_t length);

/* Writes without a bounds check: the caller has IFG_VARINT_MAX bytes of room. Returns the new end.
 */
static inline uint8_t *ifg_varint_write(uint8_t *out, uint64_t value)
{
    while (value >= 0x80) {
        *out++ = (uint8_t)(value | 0x80);
        value >>= 7;
    }
    *out++ = (uint8_t)value;
    return out;
}

static inline uint64_t ifg_zigzag(int64_t value)
{
    return ((uint64_t)value << 1) ^ (uint64_t)(value >> 63);
}

static inline int64_t ifg_unzigzag(uint64_t value)
{
    return (int64_t)(value >> 1) ^ -(int64_t)(value & 1);
}

/* Reads from memory it does not own; any read past the end sets `failed` and yields zero. */
struct ifg_cursor {
    const uint8_t *at;
    const uint8_t *end;
    bool failed;
};

static inline struct ifg_cursor ifg_cursor_over(const void *data, size_t size)
{
    const uint8_t *start = data;
    struct ifg_cursor cursor = { start, size ? start + size : start, false };

    return cursor;
}

static inline size_t ifg_cursor_left(const struct ifg_cursor *cursor)
{
    return (size_t)(cursor->end - cursor->at);
}

static inline uint64_t ifg_cursor_varint(struct ifg_cursor *cursor)
{
    uint64_t value = 0;
    unsigned shift = 0;

    while (cursor->at < cursor->end && shift < 64) {
        uint8_t byte = *cursor->at++;

        if (shift == 63 && byte > 1)
            break; /* more than 64 bits */
        value |= (uint64_t)(byte & 0x7f) << shift;
        if (byte < 0x80)
            return value;
        shift += 7;
    }
    cursor->failed = true;
    return 0;
}

uint8_t ifg_cursor_byte(struct ifg_cursor *cursor);

/* A length-prefixed string inside the cursor's memory; not NUL-terminated. */
const char *ifg_cursor_string(struct ifg_cursor *cursor, size_t *out_length);

/* `size` raw bytes, or NULL and failed. */
const uint8_t *ifg_cursor_take(struct ifg_cursor *cursor, size_t size);

#endif
