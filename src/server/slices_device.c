// SPDX-License-Identifier: Apache-2.0
/* What is known of a kernel, and what devices did for an inference or an operator. */
#include <stdarg.h>
#include <stdio.h>

#include "analyze/device_time.h"
#include "server/slices_internal.h"

static void put(struct ifg_json *json, const char *key, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

static void put(struct ifg_json *json, const char *key, const char *format, ...)
{
    char text[300];
    va_list args;

    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    ifg_json_open(json, '{');
    ifg_json_put_string(json, "key", key);
    ifg_json_put_string(json, "value", text);
    ifg_json_close(json, '}');
}

/* "12.3 µs" */
struct time_text {
    char text[32];
};

static struct time_text say(uint64_t ns)
{
    struct time_text out;

    if (ns < 1000)
        snprintf(out.text, sizeof out.text, "%u ns", (unsigned)ns);
    else if (ns < 1000000)
        snprintf(out.text, sizeof out.text, "%.*f µs", ns < 99950 ? 1 : 0, (double)ns / 1e3);
    else
        snprintf(out.text, sizeof out.text, "%.*f ms", ns < 99950000 ? 1 : 0, (double)ns / 1e6);
    return out;
}

static const struct timeline_device_work *
find_work(const struct timeline *timeline, const struct timeline_devices *devices, size_t slice)
{
    size_t low = 0;
    size_t high = devices->work_count;

    while (low < high) { /* by start; several may begin at once */
        size_t middle = low + (high - low) / 2;

        if (devices->works[middle].start_ns < timeline->start_ns[slice])
            low = middle + 1;
        else
            high = middle;
    }
    while (low < devices->work_count && devices->works[low].slice != slice)
        low++;
    return low < devices->work_count ? &devices->works[low] : NULL;
}

static void put_work(struct ifg_json *json, const struct timeline *timeline,
                     const struct timeline_devices *devices,
                     const struct timeline_device_work *work)
{
    const struct timeline_device_call *call = timeline_call_of(devices, work);

    if (!call) {
        put(json, "launched_by", "not seen: it was launched before the recording");
        return;
    }
    put(json, "launched_by", "%.120s, %s", timeline->locations[call->location].name,
        timeline->threads[call->thread].name);
    if (work->start_ns < call->start_ns)
        put(json, "queue_delay", "n/a: it seems to begin %s before its call, so clocks are off",
            say(call->start_ns - work->start_ns).text);
    else
        put(json, "queue_delay", "%s after the call ended",
            say(work->start_ns > call->end_ns ? work->start_ns - call->end_ns : 0).text);
    if (call->op != SIZE_MAX)
        put(json, "operator", "%.200s", timeline->locations[timeline->location[call->op]].name);
    if (call->model < timeline->model_count)
        put(json, "model", "%.200s", timeline->models[call->model].name);
    if (call->inference != SIZE_MAX)
        put(json, "inference", "event %zu, %s after it began", call->inference,
            say(work->start_ns > timeline->start_ns[call->inference]
                    ? work->start_ns - timeline->start_ns[call->inference]
                    : 0)
                .text);
}

static void put_time(struct ifg_json *json, const struct device_time *time)
{
    uint64_t bytes = 0;
    uint64_t copies = 0;

    for (int i = 0; i < DEVICE_COPIES; i++) {
        bytes += time->copies[i].bytes;
        copies += time->copies[i].count;
    }
    put(json, "device_busy", "%s of %s%s%s", say(time->busy_ns).text, say(time->span_ns).text,
        time->after_ns ? ", after the host: " : "", time->after_ns ? say(time->after_ns).text : "");
    put(json, "kernels", "%llu in %s", (unsigned long long)time->kernels,
        say(time->kernel_ns).text);
    if (copies)
        put(json, "copies", "%llu in %s, %llu bytes", (unsigned long long)copies,
            say(time->copy_ns).text, (unsigned long long)bytes);
    put(json, "queue_delay", "%s on average",
        say(time->launches ? time->queue_ns / time->launches : 0).text);
    if (time->waits)
        put(json, "host_waits", "%s in %llu calls", say(time->wait_ns).text,
            (unsigned long long)time->waits);
    if (device_time_idle(time))
        put(json, "device_idle", "%s: launching %s, operators on the CPU %s, waiting %s, other %s",
            say(device_time_idle(time)).text, say(time->idle_ns[DEVICE_IDLE_LAUNCHING]).text,
            say(time->idle_ns[DEVICE_IDLE_OPERATOR]).text,
            say(time->idle_ns[DEVICE_IDLE_WAITING]).text,
            say(time->idle_ns[DEVICE_IDLE_OUTSIDE]).text);
}

void slices_put_device(struct ifg_json *json, struct server_trace *trace, size_t slice)
{
    const struct timeline *timeline = trace->timeline;
    const struct timeline_location *location = &timeline->locations[timeline->location[slice]];
    const struct timeline_devices *devices;
    const struct device_times *times = NULL;
    const struct timeline_device_work *work;
    struct device_time time;

    if (timeline_devices_get(timeline, &devices, NULL) || !devices->work_count)
        return;
    if (location->kind == TRACE_LOCATION_DEVICE) {
        work = find_work(timeline, devices, slice);
        if (work)
            put_work(json, timeline, devices, work);
    } else if (location->kind == TRACE_LOCATION_OP ||
               (location->kind == TRACE_LOCATION_ML &&
                location->category == TRACE_CATEGORY_INFERENCE)) {
        times = trace_device_times(trace);
        if (!times)
            return;
        device_time_of(times, slice, &time);
        if (time.used)
            put_time(json, &time);
    }
}
