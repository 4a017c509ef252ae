// SPDX-License-Identifier: Apache-2.0
/* Streams of devices: see device.h. */
#include "collect/device/device.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/array.h"
#include "collect/streams.h"
#include "symbol/names.h"
#include "trace/keys.h"

#define NAME_MAX_BYTES 256u
#define WAITING_MAX    16384u
#define KERNEL_MAX     4096u /* of a kernel's name for people */
#define SHAPES         256u

struct stream {
    struct thread_stream base;
    enum device_track track;
    uint32_t device, context, stream;
    struct device_work *waiting; /* in the order of its coming */
    size_t waiting_count, waiting_capacity;
    uint64_t last_end_ns; /* of what is written */
};

struct device_name {
    uint32_t device;
    char name[NAME_MAX_BYTES];
    char id[64];
    char api[16];
};

/* How kernels were launched, in words. Programs launch the same ones again and again. */
struct shape {
    uint32_t numbers[9];
    uint32_t length; /* 0: not used */
    char text[192];
};

struct shapes {
    struct shape items[SHAPES]; /* by a hash of the numbers */
};

struct device_streams {
    struct sink *sink;
    uint32_t process;
    struct stream **items; /* in the order of their coming */
    size_t count, capacity;
    struct stream *last; /* that had work */
    struct device_name *names;
    size_t name_count, name_capacity;
    uint64_t written; /* by streams that are gone */
    struct shapes shapes;
};

struct device_streams *device_streams_create(struct sink *sink, uint32_t process)
{
    struct device_streams *streams = ifg_alloc(1, sizeof *streams);

    if (streams) {
        streams->sink = sink;
        streams->process = process;
    }
    return streams;
}

/* ---- who it is ---- */

static const struct device_name *name_of(const struct device_streams *streams, uint32_t device)
{
    static const struct device_name unknown = { .api = "CUDA" };

    for (size_t i = 0; i < streams->name_count; i++)
        if (streams->names[i].device == device)
            return &streams->names[i];
    return &unknown;
}

static void define(const struct device_streams *streams, const struct stream *stream)
{
    const struct device_name *name = name_of(streams, stream->device);

    trace_writer_device_stream(streams->sink->writer,
                               &(struct trace_device_stream){ .thread = stream->base.thread,
                                                              .device = stream->device,
                                                              .context = stream->context,
                                                              .stream = stream->stream,
                                                              .api = name->api,
                                                              .name = name->name,
                                                              .device_id = name->id });
}

void device_streams_name(struct device_streams *streams, uint32_t device, const char *api,
                         const char *name, const char *id)
{
    struct device_name *kept = (struct device_name *)name_of(streams, device);

    if (!kept->name[0] && !kept->id[0]) {
        if (!IFG_ARRAY_ROOM(streams->names, streams->name_capacity, streams->name_count + 1,
                            DEVICE_NAMES_MAX))
            return;
        kept = &streams->names[streams->name_count++];
    }
    kept->device = device;
    snprintf(kept->name, sizeof kept->name, "%s", name);
    snprintf(kept->id, sizeof kept->id, "%s", id);
    snprintf(kept->api, sizeof kept->api, "%s", api);
    for (size_t i = 0; i < streams->count; i++)
        if (streams->items[i]->device == device)
            define(streams, streams->items[i]);
}

static void name_track(const struct device_work *work, char *out, size_t size)
{
    if (work->track == DEVICE_TRACK_MEMORY)
        snprintf(out, size, "GPU %u memory", work->device);
    else if (work->stream == DEVICE_NO_STREAM)
        snprintf(out, size, "GPU %u%s", work->device,
                 work->track == DEVICE_TRACK_WAITS ? " waits" : " copies");
    else
        snprintf(out, size, "GPU %u stream %u%s", work->device, work->stream,
                 work->track == DEVICE_TRACK_WAITS ? " waits" : "");
}

static struct stream *add(struct device_streams *streams, const struct device_work *work)
{
    bool is_memory = work->track == DEVICE_TRACK_MEMORY;
    struct stream *stream;
    char name[64];

    if (!IFG_ARRAY_ROOM(streams->items, streams->capacity, streams->count + 1, DEVICE_STREAMS_MAX))
        return NULL;
    name_track(work, name, sizeof name);
    stream = (struct stream *)streams_thread_create(streams->sink, streams->process, 0, name,
                                                    sizeof *stream);
    if (!stream)
        return NULL;
    stream->track = work->track;
    stream->device = work->device;
    stream->context = is_memory ? DEVICE_NO_STREAM : work->context;
    stream->stream = is_memory ? DEVICE_NO_STREAM : work->stream;
    trace_stream_set_clock(stream->base.stream, SINK_CLOCK_MONOTONIC);
    define(streams, stream);
    streams->items[streams->count++] = stream;
    return stream;
}

static bool is_of(const struct stream *stream, const struct device_work *work)
{
    return stream->device == work->device && stream->track == work->track &&
           (work->track == DEVICE_TRACK_MEMORY ||
            (stream->stream == work->stream && stream->context == work->context));
}

static struct stream *stream_of(struct device_streams *streams, const struct device_work *work)
{
    if (streams->last && is_of(streams->last, work))
        return streams->last;
    for (size_t i = 0; i < streams->count; i++)
        if (is_of(streams->items[i], work))
            return streams->last = streams->items[i];
    streams->last = add(streams, work);
    return streams->last;
}

/* ---- what it did ---- */

static void put_number(struct trace_stream *stream, uint64_t start, uint32_t location,
                       const char *key, uint64_t value)
{
    trace_stream_attribute(stream, start, location, TRACE_VALUE_UNSIGNED, key, strlen(key), &value,
                           sizeof value);
}

static const struct shape *shape_of(struct shapes *shapes, const struct device_work *work)
{
    const uint32_t numbers[] = { work->grid[0],   work->grid[1],       work->grid[2],
                                 work->block[0],  work->block[1],      work->block[2],
                                 work->registers, work->static_shared, work->dynamic_shared };
    struct shape *shape;
    uint32_t hash = 0;
    int used;

    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++)
        hash = (hash ^ numbers[i]) * 0x9e3779b1u;
    shape = &shapes->items[hash >> 16 & (SHAPES - 1)];
    if (shape->length && memcmp(shape->numbers, numbers, sizeof numbers) == 0)
        return shape;
    memcpy(shape->numbers, numbers, sizeof numbers);
    used = snprintf(shape->text, sizeof shape->text, "grid %ux%ux%u block %ux%ux%u", work->grid[0],
                    work->grid[1], work->grid[2], work->block[0], work->block[1], work->block[2]);
    if (work->registers)
        used += snprintf(shape->text + used, sizeof shape->text - (size_t)used,
                         " registers %u shared %u+%u", work->registers, work->static_shared,
                         work->dynamic_shared);
    shape->length = (uint32_t)used;
    return shape;
}

static void put_shape(struct trace_stream *stream, struct shapes *shapes,
                      const struct device_work *work)
{
    const struct shape *shape = shape_of(shapes, work);

    trace_stream_attribute(stream, work->start_ns, work->location, TRACE_VALUE_STRING,
                           TRACE_KEY_SHAPE, strlen(TRACE_KEY_SHAPE), shape->text, shape->length);
}

static void write_work(struct trace_stream *out, struct shapes *shapes,
                       const struct device_work *work)
{
    if (work->correlation)
        put_number(out, work->start_ns, work->location, TRACE_KEY_CORRELATION, work->correlation);
    if (work->bytes != UINT64_MAX)
        put_number(out, work->start_ns, work->location, TRACE_KEY_BYTES, work->bytes);
    if (work->graph)
        put_number(out, work->start_ns, work->location, TRACE_KEY_GRAPH, work->graph);
    if (work->graph_node)
        put_number(out, work->start_ns, work->location, TRACE_KEY_GRAPH_NODE, work->graph_node);
    if (work->grid[0])
        put_shape(out, shapes, work);
    if (work->track == DEVICE_TRACK_MEMORY && work->stream != DEVICE_NO_STREAM)
        put_number(out, work->start_ns, work->location, TRACE_KEY_STREAM, work->stream);
    trace_stream_zone(out, work->start_ns, work->duration_ns, work->location);
}

static int by_end(const void *a, const void *b)
{
    const struct device_work *left = a;
    const struct device_work *right = b;
    uint64_t left_end = left->start_ns + left->duration_ns;
    uint64_t right_end = right->start_ns + right->duration_ns;

    if (left_end != right_end)
        return left_end < right_end ? -1 : 1;
    return (left->start_ns < right->start_ns) - (left->start_ns > right->start_ns);
}

/* In the order of their ends, although several threads may tell of one stream. What comes too late
 * for that is in a block of its own. */
static void write_waiting(struct stream *stream, struct shapes *shapes)
{
    struct trace_stream *out = stream->base.stream;
    size_t i = 0;

    if (!stream->waiting_count)
        return;
    qsort(stream->waiting, stream->waiting_count, sizeof *stream->waiting, by_end);
    if (stream->waiting[0].start_ns + stream->waiting[0].duration_ns < stream->last_end_ns) {
        trace_stream_flush(out, NULL, 0, 0);
        for (; i < stream->waiting_count &&
               stream->waiting[i].start_ns + stream->waiting[i].duration_ns < stream->last_end_ns;
             i++)
            write_work(out, shapes, &stream->waiting[i]);
        trace_stream_flush(out, NULL, 0, 0);
    }
    for (; i < stream->waiting_count; i++)
        write_work(out, shapes, &stream->waiting[i]);
    i = stream->waiting_count - 1;
    if (stream->last_end_ns < stream->waiting[i].start_ns + stream->waiting[i].duration_ns)
        stream->last_end_ns = stream->waiting[i].start_ns + stream->waiting[i].duration_ns;
    stream->waiting_count = 0;
}

bool device_streams_put(struct device_streams *streams, const struct device_work *work,
                        uint64_t now_ns)
{
    struct stream *stream = stream_of(streams, work);

    if (!stream)
        return false;
    if (stream->waiting_count == WAITING_MAX)
        write_waiting(stream, &streams->shapes);
    if (!IFG_ARRAY_ROOM(stream->waiting, stream->waiting_capacity, stream->waiting_count + 1,
                        WAITING_MAX))
        return false;
    stream->waiting[stream->waiting_count] = *work;
    if (work->duration_ns > UINT64_MAX - work->start_ns)
        stream->waiting[stream->waiting_count].duration_ns = UINT64_MAX - work->start_ns;
    stream->waiting_count++;
    streams_thread_wait(&stream->base, now_ns);
    return true;
}

bool device_streams_level(struct device_streams *streams, uint32_t device, uint32_t location,
                          uint64_t ns, double value, uint64_t now_ns)
{
    const struct device_work of = { .track = DEVICE_TRACK_MEMORY, .device = device };
    struct stream *stream = stream_of(streams, &of);

    if (!stream)
        return false;
    trace_stream_event(stream->base.stream, TRACE_EVENT_COUNTER, ns, location, &value,
                       sizeof value);
    streams_thread_wait(&stream->base, now_ns);
    return true;
}

void device_call_put(struct trace_stream *stream, uint64_t start, uint64_t duration,
                     uint32_t location, uint64_t correlation)
{
    if (correlation)
        put_number(stream, start, location, TRACE_KEY_CORRELATION, correlation);
    trace_stream_zone(stream, start, duration, location);
}

void device_streams_flush(struct device_streams *streams, uint64_t now_ns, bool final)
{
    for (size_t i = 0; i < streams->count; i++) {
        struct thread_stream *thread = &streams->items[i]->base;

        if (!thread->oldest_ns ||
            (!final && now_ns - thread->oldest_ns < streams->sink->flush_after_ns))
            continue;
        write_waiting(streams->items[i], &streams->shapes);
        trace_stream_flush(thread->stream, NULL, 0, 0);
        thread->oldest_ns = 0;
    }
}

void device_streams_destroy(struct device_streams *streams)
{
    if (!streams)
        return;
    for (size_t i = 0; i < streams->count; i++) {
        write_waiting(streams->items[i], &streams->shapes);
        ifg_free(streams->items[i]->waiting);
        streams_thread_destroy(&streams->items[i]->base);
    }
    ifg_free(streams->items);
    ifg_free(streams->names);
    ifg_free(streams);
}

uint64_t device_streams_written(const struct device_streams *streams)
{
    uint64_t sum = streams->written;

    for (size_t i = 0; i < streams->count; i++)
        sum += trace_stream_written(streams->items[i]->base.stream);
    return sum;
}

char *device_kernel_name(const char *name, const char *rest)
{
    char whole[KERNEL_MAX];
    char *readable;

    snprintf(whole, sizeof whole, "%s%s", name, rest);
    readable = names_demangle(whole);
    if (readable && strlen(readable) >= KERNEL_MAX)
        readable[KERNEL_MAX - 1] = '\0';
    return readable;
}
