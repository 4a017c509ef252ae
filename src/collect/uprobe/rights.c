// SPDX-License-Identifier: Apache-2.0
/*
 * Refusals in words: which capability or setting is missing, and what works instead. And the checks
 * that find out by trying.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "collect/uprobe/uprobe_internal.h"
#include "system/maps.h"
#include "system/process_status.h"

#define INSTEAD                                                                                    \
    "without rights, start the program under `inferogram record -- COMMAND`, or try --hook inject"

/* Numbers of linux/capability.h, which older headers do not have. */
enum capability {
    CAPABILITY_SYS_PTRACE = 19,
    CAPABILITY_SYS_ADMIN = 21,
    CAPABILITY_PERFMON = 38,
    CAPABILITY_BPF = 39,
    CAPABILITY_CHECKPOINT = 40,
};

static bool has(enum capability capability)
{
    struct process_status own;

    return process_status_of(PROCESS_SELF, &own) && own.effective >> capability & 1;
}

static bool first_line(const char *path, char *out_text, size_t size)
{
    FILE *file = fopen(path, "re");
    bool good = file && fgets(out_text, (int)size, file);

    if (file)
        fclose(file);
    if (good)
        out_text[strcspn(out_text, "\n")] = '\0';
    else
        out_text[0] = '\0';
    return good;
}

/* Why a call is refused to somebody who has the capabilities for it. */
static enum ifg_status refused_all_the_same(struct ifg_error *err, const char *what)
{
    char lockdown[128];
    struct process_status own;

    if (process_status_of(PROCESS_SELF, &own) && own.seccomp_mode)
        return ifg_fail(err, IFG_PERMISSION,
                        "%s: a seccomp filter on this process forbids it, as containers have one; "
                        "run Inferogram outside of the container, or with "
                        "--security-opt seccomp=unconfined; " INSTEAD,
                        what);
    if (first_line("/sys/kernel/security/lockdown", lockdown, sizeof lockdown) &&
        !strstr(lockdown, "[none]"))
        return ifg_fail(err, IFG_PERMISSION,
                        "%s: this kernel is locked down (%s), which forbids reading the memory of "
                        "programs; " INSTEAD,
                        what, lockdown);
    return ifg_fail(err, IFG_PERMISSION,
                    "%s: refused in spite of the capabilities of this process: a security module "
                    "or a user namespace stands in the way; " INSTEAD,
                    what);
}

/* What the helper can do for this user: probes in his own processes. */
static enum ifg_status needs(struct ifg_error *err, const char *what, const char *names)
{
    if (geteuid() == 0)
        return ifg_fail(err, IFG_PERMISSION,
                        "%s: this needs %s, which root has not got here; a container is started "
                        "with --cap-add=BPF --cap-add=PERFMON; " INSTEAD,
                        what, names);
    return ifg_fail(err, IFG_PERMISSION,
                    "%s: this needs %s; use sudo, or once `sudo setcap cap_bpf,cap_perfmon+ep` on "
                    "inferogram-privileged for the members of a group ('inferogram doctor attach' "
                    "shows the commands); " INSTEAD,
                    what, names);
}

/* What nobody gets but root. */
static enum ifg_status needs_root(struct ifg_error *err, const char *what, const char *why)
{
    return ifg_fail(err, IFG_PERMISSION, "%s: %s; %s; " INSTEAD, what, why,
                    geteuid() == 0 ? "root has not got the right to that here (a container?)"
                                   : "use sudo");
}

static enum ifg_status no_permission(struct ifg_error *err, enum uprobe_attempt attempt,
                                     const char *what)
{
    bool admin = has(CAPABILITY_SYS_ADMIN);
    bool bpf = admin || has(CAPABILITY_BPF);
    bool perfmon = admin || has(CAPABILITY_PERFMON);

    switch (attempt) {
    case UPROBE_LOAD:
        if (bpf && perfmon)
            return refused_all_the_same(err, what);
        return needs(err, what,
                     bpf       ? "the capability CAP_PERFMON"
                     : perfmon ? "the capability CAP_BPF (kernel.unprivileged_bpf_disabled=0 is "
                                 "not enough for probes)"
                               : "the capabilities CAP_BPF and CAP_PERFMON "
                                 "(kernel.unprivileged_bpf_disabled=0 is not enough for probes)");
    case UPROBE_ATTACH:
        if (admin)
            return refused_all_the_same(err, what);
        if (perfmon) /* Linux 6.18; others are content with CAP_PERFMON */
            return needs(err, what,
                         "the capability CAP_BPF besides CAP_PERFMON, or else CAP_SYS_ADMIN, which "
                         "this kernel wants for probes without BPF");
        return needs(err, what,
                     "the capability CAP_PERFMON (for probes the kernel asks for it whatever "
                     "kernel.perf_event_paranoid says)");
    case UPROBE_MAP_RING:
        return ifg_fail(err, IFG_PERMISSION,
                        "%s: more locked memory than allowed; `sudo sysctl "
                        "kernel.perf_event_mlock_kb=8192`, or a larger `ulimit -l`",
                        what);
    case UPROBE_OPEN_FILE:
        if (!admin && !has(CAPABILITY_CHECKPOINT) && strstr(what, "/map_files/"))
            return needs_root(err, what, "the file is deleted, and only the process still has it");
        break;
    case UPROBE_READ_MEMORY:
        break;
    }
    if (has(CAPABILITY_SYS_PTRACE))
        return refused_all_the_same(err, what);
    return needs_root(err, what, "the process belongs to somebody else, or protects itself");
}

static enum ifg_status cannot_attach(struct ifg_error *err, int error, const char *what)
{
    switch (error) {
    case ESRCH:
        return ifg_fail(err, IFG_NOT_FOUND, "%s: the process has ended", what);
    case EMFILE:
    case ENFILE:
        return ifg_fail(err, IFG_IO,
                        "%s: out of file descriptors (one per probe); raise `ulimit -n`", what);
    case EOPNOTSUPP:
        return ifg_fail(err, IFG_UNSUPPORTED,
                        "%s: this kernel cannot tell probes apart (Linux 5.15 can)", what);
    case EIO:
        return ifg_fail(err, IFG_UNSUPPORTED,
                        "%s: the kernel cannot set probes in files of that file system", what);
    case 524: /* ENOTSUPP, which has no name outside of the kernel */
    case EILSEQ:
    case EINVAL:
        return ifg_fail(err, IFG_UNSUPPORTED,
                        "%s: the kernel finds no instruction there that it could stop at; is this "
                        "the file that the process runs?",
                        what);
    default:
        errno = error;
        return ifg_fail_errno(err, "%s", what);
    }
}

enum ifg_status uprobe_refused(struct ifg_error *err, enum uprobe_attempt attempt, int error,
                               const char *what)
{
    enum ifg_status status;

    if (error == EPERM || error == EACCES)
        status = no_permission(err, attempt, what);
    else if (error == ENOSYS)
        status = ifg_fail(err, IFG_UNSUPPORTED,
                          "%s: this kernel does not have the call, or a seccomp filter hides it; "
                          "Linux 5.15 with CONFIG_UPROBES and CONFIG_BPF_SYSCALL has; " INSTEAD,
                          what);
    else if (attempt == UPROBE_LOAD && (error == EINVAL || error == E2BIG || error == EOPNOTSUPP))
        status = ifg_fail(err, IFG_UNSUPPORTED,
                          "%s: this kernel does not accept it (Linux 5.15 and newer do)", what);
    else if (attempt == UPROBE_ATTACH)
        status = cannot_attach(err, error, what);
    else {
        errno = error;
        status = ifg_fail_errno(err, "%s", what);
    }
    if (err)
        err->saved_errno = error;
    return status;
}

enum ifg_status uprobe_pmu_type(int *out_type, struct ifg_error *err)
{
    static const char path[] = "/sys/bus/event_source/devices/uprobe/type";
    char text[32];
    char *end;
    long type;

    *out_type = -1;
    if (!first_line(path, text, sizeof text)) {
        if (access("/sys/bus/event_source", F_OK) < 0)
            return ifg_fail(err, IFG_UNSUPPORTED,
                            "cannot set probes: /sys is not mounted here, and it tells how");
        return ifg_fail(err, IFG_UNSUPPORTED,
                        "cannot set probes: this kernel has none (CONFIG_UPROBE_EVENTS); " INSTEAD);
    }
    type = strtol(text, &end, 10);
    if (*end || end == text || type < 0 || type > INT32_MAX)
        return ifg_fail(err, IFG_CORRUPT, "cannot set probes: %s has no number", path);
    *out_type = (int)type;
    return IFG_OK;
}

/* A function of ours that can be watched. */
__attribute__((noinline)) static int watched(int value)
{
    __asm__ volatile("" : "+r"(value));
    return value + 1;
}

int uprobe_open_own_code(const void *function, uint64_t *out_offset)
{
    uintptr_t address = (uintptr_t)function;
    struct map_line map;
    struct maps maps;
    char path[96];
    int fd = -1;

    *out_offset = 0;
    if (!maps_open(getpid(), &maps))
        return -1;
    while (fd < 0 && maps_next_file(&maps, &map)) {
        if (address < map.start || address >= map.end)
            continue;
        *out_offset = address - map.start + map.offset;
        snprintf(path, sizeof path, "/proc/self/map_files/%" PRIx64 "-%" PRIx64, map.start,
                 map.end);
        fd = open(path, O_RDONLY | O_CLOEXEC);
        if (fd < 0) /* not allowed to everybody */
            fd = process_open_program(PROCESS_SELF);
    }
    maps_close(&maps);
    return fd;
}

static void count_call(const struct uprobe_event *event, void *user)
{
    size_t *calls = user;

    if (event->kind == UPROBE_CALL && event->arguments[0] == 41 && (int)event->result == 42)
        ++*calls;
}

static void check_way(enum uprobe_way way, struct uprobe_right *out_right)
{
    struct uprobe_options options = { .way = way, .ring_bytes = 1 };
    struct uprobe_spec spec = { .flags = UPROBE_RETURN };
    struct uprobe *engine = NULL;
    struct ifg_error err = { .message = "" };
    enum ifg_status status;
    char file[32];
    size_t calls = 0;
    int fd = uprobe_open_own_code((const void *)(uintptr_t)&watched, &spec.offset);

    snprintf(file, sizeof file, "/proc/self/fd/%d", fd);
    spec.file = file;
    if (fd < 0)
        status = ifg_fail_errno(&err, "cannot open the file of this program");
    else
        status = uprobe_open(&options, &engine, &err);
    if (!status)
        status = uprobe_add(engine, getpid(), &spec, 1, &err);
    if (!status) {
        watched(41);
        uprobe_stop(engine);
        uprobe_read(engine, count_call, &calls);
        if (calls != 1)
            ifg_fail(&err, IFG_INTERNAL, "a probe was set, and its call was not seen");
    }
    uprobe_close(engine);
    if (fd >= 0)
        close(fd);
    out_right->works = calls == 1;
    snprintf(out_right->message, sizeof out_right->message, "%s", calls == 1 ? "" : err.message);
}

/* A child that does not want to be looked at is as closed as a process of somebody else. */
static void check_memory(struct uprobe_right *out_right)
{
    struct ifg_error err = { .message = "" };
    struct maps maps = { .file = NULL };
    char byte = 0;
    int ready[2];
    pid_t child = -1;

    out_right->works = false;
    if (pipe2(ready, O_CLOEXEC) == 0) {
        child = fork();
        if (child == 0) {
            prctl(PR_SET_DUMPABLE, 0);
            if (write(ready[1], &byte, 1) == 1)
                pause();
            _exit(0);
        }
        if (child > 0 && read(ready[0], &byte, 1) == 1)
            out_right->works = maps_open(child, &maps);
        if (!out_right->works)
            uprobe_refused(&err, UPROBE_READ_MEMORY, errno, "cannot look into processes of others");
        close(ready[0]);
        close(ready[1]);
    } else {
        ifg_fail_errno(&err, "pipe2");
    }
    snprintf(out_right->message, sizeof out_right->message, "%s", err.message);
    maps_close(&maps);
    if (child > 0) {
        kill(child, SIGKILL);
        waitpid(child, NULL, 0);
    }
}

void uprobe_check(struct uprobe_rights *out_rights)
{
    *out_rights = (struct uprobe_rights){ 0 };
    check_way(UPROBE_BPF, &out_rights->bpf);
    check_way(UPROBE_PERF, &out_rights->perf);
    check_memory(&out_rights->memory);
}

void uprobe_check_best(struct uprobe_rights *out_rights)
{
    *out_rights = (struct uprobe_rights){ 0 };
    check_way(UPROBE_BPF, &out_rights->bpf);
    if (!out_rights->bpf.works)
        check_way(UPROBE_PERF, &out_rights->perf);
    check_memory(&out_rights->memory);
}
