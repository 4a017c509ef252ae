// SPDX-License-Identifier: Apache-2.0
/*
 * Drives a runtime of the benchmark through its interface alone, as the process that runs models
 * does, and prints all it tells. Nothing it prints depends on time.
 *
 *   bench_drive [OPTIONS] [MODEL]
 *
 * Inputs are made up from the declared shapes: free dimensions are 1, floats small numbers,
 * integers 1, texts "a", "b", ...
 */
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "bench/runner/ort/ort.h"
#include "bench/inputs/tensor.h"

#define LIST_MAX 32

static const char usage[] =
    "usage: bench_drive [OPTIONS] [MODEL]\n"
    "  --plugin FILE       a runtime of its own; else ONNX Runtime\n"
    "  --library FILE      what its `open` gets\n"
    "  --set KEY=VALUE     setting of the model\n"
    "  --shape INPUT=2x4   of an input; \"scalar\" is none\n"
    "  --number INPUT=N    value of an integer input\n"
    "  --type INPUT=N      feed this type instead\n"
    "  --rename INPUT=NAME feed it under this name\n"
    "  --leave INPUT       do not feed it\n"
    "  --add NAME=2x4      feed floats under a name that is no input\n"
    "  --runs N            runs (default 2); 0: only bind\n"
    "  --sets N            input sets (default 1)\n"
    "  --threads N         threads that run at the same time, each N runs\n"
    "  --loads N           load it this often\n"
    "  --nodes             print where each node is\n"
    "  --devices           print devices\n"
    "  --times             print medians in ns: load, specialization, run\n";

static struct {
    const char *plugin, *library, *model;
    struct ifg_bench_setting settings[LIST_MAX];
    size_t setting_count;
    char *shapes[LIST_MAX], *numbers[LIST_MAX], *types[LIST_MAX], *renames[LIST_MAX],
        *leaves[LIST_MAX], *adds[LIST_MAX];
    size_t shape_count, number_count, type_count, rename_count, leave_count, add_count;
    unsigned long runs, sets, threads, loads;
    bool nodes, devices, times;
} opt = { .runs = 2, .sets = 1, .threads = 1, .loads = 1 };

static const struct ifg_bench_runtime *runtime;
static char error[768];

static uint64_t now_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static int by_value(const void *a, const void *b)
{
    uint64_t left = *(const uint64_t *)a;
    uint64_t right = *(const uint64_t *)b;

    return left < right ? -1 : left > right;
}

static void fail(const char *what, int code)
{
    static const char *const names[] = { "ok", "failed", "unavailable", "bad model", "bad input" };

    printf("%s: %s: %s\n", what, code >= 0 && code < 5 ? names[code] : "?", error);
    exit(code + 10);
}

/* ---- arguments ---- */

static char *value_of(char *const *list, size_t count, const char *name)
{
    size_t length = strlen(name);

    for (size_t i = 0; i < count; i++)
        if (strncmp(list[i], name, length) == 0 && (list[i][length] == '=' || !list[i][length]))
            return list[i][length] ? list[i] + length + 1 : list[i] + length;
    return NULL;
}

static void keep(char **list, size_t *count, char *text)
{
    if (*count < LIST_MAX)
        list[(*count)++] = text;
}

static void take_setting(char *text)
{
    char *equals = strchr(text, '=');

    if (!equals || opt.setting_count == LIST_MAX)
        exit(2);
    *equals = '\0';
    opt.settings[opt.setting_count++] = (struct ifg_bench_setting){ text, equals + 1 };
}

static bool take_text(const char *name, char *value)
{
    if (strcmp(name, "--plugin") == 0)
        opt.plugin = value;
    else if (strcmp(name, "--library") == 0)
        opt.library = value;
    else if (strcmp(name, "--set") == 0)
        take_setting(value);
    else if (strcmp(name, "--shape") == 0)
        keep(opt.shapes, &opt.shape_count, value);
    else if (strcmp(name, "--number") == 0)
        keep(opt.numbers, &opt.number_count, value);
    else if (strcmp(name, "--type") == 0)
        keep(opt.types, &opt.type_count, value);
    else if (strcmp(name, "--rename") == 0)
        keep(opt.renames, &opt.rename_count, value);
    else if (strcmp(name, "--leave") == 0)
        keep(opt.leaves, &opt.leave_count, value);
    else if (strcmp(name, "--add") == 0)
        keep(opt.adds, &opt.add_count, value);
    else
        return false;
    return true;
}

static bool take_number(const char *name, const char *value)
{
    unsigned long *number = strcmp(name, "--runs") == 0      ? &opt.runs
                            : strcmp(name, "--sets") == 0    ? &opt.sets
                            : strcmp(name, "--threads") == 0 ? &opt.threads
                            : strcmp(name, "--loads") == 0   ? &opt.loads
                                                             : NULL;

    if (number)
        *number = strtoul(value, NULL, 10);
    return number != NULL;
}

static void parse(int argc, char **argv)
{
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--nodes") == 0)
            opt.nodes = true;
        else if (strcmp(argv[i], "--devices") == 0)
            opt.devices = true;
        else if (strcmp(argv[i], "--times") == 0)
            opt.times = true;
        else if (i + 1 < argc &&
                 (take_text(argv[i], argv[i + 1]) || take_number(argv[i], argv[i + 1])))
            i++;
        else if (argv[i][0] != '-')
            opt.model = argv[i];
        else {
            fputs(usage, stderr);
            exit(2);
        }
    }
}

/* ---- inputs ---- */

static void read_shape(const char *text, struct ifg_bench_tensor *tensor)
{
    char *at = (char *)(uintptr_t)text;

    tensor->rank = 0;
    while (*at >= '0' && *at <= '9' && tensor->rank < IFG_BENCH_RANK_MAX) {
        tensor->dims[tensor->rank++] = strtoll(at, &at, 10);
        at += *at == 'x';
    }
}

static void shape_of(const struct ifg_bench_port *port, struct ifg_bench_tensor *tensor)
{
    const char *shape = value_of(opt.shapes, opt.shape_count, port->name);

    tensor->rank = port->rank;
    for (uint32_t d = 0; d < port->rank; d++)
        tensor->dims[d] = port->dims[d] < 0 ? 1 : port->dims[d];
    if (shape)
        read_shape(shape, tensor);
}

static void fill(struct ifg_bench_tensor *tensor, uint64_t count, long long number, unsigned seed)
{
    size_t bytes = tensor_type_bytes(tensor->type);
    char *data = calloc(1, tensor->bytes + 64);

    for (uint64_t i = 0; data && i < count; i++) {
        float small = (float)((i * 7 + seed) % 13) / 13.0f - 0.5f;

        if (tensor->type == IFG_BENCH_FLOAT)
            memcpy(data + i * bytes, &small, bytes);
        else if (tensor->type == IFG_BENCH_STRING)
            data[2 * i] = (char)('a' + (i + seed) % 26);
        else if (tensor->type != IFG_BENCH_FLOAT16 && tensor->type != IFG_BENCH_DOUBLE)
            memcpy(data + i * bytes, &number, bytes);
    }
    tensor->data = data;
}

static void give_data(struct ifg_bench_tensor *tensor, const char *number, unsigned seed)
{
    uint64_t elements = 0;

    if (!tensor_elements(tensor->dims, tensor->rank, &elements))
        exit(2);
    tensor->bytes = tensor->type == IFG_BENCH_STRING ? 2 * elements
                                                     : elements * tensor_type_bytes(tensor->type);
    fill(tensor, elements, number ? strtoll(number, NULL, 10) : 1, seed);
}

static size_t make_inputs(const ifg_bench_model *model, unsigned seed,
                          struct ifg_bench_tensor *tensors)
{
    const struct ifg_bench_port *ports;
    size_t count = runtime->inputs(model, &ports);
    size_t made = 0;

    for (size_t i = 0; i < count && made < LIST_MAX; i++) {
        struct ifg_bench_tensor *tensor = &tensors[made];
        const char *name = value_of(opt.renames, opt.rename_count, ports[i].name);
        const char *type = value_of(opt.types, opt.type_count, ports[i].name);

        if (value_of(opt.leaves, opt.leave_count, ports[i].name))
            continue;
        *tensor = (struct ifg_bench_tensor){ .name = name ? name : ports[i].name };
        tensor->type = type ? (int32_t)strtol(type, NULL, 10) : ports[i].type;
        shape_of(&ports[i], tensor);
        give_data(tensor, value_of(opt.numbers, opt.number_count, ports[i].name), seed);
        made++;
    }
    for (size_t i = 0; i < opt.add_count && made < LIST_MAX; i++, made++) {
        struct ifg_bench_tensor *tensor = &tensors[made];
        char *equals = strchr(opt.adds[i], '=');

        if (!equals)
            exit(2);
        tensors[made] = (struct ifg_bench_tensor){ .type = IFG_BENCH_FLOAT };
        tensor->name = strndup(opt.adds[i], (size_t)(equals - opt.adds[i]));
        read_shape(equals + 1, tensor);
        give_data(tensor, NULL, seed);
    }
    return made;
}

/* ---- output ---- */

static void print_ports(const char *what, const struct ifg_bench_port *ports, size_t count)
{
    char shape[256];

    for (size_t i = 0; i < count; i++)
        printf("%s %s: %s %s\n", what, ports[i].name, tensor_type_name(ports[i].type),
               tensor_shape_text(ports[i].dims, (char *const *)ports[i].dim_names, ports[i].rank,
                                 shape, sizeof shape));
}

static void print_placement(ifg_bench_model *model)
{
    const struct ifg_bench_placement *entries = NULL;
    const struct ifg_bench_node *nodes = NULL;
    const char *reason = "";
    size_t count = runtime->placement ? runtime->placement(model, &entries, &reason) : 0;

    for (size_t i = 0; i < count; i++)
        printf("placed %s: %u\n", entries[i].provider, entries[i].nodes);
    if (runtime->placement && !count)
        printf("not placed: %s\n", reason);
    count = opt.nodes && runtime->nodes ? runtime->nodes(model, &nodes) : 0;
    for (size_t i = 0; i < count; i++)
        printf("node %s %s %s\n", nodes[i].provider, nodes[i].op_type, nodes[i].name);
}

static void print_results(ifg_bench_model *model)
{
    const struct ifg_bench_tensor *tensors = NULL;
    size_t count = runtime->results ? runtime->results(model, &tensors) : 0;
    char shape[256];

    for (size_t i = 0; i < count; i++) {
        const struct ifg_bench_tensor *tensor = &tensors[i];
        uint64_t elements = 0;
        double sum = 0;

        printf("result %s: %s %s", tensor->name, tensor_type_name(tensor->type),
               tensor_shape_text(tensor->dims, NULL, tensor->rank, shape, sizeof shape));
        if (tensor->type == IFG_BENCH_STRING) {
            for (size_t at = 0; at < tensor->bytes;
                 at += strlen((const char *)tensor->data + at) + 1)
                printf(" [%s]", (const char *)tensor->data + at);
        } else if (tensor_elements(tensor->dims, tensor->rank, &elements)) {
            const struct tensor view = { .type = tensor->type,
                                         .rank = tensor->rank,
                                         .data = (uint8_t *)(uintptr_t)tensor->data,
                                         .bytes = tensor->bytes };

            for (uint64_t e = 0; e < elements; e++)
                sum += tensor_value(&view, e);
            printf(" sum %.4g", sum);
        }
        printf("\n");
    }
}

/* ---- runs ---- */

struct thread {
    ifg_bench_model *model;
    uint32_t worker;
    unsigned long good;
};

static void *run_thread(void *user)
{
    struct thread *thread = user;
    char why[256];

    for (unsigned long i = 0; i < opt.runs; i++) {
        thread->good += runtime->run(thread->model, i % opt.sets, thread->worker, why,
                                     sizeof why) == IFG_BENCH_OK;
        runtime->finish(thread->model, thread->worker);
    }
    return NULL;
}

static void run_threads(ifg_bench_model *model)
{
    pthread_t ids[LIST_MAX];
    struct thread threads[LIST_MAX];
    unsigned long good = 0;

    for (uint32_t i = 0; i < opt.threads && i < LIST_MAX; i++) {
        threads[i] = (struct thread){ model, i, 0 };
        if (pthread_create(&ids[i], NULL, run_thread, &threads[i]) != 0)
            exit(3);
    }
    for (uint32_t i = 0; i < opt.threads && i < LIST_MAX; i++) {
        pthread_join(ids[i], NULL);
        good += threads[i].good;
    }
    printf("%lu runs of %lu threads\n", good, opt.threads);
}

static void run_alone(ifg_bench_model *model)
{
    uint64_t *times = calloc(opt.runs + 1, sizeof *times);

    for (unsigned long i = 0; times && i < opt.runs; i++) {
        uint64_t begin = now_ns();
        int code = runtime->run(model, i % opt.sets, 0, error, sizeof error);

        times[i] = now_ns() - begin;
        if (code) {
            runtime->finish(model, 0);
            fail("run", code);
        }
        if (i + 1 == opt.runs)
            print_results(model);
        runtime->finish(model, 0);
    }
    printf("%lu runs\n", opt.runs);
    if (times && opt.times && opt.runs) {
        qsort(times, opt.runs, sizeof *times, by_value);
        printf("run_ns %llu\n", (unsigned long long)times[opt.runs / 2]);
    }
    free(times);
}

static void drive(ifg_bench_context *context, bool is_last)
{
    struct ifg_bench_tensor tensors[LIST_MAX][LIST_MAX];
    size_t counts[LIST_MAX] = { 0 };
    const struct ifg_bench_port *ports = NULL;
    size_t count;
    ifg_bench_model *model = NULL;
    uint64_t begin = now_ns();
    int code = runtime->load(context, opt.model, opt.settings, opt.setting_count, &model, error,
                             sizeof error);
    uint64_t load_ns = now_ns() - begin;
    uint64_t special_ns;

    if (code)
        fail("load", code);
    special_ns = runtime->specialization_ns ? runtime->specialization_ns(model) : 0;
    if (is_last) {
        count = runtime->inputs(model, &ports);
        print_ports("input", ports, count);
        count = runtime->outputs(model, &ports);
        print_ports("output", ports, count);
        print_placement(model);
        printf("specialization %s\n", !special_ns             ? "not known"
                                      : special_ns <= load_ns ? "within load"
                                                              : "longer than load");
        if (opt.times)
            printf("load_ns %llu\nspecialization_ns %llu\n", (unsigned long long)load_ns,
                   (unsigned long long)special_ns);
    }
    for (unsigned set = 0; set < opt.sets && set < LIST_MAX; set++) {
        counts[set] = make_inputs(model, set, tensors[set]);
        code = runtime->bind(model, set, tensors[set], counts[set], (uint32_t)opt.threads, error,
                             sizeof error);
        if (code)
            fail("bind", code);
    }
    if (opt.threads > 1)
        run_threads(model);
    else if (opt.runs && is_last)
        run_alone(model);
    runtime->unload(model);
    for (unsigned set = 0; set < opt.sets && set < LIST_MAX; set++)
        for (size_t i = 0; i < counts[set]; i++)
            free((void *)(uintptr_t)tensors[set][i].data);
}

int main(int argc, char **argv)
{
    ifg_bench_context *context = NULL;
    const char *const *lines = NULL;
    size_t count;
    int code;

    parse(argc, argv);
    runtime = &bench_ort_runtime;
    if (opt.plugin) {
        void *library = dlopen(opt.plugin, RTLD_NOW | RTLD_LOCAL);

        runtime = library ? dlsym(library, IFG_BENCH_RUNTIME_SYMBOL) : NULL;
        if (!runtime) {
            fprintf(stderr, "%s\n", dlerror());
            return 3;
        }
    }
    code = runtime->open(opt.library, &context, error, sizeof error);
    if (code)
        fail("open", code);
    printf("%s %s\n", runtime->name, runtime->version(context));
    count = opt.devices && runtime->devices ? runtime->devices(context, &lines) : 0;
    for (size_t i = 0; i < count; i++)
        printf("device %s\n", lines[i]);
    for (unsigned long i = 0; opt.model && i < opt.loads; i++)
        drive(context, i + 1 == opt.loads);
    runtime->close(context);
    return 0;
}
