// SPDX-License-Identifier: Apache-2.0
/*
 * The zone columns: see zone_encoder.h. Tens of millions of zones a second pass through the one
 * loop here, so its state stays in registers and columns have room for the worst case.
 */
#include "trace/zone_encoder.h"

#include "base/alloc.h"

/* The most bytes that one zone can take in each column. */
static const size_t lane_bytes[ZONE_CHILDREN + 1] = { 5, IFG_VARINT_MAX, IFG_VARINT_MAX, 3 };

/* Before the first zone the gaps column has two varints; behind the last a store may reach too far.
 */
#define LANE_SLACK (2 * IFG_VARINT_MAX + 8)

static bool allocate(struct zone_encoder *encoder)
{
    for (size_t i = 0; i <= ZONE_CHILDREN; i++) {
        if (!encoder->lanes[i])
            encoder->lanes[i] = ifg_alloc(TRACE_BLOCK_LIMIT * lane_bytes[i] + LANE_SLACK, 1);
        if (!encoder->lanes[i])
            return false;
    }
    if (!encoder->pending)
        encoder->pending = ifg_alloc(TRACE_BLOCK_LIMIT, sizeof *encoder->pending);
    return encoder->pending != NULL;
}

void zone_encoder_fini(struct zone_encoder *encoder)
{
    for (size_t i = 0; i <= ZONE_CHILDREN; i++)
        ifg_free(encoder->lanes[i]);
    ifg_free(encoder->pending);
    memset(encoder, 0, sizeof *encoder);
}

bool zone_encoder_run(struct zone_encoder *encoder, const struct raw_zones *zones,
                      uint64_t first_zone, struct trace_block_head *head,
                      struct trace_column columns[ZONE_COLUMNS])
{
    uint64_t base = zones->count ? zones->starts[0] : 0;
    uint64_t cursor = base;
    uint64_t latest = 0; /* the largest end before a free zone; else the cursor is */
    uint8_t *codes, *gaps, *durations, *children;
    uint64_t *pending;
    size_t depth = 0;

    if (!allocate(encoder))
        return false;
    pending = encoder->pending;
    codes = encoder->lanes[ZONE_CODES];
    gaps = ifg_varint_write(encoder->lanes[ZONE_GAPS], first_zone);
    gaps = ifg_varint_write(gaps, base);
    durations = encoder->lanes[ZONE_DURATIONS];
    children = encoder->lanes[ZONE_CHILDREN];
    for (size_t i = 0; i < zones->count; i++) {
        uint64_t start = zones->starts[i];
        uint64_t duration = zones->durations[i];
        uint64_t end = start + duration;
        uint64_t code = (uint64_t)zones->locations[i] << 2;
        uint64_t gap = start - cursor;

        if (start < cursor) {
            size_t before = depth;

            while (depth && pending[depth - 1] >= start)
                depth--;
            if (__builtin_expect(depth == before || end < cursor, 0)) {
                code |= ZONE_FREE;
                gap = ifg_zigzag((int64_t)(start - base));
                latest = cursor > latest ? cursor : latest;
            } else {
                code |= ZONE_PARENT;
                gap = pending[depth] - start;
                duration = end - cursor;
                children = put_short_varint(children, before - depth);
            }
        }
        pending[depth++] = start;
        cursor = end;
        codes = put_short_varint(codes, code);
        gaps = put_short_varint(gaps, gap);
        durations = put_varint(durations, duration);
    }
    head->count = zones->count;
    head->t0 = zones->count ? pending[0] : 0; /* what began earlier would have taken this */
    head->t1 = cursor > latest ? cursor : latest;
    columns[ZONE_CODES].data = encoder->lanes[ZONE_CODES];
    columns[ZONE_CODES].size = (size_t)(codes - encoder->lanes[ZONE_CODES]);
    columns[ZONE_GAPS].data = encoder->lanes[ZONE_GAPS];
    columns[ZONE_GAPS].size = (size_t)(gaps - encoder->lanes[ZONE_GAPS]);
    columns[ZONE_DURATIONS].data = encoder->lanes[ZONE_DURATIONS];
    columns[ZONE_DURATIONS].size = (size_t)(durations - encoder->lanes[ZONE_DURATIONS]);
    columns[ZONE_CHILDREN].data = encoder->lanes[ZONE_CHILDREN];
    columns[ZONE_CHILDREN].size = (size_t)(children - encoder->lanes[ZONE_CHILDREN]);
    return true;
}
