// SPDX-License-Identifier: Apache-2.0
/*
 * What a sample costs here: the time that it takes away from the thread it interrupts. On a real
 * machine that is a microsecond or two, in a virtual one ten times as much, and it decides how many
 * samples fit into a budget.
 */
#ifndef IFG_COLLECT_PERF_CALIBRATE_H
#define IFG_COLLECT_PERF_CALIBRATE_H

#include <stdint.h>

#include "base/status.h"

struct calibrate_options {
    uint32_t stack_bytes;  /* that a sample copies; 0: the default */
    uint32_t milliseconds; /* of CPU time that it may take; 0: 40 */
};

struct calibrate_result {
    double sample_us; /* the median of what single samples took */
    uint32_t samples; /* seen */
    char clock[32];   /* "cycles" or "cpu-clock" */
};

/* Samples the calling thread while it does nothing but look at the clock. IFG_UNSUPPORTED: too few
 * samples came to tell; others: as sampler_open. */
enum ifg_status calibrate_cost(const struct calibrate_options *options,
                               struct calibrate_result *out_result,
                               struct ifg_error *err) IFG_MUST_CHECK;

/* The highest of our rates whose samples slow a thread down by no more than this. They are prime
 * numbers: a program that does something at a round rate of its own is not met at the same place
 * each time. */
uint32_t calibrate_rate(double sample_us, double budget_pct);

/* Of the time, the share for which that holds at a given rate: 1 at most. */
double calibrate_share(double sample_us, uint32_t hz, double budget_pct);

#endif
