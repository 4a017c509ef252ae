// SPDX-License-Identifier: Apache-2.0
/* A library with one hot function, for programs that load it and delete it. */
#include <stdint.h>
#include <time.h>

volatile uint64_t sample_sink;

__attribute__((noinline)) void hot_in_library(double seconds);

/* Uses up CPU time of its thread. */
void hot_in_library(double seconds)
{
    struct timespec now, begin;

    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &begin);
    do {
        for (int i = 0; i < 100000; i++)
            sample_sink = sample_sink * 31 + (uint64_t)i;
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    } while ((double)(now.tv_sec - begin.tv_sec) + 1e-9 * (double)(now.tv_nsec - begin.tv_nsec) <
             seconds);
}
