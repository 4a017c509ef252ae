// SPDX-License-Identifier: Apache-2.0
/* Perfetto's packets, sequences, interning and tracks: see perfetto_internal.h. */
#include "export/perfetto_internal.h"

#include "base/alloc.h"
#include "base/array.h"

#define REFRESH_BYTES (4u << 20)
#define BATCH_BYTES   (512u << 10)
#define ZSTD_LEVEL    3

#define CLOCK_ID_REALTIME  1
#define CLOCK_ID_MONOTONIC 3
#define FLAG_CLEARED       1
#define FLAG_NEEDS         2

static const char *const category_names[CATS] = { "",      "zone",    "ml",    "op",     "stage",
                                                  "async", "message", "frame", "device", "driver" };
static const char *const key_names[KEYS] = { "",           "model", "function", "category",
                                             "unfinished", "level", "id" };

/* ---- packets ----------------------------------------------------------------- */

void perfetto_flush(struct perfetto *p)
{
    struct export_sink *sink = p->job->sink;
    uint8_t head[3 * IFG_VARINT_MAX];
    uint8_t inner[2 * IFG_VARINT_MAX];
    uint8_t *end;
    size_t inner_size;
    size_t size;

    if (p->batch.size == 0 || p->failed)
        return;
    if (!ifg_bytes_reserve(&p->compressed, ZSTD_compressBound(p->batch.size))) {
        p->failed = true;
        return;
    }
    size = ZSTD_compressCCtx(p->zstd, p->compressed.data, p->compressed.capacity, p->batch.data,
                             p->batch.size, ZSTD_LEVEL);
    if (ZSTD_isError(size)) {
        p->failed = true;
        return;
    }
    end = ifg_varint_write(inner, (uint64_t)PACKET_ZSTD << 3 | 2);
    end = ifg_varint_write(end, size);
    inner_size = (size_t)(end - inner);
    head[0] = 1 << 3 | 2;
    end = ifg_varint_write(head + 1, inner_size + size);
    memcpy(end, inner, inner_size);
    export_put(sink, head, (size_t)(end - head) + inner_size);
    export_put(sink, p->compressed.data, size);
    ifg_bytes_clear(&p->batch);
}

static void put_packet(struct perfetto *p)
{
    uint8_t head[1 + IFG_VARINT_MAX] = { 1 << 3 | 2 };
    size_t head_size;

    if (p->packet.failed || p->event.failed || p->interned.failed) {
        p->failed = true;
        return;
    }
    head_size = (size_t)(ifg_varint_write(head + 1, p->packet.size) - head);
    p->since_reset += head_size + p->packet.size;
    if (!p->zstd) {
        export_put(p->job->sink, head, head_size);
        export_put(p->job->sink, p->packet.data, p->packet.size);
        return;
    }
    ifg_bytes_put(&p->batch, head, head_size);
    ifg_bytes_put(&p->batch, p->packet.data, p->packet.size);
    if (p->batch.failed)
        p->failed = true;
    else if (p->batch.size >= BATCH_BYTES)
        perfetto_flush(p);
}

void perfetto_packet_begin(struct perfetto *p, uint64_t ns)
{
    ifg_bytes_clear(&p->packet);
    ifg_bytes_clear(&p->event);
    ifg_bytes_clear(&p->interned);
    proto_uint(&p->packet, PACKET_TIMESTAMP, ns);
    proto_uint(&p->packet, PACKET_SEQUENCE_ID, p->sequence);
    proto_uint(&p->packet, PACKET_SEQUENCE_FLAGS, FLAG_NEEDS);
}

void perfetto_packet_end(struct perfetto *p)
{
    if (p->interned.size)
        proto_message(&p->packet, PACKET_INTERNED_DATA, &p->interned);
    if (p->event.size)
        proto_message(&p->packet, PACKET_TRACK_EVENT, &p->event);
    put_packet(p);
}

/* ---- interning --------------------------------------------------------------- */

static void intern(struct perfetto *p, enum interned_field field, uint64_t iid, const char *text)
{
    ifg_bytes_clear(&p->part);
    proto_uint(&p->part, 1, iid);
    proto_string(&p->part, 2, text);
    proto_message(&p->interned, field, &p->part);
}

void perfetto_intern_location(struct perfetto *p, uint32_t location)
{
    const struct timeline_location *what = &p->timeline->locations[location];

    if (p->location_seen[location] == p->generation)
        return;
    p->location_seen[location] = p->generation;
    intern(p, INTERNED_NAMES, location + 1, what->name);
    if (!what->file[0])
        return;
    ifg_bytes_clear(&p->part);
    proto_uint(&p->part, 1, location + 1);
    proto_string(&p->part, 2, what->file);
    proto_string(&p->part, 3, what->function);
    proto_uint(&p->part, 4, what->line);
    proto_message(&p->interned, INTERNED_SOURCES, &p->part);
}

uint32_t perfetto_intern_key(struct perfetto *p, const char *name)
{
    uint32_t key = ifg_strings_add(&p->keys, name, strlen(name));

    if (key == IFG_STRINGS_NONE)
        return 0;
    if (p->key_seen[key] != p->generation) {
        p->key_seen[key] = p->generation;
        intern(p, INTERNED_ANNOTATION_NAMES, KEYS + key, name);
    }
    return KEYS + key;
}

static void write_reset(struct perfetto *p)
{
    p->generation++;
    ifg_bytes_clear(&p->packet);
    ifg_bytes_clear(&p->event);
    ifg_bytes_clear(&p->interned);
    proto_uint(&p->packet, PACKET_SEQUENCE_ID, p->sequence);
    proto_uint(&p->packet, PACKET_SEQUENCE_FLAGS, FLAG_CLEARED | FLAG_NEEDS);
    ifg_bytes_clear(&p->part);
    if (p->default_track) {
        ifg_bytes_clear(&p->inner);
        proto_uint(&p->inner, EVENT_TRACK_UUID, p->default_track);
        proto_message(&p->part, PACKET_TRACK_EVENT, &p->inner);
    }
    proto_uint(&p->part, 58, CLOCK_ID_MONOTONIC);
    proto_message(&p->packet, PACKET_DEFAULTS, &p->part);
    for (uint32_t i = 1; i < CATS; i++)
        intern(p, INTERNED_CATEGORIES, i, category_names[i]);
    for (uint32_t i = 1; i < KEYS; i++)
        intern(p, INTERNED_ANNOTATION_NAMES, i, key_names[i]);
    perfetto_packet_end(p);
}

/* ---- tracks ------------------------------------------------------------------ */

static void begin_track(struct perfetto *p, uint64_t uuid, uint64_t parent, const char *name)
{
    ifg_bytes_clear(&p->packet);
    ifg_bytes_clear(&p->event);
    ifg_bytes_clear(&p->interned);
    proto_uint(&p->packet, PACKET_SEQUENCE_ID, p->sequence);
    ifg_bytes_clear(&p->part);
    proto_uint(&p->part, 1, uuid);
    if (parent)
        proto_uint(&p->part, 5, parent);
    if (name)
        proto_string(&p->part, 2, name);
}

static void end_track(struct perfetto *p)
{
    proto_message(&p->packet, PACKET_TRACK_DESCRIPTOR, &p->part);
    put_packet(p);
}

void perfetto_track(struct perfetto *p, uint64_t uuid, uint64_t parent, const char *name)
{
    begin_track(p, uuid, parent, name);
    end_track(p);
}

void perfetto_counter_track(struct perfetto *p, uint64_t uuid, uint64_t parent, const char *name,
                            bool bytes)
{
    begin_track(p, uuid, parent, name);
    ifg_bytes_clear(&p->inner);
    if (bytes)
        proto_uint(&p->inner, 3, 3); /* unit: bytes */
    proto_message(&p->part, 8, &p->inner);
    end_track(p);
}

static void write_process(struct perfetto *p, uint32_t index)
{
    const struct timeline_process *process = &p->timeline->processes[index];

    begin_track(p, track_uuid(TRACK_PROCESS, index, 0), 0, NULL);
    ifg_bytes_clear(&p->inner);
    proto_uint(&p->inner, 1, p->ids.pids[index]);
    if (process->arguments[0])
        proto_string(&p->inner, 2, process->arguments);
    proto_string(&p->inner, 6, process->name);
    if (process->start_ns)
        proto_uint(&p->inner, 7, process->start_ns);
    proto_message(&p->part, 3, &p->inner);
    end_track(p);
}

static void write_device(struct perfetto *p, uint32_t device)
{
    uint32_t index = (uint32_t)p->timeline->process_count + device;

    begin_track(p, track_uuid(TRACK_PROCESS, index, 0), 0, NULL);
    ifg_bytes_clear(&p->inner);
    proto_uint(&p->inner, 1, p->ids.pids[index]);
    proto_string(&p->inner, 6, p->ids.devices[device]);
    proto_message(&p->part, 3, &p->inner);
    end_track(p);
}

static void write_thread(struct perfetto *p, uint32_t index)
{
    char text[EXPORT_DEVICE_NAME];
    const char *name = export_thread_name(&p->ids, p->timeline, index, text);
    uint32_t home = p->ids.homes[index];

    begin_track(p, track_uuid(TRACK_THREAD, index, 0), track_uuid(TRACK_PROCESS, home, 0), NULL);
    ifg_bytes_clear(&p->inner);
    proto_uint(&p->inner, 1, p->ids.pids[home]);
    proto_uint(&p->inner, 2, p->ids.tids[index]);
    if (name[0])
        proto_string(&p->inner, 5, name);
    proto_message(&p->part, 4, &p->inner);
    end_track(p);
}

static void write_descriptors(struct perfetto *p)
{
    const struct timeline *timeline = p->timeline;

    for (uint32_t i = 0; i < timeline->process_count; i++)
        write_process(p, i);
    for (uint32_t i = 0; i < p->ids.device_count; i++)
        write_device(p, i);
    for (uint32_t i = 0; i < timeline->thread_count; i++)
        write_thread(p, i);
    if (timeline->model_count)
        perfetto_track(p, track_uuid(TRACK_ML, 0, 0), 0, "ML activity");
    for (uint32_t i = 0; i < timeline->model_count; i++)
        perfetto_track(p, track_uuid(TRACK_MODEL, i, 0), track_uuid(TRACK_ML, 0, 0),
                       timeline->models[i].name);
}

void perfetto_sequence(struct perfetto *p, uint32_t sequence, uint64_t default_track)
{
    p->sequence = sequence;
    p->default_track = default_track;
    write_reset(p);
    if (p->since_reset >= REFRESH_BYTES || !p->described) {
        p->described = true;
        p->since_reset = 0;
        write_descriptors(p);
    }
}

void perfetto_refresh(struct perfetto *p)
{
    if (__builtin_expect(p->since_reset < REFRESH_BYTES, 1))
        return;
    perfetto_sequence(p, p->sequence, p->default_track);
}

void perfetto_clock(struct perfetto *p)
{
    const struct timeline *timeline = p->timeline;

    ifg_bytes_clear(&p->packet);
    ifg_bytes_clear(&p->part);
    ifg_bytes_clear(&p->inner);
    proto_uint(&p->inner, 1, CLOCK_ID_MONOTONIC);
    proto_uint(&p->inner, 2, timeline->begin_ns);
    proto_message(&p->part, 1, &p->inner);
    if (timeline->realtime_offset_ns) {
        ifg_bytes_clear(&p->inner);
        proto_uint(&p->inner, 1, CLOCK_ID_REALTIME);
        proto_uint(&p->inner, 2, timeline->begin_ns + (uint64_t)timeline->realtime_offset_ns);
        proto_message(&p->part, 1, &p->inner);
    }
    proto_uint(&p->part, 2, CLOCK_ID_MONOTONIC); /* the clock of the trace */
    proto_message(&p->packet, PACKET_CLOCK_SNAPSHOT, &p->part);
    put_packet(p);
}

/* ---- lanes ------------------------------------------------------------------- */

static void swap_lanes(struct lane *a, struct lane *b)
{
    struct lane old = *a;

    *a = *b;
    *b = old;
}

struct lane *perfetto_lane(struct lanes *lanes, uint64_t start_ns, uint64_t end_ns)
{
    size_t at = 0;

    if (lanes->count && lanes->items[0].end_ns <= start_ns) {
        lanes->items[0].end_ns = end_ns;
        for (size_t child; (child = 2 * at + 1) < lanes->count; at = child) {
            if (child + 1 < lanes->count &&
                lanes->items[child + 1].end_ns < lanes->items[child].end_ns)
                child++;
            if (lanes->items[at].end_ns <= lanes->items[child].end_ns)
                break;
            swap_lanes(&lanes->items[at], &lanes->items[child]);
        }
        return &lanes->items[at];
    }
    if (!IFG_ARRAY_ROOM(lanes->items, lanes->capacity, lanes->count + 1, IFG_ARRAY_ANY))
        return NULL;
    at = lanes->count++;
    lanes->items[at] = (struct lane){ end_ns, (uint32_t)at, 0 };
    while (at && lanes->items[(at - 1) / 2].end_ns > lanes->items[at].end_ns) {
        swap_lanes(&lanes->items[at], &lanes->items[(at - 1) / 2]);
        at = (at - 1) / 2;
    }
    return &lanes->items[at];
}
