// SPDX-License-Identifier: Apache-2.0
/*
 * Return probes must not kill a program that runs behind a seccomp filter.
 *
 * From Linux 6.11 on, on x86-64, a watched function returns through a system call of its own. Until
 * 6.14, and the stable kernels that got its repair, a filter that did not know this call (those of
 * containers and of systemd services) killed the program. Version numbers do not tell who got the
 * repair: where it matters, a child of ours is put into the same position first.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/perf_event.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <unistd.h>

#include "collect/uprobe/uprobe_internal.h"
#include "system/process_status.h"
#include "system/rights.h"

#define URETPROBE_CALL  335
#define SURVIVED_STATUS 42

static bool kernel_may_need_repair(void)
{
#if defined(__x86_64__)
    struct utsname name;
    unsigned long major;
    unsigned long minor = 0;
    char *end;

    if (uname(&name) < 0)
        return true;
    major = strtoul(name.release, &end, 10);
    if (*end == '.')
        minor = strtoul(end + 1, NULL, 10);
    return major == 6 && minor >= 11 && minor < 14;
#else
    return false;
#endif
}

static bool is_filtered(pid_t pid)
{
    struct process_status now;

    return !process_status_of(pid, &now) || now.seccomp_mode;
}

__attribute__((noinline)) static int patient(int value)
{
    __asm__ volatile("" : "+r"(value));
    return value + 1;
}

static bool filter_new_calls(void)
{
    struct sock_filter filter[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, URETPROBE_CALL, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog program = { sizeof filter / sizeof filter[0], filter };

    return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
           prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

__attribute__((noreturn)) static void be_patient(int ready, int go)
{
    char byte = 0;

    signal(SIGSEGV, SIG_DFL);
    signal(SIGILL, SIG_DFL);
    prctl(PR_SET_DUMPABLE, 0); /* no core file if it goes wrong */
    if (!filter_new_calls() || write(ready, &byte, 1) != 1 || read(go, &byte, 1) != 1)
        _exit(1);
    _exit(patient(SURVIVED_STATUS - 1));
}

static int probe_return_of(pid_t pid, int file, uint64_t offset, int type)
{
    char path[32];
    struct perf_event_attr attributes = {
        .size = sizeof attributes,
        .type = (uint32_t)type,
        .config = 1, /* the return */
        .uprobe_path = (uintptr_t)path,
        .probe_offset = offset,
        .sample_period = 1,
    };

    int fd;

    snprintf(path, sizeof path, "/proc/self/fd/%d", file);
    rights_raise(); /* for a child of ours */
    fd = (int)syscall(SYS_perf_event_open, &attributes, pid, -1, -1, PERF_FLAG_FD_CLOEXEC);
    rights_lower();
    return fd;
}

enum ifg_status uprobe_sandbox_trial(struct ifg_error *err)
{
    int ready[2] = { -1, -1 };
    int go[2] = { -1, -1 };
    uint64_t offset = 0;
    int file = uprobe_open_own_code((const void *)(uintptr_t)&patient, &offset);
    int event = -1;
    int outcome = 0;
    pid_t child = -1;
    char byte = 0;
    int type;
    enum ifg_status status = uprobe_pmu_type(&type, err);

    if (!status && (file < 0 || pipe2(ready, O_CLOEXEC) < 0 || pipe2(go, O_CLOEXEC) < 0))
        status = ifg_fail_errno(err, "cannot try out a return probe");
    if (!status && (child = fork()) < 0)
        status = ifg_fail_errno(err, "cannot try out a return probe");
    if (child == 0)
        be_patient(ready[1], go[0]);
    if (child > 0) {
        close(ready[1]);
        ready[1] = -1;
        if (read(ready[0], &byte, 1) == 1)
            event = probe_return_of(child, file, offset, type);
        if (event < 0)
            status = uprobe_refused(err, UPROBE_ATTACH, errno, "cannot try out a return probe");
        if (event < 0 || write(go[1], &byte, 1) != 1)
            kill(child, SIGKILL);
        while (waitpid(child, &outcome, 0) < 0 && errno == EINTR)
            ;
        if (!status && !(WIFEXITED(outcome) && WEXITSTATUS(outcome) == SURVIVED_STATUS))
            status = ifg_fail(err, IFG_UNSUPPORTED,
                              "this kernel kills programs behind a seccomp filter (containers, "
                              "services) when a probe watches their returns; Linux 6.14 does not");
    }
    for (int i = 0; i < 2; i++) {
        if (ready[i] >= 0)
            close(ready[i]);
        if (go[i] >= 0)
            close(go[i]);
    }
    if (event >= 0)
        close(event);
    if (file >= 0)
        close(file);
    return status;
}

enum ifg_status uprobe_returns_are_safe(pid_t pid, struct ifg_error *err)
{
    if (!kernel_may_need_repair() || (pid != UPROBE_EVERYONE && !is_filtered(pid)))
        return IFG_OK;
    return uprobe_sandbox_trial(err);
}
