// SPDX-License-Identifier: Apache-2.0
/*
 * Chrome trace JSON, one event per line, as Perfetto's importer reads it.
 *
 * Slices are X events and nest strictly on each (pid, tid): one that would stick out of the slice
 * around it becomes an async pair instead. Times are microseconds since the trace began, with three
 * decimals; when that was is in otherData.
 */
#include "export/sampled.h"

#include <math.h>
#include <stdio.h>

#include "base/alloc.h"
#include "base/json.h"
#include "trace/keys.h"

#define OVERLAP_ID (UINT64_C(1) << 63) /* ids of slices that were made async */

struct chrome {
    struct export_job *job;
    struct export_sink *sink;
    const struct timeline *timeline;
    struct export_ids ids;
    struct export_flows flows;
    struct export_launches launches;
    struct export_texts heads;   /* per location: everything before "ph" */
    struct export_texts args;    /* per location: what is inside args, or nothing */
    struct export_texts threads; /* per thread: pid and tid */
    struct ifg_bytes line;       /* for what is rare */
    uint64_t begin_ns;
    uint64_t overlapping;
    uint64_t no_numbers;
    bool first;
    bool failed; /* a line did not fit into memory */
};

/* ---- parts of an event ------------------------------------------------------- */

static const char *category_of(const struct timeline_location *location)
{
    switch (location->kind) {
    case TRACE_LOCATION_ML:
        return "ml";
    case TRACE_LOCATION_OP:
        return "op";
    case TRACE_LOCATION_STAGE:
        return "stage";
    case TRACE_LOCATION_ASYNC:
        return "async";
    case TRACE_LOCATION_DEVICE:
        return "device";
    case TRACE_LOCATION_DRIVER:
        return "driver";
    default:
        return "zone";
    }
}

static void put_key(struct ifg_bytes *out, const char *key, const char *text)
{
    export_bytes_text(out, ",\"");
    export_bytes_text(out, key);
    export_bytes_text(out, "\":");
    export_bytes_json(out, text);
}

/* Each begins with a comma, which whoever opens the braces skips. */
static void put_location_args(struct ifg_bytes *out, const struct timeline *timeline,
                              const struct timeline_location *location)
{
    if (location->model != TIMELINE_NONE)
        put_key(out, "model", timeline->models[location->model].name);
    if (location->kind == TRACE_LOCATION_ML) {
        put_key(out, "function",
                location->function_index != TIMELINE_NONE
                    ? timeline->functions[location->function_index].name
                    : location->function);
        put_key(out, "category", timeline_category_name(location->category));
    } else if (location->file[0]) {
        put_key(out, "file", location->file);
        export_bytes_text(out, ",\"line\":");
        export_bytes_uint(out, location->line);
    }
}

static void put_head(struct ifg_bytes *out, const char *name, const char *category)
{
    export_bytes_text(out, ",\n{\"name\":");
    export_bytes_json(out, name);
    export_bytes_text(out, ",\"cat\":");
    export_bytes_json(out, category);
    export_bytes_text(out, ",");
}

static void put_thread(struct ifg_bytes *out, const struct chrome *chrome, uint32_t thread)
{
    const struct export_text *text = &chrome->threads.items[thread];

    ifg_bytes_put(out, chrome->threads.bytes.data + text->offset, text->size);
}

static void put_process(struct ifg_bytes *out, const struct chrome *chrome, uint32_t process)
{
    export_bytes_text(out, "\"pid\":");
    export_bytes_uint(out, chrome->ids.pids[process]);
}

static void put_ts(struct ifg_bytes *out, const struct chrome *chrome, uint64_t ns)
{
    char digits[EXPORT_DIGITS];

    export_bytes_text(out, ",\"ts\":");
    ifg_bytes_put(
        out, digits,
        (size_t)(export_us(digits, ns > chrome->begin_ns ? ns - chrome->begin_ns : 0) - digits));
}

static bool is_ours(const char *key)
{
    static const char *const keys[] = { "model", "function", "category",
                                        "file",  "line",     "unfinished" };

    for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++)
        if (strcmp(key, keys[i]) == 0)
            return true;
    return false;
}

/* The category that an imported zone had in its file, else NULL. ML events, operators and stages
 * are told apart by theirs. */
static const struct timeline_attribute *own_category(const struct timeline *timeline,
                                                     const struct export_slice *slice)
{
    if (timeline->locations[slice->location].kind != TRACE_LOCATION_ZONE)
        return NULL;
    for (size_t i = 0; i < slice->attribute_count; i++)
        if (strcmp(slice->attributes[i].key, TRACE_KEY_CAT) == 0 &&
            slice->attributes[i].type == TRACE_VALUE_STRING)
            return &slice->attributes[i];
    return NULL;
}

static const char *slice_category(const struct timeline *timeline, const struct export_slice *slice)
{
    const struct timeline_attribute *own = own_category(timeline, slice);

    return own ? own->text : category_of(&timeline->locations[slice->location]);
}

static void put_attributes(struct ifg_bytes *out, const struct timeline *timeline,
                           const struct export_slice *slice)
{
    const struct timeline_attribute *category = own_category(timeline, slice);

    for (size_t i = 0; i < slice->attribute_count; i++) {
        const struct timeline_attribute *attribute = &slice->attributes[i];

        if (attribute->text == slice->name && slice->name && attribute->type == TRACE_VALUE_STRING)
            continue; /* it is the event's name */
        if (attribute == category || export_attribute_repeats(slice, i))
            continue;
        export_bytes_text(out, ",");
        if (is_ours(attribute->key)) {
            struct ifg_bytes key;

            ifg_bytes_init(&key, 1u << 20);
            export_bytes_text(&key, "attribute ");
            ifg_bytes_put(&key, attribute->key, strlen(attribute->key) + 1);
            if (!key.failed)
                export_bytes_json(out, (const char *)key.data);
            else
                out->failed = true;
            ifg_bytes_fini(&key);
        } else {
            export_bytes_json(out, attribute->key);
        }
        export_bytes_text(out, ":");
        export_bytes_json_value(out, attribute);
    }
    if (slice->unfinished)
        export_bytes_text(out, ",\"unfinished\":true");
}

/* ,"args":{...} for a slice or a span, from its location and its attributes; nothing if there are
 * none. */
static void put_args(struct chrome *chrome, struct ifg_bytes *out, uint32_t location,
                     const struct export_slice *slice)
{
    const struct export_text *text = &chrome->args.items[location];
    size_t before = out->size;
    size_t at = before + strlen(",\"args\":{");

    export_bytes_text(out, ",\"args\":{");
    ifg_bytes_put(out, chrome->args.bytes.data + text->offset, text->size);
    put_attributes(out, chrome->timeline, slice);
    if (out->failed)
        return;
    if (out->size == at) {
        out->size = before;
        return;
    }
    out->data[at] = ' '; /* the first comma */
    export_bytes_text(out, "}");
}

static void put_line(struct chrome *chrome)
{
    struct ifg_bytes *line = &chrome->line;
    size_t skip = chrome->first ? 2 : 0;

    if (line->failed || line->size < skip) {
        chrome->failed = true;
        return;
    }
    export_put(chrome->sink, line->data + skip, line->size - skip);
    chrome->first = false;
}

/* ---- metadata ---------------------------------------------------------------- */

static void put_metadata(struct chrome *chrome, const char *what, uint32_t process, uint32_t thread,
                         const char *name, uint64_t rank)
{
    struct ifg_bytes *line = &chrome->line;

    ifg_bytes_clear(line);
    export_bytes_text(line, ",\n{\"name\":\"");
    export_bytes_text(line, what);
    export_bytes_text(line, "\",\"ph\":\"M\",");
    if (thread != TIMELINE_NONE)
        put_thread(line, chrome, thread);
    else
        put_process(line, chrome, process);
    export_bytes_text(line, ",\"args\":{");
    if (name) {
        export_bytes_text(line, "\"name\":");
        export_bytes_json(line, name);
    } else {
        export_bytes_text(line, "\"sort_index\":");
        export_bytes_uint(line, rank);
    }
    export_bytes_text(line, "}}");
    put_line(chrome);
}

static void write_metadata(struct chrome *chrome)
{
    const struct timeline *timeline = chrome->timeline;

    for (uint32_t i = 0; i < timeline->process_count; i++) {
        put_metadata(chrome, "process_name", i, TIMELINE_NONE, timeline->processes[i].name, 0);
        put_metadata(chrome, "process_sort_index", i, TIMELINE_NONE, NULL, i);
    }
    for (uint32_t i = 0; i < chrome->ids.device_count; i++) {
        uint32_t process = (uint32_t)timeline->process_count + i;

        put_metadata(chrome, "process_name", process, TIMELINE_NONE, chrome->ids.devices[i], 0);
        put_metadata(chrome, "process_sort_index", process, TIMELINE_NONE, NULL, process);
    }
    for (uint32_t i = 0; i < timeline->thread_count; i++) {
        char text[EXPORT_DEVICE_NAME];
        const char *name = export_thread_name(&chrome->ids, timeline, i, text);

        if (name[0])
            put_metadata(chrome, "thread_name", 0, i, name, 0);
        put_metadata(chrome, "thread_sort_index", 0, i, NULL, i);
    }
}

/* ---- slices ------------------------------------------------------------------ */

static void write_flow(struct chrome *chrome, uint32_t thread, const struct export_slice *slice)
{
    static const char *const steps[] = { "\"s\"", "\"t\"", "\"f\",\"bp\":\"e\"" };
    const struct export_flow *flow = export_flow_of(&chrome->flows, slice->index);
    struct ifg_bytes *line = &chrome->line;

    if (!flow)
        return;
    ifg_bytes_clear(line);
    put_head(line, "request", "request");
    export_bytes_text(line, "\"ph\":");
    export_bytes_text(line, steps[flow->step]);
    export_bytes_text(line, ",\"id\":");
    export_bytes_uint(line, flow->id);
    export_bytes_text(line, ",");
    put_thread(line, chrome, thread);
    put_ts(line, chrome, slice->start_ns);
    export_bytes_text(line, ",\"args\":{\"of_stages\":true}}"); /* the import needs them not */
    put_line(chrome);
}

static void write_launch(struct chrome *chrome, uint32_t thread, const struct export_slice *slice)
{
    const struct export_launch *launch = export_launch_of(&chrome->launches, slice->index);
    struct ifg_bytes *line = &chrome->line;

    if (!launch)
        return;
    ifg_bytes_clear(line);
    put_head(line, TRACE_FLOW_LAUNCH, TRACE_FLOW_LAUNCH);
    export_bytes_text(line, launch->is_work ? "\"ph\":\"f\",\"bp\":\"e\"" : "\"ph\":\"s\"");
    export_bytes_text(line, ",\"id\":");
    export_bytes_uint(line, launch->id);
    export_bytes_text(line, ",");
    put_thread(line, chrome, thread);
    put_ts(line, chrome, slice->start_ns);
    export_bytes_text(line, "}");
    put_line(chrome);
}

static void put_async(struct ifg_bytes *line, char phase, uint64_t id)
{
    static const char hex[] = "0123456789abcdef";
    char text[] = "\"ph\":\"b\",\"id2\":{\"local\":\"0x0000000000000000\"},";
    char *digit = text + sizeof text - 5;

    text[6] = phase;
    for (; id; id >>= 4)
        *digit-- = hex[id & 15];
    export_bytes_text(line, text);
}

/* A slice that does not nest. */
static void write_overlapping(struct chrome *chrome, uint32_t thread,
                              const struct export_cursor *cursor, const struct export_slice *slice)
{
    struct ifg_bytes *line = &chrome->line;
    const char *category = slice_category(chrome->timeline, slice);
    uint64_t id = OVERLAP_ID | ++chrome->overlapping;

    for (int end = 0; end < 2; end++) {
        ifg_bytes_clear(line);
        put_head(line, export_name(cursor, slice), category);
        put_async(line, end ? 'e' : 'b', id);
        put_thread(line, chrome, thread);
        put_ts(line, chrome, end ? slice->end_ns : slice->start_ns);
        if (!end)
            put_args(chrome, line, slice->location, slice);
        export_bytes_text(line, "}");
        put_line(chrome);
    }
}

/* A slice with attributes. */
static void write_special(struct chrome *chrome, uint32_t thread,
                          const struct export_cursor *cursor, const struct export_slice *slice)
{
    struct ifg_bytes *line = &chrome->line;
    char digits[EXPORT_DIGITS];

    ifg_bytes_clear(line);
    put_head(line, export_name(cursor, slice), slice_category(chrome->timeline, slice));
    export_bytes_text(line, "\"ph\":\"X\",");
    put_thread(line, chrome, thread);
    put_ts(line, chrome, slice->start_ns);
    export_bytes_text(line, ",\"dur\":");
    ifg_bytes_put(line, digits,
                  (size_t)(export_us(digits, slice->end_ns - slice->start_ns) - digits));
    put_args(chrome, line, slice->location, slice);
    export_bytes_text(line, "}");
    put_line(chrome);
}

/* All others: three texts and two numbers. */
static void write_plain(struct chrome *chrome, uint32_t thread, const struct export_slice *slice)
{
    struct export_sink *sink = chrome->sink;
    const struct export_text *args = &chrome->args.items[slice->location];
    char *out;

    export_put_cached(sink, &chrome->heads, slice->location);
    export_put_cached(sink, &chrome->threads, thread);
    out = export_room(sink, 2 * EXPORT_DIGITS + 64);
    memcpy(out, ",\"ts\":", 6);
    out = export_us(out + 6, slice->start_ns - chrome->begin_ns);
    memcpy(out, ",\"dur\":", 7);
    out = export_us(out + 7, slice->end_ns - slice->start_ns);
    if (args->size) {
        memcpy(out, ",\"args\":{", 9);
        export_advance(sink, out + 9);
        export_put(sink, chrome->args.bytes.data + args->offset + 1, args->size - 1);
        export_put(sink, "}}", 2);
    } else {
        *out++ = '}';
        export_advance(sink, out);
    }
}

static enum ifg_status write_thread(struct chrome *chrome, uint32_t thread,
                                    struct export_nest *nest)
{
    struct export_cursor cursor;
    struct export_slice slice;
    bool flows = chrome->flows.count > 0;

    if (!export_cursor_init(&cursor, chrome->job, thread))
        return IFG_OK;
    nest->count = 0;
    while (export_next(&cursor, &slice)) {
        chrome->job->result->slices++;
        while (export_nest_ended(nest, slice.start_ns))
            nest->count--;
        if (__builtin_expect(export_nest_overlaps(nest, slice.end_ns), 0)) {
            write_overlapping(chrome, thread, &cursor, &slice);
            if (chrome->launches.count)
                write_launch(chrome, thread, &slice);
            continue;
        }
        if (!export_nest_push(nest, &slice))
            return export_no_memory(chrome->job);
        if (__builtin_expect(slice.attribute_count || slice.unfinished, 0)) {
            write_special(chrome, thread, &cursor, &slice);
            if (flows)
                write_flow(chrome, thread, &slice);
            if (chrome->launches.count)
                write_launch(chrome, thread, &slice);
        } else {
            write_plain(chrome, thread, &slice);
        }
    }
    return IFG_OK;
}

/* ---- everything else --------------------------------------------------------- */

static void write_spans(struct chrome *chrome)
{
    const struct timeline *timeline = chrome->timeline;
    struct ifg_bytes *line = &chrome->line;

    for (size_t i = 0; i < timeline->async_count; i++) {
        const struct timeline_async *span = &timeline->asyncs[i];
        const struct timeline_location *location = &timeline->locations[span->location];
        struct export_slice slice = { .unfinished = span->end_thread == TIMELINE_NONE };

        if (!export_wants_span(chrome->job, span))
            continue;
        for (int end = 0; end < 2; end++) {
            ifg_bytes_clear(line);
            put_head(line, location->name, category_of(location));
            put_async(line, end ? 'e' : 'b', span->id);
            put_thread(line, chrome,
                       end && !slice.unfinished ? span->end_thread : span->begin_thread);
            put_ts(line, chrome, end ? span->end_ns : span->start_ns);
            if (!end)
                put_args(chrome, line, span->location, &slice);
            export_bytes_text(line, "}");
            put_line(chrome);
        }
        chrome->job->result->spans++;
    }
}

/* Readers tell flows apart by name, id and category, whatever the process: so that of a second
 * process has its number in the category. */
static void put_flow_head(struct chrome *chrome, struct ifg_bytes *line,
                          const struct timeline_flow_point *point)
{
    const struct timeline *timeline = chrome->timeline;
    uint32_t process = timeline->threads[point->thread].process;
    char category[32] = "flow";

    if (process && process < timeline->process_count && !(point->flags & TRACE_FLOW_WORLD))
        snprintf(category, sizeof category, "flow %u", chrome->ids.pids[process]);
    put_head(line, timeline->locations[point->location].name, category);
}

static void write_flow_points(struct chrome *chrome)
{
    static const char *const phases[] = { "s", "t", "f" };
    const struct timeline *timeline = chrome->timeline;
    struct ifg_bytes *line = &chrome->line;
    char rest[64];

    for (size_t i = 0; i < timeline->flow_point_count; i++) {
        const struct timeline_flow_point *point = &timeline->flow_points[i];
        bool around = point->kind == TIMELINE_FLOW_END && !(point->flags & TRACE_FLOW_NEXT);

        if (!export_wants_event(chrome->job, point->thread, point->location, point->ns))
            continue;
        ifg_bytes_clear(line);
        put_flow_head(chrome, line, point);
        snprintf(rest, sizeof rest, "\"ph\":\"%s\",%s\"id\":\"0x%llx\",", phases[point->kind],
                 around ? "\"bp\":\"e\"," : "", (unsigned long long)point->id);
        export_bytes_text(line, rest);
        put_thread(line, chrome, point->thread);
        put_ts(line, chrome, point->ns);
        export_bytes_text(line, "}");
        put_line(chrome);
    }
}

static void write_value(struct chrome *chrome, uint32_t process, const char *name, const char *key,
                        uint64_t ns, double value)
{
    struct ifg_bytes *line = &chrome->line;
    char digits[EXPORT_DIGITS];

    if (!isfinite(value)) {
        chrome->no_numbers++;
        return;
    }
    ifg_bytes_clear(line);
    put_head(line, name, "counter");
    export_bytes_text(line, "\"ph\":\"C\",");
    put_process(line, chrome, process);
    put_ts(line, chrome, ns);
    export_bytes_text(line, ",\"args\":{\"");
    export_bytes_text(line, key);
    export_bytes_text(line, "\":");
    ifg_bytes_put(line, digits, (size_t)(export_double(digits, value) - digits));
    export_bytes_text(line, "}}");
    put_line(chrome);
    chrome->job->result->values++;
}

static enum ifg_status write_counters(struct chrome *chrome)
{
    const struct timeline *timeline = chrome->timeline;
    struct export_memory *memory = NULL;
    uint32_t *same_names = NULL;
    enum ifg_status status = IFG_OK;

    for (size_t i = 0; i < timeline->counter_count; i++) {
        const struct timeline_counter *counter = &timeline->counters[i];
        const struct timeline_location *location = &timeline->locations[counter->location];

        if (export_wants_event(chrome->job, counter->thread, counter->location, counter->ns))
            write_value(chrome, location->process, location->name, "value", counter->ns,
                        counter->value);
    }
    if (timeline->allocation_count == 0)
        return IFG_OK;
    same_names = export_same_names(timeline);
    memory = same_names ? export_memory_create(timeline, same_names) : NULL;
    if (!memory)
        status = export_no_memory(chrome->job);
    for (size_t i = 0; memory && i < timeline->allocation_count; i++) {
        const struct timeline_allocation *event = &timeline->allocations[i];
        const struct timeline_location *location = &timeline->locations[event->location];
        uint64_t bytes = export_memory_next(memory, event);

        if (export_wants_event(chrome->job, event->thread, event->location, event->ns))
            write_value(chrome, location->process, location->name, "bytes", event->ns,
                        (double)bytes);
    }
    export_memory_destroy(memory);
    ifg_free(same_names);
    return status;
}

static void write_mark(struct chrome *chrome, const char *name, const char *category,
                       uint32_t thread, uint64_t ns, const char *level)
{
    struct ifg_bytes *line = &chrome->line;

    ifg_bytes_clear(line);
    put_head(line, name, category);
    export_bytes_text(line, "\"ph\":\"i\",\"s\":\"t\",");
    put_thread(line, chrome, thread);
    put_ts(line, chrome, ns);
    if (level) {
        export_bytes_text(line, ",\"args\":{\"level\":\"");
        export_bytes_text(line, level);
        export_bytes_text(line, "\"}");
    }
    export_bytes_text(line, "}");
    put_line(chrome);
    chrome->job->result->marks++;
}

static void write_marks(struct chrome *chrome)
{
    static const char *const levels[] = { "trace", "debug", "info", "warning", "error" };
    const struct timeline *timeline = chrome->timeline;

    for (size_t i = 0; i < timeline->message_count; i++) {
        const struct timeline_message *message = &timeline->messages[i];

        if (export_wants_event(chrome->job, message->thread, TIMELINE_NONE, message->ns))
            write_mark(chrome, message->text, "message", message->thread, message->ns,
                       message->level < 5 ? levels[message->level] : "other");
    }
    for (size_t i = 0; i < timeline->frame_count; i++) {
        const struct timeline_frame *frame = &timeline->frames[i];

        if (export_wants_event(chrome->job, frame->thread, frame->location, frame->ns))
            write_mark(chrome, timeline->locations[frame->location].name, "frame", frame->thread,
                       frame->ns, NULL);
    }
}

/* Goes behind all events. */
static enum ifg_status write_samples(struct chrome *chrome)
{
    struct sampled *sampled = ifg_alloc(1, sizeof *sampled);
    enum ifg_status status =
        sampled ? sampled_init(sampled, chrome->job) : export_no_memory(chrome->job);

    if (!status && sampled->profile)
        status = export_chrome_samples(sampled, chrome->begin_ns);
    if (sampled)
        sampled_fini(sampled);
    ifg_free(sampled);
    return status;
}

static enum ifg_status write_tail(struct chrome *chrome)
{
    enum ifg_status status = IFG_OK;
    const struct timeline *timeline = chrome->timeline;
    struct ifg_bytes *line = &chrome->line;
    struct ifg_json json = { line, false };

    export_put_text(chrome->sink, "\n]");
    if (sampled_is_wanted(chrome->job))
        status = write_samples(chrome);
    ifg_bytes_clear(line);
    export_bytes_text(line, ",\"displayTimeUnit\":\"ns\",\"otherData\":");
    ifg_json_open(&json, '{');
    ifg_json_key(&json, "tool");
    ifg_json_string(&json, "inferogram " INFEROGRAM_VERSION);
    ifg_json_key(&json, "begin_monotonic_ns");
    ifg_json_uint(&json, chrome->begin_ns);
    if (timeline->realtime_offset_ns) {
        ifg_json_key(&json, "begin_realtime_ns");
        ifg_json_uint(&json, chrome->begin_ns + (uint64_t)timeline->realtime_offset_ns);
    }
    ifg_json_key(&json, "dropped");
    ifg_json_uint(&json, timeline->dropped);
    ifg_json_key(&json, "overlapping");
    ifg_json_uint(&json, chrome->overlapping);
    ifg_json_close(&json, '}');
    export_bytes_text(line, "}\n");
    chrome->first = false;
    put_line(chrome);
    return status;
}

/* ---- together ---------------------------------------------------------------- */

static bool make_texts(struct chrome *chrome)
{
    const struct timeline *timeline = chrome->timeline;

    if (!export_texts_init(&chrome->heads, timeline->location_count) ||
        !export_texts_init(&chrome->args, timeline->location_count) ||
        !export_texts_init(&chrome->threads, timeline->thread_count))
        return false;
    for (size_t i = 0; i < timeline->location_count; i++) {
        const struct timeline_location *location = &timeline->locations[i];

        export_texts_begin(&chrome->heads, i);
        put_head(&chrome->heads.bytes, location->name, category_of(location));
        export_bytes_text(&chrome->heads.bytes, "\"ph\":\"X\",");
        export_texts_end(&chrome->heads, i);
        export_texts_begin(&chrome->args, i);
        put_location_args(&chrome->args.bytes, timeline, location);
        export_texts_end(&chrome->args, i);
    }
    for (size_t i = 0; i < timeline->thread_count; i++) {
        export_texts_begin(&chrome->threads, i);
        put_process(&chrome->threads.bytes, chrome, chrome->ids.homes[i]);
        export_bytes_text(&chrome->threads.bytes, ",\"tid\":");
        export_bytes_uint(&chrome->threads.bytes, chrome->ids.tids[i]);
        export_texts_end(&chrome->threads, i);
    }
    return !chrome->heads.bytes.failed && !chrome->args.bytes.failed &&
           !chrome->threads.bytes.failed;
}

static void say_what_changed(struct chrome *chrome)
{
    struct export_job *job = chrome->job;

    job->result->overlapping = chrome->overlapping;
    if (chrome->overlapping)
        export_note(job, "slices that overlap the one around them: %llu; they became async events",
                    (unsigned long long)chrome->overlapping);
    if (chrome->no_numbers)
        export_note(job, "values of counters that are no numbers: %llu; they were left out",
                    (unsigned long long)chrome->no_numbers);
    if (chrome->ids.changed)
        export_note(job,
                    "processes or threads that use a number again: %llu; 10000000 was added to it",
                    (unsigned long long)chrome->ids.changed);
}

static enum ifg_status write_chrome(struct export_job *job)
{
    struct chrome chrome = {
        .job = job, .sink = job->sink, .timeline = job->timeline, .first = true
    };
    struct export_nest nest = { 0 };
    enum ifg_status status;

    chrome.begin_ns = job->timeline->begin_ns;
    ifg_bytes_init(&chrome.line, 64u << 20);
    status = export_ids_init(&chrome.ids, job);
    if (!status)
        status = export_flows_init(&chrome.flows, job);
    if (!status)
        status = export_launches_init(&chrome.launches, job);
    if (!status && !make_texts(&chrome))
        status = export_no_memory(job);
    if (!status) {
        export_put_text(job->sink, "{\"traceEvents\":[\n");
        write_metadata(&chrome);
        for (uint32_t i = 0; i < job->timeline->thread_count && !status; i++)
            status = write_thread(&chrome, i, &nest);
        write_spans(&chrome);
        write_flow_points(&chrome);
        if (!status)
            status = write_counters(&chrome);
        write_marks(&chrome);
        if (!status && !chrome.first)
            status = export_chrome_states(job, &chrome.ids);
        if (!status)
            status = write_tail(&chrome);
        say_what_changed(&chrome);
    }
    if (!status && chrome.failed)
        status = export_no_memory(job);
    export_nest_fini(&nest);
    ifg_bytes_fini(&chrome.line);
    export_texts_fini(&chrome.heads);
    export_texts_fini(&chrome.args);
    export_texts_fini(&chrome.threads);
    export_flows_fini(&chrome.flows);
    export_launches_fini(&chrome.launches);
    export_ids_fini(&chrome.ids);
    return status;
}

const struct export_format export_format_chrome = {
    .name = "chrome",
    .extension = ".json",
    .summary = "Chrome trace JSON, as Perfetto's importer reads it",
    .takes = EXPORT_TAKES_STACKS,
    .write = write_chrome,
};
