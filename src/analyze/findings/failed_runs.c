// SPDX-License-Identifier: Apache-2.0
/* failed-runs: loads or inferences that returned an error. */
#include "analyze/findings/findings_internal.h"
#include "trace/keys.h"

#include <string.h>

/* One failed inference is worth a look; when one in a hundred fails, users see it. */
#define HIGH_SHARE 0.01

static void look_at(const struct ml_input *input, const struct ml_function *function,
                    enum trace_category category, struct findings *out)
{
    const struct ml_events *events = &function->events[category];
    uint64_t failed = events->timing.failed;
    const char *what = category == TRACE_CATEGORY_LOAD ? "load" : "inference";
    struct words_name model = finding_words_model(input, function->model);
    struct finding *finding;
    const char *message = "";
    uint64_t time = 0;

    if (!failed)
        return;
    finding = finding_add(out,
                          category == TRACE_CATEGORY_LOAD ||
                                  (double)failed >= HIGH_SHARE * (double)events->count
                              ? FINDING_HIGH
                              : FINDING_MEDIUM,
                          function->model);
    if (!finding)
        return;
    for (size_t i = 0; i < events->count; i++) {
        if (!(events->items[i].flags & ML_FAILED))
            continue;
        if (!*message)
            message = findings_event_text(input, &events->items[i], TRACE_KEY_STATUS);
        time += events->items[i].duration_ns;
        finding_event(finding, &events->items[i]);
    }
    finding->weight_ns = (double)time;
    finding_title(finding, "%llu of %llu %ss failed", (unsigned long long)failed,
                  (unsigned long long)events->count, what);
    finding_sentence(finding, "%llu of %llu %ss of %s failed.", (unsigned long long)failed,
                     (unsigned long long)events->count, what, model.text);
    finding_evidence(finding, "the first one says: %.360s", *message ? message : "nothing");
    finding_fix(finding, "fix the error; no other figure of this report includes failed %ss", what);
    finding_number(finding, "failed", (double)failed);
    finding_number(finding, "count", (double)events->count);
}

void rule_failed_runs(const struct ml_input *input, struct findings *out)
{
    for (size_t f = 0; f < input->function_count; f++) {
        look_at(input, &input->functions[f], TRACE_CATEGORY_LOAD, out);
        look_at(input, &input->functions[f], TRACE_CATEGORY_INFERENCE, out);
    }
}
