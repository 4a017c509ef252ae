// SPDX-License-Identifier: Apache-2.0
/*
 * What is in a trace, counted: how many events of each kind, what was lost, which places took how
 * long, and what was still open at the end. One pass over all blocks.
 */
#ifndef IFG_MODEL_SUMMARY_H
#define IFG_MODEL_SUMMARY_H

#include <stddef.h>
#include <stdint.h>

#include "base/status.h"
#include "trace/reader.h"

/* One place, over all processes and threads. Strings belong to the reader. */
struct summary_row {
    enum trace_location_kind kind;
    enum trace_category category;
    const char *model; /* ML events: the model's name */
    const char *name;  /* zones and stages: their name; ML events: the function */
    uint64_t count;
    uint64_t total_ns;
    uint64_t min_ns;
    uint64_t max_ns;
};

/* A zone that had not ended when the program or the recorder did. */
struct summary_open {
    struct summary_row *row;
    uint32_t thread; /* index in the trace */
    uint64_t start_ns;
    uint64_t seen_ns; /* it was still open then */
};

struct summary {
    uint64_t zones; /* zones and stages */
    uint64_t ml;
    uint64_t ops;
    uint64_t messages;
    uint64_t counters;
    uint64_t async_spans; /* begins */
    uint64_t allocations;
    uint64_t frees;
    uint64_t frames;
    uint64_t attributes;
    uint64_t dropped;  /* by threads, and by processes for threads without a ring */
    uint64_t begin_ns; /* CLOCK_MONOTONIC of the first and last thing known */
    uint64_t end_ns;
    uint64_t undecoded_blocks;
    struct summary_row *rows; /* by total time, longest first */
    size_t row_count;
    struct summary_open *open;
    size_t open_count;
};

enum ifg_status summary_create(const struct trace_reader *reader, struct summary **out_summary,
                               struct ifg_error *err) IFG_MUST_CHECK;
void summary_destroy(struct summary *summary);

const char *summary_category_name(enum trace_category category);

#endif
