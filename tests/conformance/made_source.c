// SPDX-License-Identifier: Apache-2.0
/* See made_source.h. Each event is a zone of a nanosecond and has what
 * CLOCK_MONOTONIC said when it was made, as its attribute. */
#include "conformance/made_source.h"

#include <unistd.h>

#include "base/alloc.h"
#include "base/ticks.h"
#include "collect/streams.h"

#define EVERY_NS 10000000ull
#define PAIRS_NS 500000000ull
#define OWN_ZERO 1000000000000ull /* what its clock shows when the recording begins */

struct made_plan made_plan;
struct made_log made_log;

struct made {
    struct recording *recording;
    int pipe[2];
    uint32_t clock, process, location;
    struct thread_stream *thread;
    uint64_t zero_ns, next_ns, next_pair_ns;
};

static uint64_t own_ticks(const struct made *made, uint64_t ns)
{
    return OWN_ZERO + (uint64_t)((double)(ns - made->zero_ns) * (1 + made_plan.drift_ppm * 1e-6));
}

static enum ifg_status open_source(struct recording *recording, void **out_state,
                                   struct ifg_error *err)
{
    struct made *made;

    made_log.opened++;
    if (made_plan.open_fails)
        return ifg_fail(err, IFG_PERMISSION, "made events are not to be had");
    made = ifg_alloc(1, sizeof *made);
    if (!made)
        return ifg_fail_no_memory(err, NULL);
    made->recording = recording;
    if (pipe(made->pipe) < 0) {
        ifg_free(made);
        return ifg_fail_errno(err, "pipe");
    }
    if (made_plan.hangs_up) {
        close(made->pipe[1]);
        made->pipe[1] = -1;
    }
    *out_state = made;
    return IFG_OK;
}

static enum ifg_status attach(void *state, pid_t pid, struct source_sight *out_sight,
                              struct ifg_error *err)
{
    (void)state, (void)pid, (void)err;
    made_log.attached++;
    out_sight->watched = true;
    return IFG_OK;
}

static void write_pair(struct made *made, uint64_t now_ns)
{
    const struct trace_clock_pair pair = { .ticks = own_ticks(made, now_ns),
                                           .monotonic_ns = now_ns,
                                           .realtime_ns = ifg_realtime_ns() };

    trace_writer_clock_pairs(made->recording->sink.writer, made->clock, &pair, 1);
    made->next_pair_ns = now_ns + PAIRS_NS;
}

static bool begin(void *state)
{
    struct made *made = state;
    struct sink *sink = &made->recording->sink;

    made_log.begun++;
    if (made_plan.begin_fails) {
        sink_instrument(sink, MADE_NAME, TRACE_INSTRUMENT_UNAVAILABLE, "there are none here");
        return false;
    }
    made->zero_ns = ifg_monotonic_ns();
    made->clock = sink_clock(sink, TRACE_CLOCK_MONOTONIC, 1000000000u, "made clock");
    made->process = sink_process(
        sink, &(struct sink_process){ .pid = getpid(), .clock = SINK_CLOCK_MONOTONIC });
    made->location = sink_location(sink, (struct trace_location){ .process = made->process,
                                                                  .kind = TRACE_LOCATION_ZONE,
                                                                  .name = "made" });
    made->thread = streams_thread_create(sink, made->process, 0, "made", sizeof *made->thread);
    if (made->thread)
        trace_stream_set_clock(made->thread->stream, made->clock);
    write_pair(made, made->zero_ns);
    sink_instrument(sink, MADE_NAME, TRACE_INSTRUMENT_ON, "");
    return made->thread != NULL;
}

static void start(void *state)
{
    (void)state;
    made_log.started++;
}

static void processes(void *state, const pid_t *pids, size_t count)
{
    (void)state, (void)pids, (void)count;
    made_log.processes++;
}

static size_t fds(const void *state, int *out_fds)
{
    out_fds[0] = ((const struct made *)state)->pipe[0];
    return 1;
}

/* The truth stands beside each event. */
static void put(struct made *made, uint64_t now_ns)
{
    uint64_t start = own_ticks(made, now_ns);
    int64_t truth = (int64_t)now_ns;

    trace_stream_attribute(made->thread->stream, start, made->location, TRACE_VALUE_SIGNED, "truth",
                           5, &truth, sizeof truth);
    trace_stream_zone(made->thread->stream, start, 1, made->location);
    made_log.written++;
}

static enum ifg_status work(void *state, uint64_t now_ns, bool *out_any, struct ifg_error *err)
{
    struct made *made = state;

    made_log.works++;
    if (made_plan.work_fails && made_log.works > 20)
        return ifg_fail(err, IFG_IO, "the maker has gone");
    for (unsigned i = 0; i < made_plan.flood; i++)
        put(made, ifg_monotonic_ns());
    if (!made_plan.flood && now_ns >= made->next_ns) {
        put(made, ifg_monotonic_ns());
        made->next_ns = now_ns + EVERY_NS;
    }
    if (now_ns >= made->next_pair_ns) {
        trace_stream_flush(made->thread->stream, NULL, 0, 0);
        write_pair(made, now_ns);
    }
    *out_any = made_plan.flood > 0;
    return IFG_OK;
}

static void count(const void *state, struct session_progress *progress)
{
    (void)state;
    progress->events += made_log.written;
    progress->processes++;
}

static void stop(void *state)
{
    (void)state;
    made_log.stopped++;
}

static enum ifg_status finish(void *state, struct ifg_error *err)
{
    struct made *made = state;

    made_log.finished++;
    write_pair(made, ifg_monotonic_ns());
    streams_thread_destroy(made->thread);
    made->thread = NULL;
    return made_plan.finish_fails ? ifg_fail(err, IFG_IO, "the last ones did not come") : IFG_OK;
}

static void close_source(void *state)
{
    struct made *made = state;

    made_log.closed++;
    streams_thread_destroy(made->thread);
    for (int i = 0; i < 2; i++)
        if (made->pipe[i] >= 0)
            close(made->pipe[i]);
    ifg_free(made);
}

const struct source source_made = {
    .name = MADE_NAME,
    .needs_no_runtime = true,
    .open = open_source,
    .attach = attach,
    .begin = begin,
    .start = start,
    .processes = processes,
    .fds = fds,
    .work = work,
    .count = count,
    .stop = stop,
    .finish = finish,
    .close = close_source,
};
