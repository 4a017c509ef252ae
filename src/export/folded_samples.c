// SPDX-License-Identifier: Apache-2.0
/* Folded stacks of samples: "outer;inner 12" lines, the number is how many samples have it. */
#include <stdlib.h>

#include "export/sampled.h"

/* A stack ends with a number and is cut by ';': neither may be in a name. */
static void clean(struct ifg_bytes *name)
{
    if (!name->size)
        export_bytes_text(name, "(no name)");
    for (size_t i = 0; i < name->size && !name->failed; i++) {
        if (name->data[i] == ';')
            name->data[i] = ',';
        else if (name->data[i] < 0x20 || name->data[i] == 0x7f)
            name->data[i] = ' ';
    }
}

static int by_stack(const void *a, const void *b, void *user)
{
    const struct sampled *sampled = user;
    const struct timeline_sample *left = &sampled->profile->samples[*(const uint32_t *)a];
    const struct timeline_sample *right = &sampled->profile->samples[*(const uint32_t *)b];

    if (sampled->job->options->by_thread && left->thread != right->thread)
        return left->thread < right->thread ? -1 : 1;
    return left->stack < right->stack ? -1 : left->stack > right->stack;
}

static bool write_stack(struct sampled *sampled, const struct timeline_sample *sample,
                        uint64_t count, struct ifg_bytes *name)
{
    struct export_sink *sink = sampled->job->sink;
    size_t depth = sampled_path(sampled, sample->stack);
    char *out;

    if (sampled->job->options->by_thread) {
        sampled_thread_name(sampled, sample->thread, name);
        clean(name);
        export_put(sink, name->data, name->size);
        export_put(sink, ";", 1);
    }
    while (depth-- > 0) {
        uint32_t frame = sampled->path[depth];
        uint32_t entries = sampled->first_entry[frame + 1] - sampled->first_entry[frame];

        while (entries-- > 0) {
            sampled_entry(sampled, frame, entries, name);
            clean(name);
            if (name->failed)
                return false;
            export_put(sink, name->data, name->size);
            export_put(sink, depth || entries ? ";" : " ", 1);
        }
    }
    out = export_room(sink, EXPORT_DIGITS + 1);
    out = export_uint(out, count);
    *out++ = '\n';
    export_advance(sink, out);
    return true;
}

enum ifg_status export_folded_samples(struct sampled *sampled)
{
    const struct timeline_sample *samples = sampled->profile->samples;
    struct ifg_bytes name;
    bool good = true;
    size_t next;

    ifg_bytes_init(&name, 1u << 20);
    if (sampled->count)
        qsort_r(sampled->picked, sampled->count, sizeof *sampled->picked, by_stack, sampled);
    for (size_t i = 0; i < sampled->count && good; i = next) {
        next = i + 1;
        while (next < sampled->count &&
               by_stack(&sampled->picked[i], &sampled->picked[next], sampled) == 0)
            next++;
        good = write_stack(sampled, &samples[sampled->picked[i]], next - i, &name);
    }
    ifg_bytes_fini(&name);
    return good ? IFG_OK : export_no_memory(sampled->job);
}
