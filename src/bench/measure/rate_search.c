// SPDX-License-Identifier: Apache-2.0
/* Looks for the highest rate that keeps a promise: see rate_search.h. */
#include "bench/measure/rate_search.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

#include "analyze/statistics.h"

/* So many, and one of them may be too slow: of few, no bound on the share is below 1 %. */
#define QUERIES_LEAST 480.0
#define SHORT_RUNS    5
#define LONG_RUNS     14
#define LEAST         0.05 /* of what the workers could do at best: no lower rate is looked at */
#define FIRST_STRIDE  0.05
/* Queries that are too slow come in bursts, so that one run says less than its number of queries
 * promises: near the limit, several runs together decide. */
#define RUNS_TOGETHER  3
#define CLEARLY_KEPT   0.75 /* of the share */
#define CLEARLY_MISSED 1.5

struct search {
    rate_try *try_rate;
    void *user;
    struct ifg_error *err;
    double most_hz;
    double confirm_s;
    uint32_t long_runs;
    struct rate_found *found;
};

static enum ifg_status run(struct search *search, double rate_hz, double seconds,
                           struct rate_trial *out_trial, double *out_s)
{
    *out_trial = (struct rate_trial){ 0 };
    *out_s = fmax(seconds, QUERIES_LEAST / rate_hz);
    return search->try_rate(search->user, rate_hz, *out_s, search->found->runs++, out_trial,
                            search->err);
}

static bool is_kept(const struct rate_trial *trial, double share)
{
    return trial->queries &&
           statistics_share_bound(trial->too_slow, trial->queries, RATE_CONFIDENCE) <= share;
}

/* Where to look: halves, in short runs. 0: none of them was kept. */
static enum ifg_status look_around(struct search *search, double *out_hz)
{
    double low_hz = 0, high_hz = search->most_hz;

    for (int i = 0; i < SHORT_RUNS; i++) {
        double rate_hz = 0.5 * (low_hz + high_hz);
        struct rate_trial trial;
        double seconds;
        enum ifg_status status;

        if (rate_hz < LEAST * search->most_hz)
            break;
        status = run(search, rate_hz, RATE_STEP_S, &trial, &seconds);
        if (status)
            return status;
        /* A short run cannot be certain: half of what is just good enough would be given away. */
        if (trial.queries && (double)trial.too_slow <= RATE_SHARE * (double)trial.queries)
            low_hz = rate_hz;
        else
            high_hz = rate_hz;
    }
    *out_hz = low_hz;
    return IFG_OK;
}

/* A long run, and more of them if it is near the limit: together they decide. */
static enum ifg_status decide(struct search *search, double rate_hz, bool *out_kept)
{
    struct rate_trial sum = { 0 };
    double seconds = 0;

    for (int i = 0; i < RUNS_TOGETHER; i++) {
        struct rate_trial trial;
        double took_s;
        enum ifg_status status = run(search, rate_hz, search->confirm_s, &trial, &took_s);

        if (status)
            return status;
        search->long_runs++;
        sum.queries += trial.queries;
        sum.too_slow += trial.too_slow;
        seconds += took_s;
        if (is_kept(&sum, CLEARLY_KEPT * RATE_SHARE) ||
            (double)sum.too_slow > CLEARLY_MISSED * RATE_SHARE * (double)sum.queries)
            break;
    }
    *out_kept = is_kept(&sum, RATE_SHARE);
    if (*out_kept) {
        search->found->rate_hz = rate_hz;
        search->found->confirmed_s = seconds;
        search->found->confirmed = sum;
    } else if (!(search->found->missed_hz > 0) || rate_hz < search->found->missed_hz) {
        search->found->missed_hz = rate_hz;
    }
    return IFG_OK;
}

/* From a guess in growing strides up or down until both sides are known, then halves. */
static enum ifg_status confirm(struct search *search, double guess_hz)
{
    struct rate_found *found = search->found;
    double least_hz = LEAST * search->most_hz;
    double rate_hz = fmax(guess_hz, least_hz);
    double stride = FIRST_STRIDE;

    while (search->long_runs < LONG_RUNS && rate_hz >= least_hz) {
        bool kept;
        enum ifg_status status = decide(search, rate_hz, &kept);

        if (status)
            return status;
        if (found->rate_hz > 0 && found->missed_hz > 0) {
            if (found->missed_hz <= RATE_TOLERANCE * found->rate_hz)
                break;
            rate_hz = 0.5 * (found->rate_hz + found->missed_hz);
            continue;
        }
        if (kept && rate_hz >= search->most_hz)
            break; /* the workers cannot do more */
        rate_hz = kept ? fmin(rate_hz * (1 + stride), search->most_hz)
                       : fmax(rate_hz * (1 - stride), rate_hz > least_hz ? least_hz : 0);
        stride = fmin(2 * stride, 0.8);
    }
    return IFG_OK;
}

enum ifg_status rate_search(double most_hz, double confirm_s, rate_try *try_rate, void *user,
                            struct rate_found *out_found, struct ifg_error *err)
{
    struct search search = { .try_rate = try_rate,
                             .user = user,
                             .err = err,
                             .most_hz = most_hz,
                             .confirm_s = fmax(confirm_s, RATE_CONFIRM_S),
                             .found = out_found };
    double guess_hz = 0;
    enum ifg_status status;

    memset(out_found, 0, sizeof *out_found);
    status = look_around(&search, &guess_hz);
    return status ? status : confirm(&search, guess_hz);
}

double rate_search_seconds(double confirm_s, double *out_most_s)
{
    double each_s = fmax(confirm_s, RATE_CONFIRM_S);

    *out_most_s = SHORT_RUNS * RATE_STEP_S + (LONG_RUNS + RUNS_TOGETHER - 1) * each_s;
    return SHORT_RUNS * RATE_STEP_S + 4 * each_s;
}
