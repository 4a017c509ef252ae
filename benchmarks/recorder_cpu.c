// SPDX-License-Identifier: Apache-2.0
/*
 * What the recorder itself uses while a program emits a million zones a second for five seconds
 * (nested, with pauses, as programs do), and while it emits nothing.
 */
#include <stdint.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

#include <inferogram/inferogram.h>

#include "bench.h"

#define SECONDS       5
#define BURSTS        1000 /* a second */
#define BURST_PARENTS 250  /* each with three children */

static uint64_t emit_burst(void)
{
    for (int i = 0; i < BURST_PARENTS; i++) {
        IFG_ZONE("run");
        for (int k = 0; k < 3; k++) {
            IFG_ZONE("operator");
        }
    }
    return BURST_PARENTS * 4;
}

static void sleep_until(const struct timespec *when)
{
    clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, when, NULL);
}

int main(int argc, char **argv)
{
    char file[256];
    struct timespec next;
    uint64_t emitted = 0;
    double begin;
    double wall;
    double cpu;
    double idle;
    pid_t recorder;

    bench_begin("recorder_cpu", argc, argv);
    snprintf(file, sizeof file, "%s", bench_file("million.ifg"));
    recorder = bench_recorder_start(file);
    cpu = bench_process_cpu_seconds(recorder);
    sleep(2);
    idle = (bench_process_cpu_seconds(recorder) - cpu) / 2;
    cpu = bench_process_cpu_seconds(recorder);
    begin = bench_wall_seconds();
    clock_gettime(CLOCK_MONOTONIC, &next);
    for (int i = 0; i < SECONDS * BURSTS; i++) {
        emitted += emit_burst();
        next.tv_nsec += 1000000000 / BURSTS;
        if (next.tv_nsec >= 1000000000) {
            next.tv_nsec -= 1000000000;
            next.tv_sec++;
        }
        sleep_until(&next);
    }
    wall = bench_wall_seconds() - begin;
    cpu = bench_process_cpu_seconds(recorder) - cpu;
    bench_recorder_stop(recorder);
    bench_result("zones_per_second", (double)emitted / wall, "zones/s");
    bench_bar("recorder_percent", 100 * cpu / wall, 10, "% of a core");
    bench_result("idle_percent", 100 * idle, "% of a core");
    bench_bar("dropped", (double)bench_info(file, "dropped"), 0, "zones");
    return bench_end();
}
