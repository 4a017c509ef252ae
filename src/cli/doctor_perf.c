// SPDX-License-Identifier: Apache-2.0
/* The kernel's performance events: opened on this very process, and seen to deliver. */
#include <errno.h>
#include <fcntl.h>
#include <linux/perf_event.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/ticks.h"
#include "bench/machine/trust.h"
#include "cli/doctor.h"
#include "collect/perf/calibrate.h"
#include "collect/perf/sched.h"

#define PAGES       9u /* one with the positions, eight with records */
#define WORK_NS     40000000ull
#define SAMPLE_HZ   1000u
#define NAPS        5u
#define PATIENCE_NS 400000000ull

struct trial {
    int fd;
    struct perf_event_mmap_page *page;
    size_t bytes;
};

/* False, with errno. */
static bool trial_open(struct perf_event_attr *attr, struct trial *out)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    int saved_errno;

    *out = (struct trial){ .fd = -1, .bytes = PAGES * page };
    attr->size = sizeof *attr;
    attr->disabled = 1;
    out->fd = (int)syscall(SYS_perf_event_open, attr, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);
    if (out->fd < 0)
        return false;
    out->page = mmap(NULL, out->bytes, PROT_READ | PROT_WRITE, MAP_SHARED, out->fd, 0);
    if (out->page == MAP_FAILED) {
        saved_errno = errno;
        close(out->fd);
        errno = saved_errno;
        return false;
    }
    return true;
}

enum work { WORK_HERE, WORK_KERNEL };

/* Asking for our own time is a system call: without much else between two of them, samples of the
 * program alone would mostly fall where they are not taken. */
static void count_up(void)
{
    for (volatile unsigned i = 0; i < 100000; i++)
        continue;
}

/* For so long of our own time, not of a busy machine's. */
static void work(uint64_t duration_ns, enum work kind)
{
    static char zeros[1u << 16];
    uint64_t begin_ns = ifg_thread_cpu_ns();
    uint64_t give_up_ns = ifg_monotonic_ns() + PATIENCE_NS;
    int fd = kind == WORK_KERNEL ? open("/dev/zero", O_RDONLY | O_CLOEXEC) : -1;

    while (ifg_thread_cpu_ns() - begin_ns < duration_ns && ifg_monotonic_ns() < give_up_ns) {
        if (kind == WORK_HERE)
            count_up();
        else if (read(fd, zeros, sizeof zeros) < 0)
            break;
    }
    if (fd >= 0)
        close(fd);
}

static void nap(void)
{
    const struct timespec moment = { 0, 1000000 };

    for (unsigned i = 0; i < NAPS; i++)
        nanosleep(&moment, NULL);
}

/* How many records of a type came, and of those of samples how many were in the kernel. */
static unsigned trial_count(const struct trial *trial, uint32_t type, uint16_t misc,
                            unsigned *out_with_misc)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    size_t size = trial->bytes - page;
    const uint8_t *data = (const uint8_t *)trial->page + page;
    uint64_t head = __atomic_load_n(&trial->page->data_head, __ATOMIC_ACQUIRE);
    unsigned count = 0;

    *out_with_misc = 0;
    for (uint64_t at = 0; at + sizeof(struct perf_event_header) <= head;) {
        struct perf_event_header record;

        memcpy(&record, data + at % size, sizeof record); /* eight bytes, aligned: never torn */
        if (record.size < sizeof record)
            break;
        if (record.type == type) {
            count++;
            *out_with_misc += (record.misc & PERF_RECORD_MISC_CPUMODE_MASK) == misc;
        }
        at += record.size;
    }
    return count;
}

static void trial_close(struct trial *trial)
{
    munmap(trial->page, trial->bytes);
    close(trial->fd);
}

void doctor_perf_refused(struct doctor_finding *out, enum perf_error_wish wish, int error)
{
    struct perf_error_facts facts;
    struct perf_error refusal;

    perf_error_read_facts(&facts);
    perf_error_explain(wish, error, 0, &facts, &refusal);
    doctor_say(out, DOCTOR_NO, "%s", refusal.reason);
    doctor_fix(out, "%s", refusal.fix);
}

static bool sample(bool kernel_too, unsigned *out_samples, unsigned *out_kernel)
{
    struct perf_event_attr attr = {
        .type = PERF_TYPE_SOFTWARE,
        .config = PERF_COUNT_SW_CPU_CLOCK,
        .sample_freq = SAMPLE_HZ,
        .freq = 1,
        .sample_type = PERF_SAMPLE_IP | PERF_SAMPLE_TID,
        .exclude_kernel = !kernel_too,
        .exclude_hv = 1,
    };
    struct trial trial;

    if (!trial_open(&attr, &trial))
        return false;
    ioctl(trial.fd, PERF_EVENT_IOC_ENABLE, 0);
    work(WORK_NS, kernel_too ? WORK_KERNEL : WORK_HERE);
    ioctl(trial.fd, PERF_EVENT_IOC_DISABLE, 0);
    *out_samples = trial_count(&trial, PERF_RECORD_SAMPLE, PERF_RECORD_MISC_KERNEL, out_kernel);
    trial_close(&trial);
    return true;
}

void doctor_sampling(struct doctor_finding *out)
{
    const struct calibrate_options options = { .milliseconds = 0 };
    struct calibrate_result result;
    struct ifg_error err = { .message = "" };
    unsigned samples;
    unsigned kernel;
    enum ifg_status status;

    if (!sample(false, &samples, &kernel)) {
        doctor_perf_refused(out, PERF_ERROR_SAMPLES, errno);
    } else if (!samples) {
        doctor_say(out, DOCTOR_NO, "the event was opened, and no sample came");
    } else if ((status = calibrate_cost(&options, &result, &err)) == IFG_UNSUPPORTED) {
        doctor_say(out, DOCTOR_WORKS,
                   "%u samples in %u ms; what one costs was not measured: %.300s", samples,
                   (unsigned)(WORK_NS / 1000000), err.message);
    } else if (status) {
        doctor_refused(out, err.message);
    } else {
        doctor_say(out, DOCTOR_WORKS, "%s, %.1f µs per sample here, so 1 %% allows %u Hz",
                   result.clock, result.sample_us, calibrate_rate(result.sample_us, 1));
    }
}

void doctor_kernel_frames(struct doctor_finding *out)
{
    unsigned samples;
    unsigned kernel;
    int why;

    if (!sample(true, &samples, &kernel)) {
        why = errno;
        if (!sample(false, &samples, &kernel))
            doctor_perf_refused(out, PERF_ERROR_SAMPLES, errno); /* it is not about the kernel */
        else
            doctor_perf_refused(out, PERF_ERROR_KERNEL, why);
    } else if (!kernel) {
        doctor_say(out, DOCTOR_NO, "the event was opened, and no sample was in the kernel");
    } else {
        doctor_say(out, DOCTOR_WORKS, "%u of %u samples were there", kernel, samples);
    }
}

void doctor_switches(struct doctor_finding *out)
{
    struct perf_event_attr attr = {
        .type = PERF_TYPE_SOFTWARE,
        .config = PERF_COUNT_SW_DUMMY,
        .context_switch = 1,
        .exclude_kernel = 1,
        .exclude_hv = 1,
    };
    struct trial trial;
    unsigned count;
    unsigned ignored;

    if (!trial_open(&attr, &trial)) {
        doctor_perf_refused(out, PERF_ERROR_SAMPLES, errno);
        return;
    }
    ioctl(trial.fd, PERF_EVENT_IOC_ENABLE, 0);
    nap();
    ioctl(trial.fd, PERF_EVENT_IOC_DISABLE, 0);
    count = trial_count(&trial, PERF_RECORD_SWITCH, 0, &ignored);
    trial_close(&trial);
    if (count)
        doctor_say(out, DOCTOR_WORKS, "%u when going to sleep %u times", count, NAPS);
    else
        doctor_say(out, DOCTOR_NO, "the event was opened, but reported no switch");
}

/* ---- wakers ---- */

struct wakes {
    uint32_t tid;
    uint32_t waker;
    unsigned count;
};

static void count_wake(const struct sched_change *change, void *user)
{
    struct wakes *wakes = user;

    wakes->count += !change->disk && change->tid == wakes->tid && change->waker_pid == wakes->waker;
}

/* Waits for a child that wakes us some times. Timers do not count: an interrupt has no name, and on
 * idle CPUs the kernel does not tell of what they wake. */
static uint32_t be_woken(void)
{
    const struct timespec moment = { 0, 1000000 };
    int ends[2];
    char byte = 0;
    pid_t child;

    if (pipe2(ends, O_CLOEXEC) < 0)
        return 0;
    child = fork();
    if (child == 0) {
        for (unsigned i = 0; i < NAPS; i++) {
            nanosleep(&moment, NULL);
            if (write(ends[1], &byte, 1) < 0)
                break;
        }
        _exit(0);
    }
    close(ends[1]);
    while (child > 0 && read(ends[0], &byte, 1) == 1)
        continue;
    close(ends[0]);
    if (child > 0)
        waitpid(child, NULL, 0);
    return child > 0 ? (uint32_t)child : 0;
}

void doctor_wakers(struct doctor_finding *out)
{
    struct wakes wakes = { .tid = (uint32_t)getpid(), .count = 0 };
    const struct sched_events events = { .changed = count_wake, .user = &wakes };
    struct ifg_error err = { .message = "" };
    struct sched *sched;

    if (sched_open(&sched, &err)) {
        doctor_refused(out, err.message);
        return;
    }
    wakes.waker = be_woken();
    sched_read(sched, UINT64_MAX, &events);
    if (wakes.count)
        doctor_say(out, DOCTOR_WORKS, "%s",
                   sched_has_disk(sched) ? "and waits for disks" : "but not waits for disks");
    else
        doctor_say(out, DOCTOR_NO, "the events were opened, but reported no wakeup");
    sched_close(sched);
}

/* ---- counters ---- */

static bool is_guest(void)
{
    struct host_facts host;

    host_read(&host_system, &host);
    return host.hypervisor[0] != '\0';
}

void doctor_counters(struct doctor_finding *out)
{
    struct perf_event_attr attr = {
        .type = PERF_TYPE_HARDWARE,
        .config = PERF_COUNT_HW_CPU_CYCLES,
        .exclude_kernel = 1,
        .exclude_hv = 1,
    };
    uint64_t cycles = 0;
    struct trial trial;
    bool got;

    if (!trial_open(&attr, &trial)) {
        if (errno == ENOENT || errno == EOPNOTSUPP || errno == ENODEV)
            doctor_say(out, DOCTOR_ABSENT, "no hardware PMU%s; time is sampled instead of cycles",
                       is_guest() ? " in this virtual machine" : "");
        else
            doctor_perf_refused(out, PERF_ERROR_COUNTERS, errno);
        return;
    }
    ioctl(trial.fd, PERF_EVENT_IOC_ENABLE, 0);
    work(WORK_NS / 20, WORK_HERE);
    got = read(trial.fd, &cycles, sizeof cycles) == sizeof cycles && cycles;
    trial_close(&trial);
    if (got)
        doctor_say(out, DOCTOR_WORKS, "%s", "cycles");
    else
        doctor_say(out, DOCTOR_ABSENT,
                   "the counter of cycles stands still%s; time is sampled instead",
                   is_guest() ? " in this virtual machine" : "");
}
