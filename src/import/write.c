// SPDX-License-Identifier: Apache-2.0
/* Everything that was taken over, into a trace file: definitions first, then thread by thread. */
#include "import/import_internal.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/array.h"
#include "import/lanes.h"
#include "trace/keys.h"

/* Linux never gives a higher pid or tid; ids that were texts get numbers from here on. */
#define MADE_UP_IDS ((1u << 22) + 1)

/* What the trace says about the file. */
static const struct {
    const char *fact;
    const char *runtime; /* of its models */
} formats[] = {
    [IMPORT_AUTO] = { "", "" },
    [IMPORT_CHROME] = { "Chrome trace JSON", "" },
    [IMPORT_ORT] = { "ONNX Runtime profile", "ONNX Runtime" },
    [IMPORT_IREEPERF] = { "IREE profile (ireeperf-jsonl)", "IREE" },
};

struct writing {
    struct importer *importer;
    struct trace_writer *writer;
    struct ifg_strings models; /* (process, model) pairs that are defined */
    struct ifg_strings twins;  /* (location, number) pairs: see id_of */
    uint32_t threads;          /* that are defined; lanes are threads */
    uint64_t base;             /* time that becomes 0 */
};

/* The zones of a lane that ended and that nothing lies around yet. */
struct ended_zone {
    uint64_t start;
    uint32_t record;
};

/* One lane while it is written. */
struct writing_lane {
    struct trace_stream *stream;
    const struct record *records;
    const uint32_t *order;
    size_t count;
    struct ended_zone *ended;
    size_t ended_count;
    size_t ended_capacity;
    uint32_t *twin; /* of each record: a zone before it that begins with it, or NO_TWIN */
};

#define NO_TWIN   UINT32_MAX
#define TWINS_MAX 64u /* zones of one location that begin together */

static const char *text_of(const struct importer *importer, uint32_t number)
{
    return number == IFG_STRINGS_NONE ? "" : ifg_strings_get(&importer->texts, number);
}

static uint64_t ticks_of(const struct writing *writing, uint64_t time)
{
    return time - writing->base;
}

/* A 32-bit id; one that does not fit, or was a text, gets one that Linux would not give. */
static uint32_t make_id(int64_t id, uint32_t index)
{
    return id >= 0 && id <= UINT32_MAX ? (uint32_t)id : MADE_UP_IDS + index;
}

static void define_processes(struct writing *writing)
{
    struct importer *importer = writing->importer;

    for (uint32_t i = 0; i < importer->process_keys.count; i++) {
        const struct known_process *known = &importer->processes[i];
        struct trace_process process = {
            .index = i,
            .pid = make_id(known->pid, i),
            .start_ticks = known->first == UINT64_MAX ? 0 : ticks_of(writing, known->first),
            .program = text_of(importer, known->name),
        };

        trace_writer_process(writing->writer, &process);
    }
    for (uint32_t i = 0; i < importer->thread_keys.count; i++) {
        const struct known_thread *known = &importer->threads[i];

        trace_writer_thread(writing->writer, i, known->process, make_id(known->tid, i),
                            text_of(importer, known->name));
    }
    writing->threads = importer->thread_keys.count;
}

static void define_model(struct writing *writing, const struct identity *identity)
{
    uint32_t key[2] = { identity->process, identity->model };
    uint32_t before = writing->models.count;
    struct trace_model model = {
        .process = identity->process,
        .id = identity->model + 1,
        .name = text_of(writing->importer, identity->model),
        .runtime = formats[writing->importer->result->format].runtime,
    };

    if (ifg_strings_add(&writing->models, key, sizeof key) == before)
        trace_writer_model(writing->writer, &model);
}

static void define_location(struct writing *writing, uint32_t number, uint32_t id)
{
    struct importer *importer = writing->importer;
    struct identity identity;
    const char *name = import_location_get(importer, number, &identity);
    struct trace_location location = {
        .process = identity.process,
        .id = id,
        .kind = (enum trace_location_kind)identity.kind,
        .category = (enum trace_category)identity.category,
        .line = identity.line,
        .model = identity.model == IFG_STRINGS_NONE ? 0 : identity.model + 1,
        .name = name,
        .function = text_of(importer, identity.function),
        .file = text_of(importer, identity.file),
    };

    if (identity.model != IFG_STRINGS_NONE)
        define_model(writing, &identity);
    trace_writer_location(writing->writer, &location);
}

static void define_locations(struct writing *writing)
{
    for (uint32_t i = 0; i < writing->importer->location_keys.count; i++)
        define_location(writing, i, i + 1);
}

static void define_clock(struct writing *writing)
{
    struct importer *importer = writing->importer;
    struct trace_clock_pair pair = { 0 };

    trace_writer_clock(writing->writer, 0, TRACE_CLOCK_MONOTONIC, 1000000000u,
                       "clock of the imported file");
    if (importer->last >= importer->first)
        pair.ticks = ticks_of(writing, importer->first);
    pair.monotonic_ns = pair.ticks;
    pair.realtime_ns = pair.ticks; /* no difference: the wall clock is not known */
    if (importer->base_realtime_ns)
        pair.realtime_ns = pair.ticks + (uint64_t)importer->base_realtime_ns;
    trace_writer_flush_definitions(writing->writer);
    trace_writer_clock_pairs(writing->writer, 0, &pair, 1);
}

static void define_facts(struct writing *writing)
{
    const struct importer *importer = writing->importer;
    const struct import_options *options = importer->options;
    const char *slash = strrchr(options->path, '/');
    const char *name = slash ? slash + 1 : options->path;
    struct ifg_cursor facts = ifg_cursor_over(importer->facts.data, importer->facts.size);
    char number[32];

    trace_writer_fact(writing->writer, TRACE_FACT_TOOL_VERSION, options->tool_version);
    trace_writer_fact(writing->writer, TRACE_FACT_RECORD_MODE, "import");
    trace_writer_fact(writing->writer, TRACE_FACT_RECORD_PROGRAM,
                      strcmp(name, "-") == 0 ? "standard input" : name);
    trace_writer_fact(writing->writer, TRACE_FACT_IMPORT_FORMAT,
                      formats[importer->result->format].fact);
    snprintf(number, sizeof number, "%llu", (unsigned long long)importer->result->events);
    trace_writer_fact(writing->writer, TRACE_FACT_IMPORT_EVENTS, number);
    for (uint32_t i = 0; i < importer->fact_count; i++) {
        size_t bytes;
        const char *key = ifg_cursor_string(&facts, &bytes);
        const char *value = ifg_cursor_string(&facts, &bytes);

        if (facts.failed)
            break;
        trace_writer_fact(writing->writer, key, value); /* both end with a NUL */
    }
}

/* At the end, when all is counted. */
static void define_losses(struct writing *writing)
{
    const struct import_result *result = writing->importer->result;

    for (int i = 0; i < IMPORT_REASONS; i++) {
        char key[64];
        char number[32];

        if (!result->counts[i])
            continue;
        if (i < IMPORT_LOST_REASONS)
            trace_writer_loss(writing->writer, 0, import_reason_text((enum import_reason)i),
                              result->counts[i]);
        snprintf(key, sizeof key, "import.%s", import_reason_key((enum import_reason)i));
        snprintf(number, sizeof number, "%llu", (unsigned long long)result->counts[i]);
        trace_writer_fact(writing->writer, key, number);
    }
}

/* The details of a zone that is about to end. */
static enum ifg_status write_details(struct writing *writing, struct trace_stream *stream,
                                     uint64_t details, uint64_t start, uint32_t location)
{
    struct importer *importer = writing->importer;
    const uint8_t *bytes;
    size_t size;
    struct ifg_cursor cursor;
    enum ifg_status status;

    if (!details)
        return IFG_OK;
    status = store_get_details(importer->store, details, &bytes, &size, importer->err);
    if (status)
        return status;
    cursor = ifg_cursor_over(bytes, size);
    while (ifg_cursor_left(&cursor) && !cursor.failed) {
        uint64_t code = ifg_cursor_varint(&cursor);
        enum trace_value_type type = (enum trace_value_type)(code & 7);
        size_t value_bytes = sizeof(uint64_t);
        const struct ifg_string *key = &importer->keys.items[code >> 3];
        const void *value = type == TRACE_VALUE_STRING
                                ? ifg_cursor_string(&cursor, &value_bytes)
                                : (const char *)ifg_cursor_take(&cursor, sizeof(uint64_t));

        if (!cursor.failed)
            trace_stream_attribute(stream, start, location, type, key->text, key->size,
                                   value ? value : "", value_bytes);
    }
    return IFG_OK;
}

/* A zone's category as the file had it is the same for its whole location, so no event carries it.
 */
static void write_cat(struct writing *writing, struct trace_stream *stream, uint64_t start,
                      uint32_t location, uint32_t id)
{
    struct identity identity;
    const char *cat;

    import_location_get(writing->importer, location, &identity);
    if (identity.cat == IFG_STRINGS_NONE)
        return;
    cat = text_of(writing->importer, identity.cat);
    trace_stream_attribute(stream, start, id, TRACE_VALUE_STRING, "cat", 3, cat, strlen(cat));
    writing->importer->result->details++;
}

/* Everything about a zone but the zone. */
static enum ifg_status write_about(struct writing *writing, struct trace_stream *stream,
                                   const struct record *record, uint64_t start, uint32_t id,
                                   uint64_t more_details)
{
    uint64_t ticks = ticks_of(writing, start);
    enum ifg_status status;

    write_cat(writing, stream, ticks, record->location, id);
    status = write_details(writing, stream, record->details >> 8, ticks, id);
    if (!status)
        status = write_details(writing, stream, more_details, ticks, id);
    return status;
}

static enum ifg_status write_event(struct writing *writing, struct trace_stream *stream,
                                   const struct record *record)
{
    static const enum trace_event_kind flow_events[] = {
        TRACE_EVENT_FLOW_BEGIN,
        TRACE_EVENT_FLOW_STEP,
        TRACE_EVENT_FLOW_END,
    };
    struct importer *importer = writing->importer;
    uint64_t ticks = ticks_of(writing, record->end);
    uint8_t payload[2 * IFG_VARINT_MAX];
    enum record_kind kind = record_kind(record);
    enum ifg_status status;
    const uint8_t *bytes;
    size_t size;

    if (kind == RECORD_COUNTER) {
        for (unsigned i = 0; i < 8; i++)
            payload[i] = (uint8_t)(record->start >> 8 * i);
        trace_stream_event(stream, TRACE_EVENT_COUNTER, ticks, record->location + 1, payload, 8);
        return IFG_OK;
    }
    if (kind >= RECORD_FLOW_BEGIN && kind <= RECORD_FLOW_END) {
        size = (size_t)(ifg_varint_write(ifg_varint_write(payload, record->start),
                                         record->details >> 8) -
                        payload);
        trace_stream_event(stream, flow_events[kind - RECORD_FLOW_BEGIN], ticks,
                           record->location + 1, payload, size);
        return IFG_OK;
    }
    if (kind != RECORD_MESSAGE) {
        size = (size_t)(ifg_varint_write(payload, record->start) - payload);
        trace_stream_event(
            stream, kind == RECORD_ASYNC_BEGIN ? TRACE_EVENT_ASYNC_BEGIN : TRACE_EVENT_ASYNC_END,
            ticks, record->location + 1, payload, size);
        return IFG_OK;
    }
    status = store_get_details(importer->store, record->details >> 8, &bytes, &size, importer->err);
    if (!status)
        trace_stream_event(stream, TRACE_EVENT_MESSAGE, ticks, record->location, bytes, size);
    return status;
}

/* Begins that found no end, outermost first. */
static enum ifg_status write_open(struct writing *writing, const struct writing_lane *lane)
{
    struct importer *importer = writing->importer;
    struct trace_open_zone *open = ifg_alloc(TRACE_OPEN_MAX, sizeof *open);
    enum ifg_status status = IFG_OK;
    size_t count = 0;

    if (!open)
        return ifg_fail_no_memory(importer->err, NULL);
    for (size_t i = 0; i < lane->count && !status; i++) {
        const struct record *record = &lane->records[lane->order[i]];

        if (record_kind(record) != RECORD_BEGIN || record->start != LANES_NOBODY)
            continue;
        if (count == TRACE_OPEN_MAX) {
            import_count(importer, IMPORT_OPEN_TOO_DEEP, 1);
            continue;
        }
        open[count].start = ticks_of(writing, record->end);
        open[count++].location = record->location + 1;
        status = write_about(writing, lane->stream, record, record->end, record->location + 1, 0);
    }
    import_count(importer, IMPORT_UNFINISHED, count);
    if (!status && count)
        trace_stream_flush(lane->stream, open, count, ticks_of(writing, importer->last));
    ifg_free(open);
    return status;
}

static bool push_ended(struct writing_lane *lane, struct ended_zone zone)
{
    if (!IFG_ARRAY_ROOM(lane->ended, lane->ended_capacity, lane->ended_count + 1, IFG_ARRAY_ANY))
        return false;
    lane->ended[lane->ended_count++] = zone;
    return true;
}

static bool end_zone(struct writing_lane *lane, uint64_t start, uint64_t end, uint32_t record)
{
    struct ended_zone point = { 0, NO_TWIN }; /* of no length, at the very end: stays visible */

    lane->twin[record] = NO_TWIN;
    if (start < end && lane->ended_count && lane->ended[lane->ended_count - 1].start >= end)
        point = lane->ended[--lane->ended_count];
    while (lane->ended_count && lane->ended[lane->ended_count - 1].start >= start) {
        const struct ended_zone *inside = &lane->ended[--lane->ended_count];

        if (inside->start == start)
            lane->twin[record] = inside->record;
    }
    return push_ended(lane, (struct ended_zone){ start, record }) &&
           (point.record == NO_TWIN || push_ended(lane, point));
}

static uint32_t location_of(const struct record *records, uint32_t number)
{
    const struct record *record = &records[number];

    return record_kind(record) == RECORD_END ? records[record->start].location : record->location;
}

/* The id under which a zone is written. Details find their zone by its start and its location: a
 * second zone of a location that begins at the same time gets a location like it. */
static uint32_t id_of(struct writing *writing, const struct writing_lane *lane, uint32_t record)
{
    uint32_t location = location_of(lane->records, record);
    uint32_t key[2] = { location, 0 };
    uint32_t before = writing->twins.count;
    uint32_t twin = lane->twin[record];
    uint32_t number;

    for (unsigned i = 0; i < TWINS_MAX && twin != NO_TWIN; i++, twin = lane->twin[twin])
        key[1] += location_of(lane->records, twin) == location;
    if (!key[1])
        return location + 1;
    number = ifg_strings_add(&writing->twins, key, sizeof key);
    if (number == IFG_STRINGS_NONE)
        return location + 1;
    number += writing->importer->location_keys.count + 1;
    if (writing->twins.count > before)
        define_location(writing, location, number);
    return number;
}

static enum ifg_status write_zone(struct writing *writing, struct writing_lane *lane,
                                  uint32_t number)
{
    const struct record *record = &lane->records[number];
    const struct record *begin = record;
    uint64_t more_details = 0;
    uint64_t start, end;
    enum ifg_status status;
    uint32_t id;

    if (record_kind(record) == RECORD_BEGIN || !lanes_zone(lane->records, number, &start, &end))
        return IFG_OK;
    if (!end_zone(lane, start, end, number))
        return ifg_fail_no_memory(writing->importer->err, NULL);
    if (record_kind(record) == RECORD_END) {
        begin = &lane->records[record->start];
        more_details = record->details >> 8;
    }
    id = id_of(writing, lane, number);
    status = write_about(writing, lane->stream, begin, start, id, more_details);
    trace_stream_zone(lane->stream, ticks_of(writing, start), end - start, id);
    return status;
}

static enum ifg_status write_records(struct writing *writing, struct writing_lane *lane)
{
    enum ifg_status status = IFG_OK;

    for (size_t i = 0; i < lane->count && !status; i++) {
        const struct record *record = &lane->records[lane->order[i]];

        switch (record_kind(record)) {
        case RECORD_BEGIN:
        case RECORD_END:
        case RECORD_INNER_ZONE:
        case RECORD_ZONE:
        case RECORD_OUTER_ZONE:
            status = write_zone(writing, lane, lane->order[i]);
            break;
        default:
            status = write_event(writing, lane->stream, record);
        }
    }
    return status ? status : write_open(writing, lane);
}

/* Lanes but the first are threads with the number and the name of theirs. */
static uint32_t define_lane(struct writing *writing, uint32_t thread, unsigned lane)
{
    const struct known_thread *known = &writing->importer->threads[thread];

    if (!lane)
        return thread;
    trace_writer_thread(writing->writer, writing->threads, known->process,
                        make_id(known->tid, thread), text_of(writing->importer, known->name));
    return writing->threads++;
}

static enum ifg_status write_lanes(struct writing *writing, uint32_t thread,
                                   const struct record *records, const struct lanes *lanes,
                                   uint32_t *twin)
{
    struct importer *importer = writing->importer;
    enum ifg_status status = IFG_OK;

    for (unsigned i = 0; i < lanes->count && !status; i++) {
        struct writing_lane lane = {
            .records = records,
            .order = lanes->order + lanes->first[i],
            .count = lanes->first[i + 1] - lanes->first[i],
            .twin = twin,
        };

        lane.stream = trace_stream_create(writing->writer, define_lane(writing, thread, i));
        if (!lane.stream)
            break; /* the writer knows why */
        status = write_records(writing, &lane);
        trace_stream_destroy(lane.stream);
        ifg_free(lane.ended);
    }
    return status ? status : trace_writer_status(writing->writer, importer->err);
}

static enum ifg_status write_thread(struct writing *writing, uint32_t thread)
{
    struct importer *importer = writing->importer;
    unsigned most = THREADS_MAX > writing->threads ? THREADS_MAX - writing->threads + 1 : 1;
    struct record *records = NULL;
    struct lanes lanes = { 0 };
    uint32_t *twin = NULL;
    enum ifg_status status;
    size_t count;

    status = store_take_sorted(importer->store, thread, &records, &count, importer->err);
    if (status || !count)
        return status;
    import_count(importer, IMPORT_END_WITHOUT_BEGIN, lanes_match(records, count));
    status =
        lanes_split(records, count, most < LANES_MAX ? most : LANES_MAX, &lanes, importer->err);
    if (!status) {
        import_count(importer, IMPORT_OVERLAPPING, lanes.moved);
        twin = ifg_alloc(count, sizeof *twin);
        status = twin ? write_lanes(writing, thread, records, &lanes, twin)
                      : ifg_fail_no_memory(importer->err, "to import");
    }
    lanes_fini(&lanes);
    ifg_free(twin);
    ifg_free(records);
    return status;
}

enum ifg_status import_write(struct importer *importer)
{
    const struct import_options *options = importer->options;
    struct writing writing = { .importer = importer, .base = TIME_ZERO };
    enum ifg_status status =
        trace_writer_create(options->output, options->overwrite, &writing.writer, importer->err);

    if (status)
        return status;
    writing.models.limit = LOCATIONS_MAX;
    writing.twins.limit = LOCATIONS_MAX;
    if (importer->first < TIME_ZERO) {
        writing.base = importer->first;
        import_count(importer, IMPORT_TIMES_SHIFTED, 1);
    }
    define_clock(&writing);
    define_facts(&writing);
    define_processes(&writing);
    define_locations(&writing);
    if (writing.models.no_memory)
        status = ifg_fail_no_memory(importer->err, "to import");
    for (uint32_t i = 0; i < importer->thread_keys.count && !status; i++)
        status = write_thread(&writing, i);
    define_losses(&writing);
    importer->result->processes = importer->process_keys.count;
    importer->result->threads = importer->thread_keys.count;
    ifg_strings_fini(&writing.models);
    ifg_strings_fini(&writing.twins);
    if (status)
        (void)trace_writer_close(writing.writer, NULL);
    else
        status = trace_writer_close(writing.writer, importer->err);
    if (status)
        unlink(options->output); /* half an import is worth nothing: the whole is still there */
    return status;
}
