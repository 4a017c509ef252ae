// SPDX-License-Identifier: Apache-2.0
/*
 * What probes add to one Run of ONNX Runtime while `inferogram record --pid` is attached, measured
 * with a model of one node in this very process. Blocks before, during and after an attachment
 * alternate; times are thread CPU time, and figures the medians over all attachments.
 *
 *   attached_added_us   while attached                                       (bar 3)
 *   detached_ratio      after detaching, compared with before                (bar 1.01)
 *   first_event_s       from the command to the first recorded inference     (bar 0.5)
 *   dropped             inferences lost while attached                       (bar 0)
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bench.h"
#include "ort_bench.h"

#define CYCLES  15
#define BLOCKS  60
#define BLOCK   400
#define WARM    20000
#define GIVE_UP 10

static struct ort_bench ort;
static struct ort_bench_session session;

static double median_run_us(void)
{
    static double values[BLOCKS];

    for (int i = 0; i < BLOCKS; i++) {
        double begin = bench_cpu_seconds();

        for (int k = 0; k < BLOCK; k++)
            ort_bench_run(ort.real, &session);
        values[i] = (bench_cpu_seconds() - begin) / BLOCK * 1e6;
    }
    return ort_bench_median(values, BLOCKS);
}

/* A breakpoint stands at the function, or behind its landing pad. */
static bool is_probed(void)
{
    const volatile unsigned char *code = (const volatile unsigned char *)ort.real[ORT_Run];

    return code[0] == 0xcc || code[4] == 0xcc;
}

static pid_t start_recorder(const char *file)
{
    char pid[16];
    pid_t child;

    snprintf(pid, sizeof pid, "%d", (int)getpid());
    child = fork();
    if (child == 0) {
        execl(bench_tool(), bench_tool(), "record", "-q", "-f", "-o", file, "--pid", pid,
              (char *)NULL);
        _exit(127);
    }
    return child;
}

/* The model runs all the time, as that of a program would. */
static void run_until_probed(bool probed)
{
    double deadline = bench_wall_seconds() + GIVE_UP;

    while (is_probed() != probed) {
        for (int i = 0; i < 50; i++)
            ort_bench_run(ort.real, &session);
        if (bench_wall_seconds() > deadline) {
            fprintf(stderr, "attach_cost: %s\n",
                    probed ? "the recorder does not attach (it needs root)"
                           : "a breakpoint was left");
            exit(1);
        }
    }
}

static void prepare(char *out_file, size_t size)
{
    static const int64_t dims[] = { 1, 4 };
    char library[512];
    char path[600];
    char folder[256];
    char command[1024];

    ort_bench_fetch("ort-node-1.30.0", library, sizeof library);
    snprintf(out_file, size, "%s", bench_file("attach.ifg"));
    snprintf(folder, sizeof folder, "%.*s", (int)(strrchr(out_file, '/') - out_file), out_file);
    snprintf(command, sizeof command, "python3 '%s' '%s'", MAKE_MODELS, folder);
    if (system(command) != 0)
        exit(1);
    snprintf(path, sizeof path, "%s/libonnxruntime.so", library);
    ort_bench_open_plain(&ort, path);
    snprintf(path, sizeof path, "%s/relu.onnx", folder);
    ort_bench_session_open(&ort, ort.real, path, "x", dims, 2, dims, &session);
    for (int i = 0; i < WARM; i++)
        ort_bench_run(ort.real, &session);
}

int main(int argc, char **argv)
{
    static double plain[CYCLES];
    static double added[CYCLES];
    static double ratio[CYCLES];
    static double first_event[CYCLES];
    uint64_t dropped = 0;
    char file[256];

    bench_begin("attach_cost", argc, argv);
    prepare(file, sizeof file);
    for (int i = 0; i < CYCLES; i++) {
        double before = median_run_us();
        double begin = bench_wall_seconds();
        pid_t recorder = start_recorder(file);
        double during;
        double after;
        int status = 0;

        run_until_probed(true);
        during = median_run_us();
        kill(recorder, SIGINT);
        waitpid(recorder, &status, 0);
        run_until_probed(false);
        after = median_run_us();
        plain[i] = before;
        added[i] = during - (before + after) / 2;
        ratio[i] = after / before;
        first_event[i] = (double)bench_info(file, "begin_ns") * 1e-9 - begin;
        dropped += bench_info(file, "dropped");
    }
    bench_result("run_us", ort_bench_median(plain, CYCLES), "us");
    bench_bar("attached_added_us", ort_bench_median(added, CYCLES), 3, "us");
    bench_bar("detached_ratio", ort_bench_median(ratio, CYCLES), 1.01, "");
    bench_bar("first_event_s", ort_bench_median(first_event, CYCLES), 0.5, "s");
    bench_bar("dropped", (double)dropped, 0, "events");
    return bench_end();
}
