// SPDX-License-Identifier: Apache-2.0
/*
 * Can the numbers be trusted? Reads what the system tells about itself before and after a piece of
 * work and judges the difference. What a machine does not tell is "not available", never OK.
 */
#ifndef IFG_BENCH_TRUST_H
#define IFG_BENCH_TRUST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/status.h"
#include "system/host.h"

/* One look. Numbers that are not there are UINT64_MAX. */
struct trust_reading {
    uint64_t at_ns; /* CLOCK_MONOTONIC */
    uint64_t steal_ticks, total_ticks, idle_ticks;
    uint64_t pressure_us;            /* cpu, some, total */
    uint64_t involuntary, voluntary; /* switches of the process, all threads */
    uint64_t minor_faults, major_faults;
    uint64_t queue_wait_ns; /* runnable but not running, all threads */
    uint64_t process_ticks; /* CPU time of the process */
    uint64_t migrations;
    uint64_t throttled_periods; /* of the process's cgroup */
    uint64_t thermal_events;
    uint64_t frequency_least_khz, frequency_most_khz;
    uint64_t rss_bytes, peak_rss_bytes;
};

/* pid 0: the system only. Never fails: what cannot be read is missing. */
void trust_read(const struct host_roots *roots, pid_t pid, struct trust_reading *out_reading);

enum trust_level { TRUST_OK, TRUST_WARN, TRUST_BAD, TRUST_NOT_AVAILABLE };
const char *trust_level_name(enum trust_level level); /* "OK", "WARN", "BAD", "not available" */

struct trust_line {
    const char *name; /* "steal", "cpu pressure", "involuntary switches", ... */
    enum trust_level level;
    double value;   /* NAN if not available */
    char unit[16];  /* "%", "per inference" */
    char text[160]; /* "1.2 %", or the reason why it is not available */
};

#define TRUST_LINES 24

/* Whether the machine disturbed this piece (steal > 0.5 %, pressure > 5 %, reference kernel
 * slower than usual by > 1 %, throttled, ...). reference_ns and usual_ns: of the reference
 * kernel; 0: not measured. */
bool trust_disturbed(const struct trust_reading *before, const struct trust_reading *after,
                     uint64_t inferences, uint64_t reference_ns, uint64_t usual_ns);

struct trust_work {
    uint64_t inferences;
    uint32_t threads;
    const uint64_t *reference_ns; /* one per block, in order; may be NULL */
    size_t reference_count;
    size_t blocks, disturbed;
};

struct trust {
    enum trust_level level; /* the worst; > 20 % of blocks disturbed: WARN, > 50 %: BAD */
    struct trust_line lines[TRUST_LINES];
    size_t count;
    double reference_drift; /* of the reference kernel: (p90 - p10) / p50; NAN if not measured */
};

/* Readings before and after all the work. Several pieces (blocks, processes): begin with two
 * sums of zeros and add each piece; what is missing in one is missing in the sum. */
void trust_add(struct trust_reading *before_sum, struct trust_reading *after_sum,
               const struct trust_reading *before, const struct trust_reading *after);
void trust_judge(const struct host_roots *roots, const struct trust_reading *before,
                 const struct trust_reading *after, const struct trust_work *work,
                 struct trust *out_trust);
/* One more line, in percent, that is known elsewhere. */
#define TRUST_IDLE_POWER "idle power"
void trust_put(struct trust *trust, const char *name, enum trust_level level, double percent,
               const char *text);
/* "WARN: steal 1.2 %, CPU pressure 7 %, 3 of 100 blocks disturbed; not available: frequency" */
void trust_summary(const struct trust *trust, char *out, size_t size);

/* ---- energy ---- */

struct energy;
/* RAPL packages and NVIDIA devices (NVML, loaded if it is there). *out_reason says why there is
 * none; then NULL is returned. */
struct energy *energy_open(const struct host_roots *roots, const char **out_reason);
struct energy_use {
    double cpu_j, gpu_j; /* each source apart, NAN if absent */
    double seconds;
};
/* What was used since the last call; the first one starts the count. */
void energy_read(struct energy *energy, struct energy_use *out);
/* Joules above what the idle machine takes in so many seconds; NAN if they are not above it. */
double energy_above_idle(double joules, double seconds, double idle_w);
void energy_close(struct energy *energy);

#endif
