// SPDX-License-Identifier: Apache-2.0
/*
 * What the scheduler tells beyond context switches: who woke a thread, and which waits were such
 * that nothing interrupts them (a disk, a page, a lock of the kernel).
 *
 * A wakeup happens where the waker runs, which may be any process or an interrupt: the events are
 * those of the whole machine, one ring per CPU, and who reads them keeps what is about his threads.
 */
#ifndef IFG_COLLECT_PERF_SCHED_H
#define IFG_COLLECT_PERF_SCHED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

struct sched;

/* Times are CLOCK_MONOTONIC. */
struct sched_change {
    uint64_t time_ns;
    uint32_t tid; /* who was woken, or left its CPU */
    uint32_t cpu; /* where it will run, as far as is known then; or which it left */
    bool disk;    /* it left to wait without being interrupted; else it was woken */
    /* of a wakeup; 0: an interrupt did it (a timer, a device) */
    uint32_t waker_pid, waker_tid;
};

struct sched_events {
    void (*changed)(const struct sched_change *change, void *user);
    void *user;
};

/* How records are laid out on this kernel. */
struct sched_layout;

/* IFG_PERMISSION: the kernel does not let us; IFG_NOT_FOUND, IFG_UNSUPPORTED: it has no such events
 * here. err tells the command that changes that. */
enum ifg_status sched_open(struct sched **out_sched, struct ifg_error *err) IFG_MUST_CHECK;

/* Whether disk waits are told apart; wakeups always are. */
bool sched_has_disk(const struct sched *sched);

/* Hands out, in order of time, what is in the rings and was made before then. */
void sched_read(struct sched *sched, uint64_t before_ns, const struct sched_events *events);

uint64_t sched_lost(const struct sched *sched); /* records that a ring had no room for */
void sched_close(struct sched *sched);          /* accepts NULL */

#endif
