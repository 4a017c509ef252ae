// SPDX-License-Identifier: Apache-2.0
/*
 * See unwind_internal.h. A walk is settled by the registers at a frame, by what it reads from there
 * on and by what is mapped. So where a walk comes to a frame with the same registers as the last
 * time, and all that was read then reads the same now, the rest is the same.
 */
#include "base/alloc.h"
#include "symbol/unwind_internal.h"

struct unwind_trail *unwind_trail_create(void)
{
    return ifg_alloc(1, sizeof(struct unwind_trail));
}

void unwind_trail_destroy(struct unwind_trail *trail)
{
    ifg_free(trail);
}

/* One step of a walk needs the last one's result, so the CPU waits for each line of the stack; here
 * it may fetch all of them at once. They were read the last time, and most are read again. */
static void fetch(const struct unwind_trail *trail, const struct unwind_stack *stack)
{
    for (size_t i = trail->count; i > 0; i--) {
        const struct trail_frame *frame = &trail->frames[i];
        uint64_t at = frame->sp + (uint64_t)(int64_t)frame->ip_at - stack->sp;

        if (at < stack->size)
            __builtin_prefetch(stack->bytes + at);
    }
}

void unwind_trail_begin(struct trail_walk *walk, struct unwind_trail *trail, uint64_t generation,
                        const struct unwind_stack *stack)
{
    walk->trail = trail;
    walk->same = SIZE_MAX;
    walk->fresh_count = 0;
    if (trail && trail->generation != generation)
        trail->count = 0;
    if (trail)
        fetch(trail, stack);
}

static bool reads(const struct unwind_stack *stack, uint64_t sp, int32_t at, uint64_t expected)
{
    uint64_t value;

    return at == NOT_READ ||
           (unwind_load(stack, sp + (uint64_t)(int64_t)at, &value) && value == expected);
}

static size_t count_same(const struct unwind_trail *trail, const struct unwind_stack *stack)
{
    for (size_t i = 1; i <= trail->count; i++) {
        const struct trail_frame *frame = &trail->frames[i];
        const struct trail_frame *caller = &trail->frames[i - 1];

        if (!reads(stack, frame->sp, frame->ip_at, caller->ip) ||
            !reads(stack, frame->sp, frame->fp_at, caller->fp) ||
            !reads(stack, frame->sp, frame->sp_at, caller->sp))
            return i - 1;
    }
    return trail->count;
}

size_t unwind_trail_meets(struct trail_walk *walk, const struct unwind_stack *stack,
                          const struct unwind_cursor *cursor, size_t *from)
{
    const struct trail_frame *frames = walk->trail->frames;
    const struct trail_frame *frame;

    while (*from && frames[*from].sp < cursor->sp)
        --*from;
    frame = &frames[*from];
    if (!*from || frame->sp != cursor->sp || frame->ip != cursor->ip || !frame->returned ||
        (frame->fp_matters && frame->fp != cursor->fp))
        return 0;
    if (walk->same == SIZE_MAX)
        walk->same = count_same(walk->trail, stack);
    return *from <= walk->same ? *from : 0;
}

void unwind_trail_end(struct trail_walk *walk, uint64_t generation, size_t kept,
                      const struct unwind_cursor *behind)
{
    struct unwind_trail *trail = walk->trail;

    if (!kept)
        trail->frames[0] =
            (struct trail_frame){ .ip = behind->ip, .sp = behind->sp, .fp = behind->fp };
    trail->count = kept;
    trail->generation = generation;
    while (walk->fresh_count) {
        struct trail_frame *frame = &trail->frames[++trail->count];

        *frame = walk->fresh[--walk->fresh_count];
        frame->fp_matters = frame->uses_fp || (frame->fp_at == NOT_READ && frame[-1].fp_matters);
    }
}
