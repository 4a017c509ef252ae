// SPDX-License-Identifier: Apache-2.0
/* first-run-autotune: the first inference tries out kernels that later ones do not use. */
#include "analyze/findings/findings_internal.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "analyze/device_use.h"
#include "base/alloc.h"

/* Being slow alone is no tuning (slow-first-run). Here the first inference must run at least three
 * kernels, and 20 % more kernels than are usual, that no later inference runs; and cost 20 ms. */
#define LATER_LEAST 5u
#define EXTRA_LEAST 3u
#define EXTRA_TIMES 0.2
#define COST_LEAST  20000000.0
#define MEDIUM_NS   200000000.0

/* Libraries whose kernels have their name in them. Others are not named: no guessing. */
static const struct library {
    const char *part;
    const char *name;
} libraries[] = {
    { "cudnn", "cuDNN" },
    { "cublas", "cuBLAS" },
    { "nvjet_", "cuBLAS" },
    { "triton_", "Triton" },
};

struct tuning {
    size_t first; /* slice */
    uint64_t extra;
    uint64_t extra_ns;
    uint64_t usual; /* kernels of a later one */
    uint64_t named[sizeof libraries / sizeof libraries[0]];
    size_t example; /* slice of the longest one */
    uint64_t example_ns;
};

static void mark_later(const struct timeline_devices *devices, const struct ml_events *events,
                       bool *is_later)
{
    for (size_t i = 1; i < events->count; i++) {
        size_t first;
        size_t count = events->items[i].slice == SIZE_MAX
                           ? 0
                           : timeline_work_of_inference(devices, events->items[i].slice, &first);

        for (size_t w = 0; w < count; w++)
            is_later[devices->works[devices->by_inference[first + w]].location] = true;
    }
}

static void count_extra(const struct ml_input *input, const struct timeline_devices *devices,
                        const bool *is_later, struct tuning *tuning)
{
    size_t first;
    size_t count = timeline_work_of_inference(devices, tuning->first, &first);

    for (size_t w = 0; w < count; w++) {
        const struct timeline_device_work *work = &devices->works[devices->by_inference[first + w]];
        const char *name = input->timeline->locations[work->location].name;
        uint64_t ns = work->end_ns - work->start_ns;

        if (work->kind != TIMELINE_WORK_KERNEL || is_later[work->location])
            continue;
        tuning->extra++;
        tuning->extra_ns += ns;
        for (size_t i = 0; i < sizeof libraries / sizeof libraries[0]; i++)
            tuning->named[i] += strcasestr(name, libraries[i].part) != NULL;
        if (tuning->example == SIZE_MAX || ns > tuning->example_ns) {
            tuning->example = work->slice;
            tuning->example_ns = ns;
        }
    }
}

static void name_libraries(const struct tuning *tuning, char *out, size_t size)
{
    size_t used = 0;

    out[0] = '\0';
    for (size_t i = 0; i < sizeof libraries / sizeof libraries[0]; i++)
        if (tuning->named[i] && !strstr(out, libraries[i].name) && used < size)
            used += (size_t)snprintf(out + used, size - used, "%s%s", *out ? " and " : "",
                                     libraries[i].name);
}

static void report(const struct ml_input *input, const struct ml_function *function,
                   const struct tuning *tuning, double cost, struct findings *out)
{
    const struct ml_events *events = &function->events[TRACE_CATEGORY_INFERENCE];
    struct finding *finding =
        finding_add(out, cost >= MEDIUM_NS ? FINDING_MEDIUM : FINDING_LOW, function->model);
    const struct timeline *timeline = input->timeline;
    char names[64], example[100];

    if (!finding)
        return;
    name_libraries(tuning, names, sizeof names);
    finding->weight_ns = cost;
    finding_title(finding, "%s%sthe first inference tries out %llu kernels and takes %s longer",
                  names, *names ? ": " : "", (unsigned long long)tuning->extra,
                  finding_words_time(cost).text);
    finding_sentence(finding,
                     "%sThe first inference takes %s longer than later ones and tries out "
                     "%llu kernels%s%s.",
                     finding_words_about(input, function->model).text,
                     finding_words_time(cost).text, (unsigned long long)tuning->extra,
                     *names ? " of " : "", names);
    finding_evidence(
        finding,
        "the first inference takes %s, the median %s; %llu of its kernels, %s in all, "
        "run in no later inference, for example %s",
        finding_words_time((double)events->items[0].duration_ns).text,
        finding_words_time(events->timing.median_ns).text, (unsigned long long)tuning->extra,
        finding_words_time((double)tuning->extra_ns).text,
        device_short_name(timeline->locations[timeline->location[tuning->example]].name, example,
                          sizeof example));
    finding_fix(finding, "%s",
                finding_advice(input, function->model, RUNTIME_TUNE_LESS,
                               "run one inference of each input shape before the first request, "
                               "keep caches of compiled kernels (Triton, torch.compile), and turn "
                               "off benchmarking where shapes change (cudnn.benchmark)"));
    finding_event(finding, &events->items[0]);
    finding_slice(finding, tuning->example);
    finding_number(finding, "lost_ms", cost / MS);
    finding_number(finding, "first_ms", (double)events->items[0].duration_ns / MS);
    finding_number(finding, "kernels", (double)tuning->extra);
    finding_number(finding, "kernels_ms", (double)tuning->extra_ns / MS);
}

static void look_at(const struct ml_input *input, const struct ml_function *function,
                    struct findings *out)
{
    const struct ml_events *events = &function->events[TRACE_CATEGORY_INFERENCE];
    const struct device_model *device = device_model_of(input, &input->models[function->model]);
    const struct timeline_devices *devices;
    struct tuning tuning = { .example = SIZE_MAX };
    double cost;
    bool *is_later;

    if (!device || events->count <= LATER_LEAST || events->items[0].slice == SIZE_MAX ||
        events->items[0].flags & ML_FAILED || timeline_devices_get(input->timeline, &devices, NULL))
        return;
    cost = (double)events->items[0].duration_ns - events->timing.median_ns;
    if (!(cost >= COST_LEAST))
        return;
    is_later = ifg_alloc(input->timeline->location_count, sizeof *is_later);
    if (!is_later) {
        out->status = IFG_NO_MEMORY;
        return;
    }
    tuning.first = events->items[0].slice;
    tuning.usual = device->steady.slices ? device->steady.kernels / device->steady.slices : 0;
    mark_later(devices, events, is_later);
    count_extra(input, devices, is_later, &tuning);
    ifg_free(is_later);
    if (tuning.extra >= EXTRA_LEAST && (double)tuning.extra >= EXTRA_TIMES * (double)tuning.usual)
        report(input, function, &tuning, cost, out);
}

void rule_first_run_autotune(const struct ml_input *input, struct findings *out)
{
    for (size_t f = 0; f < input->function_count; f++)
        look_at(input, &input->functions[f], out);
}
