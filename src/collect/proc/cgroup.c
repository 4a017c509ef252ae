// SPDX-License-Identifier: Apache-2.0
/* The control group of a process: what it may use, and how often it was stopped for using more. */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "collect/proc/proc_internal.h"

#define EVERY_NS  (5 * SECOND_NS) /* processes rarely change their group */
#define UNLIMITED (UINT64_C(1) << 60)

void proc_cgroup_find(struct proc_process *process, const struct proc_roots *roots, uint64_t now_ns)
{
    char path[256], text[4096], controllers[64], group[160];

    if (!proc_is_due(&process->next_group_ns, now_ns, EVERY_NS, false))
        return;
    process->group[0] = process->memory_group[0] = '\0';
    snprintf(path, sizeof path, "%s/%u/cgroup", roots->proc, process->pid);
    if (!ifg_read_small(path, text, sizeof text) ||
        !proc_parse_cgroup(text, &process->unified, controllers, sizeof controllers, group,
                           sizeof group))
        return;
    if (strcmp(group, "/") == 0)
        group[0] = '\0';
    if (process->unified) {
        snprintf(path, sizeof path, "%s/fs/cgroup/unified", roots->sys);
        snprintf(process->group, sizeof process->group, "%.80s/fs/cgroup%s%s", roots->sys,
                 access(path, F_OK) == 0 ? "/unified" : "", group);
        memcpy(process->memory_group, process->group, sizeof process->group);
        return;
    }
    snprintf(process->group, sizeof process->group, "%.24s/fs/cgroup/%s%s", roots->sys, controllers,
             group);
    snprintf(process->memory_group, sizeof process->memory_group, "%.80s/fs/cgroup/memory%s",
             roots->sys, group);
}

struct limits {
    double cpus;           /* 0: none */
    uint64_t memory_bytes; /* MISSING: none */
    uint64_t periods, throttled, throttled_us;
};

/* "max 100000", "200000 100000"; or the same in two files. */
static void take_quota(struct limits *limits, const char *folder, bool unified)
{
    char path[320], text[64];
    uint64_t quota, period = MISSING;
    const char *at;
    double cpus;

    snprintf(path, sizeof path, "%s/%s", folder, unified ? "cpu.max" : "cpu.cfs_quota_us");
    if (!ifg_read_small(path, text, sizeof text) || !ifg_parse_number(text, &at, &quota))
        return;
    if (unified) {
        if (!ifg_parse_number(at, NULL, &period))
            return;
    } else {
        snprintf(path, sizeof path, "%s/cpu.cfs_period_us", folder);
        period = ifg_read_number(path);
    }
    if (!period || period == MISSING || !quota)
        return;
    cpus = (double)quota / (double)period;
    if (limits->cpus <= 0 || cpus < limits->cpus)
        limits->cpus = cpus;
}

static void take_throttling(struct limits *limits, const char *folder, bool unified)
{
    char path[320], text[1024];
    uint64_t periods, throttled, us;

    snprintf(path, sizeof path, "%s/cpu.stat", folder);
    if (!ifg_read_small(path, text, sizeof text))
        return;
    periods = ifg_find_number(text, "nr_periods");
    throttled = ifg_find_number(text, "nr_throttled");
    us = ifg_find_number(text, unified ? "throttled_usec" : "throttled_time");
    if (!unified && us != MISSING)
        us /= 1000;
    if (throttled == MISSING || us == MISSING || periods == MISSING)
        return;
    if (limits->throttled == MISSING)
        limits->throttled = limits->throttled_us = limits->periods = 0;
    limits->throttled += throttled < UNLIMITED ? throttled : 0;
    limits->throttled_us += us < UNLIMITED ? us : 0;
    limits->periods = periods > limits->periods ? periods : limits->periods;
}

static void take_memory(struct limits *limits, const char *folder, bool unified)
{
    char path[320];
    uint64_t most;

    snprintf(path, sizeof path, "%s/%s", folder, unified ? "memory.max" : "memory.limit_in_bytes");
    most = ifg_read_number(path);
    if (most != MISSING && most < UNLIMITED && most < limits->memory_bytes)
        limits->memory_bytes = most;
}

/* From the group upwards: the limit may be anybody's. */
static void climb(const char *group, struct limits *limits, bool unified,
                  void (*take)(struct limits *limits, const char *folder, bool unified))
{
    char here[256];
    char *slash, *end;

    snprintf(here, sizeof here, "%s", group);
    end = strstr(here, "/fs/cgroup");
    if (!end)
        return;
    end += strlen("/fs/cgroup");
    for (;;) {
        take(limits, here, unified);
        slash = strrchr(here, '/');
        if (!slash || slash < end)
            return;
        *slash = '\0';
    }
}

void proc_cgroup_look(const struct proc_process *process, const struct proc_sink *sink)
{
    struct limits limits = { 0, MISSING, MISSING, MISSING, MISSING };
    char path[320];
    uint64_t used;

    if (!process->group[0])
        return;
    climb(process->group, &limits, process->unified, take_quota);
    climb(process->group, &limits, process->unified, take_throttling);
    climb(process->memory_group, &limits, process->unified, take_memory);
    snprintf(path, sizeof path, "%s/%s", process->memory_group,
             process->unified ? "memory.current" : "memory.usage_in_bytes");
    used = ifg_read_number(path);
    proc_put_count(sink, process->pid, "cgroup memory bytes", used);
    proc_put_count(sink, process->pid, "cgroup memory limit bytes", limits.memory_bytes);
    if (limits.cpus > 0)
        proc_put(sink, process->pid, "cgroup cpu limit", limits.cpus);
    if (limits.cpus > 0 || (limits.throttled != MISSING && limits.throttled)) {
        proc_put_count(sink, process->pid, "cgroup periods", limits.periods);
        proc_put_count(sink, process->pid, "cgroup throttled periods", limits.throttled);
        proc_put_count(sink, process->pid, "cgroup throttled us", limits.throttled_us);
    }
}
