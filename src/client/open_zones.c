// SPDX-License-Identifier: Apache-2.0
/* Looking at the stack of open zones before ending one of them: see open_zones.h. */
#include "client/open_zones.h"

#include "client/client_internal.h"

static bool is_open(const struct ifg_wire_ring *ring, const ifg_zone *zone)
{
    if (!ring || !zone->depth || zone->depth > ring->depth)
        return false;
    /* Deeper ones are not stored; nothing but their depth is known of them. */
    return zone->depth > IFG_WIRE_OPEN_MAX || ring->open[zone->depth - 1].start == zone->start;
}

int ifg_zone_covers(ifg_zone zone)
{
    const struct ifg_wire_ring *ring = client_ring;

    zone.depth &= ~CLIENT_TAPPED;
    return is_open(ring, &zone) ? (int)(ring->depth - zone.depth) : -1;
}

void ifg_zone_hide(ifg_zone zone)
{
    struct ifg_wire_ring *ring = client_ring;

    zone.depth &= ~CLIENT_TAPPED;
    if (is_open(ring, &zone) && zone.depth <= IFG_WIRE_OPEN_MAX)
        __atomic_store_n(&ring->open[zone.depth - 1].location, 0, __ATOMIC_RELAXED);
}

uint32_t ifg_location_number(ifg_location *location)
{
    return client_location_id(location);
}

void ifg_zone_give_up(ifg_zone zone)
{
    struct ifg_wire_ring *ring = client_ring;

    zone.depth &= ~CLIENT_TAPPED;
    if (is_open(ring, &zone))
        ring->depth = zone.depth - 1;
}
