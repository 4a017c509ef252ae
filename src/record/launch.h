// SPDX-License-Identifier: Apache-2.0
/*
 * Starting a command so that it is recorded from its first instruction, without changing anything that it
 * could notice: same terminal, same process group, same signals, one more environment variable.
 */
#ifndef IFG_RECORD_LAUNCH_H
#define IFG_RECORD_LAUNCH_H

#include <signal.h>
#include <sys/types.h>

#include "base/status.h"

struct launch {
    pid_t pid;
    int go_pipe;    /* writing a byte lets the child go on to exec */
    int error_pipe; /* the child's errno, if exec fails */
};

/* Forks a child that waits. `mask` is the signal mask that the command shall have. */
enum ifg_status launch_prepare(char *const *command, const sigset_t *mask, const char *session,
                               struct launch *out_launch, struct ifg_error *err) IFG_MUST_CHECK;

/* Lets it go. IFG_NOT_FOUND or IFG_PERMISSION: the command cannot be started; the child is gone. */
enum ifg_status launch_go(struct launch *launch, char *const *command,
                          struct ifg_error *err) IFG_MUST_CHECK;

/* Sends the waiting child away without starting anything. */
void launch_abandon(struct launch *launch);

#endif
