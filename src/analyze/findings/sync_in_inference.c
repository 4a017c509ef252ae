// SPDX-License-Identifier: Apache-2.0
/* sync-in-inference: the host waits for the device in the middle of an inference, and then the
 * device waits for the host. */
#include "analyze/findings/findings_internal.h"

#include <stdio.h>

#include "analyze/device_use.h"

/* A wait counts if more work is asked for behind it in the same inference. It costs what the device
 * is idle for between the wait and the work that follows: 5 % of the inference, and 10 us. */
#define COUNT_LEAST 20u
#define SHARE_LEAST 0.05
#define COST_LEAST  10000.0
#define SHARE_HIGH  0.25

struct waits {
    uint64_t inferences; /* that were looked at */
    uint64_t with;       /* of these, with such a wait */
    uint64_t count;
    uint64_t cost_ns;
    uint64_t span_ns;
    size_t calls[FINDING_EVENTS];
    size_t call_count;
    size_t op;         /* around the first one, or SIZE_MAX */
    uint32_t location; /* of the first one */
};

/* When the work of the call, or that of the first later one with work, begins; 0: none. */
static uint64_t next_work(const struct timeline_devices *devices, const uint32_t *own, size_t count,
                          uint64_t after_ns)
{
    for (size_t i = 0; i < count; i++) {
        const struct timeline_device_call *call =
            timeline_call_of(devices, &devices->works[own[i]]);

        if (call->start_ns >= after_ns && device_is_busy_kind(devices->works[own[i]].kind))
            return devices->works[own[i]].start_ns;
    }
    return 0;
}

static void look_into(const struct ml_input *input, const struct timeline_devices *devices,
                      size_t inference, struct waits *waits)
{
    size_t first, own;
    size_t count = timeline_calls_in(input->timeline, devices, inference, &first);
    size_t works = timeline_work_of_inference(devices, inference, &own);
    struct device_time time;
    bool any = false;

    if (!works)
        return;
    device_time_of(input->device->times, inference, &time);
    waits->inferences++;
    waits->span_ns += time.span_ns;
    for (size_t i = first; i < first + count; i++) {
        const struct timeline_device_call *call = &devices->calls[i];
        uint64_t next;

        if (call->kind != TIMELINE_WORK_SYNC)
            continue;
        next = next_work(devices, devices->by_inference + own, works, call->end_ns);
        if (!next)
            continue;
        if (!waits->count++) {
            waits->location = call->location;
            waits->op = call->op;
        }
        if (waits->call_count < FINDING_EVENTS)
            waits->calls[waits->call_count++] = call->slice;
        if (next > call->end_ns) {
            uint64_t gap = next - call->end_ns;
            uint64_t busy = device_busy_between(input->device->times, call->end_ns, next);

            waits->cost_ns += gap > busy ? gap - busy : 0;
        }
        any = true;
    }
    waits->with += any;
}

static void report(const struct ml_input *input, uint32_t model, const struct waits *waits,
                   struct findings *out)
{
    const struct timeline *timeline = input->timeline;
    double inferences = (double)waits->inferences;
    double share = (double)waits->cost_ns / (double)waits->span_ns;
    struct finding *finding =
        finding_add(out, share >= SHARE_HIGH ? FINDING_HIGH : FINDING_MEDIUM, model);
    double each = (double)waits->count / inferences;
    char op[120] = "";

    if (!finding)
        return;
    if (waits->op != SIZE_MAX)
        snprintf(op, sizeof op, " in the operator '%.80s'",
                 timeline->locations[timeline->location[waits->op]].name);
    finding->weight_ns = (double)waits->cost_ns;
    finding_title(finding,
                  "the host waits for the device %.*f times in each inference, before its "
                  "end",
                  each < 9.95 ? 1 : 0, each);
    finding_sentence(finding,
                     "%sThe host waits for the device in the middle of inferences, which leaves "
                     "the device idle for %s of them.",
                     finding_words_about(input, model).text, finding_words_share(share).text);
    finding_evidence(finding,
                     "%llu of %llu inferences call %.60s%s and ask for more work afterwards; "
                     "between that and the next work the device is idle for %s of an inference",
                     (unsigned long long)waits->with, (unsigned long long)waits->inferences,
                     timeline->locations[waits->location].name, op,
                     finding_words_time((double)waits->cost_ns / inferences).text);
    finding_fix(finding, "do not read results on the host in between (.item(), .cpu(), printing a "
                         "tensor, shapes that depend on data); keep the decision on the device, or "
                         "read the result of the step before");
    for (size_t i = 0; i < waits->call_count; i++)
        finding_slice(finding, waits->calls[i]);
    finding_number(finding, "waits", each);
    finding_number(finding, "lost_ms", (double)waits->cost_ns / inferences / MS);
    finding_number(finding, "share", share);
    finding_number(finding, "count", inferences);
}

static void look_at(const struct ml_input *input, uint32_t model, struct findings *out)
{
    const struct device_model *device = device_model_of(input, &input->models[model]);
    const struct ml_model *of = &input->models[model];
    const struct timeline_devices *devices;
    struct waits waits = { .op = SIZE_MAX };

    if (!device || timeline_devices_get(input->timeline, &devices, NULL))
        return;
    for (size_t f = 0; f < of->function_count; f++) {
        const struct ml_events *events =
            &input->functions[of->first_function + f].events[TRACE_CATEGORY_INFERENCE];

        /* The first one loads and tunes. */
        for (size_t i = 1; i < events->count; i++)
            if (events->items[i].slice != SIZE_MAX &&
                findings_event_counts(events, &events->items[i]))
                look_into(input, devices, events->items[i].slice, &waits);
    }
    if (waits.inferences >= COUNT_LEAST && waits.with * 2 >= waits.inferences &&
        (double)waits.cost_ns >= SHARE_LEAST * (double)waits.span_ns &&
        (double)waits.cost_ns >= COST_LEAST * (double)waits.inferences)
        report(input, model, &waits, out);
}

void rule_sync_in_inference(const struct ml_input *input, struct findings *out)
{
    for (uint32_t m = 0; m < input->model_count; m++)
        look_at(input, m, out);
}
