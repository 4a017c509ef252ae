// SPDX-License-Identifier: Apache-2.0
/*
 * A trace with samples and context switches, all by hand, so that tests know every number:
 *
 * Thread 5000 of process 4711 runs ten inferences of the model ocr, one every 12 ms, 10 ms each;
 * from 1 to 6 ms the operator Conv. Thread 9001 is a worker that no event tells of. Per inference:
 *
 *   ms    2    2.5   3    3.5   4       7.1  8        8.5       11   11.5
 *   5000  run        run        do_page      recurse            run
 *   9001       spin       spin          spin          unnamed        spin
 *
 * The second run is at code of mul, which was inlined there. From 5 to 7 ms thread 5000 is
 * preempted. Stacks: main > run > do_page (kernel); main > recurse > recurse; worker > spin;
 * worker > unnamed, where the way between the two is not certain.
 */
#ifndef IFG_TESTS_PROFILE_TRACE_H
#define IFG_TESTS_PROFILE_TRACE_H

#include "ml_trace.h"

#define PROFILE_TRACE_RUNS    10u
#define PROFILE_TRACE_SAMPLES 100u
#define PROFILE_TRACE_STEP    (12 * ML_MS)

/* Everything, into a trace that was begun; returns the model's number. */
uint32_t profile_trace_write(struct ml_trace *trace);

#endif
