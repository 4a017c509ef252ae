// SPDX-License-Identifier: Apache-2.0
/* A trace and its page in one file: see snapshot.h. */
#include "server/snapshot.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/alloc.h"
#include "export/html.h"
#include "server/assets.h"
#include "server/snapshot_internal.h"
#include "server/traces.h"

#define DOCUMENTS_MAX ((size_t)1 << 30)
#define END_BYTES     64u /* around the script, behind the data */
#define PACKED_LEAST  2.0 /* bytes of a slice, packed: no trace has needed fewer */

/* ---- the page's own files ---- */

static struct html_file find_file(const char *path)
{
    struct asset asset = { 0 };

    asset_find(path, strlen(path), &asset);
    return (struct html_file){ asset.data, asset.size };
}

static enum ifg_status begin_page(const char *title, struct html_page *out_page,
                                  struct ifg_bytes *out, struct ifg_error *err)
{
    if (!assets_have_page())
        return ifg_fail(err, IFG_UNSUPPORTED,
                        "this program was built without its page, and so without --html; build "
                        "ui/ and then the program again");
    *out_page = (struct html_page){
        .title = title,
        .script = find_file("/app.js"),
        .style = find_file("/app.css"),
        .icon = find_file("/favicon.svg"),
    };
    return html_begin(out_page, out, err);
}

enum ifg_status snapshot_document(const char *kind, const char *title, const void *json,
                                  size_t size, struct ifg_bytes *out, struct ifg_error *err)
{
    struct html_page page;
    enum ifg_status status = begin_page(title, &page, out, err);

    if (status)
        return status;
    status = html_section(kind, json, size, out);
    if (!status)
        html_end(&page, out);
    if (status || out->failed)
        return ifg_fail_no_memory(err, NULL);
    return IFG_OK;
}

/* ---- columns ---- */

static enum ifg_status put_columns(const struct snapshot_columns *columns, struct ifg_bytes *out)
{
    const struct {
        const char *name;
        const struct ifg_bytes *bytes;
    } sections[] = {
        { "index", &columns->index },
        { "gap", &columns->gap },
        { "duration", &columns->duration },
        { "location", &columns->location },
        { "depth", &columns->depth },
        { "ids", &columns->ids },
        { "item-start", &columns->item_start },
        { "item-duration", &columns->item_duration },
        { "item-location", &columns->item_location },
        { "item-count", &columns->item_count },
        { "item-id", &columns->item_id },
        { "item-flags", &columns->item_flags },
        { "value-time", &columns->value_time },
        { "value", &columns->value },
    };

    for (size_t i = 0; i < sizeof sections / sizeof sections[0]; i++) {
        enum ifg_status status =
            html_section(sections[i].name, sections[i].bytes->data, sections[i].bytes->size, out);

        if (status)
            return status;
    }
    return out->failed ? IFG_NO_MEMORY : IFG_OK;
}

/* One attempt: the columns at a level of detail, as they will be in the file. */
static enum ifg_status pack_columns(struct server_trace *trace,
                                    const struct snapshot_detail *detail, struct ifg_bytes *out,
                                    struct snapshot_result *result, struct ifg_error *err)
{
    struct snapshot_columns columns;
    enum ifg_status status;

    snapshot_columns_init(&columns);
    ifg_bytes_clear(out);
    status = snapshot_columns_fill(trace, detail, &columns, err);
    if (!status && put_columns(&columns, out))
        status = ifg_fail_no_memory(err, "for the columns of the page");
    result->slices_kept = columns.slices_kept;
    snapshot_columns_fini(&columns);
    return status;
}

static const struct snapshot_detail details[] = {
    { .exact = true },
    { .px = 512000, .slowest = 100 },
    { .px = 256000, .slowest = 100 },
    { .px = 128000, .slowest = 50 },
    { .px = 64000, .slowest = 50 },
    { .px = 32000, .slowest = 50 },
    { .px = 16000, .slowest = 30 },
    { .px = 8000, .slowest = 20 },
    { .px = 4000, .slowest = 10 },
    { .px = 2000, .slowest = 4 },
    { .px = 1000 },
    { .px = 400 },
};

static enum ifg_status choose_detail(struct server_trace *trace, size_t room, struct ifg_bytes *out,
                                     struct snapshot_result *result, struct ifg_error *err)
{
    for (size_t i = 0; i < sizeof details / sizeof details[0]; i++) {
        enum ifg_status status;

        if (details[i].exact && (double)trace->timeline->slice_count * PACKED_LEAST > (double)room)
            continue;
        status = pack_columns(trace, &details[i], out, result, err);
        if (status || out->size <= room)
            return status;
    }
    return IFG_OK; /* the coarsest: too large, and said */
}

/* ---- the file ---- */

static void note(struct snapshot_result *result, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

static void note(struct snapshot_result *result, const char *format, ...)
{
    va_list args;

    if (result->note_count == SNAPSHOT_NOTES)
        return;
    va_start(args, format);
    vsnprintf(result->notes[result->note_count++], SNAPSHOT_NOTE_MAX, format, args);
    va_end(args);
}

static enum ifg_status wait_until_loaded(struct server_trace *trace, struct ifg_error *err)
{
    const struct timespec pause = { .tv_nsec = 2000000 };
    enum trace_state state;

    while ((state = trace_use(trace)) == TRACE_LOADING || state == TRACE_IDLE)
        nanosleep(&pause, NULL);
    if (state == TRACE_BAD)
        return ifg_fail(err, IFG_CORRUPT, "%s", trace->why);
    return IFG_OK;
}

static enum ifg_status put_documents(struct traces *traces, bool code, struct ifg_bytes *out,
                                     struct ifg_error *err)
{
    struct ifg_bytes documents;
    enum ifg_status status;

    ifg_bytes_init(&documents, DOCUMENTS_MAX);
    status = snapshot_documents(&traces->items[0], traces, code, &documents, err);
    if (!status && html_section("documents", documents.data, documents.size, out))
        status = ifg_fail_no_memory(err, NULL);
    ifg_bytes_fini(&documents);
    return status;
}

/* Everything between the page's begin and its end; `script` bytes come behind it. */
static enum ifg_status put_data(struct traces *traces, size_t max_bytes, size_t script,
                                struct ifg_bytes *out, struct snapshot_result *result,
                                struct ifg_error *err)
{
    struct server_trace *trace = &traces->items[0];
    size_t before = out->size;
    struct ifg_bytes columns;
    enum ifg_status status = put_documents(traces, true, out, err);
    size_t used = out->size + script;

    if (!status && used > max_bytes / 4 * 3 && trace->profile) {
        out->size = before;
        status = put_documents(traces, false, out, err);
        used = out->size + script;
        note(result, "the code of functions was left out, so that there is room for the timeline");
    }
    ifg_bytes_init(&columns, DOCUMENTS_MAX);
    if (!status)
        status =
            choose_detail(trace, max_bytes > used ? max_bytes - used : 0, &columns, result, err);
    if (!status)
        ifg_bytes_put(out, columns.data, columns.size);
    ifg_bytes_fini(&columns);
    return status;
}

static enum ifg_status write_trace(struct traces *traces, size_t max_bytes, struct ifg_bytes *out,
                                   struct snapshot_result *result, struct ifg_error *err)
{
    struct server_trace *trace = &traces->items[0];
    const struct report *report = NULL;
    struct html_page page;
    char title[200];
    enum ifg_status status = wait_until_loaded(trace, err);

    snprintf(title, sizeof title, "%s · Inferogram report", trace->program);
    if (!status)
        status = begin_page(title, &page, out, err);
    if (!status) /* before the minimap, which shows its findings */
        status = trace_report(trace, &report, err);
    if (!status)
        status = put_data(traces, max_bytes, page.script.size + END_BYTES, out, result, err);
    if (status)
        return status;
    html_end(&page, out);
    if (out->failed)
        return ifg_fail_no_memory(err, NULL);
    result->slices = trace->timeline->slice_count;
    if (result->slices_kept < result->slices)
        note(result,
             "%llu of %llu zones are in the report one by one, the others at the level of detail "
             "that fits into %.1f MB; --max-size changes that",
             (unsigned long long)result->slices_kept, (unsigned long long)result->slices,
             (double)max_bytes / 1e6);
    if (out->size > max_bytes)
        note(result, "%.1f MB is more than was allowed: it is the smallest report of this trace",
             (double)out->size / 1e6);
    return IFG_OK;
}

enum ifg_status snapshot_trace(const char *path, size_t max_bytes, struct ifg_bytes *out,
                               struct snapshot_result *out_result, struct ifg_error *err)
{
    struct traces traces = { 0 };
    enum ifg_status status = traces_add(&traces, path, err);

    *out_result = (struct snapshot_result){ 0 };
    if (!status && traces.count != 1)
        status = ifg_fail(err, IFG_INVALID, "%s is a directory: one trace at a time", path);
    if (!status)
        status = traces_start(&traces, err);
    if (!status)
        status = write_trace(&traces, max_bytes, out, out_result, err);
    traces_fini(&traces);
    return status;
}
