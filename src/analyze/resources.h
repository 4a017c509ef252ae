// SPDX-License-Identifier: Apache-2.0
/*
 * What the machine and the program used while they were recorded: the counters of the threads
 * "resources" (docs/resources.md), by name, and what they come to.
 */
#ifndef IFG_ANALYZE_RESOURCES_H
#define IFG_ANALYZE_RESOURCES_H

#include <stddef.h>
#include <stdint.h>

#include "base/status.h"
#include "timeline/timeline.h"

#define RESOURCE_DEVICES   16u
#define RESOURCE_THROTTLES 8u
#define RESOURCE_OTHERS    3u

struct resource_point {
    uint64_t ns;
    double value;
};

struct resource_series {
    uint32_t process; /* index in the timeline */
    uint32_t pid;     /* 0: the machine */
    const char *name;
    const struct resource_point *points; /* by time; never none */
    size_t count;
};

/* Of a GPU or NPU; NAN where nothing is known. */
struct resource_device {
    double busy_pct, busy_max_pct, memory_max_bytes, power_w;
    double clock_mhz, memory_clock_mhz, temperature_max_c;
    struct resource_throttle { /* why its clock was not higher; most first */
        const char *reason;    /* "power cap" */
        double share;          /* of the time */
    } throttles[RESOURCE_THROTTLES];
    size_t throttle_count;
};

struct resource_other {
    char name[48];
    uint32_t pid;
    double cpu_pct; /* of one CPU, over the whole recording */
};

/* Means are over time; NAN where nothing is known. */
struct resources {
    struct resource_series *series;
    size_t series_count;
    struct resource_point *points;

    uint32_t cpus;        /* whose shares are known; 0 */
    double cpu_pct;       /* of all CPUs */
    double cpu_max_pct;   /* of the busiest moment */
    double program_cores; /* CPUs that the recorded processes used together */
    double steal_pct;     /* of all CPUs */
    double iowait_pct;
    double pressure_cpu_pct, pressure_memory_pct, pressure_io_pct;
    double rss_max_bytes; /* of all recorded processes together */
    double memory_used_max_bytes;
    double frequency_min_mhz, frequency_mhz, frequency_max_mhz;
    struct resource_device gpus[RESOURCE_DEVICES], npus[RESOURCE_DEVICES];
    size_t gpu_count, npu_count;
    struct resource_other others[RESOURCE_OTHERS]; /* most first */
    size_t other_count;
};

/* *out_resources is NULL if there are none. duration_ns is that of the recording. */
enum ifg_status resources_create(const struct timeline *timeline, uint64_t duration_ns,
                                 struct resources **out_resources) IFG_MUST_CHECK;
void resources_destroy(struct resources *resources); /* accepts NULL */

/* The values of one name; pid 0 for the machine. NULL if there are none. */
const struct resource_series *resources_find(const struct resources *resources, uint32_t pid,
                                             const char *name);

/* The mean over time; each value stands for the time since the one before. NAN for NULL. */
double resource_mean(const struct resource_series *series);
double resource_max(const struct resource_series *series);

/* How much a count grew from the first to the last value; 0 for NULL. */
double resource_growth(const struct resource_series *series);

#endif
