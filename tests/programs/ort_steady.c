// SPDX-License-Identifier: Apache-2.0
/*
 * A program that runs models until it is told to end, and keeps its own account of every run: for
 * tests that attach to it. It knows nothing of Inferogram.
 *
 *   ort_steady LOG PAUSE_US [-a] LIBRARY MODEL [LIBRARY MODEL]... [+ LIBRARY MODEL]...
 *
 * Models have one input x and one output y of 1x4 floats; they run in turn. -a: they are read into
 * memory first. Pairs behind a + are loaded on SIGHUP. SIGUSR1: fork a child that does the same
 * until this one ends. SIGUSR2: exec itself. SIGTERM: end. At the end (also at exec) a line
 * "PID INDEX START END" for each run is appended to LOG, in CLOCK_MONOTONIC ns.
 */
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "ort_min.h"

#define PAIRS_MAX 8
#define RUNS_MAX  4000000u
#define LOG_FATAL 4

struct run {
    uint32_t index;
    uint64_t start, end;
};

struct network {
    ort_table api;
    void *session;
    void *input;
};

static volatile sig_atomic_t asked_load, asked_fork, asked_exec, asked_end;
static struct run *runs;
static size_t run_count;
static struct network networks[PAIRS_MAX];
static size_t network_count;
static bool in_memory;
static pid_t child;

static void on_signal(int number)
{
    if (number == SIGHUP)
        asked_load = 1;
    else if (number == SIGUSR1)
        asked_fork = 1;
    else if (number == SIGUSR2)
        asked_exec = 1;
    else
        asked_end = 1;
}

static uint64_t now_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static void check(ort_table api, void *status)
{
    if (!status)
        return;
    fprintf(stderr, "%s\n", ORT(api, ORT_GetErrorMessage, const char *, (void *))(status));
    exit(3);
}

static void *make_input(ort_table api)
{
    static float data[4] = { 1, -1, 2, -2 };
    static const int64_t dims[2] = { 1, 4 };
    void *memory = NULL;
    void *value = NULL;

    check(api, ORT(api, ORT_CreateCpuMemoryInfo, void *, (int, int, void **))(1, 0, &memory));
    check(api, ORT(api, ORT_CreateTensorWithData, void *,
                   (void *, void *, size_t, const int64_t *, size_t, int, void **))(
                   memory, data, sizeof data, dims, 2, ORT_FLOAT, &value));
    return value;
}

static void *create(ort_table api, void *env, void *options, const char *model)
{
    static char bytes[1 << 20];
    void *session = NULL;
    size_t size = 0;
    FILE *file;

    if (!in_memory) {
        check(api, ORT(api, ORT_CreateSession, void *,
                       (void *, const char *, void *, void **))(env, model, options, &session));
        return session;
    }
    file = fopen(model, "rb");
    if (file) {
        size = fread(bytes, 1, sizeof bytes, file);
        fclose(file);
    }
    check(api, ORT(api, ORT_CreateSessionFromArray, void *,
                   (void *, const void *, size_t, void *, void **))(env, bytes, size, options,
                                                                    &session));
    return session;
}

static void load(const char *library, const char *model)
{
    const struct ort_base *base = ort_get_base(library);
    struct network *network = &networks[network_count];
    void *env = NULL;
    void *options = NULL;

    if (!base || network_count == PAIRS_MAX)
        exit(3);
    network->api = base->get_api((uint32_t)strtoul(strchr(base->get_version(), '.') + 1, NULL, 10));
    check(network->api, ORT(network->api, ORT_CreateEnv, void *,
                            (int, const char *, void **))(LOG_FATAL, "steady", &env));
    check(network->api, ORT(network->api, ORT_CreateSessionOptions, void *, (void **))(&options));
    check(network->api,
          ORT(network->api, ORT_SetIntraOpNumThreads, void *, (void *, int))(options, 1));
    network->session = create(network->api, env, options, model);
    ORT(network->api, ORT_ReleaseSessionOptions, void, (void *))(options);
    network->input = make_input(network->api);
    network_count++;
}

static void run(size_t index)
{
    static const char *const input_names[] = { "x" };
    static const char *const output_names[] = { "y" };
    const struct network *network = &networks[index];
    struct run *entry = &runs[run_count < RUNS_MAX ? run_count : RUNS_MAX - 1];
    void *output = NULL;

    entry->index = (uint32_t)index;
    entry->start = now_ns();
    check(network->api, ORT(network->api, ORT_Run, void *,
                            (void *, const void *, const char *const *, void *const *, size_t,
                             const char *const *, size_t, void **))(network->session, NULL,
                                                                    input_names, &network->input, 1,
                                                                    output_names, 1, &output));
    entry->end = now_ns();
    ORT(network->api, ORT_ReleaseValue, void, (void *))(output);
    if (run_count < RUNS_MAX)
        run_count++;
}

static void write_log(const char *path)
{
    FILE *file = fopen(path, "a");

    for (size_t i = 0; file && i < run_count; i++)
        fprintf(file, "%d %u %llu %llu\n", (int)getpid(), runs[i].index,
                (unsigned long long)runs[i].start, (unsigned long long)runs[i].end);
    if (file)
        fclose(file);
    run_count = 0;
}

static void split(void)
{
    fflush(NULL);
    child = fork();
    if (child != 0)
        return;
    prctl(PR_SET_PDEATHSIG, SIGTERM);
    run_count = 0;
}

static void end_child(void)
{
    if (child <= 0)
        return;
    kill(child, SIGTERM);
    waitpid(child, NULL, 0);
}

static int work(char **argv, char **later)
{
    useconds_t pause_us = (useconds_t)strtoul(argv[2], NULL, 10);

    for (size_t i = 0; !asked_end; i++) {
        run(i % network_count);
        if (pause_us)
            usleep(pause_us);
        if (asked_load && *later) {
            asked_load = 0;
            load(later[0], later[1]);
            later += 2;
        }
        if (asked_fork) {
            asked_fork = 0;
            split();
        }
        if (asked_exec) {
            write_log(argv[1]);
            execv("/proc/self/exe", argv);
            return 4;
        }
    }
    end_child();
    write_log(argv[1]);
    return 0;
}

int main(int argc, char **argv)
{
    static const int numbers[] = { SIGHUP, SIGUSR1, SIGUSR2, SIGTERM };
    struct sigaction action = { .sa_handler = on_signal, .sa_flags = SA_RESTART };
    int at = 3;

    if (argc < 5)
        return 2;
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++)
        sigaction(numbers[i], &action, NULL);
    runs = calloc(RUNS_MAX, sizeof *runs);
    if (!runs)
        return 3;
    if (strcmp(argv[at], "-a") == 0) {
        in_memory = true;
        at++;
    }
    for (; at + 1 < argc && strcmp(argv[at], "+") != 0; at += 2)
        load(argv[at], argv[at + 1]);
    printf("ready %d\n", (int)getpid());
    fflush(stdout);
    return work(argv, at < argc ? argv + at + 1 : argv + at);
}
