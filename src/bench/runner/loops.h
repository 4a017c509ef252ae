// SPDX-License-Identifier: Apache-2.0
/* Running a model again and again with a clock around it. */
#ifndef IFG_BENCH_RUNNER_LOOPS_H
#define IFG_BENCH_RUNNER_LOOPS_H

#include <inferogram/bench_runtime.h>

#include "bench/runner/protocol.h"

struct loop {
    const struct ifg_bench_runtime *runtime;
    ifg_bench_model *model;
    size_t sets;
    struct runner_work work; /* workers and per_query are at least 1 */
    struct shared_area *shared;
};

struct loop_result {
    uint64_t unserved;
    int code; /* enum ifg_bench_code of the query that failed; the others ended then */
    uint64_t failed_query;
    char text[1024];
};

/* The times go to loop->shared. Fails only if it could not begin. */
enum ifg_status loop_run(const struct loop *loop, struct loop_result *out_result,
                         struct ifg_error *err) IFG_MUST_CHECK;

/* When queries of an open loop are due, in ns from the first one: the sums of exponential gaps,
 * -ln(u) / rate seconds each, with u = ((x >> 11) + 1) / 2^53 and x the next number of splitmix64
 * started with `seed`. At most `queries` of them (0: any number) and none after duration_ns (0: no
 * limit); sums are kept as double. Free with ifg_free. */
enum ifg_status loop_schedule(const struct runner_work *work, uint64_t **out_due_ns,
                              size_t *out_count, struct ifg_error *err) IFG_MUST_CHECK;

#endif
