// SPDX-License-Identifier: Apache-2.0
/* One recorded process: CPU, threads, memory, faults, I/O, switches. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/alloc.h"
#include "collect/proc/proc_internal.h"

#define SLOW_NS       (5 * SECOND_NS) /* between looks at what costs a read for each thread */
#define FIRST_SLOW_NS SECOND_NS
#define PSS_TIMES     2000u /* the sum over all pages may take this part of a CPU: 0.05 % */
#define LEAST_NS      5000000ull
#define COARSE_NS     (SECOND_NS / 4) /* where time comes in hundredths of a second */

static uint64_t clock_ns(clockid_t clock)
{
    struct timespec now;

    if (clock_gettime(clock, &now) != 0)
        return MISSING;
    return (uint64_t)now.tv_sec * SECOND_NS + (uint64_t)now.tv_nsec;
}

static uint64_t ticks_ns(uint64_t ticks)
{
    long per_second = sysconf(_SC_CLK_TCK);
    uint64_t one = SECOND_NS / (per_second > 0 ? (uint64_t)per_second : 100);

    return ticks < UINT64_MAX / one ? ticks * one : 0;
}

static bool is_real(const struct proc_roots *roots)
{
    return roots->proc == proc_real_roots.proc;
}

/* The kernel's own clock of the process is exact; the text has hundredths of a second. */
static uint64_t cpu_time(const struct proc_process *process, const struct proc_roots *roots,
                         const struct process_stat *stat)
{
    clockid_t clock;
    uint64_t exact = MISSING;

    if (is_real(roots) && clock_getcpuclockid((pid_t)process->pid, &clock) == 0)
        exact = clock_ns(clock);
    return exact != MISSING ? exact : ticks_ns(stat->ticks);
}

/* When it began, on the clock of our times; 0: long ago, or not known. */
static uint64_t start_of(const struct proc_roots *roots, const struct process_stat *stat)
{
    uint64_t boot = clock_ns(CLOCK_BOOTTIME), now = clock_ns(CLOCK_MONOTONIC);
    uint64_t start = ticks_ns(stat->start_ticks);

    if (!is_real(roots) || boot == MISSING || now == MISSING || start > boot || boot - start > now)
        return 0;
    return now - (boot - start);
}

static void look_at_cpu(struct proc_process *process, const struct proc_roots *roots,
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

static void look_at_io(struct proc_process *process, const struct proc_roots *roots,
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
static void look_at_pages(struct proc_process *process, const struct proc_roots *roots,
                          uint64_t now_ns, const struct proc_sink *sink)
{
    char path[256], text[2048];
    uint64_t before = clock_ns(CLOCK_MONOTONIC), cost, pss;

    snprintf(path, sizeof path, "%s/%u/smaps_rollup", roots->proc, process->pid);
    if (ifg_read_small(path, text, sizeof text)) {
        pss = ifg_find_number(text, "Pss");
        if (pss != MISSING)
            proc_put(sink, process->pid, "pss bytes", 1024.0 * (double)pss);
    }
    cost = clock_ns(CLOCK_MONOTONIC) - before;
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
static void look_at_switches(struct proc_process *process, const struct proc_roots *roots,
                             const struct proc_sink *sink)
{
    char folder[256], path[600], text[4096];
    struct dirent *entry;
    size_t kept = 0;
    DIR *tasks;

    if (!process->threads)
        process->threads = ifg_alloc(PROC_THREADS_MAX, sizeof *process->threads);
    snprintf(folder, sizeof folder, "%s/%u/task", roots->proc, process->pid);
    tasks = process->threads ? opendir(folder) : NULL;
    if (!tasks)
        return;
    while ((entry = readdir(tasks)) != NULL) {
        uint64_t tid, voluntary, involuntary;
        struct proc_thread *thread;

        if (!ifg_parse_number(entry->d_name, NULL, &tid) || tid > UINT32_MAX)
            continue;
        thread = take_thread(process, (uint32_t)tid);
        if (!thread)
            break;
        thread->seen = true;
        snprintf(path, sizeof path, "%s/%u/status", folder, thread->tid);
        if (!ifg_read_small(path, text, sizeof text))
            continue;
        voluntary = ifg_find_number(text, "voluntary_ctxt_switches");
        involuntary = ifg_find_number(text, "nonvoluntary_ctxt_switches");
        process->voluntary += (uint64_t)proc_more(voluntary, thread->voluntary);
        process->involuntary += (uint64_t)proc_more(involuntary, thread->involuntary);
        thread->voluntary = voluntary != MISSING ? voluntary : thread->voluntary;
        thread->involuntary = involuntary != MISSING ? involuntary : thread->involuntary;
    }
    closedir(tasks);
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

void proc_process_look(struct proc_process *process, const struct proc_roots *roots,
                       uint64_t begin_ns, uint64_t now_ns, bool last, const struct proc_sink *sink)
{
    char path[256], text[1024];
    struct process_stat stat;
    long page = sysconf(_SC_PAGESIZE);

    snprintf(path, sizeof path, "%s/%u/stat", roots->proc, process->pid);
    if (!ifg_read_small(path, text, sizeof text) || !proc_parse_process(text, &stat))
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
