// SPDX-License-Identifier: Apache-2.0
/* host-bound: in steady use, the thread spends more time between inferences than in them; or the
 * device waits, within inferences, for the host to ask for work. */
#include "analyze/findings/findings_internal.h"

#include "analyze/device_use.h"
#include "base/alloc.h"
#include "base/quantile.h"

/* The median gap must be longer than the median inference, and gaps must make up a fifth of the
 * recording. A gap of more than 100 ms is a pause (nothing to do), not steady use. */
#define TIMES_INFERENCE 1.0
#define STEADY_NS       100000000u
#define COUNT_LEAST     50u
#define SHARE_OF_RUN    0.2

/* The device has nothing to do for 40 % of an inference while the host runs code of its own: less
 * is what launching the first kernel and fetching the result take in short inferences. */
#define DEVICE_COUNT_LEAST 20u
#define DEVICE_IDLE_LEAST  0.4
#define DEVICE_IDLE_HIGH   0.7

static void look_at(const struct ml_input *input, const struct ml_function *function,
                    uint64_t *values, struct findings *out)
{
    const struct ml_events *events = &function->events[TRACE_CATEGORY_INFERENCE];
    double inference = events->timing.median_ns;
    struct finding *finding;
    size_t count = 0;
    double total = 0;
    double gap;

    for (size_t i = 0; i < events->count; i++) {
        if (events->items[i].gap_ns > STEADY_NS)
            continue;
        values[count++] = events->items[i].gap_ns;
        total += (double)events->items[i].gap_ns;
    }
    gap = ifg_median_u64(values, count);
    if (count < COUNT_LEAST || count * 2 < events->count || !(gap > TIMES_INFERENCE * inference) ||
        total < SHARE_OF_RUN * (double)input->duration_ns)
        return;
    finding = finding_add(out, FINDING_LOW, function->model);
    if (!finding)
        return;
    finding->weight_ns = total;
    finding_title(finding, "%s between inferences of %s", finding_words_time(gap).text,
                  finding_words_time(inference).text);
    finding_sentence(finding, "%sBetween two inferences of %s the model is idle for %s.",
                     finding_words_about(input, function->model).text,
                     finding_words_time(inference).text, finding_words_time(gap).text);
    finding_evidence(finding,
                     "%zu gaps of at most 100 ms between inferences on a thread, without setup: "
                     "median %s, %s in all (%s of the recording); the trace does not show whether "
                     "it is work or waiting",
                     count, finding_words_time(gap).text, finding_words_time(total).text,
                     finding_words_share(total / (double)input->duration_ns).text);
    finding_fix(finding,
                "find out what the thread does there: put zones around it (IFG_ZONE); prepare the "
                "next input on another thread while the model runs");
    finding_number(finding, "gap_ms", gap / MS);
    finding_number(finding, "inference_ms", inference / MS);
    finding_number(finding, "total_ms", total / MS);
    finding_number(finding, "count", (double)count);
}

static void look_at_device(const struct ml_input *input, uint32_t model, struct findings *out)
{
    const struct device_model *device = device_model_of(input, &input->models[model]);
    const struct device_time *time = device ? &device->steady : NULL;
    struct finding *finding;
    double count, idle, share;

    if (!time || time->slices < DEVICE_COUNT_LEAST)
        return;
    count = (double)time->slices;
    idle = (double)(time->idle_ns[DEVICE_IDLE_LAUNCHING] + time->idle_ns[DEVICE_IDLE_OUTSIDE]);
    share = idle / (double)time->span_ns;
    if (!(share >= DEVICE_IDLE_LEAST))
        return;
    finding = finding_add(out, share >= DEVICE_IDLE_HIGH ? FINDING_HIGH : FINDING_MEDIUM, model);
    if (!finding)
        return;
    finding->weight_ns = idle;
    finding_title(finding, "the device is idle for %s of an inference, waiting for the host",
                  finding_words_share(share).text);
    finding_sentence(finding,
                     "%sThe device is idle for %s of an inference because the host does not launch "
                     "work fast enough.",
                     finding_words_about(input, model).text, finding_words_share(share).text);
    finding_evidence(
        finding,
        "mean of %llu inferences: %s from start to last result, device busy %s, idle %s while the "
        "host launched and %s while it ran other code; %.0f launches, %s each",
        (unsigned long long)time->slices, finding_words_time((double)time->span_ns / count).text,
        finding_words_time((double)time->busy_ns / count).text,
        finding_words_time((double)time->idle_ns[DEVICE_IDLE_LAUNCHING] / count).text,
        finding_words_time((double)time->idle_ns[DEVICE_IDLE_OUTSIDE] / count).text,
        (double)time->launches / count,
        finding_words_time((double)time->call_ns / (double)(time->launches ? time->launches : 1))
            .text);
    finding_fix(finding, "%s",
                finding_advice(input, model, RUNTIME_LAUNCH_LESS,
                               "capture the inference as a CUDA graph, so that one call launches "
                               "all; compile or fuse the model into fewer kernels; or give each "
                               "inference a larger batch"));
    finding_inferences(input, model, finding);
    finding_number(finding, "gap_ms", idle / count / MS);
    finding_number(finding, "span_ms", (double)time->span_ns / count / MS);
    finding_number(finding, "busy_ms", (double)time->busy_ns / count / MS);
    finding_number(finding, "launches", (double)time->launches / count);
    finding_number(finding, "share", share);
    finding_number(finding, "count", count);
}

void rule_host_bound(const struct ml_input *input, struct findings *out)
{
    for (uint32_t m = 0; m < input->model_count; m++)
        look_at_device(input, m, out);
    for (size_t f = 0; f < input->function_count; f++) {
        const struct ml_events *events = &input->functions[f].events[TRACE_CATEGORY_INFERENCE];
        uint64_t *values;

        if (events->count < COUNT_LEAST)
            continue;
        values = ifg_alloc(events->count, sizeof *values);
        if (values)
            look_at(input, &input->functions[f], values, out);
        else
            out->status = IFG_NO_MEMORY;
        ifg_free(values);
    }
}
