// SPDX-License-Identifier: Apache-2.0
/*
 * The thread behind `live --metrics` and `live --otlp`: see live_metrics.h. Findings take as long
 * as they take, so they have a thread of their own.
 */
#include "cli/live_metrics.h"

#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/ticks.h"
#include "cli/live_otlp.h"
#include "cli/own_cost.h"
#include "metrics/feed.h"
#include "trace/output.h"
#include "trace/reader.h"

#define LOOK_MS           250
#define FIRST_FINDINGS_NS 5000000000ull
#define FINDINGS_NS       60000000000ull
#define FINDINGS_COST     100u        /* at least so many times what the last ones took */
#define TRACE_MOST        (64u << 20) /* larger ones take too long to be looked through */

struct live_metrics {
    struct metrics_listener *listener; /* NULL: nobody scrapes */
    struct live_otlp *otlp;            /* NULL: nothing is sent */
    struct metrics_feed *feed;
    struct tally *tally;
    char *path;
    char program[64];
    uint64_t scrapes;
    int wake;
    pthread_t thread;
    pthread_t finder;
    pthread_mutex_t lock; /* of what the finder and the other thread share: */
    pthread_cond_t over;
    bool is_over;
    struct problems problems;
};

/* ---- findings ---- */

/* All of it, or NULL: a file of our own, which grows meanwhile. Not mapped: whoever cuts the file
 * would end the recorder. */
static uint8_t *read_trace(const char *path, size_t *out_size)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    uint8_t *data = NULL;
    struct stat info;
    size_t got = 0;

    *out_size = 0;
    if (fd >= 0 && fstat(fd, &info) == 0 && info.st_size > 0 && info.st_size <= (off_t)TRACE_MOST)
        data = ifg_alloc((size_t)info.st_size, 1);
    while (data && got < (size_t)info.st_size) {
        ssize_t more = pread(fd, data + got, (size_t)info.st_size - got, (off_t)got);

        if (more <= 0)
            break;
        got += (size_t)more;
    }
    if (fd >= 0)
        close(fd);
    *out_size = got;
    return data;
}

static void find_problems(struct live_metrics *metrics)
{
    struct problems *found = ifg_alloc(1, sizeof *found);
    struct trace_reader *reader = NULL;
    size_t size;
    uint8_t *data = read_trace(metrics->path, &size);

    if (found && data && !trace_reader_open_memory(data, size, metrics->path, &reader, NULL) &&
        problems_find(reader, metrics->program, found, NULL))
        memset(found, 0, sizeof *found);
    if (found) {
        pthread_mutex_lock(&metrics->lock);
        metrics->problems = *found;
        pthread_mutex_unlock(&metrics->lock);
    }
    trace_reader_close(reader);
    ifg_free(data);
    ifg_free(found);
}

static void *keep_finding(void *argument)
{
    struct live_metrics *metrics = argument;
    uint64_t next_ns = ifg_realtime_ns() + FIRST_FINDINGS_NS;

    pthread_mutex_lock(&metrics->lock);
    while (!metrics->is_over) {
        struct timespec until = ifg_timespec(next_ns);
        uint64_t cost_ns;

        if (ifg_realtime_ns() < next_ns) {
            pthread_cond_timedwait(&metrics->over, &metrics->lock, &until);
            continue;
        }
        pthread_mutex_unlock(&metrics->lock);
        cost_ns = ifg_thread_cpu_ns();
        find_problems(metrics);
        cost_ns = FINDINGS_COST * (ifg_thread_cpu_ns() - cost_ns);
        next_ns = ifg_realtime_ns() + (cost_ns > FINDINGS_NS ? cost_ns : FINDINGS_NS);
        pthread_mutex_lock(&metrics->lock);
    }
    pthread_mutex_unlock(&metrics->lock);
    return NULL;
}

/* ---- scrapes ---- */

static struct metrics_view view_of(const struct live_metrics *metrics)
{
    struct own_cost cost = own_cost_now();

    return (struct metrics_view){
        .version = INFEROGRAM_VERSION,
        .tally = metrics->tally,
        .problems = &metrics->problems,
        .programs[PROGRAM_WATCHED] = 1,
        .cpu_s = cost.cpu_s,
        .memory_bytes = cost.memory_bytes,
        .scrapes = metrics->scrapes,
    };
}

static void fill(struct ifg_bytes *out, enum metrics_format format, void *user)
{
    struct live_metrics *metrics = user;
    struct metrics_view view = view_of(metrics);

    metrics->scrapes++;
    while (metrics_feed_step(metrics->feed))
        ;
    pthread_mutex_lock(&metrics->lock);
    metrics_text_put(out, format, &view);
    pthread_mutex_unlock(&metrics->lock);
}

static void send_if_due(struct live_metrics *metrics)
{
    struct metrics_view view;

    if (!live_otlp_is_due(metrics->otlp, metrics->tally))
        return;
    view = view_of(metrics);
    pthread_mutex_lock(&metrics->lock);
    live_otlp_send(metrics->otlp, &view);
    pthread_mutex_unlock(&metrics->lock);
}

static void *serve(void *argument)
{
    struct live_metrics *metrics = argument;
    struct pollfd polled[] = {
        { metrics->wake, POLLIN, 0 },
        { metrics->listener ? metrics_listener_fd(metrics->listener) : -1, POLLIN, 0 },
    };

    for (;;) {
        if (poll(polled, 2, LOOK_MS) > 0 && polled[0].revents)
            return NULL;
        metrics_feed_step(metrics->feed);
        if (metrics->listener)
            metrics_listener_work(metrics->listener);
        if (metrics->otlp)
            send_if_due(metrics);
    }
}

/* ---- beginning and end ---- */

static void destroy(struct live_metrics *metrics)
{
    metrics_listener_destroy(metrics->listener);
    metrics_feed_close(metrics->feed);
    if (metrics->wake >= 0)
        close(metrics->wake);
    pthread_cond_destroy(&metrics->over);
    pthread_mutex_destroy(&metrics->lock);
    ifg_free(metrics->tally);
    ifg_free(metrics->path);
    ifg_free(metrics);
}

static bool prepare_otlp(struct live_metrics *metrics, const struct otlp_options *options)
{
    metrics->otlp = live_otlp_start(options);
    return metrics->otlp && metrics_feed_hand_out(metrics->feed, live_otlp_ring(metrics->otlp));
}

static bool prepare(struct live_metrics *metrics, const struct live_metrics_options *options)
{
    struct trace_input *input = NULL;

    snprintf(metrics->program, sizeof metrics->program, "%.63s", options->program);
    metrics->path = ifg_strdup(options->path);
    metrics->tally = ifg_alloc(1, sizeof *metrics->tally);
    metrics->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    return metrics->path && metrics->tally && metrics->wake >= 0 &&
           trace_input_file(options->path, &input, NULL) == IFG_OK &&
           metrics_feed_open(input, metrics->program, metrics->tally, &metrics->feed, NULL) ==
               IFG_OK &&
           (!options->address || metrics_listener_create(options->address, fill, metrics,
                                                         &metrics->listener, NULL) == IFG_OK) &&
           (!options->otlp || prepare_otlp(metrics, options->otlp));
}

/* Lets the finder end. */
static void end_finder(struct live_metrics *metrics)
{
    pthread_mutex_lock(&metrics->lock);
    metrics->is_over = true;
    pthread_cond_signal(&metrics->over);
    pthread_mutex_unlock(&metrics->lock);
    pthread_join(metrics->finder, NULL);
}

/* All that there is, once more: the recording has ended. */
static void end_export(struct live_metrics *metrics)
{
    struct metrics_view view = view_of(metrics);

    if (!metrics->otlp)
        return;
    while (metrics_feed_step(metrics->feed))
        ;
    metrics_feed_flush(metrics->feed);
    live_otlp_stop(metrics->otlp, &view);
    metrics->otlp = NULL;
}

static bool start_threads(struct live_metrics *metrics)
{
    bool started;
    sigset_t before;
    sigset_t all;

    sigfillset(&all); /* signals are for the recorder */
    pthread_sigmask(SIG_SETMASK, &all, &before);
    started = pthread_create(&metrics->finder, NULL, keep_finding, metrics) == 0;
    if (started && pthread_create(&metrics->thread, NULL, serve, metrics) != 0) {
        end_finder(metrics);
        started = false;
    }
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return started;
}

struct live_metrics *live_metrics_start(const struct live_metrics_options *options)
{
    struct live_metrics *metrics = ifg_alloc(1, sizeof *metrics);

    if (!metrics)
        return NULL;
    metrics->wake = -1;
    pthread_mutex_init(&metrics->lock, NULL);
    pthread_cond_init(&metrics->over, NULL);
    if (prepare(metrics, options) && start_threads(metrics))
        return metrics;
    end_export(metrics);
    destroy(metrics);
    return NULL;
}

void live_metrics_stop(struct live_metrics *metrics)
{
    const uint64_t one = 1;

    if (!metrics)
        return;
    if (write(metrics->wake, &one, sizeof one) != (ssize_t)sizeof one)
        return; /* cannot be: nobody else writes there */
    pthread_join(metrics->thread, NULL);
    end_finder(metrics);
    end_export(metrics);
    destroy(metrics);
}
