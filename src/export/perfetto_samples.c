// SPDX-License-Identifier: Apache-2.0
/* Samples as Perfetto's PerfSample packets: names, frames and stacks are interned as they come. */
#include "base/alloc.h"
#include "export/perfetto_internal.h"
#include "export/sampled.h"

enum {
    PACKET_PERF_SAMPLE = 66,

    INTERNED_FUNCTION_NAMES = 5,
    INTERNED_FRAMES = 6,
    INTERNED_CALLSTACKS = 7,
    INTERNED_BUILD_IDS = 16,
    INTERNED_MAPPING_PATHS = 17,
    INTERNED_MAPPINGS = 19,

    MODE_KERNEL = 1,
    MODE_USER = 2,
};

/* The generation of the sequence in which each was interned. */
struct seen {
    uint32_t *modules;
    uint32_t *frames;
    uint32_t *nodes;
};

static void intern_text(struct perfetto *p, uint32_t field, uint64_t iid, const void *text,
                        size_t size)
{
    ifg_bytes_clear(&p->part);
    proto_uint(&p->part, 1, iid);
    proto_bytes(&p->part, 2, text, size);
    proto_message(&p->interned, field, &p->part);
}

/* Addresses are those of the file, so each module is a mapping from 0 on. */
static void intern_module(struct perfetto *p, const struct timeline_profile *profile,
                          uint32_t module, struct seen *seen)
{
    const struct trace_module *what = module ? &profile->trace->modules[module - 1] : NULL;
    const char *path = what && *what->path ? what->path : timeline_module_name(profile, module);

    if (seen->modules[module] == p->generation)
        return;
    seen->modules[module] = p->generation;
    intern_text(p, INTERNED_MAPPING_PATHS, module + 1, path, strlen(path));
    intern_text(p, INTERNED_BUILD_IDS, module + 1, what ? what->build_id : "",
                what ? strlen(what->build_id) : 0);
    ifg_bytes_clear(&p->part);
    proto_uint(&p->part, 1, module + 1);
    proto_uint(&p->part, 2, module + 1);
    proto_uint(&p->part, 4, 0);
    proto_uint(&p->part, 5, UINT64_MAX);
    proto_uint(&p->part, 7, module + 1);
    proto_message(&p->interned, INTERNED_MAPPINGS, &p->part);
}

/* The entries of a frame: inlined functions are frames of their own. */
static void intern_frame(struct perfetto *p, struct sampled *sampled, uint32_t frame,
                         struct seen *seen, struct ifg_bytes *name)
{
    const struct trace_profile *trace = sampled->profile->trace;
    uint32_t first = sampled->first_entry[frame];
    uint32_t entries = sampled->first_entry[frame + 1] - first;
    uint32_t module = frame ? trace->frames[frame - 1].module : 0;

    if (seen->frames[frame] == p->generation)
        return;
    seen->frames[frame] = p->generation;
    intern_module(p, sampled->profile, module, seen);
    for (uint32_t e = 0; e < entries; e++) {
        sampled_entry(sampled, frame, e, name);
        intern_text(p, INTERNED_FUNCTION_NAMES, first + e + 1, name->data, name->size);
        ifg_bytes_clear(&p->part);
        proto_uint(&p->part, 1, first + e + 1);
        proto_uint(&p->part, 2, first + e + 1);
        proto_uint(&p->part, 3, module + 1);
        proto_uint(&p->part, 4, frame ? trace->frames[frame - 1].address : 0);
        proto_message(&p->interned, INTERNED_FRAMES, &p->part);
    }
}

static void intern_stack(struct perfetto *p, struct sampled *sampled, uint32_t node,
                         struct seen *seen, struct ifg_bytes *name)
{
    size_t depth;

    if (seen->nodes[node] == p->generation)
        return;
    seen->nodes[node] = p->generation;
    depth = sampled_path(sampled, node);
    for (size_t i = 0; i < depth; i++)
        intern_frame(p, sampled, sampled->path[i], seen, name);
    ifg_bytes_clear(&p->part);
    proto_uint(&p->part, 1, (uint64_t)node + 1);
    while (depth-- > 0) { /* the outermost first */
        uint32_t frame = sampled->path[depth];

        for (uint32_t e = sampled->first_entry[frame + 1]; e-- > sampled->first_entry[frame];)
            proto_uint(&p->part, 2, (uint64_t)e + 1);
    }
    proto_message(&p->interned, INTERNED_CALLSTACKS, &p->part);
}

static void write_sample(struct perfetto *p, struct sampled *sampled,
                         const struct timeline_sample *sample, struct seen *seen,
                         struct ifg_bytes *name)
{
    const struct timeline_sampled_thread *thread = &sampled->profile->threads[sample->thread];

    perfetto_refresh(p);
    perfetto_packet_begin(p, sample->ns);
    intern_stack(p, sampled, sample->stack, seen, name);
    ifg_bytes_clear(&p->inner);
    proto_uint(&p->inner, 1, sample->cpu);
    proto_uint(&p->inner, 2, thread->pid);
    proto_uint(&p->inner, 3, thread->tid);
    proto_uint(&p->inner, 4, (uint64_t)sample->stack + 1);
    proto_uint(&p->inner, 5, sample->in_kernel ? MODE_KERNEL : MODE_USER);
    proto_message(&p->packet, PACKET_PERF_SAMPLE, &p->inner);
    perfetto_packet_end(p);
}

enum ifg_status perfetto_samples(struct perfetto *p, uint32_t sequence)
{
    struct sampled *sampled = ifg_alloc(1, sizeof *sampled);
    struct seen seen = { 0 };
    struct ifg_bytes name;
    enum ifg_status status = sampled ? sampled_init(sampled, p->job) : export_no_memory(p->job);

    ifg_bytes_init(&name, 1u << 20);
    if (!status && sampled->profile) {
        const struct trace_profile *trace = sampled->profile->trace;

        seen.modules = ifg_alloc(trace->module_count + 1, sizeof *seen.modules);
        seen.frames = ifg_alloc(trace->frame_count + 1, sizeof *seen.frames);
        seen.nodes = ifg_alloc(trace->node_count + 1, sizeof *seen.nodes);
        if (!seen.modules || !seen.frames || !seen.nodes)
            status = export_no_memory(p->job);
        if (!status)
            perfetto_sequence(p, sequence, 0);
        for (size_t i = 0; !status && i < sampled->count; i++)
            write_sample(p, sampled, &sampled->profile->samples[sampled->picked[i]], &seen, &name);
        if (!status && name.failed)
            status = export_no_memory(p->job);
    }
    if (sampled)
        sampled_fini(sampled);
    ifg_free(sampled);
    ifg_free(seen.modules);
    ifg_free(seen.frames);
    ifg_free(seen.nodes);
    ifg_bytes_fini(&name);
    return status;
}
