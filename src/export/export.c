// SPDX-License-Identifier: Apache-2.0
/* What all formats share: what is wanted, going through slices, and notes of what got lost. */
#include "export/export_internal.h"

#include <stdarg.h>
#include <stdio.h>

#include "base/alloc.h"
#include "timeline/samples.h"
#include "trace/keys.h"

const struct export_format *export_find_format(const char *name)
{
    size_t i = 0;

    while (export_formats[i] && strcmp(name, export_formats[i]->name) != 0)
        i++;
    return export_formats[i];
}

void export_note(struct export_job *job, const char *format, ...)
{
    struct export_result *result = job->result;
    va_list args;

    if (result->note_count == EXPORT_NOTES)
        return;
    va_start(args, format);
    vsnprintf(result->notes[result->note_count++], EXPORT_NOTE_BYTES, format, args);
    va_end(args);
}

enum ifg_status export_no_memory(struct export_job *job)
{
    return ifg_fail_no_memory(job->err, NULL);
}

/* ---- what is wanted ---------------------------------------------------------- */

static void filter_fini(struct export_filter *filter)
{
    ifg_free(filter->locations);
    ifg_free(filter->threads);
}

static enum ifg_status filter_names(struct export_job *job)
{
    const struct timeline *timeline = job->timeline;

    job->filter.locations = ifg_alloc(timeline->location_count + 1, sizeof *job->filter.locations);
    if (!job->filter.locations)
        return export_no_memory(job);
    for (size_t i = 0; i < timeline->location_count; i++)
        job->filter.locations[i] =
            job->options->name_matches(timeline->locations[i].name, job->options->user);
    return IFG_OK;
}

/* Threads that were sampled may have no slices, and no entry in the timeline. */
static bool is_sampled_thread(struct export_job *job, const char *wanted)
{
    const struct timeline_profile *profile;
    char number[16];

    if (timeline_profile_get(job->timeline, &profile, NULL) || !profile)
        return false;
    for (size_t i = 0; i < profile->thread_count; i++) {
        snprintf(number, sizeof number, "%u", profile->threads[i].tid);
        if (strcmp(number, wanted) == 0)
            return true;
    }
    return false;
}

static enum ifg_status filter_threads(struct export_job *job)
{
    const struct timeline *timeline = job->timeline;
    const char *wanted = job->options->thread;
    bool found = false;
    char number[16];

    job->filter.threads = ifg_alloc(timeline->thread_count + 1, sizeof *job->filter.threads);
    if (!job->filter.threads)
        return export_no_memory(job);
    for (size_t i = 0; i < timeline->thread_count; i++) {
        snprintf(number, sizeof number, "%u", timeline->threads[i].tid);
        job->filter.threads[i] =
            strcmp(number, wanted) == 0 || strcmp(timeline->threads[i].name, wanted) == 0;
        found |= job->filter.threads[i];
    }
    if (!found && !is_sampled_thread(job, wanted))
        return ifg_fail(job->err, IFG_NOT_FOUND, "no thread is called '%s'", wanted);
    return IFG_OK;
}

static enum ifg_status filter_init(struct export_job *job)
{
    const struct export_options *options = job->options;
    struct export_filter *filter = &job->filter;
    enum ifg_status status = IFG_OK;

    filter->model = TIMELINE_NONE;
    filter->from_ns = job->timeline->begin_ns + options->from_ns;
    filter->to_ns = options->to_ns ? job->timeline->begin_ns + options->to_ns : UINT64_MAX;
    filter->active = options->from_ns || options->to_ns || options->model || options->thread ||
                     options->name_matches;
    for (size_t i = 0; options->model && i < job->timeline->model_count; i++)
        if (filter->model == TIMELINE_NONE &&
            timeline_model_is_called(&job->timeline->models[i], options->model))
            filter->model = (uint32_t)i;
    if (options->model && filter->model == TIMELINE_NONE)
        return ifg_fail(job->err, IFG_NOT_FOUND, "no model is called '%s'", options->model);
    if (options->thread)
        status = filter_threads(job);
    if (!status && options->name_matches)
        status = filter_names(job);
    return status;
}

static bool same_model(const struct export_job *job, uint32_t model)
{
    return model != TIMELINE_NONE &&
           timeline_model_is_called(&job->timeline->models[model], job->options->model);
}

bool export_wants_slice(struct export_cursor *cursor, const struct export_slice *slice)
{
    struct export_job *job = cursor->job;
    const struct export_filter *filter = &job->filter;

    if (filter->model != TIMELINE_NONE) {
        if (same_model(job, job->timeline->locations[slice->location].model)) {
            if (slice->end_ns > cursor->model_until_ns)
                cursor->model_until_ns = slice->end_ns;
        } else if (slice->start_ns >= cursor->model_until_ns) {
            return false;
        }
    }
    if (slice->start_ns < filter->from_ns || slice->start_ns >= filter->to_ns)
        return false;
    if (filter->locations && slice->name)
        return job->options->name_matches(slice->name, job->options->user);
    return !filter->locations || filter->locations[slice->location];
}

bool export_wants_event(const struct export_job *job, uint32_t thread, uint32_t location,
                        uint64_t ns)
{
    const struct export_filter *filter = &job->filter;

    if (!filter->active)
        return true;
    if (filter->threads && (thread == TIMELINE_NONE || !filter->threads[thread]))
        return false;
    if (ns < filter->from_ns || ns >= filter->to_ns)
        return false;
    if (location == TIMELINE_NONE)
        return !filter->locations && filter->model == TIMELINE_NONE;
    if (filter->model != TIMELINE_NONE &&
        !same_model(job, job->timeline->locations[location].model))
        return false;
    return !filter->locations || filter->locations[location];
}

bool export_wants_span(const struct export_job *job, const struct timeline_async *span)
{
    return export_wants_event(job, span->begin_thread, span->location, span->start_ns);
}

/* ---- slices ------------------------------------------------------------------ */

static void find_special(struct export_cursor *cursor)
{
    const struct timeline *timeline = cursor->timeline;
    size_t special = SIZE_MAX;

    if (cursor->attribute < timeline->attribute_count)
        special = timeline->attributes[cursor->attribute].slice;
    if (cursor->unfinished < timeline->unfinished_count &&
        timeline->unfinished[cursor->unfinished] < special)
        special = timeline->unfinished[cursor->unfinished];
    cursor->special = special;
}

bool export_cursor_init(struct export_cursor *cursor, struct export_job *job, uint32_t thread)
{
    const struct timeline *timeline = job->timeline;
    size_t first = timeline->threads[thread].first_slice;
    size_t low = 0;
    size_t high = timeline->attribute_count;

    if (job->filter.threads && !job->filter.threads[thread])
        return false;
    *cursor = (struct export_cursor){ .job = job, .timeline = timeline, .at = first };
    cursor->last = first + timeline->threads[thread].slice_count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (timeline->attributes[middle].slice < first)
            low = middle + 1;
        else
            high = middle;
    }
    cursor->attribute = low;
    while (cursor->unfinished < timeline->unfinished_count &&
           timeline->unfinished[cursor->unfinished] < first)
        cursor->unfinished++;
    find_special(cursor);
    return true;
}

void export_special(struct export_cursor *cursor, struct export_slice *slice)
{
    const struct timeline *timeline = cursor->timeline;
    size_t at = cursor->attribute;

    while (at < timeline->attribute_count && timeline->attributes[at].slice < slice->index)
        at++;
    slice->attributes = timeline->attribute_count ? &timeline->attributes[at] : NULL;
    for (; at < timeline->attribute_count && timeline->attributes[at].slice == slice->index; at++) {
        slice->attribute_count++;
        if (timeline->attributes[at].type == TRACE_VALUE_STRING &&
            strcmp(timeline->attributes[at].key, TRACE_KEY_NAME) == 0)
            slice->name = timeline->attributes[at].text;
    }
    cursor->attribute = at;
    for (at = cursor->unfinished; at < timeline->unfinished_count; at++) {
        if (timeline->unfinished[at] > slice->index)
            break;
        slice->unfinished |= timeline->unfinished[at] == slice->index;
    }
    cursor->unfinished = at;
    find_special(cursor);
}

bool export_attribute_repeats(const struct export_slice *slice, size_t index)
{
    for (size_t i = index + 1; i < slice->attribute_count; i++)
        if (strcmp(slice->attributes[i].key, slice->attributes[index].key) == 0)
            return true;
    return false;
}

void export_nest_fini(struct export_nest *nest)
{
    ifg_free(nest->items);
}

enum ifg_status export_run(const struct timeline *timeline, const struct export_format *format,
                           const struct export_options *options, struct export_sink *sink,
                           struct export_result *out_result, struct ifg_error *err)
{
    struct export_job job = { timeline, options, sink, out_result, { 0 }, err };
    enum ifg_status status;

    memset(out_result, 0, sizeof *out_result);
    sink->total = timeline->slice_count;
    status = filter_init(&job);
    if (!status)
        status = format->write(&job);
    filter_fini(&job.filter);
    return status;
}
