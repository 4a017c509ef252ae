// SPDX-License-Identifier: Apache-2.0
/* A process with a job, limits and one pipe: see child.h. */
#include "collect/ort_helper/child.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/ticks.h"

#define INPUT_FD    4
#define FIRST_FREE  10 /* where descriptors are put out of the way */
#define NOT_STARTED 127

/* A sanitizer takes terabytes of address space for itself. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define IS_SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define IS_SANITIZED 1
#endif
#endif
#ifndef IS_SANITIZED
#define IS_SANITIZED 0
#endif

static void limit(int resource, uint64_t value)
{
    struct rlimit both = { value, value };

    setrlimit((__rlimit_resource_t)resource, &both);
}

static void set_limits(const struct child *child)
{
    limit(RLIMIT_CORE, 0);
    limit(RLIMIT_CPU, child->timeout_s + 1);
    limit(RLIMIT_FSIZE, child->file_bytes);
    if (child->memory_bytes && !IS_SANITIZED)
        limit(RLIMIT_AS, child->memory_bytes);
    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
}

static bool become(const struct child *child)
{
    if (geteuid() != 0 || child->uid == 0)
        return true;
    return setgroups(0, NULL) == 0 && setgid(child->gid) == 0 && setuid(child->uid) == 0;
}

/* Nothing of ours is left open but the pipe and the inputs. */
static bool arrange_descriptors(const struct child *child, int pipe_fd)
{
    int null_fd = open("/dev/null", O_RDWR);
    int result = fcntl(pipe_fd, F_DUPFD, FIRST_FREE);
    int inputs[2];

    for (int i = 0; i < 2; i++)
        inputs[i] = child->input_fds[i] < 0 ? -1 : fcntl(child->input_fds[i], F_DUPFD, FIRST_FREE);
    if (null_fd < 0 || result < 0)
        return false;
    null_fd = fcntl(null_fd, F_DUPFD, FIRST_FREE);
    for (int fd = 0; fd < INPUT_FD + 2; fd++)
        dup2(null_fd, fd);
    dup2(result, child->result_fd);
    for (int i = 0; i < 2; i++)
        if (inputs[i] >= 0)
            dup2(inputs[i], INPUT_FD + i);
    return close_range(INPUT_FD + 2, ~0u, 0) == 0;
}

static void be_child(const struct child *child, int pipe_fd)
{
    sigset_t none;
    int status = NOT_STARTED;

    setpgid(0, 0);
    prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    for (int number = 1; number < 32; number++)
        signal(number, SIG_DFL);
    if (!arrange_descriptors(child, pipe_fd) || !become(child))
        _exit(status);
    prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0); /* a change of user forgets it */
    set_limits(child);
    if (child->argv) {
        execve(child->argv[0], (char *const *)(uintptr_t)child->argv,
               (char *const *)(uintptr_t)child->environment);
    } else {
        environ = (char **)(uintptr_t)child->environment;
        status = child->function(child->user);
    }
    _exit(status);
}

/* False: the time is up. */
static bool read_all(int fd, uint64_t end_ns, struct ifg_bytes *out)
{
    for (;;) {
        struct pollfd waiting = { .fd = fd, .events = POLLIN };
        uint64_t now_ns = ifg_monotonic_ns();
        char buffer[16384];
        ssize_t got;

        if (now_ns >= end_ns)
            return false;
        if (poll(&waiting, 1, (int)((end_ns - now_ns) / 1000000) + 1) <= 0)
            continue;
        got = read(fd, buffer, sizeof buffer);
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            return true;
        ifg_bytes_put(out, buffer, (size_t)got); /* beyond the ceiling it is read and forgotten */
    }
}

/* False: it had to be killed. */
static bool wait_for(pid_t pid, uint64_t end_ns, int *out_status)
{
    const struct timespec pause = { .tv_nsec = 2000000 };

    while (ifg_monotonic_ns() < end_ns) {
        pid_t ended = waitpid(pid, out_status, WNOHANG);

        if (ended == pid || (ended < 0 && errno != EINTR))
            return true;
        nanosleep(&pause, NULL);
    }
    return false;
}

static enum ifg_status judge(const struct child *child, int status, bool killed,
                             struct ifg_error *err)
{
    if (killed)
        return ifg_fail(err, IFG_UNSUPPORTED, "%s did not come to an end within %u s", child->what,
                        child->timeout_s);
    if (WIFSIGNALED(status) && WTERMSIG(status) == SIGXCPU)
        return ifg_fail(err, IFG_UNSUPPORTED, "%s used more than %u s of CPU time", child->what,
                        child->timeout_s);
    if (WIFSIGNALED(status))
        return ifg_fail(err, IFG_UNSUPPORTED, "%s crashed: %s", child->what,
                        strsignal(WTERMSIG(status)));
    if (WEXITSTATUS(status) == NOT_STARTED)
        return ifg_fail(err, IFG_UNSUPPORTED, "%s cannot be started", child->what);
    if (WEXITSTATUS(status) > 1)
        return ifg_fail(err, IFG_UNSUPPORTED, "%s ended with status %d", child->what,
                        WEXITSTATUS(status));
    return IFG_OK;
}

enum ifg_status child_collect(const struct child *child, struct ifg_bytes *out,
                              struct ifg_error *err)
{
    uint64_t end_ns = ifg_monotonic_ns() + child->timeout_s * UINT64_C(1000000000);
    int ends[2];
    int status = 0;
    bool killed;
    pid_t pid;

    if (pipe2(ends, O_CLOEXEC) < 0)
        return ifg_fail_errno(err, "no pipe can be made");
    pid = fork();
    if (pid < 0) {
        enum ifg_status failed = ifg_fail_errno(err, "no process can be started");

        close(ends[0]);
        close(ends[1]);
        return failed;
    }
    if (pid == 0)
        be_child(child, ends[1]);
    close(ends[1]);
    setpgid(pid, pid);
    killed = !read_all(ends[0], end_ns, out) || !wait_for(pid, end_ns, &status);
    kill(-pid, SIGKILL); /* also what it started */
    if (killed)
        while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
            continue;
    close(ends[0]);
    return judge(child, status, killed, err);
}
