// SPDX-License-Identifier: Apache-2.0
/* What the files of the gate share: locations in a trace, and the ends of what is known. */
#ifndef IFG_BENCH_GATE_INTERNAL_H
#define IFG_BENCH_GATE_INTERNAL_H

#include "bench/gate/gate.h"
#include "bench/gate/gate_run.h"

/* What a metric is taken from. */
enum gate_source {
    FROM_QUANTILE, /* of the samples: number `which` of statistics_quantiles */
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

/* budget->metric as a location and a statistic of a trace: "[model/]category.stat",
 * "zone:NAME.stat" or "op:NAME.stat". */
enum ifg_status gate_parse_trace_metric(struct gate_budget *budget,
                                        struct ifg_error *err) IFG_MUST_CHECK;

/* A quantile from sorted values, which are turned upside down on the way. Fills all but value. */
void gate_by_order(double *sorted, size_t count, double q, bool at_least, double limit,
                   double alpha, struct gate_estimate *out);

/* Median or mean by bootstrap over blocks. Fills all but value. */
enum ifg_status gate_by_blocks(const double *values, size_t count,
                               const struct statistics_block *blocks, size_t block_count,
                               bool median, double alpha, uint64_t seed, struct gate_estimate *out,
                               struct ifg_error *err) IFG_MUST_CHECK;

/* What was measured so far. */
struct gate_work {
    struct gate_request *request;
    struct gate_report *report;
    struct bench_result *results[GATE_RETRIES_MAX + 1];
    bool fit[GATE_RETRIES_MAX + 1];
    size_t result_count;
    struct compare *compares[GATE_RETRIES_MAX + 1];
    size_t compare_count;
    struct bench_result *baseline;
    struct gate_history *history;
    bool interrupted;
    double deadline_s; /* nothing new is begun after it, unless a failure waits for it */
    double turns_s;    /* that measuring took so far */
    double alone_s;
    double last_s; /* the last one that was not interleaved */
    bool out_of_time;
    char in_turns[120]; /* what was measured */
    char alone[120];
};

/* gate_results.c. Takes a result over, if it has what is to be judged; judges what is open by all
 * that there are. */
enum ifg_status gate_add_result(struct gate_work *run, struct bench_result *result,
                                const char *where, struct ifg_error *err) IFG_MUST_CHECK;
enum ifg_status gate_judge_results(struct gate_work *run, struct ifg_error *err) IFG_MUST_CHECK;

extern const char gate_no_steady[]; /* the reason of a check that a longer warm-up may help */
void gate_set_reason(struct gate_check *check, const char *reason);

/* gate_keep.c. The update comes after the verdict and may change the status. */
enum ifg_status gate_read_baseline(struct gate_work *run, struct ifg_error *err) IFG_MUST_CHECK;
enum ifg_status gate_update_baseline(struct gate_work *run, struct ifg_error *err) IFG_MUST_CHECK;
enum ifg_status gate_keep_in_history(struct gate_work *run, struct ifg_error *err) IFG_MUST_CHECK;

/* A failed computation or a full disk is nobody's verdict. */
enum ifg_status gate_no_verdict(enum ifg_status status);

#endif
