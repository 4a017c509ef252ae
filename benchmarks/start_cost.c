// SPDX-License-Identifier: Apache-2.0
/*
 * What linking the library adds to a program that does nothing while nobody records: time to start
 * and exit (interleaved pairs, median difference), resident memory, threads, descriptors.
 */
#include <fcntl.h>
#include <spawn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bench.h"

#define PAIRS 200

extern char **environ;

static double run_ms(const char *program)
{
    char *arguments[] = { (char *)program, NULL };
    double begin = bench_wall_seconds();
    int status;
    pid_t pid;

    if (posix_spawn(&pid, program, NULL, NULL, arguments, environ) != 0) {
        perror(program);
        exit(1);
    }
    waitpid(pid, &status, 0);
    return (bench_wall_seconds() - begin) * 1e3;
}

static int compare(const void *a, const void *b)
{
    double left = *(const double *)a;
    double right = *(const double *)b;

    return (left > right) - (left < right);
}

struct state {
    double resident_kib;
    double private_kib; /* memory that exists only because of this process */
    double threads;
    double size_kib;
};

static double field_of(pid_t pid, const char *file, const char *key)
{
    char path[64];
    char line[256];
    double value = 0;
    FILE *text;

    snprintf(path, sizeof path, "/proc/%d/%s", (int)pid, file);
    text = fopen(path, "re");
    while (text && fgets(line, sizeof line, text))
        if (strncmp(line, key, strlen(key)) == 0)
            value += strtod(line + strlen(key), NULL);
    if (text)
        fclose(text);
    return value;
}

/* Looks at the program while it waits for a line. */
static struct state look_at(const char *program)
{
    struct state state = { 0 };
    int in[2], out[2];
    char byte;
    pid_t pid;

    if (pipe2(in, O_CLOEXEC) < 0 || pipe2(out, O_CLOEXEC) < 0)
        exit(1);
    pid = fork();
    if (pid == 0) {
        dup2(in[0], 0);
        dup2(out[1], 1);
        execl(program, program, "wait", (char *)0);
        _exit(127);
    }
    close(in[0]);
    close(out[1]);
    if (read(out[0], &byte, 1) == 1) {
        state.resident_kib = field_of(pid, "status", "VmRSS:");
        state.private_kib = field_of(pid, "smaps_rollup", "Private_Dirty:") +
                            field_of(pid, "smaps_rollup", "Private_Clean:");
        state.threads = field_of(pid, "status", "Threads:");
    }
    close(in[1]);
    close(out[0]);
    waitpid(pid, NULL, 0);
    return state;
}

int main(int argc, char **argv)
{
    static double differences[PAIRS];
    static double plain_ms[PAIRS];
    struct state plain;
    struct state with;

    bench_begin("start_cost", argc, argv);
    unsetenv("IFG_SESSION");
    for (int i = 0; i < PAIRS; i++) {
        double with_ms;

        /* ABBA: whoever goes second must not be favoured. */
        if (i % 2) {
            with_ms = run_ms(EMPTY_WITH);
            plain_ms[i] = run_ms(EMPTY_PLAIN);
        } else {
            plain_ms[i] = run_ms(EMPTY_PLAIN);
            with_ms = run_ms(EMPTY_WITH);
        }
        differences[i] = with_ms - plain_ms[i];
    }
    qsort(differences, PAIRS, sizeof differences[0], compare);
    qsort(plain_ms, PAIRS, sizeof plain_ms[0], compare);
    plain = look_at(EMPTY_PLAIN);
    with = look_at(EMPTY_WITH);
    bench_result("plain_ms", plain_ms[PAIRS / 2], "ms");
    bench_bar("added_ms", differences[PAIRS / 2], 2, "ms");
    bench_bar("added_over_plain", differences[PAIRS / 2] / plain_ms[PAIRS / 2], 1, "");
    bench_bar("added_rss_kib", with.resident_kib - plain.resident_kib, 1024, "KiB");
    bench_result("added_private_kib", with.private_kib - plain.private_kib, "KiB");
    bench_bar("added_threads", with.threads - plain.threads, 0, "");
    return bench_end();
}
