// SPDX-License-Identifier: Apache-2.0
/* Texts kept once: see strings.h. */
#include "base/strings.h"

#include <string.h>

#include "base/alloc.h"
#include "base/array.h"
#include "base/hash.h"

#define CHUNK_BYTES ((size_t)64 << 10)

struct ifg_strings_chunk {
    struct ifg_strings_chunk *next;
    size_t used;
    size_t size;
    char text[];
};

const char *ifg_strings_copy(struct ifg_strings *strings, const void *bytes, size_t size)
{
    struct ifg_strings_chunk *chunk = strings->chunks;
    char *copy;

    if (!chunk || chunk->size - chunk->used <= size) {
        size_t room = size < CHUNK_BYTES ? CHUNK_BYTES : size + 1;

        chunk = size < SIZE_MAX / 2 ? ifg_alloc(1, sizeof *chunk + room) : NULL;
        if (!chunk) {
            strings->no_memory = true;
            return NULL;
        }
        chunk->size = room;
        chunk->next = strings->chunks;
        strings->chunks = chunk;
        strings->bytes += room;
    }
    copy = chunk->text + chunk->used;
    if (size)
        memcpy(copy, bytes, size);
    copy[size] = '\0';
    chunk->used += size + 1;
    return copy;
}

static uint64_t hash_of(const void *items, size_t position)
{
    return ((const struct ifg_string *)items)[position].hash;
}

static bool is_same(const void *items, size_t position, const void *wanted)
{
    const struct ifg_string *known = (const struct ifg_string *)items + position;
    const struct ifg_string *item = wanted;

    return known->hash == item->hash && known->size == item->size &&
           memcmp(known->text, item->text, item->size) == 0;
}

uint32_t ifg_strings_find(const struct ifg_strings *strings, const void *bytes, size_t size)
{
    struct ifg_string item = { bytes, size, ifg_hash_bytes(bytes, size) };
    uint32_t known = ifg_index_find(&strings->index, item.hash, is_same, strings->items, &item);

    return known ? known - 1 : IFG_STRINGS_NONE;
}

uint32_t ifg_strings_add(struct ifg_strings *strings, const void *bytes, size_t size)
{
    struct ifg_string item = { bytes, size, ifg_hash_bytes(bytes, size) };
    size_t limit = strings->limit ? strings->limit : IFG_STRINGS_NONE;
    uint32_t known = ifg_index_find(&strings->index, item.hash, is_same, strings->items, &item);

    if (known || strings->count >= limit)
        return known ? known - 1 : IFG_STRINGS_NONE;
    item.text = NULL;
    if (ifg_index_room(&strings->index, strings->count, hash_of, strings->items) &&
        IFG_ARRAY_ROOM(strings->items, strings->capacity, (size_t)strings->count + 1, limit))
        item.text = ifg_strings_copy(strings, bytes, size);
    if (!item.text) {
        strings->no_memory = true;
        return IFG_STRINGS_NONE;
    }
    strings->items[strings->count] = item;
    ifg_index_put(&strings->index, item.hash, strings->count);
    return strings->count++;
}

const char *ifg_strings_keep(struct ifg_strings *strings, const void *bytes, size_t size)
{
    uint32_t number = ifg_strings_add(strings, bytes, size);

    return number == IFG_STRINGS_NONE ? NULL : strings->items[number].text;
}

void ifg_strings_fini(struct ifg_strings *strings)
{
    while (strings->chunks) {
        struct ifg_strings_chunk *next = strings->chunks->next;

        ifg_free(strings->chunks);
        strings->chunks = next;
    }
    ifg_free(strings->items);
    ifg_index_fini(&strings->index);
    memset(strings, 0, sizeof *strings);
}
