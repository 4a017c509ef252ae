// SPDX-License-Identifier: Apache-2.0
/*
 * What a flight recorder uses while the program does nothing and while it emits 200,000 zones a
 * second, with a rule that reads all of them; and its memory, once what it keeps has been replaced
 * and once it has been replaced twice more.
 *
 *   flight_cost [--json] [--seconds N]     N of the busy part (20)
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <inferogram/inferogram.h>

#include "bench.h"

#define KEEP_S       5
#define IDLE_S       5
#define SECONDS      20
#define BURSTS       1000 /* a second */
#define BURST_EVENTS 200  /* one of them an inference */

static double resident_mib(pid_t pid)
{
    char path[64];
    char line[256];
    double kib = 0;
    FILE *text;

    snprintf(path, sizeof path, "/proc/%d/status", (int)pid);
    text = fopen(path, "re");
    while (text && fgets(line, sizeof line, text))
        if (strncmp(line, "VmRSS:", 6) == 0)
            kib = strtod(line + 6, NULL);
    if (text)
        fclose(text);
    return kib / 1024;
}

static uint64_t emit_burst(ifg_model *model)
{
    IFG_EVENT_BEGIN(event, model, "main", IFG_INFERENCE);
    for (int i = 1; i < BURST_EVENTS; i++) {
        IFG_ZONE("operator");
    }
    IFG_EVENT_END(event);
    return BURST_EVENTS;
}

/* For so long; returns how many events. */
static uint64_t emit(ifg_model *model, unsigned seconds)
{
    struct timespec next;
    uint64_t emitted = 0;

    clock_gettime(CLOCK_MONOTONIC, &next);
    for (unsigned i = 0; i < seconds * BURSTS; i++) {
        emitted += emit_burst(model);
        next.tv_nsec += 1000000000 / BURSTS;
        if (next.tv_nsec >= 1000000000) {
            next.tv_nsec -= 1000000000;
            next.tv_sec++;
        }
        clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &next, NULL);
    }
    return emitted;
}

static unsigned busy_seconds(int argc, char **argv)
{
    for (int i = 1; i + 1 < argc; i++)
        if (strcmp(argv[i], "--seconds") == 0)
            return (unsigned)strtoul(argv[i + 1], NULL, 10);
    return SECONDS;
}

int main(int argc, char **argv)
{
    static const char *const options[] = {
        "--flight-recorder",        "5s,64M",      "--no-sample",          "--dump-when",
        "inference.p99>1h over 5s", "--dump-when", "inference.latency>1h", NULL,
    };
    ifg_model_options described = { .struct_size = sizeof described, .name = "bench" };
    unsigned seconds = busy_seconds(argc, argv);
    char file[256];
    ifg_model *model;
    uint64_t emitted;
    double begin, wall, cpu, idle, before, after;
    pid_t recorder;

    bench_begin("flight_cost", argc, argv);
    model = ifg_model_create(&described);
    snprintf(file, sizeof file, "%s", bench_file("flight.ifg"));
    recorder = bench_recorder_start_with(file, options);
    cpu = bench_process_cpu_seconds(recorder);
    sleep(IDLE_S);
    idle = (bench_process_cpu_seconds(recorder) - cpu) / IDLE_S;
    emit(model, 2 * KEEP_S);
    before = resident_mib(recorder);
    cpu = bench_process_cpu_seconds(recorder);
    begin = bench_wall_seconds();
    emitted = emit(model, seconds);
    wall = bench_wall_seconds() - begin;
    cpu = bench_process_cpu_seconds(recorder) - cpu;
    after = resident_mib(recorder);
    bench_recorder_stop(recorder);
    bench_result("events_per_second", (double)emitted / wall, "events/s");
    bench_bar("idle_percent", 100 * idle, 2, "% of a core");
    bench_bar("busy_percent", 100 * cpu / wall, 5, "% of a core");
    bench_bar("memory_mib", after, 64, "MiB");
    bench_bar("memory_growth_mib", after - before, 1, "MiB");
    bench_result("kept_zones", (double)bench_info(file, "zones"), "zones");
    bench_bar("dropped", (double)bench_info(file, "dropped"), 0, "events");
    return bench_end();
}
