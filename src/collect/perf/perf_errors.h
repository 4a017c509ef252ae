// SPDX-License-Identifier: Apache-2.0
/*
 * Why the kernel refuses a perf event, and the command that changes it: in the same words in a
 * recording, in its trace and in `inferogram doctor`.
 */
#ifndef IFG_COLLECT_PERF_PERF_ERRORS_H
#define IFG_COLLECT_PERF_PERF_ERRORS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* What was asked for. */
enum perf_error_wish {
    PERF_ERROR_SAMPLES,  /* call stacks of a program, or its switches: allowed to everybody */
    PERF_ERROR_KERNEL,   /* the same of the kernel */
    PERF_ERROR_WAKERS,   /* tracepoints of the scheduler */
    PERF_ERROR_COUNTERS, /* of the hardware */
    PERF_ERROR_RING,     /* memory that the kernel writes to */
};

/* The settings and rights that decide. */
struct perf_error_facts {
    int paranoid; /* kernel.perf_event_paranoid */
    bool seccomp; /* a filter is on this process, as containers have one */
    bool root;
    uint64_t mlock_kb;    /* kernel.perf_event_mlock_kb */
    uint64_t sample_rate; /* kernel.perf_event_max_sample_rate */
    uint64_t cpu_percent; /* kernel.perf_cpu_time_max_percent */
};

struct perf_error {
    char reason[320]; /* one sentence without a full stop */
    char fix[640];    /* a command for a shell, or "" */
};

void perf_error_read_facts(struct perf_error_facts *out_facts);

/* pid: whose process it was; 0: our own. */
void perf_error_explain(enum perf_error_wish wish, int error, pid_t pid,
                        const struct perf_error_facts *facts, struct perf_error *out);

/* The same with the facts of now, as one line for a trace: "reason; `command`". */
void perf_error_line(enum perf_error_wish wish, int error, pid_t pid, char *out, size_t size);

/* Where the scheduler's tracepoint is numbered. False, with what is missing for the events, if the
 * file system of tracepoints is not there or cannot be read. */
bool perf_error_find_tracepoint(const char *name, uint64_t *out_id, struct perf_error *out);

#endif
