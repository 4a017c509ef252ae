// SPDX-License-Identifier: Apache-2.0
/*
 * Arrays that grow. The owner keeps pointer, count and capacity as it likes; this makes room, twice
 * as much each time, and never beyond a ceiling that the caller names.
 *
 *     if (!IFG_ARRAY_ROOM(list->items, list->capacity, list->count + 1, ITEMS_MAX))
 *         return false;
 *     list->items[list->count++] = item;
 */
#ifndef IFG_BASE_ARRAY_H
#define IFG_BASE_ARRAY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What it holds is bounded elsewhere: by a file's size, by another table, by --max-memory. */
#define IFG_ARRAY_ANY SIZE_MAX

/* Room for `wanted` items; `items` is the address of the pointer to them. False: no memory, or more
 * than `most`; then all is as it was. New items are not zeroed. */
bool ifg_array_grow(void *items, size_t *capacity, size_t item_bytes, size_t wanted, size_t most)
    __attribute__((warn_unused_result));

/* The same, with new items all zero: those of an array in which the position is a number. */
bool ifg_array_grow_zeroed(void *items, size_t *capacity, size_t item_bytes, size_t wanted,
                           size_t most) __attribute__((warn_unused_result));

#define IFG_ARRAY_ROOM(items, capacity, wanted, most)                                              \
    (__builtin_expect((wanted) <= (capacity), 1) ||                                                \
     ifg_array_grow(&(items), &(capacity), IFG_ARRAY_ITEM_BYTES(items), (wanted), (most)))

#define IFG_ARRAY_ROOM_ZEROED(items, capacity, wanted, most)                                       \
    (__builtin_expect((wanted) <= (capacity), 1) ||                                                \
     ifg_array_grow_zeroed(&(items), &(capacity), IFG_ARRAY_ITEM_BYTES(items), (wanted), (most)))

/* A void pointer does not say how large its items are: that does not compile. */
#define IFG_ARRAY_ITEM_BYTES(items)                                                                \
    (sizeof *(items) * sizeof(char[_Generic((items), void * : -1, default : 1)]))

#endif
