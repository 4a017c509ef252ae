// SPDX-License-Identifier: Apache-2.0
/* Following by descriptions: see probed.h. */
#include "record/probed.h"

#include "collect/probe_file/watch.h"
#include "record/session_internal.h"

enum ifg_status probed_open(struct session *session, struct ifg_error *err)
{
    const struct session_options *options = session->options;

    if (!options->probe_count)
        return IFG_OK;
    return probe_watch_open(options->probes, options->probe_count, UPROBE_ANY, &session->probed,
                            err);
}

enum ifg_status probed_follow(struct session *session, pid_t pid, struct ifg_error *err)
{
    return session->probed ? probe_watch_follow(session->probed, pid, err) : IFG_OK;
}

void probed_begin(struct session *session, struct sink *sink)
{
    if (session->probed)
        probe_watch_begin(session->probed, sink);
}

void probed_look(struct session *session, const pid_t *pids, size_t count)
{
    struct ifg_error ignored; /* the instrument tells */

    for (size_t i = 0; session->probed && i < count; i++)
        if (probe_watch_follow(session->probed, pids[i], &ignored) != IFG_OK)
            continue;
}

bool probed_work(struct session *session, uint64_t now_ns)
{
    return session->probed && probe_watch_drain(session->probed, now_ns) > 0;
}

int probed_fd(const struct session *session)
{
    return session->probed ? probe_watch_fd(session->probed) : -1;
}

void probed_count(const struct session *session, struct session_progress *progress)
{
    struct probe_watch_counts counts = { 0 };

    if (!session->probed)
        return;
    probe_watch_count(session->probed, &counts);
    progress->events += counts.events;
    progress->inferences += counts.inferences;
    progress->dropped += counts.dropped;
    progress->models += counts.models;
    progress->threads += counts.threads;
    progress->processes += counts.processes;
}

void probed_until(struct session *session, uint64_t until_ns)
{
    if (session->probed)
        probe_watch_until(session->probed, until_ns);
}

void probed_finish(struct session *session)
{
    if (session->probed)
        probe_watch_finish(session->probed);
}

void probed_close(struct session *session)
{
    probe_watch_close(session->probed);
    session->probed = NULL;
}
