// SPDX-License-Identifier: Apache-2.0
/*
 * A trace file whose checksums are made right: a fuzzer's changes then reach what is behind them.
 * Offsets are those of docs/trace-format.md.
 */
#ifndef IFG_TESTS_MENDED_H
#define IFG_TESTS_MENDED_H

#include <libdeflate.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define MENDED_HEADER        64u
#define MENDED_PAYLOAD_BYTES 40u
#define MENDED_PAYLOAD_CRC   44u
#define MENDED_HEADER_CRC    60u

static inline void mended_put_crc(uint8_t *at, const uint8_t *data, size_t size)
{
    uint32_t crc = libdeflate_crc32(0, data, size);

    memcpy(at, &crc, sizeof crc);
}

static inline void mended_trace(uint8_t *file, size_t size)
{
    size_t at = MENDED_HEADER;

    if (size < MENDED_HEADER)
        return;
    mended_put_crc(file + MENDED_HEADER_CRC, file, MENDED_HEADER_CRC);
    while (size - at >= MENDED_HEADER) {
        uint32_t payload;

        memcpy(&payload, file + at + MENDED_PAYLOAD_BYTES, sizeof payload);
        if (memcmp(file + at, "IFGb", 4) != 0 || payload > size - at - MENDED_HEADER) {
            at++;
            continue;
        }
        mended_put_crc(file + at + MENDED_PAYLOAD_CRC, file + at + MENDED_HEADER, payload);
        mended_put_crc(file + at + MENDED_HEADER_CRC, file + at, MENDED_HEADER_CRC);
        at += MENDED_HEADER + payload;
    }
}

#endif
