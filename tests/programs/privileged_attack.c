// SPDX-License-Identifier: Apache-2.0
/*
 * privileged_attack HELPER VICTIM OWN FILE OFFSET: a client of inferogram-privileged that sends
 * what no recorder would. VICTIM is a process of somebody else, OWN one of this user; a function
 * begins at OFFSET in FILE. Prints a line for each attempt: its name, and the error of the answer,
 * "done", or "ended STATUS" if the helper has ended.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "collect/privileged/protocol.h"

static const char *program;
static int helper = -1;
static pid_t child;

static void start(void)
{
    int ends[2];

    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) < 0)
        exit(2);
    child = fork();
    if (child == 0) {
        setenv("LD_PRELOAD", "/nowhere/evil.so", 1);
        if (ends[1] == PRIVILEGED_SOCKET)
            fcntl(ends[1], F_SETFD, 0);
        else
            dup2(ends[1], PRIVILEGED_SOCKET);
        execl(program, program, "--give-me", "everything", (char *)NULL);
        _exit(127);
    }
    close(ends[1]);
    helper = ends[0];
}

static void stop(void)
{
    if (helper >= 0)
        close(helper);
    helper = -1;
    waitpid(child, NULL, 0);
}

/* Sends `size` bytes and so many descriptors; descriptors of the answer are counted and closed. */
static void attempt_raw(const char *name, const void *bytes, size_t size, const int *fds,
                        size_t fd_count)
{
    struct privileged_answer answer = { 0 };
    char control[CMSG_SPACE(8 * sizeof(int))] = { 0 };
    struct iovec part = { (void *)(uintptr_t)bytes, size };
    struct msghdr message = { .msg_iov = &part, .msg_iovlen = 1 };
    struct cmsghdr *head = (void *)control;
    ssize_t got;
    int status = 0;

    if (helper < 0)
        start();
    if (fd_count) {
        message.msg_control = control;
        message.msg_controllen = CMSG_SPACE(fd_count * sizeof(int));
        *head = (struct cmsghdr){ .cmsg_len = CMSG_LEN(fd_count * sizeof(int)),
                                  .cmsg_level = SOL_SOCKET,
                                  .cmsg_type = SCM_RIGHTS };
        memcpy(CMSG_DATA(head), fds, fd_count * sizeof(int));
    }
    sendmsg(helper, &message, MSG_NOSIGNAL);
    part = (struct iovec){ &answer, sizeof answer };
    message = (struct msghdr){
        .msg_iov = &part, .msg_iovlen = 1, .msg_control = control, .msg_controllen = sizeof control
    };
    got = recvmsg(helper, &message, MSG_CMSG_CLOEXEC);
    head = got > 0 ? CMSG_FIRSTHDR(&message) : NULL;
    for (size_t i = 0; head && i < (head->cmsg_len - CMSG_LEN(0)) / sizeof(int); i++) {
        int fd;

        memcpy(&fd, CMSG_DATA(head) + i * sizeof fd, sizeof fd);
        close(fd);
    }
    if (got == (ssize_t)sizeof answer) {
        printf("%s: %s %s\n", name, answer.error ? strerrorname_np(answer.error) : "done",
               head ? "with descriptors" : "");
        return;
    }
    waitpid(child, &status, 0);
    close(helper);
    helper = -1;
    if (WIFEXITED(status))
        printf("%s: ended %d\n", name, WEXITSTATUS(status));
    else
        printf("%s: killed by %d\n", name, WTERMSIG(status));
}

static void attempt(const char *name, struct privileged_request request, int fd)
{
    if (!request.magic)
        request.magic = PRIVILEGED_MAGIC;
    attempt_raw(name, &request, sizeof request, &fd, fd >= 0);
}

static void malformed(void)
{
    static char large[sizeof(struct privileged_request) + 64];
    struct privileged_request hello = { .magic = PRIVILEGED_MAGIC, .operation = PRIVILEGED_HELLO };
    int two[2] = { 0, 0 };

    attempt_raw("short", &hello, 12, NULL, 0);
    memcpy(large, &hello, sizeof hello);
    attempt_raw("long", large, sizeof large, NULL, 0);
    attempt("magic", (struct privileged_request){ .magic = 1, .operation = 1 }, -1);
    attempt("operation", (struct privileged_request){ .operation = 99 }, -1);
    attempt("unused", (struct privileged_request){ .operation = 1, .unused = 1 }, -1);
    attempt("descriptor too many", hello, 0);
    hello.operation = PRIVILEGED_LINK;
    attempt_raw("two descriptors", &hello, sizeof hello, two, 2);
}

static const struct privileged_request good_event = { .operation = PRIVILEGED_EVENT,
                                                      .hz = 99,
                                                      .stack_bytes = 4096 };

static void events(pid_t victim, pid_t own)
{
    struct privileged_request event = good_event;

    event.pid = -1;
    attempt("event of all processes", event, -1);
    event.pid = 0;
    attempt("event of the helper", event, -1);
    event.pid = victim;
    attempt("event of another user", event, -1);
    event.flags = PRIVILEGED_SIDE;
    attempt("mappings of another user", event, -1);
    event.pid = own;
    event.cpu = -2;
    attempt("event on no CPU", event, -1);
    event.cpu = 0;
    event.flags = PRIVILEGED_SIDE | PRIVILEGED_KERNEL;
    attempt("mappings of the kernel", event, -1);
    event.flags = 1u << 20;
    attempt("an unknown flag", event, -1);
    event.flags = 0;
    event.stack_bytes = 1u << 30;
    attempt("a huge stack", event, -1);
    event.stack_bytes = 4096;
    event.hz = 1u << 30;
    attempt("a huge rate", event, -1);
    event.hz = 99;
    event.flags = PRIVILEGED_CLOCK;
    attempt("event of one's own", event, -1);
    event.flags = PRIVILEGED_CLOCK | PRIVILEGED_KERNEL;
    attempt("event of the kernel", event, -1);
    event.flags = PRIVILEGED_CLOCK;
    event.pid = 0x3ffffff;
    attempt("event of nobody", event, -1);
}

static void probes(pid_t victim, pid_t own, const char *path, uint64_t offset)
{
    struct privileged_request load = { .operation = PRIVILEGED_LOAD, .ring_bytes = 65536 };
    struct privileged_request link = { .operation = PRIVILEGED_LINK,
                                       .pid = own,
                                       .step = 2,
                                       .count = 1,
                                       .offsets = { offset },
                                       .cookies = { 7 } };
    struct privileged_request permit = { .operation = PRIVILEGED_PERMIT, .pid = own };
    int file = open(path, O_RDONLY | O_CLOEXEC);
    int by_path = open(path, O_PATH | O_CLOEXEC);
    int folder = open("/", O_RDONLY | O_CLOEXEC);
    int ends[2];

    if (pipe2(ends, O_CLOEXEC) < 0 || file < 0)
        exit(2);
    attempt("link before load", link, file);
    attempt("permit before load", permit, -1);
    load.ring_bytes = 65537;
    attempt("a crooked ring", load, -1);
    load.ring_bytes = UINT64_C(1) << 40;
    attempt("a huge ring", load, -1);
    load.ring_bytes = 65536;
    attempt("load", load, -1);
    attempt("load again", load, -1);
    attempt("link", link, file);
    attempt("a pipe", link, ends[0]);
    attempt("a folder", link, folder);
    attempt("a path", link, by_path);
    link.offsets[0] = offset + 1;
    attempt("inside an instruction", link, file);
    link.offsets[0] = INT64_MAX;
    attempt("behind the end", link, file);
    link.offsets[0] = offset;
    link.pid = victim;
    attempt("link into another user's", link, file);
    permit.pid = victim;
    attempt("permit another user's", permit, -1);
    permit.pid = 1;
    attempt("permit init", permit, -1);
    permit.pid = 0x3ffffff;
    attempt("permit nobody", permit, -1);
    permit.pid = own;
    attempt("permit", permit, -1);
    link.pid = own;
    link.count = PRIVILEGED_PROBES + 1;
    attempt("too many places", link, file);
    link.count = 1;
    link.cookies[0] = UINT64_MAX;
    attempt("a forged cookie", link, file);
    link.cookies[0] = 7;
    link.step = 3;
    attempt("an unknown step", link, file);
    link.step = 2;
    link.pid = -1;
    attempt("link into all processes", link, file);
}

int main(int argc, char **argv)
{
    struct privileged_request hello = { .operation = PRIVILEGED_HELLO };
    pid_t victim, own;

    if (argc != 6)
        return 2;
    setvbuf(stdout, NULL, _IOLBF, 0);
    program = argv[1];
    victim = (pid_t)strtol(argv[2], NULL, 10);
    own = (pid_t)strtol(argv[3], NULL, 10);
    malformed();
    events(victim, own);
    stop();
    probes(victim, own, argv[4], strtoull(argv[5], NULL, 0));
    attempt("hello", hello, -1);
    stop();
    return 0;
}
