// SPDX-License-Identifier: Apache-2.0
/* Arrows from a call of a device's driver to the work that it asked for: their number ties them. */
#include "timeline/device.h"
#include "timeline/flows.h"
#include "trace/keys.h"
#include "server/flows_internal.h"

static struct arrow launch_arrow(const struct timeline_devices *devices,
                                 const struct timeline_device_work *work,
                                 const struct timeline_device_call *call)
{
    const struct timeline_device_stream *stream = &devices->streams[work->stream];

    return (struct arrow){
        .kind = ARROW_FLOW,
        .id = work->correlation,
        .flow = TIMELINE_NONE,
        .name = TRACE_FLOW_LAUNCH,
        .from = { call->start_ns, call->slice, call->thread, TIMELINE_NONE },
        .to = { work->start_ns, work->slice, stream->thread, TIMELINE_NONE },
    };
}

size_t flows_launches(const struct timeline *timeline, size_t slice, struct arrow *out, size_t most)
{
    enum trace_location_kind kind = timeline->locations[timeline->location[slice]].kind;
    const struct timeline_devices *devices;
    struct ifg_error err = { 0 };
    size_t count = 0;
    size_t first;

    if ((kind != TRACE_LOCATION_DEVICE && kind != TRACE_LOCATION_DRIVER) ||
        timeline_flow_points_of(timeline, slice, &first))
        return 0; /* or the trace has the arrow itself */
    if (timeline_devices_get(timeline, &devices, &err) != IFG_OK)
        return SIZE_MAX;
    for (size_t i = 0; i < devices->work_count; i++) {
        const struct timeline_device_work *work = &devices->works[i];
        const struct timeline_device_call *call = timeline_call_of(devices, work);

        if (!call || (work->slice != slice && call->slice != slice))
            continue;
        if (count < most)
            out[count] = launch_arrow(devices, work, call);
        count++;
    }
    return count;
}
