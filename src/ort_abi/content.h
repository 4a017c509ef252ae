// SPDX-License-Identifier: Apache-2.0
/*
 * What makes two models the same: a hash of their bytes, wherever those are read from. Hooks read
 * files and their own memory, a recorder the memory of another process; all get the same value.
 */
#ifndef IFG_ORT_ABI_CONTENT_H
#define IFG_ORT_ABI_CONTENT_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* Up to WHOLE bytes all are hashed, of more only SAMPLES pieces: a model of gigabytes must not be
 * read twice, and no training leaves that many pieces of its weights as they were. */
#define ORT_CONTENT_WHOLE   (1u << 20)
#define ORT_CONTENT_SAMPLES 32u
#define ORT_CONTENT_PIECE   (8u << 10)

static inline uint64_t ort_content_mix(uint64_t seed, const void *data, size_t bytes)
{
    const unsigned char *at = data;
    uint64_t hash = seed ^ (bytes * 0x9e3779b97f4a7c15ull);

    while (bytes) {
        uint64_t word = 0;
        size_t part = bytes < sizeof word ? bytes : sizeof word;

        memcpy(&word, at, part);
        hash = (hash ^ word) * 0x9fb21c651e98df25ull;
        hash ^= hash >> 35;
        at += part;
        bytes -= part;
    }
    hash *= 0xc2b2ae3d27d4eb4full;
    return hash ^ hash >> 29;
}

/* `read` gives how many bytes it could have; they are all of what was asked for but at the end. */
static inline uint64_t
ort_content_hash(uint64_t bytes, size_t (*read)(void *user, uint64_t at, void *out, size_t bytes),
                 void *user)
{
    unsigned char piece[ORT_CONTENT_PIECE];
    uint64_t hash = bytes;
    uint64_t count = ORT_CONTENT_SAMPLES;

    if (bytes <= ORT_CONTENT_WHOLE)
        count = (bytes + sizeof piece - 1) / sizeof piece;
    for (uint64_t i = 0; i < count; i++) {
        uint64_t at = i * sizeof piece; /* one after the other, or evenly spread to the very end */

        if (bytes > ORT_CONTENT_WHOLE)
            at = (bytes - sizeof piece) / (ORT_CONTENT_SAMPLES - 1) * i;
        if (bytes > ORT_CONTENT_WHOLE && i == ORT_CONTENT_SAMPLES - 1)
            at = bytes - sizeof piece;
        hash = ort_content_mix(hash, piece, read(user, at, piece, sizeof piece));
    }
    return hash;
}

#endif
