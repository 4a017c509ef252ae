// SPDX-License-Identifier: Apache-2.0
/*
 * Opening a file that a watched program named: sources in its debug information, debug files, perf
 * maps, jitdump files, models. The program chose the path, so it is opened with the rights of the
 * program's user and in the program's own root directory, never with those of the recorder: a
 * path of /etc/shadow, a symbolic link there, or a file of another container gives nothing.
 */
#ifndef IFG_SYSTEM_OPEN_AS_H
#define IFG_SYSTEM_OPEN_AS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/status.h"

struct credentials;

/* Not larger than this, unless `max_bytes` says otherwise. */
#define OPEN_AS_MAX_BYTES (UINT64_C(16) << 30)

/*
 * A regular file, for reading, as process `pid` would see it. `path` is absolute. The descriptor is
 * closed on exec. Never waits: not for leases, not for the other end of a pipe.
 * IFG_PERMISSION: its user may not read it. IFG_INVALID: not a regular file (nor one of those that
 * the kernel makes up, as below /proc, which may tell about this process instead), or too large.
 */
enum ifg_status open_as_process(pid_t pid, const char *path, uint64_t max_bytes, int *out_fd,
                                struct ifg_error *err) IFG_MUST_CHECK;

/*
 * The same when the process may have ended: `who` was taken while it lived, and `root_fd` is its
 * root directory (from open_as_root), or -1 for the recorder's own.
 */
enum ifg_status open_as_user(const struct credentials *who, int root_fd, const char *path,
                             uint64_t max_bytes, int *out_fd, struct ifg_error *err) IFG_MUST_CHECK;

/* The same, but the path itself is no symbolic link (directories of it may be). */
enum ifg_status open_as_user_unlinked(const struct credentials *who, int root_fd, const char *path,
                                      uint64_t max_bytes, int *out_fd,
                                      struct ifg_error *err) IFG_MUST_CHECK;

/* The root directory of a process; -1 where it has ended. */
int open_as_root(pid_t pid);

/*
 * Whether nobody but root and `user` can put something else where this file is: it and every
 * directory above it belong to one of the two, nobody else can write to them, and none is a
 * symbolic link. For paths that the kernel told (/proc/PID/exe, maps), which have no links.
 */
bool open_as_is_owned(const char *path, uid_t user);

/* Whether nobody can put something else there who could not have replaced this very program: for
 * what is installed with it, be that by root or in somebody's own folder. */
bool open_as_is_ours(const char *path);

#endif
