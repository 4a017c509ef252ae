// SPDX-License-Identifier: Apache-2.0
/* Counters as tracks: what they are called, in which unit, how large they can be. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "server/tracks_internal.h"
#include "trace/keys.h"

/* Names as in docs/resources.md; the order is that of the page. */
static const struct {
    const char *begin;
    const char *end;
    bool machine; /* else of a process */
    bool open;
} known[] = {
    { "cpu total %", "", true, true },
    { "cpu ", " %", true, false },
    { "cpu %", "", false, true },
    { "gpu ", " busy %", true, true },
    { "npu ", " busy %", true, true },
    { "gpu ", " memory used bytes", true, true },
    { "npu ", " memory used bytes", true, true },
    { "rss bytes", "", false, true },
    { "memory used bytes", "", true, true },
    { "gpu ", " power W", true, true },
};

#define KNOWN (sizeof known / sizeof known[0])

struct counter_track {
    uint32_t location;
    unsigned rank;
    size_t count;
};

static bool begins(const char *text, const char *with)
{
    return strncmp(text, with, strlen(with)) == 0;
}

static bool ends(const char *text, const char *with)
{
    size_t length = strlen(text);
    size_t end = strlen(with);

    return length >= end && strcmp(text + length - end, with) == 0;
}

static bool is_machine(const struct timeline *timeline, uint32_t location)
{
    uint32_t process = timeline->locations[location].process;

    return process < timeline->process_count && timeline->processes[process].pid == 0;
}

/* "cpu 3 %" */
static bool is_core(const char *name)
{
    return begins(name, "cpu ") && name[4] >= '0' && name[4] <= '9' && ends(name, " %");
}

static unsigned rank_of(const struct timeline *timeline, uint32_t location)
{
    const char *name = timeline->locations[location].name;
    bool machine = is_machine(timeline, location);

    for (unsigned i = 0; i < KNOWN; i++) {
        if (machine != known[i].machine)
            continue;
        if (*known[i].end ? begins(name, known[i].begin) && ends(name, known[i].end)
                          : strcmp(name, known[i].begin) == 0)
            if (i != 1 || is_core(name))
                return i;
    }
    return KNOWN;
}

static int by_rank(const void *a, const void *b)
{
    const struct counter_track *left = a;
    const struct counter_track *right = b;

    if (left->rank != right->rank)
        return left->rank < right->rank ? -1 : 1;
    return left->location < right->location ? -1 : left->location > right->location;
}

static const char *unit_of(const char *name)
{
    static const char *const units[] = { "%", "bytes", "MHz", "W", "C", "us" };

    for (size_t i = 0; i < sizeof units / sizeof units[0]; i++) {
        size_t length = strlen(name);
        size_t end = strlen(units[i]);

        if (length > end && name[length - end - 1] == ' ' && ends(name, units[i]))
            return units[i];
    }
    return "";
}

static double cpus_of(const struct timeline *timeline)
{
    const char *text = trace_find_fact(trace_reader_tables(timeline->reader), TRACE_FACT_HOST_CPUS);
    double cpus = text ? strtod(text, NULL) : 0;

    return cpus >= 1 && cpus < 1e6 ? cpus : NAN;
}

/* Those of docs/resources.md that only grow. */
static bool is_growing(const char *name)
{
    static const char *const names[] = { "page faults ",         "read bytes",
                                         "written bytes",        "switches ",
                                         "cgroup periods",       "cgroup throttled ",
                                         "cpu thermal throttles" };

    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (begins(name, names[i]))
            return true;
    return false;
}

static bool is_first_machine(const struct timeline *timeline,
                             const struct timeline_process *process)
{
    for (const struct timeline_process *at = timeline->processes; at < process; at++)
        if (!at->pid && strcmp(at->program, process->program) == 0)
            return false;
    return true;
}

static void describe(const struct server_trace *trace, struct track *track, unsigned rank)
{
    const struct timeline *timeline = trace->timeline;
    const struct timeline_location *location = &timeline->locations[track->location];
    const struct timeline_process *process = location->process < timeline->process_count
                                                 ? &timeline->processes[location->process]
                                                 : NULL;
    bool machine = is_machine(timeline, track->location);
    uint32_t thread = timeline->counters[trace->counter_order[track->first]].thread;
    size_t length = strlen(location->name);
    size_t unit;

    track->process = location->process;
    track->unit = unit_of(location->name);
    unit = strlen(track->unit);
    if (unit)
        length -= unit + 1;
    snprintf(track->label, sizeof track->label, "%.*s", (int)(length < 90 ? length : 90),
             location->name);
    if (process && machine && timeline->several_machines)
        snprintf(track->sub, sizeof track->sub, "%.60s", process->host);
    if (process && !machine)
        snprintf(track->sub, sizeof track->sub, "%.40s (%u)", process->name, process->pid);
    /* Of what the recorder looked at the best known; what a program told of itself always. */
    track->open = rank < KNOWN
                      ? known[rank].open
                      : thread >= timeline->thread_count || timeline->threads[thread].tid != 0;
    if (machine && strcmp(track->unit, "%") == 0 && !begins(location->name, "other"))
        track->scale = 100;
    if (!machine && strcmp(location->name, "cpu %") == 0)
        track->scale = 100 * cpus_of(timeline);
    if (machine && is_core(location->name)) {
        /* Only those of one machine add up, and only once if two traces have it. */
        if (timeline->several_machines)
            track->stack = process->name;
        else if (timeline->machine_count == 1 || is_first_machine(timeline, process))
            track->stack = "CPU cores";
        else
            track->open = false;
    }
    track->grows = is_growing(location->name);
}

static void sum_values(const struct server_trace *trace, struct track *track)
{
    for (size_t i = 0; i < track->count; i++) {
        double value = trace->timeline->counters[trace->counter_order[track->first + i]].value;

        if (!isfinite(value))
            continue;
        track->min = isnan(track->min) || value < track->min ? value : track->min;
        track->max = isnan(track->max) || value > track->max ? value : track->max;
    }
}

/* ---- processes that have two entries ---- */

/* What is known of a process before its library was there: what it used, and nothing else. */
static bool has_only_resources(const struct timeline *timeline, uint32_t process)
{
    if (!timeline->processes[process].pid ||
        timeline->processes[process].fate != TRACE_FATE_UNKNOWN)
        return false;
    for (size_t i = 0; i < timeline->thread_count; i++)
        if (timeline->threads[i].process == process && timeline->threads[i].tid != 0)
            return false;
    return true;
}

/* The entry that follows is the same process; TIMELINE_NONE: there is none. */
static uint32_t later_entry(const struct timeline *timeline, uint32_t process)
{
    const struct timeline_process *early = &timeline->processes[process];

    for (size_t i = process + 1; i < timeline->process_count; i++)
        if (timeline->processes[i].pid == early->pid)
            return strcmp(timeline->processes[i].program, early->program) == 0 &&
                           strcmp(timeline->processes[i].host, early->host) == 0
                       ? (uint32_t)i
                       : TIMELINE_NONE;
    return TIMELINE_NONE;
}

/* By location of a counter: the one of the same name in the later entry of its process, or itself.
 */
static uint32_t *find_same(const struct timeline *timeline)
{
    uint32_t *same = ifg_alloc(timeline->location_count + 1, sizeof *same);
    uint32_t *later = ifg_alloc(timeline->process_count + 1, sizeof *later);

    for (uint32_t i = 0; later && i < timeline->process_count; i++)
        later[i] = has_only_resources(timeline, i) ? later_entry(timeline, i) : TIMELINE_NONE;
    for (uint32_t p = 0; same && later && p < timeline->location_count; p++) {
        const struct timeline_location *location = &timeline->locations[p];
        uint32_t entry =
            location->kind == TRACE_LOCATION_COUNTER && location->process < timeline->process_count
                ? later[location->process]
                : TIMELINE_NONE;

        same[p] = p;
        for (uint32_t q = 0; entry != TIMELINE_NONE && q < timeline->location_count; q++)
            if (timeline->locations[q].process == entry &&
                timeline->locations[q].kind == TRACE_LOCATION_COUNTER &&
                strcmp(timeline->locations[q].name, location->name) == 0) {
                same[p] = q;
                break;
            }
    }
    if (!later) {
        ifg_free(same);
        same = NULL;
    }
    ifg_free(later);
    return same;
}

/* counter_order: the counters location by location, by time in each. */
static enum ifg_status sort_values(struct server_trace *trace, const size_t *first_of,
                                   const uint32_t *same)
{
    const struct timeline *timeline = trace->timeline;
    size_t *next = ifg_alloc(timeline->location_count + 1, sizeof *next);

    trace->counter_order = ifg_alloc(timeline->counter_count + 1, sizeof *trace->counter_order);
    if (!next || !trace->counter_order) {
        ifg_free(next);
        return IFG_NO_MEMORY;
    }
    memcpy(next, first_of, timeline->location_count * sizeof *next);
    for (size_t i = 0; i < timeline->counter_count; i++)
        trace->counter_order[next[same[timeline->counters[i].location]]++] = (uint32_t)i;
    ifg_free(next);
    return IFG_OK;
}

enum ifg_status tracks_add_counters(struct server_trace *trace, struct tracks *out)
{
    const struct timeline *timeline = trace->timeline;
    struct counter_track *found = ifg_alloc(timeline->location_count + 1, sizeof *found);
    size_t *first_of = ifg_alloc(timeline->location_count + 1, sizeof *first_of);
    uint32_t *same = find_same(timeline);
    enum ifg_status status = IFG_NO_MEMORY;
    size_t count = 0;
    size_t at = 0;

    if (!found || !first_of || !same)
        goto out;
    for (size_t i = 0; i < timeline->counter_count; i++)
        first_of[same[timeline->counters[i].location]]++;
    for (size_t p = 0; p < timeline->location_count; p++) {
        size_t values = first_of[p];

        first_of[p] = at;
        at += values;
        if (values)
            found[count++] =
                (struct counter_track){ (uint32_t)p, rank_of(timeline, (uint32_t)p), values };
    }
    qsort(found, count, sizeof *found, by_rank);
    status = sort_values(trace, first_of, same);
    for (size_t i = 0; !status && i < count; i++) {
        struct track *track = tracks_add(out, TRACK_COUNTER, "c", found[i].location, TRACK_NONE);

        if (!track) {
            status = IFG_NO_MEMORY;
            break;
        }
        track->location = found[i].location;
        track->first = first_of[found[i].location];
        track->count = found[i].count;
        describe(trace, track, found[i].rank);
        sum_values(trace, track);
    }
out:
    ifg_free(same);
    ifg_free(first_of);
    ifg_free(found);
    return status;
}
