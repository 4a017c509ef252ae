// SPDX-License-Identifier: Apache-2.0
/*
 * What following devices costs a process: its library counts calls of drivers, times some of them
 * and the reading of work. What CUPTI itself takes cannot be told from inside and is not in it
 * (benchmarks/gpu_cost has it).
 */
#ifndef IFG_RECORD_DEVICE_COST_H
#define IFG_RECORD_DEVICE_COST_H

#include <stdint.h>

#include "wire/wire.h"

/* As the control page has them. */
struct device_cost {
    uint64_t calls, call_ticks, calls_timed, read_ns;
    uint64_t looked_ns;
};

struct device_cost_sum {
    uint64_t calls;
    double call_s; /* of the program's threads, for them */
    double read_s; /* CPU time */
};

void device_cost_begin(struct device_cost *cost, const struct ifg_wire_control *control);

/* Now and then: more than budget_pct of a CPU in the last second, and the process is asked to
 * follow less. 0: there is no budget. */
void device_cost_look(struct device_cost *cost, struct ifg_wire_control *control, uint64_t now_ns,
                      double ns_per_tick, double budget_pct);

/* Adds what it was since the beginning. */
void device_cost_add(const struct device_cost *begin, const struct ifg_wire_control *control,
                     double ns_per_tick, struct device_cost_sum *sum);

#endif
