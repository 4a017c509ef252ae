// SPDX-License-Identifier: Apache-2.0
/* Starting the command: see launch.h. */
#include "record/launch.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "wire/wire.h"

static ssize_t read_again(int fd, void *data, size_t size)
{
    ssize_t got;

    do {
        got = read(fd, data, size);
    } while (got < 0 && errno == EINTR);
    return got;
}

/* In the child: wait for the word, then become the command. */
static _Noreturn void child_main(char *const *command, const sigset_t *mask, const char *session,
                                 int go, int error)
{
    char word;
    int failure;

    if (read_again(go, &word, 1) != 1)
        _exit(0); /* the recorder changed its mind, or died */
    sigprocmask(SIG_SETMASK, mask, NULL);
    if (setenv(IFG_ENV_SESSION, session, 1) < 0)
        failure = ENOMEM;
    else {
        execvp(command[0], command);
        failure = errno;
    }
    if (write(error, &failure, sizeof failure) < 0)
        _exit(126);
    _exit(127);
}

enum ifg_status launch_prepare(char *const *command, const sigset_t *mask, const char *session,
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
        child_main(command, mask, session, go[0], error[1]);
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
    if (failure == ENOENT && strchr(command[0], '/'))
        return ifg_fail(err, IFG_NOT_FOUND, "cannot start %s: there is no such file (or its interpreter "
                        "is missing)", command[0]);
    if (failure == ENOENT)
        return ifg_fail(err, IFG_NOT_FOUND, "cannot start %s: there is no such command in PATH",
                        command[0]);
    errno = failure;
    ifg_fail_errno(err, "cannot start %s", command[0]);
    return IFG_PERMISSION;
}

void launch_abandon(struct launch *launch)
{
    close(launch->go_pipe); /* the child reads the end of the pipe and leaves */
    close(launch->error_pipe);
    waitpid(launch->pid, NULL, 0);
}
