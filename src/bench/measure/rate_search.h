// SPDX-License-Identifier: Apache-2.0
/*
 * The search for the highest rate that keeps a promise, apart from the measuring: what is tried,
 * for how long, and when a rate counts as found.
 *
 * Short runs only say where to look: a machine that stalls once a second looks fine for 0.1 s.
 * Whatever is found was confirmed by a run of `confirm_s` seconds at least, and so was that a
 * higher rate misses, unless there is none.
 */
#ifndef IFG_BENCH_RATE_SEARCH_H
#define IFG_BENCH_RATE_SEARCH_H

#include <stdint.h>

#include "base/status.h"

#define RATE_SHARE      0.01 /* of the queries may be too slow: the promise is about p99 */
#define RATE_CONFIDENCE 0.95
#define RATE_STEP_S     2.0  /* the least duration of a run */
#define RATE_CONFIRM_S  10.0 /* the least duration of a run that confirms */
#define RATE_TOLERANCE  1.03 /* between the rate that is kept and the one that is missed */

/* What a run at a rate gave. */
struct rate_trial {
    uint64_t queries;
    uint64_t too_slow; /* of them, with those that were given up */
};

/* Runs queries at the rate for so many seconds; `number` counts the runs, from 0, and makes the
 * arrivals differ. */
typedef enum ifg_status rate_try(void *user, double rate_hz, double seconds, uint32_t number,
                                 struct rate_trial *out_trial, struct ifg_error *err);

struct rate_found {
    double rate_hz;     /* 0: none */
    double confirmed_s; /* by runs of so many seconds together; 0: none */
    struct rate_trial confirmed;
    double missed_hz; /* the lowest rate that was seen to miss; 0: none did */
    uint32_t runs;
};

/* most_hz: what the workers could do at best. confirm_s: RATE_CONFIRM_S is the least. */
enum ifg_status rate_search(double most_hz, double confirm_s, rate_try *try_rate, void *user,
                            struct rate_found *out_found, struct ifg_error *err) IFG_MUST_CHECK;

/* How long the search takes, about and at most; for plans. */
double rate_search_seconds(double confirm_s, double *out_most_s);

#endif
