// SPDX-License-Identifier: Apache-2.0
/* Where descriptions of runtimes are installed, and loading them. */
#include "cli/probes.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"
#include "system/process_folder.h"

/* IFG_PROBES_DIR (not with capabilities of the file), or beside the installed command, or in the
 * build tree; colons between them. */
static void find_folders(char *out, size_t size)
{
    const char *named = secure_getenv("IFG_PROBES_DIR");
    char self[PATH_MAX];

    snprintf(out, size, "%s", named ? named : "");
    if ((named && *named) || !process_own_program_folder(self))
        return;
    if (IFG_PROBES_FROM_BIN[0] == '/')
        snprintf(out, size, "%s:%s/../../probes", IFG_PROBES_FROM_BIN, self);
    else
        snprintf(out, size, "%s/%s:%s/../../probes", self, IFG_PROBES_FROM_BIN, self);
}

int cli_add_probe(const char *name, struct probe_file **files, size_t *count)
{
    char folders[3 * PATH_MAX];
    struct ifg_error err = { 0 };
    enum ifg_status status;

    if (*count == CLI_PROBES_MAX)
        return cli_usage("record", "more than %d descriptions; leave out '%s'", CLI_PROBES_MAX,
                         name);
    find_folders(folders, sizeof folders);
    status = probe_file_load(name, folders, &files[*count], &err);
    if (status) {
        cli_say("%s", err.message);
        return status == IFG_NO_MEMORY ? CLI_NO : CLI_USAGE;
    }
    ++*count;
    return CLI_YES;
}

void cli_free_probes(struct probe_file **files, size_t count)
{
    for (size_t i = 0; i < count; i++)
        probe_file_free(files[i]);
}
