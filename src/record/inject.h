// SPDX-License-Identifier: Apache-2.0
/*
 * Hooks for a program that runs already (record --hook inject): our library is loaded into it, and
 * the tables of its runtimes are patched where they are; at the end they are put back.
 *
 * One thread of the program does this, at a moment when it waits in a system call in which it can
 * hold no lock of the C library. Where that cannot be had, or anything else is not as it must be,
 * the program is left alone and the reason told. Afterwards the program has a region like every
 * program that carries the library (process_open_region).
 */
#ifndef IFG_RECORD_INJECT_H
#define IFG_RECORD_INJECT_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/status.h"
#include "record/ptrace.h"

struct runtime;

struct inject_options {
    pid_t pid;
    const char *hooks_dir;     /* where the libraries of the hooks are */
    bool force;                /* also where a seccomp filter may kill the program for it */
    const char *device;        /* "kernels", "full": also what follows GPUs, in a CUDA program */
    ptrace_observer *observer; /* for tests; may be NULL */
    void *user;
};

struct injection {
    pid_t pid;
    uint64_t start_time; /* 0: there is nothing to put back */
    uint64_t unpatch;    /* addresses in the program */
    uint64_t result;
    const struct runtime *runtime;
    int watched;             /* copies of it whose calls are seen now */
    bool has_device;         /* its GPUs are followed; nobody needs to put that back */
    char device_reason[256]; /* why not, in a CUDA program */
    ptrace_observer *observer;
    void *user;
};

/* IFG_OK: the next calls of the program go through the hooks. Otherwise nothing is active over
 * there, and err says why and what to do: IFG_NOT_FOUND (no such process, no runtime in it),
 * IFG_PERMISSION, IFG_UNSUPPORTED (a program that cannot be patched), IFG_BUSY (traced by somebody
 * else, or no safe moment within 2 s: try again). */
enum ifg_status inject_begin(const struct inject_options *options, struct injection *out_injection,
                             struct ifg_error *err) IFG_MUST_CHECK;

/* What the handles of a program answered; the same as in handles/command.h. */
struct inject_answer {
    uint32_t calls;
    int32_t status; /* 0, or a negative errno value with the reason in text */
    uint32_t handles;
    uint32_t started;
    char text[2032];
};

/* Gives profiling handles to a program that runs, or asks those that it has: `text` is a command of
 * handles/command.h. Its runtime is given the hooks first, if it has one and they are not there; a
 * program that marks its own models needs none. IFG_OK: the program has answered. */
enum ifg_status inject_command(const struct inject_options *options, const char *text,
                               struct inject_answer *out_answer,
                               struct ifg_error *err) IFG_MUST_CHECK;

/* Puts the tables back. IFG_OK also when the program has ended or replaced itself meanwhile. After
 * a failure it may be tried again; calls still go through the hooks until then, which record
 * nothing when nobody records. */
enum ifg_status inject_end(struct injection *injection, struct ifg_error *err) IFG_MUST_CHECK;

#endif
