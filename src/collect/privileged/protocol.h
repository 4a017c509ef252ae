// SPDX-License-Identifier: Apache-2.0
/*
 * What a recorder and inferogram-privileged say to each other: packets of one size each way, over a
 * socket pair, one answer for each request. The recorder is hostile for the helper.
 */
#ifndef IFG_COLLECT_PRIVILEGED_PROTOCOL_H
#define IFG_COLLECT_PRIVILEGED_PROTOCOL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PRIVILEGED_MAGIC    0x31706669u /* "ifp1": another version is another number */
#define PRIVILEGED_PROBES   64u
#define PRIVILEGED_FDS      3u
#define PRIVILEGED_SOCKET   3          /* the helper's end */
#define PRIVILEGED_REQUESTS (1u << 20) /* then the helper ends */
#define PRIVILEGED_LINKS    8192u
#define PRIVILEGED_CPUS     4096

enum privileged_operation {
    PRIVILEGED_HELLO = 1, /* the answer's value: enum privileged_can */
    PRIVILEGED_EVENT,     /* samples of a thread on a CPU; one descriptor */
    PRIVILEGED_LOAD,      /* the program of probes, once: ring, counts, stacks */
    PRIVILEGED_LINK,      /* probes of one step in a file, which comes along; one descriptor */
    PRIVILEGED_PERMIT,    /* from now on, probes of this process tell something */
    PRIVILEGED_FORBID,
};

enum privileged_can {
    PRIVILEGED_CAN_PROBE = 1,
    PRIVILEGED_CAN_SAMPLE = 2,
    PRIVILEGED_CAN_KERNEL = 4, /* samples of the kernel */
};

enum privileged_flags {
    PRIVILEGED_SIDE = 1,    /* the event that takes no samples, but tells of mappings */
    PRIVILEGED_CLOCK = 2,   /* by time, where there are no cycles */
    PRIVILEGED_KERNEL = 4,  /* also of the kernel */
    PRIVILEGED_ON_EXEC = 8, /* switched on when the thread executes a program */
    PRIVILEGED_BUILD_ID = 16,
};

struct privileged_request {
    uint32_t magic;
    uint32_t operation; /* enum privileged_operation */
    int32_t pid;        /* or a thread */
    int32_t cpu;
    uint32_t flags; /* enum privileged_flags */
    uint32_t hz;
    uint32_t stack_bytes;
    uint32_t step; /* 0 returns, 1 entries, 2 points; the order of bpf.c */
    uint32_t count;
    uint32_t unused;
    uint64_t ring_bytes;
    uint64_t wake_bytes;
    uint64_t offsets[PRIVILEGED_PROBES];
    uint64_t cookies[PRIVILEGED_PROBES];
};

struct privileged_answer {
    uint32_t magic;
    int32_t error; /* an errno; 0: done */
    uint32_t value;
    uint32_t fd_count;
    char message[496]; /* with an error, for the user; may be empty */
};

/* Whether a request makes sense by itself; whose process it names is another question. */
bool privileged_request_check(const struct privileged_request *request, size_t size, int fd_count);

#endif
