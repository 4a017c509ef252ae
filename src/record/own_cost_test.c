// SPDX-License-Identifier: Apache-2.0
/* A recorder that takes so much for stacks while samples are taken, and so much always. */
#include "record/own_cost.h"

#include <math.h>
#include <string.h>

#include "tap.h"

#define LOOK_NS 500e6

static struct own_cost cost;
static struct own_cost_reading reading;
static double copies; /* what samples take before they are stacks, for what these take */

/* So many looks; what it takes of a CPU during the last one. */
static double live(int looks, double stacks, double other)
{
    double share = 1, taken = 0;

    for (int i = 0; i < looks; i++) {
        share = own_cost_share(&cost, &reading);
        taken = stacks * share * (1 + copies) + other;
        reading.time_ns += (uint64_t)LOOK_NS;
        reading.on_ns += (uint64_t)(LOOK_NS * share);
        reading.stack_ns += (uint64_t)(LOOK_NS * share * stacks);
        reading.cpu_ns += (uint64_t)(LOOK_NS * taken);
    }
    return taken;
}

static void begin(void)
{
    memset(&cost, 0, sizeof cost);
    memset(&reading, 0, sizeof reading);
}

static void cheap_is_not_limited(void)
{
    begin();
    CHECK(fabs(live(40, 0.02, 0.01) - 0.03) < 1e-6);
    begin();
    CHECK_UINT((uint64_t)own_cost_share(&cost, &reading), 1); /* nothing is known */
}

static void expensive_is_limited(void)
{
    begin();
    CHECK(fabs(live(40, 0.16, 0.01) - 0.04) < 1e-3);
    CHECK(fabs(live(40, 0.02, 0.01) - 0.03) < 1e-3); /* and no longer than it is */
    CHECK(fabs(live(40, 0.50, 0.00) - 0.04) < 1e-3);
}

/* What is not counted as stacks, but comes with them, goes with them. */
static void copies_are_limited(void)
{
    begin();
    copies = 3;
    CHECK(fabs(live(80, 0.05, 0.01) - 0.04) < 1e-3);
    copies = 0;
}

/* Stacks have a little of it, whatever the rest takes. */
static void rest_takes_all(void)
{
    begin();
    CHECK(fabs(live(40, 0.16, 0.10) - 0.104) < 1e-3);
}

static void one_burst_is_forgotten(void)
{
    begin();
    live(10, 0.01, 0.01);
    reading.stack_ns += 300000000;
    reading.cpu_ns += 300000000;
    live(1, 0.01, 0.01);
    CHECK(fabs(live(20, 0.01, 0.01) - 0.02) < 1e-3);
}

TAP_MAIN(TAP_CASE(cheap_is_not_limited), TAP_CASE(expensive_is_limited),
         TAP_CASE(copies_are_limited), TAP_CASE(rest_takes_all), TAP_CASE(one_burst_is_forgotten))
