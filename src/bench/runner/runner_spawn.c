// SPDX-License-Identifier: Apache-2.0
/* Starting the process that runs models, waiting for it and ending it: see runner_internal.h. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/ticks.h"
#include "bench/runner/runner_internal.h"

#ifndef CLOSE_RANGE_CLOEXEC /* headers older than Linux 5.11 */
#define CLOSE_RANGE_CLOEXEC (1u << 2)
#endif

#define MS               UINT64_C(1000000)
#define FIRST_FREE       10 /* where descriptors are put out of the way */
#define STOP_PATIENCE_NS (2000 * MS)
#define LOOK_EVERY_MS    50 /* for the word to stop and for samples, while nothing else happens */
#define CHATTER_EVERY_NS (20 * MS)
#define CHATTER_PIPE     (1 << 20)
#define NOT_STARTED      127

/* ---- starting ---- */

struct descriptors {
    int ours, theirs; /* socket */
    int memory;
    int chatter[2]; /* pipe */
    int failure[2]; /* pipe: why the program could not be started */
};

static void close_all(struct descriptors *fds)
{
    int *all = (int *)fds;

    for (size_t i = 0; i < sizeof *fds / sizeof *all; i++)
        if (all[i] >= 0)
            close(all[i]);
}

static int make_memory(void)
{
    int fd = memfd_create("inferogram-bench", MFD_CLOEXEC | MFD_ALLOW_SEALING);

    if (fd < 0)
        return -1;
    /* Sealed: a process that shortens it would end us as well. */
    if (ftruncate(fd, sizeof(struct shared_area)) < 0 ||
        fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) < 0) {
        close(fd);
        return -1;
    }
    return fd;
}

static bool make_descriptors(struct descriptors *fds)
{
    int on = 1;
    int pair[2];

    *fds = (struct descriptors){ -1, -1, -1, { -1, -1 }, { -1, -1 } };
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) < 0)
        return false;
    fds->ours = pair[0];
    fds->theirs = pair[1];
    fds->memory = make_memory();
    /* The system tells who is at the other end: with a recorder between, it is no child of ours. */
    if (fds->memory < 0 || setsockopt(fds->ours, SOL_SOCKET, SO_PASSCRED, &on, sizeof on) < 0 ||
        fcntl(fds->ours, F_SETFL, O_NONBLOCK) < 0 || pipe2(fds->chatter, O_CLOEXEC) < 0 ||
        pipe2(fds->failure, O_CLOEXEC) < 0)
        return false;
    fcntl(fds->chatter[0], F_SETFL, O_NONBLOCK);
    fcntl(fds->chatter[0], F_SETPIPE_SZ, CHATTER_PIPE); /* as far as the system allows */
    return true;
}

/* 0 is empty, 1 and 2 are the pipe, 3 and 4 the socket and the memory; the rest stays behind. */
static bool arrange_descriptors(const struct descriptors *fds)
{
    int null_fd = open("/dev/null", O_RDONLY);
    int chatter = fcntl(fds->chatter[1], F_DUPFD_CLOEXEC, FIRST_FREE);
    int theirs = fcntl(fds->theirs, F_DUPFD_CLOEXEC, FIRST_FREE);
    int memory = fcntl(fds->memory, F_DUPFD_CLOEXEC, FIRST_FREE);

    null_fd = null_fd < 0 ? -1 : fcntl(null_fd, F_DUPFD_CLOEXEC, FIRST_FREE);
    if (null_fd < 0 || chatter < 0 || theirs < 0 || memory < 0)
        return false;
    if (dup2(null_fd, STDIN_FILENO) < 0 || dup2(chatter, STDOUT_FILENO) < 0 ||
        dup2(chatter, STDERR_FILENO) < 0 || dup2(theirs, PROTOCOL_SOCKET) < 0 ||
        dup2(memory, PROTOCOL_MEMORY) < 0)
        return false;
    /* Ours are so anyway. */
    syscall(SYS_close_range, PROTOCOL_MEMORY + 1, ~0u, CLOSE_RANGE_CLOEXEC);
    return true;
}

static _Noreturn void be_child(char *const *words, const struct descriptors *fds, pid_t parent)
{
    sigset_t none;
    int failure_fd;
    int failure;

    setpgid(0, 0); /* what the keyboard sends is for the tool */
    prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
    if (getppid() != parent)
        _exit(NOT_STARTED);
    for (int number = 1; number < 32; number++)
        signal(number, SIG_DFL);
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    failure_fd = fcntl(fds->failure[1], F_DUPFD_CLOEXEC, FIRST_FREE);
    if (arrange_descriptors(fds))
        execvp(words[0], words);
    failure = errno;
    if (failure_fd < 0 || write(failure_fd, &failure, sizeof failure) < 0)
        _exit(NOT_STARTED);
    _exit(NOT_STARTED);
}

/* The prefix, then the program; free with ifg_free. */
static char **join_words(const struct runner_options *options)
{
    size_t count = 0;
    char **words;

    while (options->prefix && options->prefix[count])
        count++;
    words = ifg_alloc(count + 2, sizeof *words);
    if (!words)
        return NULL;
    for (size_t i = 0; i < count; i++)
        words[i] = options->prefix[i];
    words[count] = (char *)(uintptr_t)options->program;
    return words;
}

static int open_exit_fd(pid_t pid)
{
    return (int)syscall(SYS_pidfd_open, pid, 0); /* close-on-exec by itself */
}

static enum ifg_status fork_program(struct runner *runner, char *const *words,
                                    struct descriptors *fds, struct ifg_error *err)
{
    pid_t parent = getpid();
    int failure = 0;
    ssize_t got;

    runner->child = fork();
    if (runner->child < 0) {
        runner->child = 0;
        return ifg_fail_errno(err, "no process can be started for the models");
    }
    if (runner->child == 0)
        be_child(words, fds, parent);
    setpgid(runner->child, runner->child);
    close(fds->failure[1]);
    fds->failure[1] = -1;
    do {
        got = read(fds->failure[0], &failure, sizeof failure);
    } while (got < 0 && errno == EINTR);
    if (got != (ssize_t)sizeof failure)
        return IFG_OK;
    while (waitpid(runner->child, NULL, 0) < 0 && errno == EINTR)
        continue;
    runner->child = 0;
    runner->ended = true;
    errno = failure;
    return ifg_fail_errno(err, "%s cannot be started", words[0]);
}

enum ifg_status runner_spawn(struct runner *runner, const struct runner_options *options,
                             struct ifg_error *err)
{
    char **words = join_words(options);
    struct descriptors fds;
    enum ifg_status status;
    void *area;

    runner->exit_fd = -1;
    runner->channel.fd = -1;
    runner->chatter_fd = -1;
    runner->ended = true;
    if (!words)
        return ifg_fail_no_memory(err, NULL);
    if (!make_descriptors(&fds)) {
        status = ifg_fail_errno(err, "no socket and memory can be made for the models");
        goto out;
    }
    area =
        mmap(NULL, sizeof(struct shared_area), PROT_READ | PROT_WRITE, MAP_SHARED, fds.memory, 0);
    if (area == MAP_FAILED) {
        status = ifg_fail_errno(err, "no memory can be shared with the process for the models");
        goto out;
    }
    runner->shared = area;
    runner->prefixed = options->prefix && options->prefix[0];
    runner->ended = false;
    status = fork_program(runner, words, &fds, err);
    if (status)
        goto out;
    runner->exit_fd = open_exit_fd(runner->child);
    runner->channel = (struct channel){ .fd = fds.ours, .wait = runner_wait, .user = runner };
    runner->chatter_fd = fds.chatter[0];
    fds.ours = fds.chatter[0] = -1;
out:
    close_all(&fds);
    ifg_free(words);
    return status;
}

void runner_meet(struct runner *runner, pid_t pid)
{
    if (!runner->prefixed)
        pid = runner->child;
    runner->pid = pid;
    if (pid <= 0 || pid == runner->child)
        return;
    if (runner->exit_fd >= 0)
        close(runner->exit_fd);
    runner->exit_fd = open_exit_fd(pid);
}

/* ---- what it says ---- */

static void keep_chatter(struct runner *runner, const char *text, size_t size)
{
    size_t room = sizeof runner->chatter;
    size_t kept = runner->chatter_used;

    if (runner->verbose && write(STDERR_FILENO, text, size) < 0)
        runner->verbose = false;
    if (size >= room) {
        text += size - room;
        size = room;
    }
    if (kept + size > room) {
        size_t away = kept + size - room;

        memmove(runner->chatter, runner->chatter + away, kept - away);
        kept -= away;
    }
    memcpy(runner->chatter + kept, text, size);
    runner->chatter_used = kept + size;
}

static void read_chatter(struct runner *runner)
{
    char buffer[16384];

    /* Bounded: one that prints without end must not keep us here. */
    for (int i = 0; i < 64 && runner->chatter_fd >= 0; i++) {
        ssize_t got = read(runner->chatter_fd, buffer, sizeof buffer);

        if (got > 0) {
            keep_chatter(runner, buffer, (size_t)got);
        } else if (got == 0 || (errno != EAGAIN && errno != EINTR)) {
            close(runner->chatter_fd);
            runner->chatter_fd = -1;
        } else {
            break;
        }
    }
}

void runner_last_words(struct runner *runner, char *out, size_t size)
{
    const char *start, *end;
    size_t used = 0;

    read_chatter(runner);
    end = runner->chatter + runner->chatter_used;
    while (end > runner->chatter && (unsigned char)end[-1] <= ' ')
        end--;
    start = end;
    while (start > runner->chatter && start[-1] != '\n')
        start--;
    while (start < end && (unsigned char)*start <= ' ')
        start++;
    for (; start < end && used + 1 < size; start++)
        out[used++] = (unsigned char)*start < ' ' || *start == 0x7f ? ' ' : *start;
    out[used] = '\0';
}

/* ---- waiting ---- */

static bool has_ended(const struct runner *runner)
{
    struct pollfd ending = { .fd = runner->exit_fd, .events = POLLIN };
    siginfo_t info = { 0 };

    if (runner->ended)
        return true;
    if (runner->exit_fd >= 0)
        return poll(&ending, 1, 0) > 0;
    return waitid(P_PID, (id_t)runner->child, &info, WEXITED | WNOHANG | WNOWAIT) == 0 &&
           info.si_pid == runner->child;
}

static enum ifg_status give_up(struct runner *runner, enum ifg_status status, const char *reason,
                               struct ifg_error *err)
{
    runner_kill(runner);
    return ifg_fail(err, status, "%s", reason);
}

static enum ifg_status check_patience(struct runner *runner, uint64_t now_ns, struct ifg_error *err)
{
    if (runner->stop && *runner->stop && !runner->stop_seen_ns) {
        runner->stop_seen_ns = now_ns;
        atomic_store(&runner->shared->stop, 1u);
    }
    if (runner->stop_seen_ns && now_ns - runner->stop_seen_ns > STOP_PATIENCE_NS)
        return give_up(runner, IFG_CANCELLED, "it did not end within 2 s of being stopped", err);
    if (runner->patience_ns && now_ns - runner->progress_ns > runner->patience_ns)
        return give_up(runner, IFG_BUSY, "it hangs", err);
    return IFG_OK;
}

/* How long to sleep when so many samples were there: as long as it goes without workers having to
 * wait for room, since whoever wakes up may take a CPU from them. */
static int choose_pause(struct runner *runner, size_t taken)
{
    if (runner->pause_ms == 0)
        runner->pause_ms = LOOK_EVERY_MS;
    if (taken > SHARED_SAMPLES / 2)
        runner->pause_ms = runner->pause_ms / 4 + 1;
    else if (taken < SHARED_SAMPLES / 8 && runner->pause_ms < LOOK_EVERY_MS)
        runner->pause_ms++;
    return runner->pause_ms;
}

enum ifg_status runner_wait(void *user, short events, struct ifg_error *err)
{
    struct runner *runner = user;

    for (;;) {
        uint64_t now_ns = ifg_monotonic_ns();
        struct pollfd polled[3] = { { runner->channel.fd, events, 0 },
                                    { runner->exit_fd, POLLIN, 0 },
                                    { -1, POLLIN, 0 } };
        enum ifg_status status = check_patience(runner, now_ns, err);
        size_t taken = runner_drain(runner, false);

        if (status)
            return status;
        if (taken)
            runner->progress_ns = now_ns;
        if (now_ns >= runner->chatter_next_ns)
            polled[2].fd = runner->chatter_fd;
        if (poll(polled, 3, choose_pause(runner, taken)) < 0)
            continue; /* a signal: see whether it was the word to stop */
        if (polled[2].revents) {
            read_chatter(runner);
            runner->chatter_next_ns = now_ns + CHATTER_EVERY_NS;
        }
        if (polled[0].revents)
            return IFG_OK;
        if (polled[1].revents || (runner->exit_fd < 0 && has_ended(runner))) {
            /* What it sent before is still to be read. */
            if (poll(polled, 1, 0) > 0 && !(events & POLLOUT))
                return IFG_OK;
            return ifg_fail(err, IFG_IO, "the process has ended");
        }
    }
}

/* ---- the end ---- */

void runner_kill(struct runner *runner)
{
    if (runner->ended || runner->child <= 0)
        return;
    runner->killed = true;
    if (!runner->prefixed || runner->exit_fd < 0 || runner->pid == 0)
        kill(-runner->child, SIGKILL); /* also what it started */
    else                               /* what stands before it notices, and ends well */
        syscall(SYS_pidfd_send_signal, runner->exit_fd, SIGKILL, NULL, 0);
}

static void note_end(struct runner *runner, int status)
{
    int number = 0;

    if (WIFSIGNALED(status))
        number = WTERMSIG(status);
    else if (runner->prefixed && WEXITSTATUS(status) > 128)
        number = WEXITSTATUS(status) - 128; /* as `record` passes it on */
    if (number)
        snprintf(runner->how, sizeof runner->how, "was killed by signal %d (%s)%s", number,
                 strsignal(number), number == SIGKILL ? ", perhaps for want of memory," : "");
    else if (WEXITSTATUS(status))
        snprintf(runner->how, sizeof runner->how, "ended with status %d", WEXITSTATUS(status));
}

/* False: not within that time. */
static bool wait_for_child(struct runner *runner, uint64_t patience_ns)
{
    uint64_t end_ns = ifg_monotonic_ns() + patience_ns;

    for (;;) {
        const struct timespec pause = { .tv_nsec = (long)MS };
        siginfo_t info = { 0 };

        read_chatter(runner);
        if (waitid(P_PID, (id_t)runner->child, &info, WEXITED | WNOHANG | WNOWAIT) < 0 &&
            errno != EINTR)
            return true;
        if (info.si_pid == runner->child)
            return true;
        if (ifg_monotonic_ns() >= end_ns)
            return false;
        nanosleep(&pause, NULL);
    }
}

void runner_reap(struct runner *runner, uint64_t patience_ns)
{
    int status = 0;

    if (runner->ended || runner->child <= 0)
        return;
    if (!wait_for_child(runner, patience_ns))
        runner->killed = true;
    kill(-runner->child, SIGKILL); /* what it started and left behind, or itself */
    while (waitpid(runner->child, &status, 0) < 0)
        if (errno != EINTR)
            break;
    runner->ended = true;
    read_chatter(runner);
    if (!runner->killed)
        note_end(runner, status);
}

void runner_release(struct runner *runner)
{
    if (runner->channel.fd >= 0)
        close(runner->channel.fd);
    if (runner->chatter_fd >= 0)
        close(runner->chatter_fd);
    if (runner->exit_fd >= 0)
        close(runner->exit_fd);
    if (runner->shared)
        munmap(runner->shared, sizeof *runner->shared);
    ifg_bytes_fini(&runner->question);
    ifg_bytes_fini(&runner->answer.body);
    ifg_free(runner->taken);
}
