// SPDX-License-Identifier: Apache-2.0
/*
 * Asking the helper where the functions of a library are that its table does not have. Answers are
 * kept by build-id; the first time the library's own code is run, in a process of its own, which
 * has the rights of the program's user and no others (see ort_helper/run_as.h).
 *
 * The program may be hostile, and this one root: it could end, execute another program or exchange
 * files at any moment. So it is held by a pidfd, its user is asked for before and after everything
 * is opened, and what was opened is what is used.
 */
#include "collect/ort_attach/attach_internal.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "system/credentials.h"
#include "system/process_folder.h"
#include "system/trace_rule.h"

#define PATHS_MAX 8
#define TIMEOUT_S 15

struct surroundings {
    char interpreter[PATH_MAX];
    char paths[PATHS_MAX][PATH_MAX];
    const char *list[PATHS_MAX + 1];
    size_t count;
};

static bool is_same_file(const char *one, const char *other)
{
    struct stat first;
    struct stat second;

    return stat(one, &first) == 0 && stat(other, &second) == 0 && first.st_dev == second.st_dev &&
           first.st_ino == second.st_ino;
}

static void add_path(struct surroundings *around, const char *path)
{
    static const char *const folders[] = { "/site-packages/", "/dist-packages/" };
    const char *end = NULL;
    size_t length;

    for (size_t i = 0; i < sizeof folders / sizeof folders[0] && !end; i++) {
        end = strstr(path, folders[i]);
        if (end)
            end += strlen(folders[i]) - 1;
    }
    if (!end || around->count == PATHS_MAX)
        return;
    length = (size_t)(end - path);
    for (size_t i = 0; i < around->count; i++)
        if (strncmp(around->paths[i], path, length) == 0 && !around->paths[i][length])
            return;
    memcpy(around->paths[around->count], path, length);
    around->paths[around->count][length] = '\0';
    around->list[around->count] = around->paths[around->count];
    around->count++;
}

/* The folders that its modules came from. */
static void look_around(pid_t pid, struct surroundings *around)
{
    struct map_line *map = ifg_alloc(1, sizeof *map);
    struct maps maps;

    if (map && maps_open(pid, &maps)) {
        while (maps_next_file(&maps, map))
            add_path(around, map->path);
        maps_close(&maps);
    }
    ifg_free(map);
}

/* Anybody can map a module of Python. Who runs one has these functions, or imports them. */
static bool is_python_program(int fd)
{
    static const char *const names[] = { "Py_BytesMain", "Py_Main", "Py_RunMain" };
    struct elf_symbol symbol;
    struct elf_file *elf;
    bool is_one = false;

    if (elf_file_open_fd(fd, "interpreter", &elf, NULL))
        return false;
    for (size_t i = 0; i < sizeof names / sizeof names[0] && !is_one; i++)
        is_one = elf_file_symbol(elf, names[i], &symbol, NULL) == IFG_OK;
    elf_file_close(elf);
    return is_one;
}

/* What is asked about: everything of the program that will be run or loaded. */
struct subject {
    struct traced traced;
    struct credentials who;
    int library_fd;
    int python_fd;
    struct surroundings *around; /* for Python */
};

static void subject_close(struct subject *subject)
{
    trace_rule_close(&subject->traced);
    if (subject->library_fd >= 0)
        close(subject->library_fd);
    if (subject->python_fd >= 0)
        close(subject->python_fd);
    ifg_free(subject->around);
}

static enum ifg_status open_subject(struct subject *subject, pid_t pid,
                                    const struct ort_library *library, struct ifg_error *err)
{
    enum ifg_status status = trace_rule_open(pid, &subject->traced, err);

    if (!status)
        status = credentials_of(pid, &subject->who, err);
    if (!status)
        status = ort_library_open(pid, library, &subject->library_fd, err);
    return status;
}

static enum ifg_status open_interpreter(struct subject *subject, const struct ort_library *library,
                                        struct ifg_error *err)
{
    pid_t pid = subject->traced.pid;
    const char *name = strrchr(library->path, '/') + 1;
    struct surroundings *around = ifg_alloc(1, sizeof *around);

    if (!around)
        return ifg_fail_no_memory(err, NULL);
    subject->around = around;
    subject->python_fd = process_open_program(pid);
    (void)process_link(pid, "exe", around->interpreter, sizeof around->interpreter);
    if (subject->python_fd < 0 || !process_entry_is(pid, "exe", around->interpreter) ||
        !is_same_file(library->path, library->file))
        return ifg_fail(err, IFG_UNSUPPORTED,
                        "the interpreter of process %d, or %.100s, is not there any more", (int)pid,
                        name);
    if (!is_python_program(subject->python_fd))
        return ifg_fail(err, IFG_UNSUPPORTED,
                        "process %d has %.100s loaded, but %.200s is not a Python interpreter",
                        (int)pid, name, around->interpreter);
    look_around(pid, around);
    return IFG_OK;
}

/* Still the process, and the user, that everything was opened for. */
static enum ifg_status confirm(const struct subject *subject, struct ifg_error *err)
{
    struct credentials now;
    enum ifg_status status = credentials_of(subject->traced.pid, &now, err);

    if (!status)
        status = trace_rule_confirm(&subject->traced, err);
    if (status)
        return status;
    if (credentials_are_guarded(subject->traced.pid, &now))
        return ifg_fail(err, IFG_PERMISSION,
                        "process %d guards itself (it has more rights than its user, or is not "
                        "dumpable), and nothing of it is run to find out where its functions are",
                        (int)subject->traced.pid);
    if (now.uid != subject->who.uid || now.gid != subject->who.gid)
        return ifg_fail(err, IFG_BUSY, "process %d became another user's just now; try again",
                        (int)subject->traced.pid);
    return IFG_OK;
}

static enum ifg_status run_it(struct ort_attach *attach, struct subject *subject,
                              const struct ort_library *library, bool is_python,
                              struct ort_helper_options *options, struct ort_backtrace *out,
                              struct ifg_error *err)
{
    const char *name = strrchr(library->path, '/') + 1;
    enum ifg_status status = IFG_OK;
    char text[256];

    if (!process_shares(subject->traced.pid,
                        "ns/mnt")) /* code of a container is not run out here */
        return ifg_fail(err, IFG_UNSUPPORTED,
                        "%.100s is in another mount namespace (a container), and its code is not "
                        "run out here to find out where its functions are",
                        name);
    if (is_python)
        status = open_interpreter(subject, library, err);
    if (!status)
        status = confirm(subject, err);
    if (status)
        return status;
    if (is_python) {
        options->python = subject->around->interpreter;
        options->python_fd = subject->python_fd;
        options->python_path = subject->around->list;
    }
    if (attach->say) {
        snprintf(text, sizeof text,
                 "finding out where the functions of %.100s are (once for each build) ...", name);
        attach->say(attach->say_user, text);
    }
    options->only_cache = false;
    return ort_helper_backtrace(library->path, options, out, err);
}

enum ifg_status attach_functions_find(struct ort_attach *attach, pid_t pid,
                                      const struct ort_library *library, bool is_python,
                                      struct ort_backtrace *out_functions, struct ifg_error *err)
{
    struct ort_helper_options options = ORT_HELPER_OPTIONS_INIT;
    struct subject subject = { .traced = TRACED_INIT, .library_fd = -1, .python_fd = -1 };
    enum ifg_status status;

    memset(out_functions, 0, sizeof *out_functions);
    status = open_subject(&subject, pid, library, err);
    if (!status) {
        options.who = &subject.who;
        options.library_fd = subject.library_fd;
        options.timeout_s = TIMEOUT_S;
        options.only_cache = true; /* what is known already */
        if (ort_helper_backtrace(library->path, &options, out_functions, NULL) != IFG_OK)
            status = run_it(attach, &subject, library, is_python, &options, out_functions, err);
    }
    subject_close(&subject);
    return status;
}
