// SPDX-License-Identifier: Apache-2.0
/* Arrays that grow: see array.h. */
#include "base/array.h"

#include <string.h>

#include "base/alloc.h"

#define FIRST_ITEMS 16u

bool ifg_array_grow(void *items, size_t *capacity, size_t item_bytes, size_t wanted, size_t most)
{
    size_t grown = *capacity > most / 2 ? most : *capacity * 2;
    void *block;

    if (wanted <= *capacity)
        return true;
    if (wanted > most)
        return false;
    if (grown < FIRST_ITEMS)
        grown = FIRST_ITEMS < most ? FIRST_ITEMS : most;
    if (grown < wanted)
        grown = wanted;
    memcpy(&block, items, sizeof block); /* a pointer of whatever type */
    block = ifg_realloc(block, grown, item_bytes);
    if (!block)
        return false;
    memcpy(items, &block, sizeof block);
    *capacity = grown;
    return true;
}

bool ifg_array_grow_zeroed(void *items, size_t *capacity, size_t item_bytes, size_t wanted,
                           size_t most)
{
    size_t before = *capacity;
    char *block;

    if (!ifg_array_grow(items, capacity, item_bytes, wanted, most))
        return false;
    memcpy(&block, items, sizeof block);
    memset(block + before * item_bytes, 0, (*capacity - before) * item_bytes);
    return true;
}
