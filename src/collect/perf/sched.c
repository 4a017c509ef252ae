// SPDX-License-Identifier: Apache-2.0
/* The tracepoints of the scheduler on all CPUs, and what their records say of a thread. */
#include "collect/perf/sched_internal.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/bytes.h"
#include "collect/perf/perf_errors.h"
#include "collect/perf/ring.h"
#include "system/process_folder.h"
#include "system/rights.h"

#define RING_BYTES ((size_t)256 << 10) /* 3,600 wakeups */
#define CPUS_MAX   4096

/* Of common_flags: the wakeup came from an interrupt, and the thread that it hit is no waker. */
#define FLAG_HARD_INTERRUPT 0x08
#define FLAG_SOFT_INTERRUPT 0x10
#define STATE_DISK          2 /* "D" */

struct sched {
    struct sched_layout layout;
    struct ring *rings; /* one per CPU */
    size_t ring_count;
    int *events; /* two for each CPU; -1: none */
    uint64_t lost;
};

/* ---- records ---- */

/* The part of a sample before its raw bytes; of other records it stands at their end. */
struct sched_id {
    uint32_t pid, tid;
    uint64_t time_ns;
    uint32_t cpu, unused;
};

static bool id_of(const struct perf_event_header *record, struct sched_id *out)
{
    const uint8_t *at = (const uint8_t *)(record + 1);

    if (record->size < sizeof *record + sizeof *out)
        return false;
    if (record->type != PERF_RECORD_SAMPLE)
        at = (const uint8_t *)record + record->size - sizeof *out;
    memcpy(out, at, sizeof *out);
    return true;
}

uint64_t sched_record_time(const struct perf_event_header *record)
{
    struct sched_id id;

    return id_of(record, &id) ? id.time_ns : 0;
}

/* 0: the value is no thread's number. */
static uint32_t as_tid(int64_t value)
{
    return value > 0 && value <= INT32_MAX ? (uint32_t)value : 0;
}

static bool understand_waking(const struct sched_layout *layout, const struct sched_id *id,
                              const uint8_t *raw, size_t size, struct sched_change *out)
{
    int64_t flags = tracepoint_value(&layout->waking[WAKING_FLAGS], raw, size, 0);
    int64_t cpu = tracepoint_value(&layout->waking[WAKING_CPU], raw, size, id->cpu);

    out->tid = as_tid(tracepoint_value(&layout->waking[WAKING_PID], raw, size, 0));
    out->cpu = cpu >= 0 && cpu < CPUS_MAX ? (uint32_t)cpu : id->cpu;
    if (!(flags & (FLAG_HARD_INTERRUPT | FLAG_SOFT_INTERRUPT))) {
        out->waker_pid = as_tid((int32_t)id->pid);
        out->waker_tid = as_tid((int32_t)id->tid);
    }
    return out->tid != 0;
}

static bool understand_leaving(const struct sched_layout *layout, const struct sched_id *id,
                               const uint8_t *raw, size_t size, struct sched_change *out)
{
    out->tid = as_tid(tracepoint_value(&layout->leaving[SWITCH_PID], raw, size, 0));
    out->cpu = id->cpu;
    out->disk = true;
    return out->tid && tracepoint_value(&layout->leaving[SWITCH_STATE], raw, size, 0) == STATE_DISK;
}

bool sched_understand(const struct sched_layout *layout, const struct perf_event_header *record,
                      struct sched_change *out, uint64_t *lost)
{
    const uint8_t *body = (const uint8_t *)(record + 1);
    size_t left = record->size - sizeof *record;
    struct sched_id id;
    uint64_t count;
    uint32_t size;
    uint16_t type;

    memset(out, 0, sizeof *out);
    if (record->type == PERF_RECORD_LOST && left >= 16) {
        memcpy(&count, body + 8, sizeof count);
        *lost += count;
    }
    if (record->type != PERF_RECORD_SAMPLE || !id_of(record, &id) || left < sizeof id + 4)
        return false;
    body += sizeof id;
    left -= sizeof id + sizeof size;
    memcpy(&size, body, sizeof size);
    body += sizeof size;
    if (size > left || size < sizeof type)
        return false;
    memcpy(&type, body, sizeof type); /* every record of a tracepoint begins with its number */
    out->time_ns = id.time_ns;
    if (type == layout->waking_id)
        return understand_waking(layout, &id, body, size, out);
    return type == layout->switch_id && understand_leaving(layout, &id, body, size, out);
}

/* ---- opening ---- */

/* Newer kernels tell at the moment of waking; older ones when the thread is on a run queue. */
static enum ifg_status read_layout(struct sched_layout *layout, struct ifg_error *err)
{
    static const char *const waking[WAKING_FIELDS] = { "common_flags", "pid", "target_cpu" };
    static const char *const leaving[SWITCH_FIELDS] = { "prev_pid", "prev_state" };
    enum ifg_status status;

    status = tracepoint_read("sched/sched_waking", waking, WAKING_FIELDS, layout->waking,
                             &layout->waking_id, err);
    if (status && tracepoint_read("sched/sched_wakeup", waking, WAKING_FIELDS, layout->waking,
                                  &layout->waking_id, NULL) == IFG_OK)
        status = IFG_OK;
    if (!status && !layout->waking[WAKING_PID].size)
        status = ifg_fail(err, IFG_UNSUPPORTED, "wakeups do not say who is woken on this kernel");
    if (!status && (tracepoint_read("sched/sched_switch", leaving, SWITCH_FIELDS, layout->leaving,
                                    &layout->switch_id, NULL) ||
                    !layout->leaving[SWITCH_PID].size || !layout->leaving[SWITCH_STATE].size))
        layout->switch_id = 0;
    return status;
}

static int open_event(uint64_t id, int cpu)
{
    struct perf_event_attr attr = {
        .size = sizeof attr,
        .type = PERF_TYPE_TRACEPOINT,
        .config = id,
        .sample_period = 1,
        .sample_type = SCHED_SAMPLE_TYPE,
        .sample_id_all = 1,
        .use_clockid = 1,
        .clockid = CLOCK_MONOTONIC,
        .disabled = 1,
        .watermark = 1,
        .wakeup_watermark = RING_BYTES / 2,
    };

    int fd;

    rights_raise(); /* for all threads of the machine: whose they are is asked in profile.c */
    fd = (int)syscall(SYS_perf_event_open, &attr, -1, cpu, -1, PERF_FLAG_FD_CLOEXEC);
    rights_lower();
    return fd;
}

/* Of all switches the kernel hands out only those into a disk wait: the rest is known. */
static void add_leaving(struct sched *sched, size_t cpu)
{
    int fd = sched->layout.switch_id ? open_event(sched->layout.switch_id, (int)cpu) : -1;

    if (fd >= 0 && (ioctl(fd, PERF_EVENT_IOC_SET_FILTER, "prev_state == 2") ||
                    ioctl(fd, PERF_EVENT_IOC_SET_OUTPUT, sched->rings[cpu].fd))) {
        close(fd);
        fd = -1;
    }
    sched->events[2 * cpu + 1] = fd;
    if (fd < 0)
        sched->layout.switch_id = 0;
}

static enum ifg_status add_cpu(struct sched *sched, size_t cpu, struct ifg_error *err)
{
    int fd = open_event(sched->layout.waking_id, (int)cpu);
    char why[sizeof err->message];
    int error = errno;

    if (fd < 0 && (error == ENODEV || error == EINVAL))
        return IFG_OK; /* this CPU is not there */
    if (fd < 0) {
        perf_error_line(PERF_ERROR_WAKERS, error, 0, why, sizeof why);
        return ifg_fail(err, error == EACCES || error == EPERM ? IFG_PERMISSION : IFG_UNSUPPORTED,
                        "%s", why);
    }
    sched->events[2 * cpu] = fd;
    if (ring_map(&sched->rings[cpu], fd, RING_BYTES, NULL)) {
        perf_error_line(PERF_ERROR_RING, errno, 0, why, sizeof why);
        return ifg_fail(err, IFG_PERMISSION, "%s", why);
    }
    add_leaving(sched, cpu);
    return IFG_OK;
}

/* Threads have other numbers inside a PID namespace, and the tracepoint tells those outside. */
static bool is_inside_namespace(void)
{
    char link[64];

    return process_link(PROCESS_SELF, "ns/pid", link, sizeof link) &&
           strcmp(link, "pid:[4026531836]") != 0;
}

static enum ifg_status open_all(struct sched *sched, struct ifg_error *err)
{
    long cpus = sysconf(_SC_NPROCESSORS_CONF);
    enum ifg_status status = read_layout(&sched->layout, err);

    if (status)
        return status;
    if (is_inside_namespace())
        return ifg_fail(err, IFG_UNSUPPORTED,
                        "threads have other numbers in this PID namespace than the scheduler "
                        "tells; run it outside of the container");
    cpus = cpus < 1 ? 1 : cpus > CPUS_MAX ? CPUS_MAX : cpus;
    sched->rings = ifg_alloc((size_t)cpus, sizeof *sched->rings);
    sched->events = ifg_alloc(2 * (size_t)cpus, sizeof *sched->events);
    if (!sched->rings || !sched->events)
        return ifg_fail_no_memory(err, "for the rings of wakeups");
    sched->ring_count = (size_t)cpus;
    for (size_t i = 0; i < 2 * sched->ring_count; i++)
        sched->events[i] = -1;
    for (size_t cpu = 0; cpu < sched->ring_count && !status; cpu++)
        status = add_cpu(sched, cpu, err);
    for (size_t i = 0; i < 2 * sched->ring_count && !status; i++)
        if (sched->events[i] >= 0)
            ioctl(sched->events[i], PERF_EVENT_IOC_ENABLE, 0);
    return status;
}

enum ifg_status sched_open(struct sched **out_sched, struct ifg_error *err)
{
    struct sched *sched = ifg_alloc(1, sizeof *sched);
    enum ifg_status status;

    *out_sched = NULL;
    if (!sched)
        return ifg_fail_no_memory(err, "for wakeups");
    status = open_all(sched, err);
    if (status)
        sched_close(sched);
    else
        *out_sched = sched;
    return status;
}

bool sched_has_disk(const struct sched *sched)
{
    return sched->layout.switch_id != 0;
}

/* ---- reading ---- */

void sched_read(struct sched *sched, uint64_t before_ns, const struct sched_events *events)
{
    struct ring *ring;

    for (size_t i = 0; i < sched->ring_count; i++)
        if (sched->rings[i].page && !ring_copy(&sched->rings[i]))
            sched->lost++;
    while ((ring = ring_oldest(sched->rings, sched->ring_count, before_ns, sched_record_time))) {
        struct sched_change change;

        if (sched_understand(&sched->layout, ring_peek(ring), &change, &sched->lost))
            events->changed(&change, events->user);
        ring_next(ring);
    }
}

uint64_t sched_lost(const struct sched *sched)
{
    return sched->lost;
}

void sched_close(struct sched *sched)
{
    if (!sched)
        return;
    for (size_t i = 0; i < sched->ring_count; i++)
        if (sched->rings[i].page)
            ring_unmap(&sched->rings[i]);
    for (size_t i = 0; i < 2 * sched->ring_count; i++)
        if (sched->events[i] >= 0)
            close(sched->events[i]);
    ifg_free(sched->events);
    ifg_free(sched->rings);
    ifg_free(sched);
}
