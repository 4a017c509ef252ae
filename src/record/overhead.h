// SPDX-License-Identifier: Apache-2.0
/*
 * What sampling costs the recorded program, measured while it runs: sampling is switched off for
 * moments, and inferences in these moments are compared with those around them. Each moment is
 * compared with its own surroundings only, so a program that becomes slower or faster by itself
 * does not matter; and an inference that lies partly in such a moment counts by its part.
 *
 * It also says how long to sample at all: if the program turns out to be slowed down by more than
 * the budget, sampling pauses for a part of the time.
 */
#ifndef IFG_RECORD_OVERHEAD_H
#define IFG_RECORD_OVERHEAD_H

#include <stdbool.h>
#include <stdint.h>

struct overhead;

struct overhead_result {
    bool known;       /* enough inferences were compared for these: */
    double pct;       /* slow-down while samples are taken; may come out below 0 */
    double error_pct; /* 95 of 100 such intervals, pct +- error_pct, hold the true one */
    uint32_t moments; /* that were compared */
    uint64_t inferences;
    double on_share; /* of the time, in which samples were taken */
};

struct overhead *overhead_create(double budget_pct, uint64_t begin_ns); /* NULL: no memory */
void overhead_destroy(struct overhead *overhead);                       /* accepts NULL */

/* An inference that is over; key tells which kind, times are CLOCK_MONOTONIC. */
void overhead_inference(struct overhead *overhead, uint32_t key, uint64_t start_ns,
                        uint64_t end_ns);

/* Whether samples are to be taken from now on. The caller does that at once. */
bool overhead_turn(struct overhead *overhead, uint64_t now_ns);

/* CPU time that it took to do so: every thread has an event on every CPU, and switching thousands
 * of them takes milliseconds. Then it is done less often. */
void overhead_turn_cost(struct overhead *overhead, uint64_t cpu_ns);

/* Samples are taken for at most this share of the time, whatever inferences say: 1 at first. */
void overhead_limit(struct overhead *overhead, double share);

void overhead_tell(struct overhead *overhead, uint64_t now_ns, struct overhead_result *out_result);

#endif
