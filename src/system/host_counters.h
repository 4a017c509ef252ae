// SPDX-License-Identifier: Apache-2.0
/*
 * What the machine counts of itself: time of its CPUs, pressure, clocks, and how often heat made it
 * slower. All text is taken for hostile; what is not there is IFG_NO_NUMBER.
 */
#ifndef IFG_SYSTEM_HOST_COUNTERS_H
#define IFG_SYSTEM_HOST_COUNTERS_H

#include "base/small_file.h"
#include "system/host.h"

#define HOST_CPUS_MAX 1024u

struct cpu_ticks {
    uint64_t user, system, idle, iowait, total; /* guests are in user */
    uint64_t steal;                             /* older kernels do not count it */
};

/* The first line of /proc/stat: the sum of all CPUs. */
bool host_parse_ticks(const char *text, struct cpu_ticks *out_all);
/* The same, and each CPU by its number; of those that are not there total is 0. Returns 1 + the
 * highest number, 0 if the text is none. */
size_t host_parse_cpus(const char *text, struct cpu_ticks *out_all, struct cpu_ticks *out_each,
                       size_t most);

/* /proc/pressure/X: microseconds in all of "some" and "full". */
uint64_t host_parse_pressure(const char *text, const char *kind);

/* CPUs whose counters are read, spread over the machine so that every package is seen. Always the
 * same ones, so that two looks can be compared. Returns how many; the first is CPU 0. */
size_t host_spread_cpus(const struct host_roots *roots, unsigned *out_cpus, size_t most);
/* How often heat made them slower. */
uint64_t host_throttles(const struct host_roots *roots, const unsigned *cpus, size_t count);
/* How fast one runs now. Asking may wake it. */
uint64_t host_clock_khz(const struct host_roots *roots, unsigned cpu);

#endif
