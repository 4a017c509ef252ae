// SPDX-License-Identifier: Apache-2.0
/*
 * What a thread was doing, from its context switches and wakeups.
 *
 * Each CPU tells its own part with its own timestamps, so that two records of one moment may come
 * in either order: a thread is woken while it still is on its way to sleep.
 */
#include "timeline/timeline_internal.h"
#include "timeline/samples.h"

/* From the decision to sleep to the record of it; no thread gets a CPU, runs and sleeps in less. */
#define RACE_NS 20000u

struct walk {
    struct timeline_thread_state now;
    bool known;     /* there is a state */
    bool is_guess;  /* no switch was seen yet: who is woken and does not come in next ran unseen */
    bool was_woken; /* and has not come in since */
    uint64_t woken_ns;
    uint32_t waker;
};

static enum timeline_state state_after(const struct walk *walk, const struct trace_switch *change)
{
    bool is_race = walk->was_woken && change->time_ns - walk->woken_ns <= RACE_NS;

    switch (change->kind) {
    case TRACE_SWITCH_IN:
        return TIMELINE_RUNNING;
    case TRACE_SWITCH_BLOCKED:
    case TRACE_SWITCH_DISK:
        return is_race ? TIMELINE_RUNNABLE : TIMELINE_BLOCKED;
    case TRACE_SWITCH_PREEMPTED:
        return TIMELINE_RUNNABLE;
    default: /* a wakeup matters only to one that is blocked */
        return walk->known && walk->now.state != TIMELINE_BLOCKED
                   ? (enum timeline_state)walk->now.state
                   : TIMELINE_RUNNABLE;
    }
}

static void note_waker(struct walk *walk, const struct trace_switch *change)
{
    if (change->kind == TRACE_SWITCH_WOKEN) {
        walk->was_woken = true;
        walk->woken_ns = change->time_ns;
        walk->waker = change->other_tid;
    } else if (change->kind == TRACE_SWITCH_IN) {
        walk->was_woken = false;
    }
}

size_t timeline_profile_walk_states(const struct trace_switch *switches, const uint32_t *order,
                                    size_t count, uint32_t thread,
                                    struct timeline_thread_state *out)
{
    struct walk walk = { .now = { .thread = thread } };
    size_t made = 0;

    for (size_t i = 0; i < count; i++) {
        const struct trace_switch *change = &switches[order[i]];
        enum timeline_state next;
        bool by_waker;

        note_waker(&walk, change);
        next = state_after(&walk, change);
        by_waker = next == TIMELINE_RUNNABLE && change->kind != TRACE_SWITCH_PREEMPTED;
        if (walk.is_guess && walk.now.state == TIMELINE_RUNNABLE &&
            change->kind != TRACE_SWITCH_IN && change->kind != TRACE_SWITCH_WOKEN)
            walk.known = false; /* it ran already */
        if (walk.known && next == walk.now.state) {
            walk.now.disk = walk.now.disk || change->kind == TRACE_SWITCH_DISK;
            continue;
        }
        if (walk.known && change->time_ns > walk.now.start_ns) {
            walk.now.end_ns = change->time_ns;
            walk.now.untold = walk.now.state == TIMELINE_BLOCKED && next == TIMELINE_RUNNING;
            out[made++] = walk.now;
        }
        walk.now = (struct timeline_thread_state){
            .start_ns = change->time_ns,
            .thread = thread,
            .cpu = change->cpu,
            .waker = by_waker ? walk.waker : 0,
            .state = (uint8_t)next,
            .woken = by_waker,
            .disk = next == TIMELINE_BLOCKED && change->kind == TRACE_SWITCH_DISK,
        };
        walk.is_guess = (!walk.known || walk.is_guess) &&
                        (change->kind == TRACE_SWITCH_WOKEN || change->kind == TRACE_SWITCH_DISK);
        walk.known = true;
    }
    return made;
}
