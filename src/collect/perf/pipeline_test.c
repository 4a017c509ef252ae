// SPDX-License-Identifier: Apache-2.0
/* Real samples of a real child: launched and attached, with threads, ends and limits. */
#include "collect/perf/pipeline.h"

#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/ticks.h"
#include "tap.h"
#include "trace/reader.h"
#include "trace/samples.h"

#define HZ 997

static char path[64];
static struct trace_writer *writer;
static struct trace_reader *reader;
static struct trace_profile read_profile;
static struct trace_sample *samples;
static size_t sample_count;
static struct trace_switch *switches;
static size_t switch_count;

static _Thread_local volatile uint64_t sink;

/* Uses up CPU time of its own thread, so that a busy machine changes nothing. */
__attribute__((noinline)) static void spin_here(double seconds)
{
    struct timespec now, begin;

    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &begin);
    do {
        for (int i = 0; i < 20000; i++)
            sink = sink * 31 + (uint64_t)i;
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    } while ((double)(now.tv_sec - begin.tv_sec) + 1e-9 * (double)(now.tv_nsec - begin.tv_nsec) <
             seconds);
}

__attribute__((noinline)) static void *spin_in_thread(void *user)
{
    spin_here(0.2);
    usleep(1000);
    return user;
}

static void open_writer(void)
{
    int fd;

    snprintf(path, sizeof path, "/tmp/profile_test_XXXXXX");
    fd = mkstemp(path);
    REQUIRE(fd >= 0);
    close(fd);
    REQUIRE(trace_writer_create(path, true, &writer, NULL) == IFG_OK);
}

static void read_back(void)
{
    uint64_t lost;

    REQUIRE(trace_writer_close(writer, NULL) == IFG_OK);
    REQUIRE(trace_reader_open(path, &reader, NULL) == IFG_OK);
    REQUIRE(trace_profile_read(reader, &read_profile, NULL) == IFG_OK);
    REQUIRE(trace_samples_read(reader, &read_profile, &samples, &sample_count, &lost, NULL) ==
            IFG_OK);
    REQUIRE(trace_switches_read(reader, &switches, &switch_count, NULL) == IFG_OK);
    CHECK_UINT(read_profile.damaged, 0);
}

static void clean_up(void)
{
    ifg_free(samples);
    ifg_free(switches);
    trace_profile_fini(&read_profile);
    trace_reader_close(reader);
    unlink(path);
}

/* A child that waits for a byte, then does its work. */
static pid_t start(int *out_go, void (*work)(void))
{
    int go[2];
    pid_t child;

    REQUIRE(pipe(go) == 0);
    child = fork();
    REQUIRE(child >= 0);
    if (!child) {
        char byte;

        close(go[1]);
        if (read(go[0], &byte, 1) == 1)
            work();
        _exit(0);
    }
    close(go[0]);
    *out_go = go[1];
    return child;
}

/* The longest time from one drain to the next: what the kernel does meanwhile, nobody can help. */
static uint64_t longest_pause_ns;

static void drain_until_end(struct pipeline *pipeline, pid_t child)
{
    uint64_t last_ns = ifg_monotonic_ns();

    longest_pause_ns = 0;
    while (waitpid(child, NULL, WNOHANG) == 0) {
        uint64_t now_ns = ifg_monotonic_ns();

        longest_pause_ns =
            now_ns - last_ns > longest_pause_ns ? now_ns - last_ns : longest_pause_ns;
        last_ns = now_ns;
        pipeline_drain(pipeline, false);
        usleep(10000);
    }
}

static struct pipeline *open_pipeline(pid_t child, bool launched)
{
    struct pipeline_options options = {
        .writer = writer, .sampler = { .pid = child, .launched = launched, .hz = HZ }
    };
    struct pipeline *pipeline = NULL;
    struct sampler_facts facts;
    struct ifg_error err = { 0 };
    enum ifg_status status = pipeline_open(&options, &pipeline, &facts, &err);

    if (status == IFG_PERMISSION || status == IFG_UNSUPPORTED)
        SKIP("samples: %s", err.message);
    if (status)
        tap_diag("%s", err.message);
    REQUIRE(status == IFG_OK);
    CHECK_UINT(facts.hz, HZ);
    return pipeline;
}

static bool is_named(uint32_t frame, const char *function)
{
    for (size_t i = 0; i < read_profile.symbol_count; i++)
        if (read_profile.symbols[i].frame == frame &&
            strcmp(read_profile.symbols[i].function, function) == 0)
            return true;
    return false;
}

/* How many of the samples have this function of ours on their stack. */
static size_t count_inside(const char *function)
{
    size_t found = 0;

    for (size_t i = 0; i < sample_count; i++)
        for (uint32_t node = samples[i].stack; node; node = read_profile.nodes[node - 1].parent)
            if (is_named(read_profile.nodes[node - 1].frame, function)) {
                found++;
                break;
            }
    return found;
}

/* The test program has symbols, lines and sources: all of it is in the trace. */
static void check_names(const struct symbolize_counts *named)
{
    bool function = false, line = false, code = false, source = false;

    CHECK_STR(named->problem, "");
    for (size_t i = 0; i < read_profile.symbol_count; i++) {
        const struct trace_symbol *symbol = &read_profile.symbols[i];

        if (strcmp(symbol->function, "spin_here") != 0)
            continue;
        function = true;
        line = line || (symbol->line && strstr(symbol->file, "pipeline_test.c"));
        for (size_t k = 0; k < read_profile.code_count; k++)
            code = code || (read_profile.code[k].address == symbol->start &&
                            read_profile.code[k].size == symbol->size &&
                            memcmp(read_profile.code[k].bytes, (void *)spin_here, 16) == 0);
    }
    for (size_t i = 0; i < read_profile.source_count; i++)
        source = source || (strstr(read_profile.sources[i].path, "pipeline_test.c") &&
                            strstr(read_profile.sources[i].text, "spin_in_thread"));
    CHECK(function);
    CHECK(line);
    CHECK(code);
    CHECK(source);
}

static void work_alone(void)
{
    spin_here(0.5);
}

static void attached_to_a_process(void)
{
    struct pipeline_counts counts;
    struct symbolize_counts named;
    struct pipeline *pipeline;
    size_t rooted = 0;
    int go;
    pid_t child;

    open_writer();
    child = start(&go, work_alone);
    pipeline = open_pipeline(child, false);
    REQUIRE(write(go, "g", 1) == 1);
    drain_until_end(pipeline, child);
    pipeline_finish(pipeline, &(struct symbolize_options){ .sources = true }, &named);
    pipeline_count(pipeline, &counts);
    pipeline_close(pipeline);
    read_back();
    tap_diag("%zu samples, %zu switches, %.1f us each", sample_count, switch_count,
             sample_count ? 1e-3 * (double)counts.unwind_ns / (double)sample_count : 0.0);
    /* Half a second of CPU time at 997 Hz. A virtual machine may lose some, and so may who is not
     * there to take them. */
    CHECK(sample_count + counts.sampler.lost > HZ / 4 && sample_count < HZ);
    for (size_t i = 0; i < sample_count; i++) {
        rooted += samples[i].end == TRACE_STACK_ROOT;
        if (samples[i].pid != (uint32_t)child || (i && samples[i].time_ns < samples[i - 1].time_ns))
            CHECK_UINT(samples[i].pid, (uint32_t)child);
    }
    CHECK(rooted * 100 >= sample_count * 95);
    CHECK(count_inside("spin_here") * 100 >= sample_count * 90);
    CHECK_UINT(counts.rooted, rooted);
    CHECK(switch_count >= 1);
    check_names(&named);
    close(go);
    clean_up();
}

static void work_with_threads(void)
{
    pthread_t threads[3];

    for (int i = 0; i < 3; i++)
        pthread_create(&threads[i], NULL, spin_in_thread, NULL);
    for (int i = 0; i < 3; i++)
        pthread_join(threads[i], NULL);
}

static void threads_that_come_later(void)
{
    struct symbolize_counts named;
    struct pipeline *pipeline;
    uint32_t tids[8];
    size_t tid_count = 0;
    bool came = false, left = false;
    int go;
    pid_t child;

    open_writer();
    child = start(&go, work_with_threads);
    pipeline = open_pipeline(child, false);
    REQUIRE(write(go, "g", 1) == 1);
    drain_until_end(pipeline, child);
    pipeline_finish(pipeline, &(struct symbolize_options){ 0 }, &named);
    pipeline_close(pipeline);
    read_back();
    for (size_t i = 0; i < sample_count; i++) {
        size_t known = 0;

        while (known < tid_count && tids[known] != samples[i].tid)
            known++;
        if (known == tid_count && tid_count < 8)
            tids[tid_count++] = samples[i].tid;
    }
    CHECK(tid_count >= 3 && tid_count <= 4);
    CHECK(count_inside("spin_in_thread") * 100 >= sample_count * 80);
    for (size_t i = 0; i < switch_count; i++) {
        came = came || switches[i].kind == TRACE_SWITCH_IN;
        left = left || switches[i].kind == TRACE_SWITCH_BLOCKED;
    }
    CHECK(came && left);
    close(go);
    clean_up();
}

static void launched_by_us(void)
{
    struct symbolize_counts named;
    struct pipeline *pipeline;
    bool libc = false;
    pid_t child;
    int go[2];

    open_writer();
    REQUIRE(pipe(go) == 0);
    child = fork();
    REQUIRE(child >= 0);
    if (!child) {
        char byte;

        if (read(go[0], &byte, 1) == 1)
            execl("/bin/sh", "sh", "-c", "i=0; while [ $i -lt 60000 ]; do i=$((i+1)); done", NULL);
        _exit(127);
    }
    pipeline = open_pipeline(child, true);
    REQUIRE(write(go[1], "g", 1) == 1);
    drain_until_end(pipeline, child);
    pipeline_finish(pipeline, &(struct symbolize_options){ 0 }, &named);
    pipeline_close(pipeline);
    read_back();
    CHECK(sample_count > 5);
    for (size_t i = 0; i < read_profile.module_count; i++)
        libc = libc || strstr(read_profile.modules[i].path, "/libc.so") != NULL;
    CHECK(libc);
    CHECK(!count_inside("spin_here")); /* nothing from before exec */
    close(go[0]);
    close(go[1]);
    clean_up();
}

/* ---- children that are gone before their fork is known ---- */

#define CHILDREN 60

__attribute__((noinline)) static void spin_in_child(void)
{
    spin_here(0.006);
    sink++; /* and so it is no tail call */
}

static void work_with_children(void)
{
    for (int i = 0; i < CHILDREN; i++) {
        pid_t child = fork();

        if (!child) {
            spin_in_child();
            _exit(0);
        }
        waitpid(child, NULL, 0);
    }
}

static void short_lived_children(void)
{
    struct symbolize_counts named;
    struct pipeline *pipeline;
    size_t of_children = 0, rooted = 0, inside = 0;
    int go;
    pid_t child;

    open_writer();
    child = start(&go, work_with_children);
    pipeline = open_pipeline(child, false);
    REQUIRE(write(go, "g", 1) == 1);
    drain_until_end(pipeline, child);
    pipeline_finish(pipeline, &(struct symbolize_options){ 0 }, &named);
    pipeline_close(pipeline);
    read_back();
    inside = count_inside("spin_in_child");
    for (size_t i = 0; i < sample_count; i++) {
        of_children += samples[i].pid != (uint32_t)child;
        rooted += samples[i].pid != (uint32_t)child && samples[i].end == TRACE_STACK_ROOT;
    }
    tap_diag("%zu samples of children, %zu rooted, %zu named", of_children, rooted, inside);
    CHECK(of_children > CHILDREN);
    CHECK(rooted * 100 >= of_children * 95);
    /* The rest is where they begin and end. */
    CHECK(inside * 100 >= of_children * 60);
    close(go);
    clean_up();
}

/* ---- stacks that are deeper than what is copied ---- */

__attribute__((noinline)) static unsigned spin_deep(unsigned levels, double seconds)
{
    volatile char block[1000];

    block[levels % sizeof block] = (char)levels;
    if (levels)
        spin_deep(levels - 1, seconds);
    else
        spin_here(seconds);
    return (unsigned)block[levels % sizeof block];
}

static void *spin_deep_in_thread(void *user)
{
    spin_deep(34, 0.2);
    return user;
}

static void work_deeply(void)
{
    pthread_t threads[2];

    spin_deep(34, 0.7); /* 35 KiB */
    for (int i = 0; i < 2; i++)
        pthread_create(&threads[i], NULL, spin_deep_in_thread, NULL);
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], NULL);
}

#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define ELSEWHERE
#endif
#endif
#if defined(__SANITIZE_ADDRESS__)
#define ELSEWHERE
#endif

static void deeper_than_the_copy(void)
{
    struct pipeline_counts counts;
    struct symbolize_counts named;
    struct pipeline *pipeline;
    size_t first_whole = 0, whole = 0, of_threads = 0, threads_whole = 0, close_together = 0;
    int go;
    pid_t child;

#if defined(ELSEWHERE)
    SKIP("AddressSanitizer keeps local variables elsewhere: the stack is not deep");
#endif
    open_writer();
    child = start(&go, work_deeply);
    pipeline = open_pipeline(child, false);
    REQUIRE(write(go, "g", 1) == 1);
    drain_until_end(pipeline, child);
    pipeline_finish(pipeline, &(struct symbolize_options){ 0 }, &named);
    pipeline_count(pipeline, &counts);
    pipeline_close(pipeline);
    read_back();
    while (first_whole < sample_count && samples[first_whole].end != TRACE_STACK_ROOT)
        first_whole++;
    for (size_t i = first_whole; i < sample_count; i++) {
        bool thread = samples[i].tid != (uint32_t)child;

        whole += samples[i].end == TRACE_STACK_ROOT;
        of_threads += thread;
        threads_whole += thread && samples[i].end == TRACE_STACK_ROOT;
        for (size_t k = i; k-- > 0 && samples[i].time_ns - samples[k].time_ns < 200000;)
            close_together += samples[k].tid == samples[i].tid;
    }
    tap_diag("%zu samples, cut until %zu, then %zu whole; %zu of new threads, %zu whole; %zu close",
             sample_count, first_whole, whole, of_threads, threads_whole, close_together);
    CHECK_UINT(counts.stack_bytes, 2 * SAMPLER_STACK_DEFAULT);
    CHECK(counts.cut > 90 - (counts.sampler.lost < 90 ? counts.sampler.lost : 90));
    CHECK(counts.cut < 400 + longest_pause_ns * HZ / 1000000000u);
    CHECK(whole * 100 >= (sample_count - first_whole) * 90);
    CHECK(of_threads > HZ / 10 && threads_whole * 100 >= of_threads * 95);
    /* Nobody is sampled by two events: 1.1 s of CPU time at 997 Hz. */
    CHECK(sample_count < HZ + HZ / 3);
    CHECK(close_together * 20 < sample_count);
    close(go);
    clean_up();
}

static void nobody_there(void)
{
    struct pipeline_options options = { .sampler = { .pid = 0x3fffffff, .hz = 100 } };
    struct pipeline *pipeline;
    struct sampler_facts facts;
    struct ifg_error err = { 0 };
    enum ifg_status status;

    open_writer();
    options.writer = writer;
    status = pipeline_open(&options, &pipeline, &facts, &err);
    if (status == IFG_UNSUPPORTED)
        SKIP("samples: %s", err.message);
    CHECK_INT(status, IFG_NOT_FOUND);
    CHECK_CONTAINS(err.message, "gone");
    options.sampler.stack_bytes = 1u << 20;
    CHECK_INT(pipeline_open(&options, &pipeline, &facts, &err), IFG_INVALID);
    pipeline_close(NULL);
    trace_writer_close(writer, NULL);
    unlink(path);
}

TAP_MAIN(TAP_CASE(attached_to_a_process), TAP_CASE(threads_that_come_later),
         TAP_CASE(launched_by_us), TAP_CASE(short_lived_children), TAP_CASE(deeper_than_the_copy),
         TAP_CASE(nobody_there))
