// SPDX-License-Identifier: Apache-2.0
/* Measuring a slow-down that is known, because the program that is slowed down is made up here. */
#include "record/overhead.h"

#include <math.h>

#include "tap.h"

#define MS 1000000ull

static uint64_t state = 88172645463325252ull;

static double uniform(void)
{
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return (double)(state >> 11) * 0x1p-53;
}

struct plan {
    double length_ms; /* of an inference without samples */
    double noise;     /* relative */
    double slow_pct;  /* while samples are taken */
    double drift_pct; /* the program itself becomes slower, over the whole run */
    double hiccups;   /* share of inferences that take five times as long */
    double seconds;
    double budget_pct;
};

/* Runs one inference after the other; the recorder looks every 4 ms. */
static struct overhead_result run(const struct plan *plan, double *out_end_share)
{
    uint64_t begin = 1000000 * MS;
    uint64_t end = begin + (uint64_t)(plan->seconds * 1e9);
    struct overhead *overhead = overhead_create(plan->budget_pct, begin);
    struct overhead_result result;
    bool on = true;
    uint64_t run_start = begin, late_from = begin + (end - begin) * 4 / 5;
    double left = -1, on_late = 0;

    for (uint64_t now = begin; now < end; now += 4 * MS) {
        on = overhead_turn(overhead, now);
        on_late += now >= late_from && on;
        for (double at = 0; at < 4e6;) { /* what the program does until the next look */
            double speed = on ? 1 / (1 + plan->slow_pct / 100) : 1;

            if (left < 0) {
                double drift =
                    (double)(now - begin) / (double)(end - begin) * plan->drift_pct / 100;

                left = plan->length_ms * 1e6 * (1 + drift) * (1 + plan->noise * (uniform() - 0.5));
                left *= uniform() < plan->hiccups ? 5 : 1;
                run_start = now + (uint64_t)at;
            }
            if (left / speed > 4e6 - at) {
                left -= (4e6 - at) * speed;
                break;
            }
            at += left / speed;
            overhead_inference(overhead, 7, run_start, now + (uint64_t)at);
            left = -1;
        }
    }
    overhead_tell(overhead, end, &result);
    if (out_end_share)
        *out_end_share = on_late * 4e6 / (double)(end - late_from);
    overhead_destroy(overhead);
    return result;
}

/* How many of 40 runs have the truth in their interval, and how wide that is at most. */
static unsigned right_of_40(const struct plan *plan, double *out_widest)
{
    unsigned right = 0;

    *out_widest = 0;
    for (int i = 0; i < 40; i++) {
        struct overhead_result result = run(plan, NULL);

        right += result.known && fabs(result.pct - plan->slow_pct) <= result.error_pct;
        *out_widest = fmax(*out_widest, result.known ? result.error_pct : 1e9);
    }
    return right;
}

static void short_inferences(void)
{
    const struct plan plan = { .length_ms = 0.8, .noise = 0.06, .slow_pct = 0.7, .seconds = 10 };
    double widest;
    unsigned right = right_of_40(&plan, &widest);

    tap_note("the truth was in %u of 40 intervals", right);
    CHECK(right >= 35);
    tap_note("within %.2f points", widest);
    CHECK(widest < 0.4);
}

static void with_everything(void)
{
    const struct plan plan = {
        .length_ms = 2, .noise = 0.1, .slow_pct = 2, .drift_pct = 30, .hiccups = 0.01, .seconds = 20
    };
    double widest;
    unsigned right = right_of_40(&plan, &widest);

    tap_note("with drift and hiccups the truth was in %u of 40", right);
    CHECK(right >= 34);
    tap_note("within %.2f points", widest);
    CHECK(widest < 1);
}

static void long_inferences(void)
{
    const struct plan plan = { .length_ms = 60, .noise = 0.02, .slow_pct = 1, .seconds = 60 };
    double widest;
    unsigned right = right_of_40(&plan, &widest);

    tap_note("the truth was in %u of 40 intervals of long inferences", right);
    CHECK(right >= 34);
    tap_note("within %.2f points", widest);
    CHECK(widest < 2);
}

static void nothing_slowed(void)
{
    const struct plan plan = { .length_ms = 0.5, .noise = 0.05, .seconds = 10 };
    double widest;

    tap_note("no slow-down is not taken for one");
    CHECK(right_of_40(&plan, &widest) >= 35);
}

static void without_inferences(void)
{
    const struct plan plan = { .length_ms = 1e9, .seconds = 5 };
    struct overhead_result result = run(&plan, NULL);

    tap_note("nothing can be said");
    CHECK(!result.known);
    tap_note("sampled %.2f of the time", result.on_share);
    CHECK(result.on_share > 0.8 && result.on_share <= 1);
}

static void short_program(void)
{
    const struct plan plan = { .length_ms = 1, .seconds = 0.4 };

    tap_note("a short program is sampled all the time");
    CHECK(run(&plan, NULL).on_share == 1);
}

static void over_budget(void)
{
    const struct plan plan = {
        .length_ms = 1, .noise = 0.05, .slow_pct = 8, .seconds = 30, .budget_pct = 1
    };
    const struct plan inside = {
        .length_ms = 1, .noise = 0.05, .slow_pct = 0.8, .seconds = 30, .budget_pct = 1
    };
    double share;

    run(&plan, &share);
    tap_note("8 %% for a budget of 1: sampled %.2f of the time", share);
    CHECK(share > 0.06 && share < 0.25);
    run(&inside, &share);
    tap_note("0.8 %%: sampled %.2f of the time", share);
    CHECK(share > 0.9);
}

static void very_many(void)
{
    const struct plan plan = { .length_ms = 0.01, .noise = 0.1, .slow_pct = 1, .seconds = 5 };
    struct overhead_result result = run(&plan, NULL);

    tap_note("100,000 inferences a second: %.2f +- %.2f %%", result.pct, result.error_pct);
    CHECK(result.known && fabs(result.pct - 1) < 3 * result.error_pct + 0.2);
}

/* Turns that take 5 ms each are rare, and the share of the time stays what it was. */
static void expensive_turns(void)
{
    uint64_t begin = 1000000 * MS, on_ns = 0;
    struct overhead *overhead = overhead_create(1, begin);
    bool on = true;
    unsigned turns = 0;

    overhead_limit(overhead, 0.5);
    for (uint64_t now = begin; now < begin + 100000 * MS; now += 4 * MS) {
        bool wanted = overhead_turn(overhead, now);

        if (wanted != on) {
            overhead_turn_cost(overhead, 5 * MS);
            turns++;
        }
        on = wanted;
        on_ns += on ? 4 * MS : 0;
    }
    CHECK(turns > 10);
    CHECK(turns * 5 * MS < 100000 * MS * 7 / 1000);
    CHECK(on_ns > 45000 * MS && on_ns < 55000 * MS);
    overhead_destroy(overhead);
}

TAP_MAIN(TAP_CASE(expensive_turns), TAP_CASE(short_inferences), TAP_CASE(with_everything),
         TAP_CASE(long_inferences), TAP_CASE(nothing_slowed), TAP_CASE(without_inferences),
         TAP_CASE(short_program), TAP_CASE(over_budget), TAP_CASE(very_many))
