// SPDX-License-Identifier: Apache-2.0
/* Everything that is not a plain zone: messages, counters, spans, flows, memory, attributes. */
#include "client/client_internal.h"
#include "trace/keys.h"

#include <string.h>

#define TEXT_MAX 1024u

enum { VALUE_STRING = 1, VALUE_SIGNED = 2, VALUE_F64 = 3, VALUE_UNSIGNED = 4 };

void client_emit(enum ifg_wire_kind kind, uint64_t ticks, uint32_t reference, const void *payload,
                 size_t payload_bytes)
{
    uint32_t slots = 1 + (uint32_t)((payload_bytes + IFG_WIRE_SLOT - 1) / IFG_WIRE_SLOT);
    struct ifg_wire_record first = { ticks, reference, IFG_WIRE_TAG(kind, slots) };
    struct ifg_wire_ring *ring = client_ring;
    struct ifg_wire_zone *base;
    const char *from = payload;
    size_t left = payload_bytes;
    enum client_take take;
    bool outermost;
    uint64_t at;

    if (UNLIKELY(client_confinement == IFG_CONFINED_CLOCK))
        return; /* there is no time any more */
    if (UNLIKELY(!ring)) {
        ring = client_ring_acquire();
        if (!ring)
            return;
    }
    do {
        at = ring->taken;
        take = client_ring_take(ring, at, slots, &outermost);
        if (UNLIKELY(take == CLIENT_FULL))
            return;
    } while (UNLIKELY(take == CLIENT_AGAIN));
    base = ifg_wire_slots(ring);
    memcpy(&base[at & ring->mask], &first, sizeof first);
    for (uint32_t i = 1; i < slots; i++) {
        size_t part = left < IFG_WIRE_SLOT ? left : IFG_WIRE_SLOT;

        memcpy(&base[(at + i) & ring->mask], from, part);
        from += part;
        left -= part;
    }
    client_ring_done(ring, outermost);
}

static size_t text_length(const char *text, size_t length)
{
    if (!text)
        return 0;
    if (length == SIZE_MAX)
        return strnlen(text, TEXT_MAX);
    return length < TEXT_MAX ? length : TEXT_MAX;
}

void client_emit_attribute(ifg_zone zone, unsigned type, const char *key, const void *value,
                           size_t value_bytes)
{
    unsigned char payload[sizeof(struct ifg_wire_attribute) + UINT8_MAX + TEXT_MAX];
    struct ifg_wire_attribute head;
    size_t key_bytes = key ? strnlen(key, UINT8_MAX) : 0;

    if (!(zone.depth & ~CLIENT_TAPPED) || !client_is_recorded())
        return;
    head.type = (uint8_t)type;
    head.key_bytes = (uint8_t)key_bytes;
    head.value_bytes = (uint16_t)value_bytes;
    memcpy(payload, &head, sizeof head);
    if (key_bytes)
        memcpy(payload + sizeof head, key, key_bytes);
    if (value_bytes)
        memcpy(payload + sizeof head + key_bytes, value, value_bytes);
    client_emit(IFG_WIRE_ATTRIBUTE, zone.start, zone.location, payload,
                sizeof head + key_bytes + value_bytes);
}

void ifg_zone_name(ifg_zone zone, const char *name, size_t length)
{
    client_emit_attribute(zone, VALUE_STRING, "name", name, text_length(name, length));
}

void ifg_zone_text(ifg_zone zone, const char *text, size_t length)
{
    client_emit_attribute(zone, VALUE_STRING, "text", text, text_length(text, length));
}

void ifg_zone_value(ifg_zone zone, uint64_t value)
{
    client_emit_attribute(zone, VALUE_UNSIGNED, "value", &value, sizeof value);
}

void ifg_zone_color(ifg_zone zone, uint32_t rgb)
{
    uint64_t value = 0x1000000u | (rgb & 0xffffffu);

    client_emit_attribute(zone, VALUE_UNSIGNED, "color", &value, sizeof value);
}

void ifg_zone_detail_string(ifg_zone zone, const char *key, const char *text)
{
    client_emit_attribute(zone, VALUE_STRING, key, text, text_length(text, SIZE_MAX));
}

void ifg_zone_detail_int(ifg_zone zone, const char *key, int64_t value)
{
    client_emit_attribute(zone, VALUE_SIGNED, key, &value, sizeof value);
}

void ifg_zone_detail_float(ifg_zone zone, const char *key, double value)
{
    client_emit_attribute(zone, VALUE_F64, key, &value, sizeof value);
}

void ifg_event_load_state(ifg_zone event, enum ifg_load_state state)
{
    static const char *const names[] = { "unknown", "cold", "cached", "precompiled" };

    ifg_zone_detail_string(event, TRACE_KEY_SPECIALIZATION,
                           (unsigned)state <= IFG_LOAD_PRECOMPILED ? names[state] : names[0]);
}

void ifg_message(enum ifg_level level, const char *text, size_t length)
{
    unsigned char payload[sizeof(uint32_t) + TEXT_MAX];
    uint64_t now = client_now();
    uint32_t bytes = (uint32_t)text_length(text, length);

    memcpy(payload, &bytes, sizeof bytes);
    if (bytes)
        memcpy(payload + sizeof bytes, text, bytes);
    client_emit(IFG_WIRE_MESSAGE, now, (uint32_t)level, payload, sizeof bytes + bytes);
}

void ifg_counter(ifg_location *location, double value)
{
    client_emit(IFG_WIRE_COUNTER, client_now(), client_location_id(location), &value, sizeof value);
}

void ifg_async_begin(ifg_location *location, uint64_t id)
{
    client_emit(IFG_WIRE_ASYNC_BEGIN, client_now(), client_location_id(location), &id, sizeof id);
}

void ifg_async_end(ifg_location *location, uint64_t id)
{
    client_emit(IFG_WIRE_ASYNC_END, client_now(), client_location_id(location), &id, sizeof id);
}

/* The fiber on this thread, if its beginning was recorded. */
static __thread ifg_location *fiber __attribute__((tls_model("initial-exec")));
static __thread uint64_t fiber_id __attribute__((tls_model("initial-exec")));

void ifg_fiber_enter(ifg_location *location, uint64_t id)
{
    ifg_fiber_leave();
    if (!client_is_recorded())
        return;
    fiber_id = id;
    fiber = location;
    ifg_async_begin(location, id);
}

void ifg_fiber_leave(void)
{
    ifg_location *left = fiber;

    fiber = NULL;
    if (left && client_is_recorded())
        ifg_async_end(left, fiber_id);
}

void ifg_flow_begin(ifg_location *location, uint64_t id)
{
    client_emit(IFG_WIRE_FLOW_BEGIN, client_now(), client_location_id(location), &id, sizeof id);
}

void ifg_flow_step(ifg_location *location, uint64_t id)
{
    client_emit(IFG_WIRE_FLOW_STEP, client_now(), client_location_id(location), &id, sizeof id);
}

void ifg_flow_end(ifg_location *location, uint64_t id)
{
    client_emit(IFG_WIRE_FLOW_END, client_now(), client_location_id(location), &id, sizeof id);
}

void ifg_memory_alloc(ifg_location *pool, const void *address, size_t bytes)
{
    uint64_t payload[2] = { (uint64_t)(uintptr_t)address, bytes };

    client_emit(IFG_WIRE_ALLOC, client_now(), client_location_id(pool), payload, sizeof payload);
}

void ifg_memory_free(ifg_location *pool, const void *address)
{
    uint64_t payload = (uint64_t)(uintptr_t)address;

    client_emit(IFG_WIRE_FREE, client_now(), client_location_id(pool), &payload, sizeof payload);
}

void ifg_frame(ifg_location *location)
{
    client_emit(IFG_WIRE_FRAME, client_now(), client_location_id(location), NULL, 0);
}

ifg_zone ifg_stage_begin(ifg_location *location, uint64_t request)
{
    ifg_zone stage = { 0, client_location_id(location), 0 };

    if (client_is_recorded())
        stage = client_zone_begin(stage.location);
    client_emit_attribute(stage, VALUE_UNSIGNED, "request", &request, sizeof request);
    return UNLIKELY(client_is_tapped()) && request ? client_tap_stage(stage, request) : stage;
}

uint64_t ifg_request_new(void)
{
    static uint64_t last;

    return __atomic_add_fetch(&last, 1, __ATOMIC_RELAXED);
}
