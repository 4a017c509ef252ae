// SPDX-License-Identifier: Apache-2.0
/* The buffered output of an export: see sink.h. */
#include "export/sink.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"

static void write_all(struct export_sink *sink, const char *data, size_t size)
{
    while (size > 0 && !sink->failed) {
        ssize_t count;

        if (sink->cancel && *sink->cancel) {
            sink->failed = true;
            sink->cancelled = true;
            return;
        }
        count = write(sink->fd, data, size);
        if (count < 0 && errno == EINTR)
            continue;
        if (count <= 0) {
            sink->failed = true;
            sink->saved_errno = count < 0 ? errno : ENOSPC;
            return;
        }
        data += count;
        size -= (size_t)count;
        sink->written += (uint64_t)count;
    }
}

void export_flush(struct export_sink *sink)
{
    if (!sink->failed)
        write_all(sink, sink->buffer, sink->used);
    sink->used = 0;
    if (!sink->failed && sink->progress)
        sink->progress(sink, sink->progress_context);
}

void export_put_large(struct export_sink *sink, const void *data, size_t size)
{
    export_flush(sink);
    if (size >= EXPORT_BUFFER) {
        write_all(sink, data, size);
        return;
    }
    memcpy(sink->buffer, data, size);
    sink->used = size;
}

/* A regular file, under another name until it is complete: nobody finds a part of it, not even
 * after SIGKILL or a power failure. */
static enum ifg_status open_file(struct export_sink *sink, const char *path, bool exists,
                                 struct ifg_error *err)
{
    size_t size = strlen(path) + 40;

    sink->path = ifg_strdup(path);
    if (!sink->path)
        return ifg_fail_no_memory(err, NULL);
    sink->replaces = exists;
    sink->partial = ifg_alloc(size, 1);
    if (!sink->partial)
        return ifg_fail_no_memory(err, NULL);
    snprintf(sink->partial, size, "%s.%ld.partial", path, (long)getpid());
    sink->fd = open(sink->partial, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (sink->fd >= 0)
        return IFG_OK;
    ifg_fail_errno(err, "cannot write %s", path);
    ifg_free(sink->path); /* not ours to remove */
    sink->path = NULL;
    return err ? err->status : IFG_IO;
}

enum ifg_status export_sink_open(struct export_sink *sink, const char *path, bool overwrite,
                                 struct ifg_error *err)
{
    enum ifg_status status = IFG_OK;
    struct stat info;

    memset(sink, 0, sizeof *sink);
    sink->fd = -1;
    sink->buffer = ifg_alloc(EXPORT_BUFFER, 1);
    if (!sink->buffer)
        return ifg_fail_no_memory(err, NULL);
    if (strcmp(path, "-") == 0) {
        sink->fd = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3);
        if (sink->fd < 0)
            status = ifg_fail_errno(err, "cannot write to standard output");
    } else if (stat(path, &info) != 0) {
        status = open_file(sink, path, false, err);
    } else if (S_ISDIR(info.st_mode)) {
        status = ifg_fail(err, IFG_INVALID, "%s is a directory", path);
    } else if (!S_ISREG(info.st_mode)) {
        sink->fd = open(path, O_WRONLY | O_CLOEXEC);
        if (sink->fd < 0)
            status = ifg_fail_errno(err, "cannot write to %s", path);
    } else if (!overwrite) {
        status = ifg_fail(err, IFG_INVALID, "%s exists already; -f replaces it", path);
    } else {
        status = open_file(sink, path, true, err);
    }
    if (status) {
        ifg_free(sink->buffer);
        ifg_free(sink->path);
        ifg_free(sink->partial);
        memset(sink, 0, sizeof *sink);
    }
    return status;
}

/* A file that somebody else has made meanwhile is not replaced unasked. */
static int give_name(const struct export_sink *sink)
{
    int result;

    if (sink->replaces)
        return rename(sink->partial, sink->path);
    result = renameat2(AT_FDCWD, sink->partial, AT_FDCWD, sink->path, RENAME_NOREPLACE);
    /* Not every file system can do that. */
    return result != 0 && (errno == EINVAL || errno == ENOSYS) ? rename(sink->partial, sink->path)
                                                               : result;
}

static enum ifg_status finish(struct export_sink *sink, struct ifg_error *err)
{
    if (sink->cancelled)
        return ifg_fail(err, IFG_CANCELLED, "interrupted; nothing was kept");
    if (sink->failed) {
        errno = sink->saved_errno;
        return ifg_fail_errno(err, "cannot write %s", sink->path ? sink->path : "the output");
    }
    if (close(sink->fd) != 0) {
        sink->fd = -1;
        return ifg_fail_errno(err, "cannot write %s", sink->path ? sink->path : "the output");
    }
    sink->fd = -1;
    if (sink->partial && give_name(sink) != 0)
        return ifg_fail_errno(err, "cannot write %s", sink->path);
    return IFG_OK;
}

enum ifg_status export_sink_close(struct export_sink *sink, bool good, struct ifg_error *err)
{
    enum ifg_status status = IFG_OK;

    if (good || sink->failed) {
        sink->progress = NULL;
        export_flush(sink);
        status = finish(sink, err);
    }
    if (sink->fd >= 0)
        close(sink->fd);
    if ((!good || status) && sink->path)
        unlink(sink->partial ? sink->partial : sink->path);
    ifg_free(sink->buffer);
    ifg_free(sink->path);
    ifg_free(sink->partial);
    memset(sink, 0, sizeof *sink);
    sink->fd = -1;
    return status;
}
