// SPDX-License-Identifier: Apache-2.0
/*
 * What the files of libinferogram share. Everything here runs inside somebody else's program: it
 * links nothing but libc, never prints (but see client_debug), never exits, keeps errno, and treats
 * every failure as "do not record".
 */
#ifndef IFG_CLIENT_INTERNAL_H
#define IFG_CLIENT_INTERNAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <inferogram/inferogram.h>

#include "base/ticks.h"
#include "client/event_tap.h"
#include "wire/confine.h"
#include "wire/wire.h"

#define LIKELY(x)   __builtin_expect(!!(x), 1)
#define UNLIKELY(x) __builtin_expect(!!(x), 0)

/* A signal handler on this thread must see our stores in program order; the CPU sees to the rest.
 */
#define SIGNAL_FENCE() __atomic_signal_fence(__ATOMIC_SEQ_CST)

/* Where a program's time usually comes from. */
#if defined(__aarch64__)
#define CLIENT_COUNTER IFG_TICKS_CNTVCT
#else
#define CLIENT_COUNTER IFG_TICKS_TSC
#endif

/* The shared region, or NULL: the library could not start, or was told not to. */
extern struct ifg_wire_control *client_control;
extern enum ifg_tick_source client_ticks;

/* This thread's ring, or NULL. Initial-exec: one instruction to reach it, also when the library was
 * loaded by dlopen (glibc keeps room for that). */
extern __thread struct ifg_wire_ring *client_ring __attribute__((tls_model("initial-exec")));

/* confine.c: what the program did to itself. From IFG_CONFINED_CALLS on, no system call of ours; at
 * IFG_CONFINED_CLOCK, nothing at all. */
extern enum ifg_confinement client_confinement;
uint64_t client_now_slowly(void);

static inline uint64_t client_now(void)
{
    return LIKELY(client_ticks == CLIENT_COUNTER) ? ifg_counter_read() : client_now_slowly();
}

/* Whether a system call can be made: as the program knows it, or as the recorder sees it. */
static inline bool client_may_call(void)
{
    return client_confinement == IFG_CONFINED_NOT &&
           !(client_control && __atomic_load_n(&client_control->confined, __ATOMIC_RELAXED));
}

/* The thread's number, without a system call where libc tells. */
uint32_t client_thread_id(void);
/* Once, while system calls are free. Launched by a recorder: it has so many seccomp filters, and a
 * program that has more was confined by whoever started it. */
void client_confine_start(bool launched, unsigned recorder_filters);
/* region.c: no events any more, neither of this process nor of its children. */
void client_leave_alone(void);

/* region.c: makes the memory of a range present, so that touching it later does not kill on a full
 * file system. False: it cannot be had. */
bool client_populate(void *start, size_t bytes);
bool client_needs_memory(void); /* whether that is needed at all: a memfd's is always there */

/* region.c: whether a recorder holds the region; -1: the program has closed its descriptor. */
int client_region_locked(void);

/* ring.c */
struct ifg_wire_ring *client_ring_acquire(void); /* also counts what a ringless thread loses */
enum client_take {
    CLIENT_TAKEN,
    CLIENT_FULL,  /* the record has been counted as dropped */
    CLIENT_AGAIN, /* a handler took slots since `at` was read: read it again */
};
enum client_take client_ring_take_slow(struct ifg_wire_ring *ring, uint64_t at, uint32_t slots,
                                       bool *out_outermost);
bool client_ring_has_room(struct ifg_wire_ring *ring, uint32_t slots); /* does not wait */
void client_rings_start(void);
void client_ring_abandon(void); /* this thread writes nothing any more */
bool client_rings_forked(void);

/*
 * How a record gets into the ring, although a signal handler may come between any two instructions
 * and write records of its own:
 *
 *   take     says that somebody writes (writing) and moves `taken` on: these slots are ours, and a
 *            handler that comes now takes those behind them
 *   write    the slots
 *   publish  whoever came first moves head over everything that was taken meanwhile. The handlers
 *            that interrupted it see `writing` and leave that to it: their records lie behind one
 *            that is not whole yet.
 *
 * A handler that jumps away (siglongjmp) leaves `writing` behind; client_ring_take_slow notices.
 */

/* Adds without a moment in which a signal handler's own addition could be lost. */
#if defined(__x86_64__)
#define CLIENT_BUMP(word, amount)                                                                  \
    do {                                                                                           \
        if (sizeof(word) == 8)                                                                     \
            __asm__ volatile("addq %1, %0" : "+m"(word) : "r"((uint64_t)(amount)) : "cc");         \
        else                                                                                       \
            __asm__ volatile("addl %1, %0" : "+m"(word) : "r"((uint32_t)(amount)) : "cc");         \
    } while (0)
#else
#define CLIENT_BUMP(word, amount) ((void)__atomic_fetch_add(&(word), amount, __ATOMIC_RELAXED))
#endif

/* Moves `taken` on from `at`; false if a handler took slots since it was read. No other thread
 * writes it, so that a compare-and-exchange without the lock prefix is enough. */
static inline bool client_ring_claim(struct ifg_wire_ring *ring, uint64_t at, uint32_t slots)
{
#if defined(__x86_64__)
    bool done;
    __asm__ volatile("cmpxchgq %3, %1"
                     : "=@ccz"(done), "+m"(ring->taken), "+a"(at)
                     : "r"(at + slots)
                     : "memory");
    return done;
#else
    return __atomic_compare_exchange_n(&ring->taken, &at, at + slots, false, __ATOMIC_RELAXED,
                                       __ATOMIC_RELAXED);
#endif
}

/* By the one that set `writing` from 0: all that was taken is written. */
static inline void client_ring_publish(struct ifg_wire_ring *ring)
{
    for (;;) {
        uint64_t end = ring->taken;

        __atomic_store_n(&ring->head, end, __ATOMIC_RELEASE);
        SIGNAL_FENCE();
        ring->writing = 0;
        SIGNAL_FENCE();
        if (LIKELY(ring->taken == end))
            return;
        /* A handler came before `writing` was 0 and left its record to us; or after, and did it
         * itself. */
        ring->writing = 1;
        SIGNAL_FENCE();
    }
}

/* Takes `slots` slots at `at`, which is ring->taken as the caller read it. A zone reads it before
 * the clock: then all that a handler put in front of it lies within it. */
static inline enum client_take client_ring_take(struct ifg_wire_ring *ring, uint64_t at,
                                                uint32_t slots, bool *out_outermost)
{
    if (UNLIKELY(at + slots > ring->limit || ring->writing))
        return client_ring_take_slow(ring, at, slots, out_outermost);
    ring->writing = 1;
    SIGNAL_FENCE();
    *out_outermost = true;
    if (LIKELY(client_ring_claim(ring, at, slots)))
        return CLIENT_TAKEN;
    client_ring_publish(ring);
    return CLIENT_AGAIN;
}

/* After writing what client_ring_take gave. */
static inline void client_ring_done(struct ifg_wire_ring *ring, bool outermost)
{
    SIGNAL_FENCE();
    if (LIKELY(outermost))
        client_ring_publish(ring);
    else
        CLIENT_BUMP(ring->writing, 1);
}

/* emit.c: appends a record of 1 + payload slots. */
void client_emit(enum ifg_wire_kind kind, uint64_t ticks, uint32_t reference, const void *payload,
                 size_t payload_bytes);
void client_emit_attribute(ifg_zone zone, unsigned type, const char *key, const void *value,
                           size_t value_bytes);

/* define.c: ids of what is defined; 1 stands for "the log was full". */
uint32_t client_define_location(uint32_t kind, uint32_t category, uint32_t color, uint32_t line,
                                uint32_t model, const char *name, const char *function,
                                const char *file);
uint32_t client_define_model(const char *const strings[6]);
void client_define_property(uint32_t model, const char *key, const char *value);
void client_define_instrument(uint32_t state, const char *name, const char *reason);
void client_define_file(uint32_t model, const char *kind, const char *path);
void client_define_device(uint32_t device, const char *name, const char *id);
uint32_t client_location_id_slow(ifg_location *location);
void client_definitions_inherit(struct ifg_wire_control *parent);
void client_definitions_warm(void); /* memory for the next definitions */

static inline uint32_t client_location_id(ifg_location *location)
{
    uint32_t id = __atomic_load_n(&location->id, __ATOMIC_RELAXED);

    return LIKELY(id != 0) ? id : client_location_id_slow(location);
}

/* event_tap.c: events for profiling handles. A zone with CLIENT_TAPPED in its depth ends there as
 * well; without the mark, a depth of 0 says that nobody records it. */
#define CLIENT_TAPPED   0x80000000u
#define CLIENT_DETACHED 0x7fffffffu /* not on the stack of open zones */
extern ifg_tap_function *client_tap;
void client_tap_location(uint32_t location, ifg_model *model, enum ifg_category category);
void client_tap_model(ifg_model *model, enum ifg_tap_kind kind);
ifg_zone client_tap_begin(ifg_zone zone);
ifg_zone client_tap_stage(ifg_zone zone, uint64_t request);
void client_tap_end(ifg_zone zone, uint64_t end);
void client_tap_span(uint32_t location, uint64_t start, uint64_t end);
void client_tap_async_begin(uint32_t location, uint64_t id);
void client_tap_async_end(uint32_t location, uint64_t id);
/* In the child of a fork: what its parent's threads have open is not its own. */
void client_tap_forked(void);

static inline bool client_is_tapped(void)
{
    return __atomic_load_n(&client_tap, __ATOMIC_RELAXED) != NULL;
}

/* Whether a recorder wants it: events also come here when only handles do. */
static inline bool client_is_recorded(void)
{
    return __atomic_load_n(__atomic_load_n(&ifg_recording_word, __ATOMIC_RELAXED),
                           __ATOMIC_RELAXED) != 0;
}

/* region.c: where ifg_event_word points to, now that a tap or a region came or went. */
void client_event_word_choose(void);

/* model.c: a fork in one thread must not leave the lock of another behind in the child. */
void client_models_lock(void);
void client_models_unlock(void);
uint32_t client_model_id(const ifg_model *model);
/* capture.c: what it knows of a model's inferences in this process. */
struct client_capture {
    uint64_t slowest; /* ticks */
    uint32_t runs;    /* whose inputs were wanted */
};
struct client_capture *client_model_capture(ifg_model *model);
uint32_t client_model_begins(ifg_model *model); /* inferences under way, with this one */
void client_model_ends(ifg_model *model);
uint32_t client_model_running(const ifg_model *model);
void client_models_forked(void);

/* zone.c */
ifg_zone client_zone_begin(uint32_t location);
void client_zone_end_at(ifg_zone zone, uint64_t end);
void client_zone_write(uint64_t start, uint64_t end, uint32_t location);

/* region.c: one line on stderr, by write(2), only with IFG_DEBUG set. */
void client_debug(const char *format, ...) __attribute__((format(printf, 1, 2)));

#endif
