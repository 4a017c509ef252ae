// SPDX-License-Identifier: Apache-2.0
/*
 * For the tests of this room: the other side of the region, in the same process. It checks every
 * record as the real recorder does and counts what makes no sense.
 */
#ifndef IFG_CLIENT_FAKE_RECORDER_H
#define IFG_CLIENT_FAKE_RECORDER_H

#include <string.h>

#include "client/client_internal.h"

struct fake_record {
    uint32_t kind; /* 0: a zone of one slot */
    uint64_t ticks;
    uint64_t duration;
    uint32_t reference;
    size_t payload_bytes;
    unsigned char payload[IFG_WIRE_RECORD_SLOTS * IFG_WIRE_SLOT];
};

typedef void fake_visit(const struct fake_record *record, void *user);

static inline void fake_recorder_start(void)
{
    if (client_control)
        __atomic_store_n(&client_control->recording, 1, __ATOMIC_RELEASE);
}

static inline struct ifg_wire_ring *fake_ring(uint32_t index)
{
    uint32_t slots;

    return (void *)((char *)client_control + ifg_wire_ring_offset(index, &slots));
}

static inline uint64_t fake_u64(const struct fake_record *record, size_t offset)
{
    uint64_t value;

    memcpy(&value, record->payload + offset, sizeof value);
    return value;
}

/* Takes at most `limit` records. Returns how many; adds to *out_nonsense what is not a record. */
static inline uint64_t fake_drain(struct ifg_wire_ring *ring, uint64_t limit, fake_visit *visit,
                                  void *user, uint64_t *out_nonsense)
{
    uint64_t head = __atomic_load_n(&ring->head, __ATOMIC_ACQUIRE);
    uint64_t at = __atomic_load_n(&ring->tail, __ATOMIC_RELAXED);
    const struct ifg_wire_zone *base = ifg_wire_slots(ring);
    uint64_t taken = 0;

    while (at < head && taken < limit) {
        struct ifg_wire_zone slot = base[at & ring->mask];
        struct fake_record record = { 0, slot.start, slot.duration, slot.location, 0, { 0 } };
        uint32_t slots = 1;

        if (slot.location & IFG_WIRE_LONG) {
            struct ifg_wire_record first;

            memcpy(&first, &slot, sizeof first);
            slots = IFG_WIRE_TAG_SLOTS(first.tag);
            if (slots == 0 || slots > IFG_WIRE_RECORD_SLOTS || slots > head - at) {
                ++*out_nonsense;
                at++;
                continue;
            }
            record.kind = IFG_WIRE_TAG_KIND(first.tag);
            record.reference = first.reference;
            record.duration = 0;
            record.payload_bytes = (size_t)(slots - 1) * IFG_WIRE_SLOT;
            for (uint32_t i = 1; i < slots; i++)
                memcpy(record.payload + (size_t)(i - 1) * IFG_WIRE_SLOT,
                       &base[(at + i) & ring->mask], IFG_WIRE_SLOT);
        }
        at += slots;
        taken++;
        if (visit)
            visit(&record, user);
    }
    __atomic_store_n(&ring->tail, at, __ATOMIC_RELEASE);
    return taken;
}

#endif
