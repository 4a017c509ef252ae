// SPDX-License-Identifier: Apache-2.0
/*
 * Samples as pprof's profile: a location for each frame, with a line for each function that was
 * inlined there; labels name model, category, operator and thread.
 */
#include <stdlib.h>

#include "export/pprof_internal.h"

static const char *const fixed_strings[] = { "",         "samples",     "count",
                                             "cpu",      "nanoseconds", "model",
                                             "category", "operator",    "thread" };
enum {
    S_NONE,
    S_SAMPLES,
    S_COUNT,
    S_CPU,
    S_NANOSECONDS,
    S_MODEL,
    S_CATEGORY,
    S_OPERATOR,
    S_THREAD,
    S_FIXED
};

/* Where the strings of each kind begin; see put_strings. */
struct locations {
    uint64_t modules; /* path and build-id of each, number 0 too */
    uint64_t entries; /* name and file of each */
    uint64_t models;
    uint64_t categories;
    uint64_t operators; /* names of locations */
    uint64_t threads;
};

static struct locations locations_of(const struct pprof *p)
{
    const struct timeline *timeline = p->job->timeline;
    struct locations locations = { .modules = S_FIXED };

    locations.entries = locations.modules + 2 * (p->sampled->profile->trace->module_count + 1);
    locations.models = locations.entries + 2 * p->sampled->entry_count;
    locations.categories = locations.models + timeline->model_count;
    locations.operators = locations.categories + TRACE_CATEGORIES;
    locations.threads = locations.operators + timeline->location_count;
    return locations;
}

/* What makes two samples one of the profile. */
static int compare(const void *a, const void *b, void *user)
{
    const struct sampled *sampled = user;
    const struct timeline_sample *left = &sampled->profile->samples[*(const uint32_t *)a];
    const struct timeline_sample *right = &sampled->profile->samples[*(const uint32_t *)b];

    if (left->stack != right->stack)
        return left->stack < right->stack ? -1 : 1;
    if (left->ml != right->ml)
        return left->ml < right->ml ? -1 : 1;
    if (left->op != right->op)
        return left->op < right->op ? -1 : 1;
    return left->thread < right->thread ? -1 : left->thread > right->thread;
}

static void put_sample(struct pprof *p, const struct locations *locations,
                       const struct timeline_sample *sample, uint64_t count)
{
    const struct timeline *timeline = p->job->timeline;
    size_t depth = sampled_path(p->sampled, sample->stack);

    ifg_bytes_clear(&p->inner);
    for (size_t i = 0; i < depth; i++)
        ifg_bytes_put_varint(&p->inner, (uint64_t)p->sampled->path[i] + 1);
    proto_message(&p->message, 1, &p->inner);
    ifg_bytes_clear(&p->inner);
    ifg_bytes_put_varint(&p->inner, count);
    ifg_bytes_put_varint(&p->inner, count * p->sampled->period_ns);
    proto_message(&p->message, 2, &p->inner);
    if (sample->ml != TIMELINE_NONE) {
        if (timeline->locations[sample->ml].model < timeline->model_count)
            pprof_label(p, S_MODEL, locations->models + timeline->locations[sample->ml].model);
        pprof_label(p, S_CATEGORY,
                    locations->categories + timeline->locations[sample->ml].category);
    }
    if (sample->op != TIMELINE_NONE)
        pprof_label(p, S_OPERATOR, locations->operators + sample->op);
    pprof_label(p, S_THREAD, locations->threads + sample->thread);
    pprof_message(p, PROFILE_SAMPLE);
}

static void put_samples(struct pprof *p, const struct locations *locations)
{
    struct sampled *sampled = p->sampled;
    size_t next;

    if (sampled->count)
        qsort_r(sampled->picked, sampled->count, sizeof *sampled->picked, compare, sampled);
    for (size_t i = 0; i < sampled->count; i = next) {
        next = i + 1;
        while (next < sampled->count &&
               compare(&sampled->picked[i], &sampled->picked[next], sampled) == 0)
            next++;
        put_sample(p, locations, &sampled->profile->samples[sampled->picked[i]], next - i);
    }
}

static void put_frame(struct pprof *p, const struct locations *locations, uint32_t frame)
{
    const struct trace_profile *trace = p->sampled->profile->trace;
    uint32_t first = p->sampled->first_entry[frame];
    const struct trace_symbol *symbols;
    size_t names = timeline_frame_symbols(p->sampled->profile, frame, &symbols);

    proto_uint(&p->message, 1, (uint64_t)frame + 1);
    proto_uint(&p->message, 2, (uint64_t)(frame ? trace->frames[frame - 1].module : 0) + 1);
    proto_uint(&p->message, 3, frame ? trace->frames[frame - 1].address : 0);
    for (uint32_t e = first; e < p->sampled->first_entry[frame + 1]; e++) {
        ifg_bytes_clear(&p->inner);
        proto_uint(&p->inner, 1, (uint64_t)e + 1);
        proto_uint(&p->inner, 2, names ? symbols[e - first].line : 0);
        proto_message(&p->message, 4, &p->inner);
    }
    pprof_message(p, PROFILE_LOCATION);
    for (uint32_t e = first; e < p->sampled->first_entry[frame + 1]; e++) {
        uint64_t text = locations->entries + 2 * (uint64_t)e;

        proto_uint(&p->message, 1, (uint64_t)e + 1);
        proto_uint(&p->message, 2, text);
        proto_uint(&p->message, 3, text);
        proto_uint(&p->message, 4, text + 1);
        pprof_message(p, PROFILE_FUNCTION);
    }
}

static void put_modules(struct pprof *p, const struct locations *locations)
{
    size_t count = p->sampled->profile->trace->module_count + 1;

    /* The first one is the program for pprof; unknown memory, number 0, comes last. */
    for (size_t at = 1; at <= count; at++) {
        size_t i = at % count;

        proto_uint(&p->message, 1, i + 1);
        proto_uint(&p->message, 3, UINT64_MAX);
        proto_uint(&p->message, 5, locations->modules + 2 * i);
        proto_uint(&p->message, 6, locations->modules + 2 * i + 1);
        proto_uint(&p->message, 7, 1);
        pprof_message(p, PROFILE_MAPPING);
    }
}

static void put_strings(struct pprof *p)
{
    const struct timeline *timeline = p->job->timeline;
    const struct timeline_profile *profile = p->sampled->profile;

    for (size_t i = 0; i < S_FIXED; i++)
        pprof_string(p, fixed_strings[i]);
    for (uint32_t i = 0; i <= profile->trace->module_count; i++) {
        const struct trace_module *module = i ? &profile->trace->modules[i - 1] : NULL;

        pprof_string(p, module && *module->path ? module->path : timeline_module_name(profile, i));
        pprof_string(p, module ? module->build_id : "");
    }
    for (uint32_t f = 0; f <= profile->trace->frame_count; f++)
        for (uint32_t e = 0; e < p->sampled->first_entry[f + 1] - p->sampled->first_entry[f]; e++) {
            const struct trace_symbol *symbol = sampled_entry(p->sampled, f, e, &p->message);

            pprof_message(p, PROFILE_STRING);
            pprof_string(p, symbol ? symbol->file : "");
        }
    for (size_t i = 0; i < timeline->model_count; i++)
        pprof_string(p, timeline->models[i].name);
    for (int i = 0; i < TRACE_CATEGORIES; i++)
        pprof_string(p, timeline_category_name((enum trace_category)i));
    for (size_t i = 0; i < timeline->location_count; i++)
        pprof_string(p, timeline->locations[i].name);
    for (uint32_t i = 0; i < profile->thread_count; i++) {
        sampled_thread_name(p->sampled, i, &p->message);
        pprof_message(p, PROFILE_STRING);
    }
}

void pprof_samples(struct pprof *p)
{
    const struct timeline *timeline = p->job->timeline;
    struct locations locations = locations_of(p);

    pprof_sample_type(p, S_SAMPLES, S_COUNT);
    pprof_sample_type(p, S_CPU, S_NANOSECONDS);
    put_samples(p, &locations);
    put_modules(p, &locations);
    for (uint32_t f = 0; f <= p->sampled->profile->trace->frame_count; f++)
        put_frame(p, &locations, f);
    put_strings(p);
    if (timeline->realtime_offset_ns)
        proto_uint(&p->pending, PROFILE_TIME_NS,
                   timeline->begin_ns + (uint64_t)timeline->realtime_offset_ns);
    proto_uint(&p->pending, PROFILE_DURATION_NS, timeline->end_ns - timeline->begin_ns);
    proto_uint(&p->message, 1, S_CPU);
    proto_uint(&p->message, 2, S_NANOSECONDS);
    pprof_message(p, PROFILE_PERIOD_TYPE);
    proto_uint(&p->pending, PROFILE_PERIOD, p->sampled->period_ns);
    proto_uint(&p->pending, PROFILE_DEFAULT_TYPE, S_CPU);
    if (p->pending.failed)
        p->failed = true;
    pprof_compress(p, true);
}
