// SPDX-License-Identifier: Apache-2.0
/*
 * From registers and a copy of the top of a stack to the addresses of the callers.
 *
 * Each step takes the best rule there is: the table of the module; the frame pointer in code that
 * was made at run time; and, where code has no description at all (hand-written kernels), a scan of
 * the stack for a return address that proves itself: it follows a call, and from it the tables lead
 * on to the thread's root, or through UNWIND_PROOF frames to the end of the copy. Frames behind
 * such a step are marked as inferred.
 */
#ifndef IFG_SYMBOL_UNWIND_H
#define IFG_SYMBOL_UNWIND_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "symbol/unwind_table.h"

#define UNWIND_FRAMES_MAX 128
#define UNWIND_PROOF      6   /* good frames that prove a scanned return address */
#define UNWIND_SCAN       768 /* bytes of stack that are scanned */

/* A piece of executable memory of the process. */
struct unwind_mapping {
    uint64_t start;
    uint64_t end;
    uint64_t bias;                    /* address in memory minus address in the file */
    const struct unwind_table *table; /* NULL: none */
    struct elf_file *elf;             /* for the bytes of its code; NULL: made at run time */
    uint32_t number;                  /* the caller's name for it */
};

/* Why a walk ended. */
enum unwind_stop {
    UNWIND_AT_ROOT,    /* the thread's first function */
    UNWIND_CUT,        /* the copy of the stack ends */
    UNWIND_NO_MAPPING, /* an address where nothing executable is mapped */
    UNWIND_NO_RULE,    /* code without a description, and no return address proved itself */
    UNWIND_BAD_FRAME,  /* a frame that lies below its callee: the stack makes no sense */
    UNWIND_TOO_DEEP,
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
    size_t count;
    size_t exact; /* so many are certain; those behind were inferred */
    enum unwind_stop stop;
};

struct unwind_space;

struct unwind_space *unwind_space_create(void); /* NULL: no memory */
void unwind_space_destroy(struct unwind_space *space);

/* Replaces what is mapped there. The table and the file stay the caller's. */
enum ifg_status unwind_space_map(struct unwind_space *space, const struct unwind_mapping *mapping,
                                 struct ifg_error *err) IFG_MUST_CHECK;
void unwind_space_unmap(struct unwind_space *space, uint64_t start, uint64_t end);
const struct unwind_mapping *unwind_space_find(const struct unwind_space *space, uint64_t address);

void unwind_walk(struct unwind_space *space, const struct unwind_stack *stack,
                 struct unwind_frames *out_frames);

const char *unwind_stop_name(enum unwind_stop stop);

#endif
