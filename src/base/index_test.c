// SPDX-License-Identifier: Apache-2.0
/* Items are found by what is in them, through growth and removal, also where hashes collide. */
#include "base/index.h"

#include "base/alloc.h"
#include "base/hash.h"
#include "tap.h"

#define ITEMS 5000u

static uint32_t items[ITEMS];
static size_t count;

/* Eight hashes to a run: most items are pushed aside by others. */
static uint64_t hash_of(const void *array, size_t position)
{
    return ifg_hash_pair(((const uint32_t *)array)[position], 0) & ~(uint64_t)7;
}

static bool is_same(const void *array, size_t position, const void *wanted)
{
    return ((const uint32_t *)array)[position] == *(const uint32_t *)wanted;
}

static uint32_t find(const struct ifg_index *index, uint32_t item)
{
    return ifg_index_find(index, hash_of(&item, 0), is_same, items, &item);
}

static void fill(struct ifg_index *index)
{
    for (count = 0; count < ITEMS; count++) {
        REQUIRE(ifg_index_room(index, count, hash_of, items));
        items[count] = (uint32_t)count * 3;
        ifg_index_put(index, hash_of(items, count), count);
    }
}

static void all_are_found(void)
{
    struct ifg_index index = { 0 };

    CHECK_UINT(find(&index, 0), 0); /* nothing is in it */
    fill(&index);
    for (uint32_t i = 0; i < ITEMS; i++)
        REQUIRE_UINT(find(&index, i * 3), i + 1);
    CHECK_UINT(find(&index, 1), 0);
    ifg_index_fini(&index);
    CHECK_UINT(find(&index, 0), 0);
}

static void what_is_taken_out_is_gone_and_the_rest_is_found(void)
{
    struct ifg_index index = { 0 };

    fill(&index);
    for (uint32_t i = 0; i < ITEMS; i += 2) {
        uint32_t at = find(&index, i * 3);

        REQUIRE(at != 0);
        ifg_index_remove(&index, at - 1, count--, hash_of, items, sizeof *items);
    }
    CHECK_UINT(count, ITEMS / 2);
    for (uint32_t i = 0; i < ITEMS; i++) {
        uint32_t at = find(&index, i * 3);

        REQUIRE(i % 2 ? at && at <= count && items[at - 1] == i * 3 : !at);
    }
    for (uint32_t i = 1; i < ITEMS; i += 2)
        ifg_index_remove(&index, find(&index, i * 3) - 1, count--, hash_of, items, sizeof *items);
    for (size_t i = 0; i < index.size; i++)
        REQUIRE_UINT(index.slots[i], 0);
    ifg_index_fini(&index);
}

static void room_in_advance(void)
{
    struct ifg_index index;
    const uint32_t *slots;

    REQUIRE(ifg_index_reserve(&index, ITEMS));
    slots = index.slots;
    fill(&index);
    CHECK(index.slots == slots);
    ifg_index_fini(&index);
}

static void without_memory_it_stays_as_it_was(void)
{
    struct ifg_index index = { 0 };
    uint32_t item = 7;

    REQUIRE(ifg_index_room(&index, 0, hash_of, items));
    items[0] = item;
    ifg_index_put(&index, hash_of(items, 0), 0);
    ifg_alloc_fail_after(0);
    CHECK(!ifg_index_grow(&index, 1, hash_of, items));
    CHECK_UINT(find(&index, item), 1);
    ifg_alloc_fail_after(-1);
    ifg_index_fini(&index);
}

TAP_MAIN(TAP_CASE(all_are_found), TAP_CASE(what_is_taken_out_is_gone_and_the_rest_is_found),
         TAP_CASE(room_in_advance), TAP_CASE(without_memory_it_stays_as_it_was))
