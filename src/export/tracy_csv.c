// SPDX-License-Identifier: Apache-2.0
/*
 * The columns of Tracy's csvexport, byte for byte in the header, so that scripts made for it go on
 * working.
 *
 * Unlike csvexport it quotes what needs it and counts zones without length. A row is a location in
 * the source, or with unwrap a zone.
 */
#include "export/export_internal.h"

#include <math.h>
#include <stdio.h>

#include "base/alloc.h"
#include "trace/keys.h"

static const char *const statistics_columns[] = { "name",       "src_file", "src_line", "total_ns",
                                                  "total_perc", "counts",   "mean_ns",  "min_ns",
                                                  "max_ns",     "std_ns" };
static const char *const unwrap_columns[] = { "name",           "src_file",     "src_line",
                                              "ns_since_start", "exec_time_ns", "thread",
                                              "value" };

struct numbers {
    uint64_t count;
    uint64_t total_ns;
    uint64_t min_ns;
    uint64_t max_ns;
    double mean; /* running, as Welford does */
    double squares;
};

struct tracy {
    struct export_job *job;
    const char *separator;
    struct export_texts locations; /* name to src_line, with the separator after it */
    bool *wanted;                  /* per location */
    struct numbers *numbers;       /* per location */
    struct ifg_bytes row;
    uint64_t unfinished;
    bool failed;
};

static void put_columns(const struct tracy *tracy, const char *const *columns, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (i)
            export_put_text(tracy->job->sink, tracy->separator);
        export_put_text(tracy->job->sink, columns[i]);
    }
    export_put(tracy->job->sink, "\n", 1);
}

/* A location's name; events of models are called as in the statistics: "ocr inference". */
static void put_name(const struct tracy *tracy, uint32_t index, struct ifg_bytes *out)
{
    const struct timeline *timeline = tracy->job->timeline;
    const struct timeline_location *location = &timeline->locations[index];

    ifg_bytes_clear(out);
    if (location->kind == TRACE_LOCATION_ML && location->model != TIMELINE_NONE) {
        export_bytes_text(out, timeline->models[location->model].name);
        export_bytes_text(out, " ");
    }
    export_bytes_text(out, location->name[0] ? location->name : location->function);
    ifg_bytes_put(out, "", 1);
}

/* name, src_file, src_line and the separator after them */
static void put_location(const struct tracy *tracy, struct ifg_bytes *out, const char *name,
                         const struct timeline_location *location)
{
    ifg_csv_put(out, name[0] ? name : location->function, tracy->separator);
    export_bytes_text(out, tracy->separator);
    ifg_csv_put(out, location->file, tracy->separator);
    export_bytes_text(out, tracy->separator);
    export_bytes_uint(out, location->line);
    export_bytes_text(out, tracy->separator);
}

static bool passes(const struct tracy *tracy, const char *name)
{
    const char *filter = tracy->job->options->filter;

    if (!filter || !*filter)
        return true;
    return tracy->job->options->case_sensitive ? strstr(name, filter) != NULL
                                               : strcasestr(name, filter) != NULL;
}

static bool prepare(struct tracy *tracy)
{
    const struct timeline *timeline = tracy->job->timeline;

    ifg_bytes_init(&tracy->row, 64u << 20);
    tracy->wanted = ifg_alloc(timeline->location_count + 1, sizeof *tracy->wanted);
    tracy->numbers = ifg_alloc(timeline->location_count + 1, sizeof *tracy->numbers);
    if (!tracy->wanted || !tracy->numbers ||
        !export_texts_init(&tracy->locations, timeline->location_count))
        return false;
    for (size_t i = 0; i < timeline->location_count; i++) {
        put_name(tracy, (uint32_t)i, &tracy->row);
        if (tracy->row.failed)
            return false;
        tracy->wanted[i] = passes(tracy, (const char *)tracy->row.data);
        export_texts_begin(&tracy->locations, i);
        put_location(tracy, &tracy->locations.bytes, (const char *)tracy->row.data,
                     &timeline->locations[i]);
        export_texts_end(&tracy->locations, i);
    }
    return !tracy->locations.bytes.failed;
}

static void count_slice(struct numbers *numbers, uint64_t ns)
{
    double step = (double)ns - numbers->mean;

    if (numbers->count == 0 || ns < numbers->min_ns)
        numbers->min_ns = ns;
    if (ns > numbers->max_ns)
        numbers->max_ns = ns;
    numbers->count++;
    numbers->total_ns += ns;
    numbers->mean += step / (double)numbers->count;
    numbers->squares += step * ((double)ns - numbers->mean);
}

/* What csvexport calls value: the zone's text, or its number. */
static void put_value(struct tracy *tracy, const struct timeline_attribute *attributes,
                      size_t count)
{
    const struct timeline_attribute *value = NULL;
    char digits[EXPORT_DIGITS];

    for (size_t i = 0; i < count; i++) {
        if (strcmp(attributes[i].key, TRACE_KEY_TEXT) == 0 &&
            attributes[i].type == TRACE_VALUE_STRING)
            value = &attributes[i];
        else if (!value && strcmp(attributes[i].key, TRACE_KEY_VALUE) == 0 &&
                 attributes[i].type == TRACE_VALUE_UNSIGNED)
            value = &attributes[i];
    }
    if (!value)
        return;
    if (value->type == TRACE_VALUE_STRING)
        ifg_csv_put(&tracy->row, value->text, tracy->separator);
    else
        ifg_bytes_put(&tracy->row, digits,
                      (size_t)(export_uint(digits, value->unsigned_value) - digits));
}

static void put_row(struct tracy *tracy)
{
    if (tracy->row.failed)
        tracy->failed = true;
    else if (tracy->row.size)
        export_put(tracy->job->sink, tracy->row.data, tracy->row.size);
}

static void write_zone(struct tracy *tracy, uint32_t thread, const struct export_slice *slice,
                       uint64_t ns)
{
    struct export_sink *sink = tracy->job->sink;
    const struct timeline *timeline = tracy->job->timeline;
    const struct timeline_location *location = &timeline->locations[slice->location];
    size_t length = strlen(tracy->separator);
    char *out;

    if (__builtin_expect(slice->name != NULL, 0)) {
        if (!passes(tracy, slice->name))
            return;
        ifg_bytes_clear(&tracy->row);
        put_location(tracy, &tracy->row, slice->name, location);
        put_row(tracy);
    } else {
        if (!tracy->wanted[slice->location])
            return;
        export_put_cached(sink, &tracy->locations, slice->location);
    }
    tracy->job->result->slices++;
    out = export_room(sink, 3 * EXPORT_DIGITS + 64);
    out = export_uint(out, slice->start_ns - timeline->begin_ns);
    memcpy(out, tracy->separator, length);
    out = export_uint(out + length, ns);
    memcpy(out, tracy->separator, length);
    out = export_uint(out + length, timeline->threads[thread].tid);
    memcpy(out, tracy->separator, length);
    out += length;
    if (__builtin_expect(slice->attribute_count != 0, 0)) {
        export_advance(sink, out);
        ifg_bytes_clear(&tracy->row);
        put_value(tracy, slice->attributes, slice->attribute_count);
        put_row(tracy);
        out = export_room(sink, 1);
    }
    *out++ = '\n';
    export_advance(sink, out);
}

static void take(struct tracy *tracy, uint32_t thread, const struct export_slice *slice,
                 uint64_t ns)
{
    if (tracy->job->options->unwrap) {
        write_zone(tracy, thread, slice, ns);
    } else {
        tracy->job->result->slices++;
        count_slice(&tracy->numbers[slice->location], ns);
    }
}

/* A slice has ended: its own time is known. */
static void take_ended(struct tracy *tracy, uint32_t thread, struct export_nest *nest)
{
    const struct export_open *open = &nest->items[--nest->count];
    const struct timeline *timeline = tracy->job->timeline;
    uint64_t ns = timeline_duration_ns(timeline, open->index);
    struct export_slice slice = { .index = open->index, .location = open->location };

    if (open->flag)
        return; /* it had not ended */
    slice.start_ns = timeline->start_ns[open->index];
    slice.end_ns = open->end_ns;
    slice.attribute_count = timeline_attributes_of(timeline, open->index, &slice.attributes);
    for (size_t i = 0; i < slice.attribute_count; i++)
        if (slice.attributes[i].type == TRACE_VALUE_STRING &&
            strcmp(slice.attributes[i].key, TRACE_KEY_NAME) == 0)
            slice.name = slice.attributes[i].text;
    take(tracy, thread, &slice, ns > open->children_ns ? ns - open->children_ns : 0);
}

static enum ifg_status take_thread(struct tracy *tracy, uint32_t thread, struct export_nest *nest)
{
    bool self = tracy->job->options->self;
    struct export_cursor cursor;
    struct export_slice slice;

    if (!export_cursor_init(&cursor, tracy->job, thread))
        return IFG_OK;
    while (export_next(&cursor, &slice)) {
        struct export_open *parent;

        tracy->unfinished += slice.unfinished;
        if (!self) {
            if (!slice.unfinished)
                take(tracy, thread, &slice, slice.end_ns - slice.start_ns);
            continue;
        }
        while (export_nest_ended(nest, slice.start_ns))
            take_ended(tracy, thread, nest);
        parent = export_nest_top(nest);
        if (parent)
            parent->children_ns +=
                (slice.end_ns < parent->end_ns ? slice.end_ns : parent->end_ns) - slice.start_ns;
        if (!export_nest_push(nest, &slice))
            return export_no_memory(tracy->job);
        export_nest_top(nest)->flag = slice.unfinished;
    }
    while (nest->count)
        take_ended(tracy, thread, nest);
    return IFG_OK;
}

static void write_statistics(struct tracy *tracy)
{
    const struct timeline *timeline = tracy->job->timeline;
    double whole = (double)(timeline->end_ns - timeline->begin_ns);
    char text[512];

    for (size_t i = 0; i < timeline->location_count; i++) {
        const struct numbers *n = &tracy->numbers[i];
        const char *s = tracy->separator;
        int length;

        if (n->count == 0 || !tracy->wanted[i])
            continue;
        export_put_cached(tracy->job->sink, &tracy->locations, i);
        length = snprintf(
            text, sizeof text, "%llu%s%f%s%llu%s%llu%s%llu%s%llu%s%f\n",
            (unsigned long long)n->total_ns, s, whole > 0 ? 100 * (double)n->total_ns / whole : 0.0,
            s, (unsigned long long)n->count, s, (unsigned long long)(n->total_ns / n->count), s,
            (unsigned long long)n->min_ns, s, (unsigned long long)n->max_ns, s,
            n->count > 1 ? sqrt(n->squares / (double)(n->count - 1)) : 0.0);
        if (length > 0)
            export_put(tracy->job->sink, text, (size_t)length);
    }
}

static enum ifg_status write_tracy_csv(struct export_job *job)
{
    struct tracy tracy = { .job = job, .separator = job->options->separator };
    struct export_nest nest = { 0 };
    enum ifg_status status = IFG_OK;

    if (!tracy.separator)
        tracy.separator = ",";
    if (!*tracy.separator || strlen(tracy.separator) > 8)
        return ifg_fail(job->err, IFG_INVALID, "a separator has one to eight bytes");
    if (!prepare(&tracy))
        status = export_no_memory(job);
    if (!status && job->options->unwrap)
        put_columns(&tracy, unwrap_columns, sizeof unwrap_columns / sizeof unwrap_columns[0]);
    else if (!status)
        put_columns(&tracy, statistics_columns,
                    sizeof statistics_columns / sizeof statistics_columns[0]);
    for (uint32_t i = 0; i < job->timeline->thread_count && !status; i++)
        status = take_thread(&tracy, i, &nest);
    if (!status && !job->options->unwrap)
        write_statistics(&tracy);
    if (tracy.unfinished)
        export_note(job, "slices that had not ended: %llu; they are left out, as Tracy does",
                    (unsigned long long)tracy.unfinished);
    if (!status && tracy.failed)
        status = export_no_memory(job);
    export_nest_fini(&nest);
    export_texts_fini(&tracy.locations);
    ifg_bytes_fini(&tracy.row);
    ifg_free(tracy.wanted);
    ifg_free(tracy.numbers);
    return status;
}

const struct export_format export_format_tracy_csv = {
    .name = "tracy-csv",
    .extension = ".tracy.csv",
    .summary = "the columns of Tracy's csvexport",
    .takes = EXPORT_TAKES_SEPARATOR | EXPORT_TAKES_ZONES,
    .write = write_tracy_csv,
};
