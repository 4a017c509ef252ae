// SPDX-License-Identifier: Apache-2.0
/*
 * What `record --ops=16` adds to the median of all runs of a real model (text detection, 20 ms a
 * run). Two sessions of the same model live in one process: one made and run through the hooks, so
 * every 16th of its runs has its operators recorded, one past them. They run in turn, in thread CPU
 * time; both are made anew in each round, so that where their memory lies evens out.
 *
 *   added_percent   of the median of all runs (bar 2)
 *   mean_percent    of the mean, in which the recorded runs count fully
 *   dropped         events lost (bar 0)
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench.h"
#include "ort_bench.h"

#define ROUNDS 8
#define EACH   32 /* runs of each in a round */
#define RUNS   ((size_t)ROUNDS * EACH)

struct side {
    ort_table table;
    struct ort_bench_session session;
    double ms[RUNS];
    size_t count;
};

static void run(struct side *side)
{
    double begin = bench_cpu_seconds();

    ort_bench_run(side->table, &side->session);
    side->ms[side->count++] = (bench_cpu_seconds() - begin) * 1e3;
}

static double mean(const double *values, size_t count)
{
    double sum = 0;

    for (size_t i = 0; i < count; i++)
        sum += values[i];
    return sum / (double)count;
}

/* --measure RESULTS LIBRARY MODEL, under `record --ops=16`. */
static int measure(char **argv)
{
    static const int64_t dims[] = { 1, 3, 320, 320 };
    static struct side sides[2];
    struct ort_bench ort;
    FILE *out;

    ort_bench_open(&ort, argv[1]);
    sides[0].table = ort.real;
    sides[1].table = ort.hooked;
    for (int round = 0; round < ROUNDS; round++) {
        for (int i = 0; i < 2; i++) {
            struct side *side = &sides[i ^ (round & 1)];

            ort_bench_session_open(&ort, side->table, argv[2], "x", dims, 4, NULL, &side->session);
        }
        for (int i = 0; i < EACH * 2; i++)
            run(&sides[(i ^ (i >> 1) ^ round) & 1]);
        for (int i = 0; i < 2; i++)
            ort_bench_session_close(&ort, sides[i].table, &sides[i].session);
    }
    out = fopen(argv[0], "w");
    if (!out)
        return 1;
    for (int i = 0; i < 2; i++) {
        double average = mean(sides[i].ms, sides[i].count);

        fprintf(out, "mean%d %.6f\nmedian%d %.6f\n", i, average, i,
                ort_bench_median(sides[i].ms, sides[i].count));
    }
    fprintf(out, "end\n");
    return fclose(out) ? 1 : 0;
}

int main(int argc, char **argv)
{
    char library[512];
    char models[512];
    char file[256];
    char arguments[1536];

    if (argc > 4 && strcmp(argv[1], "--measure") == 0)
        return measure(argv + 2);
    bench_begin("ops_cost", argc, argv);
    ort_bench_fetch("ort-node-1.30.0", library, sizeof library);
    ort_bench_fetch("ocr", models, sizeof models);
    snprintf(file, sizeof file, "%s", bench_file("ops.ifg"));
    snprintf(arguments, sizeof arguments, "'%s/libonnxruntime.so' '%s/ch_PP-OCRv4_det_infer.onnx'",
             library, models);
    ort_bench_measure(file, "--ops=16", arguments);
    bench_result("run_ms", ort_bench_number("median0"), "ms");
    bench_bar("added_percent",
              (ort_bench_number("median1") / ort_bench_number("median0") - 1) * 100, 2, "%");
    bench_result("mean_percent", (ort_bench_number("mean1") / ort_bench_number("mean0") - 1) * 100,
                 "%");
    bench_result("operators", (double)bench_info(file, "ops"), "");
    bench_bar("dropped", (double)bench_info(file, "dropped"), 0, "events");
    return bench_end();
}
