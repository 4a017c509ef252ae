// SPDX-License-Identifier: Apache-2.0
/*
 * How much memory the commands that read traces may take. A small file can ask for very much: what
 * repeats compresses to next to nothing.
 */
#ifndef IFG_CLI_MEMORY_LIMIT_H
#define IFG_CLI_MEMORY_LIMIT_H

/* Takes --max-memory SIZE out of the arguments, or the default: half of what is available, at least
 * 1 GiB. CLI_YES, or the exit status. */
int memory_limit_set(int *argc, char **argv);

/* The file that is being read, for the sentence. */
void memory_limit_reading(const char *path);

/* The exit status of a command that ended with this one: CLI_USAGE, with a sentence unless there
 * was one, if the limit has refused something. */
int memory_limit_settle(int code);

#endif
