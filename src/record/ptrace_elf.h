// SPDX-License-Identifier: Apache-2.0
/*
 * Libraries in the memory of another process: where they are and what they define. Nothing is taken
 * from files, which may have been replaced since. Everything read is hostile and checked.
 */
#ifndef IFG_RECORD_PTRACE_ELF_H
#define IFG_RECORD_PTRACE_ELF_H

#include <limits.h>

#include "record/ptrace.h"

struct ptrace_library {
    uint64_t base;    /* added to every address in it; 0: there is none */
    uint64_t dynamic; /* its list of tables */
};

/* What a call needs to know of a process. */
struct ptrace_world {
    struct ptrace_library libc;
    struct ptrace_library libdl; /* before 2.34 */
    struct ptrace_library loader;
    uint64_t libc_code; /* where its instructions are */
    uint64_t libc_code_bytes;
    bool has_musl;
};

enum ifg_status ptrace_world_read(const struct ptrace *remote, struct ptrace_world *out,
                                  struct ifg_error *err) IFG_MUST_CHECK;

/* The library whose first page is at `start`; false if there is none. */
bool ptrace_library_read(const struct ptrace *remote, uint64_t start, struct ptrace_library *out);

/* Where the C library returns to from a signal; 0 if it is not found. */
uint64_t ptrace_restorer(const struct ptrace *remote, const struct ptrace_world *world);

/* The address of what a library defines; 0 if it does not. */
uint64_t ptrace_symbol(const struct ptrace *remote, const struct ptrace_library *library,
                       const char *name);

/* Calls visit for every loaded library until it returns false. */
typedef bool ptrace_visit(const struct ptrace_library *library, const char *path, void *user);
void ptrace_each_library(const struct ptrace *remote, const struct ptrace_world *world,
                         ptrace_visit *visit, void *user);

#endif
