// SPDX-License-Identifier: Apache-2.0
/* Names in text files, see lookup.h: foreign text, read up to a limit, sorted, searched. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/array.h"
#include "collect/perf/lookup.h"

#define LIST_BYTES_MAX (256u << 20)
#define READ_FIRST     (64u << 10)
#define LIST_NAMES_MAX (8u << 20)

struct listed {
    uint64_t start, size;
    const char *name;
    size_t order; /* a later entry of the same address replaces an earlier one */
};

struct name_list {
    char *text;
    struct listed *names;
    size_t count, room;
};

/* A number without 0x, of at most 16 digits. */
static bool take_hex(const char **at, uint64_t *out_value)
{
    char *end;

    errno = 0;
    if (!((**at >= '0' && **at <= '9') || (**at >= 'a' && **at <= 'f')))
        return false;
    *out_value = strtoull(*at, &end, 16);
    if (errno || *end != ' ')
        return false;
    *at = end + 1;
    return true;
}

static bool add(struct name_list *list, uint64_t start, uint64_t size, const char *name)
{
    if (!IFG_ARRAY_ROOM(list->names, list->room, list->count + 1, LIST_NAMES_MAX))
        return false;
    list->names[list->count] = (struct listed){ start, size, name, list->count };
    list->count++;
    return true;
}

/* "ffffffff81000000 T name [module]": of functions only. */
static void take_kernel_line(struct name_list *list, const char *line)
{
    uint64_t start;

    if (!take_hex(&line, &start) || !start || !*line || !strchr("tTwW", line[0]) ||
        line[1] != ' ' || !line[2])
        return;
    add(list, start, 0, line + 2);
}

static void take_map_line(struct name_list *list, const char *line)
{
    uint64_t start, size;

    if (take_hex(&line, &start) && take_hex(&line, &size) && size && *line)
        add(list, start, size, line);
}

static int compare(const void *left, const void *right)
{
    const struct listed *a = left;
    const struct listed *b = right;

    if (a->start != b->start)
        return a->start < b->start ? -1 : 1;
    return a->order < b->order ? -1 : a->order > b->order;
}

/* Of equal addresses the last one; sizes that a list does not tell reach to the next. */
static void finish(struct name_list *list)
{
    size_t kept = 0;

    if (list->count)
        qsort(list->names, list->count, sizeof *list->names, compare);
    for (size_t i = 0; i < list->count; i++) {
        if (kept && list->names[kept - 1].start == list->names[i].start)
            kept--;
        list->names[kept++] = list->names[i];
    }
    list->count = kept;
    for (size_t i = 0; i < kept; i++)
        if (!list->names[i].size)
            list->names[i].size =
                i + 1 < kept ? list->names[i + 1].start - list->names[i].start : 4096;
}

/* Takes the text over. */
static struct name_list *parse_owned(char *text, enum name_list_kind kind)
{
    struct name_list *list = ifg_alloc(1, sizeof *list);
    char *next;

    if (!list) {
        ifg_free(text);
        return NULL;
    }
    list->text = text;
    for (char *line = text; line && *line; line = next) {
        next = strchr(line, '\n');
        if (next)
            *next++ = '\0';
        if (kind == NAME_LIST_KALLSYMS)
            take_kernel_line(list, line);
        else
            take_map_line(list, line);
    }
    finish(list);
    if (list->count)
        return list;
    name_list_destroy(list);
    return NULL;
}

struct name_list *name_list_parse(const char *text, size_t size, enum name_list_kind kind)
{
    char *copy = ifg_strndup(text, size);

    return copy ? parse_owned(copy, kind) : NULL;
}

struct name_list *name_list_read(const char *path, enum name_list_kind kind)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    struct name_list *list = fd < 0 ? NULL : name_list_read_fd(fd, kind);

    if (fd >= 0)
        close(fd);
    return list;
}

struct name_list *name_list_read_fd(int fd, enum name_list_kind kind)
{
    size_t size = 0, room = 0;
    char *text = NULL;
    ssize_t got = 0;

    if (!IFG_ARRAY_ROOM(text, room, READ_FIRST, LIST_BYTES_MAX))
        return NULL;
    for (;;) {
        if (!IFG_ARRAY_ROOM(text, room, size + 2, LIST_BYTES_MAX))
            break;
        got = pread(fd, text + size, room - size - 1, (off_t)size);
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            break;
        size += (size_t)got;
    }
    text[size] = '\0';
    return parse_owned(text, kind);
}

void name_list_destroy(struct name_list *list)
{
    if (!list)
        return;
    ifg_free(list->text);
    ifg_free(list->names);
    ifg_free(list);
}

bool name_list_find(const struct name_list *list, uint64_t address, const char **out_name,
                    uint64_t *out_start, uint64_t *out_size)
{
    size_t low = 0;
    size_t high = list->count;

    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (list->names[middle].start <= address)
            low = middle + 1;
        else
            high = middle;
    }
    if (!low || address - list->names[low - 1].start >= list->names[low - 1].size)
        return false;
    *out_name = list->names[low - 1].name;
    *out_start = list->names[low - 1].start;
    *out_size = list->names[low - 1].size;
    return true;
}
