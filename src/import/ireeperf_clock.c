// SPDX-License-Identifier: Apache-2.0
/* The first and the last relation of each device's clock, and the line between them. */
#include "import/ireeperf_clock.h"

#include "import/import_internal.h"

static struct ireeperf_clock *find(const struct ireeperf_clocks *clocks, uint64_t device)
{
    for (size_t i = 0; i < clocks->count; i++)
        if (clocks->items[i].device == device)
            return (struct ireeperf_clock *)&clocks->items[i];
    return NULL;
}

bool ireeperf_clock_relate(struct ireeperf_clocks *clocks, uint64_t device, uint64_t tick,
                           int64_t host_ns)
{
    struct ireeperf_clock *clock = find(clocks, device);

    if (!clock) {
        if (clocks->count == IREEPERF_DEVICES_MAX)
            return false;
        clock = &clocks->items[clocks->count++];
        *clock = (struct ireeperf_clock){ device, tick, tick, host_ns, host_ns, 0 };
    }
    if (tick < clock->first_tick) {
        clock->first_tick = tick;
        clock->first_ns = host_ns;
    }
    if (tick > clock->last_tick) {
        clock->last_tick = tick;
        clock->last_ns = host_ns;
    }
    clock->relations++;
    return true;
}

bool ireeperf_clock_convert(const struct ireeperf_clocks *clocks, uint64_t device, uint64_t tick,
                            int64_t *out_ns)
{
    const struct ireeperf_clock *clock = find(clocks, device);
    long double span, ns;

    if (!clock || clock->last_tick <= clock->first_tick || clock->last_ns <= clock->first_ns)
        return false;
    span = (long double)clock->last_ns - (long double)clock->first_ns;
    ns = (long double)clock->first_ns +
         ((long double)tick - (long double)clock->first_tick) * span /
             ((long double)clock->last_tick - (long double)clock->first_tick);
    if (!(ns >= 0) || ns >= (long double)TIME_LIMIT)
        return false;
    *out_ns = (int64_t)(ns + 0.5L);
    return true;
}
