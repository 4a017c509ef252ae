// SPDX-License-Identifier: Apache-2.0
/* See map.h. An entry is found by walking from its place on; one that is gone leaves a mark
 * behind, so that those behind it are still found, and is used again by the next that comes by. */
#include "hooks/ort/map.h"

#define LIVE_MAX (ORT_MAP_SLOTS / 4 * 3)

bool ort_map_add(struct ort_map *map, const void *key, void *value)
{
    struct ort_map_entry *slot = NULL;
    unsigned at = ort_map_slot(key);
    bool replaces = false;

    if (!key || !value)
        return false;
    pthread_mutex_lock(&map->lock);
    for (unsigned i = 0; i < ORT_MAP_SLOTS; i++) {
        struct ort_map_entry *entry = &map->entries[(at + i) & (ORT_MAP_SLOTS - 1)];

        if (entry->key == key) {
            slot = entry;
            replaces = true;
            break;
        }
        if (!slot && (!entry->key || entry->key == ORT_MAP_GONE))
            slot = entry;
        if (!entry->key)
            break;
    }
    if (!slot || (!replaces && map->live >= LIVE_MAX)) {
        map->refused++;
        slot = NULL;
    } else {
        __atomic_store_n(&slot->value, value, __ATOMIC_RELEASE);
        __atomic_store_n(&slot->key, key, __ATOMIC_RELEASE);
        if (!replaces)
            map->live++;
    }
    pthread_mutex_unlock(&map->lock);
    return slot != NULL;
}

/* Marks with nothing behind them are not needed: a walk would end there anyway. */
static void clean(struct ort_map *map, unsigned at)
{
    if (map->entries[(at + 1) & (ORT_MAP_SLOTS - 1)].key)
        return;
    while (map->entries[at].key == ORT_MAP_GONE) {
        __atomic_store_n(&map->entries[at].key, NULL, __ATOMIC_RELEASE);
        at = (at - 1) & (ORT_MAP_SLOTS - 1);
    }
}

void *ort_map_remove(struct ort_map *map, const void *key)
{
    unsigned at = ort_map_slot(key);
    void *value = NULL;

    if (!key)
        return NULL;
    pthread_mutex_lock(&map->lock);
    for (unsigned i = 0; i < ORT_MAP_SLOTS; i++) {
        struct ort_map_entry *entry = &map->entries[(at + i) & (ORT_MAP_SLOTS - 1)];

        if (!entry->key)
            break;
        if (entry->key == key) {
            value = entry->value;
            __atomic_store_n(&entry->key, ORT_MAP_GONE, __ATOMIC_RELEASE);
            __atomic_store_n(&entry->value, NULL, __ATOMIC_RELEASE);
            map->live--;
            clean(map, (at + i) & (ORT_MAP_SLOTS - 1));
            break;
        }
    }
    pthread_mutex_unlock(&map->lock);
    return value;
}
