// SPDX-License-Identifier: Apache-2.0
/*
 * Prints what src/collect/proc sees of this machine and of a process: some looks, a second apart,
 * the values of the last one, and what the looks cost.
 *
 * usage: resources_watch [PID [LOOKS]]     (itself, 3)
 */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "collect/proc/proc.h"

static uint64_t now(clockid_t clock)
{
    struct timespec time;

    clock_gettime(clock, &time);
    return (uint64_t)time.tv_sec * 1000000000u + (uint64_t)time.tv_nsec;
}

static void print(void *user, uint32_t pid, const char *name, double value)
{
    if (*(const bool *)user)
        printf("%-8u %-40s %.6g\n", pid, name, value);
}

int main(int argc, char **argv)
{
    pid_t pid = argc > 1 ? (pid_t)strtol(argv[1], NULL, 10) : getpid();
    long looks = argc > 2 ? strtol(argv[2], NULL, 10) : 3;
    bool shown = false;
    const struct proc_sink sink = { print, &shown, NULL };
    struct proc_collector *collector = proc_open(&host_system, now(CLOCK_MONOTONIC));
    char missing[800];

    if (!collector)
        return 1;
    proc_follow(collector, &pid, 1);
    for (long i = 1; i <= looks; i++) {
        uint64_t wall = now(CLOCK_MONOTONIC), cpu = now(CLOCK_THREAD_CPUTIME_ID), middle;

        shown = i == looks;
        proc_look(collector, wall, shown, &sink);
        middle = now(CLOCK_MONOTONIC);
        proc_look_devices(collector, &pid, 1, middle, false, &sink);
        printf("look %ld: %.3f ms, with devices %.3f ms, CPU %.3f ms\n", i,
               (double)(middle - wall) / 1e6, (double)(now(CLOCK_MONOTONIC) - wall) / 1e6,
               (double)(now(CLOCK_THREAD_CPUTIME_ID) - cpu) / 1e6);
        if (i < looks)
            sleep(1);
    }
    proc_missing(collector, missing, sizeof missing);
    printf("GPU: %s\nNPU: %s\nmissing: %s\n", proc_gpu_words(collector), proc_npu_words(collector),
           missing);
    proc_close(collector);
    return 0;
}
