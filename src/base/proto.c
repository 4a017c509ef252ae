// SPDX-License-Identifier: Apache-2.0
/* Text of anybody as a protobuf string: see proto.h. */
#include "base/proto.h"

static const char replacement[] = "\xef\xbf\xbd";

/* How long the character here is; 0: these bytes are none. Neither longer than needed, nor half of
 * a pair, nor beyond the last one. */
static size_t character_bytes(const unsigned char *at)
{
    size_t length = at[0] < 0x80                     ? 1
                    : at[0] >= 0xc2 && at[0] <= 0xdf ? 2
                    : at[0] >= 0xe0 && at[0] <= 0xef ? 3
                    : at[0] >= 0xf0 && at[0] <= 0xf4 ? 4
                                                     : 0;

    for (size_t i = 1; i < length; i++)
        if ((at[i] & 0xc0) != 0x80) /* the end of the text too */
            return 0;
    if ((at[0] == 0xe0 && at[1] < 0xa0) || (at[0] == 0xed && at[1] > 0x9f) ||
        (at[0] == 0xf0 && at[1] < 0x90) || (at[0] == 0xf4 && at[1] > 0x8f))
        return 0;
    return length;
}

void proto_text(struct ifg_bytes *out, uint32_t field, const char *text)
{
    const unsigned char *from = (const unsigned char *)text;
    size_t size = 0;
    uint8_t *at;

    for (const unsigned char *c = from; *c;) {
        size_t length = character_bytes(c);

        size += length ? length : sizeof replacement - 1;
        c += length ? length : 1;
    }
    if (!ifg_bytes_reserve(out, PROTO_TAG_MAX + size))
        return;
    at = ifg_varint_write(out->data + out->size, (uint64_t)field << 3 | 2);
    at = ifg_varint_write(at, size);
    while (*from) {
        size_t length = character_bytes(from);

        memcpy(at, length ? (const void *)from : replacement,
               length ? length : sizeof replacement - 1);
        at += length ? length : sizeof replacement - 1;
        from += length ? length : 1;
    }
    out->size = (size_t)(at - out->data);
}
