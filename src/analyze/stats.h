// SPDX-License-Identifier: Apache-2.0
/*
 * Statistics of slices by group: counts, sums, self time, exact percentiles, in a few passes over
 * the columns.
 *
 * Definitions, the same everywhere in this project:
 *   self     duration minus the durations of the slices directly inside
 *   sd       of the sample: divided by n - 1
 *   pXX      linear interpolation between order statistics, rank (n - 1) * p (as numpy's default);
 *            with IFG_QUANTILE_NEAREST the element number floor(n * p) of the sorted values, from 0
 *   share    total / length of the time range; threads add up, so it may exceed 1
 * Zero-length slices count like all others. Slices that had not ended are counted apart and are in
 * no sum.
 */
#ifndef IFG_ANALYZE_STATS_H
#define IFG_ANALYZE_STATS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/quantile.h"
#include "base/status.h"
#include "timeline/timeline.h"

enum stats_by {
    STATS_BY_ZONE, /* everything by name: zones and stages, ML events as "model category", operators
                    */
    STATS_BY_MODEL,    /* ML events, by model */
    STATS_BY_CATEGORY, /* ML events, by category */
    STATS_BY_OP,       /* operators, by name */
    STATS_BY_FUNCTION, /* ML events, by model and function */
    STATS_BY_THREAD,   /* outermost slices, by thread */
};

/* Which slices count. Zero means: no restriction. */
struct stats_filter {
    uint64_t from_ns; /* those that begin in [from, to), in ns since the trace's begin */
    uint64_t to_ns;
    const char *model;  /* ML events of the model with this name */
    const char *thread; /* a tid, or a thread's name */
    /* Decides by name; called once per location, not per slice. */
    bool (*name_matches)(const char *name, void *user);
    void *user;
};

struct stats_options {
    enum stats_by by;
    enum ifg_quantile_rule percentile;
    struct stats_filter filter;
};

enum { STATS_P50, STATS_P90, STATS_P95, STATS_P99, STATS_P999, STATS_PERCENTILES };

struct stats_row {
    const char *name;
    enum trace_location_kind kind; /* of the group's first location */
    enum trace_category category;
    const char *model;       /* "" if none */
    const char *location;    /* the name of the group's first location alone */
    uint32_t first_location; /* its number; TIMELINE_NONE by thread */
    const char *function;    /* ML events: the model's function */
    uint64_t count;
    uint64_t unfinished;
    uint64_t total_ns;
    int64_t self_ns; /* negative only where ends were lost and slices overlap */
    double mean_ns;
    double sd_ns; /* 0 for fewer than two */
    uint64_t min_ns;
    uint64_t max_ns;
    double percentile_ns[STATS_PERCENTILES];
    double share;
    bool host_time;   /* operators that a device runs: see operator_is_host_time */
    double device_ns; /* operators: devices were busy with them (device_time.h); NAN: not known */
};

struct stats {
    struct stats_row *rows; /* longest total first */
    size_t row_count;
    uint64_t range_ns; /* what share refers to */
    uint64_t unfinished;
};

enum ifg_status stats_create(const struct timeline *timeline, const struct stats_options *options,
                             struct stats **out_stats, struct ifg_error *err) IFG_MUST_CHECK;
void stats_destroy(struct stats *stats);

#endif
