// SPDX-License-Identifier: Apache-2.0
/*
 * See unwind.h. The stack is a copy from another process, and the mappings change under it: nothing
 * that is read from there is believed before it was checked against both.
 */
#include "symbol/unwind.h"

#include <string.h>

#include "symbol/unwind_internal.h"

#define WORD          8u
#define FP_BELOW      72u /* a caller's frame pointer is saved so near below the return address */
#define PLT_ALIGNMENT 16u
#define NOT_SAVED     UINT16_MAX
#define SCAN_PROBED   4096u /* the missing caller may have a large frame */
#define PROBES_MAX    8     /* of functions that call each other */
/* The kernel's frame of a signal handler on x86-64: struct ucontext begins where sp points to. */
#define SIGNAL_FP 120u
#define SIGNAL_SP 160u
#define SIGNAL_IP 168u

struct walk {
    struct unwind_space *space;
    const struct unwind_stack *stack;
    struct unwind_frames *frames;
    struct unwind_cursor probed; /* where a probe took the return address */
    struct unwind_cursor behind; /* the registers behind the root, as far as they were read */
    struct trail_walk trail;
};

/* ---- one step ---- */

static bool load(const struct walk *walk, const struct trail_frame *frame, uint64_t address,
                 int32_t *out_at, uint64_t *out_value)
{
    *out_at = (int32_t)(address - frame->sp);
    return unwind_load(walk->stack, address, out_value);
}

static enum unwind_stop step_signal(const struct walk *walk, struct unwind_cursor *cursor,
                                    struct trail_frame *frame, bool arm)
{
    struct unwind_cursor next = *cursor;

    if (arm)
        return UNWIND_NO_RULE;
    if (!load(walk, frame, cursor->sp + SIGNAL_FP, &frame->fp_at, &next.fp) ||
        !load(walk, frame, cursor->sp + SIGNAL_SP, &frame->sp_at, &next.sp) ||
        !load(walk, frame, cursor->sp + SIGNAL_IP, &frame->ip_at, &next.ip))
        return UNWIND_CUT;
    if (next.sp <= cursor->sp) /* a stack of its own for signals: it is not in the copy */
        return UNWIND_BAD_FRAME;
    *cursor = next;
    return UNWIND_STOPS;
}

static enum unwind_stop find_frame(const struct walk *walk, const struct unwind_cursor *cursor,
                                   const struct unwind_row *row, struct trail_frame *frame,
                                   uint64_t *out_frame)
{
    uint64_t offset = (uint64_t)(int64_t)row->offset;

    switch (row->rule) {
    case UNWIND_SP:
        *out_frame = cursor->sp + offset;
        return UNWIND_STOPS;
    case UNWIND_FP:
        frame->uses_fp = 1;
        *out_frame = cursor->fp + offset;
        return UNWIND_STOPS;
    case UNWIND_FP_LOAD:
        frame->uses_fp = 1;
        return load(walk, frame, cursor->fp + offset, &frame->sp_at, out_frame) ? UNWIND_STOPS
                                                                                : UNWIND_CUT;
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
static enum unwind_stop step_table(struct walk *walk, struct unwind_cursor *cursor,
                                   const struct unwind_row *row, struct trail_frame *frame,
                                   bool arm)
{
    struct unwind_cursor next = *cursor;
    enum unwind_stop stop;
    bool leaf = arm && !row->saved_ra;

    if (row->rule == UNWIND_SIGNAL)
        return step_signal(walk, cursor, frame, arm);
    stop = find_frame(walk, cursor, row, frame, &next.sp);
    if (stop != UNWIND_STOPS)
        return stop;
    if (next.sp < cursor->sp || (next.sp == cursor->sp && !leaf))
        return UNWIND_BAD_FRAME;
    if (leaf)
        next.ip = cursor->lr;
    else if (!load(walk, frame, next.sp + (uint64_t)((int64_t)row->saved_ra * (int)WORD),
                   &frame->ip_at, &next.ip))
        return UNWIND_CUT;
    if (row->saved == UNWIND_AT_CFA &&
        !load(walk, frame, next.sp + (uint64_t)((int64_t)row->saved_fp * (int)WORD), &frame->fp_at,
              &next.fp))
        return UNWIND_CUT;
    if (row->saved == UNWIND_AT_FP) {
        frame->uses_fp = 1;
        if (!load(walk, frame, cursor->fp, &frame->fp_at, &next.fp))
            return UNWIND_CUT;
    }
    *cursor = next;
    if (leaf) /* the link register belongs to what a walk depends on, but not to a trail */
        walk->trail.fresh_count = 0;
    return next.ip ? UNWIND_STOPS : UNWIND_AT_ROOT;
}

/* Code generated at run time keeps its frame pointer, and so do the functions inside node. */
static enum unwind_stop step_frame_pointer(const struct walk *walk, struct unwind_cursor *cursor,
                                           struct trail_frame *frame)
{
    struct unwind_cursor next = *cursor;

    frame->uses_fp = 1;
    if (cursor->fp < cursor->sp || cursor->fp % WORD)
        return UNWIND_NO_RULE;
    if (!load(walk, frame, cursor->fp, &frame->fp_at, &next.fp) ||
        !load(walk, frame, cursor->fp + WORD, &frame->ip_at, &next.ip))
        return UNWIND_CUT;
    if (next.ip && !unwind_code_at(walk->space, next.ip - 1))
        return UNWIND_NO_RULE;
    next.sp = cursor->fp + 2 * WORD;
    *cursor = next;
    return next.ip ? UNWIND_STOPS : UNWIND_AT_ROOT;
}

/* ---- the walk ---- */

static enum unwind_stop walk_from(struct walk *walk, struct unwind_cursor cursor, bool may_scan);

/* Takes the return address at this place if it proves itself. */
static bool try_caller(struct walk *walk, uint64_t ra_at, uint64_t fp, enum unwind_stop *out_stop)
{
    struct unwind_frames *frames = walk->frames;
    size_t before = frames->count;
    struct unwind_cursor caller = { .sp = ra_at + WORD, .fp = fp };
    bool proved;

    if (!unwind_load(walk->stack, ra_at, &caller.ip))
        return false;
    walk->trail.fresh_count = 0; /* how the caller was found is no part of a trail */
    *out_stop = walk_from(walk, caller, false);
    proved = *out_stop == UNWIND_AT_ROOT || *out_stop == UNWIND_PROBED ||
             (*out_stop == UNWIND_CUT && frames->count - before >= UNWIND_PROOF);
    if (!proved)
        frames->count = before;
    return proved;
}

static bool follow_hint(struct walk *walk, const struct unwind_cursor *cursor,
                        const struct unwind_hint *hint, enum unwind_stop *out_stop)
{
    uint64_t fp = cursor->fp;
    uint64_t ra;

    if (hint->ip != cursor->ip || hint->generation != walk->space->generation ||
        !unwind_load(walk->stack, cursor->sp + hint->ra, &ra) ||
        (hint->fp != NOT_SAVED && !unwind_load(walk->stack, cursor->sp + hint->fp, &fp)))
        return false;
    return unwind_returns_to(walk->space, ra) &&
           try_caller(walk, cursor->sp + hint->ra, fp, out_stop);
}

/* The caller of code without a description. */
static bool scan(struct walk *walk, const struct unwind_cursor *cursor, unsigned bytes,
                 enum unwind_stop *out_stop)
{
    struct unwind_hint *hint = unwind_hint_of(walk->space, cursor->ip);

    if (follow_hint(walk, cursor, hint, out_stop))
        return true;
    for (uint16_t ra = 0; ra < bytes; ra = (uint16_t)(ra + WORD)) {
        uint64_t value;

        if (!unwind_load(walk->stack, cursor->sp + ra, &value))
            return false;
        if (!unwind_returns_to(walk->space, value))
            continue;
        *hint = (struct unwind_hint){ cursor->ip, walk->space->generation, ra, NOT_SAVED };
        if (try_caller(walk, cursor->sp + ra, cursor->fp, out_stop))
            return true;
        for (uint16_t below = WORD; below <= ra && below <= FP_BELOW;
             below = (uint16_t)(below + WORD)) {
            uint64_t fp;

            hint->fp = (uint16_t)(ra - below);
            if (unwind_load(walk->stack, cursor->sp + hint->fp, &fp) &&
                try_caller(walk, cursor->sp + ra, fp, out_stop))
                return true;
        }
        hint->ip = 0;
    }
    return false;
}

/* Takes the rest of the walk from the trail, if it leads on from here. */
static bool follow_trail(struct walk *walk, const struct unwind_cursor *cursor, size_t *from)
{
    struct unwind_frames *frames = walk->frames;
    const struct unwind_trail *trail = walk->trail.trail;
    size_t kept = unwind_trail_meets(&walk->trail, walk->stack, cursor, from);

    if (!kept || kept > UNWIND_FRAMES_MAX - frames->count)
        return false;
    frames->kept = kept;
    for (; kept; kept--) {
        frames->address[frames->count] = trail->frames[kept].ip;
        frames->sp[frames->count] = trail->frames[kept].sp;
        frames->mapping[frames->count++] = trail->frames[kept].mapping;
    }
    return true;
}

static enum unwind_stop walk_from(struct walk *walk, struct unwind_cursor cursor, bool may_scan)
{
    struct unwind_frames *frames = walk->frames;
    size_t from = walk->trail.trail ? walk->trail.trail->count : 0;
    bool innermost = may_scan;
    bool after_signal = false;

    while (frames->count < UNWIND_FRAMES_MAX) {
        /* A return address may be the first byte behind its function. */
        bool returned = !innermost && !after_signal;
        const struct unwind_code *code;
        struct unwind_row row;
        struct trail_frame *frame;
        enum unwind_stop stop = UNWIND_NO_RULE;
        bool of_file, arm;

        if (returned && from && follow_trail(walk, &cursor, &from))
            return UNWIND_AT_ROOT;
        code = unwind_code_at(walk->space, cursor.ip - returned);
        if (!code) {
            /* The address is the first of the page, so the byte before it is not in it. */
            code = returned ? unwind_code_at(walk->space, cursor.ip) : NULL;
            walk->probed = cursor;
            return code && code->flags & CODE_PROBES ? UNWIND_PROBED : UNWIND_NO_MAPPING;
        }
        row = code->row;
        of_file = code->flags & CODE_OF_FILE;
        arm = code->flags & CODE_ARM;
        frames->address[frames->count] = cursor.ip;
        frames->sp[frames->count] = cursor.sp;
        frames->mapping[frames->count++] = code->mapping;
        frame = trail_note(&walk->trail, &cursor, code->mapping, returned);
        after_signal = row.rule == UNWIND_SIGNAL;
        if (row.rule != UNWIND_NONE)
            stop = step_table(walk, &cursor, &row, frame, arm);
        else if (!innermost || !of_file) /* made at run time, or by a compiler of its own */
            stop = step_frame_pointer(walk, &cursor, frame);
        if (stop == UNWIND_NO_RULE && may_scan) {
            if (!frames->exact)
                frames->exact = frames->count;
            if (scan(walk, &cursor, UNWIND_SCAN, &stop))
                return stop;
            walk->trail.fresh_count = 0;
            frame = trail_note(&walk->trail, &cursor, frames->mapping[frames->count - 1], returned);
        }
        if (stop == UNWIND_NO_RULE && row.rule == UNWIND_NONE && innermost)
            stop = step_frame_pointer(walk, &cursor, frame);
        if (stop == UNWIND_AT_ROOT)
            walk->behind = cursor;
        if (stop != UNWIND_STOPS)
            return stop;
        innermost = false;
    }
    return UNWIND_TOO_DEEP;
}

void unwind_walk(struct unwind_space *space, const struct unwind_stack *stack,
                 struct unwind_trail *trail, struct unwind_frames *out_frames)
{
    struct unwind_cursor cursor = { stack->ip, stack->sp, stack->fp, stack->lr };
    struct walk walk; /* not cleared: its notes are large, and written before they are read */

    walk.space = space;
    walk.stack = stack;
    walk.frames = out_frames;
    walk.behind = cursor;
    unwind_trail_begin(&walk.trail, trail, space->generation, stack);
    out_frames->count = 0;
    out_frames->exact = 0;
    out_frames->kept = 0;
    out_frames->continued = false;
    out_frames->stop = walk_from(&walk, cursor, true);
    for (int i = 0; i < PROBES_MAX && out_frames->stop == UNWIND_PROBED; i++) {
        struct unwind_cursor probed = walk.probed;

        if (!out_frames->exact)
            out_frames->exact = out_frames->count;
        if (!scan(&walk, &probed, SCAN_PROBED, &out_frames->stop)) {
            out_frames->stop = UNWIND_PROBED;
            break;
        }
    }
    if (!out_frames->exact)
        out_frames->exact = out_frames->count;
    if (trail && out_frames->stop == UNWIND_AT_ROOT)
        unwind_trail_end(&walk.trail, space->generation, out_frames->kept, &walk.behind);
    else if (trail)
        trail->count = 0;
}

const char *unwind_stop_name(enum unwind_stop stop)
{
    static const char *const names[UNWIND_STOPS] = {
        "the thread's root",          "the copy of the stack ends",  "an address without code",
        "code without a description", "a frame that makes no sense", "too many frames",
        "a probe of the kernel",
    };

    return (unsigned)stop < UNWIND_STOPS ? names[stop] : "unknown";
}
