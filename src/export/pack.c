// SPDX-License-Identifier: Apache-2.0
/* Bytes for a page that is one file: see pack.h. */
#include "export/pack.h"

#include <string.h>
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

    if (!ifg_bytes_reserve(out, (size + 2) / 3 * 4))
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

/* ---- SHA-256 (FIPS 180-4) ---- */

static uint32_t turn(uint32_t word, unsigned bits)
{
    return word >> bits | word << (32 - bits);
}

static void sha256_block(uint32_t state[8], const uint8_t *block)
{
    static const uint32_t constants[64] = {
        0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4,
        0xab1c5ed5, 0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe,
        0x9bdc06a7, 0xc19bf174, 0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f,
        0x4a7484aa, 0x5cb0a9dc, 0x76f988da, 0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7,
        0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967, 0x27b70a85, 0x2e1b2138, 0x4d2c6dfc,
        0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85, 0xa2bfe8a1, 0xa81a664b,
        0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070, 0x19a4c116,
        0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
        0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7,
        0xc67178f2,
    };
    uint32_t words[64];
    uint32_t s[8];

    for (size_t i = 0; i < 16; i++)
        words[i] = (uint32_t)block[4 * i] << 24 | (uint32_t)block[4 * i + 1] << 16 |
                   (uint32_t)block[4 * i + 2] << 8 | block[4 * i + 3];
    for (size_t i = 16; i < 64; i++) {
        uint32_t a = words[i - 15];
        uint32_t b = words[i - 2];

        words[i] = words[i - 16] + (turn(a, 7) ^ turn(a, 18) ^ a >> 3) + words[i - 7] +
                   (turn(b, 17) ^ turn(b, 19) ^ b >> 10);
    }
    memcpy(s, state, sizeof s);
    for (size_t i = 0; i < 64; i++) {
        uint32_t one = s[7] + (turn(s[4], 6) ^ turn(s[4], 11) ^ turn(s[4], 25)) +
                       ((s[4] & s[5]) ^ (~s[4] & s[6])) + constants[i] + words[i];
        uint32_t two = (turn(s[0], 2) ^ turn(s[0], 13) ^ turn(s[0], 22)) +
                       ((s[0] & s[1]) ^ (s[0] & s[2]) ^ (s[1] & s[2]));

        memmove(s + 1, s, 7 * sizeof s[0]);
        s[4] += one;
        s[0] = one + two;
    }
    for (size_t i = 0; i < 8; i++)
        state[i] += s[i];
}

void pack_sha256(const void *data, size_t size, uint8_t out[PACK_SHA256_BYTES])
{
    uint32_t state[8] = { 0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                          0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19 };
    const uint8_t *in = data;
    uint8_t last[128] = { 0 };
    size_t rest = size % 64;
    size_t length = rest < 56 ? 64 : 128;

    for (size_t i = 0; i + 64 <= size; i += 64)
        sha256_block(state, in + i);
    if (rest)
        memcpy(last, in + size - rest, rest);
    last[rest] = 0x80;
    for (size_t i = 0; i < 8; i++)
        last[length - 1 - i] = (uint8_t)((uint64_t)size * 8 >> (8 * i));
    for (size_t i = 0; i < length; i += 64)
        sha256_block(state, last + i);
    for (size_t i = 0; i < PACK_SHA256_BYTES; i++)
        out[i] = (uint8_t)(state[i / 4] >> (24 - 8 * (i % 4)));
}
