// SPDX-License-Identifier: Apache-2.0
/*
 * What recording a context switch costs the recorded program: two threads on one CPU wake each
 * other through pipes, in windows that take turns: nothing recorded, switches, switches and wakers.
 * CPU time of the process, so that others on the machine matter little; medians.
 */
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "bench.h"
#include "collect/perf/sampler.h"
#include "collect/perf/sched.h"

#define TURNS  60
#define ROUNDS 800 /* of a window: the rings hold them all */

enum { NOTHING, SWITCHES, WAKERS, WAYS };

static int there[2], back[2];
static uint64_t switches, wakes;

static void *answer(void *user)
{
    char byte;

    while (read(there[0], &byte, 1) == 1 && byte != 'e')
        if (write(back[1], "x", 1) != 1)
            break;
    return user;
}

static double cpu_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

static void on_switch(const struct sampler_switch *change, void *user)
{
    (void)change;
    (void)user;
    switches++;
}

static void on_wake(const struct sched_change *change, void *user)
{
    (void)change;
    (void)user;
    wakes++;
}

static double play(void)
{
    char byte = 'x';
    double begin = cpu_ns();

    for (int i = 0; i < ROUNDS; i++)
        if (write(there[1], &byte, 1) != 1 || read(back[0], &byte, 1) != 1)
            exit(1);
    return (cpu_ns() - begin) / (2 * ROUNDS);
}

static int compare(const void *a, const void *b)
{
    double left = *(const double *)a;
    double right = *(const double *)b;

    return left < right ? -1 : left > right;
}

static double median(double *values)
{
    qsort(values, TURNS, sizeof *values, compare);
    return values[TURNS / 2];
}

int main(int argc, char **argv)
{
    static double took[WAYS][TURNS];
    const struct sampler_options options = { .pid = getpid() };
    const struct sampler_events events = { .switched = on_switch };
    const struct sched_events changes = { .changed = on_wake };
    struct ifg_error err = { .message = "" };
    pthread_t other;
    cpu_set_t one;

    bench_begin("switch_cost", argc, argv);
    CPU_ZERO(&one);
    CPU_SET(sched_getcpu(), &one);
    if (sched_setaffinity(0, sizeof one, &one) || pipe(there) || pipe(back) ||
        pthread_create(&other, NULL, answer, NULL))
        return 1;
    play();
    for (int turn = 0; turn < TURNS; turn++)
        for (int way = 0; way < WAYS; way++) {
            struct sampler *sampler = NULL;
            struct sampler_facts facts;
            struct sched *sched = NULL;

            if ((way >= SWITCHES && sampler_open(&options, &sampler, &facts, &err)) ||
                (way >= WAKERS && sched_open(&sched, &err))) {
                fprintf(stderr, "switch_cost: %s\n", err.message);
                return 1;
            }
            took[way][turn] = play();
            if (sampler)
                sampler_read(sampler, true, &events);
            if (sched)
                sched_read(sched, UINT64_MAX, &changes);
            sampler_close(sampler);
            sched_close(sched);
        }
    if (write(there[1], "e", 1) == 1)
        pthread_join(other, NULL);
    for (int way = 0; way < WAYS; way++)
        (void)median(took[way]);
    bench_result("ns_per_switch", took[NOTHING][TURNS / 2], "ns");
    bench_result("recorded_ns", took[SWITCHES][TURNS / 2] - took[NOTHING][TURNS / 2], "ns");
    bench_result("wakers_ns", took[WAKERS][TURNS / 2] - took[SWITCHES][TURNS / 2], "ns");
    bench_result("switch_records", (double)switches, "");
    bench_result("wake_records", (double)wakes, "");
    return bench_end();
}
