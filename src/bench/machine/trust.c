// SPDX-License-Identifier: Apache-2.0
/*
 * One look at the machine and at a process: see trust.h. It is taken between blocks of a benchmark,
 * so it reads few files, each once, and never waits. All text is taken for hostile.
 */
#include "bench/machine/trust.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/small_file.h"
#include "base/ticks.h"
#include "system/cgroup.h"
#include "system/host_counters.h"
#include "system/process_folder.h"
#include "system/process_status.h"

#define MISSING     IFG_NO_NUMBER
#define THREADS_MAX 256
#define LOOKED_CPUS 8 /* whose throttle counters are read: enough to see every package */

static void add(uint64_t *sum, uint64_t more)
{
    if (*sum == MISSING || more == MISSING || __builtin_add_overflow(*sum, more, sum))
        *sum = MISSING;
}

static void read_machine(const struct host_roots *roots, struct trust_reading *out)
{
    unsigned cpus[LOOKED_CPUS];
    struct cpu_ticks ticks;
    char path[256], text[512];

    snprintf(path, sizeof path, "%s/stat", roots->proc);
    if (ifg_read_small(path, text, sizeof text) && host_parse_ticks(text, &ticks)) {
        out->total_ticks = ticks.total;
        out->steal_ticks = ticks.steal;
        out->idle_ticks = ticks.idle;
        add(&out->idle_ticks, ticks.iowait);
    }
    snprintf(path, sizeof path, "%s/pressure/cpu", roots->proc);
    if (ifg_read_small(path, text, sizeof text))
        out->pressure_us = host_parse_pressure(text, "some");
    out->thermal_events = host_throttles(roots, cpus, host_spread_cpus(roots, cpus, LOOKED_CPUS));
}

/* ---- a process ---- */

static void read_process(const char *folder, struct trust_reading *out)
{
    struct process_status status;
    struct process_stat stat;

    if (process_stat_in(folder, &stat)) {
        out->minor_faults = stat.minor_faults;
        out->major_faults = stat.major_faults;
        out->process_ticks = stat.ticks;
    }
    if (process_status_in(folder, &status)) {
        out->rss_bytes = status.rss_bytes;
        out->peak_rss_bytes = status.peak_rss_bytes;
    }
}

/* Switches and migrations of a thread: `sched` has all three in one file, but not every kernel. */
static void read_switches(const char *folder, struct trust_reading *out)
{
    char path[400], text[4096];
    uint64_t migrations = MISSING, voluntary, involuntary;
    struct process_status status;

    snprintf(path, sizeof path, "%s/sched", folder);
    if (ifg_read_small(path, text, sizeof text)) {
        migrations = ifg_find_number(text, "se.nr_migrations");
        voluntary = ifg_find_number(text, "nr_voluntary_switches");
        involuntary = ifg_find_number(text, "nr_involuntary_switches");
    } else {
        if (!process_status_in(folder, &status))
            return; /* it has just ended */
        voluntary = status.voluntary_switches;
        involuntary = status.involuntary_switches;
    }
    add(&out->migrations, migrations);
    add(&out->voluntary, voluntary);
    add(&out->involuntary, involuntary);
}

/* The clock of the CPU where a thread ran last. Others may be idle, and theirs says nothing. */
static void read_frequency(const struct host_roots *roots, const char *folder,
                           struct trust_reading *out)
{
    struct process_stat stat;

    if (process_stat_in(folder, &stat) && stat.last_cpu < HOST_CPUS_MAX)
        out->frequency_least_khz = out->frequency_most_khz =
            host_clock_khz(roots, (unsigned)stat.last_cpu);
}

static void read_threads(const struct host_roots *roots, const char *folder,
                         struct trust_reading *out)
{
    char busiest[320] = "", path[400], text[128];
    struct process_threads threads;
    uint64_t most_ran = 0;
    unsigned count = 0;
    pid_t tid;

    if (!process_threads_in(folder, &threads))
        return;
    out->involuntary = out->voluntary = out->queue_wait_ns = out->migrations = 0;
    while (process_threads_next(&threads, &tid)) {
        uint64_t ran = 0, waited = 0;
        char thread[320];
        const char *at = text;

        if (++count > THREADS_MAX)
            break;
        snprintf(thread, sizeof thread, "%.250s/task/%d", folder, (int)tid);
        read_switches(thread, out);
        snprintf(path, sizeof path, "%s/schedstat", thread);
        if (!ifg_read_small(path, text, sizeof text) || !ifg_parse_number(at, &at, &ran) ||
            !ifg_parse_number(at, NULL, &waited))
            waited = access(thread, F_OK) == 0 ? MISSING : 0;
        add(&out->queue_wait_ns, waited);
        if (!busiest[0] || ran > most_ran) {
            most_ran = ran;
            memcpy(busiest, thread, sizeof busiest);
        }
    }
    process_threads_close(&threads);
    if (count == 0 || count > THREADS_MAX) /* a part of them would be no sum */
        out->involuntary = out->voluntary = out->queue_wait_ns = out->migrations = MISSING;
    if (busiest[0])
        read_frequency(roots, busiest, out);
}

static void read_cgroup(const struct host_roots *roots, const char *folder,
                        struct trust_reading *out)
{
    struct cgroup_limits limits;
    struct cgroup group;

    if (!cgroup_find(folder, roots->sys, &group))
        return;
    cgroup_read(&group, &limits);
    out->throttled_periods = limits.throttled;
}

void trust_read(const struct host_roots *roots, pid_t pid, struct trust_reading *out_reading)
{
    char folder[256];

    memset(out_reading, 0xff, sizeof *out_reading); /* all of it MISSING */
    out_reading->at_ns = ifg_monotonic_ns();
    read_machine(roots, out_reading);
    if (pid <= 0)
        return;
    snprintf(folder, sizeof folder, "%s/%d", roots->proc, (int)pid);
    read_process(folder, out_reading);
    read_threads(roots, folder, out_reading);
    read_cgroup(roots, folder, out_reading);
}

/* ---- sums ---- */

/* Only differences are added, so that sums of counters do not overflow, and a counter that went
 * back (a thread has ended) counts as no change. */
static void add_change(uint64_t *before_sum, uint64_t *after_sum, uint64_t before, uint64_t after)
{
    if (*before_sum == MISSING || *after_sum == MISSING || before == MISSING || after == MISSING)
        *before_sum = *after_sum = MISSING;
    else if (after > before)
        add(after_sum, after - before);
}

static void widen(struct trust_reading *sum, const struct trust_reading *more)
{
    if (more->frequency_least_khz != MISSING &&
        (sum->frequency_least_khz == 0 || more->frequency_least_khz < sum->frequency_least_khz))
        sum->frequency_least_khz = more->frequency_least_khz;
    if (more->frequency_most_khz != MISSING &&
        (sum->frequency_most_khz == MISSING || more->frequency_most_khz > sum->frequency_most_khz))
        sum->frequency_most_khz = more->frequency_most_khz;
}

static void keep_most(uint64_t *most, uint64_t value)
{
    if (value != MISSING && (*most == MISSING || value > *most))
        *most = value;
}

void trust_add(struct trust_reading *before_sum, struct trust_reading *after_sum,
               const struct trust_reading *before, const struct trust_reading *after)
{
#define ADD(member)                                                                                \
    add_change(&before_sum->member, &after_sum->member, before->member, after->member)
    ADD(at_ns);
    ADD(steal_ticks);
    ADD(total_ticks);
    ADD(idle_ticks);
    ADD(pressure_us);
    ADD(involuntary);
    ADD(voluntary);
    ADD(minor_faults);
    ADD(major_faults);
    ADD(queue_wait_ns);
    ADD(process_ticks);
    ADD(migrations);
    ADD(throttled_periods);
    ADD(thermal_events);
#undef ADD
    widen(before_sum, before);
    widen(after_sum, after);
    keep_most(&before_sum->rss_bytes, before->rss_bytes);
    keep_most(&after_sum->rss_bytes, after->rss_bytes);
    keep_most(&before_sum->peak_rss_bytes, before->peak_rss_bytes);
    keep_most(&after_sum->peak_rss_bytes, after->peak_rss_bytes);
}
