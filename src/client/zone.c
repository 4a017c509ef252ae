// SPDX-License-Identifier: Apache-2.0
/*
 * The hot path: begin and end of a zone.
 *
 * begin stores (start, location) into the thread's stack of open zones in shared memory and hands
 * the same to the caller in registers; end reads the clock and appends one 16-byte slot. Nothing
 * here allocates, locks, or makes a system call, except in the slow halves that are told apart
 * below.
 */
#include "client/client_internal.h"

/* How far ahead of the head a cache line is asked for: the recorder on the other core has read it
 * last, and taking it back takes longer than a zone. */
#define PREFETCH_SLOTS 64u

static inline void prefetch_for_write(const void *address)
{
#if defined(__x86_64__)
    /* The builtin would fetch for reading on a generic x86-64, and the store would wait again. */
    __asm__ volatile("prefetchw %0" : : "m"(*(const char *)address));
#else
    __builtin_prefetch(address, 1, 3);
#endif
}

/* Inlined into each caller: the clock is read as late as possible at a begin, so that a zone does
 * not contain its own bookkeeping. */
static inline __attribute__((always_inline)) ifg_zone zone_begin(uint32_t location)
{
    struct ifg_wire_ring *ring = client_ring;
    ifg_zone zone = { 0, location, 0 };
    uint32_t depth;

    if (UNLIKELY(!ring)) {
        ring = client_ring_acquire();
        if (!ring)
            return zone;
    }
    /* The depth goes up before the entry is written: a signal handler that comes in between uses
     * the next entry and leaves this one alone. */
    depth = ring->depth;
    ring->depth = depth + 1;
    SIGNAL_FENCE();
    zone.depth = depth + 1;
    zone.start = client_now();
    if (LIKELY(depth < IFG_WIRE_OPEN_MAX)) {
        ring->open[depth].location = location;
        ring->open[depth].start = zone.start;
    }
    return zone;
}

ifg_zone ifg_zone_begin(ifg_location *location)
{
    return zone_begin(client_location_id(location));
}

ifg_zone client_zone_begin(uint32_t location)
{
    return zone_begin(location);
}

static inline __attribute__((always_inline)) void write_zone(struct ifg_wire_ring *ring,
                                                             uint64_t at, bool outermost,
                                                             ifg_zone zone, uint64_t duration)
{
    struct ifg_wire_zone *slot = ifg_wire_slots(ring) + (at & ring->mask);

    prefetch_for_write(ifg_wire_slots(ring) + ((at + PREFETCH_SLOTS) & ring->mask));
    slot->start = zone.start;
    slot->duration = (uint32_t)duration;
    slot->location = zone.location;
    client_ring_done(ring, outermost);
}

/* Not on the stack of open zones: begun and ended in one go, after the fact. */
void client_zone_write(uint64_t start, uint64_t end, uint32_t location)
{
    uint64_t duration = end > start ? end - start : 0;
    ifg_zone zone = { start, location, 0 };
    struct ifg_wire_ring *ring = client_ring;
    enum client_take take;

    if (!ring) {
        ring = client_ring_acquire();
        if (!ring)
            return;
    }
    if (duration >> 32) {
        client_emit(IFG_WIRE_LONG_ZONE, start, location, &duration, sizeof duration);
        return;
    }
    do {
        uint64_t at = ring->taken;
        bool outermost;

        SIGNAL_FENCE();
        take = client_ring_take(ring, at, 1, &outermost);
        if (take == CLIENT_TAKEN)
            write_zone(ring, at, outermost, zone, duration);
    } while (take == CLIENT_AGAIN);
}

/* Open zones above a depth, without those that are hidden (open_zones.h). */
static uint32_t visible_above(const struct ifg_wire_ring *ring, uint32_t depth)
{
    uint32_t count = ring->depth - depth;

    for (uint32_t i = depth; i < ring->depth && i < IFG_WIRE_OPEN_MAX; i++)
        count -= ring->open[i].location == 0;
    return count;
}

/* A zone of more than 2^32 ticks, an end that does not match, a ring that looks full, a signal
 * handler that came in between, an end that was read before (end is not 0), or a zone that
 * profiling handles want. */
static __attribute__((noinline)) void zone_end_checked(ifg_zone zone, uint64_t end)
{
    struct ifg_wire_ring *ring = client_ring;
    enum client_take take;

    if (UNLIKELY(zone.depth & CLIENT_TAPPED)) {
        end = end ? end : client_now();
        zone.depth &= ~CLIENT_TAPPED;
        client_tap_end(zone, end);
        if (!zone.depth)
            return; /* only handles wanted it */
    }
    if (!ring || client_confinement == IFG_CONFINED_CLOCK)
        return; /* begun before a fork, ended in the child: it belongs to the parent */
    if (zone.depth > ring->depth) {
        if (zone.start >=
            client_control->start_ticks)      /* else: the same, after the child's first zone */
            CLIENT_BUMP(ring->unbalanced, 1); /* ended twice */
        return;
    }
    if (zone.depth < ring->depth) /* inner zones that never ended */
        CLIENT_BUMP(ring->unbalanced, visible_above(ring, zone.depth));
    do {
        uint64_t at = ring->taken;
        uint64_t now;
        uint64_t duration;
        bool outermost;

        SIGNAL_FENCE();
        now = end ? end : client_now();
        duration = now > zone.start ? now - zone.start : 0;
        if (duration >> 32) {
            client_emit(IFG_WIRE_LONG_ZONE, zone.start, zone.location, &duration, sizeof duration);
            break;
        }
        take = client_ring_take(ring, at, 1, &outermost);
        if (take == CLIENT_TAKEN)
            write_zone(ring, at, outermost, zone, duration);
    } while (take == CLIENT_AGAIN);
    SIGNAL_FENCE();
    ring->depth = zone.depth - 1;
}

void ifg_zone_end(ifg_zone zone)
{
    struct ifg_wire_ring *ring = client_ring;
    uint64_t duration;
    uint64_t at;
    bool outermost;

    if (UNLIKELY(!ring)) {
        zone_end_checked(zone, 0);
        return;
    }
    at = ring->taken;
    SIGNAL_FENCE();
    duration = client_now() - zone.start;
    if (UNLIKELY(ring->depth != zone.depth || duration >> 32 || at >= ring->limit ||
                 ring->writing || client_ring_take(ring, at, 1, &outermost) != CLIENT_TAKEN)) {
        zone_end_checked(zone, 0);
        return;
    }
    write_zone(ring, at, outermost, zone, duration);
    /* The depth goes down last: until the slot is out, a handler must not use our stack entry. */
    SIGNAL_FENCE();
    ring->depth = zone.depth - 1;
}

void client_zone_end_at(ifg_zone zone, uint64_t end)
{
    zone_end_checked(zone, end);
}
