// SPDX-License-Identifier: Apache-2.0
/*
 * What the files of the unwinder share: mappings, what was found out about code, and trails.
 *
 * The collector wakes up for some samples at a time, on a CPU whose caches are full of the watched
 * program's data, and the copies of stacks are in none. What costs is memory that is far apart: so
 * all that a step needs to know of its code lies in one line of the cache, and a trail tells which
 * parts of the stack will be read before the walk comes to them.
 */
#ifndef IFG_SYMBOL_UNWIND_INTERNAL_H
#define IFG_SYMBOL_UNWIND_INTERNAL_H

#include <string.h>

#include "symbol/unwind.h"

#define CODE_SETS    (1u << 11) /* of two entries each: one line of the CPU's cache */
#define HINTS        (1u << 10)
#define MAPPINGS_MAX (1u << 24)

enum {
    CODE_ARM = 1,
    CODE_OF_FILE = 2,
    CODE_CALL_KNOWN = 4, /* it is known whether a call ends behind this byte */
    CODE_CALL = 8,
    CODE_PROBES = 16,
};

/* What holds for the code at an address, as long as the mappings are those of this generation. */
struct unwind_code {
    uint64_t address;
    uint64_t generation;   /* 0: free */
    struct unwind_row row; /* UNWIND_NONE: there is none */
    uint32_t mapping : 24;
    uint32_t flags : 8;
};

/* Where the scan found the return address the last time, for code at this address. */
struct unwind_hint {
    uint64_t ip;
    uint64_t generation;
    uint16_t ra;
    uint16_t fp; /* UINT16_MAX: it was still in the register */
};

struct unwind_cache {
    void *memory;
    struct unwind_code (*codes)[2]; /* CODE_SETS of them, in lines of the CPU's cache */
    struct unwind_hint hints[HINTS];
    uint64_t generation; /* the last one that was given out */
};

struct unwind_space {
    struct unwind_mapping *mappings; /* by start; they do not overlap */
    size_t count;
    size_t room;
    struct unwind_cache *cache;
    uint64_t generation; /* of the mappings: another one whenever they change */
};

/* The registers at a frame. */
struct unwind_cursor {
    uint64_t ip, sp, fp, lr;
};

static inline size_t unwind_hash(uint64_t address)
{
    return (size_t)(address * 0x9e3779b97f4a7c15ull >> 40);
}

/* Finds out, and remembers. NULL: nothing is mapped there. */
struct unwind_code *unwind_code_fill(struct unwind_space *space, uint64_t address);

/* Good until the next call. */
static inline struct unwind_code *unwind_code_at(struct unwind_space *space, uint64_t address)
{
    struct unwind_code *set = space->cache->codes[unwind_hash(address) % CODE_SETS];

    if (set[0].address == address && set[0].generation == space->generation)
        return &set[0];
    if (set[1].address == address && set[1].generation == space->generation)
        return &set[1];
    return unwind_code_fill(space, address);
}

/* Whether somebody may return to this address: it is described, no root, and follows a call. */
bool unwind_returns_to(struct unwind_space *space, uint64_t address);

static inline struct unwind_hint *unwind_hint_of(struct unwind_space *space, uint64_t ip)
{
    return &space->cache->hints[unwind_hash(ip) % HINTS];
}

/* ---- trails ---- */

#define NOT_READ INT32_MIN

/* A frame and what was read to get from it to its caller; each is relative to sp. */
struct trail_frame {
    uint64_t ip, sp, fp;
    int32_t ip_at, fp_at, sp_at; /* where the caller's were read; NOT_READ: nowhere */
    uint32_t mapping : 24;
    uint32_t uses_fp : 1;    /* this step needs the frame pointer */
    uint32_t fp_matters : 1; /* this one or one further out does, before it is read again */
    uint32_t returned : 1;   /* ip is a return address */
};

/* Frames by their distance from the root; [0] stands for what lies behind the root. */
struct unwind_trail {
    uint64_t generation;
    size_t count;
    struct trail_frame frames[UNWIND_FRAMES_MAX + 1];
};

/* A walk that may meet a trail, and writes the next one. */
struct trail_walk {
    struct unwind_trail *trail; /* NULL: none is wanted */
    size_t same;                /* frames whose reads still give the same; SIZE_MAX: not known */
    size_t fresh_count;
    struct trail_frame fresh[UNWIND_FRAMES_MAX]; /* the innermost first */
};

void unwind_trail_begin(struct trail_walk *walk, struct unwind_trail *trail, uint64_t generation,
                        const struct unwind_stack *stack);

/* Notes a frame before the step out of it, which fills in what it reads. */
static inline struct trail_frame *trail_note(struct trail_walk *walk,
                                             const struct unwind_cursor *cursor, uint32_t mapping,
                                             bool returned)
{
    struct trail_frame *frame = &walk->fresh[walk->fresh_count++];

    *frame = (struct trail_frame){ .ip = cursor->ip,
                                   .sp = cursor->sp,
                                   .fp = cursor->fp,
                                   .ip_at = NOT_READ,
                                   .fp_at = NOT_READ,
                                   .sp_at = NOT_READ,
                                   .mapping = mapping & 0xffffffu,
                                   .returned = returned };
    return frame;
}

/* How many frames from here to the root are those of the trail; 0: it must be walked. *from: where
 * to look, at first the trail's count. */
size_t unwind_trail_meets(struct trail_walk *walk, const struct unwind_stack *stack,
                          const struct unwind_cursor *cursor, size_t *from);

/* The walk reached the root, with `kept` frames of the old trail, or with none and `behind` read at
 * the root. */
void unwind_trail_end(struct trail_walk *walk, uint64_t generation, size_t kept,
                      const struct unwind_cursor *behind);

/* ---- the copy of the stack ---- */

static inline bool unwind_load(const struct unwind_stack *stack, uint64_t address,
                               uint64_t *out_value)
{
    uint64_t at = address - stack->sp;

    if (address < stack->sp || at > stack->size || stack->size - at < sizeof *out_value)
        return false;
    memcpy(out_value, stack->bytes + at, sizeof *out_value);
    return true;
}

#endif
