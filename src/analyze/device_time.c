// SPDX-License-Identifier: Apache-2.0
/* Times of devices for inferences and operators: see device_time.h. */
#include "analyze/device_time.h"

#include <stdio.h>
#include <string.h>

#include "base/alloc.h"

#define OPEN_MOST 64u /* operators inside each other; deeper ones count as the one around */

struct interval {
    uint64_t from_ns;
    uint64_t to_ns;
};

/* A device, which several processes may use. */
struct device {
    struct interval *busy; /* all of its work: apart from each other, in order */
    size_t busy_count;
};

struct device_times {
    const struct timeline *timeline;
    const struct timeline_devices *work;
    struct device *devices;
    size_t device_count;
    uint32_t *device_of; /* by stream */
    bool *is_first;      /* by work: no other one of its call began earlier */
    struct interval *intervals;
};

/* What the host does in a part of a slice. */
struct part {
    uint64_t to_ns;
    enum device_idle doing;
};

/* The thread of a slice, part by part, from its start on. */
struct walk {
    const struct device_times *times;
    size_t next; /* slice that comes next */
    size_t end;
    uint64_t at_ns;
    uint64_t end_ns;
    struct part open[OPEN_MOST];
    size_t open_count;
};

bool device_is_busy_kind(enum timeline_work kind)
{
    return timeline_work_is_busy(kind);
}

const char *device_idle_name(enum device_idle idle)
{
    static const char *const names[DEVICE_IDLES] = { "launching", "cpu_operator", "waiting",
                                                     "outside" };

    return names[idle];
}

const char *device_copy_name(enum device_copy copy)
{
    static const char *const names[DEVICE_COPIES] = { "HtoD", "DtoH", "DtoD", "other" };

    return names[copy];
}

enum device_copy device_copy_of(const struct timeline *timeline,
                                const struct timeline_device_work *work)
{
    const char *kind = timeline_copy_kind(timeline, work);
    int copy = 0;

    while (copy < DEVICE_COPY_OTHER && strcmp(kind, device_copy_name((enum device_copy)copy)) != 0)
        copy++;
    return (enum device_copy)copy;
}

const char *device_short_name(const char *name, char *out, size_t size)
{
    size_t length;

    if (strncmp(name, "void ", 5) == 0)
        name += 5;
    length = strcspn(name, "<(");
    if (!length || strncmp(name, "(anonymous", 10) == 0) /* nothing would be left */
        length = strlen(name);
    snprintf(out, size, "%.*s", length < 200 ? (int)length : 200, name);
    return out;
}

bool device_is_recorded(const struct timeline *timeline, uint32_t process)
{
    const struct timeline_devices *devices;

    if (timeline_devices_get(timeline, &devices, NULL))
        return false;
    for (size_t i = 0; i < devices->stream_count; i++)
        if (devices->streams[i].process == process && devices->streams[i].work_count)
            return true;
    return false;
}

/* ---- devices and when they were busy ---- */

bool device_is_same(const struct timeline_device_stream *a, const struct timeline_device_stream *b)
{
    if (*a->device_id || *b->device_id)
        return strcmp(a->device_id, b->device_id) == 0;
    return a->process == b->process && a->device == b->device;
}

static void number_devices(struct device_times *times)
{
    const struct timeline_device_stream *streams = times->work->streams;

    for (size_t i = 0; i < times->work->stream_count; i++) {
        size_t same = 0;

        while (same < i && !device_is_same(&streams[same], &streams[i]))
            same++;
        times->device_of[i] = same < i ? times->device_of[same] : (uint32_t)times->device_count++;
    }
}

/* Work is in the order of its starts: what begins before the last interval ends belongs to it. */
static void add_busy(struct device *device, const struct timeline_device_work *work)
{
    struct interval *last = device->busy_count ? &device->busy[device->busy_count - 1] : NULL;

    if (last && work->start_ns <= last->to_ns)
        last->to_ns = work->end_ns > last->to_ns ? work->end_ns : last->to_ns;
    else
        device->busy[device->busy_count++] = (struct interval){ work->start_ns, work->end_ns };
}

static bool fill_devices(struct device_times *times)
{
    const struct timeline_devices *work = times->work;
    bool *seen = ifg_alloc(work->call_count + 1, sizeof *seen);
    size_t *counts = ifg_alloc(times->device_count, sizeof *counts);
    size_t at = 0;

    if (!seen || !counts) {
        ifg_free(seen);
        ifg_free(counts);
        return false;
    }
    for (size_t i = 0; i < work->work_count; i++)
        counts[times->device_of[work->works[i].stream]]++;
    for (size_t d = 0; d < times->device_count; d++) {
        times->devices[d].busy = times->intervals + at;
        at += counts[d];
    }
    for (size_t i = 0; i < work->work_count; i++) {
        const struct timeline_device_work *one = &work->works[i];

        if (!device_is_busy_kind(one->kind))
            continue;
        add_busy(&times->devices[times->device_of[one->stream]], one);
        times->is_first[i] = one->call != TIMELINE_NONE && !seen[one->call];
        if (one->call != TIMELINE_NONE)
            seen[one->call] = true;
    }
    ifg_free(seen);
    ifg_free(counts);
    return true;
}

enum ifg_status device_times_create(const struct timeline *timeline,
                                    struct device_times **out_times, struct ifg_error *err)
{
    const struct timeline_devices *work;
    struct device_times *times;
    enum ifg_status status = timeline_devices_get(timeline, &work, err);

    *out_times = NULL;
    if (status || !work->work_count)
        return status;
    times = ifg_alloc(1, sizeof *times);
    if (!times)
        return ifg_fail_no_memory(err, "for the times of devices");
    times->timeline = timeline;
    times->work = work;
    times->device_of = ifg_alloc(work->stream_count, sizeof *times->device_of);
    times->is_first = ifg_alloc(work->work_count, sizeof *times->is_first);
    times->intervals = ifg_alloc(work->work_count, sizeof *times->intervals);
    if (times->device_of)
        number_devices(times);
    times->devices = ifg_alloc(times->device_count, sizeof *times->devices);
    if (!times->device_of || !times->is_first || !times->intervals || !times->devices ||
        !fill_devices(times)) {
        device_times_destroy(times);
        return ifg_fail_no_memory(err, "for the times of devices");
    }
    *out_times = times;
    return IFG_OK;
}

void device_times_destroy(struct device_times *times)
{
    if (!times)
        return;
    ifg_free(times->device_of);
    ifg_free(times->is_first);
    ifg_free(times->intervals);
    ifg_free(times->devices);
    ifg_free(times);
}

/* ---- what the host did ---- */

/* The slices of a thread inside one, calls and operators only, as parts without gaps. */
static void walk_begin(struct walk *walk, const struct device_times *times, size_t slice,
                       enum device_idle around)
{
    const struct timeline *timeline = times->timeline;
    const struct timeline_thread *thread = &timeline->threads[timeline_thread_of(timeline, slice)];

    walk->times = times;
    walk->next = slice + 1;
    walk->end = thread->first_slice + thread->slice_count;
    walk->at_ns = timeline->start_ns[slice];
    walk->end_ns = timeline_end_ns(timeline, slice);
    walk->open[0] = (struct part){ walk->end_ns, around };
    walk->open_count = 1;
}

static bool asks_for_work(const struct device_times *times, size_t slice)
{
    size_t first;
    size_t count = timeline_calls_in(times->timeline, times->work, slice, &first);

    for (size_t i = first; i < first + count; i++)
        if (times->work->calls[i].kind != TIMELINE_WORK_SYNC)
            return true;
    return false;
}

static bool is_wait(const struct timeline_location *location)
{
    return strcmp(location->function, timeline_work_name(TIMELINE_WORK_SYNC)) == 0;
}

/* The next part; false at the end of the slice. */
static bool walk_next(struct walk *walk, struct interval *out_part, enum device_idle *out_doing)
{
    const struct timeline *timeline = walk->times->timeline;

    while (walk->at_ns < walk->end_ns) {
        struct part *top = &walk->open[walk->open_count - 1];
        const struct timeline_location *location = NULL;
        uint64_t until = top->to_ns;
        bool opens = false;

        while (walk->next < walk->end && timeline->start_ns[walk->next] < until) {
            location = &timeline->locations[timeline->location[walk->next]];
            opens =
                (location->kind == TRACE_LOCATION_OP || location->kind == TRACE_LOCATION_DRIVER) &&
                walk->open_count < OPEN_MOST;
            if (opens)
                break;
            walk->next++;
        }
        if (opens && timeline->start_ns[walk->next] > walk->at_ns)
            until = timeline->start_ns[walk->next];
        else if (opens) {
            uint64_t end = timeline_end_ns(timeline, walk->next);
            enum device_idle doing = DEVICE_IDLE_OPERATOR;

            if (location->kind == TRACE_LOCATION_DRIVER)
                doing = is_wait(location) ? DEVICE_IDLE_WAITING : DEVICE_IDLE_LAUNCHING;
            else if (asks_for_work(walk->times, walk->next))
                doing = DEVICE_IDLE_LAUNCHING;
            walk->open[walk->open_count++] =
                (struct part){ end < top->to_ns ? end : top->to_ns, doing };
            walk->next++;
            continue;
        }
        if (until <= walk->at_ns) {
            walk->open_count--;
            continue;
        }
        *out_part = (struct interval){ walk->at_ns, until };
        *out_doing = top->doing;
        walk->at_ns = until;
        if (until == top->to_ns && walk->open_count > 1)
            walk->open_count--;
        return true;
    }
    return false;
}

/* ---- one slice ---- */

/* Of the work of one slice on one device. */
struct own {
    const uint32_t *items; /* positions in works, by start */
    size_t count;
    uint32_t device;
    uint64_t first_ns; /* UINT64_MAX: none */
    uint64_t last_ns;
};

enum { OWN_ALL, OWN_COPIES, OWN_KERNELS };

/* Union of the work that is wanted, from a time on. */
static uint64_t union_of(const struct device_times *times, const struct own *own, int wanted,
                         uint64_t since_ns)
{
    uint64_t until = since_ns;
    uint64_t sum = 0;

    for (size_t i = 0; i < own->count; i++) {
        const struct timeline_device_work *work = &times->work->works[own->items[i]];
        uint64_t from = work->start_ns > until ? work->start_ns : until;
        bool copy = work->kind == TIMELINE_WORK_MEMCPY;

        if (times->device_of[work->stream] != own->device || !device_is_busy_kind(work->kind) ||
            (wanted == OWN_COPIES && !copy) || (wanted == OWN_KERNELS && copy) ||
            work->end_ns <= from)
            continue;
        sum += work->end_ns - from;
        until = work->end_ns;
    }
    return sum;
}

static uint64_t common(struct interval a, uint64_t from_ns, uint64_t to_ns)
{
    uint64_t from = a.from_ns > from_ns ? a.from_ns : from_ns;
    uint64_t to = a.to_ns < to_ns ? a.to_ns : to_ns;

    return to > from ? to - from : 0;
}

/* The parts of a slice against one gap between the work of a device. */
struct host {
    struct walk walk;
    struct interval part;
    enum device_idle doing;
    bool more;
};

static void add_gap(struct host *host, const struct own *own, struct interval gap,
                    struct device_time *out)
{
    uint64_t named = 0;

    while (host->more) {
        uint64_t ns = common(gap, host->part.from_ns, host->part.to_ns);

        out->idle_ns[host->doing] += ns;
        named += ns;
        if (host->doing != DEVICE_IDLE_WAITING) {
            struct interval both = { gap.from_ns > host->part.from_ns ? gap.from_ns
                                                                      : host->part.from_ns,
                                     gap.to_ns < host->part.to_ns ? gap.to_ns : host->part.to_ns };

            if (both.to_ns > both.from_ns)
                out->launch_gap_ns += common(both, own->first_ns, own->last_ns);
        }
        if (host->part.to_ns > gap.to_ns)
            break;
        host->more = walk_next(&host->walk, &host->part, &host->doing);
    }
    /* Behind the end of the slice. */
    out->idle_ns[DEVICE_IDLE_OUTSIDE] += gap.to_ns - gap.from_ns - named;
}

static size_t first_busy_after(const struct device *device, uint64_t ns)
{
    size_t low = 0;
    size_t high = device->busy_count;

    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (device->busy[middle].to_ns <= ns)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

uint64_t device_busy_between(const struct device_times *times, uint64_t from_ns, uint64_t to_ns)
{
    uint64_t sum = 0;

    for (size_t d = 0; d < times->device_count; d++) {
        const struct device *device = &times->devices[d];

        for (size_t i = first_busy_after(device, from_ns);
             i < device->busy_count && device->busy[i].from_ns < to_ns; i++)
            sum += common(device->busy[i], from_ns, to_ns);
    }
    return sum;
}

static void add_idle(const struct device_times *times, size_t slice, const struct own *own,
                     struct interval span, struct device_time *out)
{
    const struct device *device = &times->devices[own->device];
    bool is_op =
        times->timeline->locations[times->timeline->location[slice]].kind == TRACE_LOCATION_OP;
    struct host host = { .more = false };
    uint64_t at = span.from_ns;
    uint64_t busy = 0;

    walk_begin(&host.walk, times, slice, is_op ? DEVICE_IDLE_LAUNCHING : DEVICE_IDLE_OUTSIDE);
    host.more = walk_next(&host.walk, &host.part, &host.doing);
    for (size_t i = first_busy_after(device, at); i < device->busy_count && at < span.to_ns; i++) {
        struct interval next = device->busy[i];

        if (next.from_ns >= span.to_ns)
            break;
        if (next.from_ns > at)
            add_gap(&host, own, (struct interval){ at, next.from_ns }, out);
        busy += common(next, at, span.to_ns);
        at = next.to_ns;
    }
    if (at < span.to_ns)
        add_gap(&host, own, (struct interval){ at, span.to_ns }, out);
    out->foreign_ns += busy;
}

static void add_works(const struct device_times *times, const struct own *own,
                      struct device_time *out)
{
    for (size_t i = 0; i < own->count; i++) {
        const struct timeline_device_work *work = &times->work->works[own->items[i]];
        const struct timeline_device_call *call = timeline_call_of(times->work, work);

        if (!device_is_busy_kind(work->kind))
            continue;
        out->works++;
        out->kernels += work->kind == TIMELINE_WORK_KERNEL;
        if (work->kind == TIMELINE_WORK_MEMCPY) {
            struct device_copied *copied = &out->copies[device_copy_of(times->timeline, work)];

            copied->count++;
            copied->bytes += work->bytes == UINT64_MAX ? 0 : work->bytes;
            copied->ns += work->end_ns - work->start_ns;
        }
        if (times->is_first[own->items[i]]) {
            out->launches++;
            out->queue_ns += work->start_ns > call->end_ns ? work->start_ns - call->end_ns : 0;
        }
    }
}

static void add_calls(const struct device_times *times, size_t slice, struct device_time *out)
{
    size_t first;
    size_t count = timeline_calls_in(times->timeline, times->work, slice, &first);

    for (size_t i = first; i < first + count; i++) {
        const struct timeline_device_call *call = &times->work->calls[i];
        uint64_t ns = call->end_ns - call->start_ns;

        if (call->kind == TIMELINE_WORK_SYNC) {
            out->waits++;
            out->wait_ns += ns;
        } else {
            out->call_ns += ns;
        }
    }
}

void device_time_of(const struct device_times *times, size_t slice, struct device_time *out_time)
{
    const struct timeline *timeline = times->timeline;
    bool is_op = timeline->locations[timeline->location[slice]].kind == TRACE_LOCATION_OP;
    uint64_t start = timeline->start_ns[slice];
    uint64_t end = timeline_end_ns(timeline, slice);
    struct interval span = { start, end };
    size_t first = 0;
    struct own own = {
        .count = is_op ? timeline_work_of_op(times->work, slice, &first)
                       : timeline_work_of_inference(times->work, slice, &first),
    };

    *out_time = (struct device_time){ .slices = 1, .host_ns = end - start };
    own.items = (is_op ? times->work->by_op : times->work->by_inference) + first;
    add_calls(times, slice, out_time);
    add_works(times, &own, out_time);
    out_time->used = out_time->works > 0;
    for (size_t i = 0; i < own.count; i++) {
        const struct timeline_device_work *work = &times->work->works[own.items[i]];

        if (device_is_busy_kind(work->kind) && work->end_ns > span.to_ns)
            span.to_ns = work->end_ns;
    }
    out_time->span_ns = span.to_ns - span.from_ns;
    for (own.device = 0; own.device < times->device_count; own.device++) {
        uint64_t kernels, copies, busy;

        own.first_ns = UINT64_MAX;
        own.last_ns = 0;
        for (size_t i = 0; i < own.count; i++) {
            const struct timeline_device_work *work = &times->work->works[own.items[i]];

            if (times->device_of[work->stream] != own.device || !device_is_busy_kind(work->kind))
                continue;
            own.first_ns = work->start_ns < own.first_ns ? work->start_ns : own.first_ns;
            own.last_ns = work->end_ns > own.last_ns ? work->end_ns : own.last_ns;
        }
        if (own.first_ns == UINT64_MAX)
            continue;
        kernels = union_of(times, &own, OWN_KERNELS, 0);
        copies = union_of(times, &own, OWN_COPIES, 0);
        busy = union_of(times, &own, OWN_ALL, 0);
        out_time->kernel_ns += kernels;
        out_time->copy_ns += copies;
        out_time->overlap_ns += kernels + copies - busy;
        out_time->busy_ns += busy;
        out_time->after_ns += union_of(times, &own, OWN_ALL, end);
        add_idle(times, slice, &own, span, out_time);
        /* That was all work of the device in the span, and own work is not foreign. */
        out_time->foreign_ns -= union_of(times, &own, OWN_ALL, start);
    }
}

void device_time_add(struct device_time *sum, const struct device_time *one)
{
    sum->slices += one->slices;
    sum->used += one->used;
    sum->host_ns += one->host_ns;
    sum->span_ns += one->span_ns;
    sum->works += one->works;
    sum->kernels += one->kernels;
    sum->kernel_ns += one->kernel_ns;
    sum->copy_ns += one->copy_ns;
    sum->overlap_ns += one->overlap_ns;
    sum->busy_ns += one->busy_ns;
    sum->after_ns += one->after_ns;
    sum->foreign_ns += one->foreign_ns;
    sum->launches += one->launches;
    sum->queue_ns += one->queue_ns;
    sum->call_ns += one->call_ns;
    sum->waits += one->waits;
    sum->wait_ns += one->wait_ns;
    sum->launch_gap_ns += one->launch_gap_ns;
    for (int i = 0; i < DEVICE_IDLES; i++)
        sum->idle_ns[i] += one->idle_ns[i];
    for (int i = 0; i < DEVICE_COPIES; i++) {
        sum->copies[i].count += one->copies[i].count;
        sum->copies[i].bytes += one->copies[i].bytes;
        sum->copies[i].ns += one->copies[i].ns;
    }
}

uint64_t device_time_idle(const struct device_time *time)
{
    uint64_t sum = 0;

    for (int i = 0; i < DEVICE_IDLES; i++)
        sum += time->idle_ns[i];
    return sum;
}
