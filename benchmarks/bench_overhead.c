// SPDX-License-Identifier: Apache-2.0
/*
 * Whether `inferogram bench` measures the runtime or itself: inferences through the process that
 * runs models, and through a bare loop over the same calls of ONNX Runtime in a process of its own,
 * in alternating blocks, both on one CPU. For each model and pair of processes the ratio of the
 * medians; the figure is the median of the pairs.
 *
 *   silero_ratio, det_ratio   ours / bare                             (bar 1.00 +- 0.01)
 *   ..._off                   how far from 1, either way              (bar 0.01)
 *   ..._lowest, _highest      of the pairs
 *   ..._bare_us               the bare loop's median
 */
#include <dlfcn.h>
#include <errno.h>
#include <math.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "bench.h"
#include "bench/runner/runner.h"
#include "ort_bench.h"

#define PAIRS      8
#define INPUTS_MAX 3
#define BLOCK_MAX  256
#define ROUNDS_MAX 64
#define LOG_FATAL  4

struct input {
    const char *name;
    int32_t type;
    uint32_t rank;
    int64_t dims[4];
};

static const struct work {
    const char *name;
    const char *package;
    const char *file;
    struct input inputs[INPUTS_MAX];
    size_t input_count;
    unsigned warm, block, rounds; /* a round is a block of each */
} works[] = {
    { "silero",
      "silero",
      "silero_vad_v5.onnx",
      { { "input", IFG_BENCH_FLOAT, 2, { 1, 512 } },
        { "state", IFG_BENCH_FLOAT, 3, { 2, 1, 128 } },
        { "sr", IFG_BENCH_INT64, 0, { 0 } } },
      3,
      200,
      100,
      48 },
    { "det",
      "ocr",
      "ch_PP-OCRv4_det_infer.onnx",
      { { "x", IFG_BENCH_FLOAT, 4, { 1, 3, 320, 320 } } },
      1,
      5,
      5,
      12 },
};

static void die(const char *what, const char *why)
{
    fprintf(stderr, "%s: %s\n", what, why);
    exit(1);
}

/* The same numbers in both processes. */
static void *data_of(const struct input *input, size_t *out_bytes)
{
    size_t count = 1;
    char *data;

    for (uint32_t i = 0; i < input->rank; i++)
        count *= (size_t)input->dims[i];
    *out_bytes = count * (input->type == IFG_BENCH_FLOAT ? 4 : 8);
    data = aligned_alloc(64, (*out_bytes + 63) / 64 * 64);
    if (!data)
        die("memory", "is full");
    for (size_t i = 0; i < count; i++) {
        float small = (float)(i % 255) / 255.0f;
        int64_t rate = 16000;

        if (input->type == IFG_BENCH_FLOAT)
            memcpy(data + 4 * i, &small, 4);
        else
            memcpy(data + 8 * i, &rate, 8);
    }
    return data;
}

static uint64_t now_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static bool move(int fd, void *data, size_t bytes, bool out)
{
    char *at = data;

    while (bytes) {
        ssize_t moved = out ? write(fd, at, bytes) : read(fd, at, bytes);

        if (moved <= 0 && !(moved < 0 && errno == EINTR))
            return false;
        at += moved > 0 ? moved : 0;
        bytes -= moved > 0 ? (size_t)moved : 0;
    }
    return true;
}

/* ---- the bare loop: counts on stdin, times on stdout ---- */

static void check(ort_table api, void *status)
{
    if (status)
        die("ONNX Runtime", ORT(api, ORT_GetErrorMessage, const char *, (void *))(status));
}

#define OK(api, slot, types, ...) check(api, ORT(api, slot, void *, types)(__VA_ARGS__))

struct bare {
    ort_table api;
    void *session;
    const char *input_names[INPUTS_MAX];
    void *inputs[INPUTS_MAX];
    size_t input_count;
    char *output_names[8];
    void *outputs[8];
    size_t output_count;
};

static void bare_open(struct bare *bare, const struct work *work, const char *library,
                      const char *model)
{
    void *handle = dlopen(library, RTLD_NOW | RTLD_LOCAL);
    const struct ort_base *(*get)(void) = NULL;
    void *env, *memory, *options, *allocator;
    ort_table api;

    if (!handle)
        die(library, dlerror());
    *(void **)&get = dlsym(handle, "OrtGetApiBase");
    api = bare->api = get()->get_api(30);
    OK(api, ORT_CreateEnv, (int, const char *, void **), LOG_FATAL, "bare", &env);
    OK(api, ORT_CreateCpuMemoryInfo, (int, int, void **), 1, 0, &memory);
    OK(api, ORT_GetAllocatorWithDefaultOptions, (void **), &allocator);
    OK(api, ORT_CreateSessionOptions, (void **), &options);
    OK(api, ORT_SetIntraOpNumThreads, (void *, int), options, 1);
    OK(api, ORT_CreateSession, (void *, const char *, void *, void **), env, model, options,
       &bare->session);
    bare->input_count = work->input_count;
    for (size_t i = 0; i < work->input_count; i++) {
        const struct input *input = &work->inputs[i];
        size_t bytes;
        void *data = data_of(input, &bytes);

        bare->input_names[i] = input->name;
        OK(api, ORT_CreateTensorWithData,
           (void *, void *, size_t, const int64_t *, size_t, int, void **), memory, data, bytes,
           input->dims, input->rank, input->type, &bare->inputs[i]);
    }
    OK(api, ORT_SessionGetOutputCount, (void *, size_t *), bare->session, &bare->output_count);
    for (size_t i = 0; i < bare->output_count && i < 8; i++)
        OK(api, ORT_SessionGetOutputName, (void *, size_t, void *, char **), bare->session, i,
           allocator, &bare->output_names[i]);
}

static int bare_main(char **argv)
{
    const struct work *work = &works[strtoul(argv[0], NULL, 10)];
    static struct bare bare;
    uint64_t times[BLOCK_MAX];
    uint32_t count;

    bare_open(&bare, work, argv[1], argv[2]);
    while (move(STDIN_FILENO, &count, sizeof count, false) && count <= BLOCK_MAX) {
        for (uint32_t i = 0; i < count; i++) {
            uint64_t begin = now_ns();

            OK(bare.api, ORT_Run,
               (void *, const void *, const char *const *, void *const *, size_t,
                const char *const *, size_t, void **),
               bare.session, NULL, bare.input_names, bare.inputs, bare.input_count,
               (const char *const *)bare.output_names, bare.output_count, bare.outputs);
            times[i] = now_ns() - begin;
            for (size_t o = 0; o < bare.output_count; o++) {
                ORT(bare.api, ORT_ReleaseValue, void, (void *))(bare.outputs[o]);
                bare.outputs[o] = NULL;
            }
        }
        if (!move(STDOUT_FILENO, times, count * sizeof *times, true))
            return 1;
    }
    return 0;
}

/* ---- both sides ---- */

struct child {
    pid_t pid;
    int to, from;
};

static void bare_start(struct child *child, size_t work, const char *library, const char *model)
{
    char number[16];
    int in[2], out[2];

    snprintf(number, sizeof number, "%zu", work);
    if (pipe(in) < 0 || pipe(out) < 0)
        die("pipe", strerror(errno));
    child->pid = fork();
    if (child->pid == 0) {
        dup2(in[0], STDIN_FILENO);
        dup2(out[1], STDOUT_FILENO);
        close(in[1]);
        close(out[0]);
        execl("/proc/self/exe", "bench_overhead", "--bare", number, library, model, (char *)NULL);
        _exit(127);
    }
    close(in[0]);
    close(out[1]);
    child->to = in[1];
    child->from = out[0];
}

static void bare_stop(struct child *child)
{
    close(child->to);
    close(child->from);
    waitpid(child->pid, NULL, 0);
}

static double median_of(uint64_t *times, size_t count)
{
    static double values[BLOCK_MAX];

    for (size_t i = 0; i < count; i++)
        values[i] = (double)times[i];
    return ort_bench_median(values, count);
}

static double bare_block(struct child *child, uint32_t count)
{
    uint64_t times[BLOCK_MAX];

    if (!move(child->to, &count, sizeof count, true) ||
        !move(child->from, times, count * sizeof *times, false))
        die("the bare loop", "has ended");
    return median_of(times, count);
}

static void need(enum ifg_status status, const struct ifg_error *err)
{
    if (status)
        die("runner", err->message);
}

static double our_block(struct runner *runner, unsigned slot, uint32_t count)
{
    struct runner_work work = { .kind = RUNNER_CLOSED, .workers = 1, .queries = count };
    struct runner_samples samples = { 0 };
    uint64_t times[BLOCK_MAX];
    struct ifg_error err;

    need(runner_run(runner, slot, &work, &samples, &err), &err);
    if (samples.count != count)
        die("runner", "not all inferences are there");
    for (size_t i = 0; i < count; i++)
        times[i] = samples.end_ns[i] - samples.start_ns[i];
    runner_samples_fini(&samples);
    return median_of(times, count);
}

static struct runner *our_start(const struct work *work, const char *library, const char *model,
                                unsigned *out_slot)
{
    static const struct runner_setting one_thread[] = { { "threads", "1" } };
    struct runner_options options = { .program = RUNNER_PROGRAM,
                                      .library = library,
                                      .pin_cpu = -1 };
    struct runner_model what = { .path = model, .settings = one_thread, .setting_count = 1 };
    struct runner *runner = NULL;
    struct runner_facts facts;
    struct runner_loaded loaded;
    struct tensor tensors[INPUTS_MAX];
    struct tensor_list set = { .items = tensors, .count = work->input_count };
    struct ifg_error err;

    need(runner_start(&options, &runner, &facts, &err), &err);
    need(runner_load(runner, &what, &loaded, &err), &err);
    for (size_t i = 0; i < work->input_count; i++) {
        const struct input *input = &work->inputs[i];

        tensors[i] = (struct tensor){ .name = (char *)(uintptr_t)input->name,
                                      .type = input->type,
                                      .rank = input->rank };
        memcpy(tensors[i].dims, input->dims, sizeof input->dims);
        tensors[i].data = data_of(input, &tensors[i].bytes);
    }
    need(runner_bind(runner, loaded.slot, &set, 1, 1, &err), &err);
    for (size_t i = 0; i < work->input_count; i++)
        free(tensors[i].data);
    *out_slot = loaded.slot;
    runner_loaded_fini(&loaded);
    return runner;
}

/* One pair of processes. Returns ours / bare. */
static double measure_pair(size_t index, const char *library, const char *model, int pair,
                           double *out_bare_ns)
{
    const struct work *work = &works[index];
    struct child child;
    struct runner *runner;
    unsigned slot;
    double ours[ROUNDS_MAX], bare[ROUNDS_MAX], ratios[ROUNDS_MAX];

    if (pair & 1)
        bare_start(&child, index, library, model);
    runner = our_start(work, library, model, &slot);
    if (!(pair & 1))
        bare_start(&child, index, library, model);
    our_block(runner, slot, work->warm);
    bare_block(&child, work->warm);
    for (unsigned i = 0; i < work->rounds; i++) {
        if (i & 1)
            bare[i] = bare_block(&child, work->block);
        ours[i] = our_block(runner, slot, work->block);
        if (!(i & 1))
            bare[i] = bare_block(&child, work->block);
        ratios[i] = ours[i] / bare[i];
    }
    runner_stop(runner);
    bare_stop(&child);
    *out_bare_ns = ort_bench_median(bare, work->rounds);
    return ort_bench_median(ratios, work->rounds);
}

static void measure(size_t index, const char *library)
{
    const struct work *work = &works[index];
    double ratios[PAIRS], bare_ns[PAIRS];
    double lowest = INFINITY, highest = 0, ratio;
    char folder[512], model[1024], key[64];

    ort_bench_fetch(work->package, folder, sizeof folder);
    snprintf(model, sizeof model, "%s/%s", folder, work->file);
    for (int pair = 0; pair < PAIRS; pair++) {
        ratios[pair] = measure_pair(index, library, model, pair, &bare_ns[pair]);
        lowest = ratios[pair] < lowest ? ratios[pair] : lowest;
        highest = ratios[pair] > highest ? ratios[pair] : highest;
    }
    ratio = ort_bench_median(ratios, PAIRS);
    snprintf(key, sizeof key, "%s_bare_us", work->name);
    bench_result(key, ort_bench_median(bare_ns, PAIRS) / 1e3, "us");
    snprintf(key, sizeof key, "%s_ratio", work->name);
    bench_result(key, ratio, "ours / bare");
    snprintf(key, sizeof key, "%s_lowest", work->name);
    bench_result(key, lowest, "ours / bare");
    snprintf(key, sizeof key, "%s_highest", work->name);
    bench_result(key, highest, "ours / bare");
    snprintf(key, sizeof key, "%s_off", work->name);
    bench_bar(key, fabs(ratio - 1), 0.01, "of 1");
}

/* Both on one CPU, the last that we may use: what they compete with is then the same. */
static void stay_on_one(void)
{
    cpu_set_t allowed, one;

    CPU_ZERO(&one);
    if (sched_getaffinity(0, sizeof allowed, &allowed) != 0)
        return;
    for (int cpu = CPU_SETSIZE - 1; cpu >= 0; cpu--) {
        if (CPU_ISSET(cpu, &allowed)) {
            CPU_SET(cpu, &one);
            sched_setaffinity(0, sizeof one, &one);
            return;
        }
    }
}

int main(int argc, char **argv)
{
    char folder[512], library[1024];

    if (argc == 5 && strcmp(argv[1], "--bare") == 0)
        return bare_main(argv + 2);
    signal(SIGPIPE, SIG_IGN);
    stay_on_one();
    bench_begin("bench_overhead", argc, argv);
    ort_bench_fetch("ort-node-1.30.0", folder, sizeof folder);
    snprintf(library, sizeof library, "%s/libonnxruntime.so", folder);
    for (size_t i = 0; i < sizeof works / sizeof *works; i++)
        measure(i, library);
    return bench_end();
}
