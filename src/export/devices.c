// SPDX-License-Identifier: Apache-2.0
/* Devices in formats that know processes and threads only: a device is a process, its streams are
 * threads of that, and an arrow leads from a call to the first work that it asked for. */
#include <stdio.h>
#include <stdlib.h>

#include "analyze/device_time.h"
#include "base/alloc.h"
#include "export/export_internal.h"
#include "trace/keys.h"

static void name_device(const struct timeline *timeline,
                        const struct timeline_device_stream *stream, char *out)
{
    const char *host = timeline->several_machines && stream->process < timeline->process_count
                           ? timeline->processes[stream->process].host
                           : "";
    int used = snprintf(out, EXPORT_DEVICE_NAME, "GPU");

    if (stream->device != TIMELINE_NONE)
        used += snprintf(out + used, EXPORT_DEVICE_NAME - (size_t)used, " %u", stream->device);
    snprintf(out + used, EXPORT_DEVICE_NAME - (size_t)used, "%s%.90s%s%.60s",
             *stream->name ? ", " : "", stream->name, *host ? " on " : "", host);
}

enum ifg_status export_devices_find(struct export_ids *ids, struct export_job *job)
{
    const struct timeline *timeline = job->timeline;
    const struct timeline_devices *devices;
    enum ifg_status status = timeline_devices_get(timeline, &devices, job->err);

    if (status || !devices->stream_count)
        return status;
    ids->devices = ifg_alloc(devices->stream_count, sizeof *ids->devices);
    if (!ids->devices)
        return export_no_memory(job);
    for (size_t i = 0; i < devices->stream_count; i++) {
        const struct timeline_device_stream *stream = &devices->streams[i];
        size_t same = 0;

        while (same < i && !device_is_same(&devices->streams[same], stream))
            same++;
        if (same < i) {
            ids->homes[stream->thread] = ids->homes[devices->streams[same].thread];
            continue;
        }
        name_device(timeline, stream, ids->devices[ids->device_count]);
        ids->homes[stream->thread] = (uint32_t)(timeline->process_count + ids->device_count++);
    }
    return IFG_OK;
}

const char *export_thread_name(const struct export_ids *ids, const struct timeline *timeline,
                               uint32_t thread, char out[EXPORT_DEVICE_NAME])
{
    const struct timeline_thread *what = &timeline->threads[thread];
    bool is_shared = false;

    if (ids->homes[thread] < timeline->process_count)
        return what->name;
    for (size_t i = 0; i < timeline->thread_count && !is_shared; i++)
        is_shared =
            ids->homes[i] == ids->homes[thread] && timeline->threads[i].process != what->process;
    if (!is_shared || what->process >= timeline->process_count)
        return what->name;
    snprintf(out, EXPORT_DEVICE_NAME, "%.90s of %.60s %u", what->name,
             timeline->processes[what->process].name, timeline->processes[what->process].pid);
    return out;
}

/* ---- launches ---- */

static int by_slice(const void *a, const void *b)
{
    const struct export_launch *left = a;
    const struct export_launch *right = b;

    return left->slice < right->slice ? -1 : left->slice > right->slice;
}

static bool has_launch_flows(const struct timeline *timeline)
{
    for (size_t i = 0; i < timeline->location_count; i++)
        if (timeline->locations[i].kind == TRACE_LOCATION_FLOW &&
            strcmp(timeline->locations[i].name, TRACE_FLOW_LAUNCH) == 0)
            return true;
    return false;
}

enum ifg_status export_launches_init(struct export_launches *launches, struct export_job *job)
{
    const struct timeline_devices *devices;
    enum ifg_status status = timeline_devices_get(job->timeline, &devices, job->err);
    bool *seen;

    *launches = (struct export_launches){ 0 };
    if (status || !devices->work_count || !devices->call_count || has_launch_flows(job->timeline))
        return status;
    seen = ifg_alloc(devices->call_count, sizeof *seen);
    launches->items = ifg_alloc(2 * devices->call_count, sizeof *launches->items);
    for (size_t i = 0; seen && launches->items && i < devices->work_count; i++) {
        const struct timeline_device_work *work = &devices->works[i];

        if (work->call == TIMELINE_NONE || seen[work->call])
            continue;
        seen[work->call] = true;
        launches->items[launches->count++] =
            (struct export_launch){ devices->calls[work->call].slice, (uint64_t)work->call + 1,
                                    false };
        launches->items[launches->count++] =
            (struct export_launch){ work->slice, (uint64_t)work->call + 1, true };
    }
    if (!seen || !launches->items)
        status = export_no_memory(job);
    else if (launches->count)
        qsort(launches->items, launches->count, sizeof *launches->items, by_slice);
    ifg_free(seen);
    return status;
}

void export_launches_fini(struct export_launches *launches)
{
    ifg_free(launches->items);
    *launches = (struct export_launches){ 0 };
}

const struct export_launch *export_launch_of(const struct export_launches *launches, size_t slice)
{
    const struct export_launch wanted = { slice, 0, false };

    return launches->count ? bsearch(&wanted, launches->items, launches->count,
                                     sizeof *launches->items, by_slice)
                           : NULL;
}
