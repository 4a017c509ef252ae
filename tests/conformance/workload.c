// SPDX-License-Identifier: Apache-2.0
/*
 * A program that gives every source something to see: it computes, allocates, and calls functions
 * of a library that a description follows.
 *
 *     workload ROUNDS [fork|flood|kill|wait]
 *
 * fork: a child does the same. flood: calls as fast as it can. kill: dies by SIGKILL at the end.
 * wait: goes on until its standard input ends. It exits with status 7.
 */
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "conformance/workload.h"

static volatile double sum;

static void compute(long ms)
{
    struct timespec begin, now;

    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &begin);
    do {
        for (int i = 1; i < 20000; i++)
            sum += 1.0 / i;
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    } while ((now.tv_sec - begin.tv_sec) * 1000 + (now.tv_nsec - begin.tv_nsec) / 1000000 < ms);
}

static void work(long rounds, int is_flood)
{
    void *model = conformance_load("workload.model");

    for (long i = 0; i < rounds; i++) {
        char *memory = is_flood ? NULL : malloc(1u << 20);

        if (memory)
            memset(memory, (int)i, 1u << 20);
        if (!is_flood)
            compute(5);
        conformance_run(model, (int)i);
        if (i % 2)
            free(memory);
    }
}

int main(int argc, char **argv)
{
    long rounds = argc > 1 ? strtol(argv[1], NULL, 10) : 1;
    const char *how = argc > 2 ? argv[2] : "";
    pid_t child = strcmp(how, "fork") == 0 ? fork() : -1;
    char byte;

    if (rounds)
        work(rounds, strcmp(how, "flood") == 0);
    if (child == 0)
        return 0;
    if (child > 0)
        waitpid(child, NULL, 0);
    if (strcmp(how, "wait") == 0) {
        puts("ready");
        fflush(stdout);
        while (read(0, &byte, 1) > 0)
            work(1, 0);
    }
    if (strcmp(how, "kill") == 0)
        raise(SIGKILL);
    return 7;
}
