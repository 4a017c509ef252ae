// SPDX-License-Identifier: Apache-2.0
/* Descriptions of tracepoints, planted records of the scheduler, thread names, real wakeups. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/ticks.h"
#include "collect/perf/sched_internal.h"
#include "collect/perf/threads.h"
#include "tap.h"
#include "trace/reader.h"
#include "trace/samples.h"

static const char waking_format[] =
    "name: sched_waking\nID: 375\nformat:\n"
    "\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n"
    "\tfield:unsigned char common_flags;\toffset:2;\tsize:1;\tsigned:0;\n"
    "\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n"
    "\n"
    "\tfield:char comm[16];\toffset:8;\tsize:16;\tsigned:0;\n"
    "\tfield:pid_t pid;\toffset:24;\tsize:4;\tsigned:1;\n"
    "\tfield:int target_cpu;\toffset:32;\tsize:4;\tsigned:1;\n"
    "\nprint fmt: \"comm=%s pid=%d\", REC->comm, REC->pid\n";

static void fields_of_a_description(void)
{
    struct tracepoint_field field;

    REQUIRE(tracepoint_find_field(waking_format, "pid", &field));
    CHECK_UINT(field.offset, 24); /* and not that of common_pid */
    CHECK_UINT(field.size, 4);
    CHECK(field.is_signed);
    REQUIRE(tracepoint_find_field(waking_format, "common_flags", &field));
    CHECK_UINT(field.offset, 2);
    CHECK(!field.is_signed);
    CHECK(!tracepoint_find_field(waking_format, "comm", &field)); /* no number */
    CHECK(!tracepoint_find_field(waking_format, "prio", &field));
    CHECK(!tracepoint_find_field("", "pid", &field));
    CHECK(!tracepoint_find_field("field:int pid", "pid", &field));
    CHECK(!tracepoint_find_field("field:int pid;", "pid", &field));
    CHECK(!tracepoint_find_field("field:int pid;offset:8;size:3;", "pid", &field));
    CHECK(!tracepoint_find_field("field:int pid;offset:8\nsize:4;", "pid", &field));
    CHECK(
        !tracepoint_find_field("field:int pid;offset:99999999999999999999;size:4;", "pid", &field));
    CHECK(!tracepoint_find_field("field:pid;offset:8;size:4;", "pid", &field));
    CHECK(tracepoint_find_field("field:long pid ;size:8;offset:16;", "pid", &field));
    CHECK_UINT(field.offset, 16);
}

static void values_of_fields(void)
{
    static const uint8_t record[] = { 0xff, 0xfe, 0xff, 0xff, 0xff, 1, 0, 0, 0 };
    struct tracepoint_field field = { 0, 1, true };

    CHECK_INT(tracepoint_value(&field, record, sizeof record, 7), -1);
    field.is_signed = false;
    CHECK_INT(tracepoint_value(&field, record, sizeof record, 7), 255);
    field = (struct tracepoint_field){ 1, 4, true };
    CHECK_INT(tracepoint_value(&field, record, sizeof record, 7), -2);
    CHECK_INT(tracepoint_value(&field, record, 4, 7), 7); /* it is not all there */
    field.offset = 4000000000u;
    CHECK_INT(tracepoint_value(&field, record, sizeof record, 7), 7);
    field = (struct tracepoint_field){ 0 };
    CHECK_INT(tracepoint_value(&field, record, sizeof record, 7), 7);
}

/* A record of the ring: who ran, when, where, and the tracepoint's own bytes. */
static union {
    struct perf_event_header header;
    uint8_t bytes[128];
} record;

static void plant(uint16_t type, uint8_t flags, uint32_t pid, uint32_t tid, size_t raw_size,
                  int32_t woken)
{
    uint8_t raw[64] = { 0 };
    uint32_t id[7] = { pid, tid, 1234, 0, 3, 0, (uint32_t)raw_size };
    int32_t target = 1;

    memcpy(raw, &type, sizeof type);
    raw[2] = flags;
    memcpy(raw + 24, &woken, sizeof woken);
    memcpy(raw + 32, &target, sizeof target);
    record.header.type = PERF_RECORD_SAMPLE;
    record.header.size = (uint16_t)(sizeof record.header + sizeof id + raw_size);
    memcpy(record.bytes + sizeof record.header, id, sizeof id);
    memcpy(record.bytes + sizeof record.header + sizeof id, raw, raw_size);
}

static void planted_records(void)
{
    struct sched_layout layout = { .waking_id = 375, .switch_id = 372 };
    struct sched_change change;
    uint64_t lost = 0;

    tracepoint_find_field(waking_format, "common_flags", &layout.waking[WAKING_FLAGS]);
    tracepoint_find_field(waking_format, "pid", &layout.waking[WAKING_PID]);
    tracepoint_find_field(waking_format, "target_cpu", &layout.waking[WAKING_CPU]);
    layout.leaving[SWITCH_PID] = (struct tracepoint_field){ 24, 4, true };
    layout.leaving[SWITCH_STATE] = (struct tracepoint_field){ 32, 4, true };
    plant(375, 1, 10, 11, 36, 99);
    REQUIRE(sched_understand(&layout, &record.header, &change, &lost));
    CHECK_UINT(change.time_ns, 1234);
    CHECK_UINT(sched_record_time(&record.header), 1234);
    CHECK_UINT(change.tid, 99);
    CHECK_UINT(change.cpu, 1);
    CHECK_UINT(change.waker_pid, 10);
    CHECK_UINT(change.waker_tid, 11);
    CHECK(!change.disk);
    plant(375, 9, 10, 11, 36, 99); /* an interrupt hit thread 11 and woke 99 */
    REQUIRE(sched_understand(&layout, &record.header, &change, &lost));
    CHECK_UINT(change.waker_tid, 0);
    for (size_t size = 0; size < 28; size++) { /* cut before the number of the woken one */
        plant(375, 1, 10, 11, size, 99);
        CHECK(!sched_understand(&layout, &record.header, &change, &lost));
    }
    plant(375, 1, 10, 11, 36, -1);
    CHECK(!sched_understand(&layout, &record.header, &change, &lost));
    plant(376, 1, 10, 11, 36, 99); /* another tracepoint */
    CHECK(!sched_understand(&layout, &record.header, &change, &lost));
    plant(372, 1, 10, 11, 36, 99); /* left in state 1 */
    CHECK(!sched_understand(&layout, &record.header, &change, &lost));
    plant(372, 1, 10, 11, 36, 99);
    record.bytes[sizeof record.header + 28 + 32] = 2;
    REQUIRE(sched_understand(&layout, &record.header, &change, &lost));
    CHECK(change.disk);
    CHECK_UINT(change.cpu, 3);
    plant(375, 1, 10, 11, 36, 99);
    record.bytes[sizeof record.header + 24] = 200; /* says more than there is */
    CHECK(!sched_understand(&layout, &record.header, &change, &lost));
    plant(0, 0, 0, 0, 36, 0);
    record.header.type = PERF_RECORD_LOST;
    memcpy(record.bytes + 16, &(uint64_t){ 17 }, 8);
    CHECK(!sched_understand(&layout, &record.header, &change, &lost));
    CHECK_UINT(lost, 17);
}

/* ---- names ---- */

static void names_of_threads(void)
{
    struct trace_writer *writer;
    struct trace_reader *reader;
    struct trace_profile profile;
    struct threads *threads = threads_create();
    uint32_t me = (uint32_t)getpid();
    char path[64] = "/tmp/sched_test_XXXXXX";
    int fd = mkstemp(path);

    REQUIRE(fd >= 0 && threads);
    close(fd);
    REQUIRE(trace_writer_create(path, true, &writer, NULL) == IFG_OK);
    REQUIRE(prctl(PR_SET_NAME, "names_test") == 0);
    threads_add_all(threads, me);
    CHECK_UINT(threads_process(threads, me), me);
    CHECK_UINT(threads_process(threads, 0x3ffffff0), 0);
    threads_meet(threads, 1, 1);
    CHECK_UINT(threads_process(threads, 1), 0); /* known, but not recorded */
    threads_name(threads, 77, 0x3ffffff1, "first");
    threads_write(threads, writer);
    threads_name(threads, 77, 0x3ffffff1, "worker");
    threads_end(threads, 0x3ffffff1);
    CHECK_UINT(threads_process(threads, 0x3ffffff1), 77);
    threads_write(threads, writer);
    CHECK_UINT(threads_process(threads, 0x3ffffff1), 0);
    threads_add(threads, 78, 0x3ffffff2, 0); /* ends before anybody can look */
    threads_end(threads, 0x3ffffff2);
    threads_add(threads, me, 0x3ffffff3, me); /* too, but who made it has a name */
    threads_end(threads, 0x3ffffff3);
    threads_write(threads, writer);
    threads_write(threads, writer);
    for (uint32_t i = 0; i < 100000; i++)
        threads_add(threads, 79, 0x20000000 + i, 0); /* more than are kept */
    for (uint32_t i = 0; i < 100000; i++)
        threads_end(threads, 0x20000000 + i);
    threads_write(threads, writer);
    CHECK_UINT(threads_process(threads, me), me);
    threads_destroy(threads);
    threads_destroy(NULL);
    REQUIRE(trace_writer_close(writer, NULL) == IFG_OK);
    REQUIRE(trace_reader_open(path, &reader, NULL) == IFG_OK);
    REQUIRE(trace_profile_read(reader, &profile, NULL) == IFG_OK);
    for (size_t i = 0; i < profile.thread_name_count; i++) {
        if (profile.thread_names[i].tid == me)
            CHECK_STR(profile.thread_names[i].name, "names_test");
        if (profile.thread_names[i].tid == 0x3ffffff1)
            CHECK_STR(profile.thread_names[i].name, "worker");
        if (profile.thread_names[i].tid == 0x3ffffff3)
            CHECK_STR(profile.thread_names[i].name, "names_test");
        if (i)
            CHECK(profile.thread_names[i].tid > profile.thread_names[i - 1].tid);
    }
    /* Ours, its child, process 1 and the worker; a sanitizer may have a thread of its own. */
    CHECK(profile.thread_name_count == 4 || profile.thread_name_count == 5);
    trace_profile_fini(&profile);
    trace_reader_close(reader);
    unlink(path);
}

/* ---- real ones ---- */

struct pair {
    int there[2], back[2];
    uint32_t tid;
};

static void *answer(void *user)
{
    struct pair *pair = user;
    char byte;

    pair->tid = (uint32_t)syscall(SYS_gettid);
    if (write(pair->back[1], "t", 1) != 1)
        return NULL;
    while (read(pair->there[0], &byte, 1) == 1 && byte != 'e')
        if (write(pair->back[1], "x", 1) != 1)
            break;
    return NULL;
}

struct seen {
    const struct pair *pair;
    uint32_t me;
    unsigned known;  /* wakeups of one by the other */
    unsigned others; /* by somebody else: an interrupt, say */
    uint64_t last_ns;
    bool ordered;
};

static void on_change(const struct sched_change *change, void *user)
{
    struct seen *seen = user;

    seen->ordered = seen->ordered && change->time_ns >= seen->last_ns;
    seen->last_ns = change->time_ns;
    if (change->disk || (change->tid != seen->pair->tid && change->tid != seen->me))
        return;
    if (change->waker_tid == (change->tid == seen->me ? seen->pair->tid : seen->me))
        seen->known++;
    else
        seen->others++;
}

#define ROUNDS 500

static void real_wake_ups(void)
{
    struct pair pair;
    struct seen seen = { .pair = &pair, .me = (uint32_t)syscall(SYS_gettid), .ordered = true };
    const struct sched_events events = { on_change, &seen };
    struct ifg_error err = { 0 };
    struct sched *sched;
    pthread_t other;
    char byte;

    if (sched_open(&sched, &err) != IFG_OK) {
        CHECK(err.message[0]);
        SKIP("samples: %s", err.message);
    }
    tap_diag("disk waits: %s", sched_has_disk(sched) ? "yes" : "no");
    REQUIRE(pipe(pair.there) == 0 && pipe(pair.back) == 0);
    REQUIRE(pthread_create(&other, NULL, answer, &pair) == 0);
    REQUIRE(read(pair.back[0], &byte, 1) == 1);
    for (int i = 0; i < ROUNDS; i++) {
        REQUIRE(write(pair.there[1], "x", 1) == 1);
        REQUIRE(read(pair.back[0], &byte, 1) == 1);
        if (i % 10 == 0) /* there are those of all other threads of the machine, too */
            sched_read(sched, 0, &events);
    }
    REQUIRE(write(pair.there[1], "e", 1) == 1);
    pthread_join(other, NULL);
    sched_read(sched, 0, &events);
    CHECK_UINT(seen.known, 0); /* nothing was made before then */
    sched_read(sched, UINT64_MAX, &events);
    tap_diag("%u wakeups by the other side, %u by others, %llu lost", seen.known, seen.others,
             (unsigned long long)sched_lost(sched));
    /* Whoever comes in at once takes the turn without a sleep of the other. */
    CHECK(seen.known + sched_lost(sched) >= ROUNDS * 9 / 10 && seen.known <= 2 * ROUNDS + 4);
    CHECK(seen.others < ROUNDS / 4);
    CHECK(seen.ordered);
    sched_close(sched);
    sched_close(NULL);
}

TAP_MAIN(TAP_CASE(fields_of_a_description), TAP_CASE(values_of_fields), TAP_CASE(planted_records),
         TAP_CASE(names_of_threads), TAP_CASE(real_wake_ups))
