// SPDX-License-Identifier: Apache-2.0
/*
 * Custom operators. ONNX Runtime's kernel function stops exceptions of std::exception's family
 * only; one of another kind, thrown by an operator of the program's own, passes through it, and
 * through a return probe no exception can pass: the program would end. So where there are libraries
 * of such operators, kernels are not probed.
 */
#include "collect/ort_attach/attach_internal.h"

#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "collect/ort_attach/maps.h"
#include "symbol/elf_file.h"
#include "symbol/exported.h"

/* The door of such a library, by custom also with the name of the library behind it. */
#define DOOR "RegisterCustomOps*"

static bool has_door(pid_t pid, const char *path)
{
    struct exported_functions functions = { 0 };
    struct elf_file *elf = NULL;
    char file[PATH_MAX + 64];
    bool found;

    snprintf(file, sizeof file, "/proc/%d/root%s", (int)pid, path);
    if (elf_file_open(file, &elf, NULL) != IFG_OK)
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
    while (line && !found && maps_next(&maps, line)) {
        const char *slash = strrchr(line->path, '/');

        if (!line->executable || line->deleted || !slash || strstr(slash, "onnxruntime"))
            continue;
        found = has_door(pid, line->path);
        if (found)
            snprintf(out_name, size, "%s", slash + 1);
    }
    ifg_free(line);
    maps_close(&maps);
    return found;
}
