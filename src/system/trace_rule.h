// SPDX-License-Identifier: Apache-2.0
/*
 * Whether this recorder's user may look into a process: the kernel's own rule for ptrace, asked for
 * the *real* user, whatever capabilities this program was given.
 *
 * File capabilities let Inferogram open probes and samples. They must not let its user watch what
 * he could not have debugged without them: other people's processes, set-user-id programs, those
 * that gained capabilities or made themselves undumpable, and what YAMA protects. The answer comes
 * from the kernel itself: a thread gives up every capability and asks.
 *
 * A process is held by a pidfd from the first check to the last, so that its number cannot be
 * reused for another one in between; and it is checked again after attaching, because it may have
 * executed a program with other rights meanwhile.
 */
#ifndef IFG_SYSTEM_TRACE_RULE_H
#define IFG_SYSTEM_TRACE_RULE_H

#include <stdbool.h>
#include <sys/types.h>

#include "base/status.h"

/* Real root may look at everything; without raised rights the kernel refuses by itself. */
bool trace_rule_applies(void);

/* IFG_PERMISSION with the reason and the way out; IFG_NOT_FOUND if it has ended. */
enum ifg_status trace_rule_check(pid_t pid, struct ifg_error *err) IFG_MUST_CHECK;

/* Whether a process belongs to the real user: cheap, and no permission. For what is only shown. */
bool trace_rule_is_own(pid_t pid);

/* A process that was checked, held so that its number stays its own. */
struct traced {
    pid_t pid;
    int fd; /* a pidfd, or -1 where the kernel has none */
};

#define TRACED_INIT                                                                                \
    {                                                                                              \
        0, -1                                                                                      \
    }

/* Holds the process and checks it. */
enum ifg_status trace_rule_open(pid_t pid, struct traced *out,
                                struct ifg_error *err) IFG_MUST_CHECK;

/* After attaching: it is still the same process, and still may be traced. Otherwise detach. */
enum ifg_status trace_rule_confirm(const struct traced *traced,
                                   struct ifg_error *err) IFG_MUST_CHECK;

void trace_rule_close(struct traced *traced);

#endif
