// SPDX-License-Identifier: Apache-2.0
/*
 * Threads as the fallback follows them: their open calls, and what is read out of their memory.
 * Between perf.c (rings) and perf_threads.c.
 */
#ifndef IFG_COLLECT_UPROBE_PERF_INTERNAL_H
#define IFG_COLLECT_UPROBE_PERF_INTERNAL_H

#include "collect/uprobe/uprobe.h"

/* Registers that are sampled, lowest number first, as the kernel writes them. */
#if defined(__x86_64__)
#define PERF_REGISTERS     8 /* ax, cx, dx, si, di, sp, r8, r9 */
#define PERF_REGISTER_MASK 0x300bdull
#elif defined(__aarch64__)
#define PERF_REGISTERS     7 /* x0 to x5, sp */
#define PERF_REGISTER_MASK 0x8000003full
#else
#error "which registers hold the arguments?"
#endif

#define PERF_BUCKETS 256

struct perf_thread;

struct perf_threads {
    struct perf_thread *buckets[PERF_BUCKETS];
    size_t count;
};

struct perf_hit {
    uint64_t cookie;
    bool at_return;
    pid_t pid, tid;
    bool our_namespace; /* these are also the numbers that the process has for itself */
    uint64_t time_ns;
    const uint64_t *registers;
};

/* True when the hit makes an event; its text lives until the next hit. */
bool perf_threads_hit(struct perf_threads *threads, const struct perf_hit *hit,
                      struct uprobe_losses *losses, struct uprobe_event *out_event);
void perf_threads_fini(struct perf_threads *threads);

#endif
