// SPDX-License-Identifier: Apache-2.0
/*
 * External data: which files the tensors of a model are in, and how large those are. A model must
 * not make us look at files outside of its folder, so paths that lead out of it are only named.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "onnx/onnx_internal.h"

static int by_location(const void *left, const void *right)
{
    const struct external *one = left;
    const struct external *two = right;

    return strcmp(one->location, two->location);
}

static bool leads_out(const char *location)
{
    const char *part = location;

    if (*location == '/')
        return true;
    while (part) {
        if (strncmp(part, "..", 2) == 0 && (part[2] == '/' || part[2] == '\0'))
            return true;
        part = strchr(part, '/');
        part = part ? part + 1 : NULL;
    }
    return false;
}

/* The folder that the model is in; -1: there is none (a model in memory). */
static int open_folder(const char *path)
{
    const char *slash = strrchr(path, '/');
    char folder[4096];
    size_t length = slash ? (size_t)(slash - path) + 1 : 0;

    if (length >= sizeof folder)
        return -1;
    memcpy(folder, path, length);
    folder[length] = '\0';
    return open(length ? folder : ".", O_PATH | O_DIRECTORY | O_CLOEXEC);
}

static bool look_at(struct opened *opened, int folder, const struct external *external,
                    struct onnx_file *out)
{
    const char *shown = external->location;
    struct stat info;

    out->path = (char *)external->location;
    if (leads_out(external->location)) {
        out->is_outside = true;
        return onnx_note(opened,
                         "suspicious: the model places weights in '%.200s', outside of the model's "
                         "folder; that was not looked at",
                         shown);
    }
    if (folder < 0 || fstatat(folder, external->location, &info, 0) != 0) {
        out->missing = true;
        return onnx_note(opened, "weights are in '%.200s', which is missing (%s)", shown,
                         folder < 0 ? "no folder" : strerror(errno));
    }
    if (!S_ISREG(info.st_mode)) {
        out->missing = true;
        return onnx_note(opened, "the model places weights in '%.200s', which is not a file",
                         shown);
    }
    out->bytes = (uint64_t)info.st_size;
    opened->model.external_bytes += out->bytes;
    if (external->end > out->bytes)
        return onnx_note(opened, "'%.200s' is too short: weights reach to byte %llu, it has %llu",
                         shown, (unsigned long long)external->end, (unsigned long long)out->bytes);
    return true;
}

bool onnx_look_at_external(struct opened *opened)
{
    struct onnx_model *model = &opened->model;
    struct external *all = opened->externals;
    bool good = true;
    int folder;

    if (!opened->external_count)
        return true;
    qsort(all, opened->external_count, sizeof *all, by_location);
    folder = opened->wire.data ? -1 : open_folder(model->path);
    for (size_t i = 0; good && i < opened->external_count; i++) {
        struct onnx_file *grown;

        if (i + 1 < opened->external_count && strcmp(all[i].location, all[i + 1].location) == 0) {
            if (all[i].end > all[i + 1].end)
                all[i + 1].end = all[i].end;
            continue;
        }
        grown = arena_append(&opened->arena, model->files, model->file_count, sizeof *grown);
        if (!grown) {
            good = onnx_no_memory(opened);
            break;
        }
        model->files = grown;
        memset(&grown[model->file_count], 0, sizeof *grown);
        good = look_at(opened, folder, &all[i], &grown[model->file_count++]);
    }
    if (folder >= 0)
        close(folder);
    return good;
}
