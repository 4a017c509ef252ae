// SPDX-License-Identifier: Apache-2.0
/*
 * One thread's zones and events on their way into blocks.
 *
 * Zones arrive at up to tens of millions a second and are only noted here; they are encoded when a
 * block is full. Buffers begin small and grow, because most threads of a program are idle, and are
 * given back when a thread becomes so.
 */
#include "trace/writer_internal.h"

#include "base/alloc.h"
#include "base/array.h"

#define FIRST_CAPACITY 256u       /* zones or events; grows fourfold to TRACE_BLOCK_LIMIT */
#define PAYLOADS_FULL  (1u << 20) /* bytes of event payloads at which a block is written */
#define PAYLOAD_LIMIT  (1u << 20) /* of a single event */
#define KEY_LIMIT      4096u      /* bytes of an attribute's key */
#define KEY_SLOTS      256u       /* of the block's key table; a power of two */
#define KEYS_FULL      192u       /* keys at which a block is written */
#define IDLE_FLUSHES   16u /* flushes with little to write after which memory is given back */

/* Columns of events that have one entry of at most so many bytes for each. */
#define EVENT_LANES (EVENT_SIZES + 1)
static const size_t event_lane_bytes[EVENT_LANES] = { 1, IFG_VARINT_MAX, 5, 3 };

/* The times column begins with a varint, and behind the last entry a store may reach too far. */
#define LANE_SLACK (IFG_VARINT_MAX + 8)

struct lane {
    uint8_t *data;
    uint8_t *at;
};

struct event_block {
    uint32_t count;
    uint32_t capacity;
    uint64_t before; /* time of the event before */
    uint64_t t0;
    uint64_t t1;
    struct lane lanes[EVENT_LANES];
    struct ifg_bytes payloads;
    struct ifg_bytes attributes;
    struct ifg_bytes keys;
    uint64_t zones_before; /* the attribute before had this many */
    uint32_t key_count;
};

/* Which keys the block has, and the last number in each slot; only for streams with attributes. */
struct attribute_state {
    uint32_t last_slot; /* of keys: the same key comes again and again */
    struct {
        uint32_t offset; /* of the string in the keys column */
        uint32_t size;
        uint32_t number_plus_one; /* 0: free */
    } keys[KEY_SLOTS];
    uint64_t values[TRACE_VALUE_SLOTS];
};

struct trace_stream {
    struct raw_zones zones;
    struct trace_writer *writer;
    uint32_t thread;
    bool has_clock; /* of its own */
    uint32_t idle_flushes;
    uint64_t zones_before_block; /* zones of this thread in earlier blocks */
    uint64_t dropped;            /* as told by the caller */
    uint64_t refused;            /* dropped here: no memory, or too large */
    uint64_t reported;           /* dropped, as the latest block told */
    uint64_t written;            /* zones and events that are in the file */
    struct event_block events;
    struct attribute_state *attribute_state;
    struct trace_stream *next;
    struct trace_stream **previous_next;
};

static uint32_t next_capacity(uint32_t capacity)
{
    return capacity ? capacity * 4 : FIRST_CAPACITY;
}
_Static_assert(FIRST_CAPACITY * 4 * 4 * 4 == TRACE_BLOCK_LIMIT, "growth ends at a full block");

/* Columns of a block have one capacity; each is told its own, so that all grow alike. */
static bool grow_column(void *column, size_t capacity, size_t item_bytes, size_t wanted)
{
    return ifg_array_grow(column, &capacity, item_bytes, wanted, wanted);
}

static bool zones_grow(struct raw_zones *zones)
{
    uint32_t before = zones->capacity;
    uint32_t capacity = next_capacity(before);

    if (!grow_column(&zones->starts, before, sizeof *zones->starts, capacity) ||
        !grow_column(&zones->durations, before, sizeof *zones->durations, capacity) ||
        !grow_column(&zones->locations, before, sizeof *zones->locations, capacity))
        return false;
    zones->capacity = capacity;
    return true;
}

static void zones_free(struct raw_zones *zones)
{
    ifg_free(zones->starts);
    ifg_free(zones->durations);
    ifg_free(zones->locations);
    memset(zones, 0, sizeof *zones);
}

static bool events_grow(struct event_block *block)
{
    uint32_t capacity = next_capacity(block->capacity);

    for (size_t i = 0; i < EVENT_LANES; i++) {
        struct lane *lane = &block->lanes[i];
        size_t used = (size_t)(lane->at - lane->data);

        if (!grow_column(&lane->data, 0, 1, capacity * event_lane_bytes[i] + LANE_SLACK))
            return false;
        lane->at = lane->data + used;
    }
    block->capacity = capacity;
    return true;
}

static void events_init(struct event_block *block)
{
    memset(block, 0, sizeof *block);
    ifg_bytes_init(&block->payloads, PAYLOADS_FULL + PAYLOAD_LIMIT);
    ifg_bytes_init(&block->attributes, TRACE_BLOCK_LIMIT * 2 * IFG_VARINT_MAX);
    ifg_bytes_init(&block->keys, KEYS_FULL * (KEY_LIMIT + IFG_VARINT_MAX));
}

static void events_fini(struct event_block *block)
{
    for (size_t i = 0; i < EVENT_LANES; i++)
        ifg_free(block->lanes[i].data);
    ifg_bytes_fini(&block->payloads);
    ifg_bytes_fini(&block->attributes);
    ifg_bytes_fini(&block->keys);
}

struct trace_stream *trace_stream_create(struct trace_writer *writer, uint32_t thread)
{
    struct trace_stream *stream = ifg_alloc(1, sizeof *stream);

    if (!stream) {
        trace_writer_no_memory(writer, "a thread");
        return NULL;
    }
    stream->writer = writer;
    stream->thread = thread;
    events_init(&stream->events);
    stream->next = writer->streams;
    if (stream->next)
        stream->next->previous_next = &stream->next;
    stream->previous_next = &writer->streams;
    writer->streams = stream;
    return stream;
}

struct trace_stream *trace_stream_resume(struct trace_writer *writer, uint32_t thread,
                                         uint64_t zones, uint64_t dropped)
{
    struct trace_stream *stream = trace_stream_create(writer, thread);

    if (stream) {
        stream->zones_before_block = zones;
        stream->dropped = dropped;
        stream->reported = dropped;
    }
    return stream;
}

void trace_stream_set_clock(struct trace_stream *stream, uint32_t clock)
{
    stream->has_clock = true;
    trace_writer_stream_clock(stream->writer, stream->thread, clock);
}

uint64_t trace_stream_zones(const struct trace_stream *stream)
{
    return stream->zones_before_block;
}

uint64_t trace_stream_written(const struct trace_stream *stream)
{
    return stream->written;
}

void trace_stream_destroy(struct trace_stream *stream)
{
    if (!stream)
        return;
    trace_stream_flush(stream, NULL, 0, 0);
    *stream->previous_next = stream->next;
    if (stream->next)
        stream->next->previous_next = stream->previous_next;
    zones_free(&stream->zones);
    events_fini(&stream->events);
    ifg_free(stream->attribute_state);
    ifg_free(stream);
}

/* What the next block tells about losses. */
static uint64_t report_dropped(struct trace_stream *stream)
{
    stream->reported = stream->dropped + stream->refused;
    return stream->reported;
}

static bool has_unreported(const struct trace_stream *stream)
{
    return stream->reported != stream->dropped + stream->refused;
}

static void emit_zones(struct trace_stream *stream, const uint8_t *open, size_t open_bytes)
{
    struct raw_zones *zones = &stream->zones;
    struct trace_block_head head = {
        .type = stream->has_clock ? TRACE_BLOCK_CLOCKED_ZONES : TRACE_BLOCK_ZONES,
        .stream = stream->thread,
        .dropped = report_dropped(stream),
    };
    struct trace_column columns[ZONE_COLUMNS];

    if (trace_writer_broken(stream->writer)) {
        zones->count = 0;
        return;
    }
    if (!zone_encoder_run(&stream->writer->zone_encoder, zones, stream->zones_before_block, &head,
                          columns)) {
        stream->refused += zones->count;
    } else {
        columns[ZONE_OPEN].data = open;
        columns[ZONE_OPEN].size = open_bytes;
        trace_writer_emit(stream->writer, &head, columns, ZONE_COLUMNS);
        if (!trace_writer_broken(stream->writer))
            stream->written += zones->count;
        stream->zones_before_block += zones->count;
    }
    zones->count = 0;
}

/* No room for the next zone: find some, or write what is there. */
static __attribute__((noinline)) bool zones_make_room(struct trace_stream *stream)
{
    if (zones_grow(&stream->zones))
        return true;
    if (stream->zones.capacity == 0) {
        stream->refused++;
        return false;
    }
    emit_zones(stream, NULL, 0);
    return true;
}

void trace_stream_zone(struct trace_stream *stream, uint64_t start, uint64_t duration,
                       uint32_t location)
{
    struct raw_zones *zones = &stream->zones;
    uint32_t count = zones->count;

    if (__builtin_expect(count == zones->capacity, 0)) {
        if (!zones_make_room(stream))
            return;
        count = zones->count;
    }
    if (__builtin_expect(duration > UINT64_MAX - start, 0))
        duration = UINT64_MAX - start;
    zones->starts[count] = start;
    zones->durations[count] = duration;
    zones->locations[count] = location;
    zones->count = count + 1;
    if (__builtin_expect(count + 1 == TRACE_BLOCK_LIMIT, 0))
        emit_zones(stream, NULL, 0);
}

static void emit_events(struct trace_stream *stream)
{
    struct event_block *block = &stream->events;
    struct trace_block_head head = {
        .type = stream->has_clock ? TRACE_BLOCK_CLOCKED_EVENTS : TRACE_BLOCK_EVENTS,
        .stream = stream->thread,
        .count = block->count,
        .t0 = block->t0,
        .t1 = block->t1,
        .dropped = report_dropped(stream),
    };
    struct trace_column columns[EVENT_COLUMNS];
    size_t count = block->key_count ? EVENT_COLUMNS : EVENT_PAYLOADS + 1;

    for (size_t i = 0; i < EVENT_LANES; i++) {
        columns[i].data = block->lanes[i].data;
        columns[i].size = (size_t)(block->lanes[i].at - block->lanes[i].data);
    }
    columns[EVENT_PAYLOADS].data = block->payloads.data;
    columns[EVENT_PAYLOADS].size = block->payloads.size;
    columns[EVENT_ATTRIBUTES].data = block->attributes.data;
    columns[EVENT_ATTRIBUTES].size = block->attributes.size;
    columns[EVENT_KEYS].data = block->keys.data;
    columns[EVENT_KEYS].size = block->keys.size;
    trace_writer_emit(stream->writer, &head, columns, count);
    if (!trace_writer_broken(stream->writer))
        stream->written += block->count;
    block->count = 0;
}

/* The first event of a block: its time is where the block's times begin. */
static void events_begin(struct trace_stream *stream, uint64_t ticks)
{
    struct event_block *block = &stream->events;

    for (size_t i = 0; i < EVENT_LANES; i++)
        block->lanes[i].at = block->lanes[i].data;
    block->lanes[EVENT_TIMES].at = ifg_varint_write(block->lanes[EVENT_TIMES].at, ticks);
    block->before = ticks;
    block->t0 = ticks;
    block->t1 = ticks;
    ifg_bytes_clear(&block->payloads);
    ifg_bytes_clear(&block->attributes);
    ifg_bytes_clear(&block->keys);
    block->zones_before = 0;
    if (block->key_count)
        memset(stream->attribute_state, 0, sizeof *stream->attribute_state);
    block->key_count = 0;
}

/* Makes sure that an event with this payload can be appended to every column. */
static bool events_make_room(struct trace_stream *stream, uint64_t ticks, size_t payload_bytes)
{
    struct event_block *block = &stream->events;

    if (block->count == block->capacity && !events_grow(block)) {
        if (block->capacity == 0)
            goto refused;
        emit_events(stream);
    }
    if (block->count == 0)
        events_begin(stream, ticks);
    if (payload_bytes <= PAYLOAD_LIMIT && ifg_bytes_reserve(&block->payloads, payload_bytes))
        return true;
    block->payloads.failed = false; /* what is in there is whole; only this one is lost */
refused:
    stream->refused++;
    return false;
}

/* Room was made before, so that an event is in all columns or in none. */
static void append_event(struct trace_stream *stream, enum trace_event_kind kind, uint64_t ticks,
                         uint32_t reference, const void *payload, size_t payload_bytes)
{
    struct event_block *block = &stream->events;
    struct lane *lanes = block->lanes;

    *lanes[EVENT_KINDS].at++ = (uint8_t)kind;
    lanes[EVENT_TIMES].at =
        put_varint(lanes[EVENT_TIMES].at, ifg_zigzag((int64_t)(ticks - block->before)));
    lanes[EVENT_REFERENCES].at = put_varint(lanes[EVENT_REFERENCES].at, reference);
    lanes[EVENT_SIZES].at = put_varint(lanes[EVENT_SIZES].at, payload_bytes);
    if (payload_bytes)
        memcpy(block->payloads.data + block->payloads.size, payload, payload_bytes);
    block->payloads.size += payload_bytes;
    block->before = ticks;
    block->t0 = ticks < block->t0 ? ticks : block->t0;
    block->t1 = ticks > block->t1 ? ticks : block->t1;
    if (++block->count == TRACE_BLOCK_LIMIT || block->payloads.size >= PAYLOADS_FULL ||
        block->key_count >= KEYS_FULL)
        emit_events(stream);
}

void trace_stream_event(struct trace_stream *stream, enum trace_event_kind kind, uint64_t ticks,
                        uint32_t reference, const void *payload, size_t payload_bytes)
{
    if (kind == TRACE_EVENT_ATTRIBUTE) {
        stream->refused++; /* they have columns of their own: see trace_stream_attribute */
        return;
    }
    if (events_make_room(stream, ticks, payload_bytes))
        append_event(stream, kind, ticks, reference, payload, payload_bytes);
}

static bool is_key(const struct trace_stream *stream, uint32_t slot, const char *key, size_t size)
{
    const struct attribute_state *state = stream->attribute_state;

    return state->keys[slot].number_plus_one && state->keys[slot].size == size &&
           memcmp(stream->events.keys.data + state->keys[slot].offset, key, size) == 0;
}

/* The number of a key in this block, putting it into the keys column at its first use. False: no
 * memory. The table is one of its own: it begins anew with each block, never asks for memory, and
 * the key is mostly that of the event before. */
static bool find_key(struct trace_stream *stream, const char *key, size_t size,
                     uint32_t *out_number)
{
    struct event_block *block = &stream->events;
    struct attribute_state *state = stream->attribute_state;
    uint32_t hash = 2166136261u;
    uint32_t slot = state->last_slot;

    if (!is_key(stream, slot, key, size)) {
        for (size_t i = 0; i < size; i++)
            hash = (hash ^ (uint8_t)key[i]) * 16777619u;
        slot = hash & (KEY_SLOTS - 1);
        while (state->keys[slot].number_plus_one && !is_key(stream, slot, key, size))
            slot = (slot + 1) & (KEY_SLOTS - 1);
    }
    if (!state->keys[slot].number_plus_one) {
        if (!ifg_bytes_reserve(&block->keys, size + IFG_VARINT_MAX)) {
            block->keys.failed = false;
            return false;
        }
        ifg_bytes_put_string(&block->keys, key, size);
        state->keys[slot].offset = (uint32_t)(block->keys.size - size);
        state->keys[slot].size = (uint32_t)size;
        state->keys[slot].number_plus_one = ++block->key_count;
    }
    state->last_slot = slot;
    *out_number = state->keys[slot].number_plus_one - 1;
    return true;
}

/* Numbers are stored as differences to the last one of the same location and key: sizes and shapes
 * repeat, so most become zero. */
static size_t encode_value(struct attribute_state *state, uint32_t location, uint32_t key,
                           enum trace_value_type type, const void *value,
                           uint8_t out[IFG_VARINT_MAX])
{
    uint64_t *slot = &state->values[trace_value_slot(location, key)];
    uint64_t number;
    uint64_t difference;

    memcpy(&number, value, sizeof number);
    if (type == TRACE_VALUE_F64) {
        store_u64(out, number);
        return sizeof number;
    }
    difference = number - *slot;
    *slot = number;
    return (size_t)(put_varint(out, ifg_zigzag((int64_t)difference)) - out);
}

void trace_stream_attribute(struct trace_stream *stream, uint64_t zone_start,
                            uint32_t zone_location, enum trace_value_type type, const char *key,
                            size_t key_bytes, const void *value, size_t value_bytes)
{
    struct event_block *block = &stream->events;
    uint64_t zones = stream->zones_before_block + stream->zones.count;
    bool is_text = type == TRACE_VALUE_STRING;
    uint8_t encoded[IFG_VARINT_MAX];
    uint8_t *at;
    uint32_t number;

    if (key_bytes > KEY_LIMIT || (!is_text && value_bytes != sizeof(uint64_t))) {
        stream->refused++;
        return;
    }
    if (!events_make_room(stream, zone_start, is_text ? value_bytes : sizeof encoded))
        return;
    if (!stream->attribute_state)
        stream->attribute_state = ifg_alloc(1, sizeof *stream->attribute_state);
    if (!stream->attribute_state || !ifg_bytes_reserve(&block->attributes, 2 * IFG_VARINT_MAX) ||
        !find_key(stream, key, key_bytes, &number)) {
        block->attributes.failed = false;
        stream->refused++;
        return;
    }
    at = block->attributes.data + block->attributes.size;
    at = put_varint(at, zones - block->zones_before);
    at = put_varint(at, (uint64_t)number << 3 | (uint64_t)type);
    block->attributes.size = (size_t)(at - block->attributes.data);
    block->zones_before = zones;
    if (!is_text) {
        value_bytes =
            encode_value(stream->attribute_state, zone_location, number, type, value, encoded);
        value = encoded;
    }
    append_event(stream, TRACE_EVENT_ATTRIBUTE, zone_start, zone_location, value, value_bytes);
}

void trace_stream_set_dropped(struct trace_stream *stream, uint64_t dropped)
{
    stream->dropped = dropped;
}

bool trace_stream_pending(const struct trace_stream *stream)
{
    return stream->zones.count || stream->events.count || has_unreported(stream);
}

/* Gives the memory of a stream back that was busy once and is not any more. */
static void relax(struct trace_stream *stream, uint32_t zones, uint32_t events)
{
    if (zones * 8 > stream->zones.capacity || events * 8 > stream->events.capacity) {
        stream->idle_flushes = 0;
        return;
    }
    if (++stream->idle_flushes < IDLE_FLUSHES)
        return;
    stream->idle_flushes = 0;
    if (stream->zones.capacity > FIRST_CAPACITY)
        zones_free(&stream->zones);
    if (stream->events.capacity > FIRST_CAPACITY) {
        events_fini(&stream->events);
        events_init(&stream->events);
        ifg_free(stream->attribute_state);
        stream->attribute_state = NULL;
    }
}

void trace_stream_flush(struct trace_stream *stream, const struct trace_open_zone *open,
                        size_t open_count, uint64_t as_of)
{
    uint8_t encoded[2 * IFG_VARINT_MAX + TRACE_OPEN_MAX * (5 + IFG_VARINT_MAX)];
    uint32_t zones = stream->zones.count;
    uint32_t events = stream->events.count;
    uint8_t *at = encoded;

    if (open) {
        uint64_t before = as_of;

        if (open_count > TRACE_OPEN_MAX)
            open_count = TRACE_OPEN_MAX;
        at = ifg_varint_write(at, as_of);
        at = ifg_varint_write(at, open_count);
        for (size_t i = 0; i < open_count; i++) {
            at = ifg_varint_write(at, open[i].location);
            at = ifg_varint_write(at, ifg_zigzag((int64_t)(open[i].start - before)));
            before = open[i].start;
        }
    }
    if (zones || open)
        emit_zones(stream, encoded, (size_t)(at - encoded));
    if (events)
        emit_events(stream);
    if (has_unreported(stream))
        emit_zones(stream, NULL, 0); /* a loss is told even if nothing comes after it */
    relax(stream, zones, events);
}
