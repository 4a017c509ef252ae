// SPDX-License-Identifier: Apache-2.0
/*
 * Zones of one block, from plain arrays to the columns of docs/trace-format.md. One encoder serves
 * all streams of a writer, so that a thread needs memory only for its raw zones.
 */
#ifndef IFG_TRACE_ZONE_ENCODER_H
#define IFG_TRACE_ZONE_ENCODER_H

#include "trace/trace_internal.h"

struct zone_encoder {
    uint8_t *lanes[ZONE_CHILDREN + 1]; /* room for TRACE_BLOCK_LIMIT zones each; NULL at first */
    uint64_t *pending;                 /* starts that no parent has taken yet */
};

/* Zones that wait, in the order of their ends. */
struct raw_zones {
    uint64_t *starts;
    uint64_t *durations;
    uint32_t *locations;
    uint32_t count;
    uint32_t capacity;
};

/* Fills the columns before ZONE_OPEN, and count, t0 and t1 of head. Their bytes belong to the
 * encoder and last until the next call. False: no memory. */
bool zone_encoder_run(struct zone_encoder *encoder, const struct raw_zones *zones,
                      uint64_t first_zone, struct trace_block_head *head,
                      struct trace_column columns[ZONE_COLUMNS]);
void zone_encoder_fini(struct zone_encoder *encoder);

/* Needs eight bytes of room. Values below 2^28 are spread to bytes without a loop: the number of
 * bytes is what branch prediction cannot know. */
static inline uint8_t *put_varint(uint8_t *out, uint64_t value)
{
    uint32_t spread;
    unsigned last; /* bit position of the last byte */

    if (__builtin_expect(value >= 1u << 28, 0))
        return ifg_varint_write(out, value);
    spread = (uint32_t)value;
    last = ((31u - (unsigned)__builtin_clz(spread | 1)) * 37 >> 8) * 8;
    spread = (spread & 0x3fff) | (spread & 0xfffc000) << 2;
    spread = (spread & 0x7f007f) | (spread & 0x3f803f80) << 1;
    spread |= 0x80808080u & ((1u << last) - 1);
    store_u32(out, spread);
    return out + last / 8 + 1;
}

/* The same for values that are usually below 2^14. */
static inline uint8_t *put_short_varint(uint8_t *out, uint64_t value)
{
    unsigned more = value >= 0x80;

    if (__builtin_expect(value >= 1u << 14, 0))
        return put_varint(out, value);
    store_u16(out, (uint16_t)(value + (value & 0x3f80) + (more << 7)));
    return out + 1 + more;
}

#endif
