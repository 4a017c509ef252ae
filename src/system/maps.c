// SPDX-License-Identifier: Apache-2.0
/* Reading /proc/PID/maps: see maps.h. */
#include "system/maps.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>

#define LINES_MAX  262144u
#define PATH_BYTES 32

/* PROCMAP_QUERY of linux/fs.h, which may be older here. */
struct map_query {
    uint64_t size, flags, address;
    uint64_t start, end, vma_flags, page_size, offset, inode;
    uint32_t device_major, device_minor, name_size, build_id_size;
    uint64_t name, build_id;
};
#define MAP_QUERY       _IOWR('f', 17, struct map_query)
#define MAP_QUERY_FILES 0x20u

static const char deleted_mark[] = " (deleted)";

/* A hexadecimal number that is followed by `end`; moves behind it. */
static bool take_number(const char **at, int base, char end, uint64_t *out_value)
{
    char *behind;

    if (**at == '-' || **at == '+' || **at == ' ')
        return false;
    errno = 0;
    *out_value = strtoull(*at, &behind, base);
    if (behind == *at || *behind != end || errno)
        return false;
    *at = behind + 1;
    return true;
}

bool map_parse(const char *line, struct map_line *out_map)
{
    const char *at = line;
    uint64_t major;
    uint64_t minor;
    char *behind;
    size_t length;

    *out_map = (struct map_line){ 0 };
    if (!take_number(&at, 16, '-', &out_map->start) || !take_number(&at, 16, ' ', &out_map->end) ||
        out_map->end <= out_map->start || strnlen(at, 5) < 5 || at[4] != ' ')
        return false;
    out_map->readable = at[0] == 'r';
    out_map->writable = at[1] == 'w';
    out_map->executable = at[2] == 'x';
    out_map->shared = at[3] == 's';
    at += 5;
    if (!take_number(&at, 16, ' ', &out_map->offset) || !take_number(&at, 16, ':', &major) ||
        !take_number(&at, 16, ' ', &minor) || major > UINT32_MAX || minor > UINT32_MAX)
        return false;
    out_map->device = major << 32 | minor;
    if (*at < '0' || *at > '9')
        return false;
    out_map->inode = strtoull(at, &behind, 10);
    at = behind + strspn(behind, " ");
    length = strcspn(at, "\n");
    if (length >= sizeof out_map->path)
        return false;
    memcpy(out_map->path, at, length);
    if (length > sizeof deleted_mark - 1 &&
        strcmp(out_map->path + length - (sizeof deleted_mark - 1), deleted_mark) == 0) {
        out_map->path[length - (sizeof deleted_mark - 1)] = '\0';
        out_map->deleted = true;
    }
    return true;
}

static const char *path_of(pid_t pid, char out_path[PATH_BYTES])
{
    snprintf(out_path, PATH_BYTES, "/proc/%d/maps", (int)pid);
    return out_path;
}

bool maps_owner(pid_t pid, uid_t *out_owner)
{
    char path[PATH_BYTES];
    struct stat entry;

    if (stat(path_of(pid, path), &entry) < 0)
        return false;
    *out_owner = entry.st_uid;
    return true;
}

bool maps_open(pid_t pid, struct maps *out_maps)
{
    char path[PATH_BYTES];

    out_maps->file = fopen(path_of(pid, path), "re");
    out_maps->lines = 0;
    return out_maps->file != NULL;
}

bool maps_next(struct maps *maps, struct map_line *out_map)
{
    char line[PATH_MAX + 128];

    while (maps->lines++ < LINES_MAX && fgets(line, sizeof line, maps->file)) {
        if (!strchr(line, '\n')) { /* longer than any that we could use */
            int c;

            while ((c = getc(maps->file)) != EOF && c != '\n')
                ;
            continue;
        }
        if (map_parse(line, out_map))
            return true;
    }
    return false;
}

bool maps_next_file(struct maps *maps, struct map_line *out_map)
{
    while (maps_next(maps, out_map))
        if (out_map->inode && out_map->path[0] == '/')
            return true;
    return false;
}

void maps_close(struct maps *maps)
{
    if (maps->file)
        fclose(maps->file);
    maps->file = NULL;
}

bool maps_file_at(pid_t pid, uint64_t start, uint64_t *out_inode)
{
    struct map_query query = { .size = sizeof query, .flags = MAP_QUERY_FILES, .address = start };
    struct map_line map;
    struct maps maps;
    bool found;

    *out_inode = 0;
    if (!maps_open(pid, &maps))
        return false;
    if (ioctl(fileno(maps.file), MAP_QUERY, &query) == 0) {
        map.start = query.start;
        map.inode = query.inode;
        found = query.start == start && query.inode;
    } else {
        found = false;
        if (errno != ENOENT) /* that is an answer: there is none */
            while (!found && maps_next(&maps, &map))
                found = map.start == start && map.inode;
    }
    if (found)
        *out_inode = map.inode;
    maps_close(&maps);
    return found;
}
