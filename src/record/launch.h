// SPDX-License-Identifier: Apache-2.0
/*
 * Starting a command so that it is recorded from its first instruction, without changing anything
 * that it could notice: same terminal, same process group, same signals, a few more environment
 * variables.
 */
#ifndef IFG_RECORD_LAUNCH_H
#define IFG_RECORD_LAUNCH_H

#include <signal.h>
#include <sys/resource.h>
#include <sys/types.h>

#include "base/status.h"

/* What the recorder changes for itself and the command shall find as it was. */
struct launch_surroundings {
    sigset_t mask;
    struct rlimit descriptors;
    int timer_slack_ns;
    struct sigaction child_ended;
    struct sigaction pipe_closed;
    struct sigaction file_too_large;
};

/* Call before changing any of it. */
void launch_remember(struct launch_surroundings *out_surroundings);

/* One more variable for the command. */
struct launch_variable {
    const char *name;
    char *value;
};

struct launch {
    pid_t pid;
    int go_pipe;    /* writing a byte lets the child go on to exec */
    int error_pipe; /* the child's errno, if exec fails */
};

/* Whether there is such a command, asked before a file is replaced for it: IFG_NOT_FOUND or
 * IFG_PERMISSION. What only exec can find out is left to exec. out_path is empty if only exec
 * knows where it is. */
enum ifg_status launch_find(char *const *command, char *out_path, size_t size,
                            struct ifg_error *err) IFG_MUST_CHECK;

/* Forks a child that waits, to run the command in these surroundings. */
enum ifg_status launch_prepare(char *const *command, const struct launch_surroundings *surroundings,
                               const struct launch_variable *variables, size_t variable_count,
                               struct launch *out_launch, struct ifg_error *err) IFG_MUST_CHECK;

/* Lets it go. IFG_NOT_FOUND or IFG_PERMISSION: the command cannot be started; the child is gone. */
enum ifg_status launch_go(struct launch *launch, char *const *command,
                          struct ifg_error *err) IFG_MUST_CHECK;

/* Sends the waiting child away without starting anything. */
void launch_abandon(struct launch *launch);

#endif
