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
#ifndef IFG_COLLECT_PERF_MADE_H
#define IFG_COLLECT_PERF_MADE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct made;
struct owners;

/* What all processes together may use. */
struct made_budget {
    size_t pages;        /* copied so far */
    size_t descriptors;  /* of files that are kept open */
    uint64_t window_ns;  /* when the current tenth of a second began */
    uint32_t reads;      /* of memory, in it */
    uint64_t dump_bytes; /* of dumps that were read */
};

struct made_location {
    const char *name; /* "" not known; lives as long as the names are loaded */
    const char *file;
    uint32_t line;
    uint64_t start, size;
};

/* Owners and budget stay the caller's and outlive it. NULL: no memory. */
struct made *made_create(uint32_t pid, struct owners *owners, struct made_budget *budget);
void made_destroy(struct made *made);

/* Whether a file that is mapped is a dump: perf's convention is that its name tells. */
bool made_is_dump(const char *path);
/* The process has mapped a dump: it is opened at once, since it may be deleted a moment later. */
void made_take_dump(struct made *made, const char *path);

/* A sample has this place on its stack. True: it is the first one. */
bool made_saw(struct made *made, uint64_t address, uint64_t time_ns);
bool made_knows(const struct made *made, uint64_t address);

/* Reads the dump; at the end, before the others below. */
void made_load(struct made *made);
int made_list(const struct made *made); /* the list's descriptor; -1: none */
/* Reads the list. In a process that may die. */
void made_load_names(struct made *made);
bool made_find(const struct made *made, uint64_t address, struct made_location *out_location);

/* The bytes of a function that has been found for an address: from `from` on as many as are known
 * without a gap, at most size; out_next is where to ask next. 0: there are no more. */
size_t made_code(const struct made *made, uint64_t address, uint64_t from, uint64_t end,
                 uint8_t *out, uint64_t *out_at);

/* Why there are no names, or how they could be had: what program it is, and the option it needs. */
const char *made_hint(const struct made *made);

#endif
