// SPDX-License-Identifier: Apache-2.0
/* What each record of an IREE profile becomes: see docs/iree.md for the table. */
#include "import/ireeperf.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/array.h"
#include "import/ireeperf_internal.h"
#include "trace/keys.h"

#define SCHEMA_VERSION 15
#define NO_ORDINAL     UINT32_MAX
#define DROPPED_MAX    (UINT64_C(1) << 40) /* more is no count */
#define HOW                                                                                        \
    "; export the profile with 'iree-profile export --format=ireeperf-jsonl' and import the "      \
    "result"

enum what { SPAN, MOMENT, TICKS, METRICS, COUNTS, CLOCK, COUNTER, PROBLEM, SCHEMA, ABOUT };

/* The kinds of records. ABOUT are those that describe: names of functions are in the events. */
static const struct kind {
    const char *name;
    enum what what;
    const char *begin; /* the field with its time */
    const char *end;
    const char *lane; /* behind the name of the queue */
} kinds[] = {
    { "schema", SCHEMA, NULL, NULL, NULL },
    { "host_execution_event", SPAN, "start_host_time_ns", "end_host_time_ns", "" },
    { "command_region_event", SPAN, "start_host_time_ns", "end_host_time_ns", " regions" },
    { "queue_event", SPAN, "host_time_ns", "ready_host_time_ns", " submissions" },
    { "memory_event", MOMENT, "host_time_ns", NULL, " memory" },
    { "dispatch_event", TICKS, "start_tick", "end_tick", " on the device" },
    { "queue_device_event", TICKS, "start_tick", "end_tick", " on the device" },
    { "counter_sample", COUNTS, "start_tick", "end_tick", " on the device" },
    { "device_metric_sample", METRICS, "host_time_begin_ns", NULL, " metrics" },
    { "clock_correlation", CLOCK, NULL, NULL, NULL },
    { "counter", COUNTER, NULL, NULL, NULL },
    { "diagnostic", PROBLEM, NULL, NULL, NULL },
    { "session", ABOUT, NULL, NULL, NULL },
    { "device", ABOUT, NULL, NULL, NULL },
    { "queue", ABOUT, NULL, NULL, NULL },
    { "executable", ABOUT, NULL, NULL, NULL },
    { "executable_function", ABOUT, NULL, NULL, NULL },
    { "executable_trace", ABOUT, NULL, NULL, NULL },
    { "command_buffer", ABOUT, NULL, NULL, NULL },
    { "command_operation", ABOUT, NULL, NULL, NULL },
    { "event_relationship", ABOUT, NULL, NULL, NULL },
    { "counter_set", ABOUT, NULL, NULL, NULL },
    { "device_metric_source", ABOUT, NULL, NULL, NULL },
    { "device_metric_descriptor", ABOUT, NULL, NULL, NULL },
};
#define KINDS (sizeof kinds / sizeof kinds[0])
_Static_assert(KINDS == IREEPERF_KINDS, "each kind is counted");

static bool is_false(const struct event *record, const char *key)
{
    const struct value *value = ireeperf_field(record, key);

    return value->kind == VALUE_WORD && value->bytes == 5;
}

static const char *lane_of(struct ireeperf *profile, const struct event *record,
                           const struct kind *kind)
{
    uint64_t device = 0;
    uint64_t queue = NO_ORDINAL;
    int used;

    (void)ireeperf_number(record, "physical_device_ordinal", &device);
    (void)ireeperf_number(record, "queue_ordinal", &queue);
    used = snprintf(profile->lane, sizeof profile->lane, "device %" PRIu32, (uint32_t)device);
    if (queue < NO_ORDINAL)
        used += snprintf(profile->lane + used, sizeof profile->lane - (size_t)used,
                         " queue %" PRIu32, (uint32_t)queue);
    snprintf(profile->lane + used, sizeof profile->lane - (size_t)used, "%s",
             kind ? kind->lane : "");
    return profile->lane;
}

/* Is this argument said elsewhere, or the number that means none? */
static bool is_left_out(const struct event_arg *arg)
{
    static const char *const keys[] = { "schema_version",
                                        "record_type",
                                        "source_record_index",
                                        "physical_device_ordinal",
                                        "queue_ordinal",
                                        "host_time_domain",
                                        "device_tick_domain",
                                        "derived_time_available",
                                        "derived_time_domain",
                                        "derived_time_basis",
                                        "duration_time_domain",
                                        "clock_fit_first_sample_id",
                                        "clock_fit_last_sample_id",
                                        "start_driver_host_cpu_time_ns",
                                        "end_driver_host_cpu_time_ns",
                                        "start_host_time_ns",
                                        "end_host_time_ns",
                                        "duration_ns",
                                        "host_time_ns",
                                        "ready_host_time_ns",
                                        "key",
                                        "op",
                                        "valid",
                                        "status_code" };
    static const char *const nothings[] = { "4294967295", "18446744073709551615", "null",
                                            "[0,0,0]" };
    size_t bytes = arg->key_bytes;

    for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++)
        if (strlen(keys[i]) == bytes && memcmp(arg->key, keys[i], bytes) == 0)
            return true;
    for (size_t i = 0; i < sizeof nothings / sizeof nothings[0]; i++)
        if (arg->value.bytes == strlen(nothings[i]) &&
            memcmp(arg->value.text, nothings[i], arg->value.bytes) == 0)
            return true;
    return bytes > 3 && memcmp(arg->key + bytes - 3, "_id", 3) == 0 && arg->value.bytes == 1 &&
           arg->value.text[0] == '0';
}

static void copy_args(struct event *made, const struct event *record)
{
    for (size_t i = 0; i < record->arg_count; i++) {
        if (is_left_out(&record->args[i]))
            continue;
        if (made->arg_count < EVENT_ARGS_MAX)
            made->args[made->arg_count++] = record->args[i];
        else
            made->args_refused++;
    }
    made->args_refused += record->args_refused;
}

/* The function that was dispatched, or what a queue did. */
static void name_span(struct ireeperf *profile, const struct event *record, const struct kind *kind,
                      struct event *made)
{
    const struct value *key = ireeperf_field(record, "key");
    const struct value *op = ireeperf_field(record, "op");
    bool is_dispatch = event_value_is(op, "dispatch") ||
                       (op->kind == VALUE_MISSING && kind && kind->what == TICKS);

    made->category = ireeperf_text(is_dispatch ? "dispatch" : "");
    made->name = key->kind == VALUE_STRING && key->bytes ? *key : *op;
    if (!made->name.bytes)
        made->name = *ireeperf_field(record, "record_type");
    if (kind && kind->what == SPAN && strcmp(kind->begin, "host_time_ns") == 0) {
        snprintf(profile->name, sizeof profile->name, "%.*s until ready",
                 (int)(made->name.bytes < 1024 ? made->name.bytes : 1024), made->name.text);
        made->name = ireeperf_text(profile->name);
        made->category = ireeperf_text("");
    }
    if (is_dispatch && *made->category.text)
        ireeperf_add_arg(made, TRACE_KEY_OP_NAME, ireeperf_text("dispatch"));
}

static enum ifg_status add_span(struct ireeperf *profile, const struct event *record,
                                const struct kind *kind, int64_t begin_ns, int64_t end_ns)
{
    struct event *made = ireeperf_make(profile, "X", lane_of(profile, record, kind));
    char status[TEXT_BYTES];
    uint64_t code;

    made->ts = ireeperf_time(begin_ns, profile->begin);
    made->duration = ireeperf_time(end_ns - begin_ns, profile->length);
    name_span(profile, record, kind, made);
    if (ireeperf_number(record, "status_code", &code) && code) {
        snprintf(status, sizeof status, "error: status code %" PRIu64, code);
        ireeperf_add_arg(made, TRACE_KEY_STATUS, ireeperf_text(status));
    }
    copy_args(made, record);
    return import_event(profile->importer, made);
}

static enum ifg_status take_span(struct ireeperf *profile, const struct event *record,
                                 const struct kind *kind)
{
    struct importer *importer = profile->importer;
    int64_t begin_ns, end_ns;
    bool is_wait = kind && strcmp(kind->begin, "host_time_ns") == 0;
    const char *begin = kind ? kind->begin : "start_host_time_ns";
    const char *end = kind ? kind->end : "end_host_time_ns";

    if (is_false(record, "valid") || !ireeperf_host_time(record, begin, &begin_ns)) {
        import_count(importer, IMPORT_NOT_VALID, 1);
        return IFG_OK;
    }
    if (!ireeperf_host_time(record, end, &end_ns)) {
        if (!is_wait) {
            import_count(importer, IMPORT_NOT_VALID, 1);
            return IFG_OK;
        }
        end_ns = begin_ns; /* when it became ready is not known */
    }
    if (end_ns < begin_ns) {
        import_count(importer, IMPORT_NEGATIVE_DURATION, 1);
        return IFG_OK;
    }
    return add_span(profile, record, kind, begin_ns, end_ns);
}

static enum ifg_status take_memory(struct ireeperf *profile, const struct event *record,
                                   const struct kind *kind)
{
    static const char *const levels[][2] = { { "pool_bytes_reserved", "reserved" },
                                             { "pool_bytes_free", "free" },
                                             { "pool_bytes_committed", "committed" } };
    struct event *made = ireeperf_make(profile, "i", lane_of(profile, record, kind));
    const struct value *available = ireeperf_field(record, "pool_stats_available");
    enum ifg_status status;
    uint64_t device = 0, pool = 0;
    int64_t ns;

    if (!ireeperf_host_time(record, kind->begin, &ns)) {
        import_count(profile->importer, IMPORT_NOT_VALID, 1);
        return IFG_OK;
    }
    made->ts = ireeperf_time(ns, profile->begin);
    made->name = *ireeperf_field(record, "event_type");
    copy_args(made, record);
    status = import_event(profile->importer, made);
    if (available->kind != VALUE_WORD || available->bytes != 4)
        return status;
    (void)ireeperf_number(record, "physical_device_ordinal", &device);
    (void)ireeperf_number(record, "pool_id", &pool);
    for (size_t i = 0; i < sizeof levels / sizeof levels[0] && !status; i++) {
        snprintf(profile->name, sizeof profile->name,
                 "device %" PRIu64 " pool %" PRIu64 " bytes %s", device, pool, levels[i][1]);
        status =
            ireeperf_add_counter(profile, profile->name, ns, *ireeperf_field(record, levels[i][0]));
    }
    return status;
}

/* Time on a device, when all relations of clocks are known. */
static enum ifg_status take_ticks(struct ireeperf *profile, const struct event *record,
                                  const struct kind *kind)
{
    struct importer *importer = profile->importer;
    uint64_t begin_tick, end_tick;
    uint64_t device = 0;
    int64_t begin_ns, end_ns;

    if (is_false(record, "valid") || is_false(record, "device_tick_range_valid") ||
        !ireeperf_number(record, kind->begin, &begin_tick) ||
        !ireeperf_number(record, kind->end, &end_tick)) {
        import_count(importer, IMPORT_NOT_VALID, 1);
        return IFG_OK;
    }
    (void)ireeperf_number(record, "physical_device_ordinal", &device);
    if (!ireeperf_clock_convert(&profile->clocks, device, begin_tick, &begin_ns) ||
        !ireeperf_clock_convert(&profile->clocks, device, end_tick, &end_ns)) {
        import_count(importer, IMPORT_NO_CLOCK, 1);
        return IFG_OK;
    }
    if (end_ns < begin_ns) {
        import_count(importer, IMPORT_NEGATIVE_DURATION, 1);
        return IFG_OK;
    }
    if (kind->what == COUNTS) {
        lane_of(profile, record, kind);
        return ireeperf_add_counts(profile, record, end_ns);
    }
    return add_span(profile, record, kind, begin_ns, end_ns);
}

static enum ifg_status put_off(struct ireeperf *profile, const struct line *line)
{
    struct importer *importer = profile->importer;
    struct waiting waiting = { .line = importer->offset };
    enum ifg_status status = store_put_details(importer->store, line->text, line->bytes,
                                               &waiting.details, importer->err);

    if (status)
        return status;
    if (!IFG_ARRAY_ROOM(profile->waiting, profile->waiting_capacity, profile->waiting_count + 1,
                        IFG_ARRAY_ANY))
        return ifg_fail_no_memory(importer->err, "to import");
    profile->waiting[profile->waiting_count++] = waiting;
    return IFG_OK;
}

/* The host's clock was read before and after the device's. */
static void take_clock(struct ireeperf *profile, const struct event *record)
{
    uint64_t device, tick;
    int64_t before_ns, after_ns;

    if (ireeperf_number(record, "physical_device_ordinal", &device) &&
        ireeperf_number(record, "device_tick", &tick) &&
        ireeperf_host_time(record, "host_time_begin_ns", &before_ns) &&
        ireeperf_host_time(record, "host_time_end_ns", &after_ns) && after_ns >= before_ns &&
        ireeperf_clock_relate(&profile->clocks, device, tick,
                              before_ns + (after_ns - before_ns) / 2))
        return;
    import_count(profile->importer, IMPORT_NOT_VALID, 1);
}

static void take_problem(struct ireeperf *profile, const struct event *record)
{
    uint64_t dropped = 0;

    if (ireeperf_number(record, "dropped_records", &dropped) && dropped > DROPPED_MAX)
        import_count(profile->importer, IMPORT_NOT_VALID, 1);
    else
        import_count(profile->importer, IMPORT_DROPPED_BEFORE, dropped);
    import_count(profile->importer, IMPORT_PROBLEMS, 1);
    import_fact(profile->importer, "import.file.", "diagnostic", 10,
                ireeperf_field(record, "message"));
}

static enum ifg_status take_schema(struct ireeperf *profile, const struct event *record)
{
    struct importer *importer = profile->importer;
    uint64_t version;

    if (!event_value_is(ireeperf_field(record, "format"), "ireeperf-jsonl") ||
        !ireeperf_number(record, "schema_version", &version))
        return ifg_fail(importer->err, IFG_CORRUPT, "line %llu is no schema of ireeperf-jsonl" HOW,
                        (unsigned long long)importer->offset);
    import_count(importer, IMPORT_OTHER_SCHEMA, version != SCHEMA_VERSION);
    import_fact(importer, "import.file.", "schema_version", 14,
                ireeperf_field(record, "schema_version"));
    profile->has_schema = true;
    return IFG_OK;
}

/* A kind that is not known is kept where it says when it was. */
static enum ifg_status take_unknown(struct ireeperf *profile, const struct event *record)
{
    int64_t ns;

    if (ireeperf_host_time(record, "start_host_time_ns", &ns) &&
        ireeperf_host_time(record, "end_host_time_ns", &ns)) {
        import_count(profile->importer, IMPORT_UNKNOWN_KEPT, 1);
        return take_span(profile, record, NULL);
    }
    import_count(profile->importer, IMPORT_UNKNOWN_RECORD, 1);
    return IFG_OK;
}

static const struct kind *kind_of(const struct event *record)
{
    for (size_t i = 0; i < KINDS; i++)
        if (event_value_is(ireeperf_field(record, "record_type"), kinds[i].name))
            return &kinds[i];
    return NULL;
}

static enum ifg_status take_record(struct ireeperf *profile, const struct event *record,
                                   const struct line *line)
{
    const struct kind *kind = kind_of(record);

    if (!profile->has_schema && (!kind || kind->what != SCHEMA))
        return ifg_fail(profile->importer->err, IFG_CORRUPT,
                        "line %llu is not the schema that an ireeperf-jsonl file begins with",
                        (unsigned long long)profile->importer->offset);
    if (!kind)
        return take_unknown(profile, record);
    profile->records[kind - kinds]++;
    switch (kind->what) {
    case SPAN:
        return take_span(profile, record, kind);
    case MOMENT:
        return take_memory(profile, record, kind);
    case METRICS:
        lane_of(profile, record, kind);
        return ireeperf_take_metrics(profile, record, kind->begin);
    case TICKS:
    case COUNTS:
        return put_off(profile, line);
    case COUNTER:
        return ireeperf_take_counter(profile, record);
    case SCHEMA:
        return take_schema(profile, record);
    case CLOCK:
        take_clock(profile, record);
        return IFG_OK;
    case PROBLEM:
        take_problem(profile, record);
        return IFG_OK;
    case ABOUT:
        return IFG_OK;
    }
    return IFG_OK;
}

static bool is_blank(const struct line *line)
{
    for (size_t i = 0; i < line->bytes; i++)
        if (!strchr(" \t\r", line->text[i]))
            return false;
    return true;
}

enum ifg_status ireeperf_line(struct ireeperf *profile, const struct line *line)
{
    struct importer *importer = profile->importer;
    const struct event *record = NULL;
    enum parse_result result = PARSE_OK;

    if (line->is_too_long) {
        import_count(importer, IMPORT_TOO_LARGE, 1);
        return IFG_OK;
    }
    if (is_blank(line))
        return IFG_OK;
    result = event_parse(profile->parser, line->text, line->bytes, &record);
    if (result == PARSE_NO_MEMORY)
        return ifg_fail_no_memory(importer->err, "to import");
    if (result != PARSE_OK && !profile->has_schema)
        return ifg_fail(importer->err, IFG_CORRUPT, "line %llu is not JSON" HOW,
                        (unsigned long long)importer->offset);
    if (result != PARSE_OK) {
        import_count(importer,
                     result == PARSE_TOO_DEEP ? IMPORT_TOO_DEEP
                     : line->is_cut           ? IMPORT_CUT_EVENT
                                              : IMPORT_NOT_JSON,
                     1);
        return IFG_OK;
    }
    importer->result->events++;
    return take_record(profile, record, line);
}

enum ifg_status ireeperf_finish(struct ireeperf *profile)
{
    struct importer *importer = profile->importer;
    enum ifg_status status = IFG_OK;
    char text[TEXT_BYTES];

    for (size_t i = 0; i < profile->waiting_count && !status; i++) {
        const struct event *record;
        const uint8_t *bytes;
        size_t size;

        importer->offset = profile->waiting[i].line;
        status = store_get_details(importer->store, profile->waiting[i].details, &bytes, &size,
                                   importer->err);
        if (status)
            break;
        if (event_parse(profile->parser, (const char *)bytes, size, &record) != PARSE_OK)
            return ifg_fail_no_memory(importer->err, "to import"); /* it was parsed before */
        status = take_ticks(profile, record, kind_of(record));
    }
    for (size_t i = 0; i < KINDS && !status; i++) {
        struct value count;

        if (!profile->records[i])
            continue;
        snprintf(text, sizeof text, "%" PRIu64, profile->records[i]);
        count = ireeperf_text(text);
        import_fact(importer, "import.file.records.", kinds[i].name, strlen(kinds[i].name), &count);
    }
    return status;
}

enum ifg_status ireeperf_refuse_binary(const char *text, size_t bytes, struct ifg_error *err)
{
    if (bytes < 4 || memcmp(text, "IRPF", 4) != 0)
        return IFG_OK;
    return ifg_fail(err, IFG_CORRUPT, "it is a profile of IREE as it was written" HOW);
}

bool ireeperf_begins(const char *text, size_t bytes)
{
    static const char begin[] = "{\"schema_version\":";
    static const char format[] = "\"ireeperf-jsonl\"";

    return bytes >= sizeof begin - 1 && memcmp(text, begin, sizeof begin - 1) == 0 &&
           memmem(text, bytes, format, sizeof format - 1) != NULL;
}

enum ifg_status ireeperf_create(struct importer *importer, struct ireeperf **out_profile,
                                struct ifg_error *err)
{
    struct ireeperf *profile = ifg_alloc(1, sizeof *profile);
    enum ifg_status status;

    *out_profile = profile;
    if (!profile)
        return ifg_fail_no_memory(err, "to import");
    profile->importer = importer;
    status = event_parser_create(&profile->parser, err);
    if (!status)
        status = event_parser_create(&profile->inner, err);
    return status;
}

void ireeperf_destroy(struct ireeperf *profile)
{
    if (!profile)
        return;
    event_parser_destroy(profile->parser);
    event_parser_destroy(profile->inner);
    ifg_free(profile->waiting);
    ifg_free(profile->counters);
    ifg_free(profile);
}

void ireeperf_understand(const struct event *event, struct meaning *out)
{
    if (event_value_is(&event->category, "dispatch")) {
        out->kind = TRACE_LOCATION_OP;
        out->is_of_file = true;
    }
    out->cat = NULL;
}
