// SPDX-License-Identifier: Apache-2.0
/*
 * What following allocations adds to malloc and free: blocks of pairs through the hook and straight
 * to the C library alternate in one process under `record --memory`, in thread CPU time; the figure
 * is the median of the differences of neighbours.
 *
 *   pair_ns        a malloc and a free of 64 bytes, without the hook
 *   added_ns       what the hook adds to that            (bar 3)
 *   ratio          with the hook by without
 *   picked_us      what it adds to an allocation that is picked, main thread   (bar 10)
 *   thread_us      the same in another thread, whose stack the kernel reads
 */
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "bench.h"

#define PAIRS 401
#define BLOCK 20000
#define PICKS 301
#define BIG   600000  /* more than the interval: it is picked for certain */
#define PAUSE 2500000 /* so few a second that the recorder is content */
#define DEPTH 30

static void *(*real_malloc)(size_t);
static void (*real_free)(void *);
static void *volatile sink;

static double thread_seconds(void)
{
    struct timespec now;

    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static double hooked_ns(void)
{
    double begin = thread_seconds();

    for (int i = 0; i < BLOCK; i++) {
        sink = malloc(64);
        free(sink);
    }
    return (thread_seconds() - begin) / BLOCK * 1e9;
}

static double plain_ns(void)
{
    double begin = thread_seconds();

    for (int i = 0; i < BLOCK; i++) {
        sink = real_malloc(64);
        real_free(sink);
    }
    return (thread_seconds() - begin) / BLOCK * 1e9;
}

static double once_us(void *(*take)(size_t), void (*give)(void *))
{
    double begin = thread_seconds();

    sink = take(BIG);
    give(sink);
    return (thread_seconds() - begin) * 1e6;
}

static int by_value(const void *left, const void *right)
{
    double a = *(const double *)left;
    double b = *(const double *)right;

    return a < b ? -1 : a > b;
}

static double median(double *values, size_t count)
{
    qsort(values, count, sizeof *values, by_value);
    return values[count / 2];
}

/* As deep as a program is, so that there is a stack to copy. */
static __attribute__((noinline)) double picks_us(int depth)
{
    static double added[PICKS];
    const struct timespec pause = { 0, PAUSE };
    volatile char room[1024];
    double result;

    room[0] = (char)depth;
    if (depth) {
        result = picks_us(depth - 1);
        room[1] = room[0];
        return result;
    }
    for (int i = 0; i < PICKS; i++) {
        double with = once_us(malloc, free);

        added[i] = with - once_us(real_malloc, real_free);
        nanosleep(&pause, NULL);
    }
    return median(added, PICKS);
}

static void *in_thread(void *user)
{
    *(double *)user = picks_us(DEPTH);
    return NULL;
}

/* --measure RESULTS, under `record --memory`. */
static int measure(const char *results)
{
    static double plain[PAIRS], added[PAIRS];
    void *library = dlopen("libc.so.6", RTLD_LAZY);
    double picked, thread_picked = 0;
    pthread_t thread;
    FILE *out;
    void *found[2];

    if (!library)
        return 1;
    found[0] = dlsym(library, "malloc");
    found[1] = dlsym(library, "free");
    memcpy(&real_malloc, &found[0], sizeof real_malloc);
    memcpy(&real_free, &found[1], sizeof real_free);
    for (int i = 0; i < PAIRS; i++) {
        double first = i & 1 ? hooked_ns() : plain_ns();
        double second = i & 1 ? plain_ns() : hooked_ns();

        plain[i] = i & 1 ? second : first;
        added[i] = i & 1 ? first - second : second - first;
    }
    sink = malloc(64 << 20); /* from now on blocks of this size come from the heap, not by mmap */
    free(sink);
    sink = malloc(16 << 20);
    free(sink);
    picked = picks_us(DEPTH);
    if (pthread_create(&thread, NULL, in_thread, &thread_picked) == 0)
        pthread_join(thread, NULL);
    out = fopen(results, "w");
    if (!out)
        return 1;
    fprintf(out, "%.6f %.6f %.6f %.6f\n", median(plain, PAIRS), median(added, PAIRS), picked,
            thread_picked);
    return fclose(out) ? 1 : 0;
}

int main(int argc, char **argv)
{
    double plain = 0, added = 0, picked = 0, thread_picked = 0;
    char command[2048];
    char self[512];
    char results[256];
    char trace[256];
    ssize_t length;
    FILE *in;

    if (argc > 2 && strcmp(argv[1], "--measure") == 0)
        return measure(argv[2]);
    bench_begin("malloc_cost", argc, argv);
    length = readlink("/proc/self/exe", self, sizeof self - 1);
    if (length <= 0)
        return 1;
    self[length] = '\0';
    snprintf(trace, sizeof trace, "%s", bench_file("heap.ifg"));
    snprintf(results, sizeof results, "%s", bench_file("results"));
    snprintf(command, sizeof command,
             "'%s' record -q -f --no-sample --memory -o '%s' -- '%s' --measure '%s'", bench_tool(),
             trace, self, results);
    if (system(command) != 0)
        return 1;
    in = fopen(results, "r");
    if (!in || fscanf(in, "%lf %lf %lf %lf", &plain, &added, &picked, &thread_picked) != 4)
        return 1;
    fclose(in);
    bench_result("pair_ns", plain, "ns");
    bench_bar("added_ns", added, 3, "ns");
    bench_result("ratio", (plain + added) / plain, "");
    bench_bar("picked_us", picked, 10, "us");
    bench_result("thread_us", thread_picked, "us");
    return bench_end();
}
