// SPDX-License-Identifier: Apache-2.0
/* May this user look into that process: see trace_rule.h. */
#include "system/trace_rule.h"

#include <errno.h>
#include <linux/capability.h>
#include <poll.h>
#include <pthread.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include "base/small_file.h"
#include "system/credentials.h"
#include "system/maps.h"
#include "system/process_folder.h"

struct question {
    pid_t pid;
    int error; /* of the answer; 0 is yes */
};

bool trace_rule_applies(void)
{
    return credentials_are_raised();
}

bool trace_rule_is_own(pid_t pid)
{
    uid_t owner;

    return process_owner(pid, &owner) && owner == getuid();
}

/*
 * Capabilities and users belong to threads in the kernel, and raw system calls change only those of
 * the calling one. Reading the memory at address 0 is refused before the address is looked at.
 */
static void *ask(void *user)
{
    struct question *question = user;
    struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
    struct __user_cap_data_struct none[2] = { { 0 }, { 0 } };
    char byte;
    struct iovec here = { &byte, 1 };
    struct iovec there = { NULL, 1 };

    if (syscall(SYS_setresgid, getgid(), getgid(), getgid()) < 0 ||
        syscall(SYS_setresuid, getuid(), getuid(), getuid()) < 0 ||
        syscall(SYS_capset, &header, none) < 0)
        question->error = errno;
    else if (process_vm_readv(question->pid, &here, 1, &there, 1, 0) < 0 && errno != EFAULT &&
             errno != EIO)
        question->error = errno;
    return NULL;
}

/* The kernel gives no reason: look for the one that a person can do something about. */
static enum ifg_status refuse(pid_t pid, struct ifg_error *err)
{
    uint64_t scope = ifg_read_number("/proc/sys/kernel/yama/ptrace_scope");
    struct credentials target;
    enum ifg_status status = credentials_of(pid, &target, err);
    uid_t owner;

    if (status)
        return status;
    if (target.uid != getuid() || target.effective_uid != getuid())
        return ifg_fail(err, IFG_PERMISSION,
                        "process %d belongs to user %u, and the capabilities of this program are "
                        "for your own processes only; use sudo",
                        (int)pid, (unsigned)target.effective_uid);
    if (target.is_set_id || target.permitted)
        return ifg_fail(err, IFG_PERMISSION,
                        "process %d has more rights than you (a set-user-id program, or one with "
                        "capabilities); use sudo",
                        (int)pid);
    if (maps_owner(pid, &owner) && owner != getuid())
        return ifg_fail(err, IFG_PERMISSION,
                        "process %d protects its memory (it is not dumpable); use sudo", (int)pid);
    if (scope != IFG_NO_NUMBER && scope > 0)
        return ifg_fail(err, IFG_PERMISSION,
                        "kernel.yama.ptrace_scope is %u: you may not look into process %d, which "
                        "you did not start from here; start it under `inferogram record -- "
                        "COMMAND`, use sudo, or `sudo sysctl kernel.yama.ptrace_scope=0`",
                        (unsigned)scope, (int)pid);
    return ifg_fail(err, IFG_PERMISSION,
                    "the kernel does not let you look into process %d: it is in another user "
                    "namespace, or a security module or seccomp filter forbids it; use sudo",
                    (int)pid);
}

enum ifg_status trace_rule_check(pid_t pid, struct ifg_error *err)
{
    struct question question = { .pid = pid };
    pthread_t thread;
    int error;

    if (!trace_rule_applies())
        return IFG_OK;
    error = pthread_create(&thread, NULL, ask, &question);
    if (error) {
        errno = error;
        return ifg_fail_errno(err, "cannot ask the kernel about process %d", (int)pid);
    }
    pthread_join(thread, NULL);
    if (question.error == ESRCH)
        return ifg_fail(err, IFG_NOT_FOUND, "process %d has ended", (int)pid);
    return question.error ? refuse(pid, err) : IFG_OK;
}

enum ifg_status trace_rule_open(pid_t pid, struct traced *out, struct ifg_error *err)
{
    *out = (struct traced){ pid, (int)syscall(SYS_pidfd_open, pid, 0) };
    if (out->fd < 0 && errno == ESRCH)
        return ifg_fail(err, IFG_NOT_FOUND, "process %d has ended", (int)pid);
    return trace_rule_confirm(out, err);
}

enum ifg_status trace_rule_confirm(const struct traced *traced, struct ifg_error *err)
{
    struct pollfd ended = { .fd = traced->fd, .events = POLLIN };
    enum ifg_status status = trace_rule_check(traced->pid, err);

    /* In this order: what was checked is the process that is held, if that is still there now. */
    if (!status && traced->fd >= 0 && poll(&ended, 1, 0) > 0)
        return ifg_fail(err, IFG_NOT_FOUND, "process %d has ended", (int)traced->pid);
    return status;
}

void trace_rule_close(struct traced *traced)
{
    if (traced->fd >= 0)
        close(traced->fd);
    *traced = (struct traced)TRACED_INIT;
}
