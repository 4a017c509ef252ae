// SPDX-License-Identifier: Apache-2.0
/*
 * What `inferogram record --pid --ops` adds to each kernel of a model of many small ones (Silero
 * VAD v5) that runs in this very process. Blocks before, during and after an attachment alternate;
 * times are thread CPU time, and figures the medians over all attachments.
 *
 *   kernels             of one run
 *   run_us              a run without probes
 *   added_us            to a run, while attached with --ops=16
 *   added_per_kernel_us the same for each kernel                             (bar 4)
 *   detached_ratio      after detaching, compared with before                (bar 1.01)
 *   dropped             events lost while attached                           (bar 0)
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bench.h"
#include "ort_bench.h"

#define CYCLES  9
#define BLOCKS  40
#define BLOCK   40
#define WARM    2000
#define SETTLE  2.0 /* seconds until the probes are there, also if the helper has to work */
#define INPUTS  3
#define OUTPUTS 1

static const char *const input_names[INPUTS] = { "input", "state", "sr" };
static const char *const output_names[OUTPUTS] = { "output" };

static struct ort_bench ort;
static void *session;
static void *inputs[INPUTS];

static void check(void *status)
{
    if (!status)
        return;
    fprintf(stderr, "attach_ops_cost: %s\n",
            ORT(ort.real, ORT_GetErrorMessage, const char *, (void *))(status));
    exit(1);
}

static void *tensor(void *data, size_t bytes, const int64_t *dims, size_t rank, int type)
{
    void *value = NULL;

    check(ORT(ort.real, ORT_CreateTensorWithData, void *,
              (void *, void *, size_t, const int64_t *, size_t, int, void **))(
        ort.memory, data, bytes, dims, rank, type, &value));
    return value;
}

static void run(void)
{
    void *output = NULL;

    check(ORT(ort.real, ORT_Run, void *,
              (void *, const void *, const char *const *, void *const *, size_t,
               const char *const *, size_t, void **))(session, NULL, input_names, inputs, INPUTS,
                                                      output_names, OUTPUTS, &output));
    ORT(ort.real, ORT_ReleaseValue, void, (void *))(output);
}

static double median_run_us(void)
{
    static double values[BLOCKS];

    for (int i = 0; i < BLOCKS; i++) {
        double begin = bench_cpu_seconds();

        for (int k = 0; k < BLOCK; k++)
            run();
        values[i] = (bench_cpu_seconds() - begin) / BLOCK * 1e6;
    }
    return ort_bench_median(values, BLOCKS);
}

static void run_for(double seconds)
{
    double end = bench_wall_seconds() + seconds;

    while (bench_wall_seconds() < end)
        run();
}

static pid_t start_recorder(const char *file)
{
    char pid[16];
    pid_t child;

    snprintf(pid, sizeof pid, "%d", (int)getpid());
    child = fork();
    if (child == 0) {
        execl(bench_tool(), bench_tool(), "record", "-q", "-f", "-o", file, "--ops=16", "--pid",
              pid, (char *)NULL);
        _exit(127);
    }
    return child;
}

static void prepare(void)
{
    static float samples[512];
    static float state[2 * 128];
    static int64_t rate = 16000;
    static const int64_t sample_dims[] = { 1, 512 };
    static const int64_t state_dims[] = { 2, 1, 128 };
    void *options = NULL;
    char folder[512];
    char path[600];

    ort_bench_fetch("ort-node-1.30.0", folder, sizeof folder);
    snprintf(path, sizeof path, "%s/libonnxruntime.so", folder);
    ort_bench_open_plain(&ort, path);
    ort_bench_fetch("silero", folder, sizeof folder);
    snprintf(path, sizeof path, "%s/silero_vad_v5.onnx", folder);
    check(ORT(ort.real, ORT_CreateSessionOptions, void *, (void **))(&options));
    check(ORT(ort.real, ORT_SetIntraOpNumThreads, void *, (void *, int))(options, 1));
    check(ORT(ort.real, ORT_CreateSession, void *,
              (void *, const char *, void *, void **))(ort.env, path, options, &session));
    inputs[0] = tensor(samples, sizeof samples, sample_dims, 2, ORT_FLOAT);
    inputs[1] = tensor(state, sizeof state, state_dims, 3, ORT_FLOAT);
    inputs[2] = tensor(&rate, sizeof rate, NULL, 0, ORT_INT64);
    for (int i = 0; i < WARM; i++)
        run();
}

int main(int argc, char **argv)
{
    static double plain[CYCLES];
    static double added[CYCLES];
    static double ratio[CYCLES];
    uint64_t dropped = 0;
    double kernels = 57;
    char file[256];

    bench_begin("attach_ops_cost", argc, argv);
    prepare();
    snprintf(file, sizeof file, "%s", bench_file("attach_ops.ifg"));
    for (int i = 0; i < CYCLES; i++) {
        double before = median_run_us();
        pid_t recorder = start_recorder(file);
        double during;
        int status = 0;

        run_for(i ? SETTLE / 2 : SETTLE);
        during = median_run_us();
        kill(recorder, SIGINT);
        waitpid(recorder, &status, 0);
        if (!WIFEXITED(status) || WEXITSTATUS(status) || !bench_info(file, "ops")) {
            fprintf(stderr, "attach_ops_cost: no operators were recorded (it needs root)\n");
            return 1;
        }
        ratio[i] = median_run_us() / before;
        plain[i] = before;
        added[i] = during - before;
        dropped += bench_info(file, "dropped");
    }
    bench_result("kernels", kernels, "");
    bench_result("run_us", ort_bench_median(plain, CYCLES), "us");
    bench_result("added_us", ort_bench_median(added, CYCLES), "us");
    bench_bar("added_per_kernel_us", ort_bench_median(added, CYCLES) / kernels, 4, "us");
    bench_bar("detached_ratio", ort_bench_median(ratio, CYCLES), 1.01, "");
    bench_bar("dropped", (double)dropped, 0, "events");
    return bench_end();
}
