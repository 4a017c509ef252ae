// SPDX-License-Identifier: Apache-2.0
/* speedscope's sampled profiles: one for each thread, each sample with the time it stands for. */
#include "export/sampled.h"

static bool write_frames(struct sampled *sampled, struct ifg_bytes *text, struct ifg_bytes *name)
{
    bool first = true;

    for (uint32_t f = 0; f <= sampled->profile->trace->frame_count; f++) {
        uint32_t entries = sampled->first_entry[f + 1] - sampled->first_entry[f];

        for (uint32_t e = 0; e < entries; e++) {
            const struct trace_symbol *symbol = sampled_entry(sampled, f, e, name);

            ifg_bytes_put(name, "", 1);
            ifg_bytes_clear(text);
            export_bytes_text(text, first ? "\n{\"name\":" : ",\n{\"name\":");
            if (!name->failed)
                export_bytes_json(text, (const char *)name->data);
            if (symbol && symbol->line) {
                export_bytes_text(text, ",\"file\":");
                export_bytes_json(text, symbol->file);
                export_bytes_text(text, ",\"line\":");
                export_bytes_uint(text, symbol->line);
            }
            export_bytes_text(text, "}");
            if (name->failed || text->failed)
                return false;
            export_put(sampled->job->sink, text->data, text->size);
            first = false;
        }
    }
    return true;
}

static void write_sample(struct sampled *sampled, uint32_t node, bool first)
{
    struct export_sink *sink = sampled->job->sink;
    size_t depth = sampled_path(sampled, node);
    bool inner = false;

    export_put_text(sink, first ? "\n[" : ",\n[");
    while (depth-- > 0) {
        uint32_t frame = sampled->path[depth];

        for (uint32_t e = sampled->first_entry[frame + 1]; e-- > sampled->first_entry[frame];) {
            char *out = export_room(sink, EXPORT_DIGITS + 1);

            if (inner)
                *out++ = ',';
            inner = true;
            export_advance(sink, export_uint(out, e));
        }
    }
    export_put(sink, "]", 1);
}

/* The samples of one thread among picked; they are in order of time. */
static bool write_thread(struct sampled *sampled, uint32_t thread, bool *any,
                         struct ifg_bytes *text, struct ifg_bytes *name)
{
    const struct timeline_sample *samples = sampled->profile->samples;
    struct export_sink *sink = sampled->job->sink;
    uint64_t count = 0;
    bool first = true;

    for (size_t i = 0; i < sampled->count; i++)
        count += samples[sampled->picked[i]].thread == thread;
    if (!count)
        return true;
    sampled_thread_name(sampled, thread, name);
    ifg_bytes_put(name, "", 1);
    ifg_bytes_clear(text);
    export_bytes_text(text, *any ? ",\n" : "\n");
    *any = true;
    export_bytes_text(text, "{\"type\":\"sampled\",\"name\":");
    if (!name->failed)
        export_bytes_json(text, (const char *)name->data);
    export_bytes_text(text, ",\"unit\":\"nanoseconds\",\"startValue\":0,\"endValue\":");
    export_bytes_uint(text, count * sampled->period_ns);
    export_bytes_text(text, ",\"samples\":[");
    if (name->failed || text->failed)
        return false;
    export_put(sink, text->data, text->size);
    for (size_t i = 0; i < sampled->count; i++) {
        if (samples[sampled->picked[i]].thread != thread)
            continue;
        write_sample(sampled, samples[sampled->picked[i]].stack, first);
        first = false;
    }
    export_put_text(sink, "\n],\"weights\":[");
    for (uint64_t i = 0; i < count; i++) {
        char *out = export_room(sink, EXPORT_DIGITS + 1);

        if (i)
            *out++ = ',';
        export_advance(sink, export_uint(out, sampled->period_ns));
    }
    export_put_text(sink, "]}");
    return true;
}

enum ifg_status export_speedscope_samples(struct sampled *sampled)
{
    struct export_job *job = sampled->job;
    struct ifg_bytes text, name;
    bool good;
    bool any = false;

    ifg_bytes_init(&text, 4u << 20);
    ifg_bytes_init(&name, 1u << 20);
    export_put_text(job->sink,
                    "{\"$schema\":\"https://www.speedscope.app/file-format-schema.json\","
                    "\"exporter\":\"inferogram " INFEROGRAM_VERSION "\",\"name\":");
    export_bytes_json(&text, job->timeline->process_count ? job->timeline->processes[0].name : "");
    if (!text.failed)
        export_put(job->sink, text.data, text.size);
    export_put_text(job->sink, ",\"shared\":{\"frames\":[");
    good = write_frames(sampled, &text, &name);
    export_put_text(job->sink, "\n]},\"profiles\":[");
    for (uint32_t t = 0; t < sampled->profile->thread_count && good; t++) {
        if (!sampled->profile->threads[t].sample_count)
            continue;
        good = write_thread(sampled, t, &any, &text, &name);
    }
    export_put_text(job->sink, "\n]}\n");
    if (!any)
        export_note(job, "no sample is wanted; speedscope opens only files with a profile");
    ifg_bytes_fini(&text);
    ifg_bytes_fini(&name);
    return good ? IFG_OK : export_no_memory(job);
}
