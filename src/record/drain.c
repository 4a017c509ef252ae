// SPDX-License-Identifier: Apache-2.0
/* From a ring of the watched process into the blocks of the trace. */
#include "record/target_internal.h"

#include <string.h>

#include "base/bytes.h"
#include "base/ticks.h"

/* The producer learns of free slots this often, also in the middle of a long pass. */
#define PUBLISH_EVERY 4096u

/* How often a changed stack of open zones is written when nothing else is. */
#define OPEN_EVERY_NS 150000000ull

#define OPEN_SLACK_TICKS 1000000000ull

static void copy_payload(const struct ring_reader *reader, uint64_t at, uint32_t slots,
                         unsigned char *out)
{
    const struct ifg_wire_zone *base = ifg_wire_slots(reader->ring);

    for (uint32_t i = 0; i < slots; i++)
        memcpy(out + (size_t)i * IFG_WIRE_SLOT, &base[(at + i) & (reader->slots - 1)],
               IFG_WIRE_SLOT);
}

static uint64_t u64_at(const unsigned char *payload, size_t offset)
{
    uint64_t value;

    memcpy(&value, payload + offset, sizeof value);
    return value;
}

static bool pass_message(struct ring_reader *reader, const struct ifg_wire_record *record,
                         const unsigned char *payload, size_t bytes)
{
    uint32_t length;

    memcpy(&length, payload, sizeof length);
    if (length > bytes - sizeof length)
        return false;
    trace_stream_event(reader->stream, TRACE_EVENT_MESSAGE, record->ticks, record->reference,
                       payload + sizeof length, length);
    return true;
}

static bool pass_attribute(struct ring_reader *reader, const struct ifg_wire_record *record,
                           const unsigned char *payload, size_t bytes)
{
    struct ifg_wire_attribute head;
    const char *key = (const char *)payload + sizeof head;

    memcpy(&head, payload, sizeof head);
    if (sizeof head + head.key_bytes + head.value_bytes > bytes || head.type < TRACE_VALUE_STRING ||
        head.type > TRACE_VALUE_UNSIGNED ||
        (head.type != TRACE_VALUE_STRING && head.value_bytes != sizeof(uint64_t)))
        return false;
    trace_stream_attribute(reader->stream, record->ticks, record->reference, head.type, key,
                           head.key_bytes, payload + sizeof head + head.key_bytes,
                           head.value_bytes);
    return true;
}

/* An event whose payload is one or two numbers, as varints. */
static void pass_numbers(struct ring_reader *reader, enum trace_event_kind kind,
                         const struct ifg_wire_record *record, const unsigned char *payload,
                         unsigned numbers)
{
    uint8_t encoded[2 * IFG_VARINT_MAX];
    uint8_t *end = encoded;

    for (unsigned i = 0; i < numbers; i++)
        end = ifg_varint_write(end, u64_at(payload, 8 * i));
    trace_stream_event(reader->stream, kind, record->ticks, record->reference, encoded,
                       (size_t)(end - encoded));
}

/* For the comparison of inferences with and without samples. */
static void note_inference(const struct target *target, uint32_t location, uint64_t start,
                           uint64_t duration)
{
    const struct target_context *context = target->context;
    double rate = 1;
    double at;

    if (!context->sink->inference)
        return;
    if (target->control->tick_source != IFG_TICKS_MONOTONIC) {
        uint64_t passed = ifg_counter_read() - context->counter_begin;

        rate = passed ? (double)(ifg_monotonic_ns() - context->monotonic_begin_ns) / (double)passed
                      : 1;
        at = (double)(int64_t)(start - context->counter_begin) * rate;
    } else {
        at = (double)(int64_t)(start - context->monotonic_begin_ns);
    }
    if (at < 0)
        return;
    context->sink->inference(context->sink->inference_user, location ^ target->process << 20,
                             context->monotonic_begin_ns + (uint64_t)at,
                             context->monotonic_begin_ns +
                                 (uint64_t)(at + (double)duration * rate));
}

static uint64_t until_of(const struct target *target)
{
    return target->context->sink->until[target_clock(target)];
}

/* Whether the zone was over in time. One that began in time and was not is open in the trace. */
static bool is_in_time(const struct target *target, struct ring_reader *reader, uint64_t start,
                       uint64_t duration, uint32_t location)
{
    uint64_t until = until_of(target);

    if (!until || (start <= until && duration <= until - start))
        return true;
    if (start <= until && reader->cut_count < RING_CUT_MAX)
        reader->cut[reader->cut_count++] =
            (struct trace_open_zone){ .start = start, .location = location };
    return false;
}

/* The kinds of the ring are those of the trace after the one that is no event there. */
#define IS_EVENT(wire, trace)                                                                      \
    _Static_assert((int)(wire)-IFG_WIRE_LONG_ZONE == (int)(trace), "one order of kinds")
IS_EVENT(IFG_WIRE_MESSAGE, TRACE_EVENT_MESSAGE);
IS_EVENT(IFG_WIRE_COUNTER, TRACE_EVENT_COUNTER);
IS_EVENT(IFG_WIRE_ASYNC_BEGIN, TRACE_EVENT_ASYNC_BEGIN);
IS_EVENT(IFG_WIRE_ASYNC_END, TRACE_EVENT_ASYNC_END);
IS_EVENT(IFG_WIRE_ALLOC, TRACE_EVENT_ALLOC);
IS_EVENT(IFG_WIRE_FREE, TRACE_EVENT_FREE);
IS_EVENT(IFG_WIRE_FRAME, TRACE_EVENT_FRAME);
IS_EVENT(IFG_WIRE_ATTRIBUTE, TRACE_EVENT_ATTRIBUTE);
IS_EVENT(IFG_WIRE_FLOW_BEGIN, TRACE_EVENT_FLOW_BEGIN);
IS_EVENT(IFG_WIRE_FLOW_STEP, TRACE_EVENT_FLOW_STEP);
IS_EVENT(IFG_WIRE_FLOW_END, TRACE_EVENT_FLOW_END);
_Static_assert((int)IFG_TICKS_TSC == (int)TRACE_CLOCK_TSC &&
                   (int)IFG_TICKS_MONOTONIC == (int)TRACE_CLOCK_MONOTONIC &&
                   (int)IFG_TICKS_CNTVCT == (int)TRACE_CLOCK_CNTVCT,
               "one numbering of clocks");

static enum trace_event_kind event_of(uint32_t kind)
{
    return (enum trace_event_kind)(kind - IFG_WIRE_LONG_ZONE);
}

static bool pass_call(struct target *target, struct ring_reader *reader,
                      const struct ifg_wire_record *record, const unsigned char *payload)
{
    uint64_t duration = u64_at(payload, 0);

    if (is_in_time(target, reader, record->ticks, duration, record->reference))
        device_call_put(reader->stream, record->ticks, duration, record->reference,
                        u64_at(payload, 8));
    return true;
}

static enum device_track track_of(uint32_t kind)
{
    return kind == IFG_WIRE_WAIT     ? DEVICE_TRACK_WAITS
           : kind == IFG_WIRE_MEMORY ? DEVICE_TRACK_MEMORY
                                     : DEVICE_TRACK_WORK;
}

/* Work has its own clock, and streams of its own. */
static bool pass_work(struct target *target, const struct ifg_wire_record *record,
                      const unsigned char *payload, size_t bytes)
{
    uint64_t until_ns = target->context->sink->until[SINK_CLOCK_MONOTONIC];
    struct device_streams *devices = target_devices(target);
    struct ifg_wire_work wire;
    struct device_work work;

    if (bytes < sizeof wire)
        return false;
    memcpy(&wire, payload, sizeof wire);
    if (record->ticks < target->context->since_ns ||
        (until_ns && (record->ticks > until_ns || wire.duration_ns > until_ns - record->ticks)))
        return true;
    work = (struct device_work){
        .track = track_of(IFG_WIRE_TAG_KIND(record->tag)),
        .start_ns = record->ticks,
        .duration_ns = wire.duration_ns,
        .bytes = wire.bytes,
        .graph_node = wire.graph_node,
        .graph = wire.graph,
        .correlation = wire.correlation,
        .device = wire.device,
        .context = wire.context,
        .stream = wire.stream,
        .location = record->reference,
        .grid = { wire.grid[0], wire.grid[1], wire.grid[2] },
        .block = { wire.block[0], wire.block[1], wire.block[2] },
        .registers = wire.registers,
        .static_shared = wire.static_shared,
        .dynamic_shared = wire.dynamic_shared,
    };
    return devices && device_streams_put(devices, &work, ifg_monotonic_ns());
}

/* Out of time: it says nothing of the recording. */
static bool pass_level(struct target *target, const struct ifg_wire_record *record,
                       const unsigned char *payload)
{
    uint64_t until_ns = target->context->sink->until[SINK_CLOCK_MONOTONIC];
    struct device_streams *devices = target_devices(target);
    struct ifg_wire_level level;

    memcpy(&level, payload, sizeof level);
    if (record->ticks < target->context->since_ns || (until_ns && record->ticks > until_ns))
        return true;
    return devices && device_streams_level(devices, level.device, record->reference, record->ticks,
                                           level.value, ifg_monotonic_ns());
}

static bool has_device_times(uint32_t kind)
{
    return kind >= IFG_WIRE_WORK && kind <= IFG_WIRE_LEVEL;
}

/* One record of several slots; false if it makes no sense. The payload has at least one slot for
 * every kind but a frame. */
static bool pass_record(struct target *target, struct ring_reader *reader,
                        const struct ifg_wire_record *record, const unsigned char *payload,
                        size_t bytes)
{
    uint32_t kind = IFG_WIRE_TAG_KIND(record->tag);

    if (kind != IFG_WIRE_LONG_ZONE && kind != IFG_WIRE_CALL && !has_device_times(kind) &&
        until_of(target) && record->ticks > until_of(target))
        return true; /* all was over */
    if (kind == IFG_WIRE_FRAME) {
        trace_stream_event(reader->stream, TRACE_EVENT_FRAME, record->ticks, record->reference,
                           NULL, 0);
        return true;
    }
    if (bytes < IFG_WIRE_SLOT)
        return false;
    switch (kind) {
    case IFG_WIRE_LONG_ZONE:
        if (!is_in_time(target, reader, record->ticks, u64_at(payload, 0), record->reference))
            return true;
        trace_stream_zone(reader->stream, record->ticks, u64_at(payload, 0), record->reference);
        if (target_is_inference(target, record->reference)) {
            target->inferences++;
            note_inference(target, record->reference, record->ticks, u64_at(payload, 0));
        }
        return true;
    case IFG_WIRE_MESSAGE:
        return pass_message(reader, record, payload, bytes);
    case IFG_WIRE_COUNTER:
        trace_stream_event(reader->stream, TRACE_EVENT_COUNTER, record->ticks, record->reference,
                           payload, sizeof(double));
        return true;
    case IFG_WIRE_ASYNC_END:
        target->inferences += target_is_inference(target, record->reference);
        pass_numbers(reader, event_of(kind), record, payload, 1);
        return true;
    case IFG_WIRE_ASYNC_BEGIN:
    case IFG_WIRE_FLOW_BEGIN:
    case IFG_WIRE_FLOW_STEP:
    case IFG_WIRE_FLOW_END:
    case IFG_WIRE_FREE:
        pass_numbers(reader, event_of(kind), record, payload, 1);
        return true;
    case IFG_WIRE_ALLOC:
        pass_numbers(reader, event_of(kind), record, payload, 2);
        return true;
    case IFG_WIRE_ATTRIBUTE:
        return pass_attribute(reader, record, payload, bytes);
    case IFG_WIRE_CALL:
        return pass_call(target, reader, record, payload);
    case IFG_WIRE_WORK:
    case IFG_WIRE_WAIT:
    case IFG_WIRE_MEMORY:
        return pass_work(target, record, payload, bytes);
    case IFG_WIRE_LEVEL:
        return pass_level(target, record, payload);
    default:
        return false;
    }
}

/* Reads the multi-slot record at `at`; returns how many slots to go on by. */
static uint32_t take_record(struct target *target, struct ring_reader *reader, uint64_t at,
                            const struct ifg_wire_zone *slot)
{
    unsigned char payload[IFG_WIRE_RECORD_SLOTS * IFG_WIRE_SLOT];
    struct ifg_wire_record record;
    uint32_t slots;

    memcpy(&record, slot, sizeof record);
    slots = IFG_WIRE_TAG_SLOTS(record.tag);
    if (slots == 0 || slots > IFG_WIRE_RECORD_SLOTS || slots > reader->head_now - at) {
        target->lost_records++;
        return 1;
    }
    copy_payload(reader, at + 1, slots - 1, payload);
    if (!pass_record(target, reader, &record, payload, (size_t)(slots - 1) * IFG_WIRE_SLOT))
        target->lost_records++;
    return slots;
}

void target_ring_count_dropped(struct ring_reader *reader)
{
    reader->dropped =
        __atomic_load_n(&reader->ring->dropped, __ATOMIC_RELAXED) - reader->ring->dropped_before;
}

void target_ring_drain(struct target *target, struct ring_reader *reader, uint64_t now_ns)
{
    const struct ifg_wire_zone *base = ifg_wire_slots(reader->ring);
    uint64_t head = reader->head_now;
    uint64_t at = reader->tail;
    uint64_t publish_at = at + PUBLISH_EVERY;
    uint64_t events = 0;
    uint64_t inferences = 0;

    if (head - at > reader->slots) { /* the program wrote over its own indices */
        target->lost_records++;
        at = head;
    }
    while (at < head) {
        struct ifg_wire_zone zone = base[at & (reader->slots - 1)];

        events++;
        if (__builtin_expect(!(zone.location & IFG_WIRE_LONG), 1) &&
            !is_in_time(target, reader, zone.start, zone.duration, zone.location)) {
            events--;
            at++;
        } else if (__builtin_expect(!(zone.location & IFG_WIRE_LONG), 1)) {
            trace_stream_zone(reader->stream, zone.start, zone.duration, zone.location);
            if (target_is_inference(target, zone.location)) {
                inferences++;
                note_inference(target, zone.location, zone.start, zone.duration);
            }
            at++;
        } else {
            at += take_record(target, reader, at, &zone);
        }
        if (at >= publish_at) {
            __atomic_store_n(&reader->ring->tail, at, __ATOMIC_RELEASE);
            publish_at = at + PUBLISH_EVERY;
        }
    }
    if (events && !reader->oldest_ns)
        reader->oldest_ns = now_ns;
    target->events += events;
    target->inferences += inferences;
    reader->tail = at;
    __atomic_store_n(&reader->ring->tail, at, __ATOMIC_RELEASE);
    target_ring_count_dropped(reader);
}

/* Without those that only take a place. */
static int leave_out_hidden(struct trace_open_zone *open, uint32_t count)
{
    int kept = 0;

    for (uint32_t i = 0; i < count; i++)
        if (open[i].location)
            open[kept++] = open[i];
    return kept;
}

/* Looks at the stack of open zones. The thread goes on meanwhile: what was seen counts only if
 * nothing ended while we looked and the entry on top looks the same twice (a begin raises the depth
 * before it writes its entry). Gives the number of entries, or -1 if it would not hold still. */
static int look_at_open_zones(const struct ring_reader *reader, struct trace_open_zone *out)
{
    const struct ifg_wire_ring *ring = reader->ring;

    for (int attempt = 0; attempt < 8; attempt++) {
        uint64_t head = __atomic_load_n(&ring->head, __ATOMIC_ACQUIRE);
        uint32_t depth = __atomic_load_n(&ring->depth, __ATOMIC_ACQUIRE);
        uint64_t top = 0;
        uint32_t count = depth < IFG_WIRE_OPEN_MAX ? depth : IFG_WIRE_OPEN_MAX;

        for (uint32_t i = 0; i < count; i++) {
            out[i].start = __atomic_load_n(&ring->open[i].start, __ATOMIC_RELAXED);
            out[i].location = __atomic_load_n(&ring->open[i].location, __ATOMIC_RELAXED);
        }
        __atomic_thread_fence(__ATOMIC_ACQUIRE);
        if (count)
            top = __atomic_load_n(&ring->open[count - 1].start, __ATOMIC_RELAXED);
        if (__atomic_load_n(&ring->head, __ATOMIC_ACQUIRE) == head &&
            __atomic_load_n(&ring->depth, __ATOMIC_ACQUIRE) == depth &&
            (!count || top == out[count - 1].start))
            return leave_out_hidden(out, count);
    }
    return -1;
}

/* Zones open one after the other, after the program's start and not in the future; a little slack
 * for what began while we looked. */
static bool is_plausible(const struct target *target, const struct trace_open_zone *open, int count,
                         uint64_t as_of)
{
    uint64_t earliest = target->start_ticks;

    for (int i = 0; i < count; i++) {
        if (open[i].start > as_of + OPEN_SLACK_TICKS || open[i].start + OPEN_SLACK_TICKS < earliest)
            return false;
        earliest = open[i].start;
    }
    return true;
}

/* Puts those that ended too late where they were: what began after all was over goes. */
static int add_cut(const struct ring_reader *reader, uint64_t until, struct trace_open_zone *open,
                   int count)
{
    int kept = 0;

    for (int i = 0; i < count; i++)
        if (open[i].start <= until)
            open[kept++] = open[i];
    for (uint32_t i = 0; i < reader->cut_count && kept < (int)IFG_WIRE_OPEN_MAX; i++) {
        int at = kept++;

        for (; at > 0 && open[at - 1].start > reader->cut[i].start; at--)
            open[at] = open[at - 1];
        open[at] = reader->cut[i];
    }
    return kept;
}

static uint64_t signature_of(const struct trace_open_zone *open, int count)
{
    uint64_t signature = 1469598103934665603ull ^ (uint64_t)count;

    for (int i = 0; i < count; i++)
        signature =
            (signature ^ open[i].start ^ ((uint64_t)open[i].location << 40)) * 1099511628211ull;
    return signature;
}

/* What is taken in this pass has waited in its ring for one pass, and is looked at again after the
 * next: where a pass takes long (many busy threads on few cores), that counts. */
static uint64_t flush_age(const struct target_context *context)
{
    uint64_t passes_ns = 2 * context->pass_ns;
    uint64_t least_ns = context->sink->flush_after_ns / 8;

    return passes_ns + least_ns < context->sink->flush_after_ns
               ? context->sink->flush_after_ns - passes_ns
               : least_ns;
}

void target_ring_flush(struct target *target, struct ring_reader *reader, uint64_t now_ns,
                       bool final)
{
    struct trace_open_zone open[IFG_WIRE_OPEN_MAX];
    uint64_t as_of;
    bool old =
        reader->oldest_ns && (final || now_ns - reader->oldest_ns >= flush_age(target->context));
    bool look = final || old || now_ns - reader->open_written_ns >= OPEN_EVERY_NS;
    uint64_t signature;
    int count;

    if (!look)
        return;
    as_of = ifg_ticks_read(target->control->tick_source == IFG_TICKS_MONOTONIC ? IFG_TICKS_MONOTONIC
                                                                               : IFG_TICKS_TSC);
    count = look_at_open_zones(reader, open);
    if (!is_plausible(target, open, count, as_of)) {
        target->lost_records++;
        count = 0;
    }
    if (until_of(target)) {
        if (count >= 0)
            count = add_cut(reader, until_of(target), open, count);
        if (as_of > until_of(target))
            as_of = until_of(target);
    }
    signature = count < 0 ? reader->open_signature : signature_of(open, count);
    reader->open_written_ns = now_ns;
    if (!old && !final && signature == reader->open_signature)
        return;
    trace_stream_set_dropped(reader->stream, reader->dropped);
    trace_stream_flush(reader->stream, count < 0 ? NULL : open, count < 0 ? 0 : (size_t)count,
                       as_of);
    reader->open_signature = signature;
    reader->oldest_ns = 0;
}
