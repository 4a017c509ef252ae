// SPDX-License-Identifier: Apache-2.0
/*
 * Who a process belongs to, as the kernel tells it, and becoming that user.
 *
 * "The user" of a process is its real user: for a set-user-id program that is the person who
 * started it, who is the one with fewer rights. A process that changes its mind later (seteuid)
 * does not gain anything by it here.
 */
#ifndef IFG_SYSTEM_CREDENTIALS_H
#define IFG_SYSTEM_CREDENTIALS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/status.h"
#include "system/process_status.h"

/* Groups beyond this number are left out, which can only take rights away. */
#define CREDENTIALS_GROUPS_MAX PROCESS_GROUPS_MAX

#define CREDENTIALS_NOBODY ((uid_t)65534)

struct credentials {
    uid_t uid;
    gid_t gid;
    uid_t effective_uid;
    gid_t effective_gid;
    uint64_t permitted; /* capabilities, a bit each */
    uint64_t effective; /* capabilities */
    bool is_set_id;     /* its real, effective and saved users or groups differ */
    bool other_users;   /* it is in another user namespace: its capabilities mean nothing here */
    bool no_new_privs;
    unsigned seccomp_mode; /* 0 none, 1 strict, 2 a filter */
    size_t group_count;
    gid_t groups[CREDENTIALS_GROUPS_MAX];
};

/* Of a process, or of one thread: `pid` may be a thread id. */
enum ifg_status credentials_of(pid_t pid, struct credentials *out,
                               struct ifg_error *err) IFG_MUST_CHECK;

/* Of this process, by system calls alone: also right after fork, in a process with threads. */
void credentials_own(struct credentials *out);

/*
 * Whether a process guards itself against its own user: it is not dumpable, or has more rights than
 * he. Nothing is run on its behalf. `who` is from credentials_of.
 */
bool credentials_are_guarded(pid_t pid, const struct credentials *who);

/* From the text of /proc/PID/status; for tests and fuzzing. */
enum ifg_status credentials_parse(const char *text, struct credentials *out,
                                  struct ifg_error *err) IFG_MUST_CHECK;

/* The user without any right of its own: for code that belongs to nobody in particular. */
void credentials_nobody(struct credentials *out);

/* Whether this process has rights that its real user lacks (set-uid, file capabilities). */
bool credentials_are_raised(void);

/* Whether this process could take the identity of another user. */
bool credentials_can_become(const struct credentials *who);

/*
 * For a child between fork and exec, or one that goes on to load foreign code: from here on it has
 * the user, group and groups of `who`, no capability, and no way to get one again. A process that
 * cannot become `who` because it is an ordinary user stays what it is, if that is the same user.
 * Calls nothing but system calls. False: end the process.
 */
bool credentials_become(const struct credentials *who);

/*
 * The same for a child that goes on to read files: of root in our own user namespace it keeps those
 * capabilities that open files and that `who` has, because its user could read them as well.
 */
bool credentials_become_reader(const struct credentials *who);

/* The capabilities that let this user open files which belong to others; 0 for all but root. */
uint64_t credentials_file_rights(const struct credentials *who);

#endif
