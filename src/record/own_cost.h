// SPDX-License-Identifier: Apache-2.0
/*
 * What the recorder itself takes of a CPU, and how much of the time samples may be taken so that
 * this stays small. Samples are limited for the sake of the recorded program (overhead.h); what is
 * made of them costs the program nothing, unless the machine is busy: then it had that CPU.
 */
#ifndef IFG_RECORD_OWN_COST_H
#define IFG_RECORD_OWN_COST_H

#include <stdint.h>

/* Since any moment, always the same one. */
struct own_cost_reading {
    uint64_t time_ns;
    uint64_t on_ns;    /* of it, while samples were taken */
    uint64_t cpu_ns;   /* CPU time of the recorder */
    uint64_t stack_ns; /* of it, for stacks of samples */
};

struct own_cost {
    struct own_cost_reading last;
    double stacks; /* of a CPU, while samples are taken */
    double other;  /* of a CPU, whether or not */
};

/* The share of the time, 1 at most, in which samples may be taken from now on. Begins with zeros;
 * readings are to be some tenths of a second apart. */
double own_cost_share(struct own_cost *cost, const struct own_cost_reading *reading);

#endif
