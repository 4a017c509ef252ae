// SPDX-License-Identifier: Apache-2.0
/*
 * A program whose debug information names any file as its source: compiled by tests with
 * -DNAMED='"/path"', and -DHOT=name for the function that has the samples. Computes for argv[1]
 * seconds of CPU time, however long that takes; "ready" goes out first.
 */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static double now(void)
{
    struct timespec at;

    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &at);
    return (double)at.tv_sec + (double)at.tv_nsec / 1e9;
}

static volatile unsigned long sink;

/* The compiler takes lines and file from here on. */
#line 1 NAMED
__attribute__((noinline)) void HOT(void)
{
    for (unsigned long i = 0; i < 3000000; i++)
        sink += i * i;
}

int main(int count, char **arguments)
{
    double end = now() + (count > 1 ? strtod(arguments[1], NULL) : 1);

    puts("ready");
    fflush(stdout);
    while (now() < end)
        HOT();
    return 0;
}
