// SPDX-License-Identifier: Apache-2.0
/* Lanes: see lanes.h. */
#include "import/lanes.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/array.h"
#include "trace/format.h"

struct span {
    uint64_t start;
    uint64_t end;
};

/* What is open in a lane, outermost first. */
struct lane {
    struct span *open;
    size_t depth;
    size_t capacity;
};

struct splitting {
    const struct record *records;
    uint32_t *wanted; /* zones and points of flows, by time */
    size_t wanted_count;
    uint16_t *lane_of; /* each record's */
    struct lane *lanes;
    unsigned lane_count;
    unsigned most;
    uint64_t moved;
};

uint64_t lanes_match(struct record *records, size_t count)
{
    uint64_t top = LANES_NOBODY; /* begins are linked through `start`, innermost first */
    uint64_t unmatched = 0;

    for (size_t i = 0; i < count; i++) {
        struct record *record = &records[i];

        if (record_kind(record) == RECORD_BEGIN) {
            record->start = top;
            top = i;
        } else if (record_kind(record) == RECORD_END) {
            record->start = top;
            if (top == LANES_NOBODY) {
                unmatched++;
                continue;
            }
            top = records[top].start;
            records[record->start].start = i;
        }
    }
    while (top != LANES_NOBODY) {
        uint64_t next = records[top].start;

        records[top].start = LANES_NOBODY;
        top = next;
    }
    return unmatched;
}

bool lanes_zone(const struct record *records, size_t index, uint64_t *out_start, uint64_t *out_end)
{
    const struct record *record = &records[index];

    switch (record_kind(record)) {
    case RECORD_BEGIN: /* as long as anybody can see */
        *out_start = record->end;
        *out_end = UINT64_MAX;
        return record->start == LANES_NOBODY;
    case RECORD_END:
        if (record->start == LANES_NOBODY)
            return false;
        *out_start = records[record->start].end;
        *out_end = record->end;
        return true;
    case RECORD_INNER_ZONE:
    case RECORD_ZONE:
    case RECORD_OUTER_ZONE:
        *out_start = record->start;
        *out_end = record->end;
        return true;
    default:
        return false;
    }
}

static bool push(struct lane *lane, struct span span)
{
    if (!IFG_ARRAY_ROOM(lane->open, lane->capacity, lane->depth + 1, IFG_ARRAY_ANY))
        return false;
    lane->open[lane->depth++] = span;
    return true;
}

/* A zone that ends after all that were looked at: does it lie around or behind each of them? */
static bool nests(struct lane *ended, struct span zone)
{
    while (ended->depth && ended->open[ended->depth - 1].start >= zone.start)
        ended->depth--;
    return !ended->depth || ended->open[ended->depth - 1].end <= zone.start;
}

static enum ifg_status check_nesting(const struct record *records, size_t count, bool *out_nested)
{
    struct lane ended = { 0 };
    struct span zone;
    bool memory = true;

    *out_nested = true;
    for (size_t i = 0; i < count && *out_nested && memory; i++) {
        if (record_kind(&records[i]) == RECORD_BEGIN ||
            !lanes_zone(records, i, &zone.start, &zone.end))
            continue;
        *out_nested = nests(&ended, zone);
        memory = push(&ended, zone);
    }
    for (size_t i = count; i-- > 0 && *out_nested && memory;) {
        if (record_kind(&records[i]) != RECORD_BEGIN ||
            !lanes_zone(records, i, &zone.start, &zone.end))
            continue;
        *out_nested = nests(&ended, zone);
        memory = push(&ended, zone);
    }
    ifg_free(ended.open);
    return memory ? IFG_OK : IFG_NO_MEMORY;
}

/* ---- lanes ---- */

static bool is_flow(const struct record *record)
{
    return record_kind(record) >= RECORD_FLOW_BEGIN && record_kind(record) <= RECORD_FLOW_END;
}

/* Belongs to the zone that begins next, not to the one around. */
static bool is_for_next(const struct record *record)
{
    return is_flow(record) && (record->details >> 8 & TRACE_FLOW_NEXT);
}

/* At the same time: flows that wait for a zone, zones, flows that belong to one. */
static int rank_of(const struct record *record)
{
    return is_flow(record) ? (is_for_next(record) ? 0 : 2) : 1;
}

/* By start, the outer ones first: those that end later, and of those the one written later. */
static int by_start(const void *a, const void *b, void *user)
{
    const struct record *records = user;
    uint32_t left = *(const uint32_t *)a;
    uint32_t right = *(const uint32_t *)b;
    struct span l = { records[left].end, 0 };
    struct span r = { records[right].end, 0 };
    int ranks = rank_of(&records[left]) - rank_of(&records[right]);

    lanes_zone(records, left, &l.start, &l.end);
    lanes_zone(records, right, &r.start, &r.end);
    if (l.start != r.start)
        return l.start < r.start ? -1 : 1;
    if (ranks)
        return ranks;
    if (l.end != r.end)
        return l.end > r.end ? -1 : 1;
    if (l.end == UINT64_MAX) /* begins stand in the order of their times */
        return left < right ? -1 : 1;
    return left > right ? -1 : 1;
}

static bool list_wanted(struct splitting *splitting, size_t count)
{
    struct span zone;
    size_t wanted = 0;

    for (size_t i = 0; i < count; i++)
        wanted += is_flow(&splitting->records[i]) ||
                  lanes_zone(splitting->records, i, &zone.start, &zone.end);
    splitting->wanted = ifg_alloc(wanted, sizeof *splitting->wanted);
    if (!splitting->wanted)
        return false;
    for (size_t i = 0; i < count; i++)
        if (is_flow(&splitting->records[i]) ||
            lanes_zone(splitting->records, i, &zone.start, &zone.end))
            splitting->wanted[splitting->wanted_count++] = (uint32_t)i;
    qsort_r(splitting->wanted, wanted, sizeof *splitting->wanted, by_start,
            (void *)(uintptr_t)splitting->records);
    return true;
}

/* The lane in which it lies inside the innermost zone; else the first free one; else a new one. */
static unsigned choose_lane(struct splitting *splitting, struct span zone)
{
    unsigned free_lane = splitting->lane_count;
    unsigned chosen = splitting->lane_count;
    uint64_t innermost = 0;

    for (unsigned i = 0; i < splitting->lane_count; i++) {
        struct lane *lane = &splitting->lanes[i];
        const struct span *top;

        while (lane->depth && lane->open[lane->depth - 1].end <= zone.start)
            lane->depth--;
        top = lane->depth ? &lane->open[lane->depth - 1] : NULL;
        if (!top && free_lane == splitting->lane_count)
            free_lane = i;
        if (top && top->end >= zone.end && top->start >= innermost) {
            if (chosen == splitting->lane_count || top->start > innermost)
                chosen = i;
            innermost = top->start;
        }
    }
    if (chosen == splitting->lane_count)
        chosen = free_lane;
    if (chosen < splitting->lane_count)
        return chosen;
    return splitting->lane_count < splitting->most ? splitting->lane_count++ : splitting->most - 1;
}

/* The lane of the innermost zone around a moment. */
static unsigned lane_at(const struct splitting *splitting, uint64_t time)
{
    unsigned found = 0;
    uint64_t innermost = 0;

    for (unsigned i = 0; i < splitting->lane_count; i++) {
        const struct lane *lane = &splitting->lanes[i];
        size_t depth = lane->depth;

        while (depth && lane->open[depth - 1].end < time)
            depth--;
        if (depth && lane->open[depth - 1].start > innermost) {
            innermost = lane->open[depth - 1].start;
            found = i;
        }
    }
    return found;
}

static bool fill_lanes(struct splitting *splitting)
{
    const struct record *records = splitting->records;

    for (size_t i = 0; i < splitting->wanted_count; i++) {
        uint32_t number = splitting->wanted[i];
        struct span zone;
        unsigned lane;

        if (is_flow(&records[number])) {
            if (!is_for_next(&records[number]))
                splitting->lane_of[number] = (uint16_t)lane_at(splitting, records[number].end);
            continue;
        }
        lanes_zone(records, number, &zone.start, &zone.end);
        lane = choose_lane(splitting, zone);
        splitting->lane_of[number] = (uint16_t)lane;
        splitting->moved += lane != 0;
        if (!push(&splitting->lanes[lane], zone))
            return false;
        for (size_t k = i; k-- > 0 && is_flow(&records[splitting->wanted[k]]);)
            if (is_for_next(&records[splitting->wanted[k]]))
                splitting->lane_of[splitting->wanted[k]] = (uint16_t)lane;
    }
    return true;
}

/* At one time: what is no zone first, then zones from the inside out. */
static int from_inside(const void *a, const void *b, void *user)
{
    const struct record *records = user;
    uint32_t left = *(const uint32_t *)a;
    uint32_t right = *(const uint32_t *)b;
    uint64_t left_start, right_start, end;
    bool left_zone = lanes_zone(records, left, &left_start, &end) && end != UINT64_MAX;
    bool right_zone = lanes_zone(records, right, &right_start, &end) && end != UINT64_MAX;

    if (left_zone != right_zone)
        return left_zone ? 1 : -1;
    if (left_zone && left_start != right_start)
        return left_start > right_start ? -1 : 1;
    return left < right ? -1 : 1;
}

/* Ends of begun zones were sorted before it was known what they are the ends of. */
static void order_ends(const struct record *records, uint32_t *order, size_t count)
{
    for (size_t i = 0, end; i < count; i = end) {
        bool ends = false;
        bool zones = false;

        for (end = i; end < count && records[order[end]].end == records[order[i]].end; end++) {
            ends |= record_kind(&records[order[end]]) == RECORD_END;
            zones |= record_kind(&records[order[end]]) >= RECORD_INNER_ZONE;
        }
        if (ends && zones)
            qsort_r(order + i, end - i, sizeof *order, from_inside, (void *)(uintptr_t)records);
    }
}

/* Records by lane, in each in the order in which they came. */
static bool list_lanes(const struct record *records, const uint16_t *lane_of, size_t count,
                       struct lanes *lanes)
{
    size_t sum = 0;

    lanes->order = ifg_alloc(count, sizeof *lanes->order);
    lanes->first = ifg_alloc(lanes->count + 1, sizeof *lanes->first);
    if (!lanes->order || !lanes->first)
        return false;
    for (size_t i = 0; i < count; i++)
        lanes->first[lane_of ? lane_of[i] : 0]++;
    for (unsigned l = 0; l <= lanes->count; l++) {
        size_t here = lanes->first[l];

        lanes->first[l] = sum;
        sum += here;
    }
    for (size_t i = 0; i < count; i++)
        lanes->order[lanes->first[lane_of ? lane_of[i] : 0]++] = (uint32_t)i;
    memmove(lanes->first + 1, lanes->first, lanes->count * sizeof *lanes->first);
    lanes->first[0] = 0;
    for (unsigned l = 0; l < lanes->count; l++)
        order_ends(records, lanes->order + lanes->first[l], lanes->first[l + 1] - lanes->first[l]);
    return true;
}

enum ifg_status lanes_split(const struct record *records, size_t count, unsigned most,
                            struct lanes *out_lanes, struct ifg_error *err)
{
    struct splitting splitting = { .records = records, .most = most };
    bool nested;
    bool memory = check_nesting(records, count, &nested) == IFG_OK;

    *out_lanes = (struct lanes){ .count = 1 };
    if (memory && !nested) {
        splitting.lane_of = ifg_alloc(count, sizeof *splitting.lane_of);
        splitting.lanes = ifg_alloc(most, sizeof *splitting.lanes);
        splitting.lane_count = 1;
        memory = splitting.lane_of && splitting.lanes && list_wanted(&splitting, count) &&
                 fill_lanes(&splitting);
        out_lanes->count = splitting.lane_count;
        out_lanes->moved = splitting.moved;
    }
    memory = memory && list_lanes(records, splitting.lane_of, count, out_lanes);
    for (unsigned i = 0; splitting.lanes && i < most; i++)
        ifg_free(splitting.lanes[i].open);
    ifg_free(splitting.lanes);
    ifg_free(splitting.lane_of);
    ifg_free(splitting.wanted);
    if (memory)
        return IFG_OK;
    lanes_fini(out_lanes);
    return ifg_fail_no_memory(err, "to import");
}

void lanes_fini(struct lanes *lanes)
{
    ifg_free(lanes->order);
    ifg_free(lanes->first);
    *lanes = (struct lanes){ 0 };
}
