// SPDX-License-Identifier: Apache-2.0
/* Processes that are followed by descriptions (record --probe): the recorder's side of
 * collect/probe_file. */
#include "base/alloc.h"
#include "collect/probe_file/watch.h"
#include "record/source.h"

struct probed {
    struct recording *recording;
    struct probe_watch *watch;
};

static enum ifg_status open_source(struct recording *recording, void **out_state,
                                   struct ifg_error *err)
{
    const struct session_options *options = recording->options;
    struct probed *probed;

    if (!options->probe_count)
        return IFG_OK;
    probed = ifg_alloc(1, sizeof *probed);
    if (!probed)
        return ifg_fail_no_memory(err, NULL);
    probed->recording = recording;
    *out_state = probed;
    return probe_watch_open(options->probes, options->probe_count, UPROBE_ANY, &probed->watch, err);
}

static enum ifg_status attach(void *state, pid_t pid, struct source_sight *out_sight,
                              struct ifg_error *err)
{
    struct probed *probed = state;

    out_sight->watched = true; /* it may load what is described any time */
    return probe_watch_follow(probed->watch, pid, err);
}

static void processes(void *state, const pid_t *pids, size_t count)
{
    struct probed *probed = state;
    struct ifg_error ignored; /* the instrument tells */

    for (size_t i = 0; i < count; i++)
        if (probe_watch_follow(probed->watch, pids[i], &ignored) != IFG_OK)
            continue;
}

static bool begin(void *state)
{
    struct probed *probed = state;

    probe_watch_begin(probed->watch, &probed->recording->sink);
    processes(state, &probed->recording->root, 1);
    return true;
}

/* A program that was running before is recorded from now on; its probes are older. */
static void start(void *state)
{
    struct probed *probed = state;

    probe_watch_since(probed->watch, probed->recording->since_ns);
}

static size_t fds(const void *state, int *out_fds)
{
    out_fds[0] = probe_watch_fd(((const struct probed *)state)->watch);
    return 1;
}

static enum ifg_status work(void *state, uint64_t now_ns, bool *out_any, struct ifg_error *err)
{
    struct probed *probed = state;

    (void)err;
    if (probed->recording->deadline_ns)
        probe_watch_until(probed->watch, probed->recording->deadline_ns);
    *out_any = probe_watch_drain(probed->watch, now_ns) > 0;
    return IFG_OK;
}

static void count(const void *state, struct session_progress *progress)
{
    source_add(progress, probe_watch_count(((const struct probed *)state)->watch));
}

static void stop(void *state)
{
    struct probed *probed = state;

    probe_watch_until(probed->watch, probed->recording->until_ns);
}

static enum ifg_status finish(void *state, struct ifg_error *err)
{
    (void)err;
    probe_watch_finish(((struct probed *)state)->watch);
    return IFG_OK;
}

static void close_source(void *state)
{
    probe_watch_close(((struct probed *)state)->watch);
    ifg_free(state);
}

const struct source source_probe_file = {
    .name = "probe descriptions",
    .wakes = true,
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
