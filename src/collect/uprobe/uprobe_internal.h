// SPDX-License-Identifier: Apache-2.0
/* Between the engine (uprobe.c) and the two ways to do it (bpf.c, perf.c). */
#ifndef IFG_COLLECT_UPROBE_UPROBE_INTERNAL_H
#define IFG_COLLECT_UPROBE_UPROBE_INTERNAL_H

#include "collect/uprobe/uprobe.h"
#include "system/trace_rule.h"

/* A description that was looked at: the file is open, and the offset lies in it. */
struct uprobe_point {
    const char *file; /* the caller's name for it, for messages */
    char path[32];    /* /proc/self/fd/N of what was opened: nobody can swap it */
    int fd;
    uint64_t offset; /* past a landing pad */
    uint64_t cookie; /* see calls_internal.h; the namespace is filled in by bpf.c */
};

struct uprobe_backend {
    enum ifg_status (*open)(const struct uprobe_options *options, void **out_state,
                            struct ifg_error *err);
    /* All points or none. */
    enum ifg_status (*add)(void *state, pid_t pid, const struct uprobe_point *points, size_t count,
                           struct ifg_error *err);
    /* Whether probes tell nothing of a process before it is permitted. */
    bool (*guarded)(const void *state);
    /* Where not every process may be watched: from here on this one is, until it executes another
     * program. NULL: the way cannot tell processes apart in the kernel. */
    enum ifg_status (*permit)(void *state, const struct traced *traced, struct ifg_error *err);
    void (*remove)(void *state, pid_t pid, bool all);
    size_t (*read)(void *state, uprobe_seen *seen, void *user);
    int (*fd)(const void *state);
    struct uprobe_losses (*lost)(const void *state);
    void (*close)(void *state);
};

extern const struct uprobe_backend uprobe_bpf_backend;
extern const struct uprobe_backend uprobe_perf_backend;

/* The number of the kernel's uprobe PMU, or a status with the reason. */
enum ifg_status uprobe_pmu_type(int *out_type, struct ifg_error *err);

enum uprobe_attempt {
    UPROBE_LOAD,      /* bpf(2) */
    UPROBE_ATTACH,    /* perf_event_open(2) of a uprobe */
    UPROBE_OPEN_FILE, /* open(2) of a file in the process */
    UPROBE_MAP_RING,  /* mmap(2) of a perf ring */
    UPROBE_READ_MEMORY,
};

/* A sentence for a refused call: what is missing and what to do. `what` begins it. */
enum ifg_status uprobe_refused(struct ifg_error *err, enum uprobe_attempt attempt, int error,
                               const char *what);

/* The file with this function of ours, and where in it; -1 and errno when it cannot be opened. */
int uprobe_open_own_code(const void *function, uint64_t *out_offset);

/* Whether return probes could harm the process: see sandbox.c. */
enum ifg_status uprobe_returns_are_safe(pid_t pid, struct ifg_error *err);

/* Tries it: a child behind a filter that allows no new system call returns through a probe. */
enum ifg_status uprobe_sandbox_trial(struct ifg_error *err);

#endif
