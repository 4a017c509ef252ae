// SPDX-License-Identifier: Apache-2.0
/*
 * The addresses of picked allocations, so that their ends can be told. A fixed size, no locks: an
 * address is put here before the program has it and is taken out before it is given back.
 *
 * A filter in front says "certainly not" for nearly every address, from a line of cache that
 * neighbouring addresses share.
 */
#ifndef IFG_HOOKS_MEMORY_PICKED_H
#define IFG_HOOKS_MEMORY_PICKED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PICKED_FILTER  8192u
#define PICKED_BUCKETS 8192u
#define PICKED_EACH    8u /* a line of cache */

struct picked {
    uint8_t filter[PICKED_FILTER]; /* how many; one that is full stays so */
    uintptr_t buckets[PICKED_BUCKETS][PICKED_EACH];
};

static inline size_t picked_filter_index(uintptr_t address)
{
    return (address >> 4 ^ address >> 20) % PICKED_FILTER;
}

/* Whether it may be there. */
static inline bool picked_may_have(const struct picked *picked, const void *block)
{
    return __atomic_load_n(&picked->filter[picked_filter_index((uintptr_t)block)],
                           __ATOMIC_RELAXED);
}

/* False: there is no room. */
bool picked_put(struct picked *picked, const void *block);
/* Whether it was there; it is not any more. */
bool picked_take(struct picked *picked, const void *block);

/* Addresses that only have to be noticed, for ever. */
void picked_mark(struct picked *picked, const void *block);

#endif
