// SPDX-License-Identifier: Apache-2.0
/* What is being tried, on a terminal, for those who wait: a driver may take seconds to answer. */
#include <pthread.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

#include "base/ticks.h"
#include "cli/doctor.h"

#define PATIENCE_NS 1000000000u
#define AGAIN_NS    200000000u

static void wait_for(struct doctor_progress *progress, uint64_t duration_ns)
{
    struct timespec until = ifg_timespec(ifg_realtime_ns() + duration_ns);

    while (!progress->over &&
           pthread_cond_timedwait(&progress->changed, &progress->lock, &until) == 0)
        continue;
}

static void *tell(void *user)
{
    struct doctor_progress *progress = user;
    const char *told = "";

    pthread_mutex_lock(&progress->lock);
    for (wait_for(progress, PATIENCE_NS); !progress->over; wait_for(progress, AGAIN_NS)) {
        if (progress->trying != told)
            fprintf(stderr, "\r\033[Ktrying %s ...", progress->trying);
        told = progress->trying;
    }
    if (*told)
        fputs("\r\033[K", stderr);
    pthread_mutex_unlock(&progress->lock);
    return NULL;
}

void doctor_progress_begin(struct doctor_progress *progress)
{
    *progress = (struct doctor_progress){ .lock = PTHREAD_MUTEX_INITIALIZER,
                                          .changed = PTHREAD_COND_INITIALIZER,
                                          .trying = "" };
    progress->running =
        isatty(STDERR_FILENO) && pthread_create(&progress->thread, NULL, tell, progress) == 0;
}

void doctor_progress_say(struct doctor_progress *progress, const char *name)
{
    pthread_mutex_lock(&progress->lock);
    progress->trying = name;
    pthread_mutex_unlock(&progress->lock);
}

void doctor_progress_end(struct doctor_progress *progress)
{
    if (!progress->running)
        return;
    pthread_mutex_lock(&progress->lock);
    progress->over = true;
    pthread_cond_signal(&progress->changed);
    pthread_mutex_unlock(&progress->lock);
    pthread_join(progress->thread, NULL);
    progress->running = false;
}
