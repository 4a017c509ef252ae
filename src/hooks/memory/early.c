// SPDX-License-Identifier: Apache-2.0
/*
 * Memory for the search for malloc: dlsym may want some itself. A few hundred bytes at the start of
 * a program; nothing of it is ever given back.
 */
#include "hooks/memory/memory.h"

#define EARLY_BYTES 65536u
#define EARLY_HEAD  16u

static _Alignas(64) unsigned char early[EARLY_BYTES];
static size_t used;

void *early_alloc(size_t alignment, size_t bytes)
{
    size_t at;

    if (alignment < EARLY_HEAD)
        alignment = EARLY_HEAD;
    if (alignment > 4096 || bytes > EARLY_BYTES / 2)
        return NULL;
    at = __atomic_fetch_add(&used, bytes + EARLY_HEAD + alignment, __ATOMIC_RELAXED);
    if (at > EARLY_BYTES - (bytes + EARLY_HEAD + alignment)) {
        __atomic_store_n(&used, EARLY_BYTES, __ATOMIC_RELAXED); /* far from any overflow */
        return NULL;
    }
    at += EARLY_HEAD + alignment - 1;
    at -= (size_t)((uintptr_t)&early[at] % alignment);
    *(size_t *)(void *)&early[at - EARLY_HEAD] = bytes;
    picked_mark(&memory_picked, &early[at]);
    return &early[at];
}

bool early_has(const void *block, size_t *out_bytes)
{
    uintptr_t offset = (uintptr_t)block - (uintptr_t)early;

    if (offset >= EARLY_BYTES)
        return false;
    *out_bytes = *(const size_t *)(const void *)&early[offset - EARLY_HEAD];
    return true;
}
