// SPDX-License-Identifier: Apache-2.0
/* Holding a thread with ptrace: see hold.h. */
#include "record/hold.h"

#include <string.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <time.h>

#define WAIT_NS 200000

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
    if (waitid(P_PID, (id_t)tid, info, WEXITED | WNOHANG | __WALL | (is_child ? WNOWAIT : 0)) < 0 ||
        info->si_pid)
        return ENDED;
    return NOTHING_YET;
}

bool hold_thread(struct hold *out_hold, pid_t tid, bool is_child)
{
    const struct timespec pause = { 0, WAIT_NS };
    enum outcome outcome;
    siginfo_t info;

    *out_hold = (struct hold){ 0 };
    if (ptrace(PTRACE_SEIZE, tid, NULL, NULL) < 0)
        return false;
    ptrace(PTRACE_INTERRUPT, tid, NULL, NULL);
    /* Only a stopped one can be let go, so there is no end to this wait but its own. */
    while ((outcome = look(tid, is_child, &info)) == NOTHING_YET)
        nanosleep(&pause, NULL);
    if (outcome == ENDED)
        return false;
    out_hold->tid = tid;
    if (info.si_status >> 8 != PTRACE_EVENT_STOP) /* a signal was on its way */
        out_hold->signal = info.si_status & 0x7f;
    return true;
}

void hold_release(struct hold *hold)
{
    if (hold->tid)
        ptrace(PTRACE_DETACH, hold->tid, NULL, (void *)(long)hold->signal);
    hold->tid = 0;
}
