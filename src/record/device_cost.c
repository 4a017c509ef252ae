// SPDX-License-Identifier: Apache-2.0
/* See device_cost.h. All numbers are what the process says. */
#include "record/device_cost.h"

#define LOOK_NS 1000000000ull

static struct device_cost read_cost(const struct ifg_wire_control *control)
{
    return (struct device_cost){
        .calls = __atomic_load_n(&control->device_calls, __ATOMIC_RELAXED),
        .call_ticks = __atomic_load_n(&control->device_call_ticks, __ATOMIC_RELAXED),
        .calls_timed = __atomic_load_n(&control->device_calls_timed, __ATOMIC_RELAXED),
        .read_ns = __atomic_load_n(&control->device_read_ns, __ATOMIC_RELAXED),
    };
}

void device_cost_begin(struct device_cost *cost, const struct ifg_wire_control *control)
{
    *cost = read_cost(control);
}

/* 0: nothing was called, or timed. */
static double call_seconds(const struct device_cost *from, const struct device_cost *to,
                           double ns_per_tick)
{
    uint64_t timed = to->calls_timed - from->calls_timed;
    double ticks = (double)(to->call_ticks - from->call_ticks);

    return timed ? (double)(to->calls - from->calls) * ticks / (double)timed * ns_per_tick * 1e-9
                 : 0;
}

void device_cost_look(struct device_cost *cost, struct ifg_wire_control *control, uint64_t now_ns,
                      double ns_per_tick, double budget_pct)
{
    struct device_cost now;
    double seconds;

    if (!(budget_pct > 0) || now_ns - cost->looked_ns < LOOK_NS)
        return;
    now = read_cost(control);
    now.looked_ns = now_ns;
    seconds = (double)(now_ns - cost->looked_ns) * 1e-9;
    if (cost->looked_ns &&
        call_seconds(cost, &now, ns_per_tick) + (double)(now.read_ns - cost->read_ns) * 1e-9 >
            budget_pct / 100 * seconds)
        __atomic_store_n(&control->device_less, 1, __ATOMIC_RELEASE);
    *cost = now;
}

void device_cost_add(const struct device_cost *begin, const struct ifg_wire_control *control,
                     double ns_per_tick, struct device_cost_sum *sum)
{
    struct device_cost now = read_cost(control);

    sum->calls += now.calls - begin->calls;
    sum->call_s += call_seconds(begin, &now, ns_per_tick);
    sum->read_s += (double)(now.read_ns - begin->read_ns) * 1e-9;
}
