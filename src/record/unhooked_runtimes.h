// SPDX-License-Identifier: Apache-2.0
/*
 * Runtimes that processes use without any hook telling of it: said by name, with the reason,
 * instead of a trace that is silently empty. Their mappings are looked at now and then.
 */
#ifndef IFG_RECORD_UNHOOKED_RUNTIMES_H
#define IFG_RECORD_UNHOOKED_RUNTIMES_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

struct runtime;

#define UNHOOKED_SIGHTS_MAX   16
#define UNHOOKED_PROGRAMS_MAX 8

struct unhooked_sight {
    pid_t pid;
    const struct runtime *runtime;
    char reason[256];
};

struct unhooked_watch {
    struct unhooked_sight sights[UNHOOKED_SIGHTS_MAX];
    size_t sight_count;
    char programs[UNHOOKED_PROGRAMS_MAX][PATH_MAX]; /* executables that were seen */
    size_t program_count;
};

/* Looks at a process of which no hook has told yet. */
void unhooked_look(struct unhooked_watch *watch, pid_t pid);

/* A hook told of this process: what was seen in it is accounted for. */
void unhooked_told(struct unhooked_watch *watch, pid_t pid);

/* Also this program belongs to the recording. */
void unhooked_add_program(struct unhooked_watch *watch, const char *path);

/* Why this runtime could not be watched, for the instrument. `searches`: if nothing else is known,
 * the programs are searched for one that is linked statically. False: none was seen. */
bool unhooked_explain(const struct unhooked_watch *watch, const struct runtime *runtime,
                      bool searches, char *out, size_t size);

#endif
