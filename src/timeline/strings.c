// SPDX-License-Identifier: Apache-2.0
/* The texts of a timeline: chunks of memory and a table that finds what is already there. */
#include "timeline/timeline_internal.h"

#include <string.h>

#include "base/alloc.h"

#define CHUNK_BYTES ((size_t)64 << 10)

struct string_chunk {
    struct string_chunk *next;
    size_t used;
    size_t size;
    char text[];
};

struct string_entry {
    const char *text;
    size_t length;
    uint64_t hash;
};

const char *string_pool_copy(struct string_pool *pool, const char *text, size_t length)
{
    struct string_chunk *chunk = pool->chunks;
    char *copy;

    if (!chunk || chunk->size - chunk->used < length + 1) {
        size_t size = length + 1 > CHUNK_BYTES ? length + 1 : CHUNK_BYTES;

        chunk = ifg_alloc(1, sizeof *chunk + size);
        if (!chunk)
            return NULL;
        chunk->size = size;
        chunk->next = pool->chunks;
        pool->chunks = chunk;
        pool->bytes += size;
    }
    copy = chunk->text + chunk->used;
    memcpy(copy, text, length);
    copy[length] = '\0';
    chunk->used += length + 1;
    return copy;
}

static uint64_t hash_of(const char *text, size_t length)
{
    uint64_t hash = 1469598103934665603ull;

    for (size_t i = 0; i < length; i++)
        hash = (hash ^ (unsigned char)text[i]) * 1099511628211ull;
    return hash ^ hash >> 29;
}

static struct string_entry *find_slot(struct string_entry *entries, size_t capacity,
                                      const char *text, size_t length, uint64_t hash)
{
    size_t at = hash & (capacity - 1);

    while (entries[at].text && (entries[at].hash != hash || entries[at].length != length ||
                                memcmp(entries[at].text, text, length) != 0))
        at = (at + 1) & (capacity - 1);
    return &entries[at];
}

static bool grow(struct string_pool *pool)
{
    size_t capacity = pool->entry_capacity ? pool->entry_capacity * 2 : 256;
    struct string_entry *entries = ifg_alloc(capacity, sizeof *entries);

    if (!entries)
        return false;
    for (size_t i = 0; i < pool->entry_capacity; i++) {
        const struct string_entry *old = &pool->entries[i];

        if (old->text)
            *find_slot(entries, capacity, old->text, old->length, old->hash) = *old;
    }
    ifg_free(pool->entries);
    pool->entries = entries;
    pool->entry_capacity = capacity;
    return true;
}

const char *string_pool_intern(struct string_pool *pool, const char *text, size_t length)
{
    uint64_t hash = hash_of(text, length);
    struct string_entry *slot;

    if (pool->entry_count * 2 >= pool->entry_capacity && !grow(pool))
        return NULL;
    slot = find_slot(pool->entries, pool->entry_capacity, text, length, hash);
    if (!slot->text) {
        const char *copy = string_pool_copy(pool, text, length);

        if (!copy)
            return NULL;
        *slot = (struct string_entry){ copy, length, hash };
        pool->entry_count++;
    }
    return slot->text;
}

void string_pool_fini(struct string_pool *pool)
{
    while (pool->chunks) {
        struct string_chunk *next = pool->chunks->next;

        ifg_free(pool->chunks);
        pool->chunks = next;
    }
    ifg_free(pool->entries);
    memset(pool, 0, sizeof *pool);
}
