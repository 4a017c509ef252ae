// SPDX-License-Identifier: Apache-2.0
/* What this process has cost so far. */
#ifndef IFG_CLI_OWN_COST_H
#define IFG_CLI_OWN_COST_H

struct own_cost {
    double cpu_s;        /* children that have ended included */
    double memory_bytes; /* resident now; NAN: not known */
};

struct own_cost own_cost_now(void);

#endif
