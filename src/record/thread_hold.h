// SPDX-License-Identifier: Apache-2.0
/*
 * Holding one thread for the moment that it takes to set probes: the one that has just mapped a
 * runtime, and would use it before they stand. Nobody but us notices, neither its parent nor a
 * debugger; if we die meanwhile, the kernel lets it go on. All of it belongs to the calling thread:
 * who holds also releases.
 */
#ifndef IFG_RECORD_THREAD_HOLD_H
#define IFG_RECORD_THREAD_HOLD_H

#include <stdatomic.h>
#include <stdbool.h>
#include <sys/types.h>

struct thread_hold {
    pid_t tid;     /* 0: nobody is held */
    int signal;    /* that was on its way to the thread */
    bool is_child; /* the first thread of a process that we started and wait for */
};

/* False if it cannot be held (it is being debugged, is gone, or we may not): then it just goes on.
 * is_child: see above. Ends early if *give_up (which may be NULL) becomes true; the thread is then
 * let go by the end of the calling one. */
bool thread_hold_thread(struct thread_hold *out_hold, pid_t tid, bool is_child,
                        const atomic_bool *give_up);
void thread_hold_release(struct thread_hold *hold);

#endif
