// SPDX-License-Identifier: Apache-2.0
/*
 * The heap of the recorded processes over time, as far as allocations were picked (record
 * --memory): its peak, who held it then, what inferences allocate and free again, and what was
 * still there in the end.
 *
 * All bytes are estimates: an allocation that was picked stands for others. An error is one
 * standard deviation: of n small ones about 1 / sqrt(n) of their sum, of large ones nothing.
 */
#ifndef IFG_ANALYZE_HEAP_H
#define IFG_ANALYZE_HEAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analyze/findings/input.h"

#define HEAP_FRAMES 8u

struct heap_sum {
    double bytes;
    double variance; /* of bytes, for heap_error */
    uint64_t count;  /* that were picked */
};

struct heap_row {
    const char *name; /* of the function, operator or thread; "" */
    const char *module;
    bool guessed;      /* the name */
    const char *under; /* functions without a name: the nearest caller that has one; "" */
    uint32_t model;    /* models: index; operators: of the first one seen; TIMELINE_NONE */
    enum trace_category category;
    uint32_t function;    /* functions: index into the profile's functions */
    uint32_t tid;         /* threads */
    struct heap_sum peak; /* there when the heap was largest */
    struct heap_sum all;  /* ever */
    struct heap_sum kept; /* never freed, as long as the recording went */
    uint32_t stack;       /* functions: where most of its bytes were taken, at or above its node */
};

struct heap_table {
    struct heap_row *rows; /* most at the peak first */
    size_t count;
};

/* What inferences of a model but the first allocate, and free again before the one after the next.
 */
struct heap_churn {
    uint32_t model;
    uint64_t inferences;
    struct heap_sum allocated; /* in all of them together */
    struct heap_sum freed;     /* of that */
};

struct heap_use {
    uint64_t peak_ns;
    struct heap_sum peak, all, kept;
    uint64_t lost;               /* picked ones that there was no room for */
    struct heap_table functions; /* the innermost ones that are no allocators */
    struct heap_table models;    /* by model and category; TIMELINE_NONE: the program itself */
    struct heap_table operators; /* the one that ran */
    struct heap_table threads;
    struct heap_churn *churns; /* by model */
    size_t churn_count;
    bool named; /* names of functions are here and ours */
};

/* *out_heap is NULL if allocations were not recorded. */
enum ifg_status heap_use_create(const struct ml_input *input, struct heap_use **out_heap,
                                struct ifg_error *err) IFG_MUST_CHECK;
void heap_use_destroy(struct heap_use *heap); /* accepts NULL */

/* One standard deviation, in bytes. */
double heap_error(const struct heap_sum *sum);

/* Functions from that node outwards; returns how many, at most HEAP_FRAMES. */
size_t heap_stack(const struct timeline_profile *profile, uint32_t node,
                  uint32_t out_functions[HEAP_FRAMES]);

/* Whether a function only hands out memory for others. */
bool heap_is_allocator(const char *function, const char *module);

#endif
