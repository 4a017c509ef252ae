// SPDX-License-Identifier: Apache-2.0
/*
 * Code that one process made at run time: what it is called, and its bytes.
 *
 * Names come from the dump that the process maps (jitdump.h), else from the list that it writes to
 * /tmp/perf-PID.map, as its own mount and process namespaces have it. Bytes come from the dump;
 * else from copies of the pages around sampled places, taken when a place is seen for the first
 * time, for most programs are gone when names are looked up; else from the process, if it lives.
 *
 * Both files are opened with the rights of the process's user (owners.h), and must be his or
 * root's: anybody may write to /tmp.
 */
#ifndef IFG_COLLECT_PERF_JIT_CODE_H
#define IFG_COLLECT_PERF_JIT_CODE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct jit_code;
struct owners;

/* What all processes together may use. */
struct jit_code_budget {
    size_t pages;        /* copied so far */
    size_t descriptors;  /* of files that are kept open */
    uint64_t window_ns;  /* when the current tenth of a second began */
    uint32_t reads;      /* of memory, in it */
    uint64_t dump_bytes; /* of dumps that were read */
};

struct jit_code_function {
    const char *name; /* "" not known; lives as long as the names are loaded */
    const char *file;
    uint32_t line;
    uint64_t start, size;
};

/* Owners and budget stay the caller's and outlive it. NULL: no memory. */
struct jit_code *jit_code_create(uint32_t pid, struct owners *owners,
                                 struct jit_code_budget *budget);
void jit_code_destroy(struct jit_code *jit);

/* Whether a file that is mapped is a dump: perf's convention is that its name tells. */
bool jit_code_is_dump(const char *path);
/* The process has mapped a dump: it is opened at once, since it may be deleted a moment later. */
void jit_code_take_dump(struct jit_code *jit, const char *path);

/* A sample has this place on its stack. True: it is the first one. */
bool jit_code_saw(struct jit_code *jit, uint64_t address, uint64_t time_ns);
bool jit_code_knows(const struct jit_code *jit, uint64_t address);

/* Reads the dump; at the end, before the others below. */
void jit_code_load(struct jit_code *jit);
int jit_code_list(const struct jit_code *jit); /* the list's descriptor; -1: none */
/* Reads the list. In a process that may die. */
void jit_code_load_names(struct jit_code *jit);
bool jit_code_find(const struct jit_code *jit, uint64_t address,
                   struct jit_code_function *out_function);

/* The bytes of a function that has been found for an address: from `from` on as many as are known
 * without a gap, at most size; out_next is where to ask next. 0: there are no more. */
size_t jit_code_code(const struct jit_code *jit, uint64_t address, uint64_t from, uint64_t end,
                     uint8_t *out, uint64_t *out_at);

/* Why there are no names, or how they could be had: what program it is, and the option it needs. */
const char *jit_code_hint(const struct jit_code *jit);

#endif
