// SPDX-License-Identifier: Apache-2.0
/*
 * Libraries in the memory of another process: where they are and what they define. Nothing is taken
 * from files, which may have been replaced since. Everything read is hostile and checked.
 */
#ifndef IFG_RECORD_REMOTE_ELF_H
#define IFG_RECORD_REMOTE_ELF_H

#include <limits.h>

#include "record/remote.h"

struct remote_library {
    uint64_t base;    /* added to every address in it; 0: there is none */
    uint64_t dynamic; /* its list of tables */
};

/* What a call needs to know of a process. */
struct remote_world {
    struct remote_library libc;
    struct remote_library libdl; /* before 2.34 */
    struct remote_library loader;
    uint64_t libc_code; /* where its instructions are */
    uint64_t libc_code_bytes;
    bool has_musl;
};

enum ifg_status remote_world_read(const struct remote *remote, struct remote_world *out,
                                  struct ifg_error *err) IFG_MUST_CHECK;

/* The library whose first page is at `start`; false if there is none. */
bool remote_library_read(const struct remote *remote, uint64_t start, struct remote_library *out);

/* Where the C library returns to from a signal; 0 if it is not found. */
uint64_t remote_restorer(const struct remote *remote, const struct remote_world *world);

/* The address of what a library defines; 0 if it does not. */
uint64_t remote_symbol(const struct remote *remote, const struct remote_library *library,
                       const char *name);

/* Calls visit for every loaded library until it returns false. */
typedef bool remote_visit(const struct remote_library *library, const char *path, void *user);
void remote_each_library(const struct remote *remote, const struct remote_world *world,
                         remote_visit *visit, void *user);

#endif
