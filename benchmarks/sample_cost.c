// SPDX-License-Identifier: Apache-2.0
/*
 * What call-stack samples at the default rate slow a real model down by (text direction, one
 * thread). The model runs in this process; a second one samples it exactly as a recorder does,
 * unwinds, and switches sampling off and on every 50 ms. Inferences of neighbouring windows are
 * compared; a figure is the median over the windows of one run, and the result the median of five.
 *
 *   slower_percent   while samples are taken                                   (bar 1)
 *   self_measured    what `inferogram record --pid` says of itself for this program
 *   differs_points   between the two                                           (bar 0.5)
 */
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/ticks.h"
#include "bench.h"
#include "collect/perf/calibrate.h"
#include "collect/perf/pipeline.h"
#include "ort_bench.h"

#define RUNS       5
#define RUN_S      10
#define SELF_S     "40"
#define WINDOW_NS  50000000ull
#define EDGE_NS    1000000ull /* what is near a change belongs to neither side */
#define WINDOWS    (RUN_S * 20 + 40)
#define INFERENCES 65536
#define FEW        8

struct window {
    uint64_t ns;
    bool on;
};

/* What the two processes share. */
struct shared {
    volatile int go; /* the model runs */
    volatile int stop;
    volatile int failed;
    volatile unsigned count;
    volatile unsigned hz;
    struct window windows[WINDOWS];
};

static uint64_t starts[INFERENCES], ends[INFERENCES];

/* ---- the process that samples ---- */

static void sample_parent(struct shared *shared, pid_t pid)
{
    struct pipeline_options options = { .sampler = { .pid = pid, .want_kernel = true } };
    struct calibrate_result cost;
    struct sampler_facts facts;
    struct pipeline *pipeline = NULL;
    uint64_t next = 0;
    bool on = true;

    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (calibrate_cost(&(struct calibrate_options){ 0 }, &cost, NULL) ||
        trace_writer_create(bench_file("samples.ifg"), true, &options.writer, NULL))
        _exit(1);
    options.sampler.hz = calibrate_rate(cost.sample_us, 1);
    shared->hz = options.sampler.hz;
    while (!shared->go)
        usleep(1000);
    if (pipeline_open(&options, &pipeline, &facts, NULL)) {
        shared->failed = 1;
        _exit(1);
    }
    while (!shared->stop) {
        uint64_t now = ifg_monotonic_ns();

        if (now >= next && shared->count < WINDOWS) {
            on = !on;
            sampler_pause(pipeline_sampler(pipeline), !on);
            shared->windows[shared->count] = (struct window){ ifg_monotonic_ns(), on };
            shared->count++;
            next = now + WINDOW_NS;
        }
        pipeline_drain(pipeline, false);
        usleep(4000);
    }
    _exit(0);
}

/* ---- what came of it ---- */

static int compare(const void *left, const void *right)
{
    double a = *(const double *)left;
    double b = *(const double *)right;

    return (a > b) - (a < b);
}

/* The mean of inferences inside a window, without the slowest twentieth; 0: too few. */
static double window_mean(const struct shared *shared, unsigned window, unsigned *at,
                          unsigned count)
{
    static double values[INFERENCES];
    uint64_t from = shared->windows[window].ns + EDGE_NS;
    uint64_t until = shared->windows[window + 1].ns;
    unsigned used = 0, kept;
    double sum = 0;

    for (; *at < count && starts[*at] < until; ++*at)
        if (starts[*at] >= from && ends[*at] <= until)
            values[used++] = (double)(ends[*at] - starts[*at]);
    if (used < FEW)
        return 0;
    qsort(values, used, sizeof values[0], compare);
    kept = used - used / 20;
    for (unsigned i = 0; i < kept; i++)
        sum += values[i];
    return sum / kept;
}

/* Each window with samples against the mean of the two around it. */
static double slow_down(const struct shared *shared, unsigned count)
{
    static double means[WINDOWS], ratios[WINDOWS];
    unsigned at = 0, used = 0;

    for (unsigned w = 0; w + 1 < shared->count; w++)
        means[w] = window_mean(shared, w, &at, count);
    for (unsigned w = 1; w + 2 < shared->count; w++)
        if (shared->windows[w].on && means[w - 1] > 0 && means[w] > 0 && means[w + 1] > 0)
            ratios[used++] = means[w] / ((means[w - 1] + means[w + 1]) / 2) - 1;
    return used ? 100 * ort_bench_median(ratios, used) : (double)NAN;
}

static double measure_once(const struct ort_bench *ort, const struct ort_bench_session *session,
                           unsigned *out_hz)
{
    struct shared *shared =
        mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    pid_t self = getpid();
    unsigned count = 0;
    uint64_t end;
    pid_t child;
    double result;

    if (shared == MAP_FAILED)
        exit(1);
    child = fork();
    if (child == 0)
        sample_parent(shared, self);
    shared->go = 1;
    end = ifg_monotonic_ns() + RUN_S * 1000000000ull;
    while (count < INFERENCES && ifg_monotonic_ns() < end && !shared->failed) {
        starts[count] = ifg_monotonic_ns();
        ort_bench_run(ort->real, session);
        ends[count++] = ifg_monotonic_ns();
    }
    shared->stop = 1;
    waitpid(child, NULL, 0);
    *out_hz = shared->hz;
    result = shared->failed ? (double)NAN : slow_down(shared, count);
    munmap(shared, sizeof *shared);
    return result;
}

/* ---- what the recorder says ---- */

static double self_measured(const struct ort_bench *ort, const struct ort_bench_session *session)
{
    char pid[16], command[1024], text[65536];
    const char *file = bench_file("self.ifg");
    const char *found;
    FILE *pipe;
    pid_t child;
    size_t got;

    snprintf(pid, sizeof pid, "%d", (int)getpid());
    child = fork();
    if (child == 0) {
        execl(bench_tool(), bench_tool(), "record", "-q", "-f", "-o", file, "--pid", pid,
              "--duration", SELF_S, (char *)NULL);
        _exit(127);
    }
    while (waitpid(child, NULL, WNOHANG) == 0)
        for (int i = 0; i < 20; i++)
            ort_bench_run(ort->real, session);
    snprintf(command, sizeof command, "'%s' info --json '%s'", bench_tool(), file);
    pipe = popen(command, "r");
    if (!pipe)
        return (double)NAN;
    got = fread(text, 1, sizeof text - 1, pipe);
    pclose(pipe);
    text[got] = '\0';
    found = strstr(text, "\"measured_overhead_pct\":");
    return found && strncmp(found + 24, "null", 4) != 0 ? strtod(found + 24, NULL) : (double)NAN;
}

int main(int argc, char **argv)
{
    static const int64_t dims[] = { 1, 3, 48, 192 };
    struct ort_bench_session session;
    struct ort_bench ort;
    double values[RUNS], slower, self;
    char library[600], folder[512], model[600];
    unsigned hz = 0;

    bench_begin("sample_cost", argc, argv);
    ort_bench_fetch("ort-node-1.30.0", folder, sizeof folder);
    snprintf(library, sizeof library, "%s/libonnxruntime.so", folder);
    ort_bench_fetch("ocr", folder, sizeof folder);
    snprintf(model, sizeof model, "%s/ch_ppocr_mobile_v2.0_cls_infer.onnx", folder);
    ort_bench_open_plain(&ort, library);
    ort_bench_session_open(&ort, ort.real, model, "x", dims, 4, NULL, &session);
    for (int i = 0; i < 200; i++)
        ort_bench_run(ort.real, &session);
    for (int i = 0; i < RUNS; i++) {
        values[i] = measure_once(&ort, &session, &hz);
        if (isnan(values[i])) {
            fprintf(stderr, "sample_cost: the kernel does not allow samples here; see "
                            "'inferogram doctor'\n");
            return 1;
        }
    }
    bench_result("rate_hz", hz, "Hz");
    qsort(values, RUNS, sizeof values[0], compare);
    bench_result("least_percent", values[0], "%");
    bench_result("most_percent", values[RUNS - 1], "%");
    slower = values[RUNS / 2];
    bench_bar("slower_percent", slower, 1, "%");
    self = self_measured(&ort, &session);
    bench_result("self_measured", self, "%");
    bench_bar("differs_points", fabs(self - slower), 0.5, "points");
    return bench_end();
}
