// SPDX-License-Identifier: Apache-2.0
/* See find_ort.h. A place is a pattern of file names; the newest version among its files wins. */
#include "bench/runner/find_ort.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <spawn.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/alloc.h"
#include "bench/runner/find_ort_internal.h"
#include "system/credentials.h"
#include "system/open_as.h"
#include "system/process_folder.h"

#define LIBRARY "libonnxruntime.so"
#define RUNNER  "inferogram-bench-runner"

#define LISTING_BYTES (4u << 20)
#define PACKAGE_BYTES 65536u

#if defined(__x86_64__)
#define NODE_MACHINE "x64"
#define ELF_MACHINE  EM_X86_64
#elif defined(__aarch64__)
#define NODE_MACHINE "arm64"
#define ELF_MACHINE  EM_AARCH64
#else
#define NODE_MACHINE "unknown"
#define ELF_MACHINE  EM_NONE
#endif

extern char **environ;

struct version {
    unsigned long part[3];
};

struct search {
    const struct ort_surroundings *around;
    struct found_ort *found;
    struct version newest; /* of what was found at this place */
    bool has;
    bool is_named;             /* by the user, who may name what he likes */
    bool is_from_cwd;          /* what lies around in the working directory, which may be /tmp */
    char distrusted[PATH_MAX]; /* a library that somebody else could have written */
    char bound_to_python[512]; /* a wheel that has no library of its own */
};

/* ---- files ---- */

/* A shared library for this machine? */
static bool is_library(const char *path)
{
    unsigned char head[20];
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    struct stat file;
    bool good = fd >= 0 && fstat(fd, &file) == 0 && S_ISREG(file.st_mode) &&
                read(fd, head, sizeof head) == (ssize_t)sizeof head &&
                memcmp(head, ELFMAG, SELFMAG) == 0 && head[EI_CLASS] == ELFCLASS64 &&
                (head[16] | head[17] << 8) == ET_DYN;

    if (good && ELF_MACHINE != EM_NONE)
        good = (head[18] | head[19] << 8) == ELF_MACHINE;
    if (fd >= 0)
        close(fd);
    return good;
}

/* Up to three numbers with dots between them; how many there are. */
static int read_version(const char *text, struct version *out)
{
    int count = 0;
    char *end;

    *out = (struct version){ 0 };
    while (count < 3 && *text >= '0' && *text <= '9') {
        out->part[count++] = strtoul(text, &end, 10);
        if (*end != '.')
            break;
        text = end + 1;
    }
    return count;
}

/* "version" of a package.json: the first is the package's own. */
static bool version_of_package(const char *folder, struct version *out)
{
    char path[PATH_MAX];
    char *text;
    char *at = NULL;
    ssize_t got = -1;
    int fd = -1;

    if (snprintf(path, sizeof path, "%s/package.json", folder) < (int)sizeof path)
        fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    text = fd >= 0 ? ifg_alloc(PACKAGE_BYTES, 1) : NULL;
    if (text)
        got = read(fd, text, PACKAGE_BYTES - 1);
    if (fd >= 0)
        close(fd);
    if (got > 0)
        at = strstr(text, "\"version\"");
    if (at) {
        at += strlen("\"version\"");
        at += strspn(at, " \t\n\r:\"");
    }
    got = at ? read_version(at, out) : 0;
    ifg_free(text);
    return got > 1;
}

/* By its name (libonnxruntime.so.1.31.1), by the package it is in, or by a folder such as
 * onnxruntime-linux-x64-1.20.0; zeros if nobody tells. */
static struct version version_of(const char *path)
{
    char folder[PATH_MAX];
    struct version version = { 0 };
    const char *name = strrchr(path, '/');
    const char *suffix = strstr(name ? name : path, LIBRARY ".");
    char *slash;

    if (suffix && read_version(suffix + strlen(LIBRARY "."), &version) > 1)
        return version;
    snprintf(folder, sizeof folder, "%s", path);
    for (int up = 0; up < 8 && (slash = strrchr(folder, '/')); up++) {
        char *dash;

        *slash = '\0';
        if (version_of_package(folder, &version))
            return version;
        slash = strrchr(folder, '/');
        dash = strrchr(slash ? slash : folder, '-');
        if (dash && read_version(dash + 1, &version) > 1)
            return version;
    }
    return (struct version){ 0 };
}

static bool is_newer(const struct version *a, const struct version *b)
{
    for (int i = 0; i < 3; i++)
        if (a->part[i] != b->part[i])
            return a->part[i] > b->part[i];
    return false;
}

/* A library that was merely found will run with our rights. Root runs only what nobody else could
 * have written, and nobody what a stranger left in the working directory or above. */
static bool is_trusted(const struct search *search, const char *path)
{
    struct stat file;

    if (search->is_named)
        return true;
    if (geteuid() == 0 || credentials_are_raised())
        return open_as_is_owned(path, geteuid());
    return !search->is_from_cwd ||
           (stat(path, &file) == 0 && (file.st_uid == 0 || file.st_uid == getuid()));
}

static void consider(struct search *search, const char *path)
{
    char real[PATH_MAX];
    struct version version;

    if (!realpath(path, real) || !is_library(real))
        return;
    if (!is_trusted(search, real)) {
        snprintf(search->distrusted, sizeof search->distrusted, "%s", real);
        return;
    }
    version = version_of(real);
    if (search->has && !is_newer(&version, &search->newest))
        return;
    snprintf(search->found->path, sizeof search->found->path, "%s", real);
    search->newest = version;
    search->has = true;
}

/* The files "FOLDER/REST", where rest is a pattern and folder is not; false if there is none. */
static bool files_in(const char *folder, const char *rest, glob_t *out_files)
{
    char pattern[PATH_MAX];
    size_t length = 0;

    for (; *folder && length + 2 < sizeof pattern; folder++) {
        if (strchr("*?[]\\", *folder))
            pattern[length++] = '\\';
        pattern[length++] = *folder;
    }
    return snprintf(pattern + length, sizeof pattern - length, "/%s", rest) <
               (int)(sizeof pattern - length) &&
           glob(pattern, 0, NULL, out_files) == 0;
}

static void consider_all(struct search *search, const char *folder, const char *rest)
{
    glob_t files;

    if (!files_in(folder, rest, &files))
        return;
    for (size_t i = 0; i < files.gl_pathc; i++)
        consider(search, files.gl_pathv[i]);
    globfree(&files);
}

static bool say_from(struct search *search, const char *what, const char *where)
{
    if (search->has)
        snprintf(search->found->from, sizeof search->found->from, "%s%s%.120s", what,
                 *where ? " " : "", where);
    return search->has;
}

/* ---- places ---- */

static void consider_node(struct search *search, const char *modules)
{
    consider_all(search, modules,
                 "onnxruntime-node/bin/napi-v*/linux/" NODE_MACHINE "/" LIBRARY "*");
}

/* FOLDER is a prefix such as /usr or a virtual environment. */
static void consider_python(struct search *search, const char *folder)
{
    static const char *const packages[] = { "lib/python3*/site-packages",
                                            "lib/python3*/dist-packages",
                                            "lib64/python3*/site-packages" };
    char rest[128];
    glob_t files;

    for (size_t i = 0; i < sizeof packages / sizeof *packages; i++) {
        snprintf(rest, sizeof rest, "%s/onnxruntime/capi/" LIBRARY "*", packages[i]);
        consider_all(search, folder, rest);
        snprintf(rest, sizeof rest, "%s/onnxruntime/capi/onnxruntime_pybind11_state*", packages[i]);
        if (search->has || search->bound_to_python[0] || !files_in(folder, rest, &files))
            continue;
        snprintf(search->bound_to_python, sizeof search->bound_to_python, "%s", files.gl_pathv[0]);
        globfree(&files);
    }
}

/* A folder that the user names: anything that one may take for the runtime's. */
static void consider_folder(struct search *search, const char *folder)
{
    static const char *const rests[] = {
        LIBRARY "*",
        "lib/" LIBRARY "*",
        "lib64/" LIBRARY "*",
        "capi/" LIBRARY "*",
        "onnxruntime/capi/" LIBRARY "*",
        "bin/napi-v*/linux/" NODE_MACHINE "/" LIBRARY "*",
        "onnxruntime-node/bin/napi-v*/linux/" NODE_MACHINE "/" LIBRARY "*",
        "node_modules/onnxruntime-node/bin/napi-v*/linux/" NODE_MACHINE "/" LIBRARY "*",
    };

    for (size_t i = 0; i < sizeof rests / sizeof *rests && !search->has; i++)
        consider_all(search, folder, rests[i]);
    if (!search->has)
        consider_python(search, folder);
}

static enum ifg_status take_named(struct search *search, const char *named, const char *by,
                                  struct ifg_error *err)
{
    struct stat file;

    search->is_named = true;
    if (stat(named, &file) < 0)
        return ifg_fail_errno(err, "%s: cannot find %s", by, named);
    if (S_ISDIR(file.st_mode)) {
        consider_folder(search, named);
        if (!search->has && search->bound_to_python[0])
            return ifg_fail(err, IFG_NOT_FOUND,
                            "%s: the onnxruntime package in %s has no " LIBRARY
                            " that works without Python; use a newer wheel",
                            by, named);
        if (!search->has)
            return ifg_fail(err, IFG_NOT_FOUND,
                            "%s: there is no " LIBRARY " for this machine in %s", by, named);
    } else {
        consider(search, named);
        if (!search->has)
            return ifg_fail(err, IFG_UNSUPPORTED, "%s: %s is not a shared library for this machine",
                            by, named);
    }
    say_from(search, by, "");
    return IFG_OK;
}

/* The folders of a variable like PATH. */
static void each_folder(struct search *search, const char *list,
                        void (*call)(struct search *search, const char *folder))
{
    char folder[PATH_MAX];

    while (list && *list) {
        size_t length = strcspn(list, ":");

        if (length && length < sizeof folder) {
            memcpy(folder, list, length);
            folder[length] = '\0';
            call(search, folder);
        }
        list += length + (list[length] == ':');
    }
}

static void consider_plain(struct search *search, const char *folder)
{
    consider_all(search, folder, LIBRARY "*");
}

/* Reads what a program writes; the text is the caller's, NULL if it cannot be had. */
static char *output_of(const char *program, char *const *arguments)
{
    posix_spawn_file_actions_t actions;
    char *text = NULL;
    size_t size = 0;
    int ends[2];
    pid_t child;
    ssize_t got;
    int error;

    if (pipe2(ends, O_CLOEXEC) < 0)
        return NULL;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
    posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
    posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    error = posix_spawnp(&child, program, &actions, NULL, arguments, environ);
    posix_spawn_file_actions_destroy(&actions);
    close(ends[1]);
    if (!error)
        text = ifg_alloc(LISTING_BYTES, 1);
    while (text && size + 1 < LISTING_BYTES) {
        got = read(ends[0], text + size, LISTING_BYTES - 1 - size);
        if (got <= 0 && !(got < 0 && errno == EINTR))
            break;
        size += got > 0 ? (size_t)got : 0;
    }
    close(ends[0]);
    while (!error && waitpid(child, NULL, 0) < 0 && errno == EINTR)
        ;
    return text;
}

/* "\tlibonnxruntime.so.1 (libc6,x86-64) => /usr/lib/x86_64-linux-gnu/libonnxruntime.so.1" */
static void consider_listing(struct search *search, char *text)
{
    char path[PATH_MAX];

    for (char *line = text; line && *line;) {
        char *end = strchr(line, '\n');
        char *arrow;

        if (end)
            *end = '\0';
        line += strspn(line, " \t");
        arrow = strstr(line, " => ");
        if (strncmp(line, LIBRARY, strlen(LIBRARY)) == 0 && arrow &&
            snprintf(path, sizeof path, "%s%s", search->around->root, arrow + 4) < (int)sizeof path)
            consider(search, path);
        line = end ? end + 1 : NULL;
    }
}

static void consider_system(struct search *search)
{
    static const char *const programs[] = { "/sbin/ldconfig", "/usr/sbin/ldconfig", "ldconfig" };
    char *arguments[] = { "ldconfig", "-p", NULL };
    const char *given = search->around->ldconfig;
    char *text = given ? output_of(given, arguments) : NULL;

    for (size_t i = 0; !given && i < sizeof programs / sizeof *programs && !text; i++)
        if (programs[i][0] != '/' || access(programs[i], X_OK) == 0)
            text = output_of(programs[i], arguments);
    consider_listing(search, text);
    ifg_free(text);
}

static bool search_system(struct search *search)
{
    each_folder(search, getenv("LD_LIBRARY_PATH"), consider_plain);
    if (say_from(search, "LD_LIBRARY_PATH", ""))
        return true;
    consider_system(search);
    return say_from(search, "system library", "");
}

static bool search_node(struct search *search)
{
    char folder[PATH_MAX];
    char modules[PATH_MAX + 16];
    char *slash;

    snprintf(folder, sizeof folder, "%s", search->around->cwd);
    search->is_from_cwd = true;
    do {
        snprintf(modules, sizeof modules, "%s/node_modules", folder);
        consider_node(search, modules);
        if (say_from(search, "node_modules of", folder[0] ? folder : "/"))
            return true;
        slash = strrchr(folder, '/');
        if (slash)
            *slash = '\0';
    } while (slash);
    search->is_from_cwd = false;
    each_folder(search, getenv("NODE_PATH"), consider_node);
    return say_from(search, "NODE_PATH", "");
}

static bool try_python(struct search *search, const char *folder, const char *below)
{
    char path[PATH_MAX];

    if (!folder || !*folder ||
        snprintf(path, sizeof path, "%s%s", folder, below) >= (int)sizeof path)
        return false;
    consider_python(search, path);
    return say_from(search, "Python of", path);
}

static bool search_python(struct search *search)
{
    const char *root = search->around->root;
    const char *user = getenv("PYTHONUSERBASE");
    char below[PATH_MAX];

    if (try_python(search, getenv("VIRTUAL_ENV"), "") ||
        try_python(search, getenv("CONDA_PREFIX"), ""))
        return true;
    search->is_from_cwd = true;
    if (try_python(search, search->around->cwd, "/.venv") ||
        try_python(search, search->around->cwd, "/venv"))
        return true;
    search->is_from_cwd = false;
    if ((user && *user ? try_python(search, user, "")
                       : try_python(search, getenv("HOME"), "/.local")))
        return true;
    snprintf(below, sizeof below, "%s/usr/local", root);
    if (try_python(search, below, ""))
        return true;
    snprintf(below, sizeof below, "%s/usr", root);
    return try_python(search, below, "");
}

static bool search_cache(struct search *search)
{
    const char *cache = getenv("XDG_CACHE_HOME");
    const char *home = getenv("HOME");
    char folder[PATH_MAX] = "";

    if (cache && *cache)
        snprintf(folder, sizeof folder, "%s/inferogram", cache);
    else if (home && *home)
        snprintf(folder, sizeof folder, "%s/.cache/inferogram", home);
    if (folder[0])
        consider_all(search, folder, "ort-node-*/" LIBRARY "*");
    return say_from(search, "cache", folder);
}

enum ifg_status find_ort_in(const char *named, const struct ort_surroundings *surroundings,
                            struct found_ort *out_found, struct ifg_error *err)
{
    struct search search = { .around = surroundings, .found = out_found };
    const char *variable = secure_getenv("IFG_ORT");

    memset(out_found, 0, sizeof *out_found);
    if (named && *named)
        return take_named(&search, named, "--ort", err);
    if (variable && *variable)
        return take_named(&search, variable, "IFG_ORT", err);
    if (search_system(&search) || search_node(&search) || search_python(&search) ||
        search_cache(&search))
        return IFG_OK;
    if (search.distrusted[0])
        return ifg_fail(err, IFG_NOT_FOUND,
                        "%.512s is not used, because another user could have written it; if it is "
                        "the right one, select it with --ort PATH",
                        search.distrusted);
    return ifg_fail(err, IFG_NOT_FOUND,
                    "there is no ONNX Runtime: looked at the system's libraries, node_modules here "
                    "and above, Python's packages and our cache%s%s%s; get one with 'npm install "
                    "onnxruntime-node' or 'pip install onnxruntime', or say where it is with --ort "
                    "PATH",
                    search.bound_to_python[0] ? " (" : "", search.bound_to_python,
                    search.bound_to_python[0] ? " cannot be used without Python)" : "");
}

enum ifg_status find_ort(const char *named, struct found_ort *out_found, struct ifg_error *err)
{
    char cwd[PATH_MAX];
    struct ort_surroundings here = { .root = "", .cwd = cwd };

    if (!getcwd(cwd, sizeof cwd))
        cwd[0] = '\0';
    return find_ort_in(named, &here, out_found, err);
}

/* ---- the runner ---- */

static bool is_program(const char *path, char out_path[PATH_MAX])
{
    struct stat file;

    return stat(path, &file) == 0 && S_ISREG(file.st_mode) && access(path, X_OK) == 0 &&
           realpath(path, out_path);
}

enum ifg_status find_runner(char out_path[PATH_MAX], struct ifg_error *err)
{
    static const char *const beside[] = { "../bench/runner", IFG_RUNNER_FROM_BIN };
    const char *given = getenv("IFG_BENCH_RUNNER");
    char folder[PATH_MAX];
    char path[PATH_MAX];

    out_path[0] = '\0';
    if (given && *given && !credentials_are_raised())
        return is_program(given, out_path)
                   ? IFG_OK
                   : ifg_fail(err, IFG_NOT_FOUND, "IFG_BENCH_RUNNER: %s cannot be run", given);
    (void)process_own_program_folder(folder);
    for (size_t i = 0; i < sizeof beside / sizeof *beside; i++) {
        int bytes = beside[i][0] == '/'
                        ? snprintf(path, sizeof path, "%s/" RUNNER, beside[i])
                        : snprintf(path, sizeof path, "%s/%s/" RUNNER, folder, beside[i]);

        if (bytes < (int)sizeof path && is_program(path, out_path))
            return IFG_OK;
    }
    out_path[0] = '\0';
    return ifg_fail(err, IFG_NOT_FOUND,
                    "the program " RUNNER " is missing (it belongs into %s/" IFG_RUNNER_FROM_BIN
                    "); install inferogram again",
                    folder);
}
