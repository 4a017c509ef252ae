// SPDX-License-Identifier: Apache-2.0
/* Bytes for a page that is one file: see pack.h. */
#include "export/pack.h"

#include <sha2.h>
#include <zlib.h>

#define DEFLATE_ROOM (64u << 10)

enum ifg_status pack_deflate(const void *data, size_t size, struct ifg_bytes *out)
{
    z_stream stream = { 0 };
    const uint8_t *at = data;
    int result = Z_OK;

    if (deflateInit2(&stream, 9, Z_DEFLATED, -MAX_WBITS, 9, Z_DEFAULT_STRATEGY) != Z_OK)
        return IFG_NO_MEMORY;
    while (result == Z_OK && ifg_bytes_reserve(out, DEFLATE_ROOM)) {
        uInt part = size < 1u << 30 ? (uInt)size : 1u << 30;

        stream.next_in = (Bytef *)(uintptr_t)at;
        stream.avail_in = part;
        stream.next_out = out->data + out->size;
        stream.avail_out = DEFLATE_ROOM;
        result = deflate(&stream, part == size ? Z_FINISH : Z_NO_FLUSH);
        if (part) /* of nothing there may be no address to add to */
            at += part - stream.avail_in;
        size -= part - stream.avail_in;
        out->size += DEFLATE_ROOM - stream.avail_out;
        if (result == Z_BUF_ERROR)
            result = Z_OK; /* more room is all it needs */
    }
    deflateEnd(&stream);
    return result == Z_STREAM_END ? IFG_OK : IFG_NO_MEMORY;
}

void pack_base64(const void *data, size_t size, struct ifg_bytes *out)
{
    static const char letters[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    const uint8_t *in = data;
    uint8_t *to;

    if (!size || !ifg_bytes_reserve(out, (size + 2) / 3 * 4))
        return;
    to = out->data + out->size;
    for (size_t i = 0; i < size; i += 3) {
        uint32_t word = (uint32_t)in[i] << 16 | (i + 1 < size ? (uint32_t)in[i + 1] << 8 : 0) |
                        (i + 2 < size ? in[i + 2] : 0);

        *to++ = (uint8_t)letters[word >> 18];
        *to++ = (uint8_t)letters[word >> 12 & 63];
        *to++ = (uint8_t)(i + 1 < size ? letters[word >> 6 & 63] : '=');
        *to++ = (uint8_t)(i + 2 < size ? letters[word & 63] : '=');
    }
    out->size = (size_t)(to - out->data);
}

void pack_sha256(const void *data, size_t size, uint8_t out[PACK_SHA256_BYTES])
{
    SHA2_CTX context;

    SHA256Init(&context);
    SHA256Update(&context, data, size);
    SHA256Final(out, &context);
}
