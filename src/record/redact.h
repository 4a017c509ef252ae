// SPDX-License-Identifier: Apache-2.0
/*
 * What of a command line goes into a trace. Values that look like secrets by the name before them
 * (--token=..., PASSWORD=..., https://user:...@host) are left out always; what the user's patterns
 * match, too; with no_args, everything but the program's name.
 */
#ifndef IFG_RECORD_REDACT_H
#define IFG_RECORD_REDACT_H

#include <stdbool.h>
#include <stddef.h>

#include "base/status.h"
#include "trace/writer.h"

#define REDACTED          "[redacted]"
#define REDACT_PATTERNS   32
#define REDACT_TEXT_BYTES 16384

struct redaction {
    bool no_args;
    void *patterns[REDACT_PATTERNS]; /* compiled */
    size_t pattern_count;
};

/* A regular expression (PCRE2); what it matches within an argument is replaced. */
enum ifg_status redact_add(struct redaction *redaction, const char *pattern,
                           struct ifg_error *err) IFG_MUST_CHECK;
void redact_fini(struct redaction *redaction);

/* Arguments with a NUL between them, in and out. `out` has room for REDACT_TEXT_BYTES; gives the
 * bytes that it has then. NULL for redaction: only what looks like a secret. */
size_t redact_arguments(const struct redaction *redaction, const char *arguments, size_t bytes,
                        char *out);

/* Writes a process with what may be told of its arguments. */
void redact_write_process(const struct redaction *redaction, struct trace_writer *writer,
                          const struct trace_process *process);

/* Writes the recorder's own command line as the fact record.command. `command` is that of the
 * program, at the end of the words; NULL: there is none. */
void redact_write_command(const struct redaction *redaction, struct trace_writer *writer,
                          char *const *words, size_t count, char *const *command);

#endif
