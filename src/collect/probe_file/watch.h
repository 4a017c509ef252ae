// SPDX-License-Identifier: Apache-2.0
/*
 * Following processes with descriptions: finds the described functions in what the processes map,
 * sets probes on them, and turns what they see into models, events, zones and attributes, as
 * docs/runtimes.md and docs/probes.md tell. One thread; nothing here waits.
 *
 *     open, follow each process, begin when there is a file, drain often, finish, close
 *
 * A process gets its place in the trace when something of it is seen first, and not before. All
 * times are CLOCK_MONOTONIC.
 */
#ifndef IFG_COLLECT_PROBE_FILE_WATCH_H
#define IFG_COLLECT_PROBE_FILE_WATCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/status.h"
#include "collect/probe_file/probe_file.h"
#include "collect/sink.h"
#include "collect/uprobe/uprobe.h"

#define PROBE_WATCH_PROCESSES_MAX 256

struct probe_watch;

/* The descriptions outlive the watch. IFG_PERMISSION and others, with a sentence, where no probes
 * can be set at all. */
enum ifg_status probe_watch_open(struct probe_file *const *files, size_t count, enum uprobe_way way,
                                 struct probe_watch **out_watch,
                                 struct ifg_error *err) IFG_MUST_CHECK;

/* Another process; what it maps is looked at now and from time to time. IFG_OK also when it has
 * none of the libraries yet, or is followed already. */
enum ifg_status probe_watch_follow(struct probe_watch *watch, pid_t pid,
                                   struct ifg_error *err) IFG_MUST_CHECK;

/* Something new was mapped there: it is looked at now. Nothing happens if it is not followed. */
void probe_watch_look(struct probe_watch *watch, pid_t pid);

/* From here on what the probes see is written. Instruments are called "RUNTIME by probes". */
void probe_watch_begin(struct probe_watch *watch, struct sink *sink);

int probe_watch_fd(const struct probe_watch *watch); /* for poll */

/* Reads what is there, looks for new libraries if it is time to, notices processes that are gone,
 * writes. Returns how many events there were. Call it at least about ten times a second. */
size_t probe_watch_drain(struct probe_watch *watch, uint64_t now_ns);

/* Adds to what the caller has counted elsewhere. */
struct sink_counts probe_watch_count(const struct probe_watch *watch);

/* Nothing that began before this moment is written. */
void probe_watch_since(struct probe_watch *watch, uint64_t since_ns);

/* Nothing that comes after this moment is written. */
void probe_watch_until(struct probe_watch *watch, uint64_t until_ns);

/* Takes the probes out, writes what is left, what was lost and the ends of processes. Nothing is
 * written after it; what was counted can still be asked for. */
void probe_watch_finish(struct probe_watch *watch);

void probe_watch_close(struct probe_watch *watch); /* accepts NULL */

#endif
