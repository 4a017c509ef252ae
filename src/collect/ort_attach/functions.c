// SPDX-License-Identifier: Apache-2.0
/*
 * Asking the helper where the functions of a library are that its table does not have. Answers are
 * kept by build-id; the first time the library's own code is run, in a process of its own.
 */
#include "collect/ort_attach/attach_internal.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"

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

/* Code from another container is not run out here. */
static bool is_elsewhere(pid_t pid)
{
    char path[64];

    snprintf(path, sizeof path, "/proc/%d/ns/mnt", (int)pid);
    return !is_same_file(path, "/proc/self/ns/mnt");
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

/* The interpreter of the program, and the folders that its modules came from. */
static bool look_around(pid_t pid, struct surroundings *around)
{
    struct map_line *map = ifg_alloc(1, sizeof *map);
    struct maps maps;
    char path[64];
    ssize_t length;

    snprintf(path, sizeof path, "/proc/%d/exe", (int)pid);
    length = readlink(path, around->interpreter, sizeof around->interpreter - 1);
    around->interpreter[length > 0 ? length : 0] = '\0';
    if (map && maps_open(pid, &maps)) {
        while (maps_next(&maps, map))
            add_path(around, map->path);
        maps_close(&maps);
    }
    ifg_free(map);
    return length > 0 && is_same_file(around->interpreter, path);
}

enum ifg_status attach_functions_find(struct ort_attach *attach, pid_t pid,
                                      const struct ort_library *library, bool is_python,
                                      struct ort_backtrace *out_functions, struct ifg_error *err)
{
    struct ort_helper_options options = ORT_HELPER_OPTIONS_INIT;
    bool has_path = is_same_file(library->path, library->file);
    const char *file = has_path ? library->path : library->file;
    const char *slash = strrchr(library->path, '/');
    const char *name = slash ? slash + 1 : library->path;
    struct surroundings *around;
    enum ifg_status status;
    char text[256];

    options.helper = "/nonexistent"; /* what is known already */
    if (ort_helper_backtrace(file, &options, out_functions, NULL) == IFG_OK)
        return IFG_OK;
    if (is_elsewhere(pid))
        return ifg_fail(err, IFG_UNSUPPORTED,
                        "%.100s is in another mount namespace (a container), and its code is not "
                        "run out here to find out where its functions are",
                        name);
    around = ifg_alloc(1, sizeof *around);
    if (!around)
        return ifg_fail(err, IFG_NO_MEMORY, "out of memory");
    options.helper = NULL;
    options.timeout_s = TIMEOUT_S;
    status = IFG_OK;
    if (is_python) {
        if (!look_around(pid, around) || !has_path)
            status = ifg_fail(err, IFG_UNSUPPORTED,
                              "the interpreter of process %d, or %.100s, is not there any more",
                              (int)pid, name);
        options.python = around->interpreter;
        options.python_path = around->list;
    }
    if (!status && attach->say) {
        snprintf(text, sizeof text,
                 "finding out where the functions of %.100s are (once for each build) ...", name);
        attach->say(attach->say_user, text);
    }
    if (!status)
        status = ort_helper_backtrace(file, &options, out_functions, err);
    ifg_free(around);
    return status;
}
