// SPDX-License-Identifier: Apache-2.0
/*
 * See unwind.h. The stack is a copy from another process, and the mappings change under it: nothing
 * that is read from there is believed before it was checked against both.
 */
#include "symbol/unwind.h"

#include <string.h>

#include "base/alloc.h"

#define WORD          8u
#define CALL_CACHE    (1u << 14)
#define HINT_CACHE    (1u << 12)
#define CALL_BYTES    7u  /* of the longest call that is recognised */
#define FP_BELOW      72u /* a caller's frame pointer is saved so near below the return address */
#define PLT_ALIGNMENT 16u
#define NOT_SAVED     UINT16_MAX
/* The kernel's frame of a signal handler on x86-64: struct ucontext begins where sp points to. */
#define SIGNAL_FP 120u
#define SIGNAL_SP 160u
#define SIGNAL_IP 168u

/* Whether the bytes before this address are a call. */
struct call_entry {
    uint64_t address;
    bool known;
    bool call;
};

/* Where the scan found the return address the last time, for code at this address. */
struct hint {
    uint64_t ip;
    uint16_t ra;
    uint16_t fp; /* NOT_SAVED: it was still in the register */
};

struct unwind_space {
    struct unwind_mapping *mappings; /* by start; they do not overlap */
    size_t count;
    size_t room;
    struct call_entry calls[CALL_CACHE];
    struct hint hints[HINT_CACHE];
};

struct cursor {
    uint64_t ip, sp, fp, lr;
};

/* ---- what is mapped ---- */

struct unwind_space *unwind_space_create(void)
{
    return ifg_alloc(1, sizeof(struct unwind_space));
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

static void forget(struct unwind_space *space)
{
    memset(space->calls, 0, sizeof space->calls);
    memset(space->hints, 0, sizeof space->hints);
}

static bool make_room(struct unwind_space *space, size_t more)
{
    size_t room = space->room ? space->room * 2 : 64;
    void *bigger;

    if (space->count + more <= space->room)
        return true;
    bigger = ifg_realloc(space->mappings, room, sizeof *space->mappings);
    if (!bigger)
        return false;
    space->mappings = bigger;
    space->room = room;
    return true;
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

enum ifg_status unwind_space_map(struct unwind_space *space, const struct unwind_mapping *mapping,
                                 struct ifg_error *err)
{
    if (mapping->start >= mapping->end)
        return ifg_fail(err, IFG_INVALID, "a mapping of no size");
    if (!make_room(space, 2))
        return ifg_fail(err, IFG_NO_MEMORY, "no memory for the mappings of a process");
    cut(space, mapping->start, mapping->end);
    insert(space, mapping);
    forget(space);
    return IFG_OK;
}

void unwind_space_unmap(struct unwind_space *space, uint64_t start, uint64_t end)
{
    if (start >= end || !make_room(space, 1))
        return;
    cut(space, start, end);
    forget(space);
}

/* ---- the copy of the stack ---- */

static bool load(const struct unwind_stack *stack, uint64_t address, uint64_t *out_value)
{
    uint64_t at = address - stack->sp;

    if (address < stack->sp || at > stack->size || stack->size - at < WORD)
        return false;
    memcpy(out_value, stack->bytes + at, WORD);
    return true;
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

static bool follows_call(struct unwind_space *space, const struct unwind_mapping *mapping,
                         uint64_t address)
{
    struct call_entry *entry = &space->calls[(address * 0x9e3779b97f4a7c15ull >> 40) % CALL_CACHE];
    uint8_t bytes[CALL_BYTES + 1];

    if (entry->known && entry->address == address)
        return entry->call;
    *entry = (struct call_entry){ address, true, false };
    if (elf_file_read(mapping->elf, address - CALL_BYTES - mapping->bias, bytes, CALL_BYTES) ==
        CALL_BYTES)
        entry->call = mapping->table->machine == ELF_AARCH64 ? is_arm_call(bytes + CALL_BYTES)
                                                             : is_call(bytes + CALL_BYTES);
    return entry->call;
}

/* ---- one step ---- */

static enum unwind_stop step_signal(const struct unwind_stack *stack, struct cursor *cursor,
                                    enum elf_machine machine)
{
    struct cursor next = *cursor;

    if (machine != ELF_X86_64)
        return UNWIND_NO_RULE;
    if (!load(stack, cursor->sp + SIGNAL_FP, &next.fp) ||
        !load(stack, cursor->sp + SIGNAL_SP, &next.sp) ||
        !load(stack, cursor->sp + SIGNAL_IP, &next.ip))
        return UNWIND_CUT;
    if (next.sp <= cursor->sp) /* a stack of its own for signals: it is not in the copy */
        return UNWIND_BAD_FRAME;
    *cursor = next;
    return UNWIND_STOPS;
}

static enum unwind_stop find_frame(const struct unwind_stack *stack, const struct cursor *cursor,
                                   const struct unwind_row *row, uint64_t *out_frame)
{
    uint64_t offset = (uint64_t)(int64_t)row->offset;

    switch (row->rule) {
    case UNWIND_SP:
        *out_frame = cursor->sp + offset;
        return UNWIND_STOPS;
    case UNWIND_FP:
        *out_frame = cursor->fp + offset;
        return UNWIND_STOPS;
    case UNWIND_FP_LOAD:
        return load(stack, cursor->fp + offset, out_frame) ? UNWIND_STOPS : UNWIND_CUT;
    case UNWIND_PLT:
        *out_frame = cursor->sp + WORD + (cursor->ip % PLT_ALIGNMENT >= offset ? WORD : 0);
        return UNWIND_STOPS;
    case UNWIND_ROOT:
        return UNWIND_AT_ROOT;
    default:
        return UNWIND_NO_RULE;
    }
}

/* UNWIND_STOPS: the cursor is at the caller. */
static enum unwind_stop step_table(const struct unwind_stack *stack, struct cursor *cursor,
                                   const struct unwind_row *row, enum elf_machine machine)
{
    struct cursor next = *cursor;
    enum unwind_stop stop;
    bool leaf = machine == ELF_AARCH64 && !row->saved_ra;

    if (row->rule == UNWIND_SIGNAL)
        return step_signal(stack, cursor, machine);
    stop = find_frame(stack, cursor, row, &next.sp);
    if (stop != UNWIND_STOPS)
        return stop;
    if (next.sp < cursor->sp || (next.sp == cursor->sp && !leaf))
        return UNWIND_BAD_FRAME;
    if (leaf)
        next.ip = cursor->lr;
    else if (!load(stack, next.sp + (uint64_t)((int64_t)row->saved_ra * (int)WORD), &next.ip))
        return UNWIND_CUT;
    if (row->saved == UNWIND_AT_CFA &&
        !load(stack, next.sp + (uint64_t)((int64_t)row->saved_fp * (int)WORD), &next.fp))
        return UNWIND_CUT;
    if (row->saved == UNWIND_AT_FP && !load(stack, cursor->fp, &next.fp))
        return UNWIND_CUT;
    if (!next.ip)
        return UNWIND_AT_ROOT;
    *cursor = next;
    return UNWIND_STOPS;
}

/* Code made at run time keeps its frame pointer, and so do the functions that node has inside. */
static enum unwind_stop step_frame_pointer(const struct unwind_space *space,
                                           const struct unwind_stack *stack, struct cursor *cursor)
{
    struct cursor next = *cursor;

    if (cursor->fp < cursor->sp || cursor->fp % WORD)
        return UNWIND_NO_RULE;
    if (!load(stack, cursor->fp, &next.fp) || !load(stack, cursor->fp + WORD, &next.ip))
        return UNWIND_CUT;
    if (!next.ip)
        return UNWIND_AT_ROOT;
    if (!unwind_space_find(space, next.ip - 1))
        return UNWIND_NO_RULE;
    next.sp = cursor->fp + 2 * WORD;
    *cursor = next;
    return UNWIND_STOPS;
}

/* ---- the walk ---- */

static enum unwind_stop walk(struct unwind_space *space, const struct unwind_stack *stack,
                             struct cursor cursor, struct unwind_frames *frames, bool may_scan);

/* Takes the return address at this place if it proves itself. */
static bool try_caller(struct unwind_space *space, const struct unwind_stack *stack, uint64_t ra_at,
                       uint64_t fp, struct unwind_frames *frames, enum unwind_stop *out_stop)
{
    size_t before = frames->count;
    struct cursor caller = { .sp = ra_at + WORD, .fp = fp };
    bool proved;

    if (!load(stack, ra_at, &caller.ip))
        return false;
    *out_stop = walk(space, stack, caller, frames, false);
    proved = *out_stop == UNWIND_AT_ROOT ||
             (*out_stop == UNWIND_CUT && frames->count - before >= UNWIND_PROOF);
    if (!proved)
        frames->count = before;
    return proved;
}

static bool could_return_to(struct unwind_space *space, uint64_t address)
{
    const struct unwind_mapping *mapping = unwind_space_find(space, address - 1);
    const struct unwind_row *row;

    if (!mapping || !mapping->table || !mapping->elf)
        return false;
    row = unwind_table_find(mapping->table, address - 1 - mapping->bias);
    return row && row->rule != UNWIND_ROOT && follows_call(space, mapping, address);
}

static bool follow_hint(struct unwind_space *space, const struct unwind_stack *stack,
                        const struct cursor *cursor, const struct hint *hint,
                        struct unwind_frames *frames, enum unwind_stop *out_stop)
{
    uint64_t fp = cursor->fp;
    uint64_t ra;

    if (hint->ip != cursor->ip || !load(stack, cursor->sp + hint->ra, &ra) ||
        (hint->fp != NOT_SAVED && !load(stack, cursor->sp + hint->fp, &fp)))
        return false;
    return could_return_to(space, ra) &&
           try_caller(space, stack, cursor->sp + hint->ra, fp, frames, out_stop);
}

/* The caller of code without a description. */
static bool scan(struct unwind_space *space, const struct unwind_stack *stack,
                 const struct cursor *cursor, struct unwind_frames *frames,
                 enum unwind_stop *out_stop)
{
    struct hint *hint = &space->hints[(cursor->ip * 0x9e3779b97f4a7c15ull >> 40) % HINT_CACHE];

    if (follow_hint(space, stack, cursor, hint, frames, out_stop))
        return true;
    for (uint16_t ra = 0; ra < UNWIND_SCAN; ra = (uint16_t)(ra + WORD)) {
        uint64_t value;

        if (!load(stack, cursor->sp + ra, &value))
            return false;
        if (!could_return_to(space, value))
            continue;
        *hint = (struct hint){ cursor->ip, ra, NOT_SAVED };
        if (try_caller(space, stack, cursor->sp + ra, cursor->fp, frames, out_stop))
            return true;
        for (uint16_t below = WORD; below <= ra && below <= FP_BELOW;
             below = (uint16_t)(below + WORD)) {
            uint64_t fp;

            hint->fp = (uint16_t)(ra - below);
            if (load(stack, cursor->sp + hint->fp, &fp) &&
                try_caller(space, stack, cursor->sp + ra, fp, frames, out_stop))
                return true;
        }
        hint->ip = 0;
    }
    return false;
}

static enum unwind_stop walk(struct unwind_space *space, const struct unwind_stack *stack,
                             struct cursor cursor, struct unwind_frames *frames, bool may_scan)
{
    bool innermost = may_scan;
    bool after_signal = false;

    while (frames->count < UNWIND_FRAMES_MAX) {
        /* A return address may be the first byte behind its function. */
        uint64_t code = innermost || after_signal ? cursor.ip : cursor.ip - 1;
        const struct unwind_mapping *mapping = unwind_space_find(space, code);
        const struct unwind_row *row = NULL;
        enum unwind_stop stop = UNWIND_NO_RULE;

        if (!mapping)
            return UNWIND_NO_MAPPING;
        frames->address[frames->count++] = cursor.ip;
        if (mapping->table)
            row = unwind_table_find(mapping->table, code - mapping->bias);
        after_signal = row && row->rule == UNWIND_SIGNAL;
        if (row)
            stop = step_table(stack, &cursor, row, mapping->table->machine);
        else if (!innermost || !mapping->elf) /* made at run time, or by a compiler of its own */
            stop = step_frame_pointer(space, stack, &cursor);
        if (stop == UNWIND_NO_RULE && may_scan) {
            if (!frames->exact)
                frames->exact = frames->count;
            if (scan(space, stack, &cursor, frames, &stop))
                return stop;
        }
        if (stop == UNWIND_NO_RULE && !row && innermost)
            stop = step_frame_pointer(space, stack, &cursor);
        if (stop != UNWIND_STOPS)
            return stop;
        innermost = false;
    }
    return UNWIND_TOO_DEEP;
}

void unwind_walk(struct unwind_space *space, const struct unwind_stack *stack,
                 struct unwind_frames *out_frames)
{
    struct cursor cursor = { stack->ip, stack->sp, stack->fp, stack->lr };

    out_frames->count = 0;
    out_frames->exact = 0;
    out_frames->stop = walk(space, stack, cursor, out_frames, true);
    if (!out_frames->exact)
        out_frames->exact = out_frames->count;
}

const char *unwind_stop_name(enum unwind_stop stop)
{
    static const char *const names[UNWIND_STOPS] = {
        "the thread's root",          "the copy of the stack ends",  "an address without code",
        "code without a description", "a frame that makes no sense", "too many frames",
    };

    return (unsigned)stop < UNWIND_STOPS ? names[stop] : "unknown";
}
