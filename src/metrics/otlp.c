// SPDX-License-Identifier: Apache-2.0
/*
 * Messages of OTLP: see otlp.h. A message's length comes before it, so each level is built in bytes
 * of its own; field numbers are those of opentelemetry/proto/{common,resource,metrics,trace}/v1.
 */
#include "metrics/otlp.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "analyze/findings/findings.h"
#include "base/proto.h"
#include "timeline/timeline.h"

enum { TEMPORALITY_CUMULATIVE = 2, SPAN_INTERNAL = 1, STATUS_ERROR = 2 };

enum instrument_type { GAUGE, COUNTER };

/* Bytes that are built: one for each level. */
struct levels {
    struct ifg_bytes scope;     /* ScopeMetrics, ScopeSpans */
    struct ifg_bytes metric;    /* Metric, Span */
    struct ifg_bytes data;      /* Gauge, Sum, Histogram */
    struct ifg_bytes point;     /* a data point */
    struct ifg_bytes attribute; /* KeyValue */
    struct ifg_bytes value;     /* AnyValue, and other small ones */
    const struct otlp_view *view;
};

static void begin(struct levels *levels, const struct otlp_view *view)
{
    memset(levels, 0, sizeof *levels);
    ifg_bytes_init(&levels->scope, OTLP_BYTES_MOST);
    ifg_bytes_init(&levels->metric, OTLP_BYTES_MOST);
    ifg_bytes_init(&levels->data, OTLP_BYTES_MOST);
    ifg_bytes_init(&levels->point, OTLP_BYTES_MOST);
    ifg_bytes_init(&levels->attribute, OTLP_BYTES_MOST);
    ifg_bytes_init(&levels->value, OTLP_BYTES_MOST);
    levels->view = view;
}

static void end(struct levels *levels)
{
    ifg_bytes_fini(&levels->scope);
    ifg_bytes_fini(&levels->metric);
    ifg_bytes_fini(&levels->data);
    ifg_bytes_fini(&levels->point);
    ifg_bytes_fini(&levels->attribute);
    ifg_bytes_fini(&levels->value);
}

/* ---- attributes ---- */

/* What is in levels->value. */
static void put_attribute(struct levels *levels, struct ifg_bytes *out, uint32_t field,
                          const char *key)
{
    ifg_bytes_clear(&levels->attribute);
    proto_string(&levels->attribute, 1, key);
    proto_message(&levels->attribute, 2, &levels->value);
    proto_message(out, field, &levels->attribute);
}

static void put_text(struct levels *levels, struct ifg_bytes *out, uint32_t field, const char *key,
                     const char *text)
{
    ifg_bytes_clear(&levels->value);
    proto_text(&levels->value, 1, text);
    put_attribute(levels, out, field, key);
}

static void put_int(struct levels *levels, struct ifg_bytes *out, uint32_t field, const char *key,
                    uint64_t number)
{
    ifg_bytes_clear(&levels->value);
    proto_uint(&levels->value, 3, number);
    put_attribute(levels, out, field, key);
}

static const char *category_of(const struct tally_labels *labels)
{
    return labels->category < TRACE_CATEGORIES
               ? timeline_category_name((enum trace_category)labels->category)
               : "none";
}

static void put_labels(struct levels *levels, struct ifg_bytes *out, uint32_t field,
                       const struct tally_labels *labels)
{
    put_text(levels, out, field, "program", labels->program);
    put_text(levels, out, field, "model", labels->model);
    put_text(levels, out, field, "function", labels->function);
    put_text(levels, out, field, "category", category_of(labels));
    put_text(levels, out, field, "device", labels->device);
}

/* pid 0: there is no single one. */
static void put_resource(struct levels *levels, struct ifg_bytes *out, const char *service,
                         const char *version, uint32_t pid)
{
    struct ifg_bytes *resource = &levels->data;

    ifg_bytes_clear(resource);
    put_text(levels, resource, 1, "service.name", service);
    if (version)
        put_text(levels, resource, 1, "service.version", version);
    put_text(levels, resource, 1, "host.name", levels->view->host);
    if (pid)
        put_int(levels, resource, 1, "process.pid", pid);
    proto_message(out, 1, resource);
}

static void put_scope(struct levels *levels, struct ifg_bytes *out)
{
    ifg_bytes_clear(&levels->value);
    proto_string(&levels->value, 1, "inferogram");
    proto_string(&levels->value, 2, levels->view->metrics->version);
    proto_message(out, 1, &levels->value);
}

/* ---- metrics ---- */

static void begin_metric(struct levels *levels, const char *name, const char *unit)
{
    ifg_bytes_clear(&levels->metric);
    ifg_bytes_clear(&levels->data);
    proto_string(&levels->metric, 1, name);
    if (unit)
        proto_string(&levels->metric, 3, unit);
}

static void begin_point(struct levels *levels)
{
    ifg_bytes_clear(&levels->point);
    proto_fixed64(&levels->point, 2, levels->view->start_ns);
    proto_fixed64(&levels->point, 3, levels->view->now_ns);
}

static void put_count(struct levels *levels, uint64_t value)
{
    proto_fixed64(&levels->point, 6, value);
    proto_message(&levels->data, 1, &levels->point);
}

static void end_metric(struct levels *levels, enum instrument_type type)
{
    if (type == COUNTER) {
        proto_uint(&levels->data, 2, TEMPORALITY_CUMULATIVE);
        proto_uint(&levels->data, 3, true);
    }
    proto_message(&levels->metric, type == COUNTER ? 7 : 5, &levels->data);
    proto_message(&levels->scope, 2, &levels->metric);
}

static void put_plain(struct levels *levels, const char *name, const char *unit,
                      enum instrument_type type, uint64_t value)
{
    begin_metric(levels, name, unit);
    begin_point(levels);
    put_count(levels, value);
    end_metric(levels, type);
}

static void put_number(struct levels *levels, const char *name, const char *unit,
                       enum instrument_type type, double value)
{
    if (isnan(value))
        return;
    begin_metric(levels, name, unit);
    begin_point(levels);
    proto_double(&levels->point, 4, value);
    proto_message(&levels->data, 1, &levels->point);
    end_metric(levels, type);
}

static void put_fixed(struct ifg_bytes *out, uint64_t value)
{
    uint8_t bytes[8];

    for (size_t i = 0; i < sizeof bytes; i++)
        bytes[i] = (uint8_t)(value >> (8 * i));
    ifg_bytes_put(out, bytes, sizeof bytes);
}

/* Buckets and bounds are packed: eight bytes each, one after the other. */
static void put_histogram(struct levels *levels, const struct tally_series *series)
{
    struct ifg_bytes *point = &levels->point;
    struct ifg_bytes *packed = &levels->value;
    uint64_t count = 0;

    begin_point(levels);
    proto_double(point, 5, 1e-9 * (double)atomic_load(&series->sum_ns));
    ifg_bytes_clear(packed);
    for (size_t i = 0; i <= TALLY_BOUNDS; i++) {
        uint64_t bucket = atomic_load_explicit(&series->buckets[i], memory_order_relaxed);

        put_fixed(packed, bucket);
        count += bucket;
    }
    proto_message(point, 6, packed);
    proto_fixed64(point, 4, count);
    ifg_bytes_clear(packed);
    for (size_t i = 0; i < TALLY_BOUNDS; i++) {
        double bound = (double)tally_bound_ns(i) / 1e9;
        uint64_t bits;

        memcpy(&bits, &bound, sizeof bits);
        put_fixed(packed, bits);
    }
    proto_message(point, 7, packed);
    put_labels(levels, point, 9, &series->labels);
    proto_message(&levels->data, 1, point);
}

static void put_events(struct levels *levels, const struct tally *tally)
{
    uint32_t count = atomic_load_explicit(&tally->count, memory_order_acquire);

    if (!count)
        return;
    begin_metric(levels, "inferogram.event.duration", "s");
    for (uint32_t i = 0; i < count; i++)
        put_histogram(levels, &tally->series[i]);
    proto_uint(&levels->data, 2, TEMPORALITY_CUMULATIVE);
    proto_message(&levels->metric, 9, &levels->data);
    proto_message(&levels->scope, 2, &levels->metric);

    begin_metric(levels, "inferogram.event.failures", NULL);
    for (uint32_t i = 0; i < count; i++) {
        begin_point(levels);
        put_labels(levels, &levels->point, 7, &tally->series[i].labels);
        put_count(levels, atomic_load(&tally->series[i].failures));
    }
    end_metric(levels, COUNTER);
}

static void put_problems(struct levels *levels, const struct problems *problems)
{
    if (!problems->window_count)
        return; /* not known, which is not none */
    if (problems->count)
        begin_metric(levels, "inferogram.findings", NULL);
    for (uint32_t i = 0; i < problems->count; i++) {
        const struct problem *problem = &problems->items[i];
        enum finding_severity severity = (enum finding_severity)problem->severity;

        begin_point(levels);
        put_text(levels, &levels->point, 7, "program", problem->program);
        put_text(levels, &levels->point, 7, "model", problem->model);
        put_text(levels, &levels->point, 7, "finding", problem->id);
        put_text(levels, &levels->point, 7, "severity", finding_severity_name(severity));
        put_count(levels, problem->count);
    }
    if (problems->count)
        end_metric(levels, GAUGE);
    begin_metric(levels, "inferogram.findings.window", "s");
    for (uint32_t i = 0; i < problems->window_count; i++) {
        begin_point(levels);
        put_text(levels, &levels->point, 7, "program", problems->windows[i].program);
        proto_double(&levels->point, 4, problems->windows[i].seconds);
        proto_message(&levels->data, 1, &levels->point);
    }
    end_metric(levels, GAUGE);
    put_plain(levels, "inferogram.findings.not_shown", NULL, GAUGE, problems->not_kept);
}

static void put_programs(struct levels *levels, const struct metrics_view *view)
{
    begin_metric(levels, "inferogram.programs", NULL);
    for (size_t i = 0; i < PROGRAM_STATES; i++) {
        begin_point(levels);
        put_text(levels, &levels->point, 7, "state", metrics_program_states[i]);
        put_count(levels, view->programs[i]);
    }
    end_metric(levels, GAUGE);
}

static void put_own(struct levels *levels, const struct metrics_view *view)
{
    const struct otlp_view *own = levels->view;
    const struct tally *tally = view->tally;

    put_plain(levels, "inferogram.recorded_events", NULL, COUNTER, atomic_load(&tally->events));
    put_plain(levels, "inferogram.dropped_events", NULL, COUNTER, atomic_load(&tally->dropped));
    put_plain(levels, "inferogram.unread_blocks", NULL, COUNTER, atomic_load(&tally->damaged));
    put_plain(levels, "inferogram.series", NULL, GAUGE, atomic_load(&tally->count));
    put_plain(levels, "inferogram.series_limit_reached", NULL, GAUGE, atomic_load(&tally->is_full));
    put_number(levels, "inferogram.cpu", "s", COUNTER, view->cpu_s);
    put_number(levels, "inferogram.resident_memory", "By", GAUGE, view->memory_bytes);
    put_plain(levels, "inferogram.spans_sent", NULL, COUNTER, own->spans_sent);
    put_plain(levels, "inferogram.spans_not_sent", NULL, COUNTER, own->spans_not_sent);
    put_plain(levels, "inferogram.exports_failed", NULL, COUNTER, own->exports_failed);
}

void otlp_put_metrics(struct ifg_bytes *out, const struct otlp_view *view)
{
    const struct metrics_view *metrics = view->metrics;
    struct ifg_bytes resource;
    struct levels levels;

    begin(&levels, view);
    ifg_bytes_init(&resource, OTLP_BYTES_MOST);
    put_resource(&levels, &resource, "inferogram", metrics->version, 0);
    put_scope(&levels, &levels.scope);
    put_events(&levels, metrics->tally);
    put_problems(&levels, metrics->problems);
    put_programs(&levels, metrics);
    put_own(&levels, metrics);
    proto_message(&resource, 2, &levels.scope);
    proto_message(out, 1, &resource);
    ifg_bytes_fini(&resource);
    end(&levels);
}

/* ---- spans ---- */

static void put_span(struct levels *levels, const struct queued_span *span)
{
    struct ifg_bytes *to = &levels->metric;
    char name[sizeof span->labels.model + 32];

    snprintf(name, sizeof name, "%s%s%s", category_of(&span->labels),
             *span->labels.model ? " " : "", span->labels.model);
    ifg_bytes_clear(to);
    proto_bytes(to, 1, span->trace_id, sizeof span->trace_id);
    proto_bytes(to, 2, span->span_id, sizeof span->span_id);
    proto_text(to, 5, name);
    proto_uint(to, 6, SPAN_INTERNAL);
    proto_fixed64(to, 7, span->start_ns);
    proto_fixed64(to, 8, span->end_ns);
    put_labels(levels, to, 9, &span->labels);
    if (span->has_failed) {
        ifg_bytes_clear(&levels->value);
        proto_uint(&levels->value, 3, STATUS_ERROR);
        proto_message(to, 15, &levels->value);
    }
    proto_message(&levels->scope, 2, to);
}

static bool is_same_process(const struct queued_span *a, const struct queued_span *b)
{
    return a->pid == b->pid && strcmp(a->labels.program, b->labels.program) == 0;
}

void otlp_put_spans(struct ifg_bytes *out, const struct queued_span *spans, size_t count,
                    const struct otlp_view *view)
{
    struct ifg_bytes resource;
    struct levels levels;

    begin(&levels, view);
    ifg_bytes_init(&resource, OTLP_BYTES_MOST);
    /* One resource for those of a process that come one after the other. */
    for (size_t i = 0; i < count;) {
        size_t first = i;

        ifg_bytes_clear(&resource);
        ifg_bytes_clear(&levels.scope);
        put_resource(&levels, &resource, spans[i].labels.program, NULL, spans[i].pid);
        put_scope(&levels, &levels.scope);
        for (; i < count && is_same_process(&spans[first], &spans[i]); i++)
            put_span(&levels, &spans[i]);
        proto_message(&resource, 2, &levels.scope);
        proto_message(out, 1, &resource);
    }
    ifg_bytes_fini(&resource);
    end(&levels);
}

/* ---- replies ---- */

/* The next field: *out_number of a plain one, *out_bytes of one with a length. 0: the end. */
static uint32_t next_field(struct ifg_cursor *cursor, uint64_t *out_number,
                           struct ifg_cursor *out_bytes)
{
    uint64_t tag;
    uint64_t size = 0;

    *out_number = 0;
    *out_bytes = ifg_cursor_over("", 0);
    if (!ifg_cursor_left(cursor))
        return 0;
    tag = ifg_cursor_varint(cursor);
    switch (tag & 7) {
    case 0:
        *out_number = ifg_cursor_varint(cursor);
        break;
    case 1:
        size = 8;
        break;
    case 2:
        size = ifg_cursor_varint(cursor);
        break;
    case 5:
        size = 4;
        break;
    default:
        cursor->failed = true;
    }
    if (cursor->failed || size > ifg_cursor_left(cursor) || tag >> 3 == 0 ||
        tag >> 3 > UINT32_MAX) {
        cursor->failed = true;
        return 0;
    }
    *out_bytes = ifg_cursor_over(cursor->at, (size_t)size);
    cursor->at += size;
    return (uint32_t)(tag >> 3);
}

/* A collector may be anybody: what it says goes to a terminal. */
static void set_message(struct otlp_reply *reply, const struct ifg_cursor *text)
{
    size_t size = ifg_cursor_left(text);

    if (size >= sizeof reply->message)
        size = sizeof reply->message - 1;
    for (size_t i = 0; i < size; i++)
        reply->message[i] = text->at[i] >= 0x20 && text->at[i] < 0x7f ? (char)text->at[i] : '?';
    reply->message[size] = '\0';
}

/* ExportMetricsPartialSuccess, ExportTracePartialSuccess. */
static bool read_partial(struct ifg_cursor *cursor, struct otlp_reply *reply)
{
    struct ifg_cursor text;
    uint64_t number;
    uint32_t field;

    while ((field = next_field(cursor, &number, &text))) {
        if (field == 1)
            reply->rejected = number <= INT64_MAX ? number : 0;
        else if (field == 2)
            set_message(reply, &text);
    }
    return !cursor->failed;
}

bool otlp_read_reply(const void *data, size_t size, struct otlp_reply *out_reply)
{
    struct ifg_cursor cursor = ifg_cursor_over(data, size);
    struct ifg_cursor partial;
    uint64_t number;
    uint32_t field;

    memset(out_reply, 0, sizeof *out_reply);
    while ((field = next_field(&cursor, &number, &partial)))
        if (field == 1 && !read_partial(&partial, out_reply))
            return false;
    return !cursor.failed;
}
