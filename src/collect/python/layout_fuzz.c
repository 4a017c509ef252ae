// SPDX-License-Identifier: Apache-2.0
/*
 * The offsets that an interpreter says of itself, by a program that lies. Strategies:
 *
 * 1. The input is the table: other versions, cut at any place.
 * 2. The same behind the words that every table of 3.13 and of 3.14 begins with.
 *
 * What is taken leads nowhere outside of what is read of a frame or of a code object.
 */
#include "collect/python/layout.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(const uint8_t *bytes, size_t size)
{
    struct python_layout layout;

    if (!python_layout_parse(bytes, size, &layout))
        return;
    if (layout.chain.frame_code + 8 > CHAIN_BLOB || layout.chain.frame_previous + 8 > CHAIN_BLOB ||
        layout.chain.frame_instruction + 8 > CHAIN_BLOB || layout.chain.frame_owner >= CHAIN_BLOB ||
        layout.code_bytes > 1024 || layout.chain.code_name + 8 > layout.code_bytes ||
        layout.chain.code_file + 8 > layout.code_bytes ||
        layout.code_lines + 8 > layout.code_bytes ||
        layout.chain.code_line + 4 > layout.code_bytes ||
        layout.code_qualified_name + 8 > layout.code_bytes)
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    check(data, size);
    for (unsigned minor = 13; minor <= 14; minor++) {
        uint64_t head[3] = { 0, 3ull << 24 | (uint64_t)minor << 16, 0 };
        uint8_t *bytes = malloc(sizeof head + size); /* of exactly this size, for the sanitizer */

        if (!bytes)
            return 0;
        memcpy(head, "xdebugpy", 8);
        memcpy(bytes, head, sizeof head);
        if (size)
            memcpy(bytes + sizeof head, data, size);
        check(bytes, sizeof head + size);
        free(bytes);
    }
    return 0;
}
