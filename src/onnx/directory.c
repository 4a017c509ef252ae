// SPDX-License-Identifier: Apache-2.0
/*
 * A directory as a model: packages, shards, several models with a tokenizer beside them. All files
 * are summed, each once even if it has several names. Directories behind symbolic links are not
 * entered, so there are no loops; what is too deep or too much is left out and said.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "onnx/onnx_internal.h"

#define DEPTH_MAX  16u
#define FILES_MAX  100000u
#define MODELS_MAX 256u
#define PATH_BYTES 4096u

struct found {
    dev_t device;
    ino_t inode;
    bool is_link;
    struct onnx_file file;
};

struct walk {
    struct opened *opened;
    char path[PATH_BYTES]; /* relative to the directory */
    size_t length;
    struct found *found;
    size_t count;
    bool is_too_much;
    bool has_other_models;
    size_t unreadable;
};

static bool ends_with(const char *name, const char *ending)
{
    size_t length = strlen(name);
    size_t end = strlen(ending);

    return length >= end && strcmp(name + length - end, ending) == 0;
}

/* Models that we cannot look into, but whose size is of interest. */
static bool is_other_model(const char *name)
{
    static const char *const endings[] = { ".mlmodel",      ".mlmodelc", ".mil", ".safetensors",
                                           ".gguf",         ".tflite",   ".pt",  ".pth",
                                           ".ckpt",         ".keras",    ".h5",  ".engine",
                                           "saved_model.pb" };

    for (size_t i = 0; i < sizeof endings / sizeof *endings; i++)
        if (ends_with(name, endings[i]))
            return true;
    return false;
}

static bool add_file(struct walk *walk, const char *name, const struct stat *info, bool is_link)
{
    struct onnx_model *model = &walk->opened->model;
    struct found *grown;
    char *path;

    if (walk->count == FILES_MAX) {
        walk->is_too_much = true;
        return true;
    }
    grown = arena_append(&walk->opened->arena, walk->found, walk->count, sizeof *grown);
    path = arena_text(&walk->opened->arena, walk->path, walk->length);
    if (!grown || !path)
        return onnx_no_memory(walk->opened);
    walk->found = grown;
    grown[walk->count++] = (struct found){
        .device = info->st_dev,
        .inode = info->st_ino,
        .is_link = is_link,
        .file = { .path = path, .bytes = (uint64_t)info->st_size },
    };
    walk->has_other_models = walk->has_other_models || is_other_model(name);
    model->has_genai_config = model->has_genai_config || strcmp(name, "genai_config.json") == 0;
    return true;
}

static bool walk_folder(struct walk *walk, int fd, unsigned depth);

static bool add_entry(struct walk *walk, int folder, const char *name, unsigned depth)
{
    size_t before = walk->length;
    struct stat link;
    struct stat info;
    bool good = true;
    int length;
    int fd;

    length =
        snprintf(walk->path + before, sizeof walk->path - before, "%s%s", before ? "/" : "", name);
    if (length < 0 || (size_t)length >= sizeof walk->path - before) {
        walk->path[before] = '\0';
        walk->is_too_much = true;
        return true;
    }
    walk->length = before + (size_t)length;
    if (fstatat(folder, name, &link, AT_SYMLINK_NOFOLLOW) != 0 ||
        fstatat(folder, name, &info, 0) != 0) {
        walk->unreadable++; /* a link to nowhere, or gone */
    } else if (S_ISREG(info.st_mode)) {
        good = add_file(walk, name, &info, S_ISLNK(link.st_mode));
    } else if (S_ISDIR(link.st_mode) && depth == DEPTH_MAX) {
        walk->is_too_much = true;
    } else if (S_ISDIR(link.st_mode)) {
        fd = openat(folder, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        if (fd < 0)
            walk->unreadable++;
        else
            good = walk_folder(walk, fd, depth + 1);
    }
    walk->length = before;
    walk->path[before] = '\0';
    return good;
}

/* Takes the descriptor. */
static bool walk_folder(struct walk *walk, int fd, unsigned depth)
{
    DIR *stream = fdopendir(fd);
    struct dirent *entry;
    bool good = true;

    if (!stream) {
        close(fd);
        walk->unreadable++;
        return true;
    }
    while (good && !walk->is_too_much && (entry = readdir(stream)) != NULL)
        if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
            good = add_entry(walk, dirfd(stream), entry->d_name, depth);
    closedir(stream);
    return good;
}

static int by_path(const void *left, const void *right)
{
    const struct onnx_file *one = left;
    const struct onnx_file *two = right;

    return strcmp(one->path, two->path);
}

static bool is_same(const struct found *one, const struct found *two)
{
    return one->device == two->device && one->inode == two->inode;
}

static bool is_model(const char *name)
{
    return ends_with(name, ".onnx") || ends_with(name, ".ort");
}

/* The names of one file beside each other, the most telling one first: caches keep files under
 * names that say nothing, with links to them. */
static int by_identity(const void *left, const void *right)
{
    const struct found *one = left;
    const struct found *two = right;

    if (one->device != two->device)
        return one->device < two->device ? -1 : 1;
    if (one->inode != two->inode)
        return one->inode < two->inode ? -1 : 1;
    if (is_model(one->file.path) != is_model(two->file.path))
        return is_model(one->file.path) ? -1 : 1;
    if (one->is_link != two->is_link)
        return one->is_link ? 1 : -1;
    return strcmp(one->file.path, two->file.path);
}

static bool keep_each_once(struct walk *walk)
{
    struct onnx_model *model = &walk->opened->model;

    model->files = arena_alloc(&walk->opened->arena, walk->count, sizeof *model->files);
    if (!model->files)
        return onnx_no_memory(walk->opened);
    if (walk->count)
        qsort(walk->found, walk->count, sizeof *walk->found, by_identity);
    for (size_t i = 0; i < walk->count; i++) {
        if (i && is_same(&walk->found[i - 1], &walk->found[i]))
            continue;
        model->files[model->file_count++] = walk->found[i].file;
        model->file_bytes += walk->found[i].file.bytes;
    }
    if (model->file_count)
        qsort(model->files, model->file_count, sizeof *model->files, by_path);
    return true;
}

/* One that cannot be read does not hide the others. */
static bool open_models(struct opened *opened)
{
    struct onnx_model *model = &opened->model;
    const struct onnx_options quick = { 0 };
    char path[2 * PATH_BYTES];

    for (size_t i = 0; i < model->file_count; i++) {
        struct onnx_model **grown;
        struct ifg_error err = { 0 };

        if (!is_model(model->files[i].path))
            continue;
        if (model->model_count == MODELS_MAX)
            return onnx_note(opened, "more than %u models; the others are only summed", MODELS_MAX);
        grown = arena_append(&opened->arena, model->models, model->model_count, sizeof *grown);
        if (!grown)
            return onnx_no_memory(opened);
        model->models = grown;
        snprintf(path, sizeof path, "%s/%s", model->path, model->files[i].path);
        if (onnx_open(path, &quick, &grown[model->model_count], &err) == IFG_OK) {
            model->parameters += grown[model->model_count]->parameters;
            model->weight_bytes += grown[model->model_count]->weight_bytes;
            model->node_count += grown[model->model_count]->node_count;
            model->model_count++;
        } else if (err.status == IFG_NO_MEMORY) {
            return onnx_no_memory(opened);
        } else if (!onnx_note(opened, "%s", err.message)) {
            return false;
        }
    }
    return true;
}

static bool note_limits(const struct walk *walk)
{
    struct opened *opened = walk->opened;

    if (walk->is_too_much &&
        !onnx_note(opened, "more than %u files, or too deep: only a part of it was summed",
                   FILES_MAX))
        return false;
    return !walk->unreadable ||
           onnx_note(opened, "%zu entries cannot be read and are not summed", walk->unreadable);
}

bool onnx_read_directory(struct opened *opened, int fd)
{
    struct onnx_model *model = &opened->model;
    struct walk walk = { .opened = opened };
    int copy = fcntl(fd, F_DUPFD_CLOEXEC, 0);

    model->format = ONNX_FORMAT_DIRECTORY;
    if (copy < 0) {
        opened->wire.status = ifg_fail_errno(opened->wire.err, "cannot read %s", model->path);
        return false;
    }
    if (!walk_folder(&walk, copy, 0) || !keep_each_once(&walk) || !open_models(opened))
        return false;
    if (!model->model_count && !walk.has_other_models && model->note_count)
        return wire_fail(&opened->wire, IFG_CORRUPT, "no model in it can be read: %s",
                         model->notes[0]);
    if (!model->model_count && !walk.has_other_models)
        return wire_fail(&opened->wire, IFG_INVALID,
                         "a directory without a model in it (%zu files%s)", model->file_count,
                         walk.is_too_much ? " seen, and more" : "");
    if (!note_limits(&walk))
        return false;
    if (!model->model_count && walk.has_other_models)
        return onnx_note(opened, "no ONNX model in it: its files are only summed");
    return true;
}
