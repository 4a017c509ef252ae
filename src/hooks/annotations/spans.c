// SPDX-License-Identifier: Apache-2.0
/*
 * Spans that begin and end by a number, on any threads.
 *
 * What is open stands in a table of fixed size, in parts with a lock each: two threads seldom want
 * the same one. A span that finds no room is not recorded, and counted.
 */
#include "hooks/annotations/annotations.h"

#include <assert.h>
#include <pthread.h>
#include <string.h>

#include "client/open_zones.h"

#define PARTS 16u
#define OPEN  512u /* in one part */

struct span {
    struct annotations_key key;
    ifg_location *location;
    uint64_t id;
};

struct part {
    pthread_mutex_t lock;
    uint32_t count;
    struct span open[OPEN];
};

static struct part parts[PARTS] = { [0 ... PARTS - 1] = { .lock = PTHREAD_MUTEX_INITIALIZER } };
static uint64_t last_id;
static uint32_t open_count;

static struct part *part_of(const struct annotations_key *key)
{
    uint64_t hash = (uintptr_t)key->space;

    for (int i = 0; i < 3; i++)
        hash = (hash ^ key->words[i]) * 0x9e3779b97f4a7c15u;
    return &parts[hash >> 60];
}

static_assert(PARTS == 16, "the four highest bits of the hash choose a part");

static struct span *find(struct part *part, const struct annotations_key *key)
{
    for (uint32_t i = part->count; i-- > 0;) {
        struct span *span = &part->open[i];

        if (span->key.space == key->space &&
            memcmp(span->key.words, key->words, sizeof key->words) == 0)
            return span;
    }
    return NULL;
}

void annotations_span_begin(const struct annotations_key *key, ifg_location *location)
{
    struct part *part = part_of(key);
    struct span *span;
    uint64_t id = __atomic_add_fetch(&last_id, 1, __ATOMIC_RELAXED);

    pthread_mutex_lock(&part->lock);
    span = find(part, key);
    if (!span && part->count < OPEN) {
        span = &part->open[part->count++];
        __atomic_add_fetch(&open_count, 1, __ATOMIC_RELAXED);
    }
    if (span)
        *span = (struct span){ *key, location, id };
    pthread_mutex_unlock(&part->lock);
    if (span)
        ifg_async_begin(location, id);
    else
        annotations_lose(ANNOTATIONS_TOO_MANY_SPANS);
}

ifg_location *annotations_span_end(const struct annotations_key *key)
{
    struct part *part = part_of(key);
    ifg_location *location = NULL;
    struct span *span;
    uint64_t id = 0;

    if (!__atomic_load_n(&open_count, __ATOMIC_RELAXED))
        return NULL;
    pthread_mutex_lock(&part->lock);
    span = find(part, key);
    if (span) {
        location = span->location;
        id = span->id;
        *span = part->open[--part->count];
        __atomic_sub_fetch(&open_count, 1, __ATOMIC_RELAXED);
    }
    pthread_mutex_unlock(&part->lock);
    if (!location || !ifg_is_recording())
        return NULL;
    ifg_async_end(location, id);
    return location;
}

void annotations_span(ifg_location *location, uint64_t start, uint64_t end)
{
    ifg_location_async(ifg_location_number(location),
                       __atomic_add_fetch(&last_id, 1, __ATOMIC_RELAXED), start, end);
}

void annotations_spans_lock(void)
{
    for (unsigned i = 0; i < PARTS; i++)
        pthread_mutex_lock(&parts[i].lock);
}

void annotations_spans_unlock(bool forget)
{
    if (forget)
        __atomic_store_n(&open_count, 0, __ATOMIC_RELAXED);
    for (unsigned i = 0; i < PARTS; i++) {
        if (forget)
            parts[i].count = 0;
        pthread_mutex_unlock(&parts[i].lock);
    }
}
