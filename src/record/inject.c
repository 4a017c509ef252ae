// SPDX-License-Identifier: Apache-2.0
/* Whether a running program can take the hooks, and giving them to it: see inject.h. */
#include "record/inject.h"

#include <dlfcn.h>
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "record/process.h"
#include "record/ptrace_elf.h"
#include "system/credentials.h"
#include "system/maps.h"
#include "system/open_as.h"

#define LIBRARY       "libinferogram-ort.so"
#define CLIENT        "libinferogram.so.0"
#define DOOR          "OrtGetApiBase"
#define BEGIN_WAIT_MS 2000u
#define END_WAIT_MS   5000u

/* The loader's own flag for calls from outside, which __libc_dlopen_mode wants to have. */
#define RTLD_FROM_OUTSIDE 0x80000000u

#define INSTEAD "start the program under us instead: inferogram record -- CMD"

#if defined(__x86_64__)
#define THIS_MACHINE EM_X86_64
#else
#define THIS_MACHINE EM_AARCH64
#endif

/* The same as in hooks/ort/patch.h. */
struct patch_result {
    uint32_t calls;
    int32_t watched;
    int32_t found;
    char reason[244];
};

/* ---- what /proc tells ---- */

struct state {
    char letter; /* R, S, D, T, t, Z */
    int tracer;
    int seccomp;
    bool shadow_stack;
};

static bool read_state(pid_t pid, struct state *out)
{
    char path[64];
    char line[256];
    FILE *file;

    memset(out, 0, sizeof *out);
    snprintf(path, sizeof path, "/proc/%d/status", (int)pid);
    file = fopen(path, "re");
    while (file && fgets(line, sizeof line, file)) {
        if (strncmp(line, "State:", 6) == 0)
            out->letter = line[6 + strspn(line + 6, " \t")];
        else if (strncmp(line, "TracerPid:", 10) == 0)
            out->tracer = (int)strtol(line + 10, NULL, 10);
        else if (strncmp(line, "Seccomp:", 8) == 0)
            out->seccomp = (int)strtol(line + 8, NULL, 10);
        else if (strncmp(line, "x86_Thread_features:", 20) == 0)
            out->shadow_stack = strstr(line, "shstk") != NULL;
    }
    if (file)
        fclose(file);
    return file != NULL;
}

static enum ifg_status check_state(const struct inject_options *options, struct ifg_error *err)
{
    int pid = (int)options->pid;
    struct state state;

    if (!read_state(options->pid, &state) || state.letter == 'Z')
        return ifg_fail(err, IFG_NOT_FOUND, "process %d has ended", pid);
    if (state.tracer)
        return ifg_fail(err, IFG_BUSY,
                        "process %d is being traced by process %d (a debugger, strace?); nothing "
                        "can be loaded into it until that lets go",
                        pid, state.tracer);
    if (state.letter == 'T')
        return ifg_fail(err, IFG_BUSY, "process %d is stopped; let it go on first: kill -CONT %d",
                        pid, pid);
    if (state.seccomp == 2 && !options->force)
        return ifg_fail(err, IFG_UNSUPPORTED,
                        "process %d has a seccomp filter, which may kill it for the system calls "
                        "that loading a library takes; " INSTEAD,
                        pid);
    if (state.shadow_stack)
        return ifg_fail(err, IFG_UNSUPPORTED,
                        "process %d has a shadow stack, which forbids calls from outside; " INSTEAD,
                        pid);
    return IFG_OK;
}

static enum ifg_status check_machine(pid_t pid, struct ifg_error *err)
{
    Elf64_Ehdr head;
    char path[64];
    ssize_t got;
    int fd;

    snprintf(path, sizeof path, "/proc/%d/exe", (int)pid);
    fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return errno == ENOENT ? ifg_fail(err, IFG_UNSUPPORTED,
                                          "process %d has no program: it is the kernel's own, or "
                                          "about to end",
                                          (int)pid)
                               : ptrace_explain_rights(pid, err);
    got = read(fd, &head, sizeof head);
    close(fd);
    if (got != (ssize_t)sizeof head || memcmp(head.e_ident, ELFMAG, SELFMAG) != 0 ||
        head.e_ident[EI_CLASS] != ELFCLASS64 || head.e_machine != THIS_MACHINE)
        return ifg_fail(err, IFG_UNSUPPORTED,
                        "process %d is a program of another machine or of 32 bits; the hooks are "
                        "built for 64 bits of this one",
                        (int)pid);
    return IFG_OK;
}

static bool is_same_file(const char *ours, const char *theirs)
{
    struct stat here;
    struct stat there;

    return stat(ours, &here) == 0 && stat(theirs, &there) == 0 && here.st_dev == there.st_dev &&
           here.st_ino == there.st_ino;
}

/* What is loaded into a program of another user must not be for a third one to choose. */
static enum ifg_status check_owner(pid_t pid, const char *directory, const char *path,
                                   struct ifg_error *err)
{
    char real[PATH_MAX];
    struct credentials target;
    enum ifg_status status = credentials_of(pid, &target, err);

    if (status || target.uid == getuid())
        return status;
    if (realpath(path, real) &&
        ((open_as_is_owned(directory, target.uid) && open_as_is_owned(real, target.uid)) ||
         (open_as_is_ours(directory) && open_as_is_ours(real))))
        return IFG_OK;
    return ifg_fail(err, IFG_PERMISSION,
                    "others than root and user %u could replace %.256s, so it is not loaded into "
                    "process %d of that user; install Inferogram as root",
                    (unsigned)target.uid, path, (int)pid);
}

/* The path of the library, as long as it means the same file over there. */
static enum ifg_status find_library(const struct inject_options *options, char path[PATH_MAX],
                                    struct ifg_error *err)
{
    static const char *const needed[] = { CLIENT, LIBRARY };
    char directory[PATH_MAX];
    char theirs[PATH_MAX + 64];
    enum ifg_status status;

    if (!realpath(options->hooks_dir, directory) || strchr(directory, '$'))
        return ifg_fail(err, IFG_NOT_FOUND,
                        "the hooks are not in %.256s: install all of Inferogram, or set "
                        "IFG_HOOKS_DIR to where they are",
                        options->hooks_dir);
    for (size_t i = 0; i < sizeof needed / sizeof *needed; i++) {
        if (snprintf(path, PATH_MAX, "%s/%s", directory, needed[i]) >= PATH_MAX ||
            access(path, R_OK) < 0)
            return ifg_fail(err, IFG_NOT_FOUND, "%s is missing in %.256s", needed[i], directory);
        status = check_owner(options->pid, directory, path, err);
        if (status)
            return status;
        snprintf(theirs, sizeof theirs, "/proc/%d/root%s", (int)options->pid, path);
        if (!is_same_file(path, theirs))
            return ifg_fail(err, IFG_UNSUPPORTED,
                            "process %d does not see %.256s: it runs in a container or with "
                            "another root directory; make Inferogram visible there under the same "
                            "path, or " INSTEAD,
                            (int)options->pid, path);
    }
    return IFG_OK;
}

/* ---- what is loaded ---- */

struct survey {
    const struct ptrace *remote;
    struct ptrace_library hooks;
    unsigned runtimes;
};

static bool see_library(const struct ptrace_library *library, const char *path, void *user)
{
    struct survey *survey = user;
    const char *slash = strrchr(path, '/');

    if (strcmp(slash ? slash + 1 : path, LIBRARY) == 0)
        survey->hooks = *library;
    else if (!strstr(path, "libinferogram-preload") && ptrace_symbol(survey->remote, library, DOOR))
        survey->runtimes++;
    return true;
}

static enum ifg_status check_world(const struct ptrace *remote, struct ptrace_world *world,
                                   uint64_t *out_restorer, struct ifg_error *err)
{
    enum ifg_status status = ptrace_world_read(remote, world, err);

    if (status)
        return status;
    if (world->has_musl)
        return ifg_fail(err, IFG_UNSUPPORTED,
                        "process %d uses the musl C library; the hooks need the GNU one",
                        (int)remote->pid);
    if (!world->libc.base || !world->loader.base)
        return ifg_fail(err, IFG_UNSUPPORTED,
                        "process %d is statically linked, or has a C library that is not known: "
                        "nothing can load a library there",
                        (int)remote->pid);
    *out_restorer = ptrace_restorer(remote, world);
    if (!*out_restorer)
        return ifg_fail(err, IFG_UNSUPPORTED,
                        "process %d has a C library that is not as expected; " INSTEAD,
                        (int)remote->pid);
    return IFG_OK;
}

/* Gone, or killed and not buried yet. */
static bool is_dead(pid_t pid)
{
    struct state state;

    return !read_state(pid, &state) || state.letter == 'Z' || state.letter == 'X';
}

static enum ifg_status check_runtimes(const struct ptrace *remote, const struct ptrace_world *world,
                                      struct survey *survey, struct ifg_error *err)
{
    *survey = (struct survey){ .remote = remote };
    ptrace_each_library(remote, world, see_library, survey);
    if (survey->runtimes)
        return IFG_OK;
    if (is_dead(remote->pid)) /* it has no libraries either then */
        return ifg_fail(err, IFG_NOT_FOUND, "process %d has ended", (int)remote->pid);
    return ifg_fail(
        err, IFG_NOT_FOUND,
        "process %d has no ONNX Runtime whose functions can be reached (a library with " DOOR
        "). If it has one inside of its program or of a Python package, " INSTEAD,
        (int)remote->pid);
}

/* ---- giving it the hooks ---- */

static enum ifg_status load(struct ptrace *remote, const struct ptrace_world *world,
                            const char *path, struct survey *survey, struct ifg_error *err)
{
    uint64_t function = ptrace_symbol(remote, &world->libc, "dlopen");
    uint64_t flags = RTLD_NOW;
    enum ifg_status status;

    if (!function)
        function = ptrace_symbol(remote, &world->libdl, "dlopen");
    if (!function) {
        function = ptrace_symbol(remote, &world->libc, "__libc_dlopen_mode");
        flags |= RTLD_FROM_OUTSIDE;
    }
    if (!function)
        return ifg_fail(err, IFG_UNSUPPORTED,
                        "the C library of process %d has no function to load libraries; " INSTEAD,
                        (int)remote->pid);
    status = ptrace_call(remote, function, path, flags, err);
    if (status)
        return status;
    ptrace_each_library(remote, world, see_library, survey);
    if (survey->hooks.dynamic)
        return IFG_OK;
    return ifg_fail(err, IFG_UNSUPPORTED,
                    "process %d could not load %.256s: perhaps its C library is older than the one "
                    "Inferogram was built for, or the file may not be executed there",
                    (int)remote->pid, path);
}

static enum ifg_status patch(struct ptrace *remote, const struct survey *survey,
                             struct injection *out, struct ifg_error *err)
{
    uint64_t function = ptrace_symbol(remote, &survey->hooks, "ifg_ort_patch");
    struct patch_result result;
    enum ifg_status status;

    out->unpatch = ptrace_symbol(remote, &survey->hooks, "ifg_ort_unpatch");
    out->result = ptrace_symbol(remote, &survey->hooks, "ifg_ort_patch_result");
    if (!function || !out->unpatch || !out->result)
        return ifg_fail(err, IFG_UNSUPPORTED,
                        "process %d carries the hooks of another version of Inferogram",
                        (int)remote->pid);
    status = ptrace_call(remote, function, NULL, 0, err);
    if (status)
        return status;
    if (!ptrace_read(remote, out->result, &result, sizeof result))
        return ifg_fail(err, IFG_NOT_FOUND, "process %d ended meanwhile", (int)remote->pid);
    result.reason[sizeof result.reason - 1] = '\0';
    out->watched = result.watched;
    if (result.watched > 0)
        return IFG_OK;
    return ifg_fail(err, IFG_UNSUPPORTED, "ONNX Runtime in process %d is left alone: %s",
                    (int)remote->pid, *result.reason ? result.reason : "none was found");
}

enum ifg_status inject_begin(const struct inject_options *options, struct injection *out_injection,
                             struct ifg_error *err)
{
    struct ptrace remote = PTRACE_NONE;
    struct process_info info;
    struct ptrace_world world;
    struct survey survey;
    char path[PATH_MAX];
    uint64_t restorer;
    enum ifg_status status;

    *out_injection = (struct injection){ .pid = options->pid,
                                         .observer = options->observer,
                                         .user = options->user };
    status = process_describe(options->pid, &info, err);
    if (!status)
        status = check_state(options, err);
    if (!status)
        status = check_machine(options->pid, err);
    if (!status)
        status = ptrace_open(options->pid, &remote, err);
    if (status)
        goto out;
    remote.observer = options->observer;
    remote.user = options->user;
    status = check_world(&remote, &world, &restorer, err);
    if (!status)
        status = check_runtimes(&remote, &world, &survey, err);
    if (!status && !survey.hooks.dynamic)
        status = find_library(options, path, err);
    if (!status)
        status = ptrace_borrow(&remote, restorer, BEGIN_WAIT_MS, err);
    if (!status && !survey.hooks.dynamic)
        status = load(&remote, &world, path, &survey, err);
    if (!status)
        status = patch(&remote, &survey, out_injection, err);
    if (!status)
        out_injection->start_time = info.start_time;
out:
    ptrace_close(&remote);
    return status;
}

/* ---- taking it back ---- */

/* Whether the functions that were found are still there: not after an exec. */
static bool is_still_loaded(pid_t pid, uint64_t address)
{
    struct map_line map;
    bool found = false;
    struct maps maps;

    if (!maps_open(pid, &maps))
        return false;
    while (!found && maps_next_file(&maps, &map))
        found = address >= map.start && address < map.end && map.executable &&
                strstr(map.path, "/" LIBRARY);
    maps_close(&maps);
    return found;
}

static bool is_same_process(const struct injection *injection)
{
    struct process_info info;
    struct state state;

    return process_describe(injection->pid, &info, NULL) == IFG_OK &&
           info.start_time == injection->start_time && read_state(injection->pid, &state) &&
           state.letter != 'Z' && is_still_loaded(injection->pid, injection->unpatch);
}

enum ifg_status inject_end(struct injection *injection, struct ifg_error *err)
{
    struct ptrace remote = PTRACE_NONE;
    struct ptrace_world world;
    struct patch_result result;
    uint64_t restorer;
    enum ifg_status status;

    if (!injection->start_time || !is_same_process(injection)) {
        injection->start_time = 0;
        return IFG_OK;
    }
    status = ptrace_open(injection->pid, &remote, err);
    if (status)
        goto out;
    remote.observer = injection->observer;
    remote.user = injection->user;
    status = check_world(&remote, &world, &restorer, err);
    if (!status)
        status = ptrace_borrow(&remote, restorer, END_WAIT_MS, err);
    if (!status)
        status = ptrace_call(&remote, injection->unpatch, NULL, 0, err);
    if (!status && ptrace_read(&remote, injection->result, &result, sizeof result) &&
        result.reason[0]) {
        result.reason[sizeof result.reason - 1] = '\0';
        status = ifg_fail(err, IFG_INTERNAL, "ONNX Runtime in process %d: %s", (int)injection->pid,
                          result.reason);
    }
out:
    ptrace_close(&remote);
    if (status && !is_same_process(injection))
        status = IFG_OK; /* it ended meanwhile */
    if (!status)
        injection->start_time = 0;
    return status;
}
