// SPDX-License-Identifier: Apache-2.0
/* The kernel's performance events: opened on this very process, and seen to deliver. */
#include <errno.h>
#include <fcntl.h>
#include <linux/perf_event.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/ticks.h"
#include "cli/doctor.h"

#define PAGES     9u /* one with the positions, eight with records */
#define WORK_NS   40000000ull
#define SAMPLE_HZ 1000u

struct trial {
    int fd;
    struct perf_event_mmap_page *page;
    size_t bytes;
};

static int paranoid(void)
{
    char text[16] = "";
    FILE *file = fopen("/proc/sys/kernel/perf_event_paranoid", "re");

    if (file && !fgets(text, sizeof text, file))
        text[0] = '\0';
    if (file)
        fclose(file);
    return (int)strtol(text, NULL, 10);
}

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

enum work { WORK_HERE, WORK_KERNEL, WORK_SLEEP };

static void work(uint64_t duration_ns, enum work kind)
{
    static char zeros[1u << 16];
    uint64_t end_ns = ifg_monotonic_ns() + duration_ns;
    const struct timespec moment = { 0, 1000000 };
    int fd = kind == WORK_KERNEL ? open("/dev/zero", O_RDONLY | O_CLOEXEC) : -1;

    while (ifg_monotonic_ns() < end_ns) {
        if (kind == WORK_SLEEP)
            nanosleep(&moment, NULL);
        if (kind == WORK_KERNEL && read(fd, zeros, sizeof zeros) < 0)
            break;
    }
    if (fd >= 0)
        close(fd);
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

static void refused(struct doctor_finding *out, const char *what, int wanted_level)
{
    int level = paranoid();

    if (errno == ENOSYS) {
        doctor_say(out, DOCTOR_NO,
                   "this kernel does not have perf_event_open, or a filter hides it");
    } else if ((errno == EACCES || errno == EPERM) && level > wanted_level) {
        doctor_say(out, DOCTOR_NO, "%s: perf_event_paranoid is %d", what, level);
        doctor_fix(out, "sudo sysctl kernel.perf_event_paranoid=%d", wanted_level);
    } else if (errno == EACCES || errno == EPERM) {
        doctor_say(out, DOCTOR_NO,
                   "%s: refused although perf_event_paranoid is %d; a filter (as containers have "
                   "one) or a security module forbids it",
                   what, level);
    } else {
        doctor_say(out, DOCTOR_NO, "%s: %s", what, strerror(errno));
    }
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
    unsigned samples;
    unsigned kernel;

    if (!sample(false, &samples, &kernel))
        refused(out, "call stacks cannot be sampled", 2);
    else if (!samples)
        doctor_say(out, DOCTOR_NO, "the event was opened, and no sample came");
    else
        doctor_say(out, DOCTOR_WORKS, "cpu-clock, %u samples in %u ms", samples,
                   (unsigned)(WORK_NS / 1000000));
}

void doctor_kernel_frames(struct doctor_finding *out)
{
    unsigned samples;
    unsigned kernel;
    int why;

    if (!sample(true, &samples, &kernel)) {
        why = errno;
        if (!sample(false, &samples, &kernel)) {
            doctor_say(out, DOCTOR_NO, "nothing can be sampled, see above");
        } else {
            errno = why;
            refused(out, "the kernel is not shown", 1);
        }
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
        refused(out, "context switches are not told", 2);
        return;
    }
    ioctl(trial.fd, PERF_EVENT_IOC_ENABLE, 0);
    work(WORK_NS / 4, WORK_SLEEP);
    ioctl(trial.fd, PERF_EVENT_IOC_DISABLE, 0);
    count = trial_count(&trial, PERF_RECORD_SWITCH, 0, &ignored);
    trial_close(&trial);
    if (count)
        doctor_say(out, DOCTOR_WORKS, "%s", "of our own threads");
    else
        doctor_say(out, DOCTOR_NO, "the event was opened, and no switch was told");
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
            doctor_say(out, DOCTOR_ABSENT, "no hardware counters (usual in a virtual machine)");
        else
            refused(out, "cycles are not counted", 2);
        return;
    }
    ioctl(trial.fd, PERF_EVENT_IOC_ENABLE, 0);
    work(WORK_NS / 20, WORK_HERE);
    got = read(trial.fd, &cycles, sizeof cycles) == sizeof cycles && cycles;
    trial_close(&trial);
    if (got)
        doctor_say(out, DOCTOR_WORKS, "%s", "cycles");
    else
        doctor_say(out, DOCTOR_ABSENT, "the counter of cycles stands still (a virtual machine?)");
}
