// SPDX-License-Identifier: Apache-2.0
/* CSV: one row for each slice, quoted as RFC 4180 says, lines ending in LF. Times as in the
 * timeline.
 */
#include "export/export_internal.h"

static const char header[] = "process,thread,thread_name,kind,category,model,function,name,depth,"
                             "start_ns,dur_ns,unfinished\n";

struct csv {
    struct export_job *job;
    const char *separator;
    struct export_texts threads; /* process to thread_name */
    struct export_texts fronts;  /* kind to function */
    struct export_texts names;   /* name */
    struct ifg_bytes name;       /* of a slice that has its own */
    bool failed;
};

static void put_field(const struct csv *csv, struct ifg_bytes *out, const char *text)
{
    ifg_csv_put(out, text, csv->separator);
    export_bytes_text(out, csv->separator);
}

static bool make_texts(struct csv *csv)
{
    const struct timeline *timeline = csv->job->timeline;

    if (!export_texts_init(&csv->threads, timeline->thread_count) ||
        !export_texts_init(&csv->fronts, timeline->location_count) ||
        !export_texts_init(&csv->names, timeline->location_count))
        return false;
    for (size_t i = 0; i < timeline->thread_count; i++) {
        struct ifg_bytes *out = &csv->threads.bytes;

        export_texts_begin(&csv->threads, i);
        export_bytes_uint(out, timeline->processes[timeline->threads[i].process].pid);
        export_bytes_text(out, csv->separator);
        export_bytes_uint(out, timeline->threads[i].tid);
        export_bytes_text(out, csv->separator);
        put_field(csv, out, timeline->threads[i].name);
        export_texts_end(&csv->threads, i);
    }
    for (size_t i = 0; i < timeline->location_count; i++) {
        const struct timeline_location *location = &timeline->locations[i];
        struct ifg_bytes *out = &csv->fronts.bytes;
        bool ml = location->kind == TRACE_LOCATION_ML;

        export_texts_begin(&csv->fronts, i);
        put_field(csv, out, timeline_kind_name(location->kind));
        put_field(csv, out, ml ? timeline_category_name(location->category) : "");
        put_field(csv, out,
                  location->model != TIMELINE_NONE ? timeline->models[location->model].name : "");
        put_field(csv, out,
                  location->function_index != TIMELINE_NONE
                      ? timeline->functions[location->function_index].name
                  : ml ? location->function
                       : "");
        export_texts_end(&csv->fronts, i);
        export_texts_begin(&csv->names, i);
        put_field(csv, &csv->names.bytes, location->name);
        export_texts_end(&csv->names, i);
    }
    return !csv->threads.bytes.failed && !csv->fronts.bytes.failed && !csv->names.bytes.failed;
}

static void write_row(struct csv *csv, uint32_t thread, const struct export_slice *slice)
{
    struct export_sink *sink = csv->job->sink;
    char separator = csv->separator[0];
    char *out;

    export_put_cached(sink, &csv->threads, thread);
    export_put_cached(sink, &csv->fronts, slice->location);
    if (__builtin_expect(slice->name != NULL, 0)) {
        ifg_bytes_clear(&csv->name);
        put_field(csv, &csv->name, slice->name);
        if (csv->name.failed)
            csv->failed = true;
        else
            export_put(sink, csv->name.data, csv->name.size);
    } else {
        export_put_cached(sink, &csv->names, slice->location);
    }
    out = export_room(sink, 3 * EXPORT_DIGITS + 16);
    out = export_uint(out, csv->job->timeline->depth[slice->index]);
    *out++ = separator;
    out = export_uint(out, slice->start_ns);
    *out++ = separator;
    out = export_uint(out, slice->end_ns - slice->start_ns);
    *out++ = separator;
    *out++ = slice->unfinished ? '1' : '0';
    *out++ = '\n';
    export_advance(sink, out);
}

static enum ifg_status write_csv(struct export_job *job)
{
    struct csv csv = { .job = job, .separator = job->options->separator };
    enum ifg_status status = IFG_OK;
    struct export_cursor cursor;
    struct export_slice slice;

    if (!csv.separator)
        csv.separator = ",";
    if (strlen(csv.separator) != 1)
        return ifg_fail(job->err, IFG_INVALID, "the separator of csv is one character");
    ifg_bytes_init(&csv.name, 64u << 20);
    if (make_texts(&csv)) {
        for (const char *at = header; *at; at++)
            export_put(job->sink, *at == ',' ? csv.separator : at, 1);
        for (uint32_t i = 0; i < job->timeline->thread_count; i++) {
            if (!export_cursor_init(&cursor, job, i))
                continue;
            for (; export_next(&cursor, &slice); job->result->slices++)
                write_row(&csv, i, &slice);
        }
    } else {
        status = export_no_memory(job);
    }
    if (!status && csv.failed)
        status = export_no_memory(job);
    if (job->timeline->async_count && !status)
        export_note(job,
                    "async spans: %zu; they are not in this format, chrome and perfetto have them",
                    job->timeline->async_count);
    ifg_bytes_fini(&csv.name);
    export_texts_fini(&csv.threads);
    export_texts_fini(&csv.fronts);
    export_texts_fini(&csv.names);
    return status;
}

const struct export_format export_format_csv = {
    .name = "csv",
    .extension = ".csv",
    .summary = "a row for each slice",
    .takes = EXPORT_TAKES_SEPARATOR,
    .write = write_csv,
};
