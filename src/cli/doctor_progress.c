// SPDX-License-Identifier: Apache-2.0
/* What is being tried, on a terminal, for those who wait: a driver may take seconds to answer. */
#include <pthread.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

#include "cli/doctor.h"

#define PATIENCE_NS 1000000000l
#define AGAIN_NS    200000000l

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static pthread_t thread;
static const char *trying = "";
static bool running;
static bool over;

static void wait_for(long duration_ns)
{
    struct timespec until;

    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_nsec += duration_ns;
    until.tv_sec += until.tv_nsec / 1000000000l;
    until.tv_nsec %= 1000000000l;
    while (!over && pthread_cond_timedwait(&changed, &lock, &until) == 0)
        continue;
}

static void *tell(void *ignored)
{
    const char *told = "";

    (void)ignored;
    pthread_mutex_lock(&lock);
    for (wait_for(PATIENCE_NS); !over; wait_for(AGAIN_NS)) {
        if (trying != told)
            fprintf(stderr, "\r\033[Ktrying %s ...", trying);
        told = trying;
    }
    if (*told)
        fputs("\r\033[K", stderr);
    pthread_mutex_unlock(&lock);
    return NULL;
}

void doctor_progress_begin(void)
{
    over = false;
    running = isatty(STDERR_FILENO) && pthread_create(&thread, NULL, tell, NULL) == 0;
}

void doctor_progress(const char *name)
{
    pthread_mutex_lock(&lock);
    trying = name;
    pthread_mutex_unlock(&lock);
}

void doctor_progress_end(void)
{
    if (!running)
        return;
    pthread_mutex_lock(&lock);
    over = true;
    pthread_cond_signal(&changed);
    pthread_mutex_unlock(&lock);
    pthread_join(thread, NULL);
    running = false;
}
