// SPDX-License-Identifier: Apache-2.0
/*
 * The mappings of a process whose files have any name. Strategies:
 *
 * 1. The input is /proc/PID/maps: numbers that are none, fields that are missing, lines longer than
 *    any path, names with spaces, " (deleted)" and line breaks in them.
 * 2. Each line of it alone.
 *
 * What is taken begins before it ends, and has an absolute path that ends.
 */
#include <stdlib.h>
#include <string.h>

#include "system/maps.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct map_line map; /* large */

static void check_map(void)
{
    if (map.end <= map.start || strnlen(map.path, sizeof map.path) == sizeof map.path)
        abort();
}

static void try_lines(const char *text, size_t size)
{
    const char *end = text + size;

    while (text < end) {
        const char *stop = memchr(text, '\n', (size_t)(end - text));
        size_t length = (size_t)((stop ? stop : end) - text);
        char *line = malloc(length + 1); /* of exactly this size, for the sanitizer */

        if (!line)
            return;
        memcpy(line, text, length);
        line[length] = '\0';
        if (map_parse(line, &map))
            check_map();
        free(line);
        text += length + 1;
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct maps maps = { 0 };

    if (!size)
        return 0;
    try_lines((const char *)data, size);
    maps.file = fmemopen((void *)(uintptr_t)data, size, "r");
    if (!maps.file)
        return 0;
    while (maps_next_file(&maps, &map)) {
        check_map();
        if (map.path[0] != '/' || !map.inode)
            abort();
    }
    maps_close(&maps);
    return 0;
}
