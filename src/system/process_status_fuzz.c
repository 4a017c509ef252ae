// SPDX-License-Identifier: Apache-2.0
/*
 * What this tries: texts of /proc/PID/stat and /proc/PID/status with any name in them, cut
 * anywhere, read as the one and as the other. Names must stay inside their buffers, nothing may be
 * read behind the end, and nobody gets rights from a text that does not say whose they are.
 */
#include "system/process_status.h"

#include <stdlib.h>
#include <string.h>

#include "base/small_file.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void must(bool good)
{
    if (!good)
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct process_status status;
    static struct process_stat stat;
    char *text = malloc(size + 1);

    if (!text)
        return 0;
    if (size)
        memcpy(text, data, size);
    text[size] = '\0';
    memset(&stat, 0xee, sizeof stat);
    if (process_stat_parse(text, &stat))
        must(strnlen(stat.name, sizeof stat.name) < sizeof stat.name && strchr(text, '('));
    memset(&status, 0xee, sizeof status);
    process_status_parse(text, &status);
    must(strnlen(status.name, sizeof status.name) < sizeof status.name);
    must(status.group_count <= PROCESS_GROUPS_MAX);
    must(status.has_owner || (!status.permitted && !status.effective));
    must(!status.has_owner || (status.uids[3] <= UINT32_MAX && status.gids[3] <= UINT32_MAX));
    must(status.rss_bytes == IFG_NO_NUMBER || status.rss_bytes % 1024 == 0);
    free(text);
    return 0;
}
