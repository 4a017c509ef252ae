// SPDX-License-Identifier: Apache-2.0
/*
 * Where the program's threads were when they were sampled: functions by self and total samples.
 *
 *   self    samples whose innermost frame is in the function
 *   total   samples that have the function anywhere on their stack; recursion counts once
 *
 * A function is one that has code of its own; what was inlined into it counts as it. Its lines name
 * what was inlined.
 */
#ifndef IFG_ANALYZE_HOT_H
#define IFG_ANALYZE_HOT_H

#include "timeline/samples.h"

/* Which samples count. Zero and NULL mean: no restriction. */
struct hot_filter {
    uint64_t from_ns; /* in [from, to), since the trace's begin */
    uint64_t to_ns;
    const char *model;                                  /* name of the model whose work it is */
    uint32_t model_number;                              /* the same by number: index + 1 */
    const char *op;                                     /* name of the operator */
    const char *zone;                                   /* inside a slice of this name */
    const char *thread;                                 /* a tid, or a thread's name */
    enum trace_category category;                       /* of the ML event around */
    bool (*name_matches)(const char *name, void *user); /* of rows: the function's name */
    void *user;
};

struct hot_line {
    uint32_t function;
    const char *innermost; /* function, inlined or not */
    const char *file;
    uint32_t line;
    uint64_t self;
};

struct hot_address {
    uint32_t frame; /* number */
    uint64_t address;
    uint64_t self;
};

struct hot_row {
    uint32_t function;
    const char *name;
    const char *module;
    const char *file; /* of its hottest line; "" */
    uint32_t line;
    const char *under; /* without a name: the nearest caller in the module that has one; "" */
    bool guessed;
    uint64_t self;
    uint64_t total;
    uint64_t total_inferred; /* of total: the way from the innermost frame to it is not certain */
    const struct hot_line *lines; /* most samples first */
    size_t line_count;
    const struct hot_address *addresses; /* same */
    size_t address_count;
};

struct hot_module {
    const char *name;
    uint32_t module;
    uint64_t self;
};

struct hot {
    struct hot_row *rows; /* most self samples first */
    size_t row_count;
    struct hot_module *modules; /* same; only those with samples */
    size_t module_count;

    uint64_t samples;  /* that count; what all shares refer to */
    uint64_t rooted;   /* their stack reaches the root of the thread */
    uint64_t inferred; /* with frames that are not certain */
    uint64_t in_kernel;
    uint64_t no_stack;
    uint64_t lent;    /* of threads without slices, attributed by time; see timeline/samples.h */
    uint64_t several; /* of such threads, while several models ran */

    const uint32_t *frame_self;  /* by frame number */
    const uint32_t *frame_total; /* same; with what it called */
    void *memory;
};

/* A trace without samples gives one with no rows. */
enum ifg_status hot_create(const struct timeline *timeline, const struct hot_filter *filter,
                           struct hot **out_hot, struct ifg_error *err) IFG_MUST_CHECK;
void hot_destroy(struct hot *hot);

#endif
