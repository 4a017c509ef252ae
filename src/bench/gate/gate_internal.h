// SPDX-License-Identifier: Apache-2.0
/* What the files of the gate share: places in a trace, and the ends of what is known. */
#ifndef IFG_BENCH_GATE_INTERNAL_H
#define IFG_BENCH_GATE_INTERNAL_H

#include "bench/gate/gate.h"

/* What a metric is taken from. */
enum gate_source {
    FROM_QUANTILE, /* of the samples: number `which` of samples_quantiles */
    FROM_MEDIAN,
    FROM_MEAN,
    FROM_MIN,
    FROM_MAX,
    FROM_THROUGHPUT,
    FROM_GOODPUT,
    FROM_PROCESS, /* member `which` of enum gate_member */
    FROM_ENERGY,
    FROM_SIZE,
    FROM_PARAMETERS,
};

enum gate_member {
    MEMBER_FIRST,
    MEMBER_LOAD,
    MEMBER_SPECIALIZATION,
    MEMBER_START,
    MEMBER_PEAK,
    MEMBER_DELTA,
    MEMBER_AFTER_LOAD,
};

struct gate_metric {
    const char *name;
    enum gate_unit unit;
    enum gate_source source;
    int which;
    bool timing; /* noise of the machine changes it */
    bool steady; /* means something only in the steady state */
};

/* budget->metric as a place in a trace: "[model/]category.stat", "zone:NAME.stat" or
 * "op:NAME.stat". */
enum ifg_status gate_parse_place(struct gate_budget *budget, struct ifg_error *err) IFG_MUST_CHECK;

/* A quantile from sorted values, which are turned upside down on the way. Fills all but value. */
void gate_by_order(double *sorted, size_t count, double q, bool at_least, double limit,
                   double alpha, struct gate_estimate *out);

/* Median or mean by bootstrap over blocks. Fills all but value. */
enum ifg_status gate_by_blocks(const double *values, size_t count,
                               const struct samples_block *blocks, size_t block_count, bool median,
                               double alpha, uint64_t seed, struct gate_estimate *out,
                               struct ifg_error *err) IFG_MUST_CHECK;

#endif
