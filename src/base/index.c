// SPDX-License-Identifier: Apache-2.0
/* Positions by hash: see index.h. */
#include "base/index.h"

#include "base/alloc.h"

#define FIRST_SLOTS 256u

bool ifg_index_grow(struct ifg_index *index, size_t count, ifg_index_hash *hash_of,
                    const void *items)
{
    struct ifg_index larger = { .size = index->size ? index->size * 2 : FIRST_SLOTS };

    while (count >= larger.size / 2)
        larger.size *= 2;
    if (count >= UINT32_MAX)
        return false;
    larger.slots = ifg_alloc(larger.size, sizeof *larger.slots);
    if (!larger.slots)
        return false;
    for (size_t i = 0; i < count; i++) {
        size_t at = ifg_index_first(&larger, hash_of(items, i));

        while (larger.slots[at])
            at = ifg_index_next(&larger, at);
        larger.slots[at] = (uint32_t)i + 1;
    }
    ifg_free(index->slots);
    *index = larger;
    return true;
}

void ifg_index_fini(struct ifg_index *index)
{
    ifg_free(index->slots);
    *index = (struct ifg_index){ 0 };
}
