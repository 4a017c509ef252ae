// SPDX-License-Identifier: Apache-2.0
/* Growing: what stays, how far it goes, and what is left when there is no memory. */
#include "base/array.h"

#include "base/alloc.h"
#include "tap.h"

static void items_stay_while_it_grows(void)
{
    uint32_t *items = NULL;
    size_t capacity = 0, grown = 0;

    for (uint32_t i = 0; i < 1000; i++) {
        size_t before = capacity;

        REQUIRE(IFG_ARRAY_ROOM(items, capacity, (size_t)i + 1, IFG_ARRAY_ANY));
        grown += capacity != before;
        items[i] = i;
    }
    for (uint32_t i = 0; i < 1000; i++)
        CHECK_INT(items[i], i);
    CHECK(grown < 10); /* twice as much each time */
    ifg_free(items);
}

static void no_more_than_the_ceiling(void)
{
    char *items = NULL;
    size_t capacity = 0;

    CHECK(IFG_ARRAY_ROOM(items, capacity, 3, 5));
    CHECK_INT(capacity, 5);
    CHECK(IFG_ARRAY_ROOM(items, capacity, 5, 5));
    CHECK(!IFG_ARRAY_ROOM(items, capacity, 6, 5));
    CHECK_INT(capacity, 5);
    CHECK(items != NULL);
    /* What is there already counts, even if the ceiling is now lower. */
    CHECK(IFG_ARRAY_ROOM(items, capacity, 4, 2));
    ifg_free(items);
}

static void many_at_once(void)
{
    uint64_t *items = NULL;
    size_t capacity = 0;

    CHECK(IFG_ARRAY_ROOM(items, capacity, 100, 1000));
    CHECK_INT(capacity, 100);
    CHECK(IFG_ARRAY_ROOM(items, capacity, 101, 1000));
    CHECK_INT(capacity, 200);
    CHECK(IFG_ARRAY_ROOM(items, capacity, 900, 1000));
    CHECK(IFG_ARRAY_ROOM(items, capacity, 901, 1000));
    CHECK_INT(capacity, 1000);
    ifg_free(items);
}

static void new_items_are_zero(void)
{
    uint32_t *items = NULL;
    size_t capacity = 0;

    for (size_t wanted = 1; wanted < 1000; wanted += 150) {
        REQUIRE(IFG_ARRAY_ROOM_ZEROED(items, capacity, wanted, 800 + 150));
        for (size_t i = wanted - 1; i < capacity; i++)
            REQUIRE_UINT(items[i], 0);
        for (size_t i = 0; i < wanted; i++)
            items[i] = 7;
    }
    CHECK_UINT(items[0], 7);
    ifg_free(items);
}

static void without_memory_all_is_as_it_was(void)
{
    uint64_t *items = NULL;
    size_t capacity = 0;

    REQUIRE(IFG_ARRAY_ROOM(items, capacity, 1, IFG_ARRAY_ANY));
    items[0] = 7;
    ifg_alloc_fail_after(0);
    CHECK(!IFG_ARRAY_ROOM(items, capacity, 17, IFG_ARRAY_ANY));
    ifg_alloc_fail_after(-1);
    CHECK_INT(capacity, 16);
    CHECK_INT(items[0], 7);
    CHECK(!IFG_ARRAY_ROOM(items, capacity, SIZE_MAX / 2, IFG_ARRAY_ANY)); /* overflows */
    CHECK_INT(capacity, 16);
    ifg_free(items);
}

TAP_MAIN(TAP_CASE(items_stay_while_it_grows), TAP_CASE(no_more_than_the_ceiling),
         TAP_CASE(many_at_once), TAP_CASE(new_items_are_zero),
         TAP_CASE(without_memory_all_is_as_it_was))
