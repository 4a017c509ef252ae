// SPDX-License-Identifier: Apache-2.0
/* Merging for a command: which files, by how much to move them, and what to say about them. */
#ifndef IFG_CLI_MERGE_FILES_H
#define IFG_CLI_MERGE_FILES_H

#include "cli/options.h"
#include "merge/merge.h"

struct merge_files {
    struct merge_input *inputs;
    size_t count;
    const char **offsets; /* --offset, as given */
    size_t offset_count, offset_room;
};

/* Takes --offset FILE=TIME; the request's member at the row is a struct merge_files. */
int merge_files_take_offset(const struct option_use *use, void *request);

/* The files of a command line, and what was said of their offsets. */
int merge_files_take(const struct cli_command *command, const struct option_words *words,
                     struct merge_files *files);

/* Merges, and says what went wrong and what is uncertain. CLI_YES, or the exit status. */
int merge_files_run(const struct merge_files *files, const char *output, bool overwrite,
                    const volatile sig_atomic_t *cancel, struct merge_result *out_result);
void merge_files_fini(struct merge_files *files);

#endif
