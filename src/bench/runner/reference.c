// SPDX-License-Identifier: Apache-2.0
/*
 * A fixed piece of arithmetic: about a millisecond in which every step needs the one before, in
 * registers alone. What it takes tells the speed of the core at this moment and who took it away;
 * memory and other cores play no part. Compiled with the same options in every build.
 */
#include "bench/runner/reference.h"

#include "base/ticks.h"

#define STEPS 600000

static volatile double sink;

__attribute__((noinline)) static uint64_t measure_once(void)
{
    uint64_t start_ns = ifg_monotonic_ns();
    uint64_t whole = UINT64_C(0x2545f4914f6cdd1d);
    double part = 1.0;

    __asm__ volatile("" : "+r"(whole)); /* nothing of it before the clock was read */
    for (int i = 0; i < STEPS; i++) {
        whole ^= whole >> 12;
        whole *= UINT64_C(0x9e3779b97f4a7c15);
        part = part * 0.75 + (double)(whole >> 44) * 0x1p-20;
    }
    sink = part;
    return ifg_monotonic_ns() - start_ns;
}

uint64_t reference_measure(void)
{
    uint64_t best = UINT64_MAX;

    for (int i = 0; i < 3; i++) {
        uint64_t took = measure_once();

        if (took < best)
            best = took;
    }
    return best;
}
