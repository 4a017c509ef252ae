// SPDX-License-Identifier: Apache-2.0
/*
 * Events in signal handlers. The CPU's single-step flag delivers a signal after every instruction
 * of the library; at each of these points in turn a handler emits events of its own. Whatever it
 * interrupted, every event must come out once and whole.
 */
#include "client/fake_recorder.h"

#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/ucontext.h>
#include <unistd.h>

#include "tap.h"

#define OUTER_VALUE 0x1111111111111111ull
#define INNER_VALUE 0x2222222222222222ull
#define STEPS_MAX   4000
#define SMALL_RING  86u

static ifg_location outer_zone = { "outer", "f", "file.c", 1, 0, IFG_LOCATION_ZONE, 0 };
static ifg_location inner_zone = { "inner", "f", "file.c", 2, 0, IFG_LOCATION_ZONE, 0 };
static ifg_location outer_async = { "outer", "f", "file.c", 3, 0, IFG_LOCATION_ASYNC, 0 };
static ifg_location inner_async = { "inner", "f", "file.c", 4, 0, IFG_LOCATION_ASYNC, 0 };
static ifg_location inner_frame = { "frame", "f", "file.c", 5, 0, IFG_LOCATION_FRAME, 0 };

static volatile sig_atomic_t steps;
static volatile sig_atomic_t act_at; /* the step at which the handler emits */
static volatile sig_atomic_t acted;
static volatile sig_atomic_t jump;
static sigjmp_buf after_jump;

static void emit_inner(void)
{
    ifg_zone zone = ifg_zone_begin(&inner_zone);

    ifg_async_begin(&inner_async, INNER_VALUE);
    if (zone.depth)
        ifg_zone_end(zone);
    ifg_frame(&inner_frame);
}
#define INNER_EVENTS 3u

/* What follows runs at full speed. */
static void steps_are_over(void *context)
{
#if defined(__x86_64__)
    ((ucontext_t *)context)->uc_mcontext.gregs[REG_EFL] &= ~0x100;
#else
    (void)context;
#endif
}

static void on_step(int number, siginfo_t *info, void *context)
{
    (void)number;
    (void)info;
    if (++steps != act_at)
        return;
    acted = 1;
    steps_are_over(context);
    errno = EDOM; /* the handler's own business */
    emit_inner();
    if (jump)
        siglongjmp(after_jump, 1);
}

#if defined(__x86_64__)
#define CAN_STEP 1
static inline __attribute__((always_inline)) void step_on(void)
{
    __asm__ volatile("lea -128(%%rsp), %%rsp\n\tpushfq\n\torq $0x100, (%%rsp)\n\tpopfq\n\t"
                     "lea 128(%%rsp), %%rsp"
                     :
                     :
                     : "memory", "cc");
}
static inline __attribute__((always_inline)) void step_off(void)
{
    __asm__ volatile("lea -128(%%rsp), %%rsp\n\tpushfq\n\tandq $~0x100, (%%rsp)\n\tpopfq\n\t"
                     "lea 128(%%rsp), %%rsp"
                     :
                     :
                     : "memory", "cc");
}
#else
#define CAN_STEP 0
static void step_on(void)
{
}
static void step_off(void)
{
}
#endif

static void catch_steps(void)
{
    struct sigaction action = { .sa_sigaction = on_step, .sa_flags = SA_SIGINFO };

    if (!CAN_STEP)
        SKIP("single steps are only done on x86-64");
#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
    SKIP("a sanitizer delays signals");
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer) || __has_feature(address_sanitizer)
    SKIP("a sanitizer delays signals");
#endif
#endif
    REQUIRE(client_control != NULL);
    sigaction(SIGTRAP, &action, NULL);
    fake_recorder_start();
    /* A small ring, so that it is full soon: all larger ones are somebody else's. */
    for (uint32_t i = 0; i < SMALL_RING; i++)
        ifg_wire_states(client_control)[i] = IFG_WIRE_ACTIVE;
}

/* What came out of the ring in one round. */
struct tally {
    unsigned outer_zones;
    unsigned inner_zones;
    unsigned outer_asyncs;
    unsigned inner_asyncs;
    unsigned frames;
    unsigned other;
    unsigned disorder;
    uint64_t earliest; /* no zone may have begun before */
    uint64_t last_start;
    uint64_t last_end;
};

static void count(const struct fake_record *record, void *user)
{
    struct tally *tally = user;
    uint64_t now = client_now();
    bool sane = record->ticks >= tally->earliest && record->ticks <= now &&
                record->duration <= now - tally->earliest;

    if (record->kind == 0) {
        /* In the order of ends: each follows the one before, or contains it. */
        uint64_t end = record->ticks + record->duration;

        if (tally->last_end && !(record->ticks >= tally->last_end ||
                                 (record->ticks <= tally->last_start && end >= tally->last_end)))
            tally->disorder++;
        tally->last_start = record->ticks;
        tally->last_end = end;
    }
    if (!sane)
        tally->other++;
    else if (record->kind == 0 && record->reference == outer_zone.id)
        tally->outer_zones++;
    else if (record->kind == 0 && record->reference == inner_zone.id)
        tally->inner_zones++;
    else if (record->kind == IFG_WIRE_ASYNC_BEGIN && record->reference == outer_async.id &&
             fake_u64(record, 0) == OUTER_VALUE)
        tally->outer_asyncs++;
    else if (record->kind == IFG_WIRE_ASYNC_BEGIN && record->reference == inner_async.id &&
             fake_u64(record, 0) == INNER_VALUE)
        tally->inner_asyncs++;
    else if (record->kind == IFG_WIRE_FRAME && record->reference == inner_frame.id)
        tally->frames++;
    else
        tally->other++;
}

static __attribute__((noinline)) void emit_zone(void)
{
    ifg_zone zone = ifg_zone_begin(&outer_zone);

    if (zone.depth)
        ifg_zone_end(zone);
}

static __attribute__((noinline)) void emit_async(void)
{
    ifg_async_begin(&outer_async, OUTER_VALUE);
}

/* Everything has its id and the thread its ring. */
static void warm_up(void)
{
    uint64_t nonsense = 0;

    emit_zone();
    emit_async();
    emit_inner();
    REQUIRE(client_ring != NULL);
    fake_drain(client_ring, UINT64_MAX, NULL, NULL, &nonsense);
    REQUIRE_UINT(nonsense, 0);
}

/* One call of `emit` with the handler acting at step `at`; false when it was over before that. */
static bool round_with_handler_at(int at, void (*emit)(void))
{
    steps = 0;
    acted = 0;
    act_at = at;
    errno = ENOTTY;
    step_on();
    emit();
    step_off();
    return acted;
}

static void check_round(int at, const struct tally *tally, uint64_t nonsense, bool zone)
{
    bool good = tally->outer_zones == (zone ? 1u : 0u) && tally->outer_asyncs == (zone ? 0u : 1u) &&
                tally->inner_zones == 1 && tally->inner_asyncs == 1 && tally->frames == 1 &&
                tally->other == 0 && tally->disorder == 0 && nonsense == 0 &&
                client_ring->depth == 0;

    if (!good)
        tap_diag(
            "step %d: zones %u+%u, asyncs %u+%u, frames %u, other %u, disorder %u, nonsense %u, "
            "depth %u",
            at, tally->outer_zones, tally->inner_zones, tally->outer_asyncs, tally->inner_asyncs,
            tally->frames, tally->other, tally->disorder, (unsigned)nonsense, client_ring->depth);
    CHECK(good);
}

static int each_step(void (*emit)(void), bool zone)
{
    int at;

    for (at = 1; at < STEPS_MAX; at++) {
        struct tally tally = { .earliest = client_now() };
        uint64_t nonsense = 0;

        if (!round_with_handler_at(at, emit))
            break;
        fake_drain(client_ring, UINT64_MAX, count, &tally, &nonsense);
        check_round(at, &tally, nonsense, zone);
    }
    return at;
}

static void zones_survive_a_handler_at_every_instruction(void)
{
    catch_steps();
    warm_up();
    CHECK(each_step(emit_zone, true) > 20);
    CHECK_UINT(client_ring->dropped, 0);
    CHECK_UINT(client_ring->unbalanced, 0);
}

static void records_survive_a_handler_at_every_instruction(void)
{
    catch_steps();
    warm_up();
    CHECK(each_step(emit_async, false) > 20);
    CHECK_UINT(client_ring->dropped, 0);
}

/* The ring has room for some of the four events: each is there or counted as dropped. */
static void a_full_ring_counts_exactly_at_every_instruction(void)
{
    catch_steps();
    warm_up();
    for (unsigned room = 0; room < 6; room++) {
        for (int at = 1; at < STEPS_MAX; at++) {
            struct tally tally = { .earliest = client_now() };
            uint64_t nonsense = 0;
            uint64_t dropped = client_ring->dropped;
            uint64_t size = (uint64_t)client_ring->mask + 1;
            uint64_t left = size;
            unsigned recorded;

            /* The consumer is behind by all but `room` slots. */
            while (left > room) {
                ifg_frame(&inner_frame);
                left--;
            }
            if (client_ring->dropped != dropped) {
                CHECK_UINT(client_ring->dropped, dropped);
                return;
            }
            if (!round_with_handler_at(at, emit_zone)) {
                fake_drain(client_ring, UINT64_MAX, NULL, NULL, &nonsense);
                break;
            }
            fake_drain(client_ring, size - room, NULL, NULL, &nonsense);
            fake_drain(client_ring, UINT64_MAX, count, &tally, &nonsense);
            recorded = tally.outer_zones + tally.inner_zones + tally.inner_asyncs + tally.frames;
            if (recorded + client_ring->dropped - dropped != 1 + INNER_EVENTS || nonsense ||
                tally.other || client_ring->depth) {
                tap_diag("room %u, step %d: recorded %u, dropped %u, other %u, nonsense %u", room,
                         at, recorded, (unsigned)(client_ring->dropped - dropped), tally.other,
                         (unsigned)nonsense);
                CHECK(!"exact");
            }
        }
    }
}

/* The first event of a thread is interrupted: what cannot get a ring is counted. */
static void the_first_event_survives_a_handler_at_any_instruction(void)
{
    catch_steps();
    for (int at = 1; at < STEPS_MAX; at += 5) { /* there are many */
        struct tally tally = { .earliest = client_now() };
        uint64_t nonsense = 0;
        uint64_t ringless = client_control->ringless_dropped;
        bool interrupted;
        unsigned recorded;

        outer_zone.id = 0;
        inner_zone.id = 0;
        if (client_ring) /* as if this thread had just begun */
            ifg_wire_states(client_control)[SMALL_RING] = IFG_WIRE_FREE_RING;
        client_ring = NULL;
        interrupted = round_with_handler_at(at, emit_zone);
        REQUIRE(client_ring != NULL || interrupted);
        if (!interrupted)
            break;
        if (client_ring)
            fake_drain(client_ring, UINT64_MAX, count, &tally, &nonsense);
        recorded = tally.outer_zones + tally.inner_zones + tally.inner_asyncs + tally.frames;
        if (recorded + client_control->ringless_dropped - ringless != 1 + INNER_EVENTS ||
            nonsense || tally.other) {
            tap_diag("step %d: recorded %u, ringless %u, other %u, nonsense %u", at, recorded,
                     (unsigned)(client_control->ringless_dropped - ringless), tally.other,
                     (unsigned)nonsense);
            CHECK(!"exact");
        }
    }
}

/* A handler that never returns: it jumps out, at every instruction in turn. What follows must be
 * right. */
static void a_handler_may_jump_away_at_every_instruction(void)
{
    struct tally tally = { .earliest = client_now() };
    uint64_t nonsense = 0;
    uint64_t taken = 0;
    volatile int at = 1;
    uint64_t before;

    catch_steps();
    warm_up();
    jump = 1;
    for (; at < STEPS_MAX; at = at + 1) {
        if (sigsetjmp(after_jump, 1) == 0) {
            if (!round_with_handler_at(at, emit_zone))
                break;
        }
        step_off();
        emit_zone();
        taken += fake_drain(client_ring, UINT64_MAX, count, &tally, &nonsense);
    }
    CHECK(at > 20);
    CHECK(taken > 0);
    CHECK_UINT(nonsense, 0);
    CHECK_UINT(tally.other, 0);
    /* And the thread still records. */
    jump = 0;
    for (uint64_t i = 0; i < 3ull * (client_ring->mask + 1); i++) {
        emit_zone();
        if (i % 64 == 0)
            fake_drain(client_ring, UINT64_MAX, NULL, NULL, &nonsense);
    }
    fake_drain(client_ring, UINT64_MAX, NULL, NULL, &nonsense);
    before = client_ring->dropped;
    tally = (struct tally){ .earliest = client_now() };
    for (int i = 0; i < 100; i++)
        emit_zone();
    CHECK_UINT(fake_drain(client_ring, UINT64_MAX, count, &tally, &nonsense), 100);
    CHECK_UINT(tally.outer_zones, 100);
    CHECK_UINT(client_ring->dropped, before);
    CHECK_UINT(nonsense, 0);
}

TAP_MAIN(TAP_CASE(zones_survive_a_handler_at_every_instruction),
         TAP_CASE(records_survive_a_handler_at_every_instruction),
         TAP_CASE(a_full_ring_counts_exactly_at_every_instruction),
         TAP_CASE(the_first_event_survives_a_handler_at_any_instruction),
         TAP_CASE(a_handler_may_jump_away_at_every_instruction))
