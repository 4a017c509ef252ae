// SPDX-License-Identifier: Apache-2.0
/*
 * What the machine and the recorded processes use, as the system tells it: CPUs, memory, pressure,
 * frequency, limits, GPUs and NPUs. One look gives values by name; times are the caller's.
 *
 * Every source has its own pace: what is expensive (all processes, the pages of one) is sampled
 * rarely, and the more it costs the more rarely. What is not there is said in words.
 *
 * One thread at a time may use a collector; only proc_look_devices may go on while another calls
 * the rest, because a driver may take its time.
 */
#ifndef IFG_COLLECT_PROC_PROC_H
#define IFG_COLLECT_PROC_PROC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "system/host.h"

#define PROC_NAME_BYTES    48u
#define PROC_COMM_BYTES    16u  /* of the kernel's names */
#define PROC_PROCESSES_MAX 128u /* that are looked at */

/* Gets every value. pid 0 is the machine. Names say their unit: "cpu total %", "rss bytes". */
struct proc_sink {
    void (*value)(void *user, uint32_t pid, const char *name, double value);
    void *user;
    /* The values that follow are of now: what came before took its time. May be NULL. */
    void (*begin)(void *user);
};

struct proc_collector;

/* NULL: no memory. */
struct proc_collector *proc_open(const struct host_roots *roots, uint64_t now_ns);
void proc_close(struct proc_collector *collector); /* accepts NULL */

/* Leaves GPUs and NPUs out from now on, and says so. Before the first look. */
void proc_leave_out_devices(struct proc_collector *collector);

/* Who is recorded now; those that are not named any more are forgotten. */
void proc_follow(struct proc_collector *collector, const pid_t *pids, size_t count);

/* One look at everything but NVIDIA's devices. last: what is looked at rarely as well. */
void proc_look(struct proc_collector *collector, uint64_t now_ns, bool last,
               const struct proc_sink *sink);

/* What a process that has just ended used in the end: its memory is gone, its numbers are not. */
void proc_look_ended(struct proc_collector *collector, pid_t pid, uint64_t now_ns,
                     const struct proc_sink *sink);

/* NVIDIA's devices, and what the processes in the list use of them; energy of processors and
 * sensors (hwmon). Loads the library when it is called first. Takes milliseconds. */
void proc_look_devices(struct proc_collector *collector, const pid_t *pids, size_t count,
                       uint64_t now_ns, bool last, const struct proc_sink *sink);

/* Whether another such look is worth anything. */
bool proc_has_devices(const struct proc_collector *collector);

/*
 * What the machine takes now, while nothing that is to be measured runs: sleeps so long, and gives
 * for everything that counts energy or tells power "NAME idle W", "NAME idle low W", "NAME idle
 * high W" (the range within that time), "NAME idle fell" (1: power came down at first, and the
 * values are of what came then; 2: it still did at the end), "NAME idle clock MHz" at the end where
 * it has one, and "idle s". Before the first look. False: nothing does.
 */
bool proc_measure_idle(struct proc_collector *collector, double seconds,
                       const struct proc_sink *sink);

/* What there is of a kind, in a few words ("NVIDIA H200"; "no driver"). proc_look_devices must have
 * been called for GPUs. */
const char *proc_gpu_words(const struct proc_collector *collector);
const char *proc_npu_words(const struct proc_collector *collector);

/* The devices one by one, for a list of them. */
#define PROC_DEVICE_INFOS 24u

struct proc_device_info {
    const char *kind; /* "gpu", "npu" */
    unsigned number;  /* as in the names of values: "gpu 0 busy %" */
    char name[96];    /* of the model where it is told; else of the driver */
    char driver[32];
    bool is_mig;
    /* What it can do at most; "" and 0 where that is not told. */
    char id[96];               /* "GPU-..." */
    char capability[16];       /* "9.0" */
    unsigned cores;            /* of CUDA */
    unsigned clock_mhz;        /* the highest */
    unsigned memory_clock_mhz; /* the same */
    unsigned memory_bus_bits;
};
/* Returns how many; proc_look_devices must have been called for NVIDIA's. */
size_t proc_list_devices(const struct proc_collector *collector, struct proc_device_info *out,
                         size_t most);

/* Why there is no energy of processors, and behind ": " the command that changes it; "". */
const char *proc_no_cpu_energy(const struct proc_collector *collector);

/* "GPU: no driver; NPU: no device; frequency: no cpufreq (a virtual machine?)"; "" if nothing is
 * missing. */
void proc_missing(const struct proc_collector *collector, char *out, size_t size);

/*
 * Resident memory, for looks many times a second: "resident bytes", "resident anon bytes" when they
 * have changed, and "resident peak bytes" when there was more between this look and the one before,
 * exactly as much as the kernel saw. Nothing is shared with a collector.
 */
struct proc_resident;

struct proc_resident *proc_resident_open(const struct host_roots *roots); /* NULL: no memory */
void proc_resident_close(struct proc_resident *resident);                 /* accepts NULL */

/* One look at these and at children of theirs that are not in the list yet. Returns how many were
 * there. */
size_t proc_resident_look(struct proc_resident *resident, const pid_t *pids, size_t count,
                          const struct proc_sink *sink);

/* How many processes a look had no room for, at most. */
size_t proc_resident_left_out(const struct proc_resident *resident);

/* Who was there at the last look, one by one, with the name that the kernel gives; false: no more.
 * Valid until the next look. */
bool proc_resident_name(const struct proc_resident *resident, size_t index, uint32_t *out_pid,
                        const char **out_name);

#endif
