// SPDX-License-Identifier: Apache-2.0
/*
 * Samples of a process and its children, as the kernel takes them: registers and the top of the
 * stack at a fixed rate, context switches, and what is mapped where. One ring per CPU; nothing is
 * done in the watched process, which does not even notice.
 *
 * The kernel's bytes are copied out of the rings in order of time and handed to callbacks. What was
 * lost because a ring was full is counted.
 */
#ifndef IFG_COLLECT_PERF_SAMPLER_H
#define IFG_COLLECT_PERF_SAMPLER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/status.h"

#define SAMPLER_KERNEL_FRAMES 64
/* JavaScript on top of C++ on top of our hooks needs 17 KiB; each KiB more costs 0.1 us. */
#define SAMPLER_STACK_DEFAULT (24u << 10)
#define SAMPLER_STACK_MAX     (63u << 10)

struct sampler;

struct sampler_options {
    pid_t pid;
    const pid_t *also; /* processes that run already, like its children; what may not be watched of
                          these, or is gone, is left out */
    size_t also_count;
    bool launched;        /* it waits to call exec: begin there, and take all its children */
    uint32_t hz;          /* samples per second of CPU time and thread; 0: none, switches only */
    uint32_t stack_bytes; /* 0: the default */
    bool want_kernel;     /* frames of the kernel, if we may */
    uint64_t patience_ns; /* samples may wait so long until they are many; 0: they do not */
    int program;          /* of BPF, that runs with each sample; 0: none */
};

/* Times are CLOCK_MONOTONIC. */
struct sampler_sample {
    uint64_t time_ns;
    uint32_t pid, tid, cpu;
    bool in_kernel; /* the sample was taken there; the registers are those of the program */
    bool has_user;  /* a thread of the kernel has none */
    uint64_t ip, sp, fp, lr;
    const uint8_t *stack; /* from sp on */
    size_t stack_size;
    uint64_t kernel[SAMPLER_KERNEL_FRAMES]; /* the innermost first */
    size_t kernel_count;
};

struct sampler_mapping {
    uint64_t time_ns;
    uint32_t pid;
    uint64_t start, size, file_offset;
    uint32_t device_major, device_minor;
    uint64_t inode;
    const char *path;
    char build_id[41]; /* "" if the kernel did not tell */
};

struct sampler_switch {
    uint64_t time_ns;
    uint32_t pid, tid, cpu;
    bool out;       /* else in */
    bool preempted; /* out: it was still runnable */
};

struct sampler_events {
    void (*sample)(const struct sampler_sample *sample, void *user);
    void (*mapped)(const struct sampler_mapping *mapping, void *user);
    void (*switched)(const struct sampler_switch *change, void *user);
    void (*named)(uint64_t time_ns, uint32_t pid, uint32_t tid, const char *name, bool exec,
                  void *user);
    void (*forked)(uint64_t time_ns, uint32_t parent_pid, uint32_t parent_tid, uint32_t pid,
                   uint32_t tid, void *user);
    void (*ended)(uint64_t time_ns, uint32_t pid, uint32_t tid, void *user);
    /* A sample has come that may wait; true: it must not. ip may be one of the kernel. */
    bool (*hurries)(uint32_t pid, uint64_t ip, void *user);
    void *user;
};

/* What there is in the end; the difference to what was asked for is in `missing`. */
struct sampler_facts {
    char clock[32]; /* "cycles" or "cpu-clock" */
    uint32_t hz;
    uint32_t stack_bytes;
    bool kernel_frames;
    char kernel_missing[256]; /* why there are none of these (perf_error_line); "" if there are */
    char missing[256];        /* what else is not there; "" if all is */
    size_t left_out;          /* threads that there were no descriptors for */
    size_t refused;           /* of the other processes, those that may not be watched */
};

struct sampler_counts {
    uint64_t samples;
    uint64_t switches;
    uint64_t lost;      /* records that did not fit into a ring */
    uint64_t cut;       /* samples whose stack was longer than what was copied */
    uint64_t throttled; /* times that the kernel lowered the rate */
};

/* A running process is not sampled before sampler_pause(sampler, false): what it has mapped can be
 * read first, while the rings stay empty.
 * IFG_PERMISSION: the kernel does not let us, and err tells the command that changes that.
 * IFG_UNSUPPORTED: this kernel or container has no perf events. IFG_NOT_FOUND: no such process. */
enum ifg_status sampler_open(const struct sampler_options *options, struct sampler **out_sampler,
                             struct sampler_facts *out_facts, struct ifg_error *err) IFG_MUST_CHECK;

/* Hands out what is in the rings, up to a moment ago: records of different CPUs are put in order,
 * and the newest ones wait for those that are still to come. `all`: everything, at the end.
 *
 * Patient samplers hand out samples in larger batches, later than switches and the like: whoever
 * walks their stacks has a cold cache only once then. What changes the code of a process is still
 * told in order: the samples of before it first. */
void sampler_read(struct sampler *sampler, bool all, const struct sampler_events *events);

/* The samples that come next are not to wait. */
void sampler_hurry(struct sampler *sampler);

/* All samples that were taken before this moment have been told. */
uint64_t sampler_told_ns(const struct sampler *sampler);

/* Stops and goes on taking samples; switches and mappings go on. */
void sampler_pause(struct sampler *sampler, bool pause);
void sampler_set_rate(struct sampler *sampler, uint32_t hz);

/* Larger copies of stacks. What an event copies cannot be changed, so all threads of these
 * processes get another one, which takes over at the end. Between the two all forks of before the
 * end of the first must have been told, and some time must pass. IFG_BUSY: there are new threads;
 * try again. After a failure all is as before. */
enum ifg_status sampler_raise_begin(struct sampler *sampler, const uint32_t *pids, size_t count,
                                    uint32_t stack_bytes, struct ifg_error *err) IFG_MUST_CHECK;
enum ifg_status sampler_raise_end(struct sampler *sampler, const uint32_t *pids, size_t count,
                                  struct ifg_error *err) IFG_MUST_CHECK;

/* A descriptor that becomes readable when a ring is half full; -1: none. */
int sampler_wait_fd(const struct sampler *sampler);

void sampler_count(const struct sampler *sampler, struct sampler_counts *out_counts);
void sampler_close(struct sampler *sampler); /* accepts NULL */

#endif
