// SPDX-License-Identifier: Apache-2.0
/*
 * What the files of libinferogram share. Everything here runs inside somebody else's program: it links
 * nothing but libc, never prints (but see client_debug), never exits, keeps errno, and treats every
 * failure as "do not record".
 */
#ifndef IFG_CLIENT_INTERNAL_H
#define IFG_CLIENT_INTERNAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <inferogram/inferogram.h>

#include "base/ticks.h"
#include "wire/wire.h"

#define LIKELY(x)   __builtin_expect(!!(x), 1)
#define UNLIKELY(x) __builtin_expect(!!(x), 0)

/* A signal handler on this thread must see our stores in program order; the CPU sees to the rest. */
#define SIGNAL_FENCE() __atomic_signal_fence(__ATOMIC_SEQ_CST)

/* The shared region, or NULL: the library could not start, or was told not to. */
extern struct ifg_wire_control *client_control;
extern enum ifg_tick_source client_ticks;

/* This thread's ring, or NULL. Initial-exec: one instruction to reach it, also when the library was
 * loaded by dlopen (glibc keeps room for that). */
extern __thread struct ifg_wire_ring *client_ring __attribute__((tls_model("initial-exec")));

static inline uint64_t client_now(void)
{
    return LIKELY(client_ticks != IFG_TICKS_MONOTONIC) ? ifg_counter_read() : ifg_monotonic_ns();
}

/* region.c: makes the memory of a range present, so that touching it later neither faults nor, on a full
 * file system, kills. False: it cannot be had. */
bool client_populate(void *start, size_t bytes);

/* ring.c */
struct ifg_wire_ring *client_ring_acquire(void); /* also counts what a ringless thread loses */
bool client_ring_room(struct ifg_wire_ring *ring, uint64_t head, uint32_t slots);
void client_ring_drop(struct ifg_wire_ring *ring);
void client_rings_start(void);
void client_rings_forked(void);

/* The producer's only way to publish: moves head from `expected`, unless a signal handler on this very
 * thread moved it meanwhile; then returns the new head and nothing is published. An unlocked
 * compare-and-exchange is enough, since no other thread ever writes head. */
static inline uint64_t client_ring_publish(struct ifg_wire_ring *ring, uint64_t expected,
                                           uint64_t wanted)
{
#if defined(__x86_64__)
    uint64_t seen = expected;
    __asm__ volatile("cmpxchgq %2, %1"
                     : "+a"(seen), "+m"(ring->head)
                     : "r"(wanted)
                     : "memory", "cc");
    return seen;
#else
    uint64_t seen = expected;
    __atomic_compare_exchange_n(&ring->head, &seen, wanted, false, __ATOMIC_RELEASE,
                                __ATOMIC_RELAXED);
    return seen;
#endif
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
uint32_t client_location_id_slow(ifg_location *location);
void client_definitions_inherit(struct ifg_wire_control *parent);

static inline uint32_t client_location_id(ifg_location *location)
{
    uint32_t id = __atomic_load_n(&location->id, __ATOMIC_RELAXED);

    return LIKELY(id != 0) ? id : client_location_id_slow(location);
}

/* model.c: a fork in one thread must not leave the lock of another behind in the child. */
void client_models_lock(void);
void client_models_unlock(void);

/* zone.c */
ifg_zone client_zone_begin(uint32_t location);

/* region.c: one line on stderr, by write(2), only with IFG_DEBUG set. */
void client_debug(const char *format, ...) __attribute__((format(printf, 1, 2)));

#endif
