// SPDX-License-Identifier: Apache-2.0
/* Folded stacks: "outer;inner 1234" lines, the number is the stack's own time in nanoseconds. */
#include "base/alloc.h"
#include "base/array.h"
#include "export/sampled.h"
#include "export/stacks.h"

struct folded {
    struct export_job *job;
    struct stacks stacks;
    struct export_texts frames;  /* per location */
    struct export_texts threads; /* per thread */
    uint32_t *path;
    size_t path_capacity;
};

/* A frame's text is cut by ';' and ended by a line's end: neither may be in it. */
static void clean(struct ifg_bytes *bytes, size_t from)
{
    if (bytes->failed)
        return;
    if (bytes->size == from)
        export_bytes_text(bytes, "(no name)");
    for (size_t i = from; i < bytes->size && !bytes->failed; i++) {
        if (bytes->data[i] == ';')
            bytes->data[i] = ',';
        else if (bytes->data[i] < 0x20 || bytes->data[i] == 0x7f)
            bytes->data[i] = ' ';
    }
}

static bool make_texts(struct folded *folded)
{
    const struct timeline *timeline = folded->job->timeline;
    struct ifg_bytes *out = &folded->frames.bytes;

    if (!export_texts_init(&folded->frames, timeline->location_count) ||
        !export_texts_init(&folded->threads, timeline->thread_count))
        return false;
    for (uint32_t i = 0; i < timeline->location_count; i++) {
        export_texts_begin(&folded->frames, i);
        export_frame_name(timeline, i, out);
        clean(out, folded->frames.items[i].offset);
        export_texts_end(&folded->frames, i);
    }
    out = &folded->threads.bytes;
    for (uint32_t i = 0; i < timeline->thread_count; i++) {
        export_texts_begin(&folded->threads, i);
        export_bytes_text(out, timeline->threads[i].name[0] ? timeline->threads[i].name : "thread");
        export_bytes_text(out, " ");
        export_bytes_uint(out, timeline->threads[i].tid);
        clean(out, folded->threads.items[i].offset);
        export_texts_end(&folded->threads, i);
    }
    return !folded->frames.bytes.failed && !folded->threads.bytes.failed;
}

static bool write_stack(struct folded *folded, uint32_t node)
{
    struct export_sink *sink = folded->job->sink;
    const struct stack_node *nodes = folded->stacks.nodes;
    size_t depth = 0;
    char *out;

    for (uint32_t at = node; at != STACK_ROOT; at = nodes[at].parent) {
        if (!IFG_ARRAY_ROOM(folded->path, folded->path_capacity, depth + 1, IFG_ARRAY_ANY))
            return false;
        folded->path[depth++] = at;
    }
    while (depth-- > 0) {
        const struct stack_node *frame = &nodes[folded->path[depth]];

        export_put_cached(sink, frame->is_thread ? &folded->threads : &folded->frames,
                          frame->location);
        export_put(sink, depth ? ";" : " ", 1);
    }
    out = export_room(sink, EXPORT_DIGITS + 1);
    out = export_uint(out, nodes[node].self_ns);
    *out++ = '\n';
    export_advance(sink, out);
    return true;
}

static enum ifg_status export_folded_zones(struct export_job *job)
{
    struct folded folded = { .job = job };
    enum ifg_status status = stacks_build(&folded.stacks, job, job->options->by_thread);

    if (!status && !make_texts(&folded))
        status = export_no_memory(job);
    for (size_t i = 0; i < folded.stacks.count && !status; i++)
        if (folded.stacks.nodes[i].count && !write_stack(&folded, (uint32_t)i))
            status = export_no_memory(job);
    ifg_free(folded.path);
    export_texts_fini(&folded.frames);
    export_texts_fini(&folded.threads);
    stacks_fini(&folded.stacks);
    return status;
}

static enum ifg_status write_folded(struct export_job *job)
{
    return sampled_are_richer(job) ? sampled_export(job, export_folded_samples)
                                   : export_folded_zones(job);
}

const struct export_format export_format_folded = {
    .name = "folded",
    .extension = ".folded",
    .summary = "stacks and their own time, for flame graphs",
    .takes = EXPORT_TAKES_STACKS | EXPORT_TAKES_BY_THREAD,
    .write = write_folded,
};
