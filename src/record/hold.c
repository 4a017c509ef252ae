// SPDX-License-Identifier: Apache-2.0
/* Holding a thread with ptrace: see hold.h. */
#include "record/hold.h"

#include <errno.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <time.h>

#define WAIT_NS    200000
#define WAITS_MOST 5000 /* one second: it may be reading from a slow disk */

#ifndef PTRACE_EVENT_STOP
#define PTRACE_EVENT_STOP 128
#endif

bool hold_thread(struct hold *out_hold, pid_t tid)
{
    const struct timespec pause = { 0, WAIT_NS };
    int status = 0;
    pid_t got = 0;

    *out_hold = (struct hold){ 0 };
    if (ptrace(PTRACE_SEIZE, tid, NULL, NULL) < 0)
        return false;
    if (ptrace(PTRACE_INTERRUPT, tid, NULL, NULL) < 0 && errno == ESRCH)
        return false;
    for (int i = 0; i < WAITS_MOST; i++) {
        got = waitpid(tid, &status, __WALL | WNOHANG);
        if (got != 0)
            break;
        nanosleep(&pause, NULL);
    }
    if (got == 0) /* stuck in the kernel: wait for it, since only a stopped one can be let go */
        got = waitpid(tid, &status, __WALL);
    if (got != tid || !WIFSTOPPED(status))
        return false;
    out_hold->tid = tid;
    if (status >> 16 != PTRACE_EVENT_STOP)
        out_hold->signal = WSTOPSIG(status);
    return true;
}

void hold_release(struct hold *hold)
{
    if (hold->tid)
        ptrace(PTRACE_DETACH, hold->tid, NULL, (void *)(long)hold->signal);
    hold->tid = 0;
}
