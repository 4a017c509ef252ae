// SPDX-License-Identifier: Apache-2.0
/*
 * The files that the watched processes execute, each once, however often and by whatever path it is
 * mapped: by build-id, else by device and inode. A file is opened when it is mapped, because it may
 * be unlinked a moment later; if it is gone by then, it is read through the process that has it.
 * Paths are those of the process, and opened with its rights (owners.h). A file that its user could
 * have written is not taken for one that another user's process has, whatever its build-id says.
 */
#ifndef IFG_COLLECT_PERF_MODULES_H
#define IFG_COLLECT_PERF_MODULES_H

#include "collect/perf/jit_code.h"
#include "collect/perf/owners.h"
#include "collect/perf/sampler.h"
#include "symbol/unwind.h"
#include "trace/samples.h"

struct modules;

struct module {
    uint32_t number; /* in the trace */
    enum trace_module_kind kind;
    uint32_t pid;   /* of code generated at run time */
    uint32_t owner; /* whose program mapped it */
    char *path;
    char build_id[129];
    const char *note;           /* how it was read, if not from its path */
    struct elf_file *elf;       /* NULL: cannot be read; or made at run time */
    struct unwind_table *table; /* NULL: it has none */
    struct jit_code *jit;       /* of code generated at run time; NULL: no memory */
    bool interpreted;           /* functions of a language that has no machine code */
};

struct modules *modules_create(void); /* NULL: no memory */
void modules_destroy(struct modules *modules);

/* Whose the processes are; at the end, of modules too. */
const struct owners *modules_owners(const struct modules *modules);
/* A process is watched from now on, or has begun. */
void modules_meet(struct modules *modules, uint32_t pid);
void modules_forked(struct modules *modules, uint32_t parent, uint32_t pid);

/* The module of a mapping, new or known; NULL: no memory. */
const struct module *modules_take(struct modules *modules, const struct sampler_mapping *mapping);

/* That of the kernel, of code that a process made. */
const struct module *modules_kernel(struct modules *modules);
const struct module *modules_runtime(struct modules *modules, uint32_t pid);
/* That of functions that an interpreter runs in a process, called so. */
const struct module *modules_interpreted(struct modules *modules, uint32_t pid, const char *name);

/* A sample has a location of this module on its stack: code generated at run time is kept. True: it
 * was not known before. */
bool modules_saw(struct modules *modules, uint32_t number, uint64_t address, uint64_t time_ns);
/* Whether that would be news. */
bool modules_awaits(const struct modules *modules, uint32_t number, uint64_t address);

size_t modules_count(const struct modules *modules);
const struct module *modules_at(const struct modules *modules, size_t index); /* number - 1 */

/* Writes what was not written yet. */
void modules_write(struct modules *modules, struct trace_writer *writer);

#endif
