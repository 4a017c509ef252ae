// SPDX-License-Identifier: Apache-2.0
/*
 * Ticks of devices on the host's clock. Each relation says at which moment of the host a device had
 * which tick; the first and the last of a device make a line, as IREE's own tools do it.
 */
#ifndef IFG_IMPORT_IREEPERF_CLOCK_H
#define IFG_IMPORT_IREEPERF_CLOCK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define IREEPERF_DEVICES_MAX 256u

struct ireeperf_clock {
    uint64_t device;
    uint64_t first_tick, last_tick;
    int64_t first_ns, last_ns;
    uint64_t relations;
};

struct ireeperf_clocks {
    struct ireeperf_clock items[IREEPERF_DEVICES_MAX];
    size_t count;
};

/* False: too many devices. */
bool ireeperf_clock_relate(struct ireeperf_clocks *clocks, uint64_t device, uint64_t tick,
                           int64_t host_ns);

/* False: the device has fewer than two relations, or the result is out of range. */
bool ireeperf_clock_convert(const struct ireeperf_clocks *clocks, uint64_t device, uint64_t tick,
                            int64_t *out_ns);

#endif
