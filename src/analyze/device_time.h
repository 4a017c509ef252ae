// SPDX-License-Identifier: Apache-2.0
/*
 * What a device did for an inference or an operator, and what the host did meanwhile.
 *
 * Definitions, the same everywhere in this project:
 *   own work  kernels, copies and sets whose call was made inside the slice, by its thread: also
 *             where the device gets to it after the host has left the slice
 *   host      duration of the slice
 *   span      from the start of the slice to its end, or to the end of its last own work, whichever
 *             is later: how long it took until all was done
 *   busy      union of own work, device by device: what overlaps counts once
 *   after     the part of busy that lies behind the end of the slice
 *   queue     from the end of a call to the start of its first work; 0 where that began earlier
 *   wait      the host's time in calls that wait for the device
 *   idle      the span, without all work on the devices that it uses, whoever asked for it; told
 *             apart by what the host did meanwhile
 *   launch gap  idle time between the first and the last own work, but not while the host waited
 *   foreign   what is left of the span: the device worked for somebody else
 * So on each device busy + foreign + idle = span. With several devices all of these are sums over
 * those that have own work. Work that only waits, or tells of memory, keeps no device busy.
 */
#ifndef IFG_ANALYZE_DEVICE_TIME_H
#define IFG_ANALYZE_DEVICE_TIME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"
#include "timeline/device.h"

/* What the host did while the device was idle. */
enum device_idle {
    DEVICE_IDLE_LAUNCHING, /* in a call that asks for work, or preparing it in an operator */
    DEVICE_IDLE_OPERATOR,  /* in an operator that asks for none: it runs on the CPU */
    DEVICE_IDLE_WAITING,   /* in a call that waits */
    DEVICE_IDLE_OUTSIDE,   /* in none of these */
    DEVICE_IDLES,
};

enum device_copy { DEVICE_HTOD, DEVICE_DTOH, DEVICE_DTOD, DEVICE_COPY_OTHER, DEVICE_COPIES };

struct device_copied {
    uint64_t count;
    uint64_t bytes; /* as far as they are known */
    uint64_t ns;    /* sum of durations */
};

struct device_time {
    uint64_t slices; /* 1, or how many are summed up */
    uint64_t used;   /* of these, how many have own work */
    uint64_t host_ns;
    uint64_t span_ns;
    uint64_t works;
    uint64_t kernels;
    uint64_t kernel_ns;  /* union of all that is no copy */
    uint64_t copy_ns;    /* union of copies */
    uint64_t overlap_ns; /* of these two: both at the same time */
    uint64_t busy_ns;
    uint64_t after_ns;
    uint64_t foreign_ns;
    uint64_t launches; /* calls with work */
    uint64_t queue_ns; /* sum over these */
    uint64_t call_ns;  /* in calls that do not wait */
    uint64_t waits;
    uint64_t wait_ns;
    uint64_t launch_gap_ns;
    uint64_t idle_ns[DEVICE_IDLES];
    struct device_copied copies[DEVICE_COPIES];
};

struct device_times;

/* *out_times is NULL if no work of devices was recorded. Valid as long as the timeline. */
enum ifg_status device_times_create(const struct timeline *timeline,
                                    struct device_times **out_times,
                                    struct ifg_error *err) IFG_MUST_CHECK;
void device_times_destroy(struct device_times *times); /* accepts NULL */

/* Of an inference or an operator; all but host, waits and calls are 0 where no work is its own. */
void device_time_of(const struct device_times *times, size_t slice, struct device_time *out_time);
void device_time_add(struct device_time *sum, const struct device_time *one);
uint64_t device_time_idle(const struct device_time *time);

/* How long devices were busy in [from, to), whoever asked for it; a sum over devices. */
uint64_t device_busy_between(const struct device_times *times, uint64_t from_ns, uint64_t to_ns);

/* Whether work of this process was recorded: then an operator without any has none. */
bool device_is_recorded(const struct timeline *timeline, uint32_t process);

/* Whether two streams are of one device, which several processes may use. */
bool device_is_same(const struct timeline_device_stream *a, const struct timeline_device_stream *b);

/* Work that keeps a device busy. */
bool device_is_busy_kind(enum timeline_work kind);

const char *device_idle_name(enum device_idle idle); /* launching, cpu-operator, ... */
const char *device_copy_name(enum device_copy copy); /* HtoD, ... */
enum device_copy device_copy_of(const struct timeline *timeline,
                                const struct timeline_device_work *work);

/* "gemm_kernel" of "void ns::gemm_kernel<4, float>(int, float *)": for lines with little room. */
const char *device_short_name(const char *name, char *out, size_t size);

#endif
