// SPDX-License-Identifier: Apache-2.0
/*
 * What happens in a program whose recorder hangs: 50 million zones while the recorder is stopped by
 * SIGSTOP. The memory stays bounded, and recorded + dropped = emitted, exactly.
 */
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <inferogram/inferogram.h>

#include "bench.h"

#define ZONES 50000000L

static double resident_mib(void)
{
    FILE *text = fopen("/proc/self/status", "re");
    char line[256];
    double kib = 0;

    while (text && fgets(line, sizeof line, text))
        if (strncmp(line, "VmRSS:", 6) == 0)
            kib = strtod(line + 6, NULL);
    if (text)
        fclose(text);
    return kib / 1024;
}

int main(int argc, char **argv)
{
    char file[256];
    double before;
    double after;
    double cost;
    pid_t recorder;
    uint64_t recorded;
    uint64_t dropped;

    bench_begin("bounded_memory", argc, argv);
    snprintf(file, sizeof file, "%s", bench_file("stopped.ifg"));
    recorder = bench_recorder_start(file);
    kill(recorder, SIGSTOP);
    before = resident_mib();
    cost = bench_cpu_seconds();
    for (long i = 0; i < ZONES; i++) {
        IFG_BEGIN(zone, "unheard");
        IFG_END(zone);
    }
    cost = (bench_cpu_seconds() - cost) / ZONES * 1e9;
    after = resident_mib();
    kill(recorder, SIGCONT);
    bench_recorder_stop(recorder);
    recorded = bench_info(file, "zones");
    dropped = bench_info(file, "dropped");
    bench_bar("added_mib", after - before, 64, "MiB");
    bench_result("emitted", ZONES, "zones");
    bench_result("recorded", (double)recorded, "zones");
    bench_result("dropped", (double)dropped, "zones");
    bench_bar("unaccounted", (double)ZONES - (double)(recorded + dropped), 0, "zones");
    bench_result("dropping_zone_ns", cost, "ns");
    return bench_end();
}
