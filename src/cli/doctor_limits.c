// SPDX-License-Identifier: Apache-2.0
/* Limits of the kernel on what sampling takes: memory of rings, open files, samples a second. */
#include <errno.h>
#include <fcntl.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/small_file.h"
#include "cli/cli.h"
#include "cli/doctor.h"

#define RING_BYTES   ((size_t)512 << 10)
#define CPUS_MAX     4096
#define THREADS      128u /* that a process may well have when we attach to it */
#define EVENTS       2u   /* for each of them on each CPU */
#define SPARE_FILES  64u
#define WANTED_FILES 65536u
#define OUR_RATE     1999u /* the highest that we ever ask for */

static long cpus(void)
{
    long count = sysconf(_SC_NPROCESSORS_CONF);

    return count < 1 ? 1 : count > CPUS_MAX ? CPUS_MAX : count;
}

/* ---- rings ---- */

struct piece {
    int fd;
    void *memory;
};

/* A ring on a CPU as the sampler makes it: 0, or errno. A CPU that is not there has none. */
static int map_ring(int cpu, struct piece *out, bool *out_opened)
{
    struct perf_event_attr attr = {
        .size = sizeof attr,
        .type = PERF_TYPE_SOFTWARE,
        .config = PERF_COUNT_SW_DUMMY,
        .disabled = 1,
        .exclude_kernel = 1,
        .exclude_hv = 1,
    };

    *out = (struct piece){ -1, MAP_FAILED };
    out->fd = (int)syscall(SYS_perf_event_open, &attr, 0, cpu, -1, PERF_FLAG_FD_CLOEXEC);
    *out_opened = out->fd >= 0;
    if (out->fd < 0)
        return errno == ENODEV || errno == EINVAL ? 0 : errno;
    out->memory = mmap(NULL, RING_BYTES + (size_t)sysconf(_SC_PAGESIZE), PROT_READ | PROT_WRITE,
                       MAP_SHARED, out->fd, 0);
    return out->memory == MAP_FAILED ? errno : 0;
}

void doctor_ring_memory(struct doctor_finding *out)
{
    struct piece *pieces = ifg_alloc((size_t)cpus(), sizeof *pieces);
    long done = 0;
    long rings = 0;
    bool opened = true;
    int error = pieces ? 0 : ENOMEM;

    for (; !error && done < cpus(); done++) {
        error = map_ring((int)done, &pieces[done], &opened);
        rings += !error && opened;
    }
    if (!error)
        doctor_say(out, DOCTOR_WORKS, "512 KiB on each of %ld CPU%s", rings, rings == 1 ? "" : "s");
    else if (!opened)
        doctor_perf_refused(out, PERF_ERROR_SAMPLES, error);
    else
        doctor_perf_refused(out, PERF_ERROR_RING, error);
    for (long i = 0; i < done; i++) {
        if (pieces[i].memory != MAP_FAILED)
            munmap(pieces[i].memory, RING_BYTES + (size_t)sysconf(_SC_PAGESIZE));
        if (pieces[i].fd >= 0)
            close(pieces[i].fd);
    }
    ifg_free(pieces);
}

/* ---- files ---- */

/* Whether so many may be open, if the limit is raised as far as we may: as the sampler does. */
static bool may_open(unsigned count, struct rlimit *out_limit)
{
    struct rlimit raised;
    int fd;

    if (getrlimit(RLIMIT_NOFILE, out_limit) < 0)
        return false;
    raised = (struct rlimit){ out_limit->rlim_max, out_limit->rlim_max };
    setrlimit(RLIMIT_NOFILE, &raised);
    fd = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, (int)count - 1);
    if (fd >= 0)
        close(fd);
    setrlimit(RLIMIT_NOFILE, out_limit);
    return fd >= 0;
}

void doctor_descriptors(struct doctor_finding *out)
{
    unsigned needed = THREADS * EVENTS * (unsigned)cpus() + SPARE_FILES;
    unsigned wanted = needed > WANTED_FILES ? needed : WANTED_FILES;
    struct rlimit limit = { 0, 0 };
    unsigned long long most;
    unsigned long long threads;
    char files[32];
    char number[32];
    bool enough = may_open(needed, &limit);

    most = (unsigned long long)limit.rlim_max;
    threads = most > SPARE_FILES ? (most - SPARE_FILES) / (EVENTS * (unsigned)cpus()) : 0;
    if (limit.rlim_max == RLIM_INFINITY)
        snprintf(files, sizeof files, "any number");
    else
        cli_count(most, files);
    if (enough) {
        doctor_say(out, DOCTOR_WORKS, "%s, enough to attach to a process of %s threads", files,
                   limit.rlim_max == RLIM_INFINITY ? "many" : cli_count(threads, number));
        return;
    }
    doctor_say(out, DOCTOR_NO,
               "%s may be open, so at most %s threads of a process can be sampled when attaching "
               "(launched ones need no more than %u)",
               files, cli_count(threads, number), EVENTS * (unsigned)cpus());
    doctor_fix(out, "sudo prlimit --pid $$ --nofile=%u:%u", wanted, wanted);
}

/* ---- rate ---- */

void doctor_sample_rate(struct doctor_finding *out)
{
    struct perf_event_attr attr = {
        .size = sizeof attr,
        .type = PERF_TYPE_SOFTWARE,
        .config = PERF_COUNT_SW_CPU_CLOCK,
        .disabled = 1,
        .exclude_kernel = 1,
        .exclude_hv = 1,
        .freq = 1,
        .sample_freq = OUR_RATE,
    };
    struct perf_error_facts facts;
    char number[32];
    int fd = (int)syscall(SYS_perf_event_open, &attr, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);
    int error = errno;

    perf_error_read_facts(&facts);
    if (fd >= 0)
        close(fd);
    if (fd < 0) {
        doctor_perf_refused(out, PERF_ERROR_SAMPLES, error);
    } else if (facts.cpu_percent == 0 || facts.cpu_percent >= 100) {
        doctor_say(out, DOCTOR_WORKS, "up to %s Hz", cli_count(facts.sample_rate, number));
    } else {
        doctor_say(out, DOCTOR_WORKS,
                   "up to %s Hz, fewer when samples take more than %llu %% of a CPU",
                   cli_count(facts.sample_rate, number), (unsigned long long)facts.cpu_percent);
    }
}
