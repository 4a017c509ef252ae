// SPDX-License-Identifier: Apache-2.0
/* Hashes: one that is the same for ever, and quick ones for tables in memory. None of them is meant
 * against people who choose the bytes; tables that hold such have a ceiling. */
#ifndef IFG_BASE_HASH_H
#define IFG_BASE_HASH_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* FNV-1a, for what is written down or seeds something that must come out the same tomorrow. Begins
 * with IFG_FNV_BEGIN, goes on with what the call before gave. */
#define IFG_FNV_BEGIN UINT64_C(0xcbf29ce484222325)

static inline uint64_t ifg_fnv(uint64_t hash, const void *bytes, size_t size)
{
    const uint8_t *at = bytes;

    for (size_t i = 0; i < size; i++)
        hash = (hash ^ at[i]) * UINT64_C(0x100000001b3);
    return hash;
}

/* Of two numbers. */
static inline uint64_t ifg_hash_pair(uint64_t a, uint64_t b)
{
    uint64_t hash = a * 0x9e3779b97f4a7c15u ^ b * 0xc2b2ae3d27d4eb4fu;

    hash ^= hash >> 29;
    hash *= 0xbf58476d1ce4e5b9u;
    return hash ^ hash >> 32;
}

/* Of bytes, eight at a time. */
static inline uint64_t ifg_hash_bytes(const void *bytes, size_t size)
{
    const uint8_t *at = bytes;
    uint64_t hash = IFG_FNV_BEGIN ^ size;

    for (; size >= 8; at += 8, size -= 8) {
        uint64_t word;

        memcpy(&word, at, 8);
        hash = (hash ^ word) * 0x9e3779b97f4a7c15u;
        hash ^= hash >> 32;
    }
    hash = ifg_fnv(hash, at, size) * 0x9e3779b97f4a7c15u;
    return hash ^ hash >> 29;
}

#endif
