// SPDX-License-Identifier: Apache-2.0
/* Which call a return ends: nested, tail calls, jumps over frames, two probes at one place. */
#include "collect/uprobe/calls_internal.h"

#include "tap.h"

static struct call_stack stack;

static bool enter(__u32 id, __u64 sp)
{
    struct call_frame *frame = call_enter(&stack, id, sp);

    if (frame)
        frame->start_ns = sp * 1000 + id;
    return frame != NULL;
}

/* The depth of the call that ends, or -1. */
static int leave(__u32 id, __u64 sp)
{
    __u32 depth = 0;
    struct call_frame *frame = call_leave(&stack, id, sp, &depth);

    if (!frame)
        return -1;
    CHECK_UINT(frame->start_ns, sp * 1000 + id);
    return (int)depth;
}

static void nested_calls(void)
{
    CHECK(enter(1, 900));
    CHECK(enter(2, 800));
    CHECK(enter(1, 700));
    CHECK_INT(leave(1, 700), 2);
    CHECK_INT(leave(2, 800), 1);
    CHECK(enter(2, 800));
    CHECK_INT(leave(2, 800), 1);
    CHECK_INT(leave(1, 900), 0);
    CHECK_UINT(stack.depth, 0);
}

static void returns_without_a_beginning(void)
{
    CHECK_INT(leave(1, 900), -1);
    CHECK(enter(1, 800));
    CHECK_INT(leave(1, 850), -1);
    CHECK_UINT(stack.depth, 0);
    CHECK(enter(1, 800));
    CHECK_INT(leave(2, 800), -1);
    CHECK_INT(leave(1, 700), -1);
    CHECK_INT(leave(1, 800), 0);
}

static void frames_that_were_jumped_over(void)
{
    CHECK(enter(1, 900));
    CHECK(enter(2, 800));
    CHECK(enter(3, 700)); /* leaps to 1, which calls from higher up */
    CHECK(enter(2, 850));
    CHECK_INT(leave(2, 850), 1);
    for (int i = 0; i < 100; i++) /* always out of the same place */
        CHECK(enter(3, 700));
    CHECK_UINT(stack.depth, 2);
    CHECK_INT(leave(1, 900), 0);
    CHECK_UINT(stack.depth, 0);
}

static void leaps_out_of_a_tail_call(void)
{
    CHECK(enter(1, 900));
    for (int i = 0; i < 100; i++) {
        CHECK(enter(2, 800));
        CHECK(enter(3, 800));
    }
    CHECK_UINT(stack.depth, 3);
    CHECK_INT(leave(3, 800), 2);
    CHECK_INT(leave(2, 800), 1);
    CHECK_INT(leave(1, 900), 0);
}

static void a_tail_call(void)
{
    CHECK(enter(1, 900));
    CHECK(enter(2, 900));
    CHECK_INT(leave(2, 900), 1);
    CHECK_INT(leave(1, 900), 0);
    CHECK_UINT(stack.depth, 0);
}

static void two_probes_at_one_place(void)
{
    CHECK(enter(1, 900));
    CHECK(enter(2, 900));
    CHECK_INT(leave(1, 900), 0); /* in the order of the entries, not of a stack */
    CHECK_UINT(stack.depth, 2);
    CHECK_INT(leave(2, 900), 1);
    CHECK_UINT(stack.depth, 0);
}

static void more_calls_than_there_is_room(void)
{
    for (__u32 i = 0; i < CALL_DEPTH; i++)
        CHECK(enter(1, 10000 - i));
    for (__u32 i = 0; i < 8; i++)
        CHECK(!enter(1, 9000 - i));
    for (__u32 i = 8; i-- > 0;)
        CHECK_INT(leave(1, 9000 - i), -1);
    for (__u32 i = CALL_DEPTH; i-- > 0;)
        CHECK_INT(leave(1, 10000 - i), (int)i);
    CHECK_UINT(stack.depth, 0);
}

TAP_MAIN(TAP_CASE(nested_calls), TAP_CASE(returns_without_a_beginning),
         TAP_CASE(frames_that_were_jumped_over), TAP_CASE(leaps_out_of_a_tail_call),
         TAP_CASE(a_tail_call), TAP_CASE(two_probes_at_one_place),
         TAP_CASE(more_calls_than_there_is_room))
