// SPDX-License-Identifier: Apache-2.0
/*
 * The file under a trace writer: creating it, appending whole blocks, remembering the first error,
 * and closing it with a footer.
 */
#include "trace/writer_internal.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <time.h>
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

/* Appends bytes, or leaves the file as it was and remembers why. */
static void append(struct trace_writer *writer, const uint8_t *data, size_t size)
{
    size_t done = 0;

    while (done < size) {
        ssize_t written = write(writer->fd, data + done, size - done);

        if (written > 0) {
            done += (size_t)written;
            continue;
        }
        if (written < 0 && errno == EINTR)
            continue;
        if (written == 0)
            errno = ENOSPC;
        if (writer->bytes)
            ifg_fail_errno(&writer->error,
                           "%s: cannot write more after %llu bytes (what is there can be read)",
                           writer->path, (unsigned long long)writer->bytes);
        else
            ifg_fail_errno(&writer->error, "cannot write to %s", writer->path);
        /* A failure to cut is no new fact: a reader skips the partial block by its checksum. */
        if (ftruncate(writer->fd, (off_t)writer->bytes) < 0)
            return;
        return;
    }
    writer->bytes += size;
}

static void writer_destroy(struct trace_writer *writer)
{
    while (writer->streams)
        trace_stream_destroy(writer->streams);
    if (writer->fd >= 0)
        close(writer->fd);
    trace_packer_fini(&writer->packer);
    zone_encoder_fini(&writer->zone_encoder);
    ifg_bytes_fini(&writer->fields);
    ifg_bytes_fini(&writer->definitions);
    ifg_bytes_fini(&writer->all_definitions);
    ifg_bytes_fini(&writer->index);
    ifg_free(writer->path);
    ifg_free(writer);
}

static enum ifg_status create(const char *path, bool overwrite, uint32_t mode,
                              const struct trace_identity *identity,
                              struct trace_writer **out_writer, struct ifg_error *err)
{
    uint8_t header[TRACE_FILE_HEADER_BYTES];
    struct trace_writer *writer;
    enum ifg_status status = IFG_NO_MEMORY;

    *out_writer = NULL;
    writer = ifg_alloc(1, sizeof *writer);
    if (!writer)
        return ifg_fail(err, IFG_NO_MEMORY, "not enough memory to write %s", path);
    writer->fd = -1;
    ifg_bytes_init(&writer->fields, TRACE_PAYLOAD_MAX);
    ifg_bytes_init(&writer->definitions, TRACE_PAYLOAD_MAX);
    ifg_bytes_init(&writer->all_definitions, TRACE_FOOTER_MAX);
    ifg_bytes_init(&writer->index, TRACE_FOOTER_MAX);
    writer->path = ifg_strdup(path);
    if (!writer->path || trace_packer_init(&writer->packer)) {
        ifg_fail(err, IFG_NO_MEMORY, "not enough memory to write %s", path);
        goto out;
    }
    status = create_file(path, overwrite, mode, &writer->fd, err);
    if (status)
        goto out;
    trace_file_header_put(header, identity);
    append(writer, header, sizeof header);
    status = trace_writer_status(writer, err);
    if (status) {
        unlink(path);
        goto out;
    }
    *out_writer = writer;
    writer = NULL;
out:
    if (writer)
        writer_destroy(writer);
    return status;
}

enum ifg_status trace_writer_create_as(const char *path, bool overwrite,
                                       const struct trace_identity *identity,
                                       struct trace_writer **out_writer, struct ifg_error *err)
{
    return create(path, overwrite, 0, identity, out_writer, err);
}

enum ifg_status trace_writer_create_private(const char *path, bool overwrite, uint32_t mode,
                                            struct trace_writer **out_writer, struct ifg_error *err)
{
    struct trace_identity identity = { 0 };
    struct timespec now = { 0 };

    clock_gettime(CLOCK_REALTIME, &now);
    identity.created_realtime_ns = (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
    if (getrandom(identity.trace_id, sizeof identity.trace_id, GRND_NONBLOCK) < 0) {
        /* Before the kernel has entropy, time and process are the best there is. */
        store_u64(identity.trace_id, identity.created_realtime_ns);
        store_u64(identity.trace_id + 8, (uint64_t)getpid());
    }
    return create(path, overwrite, mode, &identity, out_writer, err);
}

enum ifg_status trace_writer_create(const char *path, bool overwrite,
                                    struct trace_writer **out_writer, struct ifg_error *err)
{
    return trace_writer_create_private(path, overwrite, 0, out_writer, err);
}

enum ifg_status trace_writer_status(const struct trace_writer *writer, struct ifg_error *err)
{
    if (trace_writer_broken(writer) && err)
        *err = writer->error;
    return writer->error.status;
}

uint64_t trace_writer_bytes(const struct trace_writer *writer)
{
    return writer->bytes;
}

const char *trace_writer_path(const struct trace_writer *writer)
{
    return writer->path;
}

void trace_writer_no_memory(struct trace_writer *writer, const char *what)
{
    if (!trace_writer_broken(writer))
        ifg_fail(&writer->error, IFG_NO_MEMORY,
                 "%s: not enough memory for %s after %llu bytes (what is there can be read)",
                 writer->path, what, (unsigned long long)writer->bytes);
}

static void index_block(struct trace_writer *writer, const struct trace_block_head *head,
                        uint64_t offset)
{
    struct ifg_bytes *index = &writer->index;

    if (writer->footer_impossible)
        return;
    ifg_bytes_put_varint(index, offset - writer->last_offset);
    ifg_bytes_put_varint(index, head->type);
    ifg_bytes_put_varint(index, head->stream);
    ifg_bytes_put_varint(index, head->count);
    ifg_bytes_put_varint(index, head->t0);
    ifg_bytes_put_varint(index, head->t1 - head->t0);
    ifg_bytes_put_varint(index, head->dropped);
    writer->last_offset = offset;
    if (index->failed)
        writer->footer_impossible = true;
}

void trace_writer_emit(struct trace_writer *writer, struct trace_block_head *head,
                       const struct trace_column *columns, size_t count)
{
    enum ifg_status status;
    uint64_t offset;

    if (writer->definitions.size && head->type != TRACE_BLOCK_DEFINITIONS)
        trace_writer_flush_definitions(writer);
    if (trace_writer_broken(writer))
        return;
    head->sequence = writer->blocks;
    status = trace_pack(&writer->packer, head, columns, count);
    if (status == IFG_NO_MEMORY) {
        trace_writer_no_memory(writer, "a block");
        return;
    }
    if (status) {
        ifg_fail(&writer->error, IFG_INTERNAL, "%s: a block of type %u is too large", writer->path,
                 head->type);
        return;
    }
    offset = writer->bytes;
    append(writer, writer->packer.data, writer->packer.size);
    if (trace_writer_broken(writer))
        return;
    writer->blocks++;
    if (head->type != TRACE_BLOCK_FOOTER)
        index_block(writer, head, offset);
}

void trace_writer_clock_pairs(struct trace_writer *writer, uint32_t clock,
                              const struct trace_clock_pair *pairs, size_t count)
{
    struct trace_block_head head = { .type = TRACE_BLOCK_CLOCK, .stream = clock };
    struct trace_clock_pair before = { 0 };
    struct trace_column column;
    struct ifg_bytes bytes;

    if (trace_writer_broken(writer) || count == 0)
        return;
    ifg_bytes_init(&bytes, TRACE_PAYLOAD_MAX - 1024);
    head.count = (uint32_t)count;
    head.t0 = UINT64_MAX;
    for (size_t i = 0; i < count; i++) {
        const struct trace_clock_pair *pair = &pairs[i];

        ifg_bytes_put_varint(&bytes, ifg_zigzag((int64_t)(pair->ticks - before.ticks)));
        ifg_bytes_put_varint(&bytes,
                             ifg_zigzag((int64_t)(pair->monotonic_ns - before.monotonic_ns)));
        ifg_bytes_put_varint(&bytes, ifg_zigzag((int64_t)(pair->realtime_ns - before.realtime_ns)));
        before = *pair;
        if (pair->ticks < head.t0)
            head.t0 = pair->ticks;
        if (pair->ticks > head.t1)
            head.t1 = pair->ticks;
    }
    if (bytes.failed) {
        trace_writer_no_memory(writer, "clock pairs");
    } else {
        column.data = bytes.data;
        column.size = bytes.size;
        trace_writer_emit(writer, &head, &column, 1);
    }
    ifg_bytes_fini(&bytes);
}

static void append_footer(struct trace_writer *writer)
{
    struct trace_block_head head = { .type = TRACE_BLOCK_FOOTER };
    struct trace_column columns[FOOTER_COLUMNS] = {
        [FOOTER_INDEX] = { writer->index.data, writer->index.size },
        [FOOTER_DEFINITIONS] = { writer->all_definitions.data, writer->all_definitions.size },
    };
    uint64_t offset = writer->bytes;
    uint64_t blocks = writer->blocks;
    uint8_t trailer[TRACE_TRAILER_BYTES];

    if (writer->footer_impossible ||
        writer->index.size + writer->all_definitions.size > TRACE_FOOTER_MAX - 1024)
        return;
    head.count = blocks > UINT32_MAX ? UINT32_MAX : (uint32_t)blocks;
    trace_writer_emit(writer, &head, columns, FOOTER_COLUMNS);
    if (trace_writer_broken(writer))
        return;
    store_u64(trailer, offset);
    store_u64(trailer + 8, writer->bytes + sizeof trailer);
    store_u64(trailer + 16, blocks);
    store_u32(trailer + 24, trace_crc(trailer, 24));
    store_u32(trailer + 28, TRACE_TRAILER_MAGIC);
    append(writer, trailer, sizeof trailer);
}

enum ifg_status trace_writer_close(struct trace_writer *writer, struct ifg_error *err)
{
    enum ifg_status status;

    if (!writer)
        return IFG_OK;
    while (writer->streams)
        trace_stream_destroy(writer->streams);
    trace_writer_flush_definitions(writer);
    append_footer(writer);
    if (close(writer->fd) < 0 && errno != EINTR && !trace_writer_broken(writer))
        ifg_fail_errno(&writer->error, "%s: cannot close the file", writer->path);
    writer->fd = -1;
    status = trace_writer_status(writer, err);
    writer_destroy(writer);
    return status;
}
