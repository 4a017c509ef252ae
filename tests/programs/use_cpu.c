// SPDX-License-Identifier: Apache-2.0
/*
 * Uses one CPU until so much CPU time is used, then says how much, and how long it took: the truth
 * that a recording is compared with, however busy the machine is. Touches memory first, if asked.
 *
 * usage: use_cpu SECONDS [MEGABYTES]
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static double seconds(clockid_t clock)
{
    struct timespec now;

    clock_gettime(clock, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

int main(int argc, char **argv)
{
    double begin = seconds(CLOCK_MONOTONIC);
    double most = argc > 1 ? strtod(argv[1], NULL) : 1;
    size_t bytes = argc > 2 ? strtoul(argv[2], NULL, 10) * 1000000u : 0;
    char *memory = bytes ? malloc(bytes) : NULL;

    if (memory)
        memset(memory, 1, bytes);
    while (seconds(CLOCK_PROCESS_CPUTIME_ID) < most)
        ;
    printf("%.4f %.4f\n", seconds(CLOCK_PROCESS_CPUTIME_ID), seconds(CLOCK_MONOTONIC) - begin);
    free(memory);
    return 0;
}
