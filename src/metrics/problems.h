// SPDX-License-Identifier: Apache-2.0
/*
 * The findings of a recording, small enough to be shown all the time: which rule, how severe, about
 * which model. Without pointers, so that a child can leave them in memory that it shares.
 */
#ifndef IFG_METRICS_PROBLEMS_H
#define IFG_METRICS_PROBLEMS_H

#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

#define PROBLEMS_MOST          64u
#define PROBLEMS_PROGRAMS_MOST 64u

struct trace_reader;

struct problem {
    char program[64];
    char model[128]; /* "": not about one */
    char id[48];     /* of the rule */
    uint32_t severity;
    uint32_t count;
};

/* How much of a program's past they are about. */
struct problems_window {
    char program[64];
    double seconds;
};

struct problems {
    uint32_t window_count; /* programs whose findings are known */
    struct problems_window windows[PROBLEMS_PROGRAMS_MOST];
    uint32_t count;
    uint32_t not_kept;
    struct problem items[PROBLEMS_MOST];
};

/* Adds one, or counts it with the same one. */
void problems_add(struct problems *problems, const struct problem *problem);

/* Adds all of another one. */
void problems_merge(struct problems *problems, const struct problems *other);

/* Those of a trace. */
enum ifg_status problems_find(const struct trace_reader *reader, const char *program,
                              struct problems *out_problems, struct ifg_error *err) IFG_MUST_CHECK;

#endif
