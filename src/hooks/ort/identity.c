// SPDX-License-Identifier: Apache-2.0
/*
 * See identity.h. Model files are hostile: every length is checked, and weights are stepped over.
 * They are read, not mapped: somebody may cut a file off while we look at it.
 */
#include "hooks/ort/identity.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "ort_abi/content.h"

/* Domains that only ONNX Runtime writes, into models that it has optimized. */
static const char *const ort_domains[] = { "com.microsoft.nchwc", "com.ms.internal.nhwc" };

/* ---- bytes of a file or of memory ---- */

#define WINDOW_BYTES (16u << 10)

struct source {
    const unsigned char *data; /* NULL: a file */
    int fd;
    uint64_t bytes;
    uint64_t window_at;
    size_t window_bytes;
    unsigned char window[WINDOW_BYTES];
};

static size_t read_at(const struct source *source, uint64_t at, void *out, size_t bytes)
{
    size_t done = 0;

    if (at >= source->bytes)
        return 0;
    if (bytes > source->bytes - at)
        bytes = (size_t)(source->bytes - at);
    if (source->data) {
        memcpy(out, source->data + at, bytes);
        return bytes;
    }
    while (done < bytes) {
        ssize_t got = pread(source->fd, (char *)out + done, bytes - done, (off_t)(at + done));

        if (got <= 0 && !(got < 0 && errno == EINTR))
            break;
        done += got > 0 ? (size_t)got : 0;
    }
    return done;
}

static bool byte_at(struct source *source, uint64_t at, unsigned char *out)
{
    if (at < source->window_at || at - source->window_at >= source->window_bytes) {
        source->window_at = at;
        source->window_bytes = read_at(source, at, source->window, sizeof source->window);
        if (!source->window_bytes)
            return false;
    }
    *out = source->window[at - source->window_at];
    return true;
}

static size_t read_piece(void *source, uint64_t at, void *out, size_t bytes)
{
    return read_at(source, at, out, bytes);
}

/* ---- as much of protocol buffers as is needed ---- */

struct message {
    uint64_t at;
    uint64_t end;
};

struct field {
    unsigned number;
    bool has_length;
    struct message bytes; /* of a field that has a length */
};

static bool take_varint(struct source *source, struct message *in, uint64_t *out)
{
    uint64_t value = 0;

    for (unsigned shift = 0; shift < 64 && in->at < in->end; shift += 7) {
        unsigned char byte;

        if (!byte_at(source, in->at, &byte))
            return false;
        in->at++;
        value |= (uint64_t)(byte & 0x7f) << shift;
        if (!(byte & 0x80)) {
            *out = value;
            return true;
        }
    }
    return false;
}

static bool step_over(struct message *in, uint64_t bytes)
{
    if (bytes > in->end - in->at)
        return false;
    in->at += bytes;
    return true;
}

static bool take_field(struct source *source, struct message *in, struct field *out)
{
    uint64_t tag;
    uint64_t length;

    memset(out, 0, sizeof *out);
    if (!take_varint(source, in, &tag) || tag >> 3 == 0 || tag >> 32)
        return false;
    out->number = (unsigned)(tag >> 3);
    switch (tag & 7) {
    case 0:
        return take_varint(source, in, &length);
    case 1:
        return step_over(in, 8);
    case 2:
        if (!take_varint(source, in, &length) || length > in->end - in->at)
            return false;
        out->has_length = true;
        out->bytes.at = in->at;
        out->bytes.end = in->at + length;
        return step_over(in, length);
    case 5:
        return step_over(in, 4);
    default:
        return false;
    }
}

static void take_text(struct source *source, const struct message *bytes, char *out, size_t size)
{
    uint64_t length = bytes->end - bytes->at;
    size_t got = 0;

    for (; got < size - 1 && got < length; got++) {
        unsigned char byte;

        if (!byte_at(source, bytes->at + got, &byte))
            break;
        out[got] = (char)byte;
    }
    out[got] = '\0';
}

static bool is_ep_context(struct source *source, struct message node)
{
    struct field field;
    char type[16];

    while (take_field(source, &node, &field))
        if (field.number == 4 && field.has_length) { /* op_type */
            take_text(source, &field.bytes, type, sizeof type);
            return strcmp(type, "EPContext") == 0;
        }
    return false;
}

static void read_graph(struct source *source, struct message graph, struct model_identity *out)
{
    struct field field;

    while (take_field(source, &graph, &field)) {
        if (field.number == 1 && field.has_length) {
            out->nodes++;
            out->has_ep_context = out->has_ep_context || is_ep_context(source, field.bytes);
        }
        if (field.number == 2 && field.has_length)
            take_text(source, &field.bytes, out->graph_name, sizeof out->graph_name);
    }
}

static void read_opset(struct source *source, struct message opset, struct model_identity *out)
{
    struct field field;
    char domain[32];

    while (take_field(source, &opset, &field)) {
        if (field.number != 1 || !field.has_length)
            continue;
        take_text(source, &field.bytes, domain, sizeof domain);
        for (size_t i = 0; i < sizeof ort_domains / sizeof *ort_domains; i++)
            if (strcmp(domain, ort_domains[i]) == 0)
                out->saved_by_ort = true;
    }
}

static void identify(struct source *source, struct model_identity *out)
{
    struct message model = { 0, source->bytes };
    struct field field;
    char mark[4];

    out->bytes = source->bytes;
    out->hash = ort_content_hash(source->bytes, read_piece, source);
    if (read_at(source, 4, mark, sizeof mark) == sizeof mark && memcmp(mark, "ORTM", 4) == 0) {
        out->is_ort_format = true;
        return;
    }
    while (take_field(source, &model, &field)) {
        if (field.number == 7 && field.has_length)
            read_graph(source, field.bytes, out);
        if (field.number == 8 && field.has_length)
            read_opset(source, field.bytes, out);
    }
}

void identity_of_model(const void *data, size_t bytes, struct model_identity *out)
{
    struct source source = { .data = data, .fd = -1, .bytes = bytes };

    memset(out, 0, sizeof *out);
    if (data && bytes)
        identify(&source, out);
}

bool identity_of_file(const char *path, struct model_identity *out)
{
    struct source source = { .fd = -1 };
    struct stat info;
    int saved_errno = errno;

    memset(out, 0, sizeof *out);
    if (path)
        source.fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
    if (source.fd >= 0 && fstat(source.fd, &info) == 0 && S_ISREG(info.st_mode) &&
        info.st_size > 0) {
        source.bytes = (uint64_t)info.st_size;
        identify(&source, out);
    }
    if (source.fd >= 0)
        close(source.fd);
    errno = saved_errno;
    return source.bytes > 0;
}

void ifg_ort_identify(const void *data, size_t bytes, struct model_identity *out)
{
    identity_of_model(data, bytes, out);
}

void ifg_ort_identify_file(const char *path, struct model_identity *out)
{
    identity_of_file(path, out);
}
