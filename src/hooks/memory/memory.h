// SPDX-License-Identifier: Apache-2.0
/*
 * Inside of libinferogram-memory.so: the door (malloc.c) counts bytes and lets nearly everything
 * through; what is picked goes on to pick.c.
 */
#ifndef IFG_HOOKS_MEMORY_MEMORY_H
#define IFG_HOOKS_MEMORY_MEMORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "hooks/memory/picked.h"

#define MEMORY_HIDDEN            __attribute__((visibility("hidden")))
#define MEMORY_LIKELY(condition) __builtin_expect(!!(condition), 1)

/* Of every thread; no allocation when it is first used. All zero: nothing is decided yet. */
struct memory_thread {
    int64_t left;    /* bytes until the next pick */
    size_t interval; /* from here on, every allocation is picked */
    uint64_t random;
    uintptr_t stack_low; /* from here up to this, its stack has no gap; 0: not known */
    uint32_t pid, tid;   /* of the process, when it had that number */
    bool inside;    /* we are at work: what is allocated now is our doing, or a signal handler's */
    bool resolving; /* looking for the real functions */
};

extern MEMORY_HIDDEN __thread struct memory_thread memory_thread
    __attribute__((tls_model("initial-exec")));
extern MEMORY_HIDDEN struct picked memory_picked;

/* Who asked for memory. */
struct memory_caller {
    uint64_t ip, sp, fp;
};

/* Most allocations end here: too small to be picked by themselves, and the next pick is not yet. */
static inline bool memory_passes(size_t bytes)
{
    struct memory_thread *thread = &memory_thread;

    return MEMORY_LIKELY(bytes < thread->interval) &&
           MEMORY_LIKELY((thread->left -= (int64_t)bytes) >= 0);
}

/* An allocation that did not pass. Keeps errno. */
MEMORY_HIDDEN void memory_note(void *block, size_t bytes, const struct memory_caller *caller);

/* The end of a picked one, at a time of memory_now_ns. Keeps errno. */
MEMORY_HIDDEN void memory_note_end(const void *block, uint64_t time_ns);
MEMORY_HIDDEN uint64_t memory_now_ns(void);

/* The program has confined itself, or was confined when it began: it is left alone. */
extern MEMORY_HIDDEN bool memory_confined;
MEMORY_HIDDEN void memory_confine(void); /* from now on */

/* early.c: memory for whom malloc cannot be found yet. It is never given back. NULL: no more. */
MEMORY_HIDDEN void *early_alloc(size_t alignment, size_t bytes);
MEMORY_HIDDEN bool early_has(const void *block, size_t *out_bytes);

#endif
