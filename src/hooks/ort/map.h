// SPDX-License-Identifier: Apache-2.0
/* Objects of the runtime, found by their address: reading takes no lock, writing does. */
#ifndef IFG_HOOKS_ORT_MAP_H
#define IFG_HOOKS_ORT_MAP_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A power of two. A map is filled to three quarters at most; what is over is not watched. */
#define ORT_MAP_SLOTS 4096u
#define ORT_MAP_GONE  ((const void *)1)

struct ort_map_entry {
    const void *key; /* NULL: never used; ORT_MAP_GONE: used once */
    void *value;
};

struct ort_map {
    pthread_mutex_t lock;
    unsigned live;
    uint64_t refused; /* objects that found no room */
    struct ort_map_entry entries[ORT_MAP_SLOTS];
};

#define ORT_MAP_INIT                                                                               \
    {                                                                                              \
        .lock = PTHREAD_MUTEX_INITIALIZER                                                          \
    }

/* NULL key or value: nothing happens. An object at the address of an older one replaces it. */
bool ort_map_add(struct ort_map *map, const void *key, void *value);

/* The value that was there, or NULL. */
void *ort_map_remove(struct ort_map *map, const void *key);

static inline unsigned ort_map_slot(const void *key)
{
    return (unsigned)(((uintptr_t)key * 0x9e3779b97f4a7c15ull) >> 40) & (ORT_MAP_SLOTS - 1);
}

static inline void *ort_map_find(const struct ort_map *map, const void *key)
{
    unsigned at = ort_map_slot(key);

    if (!key)
        return NULL;
    for (unsigned i = 0; i < ORT_MAP_SLOTS; i++) {
        const struct ort_map_entry *entry = &map->entries[(at + i) & (ORT_MAP_SLOTS - 1)];
        const void *found = __atomic_load_n(&entry->key, __ATOMIC_ACQUIRE);

        if (found == key)
            return __atomic_load_n(&entry->value, __ATOMIC_ACQUIRE);
        if (!found)
            return NULL;
    }
    return NULL;
}

#endif
