// SPDX-License-Identifier: Apache-2.0
/*
 * A trace as Perfetto's protobuf.
 *
 * Each thread is a sequence of packets with its thread track as the default. ML events are there
 * twice: on their thread, where they nest with everything else, and in the tree ML activity, model,
 * function; one correlation id ties the two together. Slices that do not nest, and async spans, get
 * tracks side by side.
 */
#include "export/perfetto_internal.h"
#include "export/sampled.h"

#include <math.h>

#include "base/alloc.h"
#include "timeline/flows.h"

#define FLOWS_FROM    (UINT64_C(1) << 32)
#define LAUNCHES_FROM (UINT64_C(1) << 62)
#define FLOWS_MOST    4096u /* points of one slice */

static enum category_iid category_of(const struct timeline_location *location)
{
    switch (location->kind) {
    case TRACE_LOCATION_ML:
        return CAT_ML;
    case TRACE_LOCATION_OP:
        return CAT_OP;
    case TRACE_LOCATION_STAGE:
        return CAT_STAGE;
    case TRACE_LOCATION_ASYNC:
        return CAT_ASYNC;
    case TRACE_LOCATION_FRAME:
        return CAT_FRAME;
    case TRACE_LOCATION_DEVICE:
        return CAT_DEVICE;
    case TRACE_LOCATION_DRIVER:
        return CAT_DRIVER;
    default:
        return CAT_ZONE;
    }
}

static void annotate_text(struct perfetto *p, struct ifg_bytes *event, enum key_iid key,
                          const char *text)
{
    ifg_bytes_clear(&p->part);
    proto_uint(&p->part, ANNOTATION_NAME_IID, key);
    proto_string(&p->part, ANNOTATION_STRING, text);
    proto_message(event, EVENT_ANNOTATIONS, &p->part);
}

static void annotate(struct perfetto *p, const struct timeline_attribute *attribute)
{
    uint32_t key = perfetto_intern_key(p, attribute->key);

    ifg_bytes_clear(&p->part);
    if (key)
        proto_uint(&p->part, ANNOTATION_NAME_IID, key);
    else
        proto_string(&p->part, ANNOTATION_NAME, attribute->key);
    switch (attribute->type) {
    case TRACE_VALUE_SIGNED:
        proto_uint(&p->part, ANNOTATION_INT, (uint64_t)attribute->signed_value);
        break;
    case TRACE_VALUE_UNSIGNED:
        proto_uint(&p->part, ANNOTATION_UINT, attribute->unsigned_value);
        break;
    case TRACE_VALUE_F64:
        proto_double(&p->part, ANNOTATION_DOUBLE, attribute->f64_value);
        break;
    default:
        proto_string(&p->part, ANNOTATION_STRING, attribute->text);
        break;
    }
    proto_message(&p->event, EVENT_ANNOTATIONS, &p->part);
}

/* What each begin event of a location has in common: category, source, model. Not its name. */
static bool make_starts(struct perfetto *p)
{
    const struct timeline *timeline = p->timeline;

    if (!export_texts_init(&p->starts, timeline->location_count))
        return false;
    for (uint32_t i = 0; i < timeline->location_count; i++) {
        const struct timeline_location *location = &timeline->locations[i];
        struct ifg_bytes *out = &p->starts.bytes;

        export_texts_begin(&p->starts, i);
        proto_uint(out, EVENT_CATEGORY_IIDS, category_of(location));
        if (location->file[0])
            proto_uint(out, EVENT_SOURCE_IID, i + 1);
        if (location->model != TIMELINE_NONE)
            annotate_text(p, out, KEY_MODEL, timeline->models[location->model].name);
        if (location->function_index != TIMELINE_NONE)
            annotate_text(p, out, KEY_FUNCTION, timeline->functions[location->function_index].name);
        if (location->kind == TRACE_LOCATION_ML)
            annotate_text(p, out, KEY_CATEGORY, timeline_category_name(location->category));
        export_texts_end(&p->starts, i);
    }
    return !p->starts.bytes.failed;
}

/* A packet with a begin event of this location, up to what is special about it. track 0: the
 * default.
 */
static void begin_event(struct perfetto *p, uint64_t ns, uint32_t location, const char *name,
                        enum event_type type, uint64_t track)
{
    const struct export_text *start = &p->starts.items[location];

    perfetto_packet_begin(p, ns);
    perfetto_intern_location(p, location);
    proto_uint(&p->event, EVENT_TYPE, type);
    if (track)
        proto_uint(&p->event, EVENT_TRACK_UUID, track);
    if (name)
        proto_string(&p->event, EVENT_NAME, name);
    else
        proto_uint(&p->event, EVENT_NAME_IID, location + 1);
    ifg_bytes_put(&p->event, p->starts.bytes.data + start->offset, start->size);
}

static void end_event(struct perfetto *p, uint64_t ns, uint64_t track)
{
    perfetto_packet_begin(p, ns);
    proto_uint(&p->event, EVENT_TYPE, EVENT_END);
    if (track)
        proto_uint(&p->event, EVENT_TRACK_UUID, track);
    perfetto_packet_end(p);
}

/* ---- slices ------------------------------------------------------------------ */

static void put_details(struct perfetto *p, const struct export_slice *slice)
{
    for (size_t i = 0; i < slice->attribute_count; i++) {
        bool is_name = slice->name && slice->attributes[i].type == TRACE_VALUE_STRING &&
                       slice->attributes[i].text == slice->name;

        if (!is_name && !export_attribute_repeats(slice, i))
            annotate(p, &slice->attributes[i]);
    }
    if (slice->unfinished) {
        ifg_bytes_clear(&p->part);
        proto_uint(&p->part, ANNOTATION_NAME_IID, KEY_UNFINISHED);
        proto_uint(&p->part, ANNOTATION_BOOL, 1);
        proto_message(&p->event, EVENT_ANNOTATIONS, &p->part);
    }
}

/* Flows of a slice. They are numbered from FLOWS_FROM on, behind the requests. */
static void put_flows(struct perfetto *p, size_t slice)
{
    const struct timeline *timeline = p->timeline;
    size_t first;
    size_t count = timeline_flow_points_of(timeline, slice, &first);
    size_t most = count < FLOWS_MOST ? count : FLOWS_MOST;

    for (size_t i = first; i < first + most; i++) {
        const struct timeline_flow_point *point =
            &timeline->flow_points[timeline->flow_by_slice[i]];
        bool again = i + 1 < first + most &&
                     timeline->flow_points[timeline->flow_by_slice[i + 1]].flow == point->flow;

        if (!again) /* of several points of one flow the last one tells whether it ends here */
            proto_fixed64(&p->event,
                          point->kind == TIMELINE_FLOW_END ? EVENT_LAST_FLOW_IDS : EVENT_FLOW_IDS,
                          FLOWS_FROM + point->flow);
    }
    p->flows_left_out += count - most;
}

/* From a call to its work. Their numbers stand behind those of all flows. */
static void put_launch(struct perfetto *p, size_t slice)
{
    const struct export_launch *launch = export_launch_of(&p->launches, slice);

    if (launch)
        proto_fixed64(&p->event, launch->is_work ? EVENT_LAST_FLOW_IDS : EVENT_FLOW_IDS,
                      LAUNCHES_FROM + launch->id);
}

static uint64_t function_track(const struct perfetto *p, uint32_t location, uint32_t thread)
{
    return track_uuid(TRACK_FUNCTION, p->timeline->locations[location].function_index, thread);
}

static void begin_slice(struct perfetto *p, uint32_t thread, const struct export_slice *slice,
                        uint64_t track)
{
    const struct timeline_location *location = &p->timeline->locations[slice->location];
    const struct export_flow *flow = NULL;

    if (slice->attribute_count)
        flow = export_flow_of(&p->flows, slice->index);
    begin_event(p, slice->start_ns, slice->location, slice->name, EVENT_BEGIN, track);
    if (location->function_index != TIMELINE_NONE)
        proto_uint(&p->event, EVENT_CORRELATION_ID, slice->index + 1);
    put_details(p, slice);
    if (flow)
        proto_fixed64(&p->event,
                      flow->step == EXPORT_FLOW_LAST ? EVENT_LAST_FLOW_IDS : EVENT_FLOW_IDS,
                      flow->id);
    if (p->timeline->flow_point_count)
        put_flows(p, slice->index);
    put_launch(p, slice->index);
    perfetto_packet_end(p);
    if (location->function_index == TIMELINE_NONE)
        return;
    if (p->function_seen[location->function_index] != p->generation) {
        p->function_seen[location->function_index] = p->generation;
        perfetto_track(p, function_track(p, slice->location, thread),
                       track_uuid(TRACK_MODEL, location->model, 0),
                       p->timeline->functions[location->function_index].name);
    }
    begin_event(p, slice->start_ns, slice->location, slice->name, EVENT_BEGIN,
                function_track(p, slice->location, thread));
    proto_uint(&p->event, EVENT_CORRELATION_ID, slice->index + 1);
    put_details(p, slice);
    perfetto_packet_end(p);
}

static void end_slice(struct perfetto *p, uint32_t thread, uint32_t location, uint64_t ns,
                      uint64_t track)
{
    end_event(p, ns, track);
    if (p->timeline->locations[location].function_index != TIMELINE_NONE)
        end_event(p, ns, function_track(p, location, thread));
}

static bool write_overlapping(struct perfetto *p, uint32_t thread, struct lanes *lanes,
                              const struct export_slice *slice)
{
    struct lane *lane = perfetto_lane(lanes, slice->start_ns, slice->end_ns);
    uint64_t track;

    if (!lane)
        return false;
    p->overlapping++;
    track = track_uuid(TRACK_OVERLAP, thread, lane->number);
    if (lane->generation != p->generation) {
        lane->generation = p->generation;
        perfetto_track(p, track, track_uuid(TRACK_THREAD, thread, 0), "overlapping");
    }
    begin_event(p, slice->start_ns, slice->location, slice->name, EVENT_BEGIN, track);
    put_details(p, slice);
    if (p->timeline->flow_point_count)
        put_flows(p, slice->index);
    put_launch(p, slice->index);
    perfetto_packet_end(p);
    end_event(p, slice->end_ns, track);
    return true;
}

static void close_ended(struct perfetto *p, uint32_t thread, struct export_nest *nest)
{
    const struct export_open *open = &nest->items[--nest->count];

    end_slice(p, thread, open->location, open->end_ns, 0);
}

static enum ifg_status write_thread(struct perfetto *p, uint32_t thread, struct export_nest *nest)
{
    struct lanes lanes = { 0 };
    struct export_cursor cursor;
    struct export_slice slice;
    bool good = true;

    if (!export_cursor_init(&cursor, p->job, thread))
        return IFG_OK;
    perfetto_sequence(p, thread + 1, track_uuid(TRACK_THREAD, thread, 0));
    while (good && export_next(&cursor, &slice)) {
        p->job->result->slices++;
        while (export_nest_ended(nest, slice.start_ns))
            close_ended(p, thread, nest);
        perfetto_refresh(p);
        if (__builtin_expect(export_nest_overlaps(nest, slice.end_ns), 0)) {
            good = write_overlapping(p, thread, &lanes, &slice);
            continue;
        }
        good = export_nest_push(nest, &slice);
        begin_slice(p, thread, &slice, 0);
    }
    while (nest->count)
        close_ended(p, thread, nest);
    ifg_free(lanes.items);
    return good ? IFG_OK : export_no_memory(p->job);
}

/* ---- everything else --------------------------------------------------------- */

static void write_span(struct perfetto *p, const struct timeline_async *span, struct lane *lane)
{
    const struct timeline_location *location = &p->timeline->locations[span->location];
    uint64_t track = track_uuid(TRACK_ASYNC, p->same_names[span->location], lane->number);
    struct export_slice slice = { .unfinished = span->end_thread == TIMELINE_NONE };
    uint64_t parent = track_uuid(TRACK_PROCESS, location->process, 0);

    if (location->model != TIMELINE_NONE)
        parent = track_uuid(TRACK_MODEL, location->model, 0);
    if (lane->generation != p->generation) {
        lane->generation = p->generation;
        perfetto_track(p, track, parent,
                       location->function_index != TIMELINE_NONE
                           ? p->timeline->functions[location->function_index].name
                           : location->name);
    }
    begin_event(p, span->start_ns, span->location, NULL, EVENT_BEGIN, track);
    ifg_bytes_clear(&p->part);
    proto_uint(&p->part, ANNOTATION_NAME_IID, KEY_ID);
    proto_uint(&p->part, ANNOTATION_UINT, span->id);
    proto_message(&p->event, EVENT_ANNOTATIONS, &p->part);
    put_details(p, &slice);
    perfetto_packet_end(p);
    end_event(p, span->end_ns, track);
    p->job->result->spans++;
}

static enum ifg_status write_spans(struct perfetto *p)
{
    const struct timeline *timeline = p->timeline;
    struct lanes *lanes = ifg_alloc(timeline->location_count + 1, sizeof *lanes);
    enum ifg_status status = IFG_OK;

    if (!lanes)
        return export_no_memory(p->job);
    for (size_t i = 0; i < timeline->async_count && !status; i++) {
        const struct timeline_async *span = &timeline->asyncs[i];
        struct lane *lane;

        if (!export_wants_span(p->job, span))
            continue;
        perfetto_refresh(p);
        lane = perfetto_lane(&lanes[p->same_names[span->location]], span->start_ns, span->end_ns);
        if (lane)
            write_span(p, span, lane);
        else
            status = export_no_memory(p->job);
    }
    for (size_t i = 0; i < timeline->location_count; i++)
        ifg_free(lanes[i].items);
    ifg_free(lanes);
    return status;
}

static void write_value(struct perfetto *p, uint32_t location, uint64_t ns, double value,
                        bool bytes)
{
    uint32_t counter = p->same_names[location];
    uint64_t track = track_uuid(TRACK_COUNTER, counter, 0);

    if (!isfinite(value)) {
        p->no_numbers++;
        return;
    }
    perfetto_refresh(p);
    if (p->counter_seen[counter] != p->generation) {
        p->counter_seen[counter] = p->generation;
        perfetto_counter_track(
            p, track, track_uuid(TRACK_PROCESS, p->timeline->locations[location].process, 0),
            p->timeline->locations[location].name, bytes);
    }
    perfetto_packet_begin(p, ns);
    proto_uint(&p->event, EVENT_TYPE, EVENT_COUNTER);
    proto_uint(&p->event, EVENT_TRACK_UUID, track);
    proto_double(&p->event, EVENT_DOUBLE_VALUE, value);
    perfetto_packet_end(p);
    p->job->result->values++;
}

static enum ifg_status write_counters(struct perfetto *p)
{
    const struct timeline *timeline = p->timeline;
    struct export_memory *memory;

    for (size_t i = 0; i < timeline->counter_count; i++) {
        const struct timeline_counter *counter = &timeline->counters[i];

        if (export_wants_event(p->job, counter->thread, counter->location, counter->ns))
            write_value(p, counter->location, counter->ns, counter->value, false);
    }
    if (timeline->allocation_count == 0)
        return IFG_OK;
    memory = export_memory_create(timeline, p->same_names);
    if (!memory)
        return export_no_memory(p->job);
    for (size_t i = 0; i < timeline->allocation_count; i++) {
        const struct timeline_allocation *event = &timeline->allocations[i];
        uint64_t bytes = export_memory_next(memory, event);

        if (export_wants_event(p->job, event->thread, event->location, event->ns))
            write_value(p, event->location, event->ns, (double)bytes, true);
    }
    export_memory_destroy(memory);
    return IFG_OK;
}

static void write_marks(struct perfetto *p)
{
    static const char *const levels[] = { "trace", "debug", "info", "warning", "error" };
    const struct timeline *timeline = p->timeline;

    for (size_t i = 0; i < timeline->message_count; i++) {
        const struct timeline_message *message = &timeline->messages[i];

        if (!export_wants_event(p->job, message->thread, TIMELINE_NONE, message->ns))
            continue;
        perfetto_refresh(p);
        perfetto_packet_begin(p, message->ns);
        proto_uint(&p->event, EVENT_TYPE, EVENT_INSTANT);
        proto_uint(&p->event, EVENT_TRACK_UUID, track_uuid(TRACK_THREAD, message->thread, 0));
        proto_string(&p->event, EVENT_NAME, message->text);
        proto_uint(&p->event, EVENT_CATEGORY_IIDS, CAT_MESSAGE);
        annotate_text(p, &p->event, KEY_LEVEL,
                      message->level < 5 ? levels[message->level] : "other");
        perfetto_packet_end(p);
        p->job->result->marks++;
    }
    for (size_t i = 0; i < timeline->frame_count; i++) {
        const struct timeline_frame *frame = &timeline->frames[i];

        if (!export_wants_event(p->job, frame->thread, frame->location, frame->ns))
            continue;
        perfetto_refresh(p);
        begin_event(p, frame->ns, frame->location, NULL, EVENT_INSTANT,
                    track_uuid(TRACK_THREAD, frame->thread, 0));
        perfetto_packet_end(p);
        p->job->result->marks++;
    }
}

/* ---- together ---------------------------------------------------------------- */

static enum ifg_status prepare(struct perfetto *p)
{
    const struct timeline *timeline = p->timeline;
    struct ifg_bytes *all[] = { &p->packet, &p->event, &p->interned,  &p->part,
                                &p->inner,  &p->batch, &p->compressed };
    enum ifg_status status;

    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++)
        ifg_bytes_init(all[i], 64u << 20);
    p->location_seen = ifg_alloc(timeline->location_count + 1, sizeof *p->location_seen);
    p->counter_seen = ifg_alloc(timeline->location_count + 1, sizeof *p->counter_seen);
    p->function_seen = ifg_alloc(timeline->function_count + 1, sizeof *p->function_seen);
    p->keys.limit = PERFETTO_KEYS;
    p->same_names = export_same_names(timeline);
    if (p->job->options->compress)
        p->zstd = ZSTD_createCCtx();
    status = export_ids_init(&p->ids, p->job);
    if (!status)
        status = export_flows_init(&p->flows, p->job);
    if (!status)
        status = export_launches_init(&p->launches, p->job);
    if (status)
        return status;
    if (!p->location_seen || !p->counter_seen || !p->function_seen || !p->same_names ||
        (p->job->options->compress && !p->zstd) || !make_starts(p))
        return export_no_memory(p->job);
    return IFG_OK;
}

static void release(struct perfetto *p)
{
    struct ifg_bytes *all[] = { &p->packet, &p->event, &p->interned,  &p->part,
                                &p->inner,  &p->batch, &p->compressed };

    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++)
        ifg_bytes_fini(all[i]);
    ifg_free(p->location_seen);
    ifg_free(p->counter_seen);
    ifg_free(p->function_seen);
    ifg_free(p->same_names);
    ifg_strings_fini(&p->keys);
    ZSTD_freeCCtx(p->zstd);
    export_texts_fini(&p->starts);
    export_flows_fini(&p->flows);
    export_launches_fini(&p->launches);
    export_ids_fini(&p->ids);
}

static enum ifg_status write_perfetto(struct export_job *job)
{
    struct perfetto p = { .job = job, .timeline = job->timeline };
    struct export_nest nest = { 0 };
    enum ifg_status status = prepare(&p);
    uint32_t threads = (uint32_t)job->timeline->thread_count;

    if (!status) {
        perfetto_clock(&p);
        perfetto_sequence(&p, 1, 0); /* the descriptors come first, whatever is filtered */
        for (uint32_t i = 0; i < threads && !status; i++)
            status = write_thread(&p, i, &nest);
        if (!status) {
            perfetto_sequence(&p, threads + 2, 0);
            status = write_spans(&p);
        }
        if (!status)
            status = write_counters(&p);
        write_marks(&p);
        if (!status && sampled_is_wanted(job))
            status = perfetto_samples(&p, threads + 3);
        if (!status)
            perfetto_states(&p, threads + 4);
        perfetto_flush(&p);
    }
    if (!status && p.failed)
        status = export_no_memory(job);
    job->result->overlapping = p.overlapping;
    if (p.overlapping)
        export_note(job,
                    "slices that overlap the one around them: %llu; they got tracks of their own",
                    (unsigned long long)p.overlapping);
    p.flows_left_out += job->timeline->flow_point_count - job->timeline->flow_by_slice_count;
    if (p.flows_left_out)
        export_note(job,
                    "points of flows outside of any slice, or one of too many in it: %llu; they "
                    "were left out",
                    (unsigned long long)p.flows_left_out);
    if (p.no_numbers)
        export_note(job, "values of counters that are no numbers: %llu; they were left out",
                    (unsigned long long)p.no_numbers);
    if (p.ids.changed)
        export_note(job,
                    "processes or threads that use a number again: %llu; 10000000 was added to it",
                    (unsigned long long)p.ids.changed);
    export_nest_fini(&nest);
    release(&p);
    return status;
}

const struct export_format export_format_perfetto = {
    .name = "perfetto",
    .extension = ".pftrace",
    .summary = "Perfetto's protobuf, with the tree model, function",
    .takes = EXPORT_TAKES_STACKS | EXPORT_TAKES_COMPRESS,
    .write = write_perfetto,
};
