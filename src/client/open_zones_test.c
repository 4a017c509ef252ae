// SPDX-License-Identifier: Apache-2.0
/* Looking at open zones, and giving them up: nothing is recorded of those, and nothing counted. */
#include "client/fake_recorder.h"

#include "client/open_zones.h"
#include "tap.h"

static void what_covers_a_zone(void)
{
    uint64_t nonsense = 0;
    ifg_zone outer;
    ifg_zone inner;
    ifg_zone none = { 0, 0, 0 };

    CHECK_INT(ifg_zone_covers(none), -1);
    fake_recorder_start();
    static ifg_location a = { "a", "", "", 1, 0, IFG_LOCATION_ZONE, 0 };
    static ifg_location b = { "b", "", "", 2, 0, IFG_LOCATION_ZONE, 0 };
    outer = ifg_zone_begin(&a);
    CHECK_INT(ifg_zone_covers(outer), 0);
    inner = ifg_zone_begin(&b);
    CHECK_INT(ifg_zone_covers(outer), 1);
    CHECK_INT(ifg_zone_covers(inner), 0);
    ifg_zone_give_up(inner);
    CHECK_INT(ifg_zone_covers(inner), -1);
    CHECK_INT(ifg_zone_covers(outer), 0);
    ifg_zone_give_up(inner); /* once more is nothing */
    CHECK_INT(ifg_zone_covers(outer), 0);
    ifg_zone_end(outer);
    CHECK_INT(ifg_zone_covers(outer), -1);
    CHECK_UINT(fake_drain(client_ring, 10, NULL, NULL, &nonsense), 1);
    CHECK_UINT(client_ring->unbalanced, 0);
    CHECK_UINT(client_ring->depth, 0);
}

static void another_zone_in_its_place_is_not_it(void)
{
    static ifg_location a = { "a", "", "", 1, 0, IFG_LOCATION_ZONE, 0 };
    ifg_zone first;
    ifg_zone second;

    fake_recorder_start();
    first = ifg_zone_begin(&a);
    ifg_zone_end(first);
    second = ifg_zone_begin(&a);
    REQUIRE(second.start != first.start);
    CHECK_INT(ifg_zone_covers(first), -1);
    ifg_zone_give_up(first);
    CHECK_INT(ifg_zone_covers(second), 0);
    ifg_zone_end(second);
    CHECK_UINT(client_ring->unbalanced, 0);
}

static void a_location_has_a_number(void)
{
    static ifg_location a = { "a", "", "", 1, 0, IFG_LOCATION_ZONE, 0 };
    uint32_t number = ifg_location_number(&a);

    CHECK(number > 1);
    CHECK_UINT(ifg_location_number(&a), number);
}

TAP_MAIN(TAP_CASE(what_covers_a_zone), TAP_CASE(another_zone_in_its_place_is_not_it),
         TAP_CASE(a_location_has_a_number))
