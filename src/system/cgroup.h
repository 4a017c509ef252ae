// SPDX-License-Identifier: Apache-2.0
/*
 * The control group of a process: where it is, what it may use, how often it was stopped for using
 * more. Limits are those of the group and of all above it: the tightest may be anybody's.
 */
#ifndef IFG_SYSTEM_CGROUP_H
#define IFG_SYSTEM_CGROUP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct cgroup {
    bool unified;
    char folder[384]; /* where the controller of CPUs has it */
    char memory_folder[384];
    size_t top; /* the length of the folder above all */
};

struct cgroup_limits {
    double cpus;                                            /* 0: no limit */
    uint64_t memory_bytes;                                  /* IFG_NO_NUMBER: no limit */
    uint64_t memory_used, periods, throttled, throttled_us; /* IFG_NO_NUMBER: not told */
};

/* From the text of /proc/PID/cgroup, which is written to. `sys` is where /sys is. False if there is
 * no group, or one outside of what can be seen here. */
bool cgroup_parse(char *text, const char *sys, struct cgroup *out);

/* `process` is its folder in /proc. */
bool cgroup_find(const char *process, const char *sys, struct cgroup *out);

void cgroup_read(const struct cgroup *group, struct cgroup_limits *out);

#endif
