// SPDX-License-Identifier: Apache-2.0
/*
 * The energy that processors count (RAPL, by the kernel's powercap class; AMD's processors too).
 * The counters only grow, and start again at a stated maximum. Kernels let only root read them.
 */
#ifndef IFG_SYSTEM_RAPL_H
#define IFG_SYSTEM_RAPL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "system/host.h"

#define RAPL_PACKAGES_MAX 8u

struct rapl_package {
    char path[256]; /* of energy_uj */
    uint64_t most_uj;
    uint64_t last_uj;
};

struct rapl {
    struct rapl_package packages[RAPL_PACKAGES_MAX];
    size_t count;
    bool denied; /* there are more, and this user may not read them */
};

/* Finds what can be read. NULL, or why there is nothing, with the command that changes it behind
 * ": " where there is one. */
const char *rapl_open(const struct host_roots *roots, struct rapl *out_rapl);

/* Joules of all packages together since the last call (the first time: since rapl_open); NAN if
 * that is not known. */
double rapl_read(struct rapl *rapl);

#endif
