// SPDX-License-Identifier: Apache-2.0
/*
 * The folder that a process has in /proc: its threads and their names, where its links lead, whom
 * it belongs to, which namespaces it is in. For its numbers see process_status.h, for its memory
 * maps.h. All of it may have changed or vanished by the next call.
 */
#ifndef IFG_SYSTEM_PROCESS_FOLDER_H
#define IFG_SYSTEM_PROCESS_FOLDER_H

#include <dirent.h>
#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/stat.h>
#include <sys/types.h>

#define PROCESS_FOLDER_BYTES 48

/* This process, whatever number it has where /proc was mounted. None that a program can name. */
#define PROCESS_SELF ((pid_t)INT_MIN)

/* /proc/PID, or /proc/PID/task/TID; thread 0 is none. Returns out. */
const char *process_folder(pid_t pid, pid_t tid, char out[PROCESS_FOLDER_BYTES]);

/* Where "exe", "cwd", "root" or "fd/N" leads; false and "" if that is not known. */
bool process_link(pid_t pid, const char *name, char *out, size_t size);

/* The words that it was started with, NUL between them. Returns the bytes, without the last NUL. It
 * may wait for locks that the process has. */
size_t process_arguments(pid_t pid, char *out, size_t size);

/* Its program, for reading, wherever its name may lead by now; -1 with errno. */
int process_open_program(pid_t pid);

/* The folder of this very program, without a slash at its end. */
bool process_own_program_folder(char out[PATH_MAX]);

bool process_owner(pid_t pid, uid_t *out_user);
bool process_thread_exists(pid_t pid, pid_t tid);

/* What it is called, up to a line break; "" if it is gone. */
void process_thread_name(pid_t pid, pid_t tid, char *out, size_t size);

/* What "exe", "ns/pid" and the like lead to: a file, a namespace. False if it is not known. */
bool process_entry(pid_t pid, const char *name, struct stat *out);
/* Whether that is known to be the same as for this process. */
bool process_shares(pid_t pid, const char *name);
/* Whether it leads to what is at `path` now. */
bool process_entry_is(pid_t pid, const char *name, const char *path);

/* Its threads, as they are listed now. After a failure there are none, and nothing to close. */
struct process_threads {
    DIR *list;
};

bool process_threads_in(const char *folder, struct process_threads *out);
bool process_threads_of(pid_t pid, struct process_threads *out);
bool process_threads_next(struct process_threads *threads, pid_t *out_tid);
void process_threads_close(struct process_threads *threads);

#endif
