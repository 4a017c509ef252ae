// SPDX-License-Identifier: Apache-2.0
/*
 * What the recorder itself uses while a program emits a million zones a second for five seconds
 * (nested, with pauses, as programs do), and while it emits nothing.
 */
#include <stdint.h>
#include <stdio.h>
#include <unistd.h>

#include "bench.h"

#define SECONDS 5

int main(int argc, char **argv)
{
    char file[256];
    uint64_t emitted;
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
    emitted = bench_emit_million_a_second(SECONDS);
    wall = bench_wall_seconds() - begin;
    cpu = bench_process_cpu_seconds(recorder) - cpu;
    bench_recorder_stop(recorder);
    bench_result("zones_per_second", (double)emitted / wall, "zones/s");
    bench_bar("recorder_percent", 100 * cpu / wall, 10, "% of a core");
    bench_result("idle_percent", 100 * idle, "% of a core");
    bench_bar("dropped", (double)bench_info(file, "dropped"), 0, "zones");
    return bench_end();
}
