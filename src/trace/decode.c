// SPDX-License-Identifier: Apache-2.0
/*
 * Blocks back into zones, events and attributes. The zone loop is where a viewer spends its time
 * while it loads: integers are read eight bytes at a time and without a branch on their length,
 * which the zeros behind every column make safe.
 */
#include "trace/reader_internal.h"

#include "base/alloc.h"
#include "base/array.h"

struct zone_scratch {
    struct trace_unpacker unpacker;
    size_t capacity;
    size_t open_capacity;
    uint64_t *pending;
    uint32_t *leftmost; /* for each pending zone: the first entry of what lies inside it */
};

struct event_scratch {
    struct trace_unpacker unpacker;
    size_t capacity;
    size_t attribute_capacity;
    size_t key_capacity;
    struct trace_attribute *attributes;
    struct trace_key {
        const char *text;
        size_t size;
    } * keys;
};

/* A column being read. Reading at its end yields zeros, and `at` then lies behind `end`. */
struct reader_lane {
    const uint8_t *at;
    const uint8_t *end;
};

static struct reader_lane lane_over(const struct trace_unpacker *unpacker, size_t column)
{
    struct reader_lane lane = { unpacker->columns[column],
                                unpacker->columns[column] + unpacker->sizes[column] };
    return lane;
}

/* Nine or ten bytes. There are ten to read: `at` is not behind the end, and zeros follow. */
static __attribute__((noinline)) const uint8_t *long_varint(const uint8_t *at, uint64_t *out_value)
{
    struct ifg_cursor cursor = ifg_cursor_over(at, IFG_VARINT_MAX);

    *out_value = ifg_cursor_varint(&cursor);
    return cursor.failed ? NULL : cursor.at;
}

/* Returns the byte after the varint; NULL when it does not end. */
static inline const uint8_t *fast_varint(const uint8_t *at, uint64_t *out_value)
{
    uint64_t word = load_u64(at);
    uint64_t stops = ~word & UINT64_C(0x8080808080808080);

    if (__builtin_expect(stops == 0, 0))
        return long_varint(at, out_value);
    word &= (stops ^ (stops - 1)) & UINT64_C(0x7f7f7f7f7f7f7f7f);
    word = (word & UINT64_C(0x007f007f007f007f)) | (word & UINT64_C(0x7f007f007f007f00)) >> 1;
    word = (word & UINT64_C(0x00003fff00003fff)) | (word & UINT64_C(0x3fff00003fff0000)) >> 2;
    word = (word & UINT64_C(0x0fffffff)) | (word & UINT64_C(0x0fffffff00000000)) >> 4;
    *out_value = word;
    return at + (__builtin_ctzll(stops) >> 3) + 1;
}

/* False when the column has no more, or what it has is no varint. */
static inline bool lane_varint(struct reader_lane *lane, uint64_t *out_value)
{
    const uint8_t *next = fast_varint(lane->at, out_value);

    if (__builtin_expect(next == NULL || next > lane->end, 0))
        return false;
    lane->at = next;
    return true;
}

enum ifg_status trace_open_block(const struct trace_reader *reader, size_t index,
                                 enum trace_block_type type, struct trace_unpacker *unpacker,
                                 struct trace_block_head *out_head, struct ifg_error *err)
{
    const struct trace_block *block = trace_reader_block(reader, index);
    const uint8_t *payload;
    enum ifg_status status = IFG_CORRUPT;

    if (!block || block->type != type)
        return ifg_fail(err, IFG_INVALID, "%s: block %zu is not of type %d", reader->name, index,
                        (int)type);
    if (trace_block_at(reader->data, reader->size, block->offset, out_head, &payload) &&
        trace_block_plain(out_head->type) == (uint16_t)type && out_head->stream == block->stream) {
        status = trace_unpack(unpacker, out_head->type, payload, out_head->payload_bytes);
        trace_reader_touch(reader, TRACE_BLOCK_HEADER_BYTES + out_head->payload_bytes);
    }
    if (status == IFG_NO_MEMORY)
        return ifg_fail_no_memory(err, "for a block of %s", reader->name);
    if (status)
        return ifg_fail(err, status, "%s: the block at offset %llu is damaged", reader->name,
                        (unsigned long long)block->offset);
    return IFG_OK;
}

static enum ifg_status fail_contents(const struct trace_reader *reader, size_t index,
                                     enum ifg_status status, struct ifg_error *err)
{
    if (status == IFG_OK)
        return IFG_OK;
    if (status == IFG_NO_MEMORY)
        return ifg_fail_no_memory(err, "for a block of %s", reader->name);
    return ifg_fail(err, status, "%s: the block at offset %llu contradicts itself", reader->name,
                    (unsigned long long)reader->blocks[index].offset);
}

/* Replaces *array by one of `count` entries; what was in it is not needed. */
static bool replace(void *array, size_t count, size_t entry_bytes)
{
    void *fresh = ifg_alloc(count, entry_bytes);
    void *old;

    memcpy(&old, array, sizeof old);
    if (!fresh)
        return false;
    ifg_free(old);
    memcpy(array, &fresh, sizeof fresh);
    return true;
}

static bool reserve_zones(struct trace_zones *zones, struct zone_scratch *scratch, size_t count)
{
    if (count <= scratch->capacity && scratch->pending)
        return true;
    scratch->capacity = 0;
    /* One more than zones: the loop looks at the entry above the top before it knows the shape. */
    if (!replace(&scratch->pending, count + 1, sizeof *scratch->pending) ||
        !replace(&scratch->leftmost, count + 1, sizeof *scratch->leftmost) ||
        !replace(&zones->inside, count, sizeof *zones->inside) ||
        !replace(&zones->starts, count, sizeof *zones->starts) ||
        !replace(&zones->durations, count, sizeof *zones->durations) ||
        !replace(&zones->locations, count, sizeof *zones->locations))
        return false;
    scratch->capacity = count;
    return true;
}

/* The zones of a block whose columns are unpacked; false when they contradict themselves. */
static bool decode_zone_columns(struct trace_zones *zones, const struct zone_scratch *scratch,
                                size_t count)
{
    struct reader_lane codes = lane_over(&scratch->unpacker, ZONE_CODES);
    struct reader_lane gaps = lane_over(&scratch->unpacker, ZONE_GAPS);
    struct reader_lane durations = lane_over(&scratch->unpacker, ZONE_DURATIONS);
    struct reader_lane children = lane_over(&scratch->unpacker, ZONE_CHILDREN);
    uint64_t *restrict out_starts = zones->starts;
    uint64_t *restrict out_durations = zones->durations;
    uint32_t *restrict out_locations = zones->locations;
    uint32_t *restrict out_inside = zones->inside;
    uint64_t *restrict pending = scratch->pending;
    uint32_t *restrict leftmost = scratch->leftmost;
    uint64_t depth = 0;
    uint64_t base;
    uint64_t cursor;

    if (!lane_varint(&gaps, &zones->first_zone) || !lane_varint(&gaps, &base))
        return false;
    cursor = base;
    for (size_t i = 0; i < count; i++) {
        uint64_t code, gap, duration, taken;
        uint64_t start, end;
        uint32_t first;
        const uint8_t *after_children;

        if (!lane_varint(&codes, &code) || !lane_varint(&gaps, &gap) ||
            !lane_varint(&durations, &duration))
            return false;
        if (__builtin_expect((code & 2) == 0, 1)) {
            /* Leaf or parent: both computed, one chosen, because no processor can guess which. */
            uint64_t parent = 0 - (code & 1); /* all ones or zero */
            uint64_t anchor;

            after_children = fast_varint(children.at, &taken);
            taken &= parent;
            if (__builtin_expect(taken > depth || taken < (code & 1) || !after_children, 0))
                return false;
            children.at = parent ? after_children : children.at;
            depth -= taken;
            anchor = parent ? pending[depth] : cursor;
            first = parent ? leftmost[depth] : (uint32_t)i;
            start = anchor + ((gap ^ parent) - parent);
            end = (parent ? cursor : start) + duration;
        } else {
            if ((code & 3) != ZONE_FREE)
                return false;
            start = base + (uint64_t)ifg_unzigzag(gap);
            end = start + duration;
            first = (uint32_t)i;
            while (depth && pending[depth - 1] >= start)
                first = leftmost[--depth];
        }
        if (__builtin_expect(code >> 34 != 0, 0))
            return false;
        leftmost[depth] = first;
        pending[depth++] = start;
        out_inside[i] = (uint32_t)i - first;
        out_starts[i] = start;
        out_durations[i] = end - start;
        out_locations[i] = (uint32_t)(code >> 2);
        cursor = end;
        if (__builtin_expect(children.at > children.end, 0))
            return false;
    }
    return true;
}

static enum ifg_status decode_open(struct trace_zones *zones, struct zone_scratch *scratch)
{
    struct ifg_cursor cursor =
        ifg_cursor_over(scratch->unpacker.columns[ZONE_OPEN], scratch->unpacker.sizes[ZONE_OPEN]);
    uint64_t before;
    uint64_t count;

    if (ifg_cursor_left(&cursor) == 0)
        return IFG_OK;
    before = ifg_cursor_varint(&cursor);
    count = ifg_cursor_varint(&cursor);
    if (cursor.failed || count > TRACE_OPEN_MAX)
        return IFG_CORRUPT;
    if (count > scratch->open_capacity) {
        scratch->open_capacity = 0;
        if (!replace(&zones->open_starts, (size_t)count, sizeof *zones->open_starts) ||
            !replace(&zones->open_locations, (size_t)count, sizeof *zones->open_locations))
            return IFG_NO_MEMORY;
        scratch->open_capacity = (size_t)count;
    }
    zones->open_as_of = before;
    for (size_t i = 0; i < count; i++) {
        uint64_t location = ifg_cursor_varint(&cursor);

        before += (uint64_t)ifg_unzigzag(ifg_cursor_varint(&cursor));
        if (cursor.failed || location > UINT32_MAX)
            return IFG_CORRUPT;
        zones->open_locations[i] = (uint32_t)location;
        zones->open_starts[i] = before;
    }
    zones->open_count = (size_t)count;
    zones->has_open = true;
    return IFG_OK;
}

enum ifg_status trace_decode_zones(const struct trace_reader *reader, size_t block,
                                   struct trace_zones *out_zones, struct ifg_error *err)
{
    struct zone_scratch *scratch = out_zones->scratch;
    struct trace_block_head head;
    enum ifg_status status;

    out_zones->count = 0;
    out_zones->first_zone = 0;
    out_zones->has_open = false;
    out_zones->open_count = 0;
    out_zones->open_as_of = 0;
    if (!scratch) {
        scratch = ifg_alloc(1, sizeof *scratch);
        if (!scratch)
            return ifg_fail_no_memory(err, "for a block of %s", reader->name);
        out_zones->scratch = scratch;
    }
    status = trace_open_block(reader, block, TRACE_BLOCK_ZONES, &scratch->unpacker, &head, err);
    if (status)
        return status;
    /* A zone has at least a byte in each column, so a small file cannot ask for much memory. */
    if (head.count > TRACE_COUNT_MAX || head.count > scratch->unpacker.sizes[ZONE_CODES])
        status = IFG_CORRUPT;
    else if (!reserve_zones(out_zones, scratch, head.count))
        status = IFG_NO_MEMORY;
    else if (!decode_zone_columns(out_zones, scratch, head.count))
        status = IFG_CORRUPT;
    else
        status = decode_open(out_zones, scratch);
    if (!status)
        out_zones->count = head.count;
    return fail_contents(reader, block, status, err);
}

void trace_zones_fini(struct trace_zones *zones)
{
    struct zone_scratch *scratch = zones->scratch;

    if (scratch) {
        trace_unpacker_fini(&scratch->unpacker);
        ifg_free(scratch->pending);
        ifg_free(scratch->leftmost);
        ifg_free(scratch);
    }
    ifg_free(zones->starts);
    ifg_free(zones->durations);
    ifg_free(zones->locations);
    ifg_free(zones->inside);
    ifg_free(zones->open_starts);
    ifg_free(zones->open_locations);
    memset(zones, 0, sizeof *zones);
}

static bool reserve_events(struct trace_events *events, struct event_scratch *scratch, size_t count)
{
    if (count <= scratch->capacity && events->events)
        return true;
    scratch->capacity = 0;
    if (!replace(&events->events, count, sizeof *events->events))
        return false;
    scratch->capacity = count;
    return true;
}

/* The keys column; they are numbered by their position. */
static enum ifg_status decode_keys(struct event_scratch *scratch, size_t *out_count)
{
    struct ifg_cursor cursor =
        ifg_cursor_over(scratch->unpacker.columns[EVENT_KEYS], scratch->unpacker.sizes[EVENT_KEYS]);
    size_t count = 0;

    while (ifg_cursor_left(&cursor)) {
        if (!IFG_ARRAY_ROOM(scratch->keys, scratch->key_capacity, count + 1, IFG_ARRAY_ANY))
            return IFG_NO_MEMORY;
        scratch->keys[count].text = ifg_cursor_string(&cursor, &scratch->keys[count].size);
        if (cursor.failed)
            return IFG_CORRUPT;
        count++;
    }
    *out_count = count;
    return IFG_OK;
}

/* The value of an attribute from its payload. */
static bool decode_value(struct trace_attribute *attribute, const struct trace_event *event,
                         uint64_t *slot)
{
    struct ifg_cursor cursor = ifg_cursor_over(event->payload, event->payload_bytes);
    uint64_t bits;

    switch (attribute->type) {
    case TRACE_VALUE_STRING:
        attribute->text = (const char *)event->payload;
        attribute->text_bytes = event->payload_bytes;
        return true;
    case TRACE_VALUE_F64:
        if (event->payload_bytes < sizeof bits)
            return false;
        bits = load_u64(event->payload);
        memcpy(&attribute->f64_value, &bits, sizeof bits);
        return true;
    case TRACE_VALUE_SIGNED:
    case TRACE_VALUE_UNSIGNED:
        *slot += (uint64_t)ifg_unzigzag(ifg_cursor_varint(&cursor));
        if (attribute->type == TRACE_VALUE_SIGNED)
            attribute->signed_value = (int64_t)*slot;
        else
            attribute->unsigned_value = *slot;
        return !cursor.failed;
    }
    return false;
}

/* What attribute events have besides the columns of all events. An attribute of a type that is not
 * known is left without one; the others do not suffer. */
static enum ifg_status decode_attributes(struct trace_events *events, struct event_scratch *scratch,
                                         size_t attribute_count)
{
    struct reader_lane lane = lane_over(&scratch->unpacker, EVENT_ATTRIBUTES);
    uint64_t slots[TRACE_VALUE_SLOTS] = { 0 };
    struct trace_attribute *attribute;
    enum ifg_status status;
    uint64_t zones = 0;
    size_t key_count;

    if (attribute_count == 0)
        return IFG_OK;
    status = decode_keys(scratch, &key_count);
    if (status)
        return status;
    if (attribute_count > scratch->attribute_capacity) {
        scratch->attribute_capacity = 0;
        if (!replace(&scratch->attributes, attribute_count, sizeof *scratch->attributes))
            return IFG_NO_MEMORY;
        scratch->attribute_capacity = attribute_count;
    }
    attribute = scratch->attributes;
    for (size_t i = 0; i < events->count; i++) {
        struct trace_event *event = &events->events[i];
        uint64_t more_zones, description, key;

        if (event->kind != TRACE_EVENT_ATTRIBUTE)
            continue;
        if (!lane_varint(&lane, &more_zones) || !lane_varint(&lane, &description))
            return IFG_CORRUPT;
        zones += more_zones;
        key = description >> 3;
        memset(attribute, 0, sizeof *attribute);
        if (key >= key_count)
            return IFG_CORRUPT;
        attribute->zone_start = event->ticks;
        attribute->zone_location = event->reference;
        attribute->first_zone = zones;
        attribute->type = (enum trace_value_type)(description & 7);
        attribute->key = scratch->keys[key].text;
        attribute->key_bytes = scratch->keys[key].size;
        attribute->text = "";
        if (decode_value(attribute, event,
                         &slots[trace_value_slot(event->reference, (uint32_t)key)]))
            event->attribute = attribute;
        attribute++;
    }
    return IFG_OK;
}

static enum ifg_status decode_event_columns(struct trace_events *events,
                                            struct event_scratch *scratch, size_t count)
{
    const struct trace_unpacker *unpacker = &scratch->unpacker;
    const uint8_t *kinds = unpacker->columns[EVENT_KINDS];
    struct reader_lane times = lane_over(unpacker, EVENT_TIMES);
    struct reader_lane references = lane_over(unpacker, EVENT_REFERENCES);
    struct reader_lane sizes = lane_over(unpacker, EVENT_SIZES);
    struct reader_lane payloads = lane_over(unpacker, EVENT_PAYLOADS);
    size_t attributes = 0;
    uint64_t ticks = 0;

    if (count && !lane_varint(&times, &ticks))
        return IFG_CORRUPT;
    for (size_t i = 0; i < count; i++) {
        struct trace_event *event = &events->events[events->count];
        uint64_t step, reference, size;

        if (!lane_varint(&times, &step) || !lane_varint(&references, &reference) ||
            !lane_varint(&sizes, &size) || reference > UINT32_MAX ||
            size > (size_t)(payloads.end - payloads.at))
            return IFG_CORRUPT;
        ticks += (uint64_t)ifg_unzigzag(step);
        event->kind = (enum trace_event_kind)kinds[i];
        event->ticks = ticks;
        event->reference = (uint32_t)reference;
        event->payload = payloads.at;
        event->payload_bytes = (uint32_t)size;
        event->attribute = NULL;
        payloads.at += size;
        if (kinds[i] < TRACE_EVENT_MESSAGE || kinds[i] > TRACE_EVENT_FLOW_END)
            continue; /* of a later version */
        attributes += kinds[i] == TRACE_EVENT_ATTRIBUTE;
        events->count++;
    }
    return decode_attributes(events, scratch, attributes);
}

enum ifg_status trace_decode_events(const struct trace_reader *reader, size_t block,
                                    struct trace_events *out_events, struct ifg_error *err)
{
    struct event_scratch *scratch = out_events->scratch;
    struct trace_block_head head;
    enum ifg_status status;

    out_events->count = 0;
    if (!scratch) {
        scratch = ifg_alloc(1, sizeof *scratch);
        if (!scratch)
            return ifg_fail_no_memory(err, "for a block of %s", reader->name);
        out_events->scratch = scratch;
    }
    status = trace_open_block(reader, block, TRACE_BLOCK_EVENTS, &scratch->unpacker, &head, err);
    if (status)
        return status;
    if (head.count > TRACE_COUNT_MAX || head.count > scratch->unpacker.sizes[EVENT_KINDS])
        status = IFG_CORRUPT;
    else if (!reserve_events(out_events, scratch, head.count))
        status = IFG_NO_MEMORY;
    else
        status = decode_event_columns(out_events, scratch, head.count);
    if (status)
        out_events->count = 0;
    return fail_contents(reader, block, status, err);
}

enum ifg_status trace_parse_attribute(const struct trace_event *event,
                                      struct trace_attribute *out_attribute)
{
    memset(out_attribute, 0, sizeof *out_attribute);
    if (event->kind != TRACE_EVENT_ATTRIBUTE || !event->attribute)
        return IFG_CORRUPT;
    *out_attribute = *event->attribute;
    return IFG_OK;
}

void trace_events_fini(struct trace_events *events)
{
    struct event_scratch *scratch = events->scratch;

    if (scratch) {
        trace_unpacker_fini(&scratch->unpacker);
        ifg_free(scratch->attributes);
        ifg_free(scratch->keys);
        ifg_free(scratch);
    }
    ifg_free(events->events);
    memset(events, 0, sizeof *events);
}
