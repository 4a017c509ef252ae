// SPDX-License-Identifier: Apache-2.0
/* What the benchmarks share: see bench.h. */
#include "bench.h"

#include <dirent.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <inferogram/inferogram.h>

#define RESULTS_MAX 64

static struct {
    const char *name;
    bool json;
    struct {
        char key[48];
        double value;
        double bar;
        bool has_bar;
        const char *unit;
    } results[RESULTS_MAX];
    size_t count;
} report;

static char directory[128];

static double seconds_of(clockid_t clock)
{
    struct timespec now;

    clock_gettime(clock, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

double bench_cpu_seconds(void)
{
    return seconds_of(CLOCK_THREAD_CPUTIME_ID);
}

double bench_wall_seconds(void)
{
    return seconds_of(CLOCK_MONOTONIC);
}

double bench_process_cpu_seconds(pid_t pid)
{
    clockid_t clock;

    return clock_getcpuclockid(pid, &clock) == 0 ? seconds_of(clock) : 0;
}

const char *bench_tool(void)
{
    const char *tool = getenv("INFEROGRAM");

    return tool ? tool : BENCH_TOOL;
}

static void remove_directory(void)
{
    DIR *files = opendir(directory);
    struct dirent *entry;

    if (!files)
        return;
    while ((entry = readdir(files)))
        unlinkat(dirfd(files), entry->d_name, 0);
    closedir(files);
    rmdir(directory);
}

const char *bench_file(const char *name)
{
    static char path[256];
    const char *base = getenv("TMPDIR");

    if (!directory[0]) {
        snprintf(directory, sizeof directory, "%s/inferogram-bench-XXXXXX", base ? base : "/tmp");
        if (!mkdtemp(directory)) {
            perror("mkdtemp");
            exit(1);
        }
        atexit(remove_directory);
    }
    snprintf(path, sizeof path, "%s/%s", directory, name);
    return path;
}

#define OPTIONS_MAX 16

pid_t bench_recorder_start_with(const char *file, const char *const *options)
{
    char pid[16];
    const char *words[8 + OPTIONS_MAX + 1] = { "inferogram", "record", "--pid", pid,
                                               "-q",         "-f",     "-o",    file };
    pid_t child;
    double deadline = bench_wall_seconds() + 10;

    for (int i = 0; options[i] && i < OPTIONS_MAX; i++)
        words[8 + i] = options[i];
    snprintf(pid, sizeof pid, "%d", (int)getpid());
    child = fork();
    if (child == 0) {
        execv(bench_tool(), (char **)(uintptr_t)words);
        _exit(127);
    }
    while (!ifg_is_recording() && bench_wall_seconds() < deadline)
        usleep(500);
    if (!ifg_is_recording()) {
        fprintf(stderr, "%s: the recorder %s did not start\n", report.name, bench_tool());
        exit(1);
    }
    return child;
}

pid_t bench_recorder_start(const char *file)
{
    static const char *const none[] = { NULL };

    return bench_recorder_start_with(file, none);
}

int bench_recorder_stop(pid_t recorder)
{
    int status = -1;

    kill(recorder, SIGINT);
    waitpid(recorder, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

#define BURSTS        1000 /* a second */
#define BURST_PARENTS 250  /* each with three children */

static uint64_t emit_burst(void)
{
    for (int i = 0; i < BURST_PARENTS; i++) {
        IFG_ZONE("run");
        for (int k = 0; k < 3; k++) {
            IFG_ZONE("operator");
        }
    }
    return BURST_PARENTS * 4;
}

uint64_t bench_emit_million_a_second(unsigned seconds)
{
    struct timespec next;
    uint64_t emitted = 0;

    clock_gettime(CLOCK_MONOTONIC, &next);
    for (unsigned i = 0; i < seconds * BURSTS; i++) {
        emitted += emit_burst();
        next.tv_nsec += 1000000000 / BURSTS;
        if (next.tv_nsec >= 1000000000) {
            next.tv_nsec -= 1000000000;
            next.tv_sec++;
        }
        clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &next, NULL);
    }
    return emitted;
}

uint64_t bench_info(const char *file, const char *key)
{
    char command[512];
    static char text[1 << 16];
    char wanted[64];
    size_t length;
    FILE *pipe;
    char *at;

    snprintf(command, sizeof command, "'%s' info --json '%s'", bench_tool(), file);
    pipe = popen(command, "r");
    if (!pipe)
        return 0;
    length = fread(text, 1, sizeof text - 1, pipe);
    pclose(pipe);
    text[length] = '\0';
    snprintf(wanted, sizeof wanted, "\"%s\":", key);
    at = strstr(text, wanted);
    return at ? strtoull(at + strlen(wanted), NULL, 10) : 0;
}

void bench_begin(const char *name, int argc, char **argv)
{
    report.name = name;
    for (int i = 1; i < argc; i++)
        if (strcmp(argv[i], "--json") == 0)
            report.json = true;
}

static void add(const char *key, double value, const char *unit, bool has_bar, double bar)
{
    if (report.count == RESULTS_MAX)
        return;
    snprintf(report.results[report.count].key, sizeof report.results[0].key, "%s", key);
    report.results[report.count].value = value;
    report.results[report.count].unit = unit;
    report.results[report.count].has_bar = has_bar;
    report.results[report.count].bar = bar;
    report.count++;
}

void bench_result(const char *key, double value, const char *unit)
{
    add(key, value, unit, false, 0);
}

void bench_bar(const char *key, double value, double at_most, const char *unit)
{
    add(key, value, unit, true, at_most);
}

int bench_end(void)
{
    if (report.json)
        printf("{\"benchmark\":\"%s\"", report.name);
    else
        printf("%s\n", report.name);
    for (size_t i = 0; i < report.count; i++) {
        if (report.json)
            printf(",\"%s\":%.6g", report.results[i].key, report.results[i].value);
        else if (report.results[i].has_bar)
            printf("  %-28s %12.4g %-10s bar %.4g: %s\n", report.results[i].key,
                   report.results[i].value, report.results[i].unit, report.results[i].bar,
                   report.results[i].value <= report.results[i].bar ? "met" : "MISSED");
        else
            printf("  %-28s %12.4g %s\n", report.results[i].key, report.results[i].value,
                   report.results[i].unit);
    }
    if (report.json)
        puts("}");
    return 0;
}
