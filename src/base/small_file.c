// SPDX-License-Identifier: Apache-2.0
/* Small files of the system: see small_file.h. */
#include "base/small_file.h"

#include <fcntl.h>
#include <string.h>
#include <unistd.h>

bool ifg_read_small(const char *path, char *out, size_t size)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    size_t used = 0;

    out[0] = '\0';
    if (fd < 0)
        return false;
    while (used + 1 < size) {
        ssize_t got = read(fd, out + used, size - used - 1);

        if (got <= 0)
            break;
        used += (size_t)got;
    }
    close(fd);
    out[used] = '\0';
    return used > 0;
}

bool ifg_parse_number(const char *text, const char **out_end, uint64_t *out)
{
    uint64_t value = 0;
    const char *at = text + strspn(text, " \t");

    if (*at < '0' || *at > '9')
        return false;
    for (; *at >= '0' && *at <= '9'; at++)
        if (__builtin_mul_overflow(value, 10u, &value) ||
            __builtin_add_overflow(value, (uint64_t)(*at - '0'), &value))
            return false;
    if (out_end)
        *out_end = at;
    *out = value;
    return true;
}

uint64_t ifg_read_number(const char *path)
{
    char text[64];
    uint64_t value;

    if (!ifg_read_small(path, text, sizeof text) || !ifg_parse_number(text, NULL, &value))
        return IFG_NO_NUMBER;
    return value;
}

uint64_t ifg_find_number(const char *text, const char *key)
{
    size_t length = strlen(key);
    uint64_t value;

    for (const char *line = text; line; line = strchr(line, '\n')) {
        if (*line == '\n')
            line++;
        if (strncmp(line, key, length) != 0 || !line[length] || !strchr(" \t:=", line[length]))
            continue;
        line += length;
        line += strspn(line, " \t:=");
        return ifg_parse_number(line, NULL, &value) ? value : IFG_NO_NUMBER;
    }
    return IFG_NO_NUMBER;
}
