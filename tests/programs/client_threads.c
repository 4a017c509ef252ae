// SPDX-License-Identifier: Apache-2.0
/* Threads that come and go: client_threads MODE [N]. Prints how many zones were emitted. */
#include <inferogram/inferogram.h>

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define THREADS_MAX 4000

static pthread_barrier_t all_have_emitted;

static void emit(int count)
{
    for (int i = 0; i < count; i++) {
        IFG_ZONE("work");
    }
}

static void *live(void *unused)
{
    (void)unused;
    emit(10);
    pthread_barrier_wait(&all_have_emitted); /* nobody leaves before the last one came */
    return NULL;
}

/* All at once. */
static int mode_live(int count)
{
    static pthread_t threads[THREADS_MAX];
    pthread_attr_t small;

    pthread_attr_init(&small);
    pthread_attr_setstacksize(&small, 64 << 10);
    pthread_barrier_init(&all_have_emitted, NULL, (unsigned)count);
    for (int i = 0; i < count; i++)
        if (pthread_create(&threads[i], &small, live, NULL)) {
            puts("cannot create so many threads");
            _exit(77);
        }
    for (int i = 0; i < count; i++)
        pthread_join(threads[i], NULL);
    printf("%d\n", 10 * count);
    return 0;
}

static void *brief(void *name)
{
    IFG_THREAD_NAME((const char *)name);
    emit(3);
    return NULL;
}

/* One after the other. */
static int mode_sequence(int count)
{
    char name[32];

    for (int i = 0; i < count; i++) {
        pthread_t thread;

        snprintf(name, sizeof name, "brief %d", i);
        if (pthread_create(&thread, NULL, brief, name))
            return 1;
        pthread_join(thread, NULL);
    }
    printf("%d\n", 3 * count);
    return 0;
}

static pthread_key_t early_key;
static pthread_key_t late_key;

static void emit_in_destructor(void *value)
{
    IFG_ZONE("destructor");
    emit(1);
    if (value != (void *)1) /* and again in the next round */
        pthread_setspecific(late_key, (void *)((char *)value - 1));
}

static void *with_keys(void *unused)
{
    (void)unused;
    pthread_setspecific(early_key, (void *)1);
    pthread_setspecific(late_key, (void *)2);
    emit(5);
    return NULL;
}

/* Destructors of thread keys run after ours, or before; both may emit. */
static int mode_destructors(int count)
{
    pthread_key_create(&early_key, emit_in_destructor);
    pthread_key_create(&late_key, emit_in_destructor);
    for (int i = 0; i < count; i++) {
        pthread_t thread;

        if (pthread_create(&thread, NULL, with_keys, NULL))
            return 1;
        pthread_join(thread, NULL);
    }
    printf("%d\n", count * (5 + 3 * 2));
    return 0;
}

static atomic_int gone;

static void *leave_without_a_word(void *unused)
{
    (void)unused;
    emit(10);
    atomic_fetch_add(&gone, 1);
    syscall(SYS_exit, 0);
    return NULL;
}

/* Threads that end by the bare system call. */
static int mode_vanish(int count)
{
    struct timespec nap = { 0, 20000000 };

    for (int i = 0; i < count; i++) {
        pthread_t thread;

        if (pthread_create(&thread, NULL, leave_without_a_word, NULL))
            return 1;
        pthread_detach(thread);
    }
    while (atomic_load(&gone) < count) /* a busy machine takes its time */
        nanosleep(&nap, NULL);
    nanosleep(&nap, NULL);
    printf("%d\n", 10 * count);
    fflush(stdout);
    _exit(0);
}

static void shared_location(void)
{
    IFG_ZONE("shared");
}

static void *race(void *unused)
{
    (void)unused;
    pthread_barrier_wait(&all_have_emitted);
    for (int i = 0; i < 100; i++)
        shared_location();
    return NULL;
}

/* The first use of one place, by all threads at the same moment. */
static int mode_race(int count)
{
    pthread_t threads[64];

    pthread_barrier_init(&all_have_emitted, NULL, (unsigned)count);
    for (int i = 0; i < count; i++)
        if (pthread_create(&threads[i], NULL, race, NULL))
            return 1;
    for (int i = 0; i < count; i++)
        pthread_join(threads[i], NULL);
    printf("%d\n", 100 * count);
    return 0;
}

int main(int argc, char **argv)
{
    const char *mode = argc > 1 ? argv[1] : "";
    int count = argc > 2 ? (int)strtol(argv[2], NULL, 10) : 1;

    if (count < 1 || count > THREADS_MAX)
        return 64;
    if (strcmp(mode, "live") == 0)
        return mode_live(count);
    if (strcmp(mode, "sequence") == 0)
        return mode_sequence(count);
    if (strcmp(mode, "destructors") == 0)
        return mode_destructors(count);
    if (strcmp(mode, "vanish") == 0)
        return mode_vanish(count);
    if (strcmp(mode, "race") == 0 && count <= 64)
        return mode_race(count);
    return 64;
}
