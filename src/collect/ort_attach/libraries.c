// SPDX-License-Identifier: Apache-2.0
/* Finding runtimes among the mappings of a process: see libraries.h. */
#include "collect/ort_attach/libraries.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include "base/alloc.h"
#include "system/open_as.h"

static const char *file_name(const char *path)
{
    const char *slash = strrchr(path, '/');

    return slash ? slash + 1 : path;
}

/* A name by which this process can open what that one has mapped. The mapping itself leads to
 * deleted files as well, but only the mighty may open it; else the path, if it still is the file.
 */
static bool reachable(pid_t pid, const struct map_line *map, char *out, size_t size)
{
    struct stat file;

    snprintf(out, size, "/proc/%d/map_files/%" PRIx64 "-%" PRIx64, (int)pid, map->start, map->end);
    if (stat(out, &file) == 0)
        return true;
    if (map->deleted)
        return false;
    snprintf(out, size, "/proc/%d/root%s", (int)pid, map->path);
    /* The device in maps is that of the file system below where there are several layers. */
    return stat(out, &file) == 0 && file.st_ino == map->inode;
}

static void fill(struct ort_library *library, const struct map_line *map, const char *file)
{
    *library = (struct ort_library){ .key = { map->device, map->inode } };
    snprintf(library->path, sizeof library->path, "%s", map->path);
    snprintf(library->file, sizeof library->file, "%s", file);
    if (!file[0])
        snprintf(library->reason, sizeof library->reason,
                 "%.100s was deleted, and only a process with CAP_CHECKPOINT_RESTORE or "
                 "CAP_SYS_ADMIN can still open it (sudo)",
                 file_name(map->path));
}

static void add(struct ort_libraries *libraries, pid_t pid, const struct map_line *map,
                struct known_files *known)
{
    const struct file_key key = { map->device, map->inode };
    bool named = runtime_file_is_named(map->path, &runtime_ort);
    char file[sizeof libraries->found[0].file];

    for (size_t i = 0; i < libraries->count; i++)
        if (runtime_files_key_is_in(key, &libraries->found[i].key, 1))
            return;
    if (!named && runtime_files_have(known, key))
        return;
    if (!reachable(pid, map, file, sizeof file)) {
        if (!named)
            return;
        file[0] = '\0';
    } else if (!named && !runtime_file_exports(file, &runtime_ort)) {
        runtime_files_add(known, key);
        return;
    }
    if (libraries->count == ORT_LIBRARIES_MAX) {
        libraries->overflow++;
        return;
    }
    fill(&libraries->found[libraries->count++], map, file);
}

static void add_module(struct ort_libraries *libraries, pid_t pid, const struct map_line *map)
{
    char file[sizeof libraries->module.file];

    libraries->python = true;
    if (!map->executable || libraries->module.path[0])
        return;
    if (!reachable(pid, map, file, sizeof file))
        file[0] = '\0';
    fill(&libraries->module, map, file);
}

/* Started by us: then the import hook is there, too. */
static bool is_launched(pid_t pid)
{
    static const char wanted[] = "IFG_SESSION=";
    size_t matched = 0; /* SIZE_MAX: not this variable */
    bool found = false;
    char path[64];
    FILE *file;
    int c;

    snprintf(path, sizeof path, "/proc/%d/environ", (int)pid);
    file = fopen(path, "re");
    while (file && !found && (c = getc(file)) != EOF) {
        if (c == '\0')
            matched = 0;
        else if (matched != SIZE_MAX)
            matched = c == wanted[matched] ? matched + 1 : SIZE_MAX;
        found = matched == sizeof wanted - 1;
    }
    if (file)
        fclose(file);
    return found;
}

/* The same as the beginning of ifg_ort_patch_result in hooks/ort/patch.h. */
struct patch_state {
    uint32_t calls;
    int32_t watched;
};

/*
 * Hooks that were injected stay in the process when their recorder is done, and tell of nothing:
 * then probes do. A recorder that was killed did not take them out, and what they tell must not be
 * seen twice. The variable says which of the two it is.
 */
static bool is_patched(pid_t pid, const struct map_line *first)
{
    struct patch_state state = { 0 };
    struct elf_symbol symbol = { 0 };
    struct elf_file *elf = NULL;
    struct iovec here = { &state, sizeof state };
    struct iovec there = { .iov_len = sizeof state };
    char file[sizeof((struct ort_library *)NULL)->file];
    bool found;
    int fd = -1;

    if (reachable(pid, first, file, sizeof file))
        fd = open(file, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
    if (fd < 0)
        return true;
    found = elf_file_open_fd(fd, "libinferogram-ort.so", &elf, NULL) == IFG_OK &&
            elf_file_symbol(elf, "ifg_ort_patch_result", &symbol, NULL) == IFG_OK;
    close(fd);
    elf_file_close(elf);
    there.iov_base = (void *)(uintptr_t)(first->start + symbol.value);
    if (!found || process_vm_readv(pid, &here, 1, &there, 1, 0) != (ssize_t)sizeof state)
        return true;
    return state.watched > 0;
}

enum ifg_status ort_libraries_find(pid_t pid, struct known_files *known,
                                   struct ort_libraries *out_libraries, struct ifg_error *err)
{
    struct map_line *map = ifg_alloc(1, sizeof *map);
    struct map_line *hooks = ifg_alloc(1, sizeof *hooks);
    bool carries = false, preloaded = false, is_module;
    struct maps maps;

    memset(out_libraries, 0, sizeof *out_libraries);
    if (!map || !hooks) {
        ifg_free(map);
        ifg_free(hooks);
        return ifg_fail_no_memory(err, NULL);
    }
    if (!maps_open(pid, &maps)) {
        int error = errno;

        ifg_free(map);
        ifg_free(hooks);
        if (error == EACCES || error == EPERM)
            return ifg_fail(err, IFG_PERMISSION,
                            "cannot look into process %d: this needs the capability "
                            "CAP_SYS_PTRACE; use sudo",
                            (int)pid);
        return ifg_fail(err, IFG_NOT_FOUND, "there is no process %d", (int)pid);
    }
    while (maps_next_file(&maps, map)) {
        const char *name = file_name(map->path);
        bool is_preload = strncmp(name, "libinferogram-preload.so", 24) == 0;

        if (strncmp(name, "libinferogram-ort.so", 20) == 0 && map->offset == 0)
            *hooks = *map;
        preloaded = preloaded || is_preload;
        carries = carries || strncmp(name, "libinferogram.so", 16) == 0;
        if (runtime_of_file(name, &is_module) == &runtime_ort && is_module)
            add_module(out_libraries, pid, map);
        else if (map->executable && !is_preload) /* which stands in for OrtGetApiBase */
            add(out_libraries, pid, map, known);
    }
    out_libraries->hooked = hooks->path[0] && (preloaded || is_patched(pid, hooks));
    out_libraries->python_hooked = out_libraries->python && carries && is_launched(pid);
    maps_close(&maps);
    ifg_free(map);
    ifg_free(hooks);
    return IFG_OK;
}

enum ifg_status ort_library_open(pid_t pid, const struct ort_library *library, int *out_fd,
                                 struct ifg_error *err)
{
    enum ifg_status status;
    struct stat found;

    *out_fd = -1;
    if (library->reason[0])
        return ifg_fail(err, IFG_PERMISSION, "%s", library->reason);
    /* The mapping leads to what the process has, whatever is at that path now. */
    if (strstr(library->file, "/map_files/"))
        *out_fd = open(library->file, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
    if (*out_fd >= 0)
        return IFG_OK;
    status = open_as_process(pid, library->path, 0, out_fd, err);
    if (status)
        return status;
    if (fstat(*out_fd, &found) < 0 || found.st_ino != library->key.inode) {
        close(*out_fd);
        *out_fd = -1;
        return ifg_fail(err, IFG_BUSY, "%.300s was replaced just now; try again", library->path);
    }
    return IFG_OK;
}

enum ifg_status ort_library_table(const struct ort_library *library, struct ort_table *out_table,
                                  struct ifg_error *err)
{
    struct elf_file *elf;
    enum ifg_status status;
    int fd = open(library->file, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);

    memset(out_table, 0, sizeof *out_table);
    if (library->reason[0]) {
        if (fd >= 0)
            close(fd);
        return ifg_fail(err, IFG_PERMISSION, "%s", library->reason);
    }
    if (fd < 0)
        return ifg_fail_errno(err, "cannot open %.200s", library->path);
    status = elf_file_open_fd(fd, file_name(library->path), &elf, err);
    close(fd);
    if (status)
        return status;
    status = ort_table_find(elf, out_table, err);
    elf_file_close(elf);
    return status;
}

bool ort_process_has_runtime(pid_t pid)
{
    struct ort_libraries *libraries = ifg_alloc(1, sizeof *libraries);
    struct ort_table *table = ifg_alloc(1, sizeof *table);
    bool has = false;

    if (libraries && table && ort_libraries_find(pid, NULL, libraries, NULL) == IFG_OK) {
        has = libraries->python;
        for (size_t i = 0; i < libraries->count && !has; i++)
            has = ort_library_table(&libraries->found[i], table, NULL) == IFG_OK;
    }
    ifg_free(table);
    ifg_free(libraries);
    return has;
}
