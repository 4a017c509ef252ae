// SPDX-License-Identifier: Apache-2.0
/* Reading tracefs: the number of a tracepoint and the layout of its records. */
#include "collect/perf/tracepoint.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/mount.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "collect/perf/perf_errors.h"

#define TEXT_MAX  16384u
#define FIELD_MAX 8192u /* no record of a tracepoint is larger */

/* ---- the text ---- */

static bool is_word(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

/* Whether the declaration [from, to), "char comm[16]", is that of a variable of this name. */
static bool declares(const char *from, const char *to, const char *name)
{
    size_t length = strlen(name);
    const char *bracket = memchr(from, '[', (size_t)(to - from));

    if (bracket)
        to = bracket;
    while (to > from && (to[-1] == ' ' || to[-1] == '\t'))
        to--;
    return (size_t)(to - from) > length && memcmp(to - length, name, length) == 0 &&
           !is_word(to[-(ptrdiff_t)length - 1]);
}

/* The number behind a key, inside one line. */
static bool find_number(const char *from, const char *end, const char *key, unsigned long *out)
{
    const char *at = memmem(from, (size_t)(end - from), key, strlen(key));
    char *rest;

    if (!at)
        return false;
    at += strlen(key);
    if (*at < '0' || *at > '9')
        return false;
    errno = 0;
    *out = strtoul(at, &rest, 10);
    return errno == 0 && *rest == ';';
}

bool tracepoint_find_field(const char *format, const char *name, struct tracepoint_field *out)
{
    memset(out, 0, sizeof *out);
    while (*format) {
        const char *end = format + strcspn(format, "\n");
        const char *field = memmem(format, (size_t)(end - format), "field:", 6);
        const char *stop = field ? memchr(field, ';', (size_t)(end - field)) : NULL;
        unsigned long offset, size, is_signed;

        if (stop && declares(field + 6, stop, name)) {
            if (!find_number(stop, end, "offset:", &offset) ||
                !find_number(stop, end, "size:", &size) || offset > FIELD_MAX ||
                (size != 1 && size != 2 && size != 4 && size != 8))
                return false;
            out->offset = (uint32_t)offset;
            out->size = (uint32_t)size;
            out->is_signed = find_number(stop, end, "signed:", &is_signed) && is_signed;
            return true;
        }
        format = *end ? end + 1 : end;
    }
    return false;
}

int64_t tracepoint_value(const struct tracepoint_field *field, const uint8_t *record, size_t size,
                         int64_t missing)
{
    int64_t wide;
    int32_t word;
    int16_t half;

    if (!field->size || field->offset > size || size - field->offset < field->size)
        return missing;
    record += field->offset;
    switch (field->size) {
    case 1:
        return field->is_signed ? (int64_t)(int8_t)*record : (int64_t)*record;
    case 2:
        memcpy(&half, record, sizeof half);
        return field->is_signed ? half : (int64_t)(uint16_t)half;
    case 4:
        memcpy(&word, record, sizeof word);
        return field->is_signed ? word : (int64_t)(uint32_t)word;
    default:
        memcpy(&wide, record, sizeof wide);
        return wide;
    }
}

/* ---- where it is ---- */

/* tracefs without mounting it anywhere: the descriptor is all there is of it. -1: we may not. */
static int look_inside(void)
{
    int context = (int)syscall(SYS_fsopen, "tracefs", FSOPEN_CLOEXEC);
    int fd = -1;

    if (context < 0)
        return -1;
    if (syscall(SYS_fsconfig, context, FSCONFIG_CMD_CREATE, NULL, NULL, 0) == 0)
        fd = (int)syscall(SYS_fsmount, context, FSMOUNT_CLOEXEC, 0);
    close(context);
    return fd;
}

static int open_root(const char *name)
{
    static const char *const roots[] = { "/sys/kernel/tracing", "/sys/kernel/debug/tracing" };

    for (size_t i = 0; i < sizeof roots / sizeof roots[0]; i++) {
        char path[160];

        snprintf(path, sizeof path, "%s/events/%s/format", roots[i], name);
        if (access(path, R_OK) == 0)
            return open(roots[i], O_PATH | O_DIRECTORY | O_CLOEXEC);
    }
    return look_inside();
}

static bool read_text(int root, const char *name, const char *leaf, char *out, size_t size)
{
    char path[160];
    size_t used = 0;
    ssize_t got;
    int fd;

    snprintf(path, sizeof path, "events/%s/%s", name, leaf);
    fd = openat(root, path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return false;
    do {
        got = read(fd, out + used, size - 1 - used);
        used += got > 0 ? (size_t)got : 0;
    } while (got > 0 && used < size - 1);
    out[used] = '\0';
    close(fd);
    return used && strlen(out) == used;
}

static enum ifg_status not_there(const char *name, struct ifg_error *err)
{
    struct perf_error why;
    uint64_t id;

    if (perf_error_find_tracepoint(name, &id, &why))
        return ifg_fail(err, IFG_UNSUPPORTED, "the description of the tracepoint %s makes no sense",
                        name);
    return ifg_fail(err, geteuid() ? IFG_PERMISSION : IFG_NOT_FOUND, "%s%s%s%s", why.reason,
                    *why.fix ? "; `" : "", why.fix, *why.fix ? "`" : "");
}

enum ifg_status tracepoint_read(const char *name, const char *const *fields, size_t field_count,
                                struct tracepoint_field *out_fields, uint64_t *out_id,
                                struct ifg_error *err)
{
    int root = open_root(name);
    char text[TEXT_MAX] = "";
    char *rest = text;

    *out_id = 0;
    memset(out_fields, 0, field_count * sizeof *out_fields);
    if (root >= 0 && read_text(root, name, "id", text, sizeof text) && *text >= '0' &&
        *text <= '9') {
        *out_id = strtoull(text, &rest, 10);
        if (!read_text(root, name, "format", text, sizeof text))
            *out_id = 0;
    }
    if (root >= 0)
        close(root);
    if (!*out_id)
        return not_there(name, err);
    for (size_t i = 0; i < field_count; i++)
        (void)tracepoint_find_field(text, fields[i], &out_fields[i]);
    return IFG_OK;
}
