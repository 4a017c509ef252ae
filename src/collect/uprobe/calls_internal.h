// SPDX-License-Identifier: Apache-2.0
/*
 * The open calls of one thread, and which of them a return ends. Compiled twice: into the BPF
 * program and into the fallback, so that both pair in the same way.
 *
 * A call is known by its probe and by the stack pointer at its entry. The stack grows down, hence
 * calls with a lower or the same stack pointer than a new one are over, though nobody saw them
 * return (longjmp, a thread that died, a probe that went away). The same stack pointer with another
 * probe is a tail call, or two probes at one place: both live.
 */
#ifndef IFG_COLLECT_UPROBE_CALLS_INTERNAL_H
#define IFG_COLLECT_UPROBE_CALLS_INTERNAL_H

#include <linux/types.h>

#define CALL_DEPTH     32u /* a power of two */
#define CALL_ARGUMENTS 6

#if defined(__bpf__)
/* The compiler would drop a mask that it can prove useless; the verifier cannot prove that. */
#define CALL_INDEX(index)                                                                          \
    ({                                                                                             \
        __u64 masked_ = (index);                                                                   \
        asm volatile("%0 &= 31" : "+r"(masked_));                                                  \
        masked_;                                                                                   \
    })
#define CALL_INLINE static __attribute__((always_inline)) inline
#else
#define CALL_INDEX(index) ((index) & (CALL_DEPTH - 1))
#define CALL_INLINE       static inline
#endif

/* What travels with a probe into the kernel and comes back: the cookie. */
#define COOKIE_ID(cookie)        ((__u32)(cookie))
#define COOKIE_TEXT(cookie)      ((__u32)((cookie) >> 32) & 7)
#define COOKIE_OUT(cookie)       ((__u32)((cookie) >> 35) & 7)
#define COOKIE_RETURN            (1ull << 38)
#define COOKIE_OPEN              (1ull << 39)
#define COOKIE_NAMESPACE(cookie) ((__u32)((cookie) >> 40) & 0xff)
#define COOKIE_TEXT_BEHIND       (1ull << 48)
#define NAMESPACE_INITIAL        0
#define NAMESPACE_UNKNOWN        0xff

struct call_frame {
    __u64 start_ns;
    __u64 sp;
    __u64 cookie;
    __u64 over; /* its return was seen while a younger one at the same place was open */
    __u64 arguments[CALL_ARGUMENTS];
};

struct call_stack {
    __u32 depth;
    __u32 pid;
    struct call_frame frames[CALL_DEPTH];
};

/* The frame of a new call, to be filled by the caller, or NULL when there are too many. */
CALL_INLINE struct call_frame *call_enter(struct call_stack *stack, __u64 cookie, __u64 sp)
{
    __u32 depth = stack->depth;
    __u32 keep = depth;
    struct call_frame *frame;

    for (__u32 i = 1; i <= CALL_DEPTH; i++) {
        if (i > depth)
            break;
        frame = &stack->frames[CALL_INDEX(depth - i)];
        if (frame->sp > sp)
            break;
        if (frame->sp < sp || COOKIE_ID(frame->cookie) == COOKIE_ID(cookie))
            keep = depth - i;
    }
    if (keep >= CALL_DEPTH) {
        stack->depth = CALL_DEPTH;
        return 0;
    }
    stack->depth = keep + 1;
    frame = &stack->frames[CALL_INDEX(keep)];
    frame->sp = sp;
    frame->cookie = cookie;
    frame->over = 0;
    return frame;
}

/* The frame that this return ends, readable until the next call_enter, and its place; or NULL. */
CALL_INLINE struct call_frame *call_leave(struct call_stack *stack, __u64 cookie, __u64 sp,
                                          __u32 *out_depth)
{
    __u32 depth = stack->depth;
    __u32 keep = depth;
    struct call_frame *found = 0;

    for (__u32 i = 1; i <= CALL_DEPTH; i++) {
        struct call_frame *frame;

        if (i > depth)
            break;
        frame = &stack->frames[CALL_INDEX(depth - i)];
        if (frame->sp > sp)
            break;
        if (!found && frame->sp == sp && !frame->over &&
            COOKIE_ID(frame->cookie) == COOKIE_ID(cookie)) {
            found = frame;
            *out_depth = depth - i;
            frame->over = 1;
        }
        if (keep == depth - i + 1 && (frame->over || frame->sp < sp))
            keep = depth - i;
    }
    stack->depth = keep;
    return found;
}

#endif
