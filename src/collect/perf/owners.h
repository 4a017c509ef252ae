// SPDX-License-Identifier: Apache-2.0
/*
 * Whose programs are watched: the user and the root directory of each process, kept from while it
 * lived. Everything that a program names (its debug information, its libraries, what its runtime
 * writes) is opened with the rights of that user and below that directory, never with those of the
 * recorder, which may be root's.
 *
 * Processes of one user with one root directory are one owner, so that few descriptors are enough.
 * Of a process that ended before anybody saw it, the owner is that of its parent, else nobody; and
 * nobody as well if that is root, who may have started it for somebody else.
 */
#ifndef IFG_COLLECT_PERF_OWNERS_H
#define IFG_COLLECT_PERF_OWNERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/status.h"

#define OWNERS_NOBODY 0u
#define OWNERS_MAX    64u /* beyond these, processes are nobody's */

struct owners;

struct owners *owners_create(void); /* NULL: no memory */
void owners_destroy(struct owners *owners);

/* The owner of a process as it is now. False: it has ended. */
bool owners_now(struct owners *owners, uint32_t pid, uint32_t *out_owner);
/* What is known of a process that may have ended. */
void owners_keep(struct owners *owners, uint32_t pid, uint32_t owner);
uint32_t owners_kept(const struct owners *owners, uint32_t pid);
/* Now, if it lives, and kept. */
uint32_t owners_of(struct owners *owners, uint32_t pid);
/* The kernel told that a process has begun. */
void owners_forked(struct owners *owners, uint32_t parent, uint32_t pid);

size_t owners_count(const struct owners *owners);
uid_t owners_user(const struct owners *owners, uint32_t owner);
/* Whether it is the recorder's own user, who sees the same files. */
bool owners_is_own(const struct owners *owners, uint32_t owner);
/* Whether a file can be the owner's work: it is his, or root's. */
bool owners_wrote(const struct owners *owners, uint32_t owner, int fd);

enum owners_flags {
    OWNERS_HERE = 1,     /* below the recorder's root directory */
    OWNERS_UNLINKED = 2, /* no symbolic link */
};

/* See open_as_user. */
enum ifg_status owners_open(const struct owners *owners, uint32_t owner, const char *path,
                            unsigned flags, uint64_t max_bytes, int *out_fd,
                            struct ifg_error *err) IFG_MUST_CHECK;

/* For a child that goes on to read files which the owner's programs name. False: it must end. */
bool owners_become(const struct owners *owners, uint32_t owner);

#endif
