// SPDX-License-Identifier: Apache-2.0
/*
 * Other processes as /proc shows them: who they are, whether they carry libinferogram, who their
 * children are. Everything read here may change or vanish between two calls, and is treated so.
 */
#ifndef IFG_RECORD_PROCESS_H
#define IFG_RECORD_PROCESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/status.h"

struct process_info {
    pid_t pid;
    pid_t parent;
    uid_t uid;
    uint64_t start_time;  /* clock ticks since boot: tells two users of one pid apart */
    char name[32];        /* comm */
    char program[512];    /* the executable's path; empty if it may not be read */
    char directory[512];  /* empty if it may not be read */
    char arguments[4096]; /* NUL between them */
    size_t arguments_bytes;
};

/* IFG_NOT_FOUND when there is no such process. */
enum ifg_status process_describe(pid_t pid, struct process_info *out_info,
                                 struct ifg_error *err) IFG_MUST_CHECK;

/* The same without its arguments and its directory: what can be read without waiting for locks that
 * the process itself may have. */
enum ifg_status process_glance(pid_t pid, struct process_info *out_info,
                               struct ifg_error *err) IFG_MUST_CHECK;

/* A name for people: the program's file name, or comm. Lives in info. */
const char *process_short_name(const struct process_info *info);

/* Opens the region of a process that carries libinferogram: *out_fd is the caller's to close.
 * IFG_NOT_FOUND: it does not carry it (or closed it; the sentence tells). IFG_PERMISSION: it cannot
 * be looked into. err always gets a sentence that says what to do. */
enum ifg_status process_open_region(pid_t pid, int *out_fd, struct ifg_error *err) IFG_MUST_CHECK;

/* Calls visit for every process until it returns false. */
void process_each(bool (*visit)(pid_t pid, void *user), void *user);

/* Appends to pids the descendants of pid (itself not included), at most max. Returns how many. */
size_t process_descendants(pid_t pid, pid_t *pids, size_t max);

/* A number that no process has, for one that is gone and whose number is not known here. */
#define PROCESS_GONE 0x7fffffff

bool process_exists(pid_t pid);
/* Its number in its own pid namespace; 0: it is gone. */
pid_t process_own_number(pid_t pid);
/* The number here of a thread that calls itself `own`; `own` if there is none. */
pid_t process_thread_number(pid_t pid, pid_t own);
/* Whether it has the region behind fd. */
bool process_has_region(pid_t pid, int fd);
const char *process_user_name(uid_t uid, char *out_name, size_t size);

/* How to match a process by its name or by the path of its program or script. */
bool process_matches_name(const struct process_info *info, const char *name);
bool process_matches_path(const struct process_info *info, const char *path);

#endif
