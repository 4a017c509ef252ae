// SPDX-License-Identifier: Apache-2.0
/* See confined.h; and the memory that a confined program cannot ask for itself. */
#include "record/confined.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/ticks.h"
#include "record/process.h"
#include "record/target_internal.h"
#include "system/process_folder.h"
#include "system/process_status.h"
#include "wire/confine.h"

#define LOOK_EVERY_NS 1000000000ull
#define THREADS_MAX   1024
#define ANCESTORS_MAX 64
#define SPARE_RINGS   8u
#define SPARE_SLOTS   16384u /* of a ring that no thread has yet: 256 KiB */

/* An old kernel does not count: then it is one, and more than none. */
static unsigned filters_of(const struct process_status *status)
{
    if (status->seccomp_mode != IFG_SECCOMP_MODE_FILTER)
        return 0;
    return status->seccomp_filters ? (unsigned)status->seccomp_filters : 1;
}

static enum confined_how confined_by(const struct process_status *status, unsigned own_filters)
{
    if (status->seccomp_mode == IFG_SECCOMP_MODE_STRICT)
        return CONFINED_STRICTLY;
    return filters_of(status) > own_filters ? CONFINED_BY_FILTER : CONFINED_NOT;
}

unsigned confined_own_filters(void)
{
    static int known = -1;
    struct process_status own;

    if (known < 0)
        known = process_status_of(PROCESS_SELF, &own) ? (int)filters_of(&own) : 0;
    return (unsigned)known;
}

enum confined_how confined_look(pid_t pid)
{
    enum confined_how tightest = CONFINED_NOT;
    char folder[PROCESS_FOLDER_BYTES];
    struct process_threads threads;
    struct process_status status;
    pid_t tid;

    (void)process_threads_of(pid, &threads);
    for (int i = 0; i < THREADS_MAX && process_threads_next(&threads, &tid); i++) {
        enum confined_how how = CONFINED_NOT;

        if (process_status_in(process_folder(pid, tid, folder), &status))
            how = confined_by(&status, confined_own_filters());
        tightest = how > tightest ? how : tightest;
    }
    process_threads_close(&threads);
    return tightest;
}

bool confined_more_than_born(pid_t pid)
{
    struct process_status status;
    struct stat space, ours;
    unsigned first = 0;
    pid_t at = pid;

    if (!process_entry(pid, "ns/pid", &space))
        space.st_ino = 0;
    for (int i = 0; i < ANCESTORS_MAX && at > 0; i++) {
        if (!process_entry(at, "ns/pid", &ours) || ours.st_ino != space.st_ino ||
            !process_status_of(at, &status))
            break;
        first = (unsigned)status.seccomp_filters; /* the last one is the first of all */
        at = status.parent;
    }
    return process_status_of(pid, &status) && confined_by(&status, first) != CONFINED_NOT;
}

/* ---- a recorded process ---- */

static void report(struct target *target, const char *what)
{
    const struct instrument *known;
    struct target_context *context = target->context;
    char text[512];

    if (!context->instruments)
        return;
    snprintf(text, sizeof text, "process %d %s", (int)target->pid, what);
    known = instruments_find(context->instruments, CONFINED_INSTRUMENT);
    instruments_report(
        context->instruments, context->sink->writer, CONFINED_INSTRUMENT,
        target->left_alone && !known ? TRACE_INSTRUMENT_UNAVAILABLE : TRACE_INSTRUMENT_ON, text);
}

/* Gives memory to the rings and definitions of a program that cannot do it itself any more. A file
 * system that is full gives none: then the program counts what it cannot keep. */
static bool give_memory(struct target *target, size_t offset, size_t bytes)
{
    return fallocate(target->fd, FALLOC_FL_KEEP_SIZE, (off_t)offset, (off_t)bytes) == 0;
}

static void prepare_ring(struct target *target, uint32_t index, bool whole)
{
    uint32_t slots;
    size_t offset = ifg_wire_ring_offset(index, &slots);
    struct ifg_wire_ring *ring = (void *)((char *)target->control + offset);
    uint64_t wanted = whole || slots < SPARE_SLOTS ? slots : SPARE_SLOTS;

    if (ring->prepared < wanted &&
        give_memory(target, offset, IFG_WIRE_PAGE + (size_t)wanted * IFG_WIRE_SLOT))
        __atomic_store_n(&ring->prepared, wanted, __ATOMIC_RELEASE);
}

static void prepare_memory(struct target *target)
{
    struct ifg_wire_control *control = target->control;
    uint32_t used = __atomic_load_n(&control->rings_used, __ATOMIC_ACQUIRE);
    uint32_t wanted = (used < IFG_WIRE_RINGS ? used : IFG_WIRE_RINGS) + SPARE_RINGS;

    if (wanted > IFG_WIRE_RINGS)
        wanted = IFG_WIRE_RINGS;
    if (!target->definitions_given) {
        target->definitions_given = true;
        if (give_memory(target, IFG_WIRE_DEFINITIONS_OFFSET, IFG_WIRE_DEFINITIONS_BYTES))
            __atomic_store_n(&control->definitions_prepared, IFG_WIRE_DEFINITIONS_BYTES,
                             __ATOMIC_RELEASE);
    }
    for (uint32_t i = 0; i < wanted; i++) {
        bool active =
            __atomic_load_n(&ifg_wire_states(control)[i], __ATOMIC_ACQUIRE) != IFG_WIRE_FREE_RING;

        if (active ? target->ring_memory[i] < 2 : target->ring_memory[i] < 1) {
            prepare_ring(target, i, active);
            target->ring_memory[i] = active ? 2 : 1;
        }
    }
    if (control->rings_prepared != wanted)
        __atomic_store_n(&control->rings_prepared, wanted, __ATOMIC_RELEASE);
}

/* Why it cannot be recorded at all; NULL: it can. */
static const char *cannot_record(const struct target *target, enum confined_how seen)
{
    const struct ifg_wire_control *control = target->control;

    if (seen == CONFINED_STRICTLY)
        return "is in seccomp's strict mode, which forbids the clock: it is left alone";
    if (__atomic_load_n(&control->confinement, __ATOMIC_ACQUIRE) == IFG_CONFINED_CLOCK)
        return "has forbidden itself the clock (strict seccomp, or PR_SET_TSC): it is left alone";
    if (seen == CONFINED_BY_FILTER && !(control->abilities & IFG_WIRE_CAN_CONFINE))
        return "has a seccomp filter and an older libinferogram, which would make system calls "
               "that the filter may forbid: it is left alone";
    return NULL;
}

const char *target_refuses(struct target *target)
{
    enum confined_how seen = confined_look(target->pid);
    const char *why = cannot_record(target, seen);

    target->next_confined_look_ns = ifg_monotonic_ns() + LOOK_EVERY_NS;
    target->left_alone = why != NULL;
    target->seen_confined = seen != CONFINED_NOT;
    if (why)
        report(target, why);
    if (!why && target->seen_confined)
        __atomic_store_n(&target->control->confined, 1, __ATOMIC_RELEASE);
    return why;
}

void target_watch_confinement(struct target *target, uint64_t now_ns)
{
    struct ifg_wire_control *control = target->control;
    const char *why;

    if (now_ns >= target->next_confined_look_ns) {
        enum confined_how seen = confined_look(target->pid);

        target->next_confined_look_ns = now_ns + LOOK_EVERY_NS;
        if (seen != CONFINED_NOT && !target->seen_confined) {
            target->seen_confined = true;
            __atomic_store_n(&control->confined, 1, __ATOMIC_RELEASE);
        }
        why = cannot_record(target, seen);
    } else {
        why = cannot_record(target, CONFINED_NOT);
    }
    if (why && !target->left_alone) {
        target->left_alone = true;
        __atomic_store_n(&control->recording, 0, __ATOMIC_RELEASE);
        report(target, why);
    }
    if (target->left_alone || (!target->seen_confined && !control->confinement))
        return;
    if (!target->told_confined) {
        target->told_confined = true;
        report(target, "has a seccomp filter: it is recorded without system calls in it");
    }
    if (!(control->abilities & IFG_WIRE_IS_MEMFD))
        prepare_memory(target);
}
