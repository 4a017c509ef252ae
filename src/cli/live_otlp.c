// SPDX-License-Identifier: Apache-2.0
/* The thread behind `live --otlp`: see live_otlp.h. */
#include "cli/live_otlp.h"

#include <pthread.h>
#include <signal.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/ticks.h"
#include "cli/cli.h"

#define LAST_ATTEMPTS 3

enum sending { SENDING_NOTHING, SENDING_WANTED, SENDING_DONE };

struct live_otlp {
    struct otlp_export *export;
    struct span_ring *ring;
    struct otlp_load load;       /* of the sender while something is wanted, */
    struct otlp_outcome outcome; /* and what became of it */
    bool is_told;                /* a problem was printed */
    pthread_t thread;
    pthread_mutex_t lock; /* of what both threads share: */
    pthread_cond_t changed;
    enum sending sending;
    bool is_over;
    atomic_bool stop; /* gives up what is being sent */
};

static void *keep_sending(void *argument)
{
    struct live_otlp *otlp = argument;

    pthread_mutex_lock(&otlp->lock);
    while (!otlp->is_over || otlp->sending == SENDING_WANTED) {
        if (otlp->sending != SENDING_WANTED) {
            pthread_cond_wait(&otlp->changed, &otlp->lock);
            continue;
        }
        pthread_mutex_unlock(&otlp->lock);
        otlp_send(otlp->export->target, &otlp->load, OTLP_TIMEOUT_MS, &otlp->stop, &otlp->outcome);
        pthread_mutex_lock(&otlp->lock);
        otlp->sending = SENDING_DONE;
        pthread_cond_broadcast(&otlp->changed);
    }
    pthread_mutex_unlock(&otlp->lock);
    return NULL;
}

/* On a terminal there is a gauge: then it is said at the end. */
static void take_outcome(struct live_otlp *otlp)
{
    if (!otlp_export_take(otlp->export, &otlp->outcome) || isatty(STDERR_FILENO))
        return;
    cli_say("OTLP: %s", otlp->export->told[0]);
    otlp->is_told = true;
}

static void destroy(struct live_otlp *otlp)
{
    otlp_load_fini(&otlp->load);
    ifg_free(otlp->ring);
    ifg_free(otlp->export);
    pthread_cond_destroy(&otlp->changed);
    pthread_mutex_destroy(&otlp->lock);
    ifg_free(otlp);
}

struct live_otlp *live_otlp_start(const struct otlp_options *options)
{
    struct live_otlp *otlp = ifg_alloc(1, sizeof *otlp);
    bool started;
    sigset_t before;
    sigset_t all;

    if (!otlp)
        return NULL;
    pthread_mutex_init(&otlp->lock, NULL);
    pthread_cond_init(&otlp->changed, NULL);
    otlp_load_init(&otlp->load);
    otlp->export = otlp_export_create(&options->target, options->interval_ms);
    otlp->ring = ifg_alloc(1, sizeof *otlp->ring);
    started = otlp->export && otlp->ring && otlp_send_begin();
    sigfillset(&all); /* signals are for the recorder */
    pthread_sigmask(SIG_SETMASK, &all, &before);
    started = started && pthread_create(&otlp->thread, NULL, keep_sending, otlp) == 0;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (started)
        return otlp;
    destroy(otlp);
    return NULL;
}

struct span_ring *live_otlp_ring(struct live_otlp *otlp)
{
    return otlp->ring;
}

bool live_otlp_is_due(struct live_otlp *otlp, const struct tally *tally)
{
    enum sending sending;

    span_queue_take(&otlp->export->queue, otlp->ring, tally);
    pthread_mutex_lock(&otlp->lock);
    sending = otlp->sending;
    if (sending == SENDING_DONE)
        otlp->sending = SENDING_NOTHING;
    pthread_mutex_unlock(&otlp->lock);
    if (sending == SENDING_DONE)
        take_outcome(otlp);
    return sending != SENDING_WANTED && otlp_export_is_due(otlp->export);
}

void live_otlp_send(struct live_otlp *otlp, const struct metrics_view *view)
{
    otlp_export_begin(otlp->export);
    otlp_export_fill(otlp->export, view, &otlp->load);
    pthread_mutex_lock(&otlp->lock);
    otlp->sending = SENDING_WANTED;
    pthread_cond_signal(&otlp->changed);
    pthread_mutex_unlock(&otlp->lock);
}

/* What is being sent may come to its end; then it is given up. */
static void end_thread(struct live_otlp *otlp)
{
    struct timespec until = ifg_timespec(ifg_realtime_ns() + OTLP_LAST_WAIT_MS * 1000000ull);

    pthread_mutex_lock(&otlp->lock);
    otlp->is_over = true;
    pthread_cond_broadcast(&otlp->changed);
    while (otlp->sending == SENDING_WANTED &&
           pthread_cond_timedwait(&otlp->changed, &otlp->lock, &until) == 0)
        ;
    pthread_mutex_unlock(&otlp->lock);
    atomic_store(&otlp->stop, true);
    pthread_join(otlp->thread, NULL);
}

void live_otlp_stop(struct live_otlp *otlp, const struct metrics_view *view)
{
    if (!otlp)
        return;
    end_thread(otlp);
    if (otlp->sending == SENDING_DONE)
        otlp_export_take(otlp->export, &otlp->outcome);
    span_queue_take(&otlp->export->queue, otlp->ring, view->tally);
    for (int i = 0; i < LAST_ATTEMPTS; i++) {
        otlp_export_begin(otlp->export);
        otlp_export_fill(otlp->export, view, &otlp->load);
        otlp_send(otlp->export->target, &otlp->load, OTLP_LAST_TIMEOUT_MS, NULL, &otlp->outcome);
        otlp_export_take(otlp->export, &otlp->outcome);
        if (otlp->outcome.is_to_repeat || !otlp->export->queue.count)
            break;
    }
    if (*otlp->outcome.problem && !otlp->is_told)
        cli_say("OTLP: %s; %llu exports failed", otlp->outcome.problem,
                (unsigned long long)otlp->export->exports_failed);
    destroy(otlp);
}
