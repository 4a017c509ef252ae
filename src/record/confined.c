// SPDX-License-Identifier: Apache-2.0
/* See confined.h; and the memory that a confined program cannot ask for itself. */
#include "record/confined.h"

#include <ctype.h>
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/ticks.h"
#include "record/process.h"
#include "record/target_internal.h"
#include "wire/confine.h"

#define LOOK_EVERY_NS 1000000000ull
#define THREADS_MAX   1024
#define ANCESTORS_MAX 64
#define SPARE_RINGS   8u
#define SPARE_SLOTS   16384u /* of a ring that no thread has yet: 256 KiB */

static unsigned long number_after(const char *text, const char *key)
{
    const char *at = strstr(text, key);

    return at ? strtoul(at + strlen(key), NULL, 10) : 0;
}

enum confined_how confined_parse(const char *status, unsigned own_filters)
{
    unsigned long mode = number_after(status, "\nSeccomp:");
    unsigned long filters = number_after(status, "\nSeccomp_filters:");

    if (mode == IFG_SECCOMP_MODE_STRICT)
        return CONFINED_STRICTLY;
    if (mode != IFG_SECCOMP_MODE_FILTER)
        return CONFINED_NOT;
    /* An old kernel does not count: then it is one, and more than none. */
    return (filters ? filters : 1) > own_filters ? CONFINED_BY_FILTER : CONFINED_NOT;
}

static bool read_status(const char *path, char *text, size_t size)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t length = fd < 0 ? -1 : read(fd, text, size - 1);

    if (fd >= 0)
        close(fd);
    text[length > 0 ? length : 0] = '\0';
    return length > 0;
}

unsigned confined_own_filters(void)
{
    static int known = -1;
    char text[4096];

    if (known < 0) {
        known = 0;
        if (read_status("/proc/self/status", text, sizeof text) &&
            number_after(text, "\nSeccomp:") == IFG_SECCOMP_MODE_FILTER) {
            known = (int)number_after(text, "\nSeccomp_filters:");
            known = known > 0 ? known : 1;
        }
    }
    return (unsigned)known;
}

enum confined_how confined_look(pid_t pid)
{
    enum confined_how tightest = CONFINED_NOT;
    char path[320];
    char text[4096];
    DIR *threads;
    struct dirent *entry;

    snprintf(path, sizeof path, "/proc/%d/task", (int)pid);
    threads = opendir(path);
    for (int i = 0; threads && i < THREADS_MAX && (entry = readdir(threads)); i++) {
        enum confined_how how;

        if (!isdigit((unsigned char)entry->d_name[0]))
            continue;
        snprintf(path, sizeof path, "/proc/%d/task/%s/status", (int)pid, entry->d_name);
        if (!read_status(path, text, sizeof text))
            continue;
        how = confined_parse(text, confined_own_filters());
        tightest = how > tightest ? how : tightest;
    }
    if (threads)
        closedir(threads);
    return tightest;
}

bool confined_more_than_born(pid_t pid)
{
    unsigned long first = 0;
    char path[64];
    char text[4096];
    struct stat space;
    struct stat ours;
    pid_t at = pid;

    snprintf(path, sizeof path, "/proc/%d/ns/pid", (int)pid);
    if (stat(path, &space) < 0)
        space.st_ino = 0;
    for (int i = 0; i < ANCESTORS_MAX && at > 0; i++) {
        snprintf(path, sizeof path, "/proc/%d/ns/pid", (int)at);
        if (stat(path, &ours) < 0 || ours.st_ino != space.st_ino)
            break;
        snprintf(path, sizeof path, "/proc/%d/status", (int)at);
        if (!read_status(path, text, sizeof text))
            break;
        first = number_after(text, "\nSeccomp_filters:"); /* the last one is the first of all */
        at = (pid_t)number_after(text, "\nPPid:");
    }
    snprintf(path, sizeof path, "/proc/%d/status", (int)pid);
    return read_status(path, text, sizeof text) &&
           confined_parse(text, (unsigned)first) != CONFINED_NOT;
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
