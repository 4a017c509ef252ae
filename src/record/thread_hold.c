// SPDX-License-Identifier: Apache-2.0
/* Holding a thread with ptrace: see thread_hold.h. */
#include "record/thread_hold.h"

#include <errno.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <time.h>

#define WAIT_LEAST_NS 10000
#define WAIT_MOST_NS  1000000
#define END_TRIES     2000 /* with these pauses: two seconds */

#ifndef PTRACE_EVENT_STOP
#define PTRACE_EVENT_STOP 128
#endif

enum outcome { NOTHING_YET, STOPPED, ENDED };

/* A thread that ends while we hold it is first ours to know of, and its parent's only then. The
 * status of our own child is left for whoever waits for it. */
static enum outcome look(pid_t tid, bool is_child, siginfo_t *info)
{
    memset(info, 0, sizeof *info);
    if (waitid(P_PID, (id_t)tid, info, WSTOPPED | WNOHANG | __WALL) == 0 && info->si_pid)
        return STOPPED;
    memset(info, 0, sizeof *info);
    if (waitid(P_PID, (id_t)tid, info, WEXITED | WNOHANG | __WALL | (is_child ? WNOWAIT : 0)) < 0)
        return ENDED;
    if (info->si_pid && (info->si_code == CLD_STOPPED || info->si_code == CLD_TRAPPED))
        return is_child ? NOTHING_YET : STOPPED; /* it stopped between the two questions */
    return info->si_pid ? ENDED : NOTHING_YET;
}

static void pause_a_little(long *ns)
{
    nanosleep(&(struct timespec){ 0, *ns }, NULL);
    *ns = 2 * *ns < WAIT_MOST_NS ? 2 * *ns : WAIT_MOST_NS;
}

bool thread_hold_thread(struct thread_hold *out_hold, pid_t tid, bool is_child,
                        const atomic_bool *give_up)
{
    long pause_ns = WAIT_LEAST_NS;
    enum outcome outcome;
    siginfo_t info;

    *out_hold = (struct thread_hold){ .is_child = is_child };
    if (ptrace(PTRACE_SEIZE, tid, NULL, NULL) < 0)
        return false;
    ptrace(PTRACE_INTERRUPT, tid, NULL, NULL);
    /* Only a stopped one can be let go, so there is no end to this wait but its own, or ours. */
    while ((outcome = look(tid, is_child, &info)) == NOTHING_YET && !(give_up && *give_up))
        pause_a_little(&pause_ns);
    if (outcome != STOPPED)
        return false;
    out_hold->tid = tid;
    if (info.si_status >> 8 != PTRACE_EVENT_STOP) /* a signal was on its way */
        out_hold->signal = info.si_status & 0x7f;
    return true;
}

/* Killed while it was held: its parent learns of that from us. */
static void see_off(const struct thread_hold *hold)
{
    long pause_ns = WAIT_LEAST_NS;
    siginfo_t info;

    for (int i = 0; i < END_TRIES && look(hold->tid, hold->is_child, &info) == NOTHING_YET; i++)
        pause_a_little(&pause_ns);
}

void thread_hold_release(struct thread_hold *hold)
{
    if (hold->tid && ptrace(PTRACE_DETACH, hold->tid, NULL, (void *)(long)hold->signal) < 0 &&
        errno == ESRCH)
        see_off(hold);
    hold->tid = 0;
}
