// SPDX-License-Identifier: Apache-2.0
/* Bytes in, text out: see source.h. */
#include "import/source.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include "base/alloc.h"

#define RAW_BYTES   (256u << 10)
#define GZIP_WINDOW (15 + 16) /* the largest window; 16: with a gzip header */

struct source {
    int fd; /* -1: memory */
    const uint8_t *memory;
    size_t memory_left;
    size_t chunk; /* of memory at a time; 0: no limit */
    char name[256];
    uint8_t *raw;
    size_t raw_at;
    size_t raw_size;
    bool raw_end;
    uint64_t raw_bytes;
    uint64_t total_bytes;
    bool looked; /* at the first bytes */
    bool gzip;
    bool member_open; /* inside a gzip member */
    bool damaged;
    z_stream zip;
    uint8_t ahead[SOURCE_PEEK_MAX]; /* text that was looked at */
    size_t ahead_at;
    size_t ahead_size;
};

static enum ifg_status create(const char *name, struct source **out_source, struct ifg_error *err)
{
    struct source *source = ifg_alloc(1, sizeof *source);

    *out_source = NULL;
    if (source)
        source->raw = ifg_alloc(RAW_BYTES, 1);
    if (!source || !source->raw) {
        ifg_free(source);
        return ifg_fail_no_memory(err, "to read %s", name);
    }
    source->fd = -1;
    strncpy(source->name, name, sizeof source->name - 1);
    *out_source = source;
    return IFG_OK;
}

enum ifg_status source_open(const char *path, struct source **out_source, struct ifg_error *err)
{
    enum ifg_status status = create(path, out_source, err);
    struct source *source = *out_source;
    struct stat info;

    if (status)
        return status;
    if (strcmp(path, "-") == 0) {
        strncpy(source->name, "standard input", sizeof source->name - 1);
        source->fd = fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 3);
    } else {
        source->fd = open(path, O_RDONLY | O_CLOEXEC);
    }
    if (source->fd < 0 || fstat(source->fd, &info) < 0) {
        status = ifg_fail_errno(err, "cannot open %s", source->name);
    } else if (S_ISDIR(info.st_mode)) {
        status = ifg_fail(err, IFG_INVALID, "%s is a directory; give a file", source->name);
    } else if (S_ISREG(info.st_mode)) {
        source->total_bytes = (uint64_t)info.st_size;
    }
    if (status) {
        source_close(source);
        *out_source = NULL;
    }
    return status;
}

enum ifg_status source_open_memory(const void *data, size_t size, size_t chunk,
                                   struct source **out_source, struct ifg_error *err)
{
    enum ifg_status status = create("memory", out_source, err);

    if (status)
        return status;
    (*out_source)->memory = data;
    (*out_source)->memory_left = size;
    (*out_source)->total_bytes = size;
    (*out_source)->chunk = chunk;
    return IFG_OK;
}

void source_close(struct source *source)
{
    if (!source)
        return;
    if (source->gzip)
        inflateEnd(&source->zip);
    if (source->fd >= 0)
        close(source->fd);
    ifg_free(source->raw);
    ifg_free(source);
}

static enum ifg_status read_raw(struct source *source, uint8_t *out, size_t size, size_t *out_bytes,
                                struct ifg_error *err)
{
    *out_bytes = 0;
    if (source->raw_end)
        return IFG_OK;
    if (source->fd < 0) {
        if (source->chunk && size > source->chunk)
            size = source->chunk;
        *out_bytes = size < source->memory_left ? size : source->memory_left;
        if (*out_bytes)
            memcpy(out, source->memory, *out_bytes);
        source->memory += *out_bytes;
        source->memory_left -= *out_bytes;
    } else {
        ssize_t got;

        do
            got = read(source->fd, out, size);
        while (got < 0 && errno == EINTR);
        if (got < 0)
            return ifg_fail_errno(err, "cannot read %s", source->name);
        *out_bytes = (size_t)got;
    }
    source->raw_bytes += *out_bytes;
    source->raw_end = *out_bytes == 0;
    return IFG_OK;
}

static enum ifg_status fill_raw(struct source *source, struct ifg_error *err)
{
    source->raw_at = 0;
    source->raw_size = 0;
    return read_raw(source, source->raw, RAW_BYTES, &source->raw_size, err);
}

/* gzip is known by its first two bytes; a pipe may bring them one at a time. */
static enum ifg_status look(struct source *source, struct ifg_error *err)
{
    enum ifg_status status = fill_raw(source, err);

    source->looked = true;
    while (!status && source->raw_size < 2 && !source->raw_end) {
        size_t more = 0;

        status = read_raw(source, source->raw + source->raw_size, RAW_BYTES - source->raw_size,
                          &more, err);
        source->raw_size += more;
    }
    if (status)
        return status;
    if (source->raw_size >= 2 && source->raw[0] == 0x1f && source->raw[1] == 0x8b) {
        if (inflateInit2(&source->zip, GZIP_WINDOW) != Z_OK)
            return ifg_fail_no_memory(err, "to unpack %s", source->name);
        source->gzip = true;
        source->member_open = true;
    }
    return IFG_OK;
}

/* After a member another may follow; anything else there is not ours. */
static bool next_member(struct source *source)
{
    if (source->zip.avail_in == 0 && source->raw_end)
        return false;
    if (source->zip.avail_in && source->zip.next_in[0] != 0x1f)
        return false;
    source->member_open = inflateReset(&source->zip) == Z_OK;
    return source->member_open;
}

static enum ifg_status read_gzip(struct source *source, uint8_t *out, size_t size,
                                 size_t *out_bytes, struct ifg_error *err)
{
    z_stream *zip = &source->zip;

    zip->next_out = out;
    zip->avail_out = (uInt)(size < (1u << 30) ? size : (1u << 30));
    while (source->member_open && zip->next_out == out) {
        int result;

        if (source->raw_at == source->raw_size) {
            enum ifg_status status = fill_raw(source, err);

            if (status)
                return status;
        }
        zip->next_in = source->raw + source->raw_at;
        zip->avail_in = (uInt)(source->raw_size - source->raw_at);
        result = inflate(zip, Z_NO_FLUSH);
        source->raw_at = source->raw_size - zip->avail_in;
        if (result == Z_STREAM_END) {
            source->member_open = false;
            if (source->raw_at == source->raw_size && !source->raw_end) {
                enum ifg_status status = fill_raw(source, err);

                if (status)
                    return status;
                zip->next_in = source->raw;
                zip->avail_in = (uInt)source->raw_size;
            }
            next_member(source);
        } else if (result != Z_OK || (source->raw_end && zip->next_out == out)) {
            /* What was unpacked so far is good; the rest cannot be reached. */
            source->damaged = true;
            source->member_open = false;
        }
    }
    *out_bytes = (size_t)(zip->next_out - out);
    return IFG_OK;
}

enum ifg_status source_peek(struct source *source, void *out, size_t size, size_t *out_bytes,
                            struct ifg_error *err)
{
    enum ifg_status status = IFG_OK;
    uint8_t text[SOURCE_PEEK_MAX];
    size_t have = 0;
    size_t got = 1;

    size = size < sizeof text ? size : sizeof text;
    while (!status && got && have < size) {
        status = source_read(source, text + have, size - have, &got, err);
        have += status ? 0 : got;
    }
    memcpy(source->ahead, text, have);
    source->ahead_size = have;
    memcpy(out, text, have);
    *out_bytes = have;
    return status;
}

enum ifg_status source_read(struct source *source, void *out, size_t size, size_t *out_bytes,
                            struct ifg_error *err)
{
    enum ifg_status status = IFG_OK;

    *out_bytes = 0;
    if (source->ahead_at < source->ahead_size) {
        *out_bytes = source->ahead_size - source->ahead_at;
        *out_bytes = *out_bytes < size ? *out_bytes : size;
        memcpy(out, source->ahead + source->ahead_at, *out_bytes);
        source->ahead_at += *out_bytes;
        return IFG_OK;
    }
    if (!source->looked)
        status = look(source, err);
    if (status)
        return status;
    if (source->gzip)
        return read_gzip(source, out, size, out_bytes, err);
    if (source->raw_at < source->raw_size) { /* what look() read */
        *out_bytes = source->raw_size - source->raw_at;
        *out_bytes = *out_bytes < size ? *out_bytes : size;
        memcpy(out, source->raw + source->raw_at, *out_bytes);
        source->raw_at += *out_bytes;
        return IFG_OK;
    }
    return read_raw(source, out, size, out_bytes, err);
}

bool source_is_gzip(const struct source *source)
{
    return source->gzip;
}

bool source_is_damaged(const struct source *source)
{
    return source->damaged;
}

uint64_t source_raw_bytes(const struct source *source)
{
    return source->raw_bytes;
}

uint64_t source_total_bytes(const struct source *source)
{
    return source->total_bytes;
}
