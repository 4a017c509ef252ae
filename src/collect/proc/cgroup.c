// SPDX-License-Identifier: Apache-2.0
/* The control group of a process: what it may use, and how often it was stopped for using more. */
#include <stdio.h>

#include "collect/proc/proc_internal.h"

#define EVERY_NS (5 * SECOND_NS) /* processes rarely change their group */

void proc_cgroup_find(struct proc_process *process, const struct host_roots *roots, uint64_t now_ns)
{
    char folder[256];

    if (!proc_is_due(&process->next_group_ns, now_ns, EVERY_NS, false))
        return;
    snprintf(folder, sizeof folder, "%s/%u", roots->proc, process->pid);
    if (!cgroup_find(folder, roots->sys, &process->group))
        process->group.folder[0] = '\0';
}

void proc_cgroup_look(const struct proc_process *process, const struct proc_sink *sink)
{
    struct cgroup_limits limits;

    if (!process->group.folder[0])
        return;
    cgroup_read(&process->group, &limits);
    proc_put_count(sink, process->pid, "cgroup memory bytes", limits.memory_used);
    proc_put_count(sink, process->pid, "cgroup memory limit bytes", limits.memory_bytes);
    if (limits.cpus > 0)
        proc_put(sink, process->pid, "cgroup cpu limit", limits.cpus);
    if (limits.cpus > 0 || (limits.throttled != MISSING && limits.throttled)) {
        proc_put_count(sink, process->pid, "cgroup periods", limits.periods);
        proc_put_count(sink, process->pid, "cgroup throttled periods", limits.throttled);
        proc_put_count(sink, process->pid, "cgroup throttled us", limits.throttled_us);
    }
}
