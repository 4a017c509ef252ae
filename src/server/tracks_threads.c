// SPDX-License-Identifier: Apache-2.0
/* Processes with their threads as tracks, and async spans, messages and frames of each. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "server/tracks_internal.h"
#include "timeline/device.h"

static const char *process_name(const struct timeline *timeline, uint32_t process)
{
    return process < timeline->process_count ? timeline->processes[process].name : "";
}

/* The thread without a number has the counters of its process; the system has none. */
static bool is_thread(const struct timeline *timeline, const struct timeline_thread *thread)
{
    return thread->tid != 0 && thread->process < timeline->process_count &&
           timeline->processes[thread->process].pid != 0;
}

static size_t depth_of(const struct timeline *timeline, const struct timeline_thread *thread)
{
    uint16_t most = 0;

    for (size_t i = thread->first_slice; i < thread->first_slice + thread->slice_count; i++)
        most = timeline->depth[i] > most ? timeline->depth[i] : most;
    return thread->slice_count ? (size_t)most + 1 : 0;
}

static bool add_thread(struct server_trace *trace, struct tracks *out, uint32_t parent,
                       uint32_t thread, uint32_t sampled)
{
    const struct timeline *timeline = trace->timeline;
    const struct timeline_thread *of = thread == TIMELINE_NONE ? NULL : &timeline->threads[thread];
    const struct timeline_sampled_thread *seen =
        sampled == TIMELINE_NONE ? NULL : &trace->profile->threads[sampled];
    uint32_t tid = of ? of->tid : seen->tid;
    const char *name = of && *of->name ? of->name : seen ? seen->name : "";
    struct track *track;

    if ((!of || !of->slice_count) && (!seen || (!seen->sample_count && !seen->state_count)))
        return true;
    track = of ? tracks_add(out, TRACK_THREAD, "t", thread, parent)
               : tracks_add(out, TRACK_THREAD, "s", sampled, parent);
    if (!track)
        return false;
    track->process = of ? of->process : seen->process;
    track->thread = thread;
    track->sampled = sampled;
    track->open = of && of->slice_count;
    if (of) {
        track->count = of->slice_count;
        track->rows = depth_of(timeline, of);
    }
    if (seen)
        track->has_states = seen->state_count > 0;
    if (*name)
        snprintf(track->label, sizeof track->label, "%s", name);
    else
        snprintf(track->label, sizeof track->label, "thread %u", tid);
    snprintf(track->sub, sizeof track->sub, "tid %u", tid);
    return true;
}

/* Which of the profile's threads each of the timeline's is. */
static uint32_t *map_threads(const struct server_trace *trace)
{
    uint32_t *map = ifg_alloc(trace->timeline->thread_count + 1, sizeof *map);

    if (!map)
        return NULL;
    memset(map, 0xff, (trace->timeline->thread_count + 1) * sizeof *map);
    for (size_t i = 0; trace->profile && i < trace->profile->thread_count; i++)
        if (trace->profile->threads[i].thread < trace->timeline->thread_count)
            map[trace->profile->threads[i].thread] = (uint32_t)i;
    return map;
}

static bool add_process(struct server_trace *trace, struct tracks *out, uint32_t process,
                        const uint32_t *sampled_of)
{
    const struct timeline *timeline = trace->timeline;
    const struct timeline_profile *profile = trace->profile;
    uint32_t parent = (uint32_t)out->count;
    struct track *track = tracks_add(out, TRACK_PROCESS, "p", process, TRACK_NONE);

    if (!track)
        return false;
    track->process = process;
    track->open = true;
    snprintf(track->label, sizeof track->label, "%s", timeline->processes[process].name);
    snprintf(track->sub, sizeof track->sub, "pid %u", timeline->processes[process].pid);
    for (size_t t = 0; t < timeline->thread_count; t++)
        if (timeline->threads[t].process == process && is_thread(timeline, &timeline->threads[t]) &&
            !add_thread(trace, out, parent, (uint32_t)t, sampled_of[t]))
            return false;
    for (size_t s = 0; profile && s < profile->thread_count; s++)
        if (profile->threads[s].process == process && profile->threads[s].thread == TIMELINE_NONE &&
            !add_thread(trace, out, parent, TIMELINE_NONE, (uint32_t)s))
            return false;
    if (out->count == parent + 1u)
        out->count--; /* nothing is known of its threads */
    else
        out->items[parent].count = out->count - parent - 1;
    return true;
}

/* ---- devices and their streams ---- */

static bool add_stream(struct server_trace *trace, struct tracks *out, uint32_t parent,
                       const struct timeline_devices *devices,
                       const struct timeline_device_stream *stream)
{
    const struct timeline_thread *thread = &trace->timeline->threads[stream->thread];
    enum timeline_work kind;
    struct track *track;

    if (!stream->work_count)
        return true;
    kind = devices->works[devices->by_stream[stream->first_work]].kind;
    track = tracks_add(out, TRACK_THREAD, "t", stream->thread, parent);
    if (!track)
        return false;
    track->process = stream->process;
    track->thread = stream->thread;
    track->open = true;
    track->count = thread->slice_count;
    track->rows = depth_of(trace->timeline, thread);
    if (stream->stream == TIMELINE_NONE)
        snprintf(track->label, sizeof track->label, "%s", thread->name);
    else
        snprintf(track->label, sizeof track->label, "stream %u%s", stream->stream,
                 kind == TIMELINE_WORK_SYNC ? " waits" : "");
    snprintf(track->sub, sizeof track->sub, "%zu %s", stream->work_count,
             kind == TIMELINE_WORK_SYNC     ? "waits"
             : kind == TIMELINE_WORK_MEMORY ? "changes"
                                            : "pieces of work");
    return true;
}

/* Each device of each process is a group, as a process is, with its streams. */
static bool add_devices(struct server_trace *trace, struct tracks *out)
{
    const struct timeline *timeline = trace->timeline;
    const struct timeline_devices *devices;
    const struct timeline_device_stream *before = NULL;
    uint32_t parent = TRACK_NONE;
    size_t number = 0;

    if (timeline_devices_get(timeline, &devices, NULL))
        return false;
    for (size_t i = 0; i < devices->stream_count; i++) {
        const struct timeline_device_stream *stream = &devices->streams[i];

        if (!before || before->process != stream->process || before->device != stream->device) {
            struct track *track = tracks_add(out, TRACK_PROCESS, "d", number++, TRACK_NONE);

            if (!track)
                return false;
            parent = (uint32_t)out->count - 1;
            track->process = stream->process;
            track->open = true;
            if (stream->device == TIMELINE_NONE)
                snprintf(track->label, sizeof track->label, "%s",
                         *stream->name ? stream->name : "device");
            else
                snprintf(track->label, sizeof track->label, "GPU %u%s%.70s", stream->device,
                         *stream->name ? " · " : "", stream->name);
            snprintf(track->sub, sizeof track->sub, "%s%s%.40s", stream->api,
                     *stream->api ? ", " : "", process_name(timeline, stream->process));
        }
        out->items[parent].count++;
        if (!add_stream(trace, out, parent, devices, stream))
            return false;
        before = stream;
    }
    return true;
}

enum ifg_status tracks_add_threads(struct server_trace *trace, struct tracks *out)
{
    const struct timeline *timeline = trace->timeline;
    uint32_t *sampled_of = map_threads(trace);
    enum ifg_status status = sampled_of ? IFG_OK : IFG_NO_MEMORY;

    for (size_t p = 0; !status && p < timeline->process_count; p++)
        if (timeline->processes[p].pid != 0 && !add_process(trace, out, (uint32_t)p, sampled_of))
            status = IFG_NO_MEMORY;
    if (!status && !add_devices(trace, out))
        status = IFG_NO_MEMORY;
    /* Threads of processes that are not recorded otherwise. */
    for (size_t s = 0; !status && trace->profile && s < trace->profile->thread_count; s++)
        if (trace->profile->threads[s].process == TIMELINE_NONE &&
            !add_thread(trace, out, TRACK_NONE, TIMELINE_NONE, (uint32_t)s))
            status = IFG_NO_MEMORY;
    ifg_free(sampled_of);
    return status;
}

/* ---- async spans, messages, frames ---- */

struct extra {
    uint32_t group; /* process, or location of frames */
    uint32_t id;
};

static int by_group(const void *a, const void *b)
{
    const struct extra *left = a;
    const struct extra *right = b;

    if (left->group != right->group)
        return left->group < right->group ? -1 : 1;
    return left->id < right->id ? -1 : left->id > right->id;
}

/* Sorted extras as tracks of one kind, one for each group. They are by time in the timeline, so by
 * id is by time. */
static bool add_groups(struct server_trace *trace, struct tracks *out, enum track_kind kind,
                       struct extra *extras, size_t count, size_t *order_count)
{
    static const char *const prefixes[] = {
        [TRACK_ASYNC] = "a", [TRACK_MESSAGES] = "msg", [TRACK_FRAMES] = "fr"
    };
    static const char *const labels[] = {
        [TRACK_ASYNC] = "Async spans", [TRACK_MESSAGES] = "Messages", [TRACK_FRAMES] = "Frames"
    };
    struct track *track = NULL;

    qsort(extras, count, sizeof *extras, by_group);
    for (size_t i = 0; i < count; i++) {
        if (!track || extras[i].group != extras[i - 1].group) {
            track = tracks_add(out, kind, prefixes[kind], extras[i].group, TRACK_NONE);
            if (!track)
                return false;
            track->first = *order_count;
            track->rows = 1;
            track->open = true;
            snprintf(track->label, sizeof track->label, "%s",
                     kind == TRACK_FRAMES ? trace->timeline->locations[extras[i].group].name
                                          : labels[kind]);
            if (kind == TRACK_FRAMES)
                track->location = extras[i].group;
            else
                track->process = extras[i].group;
            if (kind != TRACK_FRAMES)
                snprintf(track->sub, sizeof track->sub, "%s",
                         process_name(trace->timeline, extras[i].group));
        }
        trace->extra_order[(*order_count)++] = extras[i].id;
        track->count++;
    }
    return true;
}

enum ifg_status tracks_add_extras(struct server_trace *trace, struct tracks *out)
{
    const struct timeline *timeline = trace->timeline;
    struct extra *extras = ifg_alloc(trace->extra_count + 1, sizeof *extras);
    uint32_t id = (uint32_t)timeline->slice_count;
    enum ifg_status status = IFG_NO_MEMORY;
    size_t count = 0;
    size_t ordered = 0;

    trace->extra_order = ifg_alloc(trace->extra_count + 1, sizeof *trace->extra_order);
    if (!extras || !trace->extra_order)
        goto out;
    for (size_t i = 0; i < timeline->async_count; i++, id++) {
        const struct timeline_location *location =
            &timeline->locations[timeline->asyncs[i].location];

        if (location->kind != TRACE_LOCATION_ML) /* those are in the tracks of models */
            extras[count++] = (struct extra){ location->process, id };
    }
    if (!add_groups(trace, out, TRACK_ASYNC, extras, count, &ordered))
        goto out;
    count = 0;
    for (size_t i = 0; i < timeline->message_count; i++, id++) {
        uint32_t thread = timeline->messages[i].thread;

        extras[count++] =
            (struct extra){ thread < timeline->thread_count ? timeline->threads[thread].process : 0,
                            id };
    }
    if (!add_groups(trace, out, TRACK_MESSAGES, extras, count, &ordered))
        goto out;
    count = 0;
    for (size_t i = 0; i < timeline->frame_count; i++, id++)
        extras[count++] = (struct extra){ timeline->frames[i].location, id };
    if (add_groups(trace, out, TRACK_FRAMES, extras, count, &ordered))
        status = IFG_OK;
out:
    ifg_free(extras);
    return status;
}
