// SPDX-License-Identifier: Apache-2.0
/* Samples in Chrome's format: the tree of frames under "stackFrames", then "samples". */
#include <stdio.h>

#include "base/alloc.h"
#include "export/sampled.h"

static void put(struct sampled *sampled, const struct ifg_bytes *text)
{
    if (!text->failed)
        export_put(sampled->job->sink, text->data, text->size);
}

/* One node of the tree: inlined functions share it with the one that has the code. */
static bool write_node(struct sampled *sampled, uint32_t node, bool first, struct ifg_bytes *text,
                       struct ifg_bytes *name)
{
    const struct timeline_profile *profile = sampled->profile;
    const struct trace_stack_node *what = &profile->trace->nodes[node - 1];
    uint32_t module = what->frame ? profile->trace->frames[what->frame - 1].module : 0;

    sampled_entry(sampled, what->frame,
                  sampled->first_entry[what->frame + 1] - sampled->first_entry[what->frame] - 1,
                  name);
    ifg_bytes_put(name, "", 1);
    ifg_bytes_clear(text);
    export_bytes_text(text, first ? "\n\"" : ",\n\"");
    export_bytes_uint(text, node);
    export_bytes_text(text, "\":{\"category\":");
    export_bytes_json(text, timeline_module_name(profile, module));
    export_bytes_text(text, ",\"name\":");
    if (!name->failed)
        export_bytes_json(text, (const char *)name->data);
    if (what->parent) {
        export_bytes_text(text, ",\"parent\":\"");
        export_bytes_uint(text, what->parent);
        export_bytes_text(text, "\"");
    }
    export_bytes_text(text, "}");
    put(sampled, text);
    return !text->failed && !name->failed;
}

static void write_sample(struct sampled *sampled, const struct timeline_sample *sample, bool first,
                         uint64_t begin_ns, struct ifg_bytes *text)
{
    uint64_t ns = sample->ns > begin_ns ? sample->ns - begin_ns : 0;
    char micros[40];

    snprintf(micros, sizeof micros, "%llu.%03u", (unsigned long long)(ns / 1000),
             (unsigned)(ns % 1000));
    ifg_bytes_clear(text);
    export_bytes_text(text, first ? "\n{\"cpu\":" : ",\n{\"cpu\":");
    export_bytes_uint(text, sample->cpu);
    export_bytes_text(text, ",\"tid\":");
    export_bytes_uint(text, sampled->profile->threads[sample->thread].tid);
    export_bytes_text(text, ",\"ts\":");
    export_bytes_text(text, micros);
    export_bytes_text(text, ",\"name\":\"sample\",\"sf\":\"");
    export_bytes_uint(text, sample->stack);
    export_bytes_text(text, "\",\"weight\":1}");
    put(sampled, text);
}

enum ifg_status export_chrome_samples(struct sampled *sampled, uint64_t begin_ns)
{
    const struct timeline_profile *profile = sampled->profile;
    size_t nodes = profile->trace->node_count;
    bool *used = ifg_alloc(nodes + 1, sizeof *used);
    struct ifg_bytes text, name;
    bool good = used != NULL;
    bool first = true;

    ifg_bytes_init(&text, 4u << 20);
    ifg_bytes_init(&name, 1u << 20);
    for (size_t i = 0; good && i < sampled->count; i++)
        used[profile->samples[sampled->picked[i]].stack] = true;
    for (size_t n = nodes; good && n > 0; n--)
        if (used[n])
            used[profile->trace->nodes[n - 1].parent] = true;
    export_put_text(sampled->job->sink, ",\"stackFrames\":{");
    for (size_t n = 1; good && n <= nodes; n++) {
        if (!used[n])
            continue;
        good = write_node(sampled, (uint32_t)n, first, &text, &name);
        first = false;
    }
    export_put_text(sampled->job->sink, "\n},\"samples\":[");
    first = true;
    for (size_t i = 0; good && i < sampled->count; i++) {
        const struct timeline_sample *sample = &profile->samples[sampled->picked[i]];

        if (!sample->stack)
            continue;
        write_sample(sampled, sample, first, begin_ns, &text);
        first = false;
    }
    export_put_text(sampled->job->sink, "\n]");
    ifg_bytes_fini(&text);
    ifg_bytes_fini(&name);
    ifg_free(used);
    return good ? IFG_OK : export_no_memory(sampled->job);
}
