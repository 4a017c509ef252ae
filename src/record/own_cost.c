// SPDX-License-Identifier: Apache-2.0
/* See own_cost.h. Tables of a library are read when its first frame comes: a single reading says
 * little, so that both figures follow slowly. */
#include "record/own_cost.h"

#include <math.h>

#define MOST   0.04 /* of a CPU; begin and end of a recording have the rest of 5 % */
#define LEAST  0.10 /* of that is for stacks, however much the rest takes */
#define WEIGHT 0.25 /* of the newest reading */

double own_cost_share(struct own_cost *cost, const struct own_cost_reading *reading)
{
    double passed = (double)(reading->time_ns - cost->last.time_ns);
    double on = (double)(reading->on_ns - cost->last.on_ns);
    double cpu = (double)(reading->cpu_ns - cost->last.cpu_ns);
    double stacks = fmin((double)(reading->stack_ns - cost->last.stack_ns), cpu);

    if (passed > 0)
        cost->other += WEIGHT * ((cpu - stacks) / passed - cost->other);
    if (on > 0)
        cost->stacks += WEIGHT * (stacks / on - cost->stacks);
    cost->last = *reading;
    return fmin(fmax(MOST - cost->other, MOST * LEAST) / fmax(cost->stacks, 1e-9), 1);
}
