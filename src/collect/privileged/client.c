// SPDX-License-Identifier: Apache-2.0
/* Starting the helper and talking to it: see privileged.h. */
#include "collect/privileged/privileged.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/perf_event.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/alloc.h"
#include "collect/privileged/protocol.h"
#include "system/credentials.h"
#include "system/process_folder.h"

#define PROGRAM "inferogram-privileged"

_Static_assert(PRIVILEGED_PROBES == PRIVILEGED_PROBES_MAX, "one number for both sides");

struct privileged {
    int socket;
    pid_t child;
    uint32_t can;
};

/* ---- the program ---- */

/* Beside this very program, installed, or in the build tree. Never from the environment. */
static bool find(char out[PATH_MAX], bool *out_exists)
{
    static const char *const folders[] = { ".", IFG_HELPER_FROM_BIN,
                                           "../collect/privileged/helper" };
    char self[PATH_MAX];

    *out_exists = false;
    if (!process_own_program_folder(self))
        return false;
    for (size_t i = 0; i < sizeof folders / sizeof folders[0]; i++) {
        bool whole = folders[i][0] == '/';
        int needed = snprintf(out, PATH_MAX, "%s%s%s/" PROGRAM, whole ? "" : self, whole ? "" : "/",
                              folders[i]);

        if (needed >= PATH_MAX || access(out, F_OK) < 0)
            continue;
        *out_exists = true;
        return access(out, X_OK) == 0;
    }
    return false; /* where it would be installed is in `out` */
}

static void be_helper(const char *path, int socket)
{
    static char name[] = PROGRAM;
    char *const arguments[] = { name, NULL };
    char *const environment[] = { NULL };
    sigset_t none;

    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    if (socket == PRIVILEGED_SOCKET ? fcntl(socket, F_SETFD, 0) == 0
                                    : dup2(socket, PRIVILEGED_SOCKET) == PRIVILEGED_SOCKET)
        execve(path, arguments, environment);
    _exit(127);
}

/* ---- talking ---- */

static bool send_request(int socket, const struct privileged_request *request, int file)
{
    union {
        struct cmsghdr head;
        char bytes[CMSG_SPACE(sizeof(int))];
    } control = { .head = { .cmsg_len = CMSG_LEN(sizeof file),
                            .cmsg_level = SOL_SOCKET,
                            .cmsg_type = SCM_RIGHTS } };
    struct iovec part = { (void *)(uintptr_t)request, sizeof *request };
    struct msghdr message = { .msg_iov = &part, .msg_iovlen = 1 };

    if (file >= 0) {
        memcpy(CMSG_DATA(&control.head), &file, sizeof file);
        message.msg_control = &control;
        message.msg_controllen = sizeof control;
    }
    return sendmsg(socket, &message, MSG_NOSIGNAL) == (ssize_t)sizeof *request;
}

static bool get_answer(int socket, struct privileged_answer *out, int fds[PRIVILEGED_FDS],
                       size_t *out_count)
{
    union {
        struct cmsghdr head;
        char bytes[CMSG_SPACE(PRIVILEGED_FDS * sizeof(int))];
    } control;
    struct iovec part = { out, sizeof *out };
    struct msghdr message = {
        .msg_iov = &part, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof control
    };
    struct cmsghdr *at;
    ssize_t got;

    *out_count = 0;
    do
        got = recvmsg(socket, &message, MSG_CMSG_CLOEXEC);
    while (got < 0 && errno == EINTR);
    at = got < 0 ? NULL : CMSG_FIRSTHDR(&message);
    if (at && at->cmsg_type == SCM_RIGHTS) {
        *out_count = (at->cmsg_len - CMSG_LEN(0)) / sizeof(int);
        memcpy(fds, CMSG_DATA(at), *out_count * sizeof(int));
    }
    out->message[sizeof out->message - 1] = '\0';
    return got == (ssize_t)sizeof *out && out->magic == PRIVILEGED_MAGIC &&
           *out_count == (out->error ? 0 : out->fd_count);
}

/* 0, or an errno; then there are no descriptors. */
static int ask(struct privileged *helper, struct privileged_request *request, int file,
               struct privileged_answer *out, int *fds, size_t wanted)
{
    int got[PRIVILEGED_FDS];
    size_t count = 0;
    int error;

    request->magic = PRIVILEGED_MAGIC;
    memset(out, 0, sizeof *out);
    if (!send_request(helper->socket, request, file) ||
        !get_answer(helper->socket, out, got, &count))
        error = EPIPE;
    else
        error = out->error ? out->error : count == wanted ? 0 : EPROTO;
    for (size_t i = 0; i < count; i++) {
        if (error)
            close(got[i]);
        else
            fds[i] = got[i];
    }
    return error;
}

/* ---- life ---- */

void privileged_end(struct privileged *helper)
{
    if (!helper)
        return;
    shutdown(helper->socket, SHUT_RDWR); /* a fork of ours may have it as well */
    close(helper->socket);
    while (helper->child > 0 && waitpid(helper->child, NULL, 0) < 0 && errno == EINTR)
        ;
    ifg_free(helper);
}

static enum ifg_status start(const char *path, struct privileged **out, struct ifg_error *err)
{
    struct privileged *helper = ifg_alloc(1, sizeof *helper);
    struct privileged_request hello = { .operation = PRIVILEGED_HELLO };
    struct privileged_answer answer;
    int ends[2];

    if (!helper)
        return ifg_fail_no_memory(err, NULL);
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) < 0) {
        ifg_free(helper);
        return ifg_fail_errno(err, "socketpair");
    }
    helper->child = fork();
    if (helper->child == 0)
        be_helper(path, ends[1]);
    close(ends[1]);
    helper->socket = ends[0];
    if (helper->child < 0 || ask(helper, &hello, -1, &answer, NULL, 0)) {
        privileged_end(helper);
        return ifg_fail(err, IFG_IO, "%.300s was started and did not answer", path);
    }
    helper->can = answer.value;
    *out = helper;
    return IFG_OK;
}

enum ifg_status privileged_start(struct privileged **out, struct ifg_error *err)
{
    char path[PATH_MAX];
    bool exists;

    *out = NULL;
    if (getuid() == 0 || credentials_are_raised())
        return ifg_fail(err, IFG_UNSUPPORTED, "this program has rights of its own");
    if (!find(path, &exists))
        return ifg_fail(err, exists ? IFG_PERMISSION : IFG_NOT_FOUND,
                        exists ? "you may not execute " PROGRAM : PROGRAM " is not installed");
    return start(path, out, err);
}

enum privileged_state privileged_look(char out_path[PATH_MAX])
{
    struct privileged *helper = NULL;
    uint32_t can = 0;
    bool exists;

    if (!find(out_path, &exists))
        return exists ? PRIVILEGED_FORBIDDEN : PRIVILEGED_ABSENT;
    if (start(out_path, &helper, NULL) == IFG_OK)
        can = helper->can;
    privileged_end(helper);
    if (can & PRIVILEGED_CAN_PROBE)
        return can & PRIVILEGED_CAN_KERNEL ? PRIVILEGED_READY_KERNEL : PRIVILEGED_READY;
    return can & PRIVILEGED_CAN_SAMPLE ? PRIVILEGED_SAMPLES : PRIVILEGED_POWERLESS;
}

void privileged_setup(char *out, size_t size)
{
    static const char plain[] =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_./+-:@%,";
    char path[PATH_MAX], real[PATH_MAX];
    bool exists;

    out[0] = '\0';
    find(path, &exists);
    /* A path that a shell has to be told about is not worth the trouble. */
    if (!exists || !realpath(path, real) || strspn(real, plain) != strlen(real) ||
        3 * strlen(real) + 200 > size)
        return;
    snprintf(out, size,
             "sudo groupadd -f inferogram && sudo chown root:inferogram %s && sudo chmod 0750 %s "
             "&& sudo setcap cap_bpf,cap_perfmon+ep %s && sudo usermod -aG inferogram $(id -un)",
             real, real, real);
}

/* ---- samples ---- */

int privileged_event(const struct perf_event_attr *attr, pid_t tid, int cpu)
{
    static struct privileged *helper;
    static pid_t owner; /* a forked child must not talk on its parent's socket */
    static bool tried;
    struct privileged_request request = {
        .operation = PRIVILEGED_EVENT,
        .pid = tid,
        .cpu = cpu,
        .hz = (uint32_t)attr->sample_freq,
        .stack_bytes = attr->sample_stack_user,
        .flags = (attr->context_switch ? PRIVILEGED_SIDE : 0) |
                 (attr->build_id ? PRIVILEGED_BUILD_ID : 0) |
                 (attr->enable_on_exec ? PRIVILEGED_ON_EXEC : 0) |
                 (attr->exclude_kernel ? 0 : PRIVILEGED_KERNEL) |
                 (!attr->context_switch && attr->type == PERF_TYPE_SOFTWARE ? PRIVILEGED_CLOCK : 0),
    };
    struct privileged_answer answer;
    int error, fd = -1;

    if (owner != getpid())
        helper = NULL, tried = false;
    owner = getpid();
    if (!tried && privileged_start(&helper, NULL) != IFG_OK)
        helper = NULL;
    tried = true;
    error = helper && helper->can & PRIVILEGED_CAN_SAMPLE
                ? ask(helper, &request, -1, &answer, &fd, 1)
                : EACCES;
    errno = error;
    return error ? -1 : fd;
}

/* ---- probes ---- */

int privileged_load(struct privileged *helper, size_t ring_bytes, size_t wake_bytes,
                    int out_fds[PRIVILEGED_MAPS], uint32_t *out_many)
{
    struct privileged_request request = {
        .operation = PRIVILEGED_LOAD,
        .ring_bytes = ring_bytes,
        .wake_bytes = wake_bytes,
    };
    struct privileged_answer answer;
    int error = ask(helper, &request, -1, &answer, out_fds, PRIVILEGED_MAPS);

    *out_many = answer.value > PRIVILEGED_PROBES || !answer.value ? 1 : answer.value;
    return error;
}

static int told(int error, const struct privileged_answer *answer, struct ifg_error *err)
{
    if (error && answer->message[0])
        ifg_fail(err, error == ESRCH ? IFG_NOT_FOUND : IFG_PERMISSION, "%s", answer->message);
    return error;
}

int privileged_link(struct privileged *helper, pid_t pid, unsigned step, int file,
                    const uint64_t *offsets, const uint64_t *cookies, uint32_t count, int *out_fd,
                    struct ifg_error *err)
{
    struct privileged_request request = {
        .operation = PRIVILEGED_LINK,
        .pid = pid,
        .step = step,
        .count = count,
    };
    struct privileged_answer answer;

    if (count > PRIVILEGED_PROBES)
        return E2BIG;
    memcpy(request.offsets, offsets, count * sizeof *offsets);
    memcpy(request.cookies, cookies, count * sizeof *cookies);
    return told(ask(helper, &request, file, &answer, out_fd, 1), &answer, err);
}

int privileged_permit(struct privileged *helper, pid_t pid, struct ifg_error *err)
{
    struct privileged_request request = { .operation = PRIVILEGED_PERMIT, .pid = pid };
    struct privileged_answer answer;

    return told(ask(helper, &request, -1, &answer, NULL, 0), &answer, err);
}

void privileged_forbid(struct privileged *helper, pid_t pid)
{
    struct privileged_request request = { .operation = PRIVILEGED_FORBID, .pid = pid };
    struct privileged_answer answer;

    ask(helper, &request, -1, &answer, NULL, 0);
}
