// SPDX-License-Identifier: Apache-2.0
/* Everything that is not a slice: messages, counters, spans, flows, memory, frames, and attributes
 * of slices. */
#include "timeline/timeline_internal.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/array.h"
#include "base/bytes.h"

struct growing {
    void *items;
    size_t count;
    size_t capacity;
};

/* One end of an async span, before both are matched. */
struct async_end {
    uint64_t ns;
    uint64_t id;
    const char *name; /* interned: the same name is the same pointer */
    uint32_t process;
    uint32_t location;
    uint32_t thread;
    bool is_begin;
};

struct collecting {
    struct timeline_builder *builder;
    struct growing messages;
    struct growing counters;
    struct growing ends;
    struct growing flow_points;
    struct growing allocations;
    struct growing frames;
    struct growing attributes;
};

static void *grow(struct growing *list, size_t size)
{
    if (!ifg_array_grow(&list->items, &list->capacity, size, list->count + 1, IFG_ARRAY_ANY))
        return NULL;
    return (char *)list->items + list->count++ * size;
}

/* ---- attributes ---- */

/* The slice of this thread that has this start and location. */
static size_t slice_at(const struct timeline_builder *builder, uint32_t thread, uint64_t start_ns,
                       uint32_t location)
{
    const struct timeline_thread *range = &builder->threads[thread];
    size_t low = range->first_slice;
    size_t end = range->first_slice + range->slice_count;
    size_t high = end;

    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (builder->start_ns[middle] < start_ns)
            low = middle + 1;
        else
            high = middle;
    }
    for (; low < end && builder->start_ns[low] == start_ns; low++)
        if (builder->location[low] == location)
            return low;
    return SIZE_MAX;
}

static bool take_attribute(struct collecting *collecting, uint32_t thread, uint64_t start_ns,
                           const struct trace_event *event)
{
    struct timeline_builder *builder = collecting->builder;
    struct trace_attribute from;
    struct timeline_attribute *to;
    uint32_t location =
        timeline_builder_location(builder, builder->threads[thread].process, event->reference);
    size_t slice = slice_at(builder, thread, start_ns, location);

    if (slice == SIZE_MAX || trace_parse_attribute(event, &from)) {
        builder->timeline.attributes_without_slice++;
        return true;
    }
    to = grow(&collecting->attributes, sizeof *to);
    if (!to)
        return false;
    to->slice = slice;
    to->type = from.type;
    to->key = ifg_strings_keep(&builder->strings, from.key, from.key_bytes);
    to->unsigned_value = from.unsigned_value;
    if (from.type == TRACE_VALUE_STRING)
        to->text = ifg_strings_keep(&builder->strings, from.text, from.text_bytes);
    else if (from.type == TRACE_VALUE_SIGNED)
        to->signed_value = from.signed_value;
    else if (from.type == TRACE_VALUE_F64)
        to->f64_value = from.f64_value;
    return to->key && (from.type != TRACE_VALUE_STRING || to->text);
}

/* ---- the others ---- */

static bool take_message(struct collecting *collecting, uint32_t thread, uint64_t ns,
                         const struct trace_event *event)
{
    struct timeline_message *message = grow(&collecting->messages, sizeof *message);

    if (!message)
        return false;
    *message = (struct timeline_message){
        .ns = ns,
        .thread = thread,
        .level = event->reference,
        .text = ifg_strings_keep(&collecting->builder->strings, (const char *)event->payload,
                                 event->payload_bytes),
    };
    return message->text != NULL;
}

static bool take_counter(struct collecting *collecting, uint32_t thread, uint64_t ns,
                         uint32_t location, const struct trace_event *event)
{
    struct timeline_counter *counter = grow(&collecting->counters, sizeof *counter);

    if (!counter)
        return false;
    *counter = (struct timeline_counter){ .ns = ns, .thread = thread, .location = location };
    if (event->payload_bytes >= sizeof counter->value)
        memcpy(&counter->value, event->payload, sizeof counter->value);
    return true;
}

static bool take_async(struct collecting *collecting, uint32_t thread, uint64_t ns,
                       uint32_t location, const struct trace_event *event)
{
    struct timeline_builder *builder = collecting->builder;
    const char *name = builder->timeline.locations[location].name;
    struct ifg_cursor cursor = ifg_cursor_over(event->payload, event->payload_bytes);
    struct async_end *end = grow(&collecting->ends, sizeof *end);

    if (!end)
        return false;
    *end = (struct async_end){
        .ns = ns,
        .id = ifg_cursor_varint(&cursor),
        .name = ifg_strings_keep(&builder->strings, name, strlen(name)),
        .process = builder->threads[thread].process,
        .location = location,
        .thread = thread,
        .is_begin = event->kind == TRACE_EVENT_ASYNC_BEGIN,
    };
    return end->name != NULL;
}

static bool take_flow_point(struct collecting *collecting, uint32_t thread, uint64_t ns,
                            uint32_t location, const struct trace_event *event)
{
    struct timeline_builder *builder = collecting->builder;
    const char *name = builder->timeline.locations[location].name;
    struct ifg_cursor cursor = ifg_cursor_over(event->payload, event->payload_bytes);
    struct taken_flow_point *taken = grow(&collecting->flow_points, sizeof *taken);
    struct timeline_flow_point *point;

    if (!taken)
        return false;
    *taken = (struct taken_flow_point){
        .name = ifg_strings_keep(&builder->strings, name, strlen(name)),
        .process = builder->threads[thread].process,
    };
    point = &taken->point;
    point->ns = ns;
    point->id = ifg_cursor_varint(&cursor);
    if (ifg_cursor_left(&cursor))
        point->flags = (uint8_t)(ifg_cursor_varint(&cursor) & (TRACE_FLOW_NEXT | TRACE_FLOW_WORLD));
    point->slice = SIZE_MAX;
    point->thread = thread;
    point->location = location;
    point->kind = event->kind == TRACE_EVENT_FLOW_BEGIN  ? TIMELINE_FLOW_BEGIN
                  : event->kind == TRACE_EVENT_FLOW_STEP ? TIMELINE_FLOW_STEP
                                                         : TIMELINE_FLOW_END;
    if (point->flags & TRACE_FLOW_WORLD)
        taken->process = TIMELINE_NONE;
    return taken->name != NULL;
}

static bool take_allocation(struct collecting *collecting, uint32_t thread, uint64_t ns,
                            uint32_t location, const struct trace_event *event)
{
    struct ifg_cursor cursor = ifg_cursor_over(event->payload, event->payload_bytes);
    struct timeline_allocation *allocation = grow(&collecting->allocations, sizeof *allocation);

    if (!allocation)
        return false;
    *allocation = (struct timeline_allocation){
        .ns = ns,
        .address = ifg_cursor_varint(&cursor),
        .thread = thread,
        .location = location,
        .is_free = event->kind == TRACE_EVENT_FREE,
    };
    if (!allocation->is_free)
        allocation->bytes = ifg_cursor_varint(&cursor);
    return true;
}

static bool take_event(struct collecting *collecting, uint32_t thread, uint64_t ns,
                       const struct trace_event *event)
{
    struct timeline_builder *builder = collecting->builder;
    uint32_t location =
        timeline_builder_location(builder, builder->threads[thread].process, event->reference);
    struct timeline_frame *frame;

    switch (event->kind) {
    case TRACE_EVENT_MESSAGE:
        return take_message(collecting, thread, ns, event);
    case TRACE_EVENT_COUNTER:
        return take_counter(collecting, thread, ns, location, event);
    case TRACE_EVENT_ASYNC_BEGIN:
    case TRACE_EVENT_ASYNC_END:
        return take_async(collecting, thread, ns, location, event);
    case TRACE_EVENT_FLOW_BEGIN:
    case TRACE_EVENT_FLOW_STEP:
    case TRACE_EVENT_FLOW_END:
        return take_flow_point(collecting, thread, ns, location, event);
    case TRACE_EVENT_ALLOC:
    case TRACE_EVENT_FREE:
        return take_allocation(collecting, thread, ns, location, event);
    case TRACE_EVENT_FRAME:
        frame = grow(&collecting->frames, sizeof *frame);
        if (frame)
            *frame = (struct timeline_frame){ ns, thread, location };
        return frame != NULL;
    case TRACE_EVENT_ATTRIBUTE:
        return take_attribute(collecting, thread, ns, event);
    }
    return true;
}

static enum ifg_status decode_blocks(struct collecting *collecting)
{
    struct timeline_builder *builder = collecting->builder;
    const struct trace_reader *reader = builder->timeline.reader;
    struct trace_events events = { 0 };
    enum ifg_status status = IFG_OK;

    for (size_t i = 0; i < trace_reader_block_count(reader) && !status; i++) {
        const struct trace_block *block = trace_reader_block(reader, i);
        uint32_t clock;

        if (block->type != TRACE_BLOCK_EVENTS || block->stream >= builder->timeline.thread_count)
            continue;
        status = trace_decode_events(reader, i, &events, NULL);
        if (status && status != IFG_NO_MEMORY) {
            builder->timeline.undecoded_blocks++;
            status = IFG_OK;
            continue;
        }
        clock = timeline_builder_clock(builder, block->stream);
        if (block->dropped > builder->threads[block->stream].dropped) {
            builder->timeline.dropped += block->dropped - builder->threads[block->stream].dropped;
            builder->threads[block->stream].dropped = block->dropped;
        }
        for (size_t k = 0; k < events.count && !status; k++) {
            uint64_t ns = trace_clock_to_ns(reader, clock, events.events[k].ticks);

            if (ns < builder->timeline.begin_ns)
                builder->timeline.begin_ns = ns;
            if (ns > builder->timeline.end_ns)
                builder->timeline.end_ns = ns;
            if (!take_event(collecting, block->stream, ns, &events.events[k]))
                status = IFG_NO_MEMORY;
        }
    }
    trace_events_fini(&events);
    return status;
}

/* ---- sorting and matching ---- */

/* All event structures begin with their time. */
static int by_time(const void *a, const void *b)
{
    uint64_t left;
    uint64_t right;

    memcpy(&left, a, sizeof left);
    memcpy(&right, b, sizeof right);
    return left < right ? -1 : left > right;
}

static int by_slice(const void *a, const void *b)
{
    const struct timeline_attribute *left = a;
    const struct timeline_attribute *right = b;

    return left->slice < right->slice ? -1 : left->slice > right->slice;
}

/* Spans with the same name and id stand together, in time; a begin before an end of the same
 * moment. */
static int by_span(const void *a, const void *b)
{
    const struct async_end *left = a;
    const struct async_end *right = b;

    if (left->process != right->process)
        return left->process < right->process ? -1 : 1;
    if (left->name != right->name)
        return left->name < right->name ? -1 : 1;
    if (left->id != right->id)
        return left->id < right->id ? -1 : 1;
    if (left->ns != right->ns)
        return left->ns < right->ns ? -1 : 1;
    return (int)right->is_begin - (int)left->is_begin;
}

static bool same_span(const struct async_end *a, const struct async_end *b)
{
    return a->process == b->process && a->name == b->name && a->id == b->id;
}

static enum ifg_status match_spans(struct collecting *collecting)
{
    struct timeline *timeline = &collecting->builder->timeline;
    struct async_end *ends = collecting->ends.items;
    size_t count = collecting->ends.count;
    struct timeline_async *spans = ifg_alloc(count, sizeof *spans);
    size_t used = 0;

    if (!spans)
        return IFG_NO_MEMORY;
    timeline->asyncs = spans;
    if (count)
        qsort(ends, count, sizeof *ends, by_span);
    for (size_t i = 0; i < count; i++) {
        bool ended = i + 1 < count && same_span(&ends[i], &ends[i + 1]) && !ends[i + 1].is_begin;

        if (!ends[i].is_begin) {
            timeline->async_ends_without_begin++;
            continue;
        }
        spans[used++] = (struct timeline_async){
            .start_ns = ends[i].ns,
            .end_ns = ended ? ends[i + 1].ns : timeline->end_ns,
            .id = ends[i].id,
            .location = ends[i].location,
            .begin_thread = ends[i].thread,
            .end_thread = ended ? ends[i + 1].thread : TIMELINE_NONE,
        };
        i += ended;
    }
    timeline->async_count = used;
    if (used)
        qsort(spans, used, sizeof *spans, by_time);
    return IFG_OK;
}

/* Blocks come thread by thread, so this is mostly sorted already; qsort in libc is a merge sort and
 * keeps the order of equals. */
static void sort_by(struct growing *list, size_t size, int (*compare)(const void *, const void *))
{
    if (list->count)
        qsort(list->items, list->count, size, compare);
}

static void hand_over(struct collecting *collecting)
{
    struct timeline *timeline = &collecting->builder->timeline;

    sort_by(&collecting->messages, sizeof(struct timeline_message), by_time);
    sort_by(&collecting->counters, sizeof(struct timeline_counter), by_time);
    sort_by(&collecting->allocations, sizeof(struct timeline_allocation), by_time);
    sort_by(&collecting->frames, sizeof(struct timeline_frame), by_time);
    sort_by(&collecting->attributes, sizeof(struct timeline_attribute), by_slice);
    timeline->messages = collecting->messages.items;
    timeline->message_count = collecting->messages.count;
    timeline->counters = collecting->counters.items;
    timeline->counter_count = collecting->counters.count;
    timeline->allocations = collecting->allocations.items;
    timeline->allocation_count = collecting->allocations.count;
    timeline->frames = collecting->frames.items;
    timeline->frame_count = collecting->frames.count;
    timeline->attributes = collecting->attributes.items;
    timeline->attribute_count = collecting->attributes.count;
}

enum ifg_status timeline_build_events(struct timeline_builder *builder)
{
    struct collecting collecting = { .builder = builder };
    enum ifg_status status = decode_blocks(&collecting);

    hand_over(&collecting); /* also on failure: the timeline frees them then */
    if (!status)
        status = match_spans(&collecting);
    if (!status && collecting.flow_points.count)
        status = timeline_build_flows(builder, collecting.flow_points.items,
                                      collecting.flow_points.count);
    ifg_free(collecting.ends.items);
    ifg_free(collecting.flow_points.items);
    return status;
}
