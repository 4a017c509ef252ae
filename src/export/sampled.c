// SPDX-License-Identifier: Apache-2.0
/* Samples for exporters: see sampled.h. */
#include "export/sampled.h"

#include <stdio.h>

#include "base/alloc.h"
#include "base/convert.h"

bool sampled_is_wanted(const struct export_job *job)
{
    if (job->options->stacks == EXPORT_STACKS_ZONES)
        return false;
    return job->options->stacks == EXPORT_STACKS_SAMPLES || timeline_has_samples(job->timeline);
}

/* Fewer than these are no picture of where time goes. */
#define ENOUGH_SAMPLES 100u

bool sampled_are_richer(struct export_job *job)
{
    const struct timeline_profile *profile = NULL;
    size_t zones = job->timeline->slice_count;
    size_t samples;

    if (job->options->stacks != EXPORT_STACKS_ANY || !timeline_has_samples(job->timeline) ||
        !zones || timeline_profile_get(job->timeline, &profile, NULL) || !profile)
        return sampled_is_wanted(job);
    samples = profile->sample_count;
    if (samples >= ENOUGH_SAMPLES || samples >= zones)
        return true;
    export_note(job, "made of %zu zones, because there are only %zu samples (--stacks samples)",
                zones, samples);
    return false;
}

bool sampled_is_thread(const struct export_job *job, const struct timeline_sampled_thread *thread)
{
    char number[16];

    snprintf(number, sizeof number, "%u", thread->tid);
    return strcmp(number, job->options->thread) == 0 ||
           strcmp(thread->name, job->options->thread) == 0;
}

static bool wants(const struct sampled *sampled, const struct timeline_sample *sample)
{
    const struct export_job *job = sampled->job;
    const struct export_filter *filter = &job->filter;
    const struct timeline_model *model;

    if (sample->ns < filter->from_ns || sample->ns >= filter->to_ns)
        return false;
    if (job->options->thread && !sampled_is_thread(job, &sampled->profile->threads[sample->thread]))
        return false;
    if (job->options->model) {
        model = timeline_sample_of(job->timeline, sample);
        if (!model || !timeline_model_is_called(model, job->options->model))
            return false;
    }
    return !filter->locations ||
           (sample->slice != SIZE_MAX && filter->locations[job->timeline->location[sample->slice]]);
}

enum ifg_status sampled_init(struct sampled *sampled, struct export_job *job)
{
    const struct timeline_profile *profile;
    enum ifg_status status = timeline_profile_get(job->timeline, &profile, job->err);
    size_t frames;

    memset(sampled, 0, sizeof *sampled);
    if (status)
        return status;
    if (!profile || !profile->sample_count)
        return job->options->stacks == EXPORT_STACKS_SAMPLES
                   ? ifg_fail(job->err, IFG_NOT_FOUND, "the trace has no samples")
                   : IFG_OK;
    sampled->job = job;
    sampled->profile = profile;
    sampled->period_ns = profile->hz > 0 ? ifg_u64_of(1e9 / (profile->hz * profile->on_share)) : 1;
    frames = profile->trace->frame_count + 1;
    sampled->first_entry = ifg_alloc(frames + 1, sizeof *sampled->first_entry);
    sampled->picked = ifg_alloc(profile->sample_count, sizeof *sampled->picked);
    if (!sampled->first_entry || !sampled->picked) {
        sampled_fini(sampled);
        return export_no_memory(job);
    }
    for (size_t f = 0; f < frames; f++) {
        const struct trace_symbol *first;
        size_t names = timeline_frame_symbols(profile, (uint32_t)f, &first);

        sampled->first_entry[f] = (uint32_t)sampled->entry_count;
        sampled->entry_count += names ? names : 1;
    }
    sampled->first_entry[frames] = (uint32_t)sampled->entry_count;
    for (size_t i = 0; i < profile->sample_count; i++)
        if (wants(sampled, &profile->samples[i]))
            sampled->picked[sampled->count++] = (uint32_t)i;
    job->result->samples = sampled->count;
    return IFG_OK;
}

void sampled_fini(struct sampled *sampled)
{
    ifg_free(sampled->first_entry);
    ifg_free(sampled->picked);
    sampled->first_entry = NULL;
    sampled->picked = NULL;
}

enum ifg_status sampled_export(struct export_job *job,
                               enum ifg_status (*write)(struct sampled *sampled))
{
    struct sampled *sampled = ifg_alloc(1, sizeof *sampled);
    enum ifg_status status = sampled ? sampled_init(sampled, job) : export_no_memory(job);

    if (!status && !sampled->profile) /* only switches were recorded */
        status = ifg_fail(job->err, IFG_NOT_FOUND, "the trace has no samples");
    if (!status)
        status = write(sampled);
    if (sampled)
        sampled_fini(sampled);
    ifg_free(sampled);
    return status;
}

size_t sampled_path(struct sampled *sampled, uint32_t node)
{
    const struct trace_stack_node *nodes = sampled->profile->trace->nodes;
    size_t depth = 0;

    if (!node)
        sampled->path[depth++] = 0;
    for (; node && depth < SAMPLED_DEPTH_MAX; node = nodes[node - 1].parent)
        sampled->path[depth++] = nodes[node - 1].frame;
    return depth;
}

const struct trace_symbol *sampled_entry(const struct sampled *sampled, uint32_t frame,
                                         uint32_t entry, struct ifg_bytes *out_name)
{
    const struct timeline_profile *profile = sampled->profile;
    const struct trace_symbol *first;
    size_t count = timeline_frame_symbols(profile, frame, &first);
    uint32_t module = frame ? profile->trace->frames[frame - 1].module : 0;
    char text[256];

    ifg_bytes_clear(out_name);
    if (count && first[entry].inlined && *first[entry].function)
        export_bytes_text(out_name, first[entry].function);
    else
        export_bytes_text(out_name, timeline_function_name(profile, profile->function_of[frame],
                                                           text, sizeof text));
    if (count && first[entry].inlined)
        export_bytes_text(out_name, "_[i]");
    else if (module && profile->trace->modules[module - 1].kind == TRACE_MODULE_KERNEL)
        export_bytes_text(out_name, "_[k]");
    return count ? &first[entry] : NULL;
}

void sampled_thread_name(const struct sampled *sampled, uint32_t thread, struct ifg_bytes *out)
{
    const struct timeline_sampled_thread *what = &sampled->profile->threads[thread];

    ifg_bytes_clear(out);
    export_bytes_text(out, *what->name ? what->name : "thread");
    export_bytes_text(out, " ");
    export_bytes_uint(out, what->tid);
}
