// SPDX-License-Identifier: Apache-2.0
/* See unwind.h and unwind_internal.h: what is mapped, and what was found out about the code. */
#include <string.h>

#include "base/alloc.h"
#include "base/array.h"
#include "symbol/unwind_internal.h"

#define CACHE_LINE 64u
#define CALL_BYTES 7u /* of the longest call that is recognised */

struct unwind_cache *unwind_cache_create(void)
{
    struct unwind_cache *cache = ifg_alloc(1, sizeof *cache);

    if (!cache)
        return NULL;
    cache->memory = ifg_alloc(CODE_SETS + 1, sizeof *cache->codes);
    if (!cache->memory) {
        ifg_free(cache);
        return NULL;
    }
    cache->codes = (void *)(((uintptr_t)cache->memory + CACHE_LINE - 1) / CACHE_LINE * CACHE_LINE);
    return cache;
}

void unwind_cache_destroy(struct unwind_cache *cache)
{
    if (!cache)
        return;
    ifg_free(cache->memory);
    ifg_free(cache);
}

/* ---- what is mapped ---- */

/* All that was found out about the code of this space is forgotten. */
static void forget(struct unwind_space *space)
{
    space->generation = ++space->cache->generation;
}

struct unwind_space *unwind_space_create(struct unwind_cache *cache)
{
    struct unwind_space *space = ifg_alloc(1, sizeof *space);

    if (!space)
        return NULL;
    space->cache = cache;
    forget(space);
    return space;
}

/* It has the generation of the first one too: what is known of one holds for both. */
struct unwind_space *unwind_space_copy(const struct unwind_space *space)
{
    struct unwind_space *copy = ifg_alloc(1, sizeof *copy);

    if (!copy)
        return NULL;
    *copy = *space;
    copy->room = space->count ? space->count : 1;
    copy->mappings = ifg_alloc(copy->room, sizeof *copy->mappings);
    if (!copy->mappings) {
        ifg_free(copy);
        return NULL;
    }
    if (space->count)
        memcpy(copy->mappings, space->mappings, space->count * sizeof *copy->mappings);
    return copy;
}

void unwind_space_destroy(struct unwind_space *space)
{
    if (!space)
        return;
    ifg_free(space->mappings);
    ifg_free(space);
}

/* How many mappings begin at or below this address. */
static size_t position(const struct unwind_space *space, uint64_t address)
{
    size_t low = 0;
    size_t high = space->count;

    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (space->mappings[middle].start <= address)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

const struct unwind_mapping *unwind_space_find(const struct unwind_space *space, uint64_t address)
{
    size_t at = position(space, address);

    return at && address < space->mappings[at - 1].end ? &space->mappings[at - 1] : NULL;
}

static void insert(struct unwind_space *space, const struct unwind_mapping *mapping)
{
    size_t at = position(space, mapping->start);

    memmove(&space->mappings[at + 1], &space->mappings[at],
            (space->count - at) * sizeof *space->mappings);
    space->mappings[at] = *mapping;
    space->count++;
}

/* One mapping can be cut in two; there is room for that. */
static void cut(struct unwind_space *space, uint64_t start, uint64_t end)
{
    for (size_t i = 0; i < space->count;) {
        struct unwind_mapping *mapping = &space->mappings[i];
        struct unwind_mapping rest = *mapping;

        if (mapping->end <= start || mapping->start >= end) {
            i++;
            continue;
        }
        if (mapping->start < start) {
            mapping->end = start;
            i++;
        } else {
            memmove(mapping, mapping + 1, (--space->count - i) * sizeof *mapping);
        }
        if (rest.end > end) {
            rest.start = end;
            insert(space, &rest);
            i++;
        }
    }
}

static bool is_known(const struct unwind_space *space, const struct unwind_mapping *mapping)
{
    const struct unwind_mapping *old = unwind_space_find(space, mapping->start);

    return old && old->start == mapping->start && old->end == mapping->end &&
           old->bias == mapping->bias && old->table == mapping->table && old->elf == mapping->elf &&
           old->number == mapping->number;
}

enum ifg_status unwind_space_map(struct unwind_space *space, const struct unwind_mapping *mapping,
                                 struct ifg_error *err)
{
    if (mapping->start >= mapping->end)
        return ifg_fail(err, IFG_INVALID, "a mapping of no size");
    if (is_known(space, mapping)) /* the kernel tells again when rights change */
        return IFG_OK;
    if (!IFG_ARRAY_ROOM(space->mappings, space->room, space->count + 2, MAPPINGS_MAX))
        return ifg_fail_no_memory(err, "for the mappings of a process");
    cut(space, mapping->start, mapping->end);
    insert(space, mapping);
    forget(space);
    return IFG_OK;
}

void unwind_space_unmap(struct unwind_space *space, uint64_t start, uint64_t end)
{
    if (start >= end ||
        !IFG_ARRAY_ROOM(space->mappings, space->room, space->count + 1, MAPPINGS_MAX))
        return;
    cut(space, start, end);
    forget(space);
}

const struct unwind_mapping *unwind_frame_code(const struct unwind_space *space,
                                               const struct unwind_frames *frames, size_t index,
                                               uint64_t *out_address)
{
    const struct unwind_mapping *mapping = &space->mappings[frames->mapping[index]];
    uint64_t address = frames->address[index] - (index ? 1 : 0);

    *out_address = mapping->elf ? address - mapping->bias : address;
    return mapping;
}

/* ---- code ---- */

struct unwind_code *unwind_code_fill(struct unwind_space *space, uint64_t address)
{
    const struct unwind_mapping *mapping = unwind_space_find(space, address);
    struct unwind_code *set = space->cache->codes[unwind_hash(address) % CODE_SETS];
    const struct unwind_row *row = NULL;

    if (!mapping)
        return NULL;
    if (mapping->table)
        row = unwind_table_find(mapping->table, address - mapping->bias);
    set[1] = set[0];
    set[0] = (struct unwind_code){ .address = address,
                                   .generation = space->generation,
                                   .mapping = (uint32_t)(mapping - space->mappings) & 0xffffffu };
    if (row)
        set[0].row = *row;
    if (mapping->elf)
        set[0].flags |= CODE_OF_FILE;
    if (mapping->probes)
        set[0].flags |= CODE_PROBES;
    if (mapping->table && mapping->table->machine == ELF_AARCH64)
        set[0].flags |= CODE_ARM;
    return &set[0];
}

/* Whether the instruction before a return address is a call. */
static bool is_call(const uint8_t *end)
{
    static const uint8_t lengths[] = { 2, 3, 4, 6, 7 }; /* of call through a register or memory */

    if (end[-5] == 0xe8)
        return true;
    for (size_t i = 0; i < sizeof lengths; i++)
        if (end[-lengths[i]] == 0xff && (end[1 - lengths[i]] & 0x38) == 0x10)
            return true;
    return false;
}

static bool is_arm_call(const uint8_t *end)
{
    uint32_t word;

    memcpy(&word, end - 4, sizeof word);
    return (word & 0xfc000000) == 0x94000000 || (word & 0xfffffc1f) == 0xd63f0000;
}

bool unwind_returns_to(struct unwind_space *space, uint64_t address)
{
    const struct unwind_mapping *mapping = unwind_space_find(space, address - 1);
    struct unwind_code *code;
    uint8_t bytes[CALL_BYTES];

    /* Most words are no addresses of code: they would only fetch lines of the cache for nothing. */
    code = mapping ? unwind_code_at(space, address - 1) : NULL;
    if (!code || code->row.rule == UNWIND_NONE || code->row.rule == UNWIND_ROOT ||
        !(code->flags & CODE_OF_FILE))
        return false;
    if (code->flags & CODE_CALL_KNOWN)
        return code->flags & CODE_CALL;
    code->flags |= CODE_CALL_KNOWN;
    if (elf_file_read(mapping->elf, address - CALL_BYTES - mapping->bias, bytes, CALL_BYTES) ==
            CALL_BYTES &&
        (code->flags & CODE_ARM ? is_arm_call(bytes + CALL_BYTES) : is_call(bytes + CALL_BYTES)))
        code->flags |= CODE_CALL;
    return code->flags & CODE_CALL;
}
