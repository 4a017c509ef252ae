// SPDX-License-Identifier: Apache-2.0
/*
 * Events carry the processor's counter. Two readings of it beside CLOCK_MONOTONIC, the first when
 * the thread starts and another before each report, give its rate.
 */
#include "base/ticks.h"
#include "handles/handle.h"

#define TRIES 5

struct pair {
    uint64_t ticks;
    uint64_t ns;
};

static struct pair first;
static struct pair last;

/* The closest of a few: in between, the thread may have lost its processor. */
static struct pair read_pair(void)
{
    struct pair best = { 0, 0 };
    uint64_t closest = UINT64_MAX;

    for (int i = 0; i < TRIES; i++) {
        uint64_t before = ifg_ticks();
        uint64_t ns = ifg_monotonic_ns();
        uint64_t after = ifg_ticks();

        if (after - before < closest) {
            closest = after - before;
            best = (struct pair){ before + (after - before) / 2, ns };
        }
    }
    return best;
}

void handles_clock_start(void)
{
    first = last = read_pair();
}

void handles_clock_read(void)
{
    const uint64_t enough_ns = 1000000;
    struct pair now = read_pair();

    while (now.ns - first.ns < enough_ns)
        now = read_pair();
    last = now;
}

static double rate(void)
{
    return last.ticks > first.ticks
               ? (double)(last.ns - first.ns) / (double)(last.ticks - first.ticks)
               : 1.0;
}

uint64_t handles_ns(uint64_t ticks)
{
    return (uint64_t)((int64_t)last.ns + (int64_t)((double)(int64_t)(ticks - last.ticks) * rate()));
}

uint64_t handles_duration_ns(uint64_t ticks)
{
    return (uint64_t)((double)ticks * rate());
}
