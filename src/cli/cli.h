// SPDX-License-Identifier: Apache-2.0
/*
 * What the commands share: the table of commands, exit statuses, and how things are said.
 *
 * Results go to stdout, talk to stderr. What only a terminal gets is in terminal.h and text.h.
 */
#ifndef IFG_CLI_CLI_H
#define IFG_CLI_CLI_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/bytes.h"
#include "base/status.h"
#include "timeline/timeline.h"

enum cli_exit {
    CLI_DONE = -1, /* --help was printed; CLI_YES for the shell */
    CLI_YES = 0,
    CLI_NO = 1,    /* no, or it failed */
    CLI_USAGE = 2, /* a wrong command line, or input that cannot be read */
    CLI_UNSURE = 3,
    CLI_LACKS = 4, /* this machine or this user lacks something, said by name */
    CLI_RECORD_FAILED = 125,
    CLI_CANNOT_START = 126,
    CLI_COMMAND_NOT_FOUND = 127,
};

/* "inferogram: ..." on stderr; control characters in it become '?'. */
void cli_say(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Messages begin with this place ("inferogram.toml:7") until it is NULL again. */
void cli_set_place(const char *text);

/* Whether a message so far named the limit on memory. */
bool cli_told_of_limit(void);

/* The same for a wrong command line; points to --help and returns CLI_USAGE. */
int cli_usage(const char *command, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* A status as an exit status, for commands without one of their own. */
int cli_exit_for(enum ifg_status status);

/* Writes bytes to stdout, through a pager if they are longer than its terminal; CLI_NO with a
 * message if that fails (a full disk, a closed pipe). */
int cli_write_out(const struct ifg_bytes *bytes);

/* The same for a part of what is written; the last one goes by cli_write_out. */
int cli_write_part(const struct ifg_bytes *bytes);
void cli_print(struct ifg_bytes *out, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* "12 345 678" (12345678 where stdout is no terminal: a script may cut it out), "1.23 ms",
 * "4.56 MB": for people. The buffers hold 32 bytes. */
const char *cli_count(uint64_t count, char out[32]);
const char *cli_duration(double ns, char out[32]);
const char *cli_size(uint64_t bytes, char out[32]);

/* Foreign text for a terminal: control characters and what is not UTF-8 become '?'. At most size -
 * 1 bytes, and no half characters. */
const char *cli_clean(const char *text, char *out, size_t size);

/* The same into a table cell: padded to so many columns, longer ones stay whole. */
void cli_put_name(struct ifg_bytes *out, const char *text, int columns);

/* Opens and loads a trace; says what is wrong with it. CLI_YES, or the exit status. */
int cli_load(const char *path, struct trace_reader **out_reader,
             const struct timeline **out_timeline);

/* Bold and plain again if fd gets colours, else "". */
const char *cli_bold(bool on, int fd);

/* Seconds such as 1.5, "2m", "500ms", "15µs"; false if it is none. Every option that is a time is
 * read by one of these two. */
bool cli_parse_seconds(const char *text, double *out_seconds);
bool cli_parse_ns(const char *text, uint64_t *out_ns);

/* A size such as 500000, 20M, 1.5MB (of 1000s); false if it is none. */
bool cli_parse_size(const char *text, size_t *out_bytes);

#endif
