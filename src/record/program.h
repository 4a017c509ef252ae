// SPDX-License-Identifier: Apache-2.0
/*
 * What a program is, before it is started: can a library be preloaded into it?
 *
 * Scripts are followed to their interpreters. Files are hostile: every offset in them is checked,
 * and what cannot be understood counts as an ordinary program, because the worst that a preloaded
 * library can meet is to be ignored.
 */
#ifndef IFG_RECORD_PROGRAM_H
#define IFG_RECORD_PROGRAM_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum program_kind {
    PROGRAM_ORDINARY,      /* dynamic, of this machine, with the GNU C library; or not known */
    PROGRAM_STATIC,        /* nothing loads libraries for it */
    PROGRAM_MUSL,          /* another C library: ours does not fit */
    PROGRAM_OTHER_MACHINE, /* 32 bits, or another processor */
    PROGRAM_SETUID,        /* the system ignores what is preloaded */
    PROGRAM_CAPABILITIES,  /* the same, by capabilities of the file */
};

struct program {
    enum program_kind kind;
    char path[PATH_MAX]; /* the file that runs in the end: of a script, its interpreter */
};

/* Where exec finds a command: 0, or the errno that it would give. out_path is empty (and the result
 * 0) if there is no PATH, where exec looks where it sees fit. */
int program_find(const char *name, char *out_path, size_t size);

/* Looks at the file at path. */
void program_probe(const char *path, struct program *out_program);

/* Why nothing can be preloaded; "" for an ordinary program. */
const char *program_reason(const struct program *program, char *out, size_t size);

/* Whether one of the texts is in the file; it is read up to *budget bytes, which are used up. Small
 * files are not looked at: what is searched for has its megabytes. */
bool program_contains(const char *path, const char *const *texts, size_t count, uint64_t *budget);

#endif
