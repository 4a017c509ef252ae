// SPDX-License-Identifier: Apache-2.0
/* The memory of one process over time, made for questions about spans of it. */
#ifndef IFG_ANALYZE_MEMORY_INTERNAL_H
#define IFG_ANALYZE_MEMORY_INTERNAL_H

#include "analyze/memory.h"

struct memory_look {
    uint64_t ns;
    double bytes;
    double most; /* since the look before, at least bytes; more: the kernel saw it */
};

struct memory_line {
    uint32_t pid;
    struct memory_look *looks; /* by time, never none */
    size_t count;
    uint32_t *tops; /* of each block of looks: the one with the most */
    bool fine;
    uint64_t resolution_ns;
};

struct memory_lines {
    struct memory_line *items; /* by pid */
    size_t count;
};

enum ifg_status memory_lines_create(const struct resources *resources, struct memory_lines *out);
void memory_lines_destroy(struct memory_lines *lines);
const struct memory_line *memory_line_of(const struct memory_lines *lines, uint32_t pid);

/* When there first was so much, between the two times; they are equal if a look saw it. */
void memory_first(const struct memory_line *line, double bytes, uint64_t *out_from_ns,
                  uint64_t *out_ns);

/* Steps of memory that are not a phase's for certain are no more than this share of its growth. */
#define MEMORY_OUTSIDE_SHARE 0.1

/* False if nothing is known of that time. */
bool memory_ask(const struct memory_line *line, uint64_t start_ns, uint64_t end_ns,
                struct memory_span *out);

#endif
