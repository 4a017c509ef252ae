// SPDX-License-Identifier: Apache-2.0
/* Reading protocol buffers through a window: tags, numbers and lengths, each checked. */
#include "onnx/wire.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

bool wire_fail(struct wire *wire, enum ifg_status status, const char *format, ...)
{
    char text[640];
    va_list args;

    if (wire->status)
        return false;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    wire->status = ifg_fail(wire->err, status, "%s: %s", wire->path, text);
    return false;
}

size_t wire_read(struct wire *wire, uint64_t at, void *out, size_t bytes)
{
    size_t done = 0;

    if (at >= wire->bytes)
        return 0;
    if (bytes > wire->bytes - at)
        bytes = (size_t)(wire->bytes - at);
    if (wire->data) {
        memcpy(out, wire->data + at, bytes);
        return bytes;
    }
    while (done < bytes) {
        ssize_t got = pread(wire->fd, (char *)out + done, bytes - done, (off_t)(at + done));

        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            break;
        done += (size_t)got;
    }
    return done;
}

static bool byte_at(struct wire *wire, uint64_t at, uint8_t *out)
{
    if (wire->data) {
        *out = wire->data[at];
        return true;
    }
    if (at < wire->window_at || at - wire->window_at >= wire->window_bytes) {
        wire->window_at = at;
        wire->window_bytes = wire_read(wire, at, wire->window, WIRE_WINDOW_BYTES);
        if (!wire->window_bytes)
            return wire_fail(wire, IFG_IO,
                             "cannot read byte %llu; the file was %llu bytes long a moment ago",
                             (unsigned long long)at, (unsigned long long)wire->bytes);
    }
    *out = wire->window[at - wire->window_at];
    return true;
}

static const char *field_name(const struct wire_names *names, uint64_t number, char out[32])
{
    if (number < names->count && names->fields[number])
        return names->fields[number];
    snprintf(out, 32, "field %llu", (unsigned long long)number);
    return out;
}

/* True if taken; what went wrong is told by the caller, who knows what it was for. */
static bool take_varint(struct wire *wire, struct wire_span *in, uint64_t *out)
{
    uint64_t value = 0;

    for (unsigned shift = 0; shift < 64 && in->at < in->end; shift += 7) {
        uint8_t byte = 0;

        if (!byte_at(wire, in->at, &byte))
            return false;
        in->at++;
        if (shift == 63 && byte > 1)
            return false;
        value |= (uint64_t)(byte & 0x7f) << shift;
        if (!(byte & 0x80)) {
            *out = value;
            return true;
        }
    }
    return false;
}

static bool fail_number(struct wire *wire, const struct wire_span *in, uint64_t at,
                        const struct wire_names *names)
{
    if (in->at >= wire->bytes)
        return wire_fail(wire, IFG_CORRUPT,
                         "truncated: the file ends at byte %llu in the middle of the %s",
                         (unsigned long long)wire->bytes, names->name);
    return wire_fail(wire, IFG_CORRUPT, "damaged at byte %llu: a number in the %s has no end",
                     (unsigned long long)at, names->name);
}

static bool fail_length(struct wire *wire, const struct wire_span *in, uint64_t at,
                        const char *what, uint64_t bytes, const struct wire_names *names)
{
    if (in->end >= wire->bytes)
        return wire_fail(wire, IFG_CORRUPT,
                         "truncated: the %s at byte %llu has %llu bytes, but the file ends after "
                         "%llu of them (an incomplete download?)",
                         what, (unsigned long long)at, (unsigned long long)bytes,
                         (unsigned long long)(in->end - in->at));
    return wire_fail(wire, IFG_CORRUPT,
                     "damaged at byte %llu: the %s says that it has %llu bytes, but the %s around "
                     "it has only %llu left",
                     (unsigned long long)at, what, (unsigned long long)bytes, names->name,
                     (unsigned long long)(in->end - in->at));
}

static bool take_fixed(struct wire *wire, struct wire_span *in, size_t bytes, uint64_t *out)
{
    *out = 0;
    for (size_t i = 0; i < bytes; i++) {
        uint8_t byte = 0;

        if (!byte_at(wire, in->at, &byte))
            return false;
        in->at++;
        *out |= (uint64_t)byte << (8 * i);
    }
    return true;
}

bool wire_next(struct wire *wire, struct wire_span *in, const struct wire_names *names,
               struct wire_field *out)
{
    uint64_t tag;
    uint64_t length;
    char text[32];

    memset(out, 0, sizeof *out);
    out->at = in->at;
    if (wire->status || in->at >= in->end)
        return false;
    if (!take_varint(wire, in, &tag))
        return fail_number(wire, in, out->at, names);
    if (tag >> 3 == 0 || tag >> 32)
        return wire_fail(wire, IFG_CORRUPT, "damaged at byte %llu: the %s has no such field",
                         (unsigned long long)out->at, names->name);
    out->number = (uint32_t)(tag >> 3);
    out->type = (enum wire_type)(tag & 7);
    switch (tag & 7) {
    case WIRE_VARINT:
        return take_varint(wire, in, &out->value) || fail_number(wire, in, out->at, names);
    case WIRE_FIXED64:
    case WIRE_FIXED32:
        length = (tag & 7) == WIRE_FIXED64 ? 8 : 4;
        if (length > in->end - in->at)
            return fail_length(wire, in, out->at, field_name(names, out->number, text), length,
                               names);
        return take_fixed(wire, in, (size_t)length, &out->value);
    case WIRE_BYTES:
        if (!take_varint(wire, in, &length))
            return fail_number(wire, in, out->at, names);
        if (length > in->end - in->at)
            return fail_length(wire, in, out->at, field_name(names, out->number, text), length,
                               names);
        out->bytes.at = in->at;
        out->bytes.end = in->at + length;
        in->at += length;
        return true;
    default:
        return wire_fail(
            wire, IFG_CORRUPT, "damaged at byte %llu: the %s in the %s is written in no known way",
            (unsigned long long)out->at, field_name(names, out->number, text), names->name);
    }
}

bool wire_packed(struct wire *wire, struct wire_span *in, enum wire_type type, uint64_t *out)
{
    static const struct wire_names list = { "list of numbers", NULL, 0 };
    uint64_t bytes = type == WIRE_FIXED64 ? 8 : 4;
    uint64_t at = in->at;

    if (wire->status || in->at >= in->end)
        return false;
    if (type == WIRE_VARINT)
        return take_varint(wire, in, out) || fail_number(wire, in, at, &list);
    if (in->end - in->at < bytes)
        return fail_length(wire, in, at, "last number", bytes, &list);
    return take_fixed(wire, in, (size_t)bytes, out);
}
