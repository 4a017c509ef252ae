// SPDX-License-Identifier: Apache-2.0
/* Whether a running program can take the hooks, giving them to it, and taking them back. */
#include "record/inject.h"

#include <dlfcn.h>
#include <elf.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "record/process.h"
#include "record/ptrace_elf.h"
#include "runtimes/runtimes.h"
#include "system/credentials.h"
#include "system/maps.h"
#include "system/open_as.h"
#include "system/process_folder.h"
#include "system/process_status.h"

#define OURS          "libinferogram"
#define CLIENT        OURS ".so.0"
#define HANDLES       "libinferogram-handles.so.0"
#define DEVICE        "libinferogram-cupti.so"
#define DRIVER        "libcuda.so.1"
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

static enum ifg_status check_state(const struct inject_options *options, struct ifg_error *err)
{
    int pid = (int)options->pid;
    struct process_status state;

    if (!process_status_of(options->pid, &state) || state.state == 'Z')
        return ifg_fail(err, IFG_NOT_FOUND, "process %d has ended", pid);
    if (state.tracer)
        return ifg_fail(err, IFG_BUSY,
                        "process %d is being traced by process %d (a debugger, strace?); nothing "
                        "can be loaded into it until that lets go",
                        pid, state.tracer);
    if (state.state == 'T')
        return ifg_fail(err, IFG_BUSY, "process %d is stopped; let it go on first: kill -CONT %d",
                        pid, pid);
    if (state.seccomp_mode == 2 && !options->force)
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
    ssize_t got;
    int fd = process_open_program(pid);

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
static enum ifg_status find_library(const struct inject_options *options, const char *library,
                                    char path[PATH_MAX], struct ifg_error *err)
{
    const char *const needed[] = { CLIENT, library };
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
        if (!is_same_file(path, theirs) && process_has_ended(options->pid))
            return ifg_fail(err, IFG_NOT_FOUND, "process %d has ended", (int)options->pid);
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
    const struct runtime *runtime; /* that can be patched; NULL: none was found */
    struct ptrace_library hooks;   /* those for it, if they are there already */
};

static const char *file_name(const char *path)
{
    const char *slash = strrchr(path, '/');

    return slash ? slash + 1 : path;
}

static bool see_runtime(const struct ptrace_library *library, const char *path, void *user)
{
    struct survey *survey = user;

    if (strncmp(file_name(path), OURS, sizeof OURS - 1) == 0)
        return true;
    for (size_t i = 0; runtimes[i] && !survey->runtime; i++)
        if (runtimes[i]->inject && ptrace_symbol(survey->remote, library, runtimes[i]->door))
            survey->runtime = runtimes[i];
    return !survey->runtime;
}

struct named_library {
    const char *name;
    struct ptrace_library found;
};

static bool see_named(const struct ptrace_library *library, const char *path, void *user)
{
    struct named_library *named = user;

    if (strcmp(file_name(path), named->name) == 0)
        named->found = *library;
    return !named->found.dynamic;
}

static struct ptrace_library find_loaded(const struct ptrace *remote,
                                         const struct ptrace_world *world, const char *name)
{
    struct named_library named = { .name = name };

    ptrace_each_library(remote, world, see_named, &named);
    return named.found;
}

/* One that is being killed has no mappings left, and is no zombie yet. */
static bool is_ending(pid_t pid)
{
    struct process_stat now;

    return process_has_ended(pid) || (process_stat_of(pid, &now) && now.is_exiting);
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
    if (!world->libc.base && is_ending(remote->pid))
        return ifg_fail(err, IFG_NOT_FOUND, "process %d has ended", (int)remote->pid);
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

static enum ifg_status check_runtimes(const struct ptrace *remote, const struct ptrace_world *world,
                                      struct survey *survey, struct ifg_error *err)
{
    *survey = (struct survey){ .remote = remote };
    ptrace_each_library(remote, world, see_runtime, survey);
    if (survey->runtime) {
        survey->hooks = find_loaded(remote, world, survey->runtime->inject->library);
        return IFG_OK;
    }
    if (is_ending(remote->pid)) /* it has no libraries either then */
        return ifg_fail(err, IFG_NOT_FOUND, "process %d has ended", (int)remote->pid);
    return ifg_fail(err, IFG_NOT_FOUND,
                    "process %d has no %s whose functions can be reached. If it is inside of the "
                    "program or of a Python package, " INSTEAD,
                    (int)remote->pid, runtimes_watched(RUNTIME_INJECTED).text);
}

/* ---- giving it the hooks ---- */

static enum ifg_status load(struct ptrace *remote, const struct ptrace_world *world,
                            const char *path, struct ptrace_library *out, struct ifg_error *err)
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
    *out = find_loaded(remote, world, file_name(path));
    if (out->dynamic)
        return IFG_OK;
    return ifg_fail(err, IFG_UNSUPPORTED,
                    "process %d could not load %.256s: perhaps its C library is older than the one "
                    "Inferogram was built for, or the file may not be executed there",
                    (int)remote->pid, path);
}

static enum ifg_status patch(struct ptrace *remote, const struct survey *survey,
                             struct injection *out, struct ifg_error *err)
{
    const struct runtime_inject *inject = survey->runtime->inject;
    uint64_t function = ptrace_symbol(remote, &survey->hooks, inject->patch);
    struct patch_result result;
    enum ifg_status status;

    out->unpatch = ptrace_symbol(remote, &survey->hooks, inject->unpatch);
    out->result = ptrace_symbol(remote, &survey->hooks, inject->result);
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
    out->runtime = survey->runtime;
    out->watched = result.watched;
    if (result.watched > 0)
        return IFG_OK;
    return ifg_fail(err, IFG_UNSUPPORTED, "%s in process %d is left alone: %s",
                    survey->runtime->name, (int)remote->pid,
                    *result.reason ? result.reason : "none was found");
}

/* ---- GPUs ---- */

struct device_hook {
    bool is_wanted;
    struct ptrace_library library; /* if it is there already */
    char path[PATH_MAX];
};

/* In a program that has loaded CUDA's driver. */
static void survey_device(const struct ptrace *remote, const struct ptrace_world *world,
                          const struct inject_options *options, struct device_hook *hook,
                          struct injection *out)
{
    struct ifg_error err = { .message = "" };

    hook->is_wanted = options->device && find_loaded(remote, world, DRIVER).dynamic;
    if (!hook->is_wanted)
        return;
    hook->library = find_loaded(remote, world, DEVICE);
    if (!hook->library.dynamic && find_library(options, DEVICE, hook->path, &err) != IFG_OK) {
        hook->is_wanted = false;
        snprintf(out->device_reason, sizeof out->device_reason, "%.255s", err.message);
    }
}

/* A failure leaves it out; what else is injected goes on. */
static void give_device(struct ptrace *remote, const struct ptrace_world *world,
                        const struct inject_options *options, struct device_hook *hook,
                        struct injection *out)
{
    struct ifg_error err = { .message = "" };
    enum ifg_status status = IFG_OK;
    uint64_t function;

    if (!hook->is_wanted)
        return;
    if (!hook->library.dynamic)
        status = load(remote, world, hook->path, &hook->library, &err);
    if (!status) {
        function = ptrace_symbol(remote, &hook->library, "ifg_cupti_begin");
        status = function ? ptrace_call(remote, function, options->device, 0, &err)
                          : ifg_fail(&err, IFG_UNSUPPORTED,
                                     "process %d carries the hooks of another version of "
                                     "Inferogram",
                                     (int)remote->pid);
    }
    out->has_device = !status;
    if (status)
        snprintf(out->device_reason, sizeof out->device_reason, "%.255s", err.message);
}

enum ifg_status inject_begin(const struct inject_options *options, struct injection *out_injection,
                             struct ifg_error *err)
{
    struct ptrace remote = PTRACE_NONE;
    struct process_info info;
    struct ptrace_world world;
    struct survey survey;
    struct device_hook device = { .is_wanted = false };
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
    if (!status) {
        survey_device(&remote, &world, options, &device, out_injection);
        status = check_runtimes(&remote, &world, &survey, err);
        if (status && device.is_wanted)
            status = IFG_OK; /* a program that has nothing else for us */
    }
    if (!status && survey.runtime && !survey.hooks.dynamic)
        status = find_library(options, survey.runtime->inject->library, path, err);
    if (!status)
        status = ptrace_borrow(&remote, restorer, BEGIN_WAIT_MS, err);
    if (!status && survey.runtime && !survey.hooks.dynamic)
        status = load(&remote, &world, path, &survey.hooks, err);
    if (!status && survey.runtime)
        status = patch(&remote, &survey, out_injection, err);
    if (!status && survey.runtime)
        out_injection->start_time = info.start_time;
    if (!status)
        give_device(&remote, &world, options, &device, out_injection);
    if (!status && !survey.runtime && !out_injection->has_device)
        status = ifg_fail(err, IFG_UNSUPPORTED, "%s", out_injection->device_reason);
out:
    ptrace_close(&remote);
    return status;
}

/* ---- profiling handles ---- */

static enum ifg_status ask_handles(struct ptrace *remote, const struct ptrace_library *handles,
                                   const char *text, struct inject_answer *out,
                                   struct ifg_error *err)
{
    uint64_t function = ptrace_symbol(remote, handles, "ifg_handles_command");
    uint64_t answer = ptrace_symbol(remote, handles, "ifg_handles_result");
    enum ifg_status status;

    if (!function || !answer)
        return ifg_fail(err, IFG_UNSUPPORTED,
                        "process %d carries the handles of another version of Inferogram",
                        (int)remote->pid);
    status = ptrace_call(remote, function, text, 0, err);
    if (status)
        return status;
    if (!ptrace_read(remote, answer, out, sizeof *out))
        return ifg_fail(err, IFG_NOT_FOUND, "process %d ended meanwhile", (int)remote->pid);
    out->text[sizeof out->text - 1] = '\0';
    return IFG_OK;
}

/* The hooks, where there is a runtime. A program that carries our library marks models itself. */
static enum ifg_status give_hooks(struct ptrace *remote, const struct ptrace_world *world,
                                  const char *path, struct survey *survey, struct ifg_error *err)
{
    struct injection injection;
    enum ifg_status status = IFG_OK;

    if (!survey->runtime)
        return IFG_OK;
    if (!survey->hooks.dynamic)
        status = load(remote, world, path, &survey->hooks, err);
    return status ? status : patch(remote, survey, &injection, err);
}

enum ifg_status inject_command(const struct inject_options *options, const char *text,
                               struct inject_answer *out_answer, struct ifg_error *err)
{
    struct ptrace remote = PTRACE_NONE;
    struct ptrace_library handles = { 0 };
    struct ptrace_world world;
    struct survey survey;
    char hooks_path[PATH_MAX];
    char path[PATH_MAX];
    uint64_t restorer;
    enum ifg_status status = check_state(options, err);

    if (!status)
        status = check_machine(options->pid, err);
    if (!status)
        status = ptrace_open(options->pid, &remote, err);
    if (!status)
        status = check_world(&remote, &world, &restorer, err);
    if (!status) {
        status = check_runtimes(&remote, &world, &survey, err);
        if (status && find_loaded(&remote, &world, CLIENT).dynamic)
            status = IFG_OK;
    }
    if (!status && survey.runtime && !survey.hooks.dynamic)
        status = find_library(options, survey.runtime->inject->library, hooks_path, err);
    if (!status) {
        handles = find_loaded(&remote, &world, HANDLES);
        if (!handles.dynamic)
            status = find_library(options, HANDLES, path, err);
    }
    if (!status)
        status = ptrace_borrow(&remote, restorer, BEGIN_WAIT_MS, err);
    if (!status)
        status = give_hooks(&remote, &world, hooks_path, &survey, err);
    if (!status && !handles.dynamic)
        status = load(&remote, &world, path, &handles, err);
    if (!status)
        status = ask_handles(&remote, &handles, text, out_answer, err);
    ptrace_close(&remote);
    return status;
}

/* ---- taking it back ---- */

/* Whether the functions that were found are still there: not after an exec. */
static bool is_still_loaded(const struct injection *injection)
{
    const char *library = injection->runtime->inject->library;
    uint64_t address = injection->unpatch;
    struct map_line map;
    bool found = false;
    struct maps maps;

    if (!maps_open(injection->pid, &maps))
        return false;
    while (!found && maps_next_file(&maps, &map))
        found = address >= map.start && address < map.end && map.executable &&
                strcmp(file_name(map.path), library) == 0;
    maps_close(&maps);
    return found;
}

static bool is_same_process(const struct injection *injection)
{
    struct process_info info;

    return process_describe(injection->pid, &info, NULL) == IFG_OK &&
           info.start_time == injection->start_time && !process_has_ended(injection->pid) &&
           is_still_loaded(injection);
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
        status = ifg_fail(err, IFG_INTERNAL, "%s in process %d: %s", injection->runtime->name,
                          (int)injection->pid, result.reason);
    }
out:
    ptrace_close(&remote);
    if (status && !is_same_process(injection))
        status = IFG_OK; /* it ended meanwhile */
    if (!status)
        injection->start_time = 0;
    return status;
}
