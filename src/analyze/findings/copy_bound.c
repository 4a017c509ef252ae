// SPDX-License-Identifier: Apache-2.0
/*
 * copy-bound: copies between host and device, or operators that run on the CPU in between, take a
 * good part of an inference.
 */
#include "analyze/findings/findings_internal.h"

#include <stdio.h>
#include <string.h>

#include "analyze/device_use.h"
#include "base/alloc.h"

/* Copies that no kernel hides, and what the device is idle for while operators run on the CPU, for
 * a quarter of the inference; half is high. Operators are known only where they were recorded. */
#define COUNT_LEAST 20u
#define OPS_LEAST   5u
#define SHARE_LEAST 0.25
#define SHARE_HIGH  0.5

/* The operator that runs on the CPU behind and before work of the device, and costs most. */
struct fallback {
    uint32_t location; /* TIMELINE_NONE: none */
    uint64_t ns;       /* in all */
    uint64_t count;
    size_t slice; /* the first one */
};

static bool asks_for_work(const struct ml_input *input, const struct timeline_devices *devices,
                          size_t slice)
{
    size_t first;
    size_t count = timeline_calls_in(input->timeline, devices, slice, &first);

    for (size_t i = first; i < first + count; i++)
        if (devices->calls[i].kind != TIMELINE_WORK_SYNC)
            return true;
    return false;
}

/* Innermost operators of one inference that lie between its first and its last call for work. */
static void add_operators(const struct ml_input *input, const struct timeline_devices *devices,
                          size_t inference, struct fallback *by_location)
{
    const struct timeline *timeline = input->timeline;
    size_t first;
    size_t count = timeline_calls_in(timeline, devices, inference, &first);
    uint64_t end = timeline_end_ns(timeline, inference);

    if (!count)
        return;
    for (size_t i = inference + 1;
         i < timeline->slice_count && timeline->depth[i] > timeline->depth[inference] &&
         timeline->start_ns[i] < end;
         i++) {
        uint32_t at = timeline->location[i];
        bool has_inside = i + 1 < timeline->slice_count &&
                          timeline->depth[i + 1] > timeline->depth[i] &&
                          timeline->locations[timeline->location[i + 1]].kind == TRACE_LOCATION_OP;

        if (timeline->locations[at].kind != TRACE_LOCATION_OP || has_inside ||
            timeline->start_ns[i] < devices->calls[first].start_ns ||
            timeline->start_ns[i] > devices->calls[first + count - 1].start_ns ||
            asks_for_work(input, devices, i))
            continue;
        if (!by_location[at].count++)
            by_location[at].slice = i;
        by_location[at].ns += timeline_duration_ns(timeline, i);
    }
}

static bool find_fallback(const struct ml_input *input, uint32_t model, struct fallback *out)
{
    const struct ml_model *of = &input->models[model];
    const struct timeline_devices *devices;
    struct fallback *by_location = ifg_alloc(input->timeline->location_count, sizeof *by_location);

    *out = (struct fallback){ .location = TIMELINE_NONE, .slice = SIZE_MAX };
    if (!by_location || timeline_devices_get(input->timeline, &devices, NULL)) {
        ifg_free(by_location);
        return false;
    }
    for (size_t f = 0; f < of->function_count; f++) {
        const struct ml_events *events =
            &input->functions[of->first_function + f].events[TRACE_CATEGORY_INFERENCE];

        for (size_t i = 0; i < events->count; i++)
            if (events->items[i].flags & ML_HAS_OPS && events->items[i].slice != SIZE_MAX)
                add_operators(input, devices, events->items[i].slice, by_location);
    }
    for (uint32_t i = 0; i < input->timeline->location_count; i++)
        if (by_location[i].ns > out->ns) {
            *out = by_location[i];
            out->location = i;
        }
    ifg_free(by_location);
    return true;
}

static void say_copies(const struct device_time *time, char *out, size_t size)
{
    size_t used = 0;

    out[0] = '\0';
    for (int i = 0; i < DEVICE_COPIES && used < size; i++) {
        double count = (double)time->slices;

        if (time->copies[i].count)
            used += (size_t)snprintf(out + used, size - used, "%s%.1f %s of %.1f KB",
                                     *out ? ", " : "", (double)time->copies[i].count / count,
                                     device_copy_name((enum device_copy)i),
                                     (double)time->copies[i].bytes / count / 1000);
    }
    if (!*out)
        snprintf(out, size, "none");
}

static void look_at(const struct ml_input *input, uint32_t model, struct findings *out)
{
    const struct device_model *device = device_model_of(input, &input->models[model]);
    const struct device_time *time = device ? &device->steady : NULL;
    struct fallback fallback;
    struct finding *finding;
    double copies, cpu = 0, share;
    char words[160], node[200] = "";

    if (!time || time->slices < COUNT_LEAST)
        return;
    copies = (double)(time->copy_ns - time->overlap_ns) / (double)time->span_ns;
    if (device->with_ops.slices >= OPS_LEAST)
        cpu = (double)device->with_ops.idle_ns[DEVICE_IDLE_OPERATOR] /
              (double)device->with_ops.span_ns;
    share = copies + cpu;
    if (!(share >= SHARE_LEAST))
        return;
    if (!find_fallback(input, model, &fallback)) {
        out->status = IFG_NO_MEMORY;
        return;
    }
    finding = finding_add(out, share >= SHARE_HIGH ? FINDING_HIGH : FINDING_MEDIUM, model);
    if (!finding)
        return;
    if (fallback.location != TIMELINE_NONE) {
        const struct timeline_location *location = &input->timeline->locations[fallback.location];

        snprintf(node, sizeof node, "; '%.60s' (%.40s) runs on the CPU in between, %s each time",
                 location->name, location->function,
                 finding_words_time((double)fallback.ns / (double)fallback.count).text);
    }
    finding->weight_ns = share * (double)time->span_ns;
    say_copies(time, words, sizeof words);
    finding_title(finding, "%s of an inference goes to copies%s", finding_words_share(share).text,
                  cpu > 0 ? " and operators on the CPU" : "");
    finding_sentence(finding, "%s%s of an inference goes to copies between host and device%s.",
                     finding_words_about(input, model).text, finding_words_share(share).text,
                     cpu > 0 ? " and operators on the CPU in between" : "");
    finding_evidence(finding,
                     "%llu inferences: copies that no kernel hides %s of each, device idle during "
                     "operators on the CPU %s; copies of one: %s%s",
                     (unsigned long long)time->slices, finding_words_share(copies).text,
                     device->with_ops.slices >= OPS_LEAST ? finding_words_share(cpu).text
                                                          : "n/a (operators were not recorded)",
                     words, node);
    finding_fix(finding, "%s",
                finding_advice(input, model, RUNTIME_KEEP_ON_DEVICE,
                               "keep data on the device between steps; copy from pinned memory on "
                               "a stream of its own, so that kernels hide it; give operators that "
                               "the device cannot run a replacement"));
    finding_slice(finding, fallback.slice);
    finding_inferences(input, model, finding);
    finding_number(finding, "copy_ms",
                   (double)(time->copy_ns - time->overlap_ns) / (double)time->slices / MS);
    finding_number(finding, "copy_share", copies);
    finding_number(finding, "cpu_share", cpu);
    if (fallback.location != TIMELINE_NONE)
        finding_number(finding, "node_ms", (double)fallback.ns / (double)fallback.count / MS);
    finding_number(finding, "share", share);
    finding_number(finding, "count", (double)time->slices);
}

void rule_copy_bound(const struct ml_input *input, struct findings *out)
{
    for (uint32_t m = 0; m < input->model_count; m++)
        look_at(input, m, out);
}
