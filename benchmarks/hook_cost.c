// SPDX-License-Identifier: Apache-2.0
/*
 * What the hook adds to one Run of ONNX Runtime, measured with a model of one node. Blocks of runs
 * through the real table and through ours alternate on the same session, in thread CPU time; the
 * figure is the median of the differences of neighbours.
 *
 *   recording_added_us  while `inferogram record` takes everything   (bar 0.3)
 *   loaded_added_us     the hook is there, the recording has stopped (bar 0.05)
 *   dropped             events lost while recording                  (bar 0)
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <inferogram/inferogram.h>

#include "bench.h"
#include "ort_bench.h"

#define PAIRS 500
#define BLOCK 400
#define WARM  20000

static double block_us(ort_table table, const struct ort_bench_session *session)
{
    double begin = bench_cpu_seconds();

    for (int i = 0; i < BLOCK; i++)
        ort_bench_run(table, session);
    return (bench_cpu_seconds() - begin) / BLOCK * 1e6;
}

/* --measure RESULTS LIBRARY MODEL on|off, under `record`. */
static int measure(char **argv)
{
    static const int64_t dims[] = { 1, 4 };
    static double plain[PAIRS];
    static double added[PAIRS];
    struct ort_bench ort;
    struct ort_bench_session session;
    bool on = strcmp(argv[3], "on") == 0;
    double deadline = bench_wall_seconds() + 20;
    FILE *out;

    ort_bench_open(&ort, argv[1]);
    ort_bench_session_open(&ort, ort.hooked, argv[2], "x", dims, 2, dims, &session);
    while (ifg_is_recording() != on && bench_wall_seconds() < deadline)
        usleep(1000);
    if (ifg_is_recording() != on)
        return 1;
    for (int i = 0; i < WARM; i++)
        ort_bench_run(i & 1 ? ort.hooked : ort.real, &session);
    for (int i = 0; i < PAIRS; i++) {
        double first = block_us(i & 1 ? ort.hooked : ort.real, &session);
        double second = block_us(i & 1 ? ort.real : ort.hooked, &session);

        plain[i] = i & 1 ? second : first;
        added[i] = i & 1 ? first - second : second - first;
    }
    ort_bench_session_close(&ort, ort.hooked, &session);
    out = fopen(argv[0], "w");
    if (!out)
        return 1;
    fprintf(out, "plain %.6f\nadded %.6f\nend\n", ort_bench_median(plain, PAIRS),
            ort_bench_median(added, PAIRS));
    return fclose(out) ? 1 : 0;
}

int main(int argc, char **argv)
{
    char library[512];
    char folder[256];
    char file[256];
    char arguments[1024];
    char command[1024];
    double plain;
    double recording;

    if (argc > 5 && strcmp(argv[1], "--measure") == 0)
        return measure(argv + 2);
    bench_begin("hook_cost", argc, argv);
    ort_bench_fetch("ort-node-1.30.0", library, sizeof library);
    snprintf(file, sizeof file, "%s", bench_file("hook.ifg"));
    snprintf(folder, sizeof folder, "%.*s", (int)(strrchr(file, '/') - file), file);
    snprintf(command, sizeof command, "python3 '%s' '%s'", MAKE_MODELS, folder);
    if (system(command) != 0)
        return 1;
    snprintf(arguments, sizeof arguments, "'%s/libonnxruntime.so' '%s/relu.onnx' on", library,
             folder);
    ort_bench_measure(file, "", arguments);
    plain = ort_bench_number("plain");
    recording = ort_bench_number("added");
    bench_result("run_us", plain, "us");
    bench_bar("recording_added_us", recording, 0.3, "us");
    bench_bar("dropped", (double)bench_info(file, "dropped"), 0, "events");
    snprintf(arguments, sizeof arguments, "'%s/libonnxruntime.so' '%s/relu.onnx' off", library,
             folder);
    ort_bench_measure(file, "--duration 300ms", arguments);
    bench_bar("loaded_added_us", ort_bench_number("added"), 0.05, "us");
    return bench_end();
}
