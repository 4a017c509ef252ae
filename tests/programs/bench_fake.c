// SPDX-License-Identifier: Apache-2.0
/*
 * A runtime for the tests of bench: it takes time, fails, crashes, hangs and prints as it is told.
 *
 * A model is a text file whose first line is "fake"; "key=value" lines after it and settings of the
 * same names (they win) say what it does:
 *   provider              where its nodes are said to be
 *   run_us, load_us       how long an inference and loading take; how=sleep instead of spinning
 *   jitter_us             up to so much more, by chance (the same in every process)
 *   warm_runs, warm_us    the first N inferences take warm_us longer (default: ten times run_us)
 *   stall_at, stall_ms    inference N (from 1) takes so much longer
 *   stall_every_ms        it stands still for stall_ms at the beginning of each such period
 *   crash_at, exit_at, hang_at, fail_at   inference N does that
 *   crash_in, hang_in, fail_in            load, bind, run, results
 *   finish_us             what finish takes; it is not to be counted
 *   outputs, output_mb    how many outputs of what size; they hold the bytes of the first input
 *   scale                 outputs are the first input times this (float32)
 *   alloc_mb              memory taken and touched while loading
 *   print                 so many lines on stdout and on stderr with each inference
 *   special_us            told as time for specialization
 * The library's name says what `open` does: "crash", "hang", "fail", "exit", or anything else.
 */
#include <inferogram/bench_runtime.h>

#ifndef BENCH_FAKE_LATER
#define BENCH_FAKE_LATER 0
#endif

#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define SETS_MAX 64
#define OUTPUTS  16
#define MEGABYTE ((size_t)1 << 20)

struct ifg_bench_context {
    char library[64];
};

struct text {
    char key[32];
    char value[128];
};

struct ifg_bench_model {
    struct text texts[64];
    size_t text_count;
    long run_us, jitter_us, warm_runs, warm_us, stall_at, stall_ms, stall_every_ms, finish_us;
    long crash_at, exit_at, hang_at, fail_at, print, special_us;
    double scale;
    int sleeps;
    _Atomic long runs;
    char *memory;
    struct ifg_bench_port inputs[1];
    struct ifg_bench_port outputs[OUTPUTS];
    size_t output_count;
    size_t output_mb;
    struct ifg_bench_tensor bound[SETS_MAX];
    size_t last_set;
    struct ifg_bench_tensor results[OUTPUTS];
    char *result_data;
};

static uint64_t now_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static void take_time(long microseconds, int sleeps)
{
    uint64_t end = now_ns() + (uint64_t)microseconds * 1000u;

    if (microseconds <= 0)
        return;
    if (sleeps) {
        struct timespec wake = { (time_t)(end / 1000000000u), (long)(end % 1000000000u) };

        while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &wake, NULL) != 0)
            continue;
    }
    while (now_ns() < end)
        continue;
}

static void crash(void)
{
    fprintf(stderr, "fake: something is very wrong\n");
    signal(SIGSEGV, SIG_DFL); /* a sanitizer would make an exit of it */
    raise(SIGSEGV);
}

static void hang(void)
{
    for (;;)
        pause();
}

static int refuse(int code, const char *what, char *error, size_t error_size)
{
    snprintf(error, error_size, "%s", what);
    return code;
}

static int fake_open(const char *library, ifg_bench_context **out_context, char *error,
                     size_t error_size)
{
    static struct ifg_bench_context context;
    const char *name = library ? library : "";

    if (strcmp(name, "crash") == 0)
        crash();
    if (strcmp(name, "hang") == 0)
        hang();
    if (strcmp(name, "exit") == 0)
        exit(3);
    if (strcmp(name, "fail") == 0)
        return refuse(IFG_BENCH_UNAVAILABLE, "this machine has no fake", error, error_size);
    snprintf(context.library, sizeof context.library, "%s", name);
    *out_context = &context;
    return IFG_BENCH_OK;
}

static void fake_close(ifg_bench_context *context)
{
    context->library[0] = '\0';
}

static const char *fake_version(const ifg_bench_context *context)
{
    (void)context;
    return "1.2.3";
}

/* ---- loading ---- */

static const char *find(const ifg_bench_model *model, const char *key)
{
    for (size_t i = model->text_count; i > 0; i--) /* the last one wins */
        if (strcmp(model->texts[i - 1].key, key) == 0)
            return model->texts[i - 1].value;
    return NULL;
}

static long number(const ifg_bench_model *model, const char *key, long otherwise)
{
    const char *text = find(model, key);

    return text ? strtol(text, NULL, 10) : otherwise;
}

static int is_in(const ifg_bench_model *model, const char *key, const char *phase)
{
    const char *text = find(model, key);

    return text && strcmp(text, phase) == 0;
}

static int misbehave(const ifg_bench_model *model, const char *phase, char *error,
                     size_t error_size)
{
    if (is_in(model, "crash_in", phase))
        crash();
    if (is_in(model, "hang_in", phase))
        hang();
    if (is_in(model, "fail_in", phase))
        return refuse(IFG_BENCH_FAILED, "it was told to fail", error, error_size);
    return IFG_BENCH_OK;
}

static int is_known(const char *key)
{
    static const char *const known[] = {
        "run_us",         "load_us",   "how",      "jitter_us", "warm_runs", "warm_us",  "stall_at",
        "stall_every_ms", "stall_ms",  "crash_at", "exit_at",   "hang_at",   "fail_at",  "crash_in",
        "hang_in",        "fail_in",   "outputs",  "output_mb", "scale",     "alloc_mb", "print",
        "special_us",     "finish_us", "threads",  "ep",        "opt",       "policy",   "provider",
    };

    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (strcmp(known[i], key) == 0)
            return 1;
    return strncmp(key, "config.", 7) == 0 || strncmp(key, "ep.", 3) == 0;
}

static int set(ifg_bench_model *model, const char *key, const char *value, char *error,
               size_t error_size)
{
    struct text *text = &model->texts[model->text_count];

    if (!is_known(key) || model->text_count == sizeof model->texts / sizeof *model->texts) {
        snprintf(error, error_size, "the fake runtime has no setting %s", key);
        return IFG_BENCH_UNAVAILABLE;
    }
    if (strcmp(key, "ep") == 0 && strcmp(value, "cpu") != 0) {
        snprintf(error, error_size, "the fake runtime has no provider %s, only cpu", value);
        return IFG_BENCH_UNAVAILABLE;
    }
    snprintf(text->key, sizeof text->key, "%s", key);
    snprintf(text->value, sizeof text->value, "%s", value);
    model->text_count++;
    return IFG_BENCH_OK;
}

static int read_file(ifg_bench_model *model, const char *path, char *error, size_t error_size)
{
    char line[256];
    FILE *file = fopen(path, "r");
    int code = IFG_BENCH_OK;

    if (!file || !fgets(line, sizeof line, file) || strncmp(line, "fake", 4) != 0) {
        if (file)
            fclose(file);
        snprintf(error, error_size, "%s is no model of the fake runtime", path);
        return IFG_BENCH_BAD_MODEL;
    }
    while (code == IFG_BENCH_OK && fgets(line, sizeof line, file)) {
        char *equals = strchr(line, '=');

        line[strcspn(line, "\n")] = '\0';
        if (!equals)
            continue;
        *equals = '\0';
        code = set(model, line, equals + 1, error, error_size);
    }
    fclose(file);
    return code;
}

static void take_numbers(ifg_bench_model *model)
{
    const char *scale = find(model, "scale");

    model->run_us = number(model, "run_us", 100);
    model->jitter_us = number(model, "jitter_us", 0);
    model->warm_runs = number(model, "warm_runs", 0);
    model->warm_us = number(model, "warm_us", 10 * model->run_us);
    model->stall_at = number(model, "stall_at", 0);
    model->stall_ms = number(model, "stall_ms", 0);
    model->stall_every_ms = number(model, "stall_every_ms", 0);
    model->crash_at = number(model, "crash_at", 0);
    model->exit_at = number(model, "exit_at", 0);
    model->hang_at = number(model, "hang_at", 0);
    model->fail_at = number(model, "fail_at", 0);
    model->print = number(model, "print", 0);
    model->special_us = number(model, "special_us", 0);
    model->finish_us = number(model, "finish_us", 0);
    model->output_mb = (size_t)number(model, "output_mb", 0);
    model->output_count = (size_t)number(model, "outputs", 1);
    model->scale = scale ? strtod(scale, NULL) : 1;
    model->sleeps = is_in(model, "how", "sleep");
    if (model->output_count > OUTPUTS)
        model->output_count = OUTPUTS;
}

static void make_ports(ifg_bench_model *model)
{
    static const char *const names[OUTPUTS] = {
        "y",  "y1", "y2",  "y3",  "y4",  "y5",  "y6",  "y7",
        "y8", "y9", "y10", "y11", "y12", "y13", "y14", "y15"
    };

    model->inputs[0] = (struct ifg_bench_port){
        .name = "x", .type = IFG_BENCH_FLOAT, .rank = 2, .dims = { -1, 4 }, .dim_names = { "batch" }
    };
    for (size_t i = 0; i < model->output_count; i++) {
        model->outputs[i] = model->inputs[0];
        model->outputs[i].name = names[i];
        if (model->output_mb)
            model->outputs[i].dims[0] = (int64_t)(model->output_mb * MEGABYTE / 16);
    }
}

static void fake_unload(ifg_bench_model *model)
{
    free(model->memory);
    free(model->result_data);
    free(model);
}

static int fake_load(ifg_bench_context *context, const char *path,
                     const struct ifg_bench_setting *settings, size_t setting_count,
                     ifg_bench_model **out_model, char *error, size_t error_size)
{
    ifg_bench_model *model = calloc(1, sizeof *model);
    size_t bytes;
    int code;

    (void)context;
    if (!model)
        return refuse(IFG_BENCH_FAILED, "no memory", error, error_size);
    code = read_file(model, path, error, error_size);
    for (size_t i = 0; i < setting_count && code == IFG_BENCH_OK; i++)
        code = set(model, settings[i].key, settings[i].value, error, error_size);
    if (code == IFG_BENCH_OK)
        code = misbehave(model, "load", error, error_size);
    if (code != IFG_BENCH_OK) {
        fake_unload(model);
        return code;
    }
    take_numbers(model);
    make_ports(model);
    bytes = (size_t)number(model, "alloc_mb", 0) * MEGABYTE;
    model->memory = bytes ? malloc(bytes) : NULL;
    if (model->memory)
        memset(model->memory, 1, bytes);
    take_time(number(model, "load_us", 0), 1);
    *out_model = model;
    return IFG_BENCH_OK;
}

static size_t fake_inputs(const ifg_bench_model *model, const struct ifg_bench_port **out_ports)
{
    *out_ports = model->inputs;
    return 1;
}

static size_t fake_outputs(const ifg_bench_model *model, const struct ifg_bench_port **out_ports)
{
    *out_ports = model->outputs;
    return model->output_count;
}

/* ---- running ---- */

static int fake_bind(ifg_bench_model *model, size_t number_of_set,
                     const struct ifg_bench_tensor *tensors, size_t tensor_count, uint32_t workers,
                     char *error, size_t error_size)
{
    int code = misbehave(model, "bind", error, error_size);

    (void)workers;
    if (code != IFG_BENCH_OK)
        return code;
    if (number_of_set >= SETS_MAX)
        return refuse(IFG_BENCH_FAILED, "too many sets of inputs", error, error_size);
    if (tensor_count != 1 || strcmp(tensors[0].name, "x") != 0 ||
        tensors[0].type != IFG_BENCH_FLOAT || tensors[0].rank != 2 || tensors[0].dims[1] != 4)
        return refuse(IFG_BENCH_BAD_INPUT, "the model takes x, float32 batch x 4", error,
                      error_size);
    model->bound[number_of_set] = tensors[0];
    return IFG_BENCH_OK;
}

static void chat(const ifg_bench_model *model, long run)
{
    for (long i = 0; i < model->print; i++) {
        printf("fake: inference %ld says something on stdout\n", run);
        fprintf(stderr, "fake: inference %ld says something on stderr\n", run);
    }
    if (model->print)
        fflush(stdout);
}

static long by_chance(const ifg_bench_model *model, long run)
{
    uint64_t z = (uint64_t)run * UINT64_C(0x9e3779b97f4a7c15);

    z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
    return model->jitter_us ? (long)((z >> 33) % (uint64_t)model->jitter_us) : 0;
}

/* Like a garbage collector: by the clock, and not by the number of inferences. */
static void stand_still(const ifg_bench_model *model)
{
    uint64_t into_us;

    if (model->stall_every_ms <= 0)
        return;
    into_us = now_ns() / 1000 % (uint64_t)(1000 * model->stall_every_ms);
    if (into_us < (uint64_t)(1000 * model->stall_ms))
        take_time(1000 * model->stall_ms - (long)into_us, 1);
}

static int fake_run(ifg_bench_model *model, size_t number_of_set, uint32_t worker, char *error,
                    size_t error_size)
{
    long run = atomic_fetch_add(&model->runs, 1) + 1;
    int code = misbehave(model, "run", error, error_size);

    if (worker == 0)
        model->last_set = number_of_set;
    if (code != IFG_BENCH_OK)
        return code;
    chat(model, run);
    if (run == model->crash_at)
        crash();
    if (run == model->exit_at)
        exit(3);
    if (run == model->hang_at)
        hang();
    if (run == model->fail_at)
        return refuse(IFG_BENCH_FAILED, "no more today", error, error_size);
    stand_still(model);
    if (run == model->stall_at)
        take_time(model->stall_ms * 1000, 1);
    take_time(model->run_us + by_chance(model, run) +
                  (run <= model->warm_runs ? model->warm_us : 0),
              model->sleeps);
    return IFG_BENCH_OK;
}

static void fake_finish(ifg_bench_model *model, uint32_t worker)
{
    (void)worker;
    take_time(model->finish_us, model->sleeps);
}

static size_t fake_results(ifg_bench_model *model, const struct ifg_bench_tensor **out_tensors)
{
    const struct ifg_bench_tensor *input = &model->bound[model->last_set];
    size_t bytes = model->output_mb ? model->output_mb * MEGABYTE : input->bytes;
    char ignored[64];
    float value;

    misbehave(model, "results", ignored, sizeof ignored);
    free(model->result_data);
    model->result_data = malloc(bytes + 1);
    if (!model->result_data)
        return 0;
    for (size_t at = 0; at + sizeof value <= bytes; at += sizeof value) {
        memcpy(&value, (const char *)input->data + at % (input->bytes ? input->bytes : 1),
               sizeof value);
        value = (float)(value * model->scale);
        memcpy(model->result_data + at, &value, sizeof value);
    }
    for (size_t i = 0; i < model->output_count; i++) {
        model->results[i] = *input;
        model->results[i].name = model->outputs[i].name;
        model->results[i].dims[0] = (int64_t)(bytes / 16);
        model->results[i].data = model->result_data;
        model->results[i].bytes = bytes;
    }
    *out_tensors = model->results;
    return model->output_count;
}

/* ---- what else it tells ---- */

static uint64_t fake_specialization_ns(const ifg_bench_model *model)
{
    return (uint64_t)model->special_us * 1000u;
}

static size_t fake_placement(ifg_bench_model *model, const struct ifg_bench_placement **out_entries,
                             const char **out_reason)
{
    static struct ifg_bench_placement all = { "FakeProvider", 3 };

    if (find(model, "provider"))
        all.provider = find(model, "provider");
    *out_entries = &all;
    *out_reason = "";
    return 1;
}

/* As if a later header had more members. */
struct later_node {
    struct ifg_bench_node node;
    const char *later[BENCH_FAKE_LATER + 1];
};

static size_t fake_nodes(ifg_bench_model *model, const struct ifg_bench_node **out_nodes)
{
    static const struct ifg_bench_node nodes[] = { { "first", "Add", "FakeProvider" },
                                                   { "second", "Mul", "FakeProvider" },
                                                   { "third", "Relu", "FakeProvider" } };
    static struct later_node later[3];

    (void)model;
    for (size_t i = 0; i < 3; i++)
        later[i].node = nodes[i];
    *out_nodes = BENCH_FAKE_LATER ? &later[0].node : nodes;
    return 3;
}

static size_t fake_devices(ifg_bench_context *context, const char *const **out_lines)
{
    static const char *const lines[] = { "cpu: the fake one", "cpu: another" };

    (void)context;
    *out_lines = lines;
    return 2;
}

extern const struct ifg_bench_runtime ifg_bench_runtime_1;
const struct ifg_bench_runtime ifg_bench_runtime_1 = {
    .struct_size = BENCH_FAKE_SIZE,
    .name = "Fake Runtime",
    .open = fake_open,
    .close = fake_close,
    .version = fake_version,
    .load = fake_load,
    .unload = fake_unload,
    .inputs = fake_inputs,
    .outputs = fake_outputs,
    .bind = fake_bind,
    .run = BENCH_FAKE_RUN,
    .finish = fake_finish,
    .results = fake_results,
    .specialization_ns = fake_specialization_ns,
    .placement = fake_placement,
    .nodes = fake_nodes,
    .devices = fake_devices,
    .node_size = BENCH_FAKE_LATER ? sizeof(struct later_node) : sizeof(struct ifg_bench_node),
};
