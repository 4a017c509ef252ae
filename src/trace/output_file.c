// SPDX-License-Identifier: Apache-2.0
/*
 * What every output does, and the one that is a file: creating it without harming what is there,
 * appending, and reading it again while somebody else writes it.
 */
#include "trace/output.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"

#define CREATE_ATTEMPTS 4 /* somebody may create the file again while we replace it */

/* The directory part of path, for messages. */
static const char *directory_of(const char *path, char *buffer, size_t size)
{
    const char *slash = strrchr(path, '/');

    if (!slash)
        return ".";
    if (slash == path)
        return "/";
    snprintf(buffer, size, "%.*s", (int)(slash - path), path);
    return buffer;
}

static enum ifg_status fail_create(const char *path, struct ifg_error *err)
{
    char buffer[512];
    const char *directory = directory_of(path, buffer, sizeof buffer);
    int saved = errno;
    struct stat info;

    if (saved == ENOENT && *path && stat(directory, &info) < 0)
        return ifg_fail(err, IFG_NOT_FOUND, "cannot create %s: directory %s does not exist", path,
                        directory);
    errno = saved;
    return ifg_fail_errno(err, "cannot create %s in directory %s", path, directory);
}

/* Makes way for a new file, but never for something that is not a file. */
static enum ifg_status remove_existing(const char *path, bool overwrite, struct ifg_error *err)
{
    struct stat info;

    if (lstat(path, &info) < 0)
        return errno == ENOENT ? IFG_OK : fail_create(path, err);
    if (S_ISDIR(info.st_mode))
        return ifg_fail(err, IFG_INVALID, "%s is a directory; give a file name with -o", path);
    if (!overwrite)
        return ifg_fail(err, IFG_INVALID,
                        "%s exists; give another name with -o or replace it with -f", path);
    if (!S_ISREG(info.st_mode) && !S_ISLNK(info.st_mode))
        return ifg_fail(err, IFG_INVALID, "%s is not a regular file; it is not replaced", path);
    if (unlink(path) < 0 && errno != ENOENT) {
        char buffer[512];
        return ifg_fail_errno(err, "cannot replace %s in directory %s", path,
                              directory_of(path, buffer, sizeof buffer));
    }
    return IFG_OK;
}

/* mode 0: as the umask has it. */
static enum ifg_status create_file(const char *path, bool overwrite, uint32_t mode, int *out_fd,
                                   struct ifg_error *err)
{
    for (int attempt = 0; attempt < CREATE_ATTEMPTS; attempt++) {
        enum ifg_status status;
        int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW,
                      mode ? mode & 0600 : 0644);

        if (fd >= 0) {
            if (mode && mode != 0600 && fchmod(fd, mode) < 0) {
                status = ifg_fail_errno(err, "cannot set the mode of %s", path);
                close(fd);
                unlink(path);
                return status;
            }
            *out_fd = fd;
            return IFG_OK;
        }
        if (errno == EINTR)
            continue;
        if (errno != EEXIST)
            return fail_create(path, err);
        status = remove_existing(path, overwrite, err);
        if (status)
            return status;
    }
    return ifg_fail(err, IFG_BUSY, "cannot create %s: something else keeps creating it", path);
}

struct file_output {
    struct trace_output output;
    int fd;
};

static ssize_t file_write(struct trace_output *output, const void *data, size_t size)
{
    return write(((struct file_output *)output)->fd, data, size);
}

static void file_cut(struct trace_output *output, uint64_t bytes)
{
    /* A failure to cut is no new fact: a reader skips the partial block by its checksum. */
    if (ftruncate(((struct file_output *)output)->fd, (off_t)bytes) < 0)
        return;
}

static void file_remove(struct trace_output *output)
{
    unlink(output->name);
}

static int file_close(struct trace_output *output)
{
    int result = close(((struct file_output *)output)->fd);

    /* After EINTR Linux has closed it all the same. */
    return result < 0 && errno == EINTR ? 0 : result;
}

static const struct trace_output_functions file_output_functions = {
    .write = file_write,
    .cut = file_cut,
    .remove = file_remove,
    .close = file_close,
};

enum ifg_status trace_output_file(const char *path, bool overwrite, uint32_t mode,
                                  struct trace_output **out_output, struct ifg_error *err)
{
    struct file_output *file = ifg_alloc(1, sizeof *file);
    enum ifg_status status = IFG_NO_MEMORY;

    *out_output = NULL;
    if (file)
        file->output.name = ifg_strdup(path);
    if (!file || !file->output.name)
        ifg_fail_no_memory(err, "to write %s", path);
    else
        status = create_file(path, overwrite, mode, &file->fd, err);
    if (status) {
        if (file)
            ifg_free(file->output.name);
        ifg_free(file);
        return status;
    }
    file->output.functions = &file_output_functions;
    *out_output = &file->output;
    return IFG_OK;
}

enum ifg_status trace_output_append(struct trace_output *output, uint64_t written, const void *data,
                                    size_t size, struct ifg_error *err)
{
    const uint8_t *at = data;
    enum ifg_status status;

    while (size) {
        ssize_t done = output->functions->write(output, at, size);

        if (done > 0) {
            at += done;
            size -= (size_t)done;
            continue;
        }
        if (done < 0 && errno == EINTR)
            continue;
        if (done == 0)
            errno = ENOSPC;
        if (written)
            status = ifg_fail_errno(
                err, "%s: cannot write more after %llu bytes (what is there can be read)",
                output->name, (unsigned long long)written);
        else
            status = ifg_fail_errno(err, "cannot write to %s", output->name);
        output->functions->cut(output, written);
        return status;
    }
    return IFG_OK;
}

void trace_output_remove(struct trace_output *output)
{
    if (output->functions->remove)
        output->functions->remove(output);
}

enum ifg_status trace_output_close(struct trace_output *output, struct ifg_error *err)
{
    enum ifg_status status = IFG_OK;

    if (!output)
        return IFG_OK;
    if (output->functions->close(output) < 0)
        status = ifg_fail_errno(err, "%s: cannot close the file", output->name);
    ifg_free(output->name);
    ifg_free(output);
    return status;
}

/* ---- reading ---- */

struct file_input {
    struct trace_input input;
    int fd; /* -1: there is no file yet */
    dev_t device;
    ino_t inode;
};

static void forget_file(struct file_input *file)
{
    if (file->fd >= 0)
        close(file->fd);
    file->fd = -1;
}

/* Opens the file if there is one; *out_size only then. */
static enum ifg_status open_file(struct file_input *file, uint64_t *out_size, struct ifg_error *err)
{
    const char *path = file->input.name;
    struct stat info;

    if (file->fd < 0) {
        /* Not blocking: a pipe of that name must not hold us up before we see that it is one. */
        file->fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
        if (file->fd < 0)
            return errno == ENOENT ? IFG_OK : ifg_fail_errno(err, "cannot open %s", path);
        if (fstat(file->fd, &info) < 0 || !S_ISREG(info.st_mode)) {
            forget_file(file);
            return ifg_fail(err, IFG_INVALID, "%s is not a regular file", path);
        }
        file->device = info.st_dev;
        file->inode = info.st_ino;
    } else if (fstat(file->fd, &info) < 0) {
        return ifg_fail_errno(err, "cannot look at %s", path);
    }
    *out_size = (uint64_t)info.st_size;
    return IFG_OK;
}

static enum ifg_status file_look(struct trace_input *input, uint64_t read_to,
                                 struct trace_look *out_look, struct ifg_error *err)
{
    struct file_input *file = (struct file_input *)input;
    enum ifg_status status;
    struct stat named;

    *out_look = (struct trace_look){ 0 };
    if (file->fd >= 0 && stat(input->name, &named) == 0 &&
        (named.st_dev != file->device || named.st_ino != file->inode)) {
        forget_file(file);
        out_look->other = true;
        read_to = 0;
    }
    status = open_file(file, &out_look->bytes, err);
    if (!status && file->fd >= 0 && out_look->bytes < read_to) {
        forget_file(file); /* cut, perhaps to be written again */
        out_look->other = true;
        status = open_file(file, &out_look->bytes, err);
    }
    out_look->there = file->fd >= 0;
    return status;
}

static bool file_read(struct trace_input *input, uint64_t offset, void *out, size_t size)
{
    uint8_t *at = out;

    while (size) {
        ssize_t got = pread(((struct file_input *)input)->fd, at, size, (off_t)offset);

        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            return false;
        at += got;
        offset += (uint64_t)got;
        size -= (size_t)got;
    }
    return true;
}

static bool file_is_abandoned(struct trace_input *input)
{
    int fd = ((struct file_input *)input)->fd;
    bool nobody;

    if (fd < 0)
        return false;
    /* A lease for reading is granted only while nobody has the file open for writing. If somebody
     * opens it in the moment in which it is ours, a signal comes; this one is ignored by default.
     */
    fcntl(fd, F_SETSIG, SIGURG);
    nobody = fcntl(fd, F_SETLEASE, F_RDLCK) == 0;
    if (nobody)
        fcntl(fd, F_SETLEASE, F_UNLCK);
    return nobody;
}

static void file_input_close(struct trace_input *input)
{
    forget_file((struct file_input *)input);
}

static const struct trace_input_functions file_input_functions = {
    .look = file_look,
    .read = file_read,
    .is_abandoned = file_is_abandoned,
    .close = file_input_close,
};

enum ifg_status trace_input_file(const char *path, struct trace_input **out_input,
                                 struct ifg_error *err)
{
    struct file_input *file = ifg_alloc(1, sizeof *file);

    *out_input = NULL;
    if (file)
        file->input.name = ifg_strdup(path);
    if (!file || !file->input.name) {
        ifg_free(file);
        return ifg_fail_no_memory(err, "to follow %s", path);
    }
    file->fd = -1;
    file->input.functions = &file_input_functions;
    *out_input = &file->input;
    return IFG_OK;
}

void trace_input_close(struct trace_input *input)
{
    if (!input)
        return;
    input->functions->close(input);
    ifg_free(input->name);
    ifg_free(input);
}
