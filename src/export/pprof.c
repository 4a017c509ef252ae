// SPDX-License-Identifier: Apache-2.0
/*
 * The profile that pprof reads: gzip around a protobuf. A sample is a distinct stack with the
 * number of its slices and its own time; labels name model and category of the ML event around it.
 */
#include "export/pprof_internal.h"

#include "base/alloc.h"

/* Strings that every profile has; those of locations follow. */
static const char *const fixed_strings[] = { "",      "zones",   "count", "wall", "nanoseconds",
                                             "model", "category" };
enum { S_NONE, S_ZONES, S_COUNT, S_WALL, S_NANOSECONDS, S_MODEL, S_CATEGORY, S_FIXED };

/* From there on: a name, a function and a file for each location, a name for each model, the
 * categories. */
#define LOCATION_STRINGS 3

void pprof_compress(struct pprof *p, bool last)
{
    p->zip.next_in = p->pending.data;
    p->zip.avail_in = (uInt)p->pending.size;
    for (int code = Z_OK; !p->failed && code != Z_STREAM_END;) {
        char *room = export_room(p->job->sink, EXPORT_ROOM_MAX);

        p->zip.next_out = (Bytef *)room;
        p->zip.avail_out = EXPORT_ROOM_MAX;
        code = deflate(&p->zip, last ? Z_FINISH : Z_NO_FLUSH);
        export_advance(p->job->sink, (char *)p->zip.next_out);
        if (code != Z_OK && code != Z_STREAM_END && code != Z_BUF_ERROR)
            p->failed = true;
        if (!last && p->zip.avail_in == 0 && p->zip.avail_out != 0)
            break;
    }
    ifg_bytes_clear(&p->pending);
}

void pprof_message(struct pprof *p, enum profile_field field)
{
    proto_message(&p->pending, field, &p->message);
    if (p->pending.failed)
        p->failed = true;
    else if (p->pending.size >= 256u << 10)
        pprof_compress(p, false);
    ifg_bytes_clear(&p->message);
}

void pprof_sample_type(struct pprof *p, uint64_t type, uint64_t unit)
{
    proto_uint(&p->message, 1, type);
    proto_uint(&p->message, 2, unit);
    pprof_message(p, PROFILE_SAMPLE_TYPE);
}

static uint64_t model_string(const struct timeline *timeline, uint32_t model)
{
    return S_FIXED + LOCATION_STRINGS * timeline->location_count + model;
}

static uint64_t category_string(const struct timeline *timeline, enum trace_category category)
{
    return model_string(timeline, (uint32_t)timeline->model_count) + category;
}

void pprof_label(struct pprof *p, uint64_t key, uint64_t text)
{
    ifg_bytes_clear(&p->label);
    proto_uint(&p->label, 1, key);
    proto_uint(&p->label, 2, text);
    proto_message(&p->message, 3, &p->label);
}

static void put_sample(struct pprof *p, const struct stack_node *node)
{
    const struct timeline *timeline = p->job->timeline;

    ifg_bytes_clear(&p->inner);
    for (const struct stack_node *at = node;; at = &p->stacks.nodes[at->parent]) {
        ifg_bytes_put_varint(&p->inner, at->location + 1);
        if (at->parent == STACK_ROOT)
            break;
    }
    proto_message(&p->message, 1, &p->inner);
    ifg_bytes_clear(&p->inner);
    ifg_bytes_put_varint(&p->inner, node->count);
    ifg_bytes_put_varint(&p->inner, node->self_ns);
    proto_message(&p->message, 2, &p->inner);
    if (node->ml != TIMELINE_NONE) {
        if (timeline->locations[node->ml].model != TIMELINE_NONE)
            pprof_label(p, S_MODEL, model_string(timeline, timeline->locations[node->ml].model));
        pprof_label(p, S_CATEGORY,
                    category_string(timeline, timeline->locations[node->ml].category));
    }
    pprof_message(p, PROFILE_SAMPLE);
}

static void put_location(struct pprof *p, uint32_t index)
{
    const struct timeline_location *location = &p->job->timeline->locations[index];
    uint64_t text = S_FIXED + LOCATION_STRINGS * (uint64_t)index;

    ifg_bytes_clear(&p->inner);
    proto_uint(&p->inner, 1, index + 1);
    proto_uint(&p->inner, 2, location->line);
    proto_uint(&p->message, 1, index + 1);
    proto_message(&p->message, 4, &p->inner);
    pprof_message(p, PROFILE_LOCATION);
    proto_uint(&p->message, 1, index + 1);
    proto_uint(&p->message, 2, text);
    proto_uint(&p->message, 3, text + 1);
    proto_uint(&p->message, 4, text + 2);
    pprof_message(p, PROFILE_FUNCTION);
}

void pprof_string(struct pprof *p, const char *text)
{
    export_bytes_text(&p->message, text);
    pprof_message(p, PROFILE_STRING);
}

static void put_strings(struct pprof *p)
{
    const struct timeline *timeline = p->job->timeline;

    for (size_t i = 0; i < S_FIXED; i++)
        pprof_string(p, fixed_strings[i]);
    for (uint32_t i = 0; i < timeline->location_count; i++) {
        export_frame_name(timeline, i, &p->message);
        pprof_message(p, PROFILE_STRING);
        pprof_string(p, timeline->locations[i].function);
        pprof_string(p, timeline->locations[i].file);
    }
    for (size_t i = 0; i < timeline->model_count; i++)
        pprof_string(p, timeline->models[i].name);
    for (int i = 0; i < TRACE_CATEGORIES; i++)
        pprof_string(p, timeline_category_name((enum trace_category)i));
}

static void write_profile(struct pprof *p)
{
    const struct timeline *timeline = p->job->timeline;
    uint64_t time_ns = timeline->begin_ns + (uint64_t)timeline->realtime_offset_ns;

    pprof_sample_type(p, S_ZONES, S_COUNT);
    pprof_sample_type(p, S_WALL, S_NANOSECONDS);
    for (size_t i = 0; i < p->stacks.count; i++)
        put_sample(p, &p->stacks.nodes[i]);
    for (uint32_t i = 0; i < timeline->location_count; i++)
        put_location(p, i);
    put_strings(p);
    if (timeline->realtime_offset_ns)
        proto_uint(&p->pending, PROFILE_TIME_NS, time_ns);
    proto_uint(&p->pending, PROFILE_DURATION_NS, timeline->end_ns - timeline->begin_ns);
    proto_uint(&p->pending, PROFILE_DEFAULT_TYPE, S_WALL);
    if (p->pending.failed)
        p->failed = true;
    pprof_compress(p, true);
}

static enum ifg_status write_pprof(struct export_job *job)
{
    struct pprof p = { .job = job };
    bool samples = sampled_are_richer(job);
    enum ifg_status status;

    ifg_bytes_init(&p.message, 64u << 20);
    ifg_bytes_init(&p.inner, 64u << 20);
    ifg_bytes_init(&p.label, 1u << 10);
    ifg_bytes_init(&p.pending, 256u << 20);
    if (samples) {
        p.sampled = ifg_alloc(1, sizeof *p.sampled);
        status = p.sampled ? sampled_init(p.sampled, job) : export_no_memory(job);
        if (!status && !p.sampled->profile)
            status = ifg_fail(job->err, IFG_NOT_FOUND, "the trace has no samples");
    } else {
        status = stacks_build(&p.stacks, job, false);
    }
    if (!status) {
        p.zip_open = deflateInit2(&p.zip, 6, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY) == Z_OK;
        if (p.zip_open && samples)
            pprof_samples(&p);
        else if (p.zip_open)
            write_profile(&p);
        if (!p.zip_open || p.failed)
            status = export_no_memory(job);
    }
    if (p.zip_open)
        deflateEnd(&p.zip);
    ifg_bytes_fini(&p.message);
    ifg_bytes_fini(&p.inner);
    ifg_bytes_fini(&p.label);
    ifg_bytes_fini(&p.pending);
    stacks_fini(&p.stacks);
    if (p.sampled)
        sampled_fini(p.sampled);
    ifg_free(p.sampled);
    return status;
}

const struct export_format export_format_pprof = {
    .name = "pprof",
    .extension = ".pb.gz",
    .summary = "the profile of Go's pprof",
    .takes = EXPORT_TAKES_STACKS,
    .write = write_pprof,
};
