// SPDX-License-Identifier: Apache-2.0
/*
 * inferogram capture --all: a child for each process that an agent lists, with a connection and a
 * file of its own. The list is asked for once a second.
 */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/array.h"
#include "base/ticks.h"
#include "cli/capture.h"
#include "cli/cli.h"

#define AT_ONCE_MOST 12u /* an agent takes 16, and lists need one */
#define SEEN_MOST    65536u
#define LOOK_MS      1000

/* A process that was listed. It is captured once, as long as it stays in the list. */
struct seen {
    uint32_t pid;
    pid_t child; /* 0: its capture has ended, or waits for a place */
    bool is_begun;
    bool is_listed;
    char name[64];
};

struct captures {
    const struct capture_request *request;
    struct seen *seen;
    size_t count;
    size_t capacity;
    size_t running;
    unsigned good;
    int worst; /* exit status of a capture that failed */
    bool is_over;
    bool told_of_limit;
    uint64_t alone_ns; /* since when the agent does not answer; 0: it does */
    int signals;
    sigset_t before;
    uint64_t end_ns; /* 0: none */
};

static void note_process(const struct remote_process *process, void *user)
{
    struct captures *captures = user;
    const char *name = captures->request->record.name;

    for (size_t i = 0; i < captures->count; i++)
        if (captures->seen[i].pid == process->pid) {
            captures->seen[i].is_listed = true;
            return;
        }
    if (!process_list_is_ready(process) || (name && strcmp(name, process->name) != 0) ||
        !IFG_ARRAY_ROOM(captures->seen, captures->capacity, captures->count + 1, SEEN_MOST))
        return;
    captures->seen[captures->count] = (struct seen){ .pid = process->pid, .is_listed = true };
    snprintf(captures->seen[captures->count].name, sizeof captures->seen->name, "%s",
             process->name);
    captures->count++;
}

/* A name that another machine gave becomes part of a file name here. */
static void name_file(const struct captures *captures, const struct seen *seen, char *out,
                      size_t size)
{
    char name[sizeof seen->name];

    snprintf(name, sizeof name, "%s", *seen->name ? seen->name : "process");
    for (char *at = name; *at; at++)
        if (!(*at >= 'a' && *at <= 'z') && !(*at >= 'A' && *at <= 'Z') &&
            !(*at >= '0' && *at <= '9') && (at == name || !strchr("._+-", *at)))
            *at = '_';
    snprintf(out, size, "%s/%s-%u.ifg", captures->request->directory, name, seen->pid);
}

/* In a process group of its own: Ctrl-C is for us, who pass it on once. */
static void start_child(struct captures *captures, struct seen *seen)
{
    struct capture_request request = *captures->request;
    pid_t parent = getpid();
    uint64_t now_ns = ifg_monotonic_ns();
    char path[4096];

    name_file(captures, seen, path, sizeof path);
    request.record.session.output = path;
    request.record.session.pid = (pid_t)seen->pid;
    request.record.name = NULL;
    if (captures->end_ns)
        request.record.session.duration_s =
            now_ns < captures->end_ns ? (double)(captures->end_ns - now_ns) * 1e-9 : 0.001;
    fflush(NULL);
    seen->is_begun = true;
    seen->child = fork();
    if (seen->child == 0) {
        setpgid(0, 0);
        prctl(PR_SET_PDEATHSIG, SIGINT);
        close(captures->signals);
        _exit(getppid() == parent ? capture_one(&request) : CLI_NO);
    }
    if (seen->child < 0) {
        seen->child = 0;
        cli_say("cannot start a capture of process %u: %s", seen->pid, strerror(errno));
        captures->worst = CLI_NO;
        return;
    }
    captures->running++;
}

static void start_children(struct captures *captures)
{
    for (size_t i = 0; i < captures->count; i++) {
        if (captures->seen[i].is_begun)
            continue;
        if (captures->running < AT_ONCE_MOST) {
            start_child(captures, &captures->seen[i]);
        } else if (!captures->told_of_limit) {
            captures->told_of_limit = true;
            cli_say("%u processes are captured at a time; the others wait for one to end",
                    AT_ONCE_MOST);
        }
    }
}

static void reap(struct captures *captures)
{
    int status;

    for (size_t i = 0; i < captures->count; i++) {
        struct seen *seen = &captures->seen[i];

        if (!seen->child || waitpid(seen->child, &status, WNOHANG) != seen->child)
            continue;
        seen->child = 0;
        captures->running--;
        if (WIFEXITED(status) && WEXITSTATUS(status) == CLI_YES)
            captures->good++;
        else
            captures->worst = WIFEXITED(status) ? WEXITSTATUS(status) : CLI_NO;
    }
}

/* The number of a process that is gone may be another one's soon. */
static void forget_gone(struct captures *captures)
{
    size_t kept = 0;

    for (size_t i = 0; i < captures->count; i++)
        if (captures->seen[i].is_listed || captures->seen[i].child)
            captures->seen[kept++] = captures->seen[i];
    captures->count = kept;
}

static int look(struct captures *captures)
{
    struct remote_listed listed;
    int code;

    for (size_t i = 0; i < captures->count; i++)
        captures->seen[i].is_listed = false;
    code = remote_list(&captures->request->record.remote, note_process, captures, &listed);
    if (code)
        return code;
    forget_gone(captures);
    start_children(captures);
    return CLI_YES;
}

/* While captures try to connect again, so do we. */
static int look_again(struct captures *captures)
{
    int code = look(captures);
    uint64_t now_ns = ifg_monotonic_ns();

    if (!code)
        captures->alone_ns = 0;
    else if (!captures->alone_ns)
        captures->alone_ns = now_ns;
    return code && captures->running &&
                   (double)(now_ns - captures->alone_ns) < captures->request->reconnect_s * 1e9
               ? CLI_YES
               : code;
}

static void take_signals(struct captures *captures)
{
    struct signalfd_siginfo info;

    while (read(captures->signals, &info, sizeof info) == (ssize_t)sizeof info) {
        if (info.ssi_signo == SIGCHLD)
            continue;
        captures->is_over = true;
        for (size_t i = 0; i < captures->count; i++)
            if (captures->seen[i].child)
                kill(captures->seen[i].child, SIGINT);
    }
    reap(captures);
}

static int work(struct captures *captures)
{
    int code = look(captures);

    if (!code && !captures->count && !captures->request->record.quiet)
        cli_say("no process can be recorded now; waiting for one (Ctrl-C stops)");
    while (!code && !captures->is_over) {
        struct pollfd polled = { captures->signals, POLLIN, 0 };
        uint64_t until_ns = ifg_monotonic_ns() + LOOK_MS * 1000000ull;
        uint64_t now_ns;

        if (captures->end_ns && captures->end_ns < until_ns)
            until_ns = captures->end_ns;
        while (!captures->is_over && (now_ns = ifg_monotonic_ns()) < until_ns)
            if (poll(&polled, 1, (int)((until_ns - now_ns) / 1000000u) + 1) > 0)
                take_signals(captures);
        if (captures->end_ns && ifg_monotonic_ns() >= captures->end_ns)
            break;
        if (!captures->is_over)
            code = look_again(captures);
    }
    while (captures->running) {
        struct pollfd polled = { captures->signals, POLLIN, 0 };

        poll(&polled, 1, LOOK_MS);
        take_signals(captures);
    }
    return code;
}

static enum ifg_status begin(struct captures *captures, struct ifg_error *err)
{
    const char *directory = captures->request->directory;
    struct stat info;
    sigset_t set;

    if (mkdir(directory, 0700) < 0 && errno != EEXIST)
        return ifg_fail_errno(err, "cannot create directory %s", directory);
    if (stat(directory, &info) < 0 || !S_ISDIR(info.st_mode))
        return ifg_fail(err, IFG_INVALID, "%s is not a directory", directory);
    sigemptyset(&set);
    sigaddset(&set, SIGINT);
    sigaddset(&set, SIGTERM);
    sigaddset(&set, SIGHUP);
    sigaddset(&set, SIGCHLD);
    sigprocmask(SIG_BLOCK, &set, &captures->before);
    captures->signals = signalfd(-1, &set, SFD_NONBLOCK | SFD_CLOEXEC);
    return captures->signals < 0 ? ifg_fail_errno(err, "cannot receive signals") : IFG_OK;
}

int capture_all(const struct capture_request *request)
{
    struct captures captures = { .request = request, .signals = -1 };
    struct ifg_error err = { .message = "" };
    int code;

    if (request->record.session.duration_s > 0)
        captures.end_ns = ifg_monotonic_ns() + (uint64_t)(request->record.session.duration_s * 1e9);
    if (begin(&captures, &err)) {
        cli_say("%s", err.message);
        return REMOTE_EXIT_CANNOT_WRITE;
    }
    code = work(&captures);
    close(captures.signals);
    sigprocmask(SIG_SETMASK, &captures.before, NULL);
    ifg_free(captures.seen);
    if (!request->record.quiet)
        cli_say("%u trace%s in %s", captures.good, captures.good == 1 ? "" : "s",
                request->directory);
    if (code)
        return code;
    if (captures.worst)
        return captures.worst;
    return captures.good ? CLI_YES : CLI_NO;
}
