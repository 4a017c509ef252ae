// SPDX-License-Identifier: Apache-2.0
/*
 * From registers and a copy of the top of a stack to the addresses of the callers.
 *
 * Each step takes the best rule there is: the table of the module; the frame pointer in code that
 * was made at run time; and, where code has no description at all (hand-written kernels), a scan of
 * the stack for a return address that proves itself: it follows a call, and from it the tables lead
 * on to the thread's root, or through UNWIND_PROOF frames to the end of the copy. Frames behind
 * such a step are marked as inferred. A probe that waits for a function to return has replaced its
 * return address: the caller is then missing, and the one behind it is found by a scan as well.
 *
 * A thread's stack changes at its inner end; a trail remembers the last walk of a thread, so that
 * the next one may stop where it meets it. The result is the same with a trail and without.
 */
#ifndef IFG_SYMBOL_UNWIND_H
#define IFG_SYMBOL_UNWIND_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "symbol/unwind_table.h"

#define UNWIND_FRAMES_MAX 1024 /* a call of Python in Python is four of C */
#define UNWIND_PROOF      6    /* good frames that prove a scanned return address */
#define UNWIND_SCAN       768  /* bytes of stack that are scanned */

/* A piece of executable memory of the process. */
struct unwind_mapping {
    uint64_t start;
    uint64_t end;
    uint64_t bias;              /* address in memory minus address in the file */
    struct unwind_table *table; /* NULL: none */
    struct elf_file *elf;       /* for the bytes of its code; NULL: made at run time */
    uint32_t number;            /* the caller's name for it */
    bool probes;                /* the kernel's page for returns that a probe waits for */
};

/* Why a walk ended. */
enum unwind_stop {
    UNWIND_AT_ROOT,    /* the thread's first function */
    UNWIND_CUT,        /* the copy of the stack ends */
    UNWIND_NO_MAPPING, /* an address where nothing executable is mapped */
    UNWIND_NO_RULE,    /* code without a description, and no return address proved itself */
    UNWIND_BAD_FRAME,  /* a frame that lies below its callee: the stack makes no sense */
    UNWIND_TOO_DEEP,
    UNWIND_PROBED, /* a probe took the return address, and no caller proved itself */
    UNWIND_STOPS,
};

struct unwind_stack {
    uint64_t ip, sp, fp;
    uint64_t lr;          /* arm64 */
    const uint8_t *bytes; /* memory from sp on */
    size_t size;
};

struct unwind_frames {
    uint64_t address[UNWIND_FRAMES_MAX]; /* the innermost first; return addresses of the others */
    uint32_t mapping[UNWIND_FRAMES_MAX]; /* where each is: for unwind_frame_code() */
    uint64_t sp[UNWIND_FRAMES_MAX];      /* its stack pointer: a frame ends where the next begins */
    size_t count;
    size_t exact; /* so many are certain; those behind were inferred */
    size_t kept;  /* so many of the outermost are those of the trail's last walk */
    enum unwind_stop stop;
    bool continued; /* the caller knows the rest, though the copy ends before */
};

/* What is known of code that was met, for all processes; bounded. */
struct unwind_cache;

struct unwind_cache *unwind_cache_create(void); /* NULL: no memory */
void unwind_cache_destroy(struct unwind_cache *cache);

/* What a process has mapped. */
struct unwind_space;

/* NULL: no memory. The cache stays the caller's, and outlives the space. */
struct unwind_space *unwind_space_create(struct unwind_cache *cache);
struct unwind_space *unwind_space_copy(const struct unwind_space *space);
void unwind_space_destroy(struct unwind_space *space);

/* Replaces what is mapped there. The table and the file stay the caller's. */
enum ifg_status unwind_space_map(struct unwind_space *space, const struct unwind_mapping *mapping,
                                 struct ifg_error *err) IFG_MUST_CHECK;
void unwind_space_unmap(struct unwind_space *space, uint64_t start, uint64_t end);
const struct unwind_mapping *unwind_space_find(const struct unwind_space *space, uint64_t address);

/* The last walk of one thread. */
struct unwind_trail;

struct unwind_trail *unwind_trail_create(void); /* NULL: no memory */
void unwind_trail_destroy(struct unwind_trail *trail);

/* trail: that of the thread, which is brought up to date; NULL: none. */
void unwind_walk(struct unwind_space *space, const struct unwind_stack *stack,
                 struct unwind_trail *trail, struct unwind_frames *out_frames);

/* The mapping of frame `index`, and the address of its code in the file, or in memory if there is
 * no file. Return addresses may lie behind the call: the byte before is in the calling function.
 * Good until the space changes. */
const struct unwind_mapping *unwind_frame_code(const struct unwind_space *space,
                                               const struct unwind_frames *frames, size_t index,
                                               uint64_t *out_address);

const char *unwind_stop_name(enum unwind_stop stop);

#endif
