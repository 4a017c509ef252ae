// SPDX-License-Identifier: Apache-2.0
/* One recorded process: CPU, threads, memory, faults, I/O, switches. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/ticks.h"
#include "collect/proc/proc_internal.h"
#include "system/process_folder.h"
#include "system/process_status.h"

#define SLOW_NS       (5 * SECOND_NS) /* between looks at what costs a read for each thread */
#define FIRST_SLOW_NS SECOND_NS
#define PSS_TIMES     2000u /* the sum over all pages may take this part of a CPU: 0.05 % */
#define LEAST_NS      5000000ull
#define COARSE_NS     (SECOND_NS / 4) /* where time comes in hundredths of a second */

static uint64_t ticks_ns(uint64_t ticks)
{
    long per_second = sysconf(_SC_CLK_TCK);
    uint64_t one = SECOND_NS / (per_second > 0 ? (uint64_t)per_second : 100);

    return ticks < UINT64_MAX / one ? ticks * one : 0;
}

static bool is_real(const struct host_roots *roots)
{
    return roots->proc == host_system.proc;
}

/* The kernel's own clock of the process is exact; the text has hundredths of a second. */
static uint64_t cpu_time(const struct proc_process *process, const struct host_roots *roots,
                         const struct process_stat *stat)
{
    clockid_t clock;
    uint64_t exact = MISSING;

    if (is_real(roots) && clock_getcpuclockid((pid_t)process->pid, &clock) == 0)
        exact = ifg_clock_ns(clock);
    return exact != MISSING ? exact : ticks_ns(stat->ticks);
}

/* When it began, on the clock of our times; 0: long ago, or not known. */
static uint64_t start_of(const struct host_roots *roots, const struct process_stat *stat)
{
    uint64_t now_ns = ifg_monotonic_ns(), age_ns = process_age_ns(stat->start_ticks);

    return is_real(roots) && age_ns < now_ns ? now_ns - age_ns : 0;
}

static void look_at_cpu(struct proc_process *process, const struct host_roots *roots,
                        const struct process_stat *stat, uint64_t begin_ns, uint64_t now_ns,
                        const struct proc_sink *sink)
{
    uint64_t cpu_ns = cpu_time(process, roots, stat);
    uint64_t least = is_real(roots) ? LEAST_NS : COARSE_NS;

    if (process->start_ticks != stat->start_ticks || !process->at_ns) {
        uint64_t start_ns = start_of(roots, stat);

        /* What began while we looked on had used nothing then. */
        process->start_ticks = stat->start_ticks;
        process->at_ns = start_ns >= begin_ns && start_ns < now_ns ? start_ns : now_ns;
        process->cpu_ns = process->at_ns == now_ns ? cpu_ns : 0;
        process->voluntary = process->involuntary = 0;
        process->thread_count = 0;
        process->next_slow_ns = process->next_pss_ns = now_ns + FIRST_SLOW_NS;
    }
    if (now_ns < process->at_ns + least)
        return;
    proc_put(sink, process->pid, "cpu %",
             100 * proc_more(cpu_ns, process->cpu_ns) / (double)(now_ns - process->at_ns));
    process->at_ns = now_ns;
    process->cpu_ns = cpu_ns;
}

static void look_at_io(struct proc_process *process, const struct host_roots *roots,
                       const struct proc_sink *sink)
{
    char path[256], text[512];

    snprintf(path, sizeof path, "%s/%u/io", roots->proc, process->pid);
    errno = 0;
    if (!ifg_read_small(path, text, sizeof text)) {
        process->io_denied |= errno == EACCES || errno == EPERM;
        return;
    }
    proc_put_count(sink, process->pid, "read bytes", ifg_find_number(text, "read_bytes"));
    proc_put_count(sink, process->pid, "written bytes", ifg_find_number(text, "write_bytes"));
}

/* The sum over all pages, each by how many share it. Others that map memory wait meanwhile. */
static void look_at_pages(struct proc_process *process, const struct host_roots *roots,
                          uint64_t now_ns, const struct proc_sink *sink)
{
    char path[256], text[2048];
    uint64_t before = ifg_monotonic_ns(), cost, pss;

    snprintf(path, sizeof path, "%s/%u/smaps_rollup", roots->proc, process->pid);
    if (ifg_read_small(path, text, sizeof text)) {
        pss = ifg_find_number(text, "Pss");
        if (pss != MISSING)
            proc_put(sink, process->pid, "pss bytes", 1024.0 * (double)pss);
    }
    cost = ifg_monotonic_ns() - before;
    process->next_pss_ns =
        now_ns + (cost * PSS_TIMES > SLOW_NS ? cost * PSS_TIMES : (uint64_t)SLOW_NS);
}

static struct proc_thread *take_thread(struct proc_process *process, uint32_t tid)
{
    for (size_t i = 0; i < process->thread_count; i++)
        if (process->threads[i].tid == tid)
            return &process->threads[i];
    if (process->thread_count == PROC_THREADS_MAX)
        return NULL;
    process->threads[process->thread_count] = (struct proc_thread){ .tid = tid };
    return &process->threads[process->thread_count++];
}

/* The kernel counts for each thread; what one that has ended did is kept. */
static void look_at_switches(struct proc_process *process, const struct host_roots *roots,
                             const struct proc_sink *sink)
{
    struct process_threads threads;
    struct process_status now;
    char folder[256], path[300];
    size_t kept = 0;
    pid_t tid;

    if (!process->threads)
        process->threads = ifg_alloc(PROC_THREADS_MAX, sizeof *process->threads);
    snprintf(folder, sizeof folder, "%s/%u", roots->proc, process->pid);
    if (!process->threads || !process_threads_in(folder, &threads))
        return;
    while (process_threads_next(&threads, &tid)) {
        struct proc_thread *thread = take_thread(process, (uint32_t)tid);

        if (!thread)
            break;
        thread->seen = true;
        snprintf(path, sizeof path, "%s/task/%u", folder, thread->tid);
        if (!process_status_in(path, &now))
            continue;
        process->voluntary += (uint64_t)proc_more(now.voluntary_switches, thread->voluntary);
        process->involuntary += (uint64_t)proc_more(now.involuntary_switches, thread->involuntary);
        if (now.voluntary_switches != MISSING)
            thread->voluntary = now.voluntary_switches;
        if (now.involuntary_switches != MISSING)
            thread->involuntary = now.involuntary_switches;
    }
    process_threads_close(&threads);
    for (size_t i = 0; i < process->thread_count; i++) {
        if (!process->threads[i].seen)
            continue;
        process->threads[kept] = process->threads[i];
        process->threads[kept++].seen = false;
    }
    process->thread_count = kept;
    proc_put(sink, process->pid, "switches voluntary", (double)process->voluntary);
    proc_put(sink, process->pid, "switches involuntary", (double)process->involuntary);
}

void proc_process_look(struct proc_process *process, const struct host_roots *roots,
                       uint64_t begin_ns, uint64_t now_ns, bool last, const struct proc_sink *sink)
{
    struct process_stat stat;
    char folder[256];
    long page = sysconf(_SC_PAGESIZE);

    snprintf(folder, sizeof folder, "%s/%u", roots->proc, process->pid);
    if (!process_stat_in(folder, &stat))
        return; /* it is gone */
    look_at_cpu(process, roots, &stat, begin_ns, now_ns, sink);
    proc_put(sink, process->pid, "page faults minor", (double)stat.minor_faults);
    proc_put(sink, process->pid, "page faults major", (double)stat.major_faults);
    if (stat.state == 'Z' || stat.state == 'X')
        return;
    proc_put(sink, process->pid, "threads", (double)stat.threads);
    proc_put(sink, process->pid, "rss bytes",
             (double)stat.rss_pages * (double)(page > 0 ? page : 4096));
    look_at_io(process, roots, sink);
    if (proc_is_due(&process->next_slow_ns, now_ns, SLOW_NS, last))
        look_at_switches(process, roots, sink);
    if (last || now_ns >= process->next_pss_ns)
        look_at_pages(process, roots, now_ns, sink);
}

void proc_process_close(struct proc_process *process)
{
    ifg_free(process->threads);
    process->threads = NULL;
}
