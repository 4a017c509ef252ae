// SPDX-License-Identifier: Apache-2.0
/* Names of sessions and models, from the outside: see names.h. */
#include "collect/ort_attach/names.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include "base/alloc.h"
#include "ort_abi/content.h"
#include "system/maps.h"
#include "system/process_folder.h"

/* The path of the model is a string near the beginning of a session object (+32 to +224 in 1.14 to
 * 1.30). The session's options, with other paths in them, begin behind it (+384 and more): those
 * must not be taken for the model. */
#define OBJECT_BYTES 320u
#define PATH_LEAST   5u /* x.ort */

#define USER_END     ((uint64_t)1 << 47)
#define FIELDS_MAX   200000u
#define WINDOW_BYTES 16384u

bool names_process_memory(pid_t pid, uint64_t address, void *out, size_t bytes)
{
    struct iovec here = { out, bytes };
    struct iovec there = { (void *)(uintptr_t)address, bytes };

    if (address < 4096 || address >= USER_END || bytes > USER_END - address)
        return false;
    return process_vm_readv(pid, &here, 1, &there, 1, 0) == (ssize_t)bytes;
}

bool names_process_text(pid_t pid, uint64_t address, char *out, size_t size)
{
    size_t have = 0;

    while (have < size) {
        /* Not beyond a page at a time: the next one may not be there. */
        size_t part = 4096 - (size_t)((address + have) & 4095);
        const char *end;

        if (part > size - have)
            part = size - have;
        if (!names_process_memory(pid, address + have, out + have, part))
            break;
        end = memchr(out + have, '\0', part);
        if (end)
            return true;
        have += part;
    }
    out[0] = '\0';
    return false;
}

bool names_process_absolute(pid_t pid, const char *path, char *out, size_t size)
{
    char directory[PATH_MAX];
    char root[PATH_MAX];
    const char *below = directory;
    size_t length;

    if (path[0] == '/')
        return (size_t)snprintf(out, size, "%s", path) < size;
    if (!path[0] || !process_link(pid, "cwd", directory, sizeof directory) || directory[0] != '/' ||
        !process_link(pid, "root", root, sizeof root))
        return false;
    length = strlen(root);
    if (length > 1 && strncmp(directory, root, length) == 0 && directory[length] == '/')
        below = directory + length;
    while (path[0] == '.' && path[1] == '/')
        path += 2 + strspn(path + 2, "/");
    return (size_t)snprintf(out, size, "%s/%s", strcmp(below, "/") == 0 ? "" : below, path) < size;
}

bool names_process_has_file(pid_t pid, const char *absolute, uint64_t *out_bytes)
{
    char path[PATH_MAX + 64];
    struct stat file;

    *out_bytes = 0;
    snprintf(path, sizeof path, "/proc/%d/root%s", (int)pid, absolute);
    if (stat(path, &file) < 0 || !S_ISREG(file.st_mode))
        return false;
    *out_bytes = (uint64_t)file.st_size;
    return true;
}

/* Where the ending of a model file begins; NULL if it has none. */
static const char *ending_of(const char *path)
{
    const char *dot = strrchr(path, '.');

    return dot && (strcmp(dot, ".onnx") == 0 || strcmp(dot, ".ort") == 0) ? dot : NULL;
}

void model_name_of(const char *path, char *out, size_t size)
{
    const char *slash = strrchr(path, '/');
    const char *name = slash ? slash + 1 : path;
    const char *dot = ending_of(name);
    size_t length = dot && dot > name ? (size_t)(dot - name) : strlen(name);

    snprintf(out, size, "%.*s", (int)(length < size ? length : size - 1), name);
}

/* ---- sessions that were there before ---- */

struct candidate {
    pid_t pid;
    unsigned different;
    char path[PATH_MAX];
};

static void consider(struct candidate *candidate, const char *path)
{
    char absolute[PATH_MAX];
    uint64_t bytes;

    if (!ending_of(path) ||
        !names_process_absolute(candidate->pid, path, absolute, sizeof absolute) ||
        (candidate->different && strcmp(candidate->path, absolute) == 0) ||
        !names_process_has_file(candidate->pid, absolute, &bytes))
        return;
    if (!candidate->different)
        memcpy(candidate->path, absolute, sizeof absolute);
    candidate->different++;
}

static void consider_string(struct candidate *candidate, uint64_t address, uint64_t length)
{
    char text[PATH_MAX];

    if (length < PATH_LEAST || length >= sizeof text ||
        !names_process_memory(candidate->pid, address, text, (size_t)length + 1) || text[length] ||
        strlen(text) != length)
        return;
    consider(candidate, text);
}

static bool take_candidate(const struct candidate *candidate, char *out, size_t size)
{
    if (candidate->different != 1)
        return false;
    return (size_t)snprintf(out, size, "%s", candidate->path) < size;
}

bool names_session_object_path(pid_t pid, uint64_t session, char *out, size_t size)
{
    struct candidate candidate = { .pid = pid };
    uint64_t words[OBJECT_BYTES / 8];

    out[0] = '\0';
    if (!names_process_memory(pid, session, words, sizeof words))
        return false;
    for (size_t i = 0; i + 1 < OBJECT_BYTES / 8; i++) {
        uint64_t length;

        if (words[i] < 4096 || words[i] >= USER_END)
            continue;
        /* Today's strings keep their length beside the pointer, older ones before the text. */
        consider_string(&candidate, words[i], words[i + 1]);
        if (names_process_memory(pid, words[i] - 24, &length, sizeof length))
            consider_string(&candidate, words[i], length);
    }
    return take_candidate(&candidate, out, size);
}

/* ---- models in memory ---- */

struct window {
    pid_t pid;
    uint64_t base; /* of the model */
    uint64_t size;
    uint64_t start; /* of what is in bytes */
    size_t have;
    unsigned char bytes[WINDOW_BYTES];
};

static bool byte_at(struct window *window, uint64_t at, unsigned char *out)
{
    if (at >= window->size)
        return false;
    if (at < window->start || at - window->start >= window->have) {
        size_t wanted = sizeof window->bytes;

        if (wanted > window->size - at)
            wanted = (size_t)(window->size - at);
        window->start = at;
        window->have = names_process_memory(window->pid, window->base + at, window->bytes, wanted)
                           ? wanted
                           : 0;
        if (!window->have)
            return false;
    }
    *out = window->bytes[at - window->start];
    return true;
}

static bool varint_at(struct window *window, uint64_t *at, uint64_t *out_value)
{
    unsigned char byte;

    *out_value = 0;
    for (unsigned shift = 0; shift < 64; shift += 7) {
        if (!byte_at(window, (*at)++, &byte))
            return false;
        *out_value |= (uint64_t)(byte & 0x7f) << shift;
        if (!(byte & 0x80))
            return true;
    }
    return false;
}

/* Goes to the first field of this number that has a length, from `at` up to `end`; gives where it
 * begins and its length. */
static bool find_field(struct window *window, uint64_t at, uint64_t end, uint64_t number,
                       uint64_t *out_at, uint64_t *out_length)
{
    for (unsigned fields = 0; fields < FIELDS_MAX && at < end; fields++) {
        uint64_t tag;
        uint64_t value = 0;

        if (!varint_at(window, &at, &tag))
            return false;
        switch (tag & 7) {
        case 0:
            if (!varint_at(window, &at, &value))
                return false;
            break;
        case 1:
            at += 8;
            break;
        case 5:
            at += 4;
            break;
        case 2:
            if (!varint_at(window, &at, &value) || at > end || value > end - at)
                return false;
            if (tag >> 3 == number) {
                *out_at = at;
                *out_length = value;
                return true;
            }
            at += value;
            break;
        default:
            return false;
        }
    }
    return false;
}

bool names_session_graph_name(pid_t pid, uint64_t data, uint64_t bytes, char *out, size_t size)
{
    struct window *window = ifg_alloc(1, sizeof *window);
    uint64_t at;
    uint64_t length = 0;
    bool found = false;

    out[0] = '\0';
    if (window && data < USER_END && bytes < USER_END - data) {
        window->pid = pid;
        window->base = data;
        window->size = bytes;
        found = find_field(window, 0, bytes, 7, &at, &length) &&        /* ModelProto.graph */
                find_field(window, at, at + length, 2, &at, &length) && /* GraphProto.name */
                length && length < size &&
                names_process_memory(pid, data + at, out, (size_t)length);
        out[found ? length : 0] = '\0';
        for (size_t i = 0; found && i < length; i++)
            found = (unsigned char)out[i] >= 0x20 && out[i] != 0x7f;
    }
    ifg_free(window);
    return found;
}

bool names_session_mapped_file(pid_t pid, uint64_t data, uint64_t bytes, char *out, size_t size)
{
    struct map_line *map = ifg_alloc(1, sizeof *map);
    bool found = false;
    uint64_t file_bytes;
    struct maps maps;

    out[0] = '\0';
    if (map && maps_open(pid, &maps)) {
        while (!found && maps_next_file(&maps, map))
            found = map->start == data && map->offset == 0 && !map->deleted && map->inode &&
                    names_process_has_file(pid, map->path, &file_bytes) && file_bytes == bytes &&
                    (size_t)snprintf(out, size, "%s", map->path) < size;
        maps_close(&maps);
    }
    ifg_free(map);
    if (!found)
        out[0] = '\0';
    return found;
}

struct model_memory {
    pid_t pid;
    uint64_t data;
    uint64_t bytes;
    bool failed;
};

static size_t read_piece(void *user, uint64_t at, void *out, size_t bytes)
{
    struct model_memory *memory = user;

    if (bytes > memory->bytes - at)
        bytes = (size_t)(memory->bytes - at);
    if (!names_process_memory(memory->pid, memory->data + at, out, bytes)) {
        memory->failed = true;
        return 0;
    }
    return bytes;
}

bool names_session_content(pid_t pid, uint64_t data, uint64_t bytes, uint64_t *out_hash)
{
    struct model_memory memory = { pid, data, bytes, !bytes };

    *out_hash = ort_content_hash(bytes, read_piece, &memory);
    return !memory.failed;
}
