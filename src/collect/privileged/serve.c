// SPDX-License-Identifier: Apache-2.0
/*
 * Opens events and probes for whoever started this program, in processes that the kernel would let
 * him ptrace, and hands the descriptors over. See protocol.h for what can be asked.
 */
#include "collect/privileged/serve.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/bpf.h>
#include <linux/capability.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "collect/perf/event_attr.h"
#include "collect/privileged/load.h"
#include "collect/privileged/protocol.h"
#include "collect/uprobe/record_internal.h"
#include "system/credentials.h"
#include "system/function_start.h"
#include "system/process_folder.h"
#include "system/rights.h"
#include "system/trace_rule.h"

#define CAPABILITY_PERFMON    38
#define CAPABILITY_BPF        39
#define INITIAL_PID_NAMESPACE 0xeffffffcu /* its inode: part of the kernel's interface */
#define PERMIT_TRIES          8

struct helper {
    bool loaded;
    struct loaded program;
    struct probe_namespace spaces[PROBE_NAMESPACES]; /* 0 is the initial one */
    uint32_t space_count;
    uint32_t links;
    uint32_t can; /* enum privileged_can */
};

struct reply {
    struct privileged_answer answer;
    int fds[PRIVILEGED_FDS];
    bool keeps[PRIVILEGED_FDS]; /* this process needs it as well */
};

static void fail(struct reply *reply, int error, const char *message)
{
    reply->answer.error = error ? error : EIO;
    snprintf(reply->answer.message, sizeof reply->answer.message, "%.480s", message);
}

static void fail_rule(struct reply *reply, const struct ifg_error *err)
{
    fail(reply, err->status == IFG_NOT_FOUND ? ESRCH : EPERM, err->message);
}

static void give(struct reply *reply, int fd, bool keep)
{
    reply->fds[reply->answer.fd_count] = fd;
    reply->keeps[reply->answer.fd_count++] = keep;
}

/* ---- samples ---- */

static void open_event(const struct helper *helper, const struct privileged_request *request,
                       struct reply *reply)
{
    struct ifg_error err = { .message = "" };
    struct perf_event_attr attr;
    bool on_exec = request->flags & PRIVILEGED_ON_EXEC;
    int fd;

    if (request->flags & PRIVILEGED_KERNEL && !(helper->can & PRIVILEGED_CAN_KERNEL)) {
        fail(reply, EACCES, "");
        return;
    }
    if (request->flags & PRIVILEGED_SIDE)
        event_attr_side(&attr, request->stack_bytes, on_exec);
    else
        event_attr_sampling(&attr, request->stack_bytes, on_exec, request->hz,
                            request->flags & PRIVILEGED_KERNEL);
    attr.build_id = attr.build_id && request->flags & PRIVILEGED_BUILD_ID;
    if (request->flags & PRIVILEGED_CLOCK)
        event_attr_use_clock(&attr);
    if (trace_rule_check(request->pid, &err)) {
        fail_rule(reply, &err);
        return;
    }
    rights_raise();
    fd = (int)syscall(SYS_perf_event_open, &attr, request->pid, request->cpu, -1,
                      PERF_FLAG_FD_CLOEXEC);
    rights_lower();
    if (fd < 0) {
        fail(reply, errno, "");
    } else if (trace_rule_check(request->pid, &err)) { /* it may be somebody else's by now */
        close(fd);
        fail_rule(reply, &err);
    } else {
        give(reply, fd, false);
    }
}

/* ---- probes ---- */

static bool pid_namespace(pid_t pid, struct probe_namespace *out)
{
    struct stat information;

    if (!process_entry(pid, "ns/pid", &information))
        return false;
    /* The kernel compares with its own form of a device number. */
    out->device = (uint64_t)major(information.st_dev) << 20 | minor(information.st_dev);
    out->inode = information.st_ino;
    return true;
}

static void load(struct helper *helper, const struct privileged_request *request,
                 struct reply *reply)
{
    struct probe_settings settings = { .wake_bytes = request->wake_bytes, .only_permitted = 1 };
    struct probe_namespace ours = { 0 };
    int error;

    if (helper->loaded) {
        fail(reply, EBUSY, "");
        return;
    }
    if (!pid_namespace(PROCESS_SELF, &ours)) {
        fail(reply, errno, "");
        return;
    }
    if (ours.inode != INITIAL_PID_NAMESPACE) {
        settings.device = ours.device;
        settings.inode = ours.inode;
    }
    helper->loaded = true;
    rights_raise();
    error = load_program(&helper->program, request->ring_bytes, &settings);
    rights_lower();
    if (error) {
        fail(reply, error, "");
        return;
    }
    give(reply, helper->program.events, true);
    give(reply, helper->program.counts, true);
    give(reply, helper->program.stacks, true);
    reply->answer.value = helper->program.many ? PRIVILEGED_PROBES : 1;
}

static bool put(int map, uint32_t key, const void *value, uint64_t flags)
{
    bool done;

    rights_raise();
    done = load_put(map, key, value, flags);
    rights_lower();
    return done;
}

static uint64_t namespace_of(struct helper *helper, pid_t pid)
{
    struct probe_namespace space;
    uint32_t index;

    if (!pid_namespace(pid, &space))
        return NAMESPACE_UNKNOWN;
    if (space.inode == INITIAL_PID_NAMESPACE)
        return NAMESPACE_INITIAL;
    for (index = 1; index < helper->space_count; index++)
        if (helper->spaces[index].inode == space.inode)
            return index;
    if (index == PROBE_NAMESPACES || !put(helper->program.namespaces, index, &space, BPF_ANY))
        return NAMESPACE_UNKNOWN;
    helper->spaces[index] = space;
    helper->space_count++;
    return index;
}

/* Regular, open for reading, and all places where functions begin. */
static bool file_is_sound(const struct privileged_request *request, int file)
{
    int flags = fcntl(file, F_GETFL);

    if (flags < 0 || flags & O_PATH || (flags & O_ACCMODE) == O_WRONLY)
        return false;
    for (uint32_t i = 0; i < request->count; i++)
        if (!function_start_may_be_probed(file, request->offsets[i]))
            return false;
    return true;
}

/* The probes tell nothing before PRIVILEGED_PERMIT. */
static void link_probes(struct helper *helper, const struct privileged_request *request, int file,
                        struct reply *reply)
{
    struct ifg_error err = { .message = "" };
    struct traced traced = TRACED_INIT;
    uint64_t cookies[PRIVILEGED_PROBES];
    uint64_t space;
    char path[32];
    int fd;

    if (!helper->loaded || helper->links == PRIVILEGED_LINKS) {
        fail(reply, helper->loaded ? EMFILE : EINVAL, "");
        return;
    }
    if (!file_is_sound(request, file)) {
        fail(reply, EACCES,
             "the place is not the beginning of a function: in files that are not yours, probes "
             "elsewhere need sudo");
        return;
    }
    if (trace_rule_open(request->pid, &traced, &err)) {
        fail_rule(reply, &err);
        trace_rule_close(&traced);
        return;
    }
    space = namespace_of(helper, request->pid);
    for (uint32_t i = 0; i < request->count; i++)
        cookies[i] = request->cookies[i] | space << 40;
    snprintf(path, sizeof path, "/proc/self/fd/%d", file);
    rights_raise();
    fd = load_link(&helper->program, request->step, request->pid, path, request->offsets, cookies,
                   request->count);
    rights_lower();
    if (fd < 0) {
        fail(reply, errno, "");
    } else if (trace_rule_confirm(&traced, &err)) {
        close(fd);
        fail_rule(reply, &err);
    } else {
        helper->links++;
        give(reply, fd, false);
    }
    trace_rule_close(&traced);
}

/* The same dance as in collect/uprobe/bpf.c: whoever executes a program meanwhile is not there any
 * more when he is to become permitted. */
static void permit(struct helper *helper, pid_t pid, struct reply *reply)
{
    const uint32_t asked = PROBE_ASKED, permitted = PROBE_PERMITTED;
    struct ifg_error err = { .message = "" };
    struct traced traced = TRACED_INIT;
    bool done = false;

    if (!helper->loaded) {
        fail(reply, EINVAL, "");
        return;
    }
    if (trace_rule_open(pid, &traced, &err)) {
        fail_rule(reply, &err);
        trace_rule_close(&traced);
        return;
    }
    for (int i = 0; i < PERMIT_TRIES && !done && !reply->answer.error; i++) {
        if (!put(helper->program.permitted, (uint32_t)pid, &asked, BPF_ANY))
            fail(reply, errno, "");
        else if (trace_rule_confirm(&traced, &err))
            fail_rule(reply, &err);
        else
            done = put(helper->program.permitted, (uint32_t)pid, &permitted, BPF_EXIST);
    }
    if (!done && !reply->answer.error)
        fail(reply, EBUSY, "");
    trace_rule_close(&traced);
}

static void forbid(struct helper *helper, pid_t pid, struct reply *reply)
{
    if (!helper->loaded) {
        fail(reply, EINVAL, "");
        return;
    }
    rights_raise();
    load_delete(helper->program.permitted, (uint32_t)pid);
    rights_lower();
}

/* ---- the conversation ---- */

static void answer(struct helper *helper, const struct privileged_request *request, int file,
                   struct reply *reply)
{
    switch (request->operation) {
    case PRIVILEGED_HELLO:
        reply->answer.value = helper->can;
        break;
    case PRIVILEGED_EVENT:
        open_event(helper, request, reply);
        break;
    case PRIVILEGED_LOAD:
        load(helper, request, reply);
        break;
    case PRIVILEGED_LINK:
        link_probes(helper, request, file, reply);
        break;
    case PRIVILEGED_PERMIT:
        permit(helper, request->pid, reply);
        break;
    default:
        forbid(helper, request->pid, reply);
        break;
    }
}

/* The size of the packet, or -1; every descriptor that came along is in `fds`, or closed. */
static ssize_t receive(int socket, struct privileged_request *out, int *out_file, int *out_files)
{
    union {
        struct cmsghdr head;
        char bytes[CMSG_SPACE(2 * sizeof(int))];
    } control;
    struct iovec part = { out, sizeof *out };
    struct msghdr message = {
        .msg_iov = &part, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof control
    };
    ssize_t got;

    *out_file = -1;
    *out_files = 0;
    do
        got = recvmsg(socket, &message, MSG_CMSG_CLOEXEC);
    while (got < 0 && errno == EINTR);
    for (struct cmsghdr *at = got < 0 ? NULL : CMSG_FIRSTHDR(&message); at;
         at = CMSG_NXTHDR(&message, at)) {
        size_t count = (at->cmsg_len - CMSG_LEN(0)) / sizeof(int);

        for (size_t i = 0; at->cmsg_type == SCM_RIGHTS && i < count; i++) {
            int fd;

            memcpy(&fd, CMSG_DATA(at) + i * sizeof fd, sizeof fd);
            if (++*out_files == 1)
                *out_file = fd;
            else
                close(fd);
        }
    }
    return message.msg_flags & (MSG_TRUNC | MSG_CTRUNC) ? -1 : got;
}

static bool reply_to(int socket, struct reply *reply)
{
    union {
        struct cmsghdr head;
        char bytes[CMSG_SPACE(PRIVILEGED_FDS * sizeof(int))];
    } control;
    struct iovec part = { &reply->answer, sizeof reply->answer };
    struct msghdr message = { .msg_iov = &part, .msg_iovlen = 1 };
    size_t bytes = reply->answer.fd_count * sizeof(int);
    ssize_t sent;

    memset(&control, 0, sizeof control);
    if (bytes) {
        message.msg_control = &control;
        message.msg_controllen = CMSG_SPACE(bytes);
        control.head = (struct cmsghdr){ .cmsg_len = CMSG_LEN(bytes),
                                         .cmsg_level = SOL_SOCKET,
                                         .cmsg_type = SCM_RIGHTS };
        memcpy(CMSG_DATA(&control.head), reply->fds, bytes);
    }
    sent = sendmsg(socket, &message, MSG_NOSIGNAL);
    for (uint32_t i = 0; i < reply->answer.fd_count; i++)
        if (!reply->keeps[i])
            close(reply->fds[i]);
    return sent == (ssize_t)sizeof reply->answer;
}

static uint32_t find_rights(void)
{
    struct credentials own;
    uint32_t can = 0;

    if (credentials_of(getpid(), &own, NULL))
        return 0;
    if (own.permitted >> CAPABILITY_PERFMON & 1) {
        can |= PRIVILEGED_CAN_SAMPLE;
        if (own.permitted >> CAPABILITY_BPF & 1)
            can |= PRIVILEGED_CAN_PROBE;
        if (own.permitted >> CAP_SYSLOG & 1) /* addresses of the kernel are the administrator's */
            can |= PRIVILEGED_CAN_KERNEL;
    }
    return can;
}

int serve(int socket)
{
    static struct helper helper;

    helper = (struct helper){ .space_count = 1, .can = find_rights() };
    for (uint32_t i = 0; i < PRIVILEGED_REQUESTS; i++) {
        struct privileged_request request = { 0 };
        struct reply reply = { .answer = { .magic = PRIVILEGED_MAGIC } };
        int file, files;
        ssize_t size = receive(socket, &request, &file, &files);
        bool sound = size > 0 && privileged_request_check(&request, (size_t)size, files);

        if (sound)
            answer(&helper, &request, file, &reply);
        if (file >= 0)
            close(file);
        if (!sound)
            return size == 0 ? 0 : 1;
        if (!reply_to(socket, &reply))
            return 0;
    }
    return 1;
}
