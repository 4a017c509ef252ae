// SPDX-License-Identifier: Apache-2.0
/*
 * The identity of a model, from its contents: the same as the hooks make in the watched process
 * (hooks/ort/identity.c, which links nothing but libc and so cannot be shared; a test compares
 * the two). All bytes of files up to 1 MiB count, samples of larger ones.
 */
#include <string.h>

#include "onnx/onnx_internal.h"

#define WHOLE_BYTES  (1u << 20)
#define SAMPLES      32u
#define SAMPLE_BYTES (8u << 10)

static uint64_t hash_piece(uint64_t seed, const uint8_t *at, size_t bytes)
{
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

uint64_t onnx_content_hash(struct wire *wire)
{
    uint8_t piece[SAMPLE_BYTES];
    uint64_t hash = wire->bytes;
    uint64_t count = SAMPLES;

    if (wire->bytes <= WHOLE_BYTES)
        count = (wire->bytes + sizeof piece - 1) / sizeof piece;
    for (uint64_t i = 0; i < count; i++) {
        uint64_t at = i * sizeof piece;

        if (wire->bytes > WHOLE_BYTES)
            at = (wire->bytes - sizeof piece) / (SAMPLES - 1) * i;
        if (wire->bytes > WHOLE_BYTES && i == SAMPLES - 1)
            at = wire->bytes - sizeof piece;
        hash = hash_piece(hash, piece, wire_read(wire, at, piece, sizeof piece));
    }
    return hash;
}
