// SPDX-License-Identifier: Apache-2.0
/*
 * What a sample costs the recorder: walking its stack, finding its modules, and its place in the
 * tree of stacks. Real samples of a real model in node are kept in memory and then replayed. Times
 * are thread CPU time.
 *
 *   sample_us     as in a recording: a batch of samples at a time, copied a while ago, the CPU's
 *                 caches full of other things (bar 5)
 *   first_us      the first time, when nothing is known of the code yet
 *   warm_us       with caches that nobody else uses
 *   frame_ns      sample_us per frame
 *   copy_us       copying a record, as out of the kernel's ring
 *   rooted        stacks that reach the thread's root (bar: at least 95 %)
 *   unstable      stacks that come out otherwise when the samples come in the opposite order: what
 *                 is remembered from one sample to the next must not show
 *   map_ms        all mappings together: opening files and building their tables
 *   table_ms      the slowest one
 */
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/alloc.h"
#include "bench.h"
#include "collect/perf/processes.h"
#include "ort_bench.h"

#define HZ          997
#define SAMPLES     2000
#define LOG_MAX     65536
#define SECONDS_MAX 40.0
#define ROUNDS      20
#define COLD_ROUNDS 4
#define GROUP       64 /* samples in a batch: a thread makes so many while they may wait */
#define OTHER_BYTES (48u << 20)

enum kind { SAMPLE, MAPPING, FORK, GONE };

/* What the kernel told, in order. */
struct told {
    enum kind kind;
    uint32_t pid, parent;
    struct sampler_sample sample;
    struct sampler_mapping mapping;
};

static struct told *told[LOG_MAX];
static size_t told_count, sample_count;
static const struct told *samples[SAMPLES];

static const char script[] =
    "const ort = require('onnxruntime-node');\n"
    "(async () => {\n"
    "  const session = await ort.InferenceSession.create(process.argv[2]);\n"
    "  const size = 320, data = new Float32Array(3 * size * size).fill(0.3);\n"
    "  const input = new ort.Tensor('float32', data, [1, 3, size, size]);\n"
    "  const end = Date.now() + 60000;\n"
    "  while (Date.now() < end) await session.run({ [session.inputNames[0]]: input });\n"
    "})();\n";

/* ---- taking samples ---- */

static struct told *add(enum kind kind, uint32_t pid)
{
    struct told *one = told_count < LOG_MAX ? ifg_alloc(1, sizeof *one) : NULL;

    if (!one) {
        fprintf(stderr, "unwind_cost: no memory for what the kernel tells\n");
        exit(1);
    }
    one->kind = kind;
    one->pid = pid;
    told[told_count++] = one;
    return one;
}

static void on_sample(const struct sampler_sample *sample, void *user)
{
    struct told *one;
    uint8_t *stack;

    (void)user;
    if (sample_count == SAMPLES)
        return;
    one = add(SAMPLE, sample->pid);
    stack = ifg_alloc(sample->stack_size + 1, 1);
    if (!stack)
        exit(1);
    memcpy(stack, sample->stack, sample->stack_size);
    one->sample = *sample;
    one->sample.stack = stack;
    samples[sample_count++] = one;
}

static void on_mapping(const struct sampler_mapping *mapping, void *user)
{
    struct told *one = add(MAPPING, mapping->pid);

    (void)user;
    one->mapping = *mapping;
    one->mapping.path = ifg_strdup(mapping->path);
}

static void on_fork(uint64_t time_ns, uint32_t parent_pid, uint32_t parent_tid, uint32_t pid,
                    uint32_t tid, void *user)
{
    (void)time_ns;
    (void)parent_tid;
    (void)tid;
    (void)user;
    if (pid != parent_pid)
        add(FORK, pid)->parent = parent_pid;
}

static void on_name(uint64_t time_ns, uint32_t pid, uint32_t tid, const char *name, bool exec,
                    void *user)
{
    (void)time_ns;
    (void)tid;
    (void)name;
    (void)user;
    if (exec)
        add(GONE, pid);
}

/* node, which waits for a byte before it begins. */
static pid_t start(int *out_go)
{
    static char runtime[512], packages[600], models[512], model[600], file[256];
    int go[2];
    pid_t child;
    FILE *out;

    ort_bench_fetch("ort-node-1.30.0", runtime, sizeof runtime);
    ort_bench_fetch("ocr", models, sizeof models);
    snprintf(packages, sizeof packages, "%s/node_modules", runtime);
    snprintf(model, sizeof model, "%s/ch_PP-OCRv4_det_infer.onnx", models);
    snprintf(file, sizeof file, "%s", bench_file("model.js"));
    out = fopen(file, "w");
    if (!out || fputs(script, out) < 0 || fclose(out) || pipe2(go, O_CLOEXEC)) {
        perror("unwind_cost");
        exit(1);
    }
    child = fork();
    if (child == 0) {
        char byte;

        setenv("NODE_PATH", packages, 1);
        if (read(go[0], &byte, 1) == 1)
            execlp("node", "node", file, model, (char *)NULL);
        _exit(127);
    }
    close(go[0]);
    *out_go = go[1];
    return child;
}

static void take_samples(void)
{
    const struct sampler_events events = {
        .sample = on_sample, .mapped = on_mapping, .named = on_name, .forked = on_fork
    };
    struct sampler_options options = { .launched = true, .hz = HZ, .want_kernel = true };
    struct sampler_facts facts;
    struct sampler *sampler;
    struct ifg_error err = { .message = "" };
    double deadline = bench_wall_seconds() + SECONDS_MAX;
    int go;

    options.pid = start(&go);
    if (sampler_open(&options, &sampler, &facts, &err) != IFG_OK || write(go, "g", 1) != 1) {
        fprintf(stderr, "unwind_cost: %s\n", err.message);
        exit(1);
    }
    sampler_pause(sampler, false);
    while (sample_count < SAMPLES && bench_wall_seconds() < deadline &&
           waitpid(options.pid, NULL, WNOHANG) == 0) {
        usleep(4000);
        sampler_read(sampler, false, &events);
    }
    sampler_close(sampler);
    kill(options.pid, SIGKILL);
    waitpid(options.pid, NULL, 0);
    close(go);
    if (sample_count < SAMPLES / 2) {
        fprintf(stderr, "unwind_cost: only %zu samples of node\n", sample_count);
        exit(1);
    }
}

/* ---- replaying them ---- */

static struct processes *processes;
static uint32_t first_stack[SAMPLES];
static size_t frame_count, rooted_count, mapping_count;
static double first_s;

static uint32_t walk(const struct told *one, const struct unwind_frames **out_frames)
{
    return processes_stack(processes, &one->sample, out_frames);
}

/* As it came, with what was mapped at the time. */
static void replay_all(double *out_map_s, double *out_slowest_s)
{
    const struct unwind_frames *frames;
    size_t sample = 0;

    for (size_t i = 0; i < told_count; i++) {
        double begin = bench_cpu_seconds();
        double took;

        switch (told[i]->kind) {
        case MAPPING:
            processes_map(processes, &told[i]->mapping);
            mapping_count++;
            break;
        case FORK:
            processes_fork(processes, told[i]->parent, told[i]->pid);
            break;
        case GONE:
            processes_drop(processes, told[i]->pid);
            break;
        default:
            first_stack[sample++] = walk(told[i], &frames);
            first_s += bench_cpu_seconds() - begin;
            frame_count += told[i]->sample.kernel_count + (frames ? frames->count : 0);
            rooted_count += frames && frames->stop == UNWIND_AT_ROOT;
            continue;
        }
        took = bench_cpu_seconds() - begin;
        *out_map_s += took;
        *out_slowest_s = took > *out_slowest_s ? took : *out_slowest_s;
    }
}

static size_t replay_backwards(void)
{
    const struct unwind_frames *frames;
    size_t other = 0;

    for (size_t i = sample_count; i-- > 0;)
        other += walk(samples[i], &frames) != first_stack[i];
    return other;
}

/* What the watched program does to the caches in between. */
static void do_other_things(uint8_t *memory)
{
    for (size_t i = 0; i < OTHER_BYTES; i += 64)
        memory[i]++;
}

/* Walks all samples, a group at a time; the best round counts. other: NULL, or memory that is
 * used between copying a group and walking it. */
static double replay(uint8_t *other, int rounds, double *out_copy_s)
{
    static uint8_t copies[GROUP][SAMPLER_STACK_MAX];
    const struct unwind_frames *frames;
    double best = 1e9;

    *out_copy_s = 1e9;
    for (int round = 0; round < rounds; round++) {
        double walking = 0, copying = 0;

        for (size_t i = 0; i + GROUP <= sample_count; i += GROUP) {
            struct told group[GROUP];
            double begin;

            begin = bench_cpu_seconds();
            for (size_t k = 0; k < GROUP; k++) {
                group[k] = *samples[i + k];
                memcpy(copies[k], group[k].sample.stack, group[k].sample.stack_size);
                group[k].sample.stack = copies[k];
            }
            copying += bench_cpu_seconds() - begin;
            if (other)
                do_other_things(other);
            begin = bench_cpu_seconds();
            for (size_t k = 0; k < GROUP; k++)
                walk(&group[k], &frames);
            walking += bench_cpu_seconds() - begin;
        }
        best = walking < best ? walking : best;
        *out_copy_s = copying < *out_copy_s ? copying : *out_copy_s;
    }
    return best / (double)(sample_count / GROUP * GROUP);
}

int main(int argc, char **argv)
{
    struct modules *modules = modules_create();
    struct stacks *stacks = stacks_create();
    uint8_t *other = ifg_alloc(OTHER_BYTES, 1);
    double map_s = 0, slowest_s = 0, copy_s, warm_s, cold_s;
    size_t unstable;

    bench_begin("unwind_cost", argc, argv);
    processes = processes_create(modules, stacks, NULL);
    if (!modules || !stacks || !processes || !other)
        return 1;
    take_samples();
    replay_all(&map_s, &slowest_s);
    warm_s = replay(NULL, ROUNDS, &copy_s);
    cold_s = replay(other, COLD_ROUNDS, &copy_s);
    unstable = replay_backwards();
    bench_bar("sample_us", cold_s * 1e6, 5, "us");
    bench_result("first_us", first_s / (double)sample_count * 1e6, "us");
    bench_result("warm_us", warm_s * 1e6, "us");
    bench_result("frame_ns", cold_s * 1e9 / ((double)frame_count / (double)sample_count), "ns");
    bench_result("copy_us", copy_s / (double)(sample_count / GROUP * GROUP) * 1e6, "us");
    bench_bar("not_rooted", 100 - 100.0 * (double)rooted_count / (double)sample_count, 5, "%");
    bench_result("frames", (double)frame_count / (double)sample_count, "per sample");
    bench_result("unstable", (double)unstable, "samples");
    bench_result("samples", (double)sample_count, "");
    bench_result("mappings", (double)mapping_count, "");
    bench_result("map_ms", map_s * 1e3, "ms");
    bench_result("table_ms", slowest_s * 1e3, "ms");
    ifg_free(other);
    processes_destroy(processes);
    stacks_destroy(stacks);
    modules_destroy(modules);
    return bench_end();
}
