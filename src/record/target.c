// SPDX-License-Identifier: Apache-2.0
/* The life of a recorded process image: taking its region, following its threads, letting go. */
#include "record/target_internal.h"

#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/array.h"
#include "base/ticks.h"
#include "record/process.h"
#include "record/redact.h"
#include "system/process_folder.h"
#include "system/process_status.h"

/* A ring that has been quiet for this long: see whether its thread is still there. */
#define IDLE_CHECK_NS 1000000000ull

#define LOCK_ATTEMPTS  10
#define DYING_ATTEMPTS 700 /* two seconds and more, for one that was killed */
#define LOCK_PAUSE_NS  3000000

static int open_pidfd(pid_t pid)
{
    return (int)syscall(SYS_pidfd_open, pid, 0);
}

/* 0 if a pid of ours means the same process over there, else the other namespace's number. */
static uint64_t foreign_pid_namespace(pid_t pid)
{
    struct stat theirs;

    if (process_shares(pid, "ns/pid") || !process_entry(pid, "ns/pid", &theirs))
        return 0;
    return theirs.st_ino;
}

/* The words of the command that we launched, NUL between them. */
static size_t join_command(char *const *command, char *out, size_t size)
{
    size_t used = 0;

    for (; *command; command++) {
        size_t length = strlen(*command) + 1;

        if (length > size - used)
            break;
        memcpy(out + used, *command, length);
        used += length;
    }
    return used ? used - 1 : 0;
}

/* What watches a device in the process sleeps until somebody records. */
static void set_recording(struct ifg_wire_control *control, uint32_t recording)
{
    __atomic_store_n(&control->recording, recording, __ATOMIC_RELEASE);
    syscall(SYS_futex, &control->recording, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
}

static void describe_process(struct target *target)
{
    char own_name[IFG_WIRE_PROGRAM_MAX];
    struct process_info info;
    struct trace_process process = {
        .index = target->process,
        .pid = target->pid == PROCESS_GONE ? target->control->pid : (uint32_t)target->pid,
        .parent_pid = target->control->parent_pid,
        .clock = target_clock(target),
        .start_ticks = target->control->start_ticks,
    };

    if (process_describe(target->pid, &info, NULL) == IFG_OK) {
        process.parent_pid = (uint32_t)info.parent;
        process.program = info.program[0] ? info.program : info.name;
        process.arguments = info.arguments;
        process.arguments_bytes = info.arguments_bytes;
        process.directory = info.directory;
        if (!info.arguments_bytes && target->pid == target->context->launched)
            process.arguments_bytes =
                join_command(target->context->command, info.arguments, sizeof info.arguments);
    } else if (target->pid == target->context->launched) { /* it was over before we could look */
        process.program = target->context->command[0];
        process.arguments = info.arguments;
        process.arguments_bytes =
            join_command(target->context->command, info.arguments, sizeof info.arguments);
    } else { /* in another pid namespace, or gone: what it said of itself */
        memcpy(own_name, target->control->program, sizeof own_name);
        own_name[sizeof own_name - 1] = '\0';
        process.program = own_name;
    }
    redact_write_process(target->context->redaction, target->context->sink->writer, &process);
}

/* Whether the program has kept events from its start for its first recorder (IFG_WAIT, launched by
 * us). */
static bool keeps_events(const struct ifg_wire_control *control)
{
    return control->recording &&
           (!control->recorder_pid || control->recorder_pid == (uint32_t)getpid());
}

/* Prepares the region for us. What an earlier recorder left in the rings is passed over. */
static void begin_recording(struct target *target)
{
    struct ifg_wire_control *control = target->control;
    bool keep = keeps_events(control) && target->start_ns >= target->context->since_ns;
    uint32_t used = __atomic_load_n(&control->rings_used, __ATOMIC_ACQUIRE);

    control->recorder_pid_ns = foreign_pid_namespace(target->pid);
    snprintf(control->session, sizeof control->session, "%s",
             target->context->session_directory ? target->context->session_directory : "");
    __atomic_store_n(&control->lossless, target->context->lossless, __ATOMIC_RELAXED);
    if (!keep) {
        target->definitions_lost_before = control->definitions_lost;
        target->ringless_before = control->ringless_dropped;
        device_cost_begin(&target->cost_before, control);
        for (uint32_t i = 0; i < used && i < IFG_WIRE_RINGS; i++) {
            uint32_t slots;
            struct ifg_wire_ring *ring =
                (void *)((char *)control + ifg_wire_ring_offset(i, &slots));
            uint32_t *state = &ifg_wire_states(control)[i];

            /* A free one, too: its thread may have ended after the last look of that recorder. */
            __atomic_store_n(&ring->tail, __atomic_load_n(&ring->head, __ATOMIC_ACQUIRE),
                             __ATOMIC_RELEASE);
            if (__atomic_load_n(state, __ATOMIC_ACQUIRE) == IFG_WIRE_FREE_RING)
                continue;
            ring->dropped_before = ring->dropped;
            ring->unbalanced_before = ring->unbalanced;
            if (__atomic_load_n(state, __ATOMIC_ACQUIRE) == IFG_WIRE_EXITED)
                __atomic_store_n(state, IFG_WIRE_FREE_RING, __ATOMIC_RELEASE);
        }
    }
    __atomic_store_n(&control->device_less, 0, __ATOMIC_RELAXED);
    __atomic_store_n(&control->recorder_pid, (uint32_t)getpid(), __ATOMIC_RELEASE);
    set_recording(control, IFG_WIRE_RECORDING_ON);
}

/* Killed, and on its way out: the kernel takes its memory before its locks. Or gone already, and
 * somebody that it started has not closed what it got yet. */
static bool is_dying(uint32_t pid)
{
    struct process_status status;
    struct process_stat now;

    if (!process_stat_of((pid_t)pid, &now) || now.state == 'Z' || now.state == 'X' ||
        now.is_exiting)
        return true;
    /* On a busy machine it has not had its turn to die yet. */
    return process_status_of((pid_t)pid, &status) &&
           ((status.pending | status.shared_pending) & (1ull << (SIGKILL - 1)));
}

/* Who only asks whether a region is free (`ls`) holds the lock for a moment as well; and so does a
 * recorder that was killed, until the kernel is done with it. */
static enum ifg_status lock_region(int fd, pid_t pid, struct ifg_error *err)
{
    const struct timespec pause = { 0, LOCK_PAUSE_NS };
    struct ifg_wire_control control = { 0 };

    for (int attempt = 0; attempt < DYING_ATTEMPTS; attempt++) {
        if (flock(fd, LOCK_EX | LOCK_NB) == 0)
            return IFG_OK;
        if (errno != EWOULDBLOCK)
            return ifg_fail_errno(err, "cannot lock the recording memory of process %d", (int)pid);
        if (attempt >= LOCK_ATTEMPTS &&
            (pread(fd, &control, sizeof control, 0) != (ssize_t)sizeof control ||
             !control.recorder_pid || !is_dying(control.recorder_pid)))
            break;
        nanosleep(&pause, NULL);
    }
    if (pread(fd, &control, sizeof control, 0) != (ssize_t)sizeof control || !control.recorder_pid)
        return ifg_fail(err, IFG_BUSY, "process %d is already being recorded", (int)pid);
    return ifg_fail(
        err, IFG_BUSY,
        "process %d is already being recorded, by process %u; stop that recording first "
        "(kill -INT %u)",
        (int)pid, control.recorder_pid, control.recorder_pid);
}

bool target_belongs_to(int fd, pid_t pid)
{
    struct ifg_wire_control control;

    return pread(fd, &control, sizeof control, 0) == (ssize_t)sizeof control &&
           (control.pid == (uint32_t)pid || foreign_pid_namespace(pid));
}

enum ifg_status target_check_free(int fd, pid_t pid, struct ifg_error *err)
{
    enum ifg_status status = lock_region(fd, pid, err);

    if (!status)
        flock(fd, LOCK_UN);
    return status;
}

enum ifg_status target_open(struct target_context *context, int fd, pid_t pid,
                            struct target **out_target, struct ifg_error *err)
{
    struct target *target = ifg_alloc(1, sizeof *target);
    enum ifg_status status = IFG_OK;
    const char *why;
    void *region;

    *out_target = NULL;
    if (!target) {
        close(fd);
        return ifg_fail_no_memory(err, NULL);
    }
    target->context = context;
    target->pid = pid;
    target->pidfd = -1;
    target->fd = fd;
    if (fstat(fd, &target->identity) < 0 ||
        (size_t)target->identity.st_size != ifg_wire_region_bytes()) {
        status = ifg_fail(err, IFG_CORRUPT, "the recording memory of process %d has a wrong size",
                          (int)pid);
        goto out;
    }
    region = mmap(NULL, ifg_wire_region_bytes(), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (region == MAP_FAILED) {
        status = ifg_fail_errno(err, "cannot map the recording memory of process %d", (int)pid);
        goto out;
    }
    target->control = region;
    fault_guard_add(&target->guard, region, ifg_wire_region_bytes(), fd);
    if (target->control->magic != IFG_WIRE_MAGIC || target->control->version != IFG_WIRE_VERSION) {
        status = ifg_fail(err, IFG_UNSUPPORTED,
                          "process %d carries libinferogram with memory layout %u; this recorder "
                          "knows layout %u",
                          (int)pid, target->control->version, IFG_WIRE_VERSION);
        goto out;
    }
    status = lock_region(fd, pid, err);
    if (status)
        goto out;
    target->start_ticks = target->control->start_ticks;
    target->start_ns = target->control->start_ns;
    why = keeps_events(target->control) ? NULL : target_refuses(target);
    if (why) {
        status = ifg_fail(err, IFG_UNSUPPORTED, "process %d %s", (int)pid, why);
        goto out;
    }
    target->pidfd = open_pidfd(pid);
    target->process = sink_library_process(context->sink);
    describe_process(target);
    begin_recording(target);
    *out_target = target;
    return IFG_OK;
out:
    if (target->control) {
        fault_guard_remove(&target->guard);
        munmap(target->control, ifg_wire_region_bytes());
    }
    close(fd);
    ifg_free(target);
    return status;
}

struct device_streams *target_devices(struct target *target)
{
    if (!target->devices)
        target->devices = device_streams_create(target->context->sink, target->process);
    return target->devices;
}

static double ns_per_tick(const struct target *target)
{
    const struct target_context *context = target->context;
    uint64_t now = ifg_counter_read();

    if (target->control->tick_source == IFG_TICKS_MONOTONIC || now <= context->counter_begin)
        return 1;
    return (double)(ifg_monotonic_ns() - context->monotonic_begin_ns) /
           (double)(now - context->counter_begin);
}

/* Makes room for readers of rings 0 .. count-1. */
static bool grow_readers(struct target *target, uint32_t count)
{
    if (!IFG_ARRAY_ROOM_ZEROED(target->rings, target->ring_capacity, count, IFG_ARRAY_ANY))
        return false;
    if (count > target->ring_count)
        target->ring_count = count;
    return true;
}

static void name_thread(struct target *target, struct ring_reader *reader)
{
    char name[sizeof reader->name];

    memcpy(name, reader->ring->name, sizeof name);
    name[sizeof name - 1] = '\0';
    if (!name[0])
        process_thread_name(target->pid, (pid_t)reader->shown_tid, name, sizeof name);
    if (!name[0] || strcmp(name, reader->name) == 0)
        return;
    memcpy(reader->name, name, sizeof name);
    trace_writer_thread(target->context->sink->writer, reader->thread, target->process,
                        reader->shown_tid, name);
}

/* A thread took this ring: give it a stream of its own. */
static bool begin_thread(struct target *target, uint32_t index, uint32_t generation)
{
    struct ring_reader *reader = &target->rings[index];
    size_t offset = ifg_wire_ring_offset(index, &reader->slots);

    reader->ring = (void *)((char *)target->control + offset);
    reader->tid = reader->ring->tid;
    reader->shown_tid = target->control->recorder_pid_ns
                            ? (uint32_t)process_thread_number(target->pid, (pid_t)reader->tid)
                            : reader->tid;
    reader->thread = sink_thread(target->context->sink, target->process, reader->shown_tid, "");
    reader->stream = trace_stream_create(target->context->sink->writer, reader->thread);
    if (!reader->stream)
        return false;
    target->threads++;
    reader->generation = generation;
    reader->tail = __atomic_load_n(&reader->ring->tail, __ATOMIC_RELAXED);
    reader->dropped = 0;
    reader->name[0] = '\0';
    reader->oldest_ns = 0;
    reader->open_signature = 0;
    reader->cut_count = 0;
    name_thread(target, reader);
    return true;
}

static void end_thread(struct target *target, struct ring_reader *reader, uint64_t now_ns)
{
    name_thread(target, reader);
    target_ring_count_dropped(reader);
    target_ring_flush(target, reader, now_ns, true);
    target_note_ended(target, reader->tid, reader->thread, trace_stream_zones(reader->stream),
                      reader->dropped);
    target->context->written += trace_stream_written(reader->stream);
    trace_stream_destroy(reader->stream);
    target->ended_dropped += reader->dropped;
    target->unbalanced += reader->ring->unbalanced - reader->ring->unbalanced_before;
    reader->dropped = 0;
    reader->stream = NULL;
    reader->ended_generation = reader->generation;
    reader->generation = 0;
}

/* A thread that ended without telling (killed by a raw system call, or where the library could not
 * notice). Only where thread numbers mean the same on both sides. */
static bool thread_vanished(const struct target *target, struct ring_reader *reader,
                            uint64_t now_ns)
{
    if (target->control->recorder_pid_ns || now_ns - reader->idle_since_ns < IDLE_CHECK_NS)
        return false;
    reader->idle_since_ns = now_ns;
    return process_exists(target->pid) && !process_thread_exists(target->pid, (pid_t)reader->tid);
}

/* One ring's share of a pass. Returns how full it was, in percent. */
static unsigned visit_ring(struct target *target, uint32_t index, uint64_t now_ns, bool *out_any)
{
    struct ring_reader *reader = &target->rings[index];
    uint32_t *state = &ifg_wire_states(target->control)[index];
    uint32_t state_now = __atomic_load_n(state, __ATOMIC_ACQUIRE);
    uint64_t waiting = reader->head_now - reader->tail;

    if (waiting) {
        *out_any = true;
        reader->idle_since_ns = now_ns;
        target_ring_drain(target, reader, now_ns);
    } else {
        target_ring_count_dropped(reader);
    }
    /* EXITED was read before the drain saw head; the thread wrote nothing after setting it. */
    if ((state_now == IFG_WIRE_EXITED &&
         __atomic_load_n(&reader->ring->head, __ATOMIC_ACQUIRE) == reader->tail) ||
        (!waiting && state_now == IFG_WIRE_ACTIVE && thread_vanished(target, reader, now_ns))) {
        end_thread(target, reader, now_ns);
        __atomic_store_n(state, IFG_WIRE_FREE_RING, __ATOMIC_RELEASE);
    } else {
        if (memcmp(reader->ring->name, reader->name, sizeof reader->name) != 0 &&
            reader->ring->name[0])
            name_thread(target, reader);
        target_ring_flush(target, reader, now_ns, false);
    }
    if (waiting > reader->slots)
        return 100;
    return (unsigned)(waiting * 100 / reader->slots);
}

/* A thread that ends while nothing records frees its ring itself. Between our switching that off
 * and the last look, the ring may have records that we have not taken. */
static bool has_rest(const struct ring_reader *reader, struct ifg_wire_ring *ring,
                     uint32_t generation)
{
    uint64_t tail = reader->generation == generation
                        ? reader->tail
                        : __atomic_load_n(&ring->tail, __ATOMIC_RELAXED);

    return generation != reader->ended_generation &&
           __atomic_load_n(&ring->head, __ATOMIC_ACQUIRE) > tail;
}

/* Notes the head of every ring that has a thread, and gives new threads their streams. */
static void look_at_heads(struct target *target, uint32_t used, uint64_t now_ns)
{
    for (uint32_t i = 0; i < used; i++) {
        struct ring_reader *reader = &target->rings[i];
        uint32_t slots;
        struct ifg_wire_ring *ring;
        uint32_t generation;

        ring = (void *)((char *)target->control + ifg_wire_ring_offset(i, &slots));
        generation = __atomic_load_n(&ring->generation, __ATOMIC_ACQUIRE);
        if (__atomic_load_n(&ifg_wire_states(target->control)[i], __ATOMIC_ACQUIRE) ==
                IFG_WIRE_FREE_RING &&
            !has_rest(reader, ring, generation)) {
            if (!reader->generation)
                reader->ended_generation = generation;
            continue;
        }
        if (generation == reader->ended_generation)
            continue; /* taken a moment ago; its thread is still preparing it */
        if (reader->generation != generation) {
            if (reader->generation)
                end_thread(target, reader, now_ns);
            if (!begin_thread(target, i, generation))
                continue;
            reader->idle_since_ns = now_ns;
        }
        reader->head_now = __atomic_load_n(&ring->head, __ATOMIC_ACQUIRE);
        if (reader->head_now < reader->tail)
            reader->head_now = reader->tail; /* nonsense; wait for better times */
    }
}

unsigned target_drain(struct target *target, uint64_t now_ns, bool *out_any)
{
    uint32_t used = __atomic_load_n(&target->control->rings_used, __ATOMIC_ACQUIRE);
    unsigned fullest = 0;

    if (used > IFG_WIRE_RINGS)
        used = IFG_WIRE_RINGS;
    if (!grow_readers(target, used))
        used = target->ring_count;
    target_watch_confinement(target, now_ns);
    /* Heads first, definitions second: then every id that is drained below has its definition. */
    look_at_heads(target, used, now_ns);
    target_read_definitions(target, now_ns);
    for (uint32_t i = 0; i < used; i++) {
        if (target->rings[i].generation) {
            unsigned full = visit_ring(target, i, now_ns, out_any);

            if (full > fullest)
                fullest = full;
        }
    }
    if (target->devices) {
        device_streams_flush(target->devices, now_ns, false);
        device_cost_look(&target->cost_seen, target->control, now_ns, ns_per_tick(target),
                         target->context->overhead_pct);
    }
    __atomic_add_fetch(&target->control->drained, 1, __ATOMIC_RELEASE);
    fault_guard_mend(&target->guard);
    return fullest;
}

void target_flush(struct target *target, uint64_t now_ns)
{
    for (uint32_t i = 0; i < target->ring_count; i++)
        if (target->rings[i].generation)
            target_ring_flush(target, &target->rings[i], now_ns, true);
    if (target->devices)
        device_streams_flush(target->devices, now_ns, true);
}

static void report_losses(struct target *target)
{
    struct trace_writer *writer = target->context->sink->writer;
    uint64_t definitions = target->control->definitions_lost - target->definitions_lost_before;
    uint64_t ringless = target->control->ringless_dropped - target->ringless_before;

    if (definitions)
        trace_writer_loss(writer, target->process, "definitions that found the log full",
                          definitions);
    if (ringless)
        trace_writer_loss(writer, target->process, "events of threads that found no ring",
                          ringless);
    if (target->unbalanced)
        trace_writer_loss(writer, target->process, "zones whose end never came or came twice",
                          target->unbalanced);
    if (target->lost_records)
        trace_writer_loss(writer, target->process, "records that made no sense",
                          target->lost_records);
    if (target->ops_lost)
        trace_writer_loss(writer, target->process, "operators without an inference",
                          target->ops_lost);
    if (target->files_lost)
        trace_writer_loss(writer, target->process, "profiles that could not be read",
                          target->files_lost);
}

bool target_ask_devices(struct target *target)
{
    if (__atomic_load_n(&target->control->devices, __ATOMIC_ACQUIRE) != IFG_WIRE_DEVICES_FOLLOWED)
        return false;
    set_recording(target->control, IFG_WIRE_RECORDING_ENDS);
    return true;
}

bool target_awaits_devices(const struct target *target)
{
    return __atomic_load_n(&target->control->recording, __ATOMIC_RELAXED) ==
               IFG_WIRE_RECORDING_ENDS &&
           __atomic_load_n(&target->control->devices, __ATOMIC_ACQUIRE) ==
               IFG_WIRE_DEVICES_FOLLOWED;
}

void target_stop(struct target *target)
{
    __atomic_store_n(&target->control->lossless, 0, __ATOMIC_RELEASE);
    set_recording(target->control, 0);
}

void target_close(struct target *target, enum trace_process_fate fate, uint32_t code)
{
    uint64_t now_ns;
    uint64_t ticks;
    bool any = false;

    if (!target)
        return;
    __atomic_store_n(&target->control->lossless, 0, __ATOMIC_RELEASE);
    if (fate == TRACE_FATE_RUNNING)
        set_recording(target->control, 0);
    now_ns = ifg_monotonic_ns();
    target->program_ended = fate != TRACE_FATE_RUNNING;
    target_drain(target, now_ns, &any);
    for (uint32_t i = 0; i < target->ring_count; i++)
        if (target->rings[i].generation)
            end_thread(target, &target->rings[i], now_ns);
    target_take_files(target, SIZE_MAX);
    if (target->devices) {
        device_streams_flush(target->devices, now_ns, true);
        target->context->written += device_streams_written(target->devices);
        device_streams_destroy(target->devices);
        device_cost_add(&target->cost_before, target->control, ns_per_tick(target),
                        &target->context->device_cost);
    }
    report_losses(target);
    ticks = target->control->tick_source == IFG_TICKS_MONOTONIC ? ifg_monotonic_ns()
                                                                : ifg_counter_read();
    trace_writer_process_end(target->context->sink->writer, target->process, ticks, fate, code);
    /* A process that ended may have forked a moment before: its child reads here whom to join. */
    if (fate == TRACE_FATE_RUNNING) {
        target->control->session[0] = '\0';
        __atomic_store_n(&target->control->recorder_pid, 0, __ATOMIC_RELEASE);
    }
    fault_guard_remove(&target->guard);
    munmap(target->control, ifg_wire_region_bytes());
    close(target->fd);
    if (target->pidfd >= 0)
        close(target->pidfd);
    ifg_free(target->rings);
    ifg_free(target->inference_bits);
    ifg_free(target->ended);
    ifg_free(target->files);
    ifg_free(target);
}

uint32_t target_process(const struct target *target, uint32_t *out_clock)
{
    *out_clock = target_clock(target);
    return target->process;
}

pid_t target_pid(const struct target *target)
{
    return target->pid;
}

uint64_t target_start_ns(const struct target *target)
{
    return target->start_ns;
}

bool target_told_runtime(const struct target *target)
{
    return target->told_runtime;
}

int target_pidfd(const struct target *target)
{
    return target->pidfd;
}

void target_count(const struct target *target, struct target_counts *counts)
{
    counts->events += target->events;
    counts->inferences += target->inferences;
    counts->models += target->models;
    counts->threads += target->threads;
    counts->dropped += target->control->ringless_dropped - target->ringless_before;
    counts->dropped += target->ended_dropped;
    for (uint32_t i = 0; i < target->ring_count; i++)
        counts->dropped += target->rings[i].dropped;
}

bool target_is_same(const struct target *target, int fd)
{
    struct stat other;

    return fstat(fd, &other) == 0 && other.st_dev == target->identity.st_dev &&
           other.st_ino == target->identity.st_ino;
}

struct target *target_next(const struct target *target)
{
    return target->next;
}

void target_set_next(struct target *target, struct target *next)
{
    target->next = next;
}
