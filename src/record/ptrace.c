// SPDX-License-Identifier: Apache-2.0
/* Reaching into another process, and the rights for it: see ptrace.h. The calls are in
 * ptrace_call.c. */
#include "record/ptrace.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/small_file.h"
#include "record/process.h"
#include "system/process_status.h"

#define CAP_SYS_PTRACE_BIT 19

enum ifg_status ptrace_open(pid_t pid, struct ptrace *out_remote, struct ifg_error *err)
{
    char path[64];

    *out_remote = PTRACE_NONE;
    out_remote->pid = pid;
    snprintf(path, sizeof path, "/proc/%d/mem", (int)pid);
    out_remote->memory = open(path, O_RDWR | O_CLOEXEC);
    if (out_remote->memory >= 0)
        return IFG_OK;
    if (errno == ENOENT)
        return ifg_fail(err, IFG_NOT_FOUND, "there is no process %d", (int)pid);
    return ptrace_explain_rights(pid, err);
}

void ptrace_close(struct ptrace *remote)
{
    ptrace_give_back(remote);
    if (remote->memory >= 0)
        close(remote->memory);
    *remote = PTRACE_NONE;
}

bool ptrace_read(const struct ptrace *remote, uint64_t address, void *out, size_t bytes)
{
    size_t done = 0;

    while (done < bytes) {
        ssize_t got = address > INT64_MAX - bytes ? -1
                                                  : pread(remote->memory, (char *)out + done,
                                                          bytes - done, (off_t)(address + done));

        if (got <= 0)
            return false;
        done += (size_t)got;
    }
    return true;
}

void ptrace_read_text(const struct ptrace *remote, uint64_t address, char *out, size_t size)
{
    ssize_t got =
        address && address < INT64_MAX ? pread(remote->memory, out, size - 1, (off_t)address) : 0;

    out[got > 0 ? got : 0] = '\0';
}

/* ---- rights ---- */

static bool may_trace_everything(void)
{
    struct process_status own;

    return process_status_of(PROCESS_SELF, &own) && own.effective >> CAP_SYS_PTRACE_BIT & 1;
}

enum ifg_status ptrace_explain_rights(pid_t pid, struct ifg_error *err)
{
    uint64_t scope = ifg_read_number("/proc/sys/kernel/yama/ptrace_scope");
    bool mighty = may_trace_everything();
    struct process_info info;
    char user[64];

    if (process_describe(pid, &info, err))
        return IFG_NOT_FOUND;
    if (scope == 3)
        return ifg_fail(err, IFG_PERMISSION,
                        "nothing may be loaded into process %d: kernel.yama.ptrace_scope is 3, "
                        "which forbids it to everybody until the next boot; start the program "
                        "under us instead: inferogram record -- CMD",
                        (int)pid);
    if (!mighty && info.uid != getuid())
        return ifg_fail(err, IFG_PERMISSION,
                        "nothing may be loaded into process %d (%s): it belongs to %s; do it as "
                        "that user, or with the right CAP_SYS_PTRACE (sudo)",
                        (int)pid, process_short_name(&info),
                        process_user_name(info.uid, user, sizeof user));
    if (!mighty && scope > 0)
        return ifg_fail(err, IFG_PERMISSION,
                        "nothing may be loaded into process %d (%s): kernel.yama.ptrace_scope is "
                        "%ld; use sudo, or allow it: sudo sysctl kernel.yama.ptrace_scope=0",
                        (int)pid, process_short_name(&info), scope);
    return ifg_fail(err, IFG_PERMISSION,
                    "nothing may be loaded into process %d (%s): the system refuses to trace it%s; "
                    "start the program under us instead: inferogram record -- CMD",
                    (int)pid, process_short_name(&info),
                    mighty ? "" : " (it is protected, and this needs CAP_SYS_PTRACE: sudo)");
}
