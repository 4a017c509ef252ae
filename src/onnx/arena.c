// SPDX-License-Identifier: Apache-2.0
/* Memory of one model: handed out in pieces, given back at once, and never more than a ceiling. */
#include <stdalign.h>
#include <stddef.h>
#include <string.h>

#include "base/alloc.h"
#include "onnx/onnx_internal.h"

#define BLOCK_BYTES ((size_t)64 << 10)
#define FIRST_ROOM  4u

struct arena_block {
    struct arena_block *next;
    size_t size;
    size_t used;
    alignas(max_align_t) unsigned char bytes[];
};

void *arena_alloc(struct arena *arena, size_t count, size_t size)
{
    struct arena_block *block = arena->blocks;
    size_t bytes;
    void *out;

    if (__builtin_mul_overflow(count, size, &bytes) || bytes > ONNX_MEMORY)
        return NULL;
    bytes = (bytes + alignof(max_align_t) - 1) / alignof(max_align_t) * alignof(max_align_t);
    if (!block || block->size - block->used < bytes) {
        size_t room = bytes > BLOCK_BYTES / 4 ? bytes : BLOCK_BYTES;

        if (arena->used + room > ONNX_MEMORY)
            return NULL;
        block = ifg_alloc(1, sizeof *block + room);
        if (!block)
            return NULL;
        block->size = room;
        arena->used += room;
        if (room == bytes && arena->blocks) { /* a large one; the open block stays open */
            block->next = arena->blocks->next;
            arena->blocks->next = block;
        } else {
            block->next = arena->blocks;
            arena->blocks = block;
        }
    }
    out = block->bytes + block->used;
    block->used += bytes;
    return out;
}

char *arena_text(struct arena *arena, const char *text, size_t length)
{
    char *out = arena_alloc(arena, length + 1, 1);

    if (out && length)
        memcpy(out, text, length);
    return out;
}

void *arena_append(struct arena *arena, void *items, size_t count, size_t size)
{
    void *out;

    if (count && (count < FIRST_ROOM || (count & (count - 1)) != 0))
        return items;
    out = arena_alloc(arena, count ? count * 2 : FIRST_ROOM, size);
    if (out && count)
        memcpy(out, items, count * size);
    return out;
}

void arena_fini(struct arena *arena)
{
    while (arena->blocks) {
        struct arena_block *next = arena->blocks->next;

        ifg_free(arena->blocks);
        arena->blocks = next;
    }
    arena->used = 0;
}
