// SPDX-License-Identifier: Apache-2.0
/*
 * Who waited for a CPU: from context switches, per thread and per inference.
 *
 *   running   on a CPU
 *   runnable  could run, but does not: it was preempted, or woken and not yet let in
 *   blocked   waits for something else; without wakeup records also the wait after it
 *
 * The run-queue wait of an inference is the time in which its thread was runnable.
 */
#ifndef IFG_ANALYZE_WAITING_H
#define IFG_ANALYZE_WAITING_H

#include "timeline/samples.h"

struct waiting_thread {
    uint32_t thread; /* index into timeline_profile.threads */
    uint64_t ns[TIMELINE_STATES];
    uint64_t times;   /* how often it had to wait for a CPU */
    uint64_t disk_ns; /* of the blocked time, what nothing interrupts: a disk, a page, a lock */
    /* with wakers: */
    uint64_t wakes;
    uint64_t wake_ns;     /* of the runnable time, what came after wakeups */
    uint64_t waker_times; /* of the wakeups, those by its most frequent waker */
    uint32_t waker;       /* who that is: thread number; 0: interrupts (timers, devices) */
    uint64_t untold;      /* wakeups that the kernel did not tell; not among the others */
};

struct waiting_model {
    uint64_t inferences; /* outermost ones on threads whose switches are known */
    uint64_t total_ns;   /* of these */
    uint64_t ns[TIMELINE_STATES];
    uint64_t longest_wait_ns; /* on the run queue, of one inference */
    size_t longest;           /* slice; SIZE_MAX: none waited */
};

struct waiting {
    struct waiting_thread *threads; /* those with switches, most runnable time first */
    size_t thread_count;
    struct waiting_model *models; /* by index of timeline->models */
    uint64_t ns[TIMELINE_STATES];
    bool has_wakers; /* see timeline/samples.h */
    uint64_t wakes;  /* of all threads */
    uint64_t untold;
};

/* NULL if the trace has no switches. */
enum ifg_status waiting_create(const struct timeline *timeline, struct waiting **out_waiting,
                               struct ifg_error *err) IFG_MUST_CHECK;
void waiting_destroy(struct waiting *waiting);

/* The part of a model's inferences that was spent on the run queue; 0 if nothing is known. */
double waiting_share(const struct waiting_model *model);

#endif
