// SPDX-License-Identifier: Apache-2.0
/* What is done with all sources of a recording: see source.h. */
#include "record/source.h"

#include <stdio.h>
#include <string.h>

enum ifg_status sources_open(struct sources *sources, struct recording *recording,
                             struct ifg_error *err)
{
    sources->recording = recording;
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

static bool has_hung_up(const struct source_open *open, int fd)
{
    for (size_t i = 0; i < SOURCE_FDS_MAX; i++)
        if (open->hung_up[i] == fd + 1)
            return true;
    return false;
}

size_t sources_fds(const struct sources *sources, int *out_fds, size_t room)
{
    size_t count = 0;

    for (size_t i = 0; i < sources->count; i++) {
        const struct source_open *open = &sources->open[i];
        int fds[SOURCE_FDS_MAX];
        size_t of_one = open->source->fds ? open->source->fds(open->state, fds) : 0;

        if (sources->hold_back && open->source->may_wait)
            continue; /* it would only wake us */
        for (size_t k = 0; k < of_one && count < room; k++)
            if (!has_hung_up(open, fds[k]))
                out_fds[count++] = fds[k];
    }
    return count;
}

/* It would wake the loop for ever. The source works all the same, whenever the loop comes by. */
void sources_hung_up(struct sources *sources, int fd)
{
    for (size_t i = 0; i < sources->count; i++) {
        struct source_open *open = &sources->open[i];
        int fds[SOURCE_FDS_MAX];
        size_t of_one = open->source->fds ? open->source->fds(open->state, fds) : 0;

        for (size_t k = 0; k < of_one; k++)
            if (fds[k] == fd)
                open->hung_up[k] = fd + 1;
    }
}

/* A source that cannot go on: what it has is in the trace, and that there is no more, too. */
static void say_failed(const struct sources *sources, const struct source *source,
                       const struct ifg_error *err)
{
    char what[256];

    snprintf(what, sizeof what, "%.60s: %.180s", source->name, err->message);
    trace_writer_loss(sources->recording->sink.writer, 0, what, 1);
}

static void finish_one(const struct sources *sources, size_t at)
{
    const struct source_open *open = &sources->open[at];
    struct ifg_error err = { .message = "" };

    if (open->source->finish && open->source->finish(open->state, &err))
        say_failed(sources, open->source, &err);
}

bool sources_work(struct sources *sources, uint64_t now_ns, bool is_alone)
{
    bool any = false;

    for (size_t i = 0; i < sources->count;) {
        const struct source_open *open = &sources->open[i];
        struct ifg_error err = { .message = "" };
        bool here = false;

        if (sources->hold_back && open->source->may_wait) {
            i++;
            continue;
        }
        if (open->source->work && open->source->work(open->state, now_ns, &here, &err)) {
            say_failed(sources, open->source, &err);
            finish_one(sources, i);
            if (open->source->count)
                open->source->count(open->state, &sources->failed);
            close_one(sources, i);
            continue;
        }
        any = any || (here && !(is_alone && open->source->wakes));
        i++;
    }
    return any;
}

void source_add(struct session_progress *progress, struct sink_counts counts)
{
    progress->events += counts.events;
    progress->inferences += counts.inferences;
    progress->dropped += counts.dropped;
    progress->models += counts.models;
    progress->threads += counts.threads;
    progress->processes += counts.processes;
}

void sources_count(const struct sources *sources, struct session_progress *progress)
{
    progress->events += sources->failed.events;
    progress->inferences += sources->failed.inferences;
    progress->dropped += sources->failed.dropped;
    progress->models += sources->failed.models;
    progress->processes += sources->failed.processes;
    progress->threads += sources->failed.threads;
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

void sources_explain(struct sources *sources)
{
    for (size_t i = 0; i < sources->count; i++)
        if (sources->open[i].source->explain)
            sources->open[i].source->explain(sources->open[i].state);
}

void sources_finish(struct sources *sources)
{
    for (size_t i = 0; i < sources->count; i++)
        finish_one(sources, i);
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

/* ---- without a recording ---- */

void source_survey_add(struct source_survey *survey, const char *name, const char *version)
{
    size_t used = strlen(survey->runtimes);

    snprintf(survey->runtimes + used, sizeof survey->runtimes - used, "%s%s%s%s", used ? ", " : "",
             name, *version ? " " : "", version);
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

void sources_held(struct sources *sources, pid_t pid)
{
    for (size_t i = 0; i < sources->count; i++)
        if (sources->open[i].source->held)
            sources->open[i].source->held(sources->open[i].state, pid);
}

pid_t sources_creator(struct sources *sources, uint64_t now_ns, bool *out_watches)
{
    pid_t creator = 0;

    *out_watches = false;
    for (size_t i = 0; i < sources->count && !creator; i++) {
        const struct source *source = sources->open[i].source;
        struct ifg_error err;
        bool any = false;

        if (!source->creator)
            continue;
        if (source->work(sources->open[i].state, now_ns, &any, &err) == IFG_OK)
            creator = source->creator(sources->open[i].state, out_watches);
    }
    return creator;
}
