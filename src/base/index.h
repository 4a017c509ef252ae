// SPDX-License-Identifier: Apache-2.0
/*
 * Finding the items of an array by what is in them: an open-addressed table of their positions. The
 * array, the hash and the comparison are the caller's; nothing is ever taken out.
 *
 *     if (!ifg_index_room(&index, count, hash_of, items))
 *         return NULL;
 *     for (at = ifg_index_first(&index, hash); index.slots[at]; at = ifg_index_next(&index, at))
 *         if (is_same(&items[index.slots[at] - 1], wanted))
 *             return &items[index.slots[at] - 1];
 *     index.slots[at] = (uint32_t)++count;
 */
#ifndef IFG_BASE_INDEX_H
#define IFG_BASE_INDEX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct ifg_index {
    uint32_t *slots; /* position + 1; 0 is free. At most half of them are taken */
    size_t size;     /* a power of two, or 0 */
};

typedef uint64_t ifg_index_hash(const void *items, size_t position);

/* Room for one more than the `count` items there are, which are put in anew if the table has to
 * grow. False: no memory; the table is as it was. */
bool ifg_index_grow(struct ifg_index *index, size_t count, ifg_index_hash *hash_of,
                    const void *items) __attribute__((warn_unused_result));
void ifg_index_fini(struct ifg_index *index);

static inline bool ifg_index_room(struct ifg_index *index, size_t count, ifg_index_hash *hash_of,
                                  const void *items)
{
    return count < index->size / 2 || ifg_index_grow(index, count, hash_of, items);
}

static inline size_t ifg_index_first(const struct ifg_index *index, uint64_t hash)
{
    return (size_t)hash & (index->size - 1);
}

static inline size_t ifg_index_next(const struct ifg_index *index, size_t at)
{
    return (at + 1) & (index->size - 1);
}

#endif
