// SPDX-License-Identifier: Apache-2.0
/*
 * speedscope's file format: one evented profile for each thread, nanoseconds since the trace began.
 * Its events must balance: a slice that sticks out of the one around it is cut off there.
 */
#include "export/sampled.h"

struct speedscope {
    struct export_job *job;
    uint64_t at_ns; /* of the last event; they never go back */
    bool first_event;
    uint64_t cut;
};

static void put_event(struct speedscope *s, char type, uint32_t location, uint64_t ns)
{
    struct export_sink *sink = s->job->sink;
    char *out = export_room(sink, 2 * EXPORT_DIGITS + 64);

    if (ns < s->at_ns)
        ns = s->at_ns;
    s->at_ns = ns;
    memcpy(out, s->first_event ? "\n " : ",\n", 2);
    s->first_event = false;
    memcpy(out + 2, "{\"type\":\"O\",\"frame\":", 20);
    out[11] = type;
    out = export_uint(out + 22, location);
    memcpy(out, ",\"at\":", 6);
    out = export_uint(out + 6, ns - s->job->timeline->begin_ns);
    *out++ = '}';
    export_advance(sink, out);
}

static void put_head(struct speedscope *s, uint32_t thread, struct ifg_bytes *text)
{
    const struct timeline *timeline = s->job->timeline;
    const struct timeline_thread *what = &timeline->threads[thread];
    struct ifg_bytes name;

    ifg_bytes_init(&name, 1u << 20);
    export_bytes_text(&name, timeline->processes[what->process].name);
    export_bytes_text(&name, " ");
    export_bytes_text(&name, what->name);
    export_bytes_text(&name, what->name[0] ? " " : "");
    export_bytes_uint(&name, what->tid);
    ifg_bytes_put(&name, "", 1);
    ifg_bytes_clear(text);
    export_bytes_text(text, "{\"type\":\"evented\",\"name\":");
    if (name.failed)
        text->failed = true;
    else
        export_bytes_json(text, (const char *)name.data);
    export_bytes_text(text, ",\"unit\":\"nanoseconds\",\"startValue\":0,\"endValue\":");
    export_bytes_uint(text, timeline->end_ns - timeline->begin_ns);
    export_bytes_text(text, ",\"events\":[");
    ifg_bytes_fini(&name);
}

static enum ifg_status write_thread(struct speedscope *s, uint32_t thread, struct export_nest *nest,
                                    struct ifg_bytes *text, bool *profiles)
{
    struct export_sink *sink = s->job->sink;
    struct export_cursor cursor;
    struct export_slice slice;
    bool any = false;

    if (!export_cursor_init(&cursor, s->job, thread))
        return IFG_OK;
    while (export_next(&cursor, &slice)) {
        if (!any) {
            any = true;
            put_head(s, thread, text);
            if (text->failed)
                return export_no_memory(s->job);
            export_put_text(sink, *profiles ? ",\n" : "\n");
            export_put(sink, text->data, text->size);
            *profiles = true;
            s->first_event = true;
            s->at_ns = s->job->timeline->begin_ns;
        }
        s->job->result->slices++;
        while (export_nest_ended(nest, slice.start_ns)) {
            const struct export_open *open = &nest->items[--nest->count];

            put_event(s, 'C', open->location, open->end_ns);
        }
        if (export_nest_overlaps(nest, slice.end_ns)) {
            slice.end_ns = export_nest_top(nest)->end_ns;
            s->cut++;
        }
        if (!export_nest_push(nest, &slice))
            return export_no_memory(s->job);
        put_event(s, 'O', slice.location, slice.start_ns);
    }
    while (nest->count) {
        const struct export_open *open = &nest->items[--nest->count];

        put_event(s, 'C', open->location, open->end_ns);
    }
    if (any)
        export_put_text(sink, "\n]}");
    return IFG_OK;
}

static bool write_frames(struct speedscope *s, struct ifg_bytes *text)
{
    const struct timeline *timeline = s->job->timeline;
    struct ifg_bytes name;
    bool good = true;

    ifg_bytes_init(&name, 1u << 20);
    for (uint32_t i = 0; i < timeline->location_count && good; i++) {
        const struct timeline_location *location = &timeline->locations[i];

        ifg_bytes_clear(&name);
        ifg_bytes_clear(text);
        export_frame_name(timeline, i, &name);
        if (name.size == 0)
            export_bytes_text(&name, "(no name)");
        ifg_bytes_put(&name, "", 1);
        export_bytes_text(text, i ? ",\n{\"name\":" : "\n{\"name\":");
        if (!name.failed)
            export_bytes_json(text, (const char *)name.data);
        if (location->file[0]) {
            export_bytes_text(text, ",\"file\":");
            export_bytes_json(text, location->file);
            export_bytes_text(text, ",\"line\":");
            export_bytes_uint(text, location->line);
        }
        export_bytes_text(text, "}");
        good = !name.failed && !text->failed;
        if (good)
            export_put(s->job->sink, text->data, text->size);
    }
    ifg_bytes_fini(&name);
    return good;
}

static enum ifg_status export_speedscope_zones(struct export_job *job)
{
    struct speedscope s = { .job = job };
    struct export_nest nest = { 0 };
    struct ifg_bytes text;
    enum ifg_status status = IFG_OK;
    bool profiles = false;

    ifg_bytes_init(&text, 64u << 20);
    export_put_text(job->sink,
                    "{\"$schema\":\"https://www.speedscope.app/file-format-schema.json\","
                    "\"exporter\":\"inferogram " INFEROGRAM_VERSION "\",\"name\":");
    export_bytes_json(&text, job->timeline->process_count ? job->timeline->processes[0].name : "");
    if (!text.failed)
        export_put(job->sink, text.data, text.size);
    export_put_text(job->sink, ",\"shared\":{\"frames\":[");
    if (!write_frames(&s, &text))
        status = export_no_memory(job);
    export_put_text(job->sink, "\n]},\"profiles\":[");
    for (uint32_t i = 0; i < job->timeline->thread_count && !status; i++)
        status = write_thread(&s, i, &nest, &text, &profiles);
    export_put_text(job->sink, "\n]}\n");
    job->result->overlapping = s.cut;
    if (s.cut)
        export_note(job, "slices that overlap the one around them: %llu; they end with it",
                    (unsigned long long)s.cut);
    if (!profiles)
        export_note(job, "no thread has slices; speedscope opens only files with a profile");
    export_nest_fini(&nest);
    ifg_bytes_fini(&text);
    return status;
}

static enum ifg_status write_speedscope(struct export_job *job)
{
    return sampled_are_richer(job) ? sampled_export(job, export_speedscope_samples)
                                   : export_speedscope_zones(job);
}

const struct export_format export_format_speedscope = {
    .name = "speedscope",
    .extension = ".speedscope.json",
    .summary = "speedscope's evented profiles, one for each thread",
    .takes = EXPORT_TAKES_STACKS,
    .write = write_speedscope,
};
