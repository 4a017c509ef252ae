// SPDX-License-Identifier: Apache-2.0
/*
 * /proc/PID/stat and /proc/PID/status, of processes and of single threads. The numbers come from
 * the kernel, the name from the program, which may choose any: with parentheses, blanks, line
 * breaks. Lists in the text may be of any length (a user can be in 65536 groups): what stands
 * behind is found all the same.
 */
#ifndef IFG_SYSTEM_PROCESS_STATUS_H
#define IFG_SYSTEM_PROCESS_STATUS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "system/process_folder.h"

#define PROCESS_NAME_BYTES 64 /* of processes 16; threads of the kernel have longer ones */
#define PROCESS_GROUPS_MAX 256

struct process_stat {
    char name[PROCESS_NAME_BYTES]; /* as the program wrote it */
    char state;                    /* R, S, D, T, t, Z, X */
    bool is_exiting;
    pid_t parent;
    uint64_t minor_faults, major_faults;
    uint64_t ticks; /* of CPU, user and system */
    uint64_t threads, rss_pages;
    uint64_t start_ticks;                       /* since boot: tells two users of one pid apart */
    uint64_t code_start, code_end, stack_start; /* others after exec; 0 or 1: not for us to know */
    uint64_t last_cpu;
};

bool process_stat_parse(const char *text, struct process_stat *out);
/* False, with errno: ENOENT or ESRCH if it is gone. A folder is one as process_folder says it. */
bool process_stat_in(const char *folder, struct process_stat *out);
bool process_stat_of(pid_t pid, struct process_stat *out);

/* How long ago it began, with the time that the machine slept; 0: just now, or not known. */
uint64_t process_age_ns(uint64_t start_ticks);

/* Also one that was not waited for yet. */
bool process_has_ended(pid_t pid);

struct process_status {
    char name[PROCESS_NAME_BYTES]; /* line breaks are escaped by the kernel */
    char state;
    bool shadow_stack;
    bool has_owner; /* the users, the groups and the capabilities are there */
    pid_t parent, tracer;
    pid_t own_pid, own_tid;    /* in its own pid namespace; 0: an old kernel */
    uint64_t uids[4], gids[4]; /* real, effective, saved, of files */
    uint32_t groups[PROCESS_GROUPS_MAX];
    size_t group_count;                                   /* groups beyond are left out */
    uint64_t permitted, effective;                        /* capabilities, a bit each */
    uint64_t pending, shared_pending;                     /* signals: of the thread, of all */
    uint64_t no_new_privs, seccomp_mode, seccomp_filters; /* 0: none, or an old kernel */
    /* IFG_NO_NUMBER where the kernel does not say. */
    uint64_t rss_bytes, anon_bytes, peak_rss_bytes, data_bytes;
    uint64_t voluntary_switches, involuntary_switches;
};

/* Lines that do not end are not believed. */
void process_status_parse(const char *text, struct process_status *out);
bool process_status_in(const char *folder, struct process_status *out);
bool process_status_of(pid_t pid, struct process_status *out);

#endif
