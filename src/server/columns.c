// SPDX-License-Identifier: Apache-2.0
/* Binary answers: see columns.h. */
#include "server/columns.h"

#if __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "columns are written as they lie in memory, which must be little-endian"
#endif

void columns_header(struct ifg_bytes *out, uint32_t magic, uint32_t count, uint32_t rows, double t0,
                    double t1)
{
    const uint32_t words[4] = { magic, 1, count, rows };

    ifg_bytes_put(out, words, sizeof words);
    ifg_bytes_put(out, &t0, sizeof t0);
    ifg_bytes_put(out, &t1, sizeof t1);
}

void columns_put(struct ifg_bytes *out, const void *values, size_t count, size_t size)
{
    static const uint8_t zeros[8];

    ifg_bytes_put(out, values, count * size);
    ifg_bytes_put(out, zeros, (8 - count * size % 8) % 8);
}
