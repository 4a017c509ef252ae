// SPDX-License-Identifier: Apache-2.0
/* For the tests of annotations: what this thread has recorded, by kind and name. */
#ifndef IFG_HOOKS_ANNOTATIONS_WATCHED_H
#define IFG_HOOKS_ANNOTATIONS_WATCHED_H

#include <stdio.h>

#include "client/fake_recorder.h"

#define WATCHED_MAX 4096

struct watched {
    struct fake_record records[WATCHED_MAX];
    size_t count;
    uint64_t nonsense;
};

static inline void watched_take(const struct fake_record *record, void *user)
{
    struct watched *watched = user;

    if (watched->count < WATCHED_MAX)
        watched->records[watched->count++] = *record;
}

/* What was recorded since the last time, in `watched`. */
static inline void watched_read(struct watched *watched)
{
    watched->count = 0;
    watched->nonsense = 0;
    if (client_ring)
        fake_drain(client_ring, WATCHED_MAX, watched_take, watched, &watched->nonsense);
}

static inline size_t watched_count(const struct watched *watched, uint32_t kind)
{
    size_t count = 0;

    for (size_t i = 0; i < watched->count; i++)
        count += watched->records[i].kind == kind;
    return count;
}

/* The name of a location, out of the log of definitions. "" if there is none. */
static inline const char *watched_name(uint32_t id)
{
    static char name[IFG_WIRE_STRING_MAX + 1];
    const char *log = (const char *)client_control + IFG_WIRE_DEFINITIONS_OFFSET;
    uint64_t end = client_control->definitions_reserved;

    name[0] = '\0';
    for (uint64_t at = 0; at + sizeof(struct ifg_wire_definition) <= end;) {
        const struct ifg_wire_definition *entry = (const void *)(log + at);
        struct ifg_wire_location location;

        if (entry->bytes < sizeof *entry)
            break;
        at += entry->bytes;
        memcpy(&location, entry + 1, sizeof location);
        if (entry->kind == IFG_WIRE_DEFINE_LOCATION && location.id == id)
            snprintf(name, sizeof name, "%.*s", (int)location.string_bytes[0],
                     (const char *)(entry + 1) + sizeof location);
    }
    return name;
}

/* "name name ..." of the zones, in the order of their ends. */
static inline const char *watched_zones(const struct watched *watched)
{
    static char text[WATCHED_MAX];
    size_t used = 0;

    text[0] = '\0';
    for (size_t i = 0; i < watched->count && used < sizeof text; i++)
        if (!watched->records[i].kind)
            used += (size_t)snprintf(text + used, sizeof text - used, "%s%s", used ? " " : "",
                                     watched_name(watched->records[i].reference));
    return text;
}

/* Whether all zones nest, as those of one thread must. */
static inline bool watched_nest(const struct watched *watched)
{
    for (size_t i = 0; i < watched->count; i++)
        for (size_t j = 0; j < watched->count; j++) {
            const struct fake_record *a = &watched->records[i];
            const struct fake_record *b = &watched->records[j];

            if (a->kind || b->kind)
                continue;
            if (a->ticks < b->ticks && b->ticks < a->ticks + a->duration &&
                a->ticks + a->duration < b->ticks + b->duration)
                return false;
        }
    return true;
}

#endif
