// SPDX-License-Identifier: Apache-2.0
/*
 * `agent --metrics` and `agent --otlp`: watches the programs that can be recorded, all the time,
 * and serves or sends what was counted. A keeper, which is a child of the agent, answers scrapes
 * and looks for programs; each program has a recorder of its own below the keeper, which keeps its
 * last seconds in bounded memory and counts into memory that both share.
 *
 * A program has one recorder at a time: when somebody captures one that is watched, it is let go,
 * and watched again afterwards.
 */
#ifndef IFG_CLI_METRICS_WATCH_H
#define IFG_CLI_METRICS_WATCH_H

#include <stdatomic.h>
#include <stdbool.h>
#include <sys/types.h>

#include "cli/metrics_options.h"
#include "metrics/listener.h"
#include "metrics/problems.h"
#include "metrics/spans.h"
#include "metrics/tally.h"

#define WATCH_PROGRAMS_MOST 64u
#define WATCH_NAMES_MOST    16u

/* A program that is watched, in memory of its own that is shared. */
struct watch_slot {
    _Atomic pid_t pid; /* of the program; 0: free */
    _Atomic pid_t recorder;
    _Atomic pid_t wanted_by; /* this process wants to capture it; 0: nobody does */
    char program[64];
    _Atomic uint64_t cpu_us; /* of its recorder, and what that has of memory */
    _Atomic uint64_t memory_bytes;
    _Atomic uint32_t problems_at; /* which one is valid; the other may be being written */
    struct problems problems[2];
    struct tally tally;
    struct span_ring spans;
};

struct metrics_watch_options {
    const char *names[WATCH_NAMES_MOST]; /* globs; none: all programs */
    size_t name_count;
    bool quiet;
    struct otlp_options otlp;
};

struct metrics_watch;

/* Starts the keeper; the address is closed here, if there is one. */
enum ifg_status metrics_watch_start(const struct metrics_watch_options *options,
                                    struct metrics_address *address,
                                    struct metrics_watch **out_watch,
                                    struct ifg_error *err) IFG_MUST_CHECK;
void metrics_watch_stop(struct metrics_watch *watch); /* accepts NULL */

/* For the agent's other children; both accept NULL. Whether this process is a recorder of ours. */
bool metrics_watch_is_ours(const struct metrics_watch *watch, pid_t recorder);

/* Lets go of a program, so that somebody else can record it; waits until that is so, some seconds
 * at most. */
void metrics_watch_release(struct metrics_watch *watch, pid_t pid);

/* metrics_watcher.c: in a child of the keeper, until the program ends or SIGTERM comes. The exit
 * status: 0, or 1 when it cannot be recorded. */
int metrics_watcher_run(struct watch_slot *slot, const struct metrics_watch_options *watch);

#endif
