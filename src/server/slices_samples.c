// SPDX-License-Identifier: Apache-2.0
/* What samples and switches tell of one slice, and where its model runs. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "server/slices_internal.h"

#define FUNCTIONS_SHOWN 20u

static void put_null(struct ifg_json *json, const char *key)
{
    ifg_json_put_double(json, key, NAN);
}

static const struct timeline_sampled_thread *sampled_thread(const struct server_trace *trace,
                                                            uint32_t thread)
{
    for (size_t i = 0; trace->profile && i < trace->profile->thread_count; i++)
        if (trace->profile->threads[i].thread == thread)
            return &trace->profile->threads[i];
    return NULL;
}

void slices_put_states(struct ifg_json *json, const struct server_trace *trace, uint32_t thread,
                       uint64_t t0_ns, uint64_t t1_ns)
{
    const struct timeline_sampled_thread *of = sampled_thread(trace, thread);
    const struct timeline_thread_state *states;
    uint64_t ns[TIMELINE_STATES] = { 0 };
    size_t low = 0;
    size_t high;

    if (!of || !of->state_count) {
        put_null(json, "states");
        return;
    }
    states = trace->profile->states + of->first_state;
    high = of->state_count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (states[middle].end_ns <= t0_ns)
            low = middle + 1;
        else
            high = middle;
    }
    for (; low < of->state_count && states[low].start_ns < t1_ns; low++) {
        uint64_t from = states[low].start_ns > t0_ns ? states[low].start_ns : t0_ns;
        uint64_t to = states[low].end_ns < t1_ns ? states[low].end_ns : t1_ns;

        if (to > from)
            ns[states[low].state] += to - from;
    }
    ifg_json_put_open(json, "states", '{');
    ifg_json_put_uint(json, "running_ns", ns[TIMELINE_RUNNING]);
    ifg_json_put_uint(json, "runnable_ns", ns[TIMELINE_RUNNABLE]);
    ifg_json_put_uint(json, "blocked_ns", ns[TIMELINE_BLOCKED]);
    ifg_json_close(json, '}');
}

struct function_sum {
    uint32_t function;
    uint32_t self;
    uint32_t total;
    uint32_t seen; /* number of the sample that last counted it */
};

static int by_self(const void *a, const void *b)
{
    const struct function_sum *left = a;
    const struct function_sum *right = b;

    if (left->self != right->self)
        return left->self > right->self ? -1 : 1;
    return left->total > right->total ? -1 : left->total < right->total;
}

static void count_sample(const struct timeline_profile *profile,
                         const struct timeline_sample *sample, struct function_sum *sums,
                         uint32_t number)
{
    bool innermost = true;

    for (uint32_t node = sample->stack; node != 0;) {
        const struct trace_stack_node *at = &profile->trace->nodes[node - 1];
        struct function_sum *sum = &sums[profile->function_of[at->frame]];

        if (innermost)
            sum->self++;
        if (sum->seen != number)
            sum->total++;
        sum->seen = number;
        innermost = false;
        node = at->parent;
    }
}

static void put_functions(struct ifg_json *json, const struct timeline_profile *profile,
                          struct function_sum *sums, size_t samples)
{
    size_t kinds = 0;
    char name[512];

    for (size_t r = 0; r < profile->function_count; r++)
        if (sums[r].total) {
            sums[kinds] = sums[r];
            sums[kinds++].function = (uint32_t)r;
        }
    if (kinds)
        qsort(sums, kinds, sizeof *sums, by_self);
    ifg_json_put_open(json, "samples", '{');
    ifg_json_put_uint(json, "n", samples);
    ifg_json_put_open(json, "functions", '[');
    for (size_t i = 0; i < kinds && i < FUNCTIONS_SHOWN; i++) {
        ifg_json_open(json, '{');
        ifg_json_put_uint(json, "function", sums[i].function);
        ifg_json_put_string(json, "name",
                            timeline_function_name(profile, sums[i].function, name, sizeof name));
        ifg_json_put_uint(json, "self", sums[i].self);
        ifg_json_put_uint(json, "total", sums[i].total);
        ifg_json_close(json, '}');
    }
    ifg_json_close(json, ']');
    ifg_json_close(json, '}');
}

void slices_put_samples(struct ifg_json *json, const struct server_trace *trace, uint32_t thread,
                        uint64_t t0_ns, uint64_t t1_ns)
{
    const struct timeline_profile *profile = trace->profile;
    const struct timeline_sampled_thread *of = sampled_thread(trace, thread);
    struct function_sum *sums = NULL;
    const uint32_t *order;
    size_t low = 0;
    size_t high;
    uint32_t count = 0;

    if (of && of->sample_count)
        sums = ifg_alloc(profile->function_count + 1, sizeof *sums);
    if (!sums) {
        put_null(json, "samples");
        return;
    }
    order = profile->by_thread + of->first_sample;
    high = of->sample_count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (profile->samples[order[middle]].ns < t0_ns)
            low = middle + 1;
        else
            high = middle;
    }
    for (; low < of->sample_count && profile->samples[order[low]].ns < t1_ns; low++)
        count_sample(profile, &profile->samples[order[low]], sums, ++count);
    put_functions(json, profile, sums, count);
    ifg_free(sums);
}

void slices_put_placement(struct ifg_json *json, struct server_trace *trace, uint32_t model)
{
    const struct report *report = trace_report_if_ready(trace);
    const struct ml_model *of;

    if (!report || model >= report->input->model_count ||
        !report->input->models[model].placement_known) {
        put_null(json, "placement");
        return;
    }
    of = &report->input->models[model];
    ifg_json_put_open(json, "placement", '{');
    ifg_json_put_string(json, "asked", of->model->requested_devices);
    ifg_json_put_open(json, "nodes", '[');
    for (size_t i = 0; i < of->ep_count; i++) {
        if (!of->eps[i].nodes_known)
            continue;
        ifg_json_open(json, '{');
        ifg_json_key(json, "provider");
        ifg_json_string_n(json, of->eps[i].name, of->eps[i].name_bytes);
        ifg_json_put_uint(json, "nodes", of->eps[i].nodes);
        ifg_json_close(json, '}');
    }
    ifg_json_close(json, ']');
    ifg_json_close(json, '}');
}
