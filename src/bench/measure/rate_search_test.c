// SPDX-License-Identifier: Apache-2.0
/* The search for the highest rate against a queue that is computed: service time and stalls are
 * known, and so is the right answer. No clock is involved. */
#include <math.h>
#include <string.h>

#include "analyze/statistics.h"
#include "bench/measure/rate_search.h"
#include "tests/lib/tap.h"

#define SEEDS 6

/* One worker that takes service_s for a query and stands still for stall_s every period_s. */
struct queue {
    double service_s, promise_s;
    double period_s, stall_s;
    uint64_t seed;
    double shortest_s, longest_s; /* of the runs */
    uint32_t runs;
    uint32_t fail_at;
};

static double random_share(uint64_t *state)
{
    return ((double)statistics_random_below(state, 1u << 30) + 1) / ((1u << 30) + 1.0);
}

static enum ifg_status run_queue(void *user, double rate_hz, double seconds, uint32_t number,
                                 struct rate_trial *out_trial, struct ifg_error *err)
{
    struct queue *queue = user;
    uint64_t random = queue->seed * 1000 + number;
    double stall_at = queue->period_s * random_share(&random);
    double due = 0, free = 0;

    if (++queue->runs == queue->fail_at)
        return ifg_fail(err, IFG_CANCELLED, "interrupted");
    queue->shortest_s = queue->runs == 1 ? seconds : fmin(queue->shortest_s, seconds);
    queue->longest_s = fmax(queue->longest_s, seconds);
    for (;;) {
        double start;

        due -= log(random_share(&random)) / rate_hz;
        if (due > seconds)
            return IFG_OK;
        start = fmax(due, free);
        while (queue->period_s > 0 && start >= stall_at + queue->stall_s)
            stall_at += queue->period_s;
        if (queue->period_s > 0 && start >= stall_at) {
            start = stall_at + queue->stall_s;
            stall_at += queue->period_s;
        }
        free = start + queue->service_s;
        out_trial->queries++;
        out_trial->too_slow += free - due > queue->promise_s;
    }
}

static struct rate_found search(struct queue *queue, uint64_t seed, double confirm_s)
{
    struct rate_found found;
    struct ifg_error err = { 0 };

    queue->seed = seed;
    queue->runs = 0;
    queue->longest_s = 0;
    CHECK_INT(rate_search(1 / queue->service_s, confirm_s, run_queue, queue, &found, &err), IFG_OK);
    return found;
}

/* All seeds within 10 %, and within 10 % of what a very long run says. */
static void agree(struct queue queue)
{
    double least = INFINITY, most = 0;
    struct rate_trial at_less, at_more;

    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        struct rate_found found = search(&queue, seed, 0);

        least = fmin(least, found.rate_hz);
        most = fmax(most, found.rate_hz);
        CHECK(found.confirmed_s >= RATE_CONFIRM_S);
        CHECK(statistics_share_bound(found.confirmed.too_slow, found.confirmed.queries, 0.95) <=
              0.01);
        CHECK(found.missed_hz > found.rate_hz);
        CHECK(queue.shortest_s >= RATE_STEP_S);
    }
    tap_diag("from %.1f to %.1f per second, %.1f %% apart", least, most, 100 * (most / least - 1));
    CHECK(most <= 1.10 * least);
    memset(&at_less, 0, sizeof at_less);
    memset(&at_more, 0, sizeof at_more);
    CHECK_INT(run_queue(&queue, 0.93 * least, 2000, 7, &at_less, NULL), IFG_OK);
    CHECK_INT(run_queue(&queue, 1.10 * most, 2000, 7, &at_more, NULL), IFG_OK);
    CHECK((double)at_less.too_slow <= 0.01 * (double)at_less.queries);
    CHECK((double)at_more.too_slow > 0.01 * (double)at_more.queries);
}

static void six_seeds_agree(void)
{
    agree((struct queue){ .service_s = 0.001, .promise_s = 0.010 });
    agree((struct queue){ .service_s = 0.002, .promise_s = 0.050 });
    agree((struct queue){ .service_s = 0.0002, .promise_s = 0.005 });
}

/* Stalls of 20 ms each second are within the promise of 50 ms, but eat into the rate. */
static void six_seeds_agree_with_stalls(void)
{
    agree(
        (struct queue){ .service_s = 0.001, .promise_s = 0.050, .period_s = 1, .stall_s = 0.020 });
}

/* 300 ms each second, a promise of 20 ms: a quarter of all queries misses it, at every rate. Runs
 * of 480 queries, 0.1 s at 5000 per second, mostly do not see a stall. */
static void stalls_leave_no_rate(void)
{
    struct queue queue = { .service_s = 0.0002, .promise_s = 0.020, .period_s = 1, .stall_s = 0.3 };

    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        struct rate_found found = search(&queue, seed, 0);

        CHECK(found.rate_hz == 0);
        CHECK(found.missed_hz > 0 && found.missed_hz <= 0.05 * 5000);
    }
}

/* Rarely, but long: only long runs meet them. */
static void rare_stalls_are_met(void)
{
    struct queue queue = { .service_s = 0.0002, .promise_s = 0.020, .period_s = 4, .stall_s = 0.4 };

    for (uint64_t seed = 1; seed <= SEEDS; seed++)
        CHECK(search(&queue, seed, 0).rate_hz == 0);
}

static void no_promise_is_too_generous(void)
{
    struct queue queue = { .service_s = 0.001, .promise_s = 3600 };
    struct rate_found found = search(&queue, 1, 0);

    CHECK(found.rate_hz == 1000); /* as much as the workers can do, and no more is claimed */
    CHECK(found.missed_hz == 0);
    queue.promise_s = 0.0005; /* less than one query alone takes */
    CHECK(search(&queue, 1, 0).rate_hz == 0);
}

static void a_longer_run_if_asked_for(void)
{
    struct queue queue = { .service_s = 0.001, .promise_s = 0.010 };
    struct rate_found found = search(&queue, 1, 45);

    CHECK(found.confirmed_s >= 45);
    CHECK(queue.longest_s >= 45);
    CHECK(search(&queue, 1, 3).confirmed_s >= RATE_CONFIRM_S); /* 10 s are the least */
}

static void trouble_ends_it(void)
{
    struct queue queue = { .service_s = 0.001, .promise_s = 0.010, .seed = 1 };
    struct rate_found found;
    struct ifg_error err = { 0 };
    double most_s;

    for (uint32_t run = 1; run <= 7; run++) {
        queue.runs = 0;
        queue.fail_at = run;
        CHECK_INT(rate_search(1000, 0, run_queue, &queue, &found, &err), IFG_CANCELLED);
        CHECK_UINT(queue.runs, run);
    }
    CHECK(rate_search_seconds(0, &most_s) < most_s);
    CHECK(most_s <= 180);
}

TAP_MAIN(TAP_CASE(six_seeds_agree), TAP_CASE(six_seeds_agree_with_stalls),
         TAP_CASE(stalls_leave_no_rate), TAP_CASE(rare_stalls_are_met),
         TAP_CASE(no_promise_is_too_generous), TAP_CASE(a_longer_run_if_asked_for),
         TAP_CASE(trouble_ends_it))
