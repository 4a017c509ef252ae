// SPDX-License-Identifier: Apache-2.0
/* Starting the command: see launch.h. */
#include "record/launch.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "record/program.h"

static ssize_t read_again(int fd, void *data, size_t size)
{
    ssize_t got;

    do {
        got = read(fd, data, size);
    } while (got < 0 && errno == EINTR);
    return got;
}

void launch_remember(struct launch_surroundings *out_surroundings)
{
    memset(out_surroundings, 0, sizeof *out_surroundings);
    sigprocmask(SIG_BLOCK, NULL, &out_surroundings->mask);
    getrlimit(RLIMIT_NOFILE, &out_surroundings->descriptors);
    out_surroundings->timer_slack_ns = prctl(PR_GET_TIMERSLACK, 0, 0, 0, 0);
    sigaction(SIGCHLD, NULL, &out_surroundings->child_ended);
    sigaction(SIGPIPE, NULL, &out_surroundings->pipe_closed);
    sigaction(SIGXFSZ, NULL, &out_surroundings->file_too_large);
}

static void restore(const struct launch_surroundings *surroundings)
{
    setrlimit(RLIMIT_NOFILE, &surroundings->descriptors);
    if (surroundings->timer_slack_ns > 0)
        prctl(PR_SET_TIMERSLACK, (unsigned long)surroundings->timer_slack_ns, 0, 0, 0);
    sigaction(SIGCHLD, &surroundings->child_ended, NULL);
    sigaction(SIGPIPE, &surroundings->pipe_closed, NULL);
    sigaction(SIGXFSZ, &surroundings->file_too_large, NULL);
    sigprocmask(SIG_SETMASK, &surroundings->mask, NULL);
}

/* In the child: wait for the word, then become the command. */
static _Noreturn void child_main(char *const *command,
                                 const struct launch_surroundings *surroundings,
                                 const struct launch_variable *variables, size_t variable_count,
                                 int go, int error)
{
    char word;
    int failure = 0;

    if (read_again(go, &word, 1) != 1)
        _exit(0); /* the recorder changed its mind, or died */
    restore(surroundings);
    for (size_t i = 0; i < variable_count; i++)
        if (setenv(variables[i].name, variables[i].value, 1) < 0)
            failure = ENOMEM;
    if (!failure) {
        execvp(command[0], command);
        failure = errno;
    }
    if (write(error, &failure, sizeof failure) < 0)
        _exit(126);
    _exit(127);
}

enum ifg_status launch_prepare(char *const *command, const struct launch_surroundings *surroundings,
                               const struct launch_variable *variables, size_t variable_count,
                               struct launch *out_launch, struct ifg_error *err)
{
    int go[2];
    int error[2];
    pid_t pid;

    memset(out_launch, 0, sizeof *out_launch);
    if (pipe2(go, O_CLOEXEC) < 0)
        return ifg_fail_errno(err, "cannot create a pipe");
    if (pipe2(error, O_CLOEXEC) < 0) {
        close(go[0]);
        close(go[1]);
        return ifg_fail_errno(err, "cannot create a pipe");
    }
    pid = fork();
    if (pid == 0) {
        close(go[1]);
        close(error[0]);
        child_main(command, surroundings, variables, variable_count, go[0], error[1]);
    }
    close(go[0]);
    close(error[1]);
    if (pid < 0) {
        close(go[1]);
        close(error[0]);
        return ifg_fail_errno(err, "cannot start a process");
    }
    out_launch->pid = pid;
    out_launch->go_pipe = go[1];
    out_launch->error_pipe = error[0];
    return IFG_OK;
}

static enum ifg_status fail_start(const char *name, int failure, struct ifg_error *err)
{
    if (failure == ENOENT && strchr(name, '/'))
        return ifg_fail(err, IFG_NOT_FOUND,
                        "cannot start %s: there is no such file (or its interpreter is missing)",
                        name);
    if (failure == ENOENT)
        return ifg_fail(err, IFG_NOT_FOUND, "cannot start %s: there is no such command in PATH",
                        name);
    errno = failure;
    ifg_fail_errno(err, "cannot start %s", name);
    return IFG_PERMISSION;
}

enum ifg_status launch_find(char *const *command, char *out_path, size_t size,
                            struct ifg_error *err)
{
    int failure = program_find(command[0], out_path, size);

    return failure ? fail_start(command[0], failure, err) : IFG_OK;
}

enum ifg_status launch_go(struct launch *launch, char *const *command, struct ifg_error *err)
{
    int failure = 0;
    ssize_t got;

    if (write(launch->go_pipe, "g", 1) != 1)
        failure = errno;
    close(launch->go_pipe);
    got = read_again(launch->error_pipe, &failure, sizeof failure);
    close(launch->error_pipe);
    if (got != (ssize_t)sizeof failure && !failure)
        return IFG_OK;
    waitpid(launch->pid, NULL, 0);
    return fail_start(command[0], failure, err);
}

void launch_abandon(struct launch *launch)
{
    close(launch->go_pipe); /* the child reads the end of the pipe and leaves */
    close(launch->error_pipe);
    waitpid(launch->pid, NULL, 0);
}
