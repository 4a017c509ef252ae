// SPDX-License-Identifier: Apache-2.0
/*
 * What annotations cost the thread that makes them, beside the same calls without a collector and a
 * zone of our own. Interleaved rounds, thread CPU time, the real recorder draining in its own
 * process; the best round of each counts.
 *
 *   plain_ns       push and pop of NVTX, no injection
 *   idle_ns        the same with ours, nobody recording    (bar: 10 more than plain)
 *   on_ns          recording: a name that is read each time
 *   registered_ns  recording: a registered string in a domain
 *   zone_ns        recording: a zone of our own
 *   on_over_zone   registered_ns by zone_ns, in one round  (bar 3)
 *   itt_...        the same of begin and end of an ITT task
 *   unrecorded     of all pairs while recording            (bar 0)
 */
#include <stdint.h>
#include <stdio.h>
#include <time.h>

#include <inferogram/inferogram.h>

#include "bench.h"
#include "itt_program.h"
#include "nvtx_program.h"

#define ROUNDS 5
#define OFF    20000000L
#define ON     1000000L
#define BURST  20000L /* no more than a ring holds, and a moment for the recorder */

#define BARRIER() __asm__ volatile("" ::: "memory")

enum what { PUSH, REGISTERED, ZONE, TASK };

static nvtx_initialize *nvtx_door;
static itt_init_function *itt_door;
static const void *domain;
static struct nvtx_event event;
static struct itt_domain *tasks;
static struct itt_string *task;

static void prepare(bool with_ours)
{
    nvtx_begin(with_ours ? nvtx_door : NULL);
    itt_begin(with_ours ? itt_door : NULL);
    domain = nvtx_domain("bench");
    event = nvtx_text(NULL);
    event.message_type = NVTX_MESSAGE_REGISTERED;
    event.message.registered = nvtx_string(domain, "registered");
    tasks = itt_domain_create("bench");
    task = itt_string_create("task");
}

static void pair(enum what what)
{
    static const struct itt_id none;

    switch (what) {
    case PUSH:
        nvtx_push("range of a program");
        BARRIER();
        nvtx_pop();
        break;
    case REGISTERED:
        nvtx_domain_push(domain, &event);
        BARRIER();
        nvtx_domain_pop(domain);
        break;
    case TASK:
        itt_task_begin(tasks, none, task);
        BARRIER();
        itt_task_end(tasks);
        break;
    case ZONE: {
        IFG_BEGIN(zone, "zone");
        BARRIER();
        IFG_END(zone);
    }
    }
}

static double pairs_ns(enum what what, long count)
{
    const struct timespec pause = { 0, 2000000 };
    double seconds = 0;

    for (long done = 0; done < count; done += BURST) {
        double begin = bench_cpu_seconds();

        for (long i = 0; i < BURST; i++)
            pair(what);
        seconds += bench_cpu_seconds() - begin;
        if (ifg_is_recording())
            nanosleep(&pause, NULL);
    }
    return seconds / (double)count * 1e9;
}

static void keep_least(double *least, double value)
{
    if (value < *least)
        *least = value;
}

static bool open_doors(void)
{
    void *library = dlopen(BENCH_ANNOTATIONS, RTLD_NOW);
    void *found[2] = { NULL, NULL };

    if (library) {
        found[0] = dlsym(library, "InitializeInjectionNvtx2");
        found[1] = dlsym(library, "__itt_api_init");
    }
    memcpy(&nvtx_door, &found[0], sizeof nvtx_door);
    memcpy(&itt_door, &found[1], sizeof itt_door);
    return nvtx_door && itt_door;
}

int main(int argc, char **argv)
{
    double plain = 1e9, idle = 1e9, on = 1e9, registered = 1e9, zone = 1e9, ratio = 1e9;
    double itt_plain = 1e9, itt_idle = 1e9, itt_on = 1e9;
    uint64_t recorded = 0;
    char file[256];

    bench_begin("annotation_cost", argc, argv);
    snprintf(file, sizeof file, "%s", bench_file("annotations.ifg"));
    if (!open_doors()) {
        fprintf(stderr, "annotation_cost: cannot load %s\n", BENCH_ANNOTATIONS);
        return 1;
    }
    for (int round = 0; round < ROUNDS; round++) {
        double zone_now, registered_now;
        pid_t recorder;

        prepare(false);
        keep_least(&plain, pairs_ns(PUSH, OFF));
        keep_least(&itt_plain, pairs_ns(TASK, OFF));
        prepare(true);
        keep_least(&idle, pairs_ns(PUSH, OFF));
        keep_least(&itt_idle, pairs_ns(TASK, OFF));
        recorder = bench_recorder_start(file);
        keep_least(&on, pairs_ns(PUSH, ON));
        registered_now = pairs_ns(REGISTERED, ON);
        zone_now = pairs_ns(ZONE, ON);
        keep_least(&itt_on, pairs_ns(TASK, ON));
        bench_recorder_stop(recorder);
        recorded += bench_info(file, "zones");
        keep_least(&registered, registered_now);
        keep_least(&zone, zone_now);
        keep_least(&ratio, registered_now / zone_now);
    }
    bench_result("plain_ns", plain, "ns");
    bench_bar("idle_ns", idle, plain + 10, "ns");
    bench_result("on_ns", on, "ns");
    bench_result("registered_ns", registered, "ns");
    bench_result("zone_ns", zone, "ns");
    bench_bar("on_over_zone", ratio, 3, "");
    bench_result("itt_plain_ns", itt_plain, "ns");
    bench_bar("itt_idle_ns", itt_idle, itt_plain + 10, "ns");
    bench_result("itt_on_ns", itt_on, "ns");
    bench_bar("unrecorded", (double)ROUNDS * 4 * ON - (double)recorded, 0, "zones");
    return bench_end();
}
