// SPDX-License-Identifier: Apache-2.0
/* Positions by hash: see index.h. */
#include "base/index.h"

#include <string.h>

#include "base/alloc.h"

#define FIRST_SLOTS 256u

bool ifg_index_reserve(struct ifg_index *index, size_t count)
{
    size_t size = FIRST_SLOTS;

    while (count > size / 2)
        size *= 2;
    index->slots = count <= UINT32_MAX ? ifg_alloc(size, sizeof *index->slots) : NULL;
    index->size = index->slots ? size : 0;
    return index->slots != NULL;
}

bool ifg_index_grow(struct ifg_index *index, size_t count, ifg_index_hash *hash_of,
                    const void *items)
{
    struct ifg_index larger;

    if (!ifg_index_reserve(&larger, count + 1))
        return false;
    for (size_t i = 0; i < count; i++)
        ifg_index_put(&larger, hash_of(items, i), i);
    ifg_free(index->slots);
    *index = larger;
    return true;
}

static size_t slot_of(const struct ifg_index *index, size_t position, uint64_t hash)
{
    size_t at = (size_t)hash & (index->size - 1);

    while (index->slots[at] != position + 1)
        at = (at + 1) & (index->size - 1);
    return at;
}

void ifg_index_remove(struct ifg_index *index, size_t position, size_t count,
                      ifg_index_hash *hash_of, void *items, size_t item_bytes)
{
    size_t mask = index->size - 1;
    size_t hole = slot_of(index, position, hash_of(items, position));

    /* Whatever was pushed aside by it moves back, so that there are no gaps on any way. */
    for (size_t at = (hole + 1) & mask; index->slots[at]; at = (at + 1) & mask) {
        size_t home = (size_t)hash_of(items, index->slots[at] - 1) & mask;

        if (((at - home) & mask) >= ((at - hole) & mask)) {
            index->slots[hole] = index->slots[at];
            hole = at;
        }
    }
    index->slots[hole] = 0;
    if (position != count - 1) {
        index->slots[slot_of(index, count - 1, hash_of(items, count - 1))] = (uint32_t)position + 1;
        memcpy((char *)items + position * item_bytes, (char *)items + (count - 1) * item_bytes,
               item_bytes);
    }
}

void ifg_index_fini(struct ifg_index *index)
{
    ifg_free(index->slots);
    *index = (struct ifg_index){ 0 };
}
