// SPDX-License-Identifier: Apache-2.0
/*
 * A thread's ring: taken at its first event while somebody records, given back when the thread
 * ends.
 *
 * The memory of a ring appears step by step during its first lap, so that neither the first zone of
 * a thread nor an idle thread pays for eight megabytes.
 */
#include "client/client_internal.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* Slots whose memory is made present at a time: 256 KiB. */
#define POPULATE_SLOTS 16384u

/* While a recorder is waited for (--lossless) or events are dropped, look this often if it still
 * lives. */
#define WAIT_NS           50000
#define CHECK_EVERY_WAITS 200u
#define CHECK_EVERY_DROPS (1u << 20)

#define SPINS 1000
#if defined(__x86_64__)
#define SPIN() __builtin_ia32_pause()
#else
#define SPIN() SIGNAL_FENCE()
#endif

/* More than handlers can plausibly emit between two instructions of the record that they
 * interrupted. */
#define HANDLER_SLOTS 512u

/* Keys below this are stored in the thread itself by glibc: setting one does not allocate, so it
 * can be done in a signal handler. */
#define KEYS_WITHOUT_ALLOCATION 32u

__thread struct ifg_wire_ring *client_ring __attribute__((tls_model("initial-exec")));
static __thread char thread_name[sizeof((struct ifg_wire_ring *)0)->name]
    __attribute__((tls_model("initial-exec")));
static __thread unsigned char acquiring __attribute__((tls_model("initial-exec")));

static pthread_key_t exit_key;
static bool exit_key_usable;

static uint32_t ring_index(const struct ifg_wire_ring *ring)
{
    const struct ifg_wire_class *classes = ifg_wire_classes();
    size_t offset =
        (size_t)((const char *)ring - (const char *)client_control) - IFG_WIRE_RINGS_OFFSET;
    uint32_t first = 0;

    for (uint32_t c = 0; c < IFG_WIRE_CLASSES; c++) {
        size_t each = IFG_WIRE_PAGE + (size_t)classes[c].slots * IFG_WIRE_SLOT;

        if (offset < each * classes[c].count)
            return first + (uint32_t)(offset / each);
        offset -= each * classes[c].count;
        first += classes[c].count;
    }
    return 0;
}

/* Runs when a thread ends. While somebody records, the recorder frees the ring after draining it.
 */
static void thread_ends(void *value)
{
    struct ifg_wire_ring *ring = value;
    uint32_t state = IFG_WIRE_FREE_RING;

    if (!client_control || ring != client_ring)
        return;
    client_ring = NULL;
    if (__atomic_load_n(&client_control->recording, __ATOMIC_RELAXED))
        state = IFG_WIRE_EXITED;
    __atomic_store_n(&ifg_wire_states(client_control)[ring_index(ring)], state, __ATOMIC_RELEASE);
}

void client_rings_start(void)
{
    exit_key_usable =
        pthread_key_create(&exit_key, thread_ends) == 0 && exit_key < KEYS_WITHOUT_ALLOCATION;
}

/* The child of a fork has one thread, and that thread no ring in the new region. True: a signal
 * handler has forked in the middle of a record, and the child will finish writing it. */
bool client_rings_forked(void)
{
    bool interrupted = client_ring && client_ring->writing;

    client_ring = NULL;
    if (exit_key_usable)
        pthread_setspecific(exit_key, NULL);
    return interrupted;
}

void client_ring_abandon(void)
{
    struct ifg_wire_ring *ring = client_ring;

    if (!ring)
        return;
    if (exit_key_usable)
        pthread_setspecific(exit_key, NULL);
    thread_ends(ring);
}

/* Rings that can be had: those that need memory are left to the recorder in a confined program. */
static uint32_t rings_to_have(void)
{
    uint32_t prepared;

    if (!client_needs_memory() || client_may_call())
        return IFG_WIRE_RINGS;
    prepared = __atomic_load_n(&client_control->rings_prepared, __ATOMIC_ACQUIRE);
    return prepared < IFG_WIRE_RINGS ? prepared : IFG_WIRE_RINGS;
}

static struct ifg_wire_ring *take_free_ring(void)
{
    uint32_t *states = ifg_wire_states(client_control);
    uint32_t count = rings_to_have();

    for (uint32_t i = 0; i < count; i++) {
        uint32_t expected = IFG_WIRE_FREE_RING;
        uint32_t used;
        uint32_t slots;

        if (__atomic_load_n(&states[i], __ATOMIC_RELAXED) != IFG_WIRE_FREE_RING)
            continue;
        if (!__atomic_compare_exchange_n(&states[i], &expected, IFG_WIRE_ACTIVE, false,
                                         __ATOMIC_ACQ_REL, __ATOMIC_RELAXED))
            continue;
        used = __atomic_load_n(&client_control->rings_used, __ATOMIC_RELAXED);
        while (used < i + 1 &&
               !__atomic_compare_exchange_n(&client_control->rings_used, &used, i + 1, false,
                                            __ATOMIC_RELEASE, __ATOMIC_RELAXED))
            ;
        return (void *)((char *)client_control + ifg_wire_ring_offset(i, &slots));
    }
    return NULL;
}

/* Slots that can be written without fear of a full file system. */
static uint64_t populated_slots(const struct ifg_wire_ring *ring, uint64_t size)
{
    uint64_t prepared = __atomic_load_n(&ring->prepared, __ATOMIC_ACQUIRE);
    uint64_t populated = ring->populated > prepared ? ring->populated : prepared;

    return client_needs_memory() && populated < size ? populated : size;
}

/* Raises ring->limit as far as tail and the populated memory allow; true when `slots` fit behind
 * head. */
static bool refresh_limit(struct ifg_wire_ring *ring, uint64_t at, uint32_t slots)
{
    uint64_t size = (uint64_t)ring->mask + 1;
    uint64_t tail = __atomic_load_n(&ring->tail, __ATOMIC_ACQUIRE);
    uint64_t limit = tail + size;
    uint64_t populated = populated_slots(ring, size);

    if (tail > at)
        return false; /* not ours to repair: the consumer wrote nonsense */
    while (UNLIKELY(populated < size) && at + slots > populated) {
        uint64_t step = size - populated;

        if (!client_may_call())
            break; /* the recorder will see to it */

        if (step > POPULATE_SLOTS)
            step = POPULATE_SLOTS;
        if (!client_populate(ifg_wire_slots(ring) + populated, step * IFG_WIRE_SLOT))
            return false;
        populated += step;
        ring->populated = (uint32_t)populated;
    }
    if (populated < size && limit > populated)
        limit = populated;
    ring->limit = limit;
    return at + slots <= limit;
}

bool client_ring_has_room(struct ifg_wire_ring *ring, uint32_t slots)
{
    uint64_t at = ring->taken;

    return at + slots <= ring->limit || refresh_limit(ring, at, slots);
}

/* A page's memory, without a system call. Nothing changes in it. */
static void touch(void *address)
{
    __atomic_fetch_or((uint64_t *)address, 0, __ATOMIC_RELAXED);
}

static bool prepare_ring(struct ifg_wire_ring *ring)
{
    uint32_t index = ring_index(ring);
    uint32_t slots;

    ifg_wire_ring_offset(index, &slots);
    /* Even reading a page that is not there may kill. */
    if (!client_populate(ring, IFG_WIRE_PAGE) &&
        index >= __atomic_load_n(&client_control->rings_prepared, __ATOMIC_ACQUIRE))
        return false;
    ring->mask = slots - 1;
    ring->depth = 0;
    ring->dropped = 0;
    ring->dropped_before = 0; /* the consumer's, but a free ring has none */
    ring->unbalanced = 0;
    ring->unbalanced_before = 0;
    ring->tid = client_thread_id();
    memcpy(ring->name, thread_name, sizeof ring->name);
    ring->taken = __atomic_load_n(&ring->head, __ATOMIC_RELAXED);
    ring->writing = 0;
    /* Memory for the first records now, so that a thread's first zone does not contain the wait for
     * it. */
    ring->limit = ring->taken;
    if (!refresh_limit(ring, ring->taken, 1))
        ring->limit = ring->taken; /* full, or no memory: looked at again before the first slot */
    else
        touch(&ifg_wire_slots(ring)[ring->taken & ring->mask]);
    client_definitions_warm();
    __atomic_store_n(&ring->generation, ring->generation + 1, __ATOMIC_RELEASE);
    return true;
}

struct ifg_wire_ring *client_ring_acquire(void)
{
    int saved_errno = errno;
    struct ifg_wire_ring *ring = NULL;

    if (!client_control || client_confinement == IFG_CONFINED_CLOCK)
        return NULL;
    if (!acquiring) { /* set: we are in a signal handler that interrupted this very function */
        acquiring = 1;
        SIGNAL_FENCE();
        if (client_ring) { /* a handler was faster */
            acquiring = 0;
            return client_ring;
        }
        ring = take_free_ring();
        if (ring && !prepare_ring(ring)) {
            __atomic_store_n(&ifg_wire_states(client_control)[ring_index(ring)], IFG_WIRE_FREE_RING,
                             __ATOMIC_RELEASE);
            ring = NULL;
        }
        if (ring) {
            client_ring = ring;
            if (exit_key_usable)
                pthread_setspecific(exit_key, ring);
        }
        SIGNAL_FENCE();
        acquiring = 0;
    }
    if (!ring)
        __atomic_fetch_add(&client_control->ringless_dropped, 1, __ATOMIC_RELAXED);
    errno = saved_errno;
    return ring;
}

/* A recorder holds a lock on the region for as long as it lives; where the program has closed the
 * region's descriptor, its pid must do, if that means anything here. */
static bool recorder_is_gone(void)
{
    uint32_t pid = __atomic_load_n(&client_control->recorder_pid, __ATOMIC_RELAXED);
    int locked = client_region_locked();

    if (!pid || locked > 0 || !client_may_call())
        return false;
    if (locked == 0)
        return true;
    return !client_control->recorder_pid_ns && kill((pid_t)pid, 0) < 0 && errno == ESRCH;
}

/* Nobody will drain us again: go back to the cheap path until the next recorder comes. */
static void forget_recorder(void)
{
    __atomic_store_n(&client_control->recording, 0, __ATOMIC_RELAXED);
    __atomic_store_n(&client_control->lossless, 0, __ATOMIC_RELAXED);
}

static void drop(struct ifg_wire_ring *ring)
{
    CLIENT_BUMP(ring->dropped, 1);
    if (UNLIKELY(ring->dropped % CHECK_EVERY_DROPS == 0)) {
        int saved_errno = errno;

        if (recorder_is_gone())
            forget_recorder();
        errno = saved_errno;
    }
}

/* About two seconds. */
static uint64_t patience_ticks(void)
{
#if defined(__aarch64__)
    uint64_t per_second;

    __asm__("mrs %0, cntfrq_el0" : "=r"(per_second));
    if (client_ticks == CLIENT_COUNTER)
        return 2 * per_second;
#endif
    return client_ticks == CLIENT_COUNTER ? 6000000000u : 2000000000u;
}

/* In a program that cannot sleep. A recorder that does not move any more is as good as gone. */
static bool recorder_moves(uint32_t *drained, uint64_t *since)
{
    uint32_t now = __atomic_load_n(&client_control->drained, __ATOMIC_RELAXED);
    uint64_t ticks = client_now();

    if (!*since || now != *drained) {
        *drained = now;
        *since = ticks;
    }
    for (int i = 0; i < SPINS; i++)
        SPIN();
    return ticks - *since < patience_ticks();
}

static bool has_room(struct ifg_wire_ring *ring, uint64_t at, uint32_t slots)
{
    int saved_errno;
    unsigned waits = 0;
    uint64_t since = 0;
    uint32_t drained = 0;
    bool room;

    if (at + slots <= ring->limit)
        return true;
    saved_errno = errno;
    while (!(room = refresh_limit(ring, at, slots))) {
        static const struct timespec nap = { 0, WAIT_NS };

        if (!__atomic_load_n(&client_control->lossless, __ATOMIC_RELAXED) ||
            !__atomic_load_n(&client_control->recording, __ATOMIC_RELAXED))
            break;
        if (ring->writing)
            break; /* a handler in the middle of a record: what it waits for cannot come */
        if (client_may_call() ? ++waits % CHECK_EVERY_WAITS == 0 && recorder_is_gone()
                              : !recorder_moves(&drained, &since)) {
            forget_recorder();
            break;
        }
        if (client_may_call())
            nanosleep(&nap, NULL);
    }
    errno = saved_errno;
    return room;
}

/* A handler interrupted a record and jumped away, long ago: nobody will publish any more. What was
 * written since lies behind a record that is not whole; all of it is given up. */
static void give_up_unpublished(struct ifg_wire_ring *ring)
{
    CLIENT_BUMP(ring->dropped, ring->writing);
    ring->taken = __atomic_load_n(&ring->head, __ATOMIC_RELAXED);
    SIGNAL_FENCE();
    ring->writing = 0;
}

enum client_take client_ring_take_slow(struct ifg_wire_ring *ring, uint64_t at, uint32_t slots,
                                       bool *out_outermost)
{
    bool outermost = ring->writing == 0;

    if (!outermost && at - __atomic_load_n(&ring->head, __ATOMIC_RELAXED) > HANDLER_SLOTS) {
        give_up_unpublished(ring);
        return CLIENT_AGAIN;
    }
    if (!has_room(ring, at, slots)) {
        drop(ring);
        return CLIENT_FULL;
    }
    if (outermost)
        ring->writing = 1;
    SIGNAL_FENCE();
    *out_outermost = outermost;
    if (client_ring_claim(ring, at, slots))
        return CLIENT_TAKEN;
    if (outermost)
        client_ring_publish(ring);
    return CLIENT_AGAIN;
}

void ifg_thread_name(const char *name)
{
    size_t length = name ? strnlen(name, sizeof thread_name - 1) : 0;

    memset(thread_name, 0, sizeof thread_name);
    if (length)
        memcpy(thread_name, name, length);
    if (client_ring)
        memcpy(client_ring->name, thread_name, sizeof thread_name);
}
