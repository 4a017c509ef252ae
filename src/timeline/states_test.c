// SPDX-License-Identifier: Apache-2.0
/* States of a thread from planted context switches and wakeups, in every order that happens. */
#include <stdio.h>
#include <string.h>

#include "timeline/timeline_internal.h"
#include "timeline/samples.h"
#include "tap.h"

#define US   1000u
#define MOST 32u

static struct trace_switch changes[MOST];
static uint32_t order[MOST];
static size_t count;

static void begin(void)
{
    count = 0;
}

static void at(uint64_t us, enum trace_switch_kind kind, uint32_t waker)
{
    order[count] = (uint32_t)count;
    changes[count] = (struct trace_switch){ .time_ns = us * US,
                                            .pid = 7,
                                            .tid = 8,
                                            .cpu = order[count] + 1,
                                            .kind = (uint8_t)kind,
                                            .other_tid = waker };
    count++;
}

/* "running 10, blocked/disk 20, runnable<5 3, blocked? 4": what it was, for how many us, woken by
 * whom; "?": the wakeup was not reported. */
static const char *walked(void)
{
    static char text[512];
    struct timeline_thread_state states[MOST];
    size_t made = timeline_profile_walk_states(changes, order, count, 3, states);
    size_t used = 0;

    text[0] = '\0';
    for (size_t i = 0; i < made; i++) {
        char waker[16] = "";

        if (states[i].woken)
            snprintf(waker, sizeof waker, "<%u", states[i].waker);
        CHECK_UINT(states[i].thread, 3);
        if (i)
            CHECK(states[i].start_ns >= states[i - 1].end_ns);
        used += (size_t)snprintf(text + used, sizeof text - used, "%s%s%s%s %u", i ? ", " : "",
                                 timeline_state_name((enum timeline_state)states[i].state),
                                 states[i].disk     ? "/disk"
                                 : states[i].untold ? "?"
                                                    : "",
                                 waker, (unsigned)((states[i].end_ns - states[i].start_ns) / US));
    }
    return text;
}

static void switches_alone(void)
{
    begin();
    CHECK_STR(walked(), "");
    at(100, TRACE_SWITCH_IN, 0);
    CHECK_STR(walked(), ""); /* its end was not seen */
    at(110, TRACE_SWITCH_BLOCKED, 0);
    at(150, TRACE_SWITCH_IN, 0);
    at(160, TRACE_SWITCH_PREEMPTED, 0);
    at(165, TRACE_SWITCH_IN, 0);
    CHECK_STR(walked(), "running 10, blocked? 40, running 10, runnable 5");
}

static void a_wake_up(void)
{
    begin();
    at(100, TRACE_SWITCH_IN, 0);
    at(110, TRACE_SWITCH_BLOCKED, 0);
    at(140, TRACE_SWITCH_WOKEN, 5);
    at(143, TRACE_SWITCH_IN, 0);
    at(150, TRACE_SWITCH_BLOCKED, 0);
    at(160, TRACE_SWITCH_WOKEN, 0); /* a timer */
    at(161, TRACE_SWITCH_WOKEN, 9); /* it is awake already */
    at(170, TRACE_SWITCH_IN, 0);
    CHECK_STR(walked(), "running 10, blocked 30, runnable<5 3, running 7, blocked 10, "
                        "runnable<0 10");
}

/* Woken while it goes to sleep: the wakeup is stamped before the sleep, on another CPU. */
static void a_race(void)
{
    begin();
    at(100, TRACE_SWITCH_IN, 0);
    at(200, TRACE_SWITCH_WOKEN, 5);
    at(205, TRACE_SWITCH_BLOCKED, 0);
    at(300, TRACE_SWITCH_IN, 0);
    CHECK_STR(walked(), "running 105, runnable<5 95");
    begin(); /* woken before it slept at all: it went on running, and slept later */
    at(100, TRACE_SWITCH_IN, 0);
    at(200, TRACE_SWITCH_WOKEN, 5);
    at(290, TRACE_SWITCH_BLOCKED, 0);
    at(300, TRACE_SWITCH_IN, 0);
    CHECK_STR(walked(), "running 190, blocked? 10");
}

static void disk_waits(void)
{
    begin();
    at(100, TRACE_SWITCH_IN, 0);
    at(109, TRACE_SWITCH_DISK, 0); /* the tracepoint comes first, then the switch */
    at(110, TRACE_SWITCH_BLOCKED, 0);
    at(140, TRACE_SWITCH_WOKEN, 0);
    at(141, TRACE_SWITCH_IN, 0);
    at(150, TRACE_SWITCH_BLOCKED, 0);
    at(151, TRACE_SWITCH_DISK, 0);
    at(190, TRACE_SWITCH_WOKEN, 4);
    at(191, TRACE_SWITCH_IN, 0);
    CHECK_STR(walked(), "running 9, blocked/disk 31, runnable<0 1, running 9, blocked/disk 40, "
                        "runnable<4 1");
    begin(); /* woken between the two */
    at(100, TRACE_SWITCH_IN, 0);
    at(109, TRACE_SWITCH_DISK, 0);
    at(110, TRACE_SWITCH_WOKEN, 4);
    at(111, TRACE_SWITCH_BLOCKED, 0);
    at(150, TRACE_SWITCH_IN, 0);
    CHECK_STR(walked(), "running 9, blocked/disk 1, runnable<4 40");
}

/* The first thing that is known of a thread is a wakeup. */
static void beginnings(void)
{
    begin();
    at(100, TRACE_SWITCH_WOKEN, 5);
    at(103, TRACE_SWITCH_IN, 0);
    at(113, TRACE_SWITCH_BLOCKED, 0);
    CHECK_STR(walked(), "runnable<5 3, running 10");
    begin(); /* its coming in was not seen: it did not wait for 900 us */
    at(100, TRACE_SWITCH_WOKEN, 5);
    at(1000, TRACE_SWITCH_BLOCKED, 0);
    at(1010, TRACE_SWITCH_IN, 0);
    CHECK_STR(walked(), "blocked? 10");
    begin(); /* the scheduler's events begin before those of switches */
    at(100, TRACE_SWITCH_DISK, 0);
    at(120, TRACE_SWITCH_WOKEN, 5);
    at(1700, TRACE_SWITCH_BLOCKED, 0);
    at(1705, TRACE_SWITCH_WOKEN, 6);
    at(1711, TRACE_SWITCH_IN, 0);
    CHECK_STR(walked(), "blocked/disk 20, blocked 5, runnable<6 6");
    begin(); /* the first switch is told twice, as always */
    at(100, TRACE_SWITCH_DISK, 0);
    at(101, TRACE_SWITCH_BLOCKED, 0);
    at(120, TRACE_SWITCH_WOKEN, 5);
    at(121, TRACE_SWITCH_IN, 0);
    CHECK_STR(walked(), "blocked/disk 20, runnable<5 1");
}

TAP_MAIN(TAP_CASE(switches_alone), TAP_CASE(a_wake_up), TAP_CASE(a_race), TAP_CASE(disk_waits),
         TAP_CASE(beginnings))
