// SPDX-License-Identifier: Apache-2.0
/*
 * Finding the items of an array by what is in them: an open-addressed table of their positions. The
 * array, the hash and the comparison are the caller's.
 *
 *     number = ifg_index_find(&index, hash, is_same, items, &item);
 *     if (number)
 *         return &items[number - 1];
 *     if (!IFG_ARRAY_ROOM(items, capacity, count + 1, ITEMS_MAX) ||
 *         !ifg_index_room(&index, count, hash_of, items))
 *         return NULL;
 *     items[count] = item;
 *     ifg_index_put(&index, hash, count++);
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
typedef bool ifg_index_same(const void *items, size_t position, const void *wanted);

/* Room for one more than the `count` items there are, which are put in anew if the table has to
 * grow. False: no memory; the table is as it was. */
bool ifg_index_grow(struct ifg_index *index, size_t count, ifg_index_hash *hash_of,
                    const void *items) __attribute__((warn_unused_result));

/* Room for so many in one go, for one that is empty. False: no memory. */
bool ifg_index_reserve(struct ifg_index *index, size_t count) __attribute__((warn_unused_result));
void ifg_index_fini(struct ifg_index *index);

/* Takes the item at a position out of both: the last of the `count` items is in its place then.
 * Their hashes must be those they were put in with. */
void ifg_index_remove(struct ifg_index *index, size_t position, size_t count,
                      ifg_index_hash *hash_of, void *items, size_t item_bytes);

static inline bool ifg_index_room(struct ifg_index *index, size_t count, ifg_index_hash *hash_of,
                                  const void *items)
{
    return count < index->size / 2 || ifg_index_grow(index, count, hash_of, items);
}

/* The position + 1 of the item that is the same as the wanted one; 0: there is none. Inline, so
 * that the comparison is, too. */
__attribute__((always_inline)) static inline uint32_t
ifg_index_find(const struct ifg_index *index, uint64_t hash, ifg_index_same *is_same,
               const void *items, const void *wanted)
{
    if (!index->size)
        return 0;
    for (size_t at = (size_t)hash & (index->size - 1);; at = (at + 1) & (index->size - 1))
        if (!index->slots[at] || is_same(items, index->slots[at] - 1, wanted))
            return index->slots[at];
}

/* A new item; there is room for it. */
static inline void ifg_index_put(struct ifg_index *index, uint64_t hash, size_t position)
{
    size_t at = (size_t)hash & (index->size - 1);

    while (index->slots[at])
        at = (at + 1) & (index->size - 1);
    index->slots[at] = (uint32_t)position + 1;
}

#endif
