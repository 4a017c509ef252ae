// SPDX-License-Identifier: Apache-2.0
/*
 * Probes without BPF: perf events of the uprobe PMU, one per probe and processor, into one ring per
 * processor. The kernel samples registers; pairing, texts and sorting happen here, later.
 *
 * An event of one process would see only the threads that exist now, so these see every process
 * that maps the file, and the others are sorted out here. A thread that moves leaves its entry in
 * one ring and its return in another: samples are held back until all processors are past them.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/array.h"
#include "base/ticks.h"
#include "collect/uprobe/calls_internal.h"
#include "collect/uprobe/perf_internal.h"
#include "collect/uprobe/uprobe_internal.h"
#include "system/process_folder.h"

#define PROCESSORS_MAX  4096
#define HOLD_NS         2000000ull /* longer than a processor needs to finish a sample */
#define SAMPLES_MOST    ((size_t)1 << 22)
#define RING_LEAST      ((size_t)64 << 10)
#define RECORD_MOST     512
#define SAMPLE_CONTENTS (PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_TID | PERF_SAMPLE_TIME)

struct ring {
    int fd; /* an event that counts nothing and owns the ring */
    int cpu;
    struct perf_event_mmap_page *page;
};

/* In the order of kernel_id, since the kernel counts upwards. Kept after its event is closed: what
 * is in the rings refers to it. */
struct watch {
    uint64_t kernel_id;
    uint64_t cookie;
    pid_t pid;
    bool at_return;
    bool our_namespace; /* the process has the same numbers for itself as we have */
    int fd;
};

struct sample {
    uint64_t time_ns;
    uint64_t kernel_id;
    pid_t pid, tid;
    uint64_t registers[PERF_REGISTERS];
};

struct perf_state {
    int type;
    int epoll_fd;
    size_t page_bytes, ring_bytes, wake_bytes;
    struct ring *rings;
    size_t ring_count;
    struct watch *watches;
    size_t watch_count, watch_capacity;
    struct sample *samples;
    size_t sample_count, sample_capacity;
    uint64_t delivered_ns;
    bool stopped; /* nothing new can come: hold nothing back */
    struct perf_threads threads;
    struct uprobe_losses losses;
    uint64_t hits;     /* of events that are closed, as the kernel counted them */
    uint64_t received; /* samples out of the rings */
};

static int perf_event(struct perf_event_attr *attributes, int cpu)
{
    return (int)syscall(SYS_perf_event_open, attributes, -1, cpu, -1, PERF_FLAG_FD_CLOEXEC);
}

static void perf_close(void *opaque)
{
    struct perf_state *state = opaque;

    if (!state)
        return;
    for (size_t i = 0; i < state->watch_count; i++)
        if (state->watches[i].fd >= 0)
            close(state->watches[i].fd);
    for (size_t i = 0; i < state->ring_count; i++) {
        munmap(state->rings[i].page, state->page_bytes + state->ring_bytes);
        close(state->rings[i].fd);
    }
    if (state->epoll_fd >= 0)
        close(state->epoll_fd);
    perf_threads_fini(&state->threads);
    ifg_free(state->samples);
    ifg_free(state->watches);
    ifg_free(state->rings);
    ifg_free(state);
}

/* IFG_NOT_FOUND: the processor is off. */
static enum ifg_status open_ring(struct perf_state *state, int cpu, struct ifg_error *err)
{
    struct ring *ring = &state->rings[state->ring_count];
    struct epoll_event wanted = { .events = EPOLLIN };
    struct perf_event_attr attributes = {
        .size = sizeof attributes,
        .type = PERF_TYPE_SOFTWARE,
        .config = PERF_COUNT_SW_DUMMY,
        .sample_period = 1,
        .use_clockid = 1, /* as those that will write into its ring */
        .clockid = CLOCK_MONOTONIC,
        .watermark = state->wake_bytes > 0,
        .wakeup_events = state->wake_bytes > 0 ? (uint32_t)state->wake_bytes : 1,
    };
    int fd = perf_event(&attributes, cpu);
    void *page;

    if (fd < 0 && errno == ENODEV)
        return IFG_NOT_FOUND;
    if (fd < 0)
        return uprobe_refused(err, UPROBE_ATTACH, errno, "cannot open a perf event");
    page = mmap(NULL, state->page_bytes + state->ring_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd,
                0);
    if (page == MAP_FAILED) {
        enum ifg_status status =
            uprobe_refused(err, UPROBE_MAP_RING, errno, "cannot map the ring of a perf event");

        close(fd);
        return status;
    }
    *ring = (struct ring){ .fd = fd, .cpu = cpu, .page = page };
    state->ring_count++;
    if (epoll_ctl(state->epoll_fd, EPOLL_CTL_ADD, fd, &wanted) < 0)
        return ifg_fail_errno(err, "epoll_ctl");
    return IFG_OK;
}

static enum ifg_status prepare(struct perf_state *state, const struct uprobe_options *options,
                               struct ifg_error *err)
{
    long processors = sysconf(_SC_NPROCESSORS_CONF);
    enum ifg_status status = uprobe_pmu_type(&state->type, err);

    if (status)
        return status;
    if (processors < 1 || processors > PROCESSORS_MAX)
        return ifg_fail(err, IFG_UNSUPPORTED, "a machine with %ld processors", processors);
    state->page_bytes = (size_t)sysconf(_SC_PAGESIZE);
    state->ring_bytes = options->ring_bytes;
    while (state->ring_bytes > RING_LEAST &&
           state->ring_bytes > options->ring_bytes / (size_t)processors)
        state->ring_bytes /= 2;
    state->wake_bytes = options->wake_bytes;
    if (state->wake_bytes > state->ring_bytes / 2)
        state->wake_bytes = state->ring_bytes / 2;
    state->rings = ifg_alloc((size_t)processors, sizeof *state->rings);
    if (!state->rings)
        return ifg_fail_no_memory(err, NULL);
    state->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
    if (state->epoll_fd < 0)
        return ifg_fail_errno(err, "epoll_create1");
    for (int cpu = 0; cpu < (int)processors; cpu++) {
        status = open_ring(state, cpu, err);
        if (status && status != IFG_NOT_FOUND)
            return status;
    }
    return IFG_OK;
}

static enum ifg_status perf_open(const struct uprobe_options *options, void **out_state,
                                 struct ifg_error *err)
{
    struct perf_state *state = ifg_alloc(1, sizeof *state);
    enum ifg_status status;

    *out_state = NULL;
    if (!state)
        return ifg_fail_no_memory(err, NULL);
    state->epoll_fd = -1;
    status = prepare(state, options, err);
    if (status) {
        perf_close(state);
        return status;
    }
    *out_state = state;
    return IFG_OK;
}

static enum ifg_status add_watch(struct perf_state *state, pid_t pid,
                                 const struct uprobe_point *point, bool at_return,
                                 const struct ring *ring, struct ifg_error *err)
{
    struct perf_event_attr attributes = {
        .size = sizeof attributes,
        .type = (uint32_t)state->type,
        .config = at_return,
        .uprobe_path = (uintptr_t)point->path,
        .probe_offset = point->offset,
        .sample_period = 1,
        .sample_type = SAMPLE_CONTENTS | PERF_SAMPLE_REGS_USER,
        .sample_regs_user = PERF_REGISTER_MASK,
        .use_clockid = 1,
        .clockid = CLOCK_MONOTONIC,
        .watermark = state->wake_bytes > 0,
        .wakeup_events = state->wake_bytes > 0 ? (uint32_t)state->wake_bytes : 1,
        .disabled = 1,
    };
    struct watch *watch = &state->watches[state->watch_count];
    int fd = perf_event(&attributes, ring->cpu);
    char what[400];

    if (fd < 0) {
        snprintf(what, sizeof what, "cannot set a probe at %s+%#llx", point->file,
                 (unsigned long long)point->offset);
        return uprobe_refused(err, UPROBE_ATTACH, errno, what);
    }
    *watch = (struct watch){
        .cookie = point->cookie,
        .pid = pid,
        .at_return = at_return,
        .our_namespace = (pid != UPROBE_EVERYONE && process_shares(pid, "ns/pid")),
        .fd = fd,
    };
    state->watch_count++;
    if (ioctl(fd, PERF_EVENT_IOC_SET_OUTPUT, ring->fd) < 0 ||
        ioctl(fd, PERF_EVENT_IOC_ID, &watch->kernel_id) < 0)
        return ifg_fail_errno(err, "a perf event without a ring");
    return IFG_OK;
}

static enum ifg_status add_point(struct perf_state *state, pid_t pid,
                                 const struct uprobe_point *point, struct ifg_error *err)
{
    size_t first = state->watch_count;
    enum ifg_status status = IFG_OK;

    /* Returns are switched on before entries: what enters in between has no beginning. */
    if (point->cookie & COOKIE_RETURN)
        for (size_t i = 0; i < state->ring_count && !status; i++)
            status = add_watch(state, pid, point, true, &state->rings[i], err);
    for (size_t i = 0; i < state->ring_count && !status; i++)
        status = add_watch(state, pid, point, false, &state->rings[i], err);
    for (size_t i = first; i < state->watch_count && !status; i++)
        if (ioctl(state->watches[i].fd, PERF_EVENT_IOC_ENABLE, 0) < 0)
            status = ifg_fail_errno(err, "a perf event that cannot be switched on");
    return status;
}

static enum ifg_status perf_add(void *opaque, pid_t pid, const struct uprobe_point *points,
                                size_t count, struct ifg_error *err)
{
    struct perf_state *state = opaque;
    size_t before = state->watch_count;
    size_t more = count * 2 * state->ring_count;
    enum ifg_status status = IFG_OK;

    if (!IFG_ARRAY_ROOM(state->watches, state->watch_capacity, state->watch_count + more,
                        IFG_ARRAY_ANY))
        return ifg_fail_no_memory(err, NULL);
    state->stopped = false;
    for (size_t i = 0; i < count && !status; i++)
        status = add_point(state, pid, &points[i], err);
    while (status && state->watch_count > before)
        close(state->watches[--state->watch_count].fd);
    return status;
}

static void perf_remove(void *opaque, pid_t pid, bool all)
{
    struct perf_state *state = opaque;

    for (size_t i = 0; i < state->watch_count; i++) {
        struct watch *watch = &state->watches[i];
        uint64_t hits = 0;

        if (watch->fd < 0 || (!all && watch->pid != pid))
            continue;
        ioctl(watch->fd, PERF_EVENT_IOC_DISABLE, 0);
        if (read(watch->fd, &hits, sizeof hits) == (ssize_t)sizeof hits)
            state->hits += hits;
        close(watch->fd);
        watch->fd = -1;
    }
    state->stopped = all;
}

/* Without samples left to explain, closed events can be forgotten. */
static void forget_closed(struct perf_state *state)
{
    size_t kept = 0;

    if (state->sample_count)
        return;
    for (size_t i = 0; i < state->watch_count; i++)
        if (state->watches[i].fd >= 0)
            state->watches[kept++] = state->watches[i];
    state->watch_count = kept;
}

static void keep_sample(struct perf_state *state, const unsigned char *body, size_t size)
{
    uint64_t head[4 + PERF_REGISTERS]; /* id, pid and tid, time, form of the registers, registers */
    struct sample *sample;

    if (size < sizeof head)
        return; /* no registers: the thread was ending */
    memcpy(head, body, sizeof head);
    if (head[3] != PERF_SAMPLE_REGS_ABI_64)
        return;
    if (!IFG_ARRAY_ROOM(state->samples, state->sample_capacity, state->sample_count + 1,
                        SAMPLES_MOST)) {
        state->losses.ring_full++;
        return;
    }
    sample = &state->samples[state->sample_count++];
    sample->kernel_id = head[0];
    sample->pid = (pid_t)(uint32_t)head[1];
    sample->tid = (pid_t)(uint32_t)(head[1] >> 32);
    sample->time_ns = head[2];
    memcpy(sample->registers, head + 4, sizeof sample->registers);
}

static void drain_ring(struct perf_state *state, const struct ring *ring)
{
    const unsigned char *data = (const unsigned char *)ring->page + state->page_bytes;
    uint64_t head = __atomic_load_n(&ring->page->data_head, __ATOMIC_ACQUIRE);
    uint64_t tail = ring->page->data_tail;
    size_t mask = state->ring_bytes - 1;

    while (tail < head) {
        unsigned char bytes[RECORD_MOST];
        struct perf_event_header header;

        memcpy(&header, data + (tail & mask), sizeof header); /* never wraps: 8 bytes, aligned */
        if (header.size < sizeof header || header.size > head - tail)
            break;
        if (header.size <= sizeof bytes) {
            size_t first = state->ring_bytes - (size_t)(tail & mask);

            if (first > header.size)
                first = header.size;
            memcpy(bytes, data + (tail & mask), first);
            memcpy(bytes + first, data, header.size - first);
            if (header.type == PERF_RECORD_SAMPLE) {
                state->received++;
                keep_sample(state, bytes + sizeof header, header.size - sizeof header);
            }
            if (header.type == PERF_RECORD_LOST && header.size >= sizeof header + 16) {
                uint64_t lost;

                memcpy(&lost, bytes + sizeof header + 8, sizeof lost);
                state->losses.ring_full += lost;
            }
        }
        tail += header.size;
    }
    __atomic_store_n(&ring->page->data_tail, tail, __ATOMIC_RELEASE);
}

static int by_time(const void *a, const void *b)
{
    const struct sample *left = a;
    const struct sample *right = b;

    return (left->time_ns > right->time_ns) - (left->time_ns < right->time_ns);
}

static int by_kernel_id(const void *key, const void *element)
{
    const uint64_t *id = key;
    const struct watch *watch = element;

    return (*id > watch->kernel_id) - (*id < watch->kernel_id);
}

static size_t deliver(struct perf_state *state, const struct sample *sample, uprobe_seen *seen,
                      void *user)
{
    const struct watch *watch = bsearch(&sample->kernel_id, state->watches, state->watch_count,
                                        sizeof *watch, by_kernel_id);
    struct perf_hit hit;
    struct uprobe_event event;

    if (!watch || (watch->pid != UPROBE_EVERYONE && watch->pid != sample->pid))
        return 0;
    if (sample->time_ns < state->delivered_ns)
        state->losses.out_of_order++;
    else
        state->delivered_ns = sample->time_ns;
    hit = (struct perf_hit){
        .cookie = watch->cookie,
        .at_return = watch->at_return,
        .pid = sample->pid,
        .tid = sample->tid,
        .our_namespace = watch->our_namespace,
        .time_ns = sample->time_ns,
        .registers = sample->registers,
    };
    if (!perf_threads_hit(&state->threads, &hit, &state->losses, &event))
        return 0;
    seen(&event, user);
    return 1;
}

static size_t perf_read(void *opaque, uprobe_seen *seen, void *user)
{
    struct perf_state *state = opaque;
    uint64_t settled_ns = ifg_monotonic_ns() - HOLD_NS;
    size_t delivered = 0;
    size_t done = 0;

    if (state->stopped)
        settled_ns = UINT64_MAX;
    for (size_t i = 0; i < state->ring_count; i++)
        drain_ring(state, &state->rings[i]);
    /* The kernel tells of losses in the ring with the next sample; after the last there is none. */
    if (state->stopped && state->hits > state->received + state->losses.ring_full)
        state->losses.ring_full = state->hits - state->received;
    if (state->sample_count)
        qsort(state->samples, state->sample_count, sizeof *state->samples, by_time);
    while (done < state->sample_count && state->samples[done].time_ns <= settled_ns)
        delivered += deliver(state, &state->samples[done++], seen, user);
    state->sample_count -= done;
    if (done && state->sample_count)
        memmove(state->samples, state->samples + done,
                state->sample_count * sizeof *state->samples);
    forget_closed(state);
    return delivered;
}

static int perf_fd(const void *opaque)
{
    const struct perf_state *state = opaque;

    return state->epoll_fd;
}

static struct uprobe_losses perf_lost(const void *opaque)
{
    const struct perf_state *state = opaque;

    return state->losses;
}

const struct uprobe_backend uprobe_perf_backend = {
    .open = perf_open,
    .add = perf_add,
    .remove = perf_remove,
    .read = perf_read,
    .fd = perf_fd,
    .lost = perf_lost,
    .close = perf_close,
};
