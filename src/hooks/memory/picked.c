// SPDX-License-Identifier: Apache-2.0
/* The table of picked allocations and the filter in front of it, without locks. */
#include "hooks/memory/picked.h"

#define NEIGHBOURS 2u /* buckets that an address may be in */

static size_t bucket_of(uintptr_t address)
{
    uint64_t hash = (uint64_t)(address >> 4) * 0x9e3779b97f4a7c15ull;

    return (size_t)(hash >> 40) % PICKED_BUCKETS;
}

static void count(uint8_t *counter, bool more)
{
    uint8_t old = __atomic_load_n(counter, __ATOMIC_RELAXED);

    while (old != UINT8_MAX &&
           !__atomic_compare_exchange_n(counter, &old, (uint8_t)(more ? old + 1 : old - 1), false,
                                        __ATOMIC_RELAXED, __ATOMIC_RELAXED))
        continue;
}

/* Addresses are kept in a form that is none: who looks for forgotten memory (a sanitizer, a garbage
 * collector) must not find it here. */
static uintptr_t disguise(uintptr_t address)
{
    return ~address;
}

/* Puts `after` where `before` is. */
static bool exchange(struct picked *picked, uintptr_t address, uintptr_t before, uintptr_t after)
{
    size_t bucket = bucket_of(address);

    for (size_t i = 0; i < NEIGHBOURS * PICKED_EACH; i++) {
        uintptr_t *slot = &picked->buckets[bucket ^ i / PICKED_EACH][i % PICKED_EACH];
        uintptr_t expected = before;

        if (__atomic_load_n(slot, __ATOMIC_RELAXED) == before &&
            __atomic_compare_exchange_n(slot, &expected, after, false, __ATOMIC_RELAXED,
                                        __ATOMIC_RELAXED))
            return true;
    }
    return false;
}

bool picked_put(struct picked *picked, const void *block)
{
    uintptr_t address = (uintptr_t)block;

    if (!address || !exchange(picked, address, 0, disguise(address)))
        return false;
    count(&picked->filter[picked_filter_index(address)], true);
    return true;
}

bool picked_take(struct picked *picked, const void *block)
{
    uintptr_t address = (uintptr_t)block;

    if (!address || !exchange(picked, address, disguise(address), 0))
        return false;
    count(&picked->filter[picked_filter_index(address)], false);
    return true;
}

void picked_mark(struct picked *picked, const void *block)
{
    __atomic_store_n(&picked->filter[picked_filter_index((uintptr_t)block)], UINT8_MAX,
                     __ATOMIC_RELAXED);
}
