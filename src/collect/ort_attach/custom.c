// SPDX-License-Identifier: Apache-2.0
/*
 * Custom operators. ONNX Runtime's kernel function stops exceptions of std::exception's family
 * only; one of another kind, thrown by an operator of the program's own, passes through it, and
 * through a return probe no exception can pass: the program would end. So where there are libraries
 * of such operators, kernels are not probed.
 */
#include "collect/ort_attach/attach_internal.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "system/maps.h"
#include "symbol/elf_file.h"
#include "symbol/exported.h"
#include "system/open_as.h"

/* The door of such a library, by custom also with the name of the library behind it. */
#define DOOR "RegisterCustomOps*"

/* Through what is mapped, or, for those who may not, by its path with the rights of its user. */
static int open_mapped(pid_t pid, const struct map_line *line)
{
    struct stat facts;
    char path[96];
    int fd;

    snprintf(path, sizeof path, "/proc/%d/map_files/%" PRIx64 "-%" PRIx64, (int)pid, line->start,
             line->end);
    fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (fd >= 0 || line->deleted || open_as_process(pid, line->path, 0, &fd, NULL))
        return fd;
    if (fstat(fd, &facts) == 0 && facts.st_ino == line->inode)
        return fd;
    close(fd);
    return -1;
}

static bool has_door(pid_t pid, const struct map_line *line)
{
    struct exported_functions functions = { 0 };
    struct elf_file *elf = NULL;
    int fd = open_mapped(pid, line);
    enum ifg_status status = IFG_NOT_FOUND;
    bool found;

    if (fd >= 0) {
        status = elf_file_open_fd(fd, line->path, &elf, NULL);
        close(fd);
    }
    if (status)
        return false;
    found = exported_find(elf, DOOR, &functions, NULL) == IFG_OK;
    exported_fini(&functions);
    elf_file_close(elf);
    return found;
}

bool attach_has_custom_operators(pid_t pid, char *out_name, size_t size)
{
    struct map_line *line;
    struct maps maps;
    bool found = false;

    if (!maps_open(pid, &maps))
        return false;
    line = ifg_alloc(1, sizeof *line);
    while (line && !found && maps_next_file(&maps, line)) {
        const char *slash = strrchr(line->path, '/');

        if (!line->executable || line->deleted || !slash || strstr(slash, "onnxruntime"))
            continue;
        found = has_door(pid, line);
        if (found)
            snprintf(out_name, size, "%s", slash + 1);
    }
    ifg_free(line);
    maps_close(&maps);
    return found;
}
