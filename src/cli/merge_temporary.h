// SPDX-License-Identifier: Apache-2.0
/* A merged trace for the time that a command runs: nobody wants to keep it. */
#ifndef IFG_CLI_MERGE_TEMPORARY_H
#define IFG_CLI_MERGE_TEMPORARY_H

#include "cli/options.h"

struct merge_temporary {
    char folder[4096];
    char path[4096 + 16]; /* "": there is none */
    int lock;
};

/* Merges the files of a command line; says what is wrong. CLI_YES, or the exit status. */
int merge_temporary_make(const struct cli_command *command, const struct option_words *words,
                         struct merge_temporary *out);
void merge_temporary_remove(struct merge_temporary *temporary); /* accepts one that is all zero */

#endif
