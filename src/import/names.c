// SPDX-License-Identifier: Apache-2.0
/* A hash table of byte strings: see names.h. */
#include "import/names.h"

#include <string.h>

#include "base/alloc.h"

#define BYTES_MAX   (1u << 30)
#define FIRST_SLOTS 256u

struct name_entry {
    uint64_t hash;
    uint32_t offset;
    uint32_t size;
};

void names_init(struct names *names, uint32_t limit)
{
    memset(names, 0, sizeof *names);
    ifg_bytes_init(&names->bytes, BYTES_MAX);
    names->limit = limit;
}

void names_fini(struct names *names)
{
    ifg_bytes_fini(&names->bytes);
    ifg_free(names->entries);
    ifg_free(names->slots);
}

static uint64_t hash_of(const uint8_t *bytes, size_t size)
{
    uint64_t hash = 0xcbf29ce484222325u ^ size;

    while (size >= 8) {
        uint64_t word;

        memcpy(&word, bytes, 8);
        hash = (hash ^ word) * 0x9e3779b97f4a7c15u;
        hash ^= hash >> 32;
        bytes += 8;
        size -= 8;
    }
    while (size--)
        hash = (hash ^ *bytes++) * 0x100000001b3u;
    hash *= 0x9e3779b97f4a7c15u;
    return hash ^ hash >> 29;
}

static bool grow(struct names *names)
{
    uint32_t slots = names->slots ? (names->slot_mask + 1) * 2 : FIRST_SLOTS;
    uint32_t *table = ifg_alloc(slots, sizeof *table);
    struct name_entry *entries = ifg_realloc(names->entries, slots / 2, sizeof *entries);

    if (entries)
        names->entries = entries;
    if (!table || !entries) {
        ifg_free(table);
        return false;
    }
    for (uint32_t i = 0; i < names->count; i++) {
        uint32_t slot = (uint32_t)entries[i].hash & (slots - 1);

        while (table[slot])
            slot = (slot + 1) & (slots - 1);
        table[slot] = i + 1;
    }
    ifg_free(names->slots);
    names->slots = table;
    names->slot_mask = slots - 1;
    names->capacity = slots / 2;
    return true;
}

uint32_t names_add(struct names *names, const void *bytes, size_t size)
{
    uint64_t hash = hash_of(bytes, size);
    struct name_entry *entry;
    uint32_t slot;

    if (names->count == names->capacity && names->count < names->limit && !grow(names)) {
        names->no_memory = true;
        return NAMES_FULL;
    }
    for (slot = (uint32_t)hash & names->slot_mask; names->slots[slot];
         slot = (slot + 1) & names->slot_mask) {
        entry = &names->entries[names->slots[slot] - 1];
        if (entry->hash == hash && entry->size == size &&
            memcmp(names->bytes.data + entry->offset, bytes, size) == 0)
            return names->slots[slot] - 1;
    }
    if (names->count >= names->limit || size + 1 > BYTES_MAX - names->bytes.size)
        return NAMES_FULL;
    if (!ifg_bytes_reserve(&names->bytes, size + 1)) {
        names->bytes.failed = false;
        names->no_memory = true;
        return NAMES_FULL;
    }
    entry = &names->entries[names->count];
    entry->hash = hash;
    entry->offset = (uint32_t)names->bytes.size;
    entry->size = (uint32_t)size;
    ifg_bytes_put(&names->bytes, bytes, size);
    ifg_bytes_put(&names->bytes, "", 1);
    names->slots[slot] = ++names->count;
    return names->count - 1;
}

const char *names_get(const struct names *names, uint32_t number, size_t *out_size)
{
    const struct name_entry *entry = &names->entries[number];

    if (out_size)
        *out_size = entry->size;
    return (const char *)names->bytes.data + entry->offset;
}
