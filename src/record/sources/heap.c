// SPDX-License-Identifier: Apache-2.0
/*
 * Allocations of a launched program (record --memory): the recorder's side of hooks/memory. A
 * library in the program picks allocations by their bytes and hands each over with a copy of the
 * stack; here they become stacks of frames in the trace.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/uio.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/ticks.h"
#include "collect/perf/pipeline.h"
#include "record/confined.h"
#include "record/fault.h"
#include "record/process.h"
#include "record/program.h"
#include "record/hooks.h"
#include "record/launch.h"
#include "record/source.h"
#include "trace/keys.h"
#include "wire/heap.h"

#define RING_NAME "heap"
#define BATCH     4096u
#define STUCK_NS  1000000000ull /* a producer that takes longer is dead, or as good as */

/* How often to pick: a pick takes the program some microseconds, and this many are 1 %. */
#define WINDOW_NS    250000000ull
#define WINDOW_MANY  500u
#define WINDOW_FEW   60u
#define INTERVAL_MAX ((uint64_t)1 << 40)

struct position {
    uint64_t at;
    uint64_t stuck_ns; /* since when the cell there is claimed and not filled; 0: it is not */
};

struct allocation_watch {
    struct recording *recording;
    struct ifg_heap *heap; /* NULL: they are not followed */
    int fd;
    struct fault_guard guard; /* a program may cut the file short */
    struct pipeline *own;     /* for stacks, if there are no samples */
    bool has_no_stacks;
    struct position stacks, frees;
    struct trace_allocation waiting[BATCH];
    size_t waiting_count;
    uint64_t picked, ended, rooted;
    uint64_t bytes;    /* that the picked ones stand for */
    uint64_t given_up; /* cells whose producer died */
    bool cut;          /* the file was found shorter than it was made */
    uint64_t window_ns, window_picked;
    uint64_t interval, widest; /* between picks: now, and the most so far */
    char reason[512];
};

/* ---- the shared file ---- */

static uint32_t can_read_itself(void)
{
    uint64_t from = 1, to = 0;
    struct iovec local = { &to, sizeof to };
    struct iovec remote = { &from, sizeof from };

    return process_vm_readv(getpid(), &local, 1, &remote, 1, 0) == (ssize_t)sizeof from;
}

/* All of its memory is taken now: later there might be none, and it would be the program that dies
 * of that. */
static struct ifg_heap *create_ring(const char *path, int *out_fd, char *reason, size_t size)
{
    int fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
    struct ifg_heap *heap = NULL;
    void *memory;
    int trouble = fd < 0 ? errno : posix_fallocate(fd, 0, sizeof *heap);

    if (!trouble) {
        memory = mmap(NULL, sizeof *heap, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
        if (memory == MAP_FAILED)
            trouble = errno;
        else
            heap = memory;
    }
    if (!heap) {
        snprintf(reason, size, "%s cannot be made: %s", path, strerror(trouble));
        if (fd >= 0)
            close(fd);
        return NULL;
    }
    *out_fd = fd;
    for (uint32_t i = 0; i < IFG_HEAP_STACKS; i++)
        heap->stacks[i].turn = i;
    for (uint32_t i = 0; i < IFG_HEAP_FREES; i++)
        heap->frees[i].turn = i;
    heap->head.version = IFG_HEAP_VERSION;
    heap->head.open = 1;
    heap->head.interval = IFG_HEAP_INTERVAL;
    heap->head.filters = confined_own_filters();
    heap->head.can_read = can_read_itself();
    __atomic_store_n(&heap->head.magic, IFG_HEAP_MAGIC, __ATOMIC_RELEASE);
    return heap;
}

static void forget_ring(struct allocation_watch *watch)
{
    if (!watch->heap)
        return;
    fault_guard_remove(&watch->guard);
    munmap(watch->heap, sizeof *watch->heap);
    close(watch->fd);
    watch->heap = NULL;
}

static void follow(struct allocation_watch *watch)
{
    char *const *command = watch->recording->options->command;
    char path[PATH_MAX];
    char ring[256];
    struct program program;

    if (launch_find(command, path, sizeof path, NULL) != IFG_OK)
        return; /* whoever starts it will say so */
    program_probe(path, &program);
    snprintf(ring, sizeof ring, "%.200s/" RING_NAME, watch->recording->directory);
    watch->heap = create_ring(ring, &watch->fd, watch->reason, sizeof watch->reason);
    if (watch->heap)
        fault_guard_add(&watch->guard, watch->heap, sizeof *watch->heap, watch->fd);
    if (watch->heap && !hooks_add_memory(watch->recording->hooks, &program, ring, watch->reason,
                                         sizeof watch->reason))
        forget_ring(watch);
}

/* ---- beginning ---- */

static void report(struct allocation_watch *watch, enum trace_instrument_state state,
                   const char *reason)
{
    sink_instrument(&watch->recording->sink, "allocations", state, reason);
}

static enum ifg_status open_source(struct recording *recording, void **out_state,
                                   struct ifg_error *err)
{
    struct allocation_watch *watch;

    if (!recording->options->memory)
        return IFG_OK;
    watch = ifg_alloc(1, sizeof *watch);
    *out_state = watch;
    if (!watch)
        return ifg_fail_no_memory(err, NULL);
    watch->recording = recording;
    if (recording->options->command)
        follow(watch);
    else
        snprintf(watch->reason, sizeof watch->reason,
                 "allocations are followed in launched programs only; resident memory is recorded");
    return IFG_OK;
}

static bool begin(void *state)
{
    struct allocation_watch *watch = state;

    if (!watch->heap) {
        report(watch, TRACE_INSTRUMENT_UNAVAILABLE, watch->reason);
        return false;
    }
    watch->window_ns = ifg_monotonic_ns();
    watch->interval = watch->widest = IFG_HEAP_INTERVAL;
    return true;
}

/* ---- taking ---- */

/* With samples there are stacks already. */
static struct pipeline *profile_of(struct allocation_watch *watch)
{
    const struct pipeline_options options = { .writer = watch->recording->sink.writer,
                                              .no_sampler = true };

    if (watch->recording->stacks)
        return watch->recording->stacks;
    if (!watch->own && !watch->has_no_stacks &&
        pipeline_open(&options, &watch->own, NULL, NULL) != IFG_OK) {
        watch->own = NULL;
        watch->has_no_stacks = true;
    }
    return watch->own;
}

static void write_waiting(struct allocation_watch *watch)
{
    struct pipeline *profile = watch->recording->stacks ? watch->recording->stacks : watch->own;

    if (!watch->waiting_count)
        return;
    if (profile)
        pipeline_flush(profile);
    trace_writer_allocations(watch->recording->sink.writer, watch->waiting, watch->waiting_count,
                             __atomic_load_n(&watch->heap->head.stacks.lost, __ATOMIC_RELAXED) +
                                 watch->given_up);
    watch->waiting_count = 0;
}

static struct trace_allocation *add(struct allocation_watch *watch)
{
    if (watch->waiting_count == BATCH)
        write_waiting(watch);
    return &watch->waiting[watch->waiting_count++];
}

/* Bytes that a picked allocation stands for: its own by the chance that it had. */
static uint64_t weigh(uint64_t bytes, uint64_t interval)
{
    double share;

    if (bytes >= interval || !bytes)
        return bytes;
    share = -expm1(-(double)bytes / (double)interval);
    return (uint64_t)((double)bytes / share);
}

static void take_stack(struct allocation_watch *watch, const struct ifg_heap_stack *cell)
{
    struct pipeline *profile = profile_of(watch);
    struct trace_allocation *out = add(watch);
    uint32_t size =
        cell->stack_bytes < IFG_HEAP_STACK_BYTES ? cell->stack_bytes : IFG_HEAP_STACK_BYTES;
    uint8_t end = TRACE_STACK_LOST;

    *out = (struct trace_allocation){
        .time_ns = cell->time_ns,
        .pid = cell->pid,
        .tid = cell->tid,
        .address = cell->address,
        .bytes = cell->bytes,
        .weight = weigh(cell->bytes, cell->interval < INTERVAL_MAX ? cell->interval : INTERVAL_MAX),
    };
    if (profile)
        out->stack = pipeline_put_stack(profile,
                                        &(struct pipeline_stack){ .time_ns = cell->time_ns,
                                                                  .pid = cell->pid,
                                                                  .tid = cell->tid,
                                                                  .program = cell->program,
                                                                  .ip = cell->ip - 1,
                                                                  .sp = cell->sp,
                                                                  .fp = cell->fp,
                                                                  .bytes = cell->stack,
                                                                  .size = size },
                                        &end);
    watch->picked++;
    watch->bytes += out->weight;
    watch->rooted += end == TRACE_STACK_ROOT;
}

static void take_free(struct allocation_watch *watch, const struct ifg_heap_free *cell)
{
    *add(watch) = (struct trace_allocation){ .time_ns = cell->time_ns,
                                             .pid = cell->pid,
                                             .tid = cell->tid,
                                             .address = cell->address,
                                             .freed = true };
    watch->ended++;
}

/* Whether the next cell can be taken. One whose producer died is passed over in time. */
static bool next_cell(struct allocation_watch *watch, struct position *position,
                      const struct ifg_heap_queue *queue, uint64_t *turn, uint32_t cells,
                      uint64_t now_ns)
{
    if (ifg_heap_is_ready(turn, position->at))
        return true;
    if (!ifg_heap_is_claimed(queue, turn, position->at)) {
        position->stuck_ns = 0;
    } else if (!position->stuck_ns) {
        position->stuck_ns = now_ns;
    } else if (now_ns - position->stuck_ns > STUCK_NS &&
               ifg_heap_give_up(turn, position->at, cells)) {
        position->at++;
        position->stuck_ns = 0;
        watch->given_up++;
    }
    return false;
}

static void take_all(struct allocation_watch *watch, uint64_t now_ns)
{
    struct ifg_heap *heap = watch->heap;

    for (uint32_t i = 0; i < 2 * IFG_HEAP_STACKS; i++) {
        struct ifg_heap_stack *cell = &heap->stacks[watch->stacks.at % IFG_HEAP_STACKS];

        if (!next_cell(watch, &watch->stacks, &heap->head.stacks, &cell->turn, IFG_HEAP_STACKS,
                       now_ns))
            break;
        take_stack(watch, cell);
        ifg_heap_release(&cell->turn, watch->stacks.at++, IFG_HEAP_STACKS);
        watch->stacks.stuck_ns = 0;
    }
    for (uint32_t i = 0; i < IFG_HEAP_FREES; i++) {
        struct ifg_heap_free *cell = &heap->frees[watch->frees.at % IFG_HEAP_FREES];

        if (!next_cell(watch, &watch->frees, &heap->head.frees, &cell->turn, IFG_HEAP_FREES,
                       now_ns))
            break;
        take_free(watch, cell);
        ifg_heap_release(&cell->turn, watch->frees.at++, IFG_HEAP_FREES);
        watch->frees.stuck_ns = 0;
    }
}

/* Fewer picks of a program that allocates a lot; more again when it is calm. */
static void adapt(struct allocation_watch *watch, uint64_t now_ns)
{
    uint64_t interval = watch->interval;
    uint64_t picked = watch->picked + watch->heap->head.stacks.lost - watch->window_picked;

    if (picked < WINDOW_MANY && now_ns - watch->window_ns < WINDOW_NS)
        return;
    if (picked >= WINDOW_MANY && interval < INTERVAL_MAX)
        interval *= 2;
    else if (picked < WINDOW_FEW && interval > IFG_HEAP_INTERVAL)
        interval /= 2;
    __atomic_store_n(&watch->heap->head.interval, interval, __ATOMIC_RELAXED);
    watch->interval = interval;
    watch->widest = interval > watch->widest ? interval : watch->widest;
    watch->window_ns = now_ns;
    watch->window_picked += picked;
}

static enum ifg_status work(void *state, uint64_t now_ns, bool *out_any, struct ifg_error *err)
{
    struct allocation_watch *watch = state;
    uint64_t before = watch->picked;

    (void)err;
    if (fault_guard_mend(&watch->guard))
        watch->cut = true; /* what comes now is zeros: nothing */
    take_all(watch, now_ns);
    adapt(watch, now_ns);
    if (watch->waiting_count >= BATCH / 2)
        write_waiting(watch);
    *out_any = watch->picked != before;
    return IFG_OK;
}

/* ---- end ---- */

/* What the hook met in the program, and what it could not tell. */
static void report_end(struct allocation_watch *watch)
{
    const struct ifg_heap_head *head = &watch->heap->head;
    const char *rest = watch->cut       ? "; then a program cut the shared memory short"
                       : head->confined ? "; programs that confine themselves (seccomp) are left "
                                          "alone from then on"
                       : head->foreign  ? "; some programs have a malloc of their own"
                                        : "";
    char text[256];

    if (watch->cut && !watch->picked) {
        report(watch, TRACE_INSTRUMENT_UNAVAILABLE, "a program cut the shared memory short");
        return;
    }
    if (watch->cut) {
        snprintf(text, sizeof text, "with stacks%s", rest);
        report(watch, TRACE_INSTRUMENT_ON, text);
        return;
    }
    if (!head->processes)
        report(watch, TRACE_INSTRUMENT_UNAVAILABLE,
               "the program did not load the library that follows them");
    else if (head->foreign >= head->processes)
        report(watch, TRACE_INSTRUMENT_UNAVAILABLE,
               "the program has a malloc of its own in its executable");
    if (!head->processes || head->foreign >= head->processes)
        return;
    snprintf(text, sizeof text, "about one of every %llu KiB, with stacks%s",
             (unsigned long long)(IFG_HEAP_INTERVAL >> 10), rest);
    if (watch->widest > IFG_HEAP_INTERVAL)
        snprintf(text, sizeof text, "one of every %llu to %llu KiB, with stacks%s",
                 (unsigned long long)(IFG_HEAP_INTERVAL >> 10),
                 (unsigned long long)(watch->widest >> 10), rest);
    report(watch, TRACE_INSTRUMENT_ON, text);
}

static enum ifg_status finish(void *state, struct ifg_error *err)
{
    struct allocation_watch *watch = state;
    struct sink *sink = &watch->recording->sink;
    struct symbolize_options options = { .sources = !watch->recording->options->no_sources };
    struct symbolize_counts named;
    uint64_t lost;

    (void)err;
    __atomic_store_n(&watch->heap->head.open, 0, __ATOMIC_RELAXED);
    for (int i = 0; i < 8; i++) /* a program that goes on may have been in the middle of one */
        take_all(watch, ifg_monotonic_ns());
    write_waiting(watch);
    report_end(watch);
    lost = watch->heap->head.stacks.lost + watch->given_up;
    sink_count(sink, TRACE_FACT_ALLOCATIONS_COUNT, watch->picked);
    sink_count(sink, TRACE_FACT_ALLOCATIONS_ENDED, watch->ended);
    sink_count(sink, TRACE_FACT_ALLOCATIONS_BYTES, watch->bytes);
    sink_count(sink, TRACE_FACT_ALLOCATIONS_ROOTED, watch->rooted);
    sink_count(sink, TRACE_FACT_ALLOCATIONS_INTERVAL_BYTES, watch->widest);
    sink_count(sink, TRACE_FACT_ALLOCATIONS_LOST, lost);
    if (lost)
        trace_writer_loss(sink->writer, 0, "allocations that found no room", lost);
    if (watch->heap->head.frees.lost)
        trace_writer_loss(sink->writer, 0, "ends of allocations that found no room",
                          watch->heap->head.frees.lost);
    if (watch->own)
        pipeline_finish(watch->own, &options, &named);
    if (watch->own && named.problem[0])
        trace_writer_fact(sink->writer, TRACE_FACT_SAMPLES_NAMES_PROBLEM, named.problem);
    return IFG_OK;
}

static void close_source(void *state)
{
    struct allocation_watch *watch = state;

    pipeline_close(watch->own);
    forget_ring(watch);
    ifg_free(watch);
}

const struct source source_heap = {
    .name = "allocations",
    .open = open_source,
    .begin = begin,
    .work = work,
    .finish = finish,
    .close = close_source,
};
