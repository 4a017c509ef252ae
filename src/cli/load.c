// SPDX-License-Identifier: Apache-2.0
/* Opening a trace for a command: the messages are the same everywhere. */
#include "cli/cli.h"

#include <unistd.h>

#include "cli/memory_limit.h"

int cli_load(const char *path, struct trace_reader **out_reader,
             const struct timeline **out_timeline)
{
    struct ifg_error err = { 0 };
    const struct trace_file_info *file;
    enum ifg_status status;
    uint64_t missing;

    memory_limit_reading(path);
    status = trace_reader_open(path, out_reader, &err);

    *out_timeline = NULL;
    if (!status)
        status = timeline_create(*out_reader, NULL, out_timeline, &err);
    if (status) {
        cli_say("%s", err.message);
        return status == IFG_NO_MEMORY ? CLI_NO : CLI_USAGE;
    }
    file = trace_reader_file(*out_reader);
    if (!file->finished)
        cli_say("%s: the recording was not finished; read up to its last whole block", path);
    missing = file->damaged_blocks + (*out_timeline)->undecoded_blocks;
    if (file->skipped_bytes || (*out_timeline)->undecoded_blocks)
        cli_say("%s: %llu bytes are damaged, the first at offset %llu; %llu block%s missing", path,
                (unsigned long long)file->skipped_bytes, (unsigned long long)file->first_damage,
                (unsigned long long)missing, missing == 1 ? " is" : "s are");
    return CLI_YES;
}
