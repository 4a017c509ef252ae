// SPDX-License-Identifier: Apache-2.0
/*
 * inferogram-ort-helper: runs an ONNX Runtime library in a process that is thrown away, and prints
 * what was found out (answer.h). Started by the recorder; nobody needs to start it by hand.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "collect/ort_helper/answer.h"
#include "collect/ort_helper/helper.h"
#include "collect/ort_helper/run_as.h"
#include "system/process_folder.h"

#define ANSWER_MAX (300u << 20)

enum { EXIT_DONE = 0, EXIT_FAILED = 1, EXIT_USAGE = 2 };

static const char usage[] =
    "usage: inferogram-ort-helper backtrace [OPTIONS] LIBRARY\n"
    "       inferogram-ort-helper nodes [OPTIONS] LIBRARY MODEL\n"
    "  --python PROGRAM   LIBRARY is a Python module, and this the interpreter that loads it\n"
    "  --path DIRECTORY   part of the interpreter's sys.path; may be repeated\n"
    "  --timeout S        seconds for the foreign code (default 20)\n"
    "  --level N          graph optimization level of the session: 0, 1, 2, 99\n"
    "  --threads N        of the session (default 1)\n"
    "  --provider NAME    execution provider; may be repeated\n"
    "  --size N           of dimensions that the model leaves open (default: several are tried)\n"
    "  --library-fd N     LIBRARY is open already, and only its name is given; the same with\n"
    "                     --python-fd, --script-fd (helper.py), --operators-fd\n";

#define DESCRIPTOR_MAX 1024

static void write_all(int fd, const void *data, size_t bytes)
{
    const char *at = data;

    while (bytes) {
        ssize_t written = write(fd, at, bytes);

        if (written < 0 && errno == EINTR)
            continue;
        if (written <= 0)
            return;
        at += written;
        bytes -= (size_t)written;
    }
}

static bool take_number(const char *text, long least, long most, long *out)
{
    char *end;
    long number = strtol(text, &end, 10);

    if (!*text || *end || number < least || number > most)
        return false;
    *out = number;
    return true;
}

static bool take_descriptor(const char *text, int *out)
{
    long number;

    if (!take_number(text, 3, DESCRIPTOR_MAX, &number))
        return false;
    *out = (int)number;
    return true;
}

static bool take_option(struct helper *helper, const char *word, const char *value)
{
    if (strcmp(word, "--python") == 0)
        helper->python = value;
    else if (strcmp(word, "--path") == 0 && helper->path_count < HELPER_PATHS_MAX)
        helper->paths[helper->path_count++] = value;
    else if (strcmp(word, "--provider") == 0 && helper->provider_count < HELPER_PROVIDERS_MAX)
        helper->providers[helper->provider_count++] = value;
    else if (strcmp(word, "--timeout") == 0)
        return take_number(value, 1, 3600, &helper->timeout_s);
    else if (strcmp(word, "--level") == 0)
        return take_number(value, -1, 99, &helper->level);
    else if (strcmp(word, "--threads") == 0)
        return take_number(value, 0, 1024, &helper->threads);
    else if (strcmp(word, "--size") == 0)
        return take_number(value, 1, 1000000, &helper->size);
    else if (strcmp(word, "--library-fd") == 0)
        return take_descriptor(value, &helper->library_fd);
    else if (strcmp(word, "--python-fd") == 0)
        return take_descriptor(value, &helper->python_fd);
    else if (strcmp(word, "--script-fd") == 0)
        return take_descriptor(value, &helper->script_fd);
    else if (strcmp(word, "--operators-fd") == 0)
        return take_descriptor(value, &helper->operators_fd);
    else
        return false;
    return true;
}

/* False: usage. */
static bool parse(char **argv, struct helper *helper, bool *out_nodes)
{
    const char *names[2] = { NULL, NULL };
    size_t count = 0;

    if (!argv[0] || !argv[1])
        return false;
    *out_nodes = strcmp(argv[1], "nodes") == 0;
    if (!*out_nodes && strcmp(argv[1], "backtrace") != 0)
        return false;
    for (size_t i = 2; argv[i]; i++) {
        if (strncmp(argv[i], "--", 2) == 0) {
            if (!argv[i + 1] || !take_option(helper, argv[i], argv[i + 1]))
                return false;
            i++;
        } else if (count == 2) {
            return false;
        } else {
            names[count++] = argv[i];
        }
    }
    helper->library = names[0];
    helper->model = names[1];
    return count == (*out_nodes ? 2 : 1);
}

static enum ifg_status open_once(const char *path, int *fd, struct ifg_error *err)
{
    struct stat found;

    if (*fd < 0)
        *fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
    if (*fd < 0 || fstat(*fd, &found) < 0)
        return ifg_fail_errno(err, "%.300s", path);
    if (!S_ISREG(found.st_mode))
        return ifg_fail(err, IFG_INVALID, "%.300s is no file", path);
    return IFG_OK;
}

/* What belongs to this program lies beside it. */
static enum ifg_status open_beside(const char *name, int *fd, struct ifg_error *err)
{
    char path[PATH_MAX + 64];
    char folder[PATH_MAX];

    (void)process_own_program_folder(folder);
    snprintf(path, sizeof path, "%s/%s", folder, name);
    return open_once(path, fd, err);
}

static enum ifg_status open_all(struct helper *helper, struct ifg_error *err)
{
    enum ifg_status status = open_once(helper->library, &helper->library_fd, err);

    if (!helper->python)
        return status;
    if (!status)
        status = open_once(helper->python, &helper->python_fd, err);
    if (!status)
        status = open_beside("helper.py", &helper->script_fd, err);
    if (!status)
        status = open_beside("libinferogram-backtrace.so", &helper->operators_fd, err);
    return status;
}

/* The recorder has started us as whom the code shall run; by hand, as root, this is to be found. */
static enum ifg_status choose_user(struct helper *helper, struct ifg_error *err)
{
    struct run_as_files files = { helper->library,   helper->library_fd, helper->python,
                                  helper->python_fd, helper->paths,      helper->model };
    struct credentials self;

    credentials_own(&self);
    return run_as_choose(&self, &files, &helper->who, err);
}

int main(int argc, char **argv)
{
    struct helper helper = { .timeout_s = 20,
                             .level = -1,
                             .library_fd = -1,
                             .python_fd = -1,
                             .script_fd = -1,
                             .operators_fd = -1 };
    struct ifg_error err = { 0 };
    struct ifg_bytes answer;
    enum ifg_status status;
    char library[PATH_MAX];
    char model[PATH_MAX];
    bool nodes = false;

    (void)argc;
    if (!parse(argv, &helper, &nodes)) {
        write_all(STDERR_FILENO, usage, sizeof usage - 1);
        return EXIT_USAGE;
    }
    /* Python's loader and ONNX Runtime want whole names. */
    if (realpath(helper.library, library))
        helper.library = library;
    if (nodes && realpath(helper.model, model))
        helper.model = model;
    ifg_bytes_init(&answer, ANSWER_MAX);
    status = open_all(&helper, &err);
    if (!status)
        status = choose_user(&helper, &err);
    if (!status)
        status =
            nodes ? helper_nodes(&helper, &answer, &err) : helper_backtrace(&helper, &answer, &err);
    if (!status && answer.failed)
        status = ifg_fail_no_memory(&err, "for the answer");
    if (status) {
        ifg_bytes_clear(&answer);
        answer_put(&answer, "error %s\n", err.message);
    }
    write_all(STDOUT_FILENO, answer.data, answer.size);
    ifg_bytes_fini(&answer);
    return status ? EXIT_FAILED : EXIT_DONE;
}
