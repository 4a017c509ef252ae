// SPDX-License-Identifier: Apache-2.0
/*
 * Counts and latencies of ML events by program, model, function, category and device: what a scrape
 * shows. Memory and the number of series are fixed: when all are taken, further ones are counted
 * together as "other", one for each category.
 *
 * Without pointers, so that a recorder can keep it in memory that it shares with the process that
 * is scraped. One writes, others may read meanwhile: a series is complete when it is counted, and
 * its numbers only grow.
 */
#ifndef IFG_METRICS_TALLY_H
#define IFG_METRICS_TALLY_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "trace/format.h"

/* Buckets of latencies: the first ends at 1 us, each of the others at twice the one before. */
#define TALLY_BOUNDS      27u /* the last is 67.1 s */
#define TALLY_BOUND_NS    1000u
#define TALLY_SERIES_MOST 1024u
#define TALLY_SLOTS       4096u /* of the table that finds a series */

struct tally_labels {
    char program[64];
    char model[128];
    char function[64];
    char device[48];
    uint32_t category; /* enum trace_category */
};

struct tally_series {
    struct tally_labels labels;
    _Atomic uint64_t buckets[TALLY_BOUNDS + 1]; /* not cumulative; the last: longer than all */
    _Atomic uint64_t sum_ns;
    _Atomic uint64_t failures;
};

struct tally {
    _Atomic uint32_t count;
    _Atomic uint32_t is_full;    /* some labels found no series of their own */
    _Atomic uint64_t events;     /* of all kinds, zones included */
    _Atomic uint64_t dropped;    /* events that are in no number */
    _Atomic uint64_t damaged;    /* blocks of a trace that could not be read */
    uint16_t slots[TALLY_SLOTS]; /* position + 1 */
    struct tally_series series[TALLY_SERIES_MOST];
};

/* Copies at most what fits, and never half a character. */
void tally_set_text(char *to, size_t size, const char *from);

/* What a model is called here: its name, or that of its file. Never a path. */
void tally_set_model(char *to, size_t size, const char *name, const char *path, uint32_t id);

/* The series of these labels, added if it is new. Never NULL. Unused bytes of labels are zero. */
struct tally_series *tally_find(struct tally *tally, const struct tally_labels *labels);

void tally_add(struct tally_series *series, uint64_t duration_ns);
void tally_add_failure(struct tally_series *series);

/* Adds all of another one. */
void tally_merge(struct tally *tally, const struct tally *other);

/* The end of a bucket; there is none of the last. */
static inline uint64_t tally_bound_ns(size_t bucket)
{
    return (uint64_t)TALLY_BOUND_NS << bucket;
}

#endif
