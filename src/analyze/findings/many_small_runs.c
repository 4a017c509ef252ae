// SPDX-License-Identifier: Apache-2.0
/* many-small-runs: short inferences of batch 1, one right after the other. */
#include "analyze/findings/findings_internal.h"

#include <string.h>

#include "base/alloc.h"
#include "base/quantile.h"

/* A call costs tens of microseconds whatever it computes, so below a millisecond a batch can pay.
 * Back to back: the median gap is not longer than the inference. The model must be worth it: a
 * tenth of the recording. */
#define SMALL_NS     1000000.0
#define COUNT_LEAST  200u
#define BATCH_1      0.9 /* of the inferences whose batch is known */
#define SHARE_OF_RUN 0.1

/* Inputs that carry a state from run to run: such runs wait for each other and cannot be one
 * batch. */
static bool carries_state(const char *shapes)
{
    static const char *const names[] = { "state", "hidden", "past", "cache", "memory" };

    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (strcasestr(shapes, names[i]))
            return true;
    return strncmp(shapes, "h:", 2) == 0 || strstr(shapes, " h:") || strstr(shapes, " c:") ||
           strstr(shapes, " h0:") || strstr(shapes, " c0:");
}

static void look_at(const struct ml_input *input, const struct ml_function *function,
                    uint64_t *gaps, struct findings *out)
{
    const struct ml_events *events = &function->events[TRACE_CATEGORY_INFERENCE];
    const struct ml_timing *timing = &events->timing;
    size_t gap_count = 0, known = 0, ones = 0;
    struct finding *finding;
    double gap;

    for (size_t i = 0; i < events->count; i++) {
        const struct ml_event *event = &events->items[i];

        known += event->batch != 0;
        ones += event->batch == 1;
        if (event->gap_ns != UINT64_MAX)
            gaps[gap_count++] = event->gap_ns;
    }
    gap = ifg_median_u64(gaps, gap_count);
    if (known < COUNT_LEAST || (double)ones < BATCH_1 * (double)known ||
        gap_count * 2 < events->count || !(gap <= timing->median_ns) ||
        carries_state(events->items[0].detail))
        return;
    finding = finding_add(out, FINDING_LOW, function->model);
    if (!finding)
        return;
    finding->weight_ns = (double)timing->total_ns;
    finding_title(finding, "%llu inferences of %s with batch 1, back to back",
                  (unsigned long long)timing->count, finding_words_time(timing->median_ns).text);
    finding_sentence(finding, "%s%llu inferences of %s run back to back, one at a time.",
                     finding_words_about(input, function->model).text,
                     (unsigned long long)timing->count, finding_words_time(timing->median_ns).text);
    finding_evidence(finding, "median %s, median gap %s, batch 1 in %zu of %zu; shapes %.160s",
                     finding_words_time(timing->median_ns).text, finding_words_time(gap).text, ones,
                     known, *events->items[0].detail ? events->items[0].detail : "not known");
    finding_fix(finding, "if the inputs are independent and the model accepts a batch (first "
                         "dimension not fixed), pass several to one call; measure it first");
    finding_number(finding, "count", (double)timing->count);
    finding_number(finding, "median_ms", timing->median_ns / MS);
    finding_number(finding, "gap_ms", gap / MS);
}

void rule_many_small_runs(const struct ml_input *input, struct findings *out)
{
    for (size_t f = 0; f < input->function_count; f++) {
        const struct ml_events *events = &input->functions[f].events[TRACE_CATEGORY_INFERENCE];
        uint64_t *gaps;

        if (events->timing.count < COUNT_LEAST || !(events->timing.median_ns < SMALL_NS) ||
            events->timing.share < SHARE_OF_RUN)
            continue;
        gaps = ifg_alloc(events->count, sizeof *gaps);
        if (gaps)
            look_at(input, &input->functions[f], gaps, out);
        else
            out->status = IFG_NO_MEMORY;
        ifg_free(gaps);
    }
}
