// SPDX-License-Identifier: Apache-2.0
/*
 * What changed between two traces, per model and category, operator and zone, kernel and call of a
 * driver.
 *
 * The unit is a block: the occurrences of a location, in the order of their starts, are cut into up
 * to DIFF_BLOCKS consecutive blocks of at least DIFF_BLOCK_LEAST. A block is represented by its
 * median. The change is ln(median of B's blocks / median of A's blocks); its 95 % interval is the
 * 2.5th to 97.5th percentile of DIFF_RESAMPLES bootstrap values, for which runs of neighbouring
 * blocks are drawn (blocks near each other are alike, and pretending otherwise makes intervals too
 * narrow). The seed is fixed.
 *
 * Changes of less than DIFF_FLOOR_NS, or of two steps of the traces' clock where that is coarser
 * (imported traces often count microseconds), are not judged: reading the clock itself varies by
 * that much.
 *
 * All this knows only the spread inside each recording. What differs between any two recordings of
 * the same program (placement in memory, what else the machine did) it cannot know: hence the
 * threshold, and hence the warning that every output of a difference carries.
 */
#ifndef IFG_ANALYZE_DIFF_H
#define IFG_ANALYZE_DIFF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"
#include "timeline/timeline.h"

#define DIFF_BLOCKS       40u
#define DIFF_BLOCK_LEAST  5u
#define DIFF_BLOCKS_LEAST 8u /* with fewer there is no verdict */
#define DIFF_RESAMPLES    2000u
#define DIFF_THRESHOLD    0.05
#define DIFF_FLOOR_NS     100
#define DIFF_FALSE_ALARMS                                                                          \
    0.05 /* Benjamini-Hochberg over all rows that can be compared,
                                  and over those of devices */
#define DIFF_NOT_INTERLEAVED                                                                       \
    "not interleaved: two recordings made at different times; treat small changes with care"

enum diff_verdict {
    DIFF_SAME,      /* the interval is inside -threshold to +threshold */
    DIFF_REGRESSED, /* the interval is above +threshold, and it survives the test over all rows */
    DIFF_IMPROVED,  /* below -threshold */
    DIFF_UNSURE,    /* everything else */
    DIFF_NEW,       /* only in B */
    DIFF_GONE,      /* only in A */
    DIFF_VERDICTS,
};

enum { DIFF_A, DIFF_B, DIFF_SIDES };

struct diff_side {
    uint64_t count; /* without unfinished ones */
    uint64_t total_ns;
    double median_ns; /* of all occurrences; 0 if there are none */
    uint32_t blocks;
    uint64_t perturbed; /* left out of all that: with operators recorded in them */
};

struct diff_row {
    enum trace_location_kind kind;
    enum trace_category category;
    const char *name;     /* these belong to the models */
    const char *model;    /* "" if none */
    const char *function; /* of ML events, else "" */
    bool host_time;       /* on one side at least: see operator_is_host_time */
    struct diff_side side[DIFF_SIDES];
    bool compared;    /* both sides have enough; else what follows is 0 */
    double change;    /* of the median: 0.05 is 5 % slower */
    double low, high; /* its 95 % interval */
    double p;         /* chance of so much change if nothing changed (normal approximation) */
    bool too_fine;    /* the medians differ by less than the floor */
    bool significant; /* survives Benjamini-Hochberg */
    double weight_ns; /* change times the time spent there in A, or all of it if new or gone */
    uint64_t more; /* UNSURE: about so many more occurrences on each side would decide; 0 unknown */
    enum diff_verdict verdict;
};

/* Recording operators makes inferences slower. Those, what contains them and what they contain are
 * left out, unless all inferences of both traces are such: then like is compared with like. */
enum diff_perturbed { DIFF_NONE_PERTURBED, DIFF_PERTURBED_LEFT_OUT, DIFF_ALL_PERTURBED };

struct diff {
    struct diff_row *rows; /* REGRESSED first, then IMPROVED, NEW, GONE, UNSURE, SAME; by weight */
    size_t row_count;
    size_t verdicts[DIFF_VERDICTS];
    size_t compared;
    uint64_t floor_ns; /* smaller changes of a median are not judged */
    enum diff_perturbed perturbed;
    size_t with_ops[DIFF_SIDES], inferences[DIFF_SIDES];
    double common_change; /* the median of all compared changes: what everything has in common */
};

/* IFG_INVALID: of one trace all inferences have their operators recorded, of the other not. */
enum ifg_status diff_create(const struct timeline *a, const struct timeline *b, double threshold,
                            struct diff **out_diff, struct ifg_error *err) IFG_MUST_CHECK;
void diff_destroy(struct diff *diff);

/* Rows of devices: what they did (kernels, copies), and the calls that asked for it. Recording
 * operators does not change how long a device takes, so none of its work is left out. */
bool diff_is_of_device(enum trace_location_kind kind);

const char *diff_verdict_name(enum diff_verdict verdict);

#endif
