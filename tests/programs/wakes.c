// SPDX-License-Identifier: Apache-2.0
/*
 * Threads that wake each other in a known way, for the tests of context switches:
 *
 *   wakes pair N         main wakes thread "answerer" N times through a pipe, and it answers
 *   wakes crowd N MS     N threads "crowd" share one CPU, MS ms of CPU time each
 *   wakes disk N         N waits that nothing interrupts (vfork)
 *   wakes wait           thread "waiter" sleeps 1 ms again and again until standard input ends
 *
 * Prints "pid PID main TID other TID" (the last one started).
 */
#include <pthread.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static int there[2], back[2];
static int other_tid;

static void say_who(void)
{
    printf("pid %d main %d other %d\n", (int)getpid(), (int)syscall(SYS_gettid), other_tid);
    fflush(stdout);
}

static void *answer(void *rounds)
{
    char byte;

    pthread_setname_np(pthread_self(), "answerer");
    other_tid = (int)syscall(SYS_gettid);
    for (long i = *(long *)rounds; i > 0; i--)
        if (read(there[0], &byte, 1) != 1 || write(back[1], "x", 1) != 1)
            break;
    return NULL;
}

static int run_pair(long rounds)
{
    pthread_t thread;
    char byte;

    if (pipe(there) || pipe(back) || pthread_create(&thread, NULL, answer, &rounds))
        return 1;
    for (long i = 0; i < rounds; i++)
        if (write(there[1], "x", 1) != 1 || read(back[0], &byte, 1) != 1)
            return 1;
    pthread_join(thread, NULL);
    say_who();
    return 0;
}

static long spin_ms;
static pthread_barrier_t crowd_is_there; /* each waits for the others, from the first to the last */

static void *spin(void *user)
{
    struct timespec now;
    volatile unsigned sink = 0;

    pthread_setname_np(pthread_self(), "crowd");
    pthread_barrier_wait(&crowd_is_there);
    other_tid = (int)syscall(SYS_gettid);
    do {
        for (unsigned i = 0; i < 10000; i++)
            sink = sink + i;
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    } while (now.tv_sec * 1000 + now.tv_nsec / 1000000 < spin_ms);
    return user;
}

static int run_crowd(long count, long ms)
{
    pthread_t threads[64];
    cpu_set_t one;
    int first = 0;

    count = count < 1 ? 1 : count > 64 ? 64 : count;
    spin_ms = ms;
    if (pthread_barrier_init(&crowd_is_there, NULL, (unsigned)count))
        return 1;
    if (sched_getaffinity(0, sizeof one, &one))
        return 1;
    while (first < CPU_SETSIZE - 1 && !CPU_ISSET(first, &one))
        first++;
    CPU_ZERO(&one);
    CPU_SET(first, &one);
    if (sched_setaffinity(0, sizeof one, &one))
        return 1;
    for (long i = 0; i < count; i++)
        if (pthread_create(&threads[i], NULL, spin, NULL))
            return 1;
    for (long i = 0; i < count; i++)
        pthread_join(threads[i], NULL);
    say_who();
    return 0;
}

static bool wait_once(void)
{
    pid_t child = vfork();

    if (child == 0) {
        usleep(1000);
        _exit(0);
    }
    return child > 0 && waitpid(child, NULL, 0) == child;
}

static int run_disk(long count)
{
    while (count-- > 0)
        if (!wait_once())
            return 1;
    say_who();
    return 0;
}

static void *sleep_on(void *user)
{
    pthread_setname_np(pthread_self(), "waiter");
    other_tid = (int)syscall(SYS_gettid);
    (void)!write(back[1], "x", 1);
    for (;;)
        usleep(1000);
    return user;
}

static int run_wait(void)
{
    pthread_t thread;
    char byte;

    if (pipe(back) || pthread_create(&thread, NULL, sleep_on, NULL) || read(back[0], &byte, 1) != 1)
        return 1;
    say_who();
    while (read(0, &byte, 1) == 1)
        ;
    return 7;
}

int main(int argc, char **argv)
{
    long count = argc > 2 ? strtol(argv[2], NULL, 10) : 0;

    if (argc > 2 && strcmp(argv[1], "pair") == 0)
        return run_pair(count);
    if (argc > 3 && strcmp(argv[1], "crowd") == 0)
        return run_crowd(count, strtol(argv[3], NULL, 10));
    if (argc > 2 && strcmp(argv[1], "disk") == 0)
        return run_disk(count);
    if (argc > 1 && strcmp(argv[1], "wait") == 0)
        return run_wait();
    return 2;
}
