// SPDX-License-Identifier: Apache-2.0
/*
 * What a zone costs the thread that emits it, against the floor: two reads of the counter and 32
 * stored bytes. Five interleaved rounds, thread CPU time, the real recorder draining in its own
 * process.
 *
 *   on_over_floor  with a recorder     (bar 1.05; best round)
 *   off_ns         nobody recording    (bar 1.4, and 0.08 of the floor)
 *   dropped        of 20 million zones in a tight loop, each round (bar 0)
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <inferogram/inferogram.h>

#include "base/ticks.h"
#include "bench.h"

#define ROUNDS    5
#define ON_ZONES  20000000L
#define OFF_ZONES 100000000L
#define FLOOR     20000000L

#define BARRIER() __asm__ volatile("" ::: "memory")

static double floor_ns(void)
{
    static uint64_t memory[8192] __attribute__((aligned(64)));
    double begin;
    uint32_t at = 0;

    __asm__ volatile(""
                     :
                     : "r"(memory)
                     : "memory"); /* somebody may read it: the stores must happen */
    begin = bench_cpu_seconds();
    for (long i = 0; i < FLOOR; i++) {
        uint64_t start = ifg_counter_read();
        uint64_t end;

        BARRIER();
        memory[at] = start;
        memory[at + 1] = (uint64_t)i;
        end = ifg_counter_read();
        BARRIER();
        memory[at + 2] = end;
        memory[at + 3] = (uint64_t)i;
        at = (at + 4) & 8191;
    }
    return (bench_cpu_seconds() - begin) / FLOOR * 1e9;
}

static double zones_ns(long count)
{
    double begin = bench_cpu_seconds();

    for (long i = 0; i < count; i++) {
        IFG_BEGIN(zone, "tight");
        BARRIER();
        IFG_END(zone);
    }
    return (bench_cpu_seconds() - begin) / (double)count * 1e9;
}

int main(int argc, char **argv)
{
    double best_ratio = 1e9;
    double best_off = 1e9;
    double best_floor = 1e9;
    double best_on = 1e9;
    uint64_t dropped = 0;
    uint64_t recorded = 0;
    char file[256];

    bench_begin("zone_cost", argc, argv);
    snprintf(file, sizeof file, "%s", bench_file("zones.ifg"));
    for (int round = 0; round < ROUNDS; round++) {
        double floor = floor_ns();
        double off = zones_ns(OFF_ZONES);
        pid_t recorder = bench_recorder_start(file);
        double on = zones_ns(ON_ZONES);

        bench_recorder_stop(recorder);
        dropped += bench_info(file, "dropped");
        recorded += bench_info(file, "zones");
        if (getenv("BENCH_VERBOSE"))
            fprintf(stderr, "floor %.2f off %.2f on %.2f ratio %.3f dropped %lu\n", floor, off, on,
                    on / floor, (unsigned long)bench_info(file, "dropped"));
        if (on / floor < best_ratio) {
            best_ratio = on / floor;
            best_on = on;
        }
        if (off < best_off)
            best_off = off;
        if (floor < best_floor)
            best_floor = floor;
    }
    bench_result("floor_ns", best_floor, "ns");
    bench_result("on_ns", best_on, "ns");
    bench_bar("on_over_floor", best_ratio, 1.05, "");
    bench_bar("off_ns", best_off, 1.4, "ns");
    bench_bar("off_over_floor", best_off / best_floor, 0.08, "");
    bench_bar("dropped", (double)dropped, 0, "zones");
    bench_bar("unaccounted", (double)ROUNDS * ON_ZONES - (double)(recorded + dropped), 0, "zones");
    return bench_end();
}
