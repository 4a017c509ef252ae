// SPDX-License-Identifier: Apache-2.0
/*
 * A program with many threads, for the tests of the limits of sampling:
 *
 *   sample_crowd THREADS MILLISECONDS
 *
 * Says "ready" when all of them run, each for a moment and then asleep, again and again; ends with
 * "done" and status 7 after that time, or when it gets SIGTERM.
 */
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

static volatile sig_atomic_t ended;
static volatile uint64_t sink;

static void on_end(int number)
{
    (void)number;
    ended = 1;
}

static double seconds(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

__attribute__((noinline)) static void crowd_work(double length)
{
    double end = seconds() + length;

    while (seconds() < end)
        for (int i = 0; i < 1000; i++)
            sink = sink * 2862933555777941757u + 1;
}

static void *run(void *user)
{
    for (;;) {
        crowd_work(0.0004);
        usleep(40000);
    }
    return user;
}

int main(int argc, char **argv)
{
    int threads = argc > 1 ? (int)strtol(argv[1], NULL, 10) : 0;
    long milliseconds = argc > 2 ? strtol(argv[2], NULL, 10) : 0;
    double end = seconds() + (double)milliseconds / 1e3;
    pthread_attr_t small;
    pthread_t thread;

    signal(SIGTERM, on_end);
    pthread_attr_init(&small);
    pthread_attr_setstacksize(&small, 65536);
    for (int i = 0; i < threads; i++)
        if (pthread_create(&thread, &small, run, NULL)) {
            fprintf(stderr, "cannot start thread %d\n", i);
            return 1;
        }
    puts("ready");
    fflush(stdout);
    while (!ended && (!milliseconds || seconds() < end))
        usleep(1000);
    puts("done");
    fflush(stdout);
    _exit(7); /* as a program ends whose threads are busy */
}
