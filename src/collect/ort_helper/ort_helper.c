// SPDX-License-Identifier: Apache-2.0
/* Starting the helper and keeping what it found out: see ort_helper.h. */
#include "collect/ort_helper/ort_helper.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "collect/ort_helper/answer.h"
#include "collect/ort_helper/cache.h"
#include "collect/ort_helper/child.h"
#include "symbol/elf_file.h"

#define PROGRAM     "inferogram-ort-helper"
#define ANSWER_MAX  (64u << 20)
#define ARGUMENTS   320
#define TIMEOUT_S   20
#define SLACK_S     5 /* for what the helper does itself */
#define NUMBER_SIZE 16

struct command {
    const char *argv[ARGUMENTS];
    size_t count;
    char numbers[4][NUMBER_SIZE];
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

static bool is_program(const char *path)
{
    struct stat found;

    return stat(path, &found) == 0 && S_ISREG(found.st_mode) && access(path, X_OK) == 0;
}

/* Beside the installed command, or in the build tree. */
static enum ifg_status find_helper(const struct ort_helper_options *options, char out[PATH_MAX],
                                   struct ifg_error *err)
{
    static const char *const places[] = { IFG_HELPER_FROM_BIN, "../collect/ort_helper" };
    const char *named = options->helper ? options->helper : getenv("IFG_ORT_HELPER");
    char self[PATH_MAX];
    ssize_t length;
    char *slash;

    if (named && *named) {
        snprintf(out, PATH_MAX, "%s", named);
        if (is_program(out))
            return IFG_OK;
        return ifg_fail(err, IFG_NOT_FOUND, "%.300s cannot be started", named);
    }
    length = readlink("/proc/self/exe", self, sizeof self - 1);
    self[length > 0 ? length : 0] = '\0';
    slash = strrchr(self, '/');
    if (slash)
        *slash = '\0';
    for (size_t i = 0; slash && i < sizeof places / sizeof places[0]; i++) {
        bool whole = places[i][0] == '/';
        int needed = snprintf(out, PATH_MAX, "%s%s%s/%s", whole ? "" : self, whole ? "" : "/",
                              places[i], PROGRAM);

        if (needed < PATH_MAX && is_program(out))
            return IFG_OK;
    }
    return ifg_fail(err, IFG_NOT_FOUND,
                    PROGRAM " is not installed; install all of Inferogram, or set IFG_ORT_HELPER "
                            "to where it is");
}

static enum ifg_status ask(const char *mode, const char *library, const char *model,
                           const struct ort_helper_options *options, struct ifg_bytes *out,
                           struct ifg_error *err)
{
    static const char *const empty[] = { "PATH=/usr/local/bin:/usr/bin:/bin", "LC_ALL=C.UTF-8",
                                         NULL, NULL };
    char libraries[4096] = "";
    const char *environment[4];
    char program[PATH_MAX];
    struct command command = { .count = 0 };
    unsigned timeout_s = options->timeout_s ? options->timeout_s : TIMEOUT_S;
    struct child child = {
        .what = "the helper for ONNX Runtime",
        .argv = command.argv,
        .environment = environment,
        .result_fd = STDOUT_FILENO,
        .input_fds = { -1, -1 },
        .timeout_s = timeout_s + SLACK_S,
        .file_bytes = UINT64_C(512) << 20,
    };
    enum ifg_status status = find_helper(options, program, err);

    if (status)
        return status;
    memcpy(environment, empty, sizeof environment);
    if (getenv("LD_LIBRARY_PATH")) {
        snprintf(libraries, sizeof libraries, "LD_LIBRARY_PATH=%s", getenv("LD_LIBRARY_PATH"));
        environment[2] = libraries;
    }
    add(&command, program);
    add(&command, mode);
    add_number(&command, "--timeout", (long)timeout_s);
    if (options->python) {
        add(&command, "--python");
        add(&command, options->python);
    }
    add_list(&command, "--path", options->python_path);
    if (model) {
        add_number(&command, "--level", options->level);
        add_number(&command, "--threads", options->threads);
        add_list(&command, "--provider", options->providers);
    }
    add(&command, library);
    add(&command, model);
    return child_collect(&child, out, err);
}

enum ifg_status ort_helper_backtrace(const char *library, const struct ort_helper_options *options,
                                     struct ort_backtrace *out, struct ifg_error *err)
{
    static const struct ort_helper_options defaults = ORT_HELPER_OPTIONS_INIT;
    struct elf_file *elf = NULL;
    struct cache_key key = { 0 };
    struct ifg_bytes answer;
    enum ifg_status status;

    memset(out, 0, sizeof *out);
    options = options ? options : &defaults;
    ifg_bytes_init(&answer, ANSWER_MAX);
    status = elf_file_open(library, &elf, err);
    if (status)
        goto out;
    cache_key_of(library, elf_file_build_id(elf), &key);
    if (!options->no_cache && cache_read(&key, &answer) &&
        answer_read_backtrace((const char *)answer.data, answer.size, out, NULL) == IFG_OK)
        goto out;
    ifg_bytes_clear(&answer);
    status = ask("backtrace", library, NULL, options, &answer, err);
    if (!status)
        status = answer_read_backtrace((const char *)answer.data, answer.size, out, err);
    if (!status && strcmp(out->build_id, elf_file_build_id(elf)) != 0)
        status = ifg_fail(err, IFG_BUSY, "%.300s was replaced just now; try again", library);
    if (!status && !options->no_cache)
        cache_write(&key, &answer);
out:
    if (status)
        memset(out, 0, sizeof *out);
    elf_file_close(elf);
    ifg_bytes_fini(&answer);
    return status;
}

enum ifg_status ort_helper_nodes(const char *library, const char *model,
                                 const struct ort_helper_options *options, struct ort_nodes *out,
                                 struct ifg_error *err)
{
    static const struct ort_helper_options defaults = ORT_HELPER_OPTIONS_INIT;
    struct ifg_bytes answer;
    enum ifg_status status;

    memset(out, 0, sizeof *out);
    ifg_bytes_init(&answer, ANSWER_MAX);
    status = ask("nodes", library, model, options ? options : &defaults, &answer, err);
    if (!status)
        status = answer_read_nodes((const char *)answer.data, answer.size, out, err);
    ifg_bytes_fini(&answer);
    return status;
}
