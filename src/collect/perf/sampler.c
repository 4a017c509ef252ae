// SPDX-License-Identifier: Apache-2.0
/*
 * See sampler.h. For each thread and CPU there are two events: one that takes samples, and one that
 * only tells of mappings, names, ends and switches, so that these never depend on the first. All
 * events of a CPU write into one ring.
 */
#include "collect/perf/sampler.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/array.h"
#include "base/ticks.h"
#include "collect/perf/event_attr.h"
#include "collect/perf/reorder_buffer.h"
#include "collect/perf/records.h"
#include "collect/perf/perf_errors.h"
#include "collect/perf/ring.h"
#include "collect/perf/task_list.h"
#include "collect/privileged/privileged.h"
#include "system/process_folder.h"
#include "system/rights.h"
#include "system/trace_rule.h"

#define CPUS_MAX     4096
#define THREADS_MAX  65536
#define SPARE_FILES  64  /* descriptors that are left for everything else */
#define RING_SAMPLES 4   /* that a ring holds at least */
#define MANY         128 /* samples that wait for no others */
#define OPEN_TRIES   5   /* where threads end while they are asked for */

struct sampler {
    struct ring *rings; /* one per CPU */
    size_t ring_count;
    size_t ring_bytes;
    int *samplers; /* events that take samples */
    size_t sampler_count, sampler_room;
    int *others; /* the rest */
    size_t other_count, other_room;
    int epoll;
    uint64_t last_read_ns;
    uint64_t patience_ns;
    struct reorder_buffer reorder; /* samples that were copied, but not told */
    uint64_t hurry_from_ns;        /* the first sample that must not wait; UINT64_MAX: all may */
    uint64_t hurry_to_ns;          /* the last one */
    uint64_t batch_ns;             /* when samples were told last */
    uint64_t told_ns;              /* all samples of before were told */
    struct sampler_counts counts;
    struct perf_event_attr attr; /* of the events that take samples */
    int program;                 /* of BPF, that runs with each; 0: none */
    bool paused;
    size_t old_count;      /* the first ones of samplers, which the others will replace; 0: none */
    struct task_list last; /* the threads that those others were opened for */
};

static int open_event(struct perf_event_attr *attr, pid_t tid, int cpu)
{
    int fd;

    rights_raise();
    fd = (int)syscall(SYS_perf_event_open, attr, tid, cpu, -1, PERF_FLAG_FD_CLOEXEC);
    rights_lower();
    if (fd < 0 && (errno == EACCES || errno == EPERM))
        fd = privileged_event(attr, tid, cpu);
    return fd;
}

static uint32_t stack_bytes(const struct sampler_options *options)
{
    return options->stack_bytes ? options->stack_bytes : SAMPLER_STACK_DEFAULT;
}

static enum ifg_status refused(pid_t tid, struct ifg_error *err)
{
    char why[sizeof err->message];
    int error = errno;

    if (error == ESRCH)
        return ifg_fail(err, IFG_NOT_FOUND, "process %d is gone", (int)tid);
    perf_error_line(PERF_ERROR_SAMPLES, error, tid, why, sizeof why);
    return ifg_fail(err,
                    error == EACCES || error == EPERM                           ? IFG_PERMISSION
                    : error == ENOSYS || error == ENOENT || error == EOPNOTSUPP ? IFG_UNSUPPORTED
                                                                                : IFG_IO,
                    "%s", why);
}

/* Finds out with one event what this machine and this user can have; attr is then right. */
static enum ifg_status settle(struct perf_event_attr *attr, struct perf_event_attr *side, pid_t tid,
                              struct sampler_facts *facts, struct ifg_error *err)
{
    int fd = open_event(side, tid, -1);

    if (fd < 0 && errno == EINVAL) { /* before 5.12 the kernel told no build-id */
        side->build_id = 0;
        fd = open_event(side, tid, -1);
    }
    if (fd < 0)
        return refused(tid, err);
    close(fd);
    if (!attr->sample_freq)
        return IFG_OK;
    snprintf(facts->clock, sizeof facts->clock, "cycles");
    fd = open_event(attr, tid, -1);
    if (fd < 0 && (errno == EACCES || errno == EPERM) && !attr->exclude_kernel) {
        attr->exclude_kernel = 1;
        perf_error_line(PERF_ERROR_KERNEL, errno, tid, facts->kernel_missing,
                        sizeof facts->kernel_missing);
        fd = open_event(attr, tid, -1);
    }
    if (fd < 0 && (errno == ENOENT || errno == EOPNOTSUPP || errno == ENODEV || errno == EINVAL)) {
        event_attr_use_clock(attr);
        snprintf(facts->clock, sizeof facts->clock, "cpu-clock");
        fd = open_event(attr, tid, -1);
        if (fd < 0 && (errno == EACCES || errno == EPERM) && !attr->exclude_kernel) {
            attr->exclude_kernel = 1;
            perf_error_line(PERF_ERROR_KERNEL, errno, tid, facts->kernel_missing,
                            sizeof facts->kernel_missing);
            fd = open_event(attr, tid, -1);
        }
    }
    if (fd < 0)
        return refused(tid, err);
    close(fd);
    facts->kernel_frames = !attr->exclude_kernel;
    return IFG_OK;
}

static bool keep(struct sampler *sampler, int fd, bool samples)
{
    if (!IFG_ARRAY_ROOM(sampler->samplers, sampler->sampler_room, sampler->sampler_count + 1,
                        IFG_ARRAY_ANY) ||
        !IFG_ARRAY_ROOM(sampler->others, sampler->other_room, sampler->other_count + 1,
                        IFG_ARRAY_ANY))
        return false;
    if (samples)
        sampler->samplers[sampler->sampler_count++] = fd;
    else
        sampler->others[sampler->other_count++] = fd;
    return true;
}

/* Descriptors are given out from the lowest: a high one tells that few are left. */
static bool is_one_of_the_last(int fd)
{
    struct rlimit limit;
    rlim_t spare;

    if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY)
        return false;
    spare = limit.rlim_cur / 4 < SPARE_FILES ? limit.rlim_cur / 4 : SPARE_FILES;
    return (rlim_t)fd >= limit.rlim_cur - spare;
}

/* Limits on locked memory are for all rings of a user together, and one that takes more than its
 * share leaves none to the others. So all are large, or all of the size that is always granted. */
static size_t large_ring(size_t rings)
{
    size_t bytes = EVENT_RING_MOST;

    while (bytes > EVENT_RING_BYTES && bytes > EVENT_RINGS_MOST / rings)
        bytes /= 2;
    return bytes;
}

/* Opens an event for a thread on a CPU, into the CPU's ring, which the first one brings. */
static enum ifg_status add_event(struct sampler *sampler, struct perf_event_attr *attr, pid_t tid,
                                 int cpu, bool samples, struct ifg_error *err)
{
    struct ring *ring = &sampler->rings[cpu];
    int fd = open_event(attr, tid, cpu);
    struct epoll_event wanted = { .events = EPOLLIN, .data.fd = fd };

    if (fd < 0 && (errno == ENODEV || errno == EINVAL))
        return IFG_OK; /* this CPU is not there */
    if (fd >= 0 && is_one_of_the_last(fd)) {
        close(fd);
        fd = -1;
        errno = EMFILE;
    }
    if (fd < 0 && errno == EMFILE)
        return ifg_fail(err, IFG_NO_MEMORY, "too many files are open: raise the limit (ulimit -n)");
    if (fd < 0)
        return refused(tid, err);
    if (!keep(sampler, fd, samples)) {
        close(fd);
        return ifg_fail_no_memory(err, "for the events of samples");
    }
    /* Where that does not work, there are samples all the same. */
    if (samples && sampler->program > 0)
        ioctl(fd, PERF_EVENT_IOC_SET_BPF, sampler->program);
    if (ring->page)
        return ioctl(fd, PERF_EVENT_IOC_SET_OUTPUT, ring->fd)
                   ? ifg_fail_errno(err, "cannot join the events of a CPU")
                   : IFG_OK;
    if (ring_map(ring, fd, sampler->ring_bytes, err))
        return err ? err->status : IFG_IO;
    if (epoll_ctl(sampler->epoll, EPOLL_CTL_ADD, fd, &wanted))
        return ifg_fail_errno(err, "cannot wait for samples");
    return IFG_OK;
}

/*
 * Before and after events are opened for a thread, which is not before they are switched on: with
 * capabilities the kernel does not ask whose thread it is. Later, it takes events away from who
 * executes a program with other rights. IFG_BUSY: it ended meanwhile, and its number may have been
 * given to somebody else.
 */
static enum ifg_status still_may_watch(pid_t tid, struct ifg_error *err)
{
    enum ifg_status status = trace_rule_check(tid, err);

    return status == IFG_NOT_FOUND ? IFG_BUSY : status;
}

static enum ifg_status add_thread(struct sampler *sampler, struct perf_event_attr *attr,
                                  struct perf_event_attr *side, pid_t tid, struct ifg_error *err)
{
    for (size_t cpu = 0; cpu < sampler->ring_count; cpu++) {
        enum ifg_status status = add_event(sampler, side, tid, (int)cpu, false, err);

        if (!status && attr->sample_freq)
            status = add_event(sampler, attr, tid, (int)cpu, true, err);
        if (status)
            return status;
    }
    return IFG_OK;
}

/* All threads that a running process has; those that it starts later are inherited. */
static enum ifg_status add_threads(struct sampler *sampler, struct perf_event_attr *attr,
                                   struct perf_event_attr *side, pid_t pid,
                                   struct sampler_facts *facts, struct ifg_error *err)
{
    struct process_threads threads;
    size_t added = 0, left_out = 0;
    enum ifg_status status = IFG_OK;
    pid_t tid;

    if (!process_threads_of(pid, &threads))
        return ifg_fail(err, IFG_NOT_FOUND, "process %d is gone", (int)pid);
    while (!status && added < THREADS_MAX && process_threads_next(&threads, &tid)) {
        struct ifg_error why = { 0 };

        status = trace_rule_check(tid, &why);
        if (!status) {
            status = add_thread(sampler, attr, side, tid, &why);
            if (still_may_watch(tid, &why))
                status = why.status == IFG_NOT_FOUND ? IFG_BUSY : why.status;
        }
        if (!status)
            added++;
        else if (status == IFG_NOT_FOUND || (status == IFG_NO_MEMORY && added))
            left_out += status == IFG_NO_MEMORY, status = IFG_OK; /* it ended, or one too many */
        else if (err)
            *err = why;
    }
    process_threads_close(&threads);
    facts->left_out += left_out;
    if (!status && !added)
        return ifg_fail(err, IFG_NOT_FOUND, "process %d is gone", (int)pid);
    return status;
}

/* Each fails by itself: a child with other rights does not keep us from watching its parent. */
static void add_others(struct sampler *sampler, const struct sampler_options *options,
                       struct perf_event_attr *attr, struct perf_event_attr *side,
                       struct sampler_facts *facts)
{
    for (size_t i = 0; i < options->also_count; i++) {
        struct ifg_error why = { 0 };
        enum ifg_status status = add_threads(sampler, attr, side, options->also[i], facts, &why);

        if (status == IFG_NO_MEMORY)
            facts->left_out++;
        else if (status && status != IFG_NOT_FOUND && status != IFG_BUSY)
            facts->refused++;
    }
}

static void note_missing(struct sampler_facts *facts, const char *what)
{
    size_t length = strlen(facts->missing);

    snprintf(facts->missing + length, sizeof facts->missing - length, "%s%s", length ? "; " : "",
             what);
}

static void note_left_out(struct sampler_facts *facts)
{
    char text[96];

    if (facts->refused) {
        snprintf(text, sizeof text, "%zu other processes (not permitted)", facts->refused);
        note_missing(facts, text);
    }
    if (facts->left_out) {
        snprintf(text, sizeof text, "%zu threads: too many files would be open (raise 'ulimit -n')",
                 facts->left_out);
        note_missing(facts, text);
    }
}

static void allow_many_files(void)
{
    struct rlimit limit;

    if (getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur < limit.rlim_max) {
        limit.rlim_cur = limit.rlim_max;
        setrlimit(RLIMIT_NOFILE, &limit);
    }
}

static enum ifg_status open_all(struct sampler *sampler, const struct sampler_options *options,
                                bool large, struct sampler_facts *facts, struct ifg_error *err)
{
    struct perf_event_attr attr, side;
    enum ifg_status status;
    long cpus = sysconf(_SC_NPROCESSORS_CONF);

    sampler->ring_count = cpus < 1 ? 1 : cpus > CPUS_MAX ? CPUS_MAX : (size_t)cpus;
    sampler->ring_bytes = large ? large_ring(sampler->ring_count) : EVENT_RING_BYTES;
    sampler->rings = ifg_alloc(sampler->ring_count, sizeof *sampler->rings);
    sampler->epoll = epoll_create1(EPOLL_CLOEXEC);
    if (!sampler->rings || sampler->epoll < 0)
        return ifg_fail_no_memory(err, "for the rings of samples");
    event_attr_sampling(&attr, stack_bytes(options), options->launched, options->hz,
                        options->want_kernel);
    event_attr_side(&side, stack_bytes(options), options->launched);
    status = options->launched ? IFG_OK : trace_rule_check(options->pid, err);
    if (!status)
        status = settle(&attr, &side, options->pid, facts, err);
    if (status)
        return status;
    facts->hz = options->hz;
    facts->stack_bytes = attr.sample_stack_user;
    sampler->attr = attr;
    allow_many_files();
    if (options->launched)
        return add_thread(sampler, &attr, &side, options->pid, err);
    status = add_threads(sampler, &attr, &side, options->pid, facts, err);
    if (!status)
        add_others(sampler, options, &attr, &side, facts);
    note_left_out(facts);
    for (size_t i = 0; i < sampler->other_count && !status; i++)
        ioctl(sampler->others[i], PERF_EVENT_IOC_ENABLE, 0);
    sampler->paused = true;
    return status;
}

static enum ifg_status open_once(const struct sampler_options *options, bool large,
                                 struct sampler **out_sampler, struct sampler_facts *out_facts,
                                 struct ifg_error *err)
{
    struct sampler *sampler = ifg_alloc(1, sizeof *sampler);
    enum ifg_status status;

    *out_sampler = NULL;
    memset(out_facts, 0, sizeof *out_facts);
    if (!sampler)
        return ifg_fail_no_memory(err, "for samples");
    sampler->epoll = -1;
    reorder_buffer_init(&sampler->reorder);
    sampler->patience_ns = options->patience_ns;
    sampler->program = options->program;
    sampler->hurry_from_ns = UINT64_MAX;
    if (options->stack_bytes > SAMPLER_STACK_MAX || options->stack_bytes % 8)
        status = ifg_fail(err, IFG_INVALID, "%u bytes of stack: at most %u, in steps of 8",
                          options->stack_bytes, SAMPLER_STACK_MAX);
    else
        status = open_all(sampler, options, large, out_facts, err);
    if (status)
        sampler_close(sampler);
    else
        *out_sampler = sampler;
    return status;
}

enum ifg_status sampler_open(const struct sampler_options *options, struct sampler **out_sampler,
                             struct sampler_facts *out_facts, struct ifg_error *err)
{
    bool large = getuid() == 0 || rights_are_spare();
    enum ifg_status status = IFG_BUSY;

    for (int i = 0; i < OPEN_TRIES && status == IFG_BUSY; i++) {
        status = open_once(options, large, out_sampler, out_facts, err);
        if (large && status && status != IFG_BUSY && status != IFG_NOT_FOUND) {
            large = false; /* root of a container may not lock more than others */
            status = IFG_BUSY;
        }
    }
    return status;
}

/* ---- reading ---- */

/* A ring whose thread has ended would wake us for ever. */
static void drop_ended(struct sampler *sampler)
{
    struct epoll_event events[16];
    int count = epoll_wait(sampler->epoll, events, 16, 0);

    for (int i = 0; i < count; i++)
        if (events[i].events & (EPOLLHUP | EPOLLERR))
            epoll_ctl(sampler->epoll, EPOLL_CTL_DEL, events[i].data.fd, NULL);
}

/* Asks for each of the samples that came last whether it may wait. */
static void ask(struct sampler *sampler, size_t from, const struct sampler_events *events)
{
    while (from < sampler->reorder.records.size) {
        const struct perf_event_header *record =
            (const void *)(sampler->reorder.records.data + from);
        uint32_t pid;
        uint64_t ip;

        if (record_instruction(record, &pid, &ip) && events->hurries(pid, ip, events->user)) {
            uint64_t time_ns = record_time(record);

            if (time_ns < sampler->hurry_from_ns)
                sampler->hurry_from_ns = time_ns;
            if (time_ns > sampler->hurry_to_ns)
                sampler->hurry_to_ns = time_ns;
        }
        from += record->size;
    }
}

static void copy_rings(struct sampler *sampler, const struct sampler_events *events)
{
    size_t before;

    reorder_buffer_forget_told(&sampler->reorder);
    before = sampler->reorder.records.size;
    for (size_t i = 0; i < sampler->ring_count; i++)
        if (sampler->rings[i].page &&
            !ring_copy_apart(&sampler->rings[i], &sampler->reorder.records))
            sampler->counts.lost++;
    if (!reorder_buffer_note(&sampler->reorder, before))
        sampler->counts.lost++;
    if (sampler->patience_ns && events->hurries)
        ask(sampler, before, events);
}

static void tell_samples(struct sampler *sampler, uint64_t before,
                         const struct sampler_events *events)
{
    const struct perf_event_header *record;

    while ((record = reorder_buffer_next(&sampler->reorder, before)))
        record_tell(record, events, &sampler->counts);
}

static void tell_others(struct sampler *sampler, uint64_t before,
                        const struct sampler_events *events)
{
    struct ring *ring;

    while ((ring = ring_oldest(sampler->rings, sampler->ring_count, before, record_time))) {
        const struct perf_event_header *record = ring_peek(ring);

        if (record_changes_code(record))
            tell_samples(sampler, record_time(record), events);
        record_tell(record, events, &sampler->counts);
        ring_next(ring);
    }
}

void sampler_read(struct sampler *sampler, bool all, const struct sampler_events *events)
{
    uint64_t now = ifg_monotonic_ns();
    /* What was made before the last time we looked is in our copies by now, whichever CPU. */
    uint64_t before = all ? UINT64_MAX : sampler->last_read_ns;

    drop_ended(sampler);
    copy_rings(sampler, events);
    tell_others(sampler, before, events);
    if (all || sampler->hurry_from_ns < before ||
        reorder_buffer_waiting(&sampler->reorder) >= MANY ||
        now - sampler->batch_ns >= sampler->patience_ns) {
        sampler->hurry_from_ns = sampler->hurry_to_ns >= before ? sampler->hurry_to_ns : UINT64_MAX;
        sampler->batch_ns = now;
        tell_samples(sampler, before, events);
        sampler->told_ns = before;
    }
    sampler->last_read_ns = now;
}

void sampler_hurry(struct sampler *sampler)
{
    sampler->hurry_from_ns = 0;
}

uint64_t sampler_told_ns(const struct sampler *sampler)
{
    return sampler->told_ns;
}

void sampler_pause(struct sampler *sampler, bool pause)
{
    size_t count = sampler->old_count ? sampler->old_count : sampler->sampler_count;

    for (size_t i = 0; i < count; i++)
        ioctl(sampler->samplers[i], pause ? PERF_EVENT_IOC_DISABLE : PERF_EVENT_IOC_ENABLE, 0);
    sampler->paused = pause;
}

/* ---- larger copies of stacks ---- */

/* Closing an event also ends what threads have inherited of it. */
static void close_samplers(struct sampler *sampler, size_t from, size_t to)
{
    for (size_t i = from; i < to; i++)
        close(sampler->samplers[i]);
    memmove(&sampler->samplers[from], &sampler->samplers[to],
            (sampler->sampler_count - to) * sizeof *sampler->samplers);
    sampler->sampler_count -= to - from;
}

/* Opens events for all threads beside those that they have; they are not on yet. */
static enum ifg_status open_beside(struct sampler *sampler, struct perf_event_attr *attr,
                                   struct ifg_error *err)
{
    for (size_t i = 0; i < sampler->last.count; i++) {
        enum ifg_status status = trace_rule_check((pid_t)sampler->last.tids[i], err);

        for (size_t cpu = 0; cpu < sampler->ring_count && !status; cpu++) {
            if (sampler->rings[cpu].size >= (size_t)attr->sample_stack_user * RING_SAMPLES)
                status =
                    add_event(sampler, attr, (pid_t)sampler->last.tids[i], (int)cpu, true, err);
            else if (sampler->rings[cpu].page)
                return ifg_fail(err, IFG_NO_MEMORY, "the rings for samples are too small for that");
        }
        if (!status)
            status = still_may_watch((pid_t)sampler->last.tids[i], err);
        if (status && status != IFG_NOT_FOUND) /* it may have ended meanwhile */
            return status;
    }
    return IFG_OK;
}

enum ifg_status sampler_raise_begin(struct sampler *sampler, const uint32_t *pids, size_t count,
                                    uint32_t stack_bytes, struct ifg_error *err)
{
    size_t old = sampler->sampler_count;
    struct perf_event_attr attr = sampler->attr;
    enum ifg_status status;

    if (!old || sampler->old_count || stack_bytes > SAMPLER_STACK_MAX || stack_bytes % 8)
        return ifg_fail(err, IFG_INVALID, "%u bytes of stack cannot be had now", stack_bytes);
    if (!task_list_read(&sampler->last, pids, count))
        return ifg_fail(err, IFG_NO_MEMORY, "too many threads");
    attr.sample_stack_user = stack_bytes;
    attr.disabled = 1;
    attr.enable_on_exec = 0;
    status = open_beside(sampler, &attr, err);
    if (!status && sampler->sampler_count == old)
        status = ifg_fail(err, IFG_NOT_FOUND, "all threads have ended");
    if (status) {
        close_samplers(sampler, old, sampler->sampler_count);
        return status;
    }
    sampler->old_count = old;
    return IFG_OK;
}

/* A thread that came meanwhile has inherited from its parent, or has not: nobody can tell. If there
 * is none, all threads have exactly one new event, and those to come will inherit it. */
enum ifg_status sampler_raise_end(struct sampler *sampler, const uint32_t *pids, size_t count,
                                  struct ifg_error *err)
{
    size_t old = sampler->old_count;
    struct task_list now = { 0 };
    bool same = task_list_read(&now, pids, count) && task_list_holds(&sampler->last, &now);

    task_list_fini(&now);
    task_list_fini(&sampler->last);
    sampler->old_count = 0;
    if (!same) {
        close_samplers(sampler, old, sampler->sampler_count);
        return ifg_fail(err, IFG_BUSY, "the program starts threads all the time");
    }
    for (size_t i = 0; i < old; i++) /* first these off, then those on: no moment has two samples */
        ioctl(sampler->samplers[i], PERF_EVENT_IOC_DISABLE, 0);
    for (size_t i = old; i < sampler->sampler_count && !sampler->paused; i++)
        ioctl(sampler->samplers[i], PERF_EVENT_IOC_ENABLE, 0);
    close_samplers(sampler, 0, old);
    return IFG_OK;
}

void sampler_set_rate(struct sampler *sampler, uint32_t hz)
{
    uint64_t value = hz;

    sampler->attr.sample_freq = hz;
    for (size_t i = 0; i < sampler->sampler_count; i++)
        ioctl(sampler->samplers[i], PERF_EVENT_IOC_PERIOD, &value);
}

int sampler_wait_fd(const struct sampler *sampler)
{
    return sampler->epoll;
}

void sampler_count(const struct sampler *sampler, struct sampler_counts *out_counts)
{
    *out_counts = sampler->counts;
}

void sampler_close(struct sampler *sampler)
{
    if (!sampler)
        return;
    for (size_t i = 0; i < sampler->ring_count && sampler->rings; i++)
        if (sampler->rings[i].page)
            ring_unmap(&sampler->rings[i]);
    for (size_t i = 0; i < sampler->sampler_count; i++)
        close(sampler->samplers[i]);
    for (size_t i = 0; i < sampler->other_count; i++)
        close(sampler->others[i]);
    if (sampler->epoll >= 0)
        close(sampler->epoll);
    task_list_fini(&sampler->last);
    reorder_buffer_fini(&sampler->reorder);
    ifg_free(sampler->samplers);
    ifg_free(sampler->others);
    ifg_free(sampler->rings);
    ifg_free(sampler);
}
