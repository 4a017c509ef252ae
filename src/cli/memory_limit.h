// SPDX-License-Identifier: Apache-2.0
/*
 * How much memory the commands that read traces may take. A small file can ask for very much: what
 * repeats compresses to next to nothing.
 */
#ifndef IFG_CLI_MEMORY_LIMIT_H
#define IFG_CLI_MEMORY_LIMIT_H

#include "cli/options.h"

/* --max-memory SIZE, which all of them have. */
extern const struct option_row memory_limit_rows[];

/* Without it: half of what is available, at least 1 GiB. */
void memory_limit_begin(void);

/* The file that is being read, for the sentence. */
void memory_limit_reading(const char *path);

/* The exit status of a command that ended with this one: CLI_USAGE, with a sentence unless there
 * was one, if the limit has refused something. */
int memory_limit_settle(int code);

#endif
