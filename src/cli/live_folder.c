// SPDX-License-Identifier: Apache-2.0
/* Folders of temporary traces: see live_folder.h. */
#include "cli/live_folder.h"

#include <stdlib.h>

#include "cli/own_folder.h"

static struct own_folder_kind live_folders(void)
{
    return (struct own_folder_kind){ live_folder_parent(), "inferogram-live-", LIVE_FOLDER_TRACE };
}

const char *live_folder_parent(void)
{
    const char *parent = secure_getenv("TMPDIR");

    return parent && *parent ? parent : "/tmp";
}

bool live_folder_make(char *out_path, size_t size, int *out_lock)
{
    struct own_folder_kind kind = live_folders();

    return own_folder_make(&kind, out_path, size, out_lock);
}

void live_folder_remove_stale(void)
{
    struct own_folder_kind kind = live_folders();

    own_folder_remove_stale(&kind);
}
