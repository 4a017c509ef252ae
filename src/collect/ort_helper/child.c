// SPDX-License-Identifier: Apache-2.0
/* A process with a job, limits and one pipe: see child.h. */
#include "collect/ort_helper/child.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/ticks.h"
#include "system/credentials.h"
#include "system/sandbox.h"

#define PROGRAM_FD  (CHILD_INPUT_FD + CHILD_INPUTS_MAX)
#define FIRST_FREE  16 /* where descriptors are put out of the way */
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
}

/* Nothing of ours is left open but the pipe, the inputs and the program, which may be a script. */
static bool arrange_descriptors(const struct child *child, int pipe_fd)
{
    int null_fd = open("/dev/null", O_RDWR);
    int result = fcntl(pipe_fd, F_DUPFD, FIRST_FREE);
    int program = child->argv ? fcntl(child->program_fd, F_DUPFD, FIRST_FREE) : -1;
    int inputs[CHILD_INPUTS_MAX];

    for (size_t i = 0; i < CHILD_INPUTS_MAX; i++)
        inputs[i] = i >= child->input_count || child->inputs[i] < 0
                        ? -1
                        : fcntl(child->inputs[i], F_DUPFD, FIRST_FREE);
    if (null_fd < 0 || result < 0 || (child->argv && program < 0))
        return false;
    null_fd = fcntl(null_fd, F_DUPFD, FIRST_FREE);
    for (int fd = 0; fd <= PROGRAM_FD; fd++)
        dup2(null_fd, fd);
    dup2(result, child->result_fd);
    for (int i = 0; i < CHILD_INPUTS_MAX; i++)
        if (inputs[i] >= 0)
            dup2(inputs[i], CHILD_INPUT_FD + i);
    if (child->argv)
        dup2(program, PROGRAM_FD);
    return syscall(SYS_close_range, PROGRAM_FD + 1, ~0u, 0) == 0;
}

static bool give_up_rights(const struct child *child)
{
    struct credentials self;

    if (child->who)
        return credentials_become(child->who);
    credentials_own(&self);
    return credentials_become(&self);
}

/* Until then only system calls: other threads may have held any lock. */
static void be_child(const struct child *child, int pipe_fd)
{
    sigset_t none;
    int status = NOT_STARTED;

    setsid();
    prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    for (int number = 1; number < 32; number++)
        signal(number, SIG_DFL);
    if (chdir("/") < 0 || !arrange_descriptors(child, pipe_fd) || !give_up_rights(child))
        _exit(status);
    prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0); /* a change of user forgets it */
    set_limits(child);
    if (child->is_foreign && !sandbox_enter())
        _exit(status);
    if (child->argv) {
        syscall(SYS_execveat, PROGRAM_FD, "", child->argv, child->environment, AT_EMPTY_PATH);
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

/*
 * A program gets namespaces of its own where we may make them: nothing to connect to, and when it
 * ends so does everything that it started. Like fork(), but without what libraries do then, which a
 * child that only executes does not need.
 */
static pid_t start(const struct child *child)
{
    pid_t pid = -1;

    if (child->argv && child->who && geteuid() == 0)
        pid = (pid_t)syscall(SYS_clone, CLONE_NEWPID | CLONE_NEWNET | CLONE_NEWIPC | SIGCHLD, NULL,
                             NULL, NULL, NULL);
    return pid < 0 ? fork() : pid;
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
    pid = start(child);
    if (pid < 0) {
        enum ifg_status failed = ifg_fail_errno(err, "no process can be started");

        close(ends[0]);
        close(ends[1]);
        return failed;
    }
    if (pid == 0)
        be_child(child, ends[1]);
    close(ends[1]);
    killed = !read_all(ends[0], end_ns, out) || !wait_for(pid, end_ns, &status);
    kill(-pid, SIGKILL); /* also what it started */
    if (killed)
        kill(pid, SIGKILL); /* before it had a session */
    if (killed)
        while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
            continue;
    close(ends[0]);
    return judge(child, status, killed, err);
}
