// SPDX-License-Identifier: Apache-2.0
/* Starting the helper and keeping what it found out: see ort_helper.h. */
#include "collect/ort_helper/ort_helper.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "collect/ort_helper/answer.h"
#include "collect/ort_helper/cache.h"
#include "collect/ort_helper/child.h"
#include "collect/ort_helper/run_as.h"
#include "symbol/code.h"
#include "symbol/elf_file.h"
#include "system/function_start.h"
#include "system/open_as.h"
#include "system/process_folder.h"

#define PROGRAM     "inferogram-ort-helper"
#define ANSWER_MAX  (64u << 20)
#define ARGUMENTS   320
#define TIMEOUT_S   20
#define SLACK_S     5 /* for what the helper does itself */
#define NUMBER_SIZE 16

struct command {
    const char *argv[ARGUMENTS];
    size_t count;
    char numbers[8][NUMBER_SIZE];
    size_t number_count;
};

static void add(struct command *command, const char *word)
{
    if (command->count + 1 < ARGUMENTS)
        command->argv[command->count++] = word;
}

static void add_number(struct command *command, const char *option, long number)
{
    char *text = command->numbers[command->number_count++];

    snprintf(text, NUMBER_SIZE, "%ld", number);
    add(command, option);
    add(command, text);
}

static void add_list(struct command *command, const char *option, const char *const *list)
{
    for (size_t i = 0; list && list[i]; i++) {
        add(command, option);
        add(command, list[i]);
    }
}

/* What is started and loaded, opened once: what was checked is what is used. */
struct opened {
    int library;
    int python; /* -1: none, and the two below as well */
    int script;
    int operators;
    int program;
};

static void close_opened(struct opened *opened)
{
    const int all[] = { opened->library, opened->python, opened->script, opened->operators,
                        opened->program };

    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++)
        if (all[i] >= 0)
            close(all[i]);
}

static int open_file(const char *path)
{
    struct stat found;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);

    if (fd >= 0 && (fstat(fd, &found) < 0 || !S_ISREG(found.st_mode))) {
        close(fd);
        fd = -1;
    }
    return fd;
}

static enum ifg_status open_library(const char *library, int given, int *out_fd,
                                    struct ifg_error *err)
{
    struct stat found;

    *out_fd = given > 0 ? fcntl(given, F_DUPFD_CLOEXEC, 3)
                        : open(library, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
    if (*out_fd < 0)
        return ifg_fail_errno(err, "%.300s", library);
    if (fstat(*out_fd, &found) < 0 || !S_ISREG(found.st_mode))
        return ifg_fail(err, IFG_INVALID, "%.300s is no file", library);
    return IFG_OK;
}

/* Beside the installed command, or in the build tree. */
static enum ifg_status find_folder(char out[PATH_MAX], struct ifg_error *err)
{
    static const char *const folders[] = { IFG_HELPER_FROM_BIN, "../collect/ort_helper" };
    char self[PATH_MAX], folder[PATH_MAX], named[PATH_MAX + 32];
    bool known = process_own_program_folder(self);

    for (size_t i = 0; known && i < sizeof folders / sizeof folders[0]; i++) {
        bool whole = folders[i][0] == '/';
        int needed =
            snprintf(folder, sizeof folder, "%s/%s", whole ? "" : self, folders[i] + whole);

        if (needed >= PATH_MAX || !realpath(folder, out))
            continue;
        snprintf(named, sizeof named, "%s/" PROGRAM, out);
        if (access(named, X_OK) == 0 && open_as_is_ours(named))
            return IFG_OK;
    }
    return ifg_fail(err, IFG_NOT_FOUND,
                    PROGRAM " is not installed; install all of Inferogram, or set IFG_ORT_HELPER "
                            "to where it is");
}

/* The helper and what belongs to it. The environment has no say when we act for somebody else. */
static enum ifg_status open_helper(const struct ort_helper_options *options, bool for_another,
                                   struct opened *opened, struct ifg_error *err)
{
    const char *named = options->helper;
    char folder[PATH_MAX], path[PATH_MAX + 64];
    enum ifg_status status = IFG_OK;
    char *slash;

    if (!named && !for_another)
        named = secure_getenv("IFG_ORT_HELPER");
    if (named && *named) {
        snprintf(folder, sizeof folder, "%s", named);
        slash = strrchr(folder, '/');
        folder[slash ? slash - folder : 0] = '\0';
        snprintf(path, sizeof path, "%s", named);
    } else {
        status = find_folder(folder, err);
        snprintf(path, sizeof path, "%s/" PROGRAM, folder);
    }
    if (status)
        return status;
    opened->program = open_file(path);
    if (opened->program < 0 || access(path, X_OK) < 0)
        return ifg_fail(err, IFG_NOT_FOUND, "%.300s cannot be started", path);
    if (!options->python)
        return IFG_OK;
    snprintf(path, sizeof path, "%s/helper.py", folder);
    opened->script = open_file(path);
    snprintf(path, sizeof path, "%s/libinferogram-backtrace.so", folder);
    opened->operators = open_file(path);
    if (opened->script < 0 || opened->operators < 0)
        return ifg_fail(err, IFG_NOT_FOUND,
                        "helper.py and libinferogram-backtrace.so are not beside " PROGRAM
                        "; install all of Inferogram");
    return IFG_OK;
}

static void fill_command(struct command *command, const char *mode, const char *library,
                         const char *model, const struct ort_helper_options *options,
                         unsigned timeout_s)
{
    add(command, PROGRAM);
    add(command, mode);
    add_number(command, "--timeout", (long)timeout_s);
    add_number(command, "--library-fd", CHILD_INPUT_FD);
    if (options->python) {
        add(command, "--python");
        add(command, options->python);
        add_number(command, "--python-fd", CHILD_INPUT_FD + 1);
        add_number(command, "--script-fd", CHILD_INPUT_FD + 2);
        add_number(command, "--operators-fd", CHILD_INPUT_FD + 3);
    }
    add_list(command, "--path", options->python_path);
    if (model) {
        add_number(command, "--level", options->level);
        add_number(command, "--threads", options->threads);
        add_list(command, "--provider", options->providers);
    }
    add(command, library);
    add(command, model);
}

/* Runs the helper as the program's user: it reads the library from its first moment on. */
static enum ifg_status run_helper(const char *mode, const char *library, const char *model,
                                  const struct ort_helper_options *options, struct opened *opened,
                                  const struct credentials *target, struct ifg_bytes *out,
                                  struct ifg_error *err)
{
    const char *environment[] = { "PATH=/usr/local/bin:/usr/bin:/bin", "LC_ALL=C.UTF-8", NULL,
                                  NULL };
    char libraries[4096];
    bool for_another = run_as_is_for_another(target);
    struct run_as_files files = { library,        opened->library,      options->python,
                                  opened->python, options->python_path, model };
    struct command command = { .count = 0 };
    unsigned timeout_s = options->timeout_s ? options->timeout_s : TIMEOUT_S;
    struct credentials who;
    struct child child = {
        .what = "the helper for ONNX Runtime",
        .argv = command.argv,
        .environment = environment,
        .result_fd = STDOUT_FILENO,
        .timeout_s = timeout_s + SLACK_S,
        .file_bytes = UINT64_C(512) << 20,
        .who = &who,
    };
    enum ifg_status status = open_helper(options, for_another, opened, err);

    if (!status)
        status = run_as_choose(target, &files, &who, err);
    if (status)
        return status;
    if (getenv("LD_LIBRARY_PATH") && !for_another) {
        snprintf(libraries, sizeof libraries, "LD_LIBRARY_PATH=%s", getenv("LD_LIBRARY_PATH"));
        environment[2] = libraries;
    }
    fill_command(&command, mode, library, model, options, timeout_s);
    child.program_fd = opened->program;
    child.inputs[child.input_count++] = opened->library;
    child.inputs[child.input_count++] = opened->python;
    child.inputs[child.input_count++] = opened->script;
    child.inputs[child.input_count++] = opened->operators;
    return child_collect(&child, out, err);
}

/* The name of what was opened, without links: what is found by name after all is found there. */
static void take_real_name(int fd, const char *name, char out[PATH_MAX])
{
    struct stat opened, found;
    char link[48];
    ssize_t length;

    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    length = readlink(link, out, PATH_MAX - 1);
    out[length > 0 ? length : 0] = '\0';
    if (fstat(fd, &opened) < 0 || stat(out, &found) < 0 || opened.st_ino != found.st_ino ||
        opened.st_dev != found.st_dev)
        snprintf(out, PATH_MAX, "%s", name);
}

static enum ifg_status ask(const char *mode, const char *library, int library_fd, const char *model,
                           const struct ort_helper_options *options,
                           const struct credentials *target, struct ifg_bytes *out,
                           struct ifg_error *err)
{
    struct opened opened = { -1, -1, -1, -1, -1 };
    char name[PATH_MAX];
    enum ifg_status status = open_library(library, library_fd, &opened.library, err);

    if (!status)
        take_real_name(opened.library, library, name);
    if (!status && options->python)
        status = open_library(options->python, options->python_fd, &opened.python, err);
    if (!status)
        status = run_helper(mode, name, model, options, &opened, target, out, err);
    close_opened(&opened);
    return status;
}

/* An answer is believed only as far as it names code of the library: a probe elsewhere would be put
 * into data, or into the middle of an instruction. */
static bool is_code(struct elf_file *elf, const struct ort_point *point)
{
    uint64_t vaddr, offset;

    return !point->file_offset ||
           (function_start_is(elf_file_descriptor(elf), point->file_offset) &&
            elf_file_address_at(elf, point->file_offset, &vaddr) &&
            code_probe_offset(elf, vaddr, &offset) && offset == point->probe_offset);
}

static bool fits(struct elf_file *elf, const struct ort_backtrace *found)
{
    return strcmp(found->build_id, elf_file_build_id(elf)) == 0 &&
           is_code(elf, &found->execute_kernel) && is_code(elf, &found->run) &&
           is_code(elf, &found->api_run) && is_code(elf, &found->initialize) &&
           is_code(elf, &found->load) && is_code(elf, &found->load_path) &&
           is_code(elf, &found->load_array);
}

static void target_of(const struct ort_helper_options *options, struct credentials *out)
{
    if (options->who)
        *out = *options->who;
    else
        credentials_own(out);
}

static enum ifg_status find_backtrace(const char *library, int fd, struct elf_file *elf,
                                      const struct ort_helper_options *options,
                                      struct ifg_bytes *answer, struct ort_backtrace *out,
                                      struct ifg_error *err)
{
    struct credentials target;
    struct cache_key key;
    enum ifg_status status;

    target_of(options, &target);
    cache_key_of(fd, elf_file_build_id(elf), target.uid, &key);
    if (!options->no_cache && cache_read(&key, answer) &&
        answer_read_backtrace((const char *)answer->data, answer->size, out, NULL) == IFG_OK &&
        fits(elf, out))
        return IFG_OK;
    if (options->only_cache)
        return IFG_NOT_FOUND;
    ifg_bytes_clear(answer);
    status = ask("backtrace", library, fd, NULL, options, &target, answer, err);
    if (!status)
        status = answer_read_backtrace((const char *)answer->data, answer->size, out, err);
    if (!status && !fits(elf, out))
        status = ifg_fail(err, IFG_CORRUPT,
                          "what %.300s says of itself does not fit what is in its file", library);
    if (!status && !options->no_cache)
        cache_write(&key, answer);
    return status;
}

enum ifg_status ort_helper_backtrace(const char *library, const struct ort_helper_options *options,
                                     struct ort_backtrace *out, struct ifg_error *err)
{
    static const struct ort_helper_options defaults = ORT_HELPER_OPTIONS_INIT;
    struct elf_file *elf = NULL;
    struct ifg_bytes answer;
    enum ifg_status status;
    int fd = -1;

    memset(out, 0, sizeof *out);
    options = options ? options : &defaults;
    ifg_bytes_init(&answer, ANSWER_MAX);
    status = open_library(library, options->library_fd, &fd, err);
    if (!status)
        status = elf_file_open_fd(fd, library, &elf, err);
    if (!status)
        status = find_backtrace(library, fd, elf, options, &answer, out, err);
    if (status)
        memset(out, 0, sizeof *out);
    elf_file_close(elf);
    if (fd >= 0)
        close(fd);
    ifg_bytes_fini(&answer);
    return status;
}

enum ifg_status ort_helper_nodes(const char *library, const char *model,
                                 const struct ort_helper_options *options, struct ort_nodes *out,
                                 struct ifg_error *err)
{
    static const struct ort_helper_options defaults = ORT_HELPER_OPTIONS_INIT;
    struct credentials target;
    struct ifg_bytes answer;
    enum ifg_status status;

    memset(out, 0, sizeof *out);
    options = options ? options : &defaults;
    ifg_bytes_init(&answer, ANSWER_MAX);
    target_of(options, &target);
    status = ask("nodes", library, options->library_fd, model, options, &target, &answer, err);
    if (!status)
        status = answer_read_nodes((const char *)answer.data, answer.size, out, err);
    ifg_bytes_fini(&answer);
    return status;
}
