// SPDX-License-Identifier: Apache-2.0
/*
 * Models as files, with weights in other files. Strategies:
 *
 * 1. The input is a model in a folder of its own, with a file of weights, a folder, a link that
 *    leads out of it and a pipe beside it: locations, offsets and lengths that are anything.
 * 2. The same through the window of a file instead of memory: everything that is read comes in
 *    pieces.
 *
 * Nothing outside of the folder counts, and what is said to be there is there.
 */
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "onnx/onnx.h"

#define WEIGHTS 4096

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static char folder[] = "/tmp/ifg-onnx-fuzz-XXXXXX";
static const char *const names[] = { "weights.bin", "pipe", "link" };

static void in_folder(char out[PATH_MAX], const char *name)
{
    snprintf(out, PATH_MAX, "%s/%s", folder, name);
}

static void remove_folder(void)
{
    char path[PATH_MAX];

    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        in_folder(path, names[i]);
        unlink(path);
    }
    in_folder(path, "sub");
    rmdir(path);
    in_folder(path, "model.onnx");
    unlink(path);
    rmdir(folder);
}

static void make_folder(void)
{
    char path[PATH_MAX];
    int fd;

    if (!mkdtemp(folder))
        abort();
    atexit(remove_folder);
    in_folder(path, "weights.bin");
    fd = open(path, O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
    if (fd < 0 || ftruncate(fd, WEIGHTS))
        abort();
    close(fd);
    in_folder(path, "sub");
    if (mkdir(path, 0700))
        abort();
    in_folder(path, "pipe");
    if (mkfifo(path, 0600))
        abort();
    in_folder(path, "link");
    if (symlink("/etc/passwd", path))
        abort();
}

static void check(const struct onnx_model *model)
{
    uint64_t bytes = 0;

    for (size_t i = 0; i < model->file_count; i++) {
        const struct onnx_file *file = &model->files[i];

        if ((file->is_outside || file->missing) && file->bytes)
            abort();
        if ((file->path[0] == '/' || strncmp(file->path, "../", 3) == 0) && !file->is_outside)
            abort();
        bytes += file->bytes;
    }
    if (bytes != model->external_bytes)
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const struct onnx_options costs = { .costs = true };
    static bool made;
    struct onnx_model *model = NULL;
    char path[PATH_MAX];
    int fd;

    if (!made)
        make_folder();
    made = true;
    in_folder(path, "model.onnx");
    fd = open(path, O_CREAT | O_WRONLY | O_TRUNC | O_CLOEXEC, 0600);
    if (fd < 0)
        return 0;
    if (write(fd, data, size) == (ssize_t)size && onnx_open(path, &costs, &model, NULL) == IFG_OK)
        check(model);
    onnx_close(model);
    close(fd);
    return 0;
}
