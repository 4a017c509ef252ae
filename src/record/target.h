// SPDX-License-Identifier: Apache-2.0
/*
 * One recorded process image: its region, its rings, and the streams they are drained into.
 *
 * The region belongs to a program that may be broken or hostile, and may die at any instruction.
 * Every index read from it is checked; what makes no sense is counted as lost and passed over.
 */
#ifndef IFG_RECORD_TARGET_H
#define IFG_RECORD_TARGET_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/status.h"
#include "record/device_cost.h"
#include "collect/sink.h"
#include "record/instruments.h"
#include "record/unhooked_runtimes.h"
#include "trace/writer.h"

struct redaction;
struct target;

/* What all targets of one recording share. */
struct target_context {
    struct sink *sink;             /* where all of the recording goes */
    const char *session_directory; /* where children of a fork are to put their regions */
    bool lossless;
    uint64_t since_ns; /* what processes that began before have kept until then is not recorded */
    uint64_t pass_ns;  /* how long the loop takes from one look at a ring to the next */
    pid_t launched;    /* the command we started, and its words: it may be gone before we look */
    char *const *command;
    struct instruments *instruments; /* what the processes say of them; NULL: nobody asks */
    bool is_injected; /* hooks that were injected are at work, not left from before */
    struct unhooked_watch *runtimes; /* likewise */
    uint64_t counter_begin;          /* the CPU's counter and CLOCK_MONOTONIC when all began */
    uint64_t monotonic_begin_ns;
    double overhead_pct;                /* that the recording may cost; 0: no budget */
    struct device_cost_sum device_cost; /* of processes that are closed */
    uint64_t written;                   /* events of threads that have ended, in the file */
    const struct redaction *redaction;  /* what of arguments is not to be told */
};

struct target_counts {
    uint64_t events;
    uint64_t inferences;
    uint64_t dropped;
    uint32_t models;
    uint32_t threads;
};

/* False if the region behind fd was made by another process: a child has its parent's for a moment.
 */
bool target_belongs_to(int fd, pid_t pid);

/* IFG_BUSY, with the sentence, if another recorder has the region behind fd. */
enum ifg_status target_check_free(int fd, pid_t pid, struct ifg_error *err) IFG_MUST_CHECK;

/* Takes the region behind fd (the caller's) for this recorder and begins to record pid.
 * IFG_BUSY: another recorder has it; the sentence names it. */
enum ifg_status target_open(struct target_context *context, int fd, pid_t pid,
                            struct target **out_target, struct ifg_error *err) IFG_MUST_CHECK;

/* Asks what follows devices in the process to hand out what it holds back. False: nobody does. */
bool target_ask_devices(struct target *target);

/* Whether that has not been answered yet. */
bool target_awaits_devices(const struct target *target);

/* The process goes on and records no more. What it has recorded is taken when it is closed. */
void target_stop(struct target *target);

/* Ends recording, drains what is left, writes the process's end, frees. Accepts NULL. */
void target_close(struct target *target, enum trace_process_fate fate, uint32_t code);

/* Reads at most so many of the files that the process handed over. For when nothing else is to do;
 * what is left then is read when the target is closed. */
void target_take_files(struct target *target, size_t most);

/* Takes what the rings hold and writes blocks that are full or old. Returns how full the fullest
 * ring was, in percent: the caller sleeps accordingly. *out_any is set if anything was found. */
unsigned target_drain(struct target *target, uint64_t now_ns, bool *out_any);

/* Writes all that was taken, and what is open now, also where nothing changed. */
void target_flush(struct target *target, uint64_t now_ns);

pid_t target_pid(const struct target *target);
uint64_t target_start_ns(const struct target *target); /* when the library started in it */
/* Its process in the trace, and the clock of that. */
uint32_t target_process(const struct target *target, uint32_t *out_clock);
bool target_told_runtime(const struct target *target); /* a hook in it spoke of a runtime */
int target_pidfd(const struct target *target); /* readable when the process has ended; -1 unknown */
void target_count(const struct target *target, struct target_counts *counts); /* adds */

/* True if fd refers to the region that target already has. */
bool target_is_same(const struct target *target, int fd);

/* For the list that the session keeps. */
struct target *target_next(const struct target *target);
void target_set_next(struct target *target, struct target *next);

#endif
