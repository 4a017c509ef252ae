// SPDX-License-Identifier: Apache-2.0
/*
 * Runtimes that processes use without any hook telling of it: said by name, with the reason,
 * instead of a trace that is silently empty. Their mappings are looked at now and then.
 */
#ifndef IFG_RECORD_RUNTIME_H
#define IFG_RECORD_RUNTIME_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#define RUNTIME_SIGHTS_MAX   16
#define RUNTIME_PROGRAMS_MAX 8

struct runtime_sight {
    pid_t pid;
    char reason[256];
};

struct runtime_watch {
    struct runtime_sight sights[RUNTIME_SIGHTS_MAX];
    size_t sight_count;
    char programs[RUNTIME_PROGRAMS_MAX][PATH_MAX]; /* executables that were seen */
    size_t program_count;
};

/* Looks at a process of which no hook has told yet. */
void runtime_look(struct runtime_watch *watch, pid_t pid);

/* A hook told of this process: what was seen in it is accounted for. */
void runtime_told(struct runtime_watch *watch, pid_t pid);

/* Also this program belongs to the recording. */
void runtime_add_program(struct runtime_watch *watch, const char *path);

/* Why a runtime could not be watched, for the instrument. Searches the programs for one that is
 * linked statically, but only if nothing else is known. False: none was seen. */
bool runtime_explain(const struct runtime_watch *watch, char *out, size_t size);

#endif
