// SPDX-License-Identifier: Apache-2.0
/* The yardstick for the machine itself: see runner_reference in bench/runner/runner.h. */
#ifndef IFG_BENCH_RUNNER_REFERENCE_H
#define IFG_BENCH_RUNNER_REFERENCE_H

#include <stdint.h>

/* Best of three, in ns. */
uint64_t reference_measure(void);

#endif
