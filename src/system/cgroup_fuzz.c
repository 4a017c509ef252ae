// SPDX-License-Identifier: Apache-2.0
/*
 * What this tries: texts of /proc/PID/cgroup, cut anywhere and with anything in them. What is found
 * fits and stays below the folder of control groups.
 */
#include "system/cgroup.h"

#include <stdlib.h>
#include <string.h>

#define ABOVE "/nowhere/fs/cgroup"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void must_be_below(const char *folder, size_t size)
{
    if (strnlen(folder, size) == size || strncmp(folder, ABOVE, sizeof ABOVE - 1) != 0 ||
        strstr(folder, "/.."))
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct cgroup group;
    char *text = malloc(size + 1);

    if (!text)
        return 0;
    if (size)
        memcpy(text, data, size);
    text[size] = '\0';
    if (cgroup_parse(text, "/nowhere", &group)) {
        must_be_below(group.folder, sizeof group.folder);
        must_be_below(group.memory_folder, sizeof group.memory_folder);
        if (group.top != sizeof ABOVE - 1)
            abort();
    }
    free(text);
    return 0;
}
