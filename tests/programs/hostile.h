// SPDX-License-Identifier: Apache-2.0
/* What the ways of hostile.c share. */
#ifndef IFG_TESTS_HOSTILE_H
#define IFG_TESTS_HOSTILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct hostile {
    const char *folder;  /* ours; the program's own files are there */
    const char *library; /* hostile_code.so */
    double end;          /* CLOCK_MONOTONIC, in seconds */
};

uint64_t hostile_random(void);
/* Below a limit that is not 0. */
size_t hostile_below(size_t limit);
/* Often an edge, sometimes anything. */
uint64_t hostile_number(void);
bool hostile_goes_on(const struct hostile *hostile);
/* Random bytes without NUL and '/', among them escape sequences, newlines and broken UTF-8. */
void hostile_name(char *out, size_t size);
/* Does some of what `bytes` may not be: flips, edges, copies, but not in [keep, keep_end). */
void hostile_change(uint8_t *bytes, size_t size, size_t keep, size_t keep_end);
/* Code that spins for a moment, made at run time. NULL: not on this machine. */
void *hostile_made_code(size_t bytes);
void hostile_call(void *code);

/* ---- the ways; each takes as long as it may ---- */

int hostile_elf(const struct hostile *hostile);
int hostile_runtime(const struct hostile *hostile);
int hostile_perf_map(const struct hostile *hostile);
int hostile_jitdump(const struct hostile *hostile);
int hostile_names(const struct hostile *hostile, char **arguments);
int hostile_storm(const struct hostile *hostile);
int hostile_heap(const struct hostile *hostile);

#endif
