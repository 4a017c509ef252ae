// SPDX-License-Identifier: Apache-2.0
/*
 * The definition log: what the ids in the rings mean.
 *
 * It is append-only and lock-free (a signal handler may define a location), and it stays for the
 * life of the process, so that recorders that come late learn everything. Its size is fixed; what
 * finds it full gets id 1, which the recorder shows as such, and is counted.
 */
#include "client/client_internal.h"

#include <errno.h>
#include <string.h>

#define OVERFLOW_ID    1u
#define POPULATE_BYTES (64u << 10)

/* How much of the log has memory behind it in this process. */
static uint64_t populated_bytes;

static size_t clip(const char *text)
{
    return text ? strnlen(text, IFG_WIRE_STRING_MAX) : 0;
}

static bool populate_up_to(uint64_t end)
{
    char *log = (char *)client_control + IFG_WIRE_DEFINITIONS_OFFSET;
    uint64_t have = __atomic_load_n(&populated_bytes, __ATOMIC_ACQUIRE);

    if (!client_needs_memory())
        return true;
    if (!client_may_call()) { /* what there is, and what the recorder has added to it */
        uint64_t prepared =
            __atomic_load_n(&client_control->definitions_prepared, __ATOMIC_ACQUIRE);

        return end <= (have > prepared ? have : prepared);
    }
    while (have < end) {
        if (!client_populate(log + have, POPULATE_BYTES))
            return false;
        have += POPULATE_BYTES;
        __atomic_store_n(&populated_bytes, have, __ATOMIC_RELEASE);
    }
    return true;
}

void client_definitions_warm(void)
{
    uint64_t next = __atomic_load_n(&client_control->definitions_reserved, __ATOMIC_RELAXED);
    int saved_errno = errno;

    if (next >= IFG_WIRE_DEFINITIONS_BYTES)
        return;
    if (!populate_up_to(next + 1))
        client_debug("inferogram: no memory for definitions");
    else /* the page, without a system call; nothing changes in it */
        __atomic_fetch_or(
            (uint64_t *)(void *)((char *)client_control + IFG_WIRE_DEFINITIONS_OFFSET + next), 0,
            __ATOMIC_RELAXED);
    errno = saved_errno;
}

/* Reserves an entry; the caller fills the payload and calls publish(). */
static struct ifg_wire_definition *reserve(size_t payload_bytes)
{
    uint64_t bytes = (sizeof(struct ifg_wire_definition) + payload_bytes + 7) & ~(uint64_t)7;
    struct ifg_wire_definition *entry;
    uint64_t at;

    if (!client_control)
        return NULL;
    at = __atomic_load_n(&client_control->definitions_reserved, __ATOMIC_RELAXED);
    do {
        if (at + bytes > IFG_WIRE_DEFINITIONS_BYTES || !populate_up_to(at + bytes)) {
            __atomic_fetch_add(&client_control->definitions_lost, 1, __ATOMIC_RELAXED);
            return NULL;
        }
    } while (!__atomic_compare_exchange_n(&client_control->definitions_reserved, &at, at + bytes,
                                          false, __ATOMIC_RELAXED, __ATOMIC_RELAXED));
    entry = (void *)((char *)client_control + IFG_WIRE_DEFINITIONS_OFFSET + at);
    __atomic_store_n(&entry->bytes, (uint32_t)bytes, __ATOMIC_RELEASE);
    return entry;
}

static void publish(struct ifg_wire_definition *entry, enum ifg_wire_definition_kind kind)
{
    __atomic_store_n(&entry->kind, (uint32_t)kind, __ATOMIC_RELEASE);
}

static char *put(char *out, const void *data, size_t bytes)
{
    if (bytes)
        memcpy(out, data, bytes);
    return out + bytes;
}

uint32_t client_define_location(uint32_t kind, uint32_t category, uint32_t color, uint32_t line,
                                uint32_t model, const char *name, const char *function,
                                const char *file)
{
    const char *strings[3] = { name, function, file };
    struct ifg_wire_location location = {
        .kind = (uint8_t)kind,
        .category = (uint8_t)category,
        .color = color,
        .line = line,
        .model = model,
    };
    size_t bytes = sizeof location;
    struct ifg_wire_definition *entry;
    int saved_errno = errno;
    char *out;

    for (int i = 0; i < 3; i++) {
        location.string_bytes[i] = (uint16_t)clip(strings[i]);
        bytes += location.string_bytes[i];
    }
    entry = reserve(bytes);
    errno = saved_errno;
    if (!entry)
        return OVERFLOW_ID;
    location.id = __atomic_fetch_add(&client_control->next_location, 1, __ATOMIC_RELAXED);
    out = put((char *)(entry + 1), &location, sizeof location);
    for (int i = 0; i < 3; i++)
        out = put(out, strings[i], location.string_bytes[i]);
    publish(entry, IFG_WIRE_DEFINE_LOCATION);
    return location.id;
}

uint32_t client_location_id_slow(ifg_location *location)
{
    uint32_t expected = 0;
    uint32_t id = client_define_location(location->kind, 0, location->color, location->line, 0,
                                         location->name, location->function, location->file);

    /* Two threads may define the same location at once: the first to get here names it. */
    if (__atomic_compare_exchange_n(&location->id, &expected, id, false, __ATOMIC_RELAXED,
                                    __ATOMIC_RELAXED))
        return id;
    return expected;
}

uint32_t client_define_model(const char *const strings[6])
{
    struct ifg_wire_model model = { 0 };
    size_t bytes = sizeof model;
    struct ifg_wire_definition *entry;
    char *out;

    for (int i = 0; i < 6; i++) {
        model.string_bytes[i] = (uint16_t)clip(strings[i]);
        bytes += model.string_bytes[i];
    }
    entry = reserve(bytes);
    if (!entry)
        return OVERFLOW_ID;
    model.id = __atomic_fetch_add(&client_control->next_model, 1, __ATOMIC_RELAXED);
    out = put((char *)(entry + 1), &model, sizeof model);
    for (int i = 0; i < 6; i++)
        out = put(out, strings[i], model.string_bytes[i]);
    publish(entry, IFG_WIRE_DEFINE_MODEL);
    return model.id;
}

static void define_pair(enum ifg_wire_definition_kind kind, uint32_t model, const char *key,
                        const char *value)
{
    struct ifg_wire_property property = { model, { (uint16_t)clip(key), (uint16_t)clip(value) } };
    struct ifg_wire_definition *entry =
        reserve(sizeof property + property.string_bytes[0] + property.string_bytes[1]);
    char *out;

    if (!entry)
        return;
    out = put((char *)(entry + 1), &property, sizeof property);
    out = put(out, key, property.string_bytes[0]);
    put(out, value, property.string_bytes[1]);
    publish(entry, kind);
}

void client_define_property(uint32_t model, const char *key, const char *value)
{
    define_pair(IFG_WIRE_DEFINE_PROPERTY, model, key, value);
}

void client_define_instrument(uint32_t state, const char *name, const char *reason)
{
    define_pair(IFG_WIRE_DEFINE_INSTRUMENT, state, name, reason);
}

void client_define_file(uint32_t model, const char *kind, const char *path)
{
    define_pair(IFG_WIRE_DEFINE_FILE, model, kind, path);
}

void client_define_device(uint32_t device, const char *name, const char *id)
{
    define_pair(IFG_WIRE_DEFINE_DEVICE, device, name, id);
}

/* After a fork: ids that the child's memory already holds must mean the same in the child's own
 * log. An entry that another thread of the parent was writing at that moment is left out; its
 * location has no id yet in the child either, and is defined again. */
void client_definitions_inherit(struct ifg_wire_control *parent)
{
    const char *from = (const char *)parent + IFG_WIRE_DEFINITIONS_OFFSET;
    uint64_t end = __atomic_load_n(&parent->definitions_reserved, __ATOMIC_RELAXED);
    uint64_t at = 0;

    __atomic_store_n(&populated_bytes, 0, __ATOMIC_RELEASE);
    client_control->next_location = __atomic_load_n(&parent->next_location, __ATOMIC_RELAXED);
    client_control->next_model = __atomic_load_n(&parent->next_model, __ATOMIC_RELAXED);
    while (at + sizeof(struct ifg_wire_definition) <= end) {
        const struct ifg_wire_definition *entry = (const void *)(from + at);
        uint32_t bytes = __atomic_load_n(&entry->bytes, __ATOMIC_ACQUIRE);
        uint32_t kind = __atomic_load_n(&entry->kind, __ATOMIC_ACQUIRE);
        struct ifg_wire_definition *copy;

        if (bytes < sizeof *entry || bytes > end - at)
            break;
        at += bytes;
        if (!kind)
            continue;
        copy = reserve(bytes - sizeof *entry);
        if (!copy)
            break;
        memcpy(copy + 1, entry + 1, bytes - sizeof *entry);
        publish(copy, kind);
    }
}
