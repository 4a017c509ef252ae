// SPDX-License-Identifier: Apache-2.0
/*
 * What the probes deliver, by BPF and by perf: counts, arguments, texts, nesting, losses. Every
 * case runs against a program whose calls are known.
 */
#include "collect/uprobe/uprobe.h"

#include <poll.h>
#include <string.h>
#include <unistd.h>

#include "base/ticks.h"
#include "probed.h"
#include "tap.h"

#define EVENTS_MAX 60000

struct seen {
    struct uprobe_event event;
    char text[UPROBE_TEXT_MAX + 1];
};

static struct seen events[EVENTS_MAX];
static size_t event_count;
static struct probed target;
static struct uprobe *engine;
static struct ifg_error err;
static bool one_by_one;

static void keep(const struct uprobe_event *event, void *user)
{
    (void)user;
    REQUIRE(event_count < EVENTS_MAX);
    events[event_count].event = *event;
    if (event->text)
        snprintf(events[event_count].text, sizeof events[0].text, "%s", event->text);
    event_count++;
}

static void open_engine(enum uprobe_way way, size_t ring_bytes)
{
    struct uprobe_options options = {
        .way = way,
        .ring_bytes = ring_bytes,
        .one_by_one = one_by_one,
    };

    if (geteuid() != 0)
        SKIP("root: probes need root");
    event_count = 0;
    if (uprobe_open(&options, &engine, &err))
        SKIP("probes: %s", err.message);
    REQUIRE_INT(uprobe_way(engine), way);
    REQUIRE(probed_start(&target, PROBED_PLAIN));
}

static void watch(const char *function, uint32_t id, uint32_t flags, int text, int out)
{
    struct uprobe_spec spec = {
        .file = probed_file(&target),
        .offset = probed_offset(&target, function),
        .id = id,
        .flags = flags,
        .text_argument = (uint8_t)text,
        .out_argument = (uint8_t)out,
    };

    if (uprobe_add(engine, target.pid, &spec, 1, &err))
        tap_diag("%s", err.message);
    REQUIRE_INT(err.status, IFG_OK);
}

/* The end of a case: everything is there, and the program never noticed. */
static void finish(void)
{
    uprobe_stop(engine);
    uprobe_read(engine, keep, NULL);
    CHECK_INT(probed_end(&target), 7);
}

static void check_no_losses(void)
{
    struct uprobe_losses lost = uprobe_lost(engine);

    CHECK_UINT(lost.ring_full + lost.too_deep + lost.too_many + lost.out_of_order, 0);
}

static void counts_and_arguments(enum uprobe_way way)
{
    enum { THREADS = 4, CALLS = 5000 };
    uint64_t next[THREADS] = { 0 };
    pid_t tids[THREADS] = { 0 };

    open_engine(way, 16 << 20);
    watch("work_six", 77, UPROBE_RETURN, 0, 0);
    CHECK_UINT(probed_ask(&target, "six %d %d", THREADS, CALLS), 1);
    finish();
    CHECK_UINT(event_count, THREADS * CALLS);
    for (size_t i = 0; i < event_count; i++) {
        const struct uprobe_event *event = &events[i].event;
        uint64_t n = event->arguments[0];
        uint64_t thread = event->arguments[5];

        REQUIRE(thread < THREADS);
        REQUIRE_UINT(n, next[thread]++); /* each thread's calls, in their order */
        for (uint64_t a = 1; a < 5; a++)
            REQUIRE_UINT(event->arguments[a], n + a);
        REQUIRE_UINT(event->result, 15 * n + 40 + 6 * thread);
        REQUIRE_INT(event->kind, UPROBE_CALL);
        REQUIRE_UINT(event->id, 77);
        REQUIRE_UINT(event->depth, 0);
        REQUIRE_INT(event->pid, target.pid);
        REQUIRE_INT(event->own_tid, event->tid);
        REQUIRE(event->start_ns > 0 && event->start_ns < event->end_ns);
        if (!tids[thread])
            tids[thread] = event->tid;
        REQUIRE_INT(event->tid, tids[thread]);
    }
    check_no_losses();
    CHECK(tids[0] != tids[1] && tids[2] != tids[3]);
}

static void texts_and_out_words(enum uprobe_way way)
{
    open_engine(way, 0);
    watch("work_make", 1, UPROBE_RETURN, 1, 4);
    CHECK_UINT(probed_ask(&target, "make 200"), 0);
    CHECK_UINT(probed_ask(&target, "odd"), 0);
    uprobe_stop(engine);
    uprobe_read(engine, keep, NULL);
    CHECK_UINT(event_count, 202);
    for (uint64_t i = 0; i < 200; i++) {
        char name[32];

        snprintf(name, sizeof name, "model-%d", (int)i);
        REQUIRE_STR(events[i].text, name);
        REQUIRE_UINT(events[i].event.out_word, 0xabc0000000000000u + i);
        REQUIRE_INT((int)events[i].event.result, (int)(i % 3));
        REQUIRE_UINT(events[i].event.notes, way == UPROBE_PERF ? UPROBE_READ_LATE : 0);
    }
    CHECK_UINT(strlen(events[200].text), UPROBE_TEXT_MAX - 1);
    CHECK(events[200].event.notes & UPROBE_TEXT_CUT);
    CHECK(events[200].event.notes & UPROBE_OUT_MISSING);
    CHECK_STR(events[201].text, "");
    CHECK(events[201].event.notes & UPROBE_TEXT_MISSING);
    finish();
}

static void texts_behind_pointers(enum uprobe_way way)
{
    open_engine(way, 0);
    watch("work_make", 1, UPROBE_RETURN | UPROBE_TEXT_BEHIND, 1, 0);
    CHECK_UINT(probed_ask(&target, "behind"), 0);
    uprobe_stop(engine);
    uprobe_read(engine, keep, NULL);
    REQUIRE_UINT(event_count, 2);
    CHECK_STR(events[0].text, "behind a pointer");
    CHECK_UINT(events[0].event.notes, way == UPROBE_PERF ? UPROBE_READ_LATE : 0);
    CHECK_STR(events[1].text, "");
    CHECK(events[1].event.notes & UPROBE_TEXT_MISSING);
    finish();
}

static void check_call(size_t index, uint32_t id, uint32_t depth, uint64_t argument,
                       uint64_t result)
{
    REQUIRE(index < event_count);
    CHECK_INT(events[index].event.kind, UPROBE_CALL);
    CHECK_UINT(events[index].event.id, id);
    CHECK_UINT(events[index].event.depth, depth);
    CHECK_UINT(events[index].event.arguments[0], argument);
    CHECK_UINT(events[index].event.result, result);
}

static void nesting(enum uprobe_way way)
{
    const struct uprobe_event *outer = &events[2].event;

    open_engine(way, 0);
    watch("work_outer", 1, UPROBE_RETURN, 0, 0);
    watch("work_inner", 2, UPROBE_RETURN, 0, 0);
    watch("work_tail", 3, UPROBE_RETURN, 0, 0);
    watch("work_inner", 4, 0, 0, 0);
    CHECK_UINT(probed_ask(&target, "outer 5"), 112);
    CHECK_UINT(probed_ask(&target, "tail 1"), 1002);
    finish();
    /* Points (id 4) come at the entry; take them out. */
    for (size_t i = 0, kept = 0, all = event_count; i < all; i++) {
        if (events[i].event.id == 4) {
            CHECK_INT(events[i].event.kind, UPROBE_POINT);
            CHECK_UINT(events[i].event.end_ns, 0);
            event_count--;
        } else {
            events[kept++] = events[i];
        }
    }
    REQUIRE_UINT(event_count, 5);
    check_call(0, 2, 1, 5, 6);
    check_call(1, 2, 1, 105, 106);
    check_call(2, 1, 0, 5, 112);
    check_call(3, 2, 1, 1001, 1002);
    check_call(4, 3, 0, 1, 1002);
    for (size_t i = 0; i < 2; i++)
        CHECK(events[i].event.start_ns > outer->start_ns && events[i].event.end_ns < outer->end_ns);
    check_no_losses();
}

static void recursion(enum uprobe_way way)
{
    open_engine(way, 0);
    watch("work_recursive", 9, UPROBE_RETURN, 0, 0);
    CHECK_UINT(probed_ask(&target, "recurse 16"), 16);
    CHECK_UINT(probed_ask(&target, "recurse 40"), 40);
    CHECK_UINT(probed_ask(&target, "recurse 1"), 1);
    finish();
    CHECK_UINT(event_count, 16 + UPROBE_DEPTH_MAX + 1);
    for (uint64_t i = 0; i < 16; i++)
        check_call(i, 9, (uint32_t)(15 - i), i + 1, i + 1);
    for (uint64_t i = 0; i < UPROBE_DEPTH_MAX; i++)
        check_call(16 + i, 9, (uint32_t)(UPROBE_DEPTH_MAX - 1 - i), 9 + i, 9 + i);
    check_call(16 + UPROBE_DEPTH_MAX, 9, 0, 1, 1);
    CHECK_UINT(uprobe_lost(engine).too_deep, 8);
}

static void jumps_over_calls(enum uprobe_way way)
{
    open_engine(way, 0);
    watch("work_leaped", 1, UPROBE_RETURN, 0, 0);
    watch("work_leap", 2, UPROBE_RETURN, 0, 0);
    watch("work_inner", 3, UPROBE_RETURN, 0, 0);
    for (uint64_t i = 0; i < 50; i++)
        CHECK_UINT(probed_ask(&target, "leap 7"), 8);
    finish();
    REQUIRE_UINT(event_count, 100);
    for (size_t i = 0; i < 100; i += 2) {
        CHECK_UINT(events[i].event.id, 3);
        check_call(i + 1, 1, 0, 7, 8);
    }
    check_no_losses();
}

static void long_calls(enum uprobe_way way)
{
    open_engine(way, 0);
    CHECK_UINT(probed_ask(&target, "long 300"), 0);
    watch("work_long", 1, UPROBE_RETURN | UPROBE_OPEN, 0, 0);
    CHECK_UINT(probed_ask(&target, "wait"), 0); /* began before the attach: no event */
    CHECK_UINT(probed_ask(&target, "long 2000"), 0);
    for (int turn = 0; turn < 6000 && event_count == 0; turn++) {
        struct pollfd wanted = { .fd = uprobe_fd(engine), .events = POLLIN };

        poll(&wanted, 1, 10);
        uprobe_read(engine, keep, NULL);
    }
    CHECK_UINT(event_count, 1);
    CHECK_INT(events[0].event.kind, UPROBE_BEGIN);
    CHECK_UINT(events[0].event.arguments[0], 2000);
    CHECK_UINT(events[0].event.end_ns, 0);
    CHECK_UINT(probed_ask(&target, "wait"), 0);
    finish();
    REQUIRE_UINT(event_count, 2);
    check_call(1, 1, 0, 2000, events[1].event.result);
    CHECK_UINT(events[1].event.start_ns, events[0].event.start_ns);
    CHECK(events[1].event.end_ns - events[1].event.start_ns >= 2000000000u);
}

static void a_full_ring(enum uprobe_way way)
{
    uint64_t lost;

    open_engine(way, 1);
    watch("work_six", 1, 0, 0, 0);
    CHECK_UINT(probed_ask(&target, "six 2 10000"), 1);
    finish();
    lost = uprobe_lost(engine).ring_full;
    CHECK(lost > 0);
    CHECK(event_count > 100);
    CHECK_UINT(event_count + lost, 20000);
}

static void many_threads(enum uprobe_way way)
{
    enum { THREADS = 5000 };

    open_engine(way, 0);
    watch("work_inner", 1, UPROBE_RETURN, 0, 0);
    for (int i = 0; i < THREADS / 100; i++) {
        CHECK_UINT(probed_ask(&target, "churn 100"), 100);
        uprobe_read(engine, keep, NULL);
    }
    finish();
    CHECK_UINT(event_count, THREADS);
    check_no_losses();
}

static void later_and_elsewhere(enum uprobe_way way)
{
    struct probed other;
    size_t of_other = 0;
    struct uprobe_spec spec = { .id = 2, .flags = UPROBE_RETURN };

    open_engine(way, 0);
    REQUIRE(probed_start(&other, PROBED_PLAIN));
    watch("work_inner", 1, UPROBE_RETURN, 0, 0);
    CHECK_UINT(probed_ask(&target, "outer 1"), 104);
    spec.file = probed_file(&other);
    spec.offset = probed_offset(&other, "work_inner");
    REQUIRE_INT(uprobe_add(engine, other.pid, &spec, 1, &err), IFG_OK);
    CHECK_UINT(probed_ask(&other, "outer 1"), 104);
    CHECK_UINT(probed_ask(&target, "outer 1"), 104);
    uprobe_remove(engine, target.pid);
    CHECK_UINT(probed_ask(&target, "outer 1"), 104);
    CHECK_UINT(probed_ask(&other, "outer 1"), 104);
    finish();
    CHECK_INT(probed_end(&other), 7);
    CHECK_UINT(event_count, 8);
    for (size_t i = 0; i < event_count; i++) {
        of_other += events[i].event.pid == other.pid;
        CHECK_UINT(events[i].event.id, events[i].event.pid == other.pid ? 2 : 1);
    }
    CHECK_UINT(of_other, 4);
}

static void everyone(enum uprobe_way way)
{
    struct probed other;
    struct uprobe_spec spec = { .id = 2, .flags = UPROBE_RETURN };

    open_engine(way, 0);
    REQUIRE(probed_start(&other, PROBED_PLAIN));
    /* One file for both: the same program twice would do, but each has its own copy here. */
    spec.file = probed_file(&other);
    spec.offset = probed_offset(&other, "work_inner");
    REQUIRE_INT(uprobe_add(engine, UPROBE_EVERYONE, &spec, 1, &err), IFG_OK);
    CHECK_UINT(probed_ask(&other, "outer 1"), 104);
    CHECK(probed_ask(&other, "fork") > 1);
    CHECK_UINT(probed_ask(&target, "outer 1"), 104);
    finish();
    CHECK_INT(probed_end(&other), 7);
    CHECK_UINT(event_count, 2 + 50);
    CHECK_INT(events[0].event.pid, other.pid);
    CHECK(events[10].event.pid != other.pid);
}

#define WAYS(name)                                                                                 \
    static void name##_by_bpf(void)                                                                \
    {                                                                                              \
        name(UPROBE_BPF);                                                                          \
    }                                                                                              \
    static void name##_by_bpf_one_by_one(void)                                                     \
    {                                                                                              \
        one_by_one = true;                                                                         \
        name(UPROBE_BPF);                                                                          \
    }                                                                                              \
    static void name##_by_perf(void)                                                               \
    {                                                                                              \
        name(UPROBE_PERF);                                                                         \
    }
#define CASES(name)                                                                                \
    TAP_CASE(name##_by_bpf), TAP_CASE(name##_by_bpf_one_by_one), TAP_CASE(name##_by_perf)

WAYS(counts_and_arguments)
WAYS(texts_and_out_words)
WAYS(texts_behind_pointers)
WAYS(nesting)
WAYS(recursion)
WAYS(jumps_over_calls)
WAYS(long_calls)
WAYS(a_full_ring)
WAYS(many_threads)
WAYS(later_and_elsewhere)
WAYS(everyone)

TAP_MAIN(CASES(counts_and_arguments), CASES(texts_and_out_words), CASES(texts_behind_pointers),
         CASES(nesting), CASES(recursion), CASES(jumps_over_calls), CASES(long_calls),
         CASES(a_full_ring), CASES(many_threads), CASES(later_and_elsewhere), CASES(everyone))
