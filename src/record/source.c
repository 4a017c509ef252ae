// SPDX-License-Identifier: Apache-2.0
/* What is done with all sources of a recording: see source.h. */
#include "record/source.h"

#include <string.h>

enum ifg_status sources_open(struct sources *sources, struct recording *recording,
                             struct ifg_error *err)
{
    for (size_t i = 0; i < record_source_count && sources->count < SOURCES_MAX; i++) {
        struct source_open *open = &sources->open[sources->count];
        enum ifg_status status;

        *open = (struct source_open){ .source = record_sources[i] };
        status = open->source->open(recording, &open->state, err);
        sources->count += open->state != NULL;
        if (status)
            return status;
    }
    return IFG_OK;
}

enum ifg_status sources_attach(struct sources *sources, pid_t pid, struct source_sight *out_sight,
                               struct ifg_error *err)
{
    enum ifg_status status = IFG_OK;

    for (size_t i = 0; i < sources->count && !status; i++)
        if (sources->open[i].source->attach)
            status = sources->open[i].source->attach(sources->open[i].state, pid, out_sight, err);
    return status;
}

static void close_one(struct sources *sources, size_t at)
{
    struct source_open open = sources->open[at];

    sources->count--;
    memmove(sources->open + at, sources->open + at + 1,
            (sources->count - at) * sizeof sources->open[0]);
    if (open.source->close)
        open.source->close(open.state);
}

void sources_begin(struct sources *sources)
{
    for (size_t i = 0; i < sources->count;) {
        const struct source_open *open = &sources->open[i];

        if (!open->source->begin || open->source->begin(open->state))
            i++;
        else
            close_one(sources, i);
    }
}

void sources_start(struct sources *sources)
{
    for (size_t i = 0; i < sources->count; i++)
        if (sources->open[i].source->start)
            sources->open[i].source->start(sources->open[i].state);
}

void sources_processes(struct sources *sources, const pid_t *pids, size_t count)
{
    for (size_t i = 0; i < sources->count; i++)
        if (sources->open[i].source->processes)
            sources->open[i].source->processes(sources->open[i].state, pids, count);
}

void sources_defined(struct sources *sources, pid_t pid, uint32_t process, uint32_t clock)
{
    for (size_t i = 0; i < sources->count; i++)
        if (sources->open[i].source->defined)
            sources->open[i].source->defined(sources->open[i].state, pid, process, clock);
}

void sources_ended(struct sources *sources, pid_t pid)
{
    for (size_t i = 0; i < sources->count; i++)
        if (sources->open[i].source->ended)
            sources->open[i].source->ended(sources->open[i].state, pid);
}

size_t sources_fds(const struct sources *sources, int *out_fds, size_t room)
{
    size_t count = 0;

    for (size_t i = 0; i < sources->count && count + SOURCE_FDS_MAX <= room; i++)
        if (sources->open[i].source->fds)
            count += sources->open[i].source->fds(sources->open[i].state, out_fds + count);
    return count;
}

bool sources_work(struct sources *sources, uint64_t now_ns, bool is_alone)
{
    bool any = false;

    for (size_t i = 0; i < sources->count; i++) {
        const struct source *source = sources->open[i].source;

        if (source->work && source->work(sources->open[i].state, now_ns) &&
            !(is_alone && source->wakes))
            any = true;
    }
    return any;
}

void sources_count(const struct sources *sources, struct session_progress *progress)
{
    for (size_t i = 0; i < sources->count; i++)
        if (sources->open[i].source->count)
            sources->open[i].source->count(sources->open[i].state, progress);
}

/* Samples first, which come last: what it takes to stop the others is not the program's. */
void sources_stop(struct sources *sources)
{
    for (size_t i = sources->count; i-- > 0;)
        if (sources->open[i].source->stop)
            sources->open[i].source->stop(sources->open[i].state);
}

void sources_finish(struct sources *sources)
{
    for (size_t i = 0; i < sources->count; i++)
        if (sources->open[i].source->finish)
            sources->open[i].source->finish(sources->open[i].state);
}

void sources_close(struct sources *sources)
{
    while (sources->count)
        close_one(sources, 0);
}

/* ---- what they are like ---- */

bool sources_any_attach(const struct sources *sources)
{
    for (size_t i = 0; i < sources->count; i++)
        if (sources->open[i].source->attach)
            return true;
    return false;
}

bool sources_any_ended(const struct sources *sources)
{
    for (size_t i = 0; i < sources->count; i++)
        if (sources->open[i].source->ended)
            return true;
    return false;
}

bool sources_any_wakes(const struct sources *sources)
{
    for (size_t i = 0; i < sources->count; i++)
        if (sources->open[i].source->wakes)
            return true;
    return false;
}

bool sources_any_creator(const struct sources *sources)
{
    for (size_t i = 0; i < sources->count; i++)
        if (sources->open[i].source->creator)
            return true;
    return false;
}

bool sources_need_no_runtime(const struct sources *sources)
{
    for (size_t i = 0; i < sources->count; i++)
        if (sources->open[i].source->needs_no_runtime)
            return true;
    return false;
}

/* ---- waiting ---- */

bool sources_may_be(struct sources *sources, const struct map_seen *seen)
{
    for (size_t i = 0; i < sources->count; i++)
        if (sources->open[i].source->may_be &&
            sources->open[i].source->may_be(sources->open[i].state, seen))
            return true;
    return false;
}

bool sources_consider(struct sources *sources, pid_t pid, enum source_look how)
{
    bool watched = false;

    for (size_t i = 0; i < sources->count; i++)
        if (sources->open[i].source->consider &&
            sources->open[i].source->consider(sources->open[i].state, pid, how))
            watched = true;
    return watched;
}

pid_t sources_creator(const struct sources *sources, bool *out_watches)
{
    pid_t creator = 0;

    *out_watches = false;
    for (size_t i = 0; i < sources->count && !creator; i++)
        if (sources->open[i].source->creator)
            creator = sources->open[i].source->creator(sources->open[i].state, out_watches);
    return creator;
}
