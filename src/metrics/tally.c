// SPDX-License-Identifier: Apache-2.0
/* Series by their labels: see tally.h. */
#include "metrics/tally.h"

#include <stdio.h>
#include <string.h>

#include "base/hash.h"

#define OTHERS ((uint32_t)TRACE_CATEGORIES) /* places that are kept for what is counted together */

static void add(_Atomic uint64_t *to, uint64_t more)
{
    atomic_fetch_add_explicit(to, more, memory_order_relaxed);
}

static uint64_t get(const _Atomic uint64_t *from)
{
    return atomic_load_explicit(from, memory_order_relaxed);
}

void tally_set_text(char *to, size_t size, const char *from)
{
    size_t length = strlen(from);

    if (length >= size)
        for (length = size - 1; length && ((unsigned char)from[length] & 0xc0) == 0x80; length--)
            ;
    memcpy(to, from, length);
    memset(to + length, 0, size - length);
}

void tally_set_model(char *to, size_t size, const char *name, const char *path, uint32_t id)
{
    const char *full = *name ? name : path;
    const char *slash = strrchr(full, '/');
    char unnamed[32];

    snprintf(unnamed, sizeof unnamed, "model %u", id);
    tally_set_text(to, size, !*full ? unnamed : slash && slash[1] ? slash + 1 : full);
}

/* The slot that has it, or the free one where it belongs. There are more slots than series. */
static uint16_t *find_slot(struct tally *tally, const struct tally_labels *labels)
{
    size_t at = (size_t)ifg_hash_bytes(labels, sizeof *labels) % TALLY_SLOTS;

    while (tally->slots[at] &&
           memcmp(&tally->series[tally->slots[at] - 1].labels, labels, sizeof *labels) != 0)
        at = (at + 1) % TALLY_SLOTS;
    return &tally->slots[at];
}

static struct tally_series *put(struct tally *tally, uint16_t *slot,
                                const struct tally_labels *labels)
{
    uint32_t position = atomic_load_explicit(&tally->count, memory_order_relaxed);

    tally->series[position].labels = *labels;
    *slot = (uint16_t)(position + 1);
    atomic_store_explicit(&tally->count, position + 1, memory_order_release);
    return &tally->series[position];
}

static bool is_other(const struct tally_labels *labels)
{
    return strcmp(labels->program, "other") == 0 && strcmp(labels->model, "other") == 0 &&
           strcmp(labels->function, "other") == 0 && strcmp(labels->device, "other") == 0;
}

struct tally_series *tally_find(struct tally *tally, const struct tally_labels *labels)
{
    uint16_t *slot = find_slot(tally, labels);
    uint32_t count = atomic_load_explicit(&tally->count, memory_order_relaxed);
    struct tally_labels other;

    if (*slot)
        return &tally->series[*slot - 1];
    if (is_other(labels) || count < TALLY_SERIES_MOST - OTHERS)
        return put(tally, slot, labels);
    atomic_store_explicit(&tally->is_full, 1, memory_order_relaxed);
    memset(&other, 0, sizeof other);
    tally_set_text(other.program, sizeof other.program, "other");
    tally_set_text(other.model, sizeof other.model, "other");
    tally_set_text(other.function, sizeof other.function, "other");
    tally_set_text(other.device, sizeof other.device, "other");
    other.category = labels->category < TRACE_CATEGORIES ? labels->category : TRACE_CATEGORY_NONE;
    slot = find_slot(tally, &other);
    return *slot ? &tally->series[*slot - 1] : put(tally, slot, &other);
}

static size_t bucket_of(uint64_t duration_ns)
{
    size_t bucket = 0;

    while (bucket < TALLY_BOUNDS && duration_ns > tally_bound_ns(bucket))
        bucket++;
    return bucket;
}

void tally_add(struct tally_series *series, uint64_t duration_ns)
{
    add(&series->sum_ns, duration_ns);
    add(&series->buckets[bucket_of(duration_ns)], 1);
}

void tally_add_failure(struct tally_series *series)
{
    add(&series->failures, 1);
}

void tally_merge(struct tally *tally, const struct tally *other)
{
    uint32_t count = atomic_load_explicit(&other->count, memory_order_acquire);

    for (uint32_t i = 0; i < count && i < TALLY_SERIES_MOST; i++) {
        const struct tally_series *from = &other->series[i];
        struct tally_series *to = tally_find(tally, &from->labels);

        for (size_t bucket = 0; bucket <= TALLY_BOUNDS; bucket++)
            add(&to->buckets[bucket], get(&from->buckets[bucket]));
        add(&to->sum_ns, get(&from->sum_ns));
        add(&to->failures, get(&from->failures));
    }
    if (atomic_load_explicit(&other->is_full, memory_order_relaxed))
        atomic_store_explicit(&tally->is_full, 1, memory_order_relaxed);
    add(&tally->events, get(&other->events));
    add(&tally->dropped, get(&other->dropped));
    add(&tally->damaged, get(&other->damaged));
}
